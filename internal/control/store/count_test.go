package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// counted is what the readers return for the only webhook: its own counts, and the sums of the team
// by hour.
func counted(t *testing.T, s *store.Store, w store.WebhookRow) (penstock.DeliveryCounts, []store.DeliverySum) {
	t.Helper()
	row, err := s.Webhooks.Find(t.Context(), store.DefaultTeam, "factory", w.UID)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := s.Deliveries.Sum(t.Context(), store.DefaultTeam, penstock.Now().Add(-time.Hour))
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
		RateLimited: byKind[store.CountRateLimited], TurnedAway: byKind[store.CountTurnedAway],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sums of the team, -want +got:\n%s", diff)
	}
}

func TestCountsAreExact(t *testing.T) {
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
				d.WebhookUID, d.Outcome, d.HTTPStatus, d.Identity = w.UID, penstock.OutcomeRejectedJSON, 400, ""
			})
			want.Rejected++
			mustDeliver(t, s, func(again *store.NewDelivery) { again.WebhookUID, again.ReplayOf = w.UID, d.ID }) // no delivery
			old := store.Count{WebhookUID: w.UID, Quarter: quarter - 100, Kind: store.CountAccepted}
			if err := s.Deliveries.AddCounts(
				t.Context(), map[store.Count]int64{
					{w.UID, quarter, store.CountRateLimited}: 7, {w.UID, quarter, store.CountTurnedAway}: 2, old: 1,
				},
			); err != nil {
				t.Fatal(err)
			}
			want.RateLimited += 7
			want.TurnedAway += 2
			wantCounts(t, s, w, want)
		}
	})
}

