package factory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

const noPrice = "the model has no price"

// withoutPrices makes rules whose models have no prices.
func withoutPrices(o *run.Deps) { o.Unpriced = func(string) string { return noPrice } }

// cappedKey makes a key with a budget.
func (w *world) cappedKey() penstock.Principal {
	w.T.Helper()
	p := w.keyOf(w.Admin)
	w.CreateBudget(run.SharedBudgetRequest{
		Scope: new(store.BudgetOfKey), ScopeUID: &p.KeyUID, Period: new(penstock.BudgetTotal), MaxCostUSD: new(5.0),
	})
	return p
}

// countRuns returns how many runs exist.
func (w *world) countRuns() int {
	w.T.Helper()
	page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{Limit: 500})
	if err != nil {
		w.T.Fatal(err)
	}
	return len(page.Runs)
}

// A key with a budget starts no run whose model has no price, no matter who defined what the run
// does: the first call of the run would be refused.
func TestACappedKeyStartsNoRunWithoutAPrice(t *testing.T) {
	withFactory(t, withoutPrices, func(h *hooks) {
		ctx, p := h.T.Context(), h.cappedKey()
		hook := h.hook(named("orders", penstock.AuthToken))
		onHook := h.automate("fix", "orders", "")
		first := h.arrive(hook.UID, `{"n": 1}`)
		ended := h.done()
		definition := factory.ScheduleRequest{Name: "n", Cron: "@daily", Prompt: "go", Enabled: new(true)}
		schedule := must[penstock.Schedule](h)(h.Schedules.Create(ctx, h.Admin, definition))
		paused := must[penstock.Schedule](h)(h.Schedules.Create(ctx, h.Admin, definition))
		must[penstock.Schedule](h)(h.Schedules.Pause(ctx, h.Admin, paused.ID))
		before := h.countRuns()

		for what, try := range map[string]func(penstock.Principal) error{
			"an automation by hand": func(p penstock.Principal) error {
				_, err := h.Automations.Run(ctx, p, h.factory, onHook.UID, run.SourceAPI)
				return err
			},
			"a dispatch": func(p penstock.Principal) error {
				_, err := h.Factories.Dispatch(ctx, p, h.factory, factory.DispatchRequest{Prompt: "go"}, run.SourceAPI)
				return err
			},
			"a schedule that is resumed": func(p penstock.Principal) error {
				_, err := h.Schedules.Resume(ctx, p, paused.ID)
				return err
			},
			"a schedule that is replaced": func(p penstock.Principal) error {
				_, err := h.Schedules.Replace(ctx, p, schedule.ID, definition)
				return err
			},
			"a follow-up to a run that has ended": func(p penstock.Principal) error {
				_, err := h.Runs.FollowUp(ctx, p, ended.ID, run.FollowupRequest{Message: "on"})
				return err
			},
		} {
			for whose, p := range map[string]penstock.Principal{"its key": p, "a key that it made": h.keyOf(p)} {
				if err := try(p); err == nil || !strings.Contains(err.Error(), noPrice) {
					h.T.Errorf("%s by %s: %v", what, whose, err)
				}
			}
		}
		for what, send := range map[string]func() (string, error){
			"a replay": func() (string, error) {
				d, err := h.Deliveries.Replay(ctx, p, h.factory, hook.UID, first.DeliveryID)
				return d.ID, err
			},
			"a test": func() (string, error) {
				r, err := h.tryArrive(hook.UID, `{"n": 2}`, p.PaidBy()...)
				return r.DeliveryID, err
			},
		} {
			id, err := send()
			if err != nil {
				h.T.Fatalf("%s: %v", what, err)
			}
			d := must[store.Delivery](h)(h.Deliveries.Read(ctx, h.Admin, h.factory, hook.UID, id))
			if len(d.Matches) != 1 || d.Matches[0].RunID != "" || d.Matches[0].Reason != noPrice {
				h.T.Errorf("%s: %+v", what, d.Matches)
			}
		}
		if n := h.countRuns(); n != before || h.Get(ended.ID).State != ended.State {
			h.T.Errorf("%d runs were created, and the ended run is %s", n-before, h.Get(ended.ID).State)
		}
		must[run.Created](h)(h.Automations.Run(ctx, h.Admin, h.factory, onHook.UID, run.SourceAPI))
		must[penstock.Schedule](h)(h.Schedules.Resume(ctx, h.Admin, paused.ID))
	})
}

// An automation fires with the schedule of a capped key. The schedule says why nothing runs, and the automation of
// another key still works elsewhere.
func TestACappedScheduleFiresNothingWithoutAPrice(t *testing.T) {
	withFactory(t, withoutPrices, func(h *hooks) {
		ctx, p := h.T.Context(), h.keyOf(h.Admin)
		s := must[penstock.Schedule](h)(h.Schedules.Create(ctx, p, factory.ScheduleRequest{
			Name: "n", Cron: "@daily", Prompt: "go", Enabled: new(true),
		}))
		with := testworld.ClockAutomation("with")
		with.Triggers = &[]penstock.Trigger{{
			Provider: "schedule", Event: "cron_fired", Filter: []byte(`{"schedule_ids": ["` + s.ID + `"]}`),
		}}
		must[penstock.Automation](h)(h.Resources.CreateAutomation(ctx, h.Admin, h.factory, with))
		capped := testworld.ClockAutomation("capped", "0 3 1 1 *")
		must[penstock.Automation](h)(h.Resources.CreateAutomation(ctx, p, h.factory, capped))
		h.CreateBudget(run.SharedBudgetRequest{
			Scope: new(store.BudgetOfKey), ScopeUID: &p.KeyUID, Period: new(penstock.BudgetTotal), MaxCostUSD: new(5.0),
		})
		h.fire(penstock.Now().Add(48 * time.Hour))
		if n := h.countRuns(); n != 0 {
			h.T.Errorf("%d runs were created", n)
		}
		if got := h.schedule(s.ID).LastSpawnError; got == nil || !strings.Contains(*got, noPrice) {
			h.T.Errorf("the schedule says %v", got)
		}
		// Each automation has its own problems, also if two have the same agent and settings.
		list := must[[]penstock.Automation](h)(h.Automations.List(ctx, h.Admin, h.factory))
		slices.Reverse(list)
		for _, a := range list {
			if broken := len(a.Problems) > 0; broken != (a.Name == "capped") {
				h.T.Errorf("%s has the problems %+v", a.Name, a.Problems)
			}
		}
	})
}

// A budget that is younger than a run is a cap on its next execution.
func TestAFollowUpToACappedRunWithoutAPrice(t *testing.T) {
	worlds(t, withoutPrices, func(w *world) {
		created := w.Create(penstock.RunRequest{Prompt: "go"})
		a := w.Work()
		w.CreateBudget(testworld.OfTeam(penstock.BudgetMonth, 5))
		followUp := func() error {
			_, err := w.Runs.FollowUp(w.T.Context(), w.Admin, created.ID, run.FollowupRequest{Message: "on"})
			return err
		}
		if err := followUp(); err != nil { // the run itself reports that its calls are refused
			w.T.Errorf("to the agent that works: %v", err)
		}
		w.finishAll(a.Lease)
		testworld.WantCode(w.T, followUp(), penstock.CodeNotSupported, noPrice)
	})
}
