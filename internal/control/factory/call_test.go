package factory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// callers is a world whose calls are about acme/shop#7. Calls that wait are given by hand.
type callers struct{ *world }

func withCallers(t *testing.T, test func(w *callers)) {
	t.Helper()
	worlds(t, func(d *run.Deps) { d.TimesByHand = true }, func(w *world) { test(&callers{w}) })
}

func about(prompt string, busy penstock.WhenBusy) penstock.RunRequest {
	return penstock.RunRequest{Prompt: prompt, Subject: "acme/shop#7", WhenBusy: busy}
}

func (w *callers) call(prompt string, busy penstock.WhenBusy, want run.CallOutcome) run.Created {
	w.T.Helper()
	created := w.Create(about(prompt, busy))
	if created.Outcome != want || created.TaskID != created.ID {
		w.T.Fatalf("%q: got %+v, want the outcome %s", prompt, created, want)
	}
	if state := w.Get(created.ID).State; state != created.State {
		w.T.Errorf("%q: the response says %s, the run is %s", prompt, created.State, state)
	}
	return created
}

func (w *callers) giveDue() {
	w.T.Helper()
	if err := w.Subjects.GiveDue(w.T.Context(), penstock.Now().Add(time.Second)); err != nil {
		w.T.Fatal(err)
	}
}

// fates returns what became of the calls about the only subject, oldest first.
func (w *callers) fates() []string {
	w.T.Helper()
	page, err := w.Subjects.List(w.T.Context(), w.Admin, factory.SubjectQuery{})
	if err != nil || len(page.Subjects) != 1 {
		w.T.Fatalf("got %+v, %v", page, err)
	}
	s, err := w.Subjects.Read(w.T.Context(), w.Admin, page.Subjects[0].UID)
	if err != nil {
		w.T.Fatal(err)
	}
	var fates []string
	for _, e := range slices.Backward(s.Events) {
		if e.Kind != store.OccurrenceCall || e.DeliveryID != "" || e.WebhookUID != "" {
			w.T.Errorf("the event %+v is no call", e)
		}
		fates = append(fates, string(e.Fate))
	}
	return fates
}

func (w *callers) want(what string, got []string, want ...string) {
	w.T.Helper()
	if !slices.Equal(got, want) {
		w.T.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func texts(prompts []penstock.Prompt) []string {
	var list []string
	for _, p := range prompts {
		list = append(list, p.Text)
	}
	return list
}

// Calls about a subject reach the run that works on it: before it has begun, and while it works.
func TestCallsAboutASubjectReachItsRun(t *testing.T) {
	for busy, test := range map[penstock.WhenBusy]struct{ follow, fates []string }{
		"": {
			[]string{"c\n\nd\n\ne"}, []string{"started", "merged_into", "continued", "continued", "continued"},
		},
		penstock.WhenBusyQueue: {
			[]string{"c", "d", "e"}, []string{"started", "merged_into", "continued", "continued", "continued"},
		},
		penstock.WhenBusyReplace: { // the first one interrupts the turn, the last one replaces the one between
			[]string{"c", "e"}, []string{"started", "merged_into", "continued", "superseded", "continued"},
		},
	} {
		t.Run("when busy "+string(busy), func(t *testing.T) {
			withCallers(t, func(w *callers) {
				first := w.call("a", busy, run.CallStarted)
				if joined := w.call("b", busy, run.CallMerged); joined.ID != first.ID {
					t.Errorf("the call joined run %s, not %s", joined.ID, first.ID)
				}
				a := w.Work()
				w.want("prompt", texts(a.Prompts), "a\n\nb")
				for _, prompt := range []string{"c", "d", "e"} {
					if next := w.call(prompt, busy, run.CallContinued); next.ID != first.ID {
						t.Errorf("%s reached run %s, not %s", prompt, next.ID, first.ID)
					}
				}
				w.giveDue()
				if busy == penstock.WhenBusyReplace {
					signal, err := w.Executions.Control().Heartbeat(t.Context(), a.Lease, 0)
					if err != nil || signal.Interrupt != 1 {
						t.Errorf("the worker is told %+v, %v", signal, err)
					}
				}
				for turn, text := range test.follow {
					prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: turn + 1})
					w.want("follow-up", texts(prompts), text)
				}
				w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: len(test.follow) + 1})
				ended := w.MustBe(first.ID, penstock.StateSucceeded)
				if ended.Subject != "acme/shop#7" || ended.EventsCount < 3 {
					t.Errorf("the run is about %q and has %d events", ended.Subject, ended.EventsCount)
				}
				w.want("fates", w.fates(), test.fates...)
				again := w.call("f", busy, run.CallContinued)
				if again.ID != first.ID || again.State != penstock.StateQueued {
					t.Errorf("a call after the end: %+v", again)
				}
				w.want("prompt", texts(w.Work().Prompts), "f")
			})
		})
	}
}

