package store_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

const usd = 1_000_000_000

// working creates a run that a worker executes.
func working(t *testing.T, s *store.Store, change func(*store.NewRun)) (*store.NewRun, penstock.Lease) {
	t.Helper()
	r := mustCreate(t, s, change)
	row, lease := mustClaim(t, s, "host")
	if row.ID != r.ID {
		t.Fatalf("claimed %s, want %s", row.ID, r.ID)
	}
	for _, to := range []penstock.State{penstock.StatePending, penstock.StateInProgress} {
		if err := move(t, s, r.ID, to); err != nil {
			t.Fatal(err)
		}
	}
	return r, lease
}

func capped(usd float64, tokens int64) func(*store.NewRun) {
	return func(r *store.NewRun) { r.Config.Budget = &penstock.Budget{MaxCostUSD: usd, MaxTotalTokens: tokens} }
}

// dollarCall costs a dollar for its input, and a dollar for 1,000 tokens of output.
func dollarCall() penstock.Reservation {
	return penstock.Reservation{
		ID: penstock.NewID(), Provider: "anthropic", Model: "claude-opus-5-5", InputTokens: 1000, InputCost: usd,
		OutputPrice: usd, Output: 1000, LeastOutput: 1, Completions: 1,
	}
}

func mustReserve(t *testing.T, s *store.Store, l penstock.Lease, r penstock.Reservation) penstock.Reserved {
	t.Helper()
	got, err := s.Calls.Reserve(t.Context(), l, r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func settle(
	t *testing.T, s *store.Store, l penstock.Lease, st penstock.Settlement,
) (before, after store.Call, err error) {
	t.Helper()
	err = s.Write(t.Context(), func(tx *store.Tx) (err error) {
		before, after, err = tx.Calls().Settle(t.Context(), l, st)
		return err
	})
	return before, after, err
}

func mustSettle(t *testing.T, s *store.Store, l penstock.Lease, st penstock.Settlement) {
	t.Helper()
	if _, _, err := settle(t, s, l, st); err != nil {
		t.Fatal(err)
	}
}

func wantSpent(t *testing.T, got store.Account, spent, reserved int64) {
	t.Helper()
	if got.SpentCost != spent || got.ReservedCost != reserved {
		t.Errorf("spent %d and reserved %d, want %d and %d", got.SpentCost, got.ReservedCost, spent, reserved)
	}
}

func spentOf(t *testing.T, s *store.Store, b store.BudgetRow) store.Account {
	t.Helper()
	all, err := s.Budgets.Spent(t.Context(), []store.BudgetRow{b}, penstock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return all[b.UID]
}

func TestParallelCallsNeverCrossABudget(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		b := mustAddBudget(t, s, func(b *store.BudgetRow) { b.MaxCostUSD = 20 })
		var leases []penstock.Lease
		for range 4 {
			_, l := working(t, s, nil)
			leases = append(leases, l)
		}
		var granted atomic.Int64
		var together sync.WaitGroup
		for i := range 64 {
			together.Go(func() {
				r := dollarCall() // two dollars
				r.LeastOutput = r.Output
				got, err := s.Calls.Reserve(t.Context(), leases[i%4], r)
				if err != nil {
					t.Error(err)
				}
				if got.Refusal == nil && !got.Wait {
					granted.Add(1)
				}
			})
		}
		together.Wait()
		if granted.Load() != 10 {
			t.Errorf("%d calls were granted, want 10", granted.Load())
		}
		wantSpent(t, spentOf(t, s, b), 0, 20*usd)
	})
}

func TestACallWaitsIsLoweredOrIsRefused(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		run, l := working(t, s, capped(3, 0))
		first := dollarCall()
		if diff := cmp.Diff(penstock.Reserved{Capped: true, Output: 1000}, mustReserve(t, s, l, first)); diff != "" {
			t.Errorf("the first call (-want +got):\n%s", diff)
		}
		second := dollarCall()
		if got := mustReserve(t, s, l, second); !got.Wait || got.Refusal != nil {
			t.Errorf("a call in the way of which the first one stands: %+v", got)
		}
		mustSettle(t, s, l, penstock.Settlement{ID: first.ID, Cost: &penstock.CallCost{Input: 1.25 * usd}})
		if got := mustReserve(t, s, l, second); got.Output != 750 || !got.Capped {
			t.Errorf("a call with 1.75 dollars left: %+v", got)
		}
		mustSettle(t, s, l, penstock.Settlement{ID: second.ID, Cost: &penstock.CallCost{Input: 1.25 * usd}})
		got := mustReserve(t, s, l, dollarCall())
		want := penstock.Reserved{Refusal: &penstock.SpendRefusal{
			Code: penstock.CodeBudgetExceeded, Pause: true,
			Detail: "The run's budget has spent 2.5 of 3 USD, and the next call needs up to 1.001 USD.",
			Budget: &penstock.BudgetShortage{BudgetUID: run.ID, SpentUSD: 2.5, CapUSD: 3, NeededUSD: 1.001},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a call with half a dollar left (-want +got):\n%s", diff)
		}
	})
}

