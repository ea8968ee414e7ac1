package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
)

// unsetFiles mark many keys as not set.
func unsetFiles() map[string][]byte {
	return with(
		"factory.yaml", "schemaVersion: v1alpha1\nname: x\ncredentialStrategy: null\nagentDefaults:\n  model: null\n"+
			"  harness: {type: claude, model: opus, auth: null, reasoningLevel: ~}\n  workerHost: \"\"\n  runner: null\n  "+
			"environmentId: null\n",
		"agents/foreman/agent.md",
		"---\nagentType: FOREMAN\nmodel: auto\nharness: null\nworkerHost: null\ncredentialStrategy:\n---\nLead.\n",
		"automations/a.md",
		"---\ntriggers: [{provider: github, event: push}]\nworkerHost: ''\ncredentialStrategy: null\nmodel: null\n---\n"+
			"Text.\n",
	)
}

func TestNullLeavesAKeyUnset(t *testing.T) {
	t.Parallel()
	got, found := definition.Parse(unsetFiles(), definition.Known{})
	if len(found) > 0 {
		t.Fatalf("got\n%s", lines(found))
	}
	want := definition.Settings{Harness: &definition.Harness{Type: "claude", Model: "opus"}}
	if diff := cmp.Diff(want, got.Factory.AgentDefaults); diff != "" || got.Factory.CredentialStrategy != "" {
		t.Errorf("factory (-want +got):\n%s\n%q", diff, got.Factory.CredentialStrategy)
	}
	if diff := cmp.Diff(
		definition.Agent{Name: "foreman", Type: "FOREMAN", Prompt: "Lead.", Settings: definition.Settings{Model: "auto"}},
		got.Agents[0],
	); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(definition.Settings{}, got.Automations[0].Settings); diff != "" ||
		got.Automations[0].CredentialStrategy != "" {
		t.Errorf("automation (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct{ path, content, want string }{
		"neither model nor harness": {
			"factory.yaml", "schemaVersion: v1alpha1\nname: x\nagentDefaults: {model: null}\n",
			"factory.yaml:3:16: FF_MISSING_REQUIRED agentDefaults needs exactly one",
		},
		"a required key": {
			"agents/a/agent.md", "---\nharness: {type: claude, model: null}\n---\n", "FF_TYPE_MISMATCH model must be text",
		},
		"a list": {
			"agents/a/agent.md", "---\nsecrets: null\n---\n", "FF_TYPE_MISMATCH secrets must be a list",
		},
		"an empty model":      {"agents/a/agent.md", "---\nmodel: ''\n---\n", "FF_INVALID_VALUE model must be one non-empty"},
		"an alias of nothing": {"agents/a/agent.md", "---\nworkerHost: *x\n---\n", "FF_ALIAS"},
		"null twice": {
			"agents/a/agent.md", "---\nworkerHost: null\nworkerHost: null\n---\n", "FF_DUPLICATE_KEY",
		},
		"the worker's credentials": {
			"agents/a/agent.md",
			"---\nworkerHost: null\nharness: {type: claude, model: m, auth: {source: workerEnvironment}}\n---\n",
			"workerEnvironment needs a self-hosted workerHost",
		},
	} {
		if got := findings(with(test.path, test.content)); !strings.Contains(got, test.want) {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

// Writing one key of a document sets that key and leaves the unset keys alone.
func TestWriteBesideKeysThatAreNotSet(t *testing.T) {
	t.Parallel()
	files := unsetFiles()
	agent := parseValid(t, files).Foreman()
	agent.Description, agent.WorkerHost = "Leads", "build-1"
	got, err := definition.WriteAgent(files["agents/foreman/agent.md"], agent)
	want := strings.NewReplacer(
		"workerHost: null", "workerHost: build-1", "---\nLead", "description: Leads\n---\nLead",
	).Replace(string(files["agents/foreman/agent.md"]))
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	agent.WorkerHost = ""
	again, err := definition.WriteAgent(got, agent)
	if want := strings.Replace(want, "workerHost: build-1\n", "", 1); err != nil || string(again) != want {
		t.Errorf("%v, got\n%s", err, again)
	}
}

func TestAliases(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"Demo Factory-1.0_x": "Demo Factory-1.0_x",
		"café":               "café",
		"支払い":                "支払い",
		"'" + strings.Repeat(" ", 60) + "café '": "café",
		strings.Repeat("ä", 60):                  strings.Repeat("ä", 60),
	} {
		got, found := definition.Parse(with("factory.yaml", smallFactory+"alias: "+written+"\n"), definition.Known{})
		if got == nil || got.Factory.Alias != want {
			t.Errorf("%s: got\n%s", written, lines(found))
		}
	}
	for _, written := range []string{
		"demo/factory", "factory🚀", strings.Repeat("a", 61), "' " + strings.Repeat("ä", 61) + " '", `"a\u200bb"`, `"a\tb"`,
		"''", "' '",
	} {
		if got := findings(with("factory.yaml", smallFactory+"alias: "+written+"\n")); !strings.Contains(
			got, "factory.yaml:5:8: FF_INVALID_VALUE alias must be 1 to 60 letters",
		) {
			t.Errorf("%s: got\n%s", written, got)
		}
	}
}

func TestWebhooksAreSelectedByAMatcher(t *testing.T) {
	t.Parallel()
	trigger := func(ids string) map[string][]byte {
		return with("automations/a.md", "---\ntriggers:\n- provider: webhook\n  event: received\n  filter:\n    "+
			"webhook_ids: "+ids+"\n---\nText.\n",
			"webhooks/ci.yaml", "secretName: CI\n", "webhooks/old.yaml", "secretName: CI\n")
	}
	for ids, want := range map[string]penstock.Selection{
		"[ci]":       {In: []string{"ci"}},
		"{in: [ci]}": {In: []string{"ci"}},
		"{in: [ci, old], not_in: [3kTMd9PqVxZ0aBcDeFgH1j]}": {
			In: []string{"ci", "old"}, NotIn: []string{"3kTMd9PqVxZ0aBcDeFgH1j"},
		},
	} {
		got, found := definition.Parse(trigger(ids), definition.Known{})
		if got == nil || len(found) > 0 {
			t.Errorf("%s: got\n%s", ids, lines(found))
			continue
		}
		f, _ := got.Automations[0].Triggers[0].Trigger().Webhook()
		if diff := cmp.Diff(want.In, f.WebhookIDs.In); diff != "" {
			t.Errorf("%s: in (-want +got):\n%s", ids, diff)
		}
		if diff := cmp.Diff(want.NotIn, f.WebhookIDs.NotIn); diff != "" {
			t.Errorf("%s: not in (-want +got):\n%s", ids, diff)
		}
	}
	for ids, want := range map[string]string{
		"{in: [cj]}": `automations/a.md:6:24: FF_INVALID_REFERENCE (warning) no webhook has the UID or ` +
			`file name "cj", so it starts no runs; did you mean "ci"?`,
		"{in: []}":                 "6:23: FF_INVALID_FILTER webhook_ids must have at least one text in the list in",
		"{not_in: [ci]}":           "6:18: FF_INVALID_FILTER webhook_ids must have at least one text in the list in",
		"{}":                       "6:18: FF_INVALID_FILTER webhook_ids must have at least one text in the list in",
		"{in: [ci], not_in: [ci]}": `6:38: FF_INVALID_FILTER "ci" is in both in and not_in`,
		"{in: ci}":                 "6:23: FF_INVALID_FILTER in of webhook_ids must be a list",
		"{in: {a: b}}":             "6:23: FF_INVALID_FILTER in of webhook_ids must be a list",
		"{in: [5]}":                "6:24: FF_INVALID_FILTER webhook_ids must have text",
		"{inn: [ci]}":              `6:19: FF_INVALID_FILTER unknown key "inn"; allowed are in, not_in; did you mean "in"?`,
		"ci":                       "6:18: FF_INVALID_FILTER webhook_ids must be a list with at least one text",
		"null":                     "6:18: FF_INVALID_FILTER webhook_ids must be a list with at least one text",
	} {
		if got := findings(trigger(ids)); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%swant\n%s", ids, got, want)
		}
	}
}

func TestNamedTwice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"two foremen": {
			with("agents/second/agent.md", "---\nagentType: MAIN\n---\n"),
			"agents/second/agent.md:2:12: FF_DUPLICATE_KEY a factory has one foreman, which is already \"foreman\"\n",
		},
		"a secret of the factory": {
			with("factory.yaml", smallFactory+"secrets: [A, B, A]\n"),
			"factory.yaml:5:17: FF_DUPLICATE_KEY the secret \"A\" is listed twice\n",
		},
		"a secret of the defaults": {
			with("factory.yaml", smallFactory+"  secrets: [A, A]\n"),
			"factory.yaml:5:16: FF_DUPLICATE_KEY the secret \"A\" is listed twice\n",
		},
		"a secret of an agent": {
			with("agents/a/agent.md", "---\nsecrets: [A, A]\n---\n"),
			"agents/a/agent.md:2:14: FF_DUPLICATE_KEY the secret \"A\" is listed twice\n",
		},
		"a secret of an automation": {
			with("automations/a.md", "---\ntriggers: [{provider: github, event: push}]\nsecrets: [A, A]\n---\nText.\n"),
			"automations/a.md:3:14: FF_DUPLICATE_KEY the secret \"A\" is listed twice\n",
		},
	} {
		if got := findings(test.files); got != test.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, test.want)
		}
	}
}

