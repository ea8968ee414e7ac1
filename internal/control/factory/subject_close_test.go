package factory_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// on returns triggers on deliveries with an action.
func on(actions string) *[]penstock.Trigger {
	return &[]penstock.Trigger{{
		Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
		Filter: []byte(`{"webhook_ids": ["events"], "payload": {"action": [` + actions + `]}}`),
	}}
}

// closable are the rules of a pull request: comments continue, and its end closes.
func closable(closesRun bool) factory.SubjectRequest {
	return factory.SubjectRequest{ContinueOn: on(`"comment"`), Closes: on(`"closed"`), ClosesRun: &closesRun}
}

// withClosable runs a test with an automation that opened, pushed and reopened start.
func withClosable(t *testing.T, closesRun bool, test func(w *topics)) {
	t.Helper()
	withSubjects(t, closable(closesRun), func(w *topics) {
		if _, err := w.Resources.UpdateAutomation(
			w.T.Context(), w.Admin, w.factory, w.automation.UID,
			factory.AutomationRequest{Triggers: on(`"opened", "pushed", "reopened", "closed"`)},
		); err != nil {
			t.Fatal(err)
		}
		test(w)
	})
}

// act delivers an event of a pull request that changed so many minutes after noon.
func (w *topics) act(action string, minute int) string {
	w.T.Helper()
	return w.arrive(w.webhook.UID, fmt.Sprintf(
		`{"repo": "acme/shop", "pr": 7, "action": %q, "pull_request": {"updated_at": "2026-11-01T12:%02d:00Z"}, "n": %d}`,
		action, minute, minute,
	)).DeliveryID
}

// why returns the reason in the log for what became of a delivery.
func (w *topics) why(id string) string {
	w.T.Helper()
	d, err := w.Deliveries.Read(w.T.Context(), w.Admin, w.factory, w.webhook.UID, id)
	if err != nil {
		w.T.Fatal(err)
	}
	if m := d.Matches[0]; m.WouldTrigger || m.RunID != "" || len(d.Runs) != 0 {
		w.T.Errorf("the delivery has the match %+v and the runs %v", m, d.Runs)
	}
	return d.Matches[0].Reason
}

// A comment reaches the run on its pull request, and starts none.
func TestEventsThatOnlyContinue(t *testing.T) {
	withClosable(t, false, func(w *topics) {
		if why := w.why(w.act("comment", 1)); !strings.Contains(why, "no run works on its subject") {
			t.Errorf("the reason is %q", why)
		}
		w.after(time.Hour)
		if runs := w.runs(); len(runs) != 0 {
			t.Fatalf("a comment started %d runs", len(runs))
		}
		w.act("opened", 2)
		joined := w.act("comment", 3)
		a := w.Work()
		waiting := w.act("comment", 4)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.after(time.Minute)
		w.wantFates([]string{joined, waiting}, store.FateMerged, store.FateContinued)
		a = w.Work()
		lost := w.act("comment", 5)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.after(time.Minute)
		w.wantFates([]string{lost}, store.FateSkipped)
		if why := w.why(w.act("comment", 6)); !strings.Contains(why, "no run works on its subject") {
			t.Errorf("after a failure the reason is %q", why)
		}
		if runs := w.runs(); len(runs) != 1 {
			t.Errorf("comments started %d runs", len(runs)-1)
		}
		w.act("pushed", 7)
		a = w.Work()
		both := []string{w.act("comment", 8), w.act("pushed", 9)}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.after(time.Minute)
		w.wantFates(both, store.FateStarted, store.FateMerged)
	})
}

