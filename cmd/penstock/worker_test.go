package main_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// startWorker starts a worker with its own key, and stops it with the test.
func startWorker(t *testing.T, s *testkit.Server, args ...string) *testkit.Worker {
	t.Helper()
	return startWorkerWith(t, s, nil, args...)
}

// startWorkerWith is startWorker with more environment variables.
func startWorkerWith(t *testing.T, s *testkit.Server, env []string, args ...string) *testkit.Worker {
	t.Helper()
	return s.Worker(t, testkit.WorkerOptions{Args: args, Env: env})
}

// A worker executes the queue of a server without a worker. When it stops, it requeues its active
// runs.
func TestWorkerOnAnotherMachine(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env := client(s)
	worker := startWorker(t, s, "--host", "box")
	call(t, env, "run", "create", "look around", "--worker-host", "box", "--wait").want(t, 0, "SUCCEEDED")
	id := startRun(t, env, "demo: run sleep 600", "--worker-host", "box")
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, "INPROGRESS") })
	worker.Stop()
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, "QUEUED") })
	call(t, env, "run", "cancel", id).want(t, 0)
	if log := worker.Logs(); strings.Contains(log, "psk_") {
		t.Errorf("the log shows the key: %s", log)
	}
}

func TestWorkerNeedsAKeyForIt(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	key := strings.TrimSpace(call(t, client(s), "key", "create", "ci", "--scope", "runs:read").out)
	call(t, []string{"PENSTOCK_API_KEY=" + key}, "worker", "--server", s.URL).want(t, 77, "--scope worker")
	call(t, []string{"PENSTOCK_API_KEY=" + someKey}, "worker", "--server", s.URL).want(t, 77, "authentication_required")
	call(
		t, []string{"PENSTOCK_API_KEY=" + someKey}, "worker", "--server", "http://192.0.2.1",
	).want(t, 64, "plain HTTP would expose")
	call(t, nil, "worker").want(t, 64, "--server")
}
