package run_test

import (
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// continued requests a run that continues the conversation of another.
func (w *world) continued(id string) (run.Created, error) {
	req := penstock.RunRequest{Prompt: "go on", ConversationID: w.Get(id).ConversationID}
	return w.Runs.Create(w.T.Context(), w.Admin, req, run.SourceAPI)
}

// A conversation has one saved session. If two of its runs worked at once, the later end would
// overwrite the session of the other.
func TestOneRunTalksInAConversation(t *testing.T) {
	worlds(t, nil, func(w *world) {
		done := penstock.Result{State: penstock.StateSucceeded}
		old := w.Create(penstock.RunRequest{Prompt: "p"})
		w.Finish(w.Work().Lease, done)

		var together sync.WaitGroup
		made := make(chan string, 10)
		for range cap(made) {
			together.Go(func() {
				created, err := w.continued(old.ID)
				if err == nil {
					made <- created.ID
				} else if penstock.CodeOf(err) != penstock.CodeConflict {
					w.T.Error(err)
				}
			})
		}
		together.Wait()
		if len(made) != 1 {
			w.T.Fatalf("%d runs were created in the conversation, want 1", len(made))
		}
		again := run.FollowupRequest{Message: "and you"}
		if _, err := w.Runs.FollowUp(w.T.Context(), w.Admin, old.ID, again); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("the older run is to talk as well: %v", err)
		}
		w.MustBe(old.ID, penstock.StateSucceeded)
		w.FollowUp(<-made, "steers the one that talks")

		a := w.Work()
		w.Finish(a.Lease, done)
		w.Finish(a.Lease, done)
		w.FollowUp(old.ID, "now")
		if created, err := w.continued(old.ID); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("created %v, %v, while the older run talks", created, err)
		}
	})
}

// If an older run continues after a newer one, its messages come after the newer ones, and its
// agent sees both.
func TestConversationIsInTheOrderOfItsTurns(t *testing.T) {
	worlds(t, nil, func(w *world) {
		turn := func(text string) penstock.Assignment {
			a := w.Work()
			w.Say(a.Lease, penstock.NewID(), text)
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			return a
		}
		old := w.Create(penstock.RunRequest{Prompt: "p"})
		turn("one")
		if _, err := w.continued(old.ID); err != nil {
			w.T.Fatal(err)
		}
		turn("two")
		w.FollowUp(old.ID, "and now")
		history := turn("three").History
		if got, want := spoken(history), []string{"p", "one", "go on", "two"}; !slices.Equal(got, want) {
			w.T.Errorf("the agent is told of %q, want %q", got, want)
		}
		c, err := w.RunConversation(w.T.Context(), w.Admin, old.ID)
		if got, want := spoken(c.Steps), []string{"p", "one", "go on", "two", "and now", "three"}; err != nil ||
			!slices.Equal(got, want) {
			w.T.Errorf("the conversation is %q, %v, want %q", got, err, want)
		}
	})
}

// spoken returns the texts of steps in order.
func spoken(steps []penstock.Step) (texts []string) {
	for _, step := range steps {
		for _, m := range step.Messages {
			for _, b := range m.Content {
				texts = append(texts, b.Text)
			}
		}
	}
	return texts
}

// A personal run is visible only to its creator, even in the conversation of a run that is visible
// to all.
func TestConversationHidesPersonalRuns(t *testing.T) {
	worlds(t, nil, func(w *world) {
		rights := []penstock.Scope{penstock.ScopeRunsRead, penstock.ScopeRunsWrite}
		ada, bob := w.As("ada", rights...), w.As("bob", rights...)
		shared := w.Create(penstock.RunRequest{Prompt: "for all"})
		id := w.Get(shared.ID).ConversationID
		team := true
		for _, next := range []string{"", "for ada", "for all again", "for ada again"} {
			if next != "" {
				team = !team
				if _, err := w.Runs.Create(
					w.T.Context(), ada, penstock.RunRequest{Prompt: next, ConversationID: id, Team: &team}, run.SourceAPI,
				); err != nil {
					w.T.Fatal(err)
				}
			}
			w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
		}
		for name, p := range map[string]penstock.Principal{"ada": ada, "bob": bob, "admin": w.Admin} {
			want := []string{"for all", "for ada", "for all again", "for ada again"}
			if name == "bob" {
				want = []string{"for all", "for all again"}
			}
			ofRun, err := w.RunConversation(w.T.Context(), p, shared.ID)
			if got := spoken(ofRun.Steps); err != nil || !slices.Equal(got, want) {
				w.T.Errorf("%s reads %q by the run, %v, want %q", name, got, err, want)
			}
			c, err := w.Conversation(w.T.Context(), p, id)
			if got := spoken(c.Steps); err != nil || !slices.Equal(got, want) {
				w.T.Errorf("%s reads %q, %v, want %q", name, got, err, want)
			}
			link, err := w.Files.ConversationTranscriptLink(w.T.Context(), p, id)
			if err != nil {
				w.T.Fatal(err)
			}
			d, err := w.Files.Download(w.T.Context(), path.Base(link))
			if err != nil {
				w.T.Fatal(err)
			}
			if got := strings.Contains(testworld.ReadAll(w.T, d.Content), "for ada"); got != (name != "bob") {
				w.T.Errorf("%s gets the personal run in the transcript: %v", name, got)
			}
		}
		// The saved session belongs to the personal run.
		_, err := w.Runs.Create(
			w.T.Context(), bob, penstock.RunRequest{Prompt: "me, too", ConversationID: id}, run.SourceAPI,
		)
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/conversation_id")
	})
}
