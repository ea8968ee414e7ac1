package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// An agent hangs while its worker lives. Both servers of one database are there, and one is killed
// around the announcement. The run stalls once, and the run of an environment that says so is
// cancelled, with its processes.
func TestKillAnnouncesAStallOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: noWorker})
		other := s
		if strings.HasPrefix(database, "postgres") {
			other = s.Replica(testkit.ServeOptions{Args: noWorker})
		}
		startWorker(t, other)
		env := client(other)
		var environment penstock.Environment
		got := send(t, s, http.MethodPost, "/agent/environments", `{"name": "strict", "on_stall": "cancel"}`)
		if err := json.Unmarshal(got.body, &environment); err != nil || environment.UID == "" {
			t.Fatalf("got %d: %s", got.status, got.body)
		}
		kept := startNap(t, env, penstock.NewID(), 100_000)
		mark := penstock.NewID()
		id := startRun(t, env, "--environment", environment.UID,
			fmt.Sprintf("demo: run echo begin; sleep 100000; : %s; echo end", mark))
		testkit.Eventually(t, time.Minute, func() error { return inState(t, env, id, penstock.StateInProgress) })
		testkit.Eventually(t, time.Minute, func() error {
			if len(processesOf(mark)) == 0 {
				return errors.New("the command does not run yet")
			}
			return nil
		})
		for _, run := range []string{kept, id} { // its last event: a later one would end the stall
			testkit.Eventually(t, time.Minute, func() error {
				if log := call(t, env, "run", "logs", run, "--raw").out; !strings.Contains(log, `"action_result"`) {
					return fmt.Errorf("the output of run %s is not in its log: %s", run, log)
				}
				return nil
			})
		}
		// A lease that was renewed late, on a slow machine, would begin the time anew.
		silent := func() {
			testkit.Exec(t, database, "UPDATE runs SET progress_at = 1 WHERE state = 'INPROGRESS'")
			testkit.Exec(t, database, "UPDATE queue SET back_at = 0")
		}
		silent()
		s.Kill9()
		s.Restart()
		testkit.Eventually(t, time.Minute, func() error {
			silent()
			return inState(t, env, id, penstock.StateCancelled)
		})
		testkit.Eventually(t, time.Minute, func() error {
			silent()
			if got := call(t, env, "run", "get", kept, "-o", "json"); !strings.Contains(got.out, `"stalled"`) {
				return fmt.Errorf("run %s has not stalled", kept)
			}
			return nil
		})
		testkit.Eventually(t, time.Minute, func() error {
			if n := len(processesOf(mark)); n > 0 {
				return fmt.Errorf("%d processes of the cancelled run are left", n)
			}
			return nil
		})
		call(t, env, "run", "get", id).want(t, 0, "because the run had stalled")
		call(t, env, "run", "get", kept).want(t, 0, "the last event was")
		call(t, env, "run", "list").want(t, 0, "INPROGRESS (stalled)")
		call(t, env, "run", "cancel", kept).want(t, 0)
		for _, run := range []string{id, kept} {
			happens(t, other, run, penstock.TimelineStalled, 1)
			happens(t, other, run, "run_cancelled", 1)
		}
	})
}
