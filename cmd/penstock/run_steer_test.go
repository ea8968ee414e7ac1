package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// timeline lists the event types of a run's timeline.
func timeline(t *testing.T, s *testkit.Server, id string) (types []string) {
	t.Helper()
	var response struct {
		Events []penstock.TimelineEvent `json:"events"`
	}
	got := send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "")
	if err := json.Unmarshal(got.body, &response); err != nil || got.status != http.StatusOK {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	for _, e := range response.Events {
		types = append(types, e.Type)
	}
	return types
}

// happens waits until an event is on a run's timeline n times.
func happens(t *testing.T, s *testkit.Server, id, event string, times int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		types := timeline(t, s, id)
		if n := len(slices.DeleteFunc(slices.Clone(types), func(m string) bool { return m != event })); n != times {
			return fmt.Errorf("%d times %s, want %d: %v", n, event, times, types)
		}
		return nil
	})
}

func TestInterruptAndContinueWithAFile(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	note := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(note, []byte("look at line 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := startRun(t, env, "demo: run sleep 600")
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, penstock.StateInProgress) })
	call(t, env, "run", "interrupt", id).want(t, 0)
	happens(t, s, id, penstock.TimelineInterrupted, 1)
	call(
		t, env, "run", "follow-up", id, "demo: run cat .penstock/attachments/note.txt", "--attach", note, "--wait",
	).want(t, 0, "SUCCEEDED")
	call(t, env, "run", "logs", id).want(t, 0, "look at line 7", "note.txt")
	call(t, env, "run", "interrupt", id).want(t, 65, "interrupt run "+id, "has already ended")
	call(t, env, "run", "interrupt", startRun(t, env, "x", "--worker-host", "none")).want(t, 65, "no turn to interrupt")
	if timeline := timeline(t, s, id); slices.Contains(timeline, "run_requeued") ||
		!slices.Contains(timeline, "agent_started") {
		t.Errorf("the timeline is %v", timeline)
	}
}

// startScripted starts a worker whose agent has a scripted model.
func startScripted(t *testing.T, s *testkit.Server, model *testkit.Model) *testkit.Worker {
	t.Helper()
	return startWorkerWith(t, s, []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + model.URL + "/v1"})
}

// An accepted interrupt reaches a worker on another machine, even if the server is killed before it
// could deliver it.
func TestInterruptSurvivesAKilledServer(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env := client(s)
	hold := make(chan struct{})
	model := testkit.NewModel(t, testkit.Turn{Text: "I have read both.", Hold: hold})
	worker := startScripted(t, s, model)
	id := startRun(t, env, "the first task", "--model", "openai/gpt-test")
	testkit.Eventually(t, time.Minute, func() error {
		if len(model.Requests()) == 0 {
			return fmt.Errorf("the model was not asked")
		}
		return nil
	})

	worker.Signal(syscall.SIGSTOP)
	if got := send(t, s, http.MethodPost, "/agent/runs/"+id+"/interrupt", ""); got.status != http.StatusAccepted {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	s.Kill9()
	worker.Signal(syscall.SIGCONT)
	s.Restart()
	happens(t, s, id, penstock.TimelineInterrupted, 1)
	if state := getRun(t, env, id).State; state != penstock.StateInProgress {
		t.Errorf("the run is %s", state)
	}
	close(hold)
	call(t, env, "run", "follow-up", id, "the second task", "--wait").want(t, 0, "SUCCEEDED")
	happens(t, s, id, "agent_started", 1)
	requests := model.Requests()
	last := string(requests[len(requests)-1].Body)
	if !strings.Contains(last, "the first task") || !strings.Contains(last, "the second task") {
		t.Errorf("the model was last asked %s", last)
	}
}

// A worker is killed while its agent works on a follow-up with a file. Another worker gets the
// follow-up again, with the file. Follow-ups that are pending at a cancel become undelivered and
// can be sent again.
func TestFollowupsOfAKilledWorker(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env := client(s)
	note := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(note, []byte("what the note says"), 0o600); err != nil {
		t.Fatal(err)
	}
	const readNote = "demo: run cat .penstock/attachments/note.txt; sleep 600"
	id := startRun(t, env, "demo: say hello", "--interactive")
	first := startWorker(t, s)
	happens(t, s, id, "agent_started", 1)
	call(t, env, "run", "follow-up", id, readNote, "--attach", note).want(t, 0)
	happens(t, s, id, "followup_delivered", 1)
	testkit.Eventually(t, time.Minute, func() error {
		if out := call(t, env, "run", "logs", id).out; !strings.Contains(out, "run_command") {
			return fmt.Errorf("the command is not under way: %s", out)
		}
		return nil
	})
	first.Kill9()

	second := startWorker(t, s)
	happens(t, s, id, "followup_delivered", 2) // once the lease of the first is over
	testkit.Eventually(t, time.Minute, func() error {
		if out := call(t, env, "run", "logs", id, "--raw").out; strings.Count(out, "what the note says") == 0 {
			return fmt.Errorf("the note is not read: %s", out)
		}
		return nil
	})
	for _, text := range []string{"demo: say one", "demo: say two"} {
		call(t, env, "run", "follow-up", id, text).want(t, 0)
	}
	call(t, env, "run", "cancel", id).want(t, 0, id)
	happens(t, s, id, store.TimelineFollowupUndelivered, 2)
	call(t, env, "run", "follow-up", id, "demo: say three").want(t, 0)
	testkit.Eventually(t, time.Minute, func() error {
		if out := call(t, env, "run", "logs", id).out; !strings.Contains(out, "three") ||
			strings.Contains(out, "assistant one") {
			return fmt.Errorf("after the cancel: %s", out)
		}
		return nil
	})
	second.Stop()
}
