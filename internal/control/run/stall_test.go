package run_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func byHand(d *run.Deps) { d.TimesByHand = true }

// passes does what every server does every few seconds, as if so much time had passed.
func (w *world) passes(d time.Duration) {
	w.T.Helper()
	if err := w.Executions.AnnounceStalls(w.T.Context(), penstock.Now().Add(d)); err != nil {
		w.T.Fatal(err)
	}
}

// wantStalled compares what the API says, of the run alone and in a list, and how often the timeline
// says that the run stalled and that this ended.
func (w *world) wantStalled(id string, want bool, began, ended int) penstock.Run {
	w.T.Helper()
	got := w.Get(id)
	if (got.Stalled != nil) != want {
		w.T.Errorf("stalled is %+v, want %t", got.Stalled, want)
	}
	page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, r := range page.Runs {
		if r.ID == id && (r.Stalled != nil) != want {
			w.T.Errorf("in a list, stalled is %+v, want %t", r.Stalled, want)
		}
	}
	if n := w.countTimeline(id, penstock.TimelineStalled); n != began {
		w.T.Errorf("the run stalled %d times, want %d", n, began)
	}
	if n := w.countTimeline(id, penstock.TimelineStallEnded); n != ended {
		w.T.Errorf("a stall ended %d times, want %d", n, ended)
	}
	return got
}

const justBefore, justAfter = 9 * time.Minute, 10*time.Minute + time.Second

// A detector that runs on every pass must not announce every time: people stop reading.
func TestAQuietRunStallsOnceAndItsNextEventEndsThat(t *testing.T) {
	worlds(t, byHand, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		a := w.Work()
		w.Say(a.Lease, "m1", "I begin.")
		before := w.Get(id)
		w.passes(justBefore)
		w.wantStalled(id, false, 0, 0)
		for range 3 {
			w.passes(justAfter)
		}
		got := w.wantStalled(id, true, 1, 0)
		events, err := w.Deps.Store.Events.List(w.T.Context(), id, 0, 100)
		if err != nil {
			w.T.Fatal(err)
		}
		if last := got.Stalled.LastEvent; last.Type != penstock.EventMessage || last.Seq != events[len(events)-2].Seq {
			w.T.Errorf("the last event is %+v", last)
		}
		if d := got.Stalled.Since.Sub(got.Stalled.LastEvent.At); d < 9*time.Minute || d > 11*time.Minute {
			w.T.Errorf("it stalled %s after its last event", d)
		}
		if got.UpdatedAt < before.UpdatedAt || got.State != penstock.StateInProgress {
			w.T.Errorf("the run is %s, changed at %s", got.State, got.UpdatedAt)
		}
		w.Say(a.Lease, "m2", "I go on.")
		w.wantStalled(id, false, 1, 1)
		w.passes(justBefore)
		w.passes(justAfter)
		w.wantStalled(id, true, 2, 1)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		w.wantStalled(id, false, 2, 1)
		timeline, err := w.Runs.Timeline(w.T.Context(), w.Admin, id)
		if err != nil {
			w.T.Fatal(err)
		}
		if last := timeline[len(timeline)-1]; last.Payload["stalled_since"] == nil {
			w.T.Errorf("the end of the run does not say that it had stalled: %v", last.Payload)
		}
	})
}

