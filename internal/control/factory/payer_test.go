package factory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// everyone lists the scopes of a key that starts runs in every way that there is.
var everyone = []penstock.Scope{
	penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeFactoriesManage, penstock.ScopeKeysManage,
}

// keyOf creates a key with the key of p, and returns the caller who uses it.
func (w *world) keyOf(p penstock.Principal) penstock.Principal {
	w.T.Helper()
	made, err := w.Keys.Authenticate(w.T.Context(), w.CreateKey(p, access.KeyRequest{Name: "k", Scopes: everyone}).Key)
	if err != nil {
		w.T.Fatal(err)
	}
	return made
}

// newest returns the run that was created last.
func (w *world) newest() penstock.Run {
	w.T.Helper()
	page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{SortBy: "created_at", Limit: 1})
	if err != nil || len(page.Runs) == 0 {
		w.T.Fatalf("no run: %v", err)
	}
	return page.Runs[0]
}

// must returns what a call returns, without an error.
func must[T any](h *hooks) func(T, error) T {
	return func(v T, err error) T {
		h.T.Helper()
		if err != nil {
			h.T.Fatal(err)
		}
		return v
	}
}

// causes lists every way in which the key of p causes the next execution, though a run may seem to
// belong to another key.
func (h *hooks) causes() map[string]func(p penstock.Principal) error {
	ctx := h.T.Context()
	start := func(p penstock.Principal, req penstock.RunRequest) error {
		_, err := h.Runs.Create(ctx, p, req, "API")
		return err
	}
	clock := (*testworld.ClockAutomation("n", "0 3 * * *").Triggers)[0]
	due := penstock.Now().Add(48 * time.Hour)
	fire := func() error { // each time later than before
		due = due.Add(48 * time.Hour)
		if err := h.Schedules.FireDue(ctx, due); err != nil {
			return err
		}
		return h.Schedules.FireClocks(ctx, due)
	}
	schedule := func(p penstock.Principal) penstock.Schedule {
		return must[penstock.Schedule](h)(h.Schedules.Create(ctx, p, factory.ScheduleRequest{
			Name: "n", Cron: "@daily", Prompt: "go", Enabled: new(true),
		}))
	}
	once := func(s penstock.Schedule) error { // and then nevermore
		err := fire()
		must[penstock.Schedule](h)(h.Schedules.Pause(ctx, h.Admin, s.ID))
		return err
	}
	automate := func(p penstock.Principal, triggers ...penstock.Trigger) penstock.Automation {
		req := testworld.ClockAutomation(penstock.NewUID())
		req.Triggers = &triggers
		return must[penstock.Automation](h)(h.Resources.CreateAutomation(ctx, p, h.factory, req))
	}
	idle := testworld.ClockAutomation(penstock.NewUID(), "0 3 * * *")
	idle.Enabled = new(false)
	manual := must[penstock.Automation](h)(h.Resources.CreateAutomation(ctx, h.Admin, h.factory, idle))
	followUp := func(p penstock.Principal, id string) error {
		_, err := h.Runs.FollowUp(ctx, p, id, run.FollowupRequest{Message: "on"})
		return err
	}
	return map[string]func(p penstock.Principal) error{
		"a run": func(p penstock.Principal) error { return start(p, penstock.RunRequest{Prompt: "go"}) },
		"a run of a key that it made": func(p penstock.Principal) error {
			return start(h.keyOf(p), penstock.RunRequest{Prompt: "go"})
		},
		"a run of a key that a key made that it made": func(p penstock.Principal) error {
			return start(h.keyOf(h.keyOf(p)), penstock.RunRequest{Prompt: "go"})
		},
		"a run of such a key after the key between was revoked": func(p penstock.Principal) error {
			between := h.keyOf(p)
			last := h.keyOf(h.keyOf(between))
			if err := h.Keys.Revoke(ctx, h.Admin, between.KeyUID); err != nil {
				return err
			}
			return start(h.keyOf(last), penstock.RunRequest{Prompt: "go"})
		},
		"a schedule":                       func(p penstock.Principal) error { return once(schedule(p)) },
		"a schedule of a key that it made": func(p penstock.Principal) error { return once(schedule(h.keyOf(p))) },
		"a schedule that another key replaced": func(p penstock.Principal) error {
			s := schedule(p)
			return once(must[penstock.Schedule](h)(h.Schedules.Replace(ctx, h.Admin, s.ID, factory.ScheduleRequest{
				Name: "n", Cron: "@daily", Prompt: "other", Enabled: new(true),
			})))
		},
		"a schedule of another key that it replaced": func(p penstock.Principal) error {
			s := schedule(h.Admin)
			return once(must[penstock.Schedule](h)(h.Schedules.Replace(ctx, p, s.ID, factory.ScheduleRequest{
				Name: "n", Cron: "@daily", Prompt: "other", Enabled: new(true),
			})))
		},
		"a schedule of another key that it resumed": func(p penstock.Principal) error {
			s := schedule(h.Admin)
			must[penstock.Schedule](h)(h.Schedules.Pause(ctx, h.Admin, s.ID))
			return once(must[penstock.Schedule](h)(h.Schedules.Resume(ctx, p, s.ID)))
		},
		"a follow-up to an ended run of another key": func(p penstock.Principal) error {
			h.Create(penstock.RunRequest{Prompt: "go"})
			return followUp(p, h.done().ID)
		},
		"a follow-up to a waiting run of another key": func(p penstock.Principal) error {
			return followUp(p, h.Create(penstock.RunRequest{Prompt: "go"}).ID)
		},
		"a follow-up to the conversation of another key": func(p penstock.Principal) error {
			h.Create(penstock.RunRequest{Prompt: "go"})
			_, err := h.Runs.FollowUpConversation(ctx, p, h.done().ConversationID, run.FollowupRequest{Message: "on"})
			return err
		},
		"a run in the conversation of another key": func(p penstock.Principal) error {
			h.Create(penstock.RunRequest{Prompt: "go"})
			return start(p, penstock.RunRequest{Prompt: "on", ConversationID: h.done().ConversationID})
		},
		"a child below its run": func(p penstock.Principal) error {
			if err := start(p, penstock.RunRequest{Prompt: "go"}); err != nil {
				return err
			}
			parent := h.newest()
			if parent.State == penstock.StateQueued {
				h.done()
			}
			return start(h.Admin, penstock.RunRequest{Prompt: "go", ParentID: parent.ID})
		},
		"an automation": func(p penstock.Principal) error {
			a := automate(p, clock)
			if err := fire(); err != nil {
				return err
			}
			return h.Resources.DeleteAutomation(ctx, h.Admin, h.factory, a.UID)
		},
		"an automation of another key that it changed": func(p penstock.Principal) error {
			a := automate(h.Admin, clock)
			must[penstock.Automation](h)(h.Resources.UpdateAutomation(
				ctx, p, h.factory, a.UID, factory.AutomationRequest{Prompt: new("other")},
			))
			if err := fire(); err != nil {
				return err
			}
			return h.Resources.DeleteAutomation(ctx, h.Admin, h.factory, a.UID)
		},
		"an automation of another key that it runs": func(p penstock.Principal) error {
			_, err := h.Automations.Run(ctx, p, h.factory, manual.UID, "API")
			return err
		},
		"an automation of another key that fires with its schedule": func(p penstock.Principal) error {
			s := schedule(p)
			a := automate(h.Admin, penstock.Trigger{
				Provider: "schedule", Event: "cron_fired", Filter: []byte(`{"schedule_ids": ["` + s.ID + `"]}`),
			})
			err := once(s)
			must[struct{}](h)(struct{}{}, h.Resources.DeleteAutomation(ctx, h.Admin, h.factory, a.UID))
			page := must[run.Page](h)(h.Runs.List(ctx, h.Admin, penstock.RunQuery{AutomationID: a.UID, Limit: 10}))
			if len(page.Runs) != 1 {
				h.T.Fatalf("%d runs of the automation", len(page.Runs))
			}
			for _, run := range h.runsOf(s.ID) { // of the schedule itself
				if run.ID != page.Runs[0].ID && !run.State.Done() {
					must[string](h)(h.Runs.Cancel(ctx, h.Admin, run.ID, false))
				}
			}
			return err
		},
		"a dispatch": func(p penstock.Principal) error {
			_, err := h.Factories.Dispatch(ctx, p, h.factory, factory.DispatchRequest{Prompt: "go"}, "API")
			return err
		},
		"a delivery to its automation": func(p penstock.Principal) error {
			hook := h.hook(named(penstock.NewUID(), penstock.AuthToken))
			automate(p, hookTrigger(`{"webhook_ids": ["`+hook.UID+`"]}`))
			h.arrive(hook.UID, `{"n": 1}`)
			return nil
		},
		"a delivery that it replays": func(p penstock.Principal) error {
			hook := h.hook(named(penstock.NewUID(), penstock.AuthToken))
			automate(h.Admin, hookTrigger(`{"webhook_ids": ["`+hook.UID+`"]}`))
			first := h.arrive(hook.UID, `{"n": 1}`)
			h.done()
			_, err := h.Deliveries.Replay(ctx, p, h.factory, hook.UID, first.DeliveryID)
			return err
		},
	}
}

