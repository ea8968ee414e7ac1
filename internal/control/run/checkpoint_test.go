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
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// keepTurn saves a turn, as a worker does, and returns its id. packs are from earlier turns.
func (w *world) keepTurn(l penstock.Lease, promptID, content string, packs ...string) (string, error) {
	id := penstock.NewID()
	_, err := w.Executions.Control().Save(w.T.Context(), l, penstock.Upload{
		ID: id, Size: int64(len(content)), Checkpoint: &penstock.SavedCheckpoint{
			PromptID: promptID, SessionID: "s", Harness: penstock.HarnessBuiltin, Packs: append(packs, id), Files: 1, Bytes: 9,
		},
	}, strings.NewReader(content))
	return id, err
}

func (w *world) mustKeepTurn(l penstock.Lease, promptID, content string, packs ...string) string {
	w.T.Helper()
	id, err := w.keepTurn(l, promptID, content, packs...)
	if err != nil {
		w.T.Fatal(err)
	}
	return id
}

// files reads what an assignment may read of its checkpoint.
func (w *world) files(a penstock.Assignment) (list []string) {
	w.T.Helper()
	if a.Checkpoint == nil {
		return nil
	}
	for _, f := range a.Checkpoint.Content {
		content, err := w.Executions.Control().Open(w.T.Context(), a.Lease, f)
		if err != nil {
			w.T.Fatal(err)
		}
		list = append(list, testworld.ReadAll(w.T, content))
	}
	return list
}

func (w *world) turns(id string) (turns []int64) {
	w.T.Helper()
	list, err := w.Turns.Checkpoints(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, c := range list {
		turns = append(turns, c.Turn)
	}
	return turns
}

func (w *world) packs() []string {
	return slices.DeleteFunc(w.keys(), func(key string) bool { return !strings.HasPrefix(key, "packs/") })
}

func TestSavedFilesAreEncryptedAndBelongToTheirRun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		mine, other := w.Create(penstock.RunRequest{Prompt: "a"}), w.Create(penstock.RunRequest{Prompt: "b"})
		a, b := w.Work(), w.Work()
		secret := w.mustKeepTurn(b.Lease, other.ID, home)
		first := w.mustKeepTurn(a.Lease, mine.ID, "one")
		for _, key := range w.packs() {
			if strings.Contains(w.onDisk(key), "hunter22") {
				w.T.Error("the disk has the files in clear")
			}
		}
		// A worker that lies about the packs of its run.
		if _, err := w.keepTurn(a.Lease, mine.ID, "x", secret); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("with a pack of another run: %v", err)
		}
		_, err := w.Executions.Control().Open(w.T.Context(), a.Lease, penstock.File{ID: "pack-" + secret})
		if penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Errorf("reading a pack of another run: %v", err)
		}
		for name, u := range map[string]penstock.SavedCheckpoint{
			"no packs":      {PromptID: mine.ID},
			"too many":      {PromptID: mine.ID, Packs: slices.Repeat([]string{first}, run.MaxPacks+1)},
			"not its own":   {PromptID: mine.ID, Packs: []string{first}},
			"not a message": {PromptID: "x", Packs: []string{"0193c6f0-0000-7000-8000-000000000001"}},
		} {
			up := penstock.Upload{ID: "0193c6f0-0000-7000-8000-000000000001", Size: 1, Checkpoint: &u}
			if _, err := w.Executions.Control().Save(w.T.Context(), a.Lease, up, strings.NewReader("x")); penstock.CodeOf(
				err) != penstock.CodeInvalidRequest {
				w.T.Errorf("%s: %v", name, err)
			}
		}
		second := w.mustKeepTurn(a.Lease, mine.ID, "two", first)
		if n := len(w.packs()); n != 3 {
			w.T.Errorf("there are %d packs, want those of two turns and of the other run", n)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.FollowUp(mine.ID, "go on")
		next := w.Work()
		if got := w.files(next); !slices.Equal(got, []string{"one", "two"}) || next.Checkpoint.UID != second ||
			next.Checkpoint.Turn != 1 || next.Checkpoint.Restore || next.Checkpoint.Behind {
			w.T.Errorf("the next worker gets %q of %+v", got, next.Checkpoint)
		}
		if _, err := w.keepTurn(a.Lease, mine.ID, "late"); !errors.Is(err, penstock.ErrLeaseLost) {
			w.T.Errorf("a save of a lost worker: %v", err)
		}
		key := w.packs()[0]
		w.replace(key, w.onDisk(key)+"x")
		var broken int
		for _, f := range next.Checkpoint.Content {
			_, err := w.Executions.Control().Open(w.T.Context(), next.Lease, f)
			if penstock.CodeOf(err) == penstock.CodeNotFound {
				broken++
			}
		}
		if key = w.packs()[0]; strings.Contains(key, mine.ID) && broken != 1 {
			w.T.Errorf("%d damaged packs", broken)
		}
	})
}

