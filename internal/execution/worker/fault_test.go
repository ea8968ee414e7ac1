package worker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// A worker that stops requeues its run. The next one continues the session, and no message is
// recorded twice.
func TestStoppedWorkerRequeuesItsRuns(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		mark := marker()
		_, stop := w.start(in(box))
		id := w.create(
			penstock.RunRequest{}, "demo: say begun", "demo: run [ -e /tmp/"+mark+" ] || sleep 600; : "+mark, "demo: say done",
		)
		testkit.Eventually(t, timeout, func() error {
			if len(processes("sleep 600; : "+mark)) == 0 {
				return errors.New("it does not work yet")
			}
			return nil
		})
		begin := time.Now()
		stop()
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("the stop took %v", took)
		}
		if left := processes(mark); len(left) > 0 {
			t.Errorf("still there: %q", left)
		}
		if run := w.get(id); run.State != penstock.StateQueued || run.ExecutionID != 2 {
			t.Fatalf("the run is %s, execution %d (%+v)", run.State, run.ExecutionID, run.StatusMessage)
		}
		w.start(in(box))
		testkit.Eventually(t, timeout, func() error {
			if n := count(w.timelineTypes(id), "agent_started"); n != 2 {
				return fmt.Errorf("the agent was started %d times", n)
			}
			return nil
		})
		if started := w.payloads(id, "agent_started"); started[1]["session"] != "loaded" {
			t.Errorf("the second agent has a %v session", started[1]["session"])
		}
		users := w.texts(id, "user")
		if len(users) != 1 {
			t.Errorf("the prompt is in the conversation %d times", len(users))
		}
		if _, err := w.Runs.Cancel(t.Context(), w.admin, id, false); err != nil {
			t.Fatal(err)
		}
	})
}

// If a worker is silent for too long, another one resumes its run, after the first one has stopped
// its sandbox.
func TestLostRunIsResumedWithItsSession(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		mark := marker()
		var saves atomic.Int64
		var deaf atomic.Bool
		w.plane.set(func(c *plane) {
			c.before = func(method string) error {
				if method == "Save" {
					saves.Add(1)
				}
				if method == "Heartbeat" && deaf.Load() {
					return errAway
				}
				return nil
			}
		})
		w.start(func(o *worker.Options) { o.Sandbox, o.SaveEvery = box, 50*time.Millisecond })
		id := w.create(
			penstock.RunRequest{}, "demo: say begun", "demo: run [ -e again ] || { touch again; sleep 600; : "+mark+"; }",
			"demo: say done",
		)
		testkit.Eventually(t, timeout, func() error {
			if n := saves.Load(); n < 2 || len(processes(mark)) == 0 {
				return fmt.Errorf("%d times saved", n)
			}
			return nil
		})
		deaf.Store(true)
		testkit.Exec(t, w.url, "UPDATE queue SET lease_until = 1")
		if err := w.Executions.EndLostLeases(t.Context()); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, timeout, func() error {
			if run := w.get(id); run.ExecutionID != 2 {
				return fmt.Errorf("execution %d is %s", run.ExecutionID, run.State)
			}
			return nil
		})
		deaf.Store(false)
		run := w.becomes(id, penstock.StateSucceeded)
		if run.ExecutionID != 2 || len(processes(mark)) > 0 {
			t.Errorf("execution %d, left %q", run.ExecutionID, processes(mark))
		}
		if started := w.payloads(id, "agent_started"); len(started) != 2 || started[1]["session"] != "loaded" {
			t.Errorf("sessions: %v", started)
		}
		if n := len(w.texts(id, "user")); n != 1 {
			t.Errorf("the prompt is in the conversation %d times", n)
		}
	})
}

func TestStoppedWorkerRequeuesRunsInSetup(t *testing.T) {
	w := newWorld(t)
	config := w.environment(
		penstock.EnvironmentConfig{SetupCommands: []string{"echo started > /dev/null; [ -e stop ] || sleep 600"}},
	)
	_, stop := w.start(nil)
	id := w.create(penstock.RunRequest{Prompt: "hello", Config: config})
	testkit.Eventually(t, timeout, func() error {
		if count(w.timelineTypes(id), "worker_container_ready") == 0 {
			return errors.New("it is not set up yet")
		}
		return nil
	})
	stop()
	if run := w.get(id); run.State != penstock.StateQueued {
		t.Errorf("the run is %s", run.State)
	}
}

