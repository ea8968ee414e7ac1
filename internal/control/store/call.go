package store

import (
	"context"
	"slices"

	"github.com/penstock-dev/penstock"
)

// CallState is where a call to a model stands.
type CallState string

// The states of a call.
const (
	CallReserved CallState = "reserved" // it may be in flight; its amounts are upper bounds
	CallSettled  CallState = "settled"
	CallUnsent   CallState = "unsent" // it never reached the provider; without a model, it was not reserved either
)

// Call is a row of the ledger: one call to a model, or some calls of a removed run. Costs are in nano-dollars.
type Call struct {
	ID          string
	Team        string
	RunID       string
	ExecutionID int
	token       string // hash of its lease's
	State       CallState
	CreatedAt   penstock.Time
	SettledAt   penstock.Time
	Provider    string
	Model       string

	// Of its run, or else of the nearest run above that has one.
	FactoryUID, AgentUID, AutomationID, KeyUID string
	inherited                                  []string
	count                                      int64 // how many calls the row sums up; 0 is one

	Reported  bool // by the agent after its turn: nothing was reserved
	Estimated bool // the stream was cut: the amounts are what is known, and an upper bound of the rest
	Unknown   bool // the provider reported nothing: the amounts are the reserved ones
	Unpriced  bool // the cost is not known, and 0 here

	capped                      bool
	outputLimit                 int64
	reservedCost, reservedTotal int64

	Cost      int64 // at least the sum of Costs, and more if only the total is known
	Costs     penstock.CallCost
	total     int64 // of Tokens
	Tokens    penstock.TokenUsage
	Reasoning int64 // part of Tokens.Output
}

// Total is the number of tokens of all kinds. Of a call that is not settled, it is an upper bound.
func (c Call) Total() int64 { return c.total }

// Exceeds reports whether the call used more than was reserved, which is a bug in the bound.
func (c Call) Exceeds(reserved Call) bool {
	return !c.Unpriced && !reserved.Unpriced && c.Cost > reserved.Cost || c.total > reserved.total
}

// callFields are the columns of a call.
var callFields = newResource("calls", "l",
	textColumn("id", func(c *Call) *string { return &c.ID }),
	textColumn("team", func(c *Call) *string { return &c.Team }),
	textColumn("run_id", func(c *Call) *string { return &c.RunID }),
	numberColumn("execution_id", func(c *Call) *int { return &c.ExecutionID }),
	textColumn("token", func(c *Call) *string { return &c.token }),
	textColumn("state", func(c *Call) *CallState { return &c.State }).editable(),
	numberColumn("created_at", func(c *Call) *penstock.Time { return &c.CreatedAt }),
	numberColumn("settled_at", func(c *Call) *penstock.Time { return &c.SettledAt }).editable(),
	textColumn("provider", func(c *Call) *string { return &c.Provider }),
	textColumn("model", func(c *Call) *string { return &c.Model }),
	textColumn("factory_uid", func(c *Call) *string { return &c.FactoryUID }),
	textColumn("agent_uid", func(c *Call) *string { return &c.AgentUID }),
	textColumn("automation_id", func(c *Call) *string { return &c.AutomationID }),
	textColumn("key_uid", func(c *Call) *string { return &c.KeyUID }),
	listColumn("inherited", func(c *Call) *[]string { return &c.inherited }),
	numberColumn("calls", func(c *Call) *int64 { return &c.count }).
		from(func(c *Call) any { return max(1, c.count) }),
	flagColumn("reported", func(c *Call) *bool { return &c.Reported }),
	flagColumn("estimated", func(c *Call) *bool { return &c.Estimated }).editable(),
	flagColumn("unknown", func(c *Call) *bool { return &c.Unknown }).editable(),
	flagColumn("unpriced", func(c *Call) *bool { return &c.Unpriced }).editable(),
	flagColumn("capped", func(c *Call) *bool { return &c.capped }),
	numberColumn("output_limit", func(c *Call) *int64 { return &c.outputLimit }),
	numberColumn("reserved_cost", func(c *Call) *int64 { return &c.reservedCost }),
	numberColumn("reserved_tokens", func(c *Call) *int64 { return &c.reservedTotal }),
	numberColumn("cost", func(c *Call) *int64 { return &c.Cost }).editable(),
	numberColumn("cost_input", func(c *Call) *int64 { return &c.Costs.Input }).editable(),
	numberColumn("cost_cache_read", func(c *Call) *int64 { return &c.Costs.CacheRead }).editable(),
	numberColumn("cost_cache_write", func(c *Call) *int64 { return &c.Costs.CacheWrite }).editable(),
	numberColumn("cost_output", func(c *Call) *int64 { return &c.Costs.Output }).editable(),
	numberColumn("cost_tools", func(c *Call) *int64 { return &c.Costs.Tools }).editable(),
	numberColumn("tokens", func(c *Call) *int64 { return &c.total }).editable(),
	numberColumn("tokens_input", func(c *Call) *int64 { return &c.Tokens.Input }).editable(),
	numberColumn("tokens_cache_read", func(c *Call) *int64 { return &c.Tokens.CacheRead }).editable(),
	numberColumn("tokens_cache_write", func(c *Call) *int64 { return &c.Tokens.CacheWrite }).editable(),
	numberColumn("tokens_output", func(c *Call) *int64 { return &c.Tokens.Output }).editable(),
	numberColumn("tokens_reasoning", func(c *Call) *int64 { return &c.Reasoning }).editable(),
)

