package factory_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// quietly is a world with an automation about {{pr}} whose starts are expected, and with an endpoint that hears of
// silences.
type quietly struct {
	*topics
	endpoint string
}

const every = 26 * time.Hour

func withExpected(t *testing.T, test func(w *quietly)) {
	t.Helper()
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		q := &quietly{topics: w, endpoint: w.Listen(
			announce.EndpointRequest{}, store.EventAutomationSilent, store.EventAutomationBack,
		)}
		q.set(factory.AutomationRequest{HealthRequest: expecting("26h")})
		test(q)
	})
}

func expecting(every penstock.Period) factory.HealthRequest {
	return factory.HealthRequest{ExpectEvery: &every}
}

func (w *quietly) set(req factory.AutomationRequest) {
	w.T.Helper()
	if _, err := w.Resources.UpdateAutomation(w.T.Context(), w.Admin, w.factory, w.automation.UID, req); err != nil {
		w.T.Fatal(err)
	}
}

// pass lets time pass: it moves what has happened into the past. Then the server looks.
func (w *quietly) pass(d time.Duration) {
	w.T.Helper()
	for table, columns := range map[string]string{
		"health": "fired_at silent_at look_at since paused_at", "runs": "created_at updated_at",
		"subjects": "updated_at", "subject_events": "decided_at",
	} {
		for column := range strings.FieldsSeq(columns) {
			testkit.Exec(w.T, w.URL, fmt.Sprintf(
				"UPDATE %s SET %s = %s - %d WHERE %s > 0", table, column, column, d.Milliseconds(), column,
			))
		}
	}
	w.look()
}

// matchNothing changes the filter, as when a sender has renamed a field.
func (w *quietly) matchNothing() {
	w.T.Helper()
	w.set(factory.AutomationRequest{Triggers: &[]penstock.Trigger{{
		Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
		Filter: []byte(`{"webhook_ids": ["events"], "payload": {"repo": ["other"]}}`),
	}}})
}

func (w *quietly) look() {
	w.T.Helper()
	if err := w.Executions.AnnounceSilence(w.T.Context(), penstock.Now()); err != nil {
		w.T.Fatal(err)
	}
}

// want compares whether the automation is silent, and how many messages there were about it.
func (w *quietly) want(silent bool, messages, recoveries int) *penstock.Silence {
	w.T.Helper()
	a, err := w.Automations.Read(w.T.Context(), w.Admin, w.factory, w.automation.UID)
	if err != nil {
		w.T.Fatal(err)
	}
	got := map[penstock.EndpointEvent]int{}
	for _, m := range w.Heard(w.endpoint) {
		got[m.Type]++
	}
	if (a.Silent != nil) != silent || got[store.EventAutomationSilent] != messages ||
		got[store.EventAutomationBack] != recoveries {
		w.T.Errorf("silent %+v with the messages %v; want %t, %d, %d", a.Silent, got, silent, messages, recoveries)
	}
	return a.Silent
}

func TestAnAutomationThatStartsNothingIsSilent(t *testing.T) {
	withExpected(t, func(w *quietly) {
		begun := penstock.Now()
		w.pass(every - time.Minute)
		w.want(false, 0, 0)
		w.pass(2 * time.Minute)
		for range 3 {
			w.look()
		}
		silence := w.want(true, 1, 0)
		if late := begun.Add(-time.Minute).Sub(silence.Since).Abs(); late > time.Minute {
			w.T.Errorf("silent since %s, %s from when a start was overdue", silence.Since, late)
		}
		last := silence.Since.Add(-every)
		if !strings.Contains(silence.Reason, last.String()) || !strings.Contains(silence.Reason, "26h") {
			w.T.Errorf("the reason %q does not name %s and 26h", silence.Reason, last)
		}
		w.pass(240 * time.Hour)
		w.want(true, 1, 0)

		w.event(1, 1)
		w.look()
		w.want(false, 1, 1)
		w.pass(every - time.Minute)
		w.want(false, 1, 1)
		w.pass(2 * time.Minute)
		w.want(true, 2, 1)
	})
}

