package worker_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

func TestFollowupsAreDeliveredToTheLiveAgent(t *testing.T) {
	w := newWorld(t)
	id := w.create(penstock.RunRequest{}, "demo: say one", "demo: run touch ready; while [ ! -e go ]; do sleep 0.05; done")
	var dir string
	w.start(func(o *worker.Options) { dir = o.Dir })
	work := dir + "/runs/" + id + "/work"
	testkit.Eventually(t, timeout, func() error { _, err := os.Stat(work + "/ready"); return err })
	w.followUp(id, "demo: say two")
	w.followUp(id, "demo: say three")
	if err := os.WriteFile(work+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w.becomes(id, penstock.StateSucceeded)
	var said []string
	for _, text := range w.texts(id, "assistant") {
		for _, word := range []string{"one", "two", "three"} {
			if strings.HasSuffix(strings.TrimSpace(text), word) {
				said = append(said, word)
			}
		}
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, said); diff != "" {
		t.Errorf("said (-want +got):\n%s\n%q", diff, w.texts(id, "assistant"))
	}
	timeline := w.timelineTypes(id)
	for moment, want := range map[string]int{
		"agent_started": 1, "vm_shutdown": 1, "followup_delivered": 2, "run_claimed": 1,
	} {
		if got := count(timeline, moment); got != want {
			t.Errorf("%d times %s, want %d: %v", got, moment, want, timeline)
		}
	}
}

// After a run has ended, a follow-up finds its files and the agent's memory on any worker.
func TestFollowupAfterTheEndContinuesTheRun(t *testing.T) {
	for name, elsewhere := range map[string]bool{"on the same worker": false, "on another worker": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			id := w.create(penstock.RunRequest{}, "demo: say first", "demo: write notes.txt remember this")
			_, stop := w.start(nil)
			w.becomes(id, penstock.StateSucceeded)
			if elsewhere {
				stop()
				w.start(nil)
			}
			w.followUp(id, "demo: run cat notes.txt; ls $HOME/state")
			run := w.becomes(id, penstock.StateSucceeded)
			if run.ExecutionID != 2 {
				t.Errorf("it is execution %d", run.ExecutionID)
			}
			outputs := strings.Join(w.outputs(id, "run_command"), "")
			if !strings.Contains(outputs, "remember this") {
				t.Errorf("the files were not found: %s", outputs)
			}
			types := w.timelineTypes(id)
			if reused, restored := count(types, "workspace_reused"), count(types, "workspace_restored"); reused+restored != 1 ||
				(restored == 1) != elsewhere {
				t.Errorf("%d times workspace_reused, %d times workspace_restored", reused, restored)
			}
			started := w.payloads(id, "agent_started")
			if len(started) != 2 || started[0]["session"] != "new" || started[1]["session"] != "loaded" {
				t.Errorf("sessions: %v", started)
			}
			if texts := strings.Join(w.texts(id, "assistant"), "\n"); strings.Count(texts, "first") != 1 {
				t.Errorf("what was said before is said again: %s", texts)
			}
		})
	}
}

// If a session cannot be restored, the agent loses its memory of details, but not the conversation.
func TestDamagedSessionGetsTheConversation(t *testing.T) {
	w := newWorld(t)
	id := w.create(penstock.RunRequest{}, "demo: say the word is mellon")
	_, stop := w.start(nil)
	w.becomes(id, penstock.StateSucceeded)
	stop()
	w.plane.set(func(c *plane) { c.opened = "this is no archive" })
	w.start(nil)
	w.followUp(id, "what was the word?")
	testkit.Eventually(t, timeout, func() error {
		if run := w.get(id); run.ExecutionID != 2 || run.State != penstock.StateSucceeded {
			return fmt.Errorf("%s %+v", run.State, run.StatusMessage)
		}
		return nil
	})
	if started := w.payloads(id, "agent_started"); started[1]["session"] != "new" {
		t.Errorf("the second session is %v", started[1]["session"])
	}
	// The demonstration writes its prompts to a file.
	if summary := w.artifact(id); !strings.Contains(summary, "mellon") {
		t.Errorf("the agent was told %q", summary)
	}
}

