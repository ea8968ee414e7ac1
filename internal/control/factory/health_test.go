package factory_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// A pause that nobody hears of is found only when work is missing, and a warning that repeats is ignored.
func TestEndpointsHearOfFailuresInARow(t *testing.T) {
	withFragile(t, 3, func(w *fragile) {
		e := w.Listen(
			announce.EndpointRequest{FactoryUIDs: &[]string{w.factory}}, store.EventAutomationPaused,
			store.EventAutomationDegraded,
		)
		others := w.Listen(
			announce.EndpointRequest{FactoryUIDs: &[]string{w.NewFactory("other")}}, store.EventAutomationDegraded,
		)
		var want []penstock.EndpointMessage
		path := "/api/v1/factory/" + w.factory + "/automations/" + w.automation
		for n, each := range []struct {
			state penstock.State
			event penstock.EndpointEvent
		}{
			{failed, ""},
			{errored, store.EventAutomationDegraded},
			{succeeded, ""},
			{succeeded, ""},
			{failed, ""},
			{failed, store.EventAutomationDegraded},
			{failed, store.EventAutomationPaused},
		} {
			lease := w.begin(1)
			w.end(lease, each.state)
			if each.event != "" {
				want = append(want, penstock.EndpointMessage{Type: each.event, Data: penstock.EndpointData{
					RunID: lease[0].RunID, FactoryUID: w.factory, AutomationUID: w.automation, URL: path,
				}})
			}
			if diff := cmp.Diff(want, w.Heard(e)); diff != "" {
				w.T.Fatalf("after run %d: %s", n+1, diff)
			}
		}
		if got := w.Heard(others); len(got) != 0 {
			w.T.Errorf("an endpoint of another factory got %v", got)
		}
	})
}

// Without a failure before the pause there is nothing to warn of, and runs that end after it change nothing.
func TestAFirstFailureThatPausesIsNoWarning(t *testing.T) {
	withFragile(t, 1, func(w *fragile) {
		e := w.Listen(announce.EndpointRequest{}, store.EventAutomationPaused, store.EventAutomationDegraded)
		w.end(w.begin(2), failed, failed)
		if got := w.Heard(e); len(got) != 1 || got[0].Type != store.EventAutomationPaused {
			w.T.Errorf("got %v", got)
		}
	})
}

// fragile is a world with a webhook and an automation that failures pause.
type fragile struct {
	*hooks
	webhook    penstock.Webhook
	automation string
}

func withFragile(t *testing.T, after int, test func(w *fragile)) {
	t.Helper()
	withFactory(t, func(d *run.Deps) {
		testworld.DefaultWebhooks(d)
		d.TimesByHand = true
		d.Webhooks.DeliveriesPerMinute, d.Webhooks.DedupBodyWindow = 0, 0
	}, func(h *hooks) {
		w := &fragile{hooks: h, webhook: h.hook(named("events", penstock.AuthToken))}
		a, err := w.Resources.CreateAutomation(t.Context(), w.Admin, w.factory, factory.AutomationRequest{
			Name: new("fragile"), Prompt: new("Do it."), HealthRequest: factory.HealthRequest{PauseAfterFailures: &after},
			Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
				Filter: []byte(`{"webhook_ids": ["events"]}`),
			}},
		})
		if err != nil {
			h.T.Fatal(err)
		}
		w.automation = a.UID
		test(w)
	})
}

// begin starts runs, which work then.
func (w *fragile) begin(n int) (leases []penstock.Lease) {
	w.T.Helper()
	for range n {
		w.arrive(w.webhook.UID, `{}`)
		leases = append(leases, w.Work().Lease)
	}
	return leases
}

// end ends the runs one after the other, in these states.
func (w *fragile) end(leases []penstock.Lease, states ...penstock.State) {
	w.T.Helper()
	for i, l := range leases {
		w.Finish(l, penstock.Result{State: states[i]})
	}
}

func (w *fragile) runs(states ...penstock.State) {
	w.T.Helper()
	w.end(w.begin(len(states)), states...)
}

func (w *fragile) read() penstock.Automation {
	w.T.Helper()
	a, err := w.Automations.Read(w.T.Context(), w.Admin, w.factory, w.automation)
	if err != nil {
		w.T.Fatal(err)
	}
	return a
}

