package factory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// clocked creates schedules and automations that fire at a time, each with its name as prompt. It returns the names
// of both kinds as SQL lists them.
func (w *topics) clocked(name string, n int, cron string) (names, uids string) {
	w.T.Helper()
	var list [2][]string
	for i := range n {
		one := fmt.Sprint(name, " ", i)
		w.CreateSchedule(factory.ScheduleRequest{Name: one, Cron: cron, Prompt: one})
		a, err := w.Resources.CreateAutomation(w.T.Context(), w.Admin, w.factory, factory.AutomationRequest{
			Name: &one, Prompt: &one, Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired, Schedule: &penstock.CronTrigger{Cron: cron},
			}},
		})
		if err != nil {
			w.T.Fatal(err)
		}
		list[0], list[1] = append(list[0], "'"+one+"'"), append(list[1], "'"+a.UID+"'")
	}
	return strings.Join(list[0], ", "), strings.Join(list[1], ", ")
}

// started lists the first two words of the prompts of all runs, sorted.
func (w *topics) started() (list []string) {
	w.T.Helper()
	for _, r := range w.runs() {
		words := strings.Fields(r.Prompt)
		list = append(list, strings.Join(words[:2], " "))
	}
	slices.Sort(list)
	return list
}

// More than are read at once cannot be advanced, and come first. What follows gets its turn in the same pass.
func TestATimeThatCannotFireKeepsNoOtherFromItsTurn(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		names, uids := w.clocked("stuck", 205, "0 0 * * *")
		w.clocked("good", 2, "1 0 * * *")
		testkit.Break(w.T, w.URL, "schedules", "NEW.name IN ("+names+")")
		testkit.Break(w.T, w.URL, "automation_clocks", "NEW.automation_uid IN ("+uids+")")
		later := penstock.Now().Add(25 * time.Hour)
		schedules := w.Schedules.FireDue(w.T.Context(), later)
		if clocks := w.Schedules.FireClocks(w.T.Context(), later); schedules == nil || clocks == nil {
			w.T.Errorf("no error says what is stuck: %v, %v", schedules, clocks)
		}
		if got, want := w.started(), []string{"good 0", "good 0", "good 1", "good 1"}; !slices.Equal(got, want) {
			w.T.Errorf("these have started: %q, want %q", got, want)
		}
	})
}

// The same for events that wait.
func TestASubjectThatIsStuckKeepsNoOtherFromItsTurn(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		const stuck = 205
		for pr := range stuck + 2 {
			w.event(pr, 1)
		}
		for range stuck + 2 {
			l := w.Claim().Lease
			w.Moves(l, penstock.StatePending, penstock.StateInProgress)
			w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
		}
		var last []string
		for pr := range stuck + 2 {
			last = append(last, w.event(pr, 2))
		}
		testkit.Break(w.T, w.URL, "subjects", "NOT (NEW.subject IN ('acme/shop#205', 'acme/shop#206'))")
		if err := w.Subjects.GiveDue(w.T.Context(), penstock.Now().Add(time.Hour)); err == nil {
			w.T.Error("no error says what is stuck")
		}
		w.wantFates(last[stuck-1:], store.FateWaiting, store.FateContinued, store.FateContinued)
	})
}

// A subject that cannot be removed keeps no other, and none is removed that has a run or a new event.
func TestASubjectThatCannotBeClearedKeepsNoOther(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		for pr := range 4 {
			w.event(pr, 1)
			l := w.Claim().Lease
			w.Moves(l, penstock.StatePending, penstock.StateInProgress)
			w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
			if pr != 3 {
				w.remove(l.RunID)
			}
		}
		w.age("acme/shop#%")
		testkit.Exec(w.T, w.URL, fmt.Sprintf(
			"UPDATE subjects SET updated_at = %d WHERE subject = 'acme/shop#2'", int64(penstock.Now()),
		))
		testkit.Break(w.T, w.URL, "subjects", "OLD.subject = 'acme/shop#0'")
		if err := w.Subjects.ClearSubjects(w.T.Context()); err == nil {
			w.T.Error("no error says what is stuck")
		}
		// The part of the uid that age keeps begins again every minute.
		got := slices.Sorted(slices.Values(w.listed()))
		if want := []string{"acme/shop#0", "acme/shop#2", "acme/shop#3"}; !slices.Equal(got, want) {
			w.T.Errorf("these subjects are left: %v, want %v", got, want)
		}
		events := testkit.Rows(w.T, w.URL, "SELECT uid FROM subject_events")
		if len(events) != 3 {
			w.T.Errorf("%d events are left of 3 subjects", len(events))
		}
	})
}

// age makes subjects old.
func (w *topics) age(like string) {
	w.T.Helper()
	const old = "'01000000' || substr(%[1]s, 9)"
	testkit.Exec(w.T, w.URL, fmt.Sprintf(
		"UPDATE subject_events SET subject_uid = "+old+
			" WHERE subject_uid IN (SELECT uid FROM subjects WHERE subject LIKE '%[2]s')", "subject_uid", like,
	))
	testkit.Exec(w.T, w.URL, fmt.Sprintf(
		"UPDATE runs SET subject_uid = "+old+" WHERE subject LIKE '%[2]s' AND subject_uid <> ''", "subject_uid", like,
	))
	testkit.Exec(w.T, w.URL, fmt.Sprintf(
		"UPDATE subjects SET uid = "+old+", updated_at = 1 WHERE subject LIKE '%[2]s'", "uid", like,
	))
}

