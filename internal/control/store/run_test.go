package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// newRun is a run of the default team with minimal fields.
func newRun(change func(*store.NewRun)) *store.NewRun {
	id, now := penstock.NewID(), penstock.Now()
	r := &store.NewRun{RunRow: store.RunRow{
		Run: penstock.Run{
			ID: id, RootID: id, ConversationID: penstock.NewID(), State: penstock.StateQueued, ExecutionID: 1,
			Prompt: "do " + id, Title: "do",
			CreatedAt: now, UpdatedAt: now, Source: "API", Creator: &penstock.Actor{UID: "ada"},
			Executor: &penstock.Actor{UID: "ada"},
			Config:   &penstock.Config{},
		},
		Team: store.DefaultTeam, Harness: penstock.HarnessBuiltin,
	}}
	if change != nil {
		change(r)
	}
	return r
}

func mustCreate(t *testing.T, s *store.Store, change func(*store.NewRun)) *store.NewRun {
	t.Helper()
	r := newRun(change)
	if _, err := s.Runs.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func claimant(host string) penstock.ClaimRequest {
	return penstock.ClaimRequest{
		WorkerID: penstock.NewID(), Host: host, Harnesses: []string{penstock.HarnessBuiltin}, Capacity: 4,
	}
}

// mustClaim claims the next run for a worker of the host.
func mustClaim(t *testing.T, s *store.Store, host string) (store.RunRow, penstock.Lease) {
	t.Helper()
	h := store.Holding{Token: penstock.NewUID(), SessionID: penstock.NewID(), AgentKey: penstock.NewUID()}
	var run store.RunRow
	err := s.Write(t.Context(), func(tx *store.Tx) (err error) {
		run, err = tx.Queue().Claim(t.Context(), claimant(host), h)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return run, penstock.Lease{RunID: run.ID, ExecutionID: run.ExecutionID, Token: h.Token}
}

func move(t *testing.T, s *store.Store, id string, to penstock.State) error {
	t.Helper()
	return s.Write(t.Context(), func(tx *store.Tx) error {
		run, err := tx.Runs().Lock(t.Context(), id)
		if err != nil {
			return err
		}
		return tx.Runs().Move(t.Context(), store.Move{Run: run, To: to})
	})
}

func TestRunIsReadBackUnchanged(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		created := mustCreate(t, s, func(r *store.NewRun) {
			r.Title, r.Mode, r.Interactive, r.SkillSpec, r.Personal = "Tïtle", penstock.ModePlan, true, "acme/app:review", true
			r.Config = &penstock.Config{Name: "n", ModelID: "m", Env: map[string]string{"A": "b"}}
			r.ConfigSources = map[string]string{"name": "request"}
			r.Metadata = map[string]string{"k": "v"}
			r.Skill, r.SkillID = &penstock.Skill{Name: "review", FullPath: "x/SKILL.md"}, "acme/app:x/SKILL.md"
			r.Schedule = &penstock.RunSchedule{ID: "s", Name: "n", Cron: "@daily"}
		})
		got, err := s.Runs.Find(t.Context(), store.DefaultTeam, created.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := created.RunRow
		want.TaskID, want.LastSeq, want.Cancellable = want.ID, 2, true
		nobody := &penstock.Actor{Type: "service_account", UID: "ada"} // it has no row
		want.Creator, want.Executor = nobody, nobody
		if diff := cmp.Diff(want.Run, got.Run); diff != "" {
			t.Errorf("the run differs (-want +got):\n%s", diff)
		}
		if got.Personal != true || got.SkillSpec != want.SkillSpec || got.SkillID != want.SkillID ||
			got.LastSeq != want.LastSeq {
			t.Errorf("got %+v", got)
		}
		if _, err := s.Runs.Find(t.Context(), "another team", created.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("another team reads it: %v", err)
		}
	})
}

// A statement omits the columns that all rows of its batch leave empty. The test sets such a column
// in the first row, in the last one, and in none.
func TestRareFieldsOfRunsAreKept(t *testing.T) {
	t.Parallel()
	having := map[string]func(*store.NewRun){
		"nothing":       func(*store.NewRun) {},
		"an automation": func(r *store.NewRun) { r.AutomationID = "a" },
		"a webhook": func(
			r *store.NewRun,
		) {
			r.WebhookUID, r.DeliveryID, r.TriggerURL = "w", "d", "https://example.com/d"
		},
		"a factory":      func(r *store.NewRun) { r.FactoryUID, r.Revision = "f", 7 },
		"an environment": func(r *store.NewRun) { r.Config.EnvironmentID = "e" },
		"a host":         func(r *store.NewRun) { r.WorkerHost = "vm" },
		"a skill": func(
			r *store.NewRun,
		) {
			r.SkillSpec, r.Skill = "acme/app:review", &penstock.Skill{Name: "review"}
		},
		"a schedule": func(r *store.NewRun) {
			r.Schedule = &penstock.RunSchedule{
				ID: "s", Name: "n", Cron: "@daily",
			}
		},
		"a parent":            func(r *store.NewRun) { r.ParentID, r.Depth = "p", 3 },
		"an agent's name":     func(r *store.NewRun) { r.AgentName = "reviewer" },
		"a runner":            func(r *store.NewRun) { r.Runner = &penstock.RunnerSpec{Name: "linux"} },
		"a container's image": func(r *store.NewRun) { r.Image = true },
	}
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		for name, change := range having {
			for _, among := range [][]func(*store.NewRun){
				{change}, {change, having["nothing"]}, {having["nothing"], having["an automation"], change},
			} {
				batch := make([]*store.NewRun, len(among))
				err := s.Write(t.Context(), func(tx *store.Tx) error {
					for i := range among {
						batch[i] = newRun(among[i])
					}
					return tx.CreateRuns(t.Context(), batch...)
				})
				if err != nil {
					t.Fatal(err)
				}
				for i, created := range batch {
					got, err := s.Runs.Find(t.Context(), store.DefaultTeam, created.ID)
					if err != nil {
						t.Fatal(err)
					}
					want := created.RunRow
					want.TaskID, want.LastSeq, want.Cancellable, want.PromptState = want.ID, 2, true, store.PromptWaiting
					want.Creator, want.Executor = got.Creator, got.Executor
					if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(store.RunRow{})); diff != "" {
						t.Errorf("a run that has %s, %d of %d (-want +got):\n%s", name, i+1, len(batch), diff)
					}
				}
			}
		}
	})
}

