package factory_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// fates lists the occurrences of a source, the first one first.
func (w *world) fates(q store.OccurrenceQuery) []penstock.Occurrence {
	w.T.Helper()
	list, err := w.Schedules.Occurrences(w.T.Context(), w.Admin, q)
	if err != nil {
		w.T.Fatal(err)
	}
	slices.Reverse(list.Occurrences)
	return list.Occurrences
}

// words returns the fates in one line.
func words(list []penstock.Occurrence) string {
	var fates []string
	for _, o := range list {
		fates = append(fates, string(o.Fate))
	}
	return strings.Join(fates, " ")
}

// ticking creates an hourly schedule and returns it with its first time.
func (w *world) ticking(change func(*factory.ScheduleRequest)) (penstock.Schedule, penstock.Time) {
	w.T.Helper()
	req := hourly
	change(&req)
	s := w.CreateSchedule(req)
	return s, *s.History.NextRun
}

func (w *world) cancel(id string) {
	w.T.Helper()
	if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
		w.T.Fatal(err)
	}
}

func TestEachTimeHasOneFate(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(*factory.ScheduleRequest) {})
		w.fire(first.Add(-time.Millisecond))
		if got := w.fates(store.OccurrenceQuery{}); len(got) != 0 {
			w.T.Fatalf("before its time: %+v", got)
		}
		var servers sync.WaitGroup
		for range 4 {
			servers.Go(func() {
				if err := w.Schedules.FireDue(w.T.Context(), first.Add(time.Millisecond)); err != nil {
					w.T.Error(err)
				}
			})
		}
		servers.Wait()
		runs := w.runsOf(s.ID)
		if len(runs) != 1 {
			w.T.Fatalf("%d runs", len(runs))
		}
		want := []penstock.Occurrence{{
			Kind: penstock.OccurrenceTick, ScheduleID: s.ID, DueAt: first, DecidedAt: first.Add(time.Millisecond),
			Fate: penstock.FateStarted, RunIDs: []string{runs[0].ID},
		}}
		got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
		if len(got) == 1 {
			want[0].UID = got[0].UID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestMissedTimes(t *testing.T) {
	for catchUp, want := range map[penstock.CatchUp]struct {
		runs  int
		fates string
	}{
		"once": {1, "missed started"},
		"all":  {5, "started started started started started"},
		"none": {0, "missed"},
	} {
		t.Run(string(catchUp), func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				s, first := w.ticking(func(r *factory.ScheduleRequest) { r.CatchUp = catchUp })
				w.fire(first.Add(4*time.Hour + 30*time.Minute))
				if got := len(w.runsOf(s.ID)); got != want.runs {
					w.T.Errorf("%d runs, want %d", got, want.runs)
				}
				got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
				if words(got) != want.fates {
					w.T.Fatalf("fates: %s", words(got))
				}
				if missed := got[0].Missed; catchUp == "none" && (missed.Count != 5 || missed.First != first ||
					missed.Last != first.Add(4*time.Hour) || !strings.HasPrefix(got[0].Reason, "5 times from ")) {
					w.T.Errorf("missed: %+v: %s", missed, got[0].Reason)
				}
				w.fire(first.Add(4*time.Hour + 31*time.Minute))
				if again := w.fates(store.OccurrenceQuery{ScheduleID: s.ID}); len(again) != len(got) {
					w.T.Errorf("a minute later: %s", words(again))
				}
			})
		})
	}
}