// A key pays for everything that it causes, however many hands it goes through: the account of its
// budget has the call, and once the budget is spent, no model is called.
func TestWhoPaysSurvivesEveryIndirection(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		for what, cause := range h.causes() {
			p := h.keyOf(h.Admin)
			ofKey := run.SharedBudgetRequest{
				Scope: new(store.BudgetOfKey), ScopeUID: &p.KeyUID, Period: new(penstock.BudgetTotal),
				MaxCostUSD: new(8.0), Action: new(penstock.BudgetRefuse),
			}
			b := h.CreateBudget(ofKey)
			if err := cause(p); err != nil {
				h.T.Errorf("%s: %v", what, err)
				continue
			}
			a := h.Work()
			if got := h.Spend(a.Lease, 3); got.Refusal != nil || !got.Capped {
				h.T.Errorf("%s: the call got %+v", what, got)
			}
			now, err := h.Budgets.Read(ctx, h.Admin, b.UID)
			if err != nil || now.SpentUSD != 3 {
				h.T.Errorf("%s: the key has spent %v, want 3 (%v)", what, now.SpentUSD, err)
			}
			h.finishAll(a.Lease)

			if _, err := h.Budgets.Update(ctx, h.Admin, b.UID, run.SharedBudgetRequest{MaxCostUSD: new(0.0)}); err != nil {
				h.T.Fatal(err)
			}
			if err := cause(p); err != nil { // refused before it begins
				testworld.WantCode(h.T, err, penstock.CodeBudgetExceeded, "")
			} else if run := h.newest(); run.State != penstock.StateFailed {
				h.T.Errorf("%s under a budget of 0: the run is %s", what, run.State)
			}
			h.drain()
		}
	})
}

