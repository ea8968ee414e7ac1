package service_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/service"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func (w *world) createKey(p penstock.Principal, req penstock.KeyRequest) penstock.Key {
	w.t.Helper()
	k, err := w.Keys.Create(w.t.Context(), p, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// wantCode fails the test unless err has the code and contains the text.
func wantCode(t *testing.T, err error, code penstock.Code, mentions string) {
	t.Helper()
	if got := penstock.CodeOf(err); got != code || err != nil && !strings.Contains(err.Error(), mentions) {
		t.Errorf("got %q (%v), want %q that mentions %q", got, err, code, mentions)
	}
}

func TestKeyIsShownOnceAndActsForItsOwner(t *testing.T) {
	worlds(t, nil, func(w *world) {
		k := w.createKey(
			w.admin,
			penstock.KeyRequest{
				Name: " ci ", Scopes: []penstock.Scope{penstock.ScopeRunsWrite, penstock.ScopeRunsRead, penstock.ScopeRunsRead},
			},
		)
		if !strings.HasPrefix(k.Key, "psk_") || len(k.Key) != 47 || !strings.HasPrefix(k.Key, k.Prefix) || k.Name != "ci" {
			w.t.Errorf("made %+v", k)
		}
		p, err := w.Keys.Authenticate(w.t.Context(), k.Key)
		if err != nil {
			w.t.Fatal(err)
		}
		want := penstock.Principal{
			Team: store.DefaultTeam, KeyUID: k.UID, Makers: []string{w.admin.KeyUID}, Actor: w.admin.Actor,
			Scopes: []penstock.Scope{penstock.ScopeRunsRead, penstock.ScopeRunsWrite},
		}
		if diff := cmp.Diff(want, p); diff != "" {
			w.t.Errorf("-want +got:\n%s", diff)
		}
		keys, err := w.Keys.List(w.t.Context(), w.admin)
		if err != nil || len(keys) != 2 {
			w.t.Fatalf("listed %d keys, %v, want that and the first", len(keys), err)
		}
		for _, listed := range keys {
			if listed.Key != "" {
				w.t.Errorf("the list shows the key %s", listed.Name)
			}
		}
	})
}

func TestInvalidKeyIsRejected(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		soon := w.createKey(
			w.admin,
			penstock.KeyRequest{Name: "soon over", Scopes: []penstock.Scope{penstock.ScopeRunsRead}, ExpiresInSeconds: 1},
		)
		revoked := w.createKey(
			w.admin, penstock.KeyRequest{Name: "revoked", Scopes: []penstock.Scope{penstock.ScopeRunsRead}},
		)
		if _, err := w.Keys.Authenticate(ctx, revoked.Key); err != nil {
			w.t.Fatal(err)
		}
		if err := w.Keys.Revoke(ctx, w.admin, revoked.UID); err != nil {
			w.t.Fatal(err)
		}
		for name, key := range map[string]string{
			"empty": "", "unknown": "psk_" + strings.Repeat("x", 43), "another prefix": "sk_" + strings.Repeat("x", 43),
			"huge": "psk_" + strings.Repeat("x", 1<<20), "revoked": revoked.Key, "with a space": revoked.Key + " ",
		} {
			if _, err := w.Keys.Authenticate(ctx, key); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
				w.t.Errorf("%s: got %v", name, err)
			}
		}
		testkit.Eventually(w.t, 5*time.Second, func() error {
			_, err := w.Keys.Authenticate(ctx, soon.Key)
			if penstock.CodeOf(err) == penstock.CodeAuthenticationRequired {
				return nil
			}
			return errors.Join(err, errors.New("it still works"))
		})
		wantCode(w.t, w.Keys.Revoke(ctx, w.admin, revoked.UID), penstock.CodeNotFound, revoked.UID)
		other := w.admin
		other.Team = "another"
		wantCode(w.t, w.Keys.Revoke(ctx, other, soon.UID), penstock.CodeNotFound, soon.UID)
	})
}

