package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A batch whose commit has an unknown result may be stored. It is not repeated, and no caller gets
// the error that nothing was stored.
func TestUnknownCommitResult(t *testing.T) {
	t.Parallel()
	t.Run("the connection ends", func(t *testing.T) {
		t.Parallel()
		database := testkit.Postgres(t)
		direct := testkit.OpenStore(t, database)
		through, fix := testkit.Severed(t, database, testkit.CommitAnswered)
		wantUnknownCommit(t, testkit.OpenStore(t, through), direct, fix)
	})
	t.Run("the connection is silent", func(t *testing.T) {
		t.Parallel()
		database := testkit.Postgres(t)
		direct := testkit.OpenStore(t, database)
		through, speak := testkit.Silenced(t, database, testkit.CommitAnswered)
		s := testkit.OpenStore(t, through)
		s.BatchWithin(10 * time.Second) // enough for a busy machine to reach the commit
		wantUnknownCommit(t, s, direct, speak)
	})
}

// wantUnknownCommit creates concurrent runs through a store that loses the results of commits,
// looks for the runs directly, and creates another one after recovery.
func wantUnknownCommit(t *testing.T, s, direct *store.Store, fix func()) {
	t.Helper()
	runs := make([]*store.NewRun, 20)
	var creating sync.WaitGroup
	for i := range runs {
		runs[i] = newRun(nil)
		creating.Go(func() {
			_, err := s.Runs.Create(t.Context(), runs[i])
			if penstock.CodeOf(err) != penstock.CodeUnavailable || !strings.Contains(err.Error(), "may still be done") {
				t.Errorf("got %v, want %s that says that it may still be done", err, penstock.CodeUnavailable)
			}
		})
	}
	creating.Wait()
	for _, r := range runs {
		if _, err := direct.Runs.Find(t.Context(), store.DefaultTeam, r.ID); err != nil {
			t.Error(err)
		}
	}
	fix()
	mustCreate(t, s, nil)
}
