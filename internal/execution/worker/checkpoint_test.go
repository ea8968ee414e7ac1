package worker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// look prints everything of a workspace and HOME that an agent can see, except for the time of a folder and
// what belongs to one session.
const look = `cd app; git status --short; git log --format=%s; git stash list; git fsck --no-dangling; ` +
	`cd ..; find . "$HOME" -path "$HOME/state" -prune -o -path ./app/.git -prune -o -printf '%P %y %m %l\n' | sort; ` +
	`cat app/main.txt app/modules/x notes.txt "$HOME/.tool/x"; stat -c %Y app/main.txt`

// TestAFollowupFindsItsFilesOnAnyWorker compares what an agent finds on the worker of its run with what it
// finds on another one, after the repository has moved on.
func TestAFollowupFindsItsFilesOnAnyWorker(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1\n", "gone.txt": "x\n", ".gitignore": "modules\n"})
		config := w.environment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: app}}})
		id := w.create(
			penstock.RunRequest{Config: config}, `demo: run cd app; echo changed >> main.txt; git -c user.name=a -c `+
				`user.email=a@example.com commit -qam mine; rm gone.txt; mkdir -p modules/deep; echo m > modules/x; `+
				`ln -s ../x modules/deep/link; chmod 750 modules; echo stashed > stashed; git add stashed; `+
				`git -c user.name=a -c user.email=a@example.com stash -q; `+
				`rm -f gone.txt; cd ..; echo note > notes.txt; mkdir -p "$HOME/.tool"; echo tool > "$HOME/.tool/x"`,
		)
		_, stop := w.start(in(box))
		w.becomes(id, penstock.StateSucceeded)
		w.followUp(id, "demo: run "+look)
		w.becomes(id, penstock.StateSucceeded)
		stop()
		commit(t, app, "main.txt", "v2\n", "new.txt", "new\n")
		w.start(in(box))
		w.followUp(id, "demo: run "+look)
		w.becomesExecution(id, 3)
		found := w.outputs(id, "run_command")
		here, there := printedOf(found[len(found)-2]), printedOf(found[len(found)-1])
		if here != there || !strings.Contains(here, "mine") || !strings.Contains(here, "stash@") {
			t.Errorf("on its worker, the agent found\n%s\nand on another one\n%s",
				strings.ReplaceAll(here, `\n`, "\n"), strings.ReplaceAll(there, `\n`, "\n"))
		}
		if restored := w.payloads(id, "workspace_restored"); len(restored) != 1 || restored[0]["turn"] != 2.0 ||
			restored[0]["prepared_again"] != false {
			t.Errorf("workspace_restored: %v", restored)
		}
	})
}

// printedOf is the output in the result of a command.
func printedOf(result string) string {
	_, output, _ := strings.Cut(result, `"output":`)
	return output
}

