package run_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func (w *world) interrupt(id string) {
	w.T.Helper()
	if _, err := w.Runs.Interrupt(w.T.Context(), w.Admin, id); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) countTimeline(id, moment string) (n int) {
	w.T.Helper()
	for _, m := range w.TimelineTypes(id) {
		if m == moment {
			n++
		}
	}
	return n
}

// interrupted is the result of a worker whose turn was interrupted.
func interrupted(turn int) penstock.Result {
	return penstock.Result{
		State: penstock.StateBlocked, Turn: turn, KeepOpen: true,
		Message: &penstock.StatusMessage{Message: penstock.Interrupted},
	}
}

// An interrupt is possible only while an agent has an active turn.
func TestInterruptNeedsATurnInProgress(t *testing.T) {
	worlds(t, nil, func(w *world) {
		refused := func(when, id string, code penstock.Code) {
			w.T.Helper()
			if _, err := w.Runs.Interrupt(w.T.Context(), w.Admin, id); penstock.CodeOf(err) != code {
				w.T.Errorf("%s: got %v, want %s", when, err, code)
			}
		}
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		refused("while it waits", id, penstock.CodeConflict)
		a := w.Claim()
		refused("once it is claimed", id, penstock.CodeConflict)
		w.Moves(a.Lease, penstock.StatePending)
		refused("while it is prepared", id, penstock.CodeConflict)
		w.Moves(a.Lease, penstock.StateInProgress)
		if n := w.countTimeline(id, penstock.TimelineInterrupt); n != 0 {
			w.T.Errorf("%d refused interrupts are on the timeline", n)
		}

		signals := make(chan penstock.Signal, 1)
		go func() {
			signal, _ := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Minute)
			signals <- signal
		}()
		for range 3 { // it is one interrupt
			w.interrupt(id)
		}
		if diff := cmp.Diff(penstock.Signal{Interrupt: 1}, <-signals); diff != "" {
			w.T.Errorf("the worker that waits is told (-want +got):\n%s", diff)
		}
		if n := w.countTimeline(id, penstock.TimelineInterrupt); n != 1 {
			w.T.Errorf("the interrupt is on the timeline %d times", n)
		}
		w.Finish(a.Lease, interrupted(1))
		w.MustBe(id, penstock.StateInProgress)
		if signal, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Millisecond); err != nil ||
			signal.Interrupt != 0 {
			w.T.Errorf("after the turn the worker is told %+v, %v", signal, err)
		}
		w.FollowUp(id, "go on")
		if prompts := w.Finish(a.Lease, interrupted(1)); len(prompts) != 1 || prompts[0].Text != "go on" {
			w.T.Fatalf("given %+v", prompts)
		}
		if signal, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Millisecond); err != nil ||
			signal.Interrupt != 0 {
			w.T.Errorf("in the next turn the worker is told %+v, %v", signal, err)
		}
		w.interrupt(id)
		if signal, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Millisecond); err != nil ||
			signal.Interrupt != 2 {
			w.T.Errorf("of the next turn's interrupt the worker is told %+v, %v", signal, err)
		}
		last := interrupted(2)
		last.KeepOpen = false
		w.Finish(a.Lease, last)
		w.MustBe(id, penstock.StateBlocked)
		refused("while it is blocked", id, penstock.CodeConflict)
		w.cancel(id, false)
		refused("once it is over", id, penstock.CodeInvalidRequest)

		refused("of a run that there is not", penstock.NewID(), penstock.CodeNotFound)
		_, err := w.Runs.Interrupt(w.T.Context(), w.As("reader", penstock.ScopeRunsRead), id)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "runs:write")
	})
}

// An idle agent has no active turn.
func TestInterruptOfAnIdleRunIsAConflict(t *testing.T) {
	worlds(t, nil, func(w *world) {
		yes := true
		id := w.Create(penstock.RunRequest{Prompt: "p", Interactive: &yes}).ID
		a := w.Work()
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1, KeepOpen: true})
		w.MustBe(id, penstock.StateInProgress)
		_, err := w.Runs.Interrupt(w.T.Context(), w.Admin, id)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "no turn to interrupt")
	})
}

