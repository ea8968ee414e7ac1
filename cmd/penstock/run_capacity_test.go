package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Runs that no connected worker can execute do not count against the capacity of other workers.
func TestPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(
			t,
			testkit.ServeOptions{
				Database: database,
				Args: []string{
					"--concurrency", "1", "--sandbox", "process", "--allow-open-network", "--demo-directives",
				},
			},
		)
		create := func(body string) (created run.Created) {
			t.Helper()
			if err := json.Unmarshal(send(t, s, http.MethodPost, "/agent/runs", body).body, &created); err != nil {
				t.Fatal(err)
			}
			return created
		}
		get := func(id string) (run penstock.Run) {
			t.Helper()
			if err := json.Unmarshal(send(t, s, http.MethodGet, "/agent/runs/"+id, "").body, &run); err != nil {
				t.Fatal(err)
			}
			return run
		}
		first := create(`{"prompt": "demo: say hello"}`)
		if first.AtCapacity {
			t.Error("the first run of a server that is ready is told that nobody can take it")
		}
		testkit.Eventually(t, time.Minute, func() error {
			if run := get(first.ID); run.State != penstock.StateSucceeded {
				return fmt.Errorf("the first run is %s", run.State)
			}
			return nil
		})
		for range 3 {
			if created := create(`{"prompt": "p", "config": {"worker_host": "elsewhere"}}`); !created.AtCapacity {
				t.Error("a run for a host that is not there is told that it has a slot")
			}
		}
		sleeps := create(`{"prompt": "demo: run sleep 300"}`)
		if sleeps.AtCapacity {
			t.Error("a free worker is full because of runs for another host")
		}
		var waiting []string
		for range 2 {
			created := create(`{"prompt": "p"}`)
			if !created.AtCapacity {
				t.Error("a worker that is full has a slot")
			}
			waiting = append(waiting, created.ID)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if run := get(sleeps.ID); run.State == penstock.StateQueued {
				return fmt.Errorf("the run that fills the worker still waits, at position %d", run.QueuePosition)
			}
			return nil
		})
		var page run.Page
		if err := json.Unmarshal(send(t, s, http.MethodGet, "/agent/runs?state=QUEUED", "").body, &page); err != nil {
			t.Fatal(err)
		}
		listed := map[string]int{}
		for _, run := range page.Runs {
			listed[run.ID] = run.QueuePosition
		}
		for i, id := range waiting {
			if run, want := get(id), i+1; run.QueuePosition != want || listed[id] != want {
				t.Errorf("run %d waits at position %d, in the list at %d", want, run.QueuePosition, listed[id])
			}
		}
	})
}

// run create names the harness for which the run waits, and why no worker can run it.
func TestReasonsWhyANewRunWaits(t *testing.T) {
	t.Parallel()
	t.Run("the harness is not installed", func(t *testing.T) {
		t.Parallel()
		s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--sandbox", "process", "--allow-open-network"}})
		env := []string{"PENSTOCK_BASE_URL=" + s.URL, "PENSTOCK_API_KEY=" + s.Key}
		call(t, env, "run", "create", "x", "--harness", "opencode").want(
			t, 0, "no worker can run opencode yet: the run waits in the queue. No connected worker has it: "+
				"install it with penstock harness install opencode.",
		)
		call(t, env, "run", "create", "x", "--worker-host", "elsewhere").want(
			t, 0, "no worker is free: the run waits in the queue",
		)
	})
	t.Run("it is being checked", func(t *testing.T) {
		t.Parallel()
		s := script(
			t, responds(200, strings.Replace(created, `}`, `,"at_capacity":true}`, 1)),
			responds(200, strings.Replace(created, `}`, `,"agent_config":{"harness":{"type":"claude"}}}`, 1)),
			responds(200, `{"harnesses":[{"name":"claude","usable":false,"reason":"It is being checked."}]}`),
		)
		call(t, s.env(), "run", "create", "x").want(
			t, 0, "no worker can run claude yet: the run waits in the queue. It is being checked.",
		)
	})
}
