package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// Every command that takes the ID of a run takes @last.
func TestLastRun(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "run", "get", "@last").want(t, 65, "@last: this key can see no run")
	first := startRun(t, env, "demo: say first")
	call(t, env, "run", "wait", first).want(t, 0)
	last := startRun(t, env, "demo: say the last one")
	call(t, env, "run", "wait", "@last").want(t, 0, "@last is run "+last+": demo: say the last one\n")
	// A change of another run does not make it the last one.
	call(t, env, "run", "follow-up", first, "demo: say more", "--wait").want(t, 0)
	for _, args := range [][]string{
		{"run", "get", "@last"},
		{"run", "watch", "@last"},
		{"run", "logs", "@last"},
		{"run", "diff", "@last"},
		{"run", "network", "@last"},
		{"run", "budget", "@last"},
		{"run", "checkpoints", "@last"},
		{"output", "list", "@last"},
		{"run", "list", "--ancestor", "@last"},
		{"run", "follow-up", "@last", "demo: say it again", "--wait"},
	} {
		got := call(t, env, args...)
		got.want(t, 0, "@last is run "+last)
		if strings.Contains(got.out, "@last") {
			t.Errorf("%q shows @last in its result: %s", args, got.out)
		}
	}
	if got := call(t, env, "run", "get", "@last", "-o", "name").out; got != last+"\n" {
		t.Errorf("got %q, want %s", got, last)
	}
	child := startRun(t, env, "x", "--parent", "@last", "--worker-host", "none")
	if got := getRun(t, env, child).ParentID; got != last {
		t.Errorf("the parent is %q, want %s", got, last)
	}
	// A text is not an ID.
	if id := startRun(t, env, "@last", "--worker-host", "none"); getRun(t, env, id).Prompt != "@last" {
		t.Error("the prompt @last was replaced")
	}
}

// The run that is cancelled is named, whatever the format.
func TestCancelOfTheLastRun(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	for _, more := range [][]string{nil, {"-o", "name"}, {"--jq", "empty"}} {
		id := startRun(t, env, "x", "--worker-host", "none")
		call(t, env, append([]string{"run", "cancel", "@last"}, more...)...).want(t, 0, id)
	}
	call(t, env, "run", "cancel", "@last").want(t, 65, "cannot cancel run 0")
}

// The server decides which runs the key sees, and it is asked only for @last.
func TestLastRunIsAskedFor(t *testing.T) {
	t.Parallel()
	const page = `{"runs":[{"run_id":"r1","title":"\u001b[2Jone"}],"page_info":{"has_next_page":true}}`
	s := script(t, responds(200, page), responds(200, created), responds(200, `"r1"`), responds(200, `"r1"`))
	got := call(t, s.env(), "run", "get", "@last")
	if got.want(t, 0, "@last is run r1: one\n"); strings.Contains(got.err, "\x1b") {
		t.Errorf("the title affects a terminal: %q", got.err)
	}
	requests := s.seen()
	if q := requests[0].URL.Query(); q.Get("sort_by") != "created_at" || q.Get("limit") != "1" {
		t.Errorf("got the query %v", q)
	}
	if path := requests[1].URL.Path; path != "/api/v1/agent/runs/r1" {
		t.Errorf("got the path %s", path)
	}
	// Without @last, nothing is asked before.
	call(t, s.env(), "run", "cancel", "r1", "r1").want(t, 0)
}

func TestCompletionOfTheLastRun(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	id := startRun(t, env, "Look around.", "--worker-host", "none")
	for _, words := range [][]string{
		{"run", "watch", ""},
		{"run", "watch", "@", "la"},
		{"run", "cancel", "@", "last", ""},
		{"run", "create", "--parent", ""},
		{"output", "list", ""},
	} {
		got := call(t, env, append([]string{"complete", "--"}, words...)...)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		want := []string{"@last\tthe run that was created last", id + "\tLook around."}
		if !slices.Equal(lines, want) {
			t.Errorf("%q: got %q, want %q", words, lines, want)
		}
	}
	if got := call(t, env, "complete", "--", "run", "get", "@", "last", ""); got.out != "" {
		t.Errorf("got %q after the only argument", got.out)
	}
}
