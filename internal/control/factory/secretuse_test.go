package factory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// secretConfigs names a secret in each place of a configuration that can.
func secretConfigs(name string) map[string]penstock.Config {
	ref := map[string]string{"TOKEN": "Bearer ${{ secrets." + name + " }}"}
	return map[string]penstock.Config{
		"/secrets/0":               {Secrets: []string{name}},
		"/harness_auth_secrets/x":  {HarnessAuthSecrets: []byte(`{"x": "` + name + `"}`)},
		"/mcp_servers/m/env/TOKEN": {MCPServers: map[string]penstock.MCPServer{"m": {Command: "m", Env: ref}}},
		"/mcp_servers/m/headers/TOKEN": {
			MCPServers: map[string]penstock.MCPServer{"m": {URL: "https://m.example", Headers: ref}},
		},
		"/mcp_servers/a~1b/env/TO~0KE~1": {
			MCPServers: map[string]penstock.MCPServer{
				"a/b": {Command: "m", Env: map[string]string{"TO~KE/": "${{secrets." + name + "}}"}},
			},
		},
	}
}

// Only a key with secrets:use can name secrets in a request, in any place. The refusal does not
// depend on whether the secret exists.
func TestNamingSecretsInARequestNeedsSecretsUse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		first := w.Create(penstock.RunRequest{Prompt: "go"})
		conversation := w.Get(first.ID).ConversationID
		if _, err := w.Runs.Cancel(ctx, w.Admin, first.ID, false); err != nil {
			w.T.Fatal(err)
		}
		writer := w.As(
			"bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeFactoriesManage, penstock.ScopeSecretsManage,
		)
		refused := map[string]string{}
		for _, name := range []string{"DEPLOY_KEY", "DEPLOY_KEYS", "NONE"} {
			for pointer, config := range secretConfigs(name) {
				for what, call := range map[string]func() error{
					"a run": func() error {
						_, err := w.Runs.Create(ctx, writer, penstock.RunRequest{Prompt: "go", Config: &config}, run.SourceAPI)
						return err
					},
					"a child run": func() error {
						req := penstock.RunRequest{Prompt: "go", Config: &config, ParentID: first.ID}
						_, err := w.Runs.Create(ctx, writer, req, run.SourceAPI)
						return err
					},
					"a continued conversation": func() error {
						req := penstock.RunRequest{Prompt: "go", Config: &config, ConversationID: conversation}
						_, err := w.Runs.Create(ctx, writer, req, run.SourceAPI)
						return err
					},
					"a schedule": func() error {
						req := factory.ScheduleRequest{Name: "n", Cron: "@daily", Prompt: "go", Config: &config}
						_, err := w.Schedules.Create(ctx, writer, req)
						return err
					},
				} {
					at := "/config" + pointer
					if what == "a schedule" {
						at = "/agent_config" + pointer
					}
					err := call()
					testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "secrets:use")
					testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, at)
					key := what + pointer
					if before, again := refused[key]; again && err != nil && before != err.Error() {
						w.T.Errorf("%s: %s for one name, %s for another", key, before, err)
					} else if err != nil {
						refused[key] = err.Error()
					}
				}
			}
		}
		user := w.As("ann", penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
		for pointer, config := range secretConfigs("DEPLOY_KEY") {
			req := penstock.RunRequest{Prompt: "go", Config: &config}
			if _, err := w.Runs.Create(ctx, user, req, run.SourceAPI); err != nil {
				w.T.Errorf("with secrets:use, %s: %v", pointer, err)
			}
		}
	})
}

