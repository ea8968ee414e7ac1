package layer_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/layer"
)

// stock is a store with layers, by name. Each is made from the one before it.
func stock(t *testing.T, names ...string) (dir string, store *layer.Store, made map[string]layer.Record) {
	t.Helper()
	dir, made = filepath.Join(t.TempDir(), "layers"), map[string]layer.Record{}
	store = layer.Open(dir, 0)
	from := t.TempDir()
	write(t, filepath.Join(from, "file"), "content", 0o644)
	var parents []string
	for _, name := range names {
		r := record(name)
		r.Environment, r.Parents = "app", parents
		r, err := store.Seal(t.Context(), r, []layer.Part{{Name: "work", From: openRoot(t, from)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		made[name], parents = r, r.On()
	}
	return dir, store, made
}

// states lists the keys with the states and reasons of what a store has.
func states(t *testing.T, store *layer.Store) []string {
	t.Helper()
	entries, err := store.Entries()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSpace(e.Key+" "+string(e.State)+" "+e.Reason))
	}
	slices.Sort(list)
	return list
}

func wantStates(t *testing.T, store *layer.Store, want ...string) {
	t.Helper()
	if got := states(t, store); !slices.Equal(got, want) {
		t.Errorf("the store has %q, not %q", got, want)
	}
}

// TestABannedLayerIsNotFound looks for layers that were deleted, also where they could not be removed yet.
func TestABannedLayerIsNotFound(t *testing.T) {
	t.Parallel()
	_, store, made := stock(t, "first", "second", "third")
	for _, name := range []string{"second", "third"} {
		if _, err := store.Find(name, []string{"other", made["second"].UID}); !errors.Is(err, layer.ErrNone) {
			t.Errorf("%s is found: %v", name, err)
		}
	}
	l, err := store.Find("first", []string{made["second"].UID})
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}

// TestForgottenLayersGo removes a layer with what was made from it. One that is in use goes later.
func TestForgottenLayersGo(t *testing.T) {
	t.Parallel()
	dir, store, made := stock(t, "first", "second", "third")
	used, err := store.Find("third", nil)
	if err != nil {
		t.Fatal(err)
	}
	if store.Forget([]string{"unknown"}) || store.Forget(nil) {
		t.Error("something was forgotten")
	}
	if !store.Forget([]string{made["second"].UID}) || store.Forget([]string{made["second"].UID}) {
		t.Error("it is not forgotten once")
	}
	wantStates(t, store, "first ready")
	if _, err := os.Stat(filepath.Join(dir, made["third"].UID, "work", "file")); err != nil {
		t.Errorf("a layer in use: %v", err)
	}
	used.Release()
	wantStates(t, store, "first ready")
	for _, name := range []string{"second", "third"} {
		if left, _ := filepath.Glob(filepath.Join(dir, made[name].UID+"*")); len(left) > 0 {
			t.Errorf("the disk still has %s", left)
		}
	}
}

// TestEntriesSayWhatBecameOfLayers counts uses, and keeps for a while why a layer is gone.
func TestEntriesSayWhatBecameOfLayers(t *testing.T) {
	t.Parallel()
	dir, store, made := stock(t, "first", "second")
	if id, err := store.ID(); err != nil || len(id) != 32 {
		t.Errorf("the store is %q, %v", id, err)
	} else if again, err := layer.Open(dir, 0).ID(); err != nil || again != id {
		t.Errorf("and then %q, %v", again, err)
	}
	for range 3 {
		l, err := store.Find("first", nil)
		if err != nil {
			t.Fatal(err)
		}
		l.CountUse()
		l.Release()
	}
	store.Retire(made["first"].UID, "It stops agents.")
	for range 2 {
		if _, err := store.Fail(layer.Record{Key: "third", Environment: "app"}, "npm is away.", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	wantStates(t, store, "first retired It stops agents.", "second ready", "third failed npm is away.")
	entries, _ := store.Entries()
	var failed string
	for _, e := range entries {
		switch e.Key {
		case "first":
			if e.Uses != 3 || time.Since(e.UsedAt) > time.Minute || e.UID != made["first"].UID {
				t.Errorf("%+v", e)
			}
		case "second":
			if e.Uses != 0 || !e.UsedAt.IsZero() || e.Bytes == 0 || !slices.Equal(e.Parents, []string{made["first"].UID}) {
				t.Errorf("%+v", e)
			}
		default:
			failed = e.UID
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, made["first"].UID, "*")); len(left) > 0 {
		t.Errorf("the disk still has %s", left)
	}
	if !store.Forget([]string{failed}) {
		t.Error("a failure cannot be forgotten")
	}
	if reason, _ := store.Failed("third", time.Now()); reason != "" {
		t.Errorf("the next run does not try again: %s", reason)
	}
	wantStates(t, store, "first retired It stops agents.", "second ready")
	if !store.Forget([]string{made["first"].UID}) {
		t.Error("a layer that was retired cannot be forgotten with what was made from it")
	}
	wantStates(t, store)
}

// TestARetiredLayerIsNotListedForEver keeps why a layer was retired for a day.
func TestARetiredLayerIsNotListedForEver(t *testing.T) {
	t.Parallel()
	dir, store, made := stock(t, "second")
	old := time.Now().Add(-48 * time.Hour)
	store.Retire(made["second"].UID, "It is bad.")
	if err := os.Chtimes(filepath.Join(dir, made["second"].UID+".retired"), old, old); err != nil {
		t.Fatal(err)
	}
	wantStates(t, store)
}

// TestALayerThatWasUnusedForMonthsIsNotFound leaves a worker off for longer than deletions are remembered.
func TestALayerThatWasUnusedForMonthsIsNotFound(t *testing.T) {
	t.Parallel()
	dir, store, made := stock(t, "first")
	for days, found := range map[int]bool{89: true, 91: false} {
		at := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, made["first"].UID+".lock"), at, at); err != nil {
			t.Fatal(err)
		}
		l, err := store.Find("first", nil)
		if found != (err == nil) {
			t.Errorf("after %d days: %v", days, err)
		}
		if l != nil {
			l.Release()
		}
	}
}

// TestLayersOfOlderVersions are used, and are the same as new ones with their commits.
func TestLayersOfOlderVersions(t *testing.T) {
	t.Parallel()
	dir, store, made := stock(t, "first")
	text := `{"uid":"` + made["first"].UID + `","key":"first","heads":[{"dir":"repo","commit":"` +
		made["first"].Heads[0].Commit + `"}],"bytes":7,"files":1,"built_at":"2026-01-31T12:00:00Z"}`
	write(t, filepath.Join(dir, made["first"].UID+".json"), text, 0o600)
	failed := filepath.Join(dir, "second.failed")
	write(t, failed, `{"reason":"It is bad.","attempts":1,"until":"2999-01-31T12:00:00Z"}`, 0o600)
	if err := os.Chtimes(failed, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	l, err := store.Find("first", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	entries, err := store.Entries()
	if err != nil || len(entries) != 1 || entries[0].Environment != "" || entries[0].State != penstock.PreparedReady {
		t.Errorf("%+v, %v", entries, err)
	}
	again := layer.Record{Key: "first", Heads: slices.Clone(l.Heads)}
	again.Heads[0].URL = "https://example.com/app.git"
	if _, err := store.Seal(t.Context(), again, nil, nil); !errors.Is(err, layer.ErrKept) {
		t.Errorf("the same again: %v", err)
	}
	if reason, _ := store.Failed("second", time.Now()); reason != "It is bad." {
		t.Errorf("the failure is %q", reason)
	}
}

// TestParentsAreBounded makes a layer from the one before again and again.
func TestParentsAreBounded(t *testing.T) {
	t.Parallel()
	r := layer.Record{UID: "0"}
	for range 300 {
		r = layer.Record{UID: r.UID + "x", Parents: r.On()}
	}
	if n := len(r.Parents); n != 100 || r.Parents[99]+"x" != r.UID {
		t.Errorf("it has %d parents", n)
	}
}
