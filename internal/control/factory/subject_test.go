package factory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// topics is a world with a webhook and an automation whose events are about a pull request.
type topics struct {
	*hooks
	webhook    penstock.Webhook
	automation penstock.Automation
}

// withSubjects runs a test on both engines. Events that wait are given by hand: see after.
func withSubjects(t *testing.T, rules factory.SubjectRequest, test func(w *topics)) {
	t.Helper()
	withFactory(t, func(d *run.Deps) {
		testworld.DefaultWebhooks(d)
		d.TimesByHand = true
		d.Webhooks.DeliveriesPerMinute, d.Webhooks.DedupBodyWindow = 0, 0
	}, func(h *hooks) {
		w := &topics{hooks: h, webhook: h.hook(named("events", penstock.AuthToken))}
		w.automation = w.about("review", rules)
		test(w)
	})
}

// about creates an automation whose events are about {{pr}}, unless the rules say otherwise.
func (w *topics) about(name string, rules factory.SubjectRequest) penstock.Automation {
	w.T.Helper()
	if rules.Subject == nil {
		rules.Subject = new("{{repo}}#{{pr}}")
	}
	a, err := w.Resources.CreateAutomation(w.T.Context(), w.Admin, w.factory, factory.AutomationRequest{
		Name: &name, Prompt: new("Review it."), SubjectRequest: rules, Triggers: &[]penstock.Trigger{{
			Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
			Filter: []byte(`{"webhook_ids": ["events"]}`),
		}},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return a
}

// event delivers an event about a pull request, and returns its delivery.
func (w *topics) event(pr, n int) string {
	w.T.Helper()
	return w.arrive(w.webhook.UID, fmt.Sprintf(`{"repo": "acme/shop", "pr": %d, "n": %d}`, pr, n)).DeliveryID
}

// after gives the events that wait at a time after now.
func (w *topics) after(d time.Duration) {
	w.T.Helper()
	if err := w.Subjects.GiveDue(w.T.Context(), penstock.Now().Add(d)); err != nil {
		w.T.Fatal(err)
	}
}

// runs lists all runs, oldest first.
func (w *topics) runs() []penstock.Run {
	w.T.Helper()
	page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{})
	if err != nil {
		w.T.Fatal(err)
	}
	list := page.Runs
	slices.SortFunc(list, func(a, b penstock.Run) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// fates returns the fate and the run of deliveries, as their log shows them.
func (w *topics) fates(ids ...string) []string {
	w.T.Helper()
	var got []string
	for _, id := range ids {
		d, err := w.Deliveries.Read(w.T.Context(), w.Admin, w.factory, w.webhook.UID, id)
		if err != nil {
			w.T.Fatal(err)
		}
		if len(d.Matches) != 1 || d.Matches[0].Subject == "" {
			w.T.Fatalf("the delivery has the matches %+v", d.Matches)
		}
		m := d.Matches[0]
		if m.RunID != "" && !slices.Contains(d.Runs, m.RunID) {
			w.T.Errorf("the delivery names the runs %v, but its match %s", d.Runs, m.RunID)
		}
		got = append(got, string(m.Fate))
	}
	return got
}

func (w *topics) wantFates(ids []string, want ...store.Fate) {
	w.T.Helper()
	var fates []string
	for _, f := range want {
		fates = append(fates, string(f))
	}
	if diff := cmp.Diff(fates, w.fates(ids...)); diff != "" {
		w.T.Errorf("fates (-want +got):\n%s", diff)
	}
}

// bodies reads the files of events of a prompt, in order, and returns the numbers in them.
func (w *topics) bodies(l penstock.Lease, p penstock.Prompt) []string {
	w.T.Helper()
	var numbers []string
	for _, f := range p.Files {
		content, err := w.Executions.Control().Open(w.T.Context(), l, f)
		if err != nil {
			w.T.Fatal(err)
		}
		body := testworld.ReadAll(w.T, content)
		_, n, _ := strings.Cut(body, `"n": `)
		numbers = append(numbers, strings.TrimSuffix(n, "}"))
		if !strings.HasPrefix(f.Path, "events/") || !strings.HasSuffix(f.Path, ".json") {
			w.T.Errorf("the event is in %s", f.Path)
		}
	}
	return numbers
}

// A burst of events on one subject starts one run and one follow-up; another subject has its own run.
func TestEventsOfOneSubjectReachOneRun(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		ids := []string{w.event(7, 1), w.event(7, 2), w.event(7, 3)}
		other := w.event(8, 1)
		w.wantFates(ids, store.FateStarted, store.FateMerged, store.FateMerged)
		w.wantFates([]string{other}, store.FateStarted)
		if runs := w.runs(); len(runs) != 2 || runs[0].Subject != "acme/shop#7" || runs[0].EventsCount != 3 {
			t.Fatalf("got the runs %+v", runs)
		}
		a := w.Work()
		if got := w.bodies(a.Lease, a.Prompts[0]); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("the first prompt has the events %v", got)
		}
		if !strings.Contains(a.Prompts[0].Text, "Review it.") || strings.Contains(a.Prompts[0].Text, "acme/shop") ||
			strings.Contains(a.Prompts[0].Text, "your last turn") {
			t.Errorf("the prompt is %q", a.Prompts[0].Text)
		}
		for n := range 23 { // the rest of a burst of 26, while the agent works
			ids = append(ids, w.event(7, 4+n))
		}
		w.after(time.Hour) // it works, so they wait for the turn
		w.wantFates(ids[3:5], store.FateWaiting, store.FateWaiting)
		if prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(prompts) != 0 {
			t.Fatalf("events followed before it was quiet: %+v", prompts)
		}
		w.after(0) // not quiet yet
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
		w.after(31 * time.Second)
		w.MustBe(a.Lease.RunID, penstock.StateQueued)
		w.wantFates(ids[3:5], store.FateContinued, store.FateContinued)
		w.Work() // of the other subject
		second := w.Work()
		if second.Lease.RunID != a.Lease.RunID || len(second.Prompts) != 1 {
			t.Fatalf("the follow-up is %+v", second)
		}
		if text := second.Prompts[0].Text; !strings.Contains(text, "your last turn") {
			t.Errorf("the follow-up does not say that the workspace may be new: %q", text)
		}
		if n := len(w.bodies(second.Lease, second.Prompts[0])); n != 23 {
			t.Errorf("the follow-up has %d events, want 23", n)
		}
		if got := w.Get(a.Lease.RunID).EventsCount; got != 26 {
			t.Errorf("the run has received %d events, want 26", got)
		}
		w.Finish(second.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.after(time.Hour)
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
		if runs := w.runs(); len(runs) != 2 {
			t.Errorf("%d runs were started, want 2", len(runs))
		}
	})
}

// Without a subject, or with an absent value, each event starts a run.
func TestEventsWithoutASubjectStartRuns(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		for _, body := range []string{
			`{"repo": "acme/shop", "n": 1}`, `{"repo": "acme/shop", "pr": null, "n": 2}`, `{"repo": "", "pr": 7, "n": 3}`,
			`{"repo": {"pr": 7}, "pr": 7, "n": 4}`, `[1]`,
		} {
			w.arrive(w.webhook.UID, body)
		}
		runs := w.runs()
		if len(runs) != 5 {
			t.Fatalf("%d runs were started, want 5", len(runs))
		}
		for _, r := range runs {
			if r.Subject != "" || r.EventsCount != 0 {
				t.Errorf("a run has the subject %q with %d events", r.Subject, r.EventsCount)
			}
		}
	})
}

