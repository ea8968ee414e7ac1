package store_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A batch whose commit has no known result may be stored: it is not repeated, and no caller is told
// that nothing was stored.
func TestCommitThatIsNotAnswered(t *testing.T) {
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
		s.BatchWithin(5 * time.Second) // a busy machine gets as far as the commit
		wantUnknownCommit(t, s, direct, speak)
	})
}

// wantUnknownCommit creates runs at once through a store that hears of no commit, looks for
// them directly, and creates another when all is well again.
func wantUnknownCommit(t *testing.T, s, direct *store.Store, fix func()) {
	t.Helper()
	runs := make([]*store.NewRun, 20)
	var creating sync.WaitGroup
	for i := range runs {
		runs[i] = newRun(nil)
		creating.Go(func() {
			_, err := s.CreateRun(t.Context(), runs[i])
			if penstock.CodeOf(err) != penstock.CodeUnavailable || !strings.Contains(err.Error(), "may still be done") {
				t.Errorf("got %v, want %s that says that it may still be done", err, penstock.CodeUnavailable)
			}
		})
	}
	creating.Wait()
	for _, r := range runs {
		if _, err := direct.Run(t.Context(), store.DefaultTeam, r.ID); err != nil {
			t.Error(err)
		}
	}
	fix()
	mustCreate(t, s, nil)
}
