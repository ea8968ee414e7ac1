package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestWorkersAreSummedUpByHost(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx, db := w.T.Context(), w.Database()
		hello := func(id, host string, local bool) {
			c := penstock.ClaimRequest{
				WorkerID: id, Host: host, Local: local, Harnesses: []string{"builtin"}, Capacity: 3, Busy: 1,
			}
			if err := db.Queue.Hello(ctx, c); err != nil {
				w.T.Fatal(err)
			}
		}
		before := penstock.Now()
		hello("1", "b", false)
		hello("2", "a", false)
		hello("3", "b", false)
		hello("4", "server", true) // the server's own
		got, err := w.Catalog.Workers(ctx, w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		for i := range got {
			if got[i].ConnectedAt < before || got[i].LastSeenAt < got[i].ConnectedAt {
				w.T.Errorf("connected %s, seen %s", got[i].ConnectedAt, got[i].LastSeenAt)
			}
			got[i].ConnectedAt, got[i].LastSeenAt, got[i].Executions = 0, 0, nil
		}
		want := []run.ConnectedWorker{
			{Host: "a", Connections: 1, Capacity: 3, Busy: 1}, {Host: "b", Connections: 2, Capacity: 6, Busy: 2},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		if err := db.Queue.Goodbye(ctx, "2"); err != nil {
			w.T.Fatal(err)
		}
		if got, err := w.Catalog.Workers(ctx, w.Admin); err != nil || len(got) != 1 {
			w.T.Errorf("after a good-bye there are %+v, %v", got, err)
		}
	})
}

// listedRuns returns the runs of the workers of one host, as a caller sees them.
func (w *world) listedRuns(p penstock.Principal) []store.WorkerExecution {
	w.T.Helper()
	hosts, err := w.Catalog.Workers(w.T.Context(), p)
	if err != nil {
		w.T.Fatal(err)
	}
	if len(hosts) != 1 {
		w.T.Fatalf("got %d hosts, want 1: %+v", len(hosts), hosts)
	}
	return hosts[0].Executions
}

func TestARunOfAWorkerIsListedForCallersWhoSeeIt(t *testing.T) {
	worlds(t, nil, func(w *world) {
		remote := testworld.AnyWorker
		remote.WorkerID, remote.Host, remote.Local = "remote", "box", false
		control := w.Executions.Control()
		ada := w.As("ada", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		stranger := w.As("eve", penstock.ScopeRunsRead, penstock.ScopeAdmin)
		stranger.Team = "another"
		no := false
		personal, err := w.Runs.Create(w.T.Context(), ada, penstock.RunRequest{Prompt: "p", Team: &no}, run.SourceAPI)
		if err != nil {
			w.T.Fatal(err)
		}
		shared := w.Create(penstock.RunRequest{Prompt: "s"})
		inServer := w.Create(penstock.RunRequest{Prompt: "in the server"})
		var leases []penstock.Lease
		for range 2 {
			a, err := control.Claim(w.T.Context(), remote)
			if err != nil {
				w.T.Fatal(err)
			}
			leases = append(leases, a.Lease)
		}
		if w.Claim().Lease.RunID != inServer.ID {
			w.T.Fatal("the worker of the server has another run")
		}
		w.Moves(leases[0], penstock.StatePending, penstock.StateInProgress)
		for _, c := range []struct {
			name string
			p    penstock.Principal
			want []string
		}{
			{"the creator", ada, []string{shared.ID + " CLAIMED", personal.ID + " INPROGRESS"}},
			{"an admin", w.Admin, []string{shared.ID + " CLAIMED", personal.ID + " INPROGRESS"}},
			{"a colleague", w.As("bob", penstock.ScopeRunsRead), []string{shared.ID + " CLAIMED"}},
			{"another team", stranger, nil},
		} {
			var got []string
			for _, x := range w.listedRuns(c.p) {
				got = append(got, x.RunID+" "+string(x.State))
				if x.Waiting != nil || x.Since == 0 || x.ExecutionID != 1 || x.Title == "" {
					w.T.Errorf("%s sees %+v", c.name, x)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				w.T.Errorf("%s: -want +got:\n%s", c.name, diff)
			}
		}
		w.Finish(leases[0], penstock.Result{State: penstock.StateSucceeded})
		if got := w.listedRuns(w.Admin); len(got) != 1 || got[0].RunID != shared.ID {
			w.T.Errorf("after the end of a run, the worker has %+v", got)
		}
	})
}

// A state is as old as the latest move to it, whatever else happens to the run.
func TestAListedRunSaysSinceWhen(t *testing.T) {
	worlds(t, nil, func(w *world) {
		remote := testworld.AnyWorker
		remote.WorkerID, remote.Local = "remote", false
		run := w.Create(penstock.RunRequest{Prompt: "x"})
		a, err := w.Executions.Control().Claim(w.T.Context(), remote)
		if err != nil {
			w.T.Fatal(err)
		}
		before := penstock.Now()
		w.Moves(a.Lease, penstock.StatePending, penstock.StateInProgress)
		after := penstock.Now()
		w.FollowUp(run.ID, "and that")
		w.Write(func(tx *store.Tx) error { return tx.Runs().Touch(w.T.Context(), run.ID) })
		if got := w.listedRuns(w.Admin)[0].Since; got < before || got > after {
			w.T.Errorf("in progress since %d, want %d to %d", got, before, after)
		}
	})
}
