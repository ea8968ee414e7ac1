package access_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestRunCanNameOnlyExistingSecrets(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("STRIPE_KEY", "hunter22")
		w.CreateSecret("PENDING", "")
		refused := func(req penstock.RunRequest) string {
			_, err := w.Runs.Create(ctx, w.Admin, req, "API")
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "")
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
				w.T.Errorf("%s: got %s, want %s", name, got, tt.want)
			}
		}
		agentName, secrets := "reviewer", []penstock.NamedSecret{{Name: "STRIPE"}}
		_, err := w.Resources.CreateIdentity(ctx, w.Admin, factory.IdentityRequest{Name: &agentName, Secrets: &secrets})
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, `/secrets/0/name: the team has no managed secret "STRIPE"`)
		secrets[0].Name = "PENDING" // an agent may wait for it
		agent, err := w.Resources.CreateIdentity(ctx, w.Admin, factory.IdentityRequest{Name: &agentName, Secrets: &secrets})
		if err != nil {
			w.T.Fatal(err)
		}
		want := `Invalid request: /agent_identity_uid: the agent's secrets: the managed secret "PENDING" has no value yet`
		if got := refused(penstock.RunRequest{Prompt: "go", AgentIdentityUID: agent.UID}); got != want {
			w.T.Errorf("through an agent: got %s, want %s", got, want)
		}
		_, err = w.Schedules.Create(
			ctx, w.Admin,
			factory.ScheduleRequest{
				Name: "n", Cron: "@daily", Prompt: "go", Config: &penstock.Config{Secrets: []string{"NONE"}},
			},
		)
		testworld.WantCode(
			w.T, err, penstock.CodeInvalidRequest, `/agent_config/secrets/0: the team has no managed secret "NONE"`,
		)
	})
}

// An execution gets the current values of the secrets that its run names, and no others.
func TestExecutionGetsTheSecretsThatItsRunNames(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, name := range []string{"A", "B", "C", "OTHER"} {
			w.CreateSecret(name, "value of "+name)
		}
		agentName, secrets := "reviewer", []penstock.NamedSecret{{Name: "C"}}
		agent, err := w.Resources.CreateIdentity(
			w.T.Context(), w.Admin, factory.IdentityRequest{Name: &agentName, Secrets: &secrets},
		)
		if err != nil {
			w.T.Fatal(err)
		}
		servers := map[string]penstock.MCPServer{"x": {Command: "x", Env: map[string]string{"T": "${{ secrets.B }}"}}}
		w.Create(penstock.RunRequest{Prompt: "1", Config: &penstock.Config{Secrets: []string{"A"}, MCPServers: servers}})
		id := w.Create(penstock.RunRequest{Prompt: "2", AgentIdentityUID: agent.UID}).ID
		w.Create(penstock.RunRequest{Prompt: "3"})

		first := w.Work()
		if diff := cmp.Diff(map[string]string{"A": "value of A", "B": "value of B"}, first.Secrets); diff != "" {
			w.T.Errorf("named by the request, -want +got:\n%s", diff)
		}
		second := w.Work()
		if diff := cmp.Diff(map[string]string{"C": "value of C"}, second.Secrets); diff != "" {
			w.T.Errorf("named by the agent, -want +got:\n%s", diff)
		}
		if third := w.Work(); len(third.Secrets) != 0 {
			w.T.Errorf("named by nobody: got %v", third.Secrets)
		}
		if err := w.Secrets.Touch(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		list, err := w.Secrets.List(w.T.Context(), w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, s := range list {
			if used := s.LastUsedAt != 0; used == (s.Name == "OTHER") {
				w.T.Errorf("%s: last used at %s", s.Name, s.LastUsedAt)
			}
		}
		w.SetSecret("C", "the next value")
		w.Finish(second.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.FollowUp(id, "once more")
		if diff := cmp.Diff(map[string]string{"C": "the next value"}, w.Work().Secrets); diff != "" {
			w.T.Errorf("the next execution, -want +got:\n%s", diff)
		}
	})
}

// If a run waits in the queue beyond the lifetime of its secret, it ends with a message and does
// not block the next run.
func TestRunWhoseSecretIsGoneFails(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for _, name := range []string{"DELETED", "DECLARED", "MOVED", "SAME"} {
			w.CreateSecret(name, "hunter22")
		}
		ids := map[string]string{}
		for _, name := range []string{"DELETED", "DECLARED", "MOVED"} {
			ids[name] = w.Create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Secrets: []string{"SAME", name}}}).ID
		}
		next := w.Create(penstock.RunRequest{Prompt: "next"}).ID
		for _, name := range []string{"DELETED", "DECLARED"} {
			if err := w.Secrets.Delete(ctx, w.Admin, name); err != nil {
				w.T.Fatal(err)
			}
		}
		w.CreateSecret("DECLARED", "")
		// As if somebody had exchanged the stored values of two secrets.
		testkit.Exec(
			w.T, w.URL, "UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'SAME') WHERE name = 'MOVED'",
		)

		if got := w.Work().Run.ID; got != next {
			w.T.Errorf("got run %s, want the next, %s", got, next)
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
			if diff := cmp.Diff(&want, w.MustBe(ids[name], state).StatusMessage); diff != "" {
				w.T.Errorf("%s, -want +got:\n%s", name, diff)
			}
		}
		w.SetSecret("DECLARED", "hunter22")
		w.FollowUp(ids["DECLARED"], "try again")
		if got := w.Work(); got.Run.ID != ids["DECLARED"] || got.Secrets["DECLARED"] != "hunter22" {
			w.T.Errorf("tried again: got %+v", got.Run)
		}
	})
}
