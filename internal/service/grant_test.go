package service_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestRunCanNameOnlyExistingSecrets(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		w.secret("STRIPE_KEY", "hunter22")
		w.secret("PENDING", "")
		refused := func(req penstock.RunRequest) string {
			_, err := w.Runs.Create(ctx, w.admin, req, penstock.SourceAPI)
			wantCode(w.t, err, penstock.CodeInvalidRequest, "")
			if err == nil {
				return ""
			}
			return err.Error()
		}
		for name, tt := range map[string]struct {
			config penstock.Config
			want   string
		}{
			"a misspelled one": {
				penstock.Config{Secrets: []string{"STRIPE_KEY", "STRIPE_KEYS"}},
				`Invalid request: /config/secrets/1: the team has no managed secret "STRIPE_KEYS"; did you mean "STRIPE_KEY"?`,
			},
			"nothing like it": {
				penstock.Config{HarnessAuthSecrets: []byte(`{"claude": "ANTHROPIC"}`)},
				`Invalid request: /config/harness_auth_secrets/claude: the team has no managed secret "ANTHROPIC"`,
			},
			"one without a value": {
				penstock.Config{
					MCPServers: map[string]penstock.MCPServer{
						"x": {URL: "https://x.example", Headers: map[string]string{"Authorization": "Bearer ${{ secrets.PENDING }}"}},
					},
				},
				`Invalid request: /config/mcp_servers/x/headers/Authorization: the managed secret "PENDING" has no value yet`,
			},
			"no object": {
				penstock.Config{HarnessAuthSecrets: []byte(`["A"]`)},
				`Invalid request: /config/harness_auth_secrets: must be an object with a secret's name for each key`,
			},
		} {
			if got := refused(penstock.RunRequest{Prompt: "go", Config: &tt.config}); got != tt.want {
				w.t.Errorf("%s: got %s, want %s", name, got, tt.want)
			}
		}
		agentName, secrets := "reviewer", []penstock.NamedSecret{{Name: "STRIPE"}}
		_, err := w.Resources.CreateIdentity(ctx, w.admin, penstock.IdentityRequest{Name: &agentName, Secrets: &secrets})
		wantCode(w.t, err, penstock.CodeInvalidRequest, `/secrets/0/name: the team has no managed secret "STRIPE"`)
		secrets[0].Name = "PENDING" // an agent may wait for it
		agent, err := w.Resources.CreateIdentity(ctx, w.admin, penstock.IdentityRequest{Name: &agentName, Secrets: &secrets})
		if err != nil {
			w.t.Fatal(err)
		}
		want := `Invalid request: /agent_identity_uid: the agent's secrets: the managed secret "PENDING" has no value yet`
		if got := refused(penstock.RunRequest{Prompt: "go", AgentIdentityUID: agent.UID}); got != want {
			w.t.Errorf("through an agent: got %s, want %s", got, want)
		}
		_, err = w.Schedules.Create(
			ctx, w.admin,
			penstock.ScheduleRequest{
				Name: "n", Cron: "@daily", Prompt: "go", Config: &penstock.Config{Secrets: []string{"NONE"}},
			},
		)
		wantCode(w.t, err, penstock.CodeInvalidRequest, `/agent_config/secrets/0: the team has no managed secret "NONE"`)
	})
}

