package main_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A server that is killed among many times that have come loses none, and decides none twice.
func TestKillLosesNoTimeOfASchedule(t *testing.T) {
	t.Parallel()
	const schedules = 120
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: noWorker})
		for i := range schedules {
			got := send(t, s, http.MethodPost, "/agent/schedules", fmt.Sprintf(
				`{"name": "s%d", "cron_schedule": "0 0 1 1 *", "prompt": "go", "overlap": %q}`,
				i, definition.Overlaps()[i%len(definition.Overlaps())],
			))
			if got.status != http.StatusCreated && got.status != http.StatusOK {
				t.Fatalf("got %d: %s", got.status, got.body)
			}
		}
		db := testkit.OpenStore(t, database)
		// Now all of them come at once.
		testkit.Exec(t, database, fmt.Sprintf("UPDATE schedules SET next_at = %d", penstock.Now().Add(-time.Second)))
		for _, kill := range []int{10, 40, 70} {
			testkit.Eventually(t, time.Minute, func() error {
				if n := len(started(t, db)); n < kill {
					return fmt.Errorf("%d of %d have started", n, kill)
				}
				return nil
			})
			s.Kill9()
			started(t, db)
			s.Restart()
		}
		testkit.Eventually(t, time.Minute, func() error {
			if n := len(started(t, db)); n != schedules {
				return fmt.Errorf("%d of %d have started", n, schedules)
			}
			return nil
		})
	})
}

// started returns the run of each schedule that has started one, after checking that each run has its
// row in the ledger, and each row its run.
func started(t *testing.T, db *store.Store) map[string]string {
	t.Helper()
	var rows, runs [][2]string
	for {
		// Runs are read between two equal readings of the ledger: a server may write meanwhile.
		before := ledgerOf(t, db)
		runs = runsOfSchedules(t, db)
		if rows = ledgerOf(t, db); len(before) == len(rows) {
			break
		}
	}
	of := map[string]string{}
	for _, row := range rows {
		if of[row[0]] != "" {
			t.Fatalf("a time of schedule %s was decided twice", row[0])
		}
		of[row[0]] = row[1]
	}
	if len(runs) != len(rows) {
		t.Fatalf("%d runs and %d rows in the ledger", len(runs), len(rows))
	}
	for _, run := range runs {
		if of[run[0]] != run[1] {
			t.Fatalf("schedule %s: the ledger names run %q, and run %q exists", run[0], of[run[0]], run[1])
		}
	}
	return of
}

var everyone = store.Viewer{Team: store.DefaultTeam, All: true}

func ledgerOf(t *testing.T, db *store.Store) (rows [][2]string) {
	t.Helper()
	for q := (store.OccurrenceQuery{Kind: store.OccurrenceTick, Limit: 100}); ; {
		list, next, err := db.Occurrences.List(t.Context(), everyone, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			if o.Fate == store.FateMissed { // the machine was busy for a minute; one start catches up on it
				continue
			}
			if o.Fate != store.FateStarted || len(o.RunIDs) != 1 {
				t.Fatalf("a time of schedule %s has the fate %+v", o.ScheduleID, o)
			}
			rows = append(rows, [2]string{o.ScheduleID, o.RunIDs[0]})
		}
		if q.Cursor = next; next == "" {
			return rows
		}
	}
}

func runsOfSchedules(t *testing.T, db *store.Store) (runs [][2]string) {
	t.Helper()
	for q := (penstock.RunQuery{Limit: 100}); ; {
		list, err := db.Runs.List(t.Context(), everyone, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Rows {
			runs = append(runs, [2]string{r.Schedule.ID, r.ID})
		}
		if !list.More {
			return runs
		}
		q.Cursor = list.After(len(list.Rows))
	}
}
