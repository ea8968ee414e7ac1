package factory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

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

// A time that has come, or that waits, is not lost when its automation is changed or goes.
func TestWhatAnAutomationLeavesBehind(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		// Each hour, but half an hour away from now.
		hourly := fmt.Sprintf("%d * * * *", (time.Now().Minute()+30)%60)
		queued := penstock.CronTrigger{Cron: hourly, Overlap: penstock.OverlapQueue}
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
		if before := count(kept.ID); before != 80 {
			w.T.Fatalf("%d occurrences, want 80", before)
		}
		w.exec(fmt.Sprintf("UPDATE occurrences SET decided_at = %d", penstock.Now().Add(-2*time.Hour)))
		if err := w.Schedules.ClearOccurrences(ctx); err != nil {
			w.T.Fatal(err)
		}
		if got := []int{count(kept.ID), count(gone.ID)}; !slices.Equal(got, []int{50, 0}) {
			w.T.Errorf("kept %v, want 50 and none", got)
		}
	})
}

// exec changes the database, to simulate the effect of time.
func (w *world) exec(statement string) {
	w.T.Helper()
	testkit.Exec(w.T, w.URL, statement)
}

// A time that comes while its schedule is paused starts its run or is skipped, never both or neither.
func TestAPauseBesideItsTime(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for n := range 10 {
			s, _ := w.ticking(func(r *factory.ScheduleRequest) { r.Name = fmt.Sprint("round ", n) })
			due := penstock.Now().Add(-time.Second)
			w.replan(s.ID, due)
			var both sync.WaitGroup
			both.Go(func() {
				if err := w.Schedules.FireDue(ctx, penstock.Now()); err != nil {
					w.T.Error(err)
				}
			})
			both.Go(func() {
				if _, err := w.Schedules.Pause(ctx, w.Admin, s.ID); err != nil {
					w.T.Error(err)
				}
			})
			both.Wait()
			got := w.fates(store.OccurrenceQuery{ScheduleID: s.ID})
			if len(got) != 1 || got[0].DueAt != due || len(w.runsOf(s.ID)) != len(got[0].RunIDs) {
				w.T.Errorf("fates: %+v, %d runs", got, len(w.runsOf(s.ID)))
			}
		}
	})
}