func TestQuestionBlocksUntilItIsAnswered(t *testing.T) {
	w := newWorld(t)
	id := w.create(penstock.RunRequest{}, "demo: ask Which color?", "demo: say thanks")
	wk, _ := w.start(nil)
	run := w.becomes(id, penstock.StateBlocked)
	if run.StatusMessage == nil || run.StatusMessage.Message != "Which color?" {
		t.Errorf("the question is %+v", run.StatusMessage)
	}
	testkit.Eventually(t, timeout, func() error {
		if n := wk.Busy(); n != 0 {
			return fmt.Errorf("%d slots are in use", n)
		}
		return nil
	})
	types := w.timelineTypes(id)
	if diff := cmp.Diff([]string{"vm_shutdown", "run_blocked"}, types[len(types)-2:]); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	w.followUp(id, "blue")
	w.becomes(id, penstock.StateSucceeded)
	if texts := strings.Join(w.texts(id, "assistant"), "\n"); !strings.Contains(texts, "thanks") {
		t.Errorf("after the answer: %s", texts)
	}
}

func TestInteractiveRunStaysOpen(t *testing.T) {
	w := newWorld(t)
	yes := true
	_, stop := w.start(func(o *worker.Options) { o.IdleTime = time.Hour })
	id := w.create(penstock.RunRequest{Interactive: &yes}, "demo: say one")
	w.says(id, `"text":"All directives are done."`)
	w.followUp(id, "demo: say two")
	w.says(id, `"text":"two"`)
	if run := w.get(id); run.State != penstock.StateInProgress || run.ExecutionID != 1 {
		t.Errorf("the run is %s, execution %d, while it is kept open", run.State, run.ExecutionID)
	}
	stop()
	w.becomes(id, penstock.StateSucceeded)
	if n := count(w.timelineTypes(id), "agent_started"); n != 1 {
		t.Errorf("the agent was started %d times", n)
	}
}

func TestInteractiveRunEndsAfterItsIdleTime(t *testing.T) {
	w := newWorld(t)
	yes := true
	w.start(func(o *worker.Options) { o.IdleTime = time.Second })
	id := w.create(penstock.RunRequest{Interactive: &yes}, "demo: say one")
	w.becomes(id, penstock.StateSucceeded)
	if n := count(w.timelineTypes(id), "agent_started"); n != 1 {
		t.Errorf("the agent was started %d times", n)
	}
}

// A worker that stops while an interactive run is idle ends the run successfully, because no work
// is pending.
func TestIdleRunSucceedsWhenTheWorkerStops(t *testing.T) {
	w := newWorld(t)
	yes := true
	_, stop := w.start(nil)
	id := w.create(penstock.RunRequest{Interactive: &yes}, "demo: say one")
	w.says(id, `"text":"All directives are done."`)
	testkit.Eventually(t, timeout, func() error {
		w.plane.mu.Lock()
		defer w.plane.mu.Unlock()
		if len(w.plane.finished) == 0 {
			return fmt.Errorf("the turn is not ended yet")
		}
		return nil
	})
	stop()
	w.becomes(id, penstock.StateSucceeded)
}

func TestCancelEndsTheWholeTree(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		mark := marker()
		wk, _ := w.start(in(box))
		id := w.create(
			penstock.RunRequest{},
			"demo: run (setsid sh -c 'sleep 1000; : "+mark+"' &) ; nohup sh -c 'trap \"\" TERM INT HUP; sleep 1000; : "+mark+
				"' & sleep 1000; : "+mark,
		)
		testkit.Eventually(t, timeout, func() error {
			if n := len(processes(mark)); n < 3 {
				return fmt.Errorf("%d processes", n)
			}
			return nil
		})
		begin := time.Now()
		if _, err := w.Runs.Cancel(t.Context(), w.admin, id, false); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if left := processes(mark); len(left) > 0 {
				return fmt.Errorf("still there: %q", left)
			}
			return nil
		})
		t.Logf("gone after %v", time.Since(begin))
		if run := w.get(id); run.State != penstock.StateCancelled {
			t.Errorf("the run is %s", run.State)
		}
		testkit.Eventually(t, timeout, func() error {
			if wk.Busy() != 0 {
				return fmt.Errorf("the slot is not free")
			}
			return nil
		})
	})
}

// An agent that ignores the request is killed all the same.
func TestCancelOfAnUnresponsiveAgent(t *testing.T) {
	w := newWorld(t)
	wk, _ := w.start(in(newSandbox(t, sandbox.Bubblewrap)))
	id := w.create(
		penstock.RunRequest{Prompt: "never ends", Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}}},
	)
	w.says(id, "I begin")
	if _, err := w.Runs.Cancel(t.Context(), w.admin, id, false); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if wk.Busy() != 0 {
			return fmt.Errorf("the slot is not free")
		}
		return nil
	})
}

func TestLimitsEndTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		req     penstock.RunRequest
		claimed func(*penstock.Assignment)
		want    penstock.StatusMessage
	}{
		"time": {
			penstock.RunRequest{Prompt: "demo: run sleep 1000", Config: &penstock.Config{MaxDurationMinutes: new(7)}},
			func(a *penstock.Assignment) { a.TimeLimit = 2 * time.Second },
			penstock.StatusMessage{
				Message: "The run was stopped because it worked for as long as max_duration_minutes (7) allows.",
			},
		},
		"time while it is set up": {
			penstock.RunRequest{Prompt: "hello", Config: &penstock.Config{MaxDurationMinutes: new(7)}},
			func(a *penstock.Assignment) {
				a.TimeLimit = 2 * time.Second
				a.Environment = &penstock.EnvironmentSpec{Config: penstock.EnvironmentConfig{SetupCommands: []string{"sleep 1000"}}}
			},
			penstock.StatusMessage{
				Message: "The run was stopped because it worked for as long as max_duration_minutes (7) allows.",
			},
		},
		"tokens": {
			penstock.RunRequest{
				Prompt: "spends",
				Config: &penstock.Config{
					Harness: &penstock.Harness{Type: "misbehaving"}, Budget: &penstock.Budget{MaxTotalTokens: 5000},
				},
			},
			nil,
			penstock.StatusMessage{Message: "The run used ", ErrorCode: penstock.CodeBudgetExceeded},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.plane.set(func(c *plane) { c.claimed = test.claimed })
			id := w.create(test.req)
			w.followUp(id, "and then this")
			w.start(nil)
			run := w.becomes(id, penstock.StateFailed)
			if m := run.StatusMessage; m == nil || !strings.HasPrefix(m.Message, test.want.Message) ||
				m.ErrorCode != test.want.ErrorCode {
				t.Errorf("got %+v, want %+v", m, test.want)
			}
			timeline := w.timelineTypes(id)
			if diff := cmp.Diff(
				[]string{"vm_shutdown", "followup_undelivered", "run_failed"}, timeline[len(timeline)-3:],
			); diff != "" {
				t.Errorf("timeline (-want +got):\n%s", diff)
			}
			if said := w.texts(id, "user"); !slices.Contains(said, "and then this") {
				t.Errorf("the user's messages are %q, without the follow-up", said)
			}
			if name == "tokens" && (run.Usage == nil || run.Usage.TotalTokens <= 5000) {
				t.Errorf("usage %+v", run.Usage)
			}
		})
	}
}

func TestUsageIsCounted(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	id := w.create(penstock.RunRequest{}, "demo: say one")
	w.becomes(id, penstock.StateSucceeded)
	w.followUp(id, "demo: say two")
	testkit.Eventually(t, timeout, func() error {
		if run := w.get(id); run.State != penstock.StateSucceeded || run.ExecutionID != 2 {
			return fmt.Errorf("%s", run.State)
		}
		return nil
	})
	usage := w.get(id).Usage
	if usage == nil || usage.InferenceCostUSD == nil || *usage.InferenceCostUSD != 0 {
		t.Errorf("got %+v, want the tokens of the demo at no cost", usage)
	}
}

func TestCommandRunsOnceForEachPrompt(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		w.start(in(box))
		command := &penstock.Config{
			Harness: &penstock.Harness{Type: penstock.HarnessCommand}, Env: map[string]string{"GREETING": "hello"},
		}
		good := w.create(
			penstock.RunRequest{Prompt: `echo "$GREETING"; tail -n 1 "$PENSTOCK_PROMPT_FILE"; pwd`, Config: command},
		)
		bad := w.create(penstock.RunRequest{Prompt: `echo oh no >&2; exit 3`, Config: command})
		w.becomes(good, penstock.StateSucceeded)
		texts := w.texts(good, "assistant")
		if len(texts) != 1 || !strings.HasPrefix(texts[0], "hello\necho \"$GREETING\"; tail") {
			t.Errorf("the command printed %q", texts)
		}
		m := w.becomes(bad, penstock.StateFailed).StatusMessage
		if m.ErrorCode != penstock.CodeAgentProcessFailed || m.Message != "The command failed: exit code 3\n\noh no" {
			t.Errorf("got %+v", m)
		}
		w.followUp(good, `grep -c hello "$PENSTOCK_PROMPT_FILE"`) // is told what was said before
		testkit.Eventually(t, timeout, func() error {
			if run := w.get(good); run.State != penstock.StateSucceeded || run.ExecutionID != 2 {
				return fmt.Errorf("%s", run.State)
			}
			return nil
		})
		if texts := w.texts(good, "assistant"); len(texts) != 2 || strings.TrimSpace(texts[1]) == "0" {
			t.Errorf("the conversation so far is not in the prompt: %q", texts)
		}
	})
}