// Output of a command that takes an hour, and parts of a long answer, show that the agent works. A
// worker that renews its lease only shows that the worker lives, and so does a message that the agent
// has not read.
func TestWhatCountsAsProgress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do       func(w *world, id string, l penstock.Lease)
		progress bool
	}{
		"output of a tool": {func(w *world, _ string, l penstock.Lease) {
			w.append(l, penstock.NewDraft(penstock.EventActionResult, penstock.Now(), penstock.Block{
				Type: penstock.BlockActionResult, ActionID: "build", State: penstock.ActionRunning,
				Output: []byte(`{"text":"compiling…"}`),
			}))
		}, true},
		"a part of a message": {func(w *world, _ string, l penstock.Lease) {
			w.append(l, penstock.NewDraft(penstock.EventMessageDelta, penstock.Now(),
				penstock.MessageDelta{ID: "m", Role: penstock.RoleAssistant, Text: "a"}))
		}, true},
		"a call of a model that is over": {func(w *world, _ string, l penstock.Lease) { w.Spend(l, 0.01) }, true},
		"the clock of the worker is wrong": {func(w *world, _ string, l penstock.Lease) {
			w.append(l, penstock.NewDraft(penstock.EventMessageDelta, penstock.Now().Add(-24*time.Hour),
				penstock.MessageDelta{ID: "m", Role: penstock.RoleAssistant, Text: "a"}))
		}, true},
		"a heartbeat": {func(w *world, _ string, l penstock.Lease) {
			if _, err := w.Executions.Control().Heartbeat(w.T.Context(), l, time.Millisecond); err != nil {
				w.T.Fatal(err)
			}
		}, false},
		"a message to the agent": {func(w *world, id string, _ penstock.Lease) { w.FollowUp(id, "are you there?") }, false},
		"an interrupt that the agent ignores": {func(w *world, id string, _ penstock.Lease) {
			if _, err := w.Runs.Interrupt(w.T.Context(), w.Admin, id); err != nil {
				w.T.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, byHand, func(w *world) {
				id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
				a := w.Work()
				w.ages(id)
				c.do(w, id, a.Lease)
				w.passes(0)
				began := 1
				if c.progress {
					began = 0
				}
				w.wantStalled(id, !c.progress, began, 0)
				if c.progress {
					return
				}
				c.do(w, id, a.Lease) // also once it has stalled
				w.wantStalled(id, true, 1, 0)
			})
		})
	}
}

// ages makes the last progress of a run an hour older.
func (w *world) ages(id string) {
	w.T.Helper()
	testkit.Exec(w.T, w.URL, fmt.Sprintf("UPDATE runs SET progress_at = progress_at - %d WHERE id = '%s'",
		time.Hour.Milliseconds(), id))
}

func (w *world) append(l penstock.Lease, d penstock.Draft) {
	w.T.Helper()
	if err := w.Executions.Control().Append(w.T.Context(), l, []penstock.Draft{d}); err != nil {
		w.T.Fatal(err)
	}
}

// Detectors that see only silence stop runs that wait for a person for days, and runs whose machine
// slept.
func TestARunThatWaitsHasNotStalled(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, wait := range map[string]func(w *world) string{
		"for a worker": func(w *world) string { return w.Create(penstock.RunRequest{Prompt: "p"}).ID },
		"for its sandbox": func(w *world) string {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			w.Moves(w.Claim().Lease, penstock.StatePending)
			return id
		},
		"for an answer": func(w *world) string {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			w.Finish(w.Work().Lease, penstock.Result{
				State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "Which branch?"},
			})
			return id
		},
		"for the next message of an open session": func(w *world) string {
			id := w.Create(penstock.RunRequest{Prompt: "p", Interactive: new(true)}).ID
			w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded, KeepOpen: true})
			return id
		},
		"for a run below it": func(w *world) string {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			w.Work()
			w.Create(penstock.RunRequest{Prompt: "below", ParentID: id})
			return id
		},
		"for its worker": func(w *world) string {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			testkit.Exec(w.T, w.URL, "UPDATE queue SET lease_until = 1 WHERE token = '"+a.Lease.Token+"'")
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, byHand, func(w *world) {
				id := wait(w)
				w.passes(day)
				w.wantStalled(id, false, 0, 0)
			})
		})
	}
}

// A worker whose machine slept for an hour continues its agent, which then needs its time.
func TestTheTimeBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]func(w *world) (id string, l penstock.Lease){
		"when a worker returns": func(w *world) (string, penstock.Lease) {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			w.ages(id)
			testkit.Exec(w.T, w.URL, "UPDATE queue SET lease_until = 1 WHERE token = '"+a.Lease.Token+"'")
			if _, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Millisecond); err != nil {
				w.T.Fatal(err)
			}
			return id, a.Lease
		},
		"when a follow-up begins a turn of an open session": func(w *world) (string, penstock.Lease) {
			id := w.Create(penstock.RunRequest{Prompt: "p", Interactive: new(true)}).ID
			a := w.Work()
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, KeepOpen: true})
			w.ages(id)
			w.FollowUp(id, "go on")
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, KeepOpen: true})
			return id, a.Lease
		},
		"when the run below it has ended": func(w *world) (string, penstock.Lease) {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			w.Create(penstock.RunRequest{Prompt: "below", ParentID: id})
			w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded})
			w.ages(id)
			return id, a.Lease
		},
		"when a server of the previous release has appended": func(w *world) (string, penstock.Lease) {
			id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
			a := w.Work()
			w.ages(id)
			testkit.Exec(w.T, w.URL, "UPDATE runs SET last_seq = last_seq + 3 WHERE id = '"+id+"'")
			return id, a.Lease
		},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, byHand, func(w *world) {
				id, l := begins(w)
				w.passes(justBefore)
				w.wantStalled(id, false, 0, 0)
				w.passes(justBefore + justAfter)
				w.wantStalled(id, true, 1, 0)
				w.Say(l, "m", "done")
				w.wantStalled(id, false, 1, 1)
			})
		})
	}
}

