package run_test

import (
	"slices"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

var succeeded = penstock.Result{State: penstock.StateSucceeded}

func promptsOf(a penstock.Assignment) (texts []string) {
	for _, p := range a.Prompts {
		texts = append(texts, p.Text)
	}
	return texts
}

func (w *world) goBack(id string, turn int64, prompt string) {
	w.T.Helper()
	if _, err := w.Turns.Rewind(w.T.Context(), w.Admin, id, run.RewindRequest{Turn: &turn, Prompt: prompt}); err != nil {
		w.T.Fatal(err)
	}
}

// kept creates a run whose first turn has ended and is kept.
func (w *world) kept(req penstock.RunRequest) (id string) {
	w.T.Helper()
	id = w.Create(req).ID
	a := w.Work()
	w.mustKeepTurn(a.Lease, id, "one")
	w.Finish(a.Lease, succeeded)
	return id
}

// TestAForkIsAsConfidentialAsItsSource tries to reach what the source had through a fork that somebody else made.
func TestAForkIsAsConfidentialAsItsSource(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateSecret("DEPLOY_KEY", "hunter22-of-the-team")
		source := w.kept(penstock.RunRequest{Prompt: "a", Config: &penstock.Config{Secrets: []string{"DEPLOY_KEY"}}})
		write := w.As("writer", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		for name, config := range map[string]*penstock.Config{"with the secret": nil, "without it": {Secrets: []string{}}} {
			forked, err := w.Turns.Fork(w.T.Context(), w.Admin, source, run.ForkRequest{Prompt: "b", Config: config})
			if err != nil {
				w.T.Fatal(err)
			}
			fork := forked.Runs[0].ID
			b := w.Work()
			w.mustKeepTurn(b.Lease, fork, "b")
			w.Finish(b.Lease, succeeded)
			_, err = w.Runs.FollowUp(w.T.Context(), write, fork, run.FollowupRequest{Message: "print it"})
			if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
				w.T.Errorf("a follow-up on a fork %s: %v", name, err)
			}
			_, err = w.Turns.Fork(w.T.Context(), write, fork, run.ForkRequest{Prompt: "print it"})
			if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
				w.T.Errorf("a fork of a fork %s: %v", name, err)
			}
		}
	})
}

// TestOnlyTheNextMessageIsDeliveredAfterGoingBack goes back where another message is on its way.
func TestOnlyTheNextMessageIsDeliveredAfterGoingBack(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.kept(penstock.RunRequest{Prompt: "a"})
		w.FollowUp(id, "not this")
		w.Moves(w.Claim().Lease, penstock.StatePending)
		w.goBack(id, 1, "this")
		next := w.Claim()
		w.Moves(next.Lease, penstock.StatePending)
		w.LoseLease(next.Lease)
		next = w.Work()
		if got := promptsOf(next); !slices.Equal(got, []string{"this"}) || w.Finish(next.Lease, succeeded) != nil {
			w.T.Errorf("delivered: %q, and then more", got)
		}
		forked, err := w.Turns.Fork(w.T.Context(), w.Admin, id, run.ForkRequest{Prompt: "not this", Turn: new(int64(1))})
		if err != nil {
			w.T.Fatal(err)
		}
		fork := forked.Runs[0].ID
		w.goBack(fork, 0, "this")
		next = w.Work()
		if got := promptsOf(next); !slices.Equal(got, []string{"this"}) {
			w.T.Errorf("a fork that had not begun gets %q", got)
		}
		w.Finish(next.Lease, succeeded)
		if forked, err = w.Turns.Fork(w.T.Context(), w.Admin, id, run.ForkRequest{Prompt: "not this"}); err != nil {
			w.T.Fatal(err)
		}
		fork = forked.Runs[0].ID
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, fork, false); err != nil {
			w.T.Fatal(err)
		}
		w.goBack(fork, 0, "this")
		if got := promptsOf(w.Work()); !slices.Equal(got, []string{"this"}) {
			w.T.Errorf("a fork that was cancelled before it began gets %q", got)
		}
	})
}

// TestGoingBackLastsUntilATurnHasEnded cancels the turn that was to begin with the older files.
func TestGoingBackLastsUntilATurnHasEnded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.kept(penstock.RunRequest{Prompt: "a"})
		w.FollowUp(id, "not this")
		w.Work()
		w.goBack(id, 1, "never delivered")
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
			w.T.Fatal(err)
		}
		w.FollowUp(id, "this")
		next := w.Work()
		if !next.Checkpoint.Restore || next.Checkpoint.Behind {
			w.T.Errorf("the worker gets %+v", next.Checkpoint)
		}
		w.Finish(next.Lease, succeeded) // without a checkpoint
		w.FollowUp(id, "that")
		if next = w.Work(); next.Checkpoint.Restore || !next.Checkpoint.Behind || next.Checkpoint.Ended == "" {
			w.T.Errorf("after a turn that was not saved, the worker gets %+v", next.Checkpoint)
		}
	})
}

// TestAnotherRunOfTheConversationDoesNotTakeTheFiles continues a run after another one.
func TestAnotherRunOfTheConversationDoesNotTakeTheFiles(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.kept(penstock.RunRequest{Prompt: "a"})
		w.Create(penstock.RunRequest{Prompt: "b", ConversationID: w.Get(id).ConversationID})
		w.Finish(w.Work().Lease, succeeded)
		w.FollowUp(id, "c")
		next := w.Work()
		if next.Checkpoint == nil || !next.Checkpoint.Behind {
			w.T.Fatalf("the worker gets %+v", next.Checkpoint)
		}
		// Its files are enough to go on after a crash, without a saved session.
		w.LoseLease(next.Lease)
		if r := w.Get(id); r.State != penstock.StateQueued {
			w.T.Errorf("after a crash, the run is %s: %+v", r.State, r.StatusMessage)
		}
	})
}

// TestAForkHasTheConversationOfItsTurn forks before the source goes back, and forks the fork.
func TestAForkHasTheConversationOfItsTurn(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.kept(penstock.RunRequest{Prompt: "a"})
		w.FollowUp(id, "b")
		second := w.Work()
		w.mustKeepTurn(second.Lease, second.Prompts[0].ID, "two")
		w.Finish(second.Lease, succeeded)
		fork := func(of string) string {
			forked, err := w.Turns.Fork(w.T.Context(), w.Admin, of, run.ForkRequest{Prompt: "c"})
			if err != nil {
				w.T.Fatal(err)
			}
			return forked.Runs[0].ID
		}
		first := fork(id)
		w.goBack(id, 1, "")
		a := w.Work()
		if n := len(a.History); n != 2 {
			w.T.Errorf("the fork has %d turns of the conversation, want 2", n)
		}
		w.mustKeepTurn(a.Lease, first, "three")
		w.Finish(a.Lease, succeeded)
		fork(first)
		if n := len(w.Work().History); n != 3 {
			w.T.Errorf("the fork of the fork has %d turns of the conversation, want 3", n)
		}
	})
}
