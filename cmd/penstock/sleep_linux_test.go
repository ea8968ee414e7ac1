package main_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// signaled is a server or a worker.
type signaled interface{ Signal(signal syscall.Signal) }

// asleep is longer than a lease.
const asleep = penstock.LeaseTime + 5*time.Second

// startNap starts a run, and returns when its command works: it says begin, takes some time, and says
// end. The mark is in its arguments.
func startNap(t *testing.T, env []string, mark string, seconds int) (id string) {
	t.Helper()
	id = startRun(t, env, fmt.Sprintf("demo: run echo begin; sleep %d; : %s; echo end", seconds, mark))
	testkit.Eventually(t, time.Minute, func() error {
		if len(processesOf(mark)) == 0 {
			return errors.New("the command does not run yet")
		}
		return nil
	})
	return id
}

// sleepAndWake stops processes for longer than a lease.
func sleepAndWake(who ...signaled) {
	for _, w := range who {
		w.Signal(syscall.SIGSTOP)
	}
	<-time.After(asleep)
	for _, w := range who {
		w.Signal(syscall.SIGCONT)
	}
}

// A laptop sleeps while a run works. Whichever part sleeps, the run continues if nobody else has taken it.
func TestRunSurvivesASleep(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	for name, sleepers := range map[string]func(*testing.T, *testkit.Server) []signaled{
		"of the server with its worker": func(_ *testing.T, s *testkit.Server) []signaled { return []signaled{s} },
		"of a worker": func(t *testing.T, s *testkit.Server) []signaled {
			return []signaled{startWorker(t, s)}
		},
		"of the server alone": func(t *testing.T, s *testkit.Server) []signaled {
			startWorker(t, s)
			return []signaled{s}
		},
		"of both": func(t *testing.T, s *testkit.Server) []signaled { return []signaled{startWorker(t, s), s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.Engines(t, func(t *testing.T, database string) {
				o := testkit.ServeOptions{Database: database}
				if name != "of the server with its worker" {
					o.Args = []string{"--no-worker"}
				}
				s := testkit.Serve(t, o)
				who, env, mark := sleepers(t, s), client(s), penstock.NewID()
				id := startNap(t, env, mark, 12)
				sleepAndWake(who...)
				testkit.Eventually(t, time.Minute, func() error { return inState(t, env, id, penstock.StateSucceeded) })
				happens(t, s, id, "run_claimed", 1)
				said := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/conversation", "").body)
				if strings.Count(said, `"output":"begin`) != 1 || !strings.Contains(said, "end") {
					t.Errorf("the run says %s", said)
				}
			})
		})
	}
}

// While a worker sleeps, another one takes its run. The first one wakes, and does not continue.
func TestSleepingWorkerLosesItsRunToAnother(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker"}})
		env, mark := client(s), penstock.NewID()
		first := startWorker(t, s)
		id := startNap(t, env, mark, 30) // it is frozen after twenty
		first.Signal(syscall.SIGSTOP)
		startWorker(t, s)
		testkit.Eventually(t, 2*time.Minute, func() error { return inState(t, env, id, penstock.StateSucceeded) })
		happens(t, s, id, "run_claimed", 2)
		left := processesOf(mark)
		first.Signal(syscall.SIGCONT)
		testkit.Eventually(t, timeout, func() error {
			if now := processesOf(mark); len(now) > 0 {
				return fmt.Errorf("processes of the first worker: %q, before it woke: %q", now, left)
			}
			return nil
		})
		if len(left) == 0 {
			t.Error("the first worker had no process of the run left, so the test proves nothing")
		}
		happens(t, s, id, "run_claimed", 2)
	})
}