// The JSON Schemas accept the same forms.
func TestSchemasAcceptTheseForms(t *testing.T) {
	t.Parallel()
	schemas := resolved(t)
	for path, content := range unsetFiles() {
		value, _ := asJSON(path, content)
		if err := schemas[schemaName(path)].Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for document, valid := range map[string]bool{
		smallFactory + "alias: café":                                  true,
		smallFactory + "alias: '" + strings.Repeat(" ", 60) + "支払い '": true,
		smallFactory + "alias: a/b":                                   false,
		smallFactory + "alias: " + strings.Repeat("a", 61):            false,
	} {
		value, _ := asJSON("factory.yaml", []byte(document))
		if err := schemas["factory"].Validate(value); (err == nil) != valid {
			t.Errorf("got %v for:\n%s", err, document)
		}
	}
	for filter, valid := range map[string]bool{
		"[ci]": true, "{in: [ci]}": true, "{in: [ci], not_in: []}": true, "{in: []}": false, "{not_in: [ci]}": false,
		"{}": false, "{in: [ci], out: []}": false, "null": false,
	} {
		value, _ := asJSON(
			"a.yaml", []byte("triggers: [{provider: webhook, event: received, filter: {webhook_ids: "+filter+"}}]"),
		)
		if err := schemas["automation"].Validate(value); (err == nil) != valid {
			t.Errorf("%s: got %v", filter, err)
		}
	}
}
