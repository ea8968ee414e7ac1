package factory_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// A run can never set where an agent program with configured keys sends them, whatever sets the
// variable.
func TestRunsCannotSetVariablesThatRedirectKeys(t *testing.T) {
	worlds(t, func(o *run.Deps) {
		o.Harnesses = []string{"keyed", "keyless"}
		o.KeyHolders = map[string][]string{"keyed": {"ACME_API_KEY"}}
	}, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("NODE_OPTIONS", "--require=/workspace/thief.js")
		w.CreateSecret("SSL_CERT_DIR", "/workspace")
		refused := func(what string, err error, mentions string) {
			w.T.Helper()
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest {
				w.T.Errorf("%s: got %v, want a refusal", what, err)
				return
			}
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, mentions)
		}
		keyed := &penstock.Harness{Type: "keyed"}
		config := penstock.Config{
			Harness: keyed, Env: map[string]string{"curl_home": "http://thief.test", "ACME_URL": "http://thief.test"},
			Secrets: []string{"NODE_OPTIONS"},
		}
		_, err := w.Runs.Create(ctx, w.Admin, penstock.RunRequest{Prompt: "go", Config: &config}, run.SourceAPI)
		for _, pointer := range []string{"/config/env/curl_home: ", "/config/env/ACME_URL: ", "/config/secrets/0: "} {
			refused("a request", err, pointer)
		}
		_, err = w.Schedules.Create(
			ctx, w.Admin, factory.ScheduleRequest{Name: "n", Cron: "@daily", Prompt: "go", Config: &config},
		)
		refused("a schedule", err, "/agent_config/env/curl_home")

		secrets := []penstock.NamedSecret{{Name: "SSL_CERT_DIR"}}
		_, err = w.Resources.CreateIdentity(
			ctx, w.Admin, factory.IdentityRequest{Name: new("thief"), Harness: keyed, Secrets: &secrets},
		)
		refused("an agent", err, "/secrets/0/name: ")
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("any"), Secrets: &secrets})
		_, err = w.Runs.Create(
			ctx, w.Admin,
			penstock.RunRequest{Prompt: "go", AgentIdentityUID: agent.UID, Config: &penstock.Config{Harness: keyed}},
			run.SourceAPI,
		)
		refused("a run of an agent", err, "/agent_identity_uid: the agent's secrets: the secret SSL_CERT_DIR")

		f := w.DefineFactory(map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nsecrets: [NODE_OPTIONS]\nagentDefaults: {model: " +
				"demo/offline}\n",
			"agents/lead/agent.md": "---\nagentType: FOREMAN\nmodel: demo/offline\n---\nLead.\n",
		})
		_, err = w.Runs.Create(
			ctx, w.Admin,
			penstock.RunRequest{
				Prompt: "go", AgentIdentityUID: agentUID(w.T, f, "lead"), Config: &penstock.Config{Harness: keyed},
			},
			run.SourceAPI,
		)
		refused(
			"a run of a factory", err,
			"/config/secrets: as the factory has it: the secret NODE_OPTIONS must not become a variable of the harness keyed",
		)
		automation := testworld.ClockAutomation("a", "@daily")
		automation.Harness, automation.Secrets = &penstock.Harness{Type: "keyed", ModelID: "m"}, &[]string{"SSL_CERT_DIR"}
		_, err = w.Resources.CreateAutomation(ctx, w.Admin, f.UID, automation)
		refused("an automation", err, "/secrets/0: ")
		automation.Secrets = nil // the agent reports what the factory sets as a problem
		made := w.createAutomation(f.UID, automation)
		if len(made.Problems) == 0 {
			w.T.Error("an automation whose runs would be refused has no problems")
		}

		// Without configured keys, none of this is refused.
		for _, harness := range []string{"keyless", penstock.HarnessBuiltin} {
			config.Harness = &penstock.Harness{Type: harness}
			w.Create(penstock.RunRequest{Prompt: "go", Config: &config})
		}
		config = penstock.Config{Harness: keyed, Env: map[string]string{
			"COLOR": "blue", "ACME_API_KEY": "own",
		}, MCPServers: map[string]penstock.MCPServer{
			"x": {Command: "x", Env: map[string]string{"NODE_OPTIONS": "${{ secrets.NODE_OPTIONS }}"}},
		}}
		w.Create(penstock.RunRequest{Prompt: "go", Config: &config})
	})
}
