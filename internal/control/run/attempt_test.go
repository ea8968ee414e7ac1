package run_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func (w *world) allRuns() []penstock.Run {
	w.T.Helper()
	page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{Limit: 100})
	if err != nil {
		w.T.Fatal(err)
	}
	return page.Runs
}

func attemptsOf(runs []penstock.ForkedRun) (ids []string) {
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestAttemptsAreRunsOfOneGroup(t *testing.T) {
	worlds(t, nil, func(w *world) {
		created := w.Create(penstock.RunRequest{
			Prompt: "fix it", Attempts: new(3), Metadata: map[string]string{"ticket": "7"},
			Attachments: []penstock.Attachment{{FileName: "log.txt", MimeType: "text/plain", Data: []byte("x")}},
		})
		if len(created.Runs) != 3 || created.ID != created.Runs[0].ID || created.TaskID != created.ID ||
			created.State != penstock.StateQueued || created.Outcome != run.CallStarted || !created.AtCapacity {
			w.T.Fatalf("created %+v", created)
		}
		group, err := w.Turns.CompareForks(w.T.Context(), w.Admin, created.ForkGroup)
		if err != nil {
			w.T.Fatal(err)
		}
		var got []string
		conversations := map[string]bool{}
		for _, c := range group.Runs {
			got = append(got, c.ID)
			r := w.Get(c.ID)
			conversations[r.ConversationID] = true
			if r.Prompt != "fix it" || r.Metadata["ticket"] != "7" || r.ForkGroup != created.ForkGroup ||
				r.ForkedFrom != nil || r.Creator.UID != w.Admin.Actor.UID {
				w.T.Errorf("the run is %+v", r)
			}
		}
		if want := attemptsOf(created.Runs); !slices.Equal(got, want) || len(conversations) != 3 {
			w.T.Errorf("the group has %q in %d conversations, want %q", got, len(conversations), want)
		}
		// Each has its own copy of the file.
		if n := len(w.keys()); n != 3 {
			w.T.Errorf("%d files are stored", n)
		}
		for range 3 {
			if a := w.Work(); len(a.Files) != 1 {
				w.T.Errorf("the worker gets %+v", a.Files)
			}
		}
		if one := w.Create(penstock.RunRequest{Prompt: "b", Attempts: new(1)}); len(one.Runs) != 1 ||
			one.ForkGroup == created.ForkGroup {
			w.T.Errorf("a group of one is %+v", one)
		}
		if alone := w.Create(penstock.RunRequest{Prompt: "c"}); alone.ForkGroup != "" || alone.Runs != nil {
			w.T.Errorf("a single run is %+v", alone)
		}
	})
}

func TestConfigsReplaceValuesOfTheConfiguration(t *testing.T) {
	worlds(t, nil, func(w *world) {
		created := w.Create(penstock.RunRequest{
			Prompt: "fix it",
			Config: &penstock.Config{Name: "base", Env: map[string]string{"A": "1"}, MaxDurationMinutes: new(30)},
			Configs: []penstock.Config{
				{}, {Name: "long", MaxDurationMinutes: new(90)}, {Env: map[string]string{"B": "2"}},
			},
		})
		var got []string
		for _, r := range created.Runs {
			made := w.Get(r.ID)
			got = append(got, fmt.Sprint(
				made.Config.Name, " ", *made.Config.MaxDurationMinutes, " ", made.Config.Env, " ", made.ConfigSources["env"],
			))
		}
		want := []string{
			"base 30 map[A:1] request", "long 90 map[A:1] request", "base 30 map[B:2] request",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestBadAttemptsLeaveNothing sends requests of which one part is wrong, also the last one: no run must be
// left of the others.
func TestBadAttemptsLeaveNothing(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateSecret("DEPLOY_KEY", "hunter22-of-the-team")
		last := w.Create(penstock.RunRequest{Prompt: "a"})
		conversation := w.Get(last.ID).ConversationID
		before := len(w.allRuns())
		write := w.As("writer", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		for name, test := range map[string]struct {
			req  penstock.RunRequest
			code penstock.Code
			want []string
		}{
			"no attempts":  {penstock.RunRequest{Attempts: new(0)}, "", []string{"/attempts"}},
			"less":         {penstock.RunRequest{Attempts: new(-1)}, "", []string{"/attempts"}},
			"too many":     {penstock.RunRequest{Attempts: new(11)}, "", []string{"/attempts"}},
			"no configs":   {penstock.RunRequest{Configs: []penstock.Config{}}, "", []string{"/configs"}},
			"many configs": {penstock.RunRequest{Configs: make([]penstock.Config, 11)}, "", []string{"/configs"}},
			"other lengths": {
				penstock.RunRequest{Attempts: new(3), Configs: make([]penstock.Config, 2)}, "", []string{"/configs"},
			},
			"both wrong": {
				penstock.RunRequest{Attempts: new(11), Configs: []penstock.Config{}}, "", []string{"/attempts", "/configs"},
			},
			"a subject": {penstock.RunRequest{Attempts: new(2), Subject: "acme/shop#7"}, "", []string{"/subject"}},
			"a subject for parallel runs": {
				penstock.RunRequest{Attempts: new(2), Subject: "acme/shop#7", WhenBusy: penstock.WhenBusyParallel},
				"",
				[]string{"/subject"},
			},
			"a conversation": {
				penstock.RunRequest{Configs: make([]penstock.Config, 2), ConversationID: conversation},
				"",
				[]string{"/conversation_id"},
			},
			"two bad configs": {
				penstock.RunRequest{Configs: []penstock.Config{
					{MaxDurationMinutes: new(-1)}, {}, {EnvironmentID: "nothing"},
				}}, "", []string{"/configs/0/max_duration_minutes", "/configs/2/environment_id"},
			},
			"a bad base": {
				penstock.RunRequest{
					Attempts: new(2), Config: &penstock.Config{MaxDurationMinutes: new(-1)},
					Configs: []penstock.Config{{}, {Name: "x"}},
				}, "", []string{"/config/max_duration_minutes"},
			},
			"a bad base without configs": {
				penstock.RunRequest{Attempts: new(2), Config: &penstock.Config{EnvironmentID: "nothing"}},
				"",
				[]string{"/config/environment_id"},
			},
			"a secret of the last one": {
				penstock.RunRequest{Configs: []penstock.Config{{}, {Secrets: []string{"DEPLOY_KEY"}}}},
				penstock.CodeNotAuthorized, nil,
			},
			"a forge of the last one": {
				penstock.RunRequest{Configs: []penstock.Config{
					{}, {Repositories: []penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}}},
				}}, "", []string{"/configs/1/repositories/0/connection"},
			},
		} {
			test.req.Prompt = "b"
			if test.code == "" {
				test.code = penstock.CodeInvalidRequest
			}
			test.req.Attachments = []penstock.Attachment{{FileName: "a", MimeType: "text/plain", Data: []byte("x")}}
			_, err := w.Runs.Create(w.T.Context(), write, test.req, run.SourceAPI)
			if got := testworld.Pointers(err); penstock.CodeOf(err) != test.code || !slices.Equal(got, test.want) {
				w.T.Errorf("%s: %v %v, want %s %v", name, explained(err), got, test.code, test.want)
			}
		}
		if n := len(w.allRuns()); n != before {
			w.T.Errorf("%d runs are left", n-before)
		}
		if keys := w.keys(); len(keys) > 0 {
			w.T.Errorf("files are left: %v", keys)
		}
	})
}

// TestARepeatedRequestForAttemptsStartsNothing sends one request many times at once, as a client does whose
// connection breaks. The runs of the losers must be rolled back, and each gets the whole response.
func TestARepeatedRequestForAttemptsStartsNothing(t *testing.T) {
	worlds(t, nil, func(w *world) {
		once := testworld.Once("k", "body")
		var all sync.WaitGroup
		made := make([]run.Created, 4)
		for i := range made {
			all.Go(func() {
				created, err := w.Runs.Create(access.WithIdempotency(w.T.Context(), once), w.Admin, penstock.RunRequest{
					Prompt: "fix it", Attempts: new(3),
					Attachments: []penstock.Attachment{{FileName: "a", MimeType: "text/plain", Data: []byte("x")}},
				}, run.SourceAPI)
				if err == nil {
					made[i] = created
				} else if !errors.Is(err, access.ErrReplay) {
					w.T.Errorf("request %d: %v", i, err)
				}
			})
		}
		all.Wait()
		made = slices.DeleteFunc(made, func(c run.Created) bool { return c.ID == "" })
		if n := len(w.allRuns()); len(made) != 1 || n != 3 {
			w.T.Fatalf("%d requests created %d runs", len(made), n)
		}
		var kept run.Created
		w.Replay(w.Admin, once, &kept)
		if diff := cmp.Diff(made[0], kept); diff != "" || len(kept.Runs) != 3 {
			w.T.Errorf("the kept response (-sent +kept):\n%s", diff)
		}
	})
}

// TestABudgetCapsAllAttemptsTogether lets the attempts of one request spend at the same time.
func TestABudgetCapsAllAttemptsTogether(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.AddBudget(nil) // of 10 dollars
		created := w.Create(penstock.RunRequest{
			Prompt: "spend", Attempts: new(5), Config: &penstock.Config{Budget: &penstock.Budget{MaxCostUSD: 4}},
		})
		var all sync.WaitGroup
		granted := make([]float64, len(created.Runs))
		for i := range created.Runs {
			a := w.Work()
			if a.Run.Config.Budget == nil || a.Run.Config.Budget.MaxCostUSD != 4 {
				w.T.Errorf("an attempt has the budget %+v", a.Run.Config.Budget)
			}
			all.Go(func() {
				for range 4 { // 5 dollars are more than its own budget
					if got := w.Spend(a.Lease, 1.25); got.Refusal == nil && !got.Wait {
						granted[i] += 1.25
					}
				}
			})
		}
		all.Wait()
		sum := 0.0
		for i, usd := range granted {
			if sum += usd; usd > 4 {
				w.T.Errorf("attempt %d spent $%.2f of $4", i, usd)
			}
		}
		if sum > 10 || sum < 8.75 {
			w.T.Errorf("the attempts spent $%.2f of $10", sum)
		}
	})
}