func TestTokensAreCappedToo(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		run, l := working(t, s, capped(0, 2500))
		first := dollarCall()
		first.Unpriced = true
		if got := mustReserve(t, s, l, first); got.Output != 1000 {
			t.Errorf("the first call: %+v", got)
		}
		mustSettle(t, s, l, penstock.Settlement{ID: first.ID, Tokens: penstock.TokenUsage{Input: 900, Output: 600}})
		if got := mustReserve(t, s, l, dollarCall()); got.Wait || got.Output != 0 || got.Refusal == nil ||
			*got.Refusal.Budget != (penstock.BudgetShortage{
				BudgetUID: run.ID, SpentTokens: 1500, CapTokens: 2500, NeededTokens: 1001,
			}) {
			t.Errorf("a call with 1,000 tokens left: %+v", got)
		}
		small := dollarCall()
		small.InputTokens = 800
		if got := mustReserve(t, s, l, small); got.Output != 200 {
			t.Errorf("a smaller call: %+v", got)
		}
	})
}

func TestUnboundedAndUnpricedCallsPassWithoutACapOnly(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		unpriced, unbounded := dollarCall(), dollarCall()
		unpriced.Unpriced, unbounded.Unbounded = true, "the field speed is not known"
		for _, c := range []struct {
			change              func(*store.NewRun)
			unpriced, unbounded penstock.Code
		}{
			{nil, "", ""},
			{capped(5, 0), penstock.CodeUnpricedModel, penstock.CodeBudgetExceeded},
			{capped(0, 5000), "", penstock.CodeBudgetExceeded},
		} {
			_, l := working(t, s, c.change)
			for r, want := range map[*penstock.Reservation]penstock.Code{&unpriced: c.unpriced, &unbounded: c.unbounded} {
				r.ID = penstock.NewID()
				got := mustReserve(t, s, l, *r)
				var code penstock.Code
				if got.Refusal != nil {
					code = got.Refusal.Code
				}
				if code != want || got.Wait {
					t.Errorf("got %+v, want %q", got, want)
				}
			}
		}
	})
}

