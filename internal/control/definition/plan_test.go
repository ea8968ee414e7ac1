package definition_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	files := validTree(t)
	before := parseValid(t, files)
	next := maps.Clone(files)
	change := func(name, content string) { next[name] = []byte(content) }
	change("factory.yaml", smallFactory)
	change("agents/reviewer/agent.md", "---\ndescription: Reviews\nagentType: REVIEW\nsecrets: []\n---\n\nReview.\n")
	change("agents/writer/agent.md", "Write.\n")
	change("runners/macos-build.yaml", "description: Builds of the app\nplatform: {os: macos, mac: {version: \"15\"}}\n")
	change("skills/repository-conventions/references/branches.md", "Other names.\n")
	change("benchmarks/pull-request-review/tasks/broken-link.yaml", "title: T\nprompt: P\nsuccessCriteria: S\n")
	delete(next, "agents/foreman/skills/incident-triage/SKILL.md")
	delete(next, "webhooks/tool.yaml")
	delete(next, "automations/alerts.md")
	change(
		"automations/alerts/automation.md", string(files["automations/alerts.md"]),
	) // another place, the same automation
	change(
		"webhooks/form.yaml", "# Another comment.\nsecretName: FORM_WEBHOOK_SECRET\nauthMode: url_token\nenabled: true\n",
	)
	change("webhooks/again.yaml", "secretName: TOKEN\n")
	delete(next, "scorers/tests-run/scorer.md")
	after := parseValid(t, next)
	got := definition.Compare(before, after, func(kind definition.Kind, name string) bool {
		return kind == definition.KindWebhook && name == "again"
	})
	want := definition.Plan{
		Created: []definition.Change{{Kind: "agent", Name: "writer"}, {Kind: "webhook", Name: "again", Again: true}},
		Changed: []definition.Change{
			{Kind: "factory", Name: "Example", Fields: []string{
				"name", "description", "alias", "repositories", "secrets", "mcpServers", "cloudProviders", "integrations", "forge",
				"agentDefaults.runner", "agentDefaults.environmentId", "agentDefaults.secrets", "agentDefaults.workerHost",
			}},
			{Kind: "agent", Name: "reviewer", Fields: []string{"description", "harness", "secrets", "prompt"}},
			{Kind: "runner", Name: "macos-build", Fields: []string{"platform.arch", "platform.mac"}},
			{Kind: "skill", Name: "repository-conventions", Fields: []string{"files"}},
			{Kind: "benchmark", Name: "pull-request-review", Fields: []string{"tasks"}},
		},
		Removed: []definition.Change{
			{Kind: "webhook", Name: "tool"},
			{Kind: "skill", Name: "foreman/incident-triage"},
			{Kind: "scorer", Name: "tests-run"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestCompareWithNothing(t *testing.T) {
	t.Parallel()
	valid := parseValid(t, validTree(t))
	first := definition.Compare(nil, valid, nil)
	if len(first.Changed)+len(first.Removed) != 0 || len(first.Created) != 1+2+4+4+2+2+1+1 ||
		first.Created[0].Kind != definition.KindFactory {
		t.Errorf("first plan: got %+v", first)
	}
	none := definition.Compare(valid, parseValid(t, validTree(t)), nil)
	text, err := json.Marshal(none)
	if want := `{"created":[],"changed":[],"removed":[]}`; err != nil || string(text) != want {
		t.Errorf("plan of the same tree: got %s (%v), want %s", text, err, want)
	}
}
