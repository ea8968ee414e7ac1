package access_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestKeyIsShownOnceAndActsForItsOwner(t *testing.T) {
	worlds(t, nil, func(w *world) {
		k := w.CreateKey(
			w.Admin,
			access.KeyRequest{
				Name: " ci ", Scopes: []penstock.Scope{penstock.ScopeRunsWrite, penstock.ScopeRunsRead, penstock.ScopeRunsRead},
			},
		)
		if !strings.HasPrefix(k.Key, "psk_") || len(k.Key) != 47 || !strings.HasPrefix(k.Key, k.Prefix) || k.Name != "ci" {
			w.T.Errorf("made %+v", k)
		}
		p, err := w.Keys.Authenticate(w.T.Context(), k.Key)
		if err != nil {
			w.T.Fatal(err)
		}
		want := penstock.Principal{
			Team: store.DefaultTeam, KeyUID: k.UID, Makers: []string{w.Admin.KeyUID}, Actor: w.Admin.Actor,
			Scopes: []penstock.Scope{penstock.ScopeRunsRead, penstock.ScopeRunsWrite},
			Roles:  []penstock.Role{penstock.AdminRole},
		}
		if diff := cmp.Diff(want, p); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		keys, err := w.Keys.List(w.T.Context(), w.Admin)
		if err != nil || len(keys) != 2 {
			w.T.Fatalf("listed %d keys, %v, want that and the first", len(keys), err)
		}
		for _, listed := range keys {
			if listed.Key != "" {
				w.T.Errorf("the list shows the key %s", listed.Name)
			}
		}
	})
}

func TestInvalidKeyIsRejected(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		soon := w.CreateKey(
			w.Admin,
			access.KeyRequest{Name: "soon over", Scopes: []penstock.Scope{penstock.ScopeRunsRead}, ExpiresInSeconds: 1},
		)
		revoked := w.CreateKey(
			w.Admin, access.KeyRequest{Name: "revoked", Scopes: []penstock.Scope{penstock.ScopeRunsRead}},
		)
		if _, err := w.Keys.Authenticate(ctx, revoked.Key); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Keys.Revoke(ctx, w.Admin, revoked.UID); err != nil {
			w.T.Fatal(err)
		}
		for name, key := range map[string]string{
			"empty": "", "unknown": "psk_" + strings.Repeat("x", 43), "another prefix": "sk_" + strings.Repeat("x", 43),
			"huge": "psk_" + strings.Repeat("x", 1<<20), "revoked": revoked.Key, "with a space": revoked.Key + " ",
		} {
			if _, err := w.Keys.Authenticate(ctx, key); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
				w.T.Errorf("%s: got %v", name, err)
			}
		}
		testkit.Eventually(w.T, 10*time.Second, func() error {
			_, err := w.Keys.Authenticate(ctx, soon.Key)
			if penstock.CodeOf(err) == penstock.CodeAuthenticationRequired {
				return nil
			}
			return errors.Join(err, errors.New("it still works"))
		})
		testworld.WantCode(w.T, w.Keys.Revoke(ctx, w.Admin, revoked.UID), penstock.CodeNotFound, revoked.UID)
		other := w.Admin
		other.Team = "another"
		testworld.WantCode(w.T, w.Keys.Revoke(ctx, other, soon.UID), penstock.CodeNotFound, soon.UID)
	})
}

func TestNoKeyGrantsARightThatItLacks(t *testing.T) {
	worlds(t, nil, func(w *world) {
		manager := w.As("manager", penstock.ScopeKeysManage, penstock.ScopeRunsRead)
		for name, test := range map[string]struct {
			p        penstock.Principal
			req      access.KeyRequest
			code     penstock.Code
			mentions string
		}{
			"its own right": {
				manager, access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsRead}}, "", "",
			},
			"another right": {
				manager,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsWrite}},
				penstock.CodeNotAuthorized, "runs:write",
			},
			"admin": {
				manager,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}},
				penstock.CodeNotAuthorized,
				"admin",
			},
			"a worker's": {
				manager,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeWorker}},
				penstock.CodeNotAuthorized,
				"worker",
			},
			"an execution's": {
				w.Admin,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeOwnRun}},
				penstock.CodeInvalidRequest, "/scopes/0",
			},
			"a scope that is none": {
				w.Admin,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{"runs:read", "root"}},
				penstock.CodeInvalidRequest,
				"/scopes/1",
			},
			"none": {w.Admin, access.KeyRequest{Name: "k"}, penstock.CodeInvalidRequest, "/scopes"},
			"without a name": {
				w.Admin,
				access.KeyRequest{Name: " ", Scopes: []penstock.Scope{penstock.ScopeAdmin}},
				penstock.CodeInvalidRequest,
				"/name",
			},
			"with a long name": {
				w.Admin,
				access.KeyRequest{Name: strings.Repeat("n", 101), Scopes: []penstock.Scope{penstock.ScopeAdmin}},
				penstock.CodeInvalidRequest, "/name",
			},
			"a life in the past": {
				w.Admin,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}, ExpiresInSeconds: -1},
				penstock.CodeInvalidRequest, "/expires_in_seconds",
			},
			"a very long life": {
				w.Admin,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}, ExpiresInSeconds: 1 << 60},
				penstock.CodeInvalidRequest, "/expires_in_seconds",
			},
			"of no agent": {
				w.Admin,
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}, AgentUID: "nobody"},
				penstock.CodeInvalidRequest, "/agent_uid",
			},
			"by a reader": {
				w.As("reader", penstock.ScopeRunsRead),
				access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsRead}},
				penstock.CodeNotAuthorized,
				"keys:manage",
			},
		} {
			_, err := w.Keys.Create(w.T.Context(), test.p, test.req)
			if got := penstock.CodeOf(err); got != test.code || err != nil && !strings.Contains(err.Error(), test.mentions) {
				w.T.Errorf("%s: got %v, want %q that mentions %q", name, err, test.code, test.mentions)
			}
		}
	})
}

