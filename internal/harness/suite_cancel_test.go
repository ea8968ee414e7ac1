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
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/trial"
)

// gone bounds the time from a cancel until nothing of the run is left, on a machine that does other
// things, too. An agent that does not stop by itself within cancelTime would exceed it.
const gone = 3 * time.Second

// testCancels cancels a run in each phase.
func testCancels(t *testing.T, s *suite) {
	says := trial.Turn{Text: spoken}
	silent := func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }
	stuck := func(r *http.Request) { <-r.Context().Done() }
	for _, phase := range []struct {
		name  string
		model *failing
		begun func(j *job, m *failing) error
	}{
		{"starting", &failing{fail: silent}, func(j *job, _ *failing) error {
			if !strings.Contains(j.timeline(), penstock.TimelineSandboxReady) {
				return errors.New("the sandbox is not ready")
			}
			return nil
		}},
		{"thinking", &failing{fail: silent}, func(_ *job, m *failing) error {
			if m.calls.Load() == 0 {
				return errors.New("the model was not called")
			}
			return nil
		}},
		{
			"streaming", &failing{fail: halfway(stuck), model: trial.Model{Turns: []trial.Turn{says}}},
			func(_ *job, m *failing) error {
				if m.calls.Load() == 0 {
					return errors.New("the model was not called")
				}
				return nil
			},
		},
		{
			"in a tool call",
			&failing{times: -1, model: trial.Model{Turns: []trial.Turn{s.command("touch begun; tail -f /dev/null"), says}}},
			func(j *job, _ *failing) error {
				_, err := os.Stat(filepath.Join(s.worker.Data, "work", "runs", j.id, "work", "begun"))
				return err
			},
		},
	} {
		t.Run(phase.name, func(t *testing.T) {
			j := s.start(t, phase.model, map[string]any{"prompt": "Work."})
			testkit.Eventually(t, 2*time.Minute, func() error { return phase.begun(j, phase.model) })
			begin := time.Now()
			j.call(http.MethodPost, "/agent/runs/"+j.id+"/cancel", map[string]any{}, nil)
			if run := j.get(); run.State != penstock.StateCancelled {
				t.Errorf("the run is %s", run.State)
			}
			testkit.Eventually(t, gone, func() error { return leftOf(j.id) })
			t.Logf("after %s, nothing was left", time.Since(begin).Round(10*time.Millisecond))
		})
	}
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
