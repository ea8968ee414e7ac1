package run_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// usageOf returns the totals of the ledger, by key: settled calls, cost, and reserved cost.
func usageOf(rows []penstock.UsageRow) map[string][3]float64 {
	out := map[string][3]float64{}
	for _, r := range rows {
		key := r.Key
		if r.Name != "" {
			key = r.Name
		}
		if r.FactoryName != "" {
			key += " of " + r.FactoryName
		}
		out[key] = [3]float64{float64(r.Calls), r.PricedCostUSD, r.ReservedUSD}
	}
	return out
}

func (w *world) usage(q penstock.UsageQuery) run.UsageReport {
	w.T.Helper()
	report, err := w.Usage.OfTeam(w.T.Context(), w.As("bob", penstock.ScopeRunsRead), q)
	if err != nil {
		w.T.Fatal(err)
	}
	return report
}

func TestUsageByEachGroup(t *testing.T) {
	worlds(t, nil, func(w *world) {
		factory, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Name: new("payments")})
		if err != nil {
			w.T.Fatal(err)
		}
		now := time.Now()
		w.record(
			ledgerCall{at: now, model: "anthropic/claude", factory: factory.UID, key: w.Admin.KeyUID, cost: 2e9, tokens: 100},
			ledgerCall{at: now, model: "anthropic/claude", cost: 1e9, tokens: 10, estimated: true},
			ledgerCall{at: now, model: "openai/gpt", factory: factory.UID, cost: 4e9, tokens: 1, unknown: true},
			ledgerCall{at: now, model: "openai/gpt", state: "reserved", agent: factory.ForemanUID, cost: 5e8, tokens: 7},
			ledgerCall{at: now, model: "local/llama", unpriced: true, tokens: 50},
			ledgerCall{at: now, model: "openai/gpt", state: "unsent"},
			ledgerCall{at: now, model: "demo/demo/offline"},
			ledgerCall{at: now.Add(-31 * 24 * time.Hour), model: "openai/gpt", cost: 64e9},
		)
		for group, want := range map[penstock.UsageGroup]map[string][3]float64{
			penstock.UsageByModel: {
				"anthropic/claude": {2, 3, 0}, "openai/gpt": {1, 4, 0.5}, "local/llama": {1, 0, 0}, "demo/offline": {1, 0, 0},
			},
			penstock.UsageByProvider: {
				"anthropic": {2, 3, 0}, "openai": {1, 4, 0.5}, "local": {1, 0, 0}, "demo": {1, 0, 0},
			},
			penstock.UsageByFactory:    {"payments": {2, 6, 0}, "": {3, 1, 0.5}},
			penstock.UsageByAgent:      {"foreman of payments": {0, 0, 0.5}, "": {5, 7, 0}},
			penstock.UsageByKey:        {"admin": {1, 2, 0}, "": {4, 5, 0.5}},
			penstock.UsageByAutomation: {"": {5, 7, 0.5}},
		} {
			report := w.usage(penstock.UsageQuery{GroupBy: group})
			if diff := cmp.Diff(want, usageOf(report.Rows)); diff != "" {
				w.T.Errorf("%s, -want +got:\n%s", group, diff)
			}
			total := report.Total
			if total.Calls != 5 || total.Input != 161 || total.PricedCostUSD != 7 || total.CostUSD != nil ||
				total.UnpricedCalls != 1 || total.EstimatedCalls != 1 || total.UnknownCalls != 1 ||
				total.UnsettledCalls != 1 || total.ReservedUSD != 0.5 {
				w.T.Errorf("%s: got the total %+v", group, total)
			}
			if sum := run.SumUsage(report.Rows); !cmp.Equal(sum, total) {
				w.T.Errorf("%s: the rows add up to %+v, want %+v", group, sum, total)
			}
		}
		if rows := w.usage(penstock.UsageQuery{GroupBy: penstock.UsageByProvider}).Rows; rows[0].Key != "openai" {
			w.T.Errorf("got %+v first, want the highest cost", rows[0])
		}
	})
}

