package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// startedWorker is a worker of its own.
type startedWorker struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	log  bytes.Buffer
}

// startWorker starts a worker with its own key, and stops it with the test.
func startWorker(t *testing.T, s *testkit.Server, args ...string) *startedWorker {
	t.Helper()
	return startWorkerWith(t, s, nil, args...)
}

// startWorkerWith is startWorker with more environment variables.
func startWorkerWith(t *testing.T, s *testkit.Server, env []string, args ...string) *startedWorker {
	t.Helper()
	keyFile := filepath.Join(t.TempDir(), "key")
	call(t, client(s), "key", "create", "box", "--scope", "worker", "--save", keyFile).want(t, 0)
	w := &startedWorker{t: t, done: make(chan struct{})}
	// Not CommandContext: the test's context ends before its cleanups.
	w.cmd = exec.Command(
		testkit.Binary(t),
		append(
			[]string{"worker", "--server", s.URL, "--key-file", keyFile, "--data", filepath.Join(t.TempDir(), "data")}, args...,
		)...,
	)
	w.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	w.cmd.Env = append(w.cmd.Env, env...)
	w.cmd.Stderr = &w.log
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = w.cmd.Wait() // the state is in ProcessState
		close(w.done)
	}()
	t.Cleanup(func() { _ = w.cmd.Process.Kill(); <-w.done })
	return w
}

// signal stops, freezes or kills the worker.
func (w *startedWorker) signal(signal syscall.Signal) {
	w.t.Helper()
	if err := w.cmd.Process.Signal(signal); err != nil {
		w.t.Fatal(err)
	}
}

// stop ends the worker gracefully.
func (w *startedWorker) stop() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	<-w.done
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		w.t.Errorf("the worker ended with %d: %s", code, w.log.String())
	}
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
	worker.stop()
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, "QUEUED") })
	call(t, env, "run", "cancel", id).want(t, 0)
	if log := worker.log.String(); strings.Contains(log, "psk_") {
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
