package worker

import (
	"fmt"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/price"
)

// usageEvery is the least time between two events that tell what a run has
// consumed so far.
const usageEvery = time.Second

// budget counts what a run has consumed, all its executions together, against
// what it may.
type budget struct {
	limit  penstock.Budget
	prices *price.Table

	mu       sync.Mutex
	tokens   int64    // before the turn under way
	cost     *float64 // the same in US dollars, nil where it is not known
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

// consumed takes what the turn under way has consumed so far. It returns what
// the listeners should be told, nil where that can wait.
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

// endTurn takes what a turn has consumed in all, nil where the agent does not
// say.
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
		total := price.USD(known.Total())
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

// exceeded says what was consumed beyond the budget, "" for nothing.
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

// sum adds what two turns have consumed.
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