// listed returns the subjects, newest first.
func (w *topics) listed() (list []string) {
	w.T.Helper()
	page, err := w.Subjects.List(w.T.Context(), w.Admin, factory.SubjectQuery{})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, s := range page.Subjects {
		list = append(list, s.Subject)
	}
	return list
}

// A run whose end cannot be written keeps no other waiting.
func TestARunThatCannotEndKeepsNoOtherFromItsEnd(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		stuck := w.Create(penstock.RunRequest{Prompt: "stuck"}).ID
		good := w.Create(penstock.RunRequest{Prompt: "good"}).ID
		lost := []penstock.Lease{w.Claim().Lease, w.Claim().Lease}
		overdue := w.Create(penstock.RunRequest{Prompt: "stuck"}).ID
		late := w.Create(penstock.RunRequest{Prompt: "good"}).ID
		testkit.Break(w.T, w.URL, "runs", "NEW.id IN ('"+stuck+"', '"+overdue+"')")
		for _, l := range lost {
			testkit.Exec(w.T, w.URL, "UPDATE queue SET lease_until = 1, worker_id = 'gone' WHERE run_id = '"+l.RunID+"'")
		}
		if err := w.Executions.EndLostLeases(w.T.Context()); err == nil {
			w.T.Error("no error says what is stuck")
		}
		w.MustBe(good, penstock.StateQueued)
		w.MustBe(stuck, penstock.StateClaimed)
		testkit.Exec(w.T, w.URL, "UPDATE queue SET enqueued_at = 1 WHERE run_id IN ('"+overdue+"', '"+late+"')")
		if err := w.Executions.EndOverdue(w.T.Context()); err == nil {
			w.T.Error("no error says what is stuck")
		}
		w.MustBe(late, penstock.StateError)
	})
}

// More old runs than are read at once cannot be removed, and the log of one webhook cannot be cleared. They keep
// no other from its removal.
func TestARunThatCannotBeRemovedKeepsNoOtherFromItsRemoval(t *testing.T) {
	withFactory(t, func(d *run.Deps) {
		d.KeepRunsFor = time.Hour
		d.Webhooks.KeepDeliveries, d.Webhooks.KeepDeliveriesFor = 1, time.Millisecond
	}, func(h *hooks) {
		const stuck = 105
		var ids []string
		for range stuck + 2 {
			id := h.Create(penstock.RunRequest{Prompt: "old"}).ID
			if _, err := h.Runs.Cancel(h.T.Context(), h.Admin, id, false); err != nil {
				h.T.Fatal(err)
			}
			ids = append(ids, id)
		}
		good := "'" + strings.Join(ids[stuck:], "', '") + "'"
		testkit.Break(h.T, h.URL, "runs", "OLD.id NOT IN ("+good+")")
		for n, id := range ids { // after it, because the background work removes old runs, too
			testkit.Exec(h.T, h.URL, fmt.Sprintf("UPDATE runs SET updated_at = %d WHERE id = '%s'", n/3, id))
		}
		if err := h.Upkeep.RemoveOldRuns(h.T.Context()); err == nil {
			h.T.Error("no error says what is stuck")
		}
		for i, id := range ids {
			_, err := h.Runs.Read(h.T.Context(), h.Admin, id)
			if gone := penstock.CodeOf(err) == penstock.CodeNotFound; gone != (i >= stuck) {
				h.T.Errorf("run %d of %d: %v", i, len(ids), err)
			}
		}

		hooked := []penstock.Webhook{h.hook(named("one", penstock.AuthToken)), h.hook(named("two", penstock.AuthToken))}
		arrived := map[string][]string{}
		for _, w := range hooked {
			for n := range 3 {
				arrived[w.UID] = append(arrived[w.UID], h.arrive(w.UID, fmt.Sprintf(`{"n": %d}`, n)).DeliveryID)
			}
		}
		first := hooked[0]
		if hooked[1].UID < first.UID {
			first = hooked[1]
		}
		testkit.Break(h.T, h.URL, "deliveries",
			"OLD.id IN ('"+strings.Join(arrived[first.UID], "', '")+"')")
		testkit.Exec(h.T, h.URL, "UPDATE deliveries SET received_at = 1")
		if err := h.ClearLogs(h.T.Context()); err == nil {
			h.T.Error("no error says what is stuck")
		}
		for _, w := range hooked {
			page, err := h.Deliveries.List(h.T.Context(), h.Admin, h.factory, w.UID, penstock.DeliveryQuery{})
			want := 1
			if w.UID == first.UID {
				want = 3
			}
			if len(page.Deliveries) != want || err != nil {
				h.T.Errorf("%s keeps %d entries, want %d: %v", w.Name, len(page.Deliveries), want, err)
			}
		}
	})
}
