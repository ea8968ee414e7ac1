package definition_test

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
)

func parseValid(t testing.TB, files map[string][]byte) *definition.Definition {
	t.Helper()
	got, found := definition.Parse(files, definition.Known{CheckCron: checkCron})
	if got == nil {
		t.Fatalf("the tree is not valid:\n%s", lines(found))
	}
	return got
}

// TestWritingAReadDocumentChangesNothing: writing a resource as it was read changes no byte of its document. Written
// to a new document, it reads back unchanged.
func TestWritingAReadDocumentChangesNothing(t *testing.T) {
	t.Parallel()
	files := validTree(t)
	valid := parseValid(t, files)
	fresh := maps.Clone(files)
	write := func(name string, content []byte, err error, again []byte, againErr error) {
		t.Helper()
		if err != nil || againErr != nil {
			t.Fatalf("%s: %v, %v", name, err, againErr)
		}
		if diff := cmp.Diff(string(files[name]), string(again)); diff != "" {
			t.Errorf("%s written as it was (-want +got):\n%s", name, diff)
		}
		fresh[name] = content
	}
	content, err := definition.WriteFactory(nil, valid.Factory)
	again, againErr := definition.WriteFactory(files["factory.yaml"], valid.Factory)
	write("factory.yaml", content, err, again, againErr)
	for _, a := range valid.Agents {
		name := "agents/" + a.Name + "/agent.md"
		content, err := definition.WriteAgent(nil, a)
		again, againErr := definition.WriteAgent(files[name], definition.AgentOf(a.Identity()))
		write(name, content, err, again, againErr)
	}
	for _, a := range valid.Automations {
		name := "automations/" + a.Name + "/automation.md"
		if files[name] == nil {
			name = "automations/" + a.Name + ".md"
		}
		content, err := definition.WriteAutomation(nil, a)
		again, againErr := definition.WriteAutomation(files[name], definition.AutomationOf(a.Automation()))
		write(name, content, err, again, againErr)
	}
	for _, w := range valid.Webhooks {
		name := "webhooks/" + w.Name + ".yaml"
		content, err := definition.WriteWebhook(nil, w)
		again, againErr := definition.WriteWebhook(files[name], definition.WebhookOf(w.Webhook()))
		write(name, content, err, again, againErr)
	}
	if plan := definition.Compare(valid, parseValid(t, fresh), nil); !plan.Empty() {
		t.Errorf("written anew, the tree says something else: %+v", plan)
	}
}