func TestNoKeyGrantsARightThatItLacks(t *testing.T) {
	worlds(t, nil, func(w *world) {
		manager := w.as("manager", penstock.ScopeKeysManage, penstock.ScopeRunsRead)
		for name, test := range map[string]struct {
			p        penstock.Principal
			req      penstock.KeyRequest
			code     penstock.Code
			mentions string
		}{
			"its own right": {
				manager, penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsRead}}, "", "",
			},
			"another right": {
				manager,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsWrite}},
				penstock.CodeNotAuthorized, "runs:write",
			},
			"admin": {
				manager,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}},
				penstock.CodeNotAuthorized,
				"admin",
			},
			"a worker's": {
				manager,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeWorker}},
				penstock.CodeNotAuthorized,
				"worker",
			},
			"an execution's": {
				w.admin,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeOwnRun}},
				penstock.CodeInvalidRequest, "/scopes/0",
			},
			"a scope that is none": {
				w.admin,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{"runs:read", "root"}},
				penstock.CodeInvalidRequest,
				"/scopes/1",
			},
			"none": {w.admin, penstock.KeyRequest{Name: "k"}, penstock.CodeInvalidRequest, "/scopes"},
			"without a name": {
				w.admin,
				penstock.KeyRequest{Name: " ", Scopes: []penstock.Scope{penstock.ScopeAdmin}},
				penstock.CodeInvalidRequest,
				"/name",
			},
			"with a long name": {
				w.admin,
				penstock.KeyRequest{Name: strings.Repeat("n", 101), Scopes: []penstock.Scope{penstock.ScopeAdmin}},
				penstock.CodeInvalidRequest, "/name",
			},
			"a life in the past": {
				w.admin,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}, ExpiresInSeconds: -1},
				penstock.CodeInvalidRequest, "/expires_in_seconds",
			},
			"a very long life": {
				w.admin,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}, ExpiresInSeconds: 1 << 60},
				penstock.CodeInvalidRequest, "/expires_in_seconds",
			},
			"of no agent": {
				w.admin,
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeAdmin}, AgentUID: "nobody"},
				penstock.CodeInvalidRequest, "/agent_uid",
			},
			"by a reader": {
				w.as("reader", penstock.ScopeRunsRead),
				penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsRead}},
				penstock.CodeNotAuthorized,
				"keys:manage",
			},
		} {
			_, err := w.Keys.Create(w.t.Context(), test.p, test.req)
			if got := penstock.CodeOf(err); got != test.code || err != nil && !strings.Contains(err.Error(), test.mentions) {
				w.t.Errorf("%s: got %v, want %q that mentions %q", name, err, test.code, test.mentions)
			}
		}
	})
}

// Keys and sessions that a key creates expire with it at the latest, also through several steps or
// a session.
func TestNoKeyOutlivesTheKeyThatCreatedIt(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		scopes := []penstock.Scope{penstock.ScopeKeysManage, penstock.ScopeRunsRead}
		k := w.createKey(w.admin, penstock.KeyRequest{Name: "for an hour", Scopes: scopes, ExpiresInSeconds: 3600})
		p, err := w.Keys.Authenticate(ctx, k.Key)
		if err != nil {
			w.t.Fatal(err)
		}
		cookie, session, err := w.Sessions.SignIn(ctx, p, access.SessionProof{})
		if err != nil || session.ExpiresAt != k.ExpiresAt {
			w.t.Errorf("the session ends at %s, %v, its key at %s", session.ExpiresAt, err, k.ExpiresAt)
		}
		proof := access.SessionProof{Cookie: cookie, Secret: session.Secret}
		signedIn, session, err := w.Sessions.Resume(ctx, proof)
		if err != nil || session.ExpiresAt != k.ExpiresAt {
			w.t.Errorf("the session ends at %s, %v, its key at %s", session.ExpiresAt, err, k.ExpiresAt)
		}
		child := w.createKey(p, penstock.KeyRequest{Name: "child", Scopes: scopes})
		byChild, err := w.Keys.Authenticate(ctx, child.Key)
		if err != nil {
			w.t.Fatal(err)
		}
		agent := w.createAgent(penstock.IdentityRequest{Name: new("reviewer"), BaseModel: new("m")})
		for name, maker := range map[string]penstock.Principal{"the key": p, "its session": signedIn, "its child": byChild} {
			for _, uid := range []string{"", agent.UID} {
				req := penstock.KeyRequest{Name: "k", Scopes: scopes, AgentUID: uid}
				if got := w.createKey(maker, req); got.ExpiresAt != k.ExpiresAt {
					w.t.Errorf("by %s: it expires at %s, want %s", name, got.ExpiresAt, k.ExpiresAt)
				}
				req.ExpiresInSeconds = 60
				if got := w.createKey(maker, req); got.ExpiresAt == 0 || got.ExpiresAt > k.ExpiresAt {
					w.t.Errorf("by %s, for a minute: it expires at %s", name, got.ExpiresAt)
				}
				req.ExpiresInSeconds = 3601
				_, err := w.Keys.Create(ctx, maker, req)
				wantCode(w.t, err, penstock.CodeInvalidRequest, "/expires_in_seconds: must be at most 3")
			}
		}
		if got := w.createKey(w.admin, penstock.KeyRequest{Name: "k", Scopes: scopes}); got.ExpiresAt != 0 {
			w.t.Errorf("by a key that does not expire: it expires at %s", got.ExpiresAt)
		}
	})
}