// A run that cannot be resumed is not restarted automatically, because its work would be done
// twice.
func TestStoppedWorkerEndsRunsThatCannotBeResumed(t *testing.T) {
	w := newWorld(t)
	_, stop := w.start(nil)
	id := w.create(
		penstock.RunRequest{
			Prompt: "echo wor''king; sleep 600",
			Config: &penstock.Config{Harness: &penstock.Harness{Type: penstock.HarnessCommand}},
		},
	)
	w.says(id, "working")
	stop()
	run := w.get(id)
	if run.State != penstock.StateError || run.StatusMessage.ErrorCode != penstock.CodeInfrastructureTimeout ||
		!run.StatusMessage.Retryable {
		t.Errorf("the run is %s %+v", run.State, run.StatusMessage)
	}
}

func TestDrainedWorkerFinishesWhatItHas(t *testing.T) {
	w := newWorld(t)
	wk, stop := w.start(nil)
	id := w.create(penstock.RunRequest{}, "demo: run touch begun; sleep 2", "demo: say done")
	w.says(id, "agent_started")
	wk.Drain()
	later := w.create(penstock.RunRequest{}, "demo: say later")
	w.becomes(id, penstock.StateSucceeded)
	stop()
	if run := w.get(later); run.State != penstock.StateQueued {
		t.Errorf("a run that came after the drain is %s", run.State)
	}
}

// A worker that cannot reach the control plane freezes its runs before their leases expire, because
// then another worker gets them. If nobody has taken them, they continue, and nothing is repeated.
func TestRunIsFrozenWhileItsLeaseCannotBeRenewed(t *testing.T) {
	testkit.TakesLong(t)
	w := newWorld(t)
	mark := marker()
	box, dir := newSandbox(t, sandbox.Bubblewrap), t.TempDir()
	w.start(func(o *worker.Options) { o.Sandbox, o.Dir = box, dir })
	id := w.create(
		penstock.RunRequest{},
		"demo: run echo begin >> log; while [ ! -e stop ]; do sleep 0.1; : "+mark+"; done; cat log", "demo: say done",
	)
	testkit.Eventually(t, timeout, func() error {
		if len(processes(mark)) == 0 {
			return errors.New("it does not work yet")
		}
		return nil
	})
	w.plane.set(func(c *plane) { c.before = func(string) error { return errAway } })
	cut := time.Now()
	testkit.Eventually(t, time.Minute, func() error {
		if state := processState(mark); state != "T" {
			return fmt.Errorf("the command is in state %s", state)
		}
		return nil
	})
	frozen := time.Since(cut)
	if run := w.get(id); run.State != penstock.StateInProgress || frozen > penstock.LeaseTime {
		t.Errorf("frozen after %v, when the run was %s", frozen, run.State)
	}
	w.plane.set(func(c *plane) { c.before = nil })
	testkit.Eventually(t, timeout, func() error {
		if state := processState(mark); state == "T" || state == "" {
			return fmt.Errorf("the command is in state %q", state)
		}
		return nil
	})
	if err := os.WriteFile(filepath.Join(dir, "runs", id, "work", "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if run := w.becomes(id, penstock.StateSucceeded); run.ExecutionID != 1 {
		t.Errorf("it took %d executions", run.ExecutionID)
	}
	if out := w.outputs(id, "run_command"); len(out) != 1 || strings.Count(out[0], "begin") != 1 {
		t.Errorf("got %q, want the command once", out)
	}
}

// processState is the state of a process with a mark, as in /proc/PID/stat; "": no such process.
func processState(mark string) string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, _ := os.ReadFile(f)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "stat"))
		if _, fields, found := strings.Cut(string(stat), ") "); found && strings.Contains(string(line), mark) {
			return fields[:1]
		}
	}
	return ""
}

