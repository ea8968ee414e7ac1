package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestRunFromCreateToDone(t *testing.T) {
	worlds(t, nil, func(w *world) {
		created := w.Create(penstock.RunRequest{
			Prompt: "Look around\nand tell", Metadata: map[string]string{"k": "v"},
			Attachments: []penstock.Attachment{{FileName: "a.txt", MimeType: "text/plain", Data: []byte("hello")}},
		})
		if created.State != penstock.StateQueued || !created.AtCapacity {
			t := w.T
			t.Errorf("got %+v, want QUEUED and at capacity: no worker is there", created)
		}
		run := w.MustBe(created.ID, penstock.StateQueued)
		if run.Title != "Look around" || run.QueuePosition != 1 ||
			!strings.Contains(run.StatusMessage.Message, "no worker is connected") {
			w.T.Errorf("got %q, position %d, %+v", run.Title, run.QueuePosition, run.StatusMessage)
		}
		if _, err := w.RunConversation(w.T.Context(), w.Admin, run.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Errorf("a conversation before the agent was given anything: %v", err)
		}

		a := w.Work()
		if len(a.Prompts) != 1 || a.Prompts[0].Text != "Look around\nand tell" || len(a.Files) != 1 {
			w.T.Fatalf("assignment: %+v", a)
		}
		content, err := w.Executions.Control().Open(w.T.Context(), a.Lease, a.Files[0])
		if err != nil {
			w.T.Fatal(err)
		}
		if got := testworld.ReadAll(w.T, content); got != "hello" {
			w.T.Errorf("the attachment holds %q", got)
		}
		w.Say(a.Lease, "m1", "I see.")
		cost := 0.5
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Usage: &penstock.TurnUsage{
			ModelID: "unknown", Tokens: penstock.TokenUsage{Input: 10, Output: 5}, CostUSD: &cost,
		}})

		run = w.MustBe(created.ID, penstock.StateSucceeded)
		if run.Usage == nil || run.Usage.TotalTokens != 15 || *run.Usage.InferenceCostUSD != 0.5 || run.FinishedAt == 0 ||
			run.StartedAt == 0 || run.QueuePosition != 0 {
			w.T.Errorf("got %+v", run)
		}
		want := []string{"run_created", "run_claimed", "run_done"}
		if diff := cmp.Diff(want, w.TimelineTypes(run.ID)); diff != "" {
			w.T.Error(diff)
		}
		c, err := w.RunConversation(w.T.Context(), w.Admin, run.ID)
		if err != nil || len(c.Steps) != 1 || len(c.Steps[0].Messages) != 2 {
			w.T.Fatalf("conversation %+v, %v", c, err)
		}
		if text := c.Steps[0].Messages[1].Content[0].Text; text != "I see." {
			w.T.Errorf("the agent said %q", text)
		}
		if _, err := w.Runs.Cancel(
			w.T.Context(), w.Admin, run.ID, false,
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("canceling what is over: %v, want an invalid request", err)
		}
	})
}

func TestFollowupsAreDeliveredInOrderWithoutLoss(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "first"})
		w.FollowUp(run.ID, "second") // while it waits
		a := w.Work()
		if a.Prompts[0].Text != "first" || len(a.Prompts) != 1 {
			w.T.Fatalf("given %+v", a.Prompts)
		}
		w.FollowUp(run.ID, "third") // while it works
		signal, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Second)
		if err != nil || signal.Followups != 2 {
			w.T.Errorf("the heartbeat tells of %d follow-ups, %v", signal.Followups, err)
		}
		for i, want := range []string{"second", "third"} {
			done := penstock.Result{State: penstock.StateSucceeded, Turn: i + 1}
			prompts := w.Finish(a.Lease, done)
			if len(prompts) != 1 || prompts[0].Text != want || !prompts[0].Followup {
				w.T.Fatalf("given %+v, want %q", prompts, want)
			}
			if again := w.Finish(a.Lease, done); cmp.Diff(prompts, again) != "" { // the response was lost
				w.T.Errorf("asked again, given %+v, want %+v", again, prompts)
			}
			w.MustBe(run.ID, penstock.StateInProgress)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 3})
		w.MustBe(run.ID, penstock.StateSucceeded)

		w.FollowUp(run.ID, "fourth") // after the end
		if got := w.MustBe(run.ID, penstock.StateQueued); got.ExecutionID != 2 || got.FinishedAt != 0 {
			w.T.Errorf("execution %d, finished %s", got.ExecutionID, got.FinishedAt)
		}
		a = w.Work()
		if a.Prompts[0].Text != "fourth" || len(a.History) != 3 || a.Lease.ExecutionID != 2 {
			w.T.Errorf("given %+v after %d steps", a.Prompts, len(a.History))
		}
		w.Finish(
			a.Lease, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "Which one?"}},
		)
		if got := w.MustBe(run.ID, penstock.StateBlocked); got.StatusMessage.Message != "Which one?" {
			w.T.Errorf("blocked for %+v", got.StatusMessage)
		}
		w.FollowUp(run.ID, "the red one")
		if a = w.Work(); a.Prompts[0].Text != "the red one" {
			w.T.Errorf("given %+v", a.Prompts)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		c, err := w.RunConversation(w.T.Context(), w.Admin, run.ID)
		if err != nil {
			w.T.Fatal(err)
		}
		var texts []string
		for _, step := range c.Steps {
			texts = append(texts, step.Messages[0].Content[0].Text)
		}
		if diff := cmp.Diff([]string{"first", "second", "third", "fourth", "the red one"}, texts); diff != "" {
			w.T.Error(diff)
		}
	})
}