// A value that looks like the text between two placeholders does not reach another subject.
func TestPayloadImitatesNoSubject(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		for _, body := range []string{
			`{"repo": "a", "pr": "b#c", "n": 1}`, `{"repo": "a#b", "pr": "c", "n": 2}`,
			`{"repo": "a\",\"b", "pr": "c", "n": 3}`, `{"repo": "A", "pr": "b#c", "n": 4}`,
			`{"repo": "a b", "pr": "c", "n": 6}`, `{"repo": "a", "pr": "b c", "n": 7}`,
		} {
			w.arrive(w.webhook.UID, body)
		}
		if runs := w.runs(); len(runs) != 6 {
			t.Errorf("%d runs were started, want 6: %+v", len(runs), runs)
		}
		w.arrive(w.webhook.UID, `{"repo": "a", "pr": "b#c", "n": 5}`)
		if runs := w.runs(); len(runs) != 6 {
			t.Errorf("an equal subject started a run")
		}
	})
}

// What happens to an event depends on how the run on its subject ended.
func TestEventAfterTheEndOfARun(t *testing.T) {
	for _, test := range []struct {
		name  string
		end   func(w *topics, a penstock.Assignment)
		later time.Duration
		same  bool // the same run continues
		names bool // the new run names the one before
	}{
		{"it succeeded", func(w *topics, a penstock.Assignment) {
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		}, time.Minute, true, false},
		{"it failed", func(w *topics, a penstock.Assignment) {
			w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		}, 0, false, true},
		{"it ended in an error", func(w *topics, a penstock.Assignment) {
			w.Finish(a.Lease, penstock.Result{State: penstock.StateError})
		}, 0, false, true},
		{"it was cancelled", func(w *topics, a penstock.Assignment) {
			if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, a.Lease.RunID, false); err != nil {
				w.T.Fatal(err)
			}
		}, 0, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
				w.event(7, 1)
				a := w.Work()
				test.end(w, a)
				id := w.event(7, 2)
				w.after(test.later)
				runs := w.runs()
				if test.same {
					w.MustBe(a.Lease.RunID, penstock.StateQueued)
					if len(runs) != 1 {
						w.T.Errorf("%d runs were started, want 1", len(runs))
					}
					w.wantFates([]string{id}, store.FateContinued)
					return
				}
				w.wantFates([]string{id}, store.FateStarted)
				if len(runs) != 2 {
					w.T.Fatalf("%d runs were started, want 2", len(runs))
				}
				want := ""
				if test.names {
					want = a.Lease.RunID
				}
				if runs[1].ContinuesID != want {
					w.T.Errorf("the new run continues %q, want %q", runs[1].ContinuesID, want)
				}
				w.event(7, 3)
				if runs := w.runs(); len(runs) != 2 {
					w.T.Errorf("a third run was started")
				}
			})
		})
	}
}