// Failed calls, and successful calls whose responses are lost, leave a log that has every event
// once and in order.
func TestNothingIsLostOrDoubledByABadConnection(t *testing.T) {
	w := newWorld(t)
	var trouble atomic.Int64
	sometimes := func(method string) error {
		if method != "Claim" && rand.N(3) == 0 {
			trouble.Add(1)
			return errAway
		}
		return nil
	}
	w.plane.set(func(c *plane) { c.before, c.after = sometimes, sometimes })
	w.start(nil)
	var script []string
	for i := range 20 {
		script = append(script, fmt.Sprintf("demo: run echo number %d", i))
	}
	script = append(script, "demo: write report.txt all done", "demo: artifact report.txt", "demo: say end")
	id := w.create(
		penstock.RunRequest{
			Prompt:      strings.Join(script, "\n"),
			Attachments: []penstock.Attachment{{FileName: "a", MimeType: "text/plain", Data: []byte("x")}},
		},
	)
	w.followUp(id, "demo: say and more")
	w.becomes(id, penstock.StateSucceeded)
	numbers := w.outputs(id, "run_command")
	var commands []string
	for _, e := range w.events(id) {
		var b penstock.Block
		if e.Type == penstock.EventAction && json.Unmarshal(e.Data, &b) == nil && b.Name == "run_command" {
			commands = append(commands, string(b.Input))
		}
	}
	if len(numbers) != 20 || len(commands) != 20 {
		t.Errorf("%d results of %d commands, want 20", len(numbers), len(commands))
	}
	for i, c := range commands {
		if want := fmt.Sprintf(`"echo number %d"`, i); !strings.Contains(c, want) {
			t.Errorf("command %d is %s", i, c)
		}
	}
	texts := strings.Join(w.texts(id, "assistant"), "\n")
	if strings.Count(texts, "and more") != 1 || !strings.Contains(texts, "end") {
		t.Errorf("said: %s", texts)
	}
	if n := len(w.get(id).Artifacts); n != 1 {
		t.Errorf("%d artifacts", n)
	}
	if got := w.artifact(id); got != "all done" {
		t.Errorf("the artifact holds %q", got)
	}
	timeline := w.timelineTypes(id)
	for _, once := range []string{
		"worker_container_ready", "agent_started", "vm_shutdown", "followup_delivered", "run_done",
	} {
		if n := count(timeline, once); n != 1 {
			t.Errorf("%d times %s: %v", n, once, timeline)
		}
	}
	if trouble.Load() < 10 {
		t.Errorf("only %d calls failed", trouble.Load())
	}
}

// A heartbeat may report the end of a lease before the call that ended it returns.
func TestLateResponseToTheLastCallIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.plane.late = 300 * time.Millisecond
	var said lines
	wk, _ := w.start(func(o *worker.Options) { o.Log = slog.New(slog.NewTextHandler(&said, nil)) })
	id := w.create(penstock.RunRequest{}, "demo: say done")
	w.becomes(id, penstock.StateSucceeded)
	testkit.Eventually(t, timeout, func() error {
		if wk.Busy() != 0 {
			return errors.New("it is busy")
		}
		return nil
	})
	if log := said.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Errorf("logged:\n%s", log)
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The output of a hostile agent is limited, and is valid text.
func TestFloodIsBounded(t *testing.T) {
	w := newWorld(t)
	w.start(in(newSandbox(t, sandbox.Bubblewrap)))
	id := w.create(
		penstock.RunRequest{Prompt: "floods", Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}}},
	)
	w.becomes(id, penstock.StateSucceeded)
	actions, largest := 0, 0
	for _, e := range w.events(id) {
		largest = max(largest, len(e.Data))
		if e.Type == penstock.EventAction {
			actions++
		}
		if !utf8.Valid(e.Data) || strings.ContainsAny(string(e.Data), "\x00\x1b") ||
			strings.Contains(string(e.Data), `\u001b`) {
			t.Errorf("an event is no clean text: %.100q", e.Data)
		}
	}
	if actions != 301 || largest > 260<<10 {
		t.Errorf("%d actions, the largest event has %d bytes", actions, largest)
	}
	texts := w.texts(id, "assistant")
	if len(texts) != 2 || !strings.Contains(texts[0], " bytes or more left out …]") ||
		!strings.HasPrefix(texts[1], "bad ") {
		t.Errorf("%d messages, the last %.100q", len(texts), texts[len(texts)-1])
	}
}