func TestARepeatedReservationCountsOnce(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		b := mustAddBudget(t, s, func(b *store.BudgetRow) { b.MaxCostUSD = 2 })
		_, l := working(t, s, nil)
		r := dollarCall()
		var together sync.WaitGroup
		for range 16 { // the first response may be lost while the request is repeated
			together.Go(func() {
				got, err := s.Calls.Reserve(t.Context(), l, r)
				if want := (penstock.Reserved{Capped: true, Output: 1000}); err != nil || got != want {
					t.Errorf("got %+v and %v, want %+v", got, err, want)
				}
			})
		}
		together.Wait()
		wantSpent(t, spentOf(t, s, b), 0, 2*usd)
		done := penstock.Settlement{
			ID: r.ID, Tokens: penstock.TokenUsage{Input: 10, Output: 5}, Cost: &penstock.CallCost{Output: usd / 2},
		}
		for range 16 {
			together.Go(func() {
				if _, _, err := settle(t, s, l, done); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
		wantSpent(t, spentOf(t, s, b), usd/2, 0)
		if got := mustReserve(t, s, l, r); got.Output != 1000 { // it came late
			t.Errorf("a repeated reservation of a settled call: %+v", got)
		}
		wantSpent(t, spentOf(t, s, b), usd/2, 0)
	})
}

// A request to reserve may be on its way for long. If its call was given back meanwhile, it reserves nothing,
// whichever arrives first.
func TestAReservationOfAReleasedCallReservesNothing(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		b := mustAddBudget(t, s, func(b *store.BudgetRow) { b.MaxCostUSD = 100 })
		run, l := working(t, s, nil)
		late := dollarCall()
		for range 2 {
			mustSettle(t, s, l, penstock.Settlement{ID: late.ID, Unsent: true})
		}
		if _, err := s.Calls.Reserve(t.Context(), l, late); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("a late reservation: %v", err)
		}
		wantSpent(t, spentOf(t, s, b), 0, 0)
		var together sync.WaitGroup
		for range 20 {
			r := dollarCall()
			together.Go(func() { // one of both is first
				if _, err := s.Calls.Reserve(t.Context(), l, r); err != nil && penstock.CodeOf(err) == penstock.CodeUnavailable {
					t.Error(err)
				}
			})
			together.Go(func() {
				if _, _, err := settle(t, s, l, penstock.Settlement{ID: r.ID, Unsent: true}); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
		wantSpent(t, spentOf(t, s, b), 0, 0)
		shown, _, err := s.Usage.CallsOfRun(t.Context(), run.ID, "", 100)
		for _, c := range shown {
			if c.Model == "" || c.State != store.CallUnsent {
				t.Errorf("the list of calls has %+v", c)
			}
		}
		if err != nil {
			t.Error(err)
		}
		if err := move(t, s, l.RunID, penstock.StateCancelled); err != nil {
			t.Fatal(err)
		}
		if _, _, err := settle(t, s, l, penstock.Settlement{ID: "x", Unsent: true}); !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("a call that was not reserved before the lease ended: %v", err)
		}
	})
}

func TestACallBelongsToItsLease(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		_, l := working(t, s, nil)
		_, other := working(t, s, nil)
		r := dollarCall()
		mustReserve(t, s, l, r)
		if _, err := s.Calls.Reserve(t.Context(), other, r); penstock.CodeOf(err) != penstock.CodeConflict {
			t.Errorf("the id of another run's call: %v", err)
		}
		stranger := l
		stranger.Token = "x"
		if _, err := s.Calls.Reserve(t.Context(), stranger, dollarCall()); !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("a reservation with a wrong token: %v", err)
		}
		for _, wrong := range []penstock.Lease{other, stranger} {
			if _, _, err := settle(t, s, wrong, penstock.Settlement{ID: r.ID}); !errors.Is(err, penstock.ErrLeaseLost) {
				t.Errorf("another's settlement: %v", err)
			}
		}
		if err := move(t, s, l.RunID, penstock.StateCancelled); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Calls.Reserve(t.Context(), l, dollarCall()); !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("a reservation after the run was cancelled: %v", err)
		}
		mustSettle(t, s, l, penstock.Settlement{ID: r.ID, Cost: &penstock.CallCost{Output: 7}}) // its response still came
		calls, err := s.Calls.List(t.Context(), l.RunID)
		if err != nil || len(calls) != 1 || calls[0].State != store.CallSettled || calls[0].Cost != 7 {
			t.Errorf("the ledger: %+v %v", calls, err)
		}
	})
}

