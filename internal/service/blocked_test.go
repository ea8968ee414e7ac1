package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// addBudget adds a budget of the team, of ten dollars.
func (w *world) addBudget(change func(*store.BudgetRow)) store.BudgetRow {
	w.t.Helper()
	b := store.BudgetRow{SharedBudget: penstock.SharedBudget{
		UID: penstock.NewUID(), Scope: penstock.BudgetOfTeam, Period: penstock.BudgetTotal, TimeZone: "UTC", MaxCostUSD: 10,
		Action: penstock.BudgetPause, CreatedAt: penstock.Now(), UpdatedAt: penstock.Now(),
	}, Team: store.DefaultTeam}
	if change != nil {
		change(&b)
	}
	w.write(func(tx *store.Tx) error { return tx.Budgets().Add(w.t.Context(), b) })
	return b
}

func (w *world) write(do func(*store.Tx) error) {
	w.t.Helper()
	if err := w.database().Write(w.t.Context(), do); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) raise(b store.BudgetRow, usd float64) {
	w.t.Helper()
	w.write(func(tx *store.Tx) error {
		before, err := tx.Budgets().Lock(w.t.Context(), b.Team, b.UID)
		if err != nil {
			return err
		}
		b.MaxCostUSD = usd
		return tx.Budgets().Update(w.t.Context(), before, b)
	})
}

// spend makes a call with this cost.
func (w *world) spend(l penstock.Lease, usd float64) penstock.Reserved {
	w.t.Helper()
	r := penstock.Reservation{
		ID: penstock.NewID(), Provider: "anthropic", Model: "m", InputTokens: 10, InputCost: penstock.NanosOf(usd),
		Completions: 1,
	}
	got, err := w.Executions.Control().Reserve(w.t.Context(), l, r)
	if err != nil {
		w.t.Fatal(err)
	}
	if got.Refusal != nil || got.Wait {
		return got
	}
	if err := w.Executions.Control().Settle(w.t.Context(), l, penstock.Settlement{
		ID: r.ID, Tokens: penstock.TokenUsage{Input: 10}, Cost: &penstock.CallCost{Input: r.InputCost},
	}); err != nil {
		w.t.Fatal(err)
	}
	return got
}

// block ends the turn like a worker whose call was refused.
func (w *world) block(l penstock.Lease, why *penstock.SpendRefusal) {
	w.t.Helper()
	w.finish(l, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{
		Message: why.Detail, ErrorCode: why.Code, Budget: why.Budget,
	}})
}

func (w *world) becomes(id string, want penstock.State) {
	w.t.Helper()
	testkit.Eventually(w.t, 20*time.Second, func() error {
		if run := w.get(id); run.State != want {
			return fmt.Errorf("the run is %s, want %s (%+v)", run.State, want, run.StatusMessage)
		}
		return nil
	})
}

func TestABlockedRunContinuesOnceItsBudgetIsRaised(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.create(penstock.RunRequest{
			Prompt: "spend", Config: &penstock.Config{Budget: &penstock.Budget{MaxCostUSD: 1}},
		}).ID
		a := w.work()
		w.spend(a.Lease, 0.75)
		refused := w.spend(a.Lease, 0.5).Refusal
		if refused == nil || !refused.Pause || refused.Budget.BudgetUID != id {
			w.t.Fatalf("got %+v", refused)
		}
		w.block(a.Lease, refused)
		blocked := w.mustBe(id, penstock.StateBlocked)
		want := &penstock.BudgetShortage{BudgetUID: id, SpentUSD: 0.75, CapUSD: 1, NeededUSD: 0.5}
		if diff := cmp.Diff(want, blocked.StatusMessage.Budget); diff != "" {
			w.t.Errorf("the status message (-want +got):\n%s", diff)
		}

		f, err := w.Runs.FollowUp(w.t.Context(), w.admin, id, penstock.FollowupRequest{Message: "and then"})
		if err != nil || f.Outcome != penstock.FollowupQueued {
			w.t.Errorf("a follow-up: %+v, %v", f, err)
		}
		raise := func(cost float64) {
			w.write(func(tx *store.Tx) error {
				return tx.Budgets().SetRunBudget(w.t.Context(), store.DefaultTeam, id, penstock.NanosOf(cost), 0)
			})
		}
		raise(1.2)
		if err := w.Executions.ResumeFunded(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.mustBe(id, penstock.StateBlocked) // 0.45 dollars are not enough
		raise(2)
		a = w.work()
		if len(a.Prompts) != 1 || a.Prompts[0].Text != "spend" || !a.Prompts[0].Redelivered {
			w.t.Errorf("the prompts after the raise: %+v", a.Prompts)
		}
		if got := w.spend(a.Lease, 0.5); got.Refusal != nil {
			w.t.Errorf("the call after the raise: %+v", got.Refusal)
		}
		if next := w.finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(next) != 1 ||
			next[0].Text != "and then" {
			w.t.Errorf("the next prompts: %+v", next)
		}
	})
}

