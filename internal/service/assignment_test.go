package service_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// If a run cannot be assigned to any worker, for example because its payload is lost, the server
// retries for some minutes and then gives up.
func TestRunWithoutAnAssignmentEnds(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.create(penstock.RunRequest{Prompt: "look at the payload"}).ID
		payload := func(delivery string) {
			testkit.Exec(w.t, w.url, "UPDATE runs SET delivery_id = '"+delivery+"' WHERE id = '"+id+"'")
		}
		pass := func() {
			testkit.Exec(
				w.t, w.url,
				"UPDATE runs SET not_given_since = not_given_since - 600000 WHERE id = '"+id+"' AND not_given_since > 0",
			)
		}
		failing := func(want penstock.State) {
			w.t.Helper()
			if _, err := w.Executions.Control().Claim(w.t.Context(), anyWorker); err == nil ||
				errors.Is(err, penstock.ErrNoWork) {
				w.t.Fatalf("got %v, want an error", err)
			}
			w.mustBe(id, want)
		}
		payload("gone")
		failing(penstock.StateQueued)
		failing(penstock.StateQueued)
		payload("") // it was only for a moment
		w.finish(w.work().Lease, penstock.Result{State: penstock.StateFailed})
		pass()

		payload("gone")
		w.followUp(id, "look again")
		failing(penstock.StateQueued)
		pass()
		failing(penstock.StateError)
		want := regexp.MustCompile(
			`^The server could not build the run's assignment for 10m\d+s: there is no payload of delivery "gone"\.$`,
		)
		if m := w.get(id).StatusMessage; m == nil || m.ErrorCode != penstock.CodeInternal ||
			!want.MatchString(m.Message) || !m.Retryable {
			w.t.Errorf("got %+v", m)
		}

		w.followUp(id, "and now")
		failing(penstock.StateQueued)
		payload("")
		a := w.work()
		if len(a.Prompts) != 1 || a.Prompts[0].Text != "and now" {
			w.t.Errorf("given %+v, want what was sent after the end", a.Prompts)
		}
	})
}
