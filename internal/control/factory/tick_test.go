package factory_test

import (
	"fmt"
	"maps"
	"slices"
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

// fates lists the occurrences of a source, the first one first.
func (w *world) fates(q store.OccurrenceQuery) []store.Occurrence {
	w.T.Helper()
	list, err := w.Schedules.Occurrences(w.T.Context(), w.Admin, q)
	if err != nil {
		w.T.Fatal(err)
	}
	slices.Reverse(list.Occurrences)
	return list.Occurrences
}

// words returns the fates in one line.
func words(list []store.Occurrence) string {
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
		want := []store.Occurrence{{
			Kind: store.OccurrenceTick, ScheduleID: s.ID, DueAt: first, DecidedAt: first.Add(time.Millisecond),
			Fate: store.FateStarted, RunIDs: []string{runs[0].ID},
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
				e := w.Listen(announce.EndpointRequest{}, store.EventScheduleMissed)
				s, first := w.ticking(func(r *factory.ScheduleRequest) { r.CatchUp = catchUp })
				w.ticking(func(r *factory.ScheduleRequest) { r.CatchUp, r.Team = catchUp, new(false) })
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
				var announced []penstock.EndpointMessage // of the team's schedule
				if strings.Contains(want.fates, "missed") {
					announced = append(announced, penstock.EndpointMessage{
						Type: store.EventScheduleMissed,
						Data: penstock.EndpointData{ScheduleID: s.ID, URL: "/api/v1/agent/schedules/" + s.ID},
					})
				}
				if diff := cmp.Diff(announced, w.Heard(e)); diff != "" {
					w.T.Error(diff)
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
				if m := runs[1].StatusMessage; m == nil || m.Budget == nil || m.Budget.BudgetName != "budget of the team" {
					w.T.Errorf("the run does not name its budget: %+v", m)
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

func TestClockThatWasAhead(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, _ := w.ticking(func(r *factory.ScheduleRequest) { r.Cron = "0 * * * *" })
		ahead := penstock.Now().Add(3 * 365 * 24 * time.Hour)
		w.fire(ahead)
		if next := *w.schedule(s.ID).History.NextRun; next < ahead {
			w.T.Fatalf("next at %s", next)
		}
		now := penstock.Now()
		if err := w.Schedules.Replan(w.T.Context(), now); err != nil {
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
		if err := w.Schedules.Replan(w.T.Context(), next.Add(-30*time.Minute)); err != nil {
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
		if err := w.Schedules.Replan(w.T.Context(), first.Add(-5*time.Minute)); err != nil {
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
				w.exec("UPDATE runs SET ended_before = 0") // as of a server of the previous release
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
		counts := map[store.Fate]int{}
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
		want := map[store.Fate]int{store.FateStarted: 2, store.FateWaiting: 200, store.FateSkipped: 38}
		if !maps.Equal(counts, want) {
			w.T.Errorf("fates: %v, want %v", counts, want)
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