func TestWhatASettlementKeeps(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		b := mustAddBudget(t, s, func(b *store.BudgetRow) { b.MaxCostUSD = 100 })
		_, l := working(t, s, nil)
		for _, c := range []struct {
			what        string
			settle      penstock.Settlement
			cost, total int64
		}{
			{"unsent", penstock.Settlement{Unsent: true}, 0, 0},
			{"unknown", penstock.Settlement{Unknown: true}, 2 * usd, 2000},
			{"without a cost", penstock.Settlement{Tokens: penstock.TokenUsage{Input: 5}}, 2 * usd, 5},
			{
				"more than was reserved",
				penstock.Settlement{Tokens: penstock.TokenUsage{CacheWrite: 9000}, Cost: &penstock.CallCost{CacheWrite: 3 * usd}},
				3 * usd, 9000,
			},
		} {
			r := dollarCall()
			mustReserve(t, s, l, r)
			c.settle.ID = r.ID
			was := spentOf(t, s, b)
			before, after, err := settle(t, s, l, c.settle)
			now := spentOf(t, s, b)
			if err != nil || after.Cost != c.cost || after.Total() != c.total ||
				now.SpentCost-was.SpentCost != c.cost || now.ReservedCost != 0 || now.SpentTokens-was.SpentTokens != c.total ||
				after.Exceeds(before) != (c.cost > 2*usd) {
				t.Errorf("%s: %+v, account %+v, %v", c.what, after, now, err)
			}
		}
	})
}

func TestChildrenCountForTheRunsAbove(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		budgets := map[string]store.BudgetRow{}
		for scope, uid := range map[penstock.BudgetScope]string{
			"agent": "boss", "key": "k1", "automation": "auto", "factory": "f1",
		} {
			budgets[uid] = mustAddBudget(t, s, func(b *store.BudgetRow) { b.Scope, b.ScopeUID, b.MaxCostUSD = scope, uid, 50 })
		}
		other := mustAddBudget(t, s, func(b *store.BudgetRow) { b.Scope, b.ScopeUID = "agent", "else" })
		root, _ := working(t, s, func(r *store.NewRun) {
			capped(3, 0)(r)
			r.AgentUID, r.KeyUID, r.AutomationID, r.FactoryUID = "boss", "k1", "auto", "f1"
		})
		child, _ := working(t, s, func(r *store.NewRun) {
			r.ParentID, r.Inherited, r.AgentUID, r.KeyUID = root.ID, root.Bequeath(), "helper", "k2"
		})
		_, l := working(t, s, func(r *store.NewRun) { r.ParentID, r.Inherited = child.ID, child.Bequeath() })
		mustReserve(t, s, l, dollarCall())
		for uid, b := range budgets {
			t.Log(uid)
			wantSpent(t, spentOf(t, s, b), 0, 2*usd)
		}
		wantSpent(t, spentOf(t, s, other), 0, 0)
		own, err := s.Budgets.SpentByRun(t.Context(), root.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantSpent(t, own, 0, 2*usd)
		calls, err := s.Calls.List(t.Context(), l.RunID)
		if err != nil {
			t.Fatal(err)
		}
		c := calls[0]
		got := []string{c.AgentUID, c.KeyUID, c.AutomationID, c.FactoryUID}
		if diff := cmp.Diff([]string{"helper", "k2", "auto", "f1"}, got); diff != "" {
			t.Errorf("the call is of (-want +got):\n%s", diff)
		}
		r := dollarCall()
		r.LeastOutput = 1000
		mustReserve(t, s, l, dollarCall())
		_, second := working(t, s, func(r *store.NewRun) { r.ParentID, r.Inherited = root.ID, root.Bequeath() })
		if got := mustReserve(t, s, second, r); got.Refusal == nil || got.Refusal.Budget.BudgetUID != root.ID {
			t.Errorf("a second child of a run without room: %+v", got)
		}
	})
}

func TestABudgetStartsWithWhatItsPeriodHasSpent(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		run, l := working(t, s, func(r *store.NewRun) { r.AgentUID = "boss" })
		_, child := working(t, s, func(r *store.NewRun) { r.ParentID, r.Inherited = run.ID, run.Bequeath() })
		done, open, below := dollarCall(), dollarCall(), dollarCall()
		mustReserve(t, s, l, done)
		mustReserve(t, s, l, open)
		mustReserve(t, s, child, below)
		mustSettle(t, s, l, penstock.Settlement{ID: done.ID, Cost: &penstock.CallCost{Output: 3}})
		agent := mustAddBudget(t, s, func(b *store.BudgetRow) { b.Scope, b.ScopeUID = "agent", "boss" })
		other := mustAddBudget(t, s, func(b *store.BudgetRow) { b.Scope, b.ScopeUID = "agent", "other" })
		team := mustAddBudget(t, s, nil)
		if err := s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.Budgets().SetRunBudget(t.Context(), run.Team, run.ID, 9*usd, 0)
		}); err != nil {
			t.Fatal(err)
		}
		wantSpent(t, spentOf(t, s, agent), 3, 4*usd)
		wantSpent(t, spentOf(t, s, other), 0, 0)
		wantSpent(t, spentOf(t, s, team), 3, 4*usd)
		mustSettle(t, s, child, penstock.Settlement{ID: below.ID, Cost: &penstock.CallCost{Output: 4}})
		mustSettle(t, s, l, penstock.Settlement{ID: open.ID, Cost: &penstock.CallCost{Output: 5}})
		wantSpent(t, spentOf(t, s, agent), 12, 0)
		wantSpent(t, spentOf(t, s, team), 12, 0)
		own, err := s.Budgets.SpentByRun(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantSpent(t, own, 12, 0)
	})
}

