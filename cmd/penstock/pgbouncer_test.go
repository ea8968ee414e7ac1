package main_test

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// Two servers behind PgBouncer in transaction mode work together as docs/deploy/machine.md says. One
// has the worker, the other one creates the run, and both see its end.
func TestServersBehindPgBouncer(t *testing.T) {
	t.Parallel()
	database := testkit.PgBouncer(t, testkit.Postgres(t)) + "&default_query_exec_mode=exec"
	first := testkit.Serve(t, testkit.ServeOptions{Database: database})
	second := first.Replica(testkit.ServeOptions{Args: []string{"--no-worker"}})
	id := startRunWithNotes(t, client(second))
	if got := artifact(t, second, getRun(t, client(second), id)); got != notes {
		t.Errorf("got %q, want %q", got, notes)
	}
	first.Restart()
	call(t, client(first), "run", "create", "demo: say back again", "--watch").want(t, 0, "SUCCEEDED")
}