func TestRunsUnderASpentBudgetAreCreatedBlocked(t *testing.T) {
	worlds(t, nil, func(w *world) {
		b := w.addBudget(nil)
		first := w.create(penstock.RunRequest{Prompt: "spend"})
		a := w.work()
		w.spend(a.Lease, 10)
		created := w.create(penstock.RunRequest{Prompt: "wait"})
		if created.State != penstock.StateBlocked || created.AtCapacity {
			w.t.Errorf("created %+v", created)
		}
		blocked := w.mustBe(created.ID, penstock.StateBlocked)
		if m := blocked.StatusMessage; m == nil || m.ErrorCode != penstock.CodeBudgetExceeded || m.Budget.BudgetUID != b.UID {
			w.t.Errorf("the status message: %+v", m)
		}
		if diff := cmp.Diff([]string{"run_created", "run_blocked"}, w.timelineTypes(created.ID)); diff != "" {
			w.t.Errorf("timeline (-want +got):\n%s", diff)
		}
		cancelled := w.create(penstock.RunRequest{Prompt: "cancel"})
		if _, err := w.Runs.Cancel(w.t.Context(), w.admin, cancelled.ID, false); err != nil {
			w.t.Error(err)
		}
		w.finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.mustBe(first.ID, penstock.StateSucceeded)

		w.raise(b, 11)
		a = w.work()
		if a.Run.ID != created.ID || a.Prompts[0].Text != "wait" || a.Prompts[0].Redelivered {
			w.t.Errorf("claimed %+v", a)
		}
		w.mustBe(cancelled.ID, penstock.StateCancelled)
	})
}

func TestRunsUnderASpentBudgetThatRefusesFail(t *testing.T) {
	worlds(t, nil, func(w *world) {
		b := w.addBudget(func(b *store.BudgetRow) { b.Action = penstock.BudgetRefuse })
		w.create(penstock.RunRequest{Prompt: "spend"})
		a := w.work()
		w.spend(a.Lease, 9.5)
		if got := w.spend(a.Lease, 1); got.Refusal == nil || got.Refusal.Pause {
			w.t.Errorf("got %+v", got)
		}
		if created := w.create(penstock.RunRequest{Prompt: "x"}); created.State != penstock.StateQueued {
			w.t.Errorf("created %+v with half a dollar left", created)
		}
		w.spend(a.Lease, 0.5)
		created := w.create(penstock.RunRequest{Prompt: "x"})
		run := w.mustBe(created.ID, penstock.StateFailed)
		if created.State != penstock.StateFailed || run.FinishedAt == 0 || run.StatusMessage.Budget.BudgetUID != b.UID {
			w.t.Errorf("created %+v: %+v", created, run)
		}
	})
}

func TestEveryWayToGetRoomContinuesARun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.create(penstock.RunRequest{Prompt: "spend"})
		open := w.work()
		settle := func(id string) {
			if err := w.Executions.Control().Settle(w.t.Context(), open.Lease, penstock.Settlement{
				ID: id, Cost: &penstock.CallCost{Input: 1},
			}); err != nil {
				w.t.Fatal(err)
			}
		}
		ways := map[string]func(b store.BudgetRow){
			"the budget is deleted": func(b store.BudgetRow) {
				w.write(func(tx *store.Tx) error { return tx.Budgets().Delete(w.t.Context(), b.Team, b.UID) })
			},
			"the period is over": func(store.BudgetRow) {
				// Yesterday's account, and an empty one for today.
				testkit.Exec(w.t, w.url, "UPDATE budget_accounts SET period_start = period_start - 86400000")
			},
			"a call cost less than was reserved": func(b store.BudgetRow) {
				settle(b.UID)
			},
		}
		for name, makeRoom := range ways {
			b := w.addBudget(func(b *store.BudgetRow) { b.Period, b.MaxCostUSD = penstock.BudgetDay, 1000 })
			if _, err := w.Executions.Control().Reserve(w.t.Context(), open.Lease, penstock.Reservation{
				ID: b.UID, InputCost: 20e9, Completions: 1,
			}); err != nil {
				w.t.Fatal(err)
			}
			w.raise(b, 20)
			id := w.create(penstock.RunRequest{Prompt: "wait"}).ID
			w.t.Log(name)
			w.mustBe(id, penstock.StateBlocked)
			makeRoom(b)
			w.becomes(id, penstock.StateQueued)
			settle(b.UID)
			if name != "the budget is deleted" {
				w.write(func(tx *store.Tx) error { return tx.Budgets().Delete(w.t.Context(), b.Team, b.UID) })
			}
		}
	})
}

// A call whose worker died counts as spent a day later, also if its run was removed by then. No call of a run
// that is executed is given up.
func TestAbandonedCallsCountAsSpent(t *testing.T) {
	worlds(t, nil, func(w *world) {
		b := w.addBudget(nil)
		reserve := func(l penstock.Lease) {
			if _, err := w.Executions.Control().Reserve(w.t.Context(), l, penstock.Reservation{
				ID: penstock.NewID(), Provider: "anthropic", Model: "m", InputTokens: 10, InputCost: 2e9, Completions: 1,
			}); err != nil {
				w.t.Fatal(err)
			}
		}
		id := w.create(penstock.RunRequest{Prompt: "die"}).ID
		reserve(w.work().Lease)
		if _, err := w.Runs.Cancel(w.t.Context(), w.admin, id, false); err != nil {
			w.t.Fatal(err)
		}
		w.create(penstock.RunRequest{Prompt: "work"})
		reserve(w.work().Lease)
		want := func(spent, reserved float64) {
			if err := w.Executions.SettleAbandoned(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
			got, err := w.Budgets.Read(w.t.Context(), w.admin, b.UID)
			if err != nil || got.SpentUSD != spent || got.ReservedUSD != reserved {
				w.t.Errorf("spent %v and reserved %v, want %v and %v (%v)", got.SpentUSD, got.ReservedUSD, spent, reserved, err)
			}
		}
		want(0, 4)
		testkit.Exec(w.t, w.url, "UPDATE calls SET created_at = created_at - 86400001")
		want(2, 2)
		if u := w.get(id).Usage; u == nil || u.InferenceCostUSD == nil || *u.InferenceCostUSD != 2 {
			w.t.Errorf("the run has used %+v", u)
		}
		total := w.usage(penstock.UsageQuery{}).Total
		if total.UnknownCalls != 1 || total.UnsettledCalls != 1 {
			w.t.Errorf("got %+v", total)
		}
	})
}