// An accepted interrupt holds even if the worker is lost or stops: the turn is not repeated.
func TestInterruptSurvivesTheLossOfItsWorker(t *testing.T) {
	worlds(t, nil, func(w *world) {
		lost := func(a penstock.Assignment) { w.LoseLease(a.Lease) }
		stopped := func(a penstock.Assignment) { w.Finish(a.Lease, penstock.Result{State: penstock.StateQueued, Turn: 1}) }
		for name, tt := range map[string]struct {
			ends    func(penstock.Assignment)
			reports bool // the end of the turn, before
			waits   bool // a follow-up
			want    penstock.State
		}{
			"it is lost":                              {lost, false, false, penstock.StateBlocked},
			"it is lost while a follow-up waits":      {lost, false, true, penstock.StateQueued},
			"it is lost after the turn":               {lost, true, false, penstock.StateBlocked},
			"it stops":                                {stopped, false, false, penstock.StateBlocked},
			"it stops while a follow-up waits":        {stopped, false, true, penstock.StateQueued},
			"it stops after the turn, without a word": {stopped, true, false, penstock.StateBlocked},
		} {
			id := w.Create(penstock.RunRequest{Prompt: "the task"}).ID
			a := w.Work()
			w.SaveSession(a.Lease)
			if tt.waits {
				w.FollowUp(id, "instead")
			}
			w.interrupt(id)
			if tt.reports {
				w.Finish(a.Lease, interrupted(1))
			}
			tt.ends(a)
			testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(id, tt.want) })
			if n := w.countTimeline(id, penstock.TimelineInterrupted); (n == 0) != tt.reports || n > 1 {
				w.T.Errorf("%s: the server says %d times that the turn was interrupted", name, n)
			}
			if tt.want == penstock.StateBlocked {
				if m := w.Get(id).StatusMessage; m == nil || m.Message != penstock.Interrupted {
					w.T.Errorf("%s: blocked for %+v", name, m)
				}
				w.FollowUp(id, "instead")
			}
			a = w.Work()
			if p := a.Prompts; len(p) != 1 || p[0].Text != "instead" || p[0].Redelivered || a.Session == nil {
				w.T.Errorf("%s: given %+v, session %v", name, p, a.Session)
			}
			if prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(prompts) != 0 {
				w.T.Errorf("%s: then given %+v", name, prompts)
			}
			w.MustBe(id, penstock.StateSucceeded)
		}
	})
}

// A turn that ended by itself was not interrupted, even if an interrupt arrived too late.
func TestInterruptThatCameTooLateIsDropped(t *testing.T) {
	worlds(t, nil, func(w *world) {
		yes := true
		id := w.Create(penstock.RunRequest{Prompt: "p", Interactive: &yes}).ID
		a := w.Work()
		w.SaveSession(a.Lease)
		w.interrupt(id)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1, KeepOpen: true})
		_, err := w.Runs.Interrupt(w.T.Context(), w.Admin, id)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "no turn to interrupt")
		w.LoseLease(a.Lease)
		testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(id, penstock.StateQueued) })
		if n := w.countTimeline(id, penstock.TimelineInterrupted); n != 0 {
			w.T.Errorf("the timeline says %d times that the turn was interrupted", n)
		}
	})
}

