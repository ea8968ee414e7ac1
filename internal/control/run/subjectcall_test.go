package run_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// A call reaches no other run than the one whose price was checked for its key, whatever has begun meanwhile.
func TestACallReachesOnlyTheRunThatWasChecked(t *testing.T) {
	worlds(t, nil, func(w *world) {
		request := penstock.RunRequest{Prompt: "a", Subject: "acme/shop#7"}
		first := w.Create(request)
		next, err := w.Runs.New(t.Context(), w.Admin, request, run.Origin{Source: run.SourceAPI})
		if err != nil {
			t.Fatal(err)
		}
		run.Call{
			SubjectCall: store.SubjectCall{Caller: w.Admin, Request: request}, Kind: store.OccurrenceCall,
			Scope: "principal " + w.Admin.Actor.UID, Subject: request.Subject,
		}.About(next)
		for _, checked := range []string{"", penstock.NewID()} {
			err := w.Deps.Store.Write(t.Context(), func(tx *store.Tx) error {
				_, err := run.StartOnSeen(t.Context(), tx, w.Admin, next, checked)
				return err
			})
			testworld.WantCode(t, err, penstock.CodeConflict, "try again")
		}
		if got := w.Get(first.ID).EventsCount; got != 1 {
			t.Errorf("the run has %d calls, want 1", got)
		}
	})
}