// Keys and sessions that a key creates expire with it at the latest, also through several steps or
// a session.
func TestNoKeyOutlivesTheKeyThatCreatedIt(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		scopes := []penstock.Scope{penstock.ScopeKeysManage, penstock.ScopeRunsRead}
		k := w.CreateKey(w.Admin, access.KeyRequest{Name: "for an hour", Scopes: scopes, ExpiresInSeconds: 3600})
		p, err := w.Keys.Authenticate(ctx, k.Key)
		if err != nil {
			w.T.Fatal(err)
		}
		cookie, session, err := w.Sessions.SignIn(ctx, p, access.SessionProof{})
		if err != nil || session.ExpiresAt != k.ExpiresAt {
			w.T.Errorf("the session ends at %s, %v, its key at %s", session.ExpiresAt, err, k.ExpiresAt)
		}
		proof := access.SessionProof{Cookie: cookie, Secret: session.Secret}
		signedIn, session, err := w.Sessions.Resume(ctx, proof)
		if err != nil || session.ExpiresAt != k.ExpiresAt {
			w.T.Errorf("the session ends at %s, %v, its key at %s", session.ExpiresAt, err, k.ExpiresAt)
		}
		child := w.CreateKey(p, access.KeyRequest{Name: "child", Scopes: scopes})
		byChild, err := w.Keys.Authenticate(ctx, child.Key)
		if err != nil {
			w.T.Fatal(err)
		}
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("reviewer"), BaseModel: new("m")})
		for name, maker := range map[string]penstock.Principal{"the key": p, "its session": signedIn, "its child": byChild} {
			for _, uid := range []string{"", agent.UID} {
				req := access.KeyRequest{Name: "k", Scopes: scopes, AgentUID: uid}
				if got := w.CreateKey(maker, req); got.ExpiresAt != k.ExpiresAt {
					w.T.Errorf("by %s: it expires at %s, want %s", name, got.ExpiresAt, k.ExpiresAt)
				}
				req.ExpiresInSeconds = 60
				if got := w.CreateKey(maker, req); got.ExpiresAt == 0 || got.ExpiresAt > k.ExpiresAt {
					w.T.Errorf("by %s, for a minute: it expires at %s", name, got.ExpiresAt)
				}
				req.ExpiresInSeconds = 3601
				_, err := w.Keys.Create(ctx, maker, req)
				testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/expires_in_seconds: must be at most 3")
			}
		}
		if got := w.CreateKey(w.Admin, access.KeyRequest{Name: "k", Scopes: scopes}); got.ExpiresAt != 0 {
			w.T.Errorf("by a key that does not expire: it expires at %s", got.ExpiresAt)
		}
	})
}

func TestLastAdminKeyIsKept(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		testworld.WantCode(w.T, w.Keys.Revoke(ctx, w.Admin, w.Admin.KeyUID), penstock.CodeConflict, "admin")
		if _, err := w.Keys.Create(
			ctx, w.Admin, access.KeyRequest{Name: "second", Scopes: []penstock.Scope{penstock.ScopeAdmin}},
		); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Keys.Revoke(ctx, w.Admin, w.Admin.KeyUID); err != nil {
			w.T.Errorf("with another one there: %v", err)
		}
	})
}

