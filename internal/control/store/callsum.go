package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// mergeSpan is the time whose calls become one row. Days and periods of budgets begin at multiples
// of it in every time zone.
const mergeSpan = penstock.Time(15 * time.Minute / time.Millisecond)

// callSum is what calls have in common that become one row.
type callSum struct {
	span                                                    penstock.Time
	provider, model, factory, agent, automation, key, above string
	reported, estimated, unknown, unpriced                  bool
}

func (c Call) sum() callSum {
	return callSum{
		span: c.CreatedAt / mergeSpan, provider: c.Provider, model: c.Model, factory: c.FactoryUID, agent: c.AgentUID,
		automation: c.AutomationID, key: c.KeyUID, above: strings.Join(c.inherited, ","), reported: c.Reported,
		estimated: c.Estimated, unknown: c.Unknown, unpriced: c.Unpriced,
	}
}

// merge replaces the settled calls of a run by a few rows with their sums, so that budgets and usage stay
// as they are. Calls that are not settled stay.
func (cs CallsTx) merge(ctx context.Context, runID string) error {
	rows, err := cs.tx.query(ctx, `DELETE FROM calls
		WHERE run_id = $1 AND state <> 'reserved'
		RETURNING `+strings.ReplaceAll(callFields.selected, "l.", ""), runID)
	calls, err := collect(cs.tx.s, rows, err, "calls", func(c *Call) []any { return callFields.into(c) })
	if err != nil {
		return err
	}
	sums := map[callSum]Call{}
	for _, c := range calls {
		if c.State == CallUnsent {
			continue
		}
		c.token = "" // no settlement is for the sum
		if sum, ok := sums[c.sum()]; ok {
			c = sum.plus(c)
		}
		sums[c.sum()] = c
	}
	byID := func(a, b Call) int { return cmp.Compare(a.ID, b.ID) }
	var merged [][]any
	for _, c := range slices.SortedFunc(maps.Values(sums), byID) {
		merged = append(merged, callFields.row(&c))
	}
	return cs.tx.insert(ctx, callFields.table, merged)
}

// plus is the sum of c and another call. It has the id and the time of c.
func (c Call) plus(other Call) Call {
	c.count = max(1, c.count) + max(1, other.count)
	c.SettledAt = max(c.SettledAt, other.SettledAt)
	c.Tokens, c.Costs = c.Tokens.Add(other.Tokens), c.Costs.Add(other.Costs)
	c.total += other.total
	c.Reasoning += other.Reasoning
	c.Cost += other.Cost
	c.reservedCost += other.reservedCost
	c.reservedTotal += other.reservedTotal
	return c
}