// finishAll ends the turns of an execution until no follow-up waits.
func (w *world) finishAll(l penstock.Lease) {
	w.T.Helper()
	for waits := true; waits; {
		waits = len(w.Finish(l, penstock.Result{State: penstock.StateSucceeded})) > 0
	}
}

// drain ends every run that waits.
func (w *world) drain() {
	w.T.Helper()
	page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{Limit: 500})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, run := range page.Runs {
		if !run.State.Done() {
			if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, run.ID, false); err != nil {
				w.T.Fatal(err)
			}
		}
	}
}

// A follow-up is paid by its sender as long as the execution lasts that it causes, and no longer.
func TestTheSenderOfAFollowupPaysForItsExecution(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		sender, other := w.keyOf(w.Admin), w.keyOf(w.Admin)
		account := w.CreateBudget(run.SharedBudgetRequest{
			Scope: new(store.BudgetOfKey), ScopeUID: &sender.KeyUID, Period: new(penstock.BudgetTotal),
			MaxCostUSD: new(100.0),
		})
		spent := func(want float64, when string) {
			w.T.Helper()
			if b, err := w.Budgets.Read(ctx, w.Admin, account.UID); err != nil || b.SpentUSD != want {
				w.T.Errorf("%s: the sender has spent %v, want %v (%v)", when, b.SpentUSD, want, err)
			}
		}
		send := func(p penstock.Principal, id string) {
			w.T.Helper()
			if _, err := w.Runs.FollowUp(ctx, p, id, run.FollowupRequest{Message: "on"}); err != nil {
				w.T.Fatal(err)
			}
		}
		run := w.Create(penstock.RunRequest{Prompt: "go"})
		a := w.Work()
		w.Spend(a.Lease, 1)
		spent(0, "before its follow-up")
		send(sender, run.ID) // to the agent that works
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.Spend(a.Lease, 2)
		spent(2, "in the turn of its follow-up")
		w.SaveSession(a.Lease)
		w.LoseLease(a.Lease)
		w.Becomes(run.ID, penstock.StateQueued)
		a = w.Work()
		w.Spend(a.Lease, 4)
		spent(6, "after its worker was lost")
		child, err := w.Runs.Create(ctx, other, penstock.RunRequest{Prompt: "go", ParentID: run.ID}, "API")
		if err != nil {
			w.T.Fatal(err)
		}
		below := w.Work()
		w.Spend(below.Lease, 8)
		spent(14, "in a run below")
		if below.Run.ID != child.ID {
			w.T.Fatalf("got %s, want the child", below.Run.ID)
		}
		w.finishAll(a.Lease)
		w.MustBe(run.ID, penstock.StateSucceeded)
		send(other, run.ID)
		w.Spend(w.Work().Lease, 16)
		spent(14, "in an execution that another key caused")
	})
}

