package factory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

const didNothing = "The agent ended its work without an action, a changed file or an output."

// hollow is a world with an automation whose runs may do nothing. Two failures pause it.
type hollow struct {
	*fragile
	heard map[penstock.EndpointEvent]string // an endpoint for each
}

func withHollow(t *testing.T, on penstock.OnHollow, test func(w *hollow)) {
	t.Helper()
	withFragile(t, 2, func(f *fragile) {
		w := &hollow{f, map[penstock.EndpointEvent]string{}}
		w.on(on)
		for _, event := range []penstock.EndpointEvent{
			store.EventRunHollow, store.EventRunSucceeded, store.EventRunFailed, store.EventAutomationPaused,
		} {
			w.heard[event] = w.Listen(announce.EndpointRequest{}, event)
		}
		test(w)
	})
}

func (w *hollow) on(on penstock.OnHollow) {
	w.T.Helper()
	w.set(factory.AutomationRequest{OnHollow: &on})
}

// messages returns how many messages about each event were written.
func (w *hollow) messages() map[penstock.EndpointEvent]int64 {
	w.T.Helper()
	list := map[penstock.EndpointEvent]int64{}
	for event, uid := range w.heard {
		e, err := w.Endpoints.Read(w.T.Context(), w.Admin, uid)
		if err != nil {
			w.T.Fatal(err)
		}
		if e.Stats.Waiting > 0 {
			list[event] = e.Stats.Waiting
		}
	}
	return list
}

// acts appends an action of the agent that ends in a state.
func (w *hollow) acts(l penstock.Lease, state string) {
	w.T.Helper()
	drafts := []penstock.Draft{
		penstock.NewDraft(penstock.EventAction, penstock.Now(),
			penstock.Block{Type: penstock.BlockAction, ID: "a", Category: "command", Name: "run_command"}),
		penstock.NewDraft(penstock.EventActionResult, penstock.Now(),
			penstock.Block{Type: penstock.BlockActionResult, ActionID: "a", State: state}),
	}
	for i := range drafts {
		drafts[i].N = int64(1 + i)
	}
	if err := w.Executions.Control().Append(w.T.Context(), l, drafts); err != nil {
		w.T.Fatal(err)
	}
}

func (w *hollow) ends(l penstock.Lease) penstock.Run {
	w.T.Helper()
	w.end([]penstock.Lease{l}, succeeded)
	return w.Get(l.RunID)
}

// wantEnd compares the state of a run, why it is hollow, and what its message says.
func (w *hollow) wantEnd(r penstock.Run, state penstock.State, reason string) {
	w.T.Helper()
	if r.State != state || r.HollowReason != reason || r.Hollow != (reason != "") {
		w.T.Errorf("the run is %s, hollow because %q; want %s and %q", r.State, r.HollowReason, state, reason)
	}
	code := penstock.Code("")
	if m := r.StatusMessage; m != nil {
		code = m.ErrorCode
		if !strings.HasPrefix(m.Message, reason) || !strings.Contains(m.Message, "on_hollow: fail") || m.Retryable {
			w.T.Errorf("the message is %+v", m)
		}
	}
	if want := map[penstock.State]penstock.Code{failed: penstock.CodeAgentDidNothing}[state]; code != want {
		w.T.Errorf("the error code is %q, want %q", code, want)
	}
}

