package worker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

func TestRunOfTheDemoFromItsCreationToItsEnd(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		id := w.create(penstock.RunRequest{
			Prompt:      "Look around",
			Attachments: []penstock.Attachment{{FileName: "a b.txt", MimeType: "text/plain", Data: []byte("hello")}},
		})
		w.start(in(box))
		run := w.becomes(id, penstock.StateSucceeded)
		want := []string{
			"run_created", "run_claimed", "sandbox_verified", "worker_container_ready", "shared_session_started",
			"agent_started", "vm_shutdown",
			"run_done",
		}
		if box.Kind() == sandbox.Process {
			want = slices.DeleteFunc(want, func(s string) bool { return s == "sandbox_verified" })
		}
		if diff := cmp.Diff(want, w.timelineTypes(id)); diff != "" {
			t.Errorf("timeline (-want +got):\n%s", diff)
		}
		ready := w.payloads(id, "worker_container_ready")[0]
		if ready["sandbox"] != box.Kind() || ready["limits"] == "" {
			t.Errorf("the sandbox is described as %v", ready)
		}
		var states []string
		for _, e := range w.events(id) {
			if e.Type == penstock.EventState {
				states = append(states, string(e.Data))
			}
		}
		if got := strings.Join(states, " "); len(states) != 5 || !strings.Contains(got, "PENDING") ||
			!strings.Contains(got, "INPROGRESS") {
			t.Errorf("states: %s", got)
		}
		if texts := w.texts(id, "assistant"); len(texts) == 0 || !strings.Contains(texts[0], "I am not a language model") {
			t.Errorf("the agent says %q", texts)
		}
		if summary := w.artifact(id); !strings.Contains(summary, "Look around") {
			t.Errorf("the artifact holds %q", summary)
		}
		for _, e := range w.events(id) {
			if e.Type == penstock.EventMessageDelta {
				t.Errorf("a delta is left in the log: %s", e.Data)
			}
		}
		if run.SandboxRunning || run.Location != "REMOTE" {
			t.Errorf("running %v, location %s", run.SandboxRunning, run.Location)
		}
	})
}