// A follow-up and the end of the run happen at the same time, many times: either the agent gets the
// follow-up before the end, or it starts the next execution.
func TestFollowupRacesTheEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for range 25 {
			run := w.Create(penstock.RunRequest{Prompt: "p"})
			a := w.Work()
			var together sync.WaitGroup
			var prompts []penstock.Prompt
			together.Go(func() { w.FollowUp(run.ID, "late") })
			together.Go(func() {
				var err error
				if prompts, err = w.Executions.Control().Finish(
					w.T.Context(), a.Lease, penstock.Result{State: penstock.StateSucceeded},
				); err != nil {
					w.T.Error(err)
				}
			})
			together.Wait()
			if len(prompts) == 0 {
				w.MustBe(run.ID, penstock.StateQueued)
				a = w.Work()
				prompts = a.Prompts
			}
			if len(prompts) != 1 || prompts[0].Text != "late" {
				w.T.Fatalf("given %+v, want the late follow-up", prompts)
			}
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			w.MustBe(run.ID, penstock.StateSucceeded)
		}
	})
}

// Cancel and the end of the run race: one of them wins, and the response says which.
func TestCancelRacesTheEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for range 25 {
			run := w.Create(penstock.RunRequest{Prompt: "p"})
			a := w.Work()
			var together sync.WaitGroup
			var cancelErr, finishErr error
			together.Go(func() { _, cancelErr = w.Runs.Cancel(w.T.Context(), w.Admin, run.ID, false) })
			together.Go(func() {
				_, finishErr = w.Executions.Control().Finish(
					w.T.Context(), a.Lease, penstock.Result{State: penstock.StateSucceeded},
				)
			})
			together.Wait()
			switch w.Get(run.ID).State {
			case penstock.StateCancelled:
				if cancelErr != nil || !errors.Is(finishErr, penstock.ErrLeaseLost) {
					w.T.Fatalf("CANCELLED, but cancel says %v and finish %v", cancelErr, finishErr)
				}
			case penstock.StateSucceeded:
				if finishErr != nil || penstock.CodeOf(cancelErr) != penstock.CodeInvalidRequest {
					w.T.Fatalf("SUCCEEDED, but cancel says %v and finish %v", cancelErr, finishErr)
				}
			default:
				w.T.Fatalf("the run is %s", w.Get(run.ID).State)
			}
		}
	})
}

func TestCancelInEveryState(t *testing.T) {
	worlds(t, nil, func(w *world) {
		queued := w.Create(penstock.RunRequest{Prompt: "p"})
		w.FollowUp(queued.ID, "never given")
		if id, err := w.Runs.Cancel(w.T.Context(), w.Admin, queued.ID, false); id != queued.ID || err != nil {
			w.T.Fatalf("got %q, %v", id, err)
		}
		w.MustBe(queued.ID, penstock.StateCancelled)
		events, _ := w.Runs.Timeline(w.T.Context(), w.Admin, queued.ID)
		if ids, _ := events[len(events)-1].Payload["undelivered_followups"].([]any); len(ids) != 1 {
			w.T.Errorf("the cancel does not name the follow-up that was not delivered: %+v", events[len(events)-1])
		}
		for _, states := range [][]penstock.State{
			{}, {penstock.StatePending}, {penstock.StatePending, penstock.StateInProgress},
		} {
			run := w.Create(penstock.RunRequest{Prompt: "p"})
			a := w.Claim()
			w.Moves(a.Lease, states...)
			finished := make(chan error, 1)
			go func() {
				_, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Minute)
				finished <- err
			}()
			if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, run.ID, false); err != nil {
				w.T.Fatal(err)
			}
			w.MustBe(run.ID, penstock.StateCancelled)
			select {
			case err := <-finished:
				if !errors.Is(err, penstock.ErrLeaseLost) {
					w.T.Errorf("the worker is told %v", err)
				}
			case <-time.After(testkit.Patience * time.Minute):
				w.T.Error("the worker is not told of the cancel")
			}
			if _, err := w.Keys.Authenticate(
				w.T.Context(), a.APIKey,
			); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
				w.T.Errorf("the agent's key still holds: %v", err)
			}
		}
		// A run is cancelled before its agent saw the prompt, and then steered. Its agent gets
		// both.
		w.FollowUp(queued.ID, "do it now")
		if a := w.Work(); a.Prompts[0].Text != "p\n\ndo it now" {
			w.T.Errorf("given %q", a.Prompts[0].Text)
		}
	})
}