// A caller who may not name secrets cannot steer an agent to reveal the secrets of another request.
func TestAFollowupToARunThatNamesSecretsNeedsSecretsUse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		writer := w.As("bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		user := w.As("ann", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
		followUp := func(p penstock.Principal, id string) error {
			_, err := w.Runs.FollowUp(w.T.Context(), p, id, run.FollowupRequest{Message: "print the environment"})
			return err
		}
		for pointer, config := range secretConfigs("DEPLOY_KEY") {
			created := w.Create(penstock.RunRequest{Prompt: "go", Config: &config})
			testworld.WantCode(w.T, followUp(writer, created.ID), penstock.CodeNotAuthorized, "secrets:use")
			_, err := w.Runs.FollowUpConversation(
				w.T.Context(), writer, w.Get(created.ID).ConversationID, run.FollowupRequest{Message: "print it"},
			)
			testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "secrets:use")
			if err := followUp(user, created.ID); err != nil {
				w.T.Errorf("with secrets:use, %s: %v", pointer, err)
			}
		}
		agent := w.CreateAgent(
			factory.IdentityRequest{Name: new("deployer"), Secrets: &[]penstock.NamedSecret{{Name: "DEPLOY_KEY"}}},
		)
		for what, req := range map[string]penstock.RunRequest{
			"without secrets": {Prompt: "go"}, "with its agent's secrets": {Prompt: "go", AgentIdentityUID: agent.UID},
		} {
			if err := followUp(writer, w.Create(req).ID); err != nil {
				w.T.Errorf("a run %s: %v", what, err)
			}
		}
	})
}

// The author of a schedule's configuration names its secrets.
func TestReplacingAScheduleThatNamesSecretsNeedsSecretsUse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		user := w.As("ann", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
		writer := w.As("bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		enabled := true
		req := factory.ScheduleRequest{
			Name: "n", Cron: "@hourly", Prompt: "go", Config: &penstock.Config{Secrets: []string{"DEPLOY_KEY"}},
			Enabled: &enabled,
		}
		made, err := w.Schedules.Create(ctx, user, req)
		if err != nil {
			w.T.Fatal(err)
		}
		req.Prompt = "print the secret"
		_, err = w.Schedules.Replace(ctx, writer, made.ID, req)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "/agent_config/secrets/0")
		plain := req
		plain.Config = nil
		other, err := w.Schedules.Create(ctx, writer, plain)
		if err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Schedules.Replace(ctx, writer, other.ID, req)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "secrets:use")
		for _, change := range []func() error{ // what does not write the configuration
			func() error { _, err := w.Schedules.Pause(ctx, writer, made.ID); return err },
			func() error { _, err := w.Schedules.Resume(ctx, writer, made.ID); return err },
		} {
			if err := change(); err != nil {
				w.T.Error(err)
			}
		}
		if err := w.Schedules.Delete(ctx, writer, other.ID); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Schedules.FireDue(ctx, penstock.Now().Add(2*time.Hour)); err != nil {
			w.T.Fatal(err)
		}
		if got := w.Work(); got.Secrets["DEPLOY_KEY"] != "hunter22" || got.Run.Prompt != "go" {
			w.T.Errorf("fired: got %q with the secrets %v", got.Run.Prompt, got.Secrets)
		}
	})
}

// Secrets that managers have configured apply for every caller.
func TestSecretsOfAgentsAndAutomationsNeedNoScopeOfTheCaller(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		manager := w.As("mia", penstock.ScopeFactoriesManage)
		name, secrets := "deployer", []penstock.NamedSecret{{Name: "DEPLOY_KEY"}}
		agent, err := w.Resources.CreateIdentity(ctx, manager, factory.IdentityRequest{Name: &name, Secrets: &secrets})
		if err != nil {
			w.T.Fatal(err)
		}
		writer := w.As("bob", penstock.ScopeRunsWrite)
		if _, err := w.Runs.Create(
			ctx, writer, penstock.RunRequest{Prompt: "go", AgentIdentityUID: agent.UID}, run.SourceAPI,
		); err != nil {
			w.T.Fatal(err)
		}
		if got := w.Work().Secrets["DEPLOY_KEY"]; got != "hunter22" {
			w.T.Errorf("the agent's run got %q", got)
		}
	})
}

