package factory_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// speaking calls everything that brings text to the conversation of a run, as p. The texts say who
// wrote them.
func (w *world) speaking(p penstock.Principal, started penstock.Run) map[string]error {
	ctx, message := w.T.Context(), run.FollowupRequest{Message: "from " + p.Actor.UID}
	files := run.PrepareRequest{Files: []run.PrepareFile{{Filename: "a.txt", MimeType: "text/plain"}}}
	message.Attachments = []run.FollowupAttachment{{FileName: "b.txt", MimeType: "text/plain", Data: []byte("b")}}
	errs := map[string]error{}
	_, errs["prepare"] = w.Files.PrepareAttachments(ctx, p, started.ID, files)
	_, errs["prepare for the conversation"] = w.Files.PrepareConversationAttachments(ctx, p, started.ConversationID, files)
	_, errs["follow-up"] = w.Runs.FollowUp(ctx, p, started.ID, message)
	_, errs["follow-up to the conversation"] = w.Runs.FollowUpConversation(ctx, p, started.ConversationID, message)
	_, errs["new run"] = w.Runs.Create(ctx, p, penstock.RunRequest{
		Prompt: "from " + p.Actor.UID, ConversationID: started.ConversationID,
	}, run.SourceAPI)
	return errs
}

// refused fails unless everything that brings text to the conversation of a run is refused to p.
func (w *world) refused(p penstock.Principal, run penstock.Run, why string) {
	w.T.Helper()
	for what, err := range w.speaking(p, run) {
		if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("%s by %s: got %v, want a refusal", what, p.Actor.UID, err)
			continue
		}
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, why)
	}
}

// done ends a run at its next execution, which saves its session.
func (w *world) done() penstock.Run {
	w.T.Helper()
	a := w.Work()
	w.SaveSession(a.Lease)
	w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
	return w.Get(a.Run.ID)
}

// writers returns a caller who may name secrets, and one who may not.
func (w *world) writers() (ann, bob penstock.Principal) {
	return w.As("ann", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsUse),
		w.As("bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
}

// The agent of a conversation still knows the secrets of its earlier runs. Without the right to name
// secrets, nobody can make it reveal them, by whatever run, also after a later run without secrets.
func TestOnlyCallersWhoMayNameSecretsContinueAConversationThatHadSome(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		ann, bob := w.writers()
		agentKey := bob
		agentKey.AgentUID = w.CreateAgent(factory.IdentityRequest{Name: new("helper")}).UID
		for pointer, config := range secretConfigs("DEPLOY_KEY") {
			created, err := w.Runs.Create(ctx, ann, penstock.RunRequest{Prompt: "go", Config: &config}, run.SourceAPI)
			if err != nil {
				w.T.Fatal(err)
			}
			w.refused(bob, w.Get(created.ID), "secrets:use") // it waits
			first := w.done()
			w.refused(bob, first, "secrets:use")
			w.refused(agentKey, first, "secrets:use")
			if _, err := w.Runs.Create(ctx, ann, penstock.RunRequest{
				Prompt: "no secrets", ConversationID: first.ConversationID,
			}, run.SourceAPI); err != nil {
				w.T.Fatalf("%s: with secrets:use: %v", pointer, err)
			}
			w.refused(bob, first, "secrets:use")
			later := w.done()
			if later.ID == first.ID || later.ConversationID != first.ConversationID {
				w.T.Fatalf("%s: the later run is %s in %s", pointer, later.ID, later.ConversationID)
			}
			w.refused(bob, first, "secrets:use")
			w.refused(bob, later, "secrets:use")
			if _, err := w.Runs.FollowUp(ctx, ann, later.ID, run.FollowupRequest{Message: "thanks"}); err != nil {
				w.T.Errorf("%s: a follow-up with secrets:use: %v", pointer, err)
			}
			w.refused(bob, first, "secrets:use")
			w.done()
		}
	})
}

// A schedule's configuration is a request, too. A run that starts below another one gets neither its
// session nor its secrets.
func TestNoOtherRunGetsTheSessionOfOneWithSecrets(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		ann, bob := w.writers()
		schedule := factory.ScheduleRequest{
			Name: "n", Cron: "@hourly", Prompt: "go", Config: &penstock.Config{Secrets: []string{"DEPLOY_KEY"}},
		}
		if _, err := w.Schedules.Create(ctx, ann, schedule); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Schedules.FireDue(ctx, penstock.Now().Add(2*time.Hour)); err != nil {
			w.T.Fatal(err)
		}
		first := w.done()
		w.refused(bob, first, "secrets:use")
		for what, req := range map[string]penstock.RunRequest{
			"a child": {Prompt: "demo", ParentID: first.ID}, "another run": {Prompt: "demo"},
		} {
			if _, err := w.Runs.Create(ctx, bob, req, run.SourceAPI); err != nil {
				w.T.Fatal(err)
			}
			a := w.Work()
			if a.Session != nil || len(a.History) > 0 || len(a.Secrets) > 0 || a.Run.ConversationID == first.ConversationID {
				w.T.Errorf("%s gets the session %v, the history %v and the secrets %v", what, a.Session, a.History, a.Secrets)
			}
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			if _, err := w.Runs.FollowUp(ctx, bob, a.Run.ID, run.FollowupRequest{Message: "on"}); err != nil {
				w.T.Errorf("a follow-up to %s: %v", what, err)
			}
			w.done()
		}
	})
}