// TestALostTurnBeginsWithTheFilesOfTheTurnBefore loses a worker in the middle of the second turn: another one has
// the files as of the first one.
func TestALostTurnBeginsWithTheFilesOfTheTurnBefore(t *testing.T) {
	w := newWorld(t)
	mark := marker()
	var deaf atomic.Bool
	w.plane.set(func(c *plane) {
		c.before = func(string) error {
			if deaf.Load() {
				return errAway
			}
			return nil
		}
	})
	w.start(nil)
	id := w.create(penstock.RunRequest{}, "demo: write notes.txt first")
	w.becomes(id, penstock.StateSucceeded)
	again := filepath.Join(t.TempDir(), "again")
	w.followUp(id, "demo: run cat notes.txt; [ -e "+again+" ] || { echo second > notes.txt; sleep 600; : "+mark+"; }")
	testkit.Eventually(t, timeout, func() error {
		if len(processes(mark)) == 0 {
			return errAway
		}
		return nil
	})
	deaf.Store(true)
	testkit.Exec(t, w.url, "UPDATE queue SET lease_until = 1")
	if err := w.Executions.EndLostLeases(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(again, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start(func(o *worker.Options) { o.Control = w.Executions.Control() })
	w.becomes(id, penstock.StateSucceeded)
	deaf.Store(false)
	if outputs := w.outputs(id, "run_command"); len(outputs) != 1 || !strings.Contains(outputs[0], "first") {
		t.Errorf("the agent found %q", outputs)
	}
	if restored := w.payloads(id, "workspace_restored"); len(restored) != 1 || restored[0]["turn"] != 1.0 {
		t.Errorf("workspace_restored: %v", restored)
	}
}

// TestAWorkspaceThatWasContinuedElsewhereIsNotReused goes from one worker to another and back.
func TestAWorkspaceThatWasContinuedElsewhereIsNotReused(t *testing.T) {
	w := newWorld(t)
	id := w.create(penstock.RunRequest{}, "demo: write notes.txt one")
	first := func(o *worker.Options) { o.Dir = w.t.TempDir() }
	dir := t.TempDir()
	here := func(o *worker.Options) { o.Dir = dir }
	for i, on := range []func(*worker.Options){here, first, here} {
		if i > 0 {
			w.followUp(id, "demo: run cat notes.txt; echo more >> notes.txt")
		}
		_, stop := w.start(on)
		w.becomesExecution(id, i+1)
		stop()
	}
	outputs := w.outputs(id, "run_command")
	if len(outputs) != 2 || !strings.Contains(outputs[1], `onemore`) {
		t.Errorf("the agent found %q", outputs)
	}
}

// TestACancelledTurnLeavesItsFiles continues on the same worker after a turn that was cancelled.
func TestACancelledTurnLeavesItsFiles(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	mark := marker()
	id := w.create(penstock.RunRequest{}, "demo: write notes.txt one")
	w.becomes(id, penstock.StateSucceeded)
	w.followUp(id, "demo: run echo two > notes.txt; sleep 600; : "+mark)
	testkit.Eventually(t, timeout, func() error {
		if len(processes(mark)) == 0 {
			return errAway
		}
		return nil
	})
	if _, err := w.Runs.Cancel(t.Context(), w.admin, id, false); err != nil {
		t.Fatal(err)
	}
	w.followUp(id, "demo: run cat notes.txt")
	w.becomesExecution(id, 3)
	outputs := w.outputs(id, "run_command")
	if last := outputs[len(outputs)-1]; !strings.Contains(last, "two") {
		t.Errorf("the agent found %s", last)
	}
}

func TestAWorkspaceThatIsTooLargeIsNotSaved(t *testing.T) {
	w := newWorld(t)
	small := func(o *worker.Options) { o.CheckpointBytes = 100 << 10 }
	_, stop := w.start(small)
	id := w.create(penstock.RunRequest{}, "demo: write notes.txt one")
	w.becomes(id, penstock.StateSucceeded)
	w.followUp(id, "demo: run mkdir -p big/in; head -c 300000 /dev/zero > big/in/zeros")
	w.becomes(id, penstock.StateSucceeded)
	skipped := w.payloads(id, "checkpoint_skipped")
	if len(skipped) != 1 || !strings.HasPrefix(fmt.Sprint(skipped[0]["largest"]), "[work/big/in ") {
		t.Errorf("checkpoint_skipped: %v", skipped)
	}
	stop()
	w.start(small)
	w.followUp(id, "demo: run cat notes.txt; ls")
	w.becomesExecution(id, 3)
	outputs := w.outputs(id, "run_command")
	if last := outputs[len(outputs)-1]; !strings.Contains(last, "one") || strings.Contains(last, "big") {
		t.Errorf("the agent found %q", last)
	}
	// The session is newer than the files, and the agent knows what it did.
	if started := w.payloads(id, "agent_started"); started[len(started)-1]["session"] != "loaded" {
		t.Errorf("agent_started: %v", started)
	}
}

// TestFilesThatAreGoneDoNotEndARun loses the saved files, as a backup without them does.
func TestFilesThatAreGoneDoNotEndARun(t *testing.T) {
	w := newWorld(t)
	_, stop := w.start(nil)
	id := w.create(penstock.RunRequest{}, "demo: write notes.txt one")
	w.becomes(id, penstock.StateSucceeded)
	stop()
	testkit.Exec(t, w.url, "UPDATE packs SET blob = blob || 'x'")
	w.start(nil)
	w.followUp(id, "demo: run ls")
	w.becomesExecution(id, 2)
	if lost := w.payloads(id, "workspace_not_restored"); len(lost) != 1 {
		t.Errorf("workspace_not_restored: %v", lost)
	}
	if started := w.payloads(id, "agent_started"); started[1]["session"] != "loaded" {
		t.Errorf("agent_started: %v", started)
	}
}

// forked forks a run, and returns the new ones.
func (w *world) forked(id string, req run.ForkRequest) []string {
	w.t.Helper()
	forked, err := w.Turns.Fork(w.t.Context(), w.admin, id, req)
	if err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, r := range forked.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestAForkBeginsWithTheFilesAndTheSessionOfItsTurn forks the first of two turns, on another worker.
func TestAForkBeginsWithTheFilesAndTheSessionOfItsTurn(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		app := repository(t, map[string]string{"main.txt": "v1\n"})
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: app}}, SetupCommands: []string{"echo set up > set-up"},
		})
		_, stop := w.start(in(box))
		id := w.create(penstock.RunRequest{
			Config:      config,
			Attachments: []penstock.Attachment{{FileName: "data.txt", MimeType: "text/plain", Data: []byte("sent")}},
		}, "demo: say the word is mellon", "demo: run echo one >> app/main.txt; echo one > notes.txt")
		w.becomes(id, penstock.StateSucceeded)
		w.followUp(id, "demo: run echo two >> app/main.txt; rm notes.txt")
		w.becomes(id, penstock.StateSucceeded)
		stop()
		commit(t, app, "main.txt", "v2\n")
		w.start(in(box))
		for _, fork := range w.forked(id, run.ForkRequest{
			Turn: new(int64(1)), Count: 2, Prompt: "demo: run cat app/main.txt notes.txt set-up .penstock/attachments/*; ls",
		}) {
			r := w.becomes(fork, penstock.StateSucceeded)
			if r.ForkedFrom == nil || *r.ForkedFrom != (penstock.ForkedFrom{RunID: id, Turn: 1}) || r.ForkGroup == "" {
				t.Errorf("forked from %v in the group %q", r.ForkedFrom, r.ForkGroup)
			}
			if found := w.printed(fork); !strings.Contains(found, `v1\none\none\nset up\nsent`) {
				t.Errorf("the fork found %s", found)
			}
			if started := w.payloads(fork, "agent_started"); len(started) != 1 || started[0]["session"] != "loaded" {
				t.Errorf("agent_started: %v", started)
			}
		}
		w.followUp(id, "demo: run cat app/main.txt")
		w.becomesExecution(id, 3)
		outputs := w.outputs(id, "run_command")
		if last := outputs[len(outputs)-1]; !strings.Contains(last, `v1\none\ntwo`) {
			t.Errorf("the forks have changed the run: %s", last)
		}
	})
}