// Events that wait for a run which fails start another one together, and one that is cancelled drops them.
func TestEventsThatWaitOutliveTheRun(t *testing.T) {
	for _, test := range []struct {
		state penstock.State
		want  []store.Fate
	}{
		{penstock.StateFailed, []store.Fate{store.FateStarted, store.FateMerged}},
		{penstock.StateCancelled, []store.Fate{store.FateSkipped, store.FateSkipped}},
	} {
		t.Run(string(test.state), func(t *testing.T) {
			withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
				w.event(7, 1)
				a := w.Work()
				ids := []string{w.event(7, 2)}
				if test.state == penstock.StateCancelled {
					ids = append(ids, w.event(7, 3))
					if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, a.Lease.RunID, false); err != nil {
						w.T.Fatal(err)
					}
				} else {
					w.Finish(a.Lease, penstock.Result{State: test.state})
					ids = append(ids, w.event(7, 3)) // not before the one that waits
				}
				w.after(time.Minute)
				w.wantFates(ids, test.want...)
				if test.state == penstock.StateCancelled {
					if runs := w.runs(); len(runs) != 1 {
						w.T.Errorf("%d runs were started, want 1", len(runs))
					}
					return
				}
				runs := w.runs()
				if len(runs) != 2 || runs[1].ContinuesID != a.Lease.RunID || runs[1].EventsCount != 2 {
					w.T.Fatalf("got the runs %+v", runs)
				}
				next := w.Work()
				if got := w.bodies(next.Lease, next.Prompts[0]); !slices.Equal(got, []string{"2", "3"}) {
					w.T.Errorf("the new run has the events %v", got)
				}
			})
		})
	}
}

