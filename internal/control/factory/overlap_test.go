package factory_test

import (
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// What a run has started ends with it when a later time replaces it.
func TestReplaceEndsWhatTheRunStarted(t *testing.T) {
	worlds(t, nil, func(w *world) {
		s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = penstock.OverlapReplace })
		w.fire(first)
		old := w.runsOf(s.ID)[0].ID
		child := w.Create(penstock.RunRequest{Prompt: "help", ParentID: old}).ID
		below := w.Create(penstock.RunRequest{Prompt: "help them", ParentID: child}).ID
		other := w.Create(penstock.RunRequest{Prompt: "on its own"}).ID
		w.fire(first.Add(time.Hour))
		for _, id := range []string{old, child, below} {
			w.MustBe(id, penstock.StateCancelled)
		}
		w.MustBe(other, penstock.StateQueued)
	})
}

// What a run has started does not hold back the next time once the run itself has ended.
func TestWhatARunStartedHoldsNoTimeBack(t *testing.T) {
	for _, overlap := range []penstock.Overlap{penstock.OverlapSkip, penstock.OverlapQueue, penstock.OverlapReplace} {
		t.Run(string(overlap), func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				s, first := w.ticking(func(r *factory.ScheduleRequest) { r.Overlap = overlap })
				w.fire(first)
				parent := w.Work()
				child := w.Create(penstock.RunRequest{Prompt: "help", ParentID: w.runsOf(s.ID)[0].ID}).ID
				w.Finish(parent.Lease, penstock.Result{State: penstock.StateSucceeded})
				w.fire(first.Add(time.Hour))
				w.MustBe(child, penstock.StateQueued)
				if got := words(w.fates(store.OccurrenceQuery{ScheduleID: s.ID})); got != "started started" {
					w.T.Errorf("fates: %s", got)
				}
			})
		})
	}
}