func TestWhatCountsAsAStart(t *testing.T) {
	for name, test := range map[string]struct {
		counts bool
		do     func(w *quietly)
	}{
		"an event that starts a run": {true, func(w *quietly) { w.event(2, 1) }},
		"an event that continues a run": {true, func(w *quietly) {
			w.event(1, 2)
			w.after(time.Hour)
		}},
		"an event that waits": {false, func(w *quietly) { w.event(1, 2) }},
		"an event that the filter does not match": {false, func(w *quietly) {
			w.matchNothing()
			w.event(2, 1)
		}},
		"a run by hand": {false, func(w *quietly) {
			if _, err := w.Automations.Run(w.T.Context(), w.Admin, w.factory, w.automation.UID, run.SourceAPI); err != nil {
				w.T.Fatal(err)
			}
		}},
		"a run of another automation": {false, func(w *quietly) {
			w.about("other", factory.SubjectRequest{Subject: new("{{n}}")})
			w.matchNothing()
			w.event(2, 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			withExpected(t, func(w *quietly) {
				w.event(1, 1)
				w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
				w.pass(time.Minute)
				w.pass(every - time.Hour)
				test.do(w)
				w.pass(2 * time.Hour)
				if !test.counts {
					w.want(true, 1, 0)
				} else {
					w.want(false, 0, 0)
				}
			})
		})
	}
}

// Elsewhere, a reload of the configuration began the time anew, or an alert came right after a change.
func TestWhatBeginsTheTimeAnew(t *testing.T) {
	enable := func(on bool) factory.AutomationRequest { return factory.AutomationRequest{Enabled: &on} }
	for name, test := range map[string]struct {
		silent bool // at the end, where a start would have been overdue without the change
		change []factory.AutomationRequest
	}{
		"another title": {true, []factory.AutomationRequest{{Title: new("Other")}}},
		"another count of failures": {true, []factory.AutomationRequest{
			{HealthRequest: factory.HealthRequest{PauseAfterFailures: new(3)}},
		}},
		"a shorter time":       {true, []factory.AutomationRequest{{HealthRequest: expecting("25h")}}},
		"a longer time":        {false, []factory.AutomationRequest{{HealthRequest: expecting("30h")}}},
		"no time":              {false, []factory.AutomationRequest{{HealthRequest: expecting("0")}}},
		"none":                 {false, []factory.AutomationRequest{{Cleared: []string{"expect_every"}}}},
		"disabled":             {false, []factory.AutomationRequest{enable(false)}},
		"disabled and enabled": {false, []factory.AutomationRequest{enable(false), enable(true)}},
		"no time, and the same time again": {false, []factory.AutomationRequest{
			{HealthRequest: expecting("0")}, {HealthRequest: expecting("26h")},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			withExpected(t, func(w *quietly) {
				w.pass(every - time.Hour)
				for _, req := range test.change {
					w.set(req)
				}
				w.pass(2 * time.Hour)
				n := 0
				if test.silent {
					n = 1
				}
				w.want(test.silent, n, 0)
			})
		})
		t.Run(name+" while it is silent", func(t *testing.T) {
			withExpected(t, func(w *quietly) { // the change ends a silence, without the message that something started
				w.pass(every + time.Hour)
				w.want(true, 1, 0)
				for _, req := range test.change {
					w.set(req)
				}
				w.look()
				n := 1
				if test.silent && test.change[0].ExpectEvery != nil {
					n = 2 // another rule
				}
				w.want(test.silent, n, 0)
			})
		})
	}
}

// A commit that changes another line of its file begins no time anew, and ends no silence.
func TestFilesKeepTheTimeOfAnAutomation(t *testing.T) {
	withTeam(t, func(h *hooks) {
		w := &quietly{topics: &topics{hooks: h}, endpoint: h.Listen(
			announce.EndpointRequest{}, store.EventAutomationSilent, store.EventAutomationBack,
		)}
		commit := func(lines string) {
			w.T.Helper()
			files := team()
			files["automations/nightly.md"] = "---\n" + lines +
				"triggers:\n  - {provider: schedule, event: cron_fired, schedule: {cron: '@daily'}}\n---\nlook\n"
			h.apply(files)
		}
		commit("expectEvery: 26h\n")
		list, err := h.Automations.List(w.T.Context(), w.Admin, h.factory)
		if err != nil {
			w.T.Fatal(err)
		}
		w.automation = list[0] // by name
		w.pass(every - time.Hour)
		commit("expectEvery: 26h\ntitle: Other\n")
		w.pass(2 * time.Hour)
		w.want(true, 1, 0)
		commit("expectEvery: 26h\n")
		w.look()
		w.want(true, 1, 0)
		commit("expectEvery: 30h\n")
		w.look()
		w.want(false, 1, 0)
	})
}

// Elsewhere, retention removed the last start, and a rare automation was silent for ever.
func TestAStartCountsAfterItsRunIsRemoved(t *testing.T) {
	withExpected(t, func(w *quietly) {
		w.pass(10 * time.Hour)
		w.event(1, 1)
		w.pass(time.Hour)
		testkit.Exec(w.T, w.URL, "DELETE FROM runs")
		testkit.Exec(w.T, w.URL, "DELETE FROM subject_events")
		w.pass(17 * time.Hour)
		w.want(false, 0, 0)
		w.pass(9 * time.Hour)
		w.want(true, 1, 0)
	})
}

func TestManyServersAnnounceASilenceOnce(t *testing.T) {
	withExpected(t, func(w *quietly) {
		other := w.Deps
		other.Store = w.Database()
		servers := []*control.Rules{w.Rules, control.New(other)}
		all := func() {
			var looking sync.WaitGroup
			for i := range 8 {
				looking.Go(func() {
					if err := servers[i%2].Executions.AnnounceSilence(w.T.Context(), penstock.Now()); err != nil {
						w.T.Error(err)
					}
				})
			}
			looking.Wait()
		}
		for n := range 3 {
			w.want(false, n, n)
			testkit.Exec(w.T, w.URL, "UPDATE health SET look_at = 0, fired_at = 1")
			testkit.Exec(w.T, w.URL, "DELETE FROM runs")
			testkit.Exec(w.T, w.URL, "DELETE FROM subject_events")
			all()
			w.want(true, n+1, n)
			w.event(n+10, 1)
			all()
		}
		w.want(false, 3, 3)
	})
}

// The clock of a server was ahead when it stored the last start.
func TestAStartInTheFutureCountsAsNow(t *testing.T) {
	withExpected(t, func(w *quietly) {
		w.event(1, 1)
		ahead := penstock.Now().Add(1000 * time.Hour)
		testkit.Exec(w.T, w.URL, fmt.Sprintf("UPDATE health SET fired_at = %d, look_at = %d", ahead, ahead))
		testkit.Exec(w.T, w.URL, fmt.Sprintf("UPDATE runs SET created_at = %d, updated_at = %d", ahead, ahead))
		testkit.Exec(w.T, w.URL, fmt.Sprintf("UPDATE subject_events SET decided_at = %d", ahead))
		w.look()
		w.want(false, 0, 0)
		w.pass(every + time.Minute)
		w.want(true, 1, 0)
	})
}

// The clocks of two servers differ by three hours.
func TestServersWithOtherClocksAnnounceASilenceOnce(t *testing.T) {
	withExpected(t, func(w *quietly) {
		w.pass(every - time.Hour)
		for range 3 {
			if err := w.Executions.AnnounceSilence(w.T.Context(), penstock.Now().Add(3*time.Hour)); err != nil {
				w.T.Fatal(err)
			}
			w.look()
			w.want(true, 1, 0)
		}
		w.event(1, 1)
		w.look()
		w.want(false, 1, 1)
	})
}

// Elsewhere, a long stop of the server was a flood of alerts about what it was just about to start.
func TestAServerThatHasJustStartedAnnouncesNoSilence(t *testing.T) {
	withExpected(t, func(w *quietly) {
		testkit.Exec(w.T, w.URL, "UPDATE health SET fired_at = 1, look_at = 0")
		if err := w.Executions.SweepSilence()(w.T.Context(), penstock.Now()); err != nil {
			w.T.Fatal(err)
		}
		w.want(false, 0, 0)
		w.look()
		w.want(true, 1, 0)
	})
}

// A paused automation has said that it is paused.
func TestAPausedAutomationIsNotSilent(t *testing.T) {
	withExpected(t, func(w *quietly) {
		w.set(factory.AutomationRequest{HealthRequest: factory.HealthRequest{PauseAfterFailures: new(1)}})
		w.event(1, 1)
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateFailed})
		w.pass(2 * every)
		w.want(false, 0, 0)
		w.set(factory.AutomationRequest{Enabled: new(true)})
		w.pass(every - time.Minute)
		w.want(false, 0, 0)
		w.pass(2 * time.Minute)
		w.want(true, 1, 0)
	})
}

