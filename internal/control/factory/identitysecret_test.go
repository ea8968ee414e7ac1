package factory_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func secretRefs(names ...string) []penstock.NamedSecret {
	refs := []penstock.NamedSecret{}
	for _, name := range names {
		refs = append(refs, penstock.NamedSecret{Name: name})
	}
	return refs
}

func (w *world) appendSecrets(uid string, names ...string) (penstock.Identity, error) {
	return w.Resources.AppendIdentitySecrets(
		w.T.Context(), w.Admin, uid, factory.SecretsAppend{Secrets: secretRefs(names...)},
	)
}

func TestAppendedSecretsJoinTheSecretsOfTheAgent(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for _, name := range []string{"ONE", "TWO", "THREE"} {
			w.CreateSecret(name, "value-of-"+name)
		}
		had := secretRefs("ONE")
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("reviewer"), Secrets: &had})
		got, err := w.appendSecrets(agent.UID, "TWO", "ONE", "THREE", "TWO")
		if err != nil {
			w.T.Fatal(err)
		}
		if diff := cmp.Diff(secretRefs("ONE", "TWO", "THREE"), got.Secrets); diff != "" {
			w.T.Errorf("appended, -want +got:\n%s", diff)
		}
		run := w.Get(w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: agent.UID}).ID)
		if diff := cmp.Diff(penstock.SecretNames{"ONE", "TWO", "THREE"}, run.Config.Secrets); diff != "" {
			w.T.Errorf("a run's secrets, -want +got:\n%s", diff)
		}
		for _, none := range [][]string{nil, {"TWO"}} {
			same, err := w.appendSecrets(agent.UID, none...)
			if diff := cmp.Diff(got, same); diff != "" || err != nil {
				w.T.Errorf("appended %v: %v, -want +got:\n%s", none, err, diff)
			}
		}

		for name, at := range map[string]string{"MISSING": "/secrets_append/1/name", "not a name": "/secrets_append/1/name"} {
			_, err := w.appendSecrets(agent.UID, "ONE", name)
			var known *penstock.Error
			if !errors.As(err, &known) || known.Code != penstock.CodeInvalidRequest || len(known.Fields) != 1 ||
				known.Fields[0].Pointer != at {
				w.T.Errorf("appended %q: %v, want invalid_request at %s", name, err, at)
			}
		}
		_, err = w.Resources.AppendIdentitySecrets(
			ctx, w.As("reader", penstock.ScopeFactoriesRead), agent.UID, factory.SecretsAppend{},
		)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "")
		_, err = w.appendSecrets("nobody")
		testworld.WantCode(w.T, err, penstock.CodeNotFound, "nobody")
		if after, err := w.Resources.Identity(ctx, w.Admin, agent.UID); err != nil || cmp.Diff(got, after) != "" {
			w.T.Errorf("what was refused left %+v, %v", after, err)
		}
	})
}

func TestConcurrentlyAppendedSecretsAreAllKept(t *testing.T) {
	worlds(t, nil, func(w *world) {
		names := []string{"A1", "A2", "A3", "A4", "A5", "A6"}
		for _, name := range names {
			w.CreateSecret(name, "value-of-"+name)
		}
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("reviewer")})
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				if _, err := w.appendSecrets(agent.UID, name); err != nil {
					w.T.Error(err)
				}
			})
		}
		all.Wait()
		if after, err := w.Resources.Identity(w.T.Context(), w.Admin, agent.UID); err != nil ||
			len(after.Secrets) != len(names) {
			w.T.Errorf("kept %v, %v, want all of %v", after.Secrets, err, names)
		}
	})
}

// A list in the agent's own configuration would replace the inherited one.
func TestAppendedSecretsJoinInheritedOnes(t *testing.T) {
	withTeam(t, func(h *hooks) {
		f, err := h.Factories.Read(h.T.Context(), h.Admin, h.factory)
		if err != nil {
			h.T.Fatal(err)
		}
		for agent, want := range map[string]string{
			"lead": "secrets:\n  - SHARED\n  - EVERYWHERE\n", "fixer": "secrets: [EVERYWHERE]\n",
		} {
			uid := agentUID(h.T, f, agent)
			req := factory.SecretsAppend{Secrets: secretRefs("EVERYWHERE")}
			if _, err := h.Resources.AppendIdentitySecrets(h.T.Context(), h.Admin, uid, req); err != nil {
				h.T.Fatal(err)
			}
			if text := h.files().Files["agents/"+agent+"/agent.md"]; !strings.Contains(text, want) {
				h.T.Errorf("the file of %s is %q, want %q in it", agent, text, want)
			}
		}
	})
}

func TestBaseHarnessIsTheTypeOfHarness(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.Harnesses = append(o.Harnesses, "claude") }, func(w *world) {
		ctx := w.T.Context()
		claude := &penstock.Harness{Type: "claude", ModelID: "m"}
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("reviewer"), BaseHarness: new("claude")})
		for _, test := range []struct {
			name string
			req  factory.IdentityRequest
			want *penstock.Harness
		}{
			{"created with it", factory.IdentityRequest{}, &penstock.Harness{Type: "claude"}},
			{"harness wins", factory.IdentityRequest{Harness: claude, BaseHarness: new("claude")}, claude},
			{"the type it has", factory.IdentityRequest{BaseHarness: new("claude")}, claude},
			{"another type", factory.IdentityRequest{BaseHarness: new("oz")}, &penstock.Harness{Type: "oz"}},
			{"empty beside harness", factory.IdentityRequest{Harness: claude, BaseHarness: new("")}, claude},
			{"empty", factory.IdentityRequest{BaseHarness: new("")}, nil},
			{"both empty", factory.IdentityRequest{Harness: &penstock.Harness{}, BaseHarness: new("")}, nil},
		} {
			got, err := w.Resources.UpdateIdentity(ctx, w.Admin, agent.UID, test.req)
			if err != nil {
				w.T.Fatalf("%s: %v", test.name, err)
			}
			kind := ""
			if test.want != nil {
				kind = test.want.Type
			}
			if diff := cmp.Diff(test.want, got.Harness); diff != "" || got.BaseHarness != kind {
				w.T.Errorf("%s: base_harness %q, harness -want +got:\n%s", test.name, got.BaseHarness, diff)
			}
		}
		for _, req := range []factory.IdentityRequest{
			{Harness: claude, BaseHarness: new("oz")},
			{BaseHarness: new("abacus")},
		} {
			_, err := w.Resources.UpdateIdentity(ctx, w.Admin, agent.UID, req)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/base_harness")
			req.Name = new("other")
			_, err = w.Resources.CreateIdentity(ctx, w.Admin, req)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/base_harness")
		}
	})
}
