package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// While the database is away, no call is granted, and no settlement is lost. Once it is back, each call is
// counted once, however often its worker has asked.
func TestCallsAreCountedOnceTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	// How long the worker waits while the database is away, and once it is back.
	const away, back = 3 * time.Second, time.Minute
	for name, sever := range map[string]string{"reserving": "INSERT INTO calls", "settling": "UPDATE calls"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through, fix := testkit.Severed(t, testkit.Postgres(t), sever)
			w := start(t, func(s *settings) { s.storeURL = through })
			id := w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
				"prompt": "do it",
				"config": map[string]any{"model_id": "demo/offline", "budget": map[string]any{"max_cost_usd": 3}},
			}).field("run_id")
			c := remote(t, w)
			lease := w.work(c).a.Lease
			calls := make([]penstock.Reservation, 5)
			for i := range calls {
				calls[i] = penstock.Reservation{
					ID: penstock.NewID(), Provider: "p", Model: "m", InputTokens: 10, InputCost: 1e9, Completions: 1,
				}
			}
			reserve := func(within time.Duration) int {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				var granted atomic.Int64
				var workers sync.WaitGroup
				for _, call := range calls {
					workers.Go(func() {
						if got, err := c.Reserve(ctx, lease, call); err == nil && got.Capped {
							granted.Add(1)
						}
					})
				}
				workers.Wait()
				return int(granted.Load())
			}
			settle := func(within time.Duration) (err error) {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				settled := 0
				for _, call := range calls {
					failed := c.Settle(ctx, lease, penstock.Settlement{
						ID: call.ID, Tokens: penstock.TokenUsage{Input: 9}, Cost: &penstock.CallCost{Input: 5e8},
					})
					switch {
					case failed == nil:
						settled++
					case !errors.Is(failed, penstock.ErrLeaseLost): // that was refused
						err = failed
					}
				}
				if err == nil && settled != 3 {
					err = fmt.Errorf("%d calls are settled, want 3", settled)
				}
				return err
			}
			if name == "reserving" {
				if n := reserve(away); n > 0 {
					t.Errorf("%d calls are granted without a database", n)
				}
			} else {
				if n := reserve(back); n != 3 {
					t.Fatalf("%d calls are granted, want 3", n)
				}
				if err := settle(away); err == nil {
					t.Error("settled without a database")
				}
			}
			fix()
			if name == "reserving" {
				testkit.Eventually(t, 2*back, func() error {
					if n := reserve(back); n != 3 {
						return fmt.Errorf("%d calls are granted, want 3", n)
					}
					return nil
				})
			}
			testkit.Eventually(t, 2*back, func() error { return settle(back) })
			var usage run.RunUsage
			w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id+"/usage", nil).into(t, &usage)
			if usage.Total.Calls != 3 || usage.Total.PricedCostUSD != 1.5 || usage.Total.UnsettledCalls != 0 ||
				usage.Budget.SpentUSD != 1.5 || usage.Budget.ReservedUSD != 0 {
				t.Errorf("got %+v and %+v", usage.Total, usage.Budget)
			}
		})
	}
}

// Two people who change different fields of a budget at the same time both succeed.
func TestBudgetsAreChangedByTwoPeopleAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		budget := "/api/v1/budgets/" + w.must(http.StatusCreated, "POST", "/api/v1/budgets",
			`{"scope": "team", "period": "day", "max_cost_usd": 1}`).field("uid")
		run := "/api/v1/agent/runs/" + w.must(http.StatusOK, "POST", "/api/v1/agent/runs",
			`{"prompt": "x", "config": {"budget": {"max_cost_usd": 1, "max_total_tokens": 1}}}`).field("run_id")
		const rounds = 20
		var people sync.WaitGroup
		for path, bodies := range map[string][]string{
			budget: {`{"max_cost_usd": %d}`, `{"notify_at": [0.%d]}`, `{"period": "month", "time_zone": "Etc/GMT-%d"}`},
			run: {
				`{"config": {"budget": {"max_cost_usd": %d}}}`, `{"config": {"budget": {"max_total_tokens": %d}}}`,
			},
		} {
			for _, body := range bodies {
				people.Go(func() {
					for n := range rounds {
						last := max(1, n*5/rounds) // 4 in the end
						if a := w.do("PATCH", path, fmt.Sprintf(body, last)); a.status != http.StatusOK {
							t.Errorf("%s: got %d %s", body, a.status, a.body)
						}
					}
				})
			}
		}
		people.Wait()
		var b penstock.SharedBudget
		w.must(http.StatusOK, "GET", budget, nil).into(t, &b)
		if b.MaxCostUSD != 4 || len(b.NotifyAt) != 1 || b.NotifyAt[0] != 0.4 || b.TimeZone != "Etc/GMT-4" ||
			b.Period != penstock.BudgetMonth {
			t.Errorf("got the budget %+v", b)
		}
		var r penstock.Run
		w.must(http.StatusOK, "GET", run, nil).into(t, &r)
		if want := (penstock.Budget{MaxCostUSD: 4, MaxTotalTokens: 4}); *r.Config.Budget != want {
			t.Errorf("the run has %+v, want %+v", *r.Config.Budget, want)
		}
	})
}