// A call is no answer to the question of a run.
func TestCallDoesNotAnswerAQuestion(t *testing.T) {
	withCallers(t, func(w *callers) {
		first := w.call("a", "", run.CallStarted)
		a := w.Work()
		w.Finish(a.Lease, penstock.Result{
			State: penstock.StateBlocked, Turn: 1, Message: &penstock.StatusMessage{Message: "Which one?"},
		})
		if next := w.call("b", "", run.CallContinued); next.State != penstock.StateBlocked {
			t.Errorf("the call made the run %s", next.State)
		}
		w.giveDue()
		w.MustBe(first.ID, penstock.StateBlocked)
		w.FollowUp(first.ID, "The left one.")
		again := w.Work()
		w.want("answer", texts(again.Prompts), "The left one.")
		w.want("call", texts(w.Finish(again.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1})), "b")
	})
}

// A call after a run that failed, or waits for one that fails, starts a run. A cancelled one drops what waits.
func TestCallsAfterABadEnd(t *testing.T) {
	withCallers(t, func(w *callers) {
		first := w.call("a", "", run.CallStarted)
		a := w.Work()
		w.call("b", "", run.CallContinued)
		w.call("c", "", run.CallContinued)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed, Turn: 1})
		_, err := w.Runs.Create(t.Context(), w.Admin, about("too early", ""), run.SourceAPI)
		testworld.WantCode(t, err, penstock.CodeConflict, "try again")
		w.giveDue()
		w.want("fates", w.fates(), "started", "started", "merged_into")
		b := w.Work()
		w.want("prompt", texts(b.Prompts), "b\n\nc")
		if got := w.Get(b.Lease.RunID); got.ContinuesID != first.ID || got.Creator.UID != w.Admin.Actor.UID {
			t.Errorf("the new run is %+v", got)
		}
		w.Finish(b.Lease, penstock.Result{State: penstock.StateError, Turn: 1})
		third := w.call("d", "", run.CallStarted)
		if got := w.Get(third.ID).ContinuesID; got != b.Lease.RunID {
			t.Errorf("the third run continues %q", got)
		}
		c := w.Work()
		w.call("e", "", run.CallContinued)
		if _, err := w.Runs.Cancel(t.Context(), w.Admin, c.Lease.RunID, false); err != nil {
			t.Fatal(err)
		}
		w.giveDue()
		w.want("fates", w.fates(), "started", "started", "merged_into", "started", "skipped")
		fourth := w.call("f", "", run.CallStarted)
		if got := w.Get(fourth.ID).ContinuesID; got != "" {
			t.Errorf("the run after a cancelled one continues %q", got)
		}
	})
}

