package worker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
)

func TestBudgetCountsAllExecutionsAndTurns(t *testing.T) {
	t.Parallel()
	turn := func(tokens int64, cost *float64) penstock.TurnUsage {
		return penstock.TurnUsage{ModelID: "other/model", Tokens: penstock.TokenUsage{Input: tokens}, CostUSD: cost}
	}
	for name, test := range map[string]struct {
		limit    penstock.Budget
		exceeded string
	}{
		"no limit":           {penstock.Budget{}, ""},
		"tokens as many":     {penstock.Budget{MaxTotalTokens: 360}, ""},
		"one token too many": {penstock.Budget{MaxTotalTokens: 359}, "The run used 360 tokens. Its budget is 359."},
		"cost as much":       {penstock.Budget{MaxCostUSD: 1.75}, ""},
		"cost a bit too much": {
			penstock.Budget{MaxCostUSD: 1.74}, "The run cost 1.7500 US dollars. Its budget is 1.7400.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBudget(price.Default(), &penstock.Usage{TotalTokens: 100, InferenceCostUSD: new(1.0)}, &test.limit)
			first := turn(200, new(0.5))
			b.consumed(turn(150, nil))
			b.endTurn(&first)
			b.endTurn(nil)                 // an agent that does not say
			b.consumed(turn(30, new(0.1))) // replaced by the next
			b.consumed(turn(60, new(.25)))
			if got := b.exceeded(); got != test.exceeded {
				t.Errorf("got %q, want %q", got, test.exceeded)
			}
		})
	}
}

func TestKnownPricesWinOverWhatAgentsSay(t *testing.T) {
	t.Parallel()
	b := newBudget(price.Default(), nil, &penstock.Budget{MaxCostUSD: 1})
	b.consumed(
		penstock.TurnUsage{ModelID: penstock.ModelOffline, Tokens: penstock.TokenUsage{Input: 1000}, CostUSD: new(100.0)},
	)
	if got := b.exceeded(); got != "" {
		t.Errorf("got %q for a model that costs nothing", got)
	}
}

func TestUsageOfSeveralTurnsIsAdded(t *testing.T) {
	t.Parallel()
	a := &penstock.TurnUsage{ModelID: "a", Tokens: penstock.TokenUsage{Input: 1, Output: 2}, CostUSD: new(0.1)}
	b := &penstock.TurnUsage{ModelID: "b", Tokens: penstock.TokenUsage{Input: 10, CacheRead: 5}, CostUSD: new(0.2)}
	free := &penstock.TurnUsage{ModelID: "b", Tokens: penstock.TokenUsage{Input: 10}}
	for name, test := range map[string]struct{ a, b, want *penstock.TurnUsage }{
		"both": {
			a, b,
			&penstock.TurnUsage{
				ModelID: "b", Tokens: penstock.TokenUsage{Input: 11, Output: 2, CacheRead: 5}, CostUSD: new(0.3),
			},
		},
		"one has no price": {
			a, free, &penstock.TurnUsage{ModelID: "b", Tokens: penstock.TokenUsage{Input: 11, Output: 2}, CostUSD: new(0.1)},
		},
		"only the first":  {a, nil, a},
		"only the second": {nil, b, b},
		"neither":         {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, sum(test.a, test.b), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("sum (-want +got):\n%s", diff)
			}
		})
	}
}