func TestOverlappingTimes(t *testing.T) {
	for overlap, want := range map[penstock.Overlap]struct{ three, ended, states string }{
		"allow":   {"started started started", "started started started", "QUEUED QUEUED QUEUED"},
		"skip":    {"started skipped skipped", "started skipped skipped", "CANCELLED"},
		"queue":   {"started waiting waiting", "started started waiting", "CANCELLED QUEUED"},
		"replace": {"started started started", "started started started", "CANCELLED CANCELLED QUEUED"},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = overlap })
				for hour := range 3 {
					w.fire(first.Add(time.Duration(hour) * time.Hour))
				}
				got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
				if words(got) != want.three {
					w.T.Fatalf("fates: %s", words(got))
				}
				live := w.runsOf(s.ID)[0].ID
				if overlap == "skip" && !strings.Contains(got[1].Reason, live) {
					w.T.Errorf("the reason does not name the run: %s", got[1].Reason)
				}
				if overlap == "skip" || overlap == "queue" {
					w.cancel(live)
				}
				w.fire(first.Add(2*time.Hour + time.Second))
				if got := words(w.fates(store.OccurrenceQuery{ScheduleID: s.ID})); got != want.ended {
					w.T.Errorf("once the first run has ended: %s", got)
				}
				var states []string
				for _, r := range w.runsOf(s.ID) {
					states = append(states, string(r.State))
				}
				if got := strings.Join(states, " "); got != want.states {
					w.T.Errorf("runs: %s", got)
				}
			})
		})
	}
}

// With replace, a run goes on if the one that should replace it cannot work.
func TestNoRunIsReplacedByOneWithoutMoney(t *testing.T) {
	for action, want := range map[penstock.BudgetAction]struct{ fate, state string }{
		penstock.BudgetRefuse: {"skipped", "FAILED"}, penstock.BudgetPause: {"started", "BLOCKED"},
	} {
		t.Run(string(action), func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = penstock.OverlapReplace })
				w.fire(first)
				w.Work()
				budget := testworld.OfTeam(penstock.BudgetTotal, 0)
				budget.Action = &action
				w.CreateBudget(budget)
				w.fire(first.Add(time.Hour))
				runs := w.runsOf(s.ID)
				if len(runs) != 2 || runs[0].State != penstock.StateInProgress || string(runs[1].State) != want.state {
					w.T.Fatalf("runs: %+v", runs)
				}
				got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
				if words(got) != "started "+want.fate || !slices.Equal(got[1].RunIDs, []string{runs[1].ID}) {
					w.T.Errorf("fates: %+v", got)
				}
				if want.fate == "skipped" && !strings.Contains(got[1].Reason, "budget") {
					w.T.Errorf("the reason does not name the budget: %s", got[1].Reason)
				}
			})
		})
	}
}

func TestWhatWaitsIsSkippedWithItsSource(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for end, reason := range map[string]string{"pause": "paused", "delete": "deleted"} {
			s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Name, r.Overlap = end, penstock.OverlapQueue })
			w.fire(first)
			w.fire(first.Add(time.Hour))
			var err error
			if end == "pause" {
				_, err = w.Schedules.Pause(ctx, w.Admin, s.ID)
			} else {
				err = w.Schedules.Delete(ctx, w.Admin, s.ID)
			}
			if err != nil {
				w.T.Fatal(err)
			}
			w.fire(first.Add(time.Hour + time.Second))
			got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
			if words(got) != "started skipped" || !strings.Contains(got[1].Reason, reason) {
				w.T.Errorf("%s: %s: %+v", end, words(got), got)
			}
		}
	})
}

// A time that has come, but that no server has decided, is not lost when its schedule is paused,
// changed or deleted.
func TestWhatIsDueIsSkippedWithItsSource(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for end, do := range map[string]func(id string) error{
			"paused":  func(id string) error { _, err := w.Schedules.Pause(ctx, w.Admin, id); return err },
			"deleted": func(id string) error { return w.Schedules.Delete(ctx, w.Admin, id) },
			"changed": func(id string) error {
				req := hourly
				req.Cron, req.Enabled = "0 0 29 2 *", new(true)
				_, err := w.Schedules.Replace(ctx, w.Admin, id, req)
				return err
			},
		} {
			s, _ := w.ticking(func(r *factory.ScheduleRequest) { r.Name = end })
			due := penstock.Now().Add(-time.Second)
			w.replan(s.ID, due)
			if err := do(s.ID); err != nil {
				w.T.Fatal(err)
			}
			w.fire(penstock.Now())
			got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
			if words(got) != "skipped" || got[0].DueAt != due || !strings.Contains(got[0].Reason, end) {
				w.T.Errorf("%s: %+v", end, got)
			}
		}
	})
}

