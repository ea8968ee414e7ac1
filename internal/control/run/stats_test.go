package run_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestStatsSumUpTheLastDay(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx, hour := w.T.Context(), time.Hour.Milliseconds()
		present := int64(penstock.Now())
		present -= present % hour
		factory := w.NewFactory("payments")
		// put creates a run with the fields that Stats reads.
		put := func(ago int64, state penstock.State, waitMS int64, costUSD float64, factory string) {
			w.T.Helper()
			id := w.Create(penstock.RunRequest{Prompt: "x"}).ID
			created := present - ago*hour
			testkit.Exec(w.T, w.URL, fmt.Sprintf(`UPDATE runs SET state = '%s', created_at = %d,
				started_at = CASE WHEN %d > 0 THEN %d ELSE 0 END,
				usage = CASE WHEN %f > 0 THEN '{"tokens":{},"cost":%.0f}' ELSE '' END, factory_uid = '%s' WHERE id = '%s'`,
				state, created, waitMS, created+waitMS, costUSD, costUSD*1e9, factory, id))
		}
		put(2, penstock.StateSucceeded, 1000, 0.5, factory)
		put(2, penstock.StateSucceeded, 3000, 0.25, factory)
		put(2, penstock.StateFailed, 2000, 2, "")
		put(1, penstock.StateQueued, 0, 0, "")
		put(30, penstock.StateSucceeded, 1000, 100, factory) // too long ago
		if err := w.Database().Queue.Hello(
			ctx, penstock.ClaimRequest{WorkerID: "1", Host: "a", Local: true, Capacity: 4, Busy: 3},
		); err != nil {
			w.T.Fatal(err)
		}
		other := penstock.ClaimRequest{WorkerID: "2", Host: "b", Capacity: 2, Busy: 1}
		if err := w.Database().Queue.Hello(ctx, other); err != nil {
			w.T.Fatal(err)
		}

		stats, err := w.Runs.Stats(ctx, w.Admin, run.StatsHours)
		if err != nil {
			w.T.Fatal(err)
		}
		if n := len(stats.Hours); n != run.StatsHours {
			w.T.Fatalf("there are %d hours, want %d", n, run.StatsHours)
		}
		var busy []run.HourStats
		for i, h := range stats.Hours {
			if want := stats.Since + penstock.Time(int64(i)*hour); h.Start != want {
				w.T.Errorf("hour %d begins at %s, want %s", i, h.Start, want)
			}
			if len(h.Runs) > 0 {
				busy = append(busy, h)
			}
		}
		want := []run.HourStats{
			{
				Runs: map[penstock.State]int64{"SUCCEEDED": 2, "FAILED": 1},
				Wait: run.QueueWait{Runs: 3, MeanSeconds: 2, MaxSeconds: 3}, Deliveries: &penstock.DeliveryCounts{},
			},
			{Runs: map[penstock.State]int64{"QUEUED": 1}, Deliveries: &penstock.DeliveryCounts{}},
		}
		if diff := cmp.Diff(want, busy, cmpopts.IgnoreFields(run.HourStats{}, "Start")); diff != "" {
			w.T.Errorf("hours: -want +got:\n%s", diff)
		}
		longer, err := w.Runs.Stats(ctx, w.Admin, 48)
		if err != nil || len(longer.Hours) != 48 {
			w.T.Fatalf("got %d hours, want 48 (%v)", len(longer.Hours), err)
		}
		// The hour may have changed since the runs were made.
		if got := longer.Hours[48-1-30-(int64(longer.Hours[47].Start)-present)/hour].Runs["SUCCEEDED"]; got != 1 {
			w.T.Errorf("counted %d runs 30 hours ago, want 1", got)
		}
		costs := []store.FactoryStats{{Runs: 2, CostUSD: 2}, {UID: factory, Name: "payments", Runs: 2, CostUSD: 0.75}}
		if diff := cmp.Diff(costs, stats.Factories); diff != "" {
			w.T.Errorf("factories: -want +got:\n%s", diff)
		}
		if want := (run.Capacity{Slots: 6, Busy: 4, ServerSlots: 4, ServerBusy: 3, Queued: 1}); stats.Capacity != want {
			w.T.Errorf("capacity is %+v, want %+v", stats.Capacity, want)
		}
	})
}

func TestStatsSumUpDeliveriesOfTheTeamsWebhooks(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		created := w.NewFactory("payments")
		hook, err := w.Resources.CreateWebhook(ctx, w.Admin, created, factory.WebhookRequest{Name: new("in")})
		if err != nil {
			w.T.Fatal(err)
		}
		last := store.Quarter(penstock.Now())
		for _, c := range []struct {
			uid, kind  string
			quarter, n int64
		}{
			{hook.UID, store.CountAccepted, last - 8, 3},
			{hook.UID, store.CountDuplicate, last - 8, 1},
			{hook.UID, store.CountRejected, last - 8, 2},
			{hook.UID, store.CountRateLimited, last - 8, 5},
			{hook.UID, store.CountAccepted, last - 100, 9},
			{"another", store.CountAccepted, last - 8, 7},
		} {
			testkit.Exec(
				w.T, w.URL,
				fmt.Sprintf(
					"INSERT INTO webhook_counts (webhook_uid, quarter, kind, n) VALUES ('%s', %d, '%s', %d)", c.uid, c.quarter, c.kind,
					c.n,
				),
			)
		}
		stats, err := w.Runs.Stats(ctx, w.Admin, run.StatsHours)
		if err != nil {
			w.T.Fatal(err)
		}
		var sum penstock.DeliveryCounts
		for _, h := range stats.Hours {
			sum.Accepted += h.Deliveries.Accepted
			sum.Duplicate += h.Deliveries.Duplicate
			sum.Rejected += h.Deliveries.Rejected
			sum.RateLimited += h.Deliveries.RateLimited
		}
		if want := (penstock.DeliveryCounts{Accepted: 3, Duplicate: 1, Rejected: 2, RateLimited: 5}); sum != want {
			w.T.Errorf("deliveries are %+v, want %+v", sum, want)
		}
		stats, err = w.Runs.Stats(ctx, w.As("reader", penstock.ScopeRunsRead), run.StatsHours)
		if err != nil {
			w.T.Fatal(err)
		}
		if got := stats.Hours[0].Deliveries; got != nil {
			w.T.Errorf("who may not read factories is told of deliveries: %+v", got)
		}
	})
}

func TestStatsLeaveOutPersonalRunsOfOthers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		personal := false
		w.Create(penstock.RunRequest{Prompt: "x", Team: &personal})
		w.Create(penstock.RunRequest{Prompt: "y"})
		for name, want := range map[string]int64{"a reader": 1, "the creator": 2} {
			p := w.As("reader", penstock.ScopeRunsRead)
			if name == "the creator" {
				p = w.Admin
				p.Scopes = []penstock.Scope{penstock.ScopeRunsRead}
			}
			stats, err := w.Runs.Stats(w.T.Context(), p, run.StatsHours)
			if err != nil {
				w.T.Fatal(err)
			}
			var got int64
			for _, h := range stats.Hours {
				for _, n := range h.Runs {
					got += n
				}
			}
			if got != want || stats.Factories[0].Runs != want {
				w.T.Errorf("%s counts %d runs, and %d with costs, want %d", name, got, stats.Factories[0].Runs, want)
			}
		}
		if _, err := w.Runs.Stats(
			w.T.Context(), w.As("worker", penstock.ScopeWorker), run.StatsHours,
		); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("a key without runs:read got %v", err)
		}
	})
}