// paths take a new claimed run into each state.
var paths = map[penstock.State][]penstock.State{
	penstock.StateQueued:     {},
	penstock.StateClaimed:    {},
	penstock.StatePending:    {penstock.StatePending},
	penstock.StateInProgress: {penstock.StatePending, penstock.StateInProgress},
	penstock.StateBlocked:    {penstock.StatePending, penstock.StateInProgress, penstock.StateBlocked},
	penstock.StateSucceeded:  {penstock.StatePending, penstock.StateInProgress, penstock.StateSucceeded},
	penstock.StateFailed:     {penstock.StateFailed},
	penstock.StateError:      {penstock.StateError},
	penstock.StateCancelled:  {penstock.StateCancelled},
}

// bring takes a fresh run into a state.
func bring(t *testing.T, s *store.Store, id string, to penstock.State) {
	t.Helper()
	if to != penstock.StateQueued {
		if claimed, _ := mustClaim(t, s, ""); claimed.ID != id {
			t.Fatalf("claimed %s, want %s", claimed.ID, id)
		}
	}
	for _, step := range paths[to] {
		if err := move(t, s, id, step); err != nil {
			t.Fatalf("to %s over %s: %v", to, step, err)
		}
	}
}

func TestEveryPairOfStates(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		for _, from := range penstock.States() {
			for _, to := range penstock.States() {
				run := mustCreate(t, s, nil)
				bring(t, s, run.ID, from)
				err := move(t, s, run.ID, to)
				if (err == nil) != from.CanMove(to) {
					t.Errorf("%s to %s: allowed is %v, got %v", from, to, from.CanMove(to), err)
				}
				row, readErr := s.Runs.Find(t.Context(), store.DefaultTeam, run.ID)
				if readErr != nil {
					t.Fatal(readErr)
				}
				if err != nil && row.State != from {
					t.Errorf("%s to %s: refused, but the run is %s", from, to, row.State)
				}
				if row.State.Held() || row.State == penstock.StateQueued { // out of the way of the next pair
					if err := move(t, s, run.ID, penstock.StateCancelled); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

// For every pair of states: a transition that ends a run without success leaves no pending
// follow-up, and reports each follow-up that the agent did not get.
func TestEveryBadEndRecordsFollowupsAsUndelivered(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		for _, from := range penstock.States() {
			for _, to := range penstock.States() {
				if !to.Done() || to == penstock.StateSucceeded || !from.CanMove(to) {
					continue
				}
				run := mustCreate(t, s, nil)
				bring(t, s, run.ID, from)
				waits, given := penstock.NewID(), penstock.NewID()
				must(t, s, func(tx *store.Tx) error {
					floor, err := tx.Conversations().Enter(
						t.Context(), run.ConversationID, func(store.Bound) error { return nil },
					)
					return errors.Join(
						err,
						tx.Followups().Add(t.Context(), floor, run.RunRow, store.Followup{ID: waits, Message: "waits"}),
						tx.Followups().Add(t.Context(), floor, run.RunRow, store.Followup{ID: given, Message: "given"}),
						tx.Followups().Deliver(t.Context(), given))
				})
				if err := move(t, s, run.ID, to); err != nil {
					t.Fatal(err)
				}
				want := []string{given, waits}
				if from == penstock.StateInProgress { // the agent may have read it
					want = []string{waits}
				}
				events, err := s.Events.List(t.Context(), run.ID, 0, 100)
				if err != nil {
					t.Fatal(err)
				}
				var texts []string
				for _, e := range events {
					var m penstock.Message
					if e.Type == penstock.EventMessage && json.Unmarshal(e.Data, &m) == nil && m.Undelivered() {
						texts = append(texts, m.ID)
					}
				}
				if diff := cmp.Diff(want, texts); diff != "" {
					t.Errorf("%s to %s: undelivered (-want +got):\n%s", from, to, diff)
				}
				for i, e := range events {
					if e.Seq != int64(i+1) {
						t.Errorf("%s to %s: event %d has the number %d", from, to, i+1, e.Seq)
					}
				}
				must(t, s, func(tx *store.Tx) error {
					left, err := tx.Followups().List(t.Context(), run.ID, store.PromptWaiting)
					if len(left) > 0 {
						t.Errorf("%s to %s: %d follow-ups wait", from, to, len(left))
					}
					return err
				})
			}
		}
	})
}

func must(t *testing.T, s *store.Store, fn func(*store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestTwoWritersOneMove(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		for range 20 {
			run := mustCreate(t, s, nil)
			_, lease := mustClaim(t, s, "")
			for _, step := range []penstock.State{penstock.StatePending, penstock.StateInProgress} {
				if err := move(t, s, run.ID, step); err != nil {
					t.Fatal(err)
				}
			}
			// The worker ends the run while a user cancels it, again and again.
			outcomes := make(chan error, 8)
			var together sync.WaitGroup
			for i := range 8 {
				to := []penstock.State{penstock.StateSucceeded, penstock.StateCancelled}[i%2]
				together.Go(func() {
					outcomes <- s.Write(t.Context(), func(tx *store.Tx) error {
						run, err := tx.Runs().Lock(t.Context(), lease.RunID)
						if err != nil {
							return err
						}
						if run.State != penstock.StateInProgress {
							return store.ErrMoved
						}
						return tx.Runs().Move(t.Context(), store.Move{Run: run, To: to})
					})
				})
			}
			together.Wait()
			close(outcomes)
			won := 0
			for err := range outcomes {
				if err == nil {
					won++
				} else if !errors.Is(err, store.ErrMoved) {
					t.Error(err)
				}
			}
			if won != 1 {
				t.Fatalf("%d writers won, want 1", won)
			}
		}
	})
}

func TestClaims(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		first := mustCreate(t, s, nil)
		elsewhere := mustCreate(t, s, func(r *store.NewRun) { r.WorkerHost = "gpu" })
		other := mustCreate(t, s, func(r *store.NewRun) { r.Harness = "claude" })
		if run, _ := mustClaim(t, s, "here"); run.ID != first.ID {
			t.Errorf("claimed %s, want the oldest %s", run.ID, first.ID)
		}
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Queue().Claim(t.Context(), claimant("here"), store.Holding{Token: "t", SessionID: penstock.NewID()})
			return err
		})
		if !errors.Is(err, penstock.ErrNoWork) {
			t.Errorf("a worker without the harness or host claims: %v", err)
		}
		if run, _ := mustClaim(t, s, "gpu"); run.ID != elsewhere.ID {
			t.Errorf("claimed %s, want the one for the host", run.ID)
		}
		later := mustCreate(t, s, nil)
		builtin, claude := store.Want{Harness: penstock.HarnessBuiltin}, store.Want{Harness: "claude"}
		for id, want := range map[string]map[store.Want]int{
			first.ID: {}, other.ID: {claude: 1}, later.ID: {claude: 1, builtin: 1},
		} {
			if got, err := s.Queue.Ahead(t.Context(), id); cmp.Diff(want, got) != "" || err != nil {
				t.Errorf("ahead are %v, %v; want %v", got, err, want)
			}
		}
		want := []store.WaitingRun{{ID: other.ID, Want: claude}, {ID: later.ID, Want: builtin}}
		if got, err := s.Queue.Waiting(t.Context(), 10); cmp.Diff(want, got) != "" || err != nil {
			t.Errorf("waiting are %v, %v", got, err)
		}
	})
}