func TestLastAdminKeyIsKept(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		wantCode(w.t, w.Keys.Revoke(ctx, w.admin, w.admin.KeyUID), penstock.CodeConflict, "admin")
		if _, err := w.Keys.Create(
			ctx, w.admin, penstock.KeyRequest{Name: "second", Scopes: []penstock.Scope{penstock.ScopeAdmin}},
		); err != nil {
			w.t.Fatal(err)
		}
		if err := w.Keys.Revoke(ctx, w.admin, w.admin.KeyUID); err != nil {
			w.t.Errorf("with another one there: %v", err)
		}
	})
}

func TestKeyOfAnAgentActsAsTheAgentAndEndsWithIt(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		agent := w.createAgent(penstock.IdentityRequest{Name: new("reviewer"), BaseModel: new("m")})
		// Its creator need not be able to read agents.
		maker := w.as("maker", penstock.ScopeKeysManage, penstock.ScopeRunsWrite)
		k := w.createKey(
			maker, penstock.KeyRequest{Name: "agent", Scopes: []penstock.Scope{penstock.ScopeRunsWrite}, AgentUID: agent.UID},
		)
		p, err := w.Keys.Authenticate(ctx, k.Key)
		if err != nil {
			w.t.Fatal(err)
		}
		want := penstock.Actor{Type: "service_account", UID: agent.UID, DisplayName: "reviewer"}
		if diff := cmp.Diff(want, p.Actor); diff != "" || p.AgentUID != agent.UID {
			w.t.Errorf("acts as %+v:\n%s", p, diff)
		}
		created, err := w.Runs.Create(ctx, p, penstock.RunRequest{Prompt: "go"}, penstock.SourceAPI)
		if err != nil {
			w.t.Fatal(err)
		}
		if run := w.get(created.ID); run.Config.ModelID != "m" || run.Executor == nil || run.Executor.UID != agent.UID {
			w.t.Errorf("the run is executed by %+v with the model %q", run.Executor, run.Config.ModelID)
		}
		if err := w.Resources.DeleteIdentity(ctx, w.admin, agent.UID); err != nil {
			w.t.Fatal(err)
		}
		_, err = w.Keys.Authenticate(ctx, k.Key)
		wantCode(w.t, err, penstock.CodeAuthenticationRequired, "revoked")
		_, err = w.Keys.Create(
			ctx, w.admin,
			penstock.KeyRequest{Name: "late", Scopes: []penstock.Scope{penstock.ScopeRunsRead}, AgentUID: agent.UID},
		)
		wantCode(w.t, err, penstock.CodeInvalidRequest, "/agent_uid")
		if run := w.get(created.ID); run.Executor == nil || run.Executor.DisplayName != "reviewer" {
			w.t.Errorf("the run has lost who executed it: %+v", run.Executor)
		}
	})
}

func TestOnlyAnAdminMakesKeysOfAnAgentThatActsForOthers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		agent := w.createAgent(penstock.IdentityRequest{Name: new("proxy"), OnBehalfOfEnabled: new(true)})
		req := penstock.KeyRequest{Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsWrite}, AgentUID: agent.UID}
		_, err := w.Keys.Create(w.t.Context(), w.as("manager", penstock.ScopeKeysManage, penstock.ScopeRunsWrite), req)
		wantCode(w.t, err, penstock.CodeNotAuthorized, "admin")
		w.createKey(w.admin, req)
	})
}

func TestExecutionKeyIsValidAsLongAsTheLease(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		created := w.create(penstock.RunRequest{Prompt: "go"})
		a := w.work()
		p, err := w.Keys.Authenticate(ctx, a.APIKey)
		if err != nil {
			w.t.Fatal(err)
		}
		if p.RunID != created.ID || p.May(penstock.ScopeRunsRead) || !p.May(penstock.ScopeOwnRun) {
			w.t.Errorf("it is %+v", p)
		}
		if me := w.Keys.Me(p); me.RunID != created.ID {
			w.t.Errorf("it is told to be %+v", me)
		}
		w.finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		_, err = w.Keys.Authenticate(ctx, a.APIKey)
		wantCode(w.t, err, penstock.CodeAuthenticationRequired, "")
	})
}

func TestLastUseOfAKeyIsRecorded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		k := w.createKey(w.admin, penstock.KeyRequest{Name: "ci", Scopes: []penstock.Scope{penstock.ScopeRunsRead}})
		if _, err := w.Keys.Authenticate(ctx, k.Key); err != nil {
			w.t.Fatal(err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_ = w.Keys.Touch(gone) // the database is unavailable, and its last state is kept
		testkit.Eventually(w.t, 5*time.Second, func() error {
			if err := w.Keys.Touch(ctx); err != nil {
				return err
			}
			keys, err := w.Keys.List(ctx, w.admin)
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
		svc := service.New(service.Options{Store: s})
		_, _, err := svc.Keys.Bootstrap(ctx, "too short")
		wantCode(t, err, penstock.CodeInvalidRequest, "psk_")
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
