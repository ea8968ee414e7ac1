package worker_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

func (w *world) interrupt(id string) {
	w.t.Helper()
	if _, err := w.Runs.Interrupt(w.t.Context(), w.admin, id); err != nil {
		w.t.Fatal(err)
	}
}

// has waits for a timeline event.
func (w *world) has(id, moment string) {
	w.t.Helper()
	testkit.Eventually(w.t, timeout, func() error {
		if timeline := w.timelineTypes(id); count(timeline, moment) == 0 {
			return fmt.Errorf("no %s: %v", moment, timeline)
		}
		return nil
	})
}

// An interrupt ends only the agent's turn and the processes of that turn: the same agent continues
// with the next follow-up.
func TestInterruptEndsTheTurnAndKeepsTheAgent(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		mark := marker()
		id := w.create(penstock.RunRequest{}, "demo: say one", "demo: run sleep 1000; : "+mark, "demo: say never")
		w.start(in(box))
		testkit.Eventually(t, timeout, func() error {
			if len(processes(mark)) == 0 {
				return fmt.Errorf("the command is not running yet")
			}
			return nil
		})
		w.interrupt(id)
		w.has(id, "turn_interrupted")
		if left := processes(mark); len(left) > 0 {
			t.Errorf("still there: %q", left)
		}
		if run := w.get(id); run.State != penstock.StateInProgress {
			t.Errorf("the run is %s while it waits for what to do instead", run.State)
		}
		if _, err := w.Runs.Interrupt(t.Context(), w.admin, id); err != nil { // the same turn's, again
			t.Errorf("an interrupt that is sent again: %v", err)
		}
		w.followUp(id, "demo: say two")
		w.becomes(id, penstock.StateSucceeded)
		timeline := w.timelineTypes(id)
		for moment, want := range map[string]int{
			"agent_started": 1, "run_claimed": 1, "interrupt_requested": 1, "turn_interrupted": 1, "vm_shutdown": 1,
			"followup_delivered": 1,
		} {
			if got := count(timeline, moment); got != want {
				t.Errorf("%d times %s, want %d: %v", got, moment, want, timeline)
			}
		}
		texts := strings.Join(w.texts(id, "assistant"), "\n")
		if !strings.Contains(texts, "one") || !strings.Contains(texts, "two") || strings.Contains(texts, "never") {
			t.Errorf("said: %s", texts)
		}
	})
}

// If a follow-up is pending, the agent continues with it at once.
func TestInterruptedAgentContinuesWithTheNextFollowup(t *testing.T) {
	w := newWorld(t)
	id := w.create(penstock.RunRequest{}, "demo: run touch ready; sleep 1000")
	var dir string
	w.start(func(o *worker.Options) { dir = o.Dir })
	testkit.Eventually(t, timeout, func() error { _, err := os.Stat(dir + "/runs/" + id + "/work/ready"); return err })
	w.followUp(id, "demo: say instead")
	w.interrupt(id)
	run := w.becomes(id, penstock.StateSucceeded)
	if texts := strings.Join(w.texts(id, "assistant"), "\n"); !strings.Contains(texts, "instead") || run.ExecutionID != 1 {
		t.Errorf("execution %d said: %s", run.ExecutionID, texts)
	}
}