func TestManyWorkersClaimEachRunOnce(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		const runs, workers = 60, 8
		var together sync.WaitGroup
		for range runs {
			together.Go(func() { mustCreate(t, s, nil) })
		}
		together.Wait()
		var mu sync.Mutex
		claimed := map[string]int{}
		for range workers {
			together.Go(func() {
				for {
					var run store.RunRow
					err := s.Write(t.Context(), func(tx *store.Tx) (err error) {
						run, err = tx.Queue().Claim(
							t.Context(), claimant(""), store.Holding{Token: penstock.NewUID(), SessionID: penstock.NewID()},
						)
						return err
					})
					if errors.Is(err, penstock.ErrNoWork) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					claimed[run.ID]++
					mu.Unlock()
				}
			})
		}
		together.Wait()
		if len(claimed) != runs {
			t.Errorf("%d runs were claimed, want %d", len(claimed), runs)
		}
		for id, n := range claimed {
			if n != 1 {
				t.Errorf("run %s was claimed %d times", id, n)
			}
		}
	})
}

func TestAppendNeedsTheLease(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		run := mustCreate(t, s, nil)
		_, lease := mustClaim(t, s, "")
		note := func(text string, n int64) penstock.Draft {
			d := penstock.Timeline(penstock.Now(), text, nil)
			d.N = n
			return d
		}
		if err := s.Events.Append(t.Context(), lease, []penstock.Draft{note("a", 1), note("b", 2)}); err != nil {
			t.Fatal(err)
		}
		// The response was lost, and the worker repeats its request and continues.
		three := []penstock.Draft{note("a", 1), note("b", 2), note("c", 3)}
		if err := s.Events.Append(t.Context(), lease, three); err != nil {
			t.Fatal(err)
		}
		forged := lease
		forged.Token = "another"
		err := s.Events.Append(t.Context(), forged, []penstock.Draft{note("x", 0)})
		if !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("with a wrong token: %v", err)
		}
		if err := move(t, s, run.ID, penstock.StateCancelled); err != nil {
			t.Fatal(err)
		}
		err = s.Events.Append(t.Context(), lease, []penstock.Draft{note("late", 4)})
		if !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("after the cancel: %v", err)
		}
		if err := s.Executions.Renew(t.Context(), lease); !errors.Is(err, penstock.ErrLeaseLost) {
			t.Errorf("a renewal after the cancel: %v", err)
		}
		events, err := s.Events.List(t.Context(), run.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var timeline []string
		for i, e := range events {
			if e.Seq != int64(i+1) {
				t.Errorf("event %d has the sequence %d", i, e.Seq)
			}
			if e.Type == penstock.EventTimeline {
				timeline = append(timeline, timelineType(t, e))
			}
		}
		if diff := cmp.Diff([]string{"run_created", "run_claimed", "a", "b", "c"}, timeline); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMessageRemovesItsDeltas(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		run := mustCreate(t, s, nil)
		_, lease := mustClaim(t, s, "")
		now := penstock.Now()
		delta := func(id, text string) penstock.Draft {
			return penstock.NewDraft(
				penstock.EventMessageDelta, now, penstock.MessageDelta{ID: id, Role: "assistant", Text: text},
			)
		}
		message := penstock.NewDraft(
			penstock.EventMessage, now,
			penstock.Message{ID: "m", Role: "assistant", Content: []penstock.Block{penstock.Text("ab")}},
		)
		for _, d := range []penstock.Draft{delta("m", "a"), delta("m", "b"), delta("other", "x"), message} {
			if err := s.Events.Append(t.Context(), lease, []penstock.Draft{d}); err != nil {
				t.Fatal(err)
			}
		}
		n := penstock.NewDraft(
			penstock.EventMessage, now,
			penstock.Message{ID: "n", Role: "assistant", Content: []penstock.Block{penstock.Text("c")}},
		)
		if err := s.Events.Append(t.Context(), lease, []penstock.Draft{delta("n", "c"), n}); err != nil { // both at once
			t.Fatal(err)
		}
		events, err := s.Events.List(t.Context(), run.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			if e.Type == penstock.EventMessage || e.Type == penstock.EventMessageDelta {
				got = append(got, fmt.Sprint(e.Seq, e.Type))
			}
		}
		if diff := cmp.Diff([]string{"7message_delta", "8message", "10message"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Concurrent appends and creations go through the group commit: every acknowledged member exists,
// and sequences have no gaps or duplicates.
func TestGroupCommitKeepsEveryMember(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		mustCreate(t, s, nil)
		_, lease := mustClaim(t, s, "")
		const writers, each = 16, 25
		var together sync.WaitGroup
		for w := range writers {
			together.Go(func() {
				for i := range each {
					d := penstock.Timeline(penstock.Now(), fmt.Sprintf("w%d-%d", w, i), nil)
					if err := s.Events.Append(t.Context(), lease, []penstock.Draft{d}); err != nil {
						t.Error(err)
					}
					mustCreate(t, s, nil)
				}
			})
		}
		together.Wait()
		events, err := s.Events.List(t.Context(), lease.RunID, 0, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, e := range events {
			if e.Seq != int64(i+1) {
				t.Fatalf("the log has a hole before %d", e.Seq)
			}
			if e.Type == penstock.EventTimeline {
				seen[timelineType(t, e)] = true
			}
		}
		for w := range writers {
			for i := range each {
				if !seen[fmt.Sprintf("w%d-%d", w, i)] {
					t.Errorf("w%d-%d was acknowledged and is not there", w, i)
				}
			}
		}
		list, err := s.Runs.List(t.Context(), store.Viewer{Team: store.DefaultTeam, All: true}, penstock.RunQuery{Limit: 500})
		if err != nil || len(list.Rows) != writers*each+1 {
			t.Errorf("%d runs are there, want %d: %v", len(list.Rows), writers*each+1, err)
		}
	})
}

func TestLostLeaseIsNotRenewedBetween(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		mustCreate(t, s, nil)
		_, lease := mustClaim(t, s, "")
		lost, err := s.Executions.LostLeases(t.Context(), 10, 0)
		if err != nil || len(lost) != 0 {
			t.Fatalf("a fresh lease counts as lost: %v %v", lost, err)
		}
		if err := s.Executions.Renew(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	})
}

// The leases that wait for their workers are left out of the next page.
func TestLostLeasesInPages(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.OpenStore(t, url)
		var want []string
		for range 3 {
			mustCreate(t, s, nil)
			_, lease := mustClaim(t, s, "")
			want = append(want, lease.RunID)
			testkit.Exec(t, url, fmt.Sprintf("UPDATE queue SET lease_until = %d WHERE run_id = '%s'", len(want), lease.RunID))
		}
		for without := range 4 {
			page, err := s.Executions.LostLeases(t.Context(), 2, without)
			var got []string
			for _, l := range page {
				got = append(got, l.RunID)
			}
			if rest := want[without:]; err != nil || !slices.Equal(got, rest[:min(2, len(rest))]) {
				t.Errorf("without %d: got %v, %v, want of %v", without, got, err, rest)
			}
		}
	})
}