func TestWebhookShowsItsLastDelivery(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		w := addWebhook(t, s, "a")
		at := penstock.Now()
		long := at.Add(-48 * time.Hour)
		for _, test := range []struct {
			name   string
			came   penstock.Time
			counts bool
			limit  int
			want   penstock.Time
		}{
			{"the first, two days ago", long, true, 0, long},
			{"one that nobody had signed", long + 1, false, 0, long},
			{"the next", at, true, 0, at},
			{"one with a rate", at + 2, true, 10, at + 2},
			{"one that was overtaken", at + 1, true, 0, at + 2},
			{"the last", at + 3, true, 0, at + 3},
		} {
			mustDeliver(t, s, func(d *store.NewDelivery) {
				d.WebhookUID, d.ReceivedAt, d.Last, d.Rate = w.UID, test.came, test.counts, test.limit
			})
			for _, when := range []string{"before", "after"} {
				got, err := s.Webhooks.Find(t.Context(), store.DefaultTeam, "factory", w.UID)
				if err != nil || got.LastDeliveryAt != test.want {
					t.Errorf("%s, %s old counts go: the last at %v (%v), want %v", test.name, when, got.LastDeliveryAt, err, test.want)
				}
				if err := s.Deliveries.ClearCounts(t.Context(), store.Log{WebhookUID: w.UID}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// After a day, counts are kept by the hour, and in the end not at all.
func TestOldCountsAreAddedUp(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		w := addWebhook(t, s, "a")
		hour := store.Quarter(penstock.Now()) / 4 * 4
		for _, c := range []struct{ quarter, committer, n int64 }{
			{hour - 4, 0, 1},
			{hour - 4*30, 0, 2},
			{hour - 4*30 + 1, 0, 4},
			{hour - 4*30 + 1, 1, 8},
			{hour - 4*31, 0, 16},
			{hour - 4*24*32, 0, 64}, // before all statistics
		} {
			testkit.Exec(t, url, fmt.Sprintf(`INSERT INTO webhook_counts (webhook_uid, quarter, kind, committer, n)
				VALUES ('%s', %d, '%s', %d, %d)`, w.UID, c.quarter, store.CountAccepted, c.committer, c.n))
		}
		from := penstock.Time(hour-4*24*33) * penstock.Time(15*time.Minute.Milliseconds())
		for _, old := range []int64{14, 46} {
			if err := s.Deliveries.ClearCounts(t.Context(), store.Log{WebhookUID: w.UID}); err != nil {
				t.Fatal(err)
			}
			sums, err := s.Deliveries.Sum(t.Context(), store.DefaultTeam, from)
			if err != nil {
				t.Fatal(err)
			}
			got := map[int]int64{} // by hours ago
			for _, sum := range sums {
				got[33*24-sum.Hour] = sum.N
			}
			if diff := cmp.Diff(map[int]int64{1: 1, 30: old, 31: 16}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			// One that is counted late is added to its hour.
			testkit.Exec(t, url, fmt.Sprintf(`INSERT INTO webhook_counts (webhook_uid, quarter, kind, n)
				VALUES ('%s', %d, '%s', 32)`, w.UID, hour-4*30+2, store.CountAccepted))
		}
	})
}

// Two processes count. Each look includes every delivery that was acknowledged before, and none
// that has not begun.
func TestCountsAreAlwaysExact(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		const senders, each = 4, 12
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		w := addWebhook(t, stores[0], "a")
		var begun, acknowledged, last atomic.Int64 // last: the latest acknowledged one, in epoch milliseconds
		var all sync.WaitGroup
		for i := range senders {
			all.Go(func() {
				for range each {
					begun.Add(1)
					d := newDelivery(func(d *store.NewDelivery) { d.WebhookUID, d.Last = w.UID, true })
					if _, err := stores[i%2].Deliveries.Deliver(t.Context(), d); err != nil {
						t.Error(err)
					}
					acknowledged.Add(1)
					for old := last.Load(); old < int64(d.ReceivedAt) && !last.CompareAndSwap(old, int64(d.ReceivedAt)); {
						old = last.Load()
					}
				}
			})
		}
		for acknowledged.Load() < senders*each {
			least, at := acknowledged.Load(), penstock.Time(last.Load())
			if now, err := stores[0].Webhooks.Find(t.Context(), store.DefaultTeam, "factory", w.UID); err != nil ||
				now.LastDeliveryAt < at {
				t.Errorf("the last delivery came %s before one that was acknowledged (%v)", at.Sub(now.LastDeliveryAt), err)
			}
			got, sums := counted(t, stores[0], w)
			sum := int64(0)
			for _, s := range sums {
				sum += s.N
			}
			if most := begun.Load(); got.Accepted < least || got.Accepted > most || sum < least || sum > most {
				t.Errorf("counted %d, in the team %d, with %d acknowledged before and %d begun", got.Accepted, sum, least, most)
			}
		}
		all.Wait()
		wantCounts(t, stores[1], w, penstock.DeliveryCounts{Accepted: senders * each})
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
		write(t, s, func(tx *store.Tx) error { return tx.Webhooks().Delete(t.Context(), w.UID) })
		wantCounts(t, s, other, penstock.DeliveryCounts{Accepted: 1})
		// left returns the remaining rows of the deleted webhook.
		left := func() (counts penstock.DeliveryCounts) {
			testkit.Exec(t, url, "UPDATE webhooks SET deleted_at = 0 WHERE name = 'a'")
			counts, _ = counted(t, s, w)
			return counts
		}
		if got := left(); got != (penstock.DeliveryCounts{}) {
			t.Errorf("left: %+v", got)
		}
		// Deliveries that were in progress when the webhook was deleted may be counted afterwards.
		mustDeliver(t, s, func(d *store.NewDelivery) { d.WebhookUID, d.Last = w.UID, true })
		testkit.Exec(t, url, "UPDATE webhooks SET deleted_at = 1 WHERE name = 'a'")
		for _, l := range []store.Log{{WebhookUID: w.UID, Deleted: true}, {WebhookUID: other.UID}} {
			if err := s.Deliveries.ClearCounts(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		wantCounts(t, s, other, penstock.DeliveryCounts{Accepted: 1})
		if got := left(); got != (penstock.DeliveryCounts{}) {
			t.Errorf("left after clearing: %+v", got)
		}
	})
}