// want compares how many failures have paused or degraded the automation; 0: it is not.
func (w *fragile) want(paused, degraded int) penstock.Automation {
	w.T.Helper()
	a := w.read()
	n := func(f *penstock.Failures) int {
		if f == nil {
			return 0
		}
		if f.Since == 0 || f.LastRunID == "" || !strings.Contains(f.Reason, f.LastRunID) {
			w.T.Errorf("failures without their facts: %+v", f)
		}
		return f.Failures
	}
	if n(a.Paused) != paused || n(a.Degraded) != degraded || a.Enabled != (paused == 0) {
		w.T.Errorf(
			"enabled %t, paused %+v, degraded %+v; want %d and %d failures", a.Enabled, a.Paused, a.Degraded, paused, degraded,
		)
	}
	return a
}

func (w *fragile) set(req factory.AutomationRequest) {
	w.T.Helper()
	if _, err := w.Resources.UpdateAutomation(w.T.Context(), w.Admin, w.factory, w.automation, req); err != nil {
		w.T.Fatal(err)
	}
}

const (
	failed    = penstock.StateFailed
	errored   = penstock.StateError
	succeeded = penstock.StateSucceeded
)

func TestFailuresInARowPauseAnAutomation(t *testing.T) {
	withFragile(t, 3, func(w *fragile) {
		w.runs(failed)
		w.want(0, 0)
		w.runs(errored)
		w.want(0, 2)
		w.runs(succeeded)
		w.want(0, 0)
		w.runs(failed, failed)
		canceled := w.begin(1)[0].RunID
		w.cancelRun(canceled)
		degraded := w.want(0, 2).Degraded
		w.runs(errored)
		paused := w.want(3, 0).Paused
		if paused.Since < degraded.Since {
			w.T.Errorf("paused since %s, degraded since %s", paused.Since, degraded.Since)
		}

		id := w.arrive(w.webhook.UID, `{}`).DeliveryID
		d, err := w.Deliveries.Read(t.Context(), w.Admin, w.factory, w.webhook.UID, id)
		if err != nil {
			w.T.Fatal(err)
		}
		m := d.Matches[0]
		if len(d.Runs) != 0 || m.Fate != store.FateSkipped || !strings.Contains(m.Reason, paused.Reason) {
			w.T.Errorf("a delivery to a paused automation: runs %v, match %+v", d.Runs, m)
		}
	})
}

func (w *fragile) cancelRun(id string) {
	w.T.Helper()
	if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
		w.T.Fatal(err)
	}
}

// Elsewhere, one failure paused again what somebody had just enabled, because the count was still there.
func TestEnablingStartsTheCountAnew(t *testing.T) {
	withFragile(t, 2, func(w *fragile) {
		old := w.begin(2)
		w.runs(failed, failed)
		before := w.want(2, 0).Paused
		w.set(factory.AutomationRequest{Title: new("Another title")})
		w.want(2, 0)
		w.end(old[:1], failed) // ends after the pause
		if after := w.want(2, 0).Paused; *after != *before {
			w.T.Errorf("a run that ended after the pause changed it from %+v to %+v", before, after)
		}
		w.set(factory.AutomationRequest{Enabled: new(true)})
		w.want(0, 0)
		w.end(old[1:], failed) // started before
		w.want(0, 0)
		w.runs(failed)
		w.want(0, 1)
		w.set(factory.AutomationRequest{HealthRequest: factory.HealthRequest{PauseAfterFailures: new(3)}})
		w.want(0, 0)
		w.runs(failed, failed, failed)
		w.want(3, 0)
		w.set(factory.AutomationRequest{Enabled: new(false)})
		w.set(factory.AutomationRequest{Enabled: new(true)})
		w.want(0, 0)
		w.set(factory.AutomationRequest{Cleared: []string{"pause_after_failures"}})
		w.runs(failed, failed, failed, failed)
		w.want(0, 0)
	})
}

// The order in which runs end counts, not the order in which they started.
func TestRunsThatEndOutOfOrderCountAsTheyEnd(t *testing.T) {
	withFragile(t, 2, func(w *fragile) {
		leases := w.begin(4)
		w.end(leases[3:], failed)
		w.end(leases[:1], succeeded)
		w.end(leases[2:3], failed)
		w.want(0, 1)
		w.end(leases[1:2], failed)
		w.want(2, 0)
	})
}

func TestARunThatPeopleContinueCountsOnce(t *testing.T) {
	withFragile(t, 2, func(w *fragile) {
		l := w.begin(1)[0]
		w.end([]penstock.Lease{l}, failed)
		for range 3 {
			w.FollowUp(l.RunID, "Try again.")
			w.end([]penstock.Lease{w.Work().Lease}, failed)
		}
		w.want(0, 1)
	})
}

