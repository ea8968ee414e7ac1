package access_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestSameRequestGetsTheFirstResponse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := testworld.Once("k", "body")
		ctx := access.WithIdempotency(w.T.Context(), i)
		if _, _, found, err := w.Responses.Replay(ctx, w.Admin, i); found || err != nil {
			w.T.Fatalf("a response before the request: %v, %v", found, err)
		}
		made, err := w.Catalog.CreateEnvironment(
			ctx, w.Admin, penstock.EnvironmentConfig{Name: "app", Providers: map[string]any{"b": 1.0, "a": 2.0, "c": 3.0}},
		)
		if err != nil {
			w.T.Fatal(err)
		}
		var again penstock.Environment
		if status := w.Replay(w.Admin, i, &again); status != 201 {
			w.T.Errorf("status %d, want 201", status)
		}
		if diff := cmp.Diff(made, again); diff != "" {
			w.T.Errorf("-first +again:\n%s", diff)
		}
		body, _, _, err := w.Responses.Replay(ctx, w.Admin, i)
		want, _ := json.Marshal(made, json.Deterministic(true))
		if err != nil || string(body) != string(want) {
			w.T.Errorf("got the bytes %s, %v, want %s", body, err, want)
		}
		_, _, _, err = w.Responses.Replay(ctx, w.Admin, testworld.Once("k", "another body"))
		testworld.WantCode(w.T, err, penstock.CodeConflict, "another body")
	})
}

func TestOnlyItsOwnerGetsAStoredResponse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := testworld.Once("k", "body")
		i.OneTimeSecret = true
		k, err := w.Keys.Create(
			access.WithIdempotency(w.T.Context(), i), w.Admin,
			access.KeyRequest{Name: "ci", Scopes: []penstock.Scope{penstock.ScopeRunsRead}},
		)
		if err != nil {
			w.T.Fatal(err)
		}
		var again penstock.Key
		if w.Replay(w.Admin, i, &again); again.Key != k.Key {
			w.T.Errorf("got the key %q again, want %q", again.Key, k.Key)
		}
		otherTeam, otherPath, otherMethod, otherRun := w.Admin, i, i, w.Admin
		otherTeam.Team, otherPath.Path, otherMethod.Method, otherRun.RunID = "another", "/q", "PUT", penstock.NewID()
		for name, ask := range map[string]struct {
			p penstock.Principal
			i access.Idempotency
		}{
			"somebody else": {w.As("bob", penstock.ScopeAdmin), i}, "another team": {otherTeam, i},
			"another path":   {w.Admin, otherPath},
			"another method": {w.Admin, otherMethod}, "an execution": {otherRun, i},
			"another key": {w.Admin, testworld.Once("k2", "body")},
		} {
			if _, _, found, err := w.Responses.Replay(w.T.Context(), ask.p, ask.i); found || err != nil {
				w.T.Errorf("%s: found is %v, %v", name, found, err)
			}
		}
		db := w.Database()
		if db.Engine() != "sqlite" {
			return
		}
		file := filepath.Join(w.T.TempDir(), "copy.db")
		if err := db.Backup(w.T.Context(), file); err != nil {
			w.T.Fatal(err)
		}
		if content, err := os.ReadFile(file); err != nil || bytes.Contains(content, []byte(k.Key)) {
			w.T.Errorf("the database holds the key in clear (%v)", err)
		}
	})
}

func TestARejectedRequestStoresNoResponse(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := testworld.Once("k", "body")
		ctx := access.WithIdempotency(w.T.Context(), i)
		if _, err := w.Catalog.CreateEnvironment(
			ctx, w.Admin, penstock.EnvironmentConfig{SetupCommands: []string{" "}},
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Fatalf("got %v", err)
		}
		w.CreateEnvironment(penstock.EnvironmentConfig{Name: "taken"})
		_, err := w.Catalog.CreateEnvironment(ctx, w.Admin, penstock.EnvironmentConfig{Name: "taken"})
		testworld.WantCode(w.T, err, penstock.CodeConflict, "taken")
		if _, _, found, err := w.Responses.Replay(ctx, w.Admin, i); found || err != nil {
			w.T.Errorf("found is %v, %v", found, err)
		}
	})
}

// If many replicas get the same request at once, one of them executes it, and the others return its
// response instead of a name conflict.
func TestConcurrentEqualRequestsRunOnce(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := testworld.Once("k", "body")
		ctx := access.WithIdempotency(w.T.Context(), i)
		var mu sync.Mutex
		var won []string
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				e, err := w.Catalog.CreateEnvironment(ctx, w.Admin, penstock.EnvironmentConfig{Name: "app"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won = append(won, e.UID)
				case !errors.Is(err, access.ErrReplay):
					w.T.Errorf("got %v, want ErrReplay", err)
				}
			})
		}
		all.Wait()
		var again penstock.Environment
		w.Replay(w.Admin, i, &again)
		if diff := cmp.Diff([]string{again.UID}, won); diff != "" {
			w.T.Errorf("carried out by more or less than one:\n%s", diff)
		}
		if list, err := w.Catalog.ListEnvironments(w.T.Context(), w.Admin, ""); err != nil || len(list) != 1 {
			w.T.Errorf("there are %d environments, %v", len(list), err)
		}
	})
}