// A subject belongs to its caller. The one of a dispatch belongs to the factory, for all who dispatch.
func TestScopesOfCalls(t *testing.T) {
	withCallers(t, func(w *callers) {
		f := w.DefineFactory(testworld.Skilled())
		mine := w.call("a", "", run.CallStarted)
		other := w.As("bob", penstock.ScopeRunsWrite)
		his, err := w.Runs.Create(t.Context(), other, about("b", ""), run.SourceAPI)
		if err != nil || his.Outcome != run.CallStarted || his.ID == mine.ID {
			t.Fatalf("another caller got %+v, %v", his, err)
		}
		dispatch := func(p penstock.Principal, prompt string) factory.Dispatched {
			d, err := w.Factories.Dispatch(t.Context(), p, f.UID, factory.DispatchRequest{
				Prompt: prompt, Subject: " acme/shop#7 ", TicketRef: "linear:ENG-1",
			}, run.SourceAPI)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		work := dispatch(w.Admin, "c")
		joined := dispatch(other, "d")
		if work.Outcome != run.CallStarted || joined.Outcome != run.CallMerged || joined.RunID != work.RunID ||
			joined.RunURL != work.RunURL || work.RunID == mine.ID || !strings.HasSuffix(joined.RunURL, work.RunID) {
			t.Errorf("dispatches: %+v, %+v", work, joined)
		}
		w.Work()
		w.Work()
		c := w.Work()
		w.want("prompt", texts(c.Prompts), "c\n\nd")
		if next := dispatch(other, "e"); next.Outcome != run.CallContinued {
			t.Errorf("a dispatch while the run works: %+v", next)
		}
		w.Finish(c.Lease, penstock.Result{State: penstock.StateFailed, Turn: 1})
		w.giveDue()
		again := w.Work()
		w.want("prompt", texts(again.Prompts), "e")
		if got := w.Get(again.Lease.RunID); got.Metadata["ticket_id"] != "ENG-1" || got.Creator.UID != "bob" {
			t.Errorf("the run of a dispatch that waited is %+v", got)
		}
		for range 2 {
			own := w.Create(penstock.RunRequest{Prompt: "x", Subject: "acme/shop#7", WhenBusy: penstock.WhenBusyParallel})
			if own.Outcome != run.CallStarted || w.Get(own.ID).Subject != "acme/shop#7" {
				t.Errorf("parallel: %+v", own)
			}
		}
	})
}

// Calls bring nothing to a conversation that knows secrets of a request.
func TestCallsDoNotReachSecretsOfARequest(t *testing.T) {
	withCallers(t, func(w *callers) {
		w.CreateSecret("DEPLOY_KEY", "hunter2")
		request := about("deploy", "")
		request.Config = &penstock.Config{Secrets: []string{"DEPLOY_KEY"}}
		first := w.Create(request)
		refused := func() {
			t.Helper()
			_, err := w.Runs.Create(t.Context(), w.Admin, about("b", ""), run.SourceAPI)
			testworld.WantCode(t, err, penstock.CodeConflict, first.ID)
		}
		refused()
		a := w.Work()
		refused()
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1})
		w.want("fates", w.fates(), "started")
		second := w.call("c", "", run.CallStarted)
		if second.ID == first.ID || w.Get(second.ID).ConversationID == w.Get(first.ID).ConversationID {
			t.Errorf("the call reached the conversation with the secret")
		}
	})
}

// A repeated request gets the same response and does nothing twice.
func TestRepeatedCall(t *testing.T) {
	withCallers(t, func(w *callers) {
		w.call("a", "", run.CallStarted)
		a := w.Work()
		once := testworld.Once("k", "b")
		ctx := context.WithValue(t.Context(), access.IdempotencyKey{}, once)
		created, err := w.Runs.Create(ctx, w.Admin, about("b", ""), run.SourceAPI)
		if err != nil || created.Outcome != run.CallContinued {
			t.Fatalf("got %+v, %v", created, err)
		}
		var kept run.Created
		if w.Replay(w.Admin, once, &kept); kept.ID != a.Lease.RunID || kept.Outcome != run.CallContinued {
			t.Errorf("kept is %+v", kept)
		}
		if _, err := w.Runs.Create(ctx, w.Admin, about("b", ""), run.SourceAPI); err == nil {
			t.Error("the request was carried out twice")
		}
		w.want("fates", w.fates(), "started", "waiting")
	})
}

// Callers and servers at once start one run, and each prompt reaches it once.
func TestConcurrentCallsAboutASubject(t *testing.T) {
	withCallers(t, func(w *callers) {
		const all = 16
		var calls sync.WaitGroup
		for n := range all {
			calls.Go(func() {
				if _, err := w.Runs.Create(
					t.Context(), w.Admin, about(fmt.Sprintf("<%d>", n), ""), run.SourceAPI,
				); err != nil {
					t.Error(err)
				}
			})
		}
		a := w.Work() // some come before and some after the start
		calls.Wait()
		got := strings.Join(texts(a.Prompts), " ")
		for turn := 1; ; turn++ {
			prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: turn})
			if len(prompts) == 0 {
				break
			}
			got += strings.Join(texts(prompts), " ")
		}
		for n := range all {
			if count := strings.Count(got, fmt.Sprintf("<%d>", n)); count != 1 {
				t.Errorf("call %d reached the agent %d times", n, count)
			}
		}
		page, err := w.Runs.List(t.Context(), w.Admin, penstock.RunQuery{})
		if err != nil || len(page.Runs) != 1 {
			t.Errorf("%d runs were started, %v", len(page.Runs), err)
		}
	})
}

