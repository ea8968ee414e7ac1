package worker

import (
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
)

// usageEvery is the minimum time between two usage events of a run.
const usageEvery = time.Second

// budget compares the usage of all executions of a run with its budget.
type budget struct {
	limit  penstock.Budget
	prices *price.Table

	mu       sync.Mutex
	tokens   int64    // before the active turn
	cost     *float64 // the same in US dollars; nil: unknown
	turn     penstock.TurnUsage
	reported time.Time
}

func newBudget(prices *price.Table, before *penstock.Usage, limit *penstock.Budget) *budget {
	b := &budget{prices: prices}
	if limit != nil {
		b.limit = *limit
	}
	if before != nil {
		b.tokens, b.cost = before.TotalTokens, before.InferenceCostUSD
	}
	return b
}

// consumed sets the usage of the active turn so far. It returns the usage to report, or nil if that
// can wait.
func (b *budget) consumed(turn penstock.TurnUsage) *penstock.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn = turn
	if time.Since(b.reported) < usageEvery {
		return nil
	}
	b.reported = time.Now()
	tokens, cost := b.total()
	return &penstock.Usage{TotalTokens: tokens, InferenceCost: cost, InferenceCostUSD: cost}
}

// endTurn adds the usage of a finished turn; nil: unknown.
func (b *budget) endTurn(turn *penstock.TurnUsage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if turn != nil {
		b.turn = *turn
	}
	b.tokens, b.cost = b.total()
	b.turn = penstock.TurnUsage{}
}

func (b *budget) total() (tokens int64, cost *float64) {
	tokens, cost = b.tokens+b.turn.Tokens.Total(), b.cost
	more := b.turn.CostUSD
	if known, ok := b.prices.Turn(b.turn.ModelID, b.turn.Tokens, time.Now()); ok {
		total := penstock.USDOf(known.Total())
		more = &total
	}
	if more != nil {
		sum := *more
		if cost != nil {
			sum += *cost
		}
		cost = &sum
	}
	return tokens, cost
}

// exceeded describes how the budget was exceeded, or returns "".
func (b *budget) exceeded() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens, cost := b.total()
	switch {
	case b.limit.MaxTotalTokens > 0 && tokens > b.limit.MaxTotalTokens:
		return fmt.Sprintf("The run used %d tokens. Its budget is %d.", tokens, b.limit.MaxTotalTokens)
	case b.limit.MaxCostUSD > 0 && cost != nil && *cost > b.limit.MaxCostUSD:
		return fmt.Sprintf("The run cost %.4f US dollars. Its budget is %.4f.", *cost, b.limit.MaxCostUSD)
	}
	return ""
}

// sum adds the usage of two turns.
func sum(a, b *penstock.TurnUsage) *penstock.TurnUsage {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	both := penstock.TurnUsage{ModelID: b.ModelID, Tokens: a.Tokens.Add(b.Tokens), CostUSD: b.CostUSD}
	if a.CostUSD != nil {
		cost := *a.CostUSD
		if b.CostUSD != nil {
			cost += *b.CostUSD
		}
		both.CostUSD = &cost
	}
	return &both
}