func TestCostsByTheHour(t *testing.T) {
	worlds(t, nil, func(w *world) {
		from := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		calls := []ledgerCall{
			{at: from, model: "a/one", cost: 2e9},
			{at: from.Add(59 * time.Minute), model: "a/one", cost: 1e9},
			{at: from.Add(2 * time.Hour), model: "a/one", cost: 4e9},
			{at: from.Add(time.Hour), model: "a/two", cost: 5e9},
			{at: from.Add(time.Hour), model: "a/one", state: "reserved", cost: 64e9},
			{at: from.Add(3 * time.Hour), model: "a/one", cost: 64e9}, // too late
		}
		for i := range run.MaxHourlyRows {
			calls = append(calls, ledgerCall{at: from, model: fmt.Sprintf("b/%d", i), cost: int64(1+i) * 1e8})
		}
		w.record(calls...)
		report := w.usage(penstock.UsageQuery{
			From: penstock.TimeOf(from), To: penstock.TimeOf(from.Add(3 * time.Hour)), GroupBy: penstock.UsageByModel,
			Hourly: true,
		})
		got := report.Hourly
		if len(got.Rows) != run.MaxHourlyRows {
			w.T.Fatalf("there are costs of %d rows, want %d", len(got.Rows), run.MaxHourlyRows)
		}
		want := []store.HourlyCost{
			{Key: "a/one", CostUSD: []float64{3, 0, 4}}, {Key: "a/two", CostUSD: []float64{0, 5, 0}},
		}
		if diff := cmp.Diff(want, got.Rows[:2]); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff([]float64{0.3, 0, 0}, got.Other); diff != "" {
			w.T.Errorf("the others, -want +got:\n%s", diff)
		}
		if none := w.usage(penstock.UsageQuery{GroupBy: penstock.UsageByModel}).Hourly; none != nil {
			w.T.Errorf("got the hours %+v, which were not asked for", none)
		}
	})
}

// A day begins at midnight of the time zone, even when its clocks change.
func TestUsageByDay(t *testing.T) {
	worlds(t, nil, func(w *world) {
		at := func(text string) time.Time {
			when, err := time.Parse(time.RFC3339, text)
			if err != nil {
				w.T.Fatal(err)
			}
			return when
		}
		w.record(
			ledgerCall{at: at("2026-03-28T22:59:59Z"), cost: 1e9},
			ledgerCall{at: at("2026-03-28T23:00:00Z"), cost: 2e9},
			ledgerCall{at: at("2026-03-29T21:59:59Z"), cost: 4e9},
			ledgerCall{at: at("2026-03-29T22:00:00Z"), cost: 8e9},
			ledgerCall{at: at("2026-03-31T12:00:00Z"), cost: 16e9},
		)
		q := penstock.UsageQuery{
			From: penstock.TimeOf(at("2026-03-01T00:00:00Z")), To: penstock.TimeOf(at("2026-03-31T12:00:00Z")),
		}
		want := map[string][3]float64{"2026-03-28": {2, 3, 0}, "2026-03-29": {2, 12, 0}}
		if diff := cmp.Diff(want, usageOf(w.usage(q).Rows)); diff != "" {
			w.T.Errorf("in UTC, -want +got:\n%s", diff)
		}
		q.TimeZone = "Europe/Berlin"
		want = map[string][3]float64{"2026-03-28": {1, 1, 0}, "2026-03-29": {2, 6, 0}, "2026-03-30": {1, 8, 0}}
		if diff := cmp.Diff(want, usageOf(w.usage(q).Rows)); diff != "" {
			w.T.Errorf("in Berlin, -want +got:\n%s", diff)
		}
		q.From = q.To.Add(-penstock.MaxUsageDays * 24 * time.Hour) // as long as it may be
		if rows := w.usage(q).Rows; len(rows) != 3 {
			w.T.Errorf("got %d rows, want 3", len(rows))
		}
		for name, q := range map[string]penstock.UsageQuery{
			"from": {From: q.From - 1, To: q.To},
			"from: must be earlier than query parameter to": {From: q.To, To: q.To},
			"time_zone": {TimeZone: "Local"},
		} {
			_, err := w.Usage.OfTeam(w.T.Context(), w.Admin, q)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, name)
		}
		_, err := w.Usage.OfTeam(w.T.Context(), w.As("eve", penstock.ScopeFactoriesRead), penstock.UsageQuery{})
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "runs:read")
	})
}