// With queue, each event has a follow-up of its own, in order, right after the turn.
func TestQueuedEventsFollowOneByOne(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyQueue)}, func(w *topics) {
		w.event(7, 1)
		a := w.Work()
		ids := []string{w.event(7, 2), w.event(7, 3)}
		for n := range 2 {
			prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: n + 1})
			if len(prompts) != 1 {
				t.Fatalf("turn %d is followed by %+v", n+1, prompts)
			}
			if got := w.bodies(a.Lease, prompts[0]); !slices.Equal(got, []string{fmt.Sprint(n + 2)}) {
				t.Errorf("follow-up %d has the events %v", n+1, got)
			}
		}
		w.wantFates(ids, store.FateContinued, store.FateContinued)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 3})
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
	})
}

// With replace, an event interrupts the turn, once within longest_wait. Only the newest event follows.
func TestReplaceInterruptsTheTurn(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyReplace)}, func(w *topics) {
		w.event(7, 1)
		a := w.Work()
		ids := []string{w.event(7, 2), w.event(7, 3)}
		w.after(0)
		w.wantFates(ids, store.FateSuperseded, store.FateContinued)
		signal, err := w.Executions.Control().Heartbeat(t.Context(), a.Lease, 0)
		if err != nil || signal.Interrupt != 1 {
			t.Fatalf("the worker is told %+v, %v", signal, err)
		}
		prompts := w.Finish(a.Lease, penstock.Result{
			State: penstock.StateBlocked, Turn: 1, Message: &penstock.StatusMessage{Message: penstock.Interrupted},
		})
		if len(prompts) != 1 || !slices.Equal(w.bodies(a.Lease, prompts[0]), []string{"3"}) {
			t.Fatalf("the turn is followed by %+v", prompts)
		}
		w.event(7, 4)
		w.after(time.Second)
		if signal, err := w.Executions.Control().Heartbeat(t.Context(), a.Lease, 0); err != nil || signal.Interrupt != 0 {
			t.Errorf("a second turn was interrupted at once: %+v, %v", signal, err)
		}
	})
}

// A run with quiet waits until no event has come for so long, but not longer than longest_wait.
func TestFirstEventWaitsForQuiet(t *testing.T) {
	rules := factory.SubjectRequest{Quiet: new(penstock.Period("1h")), LongestWait: new(penstock.Period("90m"))}
	withSubjects(t, rules, func(w *topics) {
		ids := []string{w.event(7, 1), w.event(7, 2)}
		w.wantFates(ids, store.FateStarted, store.FateMerged)
		elsewhere := &penstock.Config{LayerKeys: penstock.LayerKeys{WorkerHost: "elsewhere"}}
		w.Create(penstock.RunRequest{Prompt: "x", Config: elsewhere}) // so that something waits
		request := testworld.AnyWorker
		request.Wait = 0
		if _, err := w.Executions.Control().Claim(t.Context(), request); err == nil {
			t.Error("a worker claims the run before it is quiet")
		}
		if _, err := w.Runs.Cancel(t.Context(), w.Admin, w.runs()[0].ID, false); err != nil {
			t.Error(err)
		}
	})
}

// After so many follow-ups without a person, the run asks. The answer lets it go on.
func TestEventsDoNotContinueARunForEver(t *testing.T) {
	rules := factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyQueue), MaxFollowups: new(2)}
	withSubjects(t, rules, func(w *topics) {
		w.event(7, 1)
		a := w.Work()
		for n := range 4 {
			w.event(7, n+2)
		}
		for n := range 2 {
			if prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: n + 1}); len(prompts) != 1 {
				t.Fatalf("turn %d is followed by %+v", n+1, prompts)
			}
		}
		if prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 3}); len(prompts) != 0 {
			t.Fatalf("a third follow-up of events: %+v", prompts)
		}
		blocked := w.MustBe(a.Lease.RunID, penstock.StateBlocked)
		if blocked.StatusMessage == nil || !strings.Contains(blocked.StatusMessage.Message, "2 times") {
			t.Errorf("it asks %+v", blocked.StatusMessage)
		}
		w.after(time.Hour)
		w.MustBe(a.Lease.RunID, penstock.StateBlocked)
		w.FollowUp(a.Lease.RunID, "Go on.")
		next := w.Work()
		prompts := w.Finish(next.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1})
		if len(prompts) != 1 || !slices.Equal(w.bodies(next.Lease, prompts[0]), []string{"4"}) {
			t.Errorf("the answer is followed by %+v", prompts)
		}
	})
	withEnded(t, rules)
}

