package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	files := validTree(t)
	for _, test := range []struct {
		kind     definition.Kind
		name     string
		document string
		all      []string
	}{
		{"factory", "", "factory.yaml", []string{"factory.yaml"}},
		{
			"agent", "foreman", "agents/foreman/agent.md",
			[]string{"agents/foreman/agent.md", "agents/foreman/skills/incident-triage/SKILL.md"},
		},
		{"agent", "new", "agents/new/agent.md", nil},
		{"automation", "alerts", "automations/alerts.md", []string{"automations/alerts.md"}},
		{"automation", "on-issue", "automations/on-issue/automation.md", []string{"automations/on-issue/automation.md"}},
		{"automation", "new", "automations/new/automation.md", nil},
		{"webhook", "form", "webhooks/form.yaml", []string{"webhooks/form.yaml"}},
		{"webhook", "new", "webhooks/new.yaml", nil},
		{"runner", "new", "runners/new.yaml", nil},
		{
			"skill", "repository-conventions", "skills/repository-conventions/SKILL.md",
			[]string{"skills/repository-conventions/SKILL.md", "skills/repository-conventions/references/branches.md"},
		},
		{
			"skill", "foreman/incident-triage", "agents/foreman/skills/incident-triage/SKILL.md",
			[]string{"agents/foreman/skills/incident-triage/SKILL.md"},
		},
		{"skill", "foreman/new", "agents/foreman/skills/new/SKILL.md", nil},
		{"skill", "foreman", "skills/foreman/SKILL.md", nil},
		{"scorer", "new", "scorers/new/scorer.md", nil},
		{"benchmark", "new", "benchmarks/new/suite.yaml", nil},
	} {
		if got := definition.DocumentPath(files, test.kind, test.name); got != test.document {
			t.Errorf("%s %s: got the document %s, want %s", test.kind, test.name, got, test.document)
		}
		if diff := cmp.Diff(test.all, definition.Paths(files, test.kind, test.name)); diff != "" {
			t.Errorf("%s %s: files (-want +got):\n%s", test.kind, test.name, diff)
		}
	}
}