func TestAnAutomationSaysWhatBecomesOfAHollowRun(t *testing.T) {
	t.Parallel()
	for on, c := range map[penstock.OnHollow]struct {
		state penstock.State
		heard []penstock.EndpointEvent
	}{
		"": {succeeded, []penstock.EndpointEvent{store.EventRunSucceeded, store.EventRunHollow}},
		penstock.HollowAlert: {
			succeeded, []penstock.EndpointEvent{store.EventRunSucceeded, store.EventRunHollow},
		},
		penstock.HollowFail: {failed, []penstock.EndpointEvent{store.EventRunFailed}},
		penstock.HollowNone: {succeeded, []penstock.EndpointEvent{store.EventRunSucceeded}},
	} {
		t.Run("on_hollow "+string(on), func(t *testing.T) {
			withHollow(t, on, func(w *hollow) {
				want := map[penstock.EndpointEvent]int64{}
				for range 2 {
					l := w.begin(1)[0]
					w.Say(l, "m", "Done. I fixed it.")
					r := w.ends(l)
					w.wantEnd(r, c.state, didNothing)
					for _, event := range c.heard {
						want[event]++
					}
					timeline, err := w.Runs.Timeline(w.T.Context(), w.Admin, r.ID)
					if err != nil {
						w.T.Fatal(err)
					}
					last := timeline[len(timeline)-1]
					if last.Payload["hollow_reason"] != didNothing ||
						(last.Payload["error_code"] == "agent_did_nothing") != (c.state == failed) {
						w.T.Errorf("the last event is %s %v", last.Type, last.Payload)
					}
				}
				if c.state == failed {
					want[store.EventAutomationPaused]++
					w.want(2, 0)
				} else {
					w.want(0, 0)
				}
				if diff := cmp.Diff(want, w.messages()); diff != "" {
					w.T.Errorf("messages (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What the agent did counts, never what it says. One action that did not fail is enough.
func TestOnlyAHollowRunFails(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		for state, reason := range map[string]string{
			penstock.ActionCompleted: "", penstock.ActionRunning: "",
			penstock.ActionDenied: "The only action of the agent failed.",
		} {
			l := w.begin(1)[0]
			w.acts(l, state)
			r := w.ends(l)
			if reason != "" {
				w.wantEnd(r, failed, reason)
			} else {
				w.wantEnd(r, succeeded, "")
			}
		}
		file := penstock.Upload{
			ID: penstock.NewID(), Type: penstock.ArtifactFile, Size: 6,
			Artifact: &penstock.ArtifactData{Filename: "report.md", MimeType: "text/markdown"},
		}
		l := w.begin(1)[0]
		if _, err := w.Executions.Control().Save(w.T.Context(), l, file, strings.NewReader("report")); err != nil {
			w.T.Fatal(err)
		}
		w.wantEnd(w.ends(l), succeeded, "")
		// A program of the harness command reports no actions.
		l = w.begin(1)[0]
		w.Finish(l, penstock.Result{State: succeeded, ActionsUnknown: true})
		w.wantEnd(w.Get(l.RunID), succeeded, "")
	})
}

// A person who sends a follow-up to a run that did nothing gets another end. All turns count.
func TestAFollowUpDecidesAgainHowAHollowRunEnds(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		l := w.begin(1)[0]
		id := l.RunID
		for _, step := range []struct {
			acts bool
			want penstock.State
		}{{false, failed}, {false, failed}, {true, succeeded}, {false, succeeded}} {
			if w.Get(id).State.Done() {
				w.FollowUp(id, "Use your tools.")
				if r := w.Get(id); r.Hollow || r.StatusMessage != nil {
					w.T.Errorf("the continued run is hollow %t, and says %+v", r.Hollow, r.StatusMessage)
				}
				l = w.Work().Lease
			}
			if step.acts {
				w.acts(l, penstock.ActionCompleted)
			}
			reason := ""
			if step.want == failed {
				reason = didNothing
			}
			w.wantEnd(w.ends(l), step.want, reason)
		}
		w.want(0, 1) // a run counts once, at its first end
	})
}

// A message that waits is delivered before the run can end, however its turn ended.
func TestAHollowTurnDoesNotFailARunWithAMessageThatWaits(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		l := w.begin(1)[0]
		w.FollowUp(l.RunID, "Then do this.")
		err := w.Deps.Store.Write(w.T.Context(), func(tx *store.Tx) error {
			r, err := tx.Executions().Held(w.T.Context(), l)
			if err != nil {
				return err
			}
			return tx.Runs().Move(w.T.Context(), store.Move{Run: r, To: succeeded})
		})
		if !errors.Is(err, store.ErrMoved) {
			w.T.Errorf("the end over a message that waits: %v", err)
		}
		if prompts := w.Finish(l, penstock.Result{State: succeeded}); len(prompts) != 1 {
			w.T.Fatalf("the agent got %d messages", len(prompts))
		}
		w.MustBe(l.RunID, penstock.StateInProgress)
		w.acts(l, penstock.ActionCompleted)
		w.wantEnd(w.ends(l), succeeded, "")
	})
}

// A run ends as its automation said when it started, also if the automation is gone by then.
func TestARunKeepsOnHollowOfItsStart(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		strict := w.begin(1)[0]
		w.set(factory.AutomationRequest{Cleared: []string{"on_hollow"}})
		if got := w.read().OnHollow; got != "" {
			w.T.Errorf("null leaves %q", got)
		}
		lenient := w.begin(1)[0]
		w.on(penstock.HollowFail)
		orphan := w.begin(1)[0]
		w.wantEnd(w.ends(strict), failed, didNothing)
		w.wantEnd(w.ends(lenient), succeeded, didNothing)
		if err := w.Resources.DeleteAutomation(w.T.Context(), w.Admin, w.factory, w.automation); err != nil {
			w.T.Fatal(err)
		}
		w.wantEnd(w.ends(orphan), failed, didNothing)
	})
}

