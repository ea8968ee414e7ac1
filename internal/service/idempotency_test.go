package service_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
)

func once(key, body string) access.Idempotency {
	return access.Idempotency{Key: key, Method: "POST", Path: "/p", BodyHash: sha256.Sum256([]byte(body)), Status: 201}
}

// replay requires a kept response.
func (w *world) replay(p penstock.Principal, i access.Idempotency, into any) (status int) {
	w.t.Helper()
	body, status, found, err := w.Responses.Replay(w.t.Context(), p, i)
	if err != nil || !found {
		w.t.Fatalf("no response is kept: %v", err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		w.t.Fatal(err)
	}
	return status
}

func TestSameRequestGetsTheFirstResponse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := once("k", "body")
		ctx := access.WithIdempotency(w.t.Context(), i)
		if _, _, found, err := w.Responses.Replay(ctx, w.admin, i); found || err != nil {
			w.t.Fatalf("a response before the request: %v, %v", found, err)
		}
		made, err := w.Catalog.CreateEnvironment(
			ctx, w.admin, penstock.EnvironmentConfig{Name: "app", Providers: map[string]any{"b": 1.0, "a": 2.0, "c": 3.0}},
		)
		if err != nil {
			w.t.Fatal(err)
		}
		var again penstock.Environment
		if status := w.replay(w.admin, i, &again); status != 201 {
			w.t.Errorf("status %d, want 201", status)
		}
		if diff := cmp.Diff(made, again); diff != "" {
			w.t.Errorf("-first +again:\n%s", diff)
		}
		body, _, _, err := w.Responses.Replay(ctx, w.admin, i)
		want, _ := json.Marshal(made, json.Deterministic(true))
		if err != nil || string(body) != string(want) {
			w.t.Errorf("got the bytes %s, %v, want %s", body, err, want)
		}
		_, _, _, err = w.Responses.Replay(ctx, w.admin, once("k", "another body"))
		wantCode(w.t, err, penstock.CodeConflict, "another body")
	})
}

func TestOnlyItsOwnerGetsAStoredResponse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := once("k", "body")
		i.OneTimeSecret = true
		k, err := w.Keys.Create(
			access.WithIdempotency(w.t.Context(), i), w.admin,
			penstock.KeyRequest{Name: "ci", Scopes: []penstock.Scope{penstock.ScopeRunsRead}},
		)
		if err != nil {
			w.t.Fatal(err)
		}
		var again penstock.Key
		if w.replay(w.admin, i, &again); again.Key != k.Key {
			w.t.Errorf("got the key %q again, want %q", again.Key, k.Key)
		}
		otherTeam, otherPath, otherMethod, otherRun := w.admin, i, i, w.admin
		otherTeam.Team, otherPath.Path, otherMethod.Method, otherRun.RunID = "another", "/q", "PUT", penstock.NewID()
		for name, ask := range map[string]struct {
			p penstock.Principal
			i access.Idempotency
		}{
			"somebody else": {w.as("bob", penstock.ScopeAdmin), i}, "another team": {otherTeam, i},
			"another path":   {w.admin, otherPath},
			"another method": {w.admin, otherMethod}, "an execution": {otherRun, i},
			"another key": {w.admin, once("k2", "body")},
		} {
			if _, _, found, err := w.Responses.Replay(w.t.Context(), ask.p, ask.i); found || err != nil {
				w.t.Errorf("%s: found is %v, %v", name, found, err)
			}
		}
		db := w.database()
		if db.Engine() != "sqlite" {
			return
		}
		file := filepath.Join(w.t.TempDir(), "copy.db")
		if err := db.Backup(w.t.Context(), file); err != nil {
			w.t.Fatal(err)
		}
		if content, err := os.ReadFile(file); err != nil || bytes.Contains(content, []byte(k.Key)) {
			w.t.Errorf("the database holds the key in clear (%v)", err)
		}
	})
}

func TestARejectedRequestStoresNoResponse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := once("k", "body")
		ctx := access.WithIdempotency(w.t.Context(), i)
		if _, err := w.Catalog.CreateEnvironment(
			ctx, w.admin, penstock.EnvironmentConfig{SetupCommands: []string{" "}},
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.t.Fatalf("got %v", err)
		}
		w.createEnvironment(penstock.EnvironmentConfig{Name: "taken"})
		_, err := w.Catalog.CreateEnvironment(ctx, w.admin, penstock.EnvironmentConfig{Name: "taken"})
		wantCode(w.t, err, penstock.CodeConflict, "taken")
		if _, _, found, err := w.Responses.Replay(ctx, w.admin, i); found || err != nil {
			w.t.Errorf("found is %v, %v", found, err)
		}
	})
}

// If many replicas get the same request at once, one of them executes it, and the others return its
// response instead of a name conflict.
func TestConcurrentEqualRequestsRunOnce(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := once("k", "body")
		ctx := access.WithIdempotency(w.t.Context(), i)
		var mu sync.Mutex
		var won []string
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				e, err := w.Catalog.CreateEnvironment(ctx, w.admin, penstock.EnvironmentConfig{Name: "app"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won = append(won, e.UID)
				case !errors.Is(err, access.ErrReplay):
					w.t.Errorf("got %v, want ErrReplay", err)
				}
			})
		}
		all.Wait()
		var again penstock.Environment
		w.replay(w.admin, i, &again)
		if diff := cmp.Diff([]string{again.UID}, won); diff != "" {
			w.t.Errorf("carried out by more or less than one:\n%s", diff)
		}
		if list, err := w.Catalog.ListEnvironments(w.t.Context(), w.admin, ""); err != nil || len(list) != 1 {
			w.t.Errorf("there are %d environments, %v", len(list), err)
		}
	})
}
