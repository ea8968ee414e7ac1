package worker_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

func (w *world) followUpWith(id, message string, files map[string]string) {
	w.t.Helper()
	req := run.FollowupRequest{Message: message}
	for name, content := range files {
		req.Attachments = append(
			req.Attachments, run.FollowupAttachment{FileName: name, MimeType: "text/plain", Data: []byte(content)},
		)
	}
	if _, err := w.Runs.FollowUp(w.t.Context(), w.admin, id, req); err != nil {
		w.t.Fatal(err)
	}
}

// The agent finds the files of a follow-up in its workspace: the active agent when it gets the
// follow-up, and a later one on another machine, together with earlier files.
func TestFilesOfFollowupsAreInTheWorkspace(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		id := w.create(
			penstock.RunRequest{}, "demo: run ls .penstock/attachments; touch ready; while [ ! -e go ]; do sleep 0.05; done",
		)
		var dir string
		_, stop := w.start(func(o *worker.Options) { dir, o.Sandbox = o.Dir, box })
		work := dir + "/runs/" + id + "/work"
		testkit.Eventually(t, timeout, func() error { _, err := os.Stat(work + "/ready"); return err })
		w.followUpWith(id, "demo: run cat .penstock/attachments/a.txt", map[string]string{"a.txt": "the first file"})
		if _, err := os.Stat(work + "/.penstock/attachments/a.txt"); err == nil {
			t.Error("the file is there before the agent gets the follow-up")
		}
		if err := os.WriteFile(work+"/go", nil, 0o644); err != nil {
			t.Fatal(err)
		}
		w.becomes(id, penstock.StateSucceeded)
		stop()

		w.start(in(box)) // elsewhere, where nothing of it is
		w.followUpWith(
			id, "demo: run cat .penstock/attachments/*",
			map[string]string{"a.txt": "the second file", "b.txt": "the third file"},
		)
		testkit.Eventually(t, timeout, func() error {
			if run := w.get(id); run.ExecutionID != 2 || run.State != penstock.StateSucceeded {
				return fmt.Errorf("%s, execution %d", run.State, run.ExecutionID)
			}
			return nil
		})
		outputs := w.outputs(id, "run_command")
		if len(outputs) != 3 || !strings.Contains(outputs[1], "the first file") {
			t.Fatalf("the commands said %q", outputs)
		}
		for _, want := range []string{"the first file", "the second file", "the third file"} {
			if !strings.Contains(outputs[2], want) {
				t.Errorf("the last command said %q, without %q", outputs[2], want)
			}
		}
	})
}

// The prompt names the files.
func TestPromptNamesTheFilesOfAFollowup(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	command := &penstock.Config{Harness: &penstock.Harness{Type: penstock.HarnessCommand}}
	id := w.create(penstock.RunRequest{Prompt: "true", Config: command})
	w.becomes(id, penstock.StateSucceeded)
	w.followUpWith(
		id, `grep "^Files attached" "$PENSTOCK_PROMPT_FILE"; cat .penstock/attachments/log.txt`,
		map[string]string{"log.txt": "it broke"},
	)
	testkit.Eventually(t, timeout, func() error {
		if run := w.get(id); run.ExecutionID != 2 || run.State != penstock.StateSucceeded {
			return fmt.Errorf("%s, execution %d", run.State, run.ExecutionID)
		}
		return nil
	})
	said := strings.Join(w.texts(id, "assistant"), "\n")
	if want := "Files attached to this message: .penstock/attachments/log.txt\nit broke"; !strings.Contains(
		said, want,
	) {
		t.Errorf("the command said %q, want %q", said, want)
	}
}

// An agent that replaces the folder cannot make a file leave the workspace.
func TestFileOfAFollowupStaysInTheWorkspace(t *testing.T) {
	w := newWorld(t)
	outside := t.TempDir()
	id := w.create(penstock.RunRequest{}, "demo: run mkdir -p .penstock && ln -s "+outside+" .penstock/attachments")
	w.start(nil)
	w.becomes(id, penstock.StateSucceeded)
	w.followUpWith(id, "demo: say hello", map[string]string{"a.txt": "x"})
	run := w.becomes(id, penstock.StateFailed)
	if m := run.StatusMessage; m == nil || !strings.Contains(m.Message, "a.txt to the workspace") {
		t.Errorf("it failed for %+v", m)
	}
	if n := count(w.timelineTypes(id), "followup_undelivered"); n != 1 {
		t.Errorf("%d follow-ups are undelivered", n)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside of the workspace there is %v", left)
	}
}