// A run remembers the workers that it lost, and those to which it could not be assigned.
func TestARunRemembersWhyItWasRequeued(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		run := mustCreate(t, s, nil)
		requeue := func(reason string) store.RunRow {
			t.Helper()
			must(t, s, func(tx *store.Tx) error {
				row, err := tx.Runs().Lock(t.Context(), run.ID)
				if err != nil {
					return err
				}
				return tx.Runs().Requeue(t.Context(), row, reason)
			})
			row, err := s.Runs.Find(t.Context(), store.DefaultTeam, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			return row
		}
		var since penstock.Time
		for i, step := range []struct {
			reason   string
			works    bool // the agent works before that
			lost     int
			notGiven bool
		}{
			{reason: store.RequeuedByWorker},
			{reason: store.NotGiven, notGiven: true},
			{reason: store.LeaseLost, lost: 1, notGiven: true},
			{reason: store.NotGiven, lost: 1, notGiven: true},
			{reason: store.RequeuedByWorker, works: true, lost: 1},
			{reason: store.LeaseLost, works: true, lost: 2},
			{reason: store.NotGiven, lost: 2, notGiven: true},
		} {
			claimed, _ := mustClaim(t, s, "")
			if step.works {
				for _, to := range []penstock.State{penstock.StatePending, penstock.StateInProgress} {
					if err := move(t, s, run.ID, to); err != nil {
						t.Fatal(err)
					}
				}
				since = 0
			}
			row := requeue(step.reason)
			if row.TimesLost != step.lost || (row.NotGivenSince != 0) != step.notGiven ||
				row.ExecutionID != claimed.ExecutionID+1 {
				t.Errorf(
					"step %d: lost %d times, not given since %d, execution %d", i, row.TimesLost, row.NotGivenSince, row.ExecutionID,
				)
			}
			if since != 0 && row.NotGivenSince != since {
				t.Errorf("step %d: not given since %s, want the first time, %s", i, row.NotGivenSince, since)
			}
			since = row.NotGivenSince
		}
		if err := move(t, s, run.ID, penstock.StateCancelled); err != nil {
			t.Fatal(err)
		}
		if row, err := s.Runs.Find(t.Context(), store.DefaultTeam, run.ID); err != nil || row.NotGivenSince != 0 ||
			row.TimesLost != 2 {
			t.Errorf("ended: lost %d times, not given since %d: %v", row.TimesLost, row.NotGivenSince, err)
		}
	})
}