func TestCancelCascades(t *testing.T) {
	worlds(t, nil, func(w *world) {
		top := w.Create(penstock.RunRequest{Prompt: "p"})
		child := w.Create(penstock.RunRequest{Prompt: "p", ParentID: top.ID})
		grandchild := w.Create(penstock.RunRequest{Prompt: "p", ParentID: child.ID})
		other := w.Create(penstock.RunRequest{Prompt: "p", ParentID: top.ID})
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, child.ID, true); err != nil {
			w.T.Fatal(err)
		}
		w.MustBe(grandchild.ID, penstock.StateCancelled)
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, top.ID, false); err != nil {
			w.T.Fatal(err)
		}
		w.MustBe(other.ID, penstock.StateQueued)
	})
}

func TestParents(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := ""
		var top string
		for depth := range run.MaxDepth + 1 {
			run := w.Create(
				penstock.RunRequest{
					Prompt: "p", ParentID: id, Metadata: map[string]string{"k": fmt.Sprint(depth), fmt.Sprint("at", depth): "x"},
				},
			)
			id = run.ID
			if depth == 0 {
				top = id
			}
		}
		deepest := w.Get(id)
		if deepest.Depth != run.MaxDepth || deepest.RootID != top || deepest.Metadata["k"] != "8" ||
			deepest.Metadata["at0"] != "x" {
			w.T.Errorf("got depth %d, root %s, metadata %v", deepest.Depth, deepest.RootID, deepest.Metadata)
		}
		for _, parent := range []string{id, penstock.NewID(), "nonsense"} {
			_, err := w.Runs.Create(
				w.T.Context(), w.Admin, penstock.RunRequest{Prompt: "p", ParentID: parent}, run.SourceAPI,
			)
			testworld.WantField(w.T, err, "/parent_run_id")
		}
	})
}

func TestBadRequestsLeaveNothing(t *testing.T) {
	worlds(t, nil, func(w *world) {
		many := map[string]string{}
		for i := range 21 {
			many[fmt.Sprint("k", i)] = ""
		}
		file := penstock.Attachment{FileName: "a", MimeType: "text/plain", Data: []byte{}}
		for pointer, req := range map[string]penstock.RunRequest{
			"/prompt":             {},
			"/title":              {Prompt: "p", Title: strings.Repeat("x", 501)},
			"/mode":               {Prompt: "p", Mode: "fast"},
			"/metadata":           {Prompt: "p", Metadata: many},
			"/metadata/a~1b":      {Prompt: "p", Metadata: map[string]string{"a/b": ""}},
			"/metadata/nul":       {Prompt: "p", Metadata: map[string]string{"nul": "\x00"}},
			"/conversation_id":    {Prompt: "p", ConversationID: penstock.NewID()},
			"/agent_identity_uid": {Prompt: "p", AgentIdentityUID: "nobody"},
			"/on_behalf_of":       {Prompt: "p", OnBehalfOf: "nobody"},
			"/attachments": {
				Prompt: "p", Attachments: []penstock.Attachment{file, file, file, file, file, file},
			},
			"/attachments/0/file_name": {
				Prompt: "p", Attachments: []penstock.Attachment{{FileName: "../a", MimeType: "text/plain"}},
			},
			"/attachments/1/file_name": {Prompt: "p", Attachments: []penstock.Attachment{file, file}},
			"/attachments/0/mime_type": {Prompt: "p", Attachments: []penstock.Attachment{{FileName: "a"}}},
			"/attachments/0/data": {
				Prompt: "p", Attachments: []penstock.Attachment{{FileName: "a", MimeType: "text/plain"}},
			},
			"/skill":                      {Skill: "../.."},
			"/config/skill_spec":          {Config: &penstock.Config{SkillSpec: "../.."}},
			"/config/budget/max_cost_usd": {Prompt: "p", Config: &penstock.Config{Budget: &penstock.Budget{MaxCostUSD: -1}}},
			"/config/harness/type":        {Prompt: "p", Config: &penstock.Config{Harness: &penstock.Harness{Type: "emacs"}}},
			"/config/environment_id":      {Prompt: "p", Config: &penstock.Config{EnvironmentID: "none"}},
			"/config/skills":              {Config: &penstock.Config{SkillSpec: "a", Skills: []string{"b"}}},
			"/config/secrets/0":           {Prompt: "p", Config: &penstock.Config{Secrets: []string{"TOKEN"}}},
			"/config/mcp_servers/x/url": {
				Prompt: "p", Config: &penstock.Config{MCPServers: map[string]penstock.MCPServer{"x": {ID: "a", URL: "https://b"}}},
			},
			"/config/idle_timeout_minutes": {Prompt: "p", Config: &penstock.Config{IdleTimeoutMinutes: new(61)}},
			"/config/max_duration_minutes": {Prompt: "p", Config: &penstock.Config{MaxDurationMinutes: new(0)}},
		} {
			_, err := w.Runs.Create(w.T.Context(), w.Admin, req, run.SourceAPI)
			testworld.WantField(w.T, err, pointer)
		}
		_, err := w.Runs.Create(w.T.Context(), w.Admin, penstock.RunRequest{Prompt: "a\x00b"}, run.SourceAPI)
		testworld.WantField(w.T, err, "/prompt")
		page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{})
		if err != nil || len(page.Runs) != 0 {
			w.T.Errorf("%d runs are there, %v", len(page.Runs), err)
		}
	})
}