// TestAForkWithAnotherHarnessGetsTheConversation gives the turn of one agent to another one.
func TestAForkWithAnotherHarnessGetsTheConversation(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	id := w.create(penstock.RunRequest{}, "demo: say the word is mellon")
	w.becomes(id, penstock.StateSucceeded)
	w.followUp(id, "demo: say not this")
	w.becomes(id, penstock.StateSucceeded)
	fork := w.forked(id, run.ForkRequest{
		Turn: new(int64(1)), Prompt: "cat > prompt.txt; cat prompt.txt",
		Config: &penstock.Config{Harness: &penstock.Harness{Type: "command"}},
	})[0]
	w.becomes(fork, penstock.StateSucceeded)
	said := strings.Join(w.texts(fork, "assistant"), "\n")
	if strings.Contains(said, "not this") {
		t.Errorf("the agent got a later turn: %s", said)
	}
}

// TestARunGoesBackToATurn goes back while the agent works and after the end, with a message and without.
func TestARunGoesBackToATurn(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		w.start(in(box))
		mark := marker()
		id := w.create(penstock.RunRequest{}, "demo: say first", "demo: write notes.txt one")
		w.becomes(id, penstock.StateSucceeded)
		w.followUp(id, "demo: write notes.txt two")
		w.becomes(id, penstock.StateSucceeded)
		w.followUp(id, "demo: run echo three > notes.txt; sleep 600; : "+mark)
		testkit.Eventually(t, timeout, func() error {
			if len(processes(mark)) == 0 {
				return errAway
			}
			return nil
		})
		w.followUp(id, "demo: say never delivered")
		back := w.goBack(id, 1, "demo: run cat notes.txt")
		if back.State != penstock.StateQueued {
			t.Errorf("the run is %s", back.State)
		}
		w.becomes(id, penstock.StateSucceeded)
		outputs := w.outputs(id, "run_command")
		if last := outputs[len(outputs)-1]; !strings.Contains(last, `"one"`) {
			t.Errorf("the agent found %s", last)
		}
		if len(processes(mark)) > 0 {
			t.Errorf("left: %q", processes(mark))
		}
		c, err := w.RunConversation(t.Context(), w.admin, id)
		if err != nil {
			t.Fatal(err)
		}
		var superseded []bool
		for _, step := range c.Steps {
			superseded = append(superseded, step.Superseded)
		}
		if want := []bool{false, true, true, true, false}; !slices.Equal(superseded, want) {
			t.Errorf("superseded: %v, want %v", superseded, want)
		}
		if back := w.goBack(id, 1, ""); back.State != penstock.StateSucceeded {
			t.Errorf("the run is %s", back.State)
		}
		w.followUp(id, "demo: run cat notes.txt; echo five > notes.txt")
		w.becomesExecution(id, 5)
		w.followUp(id, "demo: run cat notes.txt")
		w.becomesExecution(id, 6)
		outputs = w.outputs(id, "run_command")
		if last := outputs[len(outputs)-2:]; !strings.Contains(last[0], `"one"`) || !strings.Contains(last[1], "five") {
			t.Errorf("the agent found %q", last)
		}
		if _, err := w.Turns.Rewind(t.Context(), w.admin, id, run.RewindRequest{Turn: new(int64(2))}); penstock.CodeOf(
			err) != penstock.CodeConflict {
			t.Errorf("going back to a superseded turn: %v", err)
		}
	})
}