// replan sets the next time of a schedule, as if no server had decided it yet.
func (w *world) replan(id string, at penstock.Time) {
	w.T.Helper()
	s := w.Database()
	row, err := s.Schedules.Find(w.T.Context(), store.Viewer{Team: store.DefaultTeam, All: true}, id)
	if err == nil {
		err = s.Schedules.Replan(w.T.Context(), row, at)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

func TestClockThatWasAhead(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, _ := w.ticking(func(r *factory.ScheduleRequest) { r.Cron = "0 * * * *" })
		ahead := penstock.Now().Add(3 * 365 * 24 * time.Hour)
		w.fire(ahead)
		if next := *w.schedule(s.ID).History.NextRun; next < ahead {
			w.T.Fatalf("next at %s", next)
		}
		now := penstock.Now()
		if err := w.Schedules.PlanAgain(w.T.Context(), now); err != nil {
			w.T.Fatal(err)
		}
		next := *w.schedule(s.ID).History.NextRun
		if next.Sub(now) > time.Hour {
			w.T.Fatalf("after the clock was set back: next at %s", next)
		}
		w.fire(next)
		if got := words(w.fates(store.OccurrenceQuery{ScheduleID: s.ID})); got != "missed started started" {
			w.T.Errorf("fates: %s", got)
		}
		// An hour back, over a time that has its fate.
		if err := w.Schedules.PlanAgain(w.T.Context(), next.Add(-30*time.Minute)); err != nil {
			w.T.Fatal(err)
		}
		w.fire(next)
		if got := len(w.runsOf(s.ID)); got != 2 {
			w.T.Errorf("%d runs: a time started two", got)
		}
	})
}

func TestTimeZoneOfASchedule(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, req := range []factory.ScheduleRequest{
			{TimeZone: "Asia/Kathmandu"}, {Timezone: "Asia/Kathmandu"}, {TimeZone: "Asia/Kathmandu", Timezone: "Asia/Kathmandu"},
		} {
			s, first := w.ticking(func(r *factory.ScheduleRequest) {
				r.Cron, r.TimeZone, r.Timezone = "0 9 * * *", req.TimeZone, req.Timezone
			})
			if got := first.Std().Format("15:04"); got != "03:15" || s.TimeZone != "Asia/Kathmandu" { // UTC+05:45
				w.T.Errorf("%+v: first at %s, zone %q", req, first, s.TimeZone)
			}
		}
		for pointer, change := range map[string]func(*factory.ScheduleRequest){
			"/time_zone": func(r *factory.ScheduleRequest) { r.TimeZone = "Mars/Olympus" },
			"/timezone":  func(r *factory.ScheduleRequest) { r.Timezone = "Mars/Olympus" },
			"/time_zone: differs from timezone": func(r *factory.ScheduleRequest) {
				r.TimeZone, r.Timezone = "UTC", "Asia/Tokyo"
			},
			"/catch_up":      func(r *factory.ScheduleRequest) { r.CatchUp = "some" },
			"/overlap":       func(r *factory.ScheduleRequest) { r.Overlap = "Skip" },
			"/cron_schedule": func(r *factory.ScheduleRequest) { r.Cron = "CRON_TZ=Asia/Tokyo 0 9 * * *" },
		} {
			req := hourly
			change(&req)
			_, err := w.Schedules.Create(w.T.Context(), w.Admin, req)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, pointer)
		}
	})
}

