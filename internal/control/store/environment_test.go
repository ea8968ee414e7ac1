package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

var ada = penstock.Actor{Type: "user", UID: "ada", DisplayName: "Ada"}

// write runs fn in one transaction, which must succeed.
func write(t *testing.T, s *store.Store, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func addEnvironment(t *testing.T, s *store.Store, name string) penstock.Environment {
	t.Helper()
	e := penstock.Environment{
		UID: penstock.NewUID(), Config: penstock.EnvironmentConfig{Name: name}, LastUpdated: penstock.Now(), Creator: &ada,
		LastEditor: &ada,
	}
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.Keys().AddPrincipal(t.Context(), store.DefaultTeam, ada),
			tx.Environments().Add(t.Context(), store.DefaultTeam, e),
		)
	})
	return e
}

func TestEnvironmentShowsTheLatestRunThatTheViewerMaySee(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e := addEnvironment(t, s, "app")
		in := func(personal bool, title string, at penstock.Time) *store.NewRun {
			return mustCreate(t, s, func(r *store.NewRun) {
				r.Title, r.Personal, r.CreatedAt = title, personal, at
				r.Creator, r.Config = &ada, &penstock.Config{EnvironmentID: e.UID}
			})
		}
		now := penstock.Now()
		shared := in(false, "shared", now)
		taken, _ := mustClaim(t, s, "")
		if taken.ID != shared.ID {
			t.Fatalf("claimed %s, want %s", taken.ID, shared.ID)
		}
		in(true, "private", now+1000)
		in(false, "shared too", now-1000)

		for name, test := range map[string]struct {
			viewer store.Viewer
			want   string
		}{
			"its creator":   {store.Viewer{Team: store.DefaultTeam, UID: "ada"}, "private"},
			"an admin":      {store.Viewer{Team: store.DefaultTeam, UID: "root", All: true}, "private"},
			"somebody else": {store.Viewer{Team: store.DefaultTeam, UID: "bob"}, "shared"},
		} {
			got, err := s.Environments.Find(t.Context(), test.viewer, e.UID)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got.LastTask == nil || got.LastTask.Title != test.want {
				t.Errorf("%s sees the run %+v, want %q", name, got.LastTask, test.want)
			}
			run, err := s.Runs.Find(t.Context(), store.DefaultTeam, shared.ID)
			if err != nil || got.LastTaskRunAt != run.StartedAt ||
				run.StartedAt == 0 {
				t.Errorf("%s: a run last worked there at %s, want %s (%v)", name, got.LastTaskRunAt, run.StartedAt, err)
			}
		}
		if _, err := s.Environments.Find(
			t.Context(), store.Viewer{Team: "another", All: true}, e.UID,
		); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("another team reads it: %v", err)
		}
	})
}

func TestEnvironmentNamesAreUniqueIgnoringCase(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		first := addEnvironment(t, s, "Äpp")
		addEnvironment(t, s, "")
		addEnvironment(t, s, "") // those without a name do not collide
		other := addEnvironment(t, s, "other")

		add := func(team, name string) error {
			return s.Write(t.Context(), func(tx *store.Tx) error {
				return tx.Environments().Add(
					t.Context(), team,
					penstock.Environment{UID: penstock.NewUID(), Config: penstock.EnvironmentConfig{Name: name}, Creator: &ada},
				)
			})
		}
		if err := add(store.DefaultTeam, "äPP"); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("the same name in another case: got %v, want a conflict", err)
		}
		if err := add("another team", "Äpp"); err != nil {
			t.Errorf("another team's: %v", err)
		}
		other.Config.Name = "ÄPP"
		replace := func(tx *store.Tx) error { return tx.Environments().Replace(t.Context(), store.DefaultTeam, other) }
		if err := s.Write(t.Context(), replace); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("renamed to a name that is taken: got %v, want a conflict", err)
		}
		write(t, s, func(tx *store.Tx) error { return tx.Environments().Delete(t.Context(), store.DefaultTeam, first.UID) })
		if err := s.Write(t.Context(), replace); err != nil {
			t.Errorf("renamed to the name of a deleted one: %v", err)
		}
	})
}

