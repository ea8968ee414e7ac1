package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// launched claims the next run as a launcher does, and returns its lease and a file with it.
func launched(t *testing.T, s *testkit.Server) (penstock.Lease, string) {
	t.Helper()
	key := strings.TrimSpace(call(t, client(s), "key", "create", "launcher", "--scope", "worker").out)
	control, err := httpapi.NewClient(httpapi.ClientOptions{Server: s.URL, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	a, err := control.Claim(t.Context(), penstock.ClaimRequest{
		WorkerID: "launcher", Host: "cluster", Harnesses: []string{penstock.HarnessBuiltin}, Capacity: 1, Launch: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(a.Lease)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "lease")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return a.Lease, file
}

// ended waits for the worker's own end, and requires its exit code and words of its log.
func ended(t *testing.T, w *testkit.Worker, code int, words ...string) {
	t.Helper()
	if got := w.ExitCode(); got != code {
		t.Errorf("the worker ended with %d, want %d: %s", got, code, w.Logs())
	}
	for _, word := range words {
		if !strings.Contains(w.Logs(), word) {
			t.Errorf("the log lacks %q: %s", word, w.Logs())
		}
	}
}

func TestWorkerExecutesOneRunAndExits(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env := client(s)
	first, second := startRun(t, env, "one"), startRun(t, env, "two")
	ended(t, startWorker(t, s, "--once"), 0)
	if err := inState(t, env, first, "SUCCEEDED"); err != nil {
		t.Error(err)
	}
	if err := inState(t, env, second, "QUEUED"); err != nil {
		t.Error(err)
	}
	// A run that fails is reported like any other.
	call(t, env, "run", "cancel", second).want(t, 0)
	failing := startRun(t, env, "demo: fail on purpose")
	ended(t, startWorker(t, s, "--once"), 0)
	if err := inState(t, env, failing, "QUEUED"); err == nil {
		t.Error("the failing run was not executed")
	}
}

func TestWorkerTakesOverALaunchedRun(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env := client(s)
	id := startRun(t, env, "one")
	lease, file := launched(t, s)
	w := startWorker(t, s, "--once", "--lease-file", file, "--host", "pod-1")
	ended(t, w, 0)
	if strings.Contains(w.Logs(), lease.Token) {
		t.Errorf("the log shows the token: %s", w.Logs())
	}
	if err := inState(t, env, id, "SUCCEEDED"); err != nil {
		t.Error(err)
	}
	ended(t, startWorker(t, s, "--once", "--lease-file", file), 65, id, "waits for this worker no more")

	for name, content := range map[string]string{"empty": "", "other": `{"secret":"psk_x"}`} {
		bad := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(bad, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		w := startWorker(t, s, "--once", "--lease-file", bad)
		ended(t, w, 78, "has no lease")
		if strings.Contains(w.Logs(), "psk_x") {
			t.Errorf("the log quotes the file: %s", w.Logs())
		}
	}
	ended(t, startWorker(t, s, "--lease-file", file), 64, "--lease-file needs --once")
}

// SIGTERM, as when a Pod is evicted, returns the run to the queue.
func TestStoppedWorkerOfOneRunReturnsIt(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env := client(s)
	id := startRun(t, env, "demo: run sleep 600")
	_, file := launched(t, s)
	w := startWorker(t, s, "--once", "--lease-file", file)
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, "INPROGRESS") })
	w.Signal(syscall.SIGTERM)
	ended(t, w, 0)
	if err := inState(t, env, id, "QUEUED"); err != nil {
		t.Error(err)
	}
	call(t, env, "run", "cancel", id).want(t, 0)
}