// List returns the calls of a run, the oldest first.
func (cs Calls) List(ctx context.Context, runID string) ([]Call, error) {
	rows, err := cs.s.query(ctx, "SELECT "+callFields.selected+`
		FROM calls l
		WHERE l.run_id = $1
		ORDER BY l.created_at, l.id`, runID)
	return collect(cs.s, rows, err, "calls", func(c *Call) []any { return callFields.into(c) })
}

// Bequeath lists what a child of the run inherits: the run itself, its scopes of budgets, the other keys
// that pay for it, and what the run has inherited, the nearest first. The calls of the child count for the
// budgets of all of them. So no run can escape a cap by starting others.
func (r RunRow) Bequeath() []string {
	list := []string{ofRun(r.ID).entry}
	for _, scope := range []struct {
		of  penstock.BudgetScope
		uid string
	}{
		{BudgetOfFactory, r.FactoryUID},
		{BudgetOfAgent, r.AgentUID},
		{BudgetOfAutomation, r.AutomationID},
		{BudgetOfKey, r.KeyUID},
	} {
		if scope.uid != "" {
			list = append(list, ofScope(scope.of, scope.uid).entry)
		}
	}
	for _, entry := range r.above() {
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

// callFilter selects the calls that count for a budget.
type callFilter struct {
	column string // of calls; "": all calls of the team
	uid    string
	entry  string // of the inherited column
}

func ofRun(id string) callFilter { return callFilter{"run_id", id, "run:" + id} }

func ofScope(scope penstock.BudgetScope, uid string) callFilter {
	switch scope {
	case BudgetOfFactory:
		return callFilter{"factory_uid", uid, "factory:" + uid}
	case BudgetOfAgent:
		return callFilter{"agent_uid", uid, "agent:" + uid}
	case BudgetOfAutomation:
		return callFilter{"automation_id", uid, "automation:" + uid}
	case BudgetOfKey:
		return callFilter{"key_uid", uid, "key:" + uid}
	}
	return callFilter{}
}

// sum sets the account to the sum of the team's calls since a time that count for it.
func (cs CallsTx) sum(
	ctx context.Context, a *Account, team string, calls callFilter, since penstock.Time,
) error {
	also, args := "", []any{team, int64(since)}
	if calls.column != "" {
		also = " AND (l." + calls.column + " = $3 OR replace(l.inherited, $4, '') <> l.inherited)"
		args = append(args, calls.uid, ","+calls.entry+",")
	}
	sum := func(column, state string) string {
		return "CAST(COALESCE(SUM(CASE WHEN l.state = '" + state + "' THEN l." + column + " ELSE 0 END), 0) AS BIGINT)"
	}
	err := cs.tx.row(ctx, "SELECT "+sum("cost", "settled")+", "+sum("tokens", "settled")+", "+
		sum("cost", "reserved")+", "+sum("tokens", "reserved")+`
		FROM calls l
		WHERE l.team = $1 AND l.created_at >= $2`+also, args...).
		Scan(&a.SpentCost, &a.SpentTokens, &a.ReservedCost, &a.ReservedTokens)
	return wrapf(err, "sum the calls of budget %s", a.Budget)
}