func TestWriteKeepsOtherSpellings(t *testing.T) {
	t.Parallel()
	before := `---
# The one that leads.
agentType: MAIN # the foreman
credentialStrategy: CREATOR
mcpServers:
  sentry:
    warpId: mcp-1
---

Lead.
`
	files := map[string][]byte{"factory.yaml": []byte(smallFactory), "agents/foreman/agent.md": []byte(before)}
	agent := parseValid(t, files).Foreman()
	agent.Description, agent.CredentialStrategy, agent.Prompt = "Leads", "", "Lead well."
	got, err := definition.WriteAgent([]byte(before), agent)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"credentialStrategy: CREATOR\n", "", "    warpId: mcp-1\n", "    warpId: mcp-1\ndescription: Leads\n", "Lead.",
		"Lead well.",
	).Replace(before)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}

	factory := "schemaVersion: v1alpha1\nname: Example\nproviders: {aws: {roleArn: " +
		"\"arn:aws:iam::123456789012:role/a\"}} # old name\nagentDefaults: {model: a}\n"
	files["factory.yaml"] = []byte(factory)
	f := parseValid(t, files).Factory
	f.CloudProviders = &definition.CloudProviders{AWS: &definition.AWS{RoleARN: "arn:aws:iam::123456789012:role/b"}}
	got, err = definition.WriteFactory([]byte(factory), f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Replace(factory, "role/a", "role/b", 1), string(got)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestWriteDefaults(t *testing.T) {
	t.Parallel()
	w := definition.WebhookOf(penstock.Webhook{
		Name: "ci", AuthMode: penstock.AuthToken, SecretName: "TOKEN", SecretRefresh: penstock.RefreshApply, Enabled: true,
	})
	for _, test := range []struct{ name, before, want string }{
		{
			"defaults that are written out stay", "authMode: token\nenabled: true\nsecretName: OLD\n",
			"authMode: token\nenabled: true\nsecretName: TOKEN\n",
		},
		{
			"another value goes, the mode is named", "enabled: false\nsecretName: TOKEN\n",
			"secretName: TOKEN\nauthMode: token\n",
		},
		{"a document that is not changed stays", "secretName: TOKEN\n", "secretName: TOKEN\n"},
		{"a new document has what is needed, and the mode", "", "authMode: token\nsecretName: TOKEN\n"},
	} {
		got, err := definition.WriteWebhook([]byte(test.before), w)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, broken := range []string{"secretName: [", "secretName: 5\n", "unknown: 5\n", "\xff"} {
		if got, err := definition.WriteWebhook([]byte(broken), w); err == nil && broken != "secretName: 5\n" &&
			broken != "unknown: 5\n" {
			t.Errorf("%q: got %q, want an error", broken, got)
		}
	}
	if _, err := definition.WriteAgent([]byte("---\na: [\n---\n"), definition.Agent{}); err == nil {
		t.Error("an agent whose front matter cannot be read: want an error")
	}
}

// TestVocabulary compares the conversions with the server's types.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	valid := parseValid(t, validTree(t))
	reviewer := valid.Agents[1].Identity()
	want := penstock.Identity{
		Name: "reviewer", Description: "Reviews pull requests", Type: "REVIEW",
		Prompt: "Review each pull request against the repository's standards. Ask for changes when tests are " +
			"missing.",
		Harness:            &penstock.Harness{Type: "claude", ModelID: "claude-sonnet-5", ReasoningLevel: "high"},
		HarnessAuthSecrets: json.RawMessage(`{"claude_auth_secret_name":"ANTHROPIC_KEY"}`),
	}
	if diff := cmp.Diff(want, reviewer); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	nightly := valid.Automations[2].Automation()
	if nightly.Secrets == nil || len(nightly.Secrets) != 0 {
		t.Errorf("secrets: got %v, want an empty list, which is not an absent one", nightly.Secrets)
	}
	wantCron := &penstock.CronTrigger{Cron: "30 2 * * 1-5", Name: "nightly", Timezone: "Europe/Berlin"}
	if diff := cmp.Diff(wantCron, nightly.Triggers[0].Schedule); diff != "" {
		t.Errorf("schedule (-want +got):\n%s", diff)
	}
	build := valid.Automations[1].Automation()
	wantFilter := `{"webhook_ids":["internal-ci"],"payload":{"status":["failed"],"build":{"number":{"not_in":[0]},` +
		`"branch":["main"],"cancelled":{"exists":false}}}}`
	if got := string(build.Triggers[0].Filter); got != wantFilter {
		t.Errorf("filter: got %s, want %s", got, wantFilter)
	}
	if diff := cmp.Diff([]string{"internal-ci"}, build.WebhookIDs()); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	if alerts := valid.Automations[0].Automation(); alerts.Enabled || alerts.Name != "alerts" {
		t.Errorf("got %+v, want the disabled automation alerts", alerts)
	}
	if got := valid.Foreman().Identity().Secrets; !slices.Equal(got, []penstock.NamedSecret{{Name: "SENTRY_AUTH_TOKEN"}}) {
		t.Errorf("secrets of the foreman: got %v", got)
	}
	tool := valid.Webhooks[3].Webhook()
	wantTool := penstock.Webhook{
		Name: "tool", AuthMode: "signature", SignatureScheme: "custom_hmac", SecretName: "TOOL_WEBHOOK_SECRET",
		ReplayGuard: true, Enabled: true,
		SecretRefresh: "apply", Signature: &penstock.Signature{
			Header: "X-Tool-Signature", Prefix: "sha256=", Hash: "sha256", Encoding: "hex", KeyForm: "text",
			Template:        "{timestamp}.{body}",
			TimestampHeader: "X-Tool-Timestamp",
		},
	}
	if diff := cmp.Diff(wantTool, tool, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("webhook (-want +got):\n%s", diff)
	}
}

// TestFromVocabulary: if the API has several ways to say something, files have one.
func TestFromVocabulary(t *testing.T) {
	t.Parallel()
	agent := definition.AgentOf(penstock.Identity{
		Name: "a", Type: "CUSTOM", BaseModel: "m", Harness: &penstock.Harness{Type: "codex"},
		HarnessAuthSecrets: json.RawMessage(`{"codex_auth_secret_name":"KEY"}`),
		Secrets:            []penstock.NamedSecret{{Name: "S"}},
		MCPServers:         map[string]penstock.MCPServer{"x": {WarpID: "1"}}, Prompt: "\n\nText\n\n",
	})
	want := definition.Agent{Name: "a", Prompt: "Text", Settings: definition.Settings{
		Harness: &definition.Harness{
			Type: "codex", Model: "m", Auth: &definition.Auth{Source: "managedSecret", SecretName: "KEY"},
		},
		Secrets: []string{"S"}, MCPServers: map[string]definition.MCPServer{"x": {ID: "1"}},
	}}
	if diff := cmp.Diff(want, agent); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	automation := definition.AutomationOf(penstock.Automation{
		Name: "a", Overrides: penstock.Overrides{Model: "m", Harness: &penstock.Harness{Type: "oz"}},
		Triggers: []penstock.Trigger{
			{Provider: "schedule", Event: "cron_fired", Schedule: &penstock.CronTrigger{Cron: "@daily", LastError: "x"}},
		},
	})
	off := false
	wantAutomation := definition.Automation{
		Name: "a", Enabled: &off, Settings: definition.Settings{Model: "m"},
		Triggers: []definition.Trigger{
			{Provider: "schedule", Event: "cron_fired", Schedule: &definition.Schedule{Cron: "@daily"}},
		},
	}
	if diff := cmp.Diff(wantAutomation, automation); diff != "" {
		t.Errorf("automation (-want +got):\n%s", diff)
	}
}

// TestReadTree reads a real folder. It skips hidden files and refuses links.
func TestReadTree(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"factory.yaml": smallFactory, "agents/foreman/agent.md": smallForeman, ".git/config": "x", "agents/.keep": "",
	} {
		if err := os.MkdirAll(path.Join(folder, path.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", path.Join(folder, "skills")); err != nil {
		t.Fatal(err)
	}
	files, found, err := definition.ReadTree(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"agents/foreman/agent.md", "factory.yaml"}, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got, want := lines(
		found,
	), "skills:1:1: FF_UNSUPPORTED_PATH must be a plain file, not a link or device\n"; got != want {
		t.Errorf("findings: got %q, want %q", got, want)
	}
	if _, _, err := definition.ReadTree(os.DirFS(path.Join(folder, "none"))); err == nil {
		t.Error("a folder that is not there: want an error")
	}
	if err := os.Mkdir(path.Join(folder, "automations"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path.Join(folder, "automations/large.md"), make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	files, _, err = definition.ReadTree(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if _, found = definition.Parse(files, definition.Known{}); len(found) != 1 ||
		found[0].Code != definition.InvalidDocument {
		t.Errorf("a tree with a file of 10 MB: got\n%s", lines(found))
	}
}

// TestWriteAnyAutomation: any automation that is written over another one reads back unchanged.
func TestWriteAnyAutomation(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9 ./_-]{0,20}[a-z]`)
	secret := rapid.StringMatching(`[A-Z][A-Z0-9_]{0,10}`)
	triggers := rapid.SampledFrom([]string{
		`{"provider": "github", "event": "push", "filter": {"branches": ["main", "on", "1.0"], ` +
			`"paths": {"in": ["src/**"], "not_in": ["*.md"]}}}`,
		`{"provider": "schedule", "event": "cron_fired", "schedule": {"cron": "0 9 * * 1-5", "name": "weekdays", ` +
			`"timezone": "Europe/Berlin"}}`,
		`{"provider": "webhook", "event": "received", "filter": {"webhook_ids": ["3kTMd9PqVxZ0aBcDeFgH1j"], ` +
			`"payload": {"a b": [9007199254740993, 1.0, null, true, "yes", "017"], "c": {"exists": false}}}}`,
		`{"provider": "slack", "event": "app_mention"}`,
	})
	automations := rapid.Custom(func(t *rapid.T) definition.Automation {
		a := definition.Automation{Name: "a", Prompt: trim(rapid.StringMatching("[a-z#: \n-]{0,40}[a-z]").Draw(t, "prompt"))}
		for range rapid.IntRange(1, 4).Draw(t, "triggers") {
			var trigger definition.Trigger
			var read penstock.Trigger
			if err := json.Unmarshal([]byte(triggers.Draw(t, "trigger")), &read); err != nil {
				t.Fatal(err)
			}
			if trigger = definition.TriggerOf(read); trigger.Schedule != nil {
				trigger.Schedule.Name = ""
			}
			a.Triggers = append(a.Triggers, trigger)
		}
		if rapid.Bool().Draw(t, "set") {
			a.Model = name.Draw(t, "model")
		} else if rapid.Bool().Draw(t, "set") {
			a.Harness = &definition.Harness{
				Type: "codex", Model: name.Draw(t, "model"),
				Auth: &definition.Auth{Source: "managedSecret", SecretName: secret.Draw(t, "secret")},
			}
		}
		if rapid.Bool().Draw(t, "set") {
			a.Secrets = rapid.SliceOfNDistinct(secret, 0, 3, rapid.ID[string]).Draw(t, "secrets")
		}
		if rapid.Bool().Draw(t, "set") {
			a.Enabled = new(rapid.Bool().Draw(t, "enabled"))
		}
		if rapid.Bool().Draw(t, "set") {
			a.MCPServers = map[string]definition.MCPServer{
				name.Draw(t, "server"): {
					Command: "x", Args: []string{name.Draw(t, "arg"), "-"}, Env: map[string]string{"A": "${{ secrets.B }}"},
				},
			}
		}
		a.WorkerHost = rapid.OneOf(rapid.Just(""), name).Draw(t, "host")
		return a
	})
	rapid.Check(t, func(t *rapid.T) {
		var content []byte
		for _, wanted := range []definition.Automation{automations.Draw(t, "first"), automations.Draw(t, "second")} {
			before := content
			var err error
			if content, err = definition.WriteAutomation(content, wanted); err != nil {
				t.Fatal(err)
			}
			got, found := definition.Parse(with("automations/a.md", string(content)), definition.Known{})
			if got == nil {
				t.Fatalf("%s\nfrom\n%s\n%s", lines(found), before, content)
			}
			want := *got
			want.Automations = []definition.Automation{wanted}
			if plan := definition.Compare(&want, got, nil); !plan.Empty() {
				t.Fatalf("%+v differs; from\n%s\nto\n%s", plan, before, content)
			}
			again, err := definition.WriteAutomation(content, wanted)
			if err != nil || string(again) != string(content) {
				t.Fatalf("a second time (%v):\n%s\n%s", err, content, again)
			}
		}
	})
}

// trim removes blank lines around a prompt.
func trim(text string) string { return strings.TrimSpace(text) }
