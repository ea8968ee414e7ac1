package store_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// counted is what the readers tell of a webhook that is the only one: its own
// counts, and the sums of the team by hour.
func counted(t *testing.T, s *store.Store, w store.WebhookRow) (penstock.DeliveryCounts, []store.DeliverySum) {
	t.Helper()
	row, err := s.Webhook(t.Context(), store.DefaultTeam, "factory", w.UID)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := s.SumDeliveries(t.Context(), store.DefaultTeam, penstock.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return row.Counts, sums
}

func wantCounts(t *testing.T, s *store.Store, w store.WebhookRow, want penstock.DeliveryCounts) {
	t.Helper()
	got, sums := counted(t, s, w)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts, -want +got:\n%s", diff)
	}
	byKind := map[string]int64{}
	for _, sum := range sums {
		byKind[sum.Kind] += sum.N
	}
	got = penstock.DeliveryCounts{
		Accepted: byKind[store.CountAccepted], Duplicate: byKind[store.CountDuplicate], Rejected: byKind[store.CountRejected],
		RateLimited: byKind[store.CountRateLimited],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sums of the team, -want +got:\n%s", diff)
	}
}

// fold folds until nothing is left, and answers how many rows it took.
func fold(t *testing.T, s *store.Store, limit int) (all int) {
	t.Helper()
	for {
		n, err := s.FoldCounts(t.Context(), limit)
		if err != nil {
			t.Error(err)
		}
		if all += n; n == 0 {
			return all
		}
	}
}

func TestCountsAreExactBeforeAndAfterTheyAreFolded(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		w := addWebhook(t, s, "a")
		var want penstock.DeliveryCounts
		quarter := store.Quarter(penstock.Now())
		for range 3 {
			d, _ := mustDeliver(t, s, func(d *store.NewDelivery) { d.WebhookUID = w.UID })
			want.Accepted++
			wantCounts(t, s, w, want)
			mustDeliver(t, s, func(again *store.NewDelivery) { again.WebhookUID, again.Identity = w.UID, d.Identity })
			want.Duplicate++
			mustDeliver(t, s, func(d *store.NewDelivery) {
				d.WebhookUID, d.Outcome, d.Status, d.Identity = w.UID, penstock.OutcomeRejectedJSON, 400, ""
			})
			want.Rejected++
			mustDeliver(t, s, func(again *store.NewDelivery) { again.WebhookUID, again.ReplayOf = w.UID, d.ID }) // no delivery
			old := store.Count{WebhookUID: w.UID, Quarter: quarter - 100, Kind: store.CountAccepted}
			if err := s.AddCounts(
				t.Context(), map[store.Count]int64{{w.UID, quarter, store.CountRateLimited}: 7, old: 1},
			); err != nil {
				t.Fatal(err)
			}
			want.RateLimited += 7
			wantCounts(t, s, w, want)
			for left := 4; left > 0; left-- {
				if n, err := s.FoldCounts(t.Context(), 1); err != nil || n != 1 {
					t.Errorf("folded %d, %v, want 1", n, err)
				}
				wantCounts(t, s, w, want)
			}
			if n := fold(t, s, 1); n != 0 {
				t.Errorf("%d were left to be folded", n)
			}
		}
	})
}

func TestTheLastDeliveryIsKnownBeforeAndAfterItIsFolded(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		w := addWebhook(t, s, "a")
		at := penstock.Now()
		for _, test := range []struct {
			name   string
			came   penstock.Time
			counts bool
			limit  int
			want   penstock.Time
		}{
			{"the first", at, true, 0, at},
			{"one that nobody had signed", at + 1, false, 0, at},
			{"one that is metered", at + 2, true, 10, at + 2},
			{"one that was overtaken", at + 1, true, 0, at + 2},
			{"the next", at + 3, true, 0, at + 3},
		} {
			mustDeliver(t, s, func(d *store.NewDelivery) {
				d.WebhookUID, d.ReceivedAt, d.Last, d.Rate = w.UID, test.came, test.counts, test.limit
			})
			for _, when := range []string{"before", "after"} {
				got, err := s.Webhook(t.Context(), store.DefaultTeam, "factory", w.UID)
				if err != nil || got.LastDeliveryAt != test.want {
					t.Errorf("%s, %s it is folded: the last at %v (%v), want %v", test.name, when, got.LastDeliveryAt, err, test.want)
				}
				fold(t, s, 10)
			}
		}
	})
}