func TestReplaceAtATimeThatHasItsFate(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(r *factory.ScheduleRequest) {
			r.Cron, r.Overlap = "0 * * * *", penstock.OverlapReplace
		})
		w.fire(first)
		if err := w.Schedules.PlanAgain(w.T.Context(), first.Add(-5*time.Minute)); err != nil {
			w.T.Fatal(err)
		}
		w.fire(first.Add(time.Second))
		runs := w.runsOf(s.ID)
		if len(runs) != 1 || runs[0].State != penstock.StateQueued {
			w.T.Errorf("the time started %d runs, the first is %s", len(runs), runs[0].State)
		}
	})
}

func TestManyThatWaitHoldNobodyBack(t *testing.T) {
	worlds(t, nil, func(w *world) {
		last, first := w.ticking(func(r *factory.ScheduleRequest) { r.Cron, r.Overlap = "0 * * * *", penstock.OverlapQueue })
		for n := range 120 {
			w.ticking(func(r *factory.ScheduleRequest) {
				r.Name, r.Cron, r.Overlap = fmt.Sprint("stuck ", n), "0 * * * *", penstock.OverlapQueue
			})
		}
		w.fire(first)
		w.fire(first.Add(time.Hour))
		w.cancel(w.runsOf(last.ID)[0].ID)
		w.fire(first.Add(time.Hour + time.Second))
		if got := words(w.fates(store.OccurrenceQuery{ScheduleID: last.ID})); got != "started started" {
			w.T.Errorf("fates: %s", got)
		}
	})
}

func TestWhatAChangeLeavesBehind(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = penstock.OverlapQueue })
		w.fire(first)
		w.fire(first.Add(time.Hour))
		req := hourly
		req.Enabled, req.Overlap = new(true), penstock.OverlapAllow
		if _, err := w.Schedules.Replace(ctx, w.Admin, s.ID, req); err != nil {
			w.T.Fatal(err)
		}
		got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
		if words(got) != "started skipped" || !strings.Contains(got[1].Reason, "no longer queue") {
			w.T.Errorf("%s: %+v", words(got), got)
		}
	})
}

func TestClientsThatDoNotKnowTheNewFieldsKeepThem(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, _ := w.ticking(func(r *factory.ScheduleRequest) {
			r.TimeZone, r.CatchUp, r.Overlap = "Europe/Berlin", penstock.CatchUpNone, penstock.OverlapSkip
		})
		req := hourly
		req.Enabled = new(true)
		after, err := w.Schedules.Replace(w.T.Context(), w.Admin, s.ID, req)
		if err != nil {
			w.T.Fatal(err)
		}
		if after.TimeZone != "Europe/Berlin" || after.CatchUp != penstock.CatchUpNone ||
			after.Overlap != penstock.OverlapSkip {
			w.T.Errorf("after: %s %s %s", after.TimeZone, after.CatchUp, after.Overlap)
		}
	})
}

func TestHistoryShowsWhatStarted(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = penstock.OverlapSkip })
		w.fire(first)
		w.fire(first.Add(time.Hour))
		got := w.schedule(s.ID)
		if got.History.LastRan == nil || *got.History.LastRan != first || got.LastSpawnError == nil ||
			!strings.Contains(*got.LastSpawnError, "has not ended") {
			w.T.Errorf("last ran %v, error %v", got.History.LastRan, got.LastSpawnError)
		}
	})
}