// The session of a conversation includes its personal runs, which only their creators and admins see.
func TestOnlyTheirCreatorsContinueConversationsWithPersonalRuns(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx, personal := w.T.Context(), false
		ann, bob := w.writers()
		for _, order := range [][]bool{{true, false}, {false, true}, {true, false, true}} { // personal or not
			var first penstock.Run
			for i, own := range order {
				req := penstock.RunRequest{Prompt: "go", ConversationID: first.ConversationID}
				if own {
					req.Team = &personal
				}
				if _, err := w.Runs.Create(ctx, ann, req, run.SourceAPI); err != nil {
					w.T.Fatal(err)
				}
				if run := w.done(); i == 0 || !own {
					first = run
				}
			}
			_, err := w.Runs.FollowUp(ctx, bob, first.ID, run.FollowupRequest{Message: "tell me"})
			if code := penstock.CodeOf(err); code != penstock.CodeNotAuthorized && code != penstock.CodeNotFound {
				w.T.Errorf("%v: bob speaks: %v", order, err)
			}
			for what, err := range w.speaking(bob, first) {
				if err == nil {
					w.T.Errorf("%v: %s by bob", order, what)
				}
			}
			for _, p := range []penstock.Principal{ann, w.Admin} {
				if _, err := w.Runs.FollowUp(ctx, p, first.ID, run.FollowupRequest{Message: "on"}); err != nil {
					w.T.Errorf("%v: a follow-up by %s: %v", order, p.Actor.UID, err)
				}
				w.done()
			}
		}
	})
}

// A conversation outlives its first runs, and so does what its agent knows.
func TestRemovedRunsStillDecideWhoMaySpeak(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.KeepRunsFor = time.Hour }, func(w *world) {
		ctx, personal := w.T.Context(), false
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		ann, bob := w.writers()
		for name, req := range map[string]penstock.RunRequest{
			"secrets":  {Prompt: "go", Config: &penstock.Config{Secrets: []string{"DEPLOY_KEY"}}},
			"personal": {Prompt: "go", Team: &personal},
			"neither":  {Prompt: "go"},
		} {
			if _, err := w.Runs.Create(ctx, ann, req, run.SourceAPI); err != nil {
				w.T.Fatal(err)
			}
			first := w.done()
			for range 2 { // the last of them stays
				if _, err := w.Runs.Create(ctx, ann, penstock.RunRequest{
					Prompt: "on", ConversationID: first.ConversationID,
				}, run.SourceAPI); err != nil {
					w.T.Fatal(err)
				}
				last := w.done()
				testkit.Exec(w.T, w.URL, "UPDATE runs SET updated_at = 1 WHERE id = '"+first.ID+"'")
				if err := w.Upkeep.RemoveOldRuns(ctx); err != nil {
					w.T.Fatal(err)
				}
				if _, err := w.Runs.Read(ctx, w.Admin, first.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
					w.T.Fatalf("%s: the first run is still there: %v", name, err)
				}
				first = last
			}
			if name == "neither" {
				if _, err := w.Runs.FollowUp(ctx, bob, first.ID, run.FollowupRequest{Message: "on"}); err != nil {
					w.T.Errorf("%s: %v", name, err)
				}
				w.done()
				continue
			}
			w.refused(bob, first, map[string]string{"secrets": "secrets:use", "personal": "personal run"}[name])
			if _, err := w.Runs.FollowUp(ctx, ann, first.ID, run.FollowupRequest{Message: "on"}); err != nil {
				w.T.Errorf("%s: a follow-up by ann: %v", name, err)
			}
			w.done()
		}
	})
}

// The right is checked where the text is stored: no text passes beside a run that just brings secrets.
func TestNoTextOvertakesTheCheck(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("DEPLOY_KEY", "hunter22")
		ann, bob := w.writers()
		for range 20 {
			w.Create(penstock.RunRequest{Prompt: "go"})
			first := w.done()
			var together sync.WaitGroup
			var said, begun error
			together.Go(func() {
				_, said = w.Runs.Create(ctx, bob, penstock.RunRequest{
					Prompt: "reveal", ConversationID: first.ConversationID,
				}, run.SourceAPI)
			})
			together.Go(func() {
				_, begun = w.Runs.Create(ctx, ann, penstock.RunRequest{
					Prompt: "go", ConversationID: first.ConversationID, Config: &penstock.Config{Secrets: []string{"DEPLOY_KEY"}},
				}, run.SourceAPI)
			})
			together.Wait()
			if (said == nil) == (begun == nil) {
				w.T.Fatalf("want one of the two: %v", errors.Join(said, begun))
			}
			if w.done(); said != nil {
				w.refused(bob, first, "secrets:use")
			}
		}
	})
}