// withEnded is the same for a run that has ended between the events.
func withEnded(t *testing.T, rules factory.SubjectRequest) {
	t.Run("ended", func(t *testing.T) {
		withSubjects(t, rules, func(w *topics) {
			w.event(7, 1)
			a := w.Work()
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			for n := range 2 {
				w.event(7, n+2)
				w.after(time.Second)
				again := w.Work()
				w.Finish(again.Lease, penstock.Result{State: penstock.StateSucceeded})
			}
			id := w.event(7, 4)
			w.after(time.Second)
			w.MustBe(a.Lease.RunID, penstock.StateBlocked)
			w.wantFates([]string{id}, store.FateWaiting)
		})
	})
}

// Many servers, and many deliveries at once, start one run for a subject.
func TestOneRunForASubjectUnderConcurrentDeliveries(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		const senders = 16
		done := make(chan error, senders)
		for n := range senders {
			go func() {
				_, err := w.tryArrive(w.webhook.UID, fmt.Sprintf(`{"repo": "acme/shop", "pr": 7, "n": %d}`, n))
				done <- err
			}()
		}
		for range senders {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if runs := w.runs(); len(runs) != 1 || runs[0].EventsCount != senders {
			t.Fatalf("got the runs %+v", runs)
		}
		a := w.Work()
		if got := w.bodies(a.Lease, a.Prompts[0]); len(got) != senders {
			t.Errorf("the run has the events %v", got)
		}
	})
}

// A person cannot continue an old run while another one works on its subject.
func TestOldRunOfASubjectStaysEnded(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		w.event(7, 1)
		a := w.Work()
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.event(7, 2)
		next := w.runs()[1].ID
		_, err := w.Runs.FollowUp(t.Context(), w.Admin, a.Lease.RunID, run.FollowupRequest{Message: "again"})
		testworld.WantCode(t, err, penstock.CodeConflict, next)
		b := w.Work()
		w.Finish(b.Lease, penstock.Result{State: penstock.StateFailed})
		w.FollowUp(a.Lease.RunID, "again")
		w.MustBe(a.Lease.RunID, penstock.StateQueued)
		id := w.event(7, 3)
		w.wantFates([]string{id}, store.FateWaiting)
		if runs := w.runs(); len(runs) != 2 {
			t.Errorf("%d runs were started, want 2", len(runs))
		}
	})
}

// A conversation that knows secrets of a request takes no events: they start a new run.
func TestEventsDoNotReachSecretsOfARequest(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		w.CreateSecret("DEPLOY_KEY", "hunter2")
		w.event(7, 1)
		a := w.Work()
		w.SaveSession(a.Lease)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		created, err := w.Runs.Create(t.Context(), w.Admin, penstock.RunRequest{
			Prompt: "deploy", ConversationID: w.Get(a.Lease.RunID).ConversationID,
			Config: &penstock.Config{Secrets: []string{"DEPLOY_KEY"}},
		}, run.SourceAPI)
		if err != nil {
			t.Fatal(err)
		}
		b := w.Work()
		w.Finish(b.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.MustBe(created.ID, penstock.StateSucceeded)
		id := w.event(7, 2)
		w.after(time.Minute)
		w.wantFates([]string{id}, store.FateStarted)
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
		if runs := w.runs(); len(runs) != 3 || runs[2].ConversationID == runs[0].ConversationID {
			t.Errorf("got the runs %+v", runs)
		}
	})
}

