package store_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// indexed is how many deliveries the index of SQLite's log has.
func indexed(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries_log").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheLogIsWholeAtEveryLook(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		const senders, each = 8, 40
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		addReceiver(t, stores[0])
		var mu sync.Mutex
		var answered []string
		var done atomic.Bool
		var indexing, sending sync.WaitGroup
		for _, s := range stores {
			indexing.Go(func() {
				for !done.Load() {
					if err := s.IndexLog(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range senders {
			sending.Go(func() {
				for range each {
					d := newDelivery(func(d *store.NewDelivery) { d.Outcome = penstock.Outcomes()[i%2] })
					if _, err := stores[i%2].Deliver(t.Context(), d); err != nil {
						t.Error(err)
					}
					mu.Lock()
					answered = append(answered, d.ID)
					mu.Unlock()
				}
			})
		}
		indexing.Go(func() { sending.Wait(); done.Store(true) })
		for over := false; !over; {
			over = done.Load()
			mu.Lock()
			want := answered
			mu.Unlock()
			got := map[string]int{}
			for _, id := range idsOf(theLog(t, stores[0])) {
				got[id]++
			}
			for _, id := range want {
				if got[id] != 1 {
					t.Fatalf("an answered delivery is %d times in a log of %d", got[id], len(got))
				}
			}
			if over && len(got) != senders*each {
				t.Errorf("%d in the log, want %d", len(got), senders*each)
			}
		}
		indexing.Wait()
	})
}

// The index is filled a part at a time, and of two that come after each other the
// second takes what the first left.
func TestTheIndexOfTheLogCatchesUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "penstock.db")
	s := testkit.OpenStore(t, "sqlite://"+path)
	addReceiver(t, s)
	const many = 2*store.IndexAtOnce + 10
	write(t, s, func(tx *store.Tx) error {
		for range many {
			if _, err := tx.Deliver(t.Context(), newDelivery(nil)); err != nil {
				return err
			}
		}
		return nil
	})
	before, _, err := s.Deliveries(t.Context(), "w", penstock.DeliveryQuery{Limit: many})
	if err != nil || len(before) != many || indexed(t, path) != 0 {
		t.Fatalf("%d in the log, %d indexed, %v", len(before), indexed(t, path), err)
	}
	if err := s.IndexLog(t.Context()); err != nil || indexed(t, path) != many {
		t.Errorf("%d of %d are indexed, %v", indexed(t, path), many, err)
	}
	after, _, err := s.Deliveries(t.Context(), "w", penstock.DeliveryQuery{Limit: many})
	if diff := cmp.Diff(idsOf(before), idsOf(after)); diff != "" || err != nil {
		t.Errorf("%v, the log as it comes and as it is indexed:\n%s", err, diff)
	}
}

// SQLite numbers a delivery as one that is gone was, if none came after that.
func TestNumbersThatAreGivenAgainAreIndexed(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		addReceiver(t, s)
		keep := store.Keep{Since: penstock.Now().Add(time.Hour)}
		for round := range 3 {
			var want []string
			for range 5 - round {
				d, _ := mustDeliver(t, s, nil)
				want = append([]string{d.ID}, want...)
			}
			for range 2 {
				if diff := cmp.Diff(want, idsOf(theLog(t, s))); diff != "" {
					t.Errorf("round %d: %s", round, diff)
				}
				if err := s.IndexLog(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := s.ClearLog(t.Context(), "w", penstock.OutcomeAccepted, keep, 2); err != nil || n != 2 {
				t.Fatalf("round %d: %d removed, %v", round, n, err)
			}
			if diff := cmp.Diff(want[:len(want)-2], idsOf(theLog(t, s))); diff != "" {
				t.Errorf("round %d, two removed: %s", round, diff)
			}
			if n, err := s.ClearLog(t.Context(), "w", penstock.OutcomeAccepted, keep, 100); err != nil || n != len(want)-2 {
				t.Fatalf("round %d: %d removed, %v", round, n, err)
			}
		}
	})
}