func TestOccurrencesOfPersonalSchedules(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(*factory.ScheduleRequest) {})
		w.fire(first)
		other := w.Admin
		other.Actor = penstock.Actor{Type: "user", UID: "somebody-else"}
		other.Scopes = []penstock.Scope{penstock.ScopeRunsRead}
		seen := func() int {
			w.T.Helper()
			page, err := w.Schedules.Occurrences(w.T.Context(), other, store.OccurrenceQuery{})
			if err != nil {
				w.T.Fatal(err)
			}
			return len(page.Occurrences)
		}
		if seen() != 1 {
			w.T.Error("a member does not see an occurrence of the team")
		}
		req := hourly
		req.Enabled, req.Team = new(true), new(false)
		if _, err := w.Schedules.Replace(w.T.Context(), w.Admin, s.ID, req); err != nil {
			w.T.Fatal(err)
		}
		w.fire(first.Add(time.Hour))
		if seen() != 1 {
			w.T.Error("a member does not see those of the team alone, after it has become personal")
		}
		req.Team = new(true)
		if _, err := w.Schedules.Replace(w.T.Context(), w.Admin, s.ID, req); err != nil {
			w.T.Fatal(err)
		}
		if seen() != 1 {
			w.T.Error("a member sees what was personal, after it has become the team's")
		}
	})
}

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
		if err := w.Schedules.PlanAgain(ctx, now); err != nil {
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

// With replace, a run ends only if a run of the same automation, or of the schedule itself, replaces it.
func TestReplaceEndsOnlyWhatIsReplaced(t *testing.T) {
	worlds(t, nil, func(w *world) {
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("nightwatch")})
		s, first := w.ticking(func(r *factory.ScheduleRequest) {
			r.Overlap, r.AgentUID = penstock.OverlapReplace, agent.UID
		})
		a := w.createAutomation(w.createFactory("both", "both").UID, firesWith(s))
		w.fire(first)
		if err := w.Resources.DeleteIdentity(w.T.Context(), w.Admin, agent.UID); err != nil {
			w.T.Fatal(err)
		}
		w.fire(first.Add(time.Hour))
		ofAutomation := w.runsOfAutomation(a.UID)
		if len(ofAutomation) != 2 || ofAutomation[0].State != penstock.StateCancelled ||
			ofAutomation[1].State != penstock.StateQueued {
			w.T.Errorf("runs of the automation: %+v", ofAutomation)
		}
		for _, r := range w.runsOf(s.ID) {
			if r.ID != ofAutomation[0].ID && r.ID != ofAutomation[1].ID && r.State != penstock.StateQueued {
				w.T.Errorf("the schedule's own run is %s", r.State)
			}
		}
	})
}

// A run that somebody continued after its end belongs to that person.
func TestAConversationIsNotReplaced(t *testing.T) {
	for _, overlap := range []penstock.Overlap{penstock.OverlapReplace, penstock.OverlapSkip} {
		t.Run(string(overlap), func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = overlap })
				w.fire(first)
				w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
				old := w.runsOf(s.ID)[0].ID
				w.FollowUp(old, "please explain")
				w.MustBe(old, penstock.StateQueued)
				w.fire(first.Add(time.Hour))
				w.MustBe(old, penstock.StateQueued)
				if got := words(w.fates(store.OccurrenceQuery{ScheduleID: s.ID})); got != "started started" {
					w.T.Errorf("fates: %s", got)
				}
			})
		})
	}
}

