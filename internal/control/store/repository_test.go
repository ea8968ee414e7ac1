package store_test

import (
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestRepositoriesAreLeased(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		const minute = 60_000
		write := func(fn func(*store.Tx) error) {
			t.Helper()
			if err := s.Write(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		uid := penstock.NewID()
		write(func(tx *store.Tx) error {
			f := store.FactoryRow{
				Team: store.DefaultTeam,
				Factory: penstock.Factory{
					UID: uid, Name: "tracked", Source: store.FactoryRepository, CreatedAt: 1, UpdatedAt: 1,
				},
			}
			if err := tx.Factories().Add(ctx, f); err != nil {
				return err
			}
			return tx.Repositories().Add(
				ctx,
				store.RepositoryRow{
					Repository: penstock.Repository{URL: "https://example.com/a/b"}, FactoryUID: uid, Team: f.Team,
					Place: "example.com/a/b",
				},
			)
		})
		claim := func() []store.RepositoryRow {
			list, err := s.Repositories.Claim(ctx, 10, minute)
			if err != nil {
				t.Error(err)
			}
			return list
		}
		// Of many concurrent pollers, one gets the repository.
		var all sync.WaitGroup
		var mu sync.Mutex
		var got []store.RepositoryRow
		for range 8 {
			all.Go(func() {
				mine := claim()
				mu.Lock()
				defer mu.Unlock()
				got = append(got, mine...)
			})
		}
		all.Wait()
		if len(got) != 1 || got[0].FactoryUID != uid || got[0].URL != "https://example.com/a/b" {
			t.Fatalf("claimed %d times: %+v", len(got), got)
		}
		row := got[0]
		if held, err := s.Repositories.Renew(ctx, row, minute); err != nil || !held {
			t.Errorf("renew: got %t, %v", held, err)
		}
		// A caller that asks during a poll gets another poll.
		write(func(tx *store.Tx) error { return tx.Repositories().RequestPolls(ctx, uid) })
		if again := claim(); len(again) != 0 {
			t.Errorf("claimed while it is held: %+v", again)
		}
		row.Commit, row.Applied, row.Result, row.CheckedAt = "c1", "c1", store.CommitApplied, 5
		row.Diagnostics = []penstock.Diagnostic{{Code: "FF_X", Message: "m", Severity: "warning"}}
		finish := func(row store.RepositoryRow) (held bool) {
			write(func(tx *store.Tx) (err error) {
				held, err = tx.Repositories().Finish(ctx, row, minute)
				return err
			})
			return held
		}
		if !finish(row) || finish(row) {
			t.Error("it was not given back once")
		}
		next := claim()
		if len(next) != 1 || next[0].PollsRequested != 1 || next[0].PollsDone != 0 || next[0].Commit != "c1" ||
			len(next[0].Diagnostics) != 1 {
			t.Fatalf("got %+v, want it for who has asked", next)
		}
		if f, err := s.Factories.Find(ctx, store.DefaultTeam, uid); err != nil ||
			f.Definition.Status != penstock.DefinitionSyncing || f.Definition.Commit != "c1" {
			t.Errorf("while it is looked at: got %+v, %v", f.Definition, err)
		}
		if err := s.Repositories.Release(ctx, next[0]); err != nil {
			t.Fatal(err)
		}
		if next = claim(); len(next) != 1 {
			t.Fatalf("what was released is not due: %+v", next)
		}
		if !finish(next[0]) {
			t.Error("it was lost")
		}
		f, err := s.Factories.Find(ctx, store.DefaultTeam, uid)
		if err != nil || f.Definition.Status != penstock.DefinitionApplied {
			t.Errorf("after it was looked at: got %+v, %v", f.Definition, err)
		}
		if again := claim(); len(again) != 0 {
			t.Errorf("due before its time: %+v", again)
		}
		// A server that polls a deleted factory has lost its lease.
		write(func(tx *store.Tx) error { return tx.Repositories().RequestPolls(ctx, uid) })
		next = claim()
		write(func(tx *store.Tx) error {
			f, err := tx.Factories().Find(ctx, store.DefaultTeam, uid)
			if err != nil {
				return err
			}
			return tx.Factories().Delete(ctx, f)
		})
		if held, err := s.Repositories.Renew(ctx, next[0], minute); err != nil || held || finish(next[0]) {
			t.Errorf("the repository of a factory that is gone is held: %t, %v", held, err)
		}
	})
}
