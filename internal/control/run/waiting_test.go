package run_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// Each wait has a word, says what it is for, and what ends it. What somebody then does ends it.
func TestARunSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	create := func(w *world) string { return w.Create(penstock.RunRequest{Prompt: "p"}).ID }
	idle := func(w *world) (string, penstock.Lease) {
		id := w.Create(penstock.RunRequest{Prompt: "p", Interactive: new(true)}).ID
		l := w.Work().Lease
		w.Finish(l, penstock.Result{State: penstock.StateSucceeded, KeepOpen: true})
		return id, l
	}
	onMac := &penstock.Config{LayerKeys: penstock.LayerKeys{WorkerHost: "mac"}}
	for name, c := range map[string]struct {
		wait func(w *world) string
		want penstock.Waiting
	}{
		"no worker is connected": {create, penstock.Waiting{
			For: run.WaitWorker, Message: "Waiting: no worker is connected.",
			EndsWhen: `A worker connects that has the harness "builtin".`,
		}},
		"no worker of its host": {func(w *world) string {
			w.register()
			return w.Create(penstock.RunRequest{Prompt: "p", Config: onMac}).ID
		}, penstock.Waiting{For: run.WaitWorker, Message: `"mac"`, EndsWhen: `is on the host "mac"`}},
		"it is next": {func(w *world) string {
			w.register()
			return create(w)
		}, penstock.Waiting{For: run.WaitSlot, Message: "it is the next run", EndsWhen: "free slot"}},
		"others are before it": {func(w *world) string {
			w.register()
			create(w)
			create(w)
			return create(w)
		}, penstock.Waiting{For: run.WaitSlot, Message: "2 runs are before it", EndsWhen: "free slot"}},
		"a question": {func(w *world) string {
			id := create(w)
			w.Finish(w.Work().Lease, penstock.Result{
				State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "Which branch?"},
			})
			return id
		}, penstock.Waiting{For: run.WaitAnswer, Message: "waits for an answer", EndsWhen: "A follow-up"}},
		"its own budget": {func(w *world) string {
			own := &penstock.Config{Budget: &penstock.Budget{MaxCostUSD: 1}}
			id := w.Create(penstock.RunRequest{Prompt: "p", Config: own}).ID
			w.Finish(w.Work().Lease, short(penstock.BudgetShortage{
				BudgetUID: id, SpentUSD: 0, CapUSD: 1, NeededUSD: 1.5,
			}))
			return id
		}, penstock.Waiting{
			For: run.WaitBudget, Message: "the budget of the run has no room", EndsWhen: "raised to at least $1.5",
		}},
		"a shared budget": {func(w *world) string {
			b := w.CreateBudget(testworld.OfTeam(penstock.BudgetMonth, 1))
			id := create(w)
			w.Finish(w.Work().Lease, short(penstock.BudgetShortage{
				BudgetUID: b.UID, BudgetName: "monthly budget of the team", CapUSD: 1, NeededUSD: 2.5,
			}))
			return id
		}, penstock.Waiting{
			For: run.WaitBudget, Message: "the monthly budget of the team", EndsWhen: "raised to at least $2.5",
		}},
		"a worker that is away": {func(w *world) string {
			id := create(w)
			l := w.Work().Lease
			testkit.Exec(w.T, w.URL, "UPDATE queue SET lease_until = 1 WHERE token = '"+l.Token+"'")
			return id
		}, penstock.Waiting{For: run.WaitWorkerReturn, Message: "its worker on here", EndsWhen: "that worker returns"}},
		"a message": {func(w *world) string {
			id, _ := idle(w)
			return id
		}, penstock.Waiting{For: run.WaitFollowup, Message: "the session is open", EndsWhen: "A follow-up"}},
		"the turn": {func(w *world) string {
			id := create(w)
			w.Work()
			w.FollowUp(id, "one")
			w.FollowUp(id, "two")
			return id
		}, penstock.Waiting{For: run.WaitTurn, Message: "2 follow-ups wait", EndsWhen: "ends its turn"}},
		"nothing, because it works": {func(w *world) string {
			id, l := idle(w)
			w.FollowUp(id, "go on")
			w.Finish(l, penstock.Result{State: penstock.StateSucceeded, KeepOpen: true})
			return id
		}, penstock.Waiting{}},
		"nothing, because it is prepared": {func(w *world) string {
			id := create(w)
			w.Claim()
			return id
		}, penstock.Waiting{}},
		"nothing, because it has ended": {func(w *world) string {
			id := create(w)
			w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
			return id
		}, penstock.Waiting{}},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, byHand, func(w *world) {
				id := c.wait(w)
				w.wantWaiting(w.Get(id), c.want)
				page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{})
				if err != nil {
					w.T.Fatal(err)
				}
				for _, r := range page.Runs {
					if r.ID == id {
						w.wantWaiting(r, c.want)
					}
				}
			})
		})
	}
}

func short(b penstock.BudgetShortage) penstock.Result {
	return penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{
		Message: "spent", ErrorCode: penstock.CodeBudgetExceeded, Budget: &b,
	}}
}

// register connects a worker that claims nothing.
func (w *world) register() {
	w.T.Helper()
	if err := w.Deps.Store.Queue.Hello(w.T.Context(), testworld.AnyWorker); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) wantWaiting(r penstock.Run, want penstock.Waiting) {
	w.T.Helper()
	got := penstock.Waiting{}
	if r.Waiting != nil {
		got = *r.Waiting
	}
	if got.For != want.For || !strings.Contains(got.Message, want.Message) ||
		!strings.Contains(got.EndsWhen, want.EndsWhen) {
		w.T.Errorf("the run waits for %+v, want %+v", got, want)
	}
}