func TestUsageOfARun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		run := w.Create(penstock.RunRequest{
			Prompt: "work", Config: &penstock.Config{Budget: &penstock.Budget{MaxCostUSD: 5}},
		}).ID
		free := w.Create(penstock.RunRequest{Prompt: "play"}).ID
		first := time.Now().Add(-time.Hour)
		for i := range 3 {
			w.record(ledgerCall{
				at: first.Add(time.Duration(i/2) * time.Second), run: run, model: "openai/gpt", cost: 1e9, tokens: 10,
			})
		}
		w.record(ledgerCall{at: first, run: run, model: "local/llama", unpriced: true, tokens: 5})
		got, err := w.Usage.OfRun(ctx, w.Admin, run)
		if err != nil {
			w.T.Fatal(err)
		}
		want := map[string][3]float64{"openai/gpt": {3, 3, 0}, "local/llama": {1, 0, 0}}
		if diff := cmp.Diff(want, usageOf(got.Models)); diff != "" || got.Total.Calls != 4 || got.Total.CostUSD != nil {
			w.T.Errorf("got the total %+v, -want +got:\n%s", got.Total, diff)
		}
		if got.Budget == nil || got.Budget.MaxCostUSD == nil || *got.Budget.MaxCostUSD != 5 ||
			got.Budget.MaxTotalTokens != nil {
			w.T.Errorf("got the budget %+v, want 5 US dollars", got.Budget)
		}
		none, err := w.Usage.OfRun(ctx, w.Admin, free)
		if err != nil || none.Budget != nil || none.Total.Calls != 0 || none.Total.CostUSD == nil {
			w.T.Errorf("without calls: got %+v, %v", none, err)
		}
		seen := map[string]bool{}
		cursor := ""
		for pages := 1; ; pages++ {
			page, err := w.Usage.CallsOfRun(ctx, w.Admin, run, cursor, 1)
			if err != nil || len(page.Calls) != 1 {
				w.T.Fatalf("page %d: got %+v, %v", pages, page, err)
			}
			seen[page.Calls[0].ID] = true
			if cursor = page.PageInfo.NextCursor; cursor == "" {
				break
			}
			_, err = w.Usage.CallsOfRun(ctx, w.Admin, free, cursor, 1)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "cursor")
		}
		if len(seen) != 4 {
			w.T.Errorf("got %d different calls, want 4", len(seen))
		}
		personal, err := w.Runs.Create(
			ctx, w.Admin, penstock.RunRequest{Prompt: "mine", Team: new(false)}, "API",
		)
		if err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Usage.OfRun(ctx, w.As("bob", penstock.ScopeRunsRead), personal.ID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, personal.ID)
		_, err = w.Usage.CallsOfRun(ctx, w.As("bob", penstock.ScopeRunsRead), personal.ID, "", 0)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, personal.ID)
	})
}

func TestUsageOfAHarness(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx, now := w.T.Context(), time.Now().Truncate(time.Millisecond)
		made := func(harness string) string {
			return w.Create(penstock.RunRequest{
				Prompt: "work", Config: &penstock.Config{Harness: &penstock.Harness{Type: harness}},
			}).ID
		}
		for name, c := range map[string]struct {
			harness, named string
			estimated      bool
			status         string
			want           run.HarnessTokens
		}{
			"Claude Code": {
				"claude", "CLAUDE_CODE", false, "known",
				run.HarnessTokens{Input: 30, CacheRead: new(int64), CacheCreation: new(int64)},
			},
			"Codex, with a call that was cut": {
				"codex", "CODEX", true, "partial",
				run.HarnessTokens{
					Input: 30, Cached: new(int64), CacheWrite: new(int64), Reasoning: new(int64), Total: new(int64(30)),
				},
			},
			"another agent": {"gemini", "", false, "", run.HarnessTokens{}},
		} {
			started := made(c.harness)
			empty, err := w.Usage.OfHarness(ctx, w.Admin, started)
			if err != nil || empty.Available || empty.Usage != nil || empty.RunID != started || empty.ConversationID == "" {
				w.T.Errorf("%s, without calls: got %+v, %v", name, empty, err)
			}
			w.record(
				ledgerCall{at: now.Add(-time.Minute), run: started, model: "p/m", tokens: 10},
				ledgerCall{at: now, run: started, model: "p/m", tokens: 20, estimated: c.estimated},
			)
			got, err := w.Usage.OfHarness(ctx, w.Admin, started)
			if err != nil || got.Available != (c.named != "") {
				w.T.Errorf("%s: got %+v, %v", name, got, err)
			}
			if !got.Available {
				continue
			}
			want := run.HarnessUsageState{
				Harness: c.named, ExecutionID: 1, CaptureSequence: 2, CapturedAt: penstock.TimeOf(now), MetricsVersion: 1,
				Snapshot: run.HarnessUsageSnapshot{
					Coverage: run.HarnessUsageCoverage{TokenStatus: c.status, ToolStatus: "unavailable"},
					Payload: run.HarnessUsagePayload{
						Usage: c.want, Attribution: []run.HarnessUsageOfModel{{Model: "p/m", Usage: c.want}},
					},
				},
			}
			if diff := cmp.Diff(&want, got.Usage); diff != "" || *got.AgeSeconds > 60 {
				w.T.Errorf("%s: %d seconds old, -want +got:\n%s", name, *got.AgeSeconds, diff)
			}
		}
		personal, err := w.Runs.Create(
			ctx, w.Admin, penstock.RunRequest{Prompt: "mine", Team: new(false)}, run.SourceAPI,
		)
		if err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Usage.OfHarness(ctx, w.As("bob", penstock.ScopeRunsRead), personal.ID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, personal.ID)
	})
}

