package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/store"
)

// Under any load, the write-ahead log stays small, and what has left it is there when the database
// is opened again.
func TestLogIsMovedIntoTheDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "penstock.db")
	open := func() *store.Store {
		s, err := store.Open(t.Context(), store.Options{URL: "sqlite://" + path})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	size := func(file string) int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	s := open()
	const runs, each = 300, 1 << 20
	var ids []string
	for range runs {
		r := mustCreate(t, s, func(r *store.NewRun) { r.Prompt = strings.Repeat("p", each) })
		ids = append(ids, r.ID)
	}
	// it grows during a checkpoint, up to the size at which commits wait
	if log := size(path + "-wal"); log > runs*each*2/3 {
		t.Errorf("after %d MB the log has %d MB", runs*each>>20, log>>20)
	}
	if database := size(path); database < runs*each/3 {
		t.Errorf("of %d MB only %d are in the database itself", runs*each>>20, database>>20)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	for _, id := range ids {
		if run, err := s.Runs.Find(t.Context(), store.DefaultTeam, id); err != nil || len(run.Prompt) != each {
			t.Fatalf("a run is not what was stored: %v", err)
		}
	}
}

// Commits that are faster than the checkpoint wait for it: on any disk, the log stays bounded.
func TestFullLogDelaysCommits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "penstock.db")
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite://" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const page, full, each = 4 << 10, 400, 256 << 10
	s.LimitLog(full-each/page, full) // one commit below the limit, so that each checkpoint meets waiting commits
	var creating sync.WaitGroup
	for range 8 {
		creating.Go(func() {
			for range 40 {
				r := newRun(func(r *store.NewRun) { r.Prompt = strings.Repeat("p", each) })
				if _, err := s.Runs.Create(t.Context(), r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creating.Wait()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	// A commit has at most 8 runs, and some other pages.
	if most := int64(full*page + 8*each + 1<<20); info.Size() > most {
		t.Errorf("the log has %d KB, more than the %d at which nobody writes", info.Size()>>10, most>>10)
	}
}

// If the log cannot be checkpointed, it grows. Writers do not wait for it.
func TestLogThatCannotBeMovedDelaysNobody(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite://" + filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.LimitLog(10, 20)
	if err := s.BreakMoves(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for range 200 {
		if _, err := s.Runs.Create(ctx, newRun(nil)); err != nil {
			t.Fatal(err)
		}
	}
}