// Through the conversation, an interrupt affects the run that is active, or else the newest.
func TestConversationIsSteered(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		old := w.Create(penstock.RunRequest{Prompt: "p"})
		conversation := w.Get(old.ID).ConversationID
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
		newer, err := w.continued(old.ID)
		if err != nil {
			w.T.Fatal(err)
		}
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})

		_, err = w.Runs.InterruptConversation(ctx, w.Admin, conversation)
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "has already ended")
		accepted, err := w.Runs.FollowUpConversation(
			ctx, w.Admin, conversation, run.FollowupRequest{Message: "to the newest"},
		)
		if err != nil || accepted.RunID != newer.ID || accepted.Outcome != run.FollowupHandoff ||
			accepted.FollowupID == "" {
			w.T.Errorf("got %+v, %v, want the newest run's", accepted, err)
		}
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})

		w.FollowUp(old.ID, "the older one talks again")
		for _, want := range []string{run.FollowupQueued, run.FollowupLive} {
			if want == run.FollowupLive {
				w.Work()
				if got, err := w.Runs.InterruptConversation(ctx, w.Admin, conversation); err != nil || got.RunID != old.ID {
					w.T.Errorf("interrupted %+v, %v, want the run that talks", got, err)
				}
			}
			accepted, err := w.Runs.FollowUpConversation(
				ctx, w.Admin, conversation, run.FollowupRequest{Message: "to the one that talks"},
			)
			if err != nil || accepted.RunID != old.ID || accepted.Outcome != want {
				w.T.Errorf("got %+v, %v, want %s of the run that talks", accepted, err, want)
			}
		}
		prepared, err := w.Files.PrepareConversationAttachments(ctx, w.Admin, conversation, prepareRequest(1))
		if err != nil {
			w.T.Fatal(err)
		}
		err = w.attach(newer.ID, "another run's", run.FollowupAttachment{ID: prepared.Attachments[0].ID})
		testworld.WantCode(w.T, err, penstock.CodeConflict, "is still active in this conversation")

		for _, id := range []string{penstock.NewID(), "nonsense"} {
			_, err := w.Runs.FollowUpConversation(ctx, w.Admin, id, run.FollowupRequest{Message: "m"})
			testworld.WantCode(w.T, err, penstock.CodeNotFound, "conversation")
			_, err = w.Runs.InterruptConversation(ctx, w.Admin, id)
			testworld.WantCode(w.T, err, penstock.CodeNotFound, "conversation")
		}
		stranger := w.As("stranger", penstock.ScopeRunsWrite)
		stranger.Team = "another"
		_, err = w.Runs.FollowUpConversation(ctx, stranger, conversation, run.FollowupRequest{Message: "m"})
		testworld.WantCode(w.T, err, penstock.CodeNotFound, "conversation")
	})
}

// An interrupt and the end of the turn happen at the same time. The run is done or waits for a
// follow-up, and the response to the interrupt says which.
func TestInterruptRacesTheEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for round := range 100 {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			var together sync.WaitGroup
			var interruptErr, finishErr error
			together.Go(func() { _, interruptErr = w.Runs.Interrupt(w.T.Context(), w.Admin, id) })
			together.Go(func() {
				_, finishErr = w.Executions.Control().Finish(
					w.T.Context(), a.Lease, penstock.Result{State: penstock.StateSucceeded},
				)
			})
			together.Wait()
			if finishErr != nil {
				w.T.Fatal(finishErr)
			}
			w.MustBe(id, penstock.StateSucceeded) // the turn ended before the worker could know of the interrupt
			asked := slices.Contains(w.TimelineTypes(id), penstock.TimelineInterrupt)
			if asked != (interruptErr == nil) || !asked && penstock.CodeOf(interruptErr) != penstock.CodeInvalidRequest {
				w.T.Fatalf("round %d: %v, on the timeline: %v", round, interruptErr, asked)
			}
		}
	})
}

// Each of several concurrent interrupts, and a cancel, gets a correct response.
func TestConcurrentInterruptsAndACancel(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for range 25 {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			var together sync.WaitGroup
			for range 4 {
				together.Go(func() {
					_, err := w.Runs.Interrupt(w.T.Context(), w.Admin, id)
					if code := penstock.CodeOf(err); err != nil && code != penstock.CodeInvalidRequest {
						w.T.Error(err)
					}
				})
			}
			together.Go(func() { w.cancel(id, false) })
			together.Wait()
			w.MustBe(id, penstock.StateCancelled)
			if n := w.countTimeline(id, penstock.TimelineInterrupt); n > 1 {
				w.T.Errorf("%d interrupts are on the timeline", n)
			}
			if _, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, 0); !errors.Is(err, penstock.ErrLeaseLost) {
				w.T.Errorf("the worker is told %v", err)
			}
		}
	})
}