// The payload of an event stays as long as the run that has it, and no longer.
func TestPayloadsOfASubjectAreKeptForItsRun(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		ids := []string{w.event(7, 1), w.event(7, 2)}
		a := w.Work()
		ids = append(ids, w.event(7, 3)) // waits
		stored := func() (n int) {
			for _, id := range ids {
				if _, err := w.Deps.Store.Deliveries.Payload(t.Context(), id); err == nil {
					n++
				}
			}
			return n
		}
		if err := w.clearAll(); err != nil {
			t.Fatal(err)
		}
		if n := stored(); n != 3 {
			t.Fatalf("%d of 3 payloads are stored after the log was cleared", n)
		}
		if got := w.bodies(a.Lease, a.Prompts[0]); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("the run has the events %v", got)
		}
		if _, err := w.Runs.Cancel(t.Context(), w.Admin, a.Lease.RunID, false); err != nil {
			t.Fatal(err)
		}
		if n := stored(); n != 2 {
			t.Errorf("%d payloads are stored after the one that waited was skipped, want 2", n)
		}
		w.remove(a.Lease.RunID)
		if n := stored(); n != 0 {
			t.Errorf("%d payloads are stored without a run", n)
		}
		w.age("acme/shop#%")
		if err := w.Subjects.ClearSubjects(t.Context()); err != nil {
			t.Error(err)
		}
		if left := w.listed(); len(left) > 0 {
			t.Errorf("these subjects are left: %v", left)
		}
	})
}

// After keep, a later event starts a run, which names the one before.
func TestEventAfterKeepStartsARun(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{Keep: new(penstock.Period("10m"))}, func(w *topics) {
		w.event(7, 1)
		a := w.Work()
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		id := w.event(7, 2)
		w.after(11 * time.Minute)
		w.wantFates([]string{id}, store.FateStarted)
		if runs := w.runs(); len(runs) != 2 || runs[1].ContinuesID != a.Lease.RunID {
			t.Errorf("got the runs %+v", runs)
		}
	})
}

// What waits is skipped with the reason if its automation is disabled or deleted.
func TestEventsOfAnAutomationThatIsGoneAreSkipped(t *testing.T) {
	for reason, remove := range map[string]func(w *topics) error{
		"disabled": func(w *topics) error {
			_, err := w.Resources.UpdateAutomation(
				w.T.Context(), w.Admin, w.factory, w.automation.UID, factory.AutomationRequest{Enabled: new(false)},
			)
			return err
		},
		"deleted": func(w *topics) error {
			return w.Resources.DeleteAutomation(w.T.Context(), w.Admin, w.factory, w.automation.UID)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
				w.event(7, 1)
				a := w.Work()
				id := w.event(7, 2)
				if err := remove(w); err != nil {
					w.T.Fatal(err)
				}
				w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
				w.after(time.Minute)
				w.wantFates([]string{id}, store.FateSkipped)
				page, err := w.Subjects.List(w.T.Context(), w.Admin, factory.SubjectQuery{})
				if err != nil {
					w.T.Fatal(err)
				}
				got, err := w.Subjects.Read(w.T.Context(), w.Admin, page.Subjects[0].UID)
				if err != nil || !strings.Contains(got.Events[0].Reason, reason) {
					w.T.Errorf("the subject is %+v, %v", got, err)
				}
			})
		})
	}
}

// A worker reads only the events of its run.
func TestWorkerOpensNoEventOfAnotherRun(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		w.event(7, 1)
		other := w.event(8, 1)
		a := w.Work()
		_, err := w.Executions.Control().Open(t.Context(), a.Lease, penstock.File{ID: other})
		testworld.WantCode(t, err, penstock.CodeNotFound, "")
	})
}

// Rules that could mean nothing are rejected with their field.
func TestInvalidSubjectsAreRejected(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := &topics{hooks: h, webhook: h.hook(named("events", penstock.AuthToken))}
		a := w.about("review", factory.SubjectRequest{})
		for pointer, rules := range map[string][]factory.SubjectRequest{
			"/subject": {
				{Subject: new("always the same")}, {Subject: new("{{pr")}, {Subject: new("{{}}")}, {Subject: new("a\nb{{pr}}")},
			},
			"/when_busy":       {{WhenBusy: new(penstock.WhenBusy("sometimes"))}},
			"/quiet":           {{Quiet: new(penstock.Period("-1s"))}, {Quiet: new(penstock.Period("soon"))}},
			"/longest_wait":    {{LongestWait: new(penstock.Period("400d"))}},
			"/keep":            {{Keep: new(penstock.Period("1.5d"))}},
			"/max_followups":   {{MaxFollowups: new(0)}, {MaxFollowups: new(1001)}},
			"/followup_prompt": {{FollowupPrompt: new("\x00")}},
		} {
			for _, r := range rules {
				_, err := w.Resources.UpdateAutomation(
					t.Context(), w.Admin, w.factory, a.UID, factory.AutomationRequest{SubjectRequest: r},
				)
				testworld.WantField(t, err, pointer)
			}
		}
		for _, odd := range []factory.SubjectRequest{
			{Subject: new("auto")},
			{Subject: new(" {{ pr }} ")},
			{Quiet: new(penstock.Period("1d12h"))},
			{Quiet: new(penstock.Period("0"))},
			{Keep: new(penstock.Period("90m"))},
			{Subject: new("")},
		} {
			if _, err := w.Resources.UpdateAutomation(
				t.Context(), w.Admin, w.factory, a.UID, factory.AutomationRequest{SubjectRequest: odd},
			); err != nil {
				t.Errorf("%+v: %v", odd, err)
			}
		}
	})
}