// A time that has come, or that waits, is not lost when its automation is changed or goes.
func TestWhatAnAutomationLeavesBehind(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		queued := penstock.CronTrigger{Cron: "0 * * * *", Overlap: penstock.OverlapQueue}
		for what, do := range map[string]func(home string, a penstock.Automation) error{
			"disabled": func(home string, a penstock.Automation) error {
				_, err := w.Resources.UpdateAutomation(ctx, w.Admin, home, a.UID, factory.AutomationRequest{Enabled: new(false)})
				return err
			},
			"changed": func(home string, a penstock.Automation) error {
				other := *testworld.ClockAutomation("x", "0 0 29 2 *").Triggers
				_, err := w.Resources.UpdateAutomation(ctx, w.Admin, home, a.UID, factory.AutomationRequest{Triggers: &other})
				return err
			},
			"deleted": func(home string, a penstock.Automation) error {
				return w.Resources.DeleteAutomation(ctx, w.Admin, home, a.UID)
			},
			"deleted with its factory": func(home string, _ penstock.Automation) error {
				return w.Factories.Delete(ctx, w.Admin, home)
			},
		} {
			a, home := w.clocksIn(strings.ReplaceAll(what, " ", "-"), queued)
			first := a.Triggers[0].Schedule.NextRun
			for hour := range 2 { // the second one waits
				if err := w.Schedules.FireClocks(ctx, first.Add(time.Duration(hour)*time.Hour)); err != nil {
					w.T.Fatal(err)
				}
			}
			due := penstock.Now().Add(-time.Second)
			w.exec(fmt.Sprintf("UPDATE automation_clocks SET next_at = %d WHERE automation_uid = '%s'", due, a.UID))
			if err := do(home, a); err != nil {
				w.T.Fatal(err)
			}
			now := penstock.Now()
			if err := errors.Join(w.Schedules.FireClocks(ctx, now), w.Schedules.FireDue(ctx, now)); err != nil {
				w.T.Fatal(err)
			}
			got := w.fates(store.OccurrenceQuery{AutomationUID: a.UID})
			if words(got) != "started skipped skipped" || got[2].DueAt != due ||
				!strings.Contains(got[1].Reason, strings.Fields(what)[0]) {
				w.T.Errorf("%s: %+v", what, got)
			}
		}
	})
}

// A time keeps its fate after the clock of a machine was set back, and is not counted again.
func TestATimeIsCountedOnce(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, _ := w.ticking(func(r *factory.ScheduleRequest) { r.Cron = "0 * * * *" })
		first := *w.schedule(s.ID).History.NextRun
		w.fire(first)
		w.fire(first.Add(time.Hour))
		w.replan(s.ID, first) // as if it were a minute before the first time again
		w.fire(first.Add(3 * time.Hour))
		got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
		if words(got) != "started started missed started" || got[2].Missed.Count != 1 ||
			got[2].Missed.First != first.Add(2*time.Hour) {
			w.T.Errorf("fates: %s: %+v", words(got), got)
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

// The limit of what waits counts times, not the automations that fire at each.
func TestHowManyTimesWait(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(r *factory.ScheduleRequest) {
			r.Cron, r.Overlap, r.CatchUp = "* * * * *", penstock.OverlapQueue, penstock.CatchUpAll
		})
		home := w.createFactory("with", "with").UID
		w.createAutomation(home, firesWith(s))
		for n := range 2 { // at most 100 missed times at once
			w.fire(first.Add(time.Duration(59+60*n) * time.Minute))
		}
		counts := map[penstock.Fate]int{}
		for cursor := ""; ; {
			q := store.OccurrenceQuery{ScheduleID: s.ID, Limit: 100, Cursor: cursor}
			page, err := w.Schedules.Occurrences(w.T.Context(), w.Admin, q)
			if err != nil {
				w.T.Fatal(err)
			}
			for _, o := range page.Occurrences {
				counts[o.Fate]++
			}
			if cursor = page.PageInfo.NextCursor; cursor == "" {
				break
			}
		}
		want := map[penstock.Fate]int{penstock.FateStarted: 2, penstock.FateWaiting: 200, penstock.FateSkipped: 38}
		if !maps.Equal(counts, want) {
			w.T.Errorf("fates: %v, want %v", counts, want)
		}
	})
}

