package factory_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// clocks creates an automation with clocks of its own, in a new factory.
func (w *world) clocks(clocks ...penstock.CronTrigger) (a penstock.Automation, home string) {
	w.T.Helper()
	return w.clocksIn("ticks", clocks...)
}

func (w *world) clocksIn(name string, clocks ...penstock.CronTrigger) (a penstock.Automation, home string) {
	w.T.Helper()
	req := factory.AutomationRequest{Name: new("ticking"), Prompt: new("go")}
	var triggers []penstock.Trigger
	for _, c := range clocks {
		triggers = append(triggers, penstock.Trigger{
			Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired, Schedule: &c,
		})
	}
	req.Triggers = &triggers
	home = w.createFactory(name, name).UID
	return w.createAutomation(home, req), home
}

func TestClocksOfAnAutomation(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		a, _ := w.clocks(
			penstock.CronTrigger{Cron: "0 * * * *", Overlap: penstock.OverlapQueue},
			penstock.CronTrigger{Cron: "*/30 * * * *", Overlap: penstock.OverlapQueue},
		)
		fire := func(now penstock.Time) {
			w.T.Helper()
			if err := errors.Join(w.Schedules.FireClocks(ctx, now), w.Schedules.FireDue(ctx, now)); err != nil {
				w.T.Fatal(err)
			}
		}
		hour := a.Triggers[0].Schedule.NextRun
		fire(hour) // both
		got := w.fates(store.OccurrenceQuery{AutomationUID: a.UID})
		if first := words(got); !strings.HasSuffix(first, "started merged_into") ||
			!slices.Equal(got[len(got)-1].RunIDs, got[len(got)-2].RunIDs) {
			w.T.Fatalf("at one time: %s", first)
		}
		run := got[len(got)-1].RunIDs[0]
		fire(hour.Add(time.Hour)) // both wait
		w.cancel(run)
		fire(hour.Add(time.Hour + time.Second))
		got = w.fates(store.OccurrenceQuery{AutomationUID: a.UID})
		if all := words(got); !strings.HasSuffix(all, "started merged_into") {
			w.T.Errorf("after waiting: %s", all)
		}
		live := 0
		page, err := w.Runs.List(ctx, w.Admin, penstock.RunQuery{Limit: 100})
		if err != nil {
			w.T.Fatal(err)
		}
		for _, r := range page.Runs {
			if r.State == penstock.StateQueued {
				live++
			}
		}
		if live != 1 {
			w.T.Errorf("%d runs wait for a worker, want one for both clocks", live)
		}
	})
}

// The moment of clocks with different overlaps follows the one of the first trigger.
func TestClocksWithDifferentOverlaps(t *testing.T) {
	worlds(t, nil, func(w *world) {
		a, _ := w.clocks(
			penstock.CronTrigger{Cron: "0 * * * *", Overlap: penstock.OverlapSkip},
			penstock.CronTrigger{Cron: "0 0-23 * * *", Overlap: penstock.OverlapReplace},
		)
		first := a.Triggers[0].Schedule.NextRun
		for hour := range 2 {
			if err := w.Schedules.FireClocks(w.T.Context(), first.Add(time.Duration(hour)*time.Hour)); err != nil {
				w.T.Fatal(err)
			}
		}
		got := w.fates(store.OccurrenceQuery{AutomationUID: a.UID})
		if words(got) != "started merged_into skipped skipped" {
			w.T.Errorf("fates: %s", words(got))
		}
	})
}

func TestClockOfAnAutomationThatWasAhead(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		a, home := w.clocks(penstock.CronTrigger{Cron: "0 * * * *"})
		ahead := penstock.Now().Add(3 * 365 * 24 * time.Hour)
		if err := w.Schedules.FireClocks(ctx, ahead); err != nil {
			w.T.Fatal(err)
		}
		now := penstock.Now()
		if err := w.Schedules.Replan(ctx, now); err != nil {
			w.T.Fatal(err)
		}
		after, err := w.Automations.Read(ctx, w.Admin, home, a.UID)
		if err != nil {
			w.T.Fatal(err)
		}
		if next := after.Triggers[0].Schedule.NextRun; next.Sub(now) > time.Hour {
			w.T.Errorf("after the clock was set back: next at %s", next)
		}
	})
}

func TestTimeZonesOfAClock(t *testing.T) {
	worlds(t, nil, func(w *world) {
		home := w.createFactory("zones", "zones").UID
		of := func(c penstock.CronTrigger) factory.AutomationRequest {
			name := "zone " + strconv.Itoa(len(c.TimeZone))
			return factory.AutomationRequest{Name: &name, Prompt: new("go"), Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired, Schedule: &c,
			}}}
		}
		for pointer, c := range map[string]penstock.CronTrigger{
			"/triggers/0/schedule/time_zone": {Cron: "0 9 * * *", TimeZone: "Asia/Tokyo", Timezone: "UTC"},
			"/triggers/0/schedule/timezone":  {Cron: "0 9 * * *", Timezone: "Asia/Atlantis"},
			"/triggers/0/schedule/catch_up":  {Cron: "0 9 * * *", CatchUp: "twice"},
			"/triggers/0/schedule/overlap":   {Cron: "0 9 * * *", Overlap: "Allow"},
		} {
			_, err := w.Resources.CreateAutomation(w.T.Context(), w.Admin, home, of(c))
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, pointer)
		}
		for _, c := range []penstock.CronTrigger{
			{Cron: "0 9 * * *", TimeZone: "Asia/Kathmandu"}, {Cron: "0 9 * * *", Timezone: "Asia/Kathmandu"},
		} {
			got := w.createAutomation(home, of(c)).Triggers[0].Schedule
			if at := got.NextRun.Std().UTC().Format("15:04"); at != "03:15" {
				w.T.Errorf("%+v fires at %s", c, at)
			}
		}
	})
}

