package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestTheLogIsAlwaysConsistent(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		const senders, each = 8, 40
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		addReceiver(t, stores[0])
		var mu sync.Mutex
		var acknowledged []string
		var done atomic.Bool
		var sending sync.WaitGroup
		for i := range senders {
			sending.Go(func() {
				for range each {
					d := newDelivery(func(d *store.NewDelivery) { d.Outcome = penstock.Outcomes()[i%2] })
					if _, err := stores[i%2].Deliveries.Deliver(t.Context(), d); err != nil {
						t.Error(err)
					}
					mu.Lock()
					acknowledged = append(acknowledged, d.ID)
					mu.Unlock()
				}
			})
		}
		go func() { sending.Wait(); done.Store(true) }()
		for over := false; !over; {
			over = done.Load()
			mu.Lock()
			want := acknowledged
			mu.Unlock()
			got := map[string]int{}
			for _, id := range idsOf(theLog(t, stores[0])) {
				got[id]++
			}
			for _, id := range want {
				if got[id] != 1 {
					t.Fatalf("an acknowledged delivery is %d times in a log of %d", got[id], len(got))
				}
			}
			if over && len(got) != senders*each {
				t.Errorf("%d in the log, want %d", len(got), senders*each)
			}
		}
		sending.Wait()
	})
}

// SQLite reuses the row numbers of the last deliveries after their removal.
func TestReusedProcessNumbers(t *testing.T) {
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
			if diff := cmp.Diff(want, idsOf(theLog(t, s))); diff != "" {
				t.Errorf("round %d: %s", round, diff)
			}
			if n, err := s.Deliveries.ClearLog(t.Context(), "w", penstock.OutcomeAccepted, keep, 2); err != nil || n != 2 {
				t.Fatalf("round %d: %d removed, %v", round, n, err)
			}
			if diff := cmp.Diff(want[:len(want)-2], idsOf(theLog(t, s))); diff != "" {
				t.Errorf("round %d, two removed: %s", round, diff)
			}
			n, err := s.Deliveries.ClearLog(t.Context(), "w", penstock.OutcomeAccepted, keep, 100)
			if err != nil || n != len(want)-2 {
				t.Fatalf("round %d: %d removed, %v", round, n, err)
			}
		}
	})
}