// Somebody who tries an automation out by hand neither pauses it nor hides its failures.
func TestRunsByHandDoNotCount(t *testing.T) {
	withFragile(t, 2, func(w *fragile) {
		w.runs(failed)
		for _, state := range []penstock.State{succeeded, failed, failed} {
			if _, err := w.Automations.Run(t.Context(), w.Admin, w.factory, w.automation, run.SourceAPI); err != nil {
				w.T.Fatal(err)
			}
			w.Finish(w.Work().Lease, penstock.Result{State: state})
		}
		w.want(0, 1)
	})
}

func TestTwoServersCountRunsThatEndAtOnce(t *testing.T) {
	const runs = 12
	withFragile(t, runs, func(w *fragile) {
		other := w.Database()
		leases := w.begin(runs)
		var ends sync.WaitGroup
		for i, l := range leases {
			db := w.Deps.Store
			if i%2 == 1 {
				db = other
			}
			for range 2 { // a worker repeats a call whose response was lost
				ends.Go(func() {
					_ = db.Write(w.T.Context(), func(tx *store.Tx) error {
						r, err := tx.Executions().Held(w.T.Context(), l)
						if err != nil {
							return err
						}
						return tx.Runs().Move(w.T.Context(), store.Move{Run: r, To: failed, TimelineEvent: "failed"})
					})
				})
			}
		}
		ends.Wait()
		w.want(runs, 0)
	})
}

func TestFailuresPauseASchedule(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, at := w.ticking(func(r *factory.ScheduleRequest) { r.PauseAfterFailures = new(2) })
		e := w.Listen(announce.EndpointRequest{}, store.EventAutomationPaused, store.EventAutomationDegraded)
		tick := func() {
			w.T.Helper()
			w.fire(at)
			at = at.Add(time.Hour)
		}
		for range 2 {
			tick()
			w.Finish(w.Work().Lease, penstock.Result{State: failed})
		}
		read := func() penstock.Schedule {
			w.T.Helper()
			got, err := w.Schedules.Read(w.T.Context(), w.Admin, s.ID)
			if err != nil {
				w.T.Fatal(err)
			}
			return got
		}
		got := read()
		if got.Enabled || got.Paused == nil || got.Paused.Failures != 2 || got.History.NextRun != nil {
			w.T.Fatalf("after two failures: %+v, paused %+v", got, got.Paused)
		}
		heard := w.Heard(e)
		if len(heard) != 2 || heard[0].Type != store.EventAutomationDegraded ||
			heard[1].Type != store.EventAutomationPaused || heard[0].Data.ScheduleID != s.ID ||
			heard[0].Data.URL != "/api/v1/agent/schedules/"+s.ID {
			w.T.Errorf("endpoints heard of %+v", heard)
		}
		tick()
		fates := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
		if words(fates) != "started started skipped" || !strings.Contains(fates[2].Reason, got.Paused.Reason) {
			w.T.Errorf("fates: %s, %s", words(fates), fates[len(fates)-1].Reason)
		}
		if _, err := w.Schedules.Resume(w.T.Context(), w.Admin, s.ID); err != nil {
			w.T.Fatal(err)
		}
		if got := read(); !got.Enabled || got.Paused != nil || got.Degraded != nil {
			w.T.Errorf("resumed: %+v, paused %+v", got, got.Paused)
		}
		tick()
		if got := words(w.fates(store.OccurrenceQuery{ScheduleID: s.ID})); got != "started started skipped started" {
			w.T.Errorf("fates: %s", got)
		}
	})
}

// A run that succeeded at first, and fails each time that an event continues it, is broken as well. What a person asked
// for is that person's.
func TestFollowUpsThatFailPauseAnAutomation(t *testing.T) {
	withFragile(t, 2, func(w *fragile) {
		w.set(factory.AutomationRequest{SubjectRequest: factory.SubjectRequest{Subject: new("{{pr}}")}})
		first := func(pr int) penstock.Lease {
			w.arrive(w.webhook.UID, fmt.Sprintf(`{"pr": %d}`, pr))
			l := w.Work().Lease
			w.Finish(l, penstock.Result{State: succeeded})
			return l
		}
		again := func(pr int, end penstock.State) {
			w.arrive(w.webhook.UID, fmt.Sprintf(`{"pr": %d, "more": true}`, pr))
			if err := w.Subjects.GiveDue(t.Context(), penstock.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			w.Finish(w.Work().Lease, penstock.Result{State: end})
		}
		person := first(1)
		w.FollowUp(person.RunID, "Now.")
		w.Finish(w.Work().Lease, penstock.Result{State: failed})
		w.want(0, 0)
		first(2)
		again(2, failed)
		w.want(0, 1)
		first(3)
		w.want(0, 0) // a success ends the row
		again(3, failed)
		first(4)
		first(5)
		again(4, failed)
		again(5, errored)
		w.want(2, 0)
	})
}