// What a trigger waits for does not depend on the triggers before it.
func TestWaitingTimesKeepTheirClock(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		queued := penstock.CronTrigger{Cron: "0 * * * *", Name: "hourly", Overlap: penstock.OverlapQueue}
		a, home := w.clocks(queued)
		first := a.Triggers[0].Schedule.NextRun
		for hour := range 2 {
			if err := w.Schedules.FireClocks(ctx, first.Add(time.Duration(hour)*time.Hour)); err != nil {
				w.T.Fatal(err)
			}
		}
		yearly := (*testworld.ClockAutomation("x", "0 0 1 1 *").Triggers)[0]
		both := []penstock.Trigger{yearly, a.Triggers[0]}
		change := factory.AutomationRequest{Triggers: &both}
		if _, err := w.Resources.UpdateAutomation(ctx, w.Admin, home, a.UID, change); err != nil {
			w.T.Fatal(err)
		}
		w.cancel(w.fates(store.OccurrenceQuery{AutomationUID: a.UID})[0].RunIDs[0])
		w.fire(first.Add(time.Hour + time.Second))
		got := w.fates(store.OccurrenceQuery{AutomationUID: a.UID})
		if words(got) != "started started" {
			w.T.Fatalf("fates: %+v", got)
		}
		if run := w.Get(got[1].RunIDs[0]); run.Schedule == nil || run.Schedule.Cron != queued.Cron {
			w.T.Errorf("the run is of %+v", run.Schedule)
		}
	})
}

// Missed times of clocks, and of automations that fire with a schedule, are decided like times of schedules.
func TestMissedTimesOfAutomations(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Cron = "0 * * * *" })
		home := w.createFactory("with", "with").UID
		with := w.createAutomation(home, firesWith(s))
		e := w.Listen(announce.EndpointRequest{FactoryUIDs: &[]string{home}}, store.EventScheduleMissed)
		w.fire(first.Add(3 * time.Hour))
		if diff := cmp.Diff([]penstock.EndpointMessage{{
			Type: store.EventScheduleMissed, Data: penstock.EndpointData{
				ScheduleID: s.ID, AutomationUID: with.UID, FactoryUID: home,
				URL: "/api/v1/factory/" + home + "/automations/" + with.UID,
			},
		}}, w.Heard(e)); diff != "" {
			w.T.Error(diff)
		}
		got := w.fates(store.OccurrenceQuery{AutomationUID: with.UID})
		if words(got) != "missed started" || got[0].Missed.Count != 3 {
			w.T.Errorf("with a schedule: %s: %+v", words(got), got)
		}
		if problem := w.reasonsWithout(penstock.ScopeFactoriesRead); problem != "" {
			w.T.Error(problem)
		}

		e = w.Listen(announce.EndpointRequest{}, store.EventScheduleMissed)
		all, _ := w.clocks(penstock.CronTrigger{Cron: "0 * * * *", CatchUp: penstock.CatchUpAll})
		once, ticking := w.clocksIn("once", penstock.CronTrigger{Cron: "0 * * * *"})
		first = all.Triggers[0].Schedule.NextRun
		var servers sync.WaitGroup
		for range 8 {
			servers.Go(func() {
				if err := w.Schedules.FireClocks(w.T.Context(), first.Add(2*time.Hour)); err != nil {
					w.T.Error(err)
				}
			})
		}
		servers.Wait()
		for uid, want := range map[string]string{all.UID: "started started started", once.UID: "missed started"} {
			if got := words(w.fates(store.OccurrenceQuery{AutomationUID: uid})); got != want {
				w.T.Errorf("fates: %s, want %s", got, want)
			}
		}
		if diff := cmp.Diff([]penstock.EndpointMessage{{ // once, although eight servers have seen it
			Type: store.EventScheduleMissed, Data: penstock.EndpointData{
				AutomationUID: once.UID, FactoryUID: ticking, URL: "/api/v1/factory/" + ticking + "/automations/" + once.UID,
			},
		}}, w.Heard(e)); diff != "" {
			w.T.Error(diff)
		}
	})
}

// reasonsWithout reports a reason why an automation failed that a key without a scope can read.
func (w *world) reasonsWithout(scope penstock.Scope) string {
	w.T.Helper()
	w.exec("UPDATE occurrences SET fate = 'failed', reason = 'its agent is missing' WHERE fate = 'started'")
	reader := w.Admin
	reader.Scopes = []penstock.Scope{penstock.ScopeRunsRead}
	page, err := w.Schedules.Occurrences(w.T.Context(), reader, store.OccurrenceQuery{})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, o := range page.Occurrences {
		if o.AutomationUID != "" && strings.Contains(o.Reason, "agent") {
			return "without " + string(scope) + ", a key reads " + o.Reason
		}
	}
	return ""
}
