package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// endings are the ways in which a run ends without success. Each gets a run with two pending
// follow-ups.
var endings = map[string]struct {
	state penstock.State
	end   func(w *world, id string)
}{
	"cancelled while it waits": {penstock.StateCancelled, func(w *world, id string) { w.cancel(id, false) }},
	"cancelled while it is claimed": {penstock.StateCancelled, func(w *world, id string) {
		w.Claim()
		w.cancel(id, false)
	}},
	"cancelled while it is prepared": {penstock.StateCancelled, func(w *world, id string) {
		w.Moves(w.Claim().Lease, penstock.StatePending)
		w.cancel(id, false)
	}},
	"cancelled while the agent works": {penstock.StateCancelled, func(w *world, id string) {
		w.Work()
		w.cancel(id, false)
	}},
	"cancelled with its parent": {
		penstock.StateCancelled, func(w *world, id string) { w.cancel(w.Get(id).ParentID, true) },
	},
	"the agent fails": {penstock.StateFailed, func(w *world, _ string) {
		w.Finish(
			w.Work().Lease,
			penstock.Result{State: penstock.StateFailed, Message: &penstock.StatusMessage{Message: "Too much was recorded."}},
		)
	}},
	"the worker fails": {penstock.StateError, func(w *world, _ string) {
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateError})
	}},
	"the setup fails": {penstock.StateFailed, func(w *world, _ string) {
		a := w.Claim()
		w.Moves(a.Lease, penstock.StatePending)
		w.Finish(
			a.Lease,
			penstock.Result{
				State: penstock.StateFailed, Message: &penstock.StatusMessage{ErrorCode: penstock.CodeEnvironmentSetupFailed},
			},
		)
	}},
	"the worker is lost and nothing was saved": {penstock.StateError, func(w *world, id string) {
		w.LoseLease(w.Work().Lease)
		testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(id, penstock.StateError) })
	}},
	"it loses its worker again and again": {penstock.StateError, func(w *world, id string) {
		for i := range 6 {
			w.LoseLease(w.Claim().Lease)
			want := penstock.StateQueued
			if i == 5 {
				want = penstock.StateError
			}
			testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(id, want) })
		}
	}},
	"no worker takes it": {penstock.StateError, func(w *world, id string) {
		testkit.Exec(w.T, w.URL, "UPDATE queue SET enqueued_at = 1 WHERE run_id = '"+id+"'")
		w.EndOverdue(w.T.Context())
	}},
	"its secret is deleted": {penstock.StateFailed, func(w *world, id string) {
		testkit.Exec(w.T, w.URL, `UPDATE runs SET config = '{"secrets":["GONE"]}' WHERE id = '`+id+"'")
		quick := testworld.AnyWorker
		quick.Wait = time.Millisecond
		if _, err := w.Executions.Control().Claim(w.T.Context(), quick); !errors.Is(err, penstock.ErrNoWork) {
			w.T.Fatal(err)
		}
	}},
	"what it needs cannot be gathered": {penstock.StateError, func(w *world, id string) {
		testkit.Exec(w.T, w.URL, "UPDATE runs SET delivery_id = 'gone' WHERE id = '"+id+"'")
		for range 2 {
			if _, err := w.Executions.Control().Claim(w.T.Context(), testworld.AnyWorker); err == nil {
				w.T.Fatal("it was claimed")
			}
			testkit.Exec(w.T, w.URL, "UPDATE runs SET not_given_since = not_given_since - 600000 WHERE id = '"+id+"'")
		}
	}},
}

func (w *world) cancel(id string, cascade bool) {
	w.T.Helper()
	if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, cascade); err != nil {
		w.T.Fatal(err)
	}
}

// However a run ends, a pending follow-up is recorded as undelivered, and its sender can send it
// again.
func TestFollowupsThatWaitAtTheEndAreUndelivered(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for name, way := range endings {
			parent := w.Create(penstock.RunRequest{Prompt: "the parent"})
			w.cancelWaitingLater(parent.ID)
			id := w.Create(penstock.RunRequest{Prompt: "the task", ParentID: parent.ID}).ID
			w.FollowUp(id, "one")
			w.FollowUp(id, "two")
			way.end(w, id)
			w.MustBe(id, way.state)
			w.checkUndelivered(name, id, "one", "two")
			testkit.Exec(w.T, w.URL, "UPDATE runs SET delivery_id = '', config = '' WHERE id = '"+id+"'")

			w.FollowUp(id, "one") // again
			var given []string
			a := w.Work()
			for prompts := a.Prompts; len(prompts) > 0; {
				given = append(given, prompts[0].Text)
				prompts = w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			}
			w.MustBe(id, penstock.StateSucceeded)
			if text := strings.Join(given, "\n"); strings.Count(text, "one") != 1 || strings.Contains(text, "two") {
				w.T.Errorf("%s: then the agent is given %q, want what was sent again", name, given)
			}
			if history := spoken(a.History); slices.Contains(history, "one") || slices.Contains(history, "two") {
				w.T.Errorf("%s: then the agent is told of %q, which it was never given", name, history)
			}
			w.checkUndelivered(name+", and sent again", id, "one", "two")
		}
	})
}