func TestConfigurationIsResolvedOnce(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(
			penstock.RunRequest{
				Skill: "acme/app:review", Config: &penstock.Config{SkillSpec: "other", MaxDurationMinutes: new(5)},
			},
		)
		got := w.Get(run.ID)
		if got.Config.SkillSpec != "acme/app:review" || got.Config.Name != "review" || got.Prompt != "" ||
			got.Title != "review" || got.Skill.Name != "review" {
			w.T.Errorf("got %+v, %+v", got, got.Config)
		}
		want := map[string]string{
			"skill_spec": "request", "max_duration_minutes": "request", "name": "skill", "model_id": "server",
			"harness": "server",
		}
		if diff := cmp.Diff(want, got.ConfigSources); diff != "" {
			w.T.Error(diff)
		}
	})
}

func TestVisibilityOfRuns(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ada := w.As("ada", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		bob := w.As("bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		stranger := ada
		stranger.Team = "another"
		no := false
		personal, err := w.Runs.Create(w.T.Context(), ada, penstock.RunRequest{Prompt: "p", Team: &no}, run.SourceAPI)
		if err != nil {
			w.T.Fatal(err)
		}
		for name, p := range map[string]penstock.Principal{"bob": bob, "stranger": stranger} {
			if _, err := w.Runs.Read(w.T.Context(), p, personal.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
				w.T.Errorf("%s reads it: %v", name, err)
			}
			if _, err := w.Runs.Cancel(w.T.Context(), p, personal.ID, false); penstock.CodeOf(err) != penstock.CodeNotFound {
				w.T.Errorf("%s cancels it: %v", name, err)
			}
			if _, err := w.Runs.FollowUp(
				w.T.Context(), p, personal.ID, run.FollowupRequest{Message: "m"},
			); penstock.CodeOf(err) != penstock.CodeNotFound {
				w.T.Errorf("%s steers it: %v", name, err)
			}
			page, err := w.Runs.List(w.T.Context(), p, penstock.RunQuery{})
			if err != nil || len(page.Runs) != 0 {
				w.T.Errorf("%s lists %d runs, %v", name, len(page.Runs), err)
			}
		}
		for name, p := range map[string]penstock.Principal{"ada": ada, "admin": w.Admin} {
			if _, err := w.Runs.Read(w.T.Context(), p, personal.ID); err != nil {
				w.T.Errorf("%s: %v", name, err)
			}
		}
		reader := w.As("ada", penstock.ScopeRunsRead)
		if _, err := w.Runs.Create(
			w.T.Context(), reader, penstock.RunRequest{Prompt: "p"}, run.SourceAPI,
		); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("without the scope: %v", err)
		}
	})
}

// The fate of a run whose worker disappears.
func TestLostWorker(t *testing.T) {
	worlds(t, nil, func(w *world) {
		preparing := w.Create(penstock.RunRequest{Prompt: "preparing"})
		a := w.Claim()
		w.Moves(a.Lease, penstock.StatePending)
		w.LoseLease(a.Lease)
		testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(preparing.ID, penstock.StateQueued) })
		again := w.Work()
		if !again.Prompts[0].Redelivered || again.Lease.ExecutionID != 2 {
			w.T.Errorf("given %+v in execution %d", again.Prompts, again.Lease.ExecutionID)
		}
		if err := w.Executions.Control().Append(
			w.T.Context(), a.Lease, []penstock.Draft{penstock.Timeline(penstock.Now(), "ghost", nil)},
		); !errors.Is(err, penstock.ErrLeaseLost) {
			w.T.Errorf("the worker that was lost writes: %v", err)
		}
		w.LoseLease(again.Lease) // it works, and nothing was saved
		testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(preparing.ID, penstock.StateError) })
		if m := w.Get(preparing.ID).StatusMessage; m.ErrorCode != penstock.CodeInfrastructureTimeout || !m.Retryable {
			w.T.Errorf("got %+v", m)
		}

		working := w.Create(penstock.RunRequest{Prompt: "working"})
		a = w.Work()
		w.SaveSession(a.Lease)
		w.FollowUp(working.ID, "steer")
		if prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(prompts) != 1 {
			w.T.Fatal("the follow-up was not given")
		}
		w.LoseLease(a.Lease)
		testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(working.ID, penstock.StateQueued) })
		a = w.Work()
		if a.Session == nil || !a.Prompts[0].Redelivered || a.Prompts[0].Text != "steer" {
			w.T.Errorf("session %+v, given %+v", a.Session, a.Prompts)
		}
		content, err := w.Executions.Control().Open(w.T.Context(), a.Lease, a.Session.File)
		if err != nil {
			w.T.Fatal(err)
		}
		if got := testworld.ReadAll(w.T, content); got != "home" {
			w.T.Errorf("the session holds %q", got)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		c, err := w.RunConversation(w.T.Context(), w.Admin, working.ID)
		if err != nil || len(c.Steps) != 2 {
			w.T.Errorf("the follow-up stands twice in the conversation: %d steps, %v", len(c.Steps), err)
		}
	})
}