// Files have the rules too, and an edit by the API keeps them.
func TestSubjectInFiles(t *testing.T) {
	const rules = "subject: '{{pr}}'\nwhenBusy: queue\nquiet: 30s\nlongestWait: 1d2h\nkeep: 90m\nmaxFollowups: 7\n" +
		"followupPrompt: more\n"
	worlds(t, testworld.DefaultWebhooks, func(w *world) {
		files := testworld.Skilled()
		files["automations/review.md"] = "---\ntriggers:\n" +
			"  - {provider: schedule, event: cron_fired, schedule: {cron: '@daily'}}\n" + rules + "---\nlook\n"
		made := w.DefineFactory(files)
		list, err := w.Automations.List(t.Context(), w.Admin, made.UID)
		if err != nil || len(list) != 1 {
			t.Fatalf("the automations are %+v, %v", list, err)
		}
		want := penstock.SubjectRules{
			Subject: "{{pr}}", WhenBusy: penstock.WhenBusyQueue, Quiet: "30s", LongestWait: "1d2h", Keep: "90m",
			MaxFollowups: new(7), FollowupPrompt: "more",
		}
		if diff := cmp.Diff(want, list[0].SubjectRules); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
		changed, err := w.Resources.UpdateAutomation(t.Context(), w.Admin, made.UID, list[0].UID, factory.AutomationRequest{
			SubjectRequest: factory.SubjectRequest{Quiet: new(penstock.Period("45s"))}, Cleared: []string{"keep"},
		})
		want.Quiet, want.Keep = "45s", ""
		if diff := cmp.Diff(want, changed.SubjectRules); err != nil || diff != "" {
			t.Errorf("%v, rules (-want +got):\n%s", err, diff)
		}
	})
}

// auto is what the provider of the events names.
func TestProvidersNameSubjects(t *testing.T) {
	withFactory(t, func(d *run.Deps) { d.TimesByHand = true }, func(h *hooks) {
		github := h.hook(signature("gh", "github", new("an-example-value")))
		w := &topics{hooks: h, webhook: github}
		if _, err := h.Resources.CreateAutomation(t.Context(), h.Admin, h.factory, factory.AutomationRequest{
			Name: new("review"), Prompt: new("look"), SubjectRequest: factory.SubjectRequest{Subject: new("auto")},
			Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderWebhook, Event: penstock.EventReceived, Filter: []byte(`{"webhook_ids": ["gh"]}`),
			}},
		}); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{
			`{"repository": {"full_name": "acme/shop"}, "pull_request": {"number": 7}}`,
			`{"repository": {"full_name": "acme/shop"}, "issue": {"number": 7}, "comment": {"body": "hi"}}`,
			`{"repository": {"full_name": "acme/shop"}, "check_suite": {"pull_requests": [{"number": 7}]}}`,
			`{"repository": {"full_name": "acme/shop"}, "ref": "refs/heads/main"}`,
		} {
			h.arrive(github.UID, body)
		}
		runs := w.runs()
		if len(runs) != 2 || runs[0].Subject != "github:acme/shop#7" || runs[0].EventsCount != 3 || runs[1].Subject != "" {
			t.Errorf("got the runs %+v", runs)
		}
	})
}