// Budgets are created and deleted while calls are reserved and settled. At the end, each account
// equals the sum of the ledger.
func TestBudgetsCreatedWhileCallsAreMadeMissNone(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		run, l := working(t, s, nil)
		var together sync.WaitGroup
		for range 8 {
			together.Go(func() {
				for range 10 {
					r := dollarCall()
					mustReserve(t, s, l, r)
					if _, _, err := settle(t, s, l, penstock.Settlement{ID: r.ID, Cost: &penstock.CallCost{Output: 7}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var budgets []store.BudgetRow
		for i := range 10 {
			budgets = append(budgets, mustAddBudget(t, s, func(b *store.BudgetRow) { b.MaxCostUSD = 1000 }))
			if err := s.Write(t.Context(), func(tx *store.Tx) error {
				return tx.Budgets().SetRunBudget(t.Context(), run.Team, run.ID, int64(i%2)*1000*usd, 0)
			}); err != nil {
				t.Fatal(err)
			}
		}
		together.Wait()
		for _, b := range budgets {
			wantSpent(t, spentOf(t, s, b), 80*7, 0)
		}
		own, err := s.Budgets.SpentByRun(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantSpent(t, own, 80*7, 0)
	})
}

func TestAThresholdIsReportedOnceInAPeriod(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		mustAddBudget(t, s, func(b *store.BudgetRow) { b.NotifyAt = []float64{0.5, 0.8} }) // of ten dollars
		run, l := working(t, s, nil)
		var got [][2]float64
		for _, cost := range []int64{4 * usd, usd, usd, 3 * usd, usd / 2} {
			r := dollarCall()
			r.InputCost = 0
			mustReserve(t, s, l, r)
			mustSettle(t, s, l, penstock.Settlement{ID: r.ID, Cost: &penstock.CallCost{Input: cost}})
		}
		events, err := s.Events.Timeline(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			event, err := e.Timeline()
			if err != nil {
				t.Fatal(err)
			}
			if event.Type == store.TimelineBudgetThreshold {
				share, _ := event.Payload["notify_at"].(float64)
				spent, _ := event.Payload["spent_usd"].(float64)
				got = append(got, [2]float64{share, spent})
				if name := event.Payload["budget_name"]; name != "budget of the team" {
					t.Errorf("the threshold names the budget %q", name)
				}
			}
		}
		if diff := cmp.Diff([][2]float64{{0.5, 5}, {0.8, 9}}, got); diff != "" {
			t.Errorf("thresholds (-want +got):\n%s", diff)
		}
	})
}

// A refusal names the budget as people know it, not by its uid.
func TestARefusalNamesTheBudget(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		mustAddBudget(t, s, func(b *store.BudgetRow) { b.Period, b.MaxCostUSD = penstock.BudgetMonth, 1 })
		_, l := working(t, s, nil)
		got := mustReserve(t, s, l, dollarCall())
		const want = "The monthly budget of the team has spent 0 of 1 USD"
		if got.Refusal == nil || !strings.HasPrefix(got.Refusal.Detail, want) ||
			strings.Contains(got.Refusal.Detail, got.Refusal.Budget.BudgetUID) ||
			got.Refusal.Budget.BudgetName != "monthly budget of the team" {
			t.Errorf("refused with %+v", got.Refusal)
		}
	})
}