// A worker that was stopped, or whose machine slept, continues its run if no other worker could have
// taken it.
func TestRunWaitsForItsWorkerWhileNobodyElseCanTakeIt(t *testing.T) {
	for name, test := range map[string]struct {
		other  *penstock.ClaimRequest
		silent time.Duration
		lost   bool
	}{
		"no other worker":               {nil, 50 * time.Minute, false},
		"no other worker, for too long": {nil, 2 * time.Hour, true},
		"another worker is busy":        {&penstock.ClaimRequest{Capacity: 1, Busy: 1}, time.Second, true},
		"another worker is free":        {&penstock.ClaimRequest{Capacity: 2, Busy: 1}, time.Second, true},
		"another worker cannot execute it": {
			&penstock.ClaimRequest{Capacity: 2, Harnesses: []string{"other"}}, 50 * time.Minute, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				run := w.Create(penstock.RunRequest{Prompt: "p"})
				a := w.Work()
				w.SaveSession(a.Lease)
				if test.other != nil {
					other := *test.other
					other.WorkerID, other.Host = "other", "elsewhere"
					if other.Harnesses == nil {
						other.Harnesses = testworld.AnyWorker.Harnesses
					}
					if _, err := w.Executions.Control().Claim(w.T.Context(), other); !errors.Is(err, penstock.ErrNoWork) {
						w.T.Fatal(err)
					}
				}
				silentSince := time.Now().Add(-test.silent).UnixMilli()
				testkit.Exec(w.T, w.URL, fmt.Sprintf(
					"UPDATE queue SET lease_until = %d WHERE token = '%s'", silentSince, a.Lease.Token,
				))
				testkit.Exec(w.T, w.URL, fmt.Sprintf(
					"UPDATE workers SET last_seen_at = %d WHERE id = '%s'", silentSince-1, testworld.AnyWorker.WorkerID,
				))
				if err := w.Executions.EndLostLeases(w.T.Context()); err != nil {
					w.T.Fatal(err)
				}
				want, state := error(nil), penstock.StateInProgress
				if test.lost {
					want, state = penstock.ErrLeaseLost, penstock.StateQueued
				} else if m := w.Get(run.ID).StatusMessage; m == nil ||
					!strings.Contains(m.Message, "its worker on here has not been heard of since") {
					w.T.Errorf("the run says %+v, want that its worker is silent", m)
				}
				if err := w.is(run.ID, state); err != nil {
					w.T.Error(err)
				}
				if _, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, 0); !errors.Is(err, want) {
					w.T.Errorf("the worker wakes: got %v, want %v", err, want)
				}
				if err := w.is(run.ID, state); err != nil {
					w.T.Error(err)
				}
				if m := w.Get(run.ID).StatusMessage; !test.lost && m != nil {
					w.T.Errorf("the worker is back, and the run says %+v", m)
				}
				if !test.lost {
					return
				}
				draft := penstock.Timeline(penstock.Now(), "ghost", nil)
				if err := w.Executions.Control().Append(
					w.T.Context(), a.Lease, []penstock.Draft{draft},
				); !errors.Is(err, penstock.ErrLeaseLost) {
					w.T.Errorf("it writes before anybody has claimed the run again: %v", err)
				}
				if again := w.Work(); again.Lease.ExecutionID != 2 {
					w.T.Errorf("the next worker has execution %d, want 2", again.Lease.ExecutionID)
				}
			})
		})
	}
}