// Old occurrences go, but not the newest of what still exists.
func TestOldOccurrencesAreCleared(t *testing.T) {
	worlds(t, func(d *run.Deps) { d.Webhooks.KeepDeliveriesFor = time.Hour }, func(w *world) {
		ctx := w.T.Context()
		kept, first := w.ticking(func(r *factory.ScheduleRequest) {
			r.Cron, r.Overlap, r.CatchUp = "* * * * *", penstock.OverlapSkip, penstock.CatchUpAll
		})
		gone, _ := w.ticking(func(r *factory.ScheduleRequest) { r.Name, r.Cron = "gone", "* * * * *" })
		w.fire(first.Add(79 * time.Minute))
		if err := w.Schedules.Delete(ctx, w.Admin, gone.ID); err != nil {
			w.T.Fatal(err)
		}
		count := func(id string) int {
			page, err := w.Schedules.Occurrences(ctx, w.Admin, store.OccurrenceQuery{ScheduleID: id, Limit: 100})
			if err != nil {
				w.T.Fatal(err)
			}
			return len(page.Occurrences)
		}
		w.exec(fmt.Sprintf("UPDATE occurrences SET decided_at = %d", penstock.Now().Add(-2*time.Hour)))
		if before := count(kept.ID); before != 80 {
			w.T.Fatalf("%d occurrences, want 80", before)
		}
		if err := w.Schedules.ClearOccurrences(ctx); err != nil {
			w.T.Fatal(err)
		}
		if got := []int{count(kept.ID), count(gone.ID)}; !slices.Equal(got, []int{50, 0}) {
			w.T.Errorf("kept %v, want 50 and none", got)
		}
	})
}

// firesWith requests an automation that fires with a schedule.
func firesWith(s penstock.Schedule) factory.AutomationRequest {
	return factory.AutomationRequest{Name: new("with"), Prompt: new("go"), Triggers: &[]penstock.Trigger{{
		Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired,
		Filter: []byte(`{"schedule_ids": ["` + s.ID + `"]}`),
	}}}
}

// exec changes the database, to simulate the effect of time.
func (w *world) exec(statement string) {
	w.T.Helper()
	testkit.Exec(w.T, w.URL, statement)
}

// Of several times that are decided at once, the last one replaces the others, but only if it starts a run
// itself.
func TestTimesThatAreReplacedBeforeTheyStart(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(r *factory.ScheduleRequest) {
			r.Cron, r.Overlap, r.CatchUp = "0 * * * *", penstock.OverlapReplace, penstock.CatchUpAll
		})
		w.fire(first.Add(2 * time.Hour))
		if got := words(w.fates(store.OccurrenceQuery{ScheduleID: s.ID})); got != "superseded superseded started" {
			w.T.Errorf("fates: %s", got)
		}
		a, _ := w.clocks(
			penstock.CronTrigger{Cron: "0 * * * *", Overlap: penstock.OverlapReplace, CatchUp: penstock.CatchUpAll},
			penstock.CronTrigger{Cron: "30 * * * *", Overlap: penstock.OverlapSkip, CatchUp: penstock.CatchUpAll},
		)
		due := max(a.Triggers[0].Schedule.NextRun, a.Triggers[1].Schedule.NextRun)
		if due == a.Triggers[0].Schedule.NextRun {
			due = due.Add(30 * time.Minute)
		}
		if err := w.Schedules.FireClocks(w.T.Context(), due); err != nil {
			w.T.Fatal(err)
		}
		got := words(w.fates(store.OccurrenceQuery{AutomationUID: a.UID}))
		if !strings.HasSuffix(got, "started skipped") || strings.Contains(got, "superseded") {
			w.T.Errorf("fates: %s", got)
		}
	})
}

// Missed times of clocks, and of automations that fire with a schedule, are decided like times of schedules.
func TestMissedTimesOfAutomations(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Cron = "0 * * * *" })
		with := w.createAutomation(w.createFactory("with", "with").UID, firesWith(s))
		w.fire(first.Add(3 * time.Hour))
		got := w.fates(store.OccurrenceQuery{AutomationUID: with.UID})
		if words(got) != "missed started" || got[0].Missed.Count != 3 {
			w.T.Errorf("with a schedule: %s: %+v", words(got), got)
		}
		if problem := w.reasonsWithout(penstock.ScopeFactoriesRead); problem != "" {
			w.T.Error(problem)
		}

		all, _ := w.clocks(penstock.CronTrigger{Cron: "0 * * * *", CatchUp: penstock.CatchUpAll})
		once, _ := w.clocksIn("once", penstock.CronTrigger{Cron: "0 * * * *"})
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