// Calls that wait are bounded, and so is each follow-up: what does not fit follows later, in order.
func TestCallsThatWaitAreBounded(t *testing.T) {
	withCallers(t, func(w *callers) {
		w.call("a", "", run.CallStarted)
		a := w.Work()
		large := strings.Repeat("x", 1<<20-2)
		accepted := 0
		for ; ; accepted++ {
			_, err := w.Runs.Create(t.Context(), w.Admin, about(fmt.Sprint(accepted%10)+large, ""), run.SourceAPI)
			if err != nil {
				testworld.WantCode(t, err, penstock.CodeConflict, "wait for run "+a.Lease.RunID)
				break
			}
			if accepted == 17 {
				t.Fatal("more than 16 MiB wait")
			}
		}
		for n := range accepted {
			prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: n + 1})
			if len(prompts) != 1 || len(prompts[0].Text) > 1<<20 || !strings.HasPrefix(prompts[0].Text, fmt.Sprint(n%10)) {
				t.Fatalf("turn %d is followed by %d prompts", n+1, len(prompts))
			}
		}
	})
}

// A call whose key has no budget left cannot reach the run of another key's call.
func TestKeysOfCallsPay(t *testing.T) {
	withCallers(t, func(w *callers) {
		f := w.DefineFactory(testworld.Skilled())
		rich := w.CreateKeyFor("rich", penstock.ScopeRunsWrite)
		poor := w.CreateKeyFor("poor", penstock.ScopeRunsWrite)
		w.CreateBudget(run.SharedBudgetRequest{
			Scope: new(store.BudgetOfKey), ScopeUID: &poor.KeyUID, Period: new(penstock.BudgetTotal), MaxCostUSD: new(0.0),
		})
		dispatch := func(p penstock.Principal) (factory.Dispatched, error) {
			return w.Factories.Dispatch(
				t.Context(), p, f.UID, factory.DispatchRequest{Prompt: "x", Subject: "s"}, run.SourceAPI,
			)
		}
		if _, err := dispatch(rich); err != nil {
			t.Fatal(err)
		}
		_, err := dispatch(poor) // it waits
		testworld.WantCode(t, err, penstock.CodeBudgetExceeded, "pays")
		a := w.Work()
		_, err = dispatch(poor) // it works
		testworld.WantCode(t, err, penstock.CodeBudgetExceeded, "pays")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1})
		_, err = dispatch(poor) // it has succeeded
		testworld.WantCode(t, err, penstock.CodeBudgetExceeded, "pays")
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
		w.want("fates", w.kinds(), "dispatch started")
	})
}

func (w *callers) kinds() []string {
	w.T.Helper()
	page, err := w.Subjects.List(w.T.Context(), w.Admin, factory.SubjectQuery{})
	if err != nil {
		w.T.Fatal(err)
	}
	var list []string
	for _, s := range page.Subjects {
		s, err := w.Subjects.Read(w.T.Context(), w.Admin, s.UID)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, e := range s.Events {
			list = append(list, string(e.Kind)+" "+string(e.Fate))
		}
	}
	return list
}

func TestInvalidSubjectsOfCalls(t *testing.T) {
	withCallers(t, func(w *callers) {
		personal := false
		for pointer, req := range map[string]penstock.RunRequest{
			"/when_busy": {Prompt: "x", WhenBusy: penstock.WhenBusyQueue},
			"/subject":   {Prompt: "x", Subject: "auto"},
			"/prompt":    {Subject: "s", Skill: "x"},
			"/team":      {Prompt: "x", Subject: "s", Team: &personal},
			"/attachments": {
				Prompt: "x", Subject: "s",
				Attachments: []penstock.Attachment{{FileName: "a", MimeType: "text/plain", Data: []byte{1}}},
			},
			"/parent_run_id": {Prompt: "x", Subject: "s", ParentID: penstock.NewID()},
		} {
			_, err := w.Runs.Create(t.Context(), w.Admin, req, run.SourceAPI)
			testworld.WantField(t, err, pointer)
		}
		for _, subject := range []string{strings.Repeat("x", 513), "a\nb", "a\x00b", "\xff"} {
			_, err := w.Runs.Create(
				t.Context(), w.Admin, penstock.RunRequest{Prompt: "x", Subject: subject}, run.SourceAPI,
			)
			testworld.WantField(t, err, "/subject")
		}
		_, err := w.Runs.Create(
			t.Context(), w.Admin, penstock.RunRequest{Prompt: "x", Subject: "s", WhenBusy: "later"}, run.SourceAPI,
		)
		testworld.WantField(t, err, "/when_busy")
		w.want("subjects", w.kinds())
	})
}
