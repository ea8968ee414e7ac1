package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func (w *world) raise(b store.BudgetRow, usd float64) {
	w.T.Helper()
	w.Write(func(tx *store.Tx) error {
		before, err := tx.Budgets().Lock(w.T.Context(), b.Team, b.UID)
		if err != nil {
			return err
		}
		b.MaxCostUSD = usd
		return tx.Budgets().Update(w.T.Context(), before, b)
	})
}

// block ends the turn like a worker whose call was refused.
func (w *world) block(l penstock.Lease, why *penstock.SpendRefusal) {
	w.T.Helper()
	w.Finish(l, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{
		Message: why.Detail, ErrorCode: why.Code, Budget: why.Budget,
	}})
}

func TestABlockedRunContinuesOnceItsBudgetIsRaised(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{
			Prompt: "spend", Config: &penstock.Config{Budget: &penstock.Budget{MaxCostUSD: 1}},
		}).ID
		a := w.Work()
		w.Spend(a.Lease, 0.75)
		refused := w.Spend(a.Lease, 0.5).Refusal
		if refused == nil || !refused.Pause || refused.Budget.BudgetUID != id {
			w.T.Fatalf("got %+v", refused)
		}
		w.block(a.Lease, refused)
		blocked := w.MustBe(id, penstock.StateBlocked)
		want := &penstock.BudgetShortage{BudgetUID: id, SpentUSD: 0.75, CapUSD: 1, NeededUSD: 0.5}
		if diff := cmp.Diff(want, blocked.StatusMessage.Budget); diff != "" {
			w.T.Errorf("the status message (-want +got):\n%s", diff)
		}

		f, err := w.Runs.FollowUp(w.T.Context(), w.Admin, id, run.FollowupRequest{Message: "and then"})
		if err != nil || f.Outcome != run.FollowupQueued {
			w.T.Errorf("a follow-up: %+v, %v", f, err)
		}
		raise := func(cost float64) {
			w.Write(func(tx *store.Tx) error {
				return tx.Budgets().SetRunBudget(w.T.Context(), store.DefaultTeam, id, penstock.NanosOf(cost), 0)
			})
		}
		raise(1.2)
		if err := w.Executions.ResumeFunded(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		w.MustBe(id, penstock.StateBlocked) // 0.45 dollars are not enough
		raise(2)
		a = w.Work()
		if len(a.Prompts) != 1 || a.Prompts[0].Text != "spend" || !a.Prompts[0].Redelivered {
			w.T.Errorf("the prompts after the raise: %+v", a.Prompts)
		}
		if got := w.Spend(a.Lease, 0.5); got.Refusal != nil {
			w.T.Errorf("the call after the raise: %+v", got.Refusal)
		}
		if next := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(next) != 1 ||
			next[0].Text != "and then" {
			w.T.Errorf("the next prompts: %+v", next)
		}
	})
}

func TestRunsUnderASpentBudgetAreCreatedBlocked(t *testing.T) {
	worlds(t, nil, func(w *world) {
		b := w.AddBudget(nil)
		first := w.Create(penstock.RunRequest{Prompt: "spend"})
		a := w.Work()
		w.Spend(a.Lease, 10)
		created := w.Create(penstock.RunRequest{Prompt: "wait"})
		if created.State != penstock.StateBlocked || created.AtCapacity {
			w.T.Errorf("created %+v", created)
		}
		blocked := w.MustBe(created.ID, penstock.StateBlocked)
		if m := blocked.StatusMessage; m == nil || m.ErrorCode != penstock.CodeBudgetExceeded || m.Budget.BudgetUID != b.UID {
			w.T.Errorf("the status message: %+v", m)
		}
		if diff := cmp.Diff([]string{"run_created", "run_blocked"}, w.TimelineTypes(created.ID)); diff != "" {
			w.T.Errorf("timeline (-want +got):\n%s", diff)
		}
		cancelled := w.Create(penstock.RunRequest{Prompt: "cancel"})
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, cancelled.ID, false); err != nil {
			w.T.Error(err)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.MustBe(first.ID, penstock.StateSucceeded)

		w.raise(b, 11)
		a = w.Work()
		if a.Run.ID != created.ID || a.Prompts[0].Text != "wait" || a.Prompts[0].Redelivered {
			w.T.Errorf("claimed %+v", a)
		}
		w.MustBe(cancelled.ID, penstock.StateCancelled)
	})
}

