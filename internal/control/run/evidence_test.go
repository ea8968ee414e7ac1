package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

// acts appends an action and its result, numbered from n.
func (w *world) acts(l penstock.Lease, n int64, id, state string) {
	w.T.Helper()
	drafts := []penstock.Draft{
		penstock.NewDraft(penstock.EventAction, penstock.Now(),
			penstock.Block{Type: penstock.BlockAction, ID: id, Category: "command", Name: "run_command"}),
		penstock.NewDraft(penstock.EventActionResult, penstock.Now(),
			penstock.Block{Type: penstock.BlockActionResult, ActionID: id, State: penstock.ActionRunning}),
		penstock.NewDraft(penstock.EventActionResult, penstock.Now(),
			penstock.Block{Type: penstock.BlockActionResult, ActionID: id, State: state}),
	}
	for i := range drafts {
		drafts[i].N = n + int64(i)
	}
	if err := w.Executions.Control().Append(w.T.Context(), l, drafts); err != nil {
		w.T.Fatal(err)
	}
}

// wantEvidence compares the evidence of a run, also in a list if it has ended.
func (w *world) wantEvidence(id string, want penstock.Evidence, reason string) {
	w.T.Helper()
	got := w.Get(id)
	if got.Evidence == nil {
		w.T.Fatal("the run has no evidence")
	}
	if diff := cmp.Diff(want, *got.Evidence); diff != "" {
		w.T.Error(diff)
	}
	if got.HollowReason != reason || got.Hollow != (reason != "") {
		w.T.Errorf("hollow is %t because %q, want %q", got.Hollow, got.HollowReason, reason)
	}
	page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, r := range page.Runs {
		if r.ID == id && r.State.Done() && (r.Hollow != got.Hollow || !cmp.Equal(r.Evidence, got.Evidence)) {
			w.T.Errorf("a list has %+v and hollow %t", r.Evidence, r.Hollow)
		}
	}
}

const (
	didNothing  = "The agent ended its work without an action, a changed file or an output."
	allFailed   = "Every action of the agent failed."
	onlyTalking = "Done. I fixed the test and opened a pull request."
)

// A confident answer without a tool call is how runs report work that they never did. The state
// stays, because clients depend on it.
func TestARunThatOnlyTalksIsHollow(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "fix the test"}).ID
		a := w.Work()
		w.Spend(a.Lease, 0.01)
		w.Say(a.Lease, "m", onlyTalking)
		w.wantEvidence(id, penstock.Evidence{Turns: 1, ModelCalls: 1}, "")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.MustBe(id, penstock.StateSucceeded)
		w.wantEvidence(id, penstock.Evidence{Turns: 1, ModelCalls: 1}, didNothing)
		timeline, err := w.Runs.Timeline(w.T.Context(), w.Admin, id)
		if err != nil {
			w.T.Fatal(err)
		}
		if last := timeline[len(timeline)-1]; last.Payload["hollow_reason"] != didNothing {
			w.T.Errorf("the last event is %s %v", last.Type, last.Payload)
		}
	})
}

// Agents try things that fail. Only a run of which every action failed is hollow.
func TestFailedActionsAreHollowOnlyTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		states []string
		want   penstock.Evidence
		reason string
	}{
		"some failed": {
			[]string{penstock.ActionFailed, penstock.ActionCompleted},
			penstock.Evidence{Turns: 1, Actions: 2, FailedActions: 1},
			"",
		},
		"all failed or were denied": {
			[]string{penstock.ActionFailed, penstock.ActionDenied},
			penstock.Evidence{Turns: 1, Actions: 2, FailedActions: 2},
			allFailed,
		},
		"one never ended": {
			[]string{penstock.ActionFailed, penstock.ActionRunning},
			penstock.Evidence{Turns: 1, Actions: 2, FailedActions: 1},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
				a := w.Work()
				for i, state := range c.states {
					w.acts(a.Lease, int64(1+3*i), string(rune('a'+i)), state)
				}
				w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
				w.wantEvidence(id, c.want, c.reason)
			})
		})
	}
}

