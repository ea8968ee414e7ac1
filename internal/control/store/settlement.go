package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Settle replaces a reservation with what the call has used, also after the lease has ended. It
// returns the call as it was and as it is. A repeated settlement changes nothing, and both are the
// same. Settle changes the accounts of the period in which the call was reserved. A call that is
// not of the lease is penstock.ErrLeaseLost. A call that was not sent may be settled before its
// reservation arrives, which then reserves nothing.
func (cs CallsTx) Settle(ctx context.Context, l penstock.Lease, s penstock.Settlement) (before, after Call, err error) {
	if err := cs.tx.Budgets().Share(ctx, l.RunID); err != nil {
		return before, after, err
	}
	if err := cs.tx.Runs().lockRow(ctx, l.RunID); err != nil {
		return before, after, err
	}
	found, err := cs.read(ctx, []string{s.ID}, cs.tx.s.d.lock)
	if err == nil && s.Unsent && found[s.ID] == nil {
		if err = cs.addUnsent(ctx, l, s.ID); err == nil {
			found, err = cs.read(ctx, []string{s.ID}, cs.tx.s.d.lock) // it may have been reserved since
		}
	}
	if err != nil {
		return before, after, err
	}
	call := found[s.ID]
	if call == nil || call.RunID != l.RunID || call.token != hashToken(l.Token) {
		return before, after, penstock.ErrLeaseLost
	}
	if before = *call; before.State != CallReserved {
		return before, before, nil
	}
	after, err = cs.settleCall(ctx, before, s)
	return before, after, err
}

// settleCall settles a call that is reserved and locked.
func (cs CallsTx) settleCall(ctx context.Context, before Call, s penstock.Settlement) (after Call, err error) {
	after = before.settled(s.Bounded())
	if after.SettledAt, err = cs.tx.clock(ctx); err != nil {
		return after, err
	}
	n, err := cs.tx.exec(ctx, setCall, callFields.changes(&after, after.ID)...)
	if err == nil && n == 0 {
		err = errors.New("it was settled meanwhile")
	}
	if err != nil {
		return after, fmt.Errorf("settle call %s: %w", after.ID, err)
	}
	return after, cs.count(ctx, &after, held{before.Cost, before.total})
}

// Abandoned lists reserved calls that were made before a time, and whose runs no worker executes now, after one,
// oldest first.
func (cs Calls) Abandoned(ctx context.Context, before penstock.Time, after Call, limit int) ([]Call, error) {
	rows, err := cs.s.query(ctx, "SELECT "+callFields.selected+`
		FROM calls l
		WHERE l.state = 'reserved' AND l.created_at < $1
			AND NOT EXISTS (
				SELECT 1 FROM queue q WHERE q.run_id = l.run_id AND q.token <> ''
			) AND (l.created_at, l.id) > ($2, $3)
		ORDER BY l.created_at, l.id
		LIMIT $4`, int64(before), int64(after.CreatedAt), after.ID, limit)
	return collect(cs.s, rows, err, "abandoned calls", func(c *Call) []any { return callFields.into(c) })
}

// Abandon counts a call as it was reserved. ok is false if it is already settled.
func (cs CallsTx) Abandon(ctx context.Context, c Call) (before, after Call, ok bool, err error) {
	// Not [BudgetsTx.Share]: the run may have been removed.
	if err := cs.tx.Budgets().order(ctx, cs.tx.s.d.shareBudgets, "uid = $1", c.Team); err != nil {
		return before, after, false, err
	}
	if err := cs.tx.Runs().lockRow(ctx, c.RunID); err != nil {
		return before, after, false, err
	}
	found, err := cs.read(ctx, []string{c.ID}, cs.tx.s.d.lock)
	call := found[c.ID]
	if err != nil || call == nil || call.State != CallReserved {
		return before, after, false, err
	}
	after, err = cs.settleCall(ctx, *call, penstock.Settlement{Unknown: true})
	return *call, after, true, err
}

// addUnsent adds a call that is given back before its reservation has arrived. After the lease, there is nothing
// to add: the reservation is rejected anyway.
func (cs CallsTx) addUnsent(ctx context.Context, l penstock.Lease, id string) error {
	c := Call{
		ID: id, RunID: l.RunID, ExecutionID: l.ExecutionID, token: hashToken(l.Token), State: CallUnsent,
	}
	err := cs.tx.row(ctx, `SELECT r.team, `+cs.tx.s.d.now+`
		FROM queue q
		JOIN runs r ON r.id = q.run_id
		WHERE q.run_id = $1 AND q.token = $2 AND q.token <> ''`, l.RunID, l.Token).Scan(&c.Team, &c.CreatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the lease of call %s: %w", id, err)
	}
	c.SettledAt = c.CreatedAt
	return cs.tx.insert(ctx, newCalls, [][]any{callFields.row(&c)})
}

// newCalls leaves calls unchanged that exist.
var newCalls = callFields.onConflict("ON CONFLICT DO NOTHING")

var setCall = callFields.update("", "id = ? AND state = 'reserved'")

// settled is the call with what it has used. What is not known stays as it was reserved.
func (c Call) settled(s penstock.Settlement) Call {
	switch {
	case s.Unsent:
		c.State, c.Cost, c.Costs, c.total, c.Tokens = CallUnsent, 0, penstock.CallCost{}, 0, penstock.TokenUsage{}
		return c
	case s.Unknown:
		c.State, c.Unknown = CallSettled, true
		return c
	}
	c.State, c.Estimated = CallSettled, s.Estimated
	c.Tokens, c.total, c.Reasoning = s.Tokens, s.Tokens.Total(), s.Reasoning
	if s.Cost != nil {
		c.Costs, c.Cost, c.Unpriced = *s.Cost, s.Cost.Total(), false
	} else if !c.Unpriced {
		c.Estimated = true
	}
	return c
}

