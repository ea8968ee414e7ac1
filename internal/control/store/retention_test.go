package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// deliverTwoRuns records a delivery of an hour ago that starts two runs.
func deliverTwoRuns(t *testing.T, s *store.Store) *store.NewDelivery {
	t.Helper()
	at := penstock.Now().Add(-time.Hour)
	d, _ := mustDeliver(t, s, func(d *store.NewDelivery) {
		d.ID, d.ReceivedAt = idAt(at), at
		for range 2 {
			run := newRun(func(r *store.NewRun) {
				r.CreatedAt, r.UpdatedAt, r.WebhookUID, r.DeliveryID = at, at, d.WebhookUID, d.ID
			})
			d.Starts = append(d.Starts, run)
			d.Matches = append(d.Matches, store.DeliveryMatch{
				Automation: "a", UID: "u", WouldTrigger: true, RunID: run.ID,
			})
		}
	})
	return d
}

func removeRun(t *testing.T, s *store.Store, run *store.NewRun) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Runs().Remove(t.Context(), run.ID, penstock.Now().Add(time.Minute))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// After its log entry is cleared, a payload stays for its runs, and is removed with the last of
// them.
func TestPayloadsAreRemovedWithTheLastRun(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		d := deliverTwoRuns(t, s)
		if n, err := s.Deliveries.ClearLog(
			t.Context(), d.WebhookUID, penstock.OutcomeAccepted, store.Keep{Since: penstock.Now()}, 10,
		); n != 1 || err != nil {
			t.Fatalf("cleared %d, %v, want the entry", n, err)
		}
		removeRun(t, s, d.Starts[0])
		if _, err := s.Runs.Find(t.Context(), store.DefaultTeam, d.Starts[0].ID); err != nil {
			t.Errorf("a run that waits was removed: %v", err)
		}
		for i, run := range d.Starts {
			if err := move(t, s, run.ID, penstock.StateCancelled); err != nil {
				t.Fatal(err)
			}
			removeRun(t, s, run)
			if _, err := s.Runs.Find(t.Context(), store.DefaultTeam, run.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
				t.Errorf("a run that is over is left: %v", err)
			}
			if _, err := s.Deliveries.Payload(t.Context(), d.ID); (err == nil) != (i == 0) {
				t.Errorf("with %d runs left, the payload: %v", 1-i, err)
			}
		}
	})
}

// Two processes clear the log while runs are removed. A payload stays exactly as long as one of its
// runs.
func TestOnlyRunsKeepPayloads(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		stores := []*store.Store{testkit.OpenStore(t, url), testkit.OpenStore(t, url)}
		addReceiver(t, stores[0])
		const many = 40
		var deliveries []*store.NewDelivery
		for range many {
			d := deliverTwoRuns(t, stores[0])
			for _, run := range d.Starts {
				if err := move(t, stores[0], run.ID, penstock.StateCancelled); err != nil {
					t.Fatal(err)
				}
			}
			deliveries = append(deliveries, d)
		}
		var together sync.WaitGroup
		for i, s := range stores {
			together.Go(func() {
				for range many {
					if _, err := s.Deliveries.ClearLog(
						t.Context(), "w", penstock.OutcomeAccepted, store.Keep{Since: penstock.Now()}, 3,
					); err != nil {
						t.Error(err)
					}
				}
			})
			together.Go(func() {
				for _, d := range deliveries[:many/2] { // without any run left
					removeRun(t, s, d.Starts[i])
				}
			})
		}
		together.Wait()
		if n := len(theLog(t, stores[0])); n != 0 {
			t.Errorf("%d deliveries are left", n)
		}
		for i, d := range deliveries {
			if _, err := stores[0].Deliveries.Payload(t.Context(), d.ID); (err == nil) != (i >= many/2) {
				t.Errorf("the payload of delivery %d: %v", i, err)
			}
		}
	})
}

// A removed run leaves the sums of its calls: for usage, and for budgets that exist and those that come.
func TestUsageStaysWhenARunIsRemoved(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		run, l := working(t, s, func(r *store.NewRun) { r.AgentUID = "boss" })
		before := mustAddBudget(t, s, func(b *store.BudgetRow) { b.MaxCostUSD = 1000 })
		for i := range 40 {
			r := dollarCall()
			r.Unpriced = false
			mustReserve(t, s, l, r)
			done := penstock.Settlement{
				ID: r.ID, Tokens: penstock.TokenUsage{Input: 3, Output: int64(i)}, Cost: &penstock.CallCost{Output: 7},
				Estimated: i%4 == 0, Unsent: i%10 == 1, Unknown: i%10 == 2,
			}
			if i == 39 {
				continue // its settlement is late
			}
			mustSettle(t, s, l, done)
		}
		// Half of the calls were made a day ago. Each half is of one time, because the calls of a quarter of an hour become
		// one row: a quarter may begin while the test works.
		testkit.Exec(t, url, fmt.Sprintf(
			`UPDATE calls SET created_at = %d - CASE WHEN tokens_output < 20 THEN 86400000 ELSE 0 END`, penstock.Now(),
		))
		by := func(group penstock.UsageGroup) []penstock.UsageRow {
			rows, _, err := s.Usage.Sum(t.Context(), run.Team, penstock.UsageQuery{
				From: penstock.Now().Add(-72 * time.Hour), To: penstock.Now() + 1, GroupBy: group,
			}, time.UTC, 100)
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		days, agents, spent := by(penstock.UsageByDay), by(penstock.UsageByAgent), spentOf(t, s, before)
		if err := move(t, s, run.ID, penstock.StateSucceeded); err != nil {
			t.Fatal(err)
		}
		removeRun(t, s, run)
		if diff := cmp.Diff(days, by(penstock.UsageByDay)); diff != "" {
			t.Errorf("by day (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(agents, by(penstock.UsageByAgent)); diff != "" {
			t.Errorf("by agent (-before +after):\n%s", diff)
		}
		wantSpent(t, spentOf(t, s, before), spent.SpentCost, spent.ReservedCost)
		later := mustAddBudget(t, s, func(b *store.BudgetRow) { b.Scope, b.ScopeUID, b.MaxCostUSD = "agent", "boss", 1000 })
		wantSpent(t, spentOf(t, s, later), spent.SpentCost, spent.ReservedCost)
		left, err := s.Calls.List(t.Context(), run.ID)
		if err != nil || len(left) > 8 { // by day, estimated, unknown and open
			t.Errorf("the ledger still has %d rows: %v", len(left), err)
		}
	})
}
