package harness_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// gone is the longest time from a cancel until nothing of the run is left. The machine may be busy
// with other things, so a cancel that takes longer is repeated: an agent that needs more time needs
// it each time.
const (
	gone        = time.Second
	cancelTries = 8
)

// testCancels cancels a run in each phase.
func testCancels(t *testing.T, s *suite) {
	says := harness.ScriptedTurn{Text: spoken}
	silent := func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }
	stuck := func(r *http.Request) { <-r.Context().Done() }
	for _, phase := range []struct {
		name  string
		model func() *failing
		begun func(j *job, m *failing) error
	}{
		{"starting", func() *failing { return &failing{fail: silent} }, func(j *job, _ *failing) error {
			if !strings.Contains(j.timeline(), penstock.TimelineSandboxReady) {
				return errors.New("the sandbox is not ready")
			}
			return nil
		}},
		{"thinking", func() *failing { return &failing{fail: silent} }, func(_ *job, m *failing) error {
			if m.calls.Load() == 0 {
				return errors.New("the model was not called")
			}
			return nil
		}},
		{
			"streaming", func() *failing {
				return &failing{fail: halfway(stuck), model: harness.ScriptedModel{Turns: []harness.ScriptedTurn{says}}}
			},
			func(_ *job, m *failing) error {
				if m.calls.Load() == 0 {
					return errors.New("the model was not called")
				}
				return nil
			},
		},
		{
			"in a tool call",
			func() *failing {
				return &failing{times: -1, model: harness.ScriptedModel{
					Turns: []harness.ScriptedTurn{s.command("touch begun; tail -f /dev/null"), says},
				}}
			},
			func(j *job, _ *failing) error {
				_, err := os.Stat(filepath.Join(s.worker.Data, "work", "runs", j.id, "work", "begun"))
				return err
			},
		},
	} {
		t.Run(phase.name, func(t *testing.T) {
			for try := 1; ; try++ {
				model := phase.model()
				j := s.start(t, model, map[string]any{"prompt": "Work."})
				testkit.Eventually(t, 2*time.Minute, func() error { return phase.begun(j, model) })
				took := j.cancel()
				t.Logf("after %s, nothing was left", took.Round(10*time.Millisecond))
				if took <= gone {
					return
				}
				if try == cancelTries {
					t.Fatalf("%d cancels took longer than %s", try, gone)
				}
			}
		})
	}
}

// cancel cancels the run, and returns how long it took until nothing of it was left.
func (j *job) cancel() time.Duration {
	j.t.Helper()
	begin := time.Now()
	j.call(http.MethodPost, "/agent/runs/"+j.id+"/cancel", map[string]any{}, nil)
	if run := j.get(); run.State != penstock.StateCancelled {
		j.t.Errorf("the run is %s", run.State)
	}
	testkit.Eventually(j.t, 10*time.Second, func() error { return leftOf(j.id) })
	return time.Since(begin)
}

// leftOf returns an error while a process of a run exists, which has the run's id in its
// environment or its command line.
func leftOf(id string) error {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline")) // the process may have ended
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		if strings.Contains(string(line)+string(env), id) {
			return fmt.Errorf("a process is left: %s", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return nil
}