// Whatever an agent sends can be encoded in a response.
func TestNestingIsBounded(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	id := w.create(
		penstock.RunRequest{Prompt: "nests", Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}}},
	)
	run := w.becomes(id, penstock.StateSucceeded)
	conversation, err := w.RunConversation(t.Context(), w.admin, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, response := range []any{run, conversation, w.events(id)} {
		text, err := jsonv2.Marshal(response)
		if err != nil {
			t.Errorf("cannot be marshaled: %.200s", err)
		}
		if got := strings.Count(string(text), strings.Repeat(`{"a":`, 90)); got == 0 ||
			strings.Contains(string(text), strings.Repeat(`{"a":`, 101)) {
			t.Errorf("%T: %d places are nested as deeply as may be, %.300s", response, got, text)
		}
	}
}

// If an agent's request fails because of Penstock, the agent gets that error as its response.
func TestPanicAtAnAgentsRequest(t *testing.T) {
	w := newWorld(t)
	w.plane.set(func(c *plane) {
		c.before = func(method string) error {
			if method == "Save" {
				panic("a bug")
			}
			return nil
		}
	})
	w.start(func(o *worker.Options) { o.CheckpointBytes = 0 }) // a panic there is the execution's
	id := w.create(
		penstock.RunRequest{Prompt: "nests", Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}}},
	)
	w.becomes(id, penstock.StateSucceeded)
}

// The usage that an agent reports can be added up, whatever it is.
func TestUsageIsBounded(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	id := w.create(
		penstock.RunRequest{
			Prompt: "claims riches", Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}},
		},
	)
	w.becomes(id, penstock.StateSucceeded)
	w.followUp(id, "claims riches")
	testkit.Eventually(t, timeout, func() error {
		if n := len(w.texts(id, "user")); n != 2 {
			return fmt.Errorf("%d prompts were given", n)
		}
		return nil
	})
	run := w.becomes(id, penstock.StateSucceeded)
	if u := run.Usage; u.TotalTokens != 4e12 || u.InferenceCostUSD == nil || *u.InferenceCostUSD != 2e9 {
		t.Errorf("got %+v", u)
	}
}

func TestAgentThatDiesFailsTheRun(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	id := w.create(
		penstock.RunRequest{Prompt: "dies", Config: &penstock.Config{Harness: &penstock.Harness{Type: "misbehaving"}}},
	)
	m := w.becomes(id, penstock.StateFailed).StatusMessage
	if m.ErrorCode != penstock.CodeAgentProcessFailed || !strings.Contains(m.Message, "exit code 9") {
		t.Errorf("got %+v", m)
	}
	if diff := cmp.Diff([]string{"about to die"}, w.texts(id, "assistant")); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

// A failure of the worker itself ends one run with an internal error, and no other run.
func TestPanicEndsOneRun(t *testing.T) {
	w := newWorld(t)
	w.plane.set(func(c *plane) {
		c.before = func(method string) error {
			if method == "Open" {
				panic("a bug")
			}
			return nil
		}
	})
	w.start(nil)
	bad := w.create(
		penstock.RunRequest{
			Prompt: "hello", Attachments: []penstock.Attachment{{FileName: "a", MimeType: "text/plain", Data: []byte("x")}},
		},
	)
	good := w.create(penstock.RunRequest{}, "demo: say fine")
	run := w.becomes(bad, penstock.StateError)
	if run.StatusMessage.ErrorCode != penstock.CodeInternal || strings.Contains(run.StatusMessage.Message, "bug") {
		t.Errorf("got %+v", run.StatusMessage)
	}
	w.becomes(good, penstock.StateSucceeded)
}

func TestWorkspacesAreKeptAsLongAsConfigured(t *testing.T) {
	for name, keep := range map[string]time.Duration{"not at all": -1, "for a while": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var dir string
			wk, _ := w.start(func(o *worker.Options) { o.KeepWorkspaces = keep; dir = o.Dir })
			// Some tools write-protect what they cache.
			id := w.create(penstock.RunRequest{}, "demo: run mkdir -p cache/d; touch cache/d/f; chmod 500 cache/d cache")
			w.becomes(id, penstock.StateSucceeded)
			testkit.Eventually(t, timeout, func() error {
				if wk.Busy() != 0 {
					return errors.New("it is busy")
				}
				return nil
			})
			_, err := os.Stat(filepath.Join(dir, "runs", id, "work"))
			if kept := err == nil; kept != (keep > 0) {
				t.Errorf("kept: %v (%v)", kept, err)
			}
			_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error { return os.Chmod(path, 0o700) })
		})
	}
}