// The end of a pull request drops what waits. Only a newer event opens it again, with a new run.
func TestEventThatClosesItsSubject(t *testing.T) {
	withClosable(t, false, func(w *topics) {
		w.act("opened", 1)
		a := w.Work()
		waits := w.act("pushed", 2)
		closed := w.act("closed", 3)
		w.wantFates([]string{waits, closed}, store.FateSkipped, store.FateSkipped)
		if why := w.why(closed); why != "It closed the subject." {
			t.Errorf("the reason is %q", why)
		}
		w.after(time.Hour)
		w.MustBe(a.Lease.RunID, penstock.StateInProgress)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		late := []string{w.act("pushed", 2), w.act("comment", 4), w.act("closed", 5), w.act("pushed", 5)}
		w.after(time.Hour)
		w.wantFates(late, store.FateSkipped, store.FateSkipped, store.FateSkipped, store.FateSkipped)
		if runs := w.runs(); len(runs) != 1 {
			t.Fatalf("%d runs were started, want 1", len(runs))
		}
		list, err := w.Subjects.List(t.Context(), w.Admin, factory.SubjectQuery{})
		if err != nil || len(list.Subjects) != 1 || list.Subjects[0].ClosedAt.String() != "2026-11-01T12:05:00.000Z" {
			t.Errorf("the subjects are %+v, %v", list.Subjects, err)
		}
		w.wantFates([]string{w.act("reopened", 6)}, store.FateStarted)
		if runs := w.runs(); len(runs) != 2 || runs[1].ContinuesID != a.Lease.RunID {
			t.Errorf("the runs are %+v", runs)
		}
		w.act("closed", 4) // came late: it was reopened after that
		w.wantFates([]string{w.act("comment", 7)}, store.FateMerged)
	})
}

// An event that closes its subject also cancels the run, and loses no event that opens it again meanwhile.
func TestEventThatCancelsTheRunOfItsSubject(t *testing.T) {
	withClosable(t, true, func(w *topics) {
		w.act("opened", 1)
		a := w.Work()
		w.act("closed", 2)
		again := w.act("reopened", 3)
		w.after(0)
		cancelled := w.MustBe(a.Lease.RunID, penstock.StateCancelled)
		if m := cancelled.StatusMessage; m == nil || !strings.Contains(m.Message, "closed the subject acme/shop#7") {
			t.Errorf("the run says %+v", m)
		}
		w.after(time.Minute)
		w.wantFates([]string{again}, store.FateStarted)
		runs := w.runs()
		if len(runs) != 2 || runs[1].State != penstock.StateQueued {
			t.Fatalf("the runs are %+v", runs)
		}
		// A run that no worker has begun is cancelled too, and takes no event with it.
		w.act("closed", 4)
		again = w.act("reopened", 5)
		w.after(0)
		w.MustBe(runs[1].ID, penstock.StateCancelled)
		w.after(time.Minute)
		w.wantFates([]string{again}, store.FateStarted)
		w.act("closed", 6)
		w.after(time.Minute)
		w.after(time.Minute)
		live := slices.ContainsFunc(w.runs(), func(r penstock.Run) bool { return !r.State.Done() })
		if runs := w.runs(); len(runs) != 3 || live {
			t.Errorf("the runs are %+v", runs)
		}
	})
}

// An automation that can start no runs still ends the one that works.
func TestBrokenAutomationClosesItsSubject(t *testing.T) {
	withClosable(t, true, func(w *topics) {
		if why := w.why(w.act("closed", 1)); why != "It closed the subject." {
			t.Errorf("the reason is %q", why)
		}
		w.act("opened", 2)
		a := w.Work()
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "app"})
		for _, change := range []factory.AutomationRequest{
			{EnvironmentID: &e.UID, Enabled: new(false)}, {Enabled: new(true)},
		} {
			_, err := w.Resources.UpdateAutomation(t.Context(), w.Admin, w.factory, w.automation.UID, change)
			if err == nil && *change.Enabled == false {
				err = w.Catalog.DeleteEnvironment(t.Context(), w.Admin, e.UID)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		closed := w.act("closed", 3)
		w.after(0)
		w.MustBe(a.Lease.RunID, penstock.StateCancelled)
		w.wantFates([]string{closed}, store.FateSkipped)
	})
}