// Without a follow-up, the run waits without a slot, and its session is saved.
func TestInterruptedRunIsBlockedInTheEnd(t *testing.T) {
	w := newWorld(t)
	id := w.create(penstock.RunRequest{}, "demo: say first", "demo: run touch ready; sleep 1000")
	var dir string
	wk, _ := w.start(func(o *worker.Options) { dir, o.IdleTime = o.Dir, time.Second })
	testkit.Eventually(t, timeout, func() error { _, err := os.Stat(dir + "/runs/" + id + "/work/ready"); return err })
	w.interrupt(id)
	run := w.becomes(id, penstock.StateBlocked)
	if run.StatusMessage == nil || run.StatusMessage.Message != penstock.Interrupted {
		t.Errorf("it is blocked for %+v", run.StatusMessage)
	}
	testkit.Eventually(t, timeout, func() error {
		if n := wk.Busy(); n != 0 {
			return fmt.Errorf("%d slots are in use", n)
		}
		return nil
	})
	if _, err := w.Runs.Interrupt(t.Context(), w.admin, id); penstock.CodeOf(err) != penstock.CodeConflict {
		t.Errorf("there is something to interrupt: %v", err)
	}
	w.followUp(id, "demo: say second")
	w.becomes(id, penstock.StateSucceeded)
	started := w.payloads(id, "agent_started")
	if len(started) != 2 || started[1]["session"] != "loaded" {
		t.Errorf("sessions: %v", started)
	}
	if n := count(w.timelineTypes(id), "followup_undelivered"); n != 0 {
		t.Errorf("%d follow-ups were not delivered", n)
	}
}

// If the worker stops while the interrupted agent waits, the run stays waiting instead of being
// done.
func TestInterruptedRunIsBlockedWhenTheWorkerStops(t *testing.T) {
	w := newWorld(t)
	id := w.create(penstock.RunRequest{}, "demo: run touch ready; sleep 1000")
	var dir string
	_, stop := w.start(func(o *worker.Options) { dir = o.Dir })
	testkit.Eventually(t, timeout, func() error { _, err := os.Stat(dir + "/runs/" + id + "/work/ready"); return err })
	w.interrupt(id)
	w.has(id, "turn_interrupted")
	stop()
	w.becomes(id, penstock.StateBlocked)
}

// An agent that ignores the interrupt is killed, and restarted for the next follow-up.
func TestInterruptOfAnUnresponsiveAgent(t *testing.T) {
	w := newWorld(t)
	w.start(in(newSandbox(t, sandbox.Bubblewrap)))
	id := w.create(
		penstock.RunRequest{Prompt: "never ends", Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}}},
	)
	w.says(id, "I begin")
	w.interrupt(id)
	w.becomes(id, penstock.StateBlocked)
	w.followUp(id, "be nice")
	w.becomes(id, penstock.StateSucceeded)
	if texts := strings.Join(w.texts(id, "assistant"), "\n"); !strings.Contains(texts, "be nice") {
		t.Errorf("said: %s", texts)
	}
}

func TestInterruptOfACommand(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	mark := marker()
	id := w.create(penstock.RunRequest{
		Prompt: "echo begun; sleep 1000; : " + mark,
		Config: &penstock.Config{Harness: &penstock.Harness{Type: penstock.HarnessCommand}},
	})
	w.says(id, `"text":"begun`)
	w.interrupt(id)
	w.has(id, "turn_interrupted")
	if left := processes(mark); len(left) > 0 {
		t.Errorf("still there: %q", left)
	}
	w.followUp(id, "echo and again")
	w.becomes(id, penstock.StateSucceeded)
}

// An interrupt of one turn does not affect the next one.
func TestInterruptAppliesToOneTurn(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	id := w.create(penstock.RunRequest{}, "demo: run echo x1; sleep 1000")
	for n := 1; n <= 3; n++ {
		w.says(id, fmt.Sprintf(`"command":"echo x%d`, n))
		w.interrupt(id)
		testkit.Eventually(t, timeout, func() error {
			if got := count(w.timelineTypes(id), "turn_interrupted"); got != n {
				return fmt.Errorf("%d turns were interrupted, want %d", got, n)
			}
			return nil
		})
		w.followUp(id, fmt.Sprintf("demo: run echo x%d; sleep 1000", n+1))
	}
	w.says(id, `"command":"echo x4`)
	w.followUp(id, "demo: say the end")
	w.interrupt(id)
	w.becomes(id, penstock.StateSucceeded)
	if diff := cmp.Diff(4, count(w.timelineTypes(id), "interrupt_requested")); diff != "" {
		t.Error(diff)
	}
}