// The server ends after it has given a run to its only worker, which gets no answer. The worker calls again, with or
// without other work, and the run starts as soon as its lease has expired.
func TestARunWhoseClaimWasNotAnsweredStartsAgain(t *testing.T) {
	for name, test := range map[string]struct {
		busy, held int // as the worker says, and how many of its other leases are valid
		lost       bool
	}{
		"it has no work":                    {0, 0, true},
		"it has other work":                 {1, 1, true},
		"it has it, and was just asleep":    {1, 0, false},
		"it has both, and one is not heard": {2, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, nil, func(w *world) {
				for range test.held {
					w.Create(penstock.RunRequest{Prompt: "other"})
					w.Work()
				}
				run := w.Create(penstock.RunRequest{Prompt: "p"})
				a := w.Claim()
				testkit.Exec(w.T, w.URL, fmt.Sprintf(
					"UPDATE queue SET lease_until = %d WHERE token = '%s'", time.Now().Add(-time.Second).UnixMilli(), a.Lease.Token,
				))
				calls := testworld.AnyWorker
				calls.Capacity, calls.Busy = 3, test.busy
				if _, err := w.Executions.Control().Claim(w.T.Context(), calls); !errors.Is(err, penstock.ErrNoWork) {
					w.T.Fatal(err)
				}
				if err := w.Executions.EndLostLeases(w.T.Context()); err != nil {
					w.T.Fatal(err)
				}
				want := penstock.StateClaimed
				if test.lost {
					want = penstock.StateQueued
				}
				w.MustBe(run.ID, want)
			})
		})
	}
}

// A run that loses several workers may be the cause, so the server gives it up.
func TestRunThatLosesItsWorkerAgainAndAgainEnds(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "p"})
		for times := range 6 {
			if times == 3 { // by itself, which does not count
				a := w.Claim()
				if _, err := w.Executions.Control().Finish(
					w.T.Context(), a.Lease, penstock.Result{State: penstock.StateQueued},
				); err != nil {
					w.T.Fatal(err)
				}
			}
			a := w.Claim()
			w.Moves(a.Lease, penstock.StatePending)
			want := penstock.StateQueued
			if times == 5 {
				want = penstock.StateError
			}
			w.LoseLease(a.Lease)
			testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(run.ID, want) })
		}
		m := w.Get(run.ID).StatusMessage
		if m == nil || m.Message != "The run lost its worker 6 times." || m.ErrorCode != penstock.CodeInfrastructureTimeout {
			w.T.Errorf("got %+v", m)
		}
	})
}

func (w *world) is(id string, want penstock.State) error {
	if run := w.Get(id); run.State != want {
		return fmt.Errorf("the run is %s, want %s", run.State, want)
	}
	return nil
}

func TestQueueTimeoutNamesWhatIsMissing(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.QueueTimeout = time.Millisecond }, func(w *world) {
		if _, err := w.Executions.Control().Claim(
			w.T.Context(), penstock.ClaimRequest{WorkerID: "w", Host: "here", Harnesses: []string{"command"}, Capacity: 1},
		); !errors.Is(err, penstock.ErrNoWork) {
			w.T.Fatal(err)
		}
		run := w.Create(
			penstock.RunRequest{Prompt: "p", Config: &penstock.Config{LayerKeys: penstock.LayerKeys{WorkerHost: "gpu"}}},
		)
		if m := w.Get(run.ID).StatusMessage; m == nil || !strings.Contains(m.Message, `"gpu"`) {
			w.T.Errorf("got %+v", m)
		}
		testkit.Eventually(w.T, 10*time.Second, func() error {
			w.EndOverdue(w.T.Context())
			return w.is(run.ID, penstock.StateError)
		})
		if m := w.Get(run.ID).StatusMessage; m.ErrorCode != penstock.CodeUnavailable ||
			!strings.Contains(m.Message, `"gpu"`) {
			w.T.Errorf("got %+v", m)
		}
	})
}

func TestIdempotencyKeyCreatesOneRun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		i := access.Idempotency{Key: "k", Method: "POST", Path: "/agent/runs", BodyHash: [32]byte{1}, Status: 200}
		ctx := access.WithIdempotency(w.T.Context(), i)
		created, err := w.Runs.Create(ctx, w.Admin, penstock.RunRequest{Prompt: "p"}, run.SourceAPI)
		if err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Runs.Create(
			ctx, w.Admin, penstock.RunRequest{Prompt: "p"}, run.SourceAPI,
		); !errors.Is(err, access.ErrReplay) {
			w.T.Errorf("the second time: %v", err)
		}
		body, status, found, err := w.Responses.Replay(w.T.Context(), w.Admin, i)
		want := fmt.Sprintf(
			`{"run_id":%q,"task_id":%q,"state":"QUEUED","at_capacity":true,"outcome":"started"}`, created.ID, created.ID,
		)
		if string(body) != want || status != 200 || !found || err != nil {
			w.T.Errorf("got %s %d %v %v, want %s", body, status, found, err, want)
		}
		i.BodyHash[0] = 2
		if _, _, _, err := w.Responses.Replay(w.T.Context(), w.Admin, i); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("another body: %v", err)
		}
		if _, _, found, err := w.Responses.Replay(w.T.Context(), w.As("bob"), i); found || err != nil {
			w.T.Errorf("somebody else's key: %v %v", found, err)
		}
	})
}

