package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// getRun reads a run through the command line.
func getRun(t *testing.T, env []string, id string) penstock.Run {
	t.Helper()
	run := callFor[penstock.Run](t, env, "run", "get", id)
	return run
}

// inState returns an error unless a run is in the state.
func inState(t *testing.T, env []string, id string, want penstock.State) error {
	t.Helper()
	if got := getRun(t, env, id).State; got != want {
		return fmt.Errorf("the run is %s, want %s", got, want)
	}
	return nil
}

func TestRunFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	attachment := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(attachment, []byte("the attached notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := callWith(t, "Look around.\ndemo: run cat .penstock/attachments/*\ndemo: say \x1b[2Jdone\n", env,
		"run", "create", "-", "--title", "From the command line", "--name", "nightly", "--attach", attachment,
		"--metadata", "team=core", "--env", "COLOR=blue", "--watch")
	got.want(t, 0, "run_command", "the attached notes", "done      SUCCEEDED")
	if strings.Contains(got.out, "\x1b") {
		t.Errorf("the output holds a terminal sequence: %q", got.out)
	}
	id, _, _ := strings.Cut(got.out, "\n")
	run := getRun(t, env, id)
	if diff := cmp.Diff([]any{"From the command line", "nightly", "core", "blue", "CLI"},
		[]any{run.Title, run.Config.Name, run.Metadata["team"], run.Config.Env["COLOR"], string(run.Source)}); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	call(t, env, "run", "get", id).want(t, 0, "SUCCEEDED", "team=core", "From the command line")
	call(
		t, env, "run", "list", "--metadata", "team=core", "--state", "succeeded", "--name", "nightly", "--created-after",
		"1h",
	).want(t, 0, id)
	if out := call(t, env, "run", "list", "--state", "FAILED").out; strings.Contains(out, id) {
		t.Errorf("got %s, want no run that FAILED", out)
	}
	call(t, env, "run", "logs", id).want(t, 0, "user", "the attached notes")
	call(t, env, "run", "logs", id, "-o", "json").want(t, 0, `"conversation_id"`)
	call(t, env, "run", "logs", id, "--raw").want(t, 0, `"type":"action_result"`)
	call(t, env, "run", "watch", id, "-o", "json").want(t, 0, `"event":"done"`)
	call(t, env, "run", "follow-up", id, "demo: run echo the answer is $((6*7))", "--watch").want(t, 0, "the answer is 42")
	call(t, env, "run", "wait", id).want(t, 0, "SUCCEEDED")
}

func TestAttemptsOfOnePrompt(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	got := call(t, env, "run", "create", "demo: say done", "--attempts", "2", "--wait")
	got.want(t, 0, "SUCCEEDED", "fork group: ")
	ids := strings.Split(got.out, "\n")[:2]
	group := getRun(t, env, ids[0]).ForkGroup
	call(t, env, "run", "compare", group).want(t, 0, ids[0], ids[1])
	broken := callFor[penstock.Environment](t, env, "environment", "create", "broken", "--setup", "exit 3")
	file := filepath.Join(t.TempDir(), "request.yaml")
	if err := os.WriteFile(file, []byte("configs: [{environment_id: "+broken.UID+"}, {}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// It waits for the second one, too, although the first one fails.
	call(t, env, "run", "create", "demo: say done", "-f", file, "--wait").want(t, 1, "FAILED", "SUCCEEDED")
	for _, wrong := range []string{"0", "11"} {
		call(t, env, "run", "create", "x", "--attempts", wrong).want(t, 65, "--attempts: must be from 1 to 10")
	}
	call(t, env, "run", "create", "x", "--attempts", "2", "--watch").want(t, 64, "--watch follows a single run")
}

func TestRunThatFails(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	call(t, client(s), "run", "create", "demo: error it broke", "--wait").want(t, 1, "FAILED", "it broke")
	call(t, client(s), "run", "create", "x", "--harness", "nobody").want(
		t, 65, `Invalid request: --harness: "nobody" is not`, "invalid_request",
	)
	call(t, client(s), "run", "get", penstock.NewID()).want(t, 65, "resource_not_found")
	call(
		t, client(s), "run", "create", "x", "--environment", "nowhere",
	).want(t, 65, `no environment with the UID or name "nowhere" exists`, "see: penstock environment list")
}

func TestRunThatAsks(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	id := startRun(t, env, "demo: ask Which branch?")
	call(t, env, "run", "wait", id, "--until-blocked").want(t, 3, "Which branch?", "penstock run follow-up "+id)
	callWith(t, "main", env, "run", "follow-up", id, "-", "--wait").want(t, 0, "SUCCEEDED")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	id := startRun(t, env, "demo: run sleep 600")
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, penstock.StateInProgress) })
	waiting := command(t, env, "run", "wait", id)
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	call(t, env, "run", "cancel", id).want(t, 0, id)
	_ = waiting.Wait() // the test checks the code
	if got := waiting.ProcessState.ExitCode(); got != 2 {
		t.Errorf("run wait ended with %d, want 2", got)
	}
	// A run that has ended does not prevent the cancellation of the others.
	waits := startRun(t, env, "x", "--worker-host", "none")
	call(t, env, "run", "cancel", id, waits).want(t, 65, "cannot cancel run "+id, waits)
	if state := getRun(t, env, waits).State; state != penstock.StateCancelled {
		t.Errorf("the other run is %s", state)
	}
}

// A watcher sees every event once, even if the server is killed in between.
func TestWatchOutlivesAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	id := startRun(t, env, "demo: run echo one\ndemo: run sleep 3\ndemo: run echo two")
	watch := command(t, env, "run", "watch", id, "-o", "json")
	var out strings.Builder
	watch.Stdout = &out
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { return inState(t, env, id, penstock.StateInProgress) })
	s.Kill9()
	s.Restart()
	_ = watch.Wait() // how the run ends is not the matter
	all := call(t, env, "run", "watch", id, "-o", "json")
	if diff := cmp.Diff(withoutDeltas(all.out), withoutDeltas(out.String())); diff != "" {
		t.Errorf("what was seen live (-later +live):\n%s", diff)
	}
}

// withoutDeltas drops events that are stored only temporarily.
func withoutDeltas(lines string) string {
	var kept strings.Builder
	for line := range strings.Lines(lines) {
		if !strings.Contains(line, `"event":"message_delta"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// If a saved session is missing, such as after a restore of an older backup, only the agent's
// memory is lost.
func TestRunContinuesWithoutItsSavedSession(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--keep-workspaces", "0"}})
	env := client(s)
	id := startRun(t, env, "look around", "--wait")
	sessions := filepath.Join(s.Data, "blobs", "sessions")
	if len(files(t, sessions)) != 1 {
		t.Fatalf("got the sessions %v, want one", files(t, sessions))
	}
	for _, saved := range []string{sessions, filepath.Join(s.Data, "blobs", "packs")} {
		if err := os.RemoveAll(saved); err != nil {
			t.Fatal(err)
		}
	}
	call(t, env, "run", "follow-up", id, "and on").want(t, 0, "")
	call(t, env, "run", "wait", id, "--timeout", "240s").want(t, 0, "SUCCEEDED")
	timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "").body)
	if n := strings.Count(timeline, `"session":"new"`); n != 2 {
		t.Errorf("%d sessions were begun, want one for each execution: %s", n, timeline)
	}
}