// Events that cannot have a subject are refused where they are set.
func TestTriggersOfASubjectAreChecked(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		clock := &[]penstock.Trigger{{
			Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired, Schedule: &penstock.CronTrigger{Cron: "@daily"},
		}}
		many := slices.Repeat(*on(`"closed"`), 21)
		for _, test := range []struct {
			name    string
			rules   factory.SubjectRequest
			pointer string
		}{
			{"no subject", factory.SubjectRequest{Subject: new(""), Closes: on(`"closed"`)}, "/closes"},
			{"no claim", factory.SubjectRequest{
				WhenBusy: new(penstock.WhenBusyParallel), ContinueOn: on(`"comment"`),
			}, "/continue_on"},
			{"a clock", factory.SubjectRequest{Closes: clock}, "/closes/0/provider"},
			{"too many", factory.SubjectRequest{ContinueOn: &many}, "/continue_on"},
			{"a bad filter", factory.SubjectRequest{Closes: on(`{}`)}, "/closes/0/filter/payload/action/0"},
		} {
			_, err := w.Resources.UpdateAutomation(
				w.T.Context(), w.Admin, w.factory, w.automation.UID, factory.AutomationRequest{SubjectRequest: test.rules},
			)
			if err == nil || !strings.Contains(err.Error(), test.pointer) {
				t.Errorf("%s: got %v, want an error at %s", test.name, err, test.pointer)
			}
		}
	})
}

// An event from a clock that is ahead closes its subject at the time of its receipt, so that the next one can open it.
func TestAClockThatIsAheadClosesNothingForLong(t *testing.T) {
	withClosable(t, false, func(w *topics) {
		w.act("opened", 1)
		w.arrive(w.webhook.UID, `{"repo": "acme/shop", "pr": 7, "action": "closed", "updated_at": "2199-01-01T00:00:00Z"}`)
		list, err := w.Subjects.List(t.Context(), w.Admin, factory.SubjectQuery{})
		if err != nil || len(list.Subjects) != 1 || list.Subjects[0].ClosedAt == 0 ||
			list.Subjects[0].ClosedAt > penstock.Now() {
			t.Errorf("the subjects are %+v, %v", list.Subjects, err)
		}
	})
}

// An event that reaches no run leaves no payload behind when its log entry is removed.
func TestPayloadOfAnEventWithoutARunIsRemoved(t *testing.T) {
	withClosable(t, false, func(w *topics) {
		id := w.act("comment", 1)
		if err := w.clearAll(); err != nil {
			t.Fatal(err)
		}
		_, err := w.Deps.Store.Deliveries.Payload(t.Context(), id)
		if penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("the payload is still stored: %v", err)
		}
	})
}

// Of events that come in one moment, the last one replaces all others.
func TestOneOfManyEventsAtOnceReplacesTheOthers(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyReplace)}, func(w *topics) {
		w.event(7, 0)
		w.Work()
		var senders sync.WaitGroup
		for n := range 32 {
			senders.Go(func() {
				if _, err := w.tryArrive(
					w.webhook.UID, fmt.Sprintf(`{"repo": "acme/shop", "pr": 7, "n": %d}`, n+1),
				); err != nil {
					t.Error(err)
				}
			})
		}
		senders.Wait()
		list, err := w.Subjects.List(t.Context(), w.Admin, factory.SubjectQuery{})
		if err != nil || len(list.Subjects) != 1 || list.Subjects[0].Waiting != 1 {
			t.Errorf("the subjects are %+v, %v; want one event that waits", list.Subjects, err)
		}
	})
}

// While a server finds out that what waits starts nothing, an event comes that starts a run. It is not dropped with the
// others.
func TestAnEventIsNotDroppedWithThoseBefore(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := newScene(t, url, "coalesce")
		w.act("opened", 1)
		a := w.Work()
		ids := []string{w.act("comment", 2)}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.Killer.Pause(2, func() { // the first transaction has found that the run takes no events
			other := &topics{&hooks{&world{w.other}, w.factory}, w.webhook, w.automation}
			ids = append(ids, other.act("opened", 3))
		})
		w.after(time.Minute)
		w.after(time.Minute)
		if len(ids) != 2 {
			t.Fatal("the server has dropped nothing")
		}
		w.wantFates(ids, store.FateStarted, store.FateMerged)
	})
}