// An ignored error within a transaction may roll all of it back, and then the commit fails: a
// reported write exists.
func TestNoSuccessfulWriteIsRolledBack(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		again := addFactory(t, s, "first")
		again.Name, again.Alias = "second", "second.x"
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.Settings().Set(t.Context(), "x", "1"); err != nil {
				return err
			}
			if err := tx.Factories().Add(t.Context(), again); err == nil {
				t.Error("two factories have one uid")
			}
			return nil
		})
		v, missing := s.Settings.Value(t.Context(), "x")
		if missing != nil || (err == nil) != (v == "1") {
			t.Errorf("got %v, and x is %q (%v)", err, v, missing)
		}
	})
}

func TestFailedWriteIsRolledBack(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		failure := errors.New("no")
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.Settings().Set(t.Context(), "x", "1"); err != nil {
				return err
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = s.Write(ctx, func(tx *store.Tx) error {
			if err := tx.Settings().Set(ctx, "x", "2"); err != nil {
				return err
			}
			cancel() // the caller goes away in the middle
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if v, err := s.Settings.Value(t.Context(), "x"); v != "" || err != nil {
			t.Errorf("x is %q, %v", v, err)
		}
		set := func(tx *store.Tx) error { return tx.Settings().Set(t.Context(), "x", "3") }
		if err := s.Write(t.Context(), set); err != nil {
			t.Errorf("the store does not write any more: %v", err)
		}
	})
}

func TestStoredResponseIsWrittenOnce(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		keep := func(scope string, until penstock.Time) func(store.Created) *store.KeptResponse {
			return func(store.Created) *store.KeptResponse {
				return &store.KeptResponse{Scope: scope, Status: 200, Body: []byte("a"), Until: until}
			}
		}
		later := penstock.Now().Add(time.Hour)
		results := make(chan error, 10)
		var together sync.WaitGroup
		for range cap(results) {
			together.Go(func() {
				r := newRun(nil)
				r.Keep = keep("one", later)
				_, err := s.Runs.Create(t.Context(), r)
				results <- err
			})
		}
		together.Wait()
		close(results)
		created := 0
		for err := range results {
			switch {
			case err == nil:
				created++
			case !errors.Is(err, store.ErrReplay):
				t.Error(err)
			}
		}
		list, err := s.Runs.List(t.Context(), store.Viewer{Team: store.DefaultTeam, All: true}, penstock.RunQuery{})
		if created != 1 || len(list.Rows) != 1 || err != nil {
			t.Errorf("%d acknowledged, %d there, %v; want one", created, len(list.Rows), err)
		}
		for range 2 { // an expired response makes room for the next
			r := newRun(nil)
			r.Keep = keep("two", penstock.Now())
			if _, err := s.Runs.Create(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
	})
}