func TestArtifacts(t *testing.T) {
	worlds(t, nil, func(w *world) {
		started := w.Create(penstock.RunRequest{Prompt: "p"})
		a := w.Work()
		agent, err := w.Keys.Authenticate(w.T.Context(), a.APIKey)
		if err != nil || agent.RunID != started.ID {
			w.T.Fatalf("the agent's key: %+v, %v", agent, err)
		}
		file := run.ArtifactUpload{
			Type: penstock.ArtifactFile, Data: penstock.ArtifactData{Filename: "summary.md", MimeType: "text/markdown"},
		}
		item, err := w.Files.AddArtifact(w.T.Context(), agent, started.ID, file, strings.NewReader("# Done"))
		if err != nil {
			w.T.Fatal(err)
		}
		link := run.ArtifactUpload{
			Type: penstock.ArtifactReference,
			Data: penstock.ArtifactData{ReferenceType: "ticket", URL: "https://tickets.test/7"},
		}
		if _, err := w.Files.AddArtifact(w.T.Context(), agent, started.ID, link, nil); err != nil {
			w.T.Fatal(err)
		}
		other := w.Create(penstock.RunRequest{Prompt: "p"})
		if _, err := w.Files.AddArtifact(
			w.T.Context(), agent, other.ID, link, nil,
		); penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Errorf("the agent adds to another run: %v", err)
		}
		if found, err := w.Runs.RunByReference(w.T.Context(), w.Admin, "https://tickets.test/7"); found != started.ID ||
			err != nil {
			w.T.Errorf("by reference: %q, %v", found, err)
		}
		if got := w.Get(started.ID); len(got.Artifacts) != 2 {
			w.T.Errorf("the run shows %d artifacts", len(got.Artifacts))
		}
		if page, err := w.Runs.List(
			w.T.Context(), w.Admin, penstock.RunQuery{ArtifactType: penstock.ArtifactFile},
		); err != nil || len(page.Runs) != 1 {
			w.T.Errorf("%d runs with a FILE, %v", len(page.Runs), err)
		}
		u, err := w.Files.ArtifactLink(w.T.Context(), w.Admin, item.UID)
		if err != nil {
			w.T.Fatal(err)
		}
		token := u[strings.LastIndexByte(u, '/')+1:]
		d, err := w.Files.Download(w.T.Context(), token)
		if err != nil || d.Name != "summary.md" {
			w.T.Fatalf("%+v, %v", d, err)
		}
		if got := testworld.ReadAll(w.T, d.Content); got != "# Done" {
			w.T.Errorf("got %q", got)
		}
		if _, err := w.Files.Download(
			w.T.Context(), token[:len(token)-2]+"xx",
		); penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Errorf("a changed link: %v", err)
		}
	})
}

func TestStream(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "p"})
		early, err := w.Streams.Watch(w.T.Context(), w.Admin, run.ID, 0)
		if err != nil {
			w.T.Fatal(err)
		}
		defer early.Close()
		got := make(chan []int64, 1)
		go func() { got <- follow(w.T, early) }()
		a := w.Work()
		for range 24 { // 1,200 in total: more than a reader buffers
			var drafts []penstock.Draft
			for range 50 {
				drafts = append(drafts, penstock.Timeline(penstock.Now(), "tick", nil))
			}
			if err := w.Executions.Control().Append(w.T.Context(), a.Lease, drafts); err != nil {
				w.T.Fatal(err)
			}
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		first := <-got
		if early.Done().State != penstock.StateSucceeded {
			w.T.Errorf("done says %s", early.Done().State)
		}
		late, err := w.Streams.Watch(w.T.Context(), w.Admin, run.ID, 0)
		if err != nil {
			w.T.Fatal(err)
		}
		defer late.Close()
		if diff := cmp.Diff(first, follow(w.T, late)); diff != "" {
			w.T.Errorf("who listens late sees something else: %s", diff)
		}
		if len(first) < 1200 {
			w.T.Errorf("%d events", len(first))
		}
		for i, seq := range first {
			if seq != int64(i+1) {
				w.T.Fatalf("event %d has the number %d", i, seq)
			}
		}
		end, err := w.Streams.Watch(w.T.Context(), w.Admin, run.ID, first[len(first)-1])
		if err != nil {
			w.T.Fatal(err)
		}
		defer end.Close()
		if !end.AtEnd() {
			w.T.Error("a listener at the end is not told so")
		}
		if _, err := w.Streams.Watch(
			w.T.Context(), w.Admin, run.ID, 1<<40,
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("after the end: %v", err)
		}
	})
}