// A worker repeats a batch whose response was lost, and a lost worker repeats the turn.
func TestEvidenceCountsNothingTwiceAndLosesNothing(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		first := w.Work()
		for range 2 {
			w.acts(first.Lease, 1, "call_1", penstock.ActionFailed)
		}
		u, content := changed("one", "two")
		for range 2 {
			if err := w.saveChanges(first.Lease, u, content); err != nil {
				w.T.Fatal(err)
			}
		}
		w.SaveSession(first.Lease) // otherwise the run ends with its worker
		w.LoseLease(first.Lease)
		second := w.Work()
		w.acts(second.Lease, 1, "call_1", penstock.ActionCompleted) // the same id, but another action
		w.Finish(second.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.wantEvidence(id, penstock.Evidence{Turns: 1, Actions: 2, FailedActions: 1, FilesChanged: 2}, "")
	})
}

// The evidence of a continued run covers all its turns, and its end is decided again.
func TestAFollowUpDecidesAgainWhetherARunIsHollow(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
		w.wantEvidence(id, penstock.Evidence{Turns: 1}, didNothing)
		w.FollowUp(id, "use your tools")
		w.wantEvidence(id, penstock.Evidence{Turns: 1}, "")
		a := w.Work()
		w.acts(a.Lease, 1, "a", penstock.ActionCompleted)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.wantEvidence(id, penstock.Evidence{Turns: 2, Actions: 1}, "")
	})
}

// A message is a turn once the agent has it.
func TestAMessageThatWaitsIsNoTurn(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		a := w.Work()
		w.FollowUp(id, "then this")
		w.wantEvidence(id, penstock.Evidence{Turns: 1}, "")
		if prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(prompts) != 1 {
			w.T.Fatalf("the agent got %d messages", len(prompts))
		}
		w.wantEvidence(id, penstock.Evidence{Turns: 2}, "")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.wantEvidence(id, penstock.Evidence{Turns: 2}, didNothing)
	})
}

// An agent can claim a pull request or a link. A stored file is an output.
func TestOnlyStoredOrObservedOutputsCount(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, c := range []struct {
			upload  penstock.Upload
			outputs int
			reason  string
		}{
			{penstock.Upload{
				Type:     penstock.ArtifactPullRequest,
				Artifact: &penstock.ArtifactData{URL: "https://github.com/acme/app/pull/77", Branch: "b"},
			}, 0, didNothing},
			{penstock.Upload{
				Type: penstock.ArtifactFile, Artifact: &penstock.ArtifactData{Filename: "report.md", MimeType: "text/markdown"},
			}, 1, ""},
		} {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			c.upload.ID = penstock.NewID()
			content := ""
			if c.upload.Type == penstock.ArtifactFile {
				content, c.upload.Size = "report", 6
			}
			_, err := w.Executions.Control().Save(w.T.Context(), a.Lease, c.upload, strings.NewReader(content))
			if err != nil {
				w.T.Fatal(err)
			}
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			w.wantEvidence(id, penstock.Evidence{Turns: 1, Outputs: c.outputs}, c.reason)
		}
	})
}

// A program of the harness command reports no actions, and a run that failed says why itself.
func TestARunIsNotHollowForWhatNobodyCouldSee(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, r := range []penstock.Result{
			{State: penstock.StateSucceeded, ActionsUnknown: true},
			{State: penstock.StateFailed, Message: &penstock.StatusMessage{Message: "no"}},
			{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "Which branch?"}},
		} {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			w.Finish(w.Work().Lease, r)
			w.wantEvidence(id, penstock.Evidence{Turns: 1}, "")
		}
		// A worker of the previous release does not say that it knows of no actions.
		command := &penstock.Config{Harness: &penstock.Harness{Type: penstock.HarnessCommand}}
		id := w.Create(penstock.RunRequest{Prompt: "p", Config: command}).ID
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
		w.wantEvidence(id, penstock.Evidence{Turns: 1}, "")
	})
}

// In a list, a run that was continued would have the evidence of its end before.
func TestAnActiveRunInAListHasNoOldEvidence(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
		listed := func() *penstock.Evidence {
			page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{})
			if err != nil || len(page.Runs) != 1 {
				w.T.Fatalf("%d runs: %v", len(page.Runs), err)
			}
			return page.Runs[0].Evidence
		}
		if listed() == nil {
			w.T.Error("the run has ended, and has no evidence")
		}
		w.FollowUp(id, "more")
		if e := listed(); e != nil {
			w.T.Errorf("the waiting run has %+v", e)
		}
		w.Work()
		if e := listed(); e != nil {
			w.T.Errorf("the active run has %+v", e)
		}
	})
}