// An execution gets the current values of the secrets that its run names, and no others.
func TestExecutionGetsTheSecretsThatItsRunNames(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, name := range []string{"A", "B", "C", "OTHER"} {
			w.secret(name, "value of "+name)
		}
		agentName, secrets := "reviewer", []penstock.NamedSecret{{Name: "C"}}
		agent, err := w.Resources.CreateIdentity(
			w.t.Context(), w.admin, penstock.IdentityRequest{Name: &agentName, Secrets: &secrets},
		)
		if err != nil {
			w.t.Fatal(err)
		}
		servers := map[string]penstock.MCPServer{"x": {Command: "x", Env: map[string]string{"T": "${{ secrets.B }}"}}}
		w.create(penstock.RunRequest{Prompt: "1", Config: &penstock.Config{Secrets: []string{"A"}, MCPServers: servers}})
		id := w.create(penstock.RunRequest{Prompt: "2", AgentIdentityUID: agent.UID}).ID
		w.create(penstock.RunRequest{Prompt: "3"})

		first := w.work()
		if diff := cmp.Diff(map[string]string{"A": "value of A", "B": "value of B"}, first.Secrets); diff != "" {
			w.t.Errorf("named by the request, -want +got:\n%s", diff)
		}
		second := w.work()
		if diff := cmp.Diff(map[string]string{"C": "value of C"}, second.Secrets); diff != "" {
			w.t.Errorf("named by the agent, -want +got:\n%s", diff)
		}
		if third := w.work(); len(third.Secrets) != 0 {
			w.t.Errorf("named by nobody: got %v", third.Secrets)
		}
		if err := w.Secrets.Touch(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		list, err := w.Secrets.List(w.t.Context(), w.admin)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, s := range list {
			if used := s.LastUsedAt != 0; used == (s.Name == "OTHER") {
				w.t.Errorf("%s: last used at %s", s.Name, s.LastUsedAt)
			}
		}
		w.setSecret("C", "the next value")
		w.finish(second.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.followUp(id, "once more")
		if diff := cmp.Diff(map[string]string{"C": "the next value"}, w.work().Secrets); diff != "" {
			w.t.Errorf("the next execution, -want +got:\n%s", diff)
		}
	})
}

// If a run waits in the queue beyond the lifetime of its secret, it ends with a message and does
// not block the next run.
func TestRunWhoseSecretIsGoneFails(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		for _, name := range []string{"DELETED", "DECLARED", "MOVED", "SAME"} {
			w.secret(name, "hunter22")
		}
		ids := map[string]string{}
		for _, name := range []string{"DELETED", "DECLARED", "MOVED"} {
			ids[name] = w.create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Secrets: []string{"SAME", name}}}).ID
		}
		next := w.create(penstock.RunRequest{Prompt: "next"}).ID
		for _, name := range []string{"DELETED", "DECLARED"} {
			if err := w.Secrets.Delete(ctx, w.admin, name); err != nil {
				w.t.Fatal(err)
			}
		}
		w.secret("DECLARED", "")
		// As if somebody had exchanged the stored values of two secrets.
		testkit.Exec(
			w.t, w.url, "UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'SAME') WHERE name = 'MOVED'",
		)

		if got := w.work().Run.ID; got != next {
			w.t.Errorf("got run %s, want the next, %s", got, next)
		}
		for name, want := range map[string]penstock.StatusMessage{
			"DELETED": {
				Message:   "The run needs the secret DELETED, which has been deleted.",
				ErrorCode: penstock.CodeEnvironmentSetupFailed,
			},
			"DECLARED": {
				Message: "The run needs the secret DECLARED, which has no value.", ErrorCode: penstock.CodeEnvironmentSetupFailed,
			},
			"MOVED": {Message: "The server cannot open the secret MOVED.", ErrorCode: penstock.CodeInternal, Retryable: true},
		} {
			state := penstock.StateFailed
			if name == "MOVED" {
				state = penstock.StateError
			}
			if diff := cmp.Diff(&want, w.mustBe(ids[name], state).StatusMessage); diff != "" {
				w.t.Errorf("%s, -want +got:\n%s", name, diff)
			}
		}
		w.setSecret("DECLARED", "hunter22")
		w.followUp(ids["DECLARED"], "try again")
		if got := w.work(); got.Run.ID != ids["DECLARED"] || got.Secrets["DECLARED"] != "hunter22" {
			w.t.Errorf("tried again: got %+v", got.Run)
		}
	})
}