// Whenever the last event comes between two passes of the server, its stall is announced within a minute of its
// deadline, never before, and as old as it is.
func TestAStallIsAnnouncedWithinAMinute(t *testing.T) {
	worlds(t, byHand, func(w *world) {
		const after = 2 * time.Minute
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "strict", StallAfter: after.String()})
		begun := penstock.Now()
		deadlines := map[string]penstock.Time{}
		for i := range 12 {
			config := &penstock.Config{EnvironmentID: e.UID}
			if i == 0 {
				config = nil
			}
			id := w.Create(penstock.RunRequest{Prompt: "p", Config: config}).ID
			w.Work()
			last := begun.Add(time.Duration(i) * 7919 * time.Millisecond)
			testkit.Exec(w.T, w.URL, fmt.Sprintf("UPDATE runs SET progress_at = %d WHERE id = '%s'", last, id))
			deadlines[id] = last.Add(after)
			if i == 0 {
				deadlines[id] = last.Add(run.DefaultStallAfter)
			}
		}
		announced := map[string]penstock.Time{}
		for now := begun; len(announced) < len(deadlines); now = now.Add(run.AnnounceStallsEvery) {
			if now.Sub(begun) > run.DefaultStallAfter+time.Minute {
				w.T.Fatalf("only %d of %d stalls were announced", len(announced), len(deadlines))
			}
			if err := w.Executions.AnnounceStalls(w.T.Context(), now); err != nil {
				w.T.Fatal(err)
			}
			for id, deadline := range deadlines {
				r := w.Get(id)
				if _, seen := announced[id]; seen || r.Stalled == nil {
					continue
				}
				announced[id] = now
				if late := now.Sub(deadline); late < 0 || late > time.Minute {
					w.T.Errorf("a stall is announced %s after its deadline", late)
				}
				if r.Stalled.Since != deadline {
					w.T.Errorf("the run stalled at %s, want %s", r.Stalled.Since, deadline)
				}
			}
		}
		for id := range deadlines {
			w.wantStalled(id, true, 1, 0)
		}
	})
}

// The server itself does it, while nobody asks.
func TestTheServerLooksForStalls(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.Work()
		w.ages(id)
		testkit.Eventually(w.T, time.Minute, func() error {
			if w.Get(id).Stalled == nil {
				return errors.New("the stall is not announced")
			}
			return nil
		})
		w.wantStalled(id, true, 1, 0)
	})
}

// A run whose whole tree is silent has stalled at each level.
func TestARunAboveAStalledOneStallsToo(t *testing.T) {
	worlds(t, byHand, func(w *world) {
		above := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.Work()
		below := w.Create(penstock.RunRequest{Prompt: "below", ParentID: above}).ID
		w.Work()
		w.passes(justAfter)
		w.passes(justAfter)
		w.wantStalled(above, true, 1, 0)
		w.wantStalled(below, true, 1, 0)
	})
}

func TestTheEnvironmentDecidesAboutStalls(t *testing.T) {
	worlds(t, func(d *run.Deps) {
		byHand(d)
		d.Stall = &penstock.StallRule{After: 5 * time.Minute, On: run.StallCancel}
	}, func(w *world) {
		work := func(c penstock.EnvironmentConfig) string {
			c.Name = penstock.NewUID()
			e := w.CreateEnvironment(c)
			id := w.Create(penstock.RunRequest{Prompt: "p", Config: &penstock.Config{EnvironmentID: e.UID}}).ID
			w.Work()
			return id
		}
		server := work(penstock.EnvironmentConfig{})
		later := work(penstock.EnvironmentConfig{StallAfter: "1h", OnStall: run.StallAlert})
		never := work(penstock.EnvironmentConfig{StallAfter: "0"})
		w.passes(4 * time.Minute)
		w.MustBe(server, penstock.StateInProgress)
		w.passes(6 * time.Minute)
		got := w.MustBe(server, penstock.StateCancelled)
		if got.StatusMessage == nil || !strings.Contains(got.StatusMessage.Message, "5m0s without an event") {
			w.T.Errorf("the message is %+v", got.StatusMessage)
		}
		w.wantStalled(server, false, 1, 0)
		w.wantStalled(later, false, 0, 0)
		w.passes(2 * time.Hour)
		w.wantStalled(later, true, 1, 0)
		w.MustBe(later, penstock.StateInProgress)
		w.wantStalled(never, false, 0, 0)
	})
}