func TestTheBudgetOfARunChanges(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		started := w.Create(penstock.RunRequest{
			Prompt: "work", Config: &penstock.Config{Name: "n", Budget: &penstock.Budget{MaxCostUSD: 5, MaxTotalTokens: 100}},
		}).ID
		update := func(b *run.BudgetUpdate, cleared ...string) run.Update {
			return run.Update{Config: &run.ConfigUpdate{Budget: b}, Cleared: cleared}
		}
		for _, c := range []struct {
			change run.Update
			want   *penstock.Budget
		}{
			{update(&run.BudgetUpdate{MaxCostUSD: new(7.25)}), &penstock.Budget{MaxCostUSD: 7.25, MaxTotalTokens: 100}},
			{
				update(&run.BudgetUpdate{MaxTotalTokens: new(int64(200))}, "/config/budget/max_cost_usd"),
				&penstock.Budget{MaxTotalTokens: 200},
			},
			{update(nil, "/config/budget"), nil},
			{update(&run.BudgetUpdate{MaxCostUSD: new(1.0)}), &penstock.Budget{MaxCostUSD: 1}},
		} {
			got, err := w.Runs.Update(ctx, w.As("bob", penstock.ScopeRunsWrite), started, c.change)
			if diff := cmp.Diff(c.want, got.Config.Budget); diff != "" || err != nil || got.Config.Name != "n" {
				w.T.Errorf("%+v: %v, -want +got:\n%s", c.change, err, diff)
			}
			if diff := cmp.Diff(c.want, w.Get(started).Config.Budget); diff != "" {
				w.T.Errorf("read again, -want +got:\n%s", diff)
			}
		}
		for pointer, bad := range map[string]run.Update{
			"/config/budget":                  {},
			"/config/budget/max_cost_usd":     update(&run.BudgetUpdate{MaxCostUSD: new(0.0)}),
			"/config/budget/max_total_tokens": update(&run.BudgetUpdate{MaxTotalTokens: new(int64(-1))}),
		} {
			_, err := w.Runs.Update(ctx, w.Admin, started, bad)
			if diff := cmp.Diff([]string{pointer}, testworld.Pointers(err)); diff != "" {
				w.T.Errorf("%+v: %v, -want +got:\n%s", bad, err, diff)
			}
		}
		agent := w.As("agent", penstock.ScopeAdmin)
		agent.AgentUID = penstock.NewID()
		own := penstock.Principal{Team: w.Admin.Team, RunID: started, Scopes: []penstock.Scope{penstock.ScopeOwnRun}}
		for name, p := range map[string]penstock.Principal{
			"an agent": agent, "the run": own, "a reader": w.As("bob", penstock.ScopeRunsRead),
		} {
			_, err := w.Runs.Update(ctx, p, started, update(&run.BudgetUpdate{MaxCostUSD: new(1000.0)}))
			if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
				w.T.Errorf("%s: got %v, want not_authorized", name, err)
			}
		}
		if got := w.Get(started).Config.Budget; got == nil || got.MaxCostUSD != 1 {
			w.T.Errorf("got %+v, want the budget as it was", got)
		}
	})
}