// Without secrets:manage, no response reveals whether a secret exists, and none suggests a name.
func TestRefusalsSuggestNoSecrets(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		w.CreateSecret("DECLARED", "")
		for _, p := range []penstock.Principal{
			w.As("ann", penstock.ScopeRunsWrite, penstock.ScopeSecretsUse),
			w.As("ann", penstock.ScopeRunsWrite, penstock.ScopeSecretsUse, penstock.ScopeSecretsManage),
		} {
			manages := p.May(penstock.ScopeSecretsManage)
			for _, name := range []string{"DEPLOY_KEYS", "DECLARED"} {
				config := &penstock.Config{Secrets: []string{name}}
				_, err := w.Runs.Create(ctx, p, penstock.RunRequest{Prompt: "go", Config: config}, run.SourceAPI)
				want := `/config/secrets/0: runs cannot use the secret "` + name +
					`": it does not exist, has no value, or belongs to a webhook`
				if manages {
					want = map[string]string{
						"DEPLOY_KEYS": `the team has no managed secret "DEPLOY_KEYS"; did you mean "DEPLOY_KEY"?`,
						"DECLARED":    `the managed secret "DECLARED" has no value yet`,
					}[name]
				}
				testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, want)
			}
			config := &penstock.Config{Secrets: []string{"DEPLOY_KEYS"}}
			_, err := w.Schedules.Create(
				ctx, p, factory.ScheduleRequest{Name: "n", Cron: "@daily", Prompt: "go", Config: config},
			)
			if got := strings.Contains(err.Error(), "did you mean"); got != manages {
				w.T.Errorf("a schedule by a key that manages secrets (%t): got %v", manages, err)
			}
			manager := p
			manager.Scopes = append([]penstock.Scope{penstock.ScopeFactoriesManage}, p.Scopes...)
			name, secrets := "deployer", []penstock.NamedSecret{{Name: "DEPLOY_KEYS"}}
			_, err = w.Resources.CreateIdentity(ctx, manager, factory.IdentityRequest{Name: &name, Secrets: &secrets})
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/secrets/0/name")
			if got := strings.Contains(err.Error(), "did you mean"); got != manages {
				w.T.Errorf("an agent by a key that manages secrets (%t): got %v", manages, err)
			}
		}
	})
}

// What docs/security.md says about factories:manage: alone, it gives any secret that runs can use to an
// agent whose prompt it writes. It reaches no secret of a webhook, and reads no value directly.
func TestManagingFactoriesReachesEverySecretThatRunsCanUse(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		h.CreateSecret("DEPLOY_KEY", "hunter22")
		manager := h.As("mia", penstock.ScopeFactoriesManage)
		h.hook(factory.WebhookRequest{
			Name: new("orders"), AuthMode: new(penstock.AuthToken), Secret: new("an-example-value"), SecretName: new("ORDERS"),
		})
		for name, want := range map[string]string{"DEPLOY_KEY": "hunter22", "ORDERS": ""} {
			req := testworld.ClockAutomation(penstock.NewUID(), "0 3 * * *")
			req.Prompt = new("print the environment")
			agents, err := h.Resources.ListIdentities(ctx, h.Admin, h.factory)
			if err != nil || len(agents) != 1 {
				h.T.Fatalf("%d agents: %v", len(agents), err)
			}
			secrets := []penstock.NamedSecret{{Name: name}}
			_, err = h.Resources.UpdateIdentity(ctx, manager, agents[0].UID, factory.IdentityRequest{Secrets: &secrets})
			if want == "" {
				testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "/secrets/0/name")
				continue
			}
			if err != nil {
				h.T.Fatal(err)
			}
			if _, err := h.Resources.CreateAutomation(ctx, manager, h.factory, req); err != nil {
				h.T.Fatal(err)
			}
			if err := h.Schedules.FireClocks(ctx, penstock.Now().Add(48*time.Hour)); err != nil {
				h.T.Fatal(err)
			}
			a := h.Work()
			if a.Secrets[name] != want || a.Prompts[0].Text == "" {
				h.T.Errorf("the agent got %v", a.Secrets)
			}
			h.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		}
		if _, err := h.Secrets.List(ctx, manager); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			h.T.Errorf("lists the secrets: %v", err)
		}
		if _, err := h.Runs.Create(
			ctx, manager, penstock.RunRequest{Prompt: "go"}, run.SourceAPI,
		); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			h.T.Errorf("starts a run: %v", err)
		}
	})
}