// TestOldTurnsAreNotKept keeps the last 20 turns and every tenth one, and the files that they need.
func TestOldTurnsAreNotKept(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := w.Create(penstock.RunRequest{Prompt: "a"})
		a := w.Work()
		prompt, last := r.ID, ""
		for turn := 1; turn <= 33; turn++ {
			var needs []string
			if turn%5 != 1 { // a pack is needed by the turn after it
				needs = []string{last}
			}
			last = w.mustKeepTurn(a.Lease, prompt, fmt.Sprint("turn ", turn), needs...)
			if turn == 33 {
				break
			}
			w.FollowUp(r.ID, "go on")
			prompt = w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: turn})[0].ID
		}
		want := []int64{10}
		for turn := int64(14); turn <= 33; turn++ {
			want = append(want, turn)
		}
		if got := w.turns(r.ID); !slices.Equal(got, want) {
			w.T.Errorf("turns %v are kept, want %v", got, want)
		}
		// Turn 14 needs the pack of turn 13, and turn 10 the one of turn 9.
		if n := len(w.packs()); n != len(want)+2 {
			w.T.Errorf("%d packs are kept for %d turns", n, len(want))
		}
		// A turn that is saved twice, because the response was lost and the prompt delivered again.
		w.mustKeepTurn(a.Lease, prompt, "again", last)
		if got := w.turns(r.ID); !slices.Equal(got, want) {
			w.T.Errorf("turns %v are kept, want %v", got, want)
		}
	})
}

// TestAForkOutlivesItsSource removes the run that was forked before a worker has its files.
func TestAForkOutlivesItsSource(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.KeepRunsFor = time.Hour }, func(w *world) {
		source := w.Create(penstock.RunRequest{Prompt: "a"})
		a := w.Work()
		w.mustKeepTurn(a.Lease, source.ID, "the files")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		forked, err := w.Turns.Fork(w.T.Context(), w.Admin, source.ID, run.ForkRequest{Prompt: "b"})
		if err != nil {
			w.T.Fatal(err)
		}
		old := func(id string) {
			testkit.Exec(w.T, w.URL, "UPDATE runs SET updated_at = 1 WHERE id = '"+id+"'")
			if err := errors.Join(w.Upkeep.RemoveOldRuns(w.T.Context()), w.Files.ClearPacks(w.T.Context())); err != nil {
				w.T.Fatal(err)
			}
		}
		old(source.ID)
		if _, err := w.Runs.Read(w.T.Context(), w.Admin, source.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Fatalf("the source: %v", err)
		}
		b := w.Work()
		if got := w.files(b); !slices.Equal(got, []string{"the files"}) || b.Checkpoint.Turn != 0 {
			w.T.Errorf("the fork gets %q of %+v", got, b.Checkpoint)
		}
		w.mustKeepTurn(b.Lease, forked.Runs[0].ID, "more", b.Checkpoint.Packs...)
		w.Finish(b.Lease, penstock.Result{State: penstock.StateSucceeded})
		if got := w.turns(forked.Runs[0].ID); !slices.Equal(got, []int64{0, 1}) {
			w.T.Errorf("the fork has the turns %v", got)
		}
		old(forked.Runs[0].ID)
		if keys := w.packs(); len(keys) > 0 {
			w.T.Errorf("left: %v", keys)
		}
	})
}