// Somebody who tries an automation by hand sees what its events would see. A run below it is a run of its own.
func TestRunsThatAnAutomationStartsFollowIt(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		made, err := w.Automations.Run(w.T.Context(), w.Admin, w.factory, w.automation, run.SourceAPI)
		if err != nil {
			w.T.Fatal(err)
		}
		parent := w.Work().Lease
		child := w.Create(penstock.RunRequest{Prompt: "p", ParentID: made.ID}).ID
		w.Finish(w.Work().Lease, penstock.Result{State: succeeded})
		w.wantEnd(w.Get(child), succeeded, didNothing)
		w.wantEnd(w.ends(parent), failed, didNothing)
		w.want(0, 0)
	})
}

// A cancel and the end of the turn come at once, from two servers: one of them counts, and is announced.
func TestACancelRacesWithTheEndOfAHollowRun(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		var heard, ended int64
		for range 8 {
			w.set(factory.AutomationRequest{HealthRequest: factory.HealthRequest{PauseAfterFailures: new(0)}})
			l := w.begin(1)[0]
			var both sync.WaitGroup
			both.Go(func() { _, _ = w.Executions.Control().Finish(w.T.Context(), l, penstock.Result{State: succeeded}) })
			both.Go(func() { _, _ = w.Runs.Cancel(w.T.Context(), w.Admin, l.RunID, false) })
			both.Wait()
			switch r := w.Get(l.RunID); r.State {
			case failed:
				ended++
				w.wantEnd(r, failed, didNothing)
			case penstock.StateCancelled:
				if r.Hollow || r.StatusMessage != nil && r.StatusMessage.ErrorCode != "" {
					w.T.Errorf("the cancelled run is hollow %t, and says %+v", r.Hollow, r.StatusMessage)
				}
			default:
				w.T.Errorf("the run is %s", r.State)
			}
			heard = w.messages()[store.EventRunFailed]
		}
		if heard != ended {
			w.T.Errorf("%d runs are FAILED, and %d messages say so", ended, heard)
		}
	})
}

// A worker that lost its run saw no action of the one that has it now.
func TestAWorkerWithoutALeaseFailsNoRun(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		first := w.begin(1)[0]
		w.SaveSession(first) // otherwise the run ends with its worker
		w.LoseLease(first)
		second := w.Work().Lease
		_, err := w.Executions.Control().Finish(w.T.Context(), first, penstock.Result{State: succeeded})
		if !errors.Is(err, penstock.ErrLeaseLost) {
			w.T.Errorf("the lost worker ends the run: %v", err)
		}
		w.MustBe(first.RunID, penstock.StateInProgress)
		w.acts(second, penstock.ActionCompleted)
		w.wantEnd(w.ends(second), succeeded, "")
		if _, err = w.Executions.Control().Finish(w.T.Context(), second, penstock.Result{State: succeeded}); err == nil {
			w.T.Error("the run ends twice")
		}
		w.want(0, 0)
	})
}

// A server that dies in the middle of an end leaves nothing of it, and the worker's next call ends the run once.
func TestAnEndThatIsRolledBackLeavesNothing(t *testing.T) {
	withHollow(t, penstock.HollowFail, func(w *hollow) {
		l := w.begin(1)[0]
		killed := errors.New("killed")
		err := w.Deps.Store.Write(w.T.Context(), func(tx *store.Tx) error {
			r, err := tx.Executions().Held(w.T.Context(), l)
			if err != nil {
				return err
			}
			if state, err := tx.Runs().End(w.T.Context(), store.Move{Run: r, To: succeeded}); err != nil || state != failed {
				w.T.Errorf("the run is %s: %v", state, err)
			}
			return killed
		})
		if !errors.Is(err, killed) {
			w.T.Fatal(err)
		}
		r := w.MustBe(l.RunID, penstock.StateInProgress)
		if list := w.messages(); r.Hollow || r.StatusMessage != nil || len(list) > 0 {
			w.T.Errorf("hollow %t, message %+v, sent %v", r.Hollow, r.StatusMessage, list)
		}
		w.want(0, 0)
		w.wantEnd(w.ends(l), failed, didNothing)
		w.want(0, 1)
	})
}

