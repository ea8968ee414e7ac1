package main_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// connected returns the control plane of s, as a worker with a key of its own sees it.
func connected(t *testing.T, s *testkit.Server) *httpapi.Client {
	t.Helper()
	key := strings.TrimSpace(call(t, client(s), "key", "create", "worker", "--scope", "worker").out)
	control, err := httpapi.NewClient(httpapi.ClientOptions{Server: s.URL, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return control
}

// A harness that a connected worker gets later is usable from then on: run create follows each step, and the run that
// waited is executed.
func TestAHarnessBecomesReadyAfterTheStart(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker"}})
		env, control := client(s), connected(t, s)
		report := func(harnesses []string, agents ...penstock.AgentState) (penstock.Assignment, error) {
			return control.Claim(t.Context(), penstock.ClaimRequest{
				WorkerID: "one", Host: "here", Harnesses: append(harnesses, penstock.HarnessBuiltin), Agents: agents, Capacity: 1,
			})
		}
		says := func(step string, harnesses []string, want string, agents ...penstock.AgentState) {
			t.Helper()
			if _, err := report(harnesses, agents...); !errors.Is(err, penstock.ErrNoWork) {
				t.Fatalf("%s: the worker got %v, want no work", step, err)
			}
			got := call(t, env, "run", "create", "x", "--harness", "codex")
			got.want(t, 0)
			text := got.out + got.err
			waits := strings.Contains(text, "no worker can run codex")
			if waits != (want != "") || !strings.Contains(text, want) {
				t.Errorf("%s: got %s, want %q", step, text, want)
			}
			id, _, _ := strings.Cut(got.out, "\n")
			call(t, env, "run", "cancel", strings.TrimSpace(id)).want(t, 0)
		}
		codex := penstock.AgentState{Name: "codex", Version: "2.0.0"}
		checked, broken := codex, codex
		checked.Reason, broken.Reason = "It is being checked.", "Its check failed: it does not start."
		says("before it is installed", nil, "install it with penstock harness install codex.")
		says("while it is checked", nil, "It is being checked.", checked)
		says("its check failed", nil, "Its check failed: it does not start.", broken)
		says("ready", []string{"codex"}, "", codex)
		says("removed", nil, "install it with penstock harness install codex.")
		waiting := startRun(t, env, "x", "--harness", "codex")
		if a, err := report([]string{"codex"}, codex); err != nil || a.Lease.RunID != waiting {
			t.Errorf("ready again: the worker got the run %q, %v; want %s", a.Lease.RunID, err, waiting)
		}
	})
}