// A key without money cannot stop the run of another key: its follow-up is refused before it counts.
func TestASpentKeyCannotStopRunsOfOthers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for _, action := range []penstock.BudgetAction{penstock.BudgetPause, penstock.BudgetRefuse} {
			poor := w.keyOf(w.Admin)
			w.AddBudget(func(b *store.BudgetRow) {
				b.Scope, b.ScopeUID, b.MaxCostUSD, b.Action = store.BudgetOfKey, poor.KeyUID, 0, action
			})
			created := w.Create(penstock.RunRequest{Prompt: "go"})
			a := w.Work()
			for _, p := range []penstock.Principal{poor, w.keyOf(poor)} {
				_, err := w.Runs.FollowUp(ctx, p, created.ID, run.FollowupRequest{Message: "on"})
				testworld.WantCode(w.T, err, penstock.CodeBudgetExceeded, "budget of the key")
			}
			if got := w.Spend(a.Lease, 1); got.Refusal != nil {
				w.T.Errorf("%s: the run of the admin: %+v", action, got.Refusal)
			}
			if left := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(left) > 0 {
				w.T.Errorf("%s: the agent gets %+v", action, left)
			}
		}
	})
}

// Keys that replace each other do not pay for all their successors without end, and no key hides
// behind a long line of others.
func TestMakersOfKeys(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		p := w.keyOf(w.Admin)
		for range 60 { // each makes its successor, and ends
			next := w.keyOf(p)
			if err := w.Keys.Revoke(ctx, w.Admin, p.KeyUID); err != nil {
				w.T.Fatal(err)
			}
			p = next
		}
		if n := len(p.Makers); n > 2 {
			w.T.Errorf("the last of the line has %d makers", n)
		}
		root := w.keyOf(w.Admin)
		w.AddBudget(func(b *store.BudgetRow) { b.Scope, b.ScopeUID = store.BudgetOfKey, root.KeyUID })
		p = root
		for n := 0; ; n++ {
			k, err := w.Keys.Create(ctx, p, access.KeyRequest{Name: "k", Scopes: everyone})
			if err != nil {
				testworld.WantCode(w.T, err, penstock.CodeConflict, "other keys")
				break
			}
			if n > 60 {
				w.T.Fatal("the line has no end")
			}
			if p, err = w.Keys.Authenticate(ctx, k.Key); err != nil {
				w.T.Fatal(err)
			}
			if n == 0 { // its budget still counts
				if err := w.Keys.Revoke(ctx, w.Admin, root.KeyUID); err != nil {
					w.T.Fatal(err)
				}
			}
			if !slices.Contains(p.Makers, root.KeyUID) {
				w.T.Fatalf("key %d does not count for the first", n)
			}
		}
	})
}

// The keys that pay for a schedule or an execution are as many as can pay, not all that ever resumed it or wrote to it.
func TestPayersAreBounded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		s := w.CreateSchedule(factory.ScheduleRequest{Name: "n", Cron: "@daily", Prompt: "go", Enabled: new(true)})
		created := w.Create(penstock.RunRequest{Prompt: "go"})
		uses := map[string]func(penstock.Principal) error{
			"a schedule": func(p penstock.Principal) error {
				if _, err := w.Schedules.Pause(ctx, w.Admin, s.ID); err != nil {
					return err
				}
				_, err := w.Schedules.Resume(ctx, p, s.ID)
				return err
			},
			"an execution": func(p penstock.Principal) error {
				_, err := w.Runs.FollowUp(ctx, p, created.ID, run.FollowupRequest{Message: "on"})
				return err
			},
		}
		use := func(p penstock.Principal) {
			for what, use := range uses {
				if err := use(p); err != nil {
					w.T.Fatalf("%s: %v", what, err)
				}
			}
		}
		budgeted := w.cappedKey() // is revoked, and still counts
		use(budgeted)
		if err := w.Keys.Revoke(ctx, w.Admin, budgeted.KeyUID); err != nil {
			w.T.Fatal(err)
		}
		for range 60 { // each is used once, and ends
			p := w.keyOf(w.Admin)
			use(p)
			if err := w.Keys.Revoke(ctx, w.Admin, p.KeyUID); err != nil {
				w.T.Fatal(err)
			}
		}
		row, err := w.Deps.Store.Runs.Find(ctx, w.Admin.Team, created.ID)
		if err != nil {
			w.T.Fatal(err)
		}
		due, err := w.Deps.Store.Schedules.Due(ctx, penstock.Now().Add(48*time.Hour), store.ScheduleRow{}, 10)
		if err != nil || len(due) != 1 {
			w.T.Fatal(due, err)
		}
		for what, keys := range map[string][]string{"the execution": row.Senders, "the schedule": due[0].ChangedBy} {
			if len(keys) > 4 || !slices.Contains(keys, budgeted.KeyUID) {
				w.T.Errorf("%s counts for %d keys: %v", what, len(keys), keys)
			}
		}
		for what, use := range uses {
			var err error
			for n := 0; err == nil; n++ {
				if n > 60 {
					w.T.Fatalf("the list of %s has no end", what)
				}
				err = use(w.keyOf(w.Admin))
			}
			testworld.WantCode(w.T, err, penstock.CodeConflict, "other keys can pay")
		}
	})
}