// TestForksNeedTheRightsOfTheirSource tries to get at files with fewer rights.
func TestForksNeedTheRightsOfTheirSource(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateSecret("DEPLOY_KEY", "hunter22-of-the-team")
		source := w.Create(penstock.RunRequest{Prompt: "a", Config: &penstock.Config{Secrets: []string{"DEPLOY_KEY"}}})
		a := w.Work()
		w.mustKeepTurn(a.Lease, source.ID, "the files")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		read := w.As("reader", penstock.ScopeRunsRead)
		write := w.As("writer", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		uses := w.As("user", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
		for _, test := range []struct {
			name string
			by   penstock.Principal
			req  run.ForkRequest
			want penstock.Code
			says string
		}{
			{"only reads", read, run.ForkRequest{Prompt: "b"}, penstock.CodeNotAuthorized, "runs:write"},
			{"may not use secrets", write, run.ForkRequest{Prompt: "b"}, penstock.CodeNotAuthorized, "DEPLOY_KEY"},
			{
				"leaves the secret out", write,
				run.ForkRequest{Prompt: "b", Config: &penstock.Config{Secrets: []string{}}},
				penstock.CodeNotAuthorized, "DEPLOY_KEY",
			},
			{"a turn that is gone", uses, run.ForkRequest{Prompt: "b", Turn: new(int64(7))}, penstock.CodeConflict, "turn 7"},
			{"no prompt", uses, run.ForkRequest{}, penstock.CodeInvalidRequest, "/prompt"},
			{"too many", uses, run.ForkRequest{Prompt: "b", Count: 11}, penstock.CodeInvalidRequest, "/count"},
			{"less than one", uses, run.ForkRequest{Prompt: "b", Count: -1}, penstock.CodeInvalidRequest, "/count"},
		} {
			_, err := w.Turns.Fork(w.T.Context(), test.by, source.ID, test.req)
			if penstock.CodeOf(err) != test.want || !strings.Contains(fmt.Sprintf("%+v", explained(err)), test.says) {
				w.T.Errorf("%s: %+v", test.name, explained(err))
			}
		}
		if _, err := w.Turns.Rewind(w.T.Context(), write, source.ID, run.RewindRequest{Turn: new(int64(1))}); penstock.CodeOf(
			err) != penstock.CodeNotAuthorized {
			w.T.Errorf("going back with fewer rights: %v", err)
		}
		forked, err := w.Turns.Fork(w.T.Context(), uses, source.ID, run.ForkRequest{Prompt: "b", Count: 3})
		if err != nil || len(forked.Runs) != 3 {
			w.T.Fatalf("%+v, %v", forked, err)
		}
		r := w.Get(forked.Runs[2].ID)
		if !slices.Equal(r.Config.Secrets, []string{"DEPLOY_KEY"}) || r.ConfigSources["secrets"] != run.LayerRequest ||
			r.Creator.UID != uses.Actor.UID {
			w.T.Errorf("the fork has %v from %v by %v", r.Config.Secrets, r.ConfigSources, r.Creator)
		}
		personal, err := w.Runs.Create(
			w.T.Context(), uses, penstock.RunRequest{Prompt: "c", Team: new(false)}, run.SourceAPI,
		)
		if err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Turns.Fork(w.T.Context(), write, personal.ID, run.ForkRequest{Prompt: "b"}); penstock.CodeOf(
			err) != penstock.CodeNotFound {
			w.T.Errorf("a fork of another person's run: %v", err)
		}
		if _, err := w.Turns.CompareForks(w.T.Context(), w.As("none"), forked.ForkGroup); penstock.CodeOf(
			err) != penstock.CodeNotAuthorized {
			w.T.Errorf("comparing without rights: %v", err)
		}
		if group, err := w.Turns.CompareForks(w.T.Context(), read, forked.ForkGroup); err != nil || len(group.Runs) != 3 {
			w.T.Errorf("%+v, %v", group, err)
		}
	})
}

func explained(err error) any {
	if known, ok := errors.AsType[*penstock.Error](err); ok {
		return fmt.Sprintf("%s %+v", known.Explain(), known.Fields)
	}
	return err
}

// TestARepeatedForkIsTheSame sends one request twice.
func TestARepeatedForkIsTheSame(t *testing.T) {
	worlds(t, nil, func(w *world) {
		source := w.Create(penstock.RunRequest{Prompt: "a"})
		a := w.Work()
		w.mustKeepTurn(a.Lease, source.ID, "the files")
		once := testworld.Once("k", "body")
		ctx := access.WithIdempotency(w.T.Context(), once)
		_, err := w.Turns.Fork(ctx, w.Admin, source.ID, run.ForkRequest{Prompt: "b"})
		if err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Turns.Fork(ctx, w.Admin, source.ID, run.ForkRequest{Prompt: "b"}); !errors.Is(err, access.ErrReplay) {
			w.T.Errorf("the second request: %v", err)
		}
	})
}