// TestARunGoesBackFromAKilledWorker goes back to the last turn, where the disk of a worker is as it was when the
// worker was killed in the middle of the next turn.
func TestARunGoesBackFromAKilledWorker(t *testing.T) {
	w := newWorld(t)
	dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "disk")
	on := func(dir string) func(*worker.Options) { return func(o *worker.Options) { o.Dir = dir } }
	_, stop := w.start(on(dir))
	mark := marker()
	id := w.create(penstock.RunRequest{}, "demo: write notes.txt one")
	w.becomes(id, penstock.StateSucceeded)
	w.followUp(id, "demo: run echo bad > notes.txt; sleep 600; : "+mark)
	testkit.Eventually(t, timeout, func() error {
		if len(processes(mark)) == 0 {
			return errAway
		}
		return nil
	})
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", dir, killed).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.goBack(id, 1, "")
	stop()
	w.start(on(killed))
	w.followUp(id, "demo: run cat notes.txt")
	w.becomes(id, penstock.StateSucceeded)
	outputs := w.outputs(id, "run_command")
	if last := outputs[len(outputs)-1]; !strings.Contains(last, `"one"`) {
		t.Errorf("the agent found %s", last)
	}
}

func (w *world) goBack(id string, turn int64, prompt string) run.Rewound {
	w.t.Helper()
	back, err := w.Turns.Rewind(w.t.Context(), w.admin, id, run.RewindRequest{Turn: &turn, Prompt: prompt})
	if err != nil {
		w.t.Fatal(err)
	}
	return back
}

// becomesExecution waits for the success of an execution.
func (w *world) becomesExecution(id string, n int) {
	w.t.Helper()
	testkit.Eventually(w.t, timeout, func() error {
		if run := w.get(id); run.ExecutionID != n || run.State != penstock.StateSucceeded {
			return fmt.Errorf("execution %d is %s: %+v", run.ExecutionID, run.State, run.StatusMessage)
		}
		return nil
	})
}