func TestRunsUnderASpentBudgetThatRefusesFail(t *testing.T) {
	worlds(t, nil, func(w *world) {
		b := w.AddBudget(func(b *store.BudgetRow) { b.Action = penstock.BudgetRefuse })
		w.Create(penstock.RunRequest{Prompt: "spend"})
		a := w.Work()
		w.Spend(a.Lease, 9.5)
		if got := w.Spend(a.Lease, 1); got.Refusal == nil || got.Refusal.Pause {
			w.T.Errorf("got %+v", got)
		}
		if created := w.Create(penstock.RunRequest{Prompt: "x"}); created.State != penstock.StateQueued {
			w.T.Errorf("created %+v with half a dollar left", created)
		}
		w.Spend(a.Lease, 0.5)
		created := w.Create(penstock.RunRequest{Prompt: "x"})
		run := w.MustBe(created.ID, penstock.StateFailed)
		if created.State != penstock.StateFailed || run.FinishedAt == 0 || run.StatusMessage.Budget.BudgetUID != b.UID {
			w.T.Errorf("created %+v: %+v", created, run)
		}
	})
}

func TestEveryWayToGetRoomContinuesARun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.Create(penstock.RunRequest{Prompt: "spend"})
		open := w.Work()
		settle := func(id string) {
			if err := w.Executions.Control().Settle(w.T.Context(), open.Lease, penstock.Settlement{
				ID: id, Cost: &penstock.CallCost{Input: 1},
			}); err != nil {
				w.T.Fatal(err)
			}
		}
		ways := map[string]func(b store.BudgetRow){
			"the budget is deleted": func(b store.BudgetRow) {
				w.Write(func(tx *store.Tx) error { return tx.Budgets().Delete(w.T.Context(), b.Team, b.UID) })
			},
			"the period is over": func(store.BudgetRow) {
				// Yesterday's account, and an empty one for today.
				testkit.Exec(w.T, w.URL, "UPDATE budget_accounts SET period_start = period_start - 86400000")
			},
			"a call cost less than was reserved": func(b store.BudgetRow) {
				settle(b.UID)
			},
		}
		for name, makeRoom := range ways {
			b := w.AddBudget(func(b *store.BudgetRow) { b.Period, b.MaxCostUSD = penstock.BudgetDay, 1000 })
			if _, err := w.Executions.Control().Reserve(w.T.Context(), open.Lease, penstock.Reservation{
				ID: b.UID, InputCost: 20e9, Completions: 1,
			}); err != nil {
				w.T.Fatal(err)
			}
			w.raise(b, 20)
			id := w.Create(penstock.RunRequest{Prompt: "wait"}).ID
			w.T.Log(name)
			w.MustBe(id, penstock.StateBlocked)
			makeRoom(b)
			w.Becomes(id, penstock.StateQueued)
			settle(b.UID)
			if name != "the budget is deleted" {
				w.Write(func(tx *store.Tx) error { return tx.Budgets().Delete(w.T.Context(), b.Team, b.UID) })
			}
		}
	})
}

// A call whose worker died counts as spent a day later, also if its run was removed by then. No call of a run
// that is executed is given up.
func TestAbandonedCallsCountAsSpent(t *testing.T) {
	worlds(t, nil, func(w *world) {
		b := w.AddBudget(nil)
		reserve := func(l penstock.Lease) {
			if _, err := w.Executions.Control().Reserve(w.T.Context(), l, penstock.Reservation{
				ID: penstock.NewID(), Provider: "anthropic", Model: "m", InputTokens: 10, InputCost: 2e9, Completions: 1,
			}); err != nil {
				w.T.Fatal(err)
			}
		}
		id := w.Create(penstock.RunRequest{Prompt: "die"}).ID
		reserve(w.Work().Lease)
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
			w.T.Fatal(err)
		}
		w.Create(penstock.RunRequest{Prompt: "work"})
		reserve(w.Work().Lease)
		want := func(spent, reserved float64) {
			if err := w.Executions.SettleAbandoned(w.T.Context()); err != nil {
				w.T.Fatal(err)
			}
			got, err := w.Budgets.Read(w.T.Context(), w.Admin, b.UID)
			if err != nil || got.SpentUSD != spent || got.ReservedUSD != reserved {
				w.T.Errorf("spent %v and reserved %v, want %v and %v (%v)", got.SpentUSD, got.ReservedUSD, spent, reserved, err)
			}
		}
		want(0, 4)
		testkit.Exec(w.T, w.URL, "UPDATE calls SET created_at = created_at - 86400001")
		want(2, 2)
		if u := w.Get(id).Usage; u == nil || u.InferenceCostUSD == nil || *u.InferenceCostUSD != 2 {
			w.T.Errorf("the run has used %+v", u)
		}
		total := w.usage(penstock.UsageQuery{}).Total
		if total.UnknownCalls != 1 || total.UnsettledCalls != 1 {
			w.T.Errorf("got %+v", total)
		}
	})
}