func TestKeyOfAnAgentActsAsTheAgentAndEndsWithIt(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("reviewer"), BaseModel: new("m")})
		// Its creator need not be able to read agents.
		maker := w.As("maker", penstock.ScopeKeysManage, penstock.ScopeRunsWrite)
		k := w.CreateKey(
			maker, access.KeyRequest{Name: "agent", Scopes: []penstock.Scope{penstock.ScopeRunsWrite}, AgentUID: agent.UID},
		)
		p, err := w.Keys.Authenticate(ctx, k.Key)
		if err != nil {
			w.T.Fatal(err)
		}
		want := penstock.Actor{Type: "service_account", UID: agent.UID, DisplayName: "reviewer"}
		if diff := cmp.Diff(want, p.Actor); diff != "" || p.AgentUID != agent.UID {
			w.T.Errorf("acts as %+v:\n%s", p, diff)
		}
		created, err := w.Runs.Create(ctx, p, penstock.RunRequest{Prompt: "go"}, "API")
		if err != nil {
			w.T.Fatal(err)
		}
		if run := w.Get(created.ID); run.Config.ModelID != "m" || run.Executor == nil || run.Executor.UID != agent.UID {
			w.T.Errorf("the run is executed by %+v with the model %q", run.Executor, run.Config.ModelID)
		}
		if err := w.Resources.DeleteIdentity(ctx, w.Admin, agent.UID); err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Keys.Authenticate(ctx, k.Key)
		testworld.WantCode(w.T, err, penstock.CodeAuthenticationRequired, "revoked")
		_, err = w.Keys.Create(
			ctx, w.Admin,
			access.KeyRequest{Name: "late", Scopes: []penstock.Scope{penstock.ScopeRunsRead}, AgentUID: agent.UID},
		)
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/agent_uid")
		if run := w.Get(created.ID); run.Executor == nil || run.Executor.DisplayName != "reviewer" {
			w.T.Errorf("the run has lost who executed it: %+v", run.Executor)
		}
	})
}

func TestOnlyAnAdminMakesKeysOfAnAgentThatActsForOthers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("proxy"), OnBehalfOfEnabled: new(true)})
		req := access.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsWrite}, AgentUID: agent.UID}
		_, err := w.Keys.Create(w.T.Context(), w.As("manager", penstock.ScopeKeysManage, penstock.ScopeRunsWrite), req)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "admin")
		w.CreateKey(w.Admin, req)
	})
}

func TestExecutionKeyIsValidAsLongAsTheLease(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		created := w.Create(penstock.RunRequest{Prompt: "go"})
		a := w.Work()
		p, err := w.Keys.Authenticate(ctx, a.APIKey)
		if err != nil {
			w.T.Fatal(err)
		}
		if p.RunID != created.ID || p.May(penstock.ScopeRunsRead) || !p.May(penstock.ScopeOwnRun) {
			w.T.Errorf("it is %+v", p)
		}
		if me := w.Keys.Me(p); me.RunID != created.ID {
			w.T.Errorf("it is told to be %+v", me)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		_, err = w.Keys.Authenticate(ctx, a.APIKey)
		testworld.WantCode(w.T, err, penstock.CodeAuthenticationRequired, "")
	})
}

func TestLastUseOfAKeyIsRecorded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		k := w.CreateKey(w.Admin, access.KeyRequest{Name: "ci", Scopes: []penstock.Scope{penstock.ScopeRunsRead}})
		if _, err := w.Keys.Authenticate(ctx, k.Key); err != nil {
			w.T.Fatal(err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_ = w.Keys.Touch(gone) // the database is unavailable, and its last state is kept
		testkit.Eventually(w.T, 10*time.Second, func() error {
			if err := w.Keys.Touch(ctx); err != nil {
				return err
			}
			keys, err := w.Keys.List(ctx, w.Admin)
			for _, listed := range keys {
				if listed.UID == k.UID && listed.LastUsedAt >= k.CreatedAt {
					return nil
				}
			}
			return errors.Join(err, errors.New("the key was never used"))
		})
	})
}

func TestFirstKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		svc := control.New(run.Deps{Store: s})
		_, _, err := svc.Keys.Bootstrap(ctx, "too short")
		testworld.WantCode(t, err, penstock.CodeInvalidRequest, "psk_")
		// Replicas start at the same time with an empty database.
		var mu sync.Mutex
		var made []string
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				ok, key, err := svc.Keys.Bootstrap(ctx, "")
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if ok {
					made = append(made, key)
				}
			})
		}
		all.Wait()
		if len(made) != 1 {
			t.Fatalf("%d first keys were made, want 1", len(made))
		}
		if p, err := svc.Keys.Authenticate(ctx, made[0]); err != nil || !p.May(penstock.ScopeAdmin) {
			t.Errorf("the first key does not work: %+v, %v", p, err)
		}
		if ok, _, err := svc.Keys.Bootstrap(ctx, "psk_"+strings.Repeat("x", 30)); ok || err != nil {
			t.Errorf("another first key: %v, %v", ok, err)
		}
	})
}