// Two processes fold, while deliveries are counted and afterwards: a look finds
// each that was answered before and none that has not begun.
func TestCountsAreExactAtEveryLook(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		const senders, each = 4, 12
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		w := addWebhook(t, stores[0], "a")
		var begun, answered atomic.Int64
		var mu sync.Mutex
		var last penstock.Time // of those that were answered
		deliver := func() {
			var all sync.WaitGroup
			for i := range senders {
				all.Go(func() {
					for range each {
						begun.Add(1)
						d := newDelivery(func(d *store.NewDelivery) { d.WebhookUID, d.Last = w.UID, true })
						if _, err := stores[i%2].Deliver(t.Context(), d); err != nil {
							t.Error(err)
						}
						answered.Add(1)
						mu.Lock()
						last = max(last, d.ReceivedAt)
						mu.Unlock()
					}
				})
			}
			all.Wait()
		}
		look := func() {
			least := answered.Load()
			mu.Lock()
			at := last
			mu.Unlock()
			if now, err := stores[0].Webhook(t.Context(), store.DefaultTeam, "factory", w.UID); err != nil ||
				now.LastDeliveryAt < at {
				t.Errorf("the last delivery came %s before one that was answered (%v)", at.Sub(now.LastDeliveryAt), err)
			}
			got, sums := counted(t, stores[0], w)
			sum := int64(0)
			for _, s := range sums {
				sum += s.N
			}
			if most := begun.Load(); got.Accepted < least || got.Accepted > most || sum < least || sum > most {
				t.Errorf("counted %d, in the team %d, with %d answered before and %d begun", got.Accepted, sum, least, most)
			}
		}
		// during looks, and folds a few rows at a time in both processes, until work is done.
		during := func(limit int, work func()) {
			var done atomic.Bool
			var all sync.WaitGroup
			for _, s := range stores {
				all.Go(func() {
					for !done.Load() {
						if _, err := s.FoldCounts(t.Context(), limit); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Go(func() { work(); done.Store(true) })
			for !done.Load() {
				look()
			}
			all.Wait()
		}
		during(3, deliver)
		deliver()
		during(1, func() { fold(t, stores[0], 1) }) // nothing is begun any more: each look has to be exact
		wantCounts(t, stores[1], w, penstock.DeliveryCounts{Accepted: 2 * senders * each})
	})
}

// What ends a fold half-way, such as a kill, leaves all to be folded.
func TestAFoldThatFailsIsTakenBack(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		w := addWebhook(t, s, "a")
		deliver := func() { mustDeliver(t, s, func(d *store.NewDelivery) { d.WebhookUID = w.UID }) }
		deliver()
		fold(t, s, 10)
		deliver()
		deliver()
		testkit.Exec(t, url, "ALTER TABLE webhook_counts RENAME TO elsewhere")
		if n, err := s.FoldCounts(t.Context(), 10); err == nil || n != 0 {
			t.Errorf("without a place for them %d were folded, %v", n, err)
		}
		testkit.Exec(t, url, "ALTER TABLE elsewhere RENAME TO webhook_counts")
		wantCounts(t, s, w, penstock.DeliveryCounts{Accepted: 3})
		if n := fold(t, s, 10); n != 2 {
			t.Errorf("%d were left to be folded, want 2", n)
		}
		wantCounts(t, s, w, penstock.DeliveryCounts{Accepted: 3})
	})
}

func TestCountsOfADeletedWebhookLeaveNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		w, other := addWebhook(t, s, "a"), addWebhook(t, s, "b")
		for _, uid := range []string{w.UID, other.UID} {
			mustDeliver(t, s, func(d *store.NewDelivery) { d.WebhookUID = uid })
		}
		write(t, s, func(tx *store.Tx) error { return tx.DeleteWebhook(t.Context(), w.UID) })
		wantCounts(t, s, other, penstock.DeliveryCounts{Accepted: 1})
		fold(t, s, 10)
		// left is what there still is of the one that is gone.
		left := func() (counts penstock.DeliveryCounts) {
			testkit.Exec(t, url, "UPDATE webhooks SET deleted_at = 0 WHERE name = 'a'")
			counts, _ = counted(t, s, w)
			return counts
		}
		if got := left(); got != (penstock.DeliveryCounts{}) {
			t.Errorf("left: %+v", got)
		}
		// A fold that began before the end of the webhook may outlive it.
		mustDeliver(t, s, func(d *store.NewDelivery) { d.WebhookUID = w.UID })
		fold(t, s, 10)
		testkit.Exec(t, url, "UPDATE webhooks SET deleted_at = 1 WHERE name = 'a'")
		for _, l := range []store.Log{{WebhookUID: w.UID, Deleted: true}, {WebhookUID: other.UID}} {
			if err := s.ClearTallies(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		wantCounts(t, s, other, penstock.DeliveryCounts{Accepted: 1})
		if got := left(); got != (penstock.DeliveryCounts{}) {
			t.Errorf("left after clearing: %+v", got)
		}
	})
}

func TestATallyThatCannotBeReadIsToldAndHindersNobody(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		w := addWebhook(t, s, "a")
		for range 2 {
			mustDeliver(t, s, func(d *store.NewDelivery) { d.WebhookUID = w.UID })
			testkit.Exec(
				t, url,
				`INSERT INTO webhook_tallies (counts) VALUES ('half a tal'), (''), ('[{"w": "`+w.UID+
					`", "q": 1, "k": "accepted", "n": 1}, {"w": 1}]'), ('{}')`,
			)
		}
		n, err := s.FoldCounts(t.Context(), 100)
		if n != 10 || err == nil || strings.Count(err.Error(), "cannot be read") != 8 ||
			!strings.Contains(err.Error(), `"half a tal"`) {
			t.Errorf("folded %d, %v", n, err)
		}
		if n := fold(t, s, 100); n != 0 {
			t.Errorf("%d were left", n)
		}
		wantCounts(t, s, w, penstock.DeliveryCounts{Accepted: 2})
	})
}
