package run_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// If a run cannot be assigned to any worker, for example because its payload is lost, the server
// retries for some minutes and then gives up.
func TestRunWithoutAnAssignmentEnds(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "look at the payload"}).ID
		payload := func(delivery string) {
			testkit.Exec(w.T, w.URL, "UPDATE runs SET delivery_id = '"+delivery+"' WHERE id = '"+id+"'")
		}
		pass := func() {
			testkit.Exec(
				w.T, w.URL,
				"UPDATE runs SET not_given_since = not_given_since - 600000 WHERE id = '"+id+"' AND not_given_since > 0",
			)
		}
		failing := func(want penstock.State) {
			w.T.Helper()
			if _, err := w.Executions.Control().Claim(w.T.Context(), testworld.AnyWorker); err == nil ||
				errors.Is(err, penstock.ErrNoWork) {
				w.T.Fatalf("got %v, want an error", err)
			}
			w.MustBe(id, want)
		}
		payload("gone")
		failing(penstock.StateQueued)
		failing(penstock.StateQueued)
		payload("") // it was only for a moment
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateFailed})
		pass()

		payload("gone")
		w.FollowUp(id, "look again")
		failing(penstock.StateQueued)
		pass()
		failing(penstock.StateError)
		want := regexp.MustCompile(
			`^The server could not build the run's assignment for 10m\d+s: there is no payload of delivery "gone"\.$`,
		)
		if m := w.Get(id).StatusMessage; m == nil || m.ErrorCode != penstock.CodeInternal ||
			!want.MatchString(m.Message) || !m.Retryable {
			w.T.Errorf("got %+v", m)
		}

		w.FollowUp(id, "and now")
		failing(penstock.StateQueued)
		payload("")
		a := w.Work()
		if len(a.Prompts) != 1 || a.Prompts[0].Text != "and now" {
			w.T.Errorf("given %+v, want what was sent after the end", a.Prompts)
		}
	})
}