func TestAnEnvironmentWithABadStallRuleIsRefused(t *testing.T) {
	worlds(t, byHand, func(w *world) {
		for pointer, c := range map[string]penstock.EnvironmentConfig{
			"/stall_after": {StallAfter: "59s"}, "/on_stall": {OnStall: "restart"},
		} {
			c.Name = "e"
			_, err := w.Catalog.CreateEnvironment(w.T.Context(), w.Admin, c)
			testworld.WantField(w.T, err, pointer)
		}
		for _, after := range []string{"10", "-1m", "721h", "ten minutes"} {
			_, err := w.Catalog.CreateEnvironment(
				w.T.Context(), w.Admin, penstock.EnvironmentConfig{Name: "e", StallAfter: after},
			)
			testworld.WantField(w.T, err, "/stall_after")
		}
	})
}

// Cancelling is a single act: the worker loses its lease, the follow-ups are reported as undelivered,
// and clients that follow the run see its end.
func TestACancelledStallEndsEverything(t *testing.T) {
	worlds(t, func(d *run.Deps) {
		byHand(d)
		d.Stall = &penstock.StallRule{After: 10 * time.Minute, On: run.StallCancel}
	}, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		a := w.Work()
		w.FollowUp(id, "are you there?")
		w.ages(id)
		w.passes(0)
		w.MustBe(id, penstock.StateCancelled)
		types := w.TimelineTypes(id)
		if at := slices.Index(types, penstock.TimelineStalled); at < 0 || !slices.Contains(types[at:], "run_cancelled") {
			w.T.Errorf("the timeline is %q", types)
		}
		if !slices.Contains(types, "followup_undelivered") {
			w.T.Errorf("the timeline is %q", types)
		}
		_, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, time.Millisecond)
		if err == nil {
			w.T.Error("the worker still has its lease")
		}
	})
}

// Two servers with one database, at the same time, while the agent works or not.
func TestManyServersAnnounceAStallOnce(t *testing.T) {
	worlds(t, byHand, func(w *world) {
		other := w.Deps
		other.Store = w.Database()
		servers := []*control.Rules{w.Rules, control.New(other)}
		var ids []string
		var leases []penstock.Lease
		for range 8 { // few, so that no lease expires on a slow machine
			ids = append(ids, w.Create(penstock.RunRequest{Prompt: "p"}).ID)
			leases = append(leases, w.Work().Lease)
		}
		for _, id := range ids {
			w.ages(id)
		}
		var all sync.WaitGroup
		for _, s := range servers {
			for range 3 {
				all.Go(func() {
					if err := s.Executions.AnnounceStalls(w.T.Context(), penstock.Now()); err != nil {
						w.T.Error(err)
					}
				})
			}
		}
		all.Go(func() {
			for i := range 4 { // these may win or lose against the announcement
				w.Say(leases[i], "m", "I work")
			}
		})
		all.Wait()
		for i, id := range ids {
			began := w.countTimeline(id, penstock.TimelineStalled)
			ended := w.countTimeline(id, penstock.TimelineStallEnded)
			if stalled := w.Get(id).Stalled != nil; i < 4 && (stalled || began > 1 || began != ended) ||
				i >= 4 && (!stalled || began != 1 || ended != 0) {
				w.T.Errorf("run %d: stalled %t, began %d, ended %d", i, stalled, began, ended)
			}
		}
	})
}

// The background work of a server announces stalls by itself.
func TestAServerLooksForStalls(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		w.Work()
		w.ages(id)
		testkit.Eventually(w.T, 10*time.Second, func() error {
			if w.Get(id).Stalled == nil {
				return errors.New("the run has not stalled")
			}
			return nil
		})
	})
}