// cancelWaitingLater cancels a run that nothing here claims.
func (w *world) cancelWaitingLater(id string) {
	testkit.Exec(w.T, w.URL, "UPDATE queue SET harness = 'nobody has it' WHERE run_id = '"+id+"'")
}

// checkUndelivered finds the follow-ups with these texts as undelivered in the timeline, the
// conversation and the stream.
func (w *world) checkUndelivered(name, id string, want ...string) {
	w.T.Helper()
	c, err := w.RunConversation(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	var texts, ids []string
	for _, step := range c.Steps {
		for _, m := range step.Messages {
			if m.Undelivered() {
				texts, ids = append(texts, m.Content[0].Text), append(ids, m.MessageIDs[0])
				if step.CompletedAt == 0 {
					w.T.Errorf("%s: the step of an undelivered follow-up is open", name)
				}
			}
		}
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		w.T.Errorf("%s: undelivered in the conversation (-want +got):\n%s", name, diff)
	}
	events, err := w.Runs.Timeline(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	var timeline []string
	for _, e := range events {
		if e.Type == store.TimelineFollowupUndelivered {
			timeline = append(timeline, fmt.Sprint(e.Payload["followup_id"]))
		}
	}
	if diff := cmp.Diff(ids, timeline); diff != "" {
		w.T.Errorf("%s: undelivered in the timeline (-conversation +timeline):\n%s", name, diff)
	}
	var live []string
	for _, e := range w.log(id) {
		var m penstock.Message
		if e.Type == penstock.EventMessage && json.Unmarshal(e.Data, &m) == nil && m.Undelivered() {
			live = append(live, m.ID)
		}
	}
	if diff := cmp.Diff(ids, live); diff != "" {
		w.T.Errorf("%s: undelivered in the stream (-conversation +stream):\n%s", name, diff)
	}
}

// log returns the stream of a run's events so far.
func (w *world) log(id string) (all []penstock.Event) {
	w.T.Helper()
	stream, err := w.Streams.Watch(w.T.Context(), w.Admin, id, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	defer stream.Close()
	for {
		some, err := stream.Next(w.T.Context())
		if all = append(all, some...); err != nil {
			return all
		}
	}
}

// A follow-up of an execution whose agent never started is undelivered, even though the
// conversation already has it.
func TestFollowupOfAnAgentThatNeverStartedIsUndelivered(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for name, end := range map[string]func(id string, l penstock.Lease){
			"the setup fails": func(_ string, l penstock.Lease) {
				w.Moves(l, penstock.StatePending)
				w.Finish(l, penstock.Result{State: penstock.StateFailed})
			},
			"it is cancelled": func(id string, _ penstock.Lease) { w.cancel(id, false) },
		} {
			id := w.Create(penstock.RunRequest{Prompt: "the task"}).ID
			w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
			w.FollowUp(id, "one more thing")
			end(id, w.Claim().Lease)
			w.checkUndelivered(name, id, "one more thing")
			c, _ := w.RunConversation(w.T.Context(), w.Admin, id)
			if got := spoken(c.Steps); strings.Count(strings.Join(got, "\n"), "one more thing") != 1 {
				w.T.Errorf("%s: the conversation is %q, with the follow-up not just once", name, got)
			}
		}
	})
}

// A run that succeeds leaves none undelivered: it continues while one is pending.
func TestSuccessLeavesNothingUndelivered(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "the task"}).ID
		a := w.Work()
		w.FollowUp(id, "one")
		for range 2 {
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		}
		w.MustBe(id, penstock.StateSucceeded)
		if timeline := w.TimelineTypes(id); slices.Contains(timeline, store.TimelineFollowupUndelivered) {
			w.T.Errorf("got %v", timeline)
		}
	})
}

// A follow-up and the end of a failed or cancelled run happen at the same time. The follow-up is
// undelivered or starts the next execution. There is no third result.
func TestFollowupRacesABadEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for round := range 100 {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			var together sync.WaitGroup
			together.Go(func() { w.FollowUp(id, "late") })
			together.Go(func() {
				if round%2 == 0 {
					w.cancel(id, false)
				} else if _, err := w.Executions.Control().Finish(
					w.T.Context(), a.Lease, penstock.Result{State: penstock.StateFailed},
				); err != nil {
					w.T.Error(err)
				}
			})
			together.Wait()
			undelivered := slices.Contains(w.TimelineTypes(id), store.TimelineFollowupUndelivered)
			if !undelivered {
				if a = w.Work(); len(a.Prompts) != 1 || a.Prompts[0].Text != "late" {
					w.T.Fatalf("round %d: given %+v, want the follow-up", round, a.Prompts)
				}
				w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			} else if w.checkUndelivered("race", id, "late"); !w.Get(id).State.Done() {
				w.T.Fatalf("round %d: undelivered, but the run is %s", round, w.Get(id).State)
			}
		}
	})
}
