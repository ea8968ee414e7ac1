package main_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// streams responds with events. It keeps the stream open until the client leaves, unless the last
// event is done.
func streams(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			fmt.Fprint(w, e+"\n")
		}
		if last := events[len(events)-1]; !strings.Contains(last, "event: done") && last != "" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
}

func event(id int, kind, data string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n", id, kind, data)
}

func done(state string) string {
	return fmt.Sprintf("event: done\ndata: {\"state\":%q,\"execution_id\":1}\n", state)
}

const runID = "01900000-0000-7000-8000-000000000001"

func runItem(state string) string {
	return fmt.Sprintf(
		`{"run_id":%q,"state":%q,"title":"t","run_time":"PT12.5S","request_usage":{"total_tokens":48211}}`, runID, state,
	)
}

func TestWatchResumesAfterALostConnection(t *testing.T) {
	t.Parallel()
	s := script(t,
		streams(
			": hello\n", event(1, "state", `{"state":"QUEUED","execution_id":1}`),
			event(2, "message_delta", `{"message_id":"m","role":"assistant","text":"Hel"}`), "",
		),
		breaks,
		responds(502, ""),
		streams(event(2, "message_delta", `{"message_id":"m","role":"assistant","text":"Hel"}`),
			event(
				4, "message",
				`{"message_id":"m","role":"assistant","content":[{"type":"text","text":"Hello.\nstate      SUCCEEDED"}]}`,
			),
			event(
				5, "action", `{"type":"action","id":"a","category":"command","name":"run_command","input":{"command":"ls -l"}}`,
			),
			event(
				6, "action_result",
				`{"type":"action_result","action_id":"a","category":"command","name":"run_command","state":"completed",`+
					`"output":{"exit_code":0,"output":"one\ntwo\u001b[2J"}}`,
			),
			event(7, "plan", `{"entries":[{"content":"look","status":"completed"},{"content":"write","status":"in_progress"}]}`),
			event(8, "usage", `{"total_tokens":48211}`),
			event(9, "timeline", `{"event_uuid":"u","event_type":"run_claimed","payload":{"worker_host":"box"}}`),
			event(10, "something_new", `{"a":1}`),
			done("SUCCEEDED")),
		responds(200, runItem("SUCCEEDED")))
	got := call(t, s.env(), "run", "watch", runID)
	got.want(t, 0)
	want := `state     QUEUED
assistant Hello.
          state      SUCCEEDED
action    run_command ls -l
result    run_command completed exit_code=0
          one
          two
plan      [x] look
          [>] write
usage     48,211 tokens
timeline  run claimed box
done      SUCCEEDED
summary   12.5s, 48,211 tokens
`
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	var resumed []string
	for _, r := range s.seen()[:4] {
		resumed = append(resumed, r.Header.Get("Last-Event-ID"))
	}
	if diff := cmp.Diff([]string{"", "2", "2", "2"}, resumed); diff != "" {
		t.Errorf("Last-Event-ID (-want +got):\n%s", diff)
	}
}

func TestWatchPrintsEventsAsJSONLines(t *testing.T) {
	t.Parallel()
	s := script(t, streams(event(1, "state", `{"state":"QUEUED","execution_id":1}`), done("FAILED")))
	got := call(t, s.env(), "run", "watch", runID, "-o", "json")
	got.want(t, 1)
	want := `{"id":1,"event":"state","data":{"state":"QUEUED","execution_id":1}}` + "\n" +
		`{"id":0,"event":"done","data":{"state":"FAILED","execution_id":1}}` + "\n"
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestExitCodeShowsHowTheRunEnded(t *testing.T) {
	t.Parallel()
	for state, code := range map[string]int{"SUCCEEDED": 0, "FAILED": 1, "ERROR": 1, "CANCELLED": 2} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := script(t, streams(done(state)))
			got := call(t, s.env(), "run", "wait", runID)
			got.want(t, code)
			if got.out != state+"\n" {
				t.Errorf("got %q, want the state alone", got.out)
			}
			s = script(t, responds(204, ""), responds(200, runItem(state))) // over, and read to the end
			call(t, s.env(), "run", "wait", runID).want(t, code, state)
			s = script(t, responds(200, created), streams(done(state)))
			call(t, s.env(), "run", "create", "x", "--wait").want(t, code, state)
		})
	}
	s := script(t, responds(404, `{"title":"Resource not found","type":"x/resource_not_found"}`))
	call(t, s.env(), "run", "wait", runID).want(t, 65, "resource_not_found")
}

func TestWaitAtABlockedRun(t *testing.T) {
	t.Parallel()
	blocked := `{"run_id":"` + runID + `","state":"BLOCKED","status_message":{"message":"Which branch?"}}`
	event1 := event(1, "state", `{"state":"BLOCKED","execution_id":1}`)

	s := script(t, streams(event1), responds(200, blocked))
	call(t, s.env(), "run", "wait", runID, "--until-blocked").want(t, 3, "Which branch?", "run follow-up "+runID)

	s = script(t, streams(event1), responds(200, blocked))
	call(t, s.env(), "run", "wait", runID, "--timeout", "300ms").want(t, 124, "Which branch?", "did not end within 300ms")

	// It was blocked once, and is not now.
	s = script(t, streams(event1, done("SUCCEEDED")), responds(200, runItem("INPROGRESS")))
	got := call(t, s.env(), "run", "wait", runID, "--until-blocked")
	got.want(t, 0)
	if strings.Contains(got.err, "BLOCKED") {
		t.Errorf("got %q about a run that is not blocked", got.err)
	}
}

func TestInterruptedWaitLeavesTheRun(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"wait", "watch"} {
		s := script(t, streams(event(1, "state", `{"state":"INPROGRESS","execution_id":1}`)))
		cmd := command(t, s.env(), "run", verb, runID)
		var errs strings.Builder
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, timeout, func() error {
			if len(s.seen()) == 0 {
				return fmt.Errorf("it does not listen yet")
			}
			return nil
		})
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the test checks the code
		if got := cmd.ProcessState.ExitCode(); got != 130 {
			t.Errorf("run %s: got exit code %d, want 130", verb, got)
		}
		if want := "penstock run cancel " + runID; !strings.Contains(errs.String(), want) {
			t.Errorf("run %s: got %q, want %q in it", verb, errs.String(), want)
		}
		if n := len(s.seen()); n != 1 {
			t.Errorf("run %s: got %d requests: the run was touched", verb, n)
		}
	}
}

// On a terminal, the last line shows the current activity. At the end, it disappears.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	release := sync.OnceFunc(func() { close(proceed) })
	s := script(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(
			w,
			event(1, "state", `{"state":"INPROGRESS","execution_id":1}`)+"\n"+event(
				2, "message_delta", `{"message_id":"m","role":"assistant","text":"Thinking\u001b[2J hard"}`,
			)+"\n",
		)
		_ = http.NewResponseController(w).Flush()
		<-proceed
		fmt.Fprint(w, done("SUCCEEDED")+"\n")
	}, responds(200, runItem("SUCCEEDED")))
	t.Cleanup(release) // before the server's end, which waits for the stream
	terminal := newTerminal(t)
	cmd := command(t, s.env(), "run", "watch", runID)
	terminal.attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { return terminal.shows("s  Thinking hard") }) // after some seconds
	release()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	testkit.Eventually(t, timeout, func() error { return terminal.shows("\r\x1b[Kdone      SUCCEEDED") })
}