// TestAttemptsUnderASpentBudgetWait creates attempts when nothing is left.
func TestAttemptsUnderASpentBudgetWait(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.AddBudget(nil)
		w.Create(penstock.RunRequest{Prompt: "spend"})
		w.Spend(w.Work().Lease, 10)
		created := w.Create(penstock.RunRequest{Prompt: "wait", Attempts: new(3)})
		if created.AtCapacity {
			w.T.Error("the attempts wait for a worker, not for money")
		}
		for _, r := range created.Runs {
			if r.State != penstock.StateBlocked || w.Get(r.ID).State != penstock.StateBlocked {
				w.T.Errorf("created %+v", r)
			}
		}
	})
}

// TestAFailedAttemptLeavesTheOthers ends each attempt in another way.
func TestAFailedAttemptLeavesTheOthers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		created := w.Create(penstock.RunRequest{Prompt: "fix it", Attempts: new(3)})
		ids := attemptsOf(created.Runs)
		first := w.Work()
		w.Finish(first.Lease, penstock.Result{
			State: penstock.StateFailed, Message: &penstock.StatusMessage{ErrorCode: penstock.CodeEnvironmentSetupFailed},
		})
		if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, ids[1], false); err != nil {
			w.T.Fatal(err)
		}
		last := w.Work()
		w.Finish(last.Lease, penstock.Result{State: penstock.StateSucceeded})
		group, err := w.Turns.CompareForks(w.T.Context(), w.Admin, created.ForkGroup)
		if err != nil {
			w.T.Fatal(err)
		}
		var got []string
		for _, r := range group.Runs {
			got = append(got, r.ID+" "+string(r.State))
		}
		want := []string{ids[0] + " FAILED", ids[1] + " CANCELLED", ids[2] + " SUCCEEDED"}
		if diff := cmp.Diff(want, got); diff != "" || first.Run.ID != ids[0] || last.Run.ID != ids[2] {
			w.T.Errorf("worked on %s and %s; -want +got:\n%s", first.Run.ID, last.Run.ID, diff)
		}
	})
}

// TestAnAttemptCanBeForked goes on from one of several attempts.
func TestAnAttemptCanBeForked(t *testing.T) {
	worlds(t, nil, func(w *world) {
		created := w.Create(penstock.RunRequest{Prompt: "fix it", Configs: []penstock.Config{{Name: "a"}, {Name: "b"}}})
		a := w.Work()
		w.mustKeepTurn(a.Lease, created.ID, "the files")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		forked, err := w.Turns.Fork(w.T.Context(), w.Admin, created.ID, run.ForkRequest{Prompt: "go on", Count: 2})
		if err != nil {
			w.T.Fatal(err)
		}
		r := w.Get(forked.Runs[1].ID)
		if r.ForkGroup == created.ForkGroup || r.ForkedFrom.RunID != created.ID || r.Config.Name != "a" {
			w.T.Errorf("the fork is %+v", r)
		}
	})
}