// After a run that did nothing, the next event about its subject starts another one. Events that came meanwhile
// are a follow-up, and the run ends after it.
func TestAHollowRunOnASubjectIsOver(t *testing.T) {
	withSubjects(t, factory.SubjectRequest{Quiet: new(penstock.Period("0"))}, func(w *topics) {
		if _, err := w.Resources.UpdateAutomation(w.T.Context(), w.Admin, w.factory, w.automation.UID,
			factory.AutomationRequest{OnHollow: new(penstock.HollowFail)}); err != nil {
			w.T.Fatal(err)
		}
		ids := []string{w.event(7, 1)}
		l := w.Work().Lease
		ids = append(ids, w.event(7, 2))
		if prompts := w.Finish(l, penstock.Result{State: succeeded}); len(prompts) != 1 {
			w.T.Fatalf("the agent got %d follow-ups", len(prompts))
		}
		w.MustBe(l.RunID, penstock.StateInProgress)
		w.Finish(l, penstock.Result{State: succeeded})
		if r := w.MustBe(l.RunID, failed); r.HollowReason != didNothing {
			w.T.Errorf("the run is hollow because %q", r.HollowReason)
		}
		ids = append(ids, w.event(7, 3))
		w.wantFates(ids, store.FateStarted, store.FateContinued, store.FateStarted)
		runs := w.runs()
		if len(runs) != 2 || runs[1].ContinuesID != l.RunID {
			w.T.Errorf("the runs are %+v", runs)
		}
	})
}

func TestAnInvalidOnHollowChangesNothing(t *testing.T) {
	withHollow(t, penstock.HollowNone, func(w *hollow) {
		bad := penstock.OnHollow("Fail")
		want := func(err error) {
			w.T.Helper()
			testworld.WantField(w.T, err, "/on_hollow")
			if err != nil && !strings.Contains(err.Error(), "must be alert, fail or none") {
				w.T.Errorf("the error is %v", err)
			}
		}
		_, err := w.Resources.UpdateAutomation(w.T.Context(), w.Admin, w.factory, w.automation,
			factory.AutomationRequest{OnHollow: &bad, Title: new("Another")})
		want(err)
		_, err = w.Resources.CreateAutomation(w.T.Context(), w.Admin, w.factory, factory.AutomationRequest{
			Name: new("other"), Prompt: new("p"), OnHollow: &bad, Triggers: &[]penstock.Trigger{hookTrigger("")},
		})
		want(err)
		list, err := w.Automations.List(w.T.Context(), w.Admin, w.factory)
		if err != nil || len(list) != 1 || list[0].OnHollow != penstock.HollowNone || list[0].Title != "" {
			w.T.Errorf("the automations are %+v: %v", list, err)
		}
	})
}

// Edits of other fields keep the key, and a file says it in its own spelling.
func TestOnHollowInFiles(t *testing.T) {
	withTeam(t, func(h *hooks) {
		path := "automations/red/automation.md"
		file := team()[path]
		said := func(value string) map[string]string {
			return with(team(), path, strings.Replace(file, "---\n", "---\nonHollow: "+value+"\n", 1))
		}
		read := func() penstock.Automation {
			h.T.Helper()
			list, err := h.Automations.List(h.T.Context(), h.Admin, h.factory)
			i := slices.IndexFunc(list, func(a penstock.Automation) bool { return a.Name == "red" })
			if err != nil || i < 0 {
				h.T.Fatalf("the automations are %+v: %v", list, err)
			}
			return list[i]
		}
		h.apply(said("fail"))
		a := read()
		if a.OnHollow != penstock.HollowFail {
			h.T.Errorf("the file says %q", a.OnHollow)
		}
		edit := func(req factory.AutomationRequest, line string) {
			h.T.Helper()
			if _, err := h.Resources.UpdateAutomation(h.T.Context(), h.Admin, h.factory, a.UID, req); err != nil {
				h.T.Fatal(err)
			}
			text := fmt.Sprint(h.files().Files)
			if strings.Contains(text, "onHollow") != (line != "") || !strings.Contains(text, line) {
				h.T.Errorf("want %q in the files:\n%s", line, text)
			}
		}
		edit(factory.AutomationRequest{Prompt: new("Another prompt.")}, "onHollow: fail\n")
		edit(factory.AutomationRequest{OnHollow: new(penstock.HollowNone)}, "onHollow: none\n")
		edit(factory.AutomationRequest{Cleared: []string{"on_hollow"}}, "")
		before := read()
		_, err := h.Factories.Apply(h.T.Context(), h.Admin, h.factory, factory.ApplyRequest{Files: said("failed")})
		found := testworld.Findings(err)
		if len(found) != 1 || !strings.Contains(found[0].Message, "onHollow") ||
			!strings.Contains(found[0].Message, "be alert, fail or none, not ") || found[0].Path != path {
			h.T.Errorf("the findings are %+v: %v", found, err)
		}
		if diff := cmp.Diff(before, read()); diff != "" {
			h.T.Errorf("a rejected file changed the automation:\n%s", diff)
		}
	})
}