// AddReported adds a call that was neither reserved nor sent by us: the usage of a turn as the agent reports it.
// The run must be locked, and its team's budgets shared.
func (cs CallsTx) AddReported(ctx context.Context, run RunRow, c Call) error {
	now, err := cs.tx.clock(ctx)
	if err != nil {
		return err
	}
	p := run.payer()
	c.Team, c.RunID, c.ExecutionID, c.State, c.Reported = run.Team, run.ID, run.ExecutionID, CallSettled, true
	c.CreatedAt, c.SettledAt, c.inherited, c.total = now, now, p.inherited, c.Tokens.Total()
	c.FactoryUID, c.AgentUID = p.nearest(BudgetOfFactory), p.nearest(BudgetOfAgent)
	c.AutomationID, c.KeyUID = p.nearest(BudgetOfAutomation), p.nearest(BudgetOfKey)
	if err := callFields.add(ctx, cs.tx, &c); err != nil {
		return fmt.Errorf("add the reported usage of run %s: %w", run.ID, err)
	}
	return cs.count(ctx, &c, held{})
}

// Counted reports whether the ledger has a call of the execution that was reserved.
func (cs CallsTx) Counted(ctx context.Context, runID string, execution int) (bool, error) {
	var one int
	err := cs.tx.row(ctx, `SELECT 1
		FROM calls
		WHERE run_id = $1 AND execution_id = $2 AND reported = 0
		LIMIT 1`, runID, execution).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrapf(err, "look for calls of run %s", runID)
}

// count moves a call from what is reserved to what is spent, on the accounts for which it counts. Accounts
// that do not exist are left to [CallsTx.sum].
func (cs CallsTx) count(ctx context.Context, c *Call, reserved held) error {
	p := c.payer()
	applied, err := cs.tx.Budgets().readCaps(ctx, []payer{p})
	if err != nil {
		return err
	}
	limits, err := cs.tx.Budgets().limits(applied, p, c.CreatedAt)
	if err != nil || len(limits) == 0 {
		return err
	}
	keys := make([]AccountKey, len(limits))
	for i, l := range limits {
		keys[i] = l.AccountKey
	}
	var accounts map[AccountKey]*Account
	if c.Reported { // without a reservation, which creates them
		accounts, err = cs.tx.Budgets().lockAccounts(ctx, keys)
	} else {
		accounts, err = cs.tx.Budgets().accounts(ctx, keys, cs.tx.s.d.lock)
	}
	if err != nil {
		return err
	}
	for _, a := range accounts {
		a.ReservedCost -= reserved.cost
		a.ReservedTokens -= reserved.tokens
		if c.State == CallSettled {
			a.SpentCost += c.Cost
			a.SpentTokens += c.total
		}
	}
	cs.tx.Nudge(TopicBudgets) // a run may wait for what was given back
	withAccounts(limits, accounts)
	if err := cs.notify(ctx, c.RunID, limits); err != nil {
		return err
	}
	return cs.tx.Budgets().saveAccounts(ctx, accounts)
}

// notify reports the thresholds that budgets have reached on the timeline of a run, unless it was removed.
func (cs CallsTx) notify(ctx context.Context, runID string, limits []limit) error {
	var drafts []penstock.Draft
	var reached []Announcement
	for _, l := range limits {
		if !l.crosses() {
			continue
		}
		name, err := cs.tx.Budgets().name(ctx, l)
		if err != nil {
			return err
		}
		crossed, largest := l.crossed(name)
		drafts = append(drafts, crossed...)
		reached = append(reached, l.announcement(largest))
	}
	if len(drafts) == 0 {
		return nil
	}
	var n int
	if err := cs.tx.row(ctx, "SELECT count(*) FROM runs WHERE id = $1", runID).Scan(&n); err != nil || n == 0 {
		return err
	}
	if err := cs.tx.Events().Append(ctx, runID, drafts...); err != nil {
		return err
	}
	return cs.tx.Endpoints().announceThresholds(ctx, runID, reached)
}

// announcement describes that the account has reached a share of its cap.
func (l limit) announcement(share float64) Announcement {
	if l.shared == nil {
		return Announcement{
			Type: EventRunBudgetThreshold, At: penstock.Now(), Data: penstock.EndpointData{NotifyAt: share},
		}
	}
	return Announcement{
		Type: EventBudgetThreshold, At: penstock.Now(), Path: "/api/v1/budgets/" + l.shared.UID,
		Data: penstock.EndpointData{BudgetUID: l.shared.UID, NotifyAt: share},
	}
}

// Consumed adds a call to what its run has consumed, and returns the sum. ok is false if the run was removed.
func (cs CallsTx) Consumed(ctx context.Context, c Call) (sum Consumption, ok bool, err error) {
	var text string
	err = cs.tx.row(ctx, "SELECT usage FROM runs WHERE id = $1", c.RunID).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return sum, false, nil
	}
	if err == nil {
		err = unmarshal(text, &sum)
	}
	if err != nil {
		return sum, false, fmt.Errorf("read what run %s has consumed: %w", c.RunID, err)
	}
	sum = sum.add(c)
	if _, err := cs.tx.exec(ctx, "UPDATE runs SET usage = $1 WHERE id = $2", marshal(sum), c.RunID); err != nil {
		return sum, false, fmt.Errorf("store what run %s has consumed: %w", c.RunID, err)
	}
	return sum, true, nil
}

func (sum Consumption) add(c Call) Consumption {
	sum.Tokens = sum.Tokens.Add(c.Tokens)
	if c.Unpriced {
		return sum
	}
	sum.Priced = true
	sum.Cost += c.Cost
	sum.Costs = sum.Costs.Add(c.Costs)
	return sum
}