func TestAScheduleThatStartsNothingIsSilent(t *testing.T) {
	withExpected(t, func(w *quietly) {
		w.set(factory.AutomationRequest{HealthRequest: expecting("0")})
		ticks := &world{w.World}
		s, at := ticks.ticking(func(r *factory.ScheduleRequest) { r.HealthRequest = expecting("2h") })
		personal, personalAt := ticks.ticking(func(r *factory.ScheduleRequest) {
			r.Name, r.Team, r.HealthRequest = "mine", new(false), expecting("2h")
		})
		read := func(id string) *penstock.Silence {
			w.T.Helper()
			got, err := w.Schedules.Read(w.T.Context(), w.Admin, id)
			if err != nil {
				w.T.Fatal(err)
			}
			return got.Silent
		}
		w.pass(2*time.Hour + time.Minute)
		if read(s.ID) == nil || read(personal.ID) == nil {
			w.T.Error("the schedules are not silent")
		}
		w.want(false, 1, 0)
		ticks.fire(max(at, personalAt))
		w.look()
		if read(s.ID) != nil || read(personal.ID) != nil {
			w.T.Error("the schedules are silent although their runs have started")
		}
		w.want(false, 1, 1)
		if err := w.Schedules.Delete(w.T.Context(), w.Admin, s.ID); err != nil {
			w.T.Fatal(err)
		}
		w.pass(3 * time.Hour)
		w.want(false, 1, 1)
	})
}

func TestExpectEveryIsChecked(t *testing.T) {
	withExpected(t, func(w *quietly) {
		for _, text := range []string{"59s", "soon", "-1h", "367d", "1w", "26"} {
			_, err := w.Resources.UpdateAutomation(w.T.Context(), w.Admin, w.factory, w.automation.UID,
				factory.AutomationRequest{HealthRequest: expecting(penstock.Period(text))})
			testworld.WantField(w.T, err, "/expect_every")
		}
		for _, text := range []string{"1m", "1d12h", "366d", "0", "0s", ""} {
			w.set(factory.AutomationRequest{HealthRequest: expecting(penstock.Period(text))})
		}
	})
}