// TestARunGoesBackInEachState goes back to the first turn, wherever the run is.
func TestARunGoesBackInEachState(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for name, test := range map[string]struct {
			bring         func(id string, l penstock.Lease)
			with, without penstock.State
		}{
			"in progress": {func(string, penstock.Lease) {}, penstock.StateQueued, penstock.StateBlocked},
			"succeeded": {func(_ string, l penstock.Lease) {
				w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
			}, penstock.StateQueued, penstock.StateSucceeded},
			"blocked": {func(_ string, l penstock.Lease) {
				w.Finish(l, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "Which?"}})
			}, penstock.StateQueued, penstock.StateBlocked},
			"queued": {func(id string, l penstock.Lease) {
				w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
				w.FollowUp(id, "not this")
			}, penstock.StateQueued, penstock.StateBlocked},
			"claimed": {func(id string, l penstock.Lease) {
				w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
				w.FollowUp(id, "not this")
				w.Claim()
			}, penstock.StateQueued, penstock.StateBlocked},
			"cancelled": {func(id string, _ penstock.Lease) {
				if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
					w.T.Fatal(err)
				}
			}, penstock.StateQueued, penstock.StateCancelled},
		} {
			for _, prompt := range []string{"", "another way"} {
				r := w.Create(penstock.RunRequest{Prompt: "a"})
				a := w.Work()
				w.mustKeepTurn(a.Lease, r.ID, "one")
				test.bring(r.ID, a.Lease)
				back, err := w.Turns.Rewind(w.T.Context(), w.Admin, r.ID, run.RewindRequest{Turn: new(int64(1)), Prompt: prompt})
				want := test.without
				if prompt != "" {
					want = test.with
				}
				if err != nil || back.State != want || w.Get(r.ID).State != want {
					w.T.Errorf("%s with %q: the run is %s, %v, want %s", name, prompt, back.State, err, want)
				}
				if _, err := w.Executions.Control().Heartbeat(w.T.Context(), a.Lease, 0); !errors.Is(err, penstock.ErrLeaseLost) {
					w.T.Errorf("%s with %q: the worker goes on: %v", name, prompt, err)
				}
				if prompt == "" {
					w.FollowUp(r.ID, "another way")
				}
				next := w.Work()
				if next.Prompts[0].Text != "another way" || next.Checkpoint == nil || !next.Checkpoint.Restore ||
					next.Session != nil {
					w.T.Errorf("%s with %q: the next worker gets %+v and %+v", name, prompt, next.Prompts, next.Checkpoint)
				}
				w.Finish(next.Lease, penstock.Result{State: penstock.StateSucceeded})
			}
		}
	})
}

// TestTwoWhoGoBackAtTheSameTime leaves a run at one of the two turns, with one lease.
func TestTwoWhoGoBackAtTheSameTime(t *testing.T) {
	worlds(t, nil, func(w *world) {
		r := w.Create(penstock.RunRequest{Prompt: "a"})
		a := w.Work()
		one := w.mustKeepTurn(a.Lease, r.ID, "one")
		w.FollowUp(r.ID, "b")
		second := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1})[0].ID
		w.mustKeepTurn(a.Lease, second, "two", one)
		var both sync.WaitGroup
		for turn := range int64(2) {
			both.Go(func() {
				_, err := w.Turns.Rewind(w.T.Context(), w.Admin, r.ID, run.RewindRequest{Turn: new(turn + 1), Prompt: "go on"})
				if err != nil && penstock.CodeOf(err) != penstock.CodeConflict { // turn 2 is superseded
					w.T.Error(err)
				}
			})
		}
		both.Wait()
		next := w.Work()
		if next.Checkpoint.Turn != 1 || !next.Checkpoint.Restore || len(next.Prompts) != 1 {
			w.T.Errorf("the next worker gets %+v and %+v", next.Prompts, next.Checkpoint)
		}
		if w.Finish(next.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1}) != nil {
			w.T.Error("a message of the other one was delivered")
		}
	})
}