func TestDeletedEnvironmentIsKeptForRunsThatHaveIt(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e := addEnvironment(t, s, "app")
		write(t, s, func(tx *store.Tx) error { return tx.Environments().Delete(t.Context(), store.DefaultTeam, e.UID) })

		_, err := s.Environments.Spec(t.Context(), store.DefaultTeam, e.UID)
		if penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("it can still be used: %v", err)
		}
		got, err := s.Environments.KeptSpec(t.Context(), store.DefaultTeam, e.UID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(penstock.EnvironmentSpec{UID: e.UID, Config: e.Config}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		for what, fn := range map[string]func(*store.Tx) error{
			"delete":  func(tx *store.Tx) error { return tx.Environments().Delete(t.Context(), store.DefaultTeam, e.UID) },
			"replace": func(tx *store.Tx) error { return tx.Environments().Replace(t.Context(), store.DefaultTeam, e) },
			"use":     func(tx *store.Tx) error { return tx.Environments().Use(t.Context(), store.DefaultTeam, e.UID) },
		} {
			if err := s.Write(t.Context(), fn); penstock.CodeOf(err) != penstock.CodeNotFound {
				t.Errorf("%s a deleted one: got %v, want not found", what, err)
			}
		}
	})
}

// A concurrent use of an environment that is being deleted is either seen by the deletion or does
// not find the environment: never both.
func TestEnvironmentIsNotDeletedUnderItsUsers(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		inUse := errors.New("in use")
		for i := range 20 {
			e := addEnvironment(t, s, fmt.Sprint("env ", i))
			var used, deleted error
			var both sync.WaitGroup
			both.Go(func() {
				used = s.Write(ctx, func(tx *store.Tx) error {
					if err := tx.Environments().Use(ctx, store.DefaultTeam, e.UID); err != nil {
						return err
					}
					return tx.Identities().Add(
						ctx, store.DefaultTeam, penstock.Identity{UID: penstock.NewID(), Name: e.Config.Name, EnvironmentID: e.UID},
					)
				})
			})
			both.Go(func() {
				deleted = s.Write(ctx, func(tx *store.Tx) error { return deleteUnused(ctx, tx, e.UID, inUse) })
			})
			both.Wait()
			if (used == nil) == (deleted == nil) {
				t.Fatalf("used: %v, deleted: %v; one of both must have won", used, deleted)
			}
			if used != nil && penstock.CodeOf(used) != penstock.CodeNotFound || deleted != nil && !errors.Is(deleted, inUse) {
				t.Fatalf("used: %v, deleted: %v", used, deleted)
			}
		}
	})
}

func deleteUnused(ctx context.Context, tx *store.Tx, uid string, inUse error) error {
	if err := tx.Environments().Delete(ctx, store.DefaultTeam, uid); err != nil {
		return err
	}
	users, err := tx.Environments().Users(ctx, uid)
	if err == nil && len(users) > 0 {
		err = inUse
	}
	return err
}

func TestEnvironmentRemembersWhetherItsSetupFailed(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e := addEnvironment(t, s, "app")
		failed := func() bool {
			got, err := s.Environments.Find(t.Context(), store.Viewer{Team: store.DefaultTeam}, e.UID)
			if err != nil {
				t.Fatal(err)
			}
			return got.SetupFailed
		}
		set := func(v bool) {
			write(t, s, func(tx *store.Tx) error { return tx.Environments().SetSetup(t.Context(), e.UID, v) })
		}
		if failed() {
			t.Error("a new one has failed")
		}
		set(true)
		set(true)
		if !failed() {
			t.Error("a failure is not remembered")
		}
		set(false)
		if failed() {
			t.Error("a success does not clear it")
		}
		set(true)
		write(t, s, func(tx *store.Tx) error { return tx.Environments().Replace(t.Context(), store.DefaultTeam, e) })
		if failed() {
			t.Error("a change does not clear it")
		}
	})
}