// A payload stays for the run of another automation that the same delivery started.
func TestPayloadStaysForTheRunOfAnotherAutomation(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		w.automate("plain", "events", "")
		ids := []string{w.event(7, 1), w.event(7, 2)} // the second one joins
		a := w.Claim()
		for a.Run.Subject == "" {
			a = w.Claim()
		}
		ids = append(ids, w.event(7, 3)) // waits
		if err := w.clearAll(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Runs.Cancel(t.Context(), w.Admin, a.Lease.RunID, false); err != nil {
			t.Fatal(err)
		}
		w.remove(a.Lease.RunID)
		for n, id := range ids {
			if _, err := w.Deps.Store.Deliveries.Payload(t.Context(), id); err != nil {
				t.Errorf("event %d: %v", n+1, err)
			}
		}
		for _, r := range w.runs() {
			if _, err := w.Runs.Cancel(t.Context(), w.Admin, r.ID, false); err != nil {
				t.Fatal(err)
			}
			w.remove(r.ID)
		}
		for n, id := range ids {
			if _, err := w.Deps.Store.Deliveries.Payload(t.Context(), id); err == nil {
				t.Errorf("the payload of event %d is stored without a run", n+1)
			}
		}
	})
}

// remove removes a run that has ended, as if it were old.
func (w *topics) remove(id string) {
	w.T.Helper()
	w.Write(func(tx *store.Tx) error {
		_, err := tx.Runs().Remove(w.T.Context(), id, penstock.Now().Add(time.Hour))
		return err
	})
}

// An event that a key without room pays for is skipped with the reason. It leaves no message without events.
func TestEventWithoutABudgetIsSkipped(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyQueue)}, func(w *topics) {
		w.event(7, 1)
		a := w.Work()
		poor := w.CreateKeyFor("poor", penstock.ScopeRunsWrite)
		w.AddBudget(func(b *store.BudgetRow) { b.Scope, b.ScopeUID, b.MaxCostUSD = store.BudgetOfKey, poor.KeyUID, 0 })
		result, err := w.tryArrive(w.webhook.UID, `{"repo": "acme/shop", "pr": 7, "n": 2}`, poor.KeyUID)
		if err != nil {
			t.Fatal(err)
		}
		if prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded}); len(prompts) != 0 {
			t.Errorf("the turn is followed by %+v", prompts)
		}
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
		w.after(time.Minute)
		w.wantFates([]string{result.DeliveryID}, store.FateSkipped)
		w.MustBe(a.Lease.RunID, penstock.StateSucceeded)
	})
}

// The question of a run does not end the turn that an event wants to interrupt.
func TestQuestionWaitsForTheEndOfTheTurn(t *testing.T) {
	rules := factory.SubjectRequest{WhenBusy: new(penstock.WhenBusyReplace), MaxFollowups: new(1)}
	withSubjects(t, rules, func(w *topics) {
		w.event(7, 1)
		a := w.Work()
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.event(7, 2)
		w.after(time.Second)
		b := w.Work()
		id := w.event(7, 3)
		w.after(time.Second)
		w.MustBe(a.Lease.RunID, penstock.StateInProgress)
		w.wantFates([]string{id}, store.FateWaiting)
		w.Finish(b.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.MustBe(a.Lease.RunID, penstock.StateBlocked)
	})
}

// A person continues a run that was cancelled before it began: it gets all events that had joined it.
func TestRunThatWasCancelledBeforeItBeganGetsItsEvents(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{}, func(w *topics) {
		w.event(7, 1)
		w.event(7, 2)
		id := w.runs()[0].ID
		if _, err := w.Runs.Cancel(t.Context(), w.Admin, id, false); err != nil {
			t.Fatal(err)
		}
		w.FollowUp(id, "Do it after all.")
		a := w.Work()
		if got := w.bodies(a.Lease, a.Prompts[0]); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("the run has the events %v", got)
		}
	})
}

// clearAll clears the whole log of the webhook.
func (w *topics) clearAll() error {
	_, err := w.Deps.Store.Deliveries.ClearLog(
		w.T.Context(), w.webhook.UID, penstock.OutcomeAccepted, store.Keep{Since: penstock.Now().Add(time.Hour)}, 100,
	)
	return err
}