// Another replica restarts a run, and no notification arrives. A new reader does not get the end of
// the stream, although other readers on this replica have not noticed yet.
func TestStreamOfARunThatContinuesElsewhere(t *testing.T) {
	worlds(t, nil, func(w *world) {
		created := w.Create(penstock.RunRequest{Prompt: "p"})
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, created.ID, false); err != nil {
			w.T.Fatal(err)
		}
		slow, err := w.Streams.Watch(w.T.Context(), w.Admin, created.ID, 0)
		if err != nil {
			w.T.Fatal(err)
		}
		defer slow.Close()
		end := len(follow(w.T, slow))
		o := w.Deps
		o.Store = testkit.OpenStore(w.T, w.URL)
		if _, err := control.New(o).Runs.FollowUp(
			w.T.Context(), w.Admin, created.ID, run.FollowupRequest{Message: "go on"},
		); err != nil {
			w.T.Fatal(err)
		}
		late, err := w.Streams.Watch(w.T.Context(), w.Admin, created.ID, int64(end))
		if err != nil {
			w.T.Fatal(err)
		}
		defer late.Close()
		if late.AtEnd() {
			w.T.Fatal("a run that waits is said to be over")
		}
		events, err := late.Next(w.T.Context())
		if err != nil || events[0].Seq != int64(end+1) {
			w.T.Errorf("got %v, %v; want what came after %d", events, err, end)
		}
	})
}

func follow(t *testing.T, s *run.Stream) []int64 {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience*time.Minute)
	defer cancel()
	var seqs []int64
	for {
		events, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return seqs
		}
		if err != nil {
			t.Error(err)
			return seqs
		}
		for _, e := range events {
			seqs = append(seqs, e.Seq)
		}
	}
}

func TestSearchFindsWithinSeconds(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "Repair the Flux Capacitor"})
		testkit.Eventually(w.T, 10*time.Second, func() error {
			page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{Text: "capaci flux"})
			if err == nil && (len(page.Runs) != 1 || page.Runs[0].ID != run.ID) {
				err = fmt.Errorf("found %d runs", len(page.Runs))
			}
			return err
		})
	})
}

func TestInteractiveRunStaysOpen(t *testing.T) {
	worlds(t, nil, func(w *world) {
		yes := true
		run := w.Create(penstock.RunRequest{Prompt: "p", Interactive: &yes})
		a := w.Work()
		idle := penstock.Result{State: penstock.StateSucceeded, KeepOpen: true, Turn: 1}
		if prompts := w.Finish(a.Lease, idle); len(prompts) != 0 {
			w.T.Fatalf("given %+v", prompts)
		}
		w.MustBe(run.ID, penstock.StateInProgress)
		spent := idle
		spent.Usage = &penstock.TurnUsage{Tokens: penstock.TokenUsage{Input: 7}}
		for range 2 { // the first response was lost
			w.Finish(a.Lease, spent)
		}
		if u := w.Get(run.ID).Usage; u == nil || u.TotalTokens != 7 {
			w.T.Errorf("what the turn consumed is counted as %+v, want 7 tokens once", u)
		}
		w.FollowUp(run.ID, "more")
		if prompts := w.Finish(a.Lease, idle); len(prompts) != 1 || prompts[0].Text != "more" {
			w.T.Fatalf("given %+v", prompts)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 2})
		w.MustBe(run.ID, penstock.StateSucceeded)
	})
}

// Accepted values fit into the indexes of both engines, whatever their length.
func TestLongTextsOfARun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		long := ""
		for len(long) < 6000 {
			long += penstock.NewUID()
		}
		for _, n := range []int{100, 600, 2500, 3000, 5000} {
			for what, req := range map[string]penstock.RunRequest{
				"name":        {Prompt: "p", Config: &penstock.Config{Name: long[:n]}},
				"model":       {Prompt: "p", Config: &penstock.Config{ModelID: "x/" + long[:n]}},
				"skill":       {Skill: "a/b:" + long[:n] + "/s/SKILL.md"},
				"host":        {Prompt: "p", Config: &penstock.Config{LayerKeys: penstock.LayerKeys{WorkerHost: long[:n]}}},
				"environment": {Prompt: "p", Config: &penstock.Config{EnvironmentID: long[:n]}},
				"runner":      {Prompt: "p", Config: &penstock.Config{RunnerID: long[:n]}},
			} {
				_, err := w.Runs.Create(w.T.Context(), w.Admin, req, run.SourceAPI)
				if err != nil && penstock.CodeOf(err) == "" {
					w.T.Errorf("a %s of %d bytes: %v", what, n, err)
				}
			}
		}
		_, err := w.Runs.Create(
			w.T.Context(), w.Admin, penstock.RunRequest{Skill: "a/b:" + long[:penstock.MaxSkillSpec] + "/s/SKILL.md"},
			run.SourceAPI,
		)
		testworld.WantField(w.T, err, "/skill")
	})
}
