package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Blocked says which budget must have room before a run continues, and how much. The zero value does not block.
type Blocked struct {
	Budget       string // its UID, or the id of a run for its own
	Cost, Tokens int64
}

// BlockedBy returns what a run with this shortage waits for: at least for some room.
func BlockedBy(b *penstock.BudgetShortage) Blocked {
	switch {
	case b == nil:
		return Blocked{}
	case b.CapTokens > 0:
		return Blocked{Budget: b.BudgetUID, Tokens: max(1, b.NeededTokens)}
	}
	return Blocked{Budget: b.BudgetUID, Cost: max(1, penstock.NanosOf(min(b.NeededUSD, penstock.MaxBudgetUSD)))}
}

// unfunded is why a run is not QUEUED when it is created.
type unfunded struct {
	state    penstock.State
	shortage *penstock.BudgetShortage
}

// markUnfunded finds the runs under a spent budget. A budget whose action is refuse counts as spent only once its
// calls are settled: what calls in flight do not use comes back, but a FAILED run does not.
func (bs BudgetsTx) markUnfunded(ctx context.Context, members []*createRun) error {
	if len(members) == 0 {
		return nil
	}
	for _, m := range members {
		m.unfunded, m.run.State, m.run.StatusMessage = nil, penstock.StateQueued, nil
	}
	rows, err := bs.tx.query(ctx, "SELECT uid FROM teams t WHERE EXISTS (SELECT 1 FROM budgets b WHERE b.team = t.uid)")
	teams, err := collect(bs.tx.s, rows, err, "teams with budgets", func(v *string) []any { return []any{v} })
	if err != nil {
		return err
	}
	var capped []*createRun
	var payers []payer
	for _, m := range members {
		if len(m.run.Inherited) > 0 || slices.Contains(teams, m.run.Team) {
			capped, payers = append(capped, m), append(payers, m.run.payer())
		}
	}
	if len(capped) == 0 {
		return nil
	}
	limits, err := bs.limitsNow(ctx, payers)
	if err != nil {
		return err
	}
	for i, m := range capped {
		if err := bs.hold(ctx, m, limits[i]); err != nil {
			return err
		}
	}
	return nil
}

// limitsNow reads the limits that apply to each of the payers, without a lock.
func (bs budgetReads) limitsNow(ctx context.Context, payers []payer) ([][]limit, error) {
	applied, err := bs.readCaps(ctx, payers)
	if err != nil {
		return nil, err
	}
	lists := make([][]limit, len(payers))
	var keys []AccountKey
	for i, p := range payers {
		if lists[i], err = bs.limits(applied, p, penstock.Now()); err != nil {
			return nil, err
		}
		for _, l := range lists[i] {
			keys = append(keys, l.AccountKey)
		}
	}
	accounts, err := bs.accounts(ctx, keys, "")
	for _, list := range lists {
		withAccounts(list, accounts)
	}
	return lists, err
}

// ShortOfKeys returns what the first spent budget of one of the keys lacks, or nil.
func (bs BudgetsTx) ShortOfKeys(ctx context.Context, team string, keys []string) (*penstock.BudgetShortage, error) {
	p := payer{team: team}
	for _, key := range keys {
		p.entries = append(p.entries, ofScope(BudgetOfKey, key).entry)
	}
	if len(p.entries) == 0 {
		return nil, nil //nolint:nilnil // nothing is short
	}
	lists, err := bs.limitsNow(ctx, []payer{p})
	if err != nil {
		return nil, err
	}
	for _, l := range lists[0] {
		if l.spent() && l.shared != nil && l.shared.Scope == BudgetOfKey {
			short := l.shortOfCost(0)
			short.BudgetName, err = bs.name(ctx, l)
			return short, err
		}
	}
	return nil, nil //nolint:nilnil // nothing is short
}

// CapCosts reports whether a cap on costs applies to a run that is not stored yet, besides its own budget.
func (bs Budgets) CapCosts(ctx context.Context, run RunRow) (bool, error) {
	p := run.payer()
	applied, err := bs.readCaps(ctx, []payer{p})
	if err != nil {
		return false, err
	}
	limits, err := bs.limits(applied, p, penstock.Now())
	return slices.ContainsFunc(limits, func(l limit) bool { return l.hasCost }), err
}

// hold makes the run BLOCKED or FAILED if one of the limits is spent.
func (bs BudgetsTx) hold(ctx context.Context, c *createRun, limits []limit) (err error) {
	var spent *limit
	for i, l := range limits {
		if l.spent() && (spent == nil || l.refuses && !spent.refuses) {
			spent = &limits[i]
		}
	}
	if spent == nil {
		return nil
	}
	shortage := spent.shortOfCost(0)
	if spent.hasTokens && spent.roomTokens() == 0 {
		shortage = spent.shortOfTokens(0)
	}
	if shortage.BudgetName, err = bs.name(ctx, *spent); err != nil {
		return err
	}
	c.unfunded = &unfunded{penstock.StateBlocked, shortage}
	message, event := shortage.Explain(false)+" The run starts once the budget has room for it.", penstock.TimelineBlocked
	if spent.refuses {
		c.unfunded.state = penstock.StateFailed
		message, event = shortage.Explain(false), penstock.TimelineFailed
	}
	c.run.State = c.unfunded.state
	c.run.StatusMessage = &penstock.StatusMessage{
		Message: message, ErrorCode: penstock.CodeBudgetExceeded, Budget: shortage,
	}
	held := *c.run
	held.Notes = append(slices.Clip(held.Notes), Note{event, map[string]any{
		"message": message, "error_code": string(penstock.CodeBudgetExceeded),
	}})
	rows := rowsOf(&held)
	c.held = &rows
	return nil
}

// spent reports whether nothing is left.
func (l limit) spent() bool {
	if l.refuses {
		return l.SpentCost >= l.cost
	}
	return l.hasCost && l.roomCost() == 0 || l.hasTokens && l.roomTokens() == 0
}

// blockUnfunded stores what only runs have that are not QUEUED when they are created.
func (bs BudgetsTx) blockUnfunded(ctx context.Context, members []*createRun) error {
	for _, m := range members {
		if m.err != nil || m.unfunded == nil {
			continue
		}
		blocked, finished := BlockedBy(m.unfunded.shortage), penstock.Time(0)
		if m.unfunded.state.Done() {
			blocked, finished = Blocked{}, m.run.CreatedAt
		}
		if _, err := bs.tx.exec(ctx, `UPDATE runs
			SET status_message = $1, finished_at = $2, blocked_budget = $3, needed_cost = $4, needed_tokens = $5
			WHERE id = $6`, marshal(m.run.StatusMessage), int64(finished), blocked.Budget, blocked.Cost, blocked.Tokens,
			m.run.ID); err != nil {
			return fmt.Errorf("block run %s: %w", m.run.ID, err)
		}
		bs.tx.Nudge(TopicBudgets) // its budget may have room now
	}
	return nil
}

// BlockedRun is a run that a budget blocks.
type BlockedRun struct {
	ID string
	Blocked
}

// FundedRuns lists runs whose blocking budget has room for each of them, those that need the least first, at
// most limit for each budget. Their other budgets may still lack room.
func (bs Budgets) FundedRuns(ctx context.Context, limit int) ([]BlockedRun, error) {
	budgets, err := bs.blocking(ctx)
	var funded []BlockedRun
	for _, uid := range budgets {
		cost, tokens, err := bs.roomOf(ctx, uid)
		if err != nil {
			return nil, err
		}
		rows, err := bs.s.query(ctx, `SELECT id, blocked_budget, needed_cost, needed_tokens
			FROM runs
			WHERE blocked_budget = $1 AND blocked_budget <> '' AND needed_cost <= $2 AND needed_tokens <= $3
			ORDER BY needed_cost, needed_tokens, id
			LIMIT $4`, uid, cost, tokens, limit)
		list, err := collect(bs.s, rows, err, "blocked runs", func(r *BlockedRun) []any {
			return []any{&r.ID, &r.Budget, &r.Cost, &r.Tokens}
		})
		if err != nil {
			return nil, err
		}
		for _, r := range list { // as many as the room is for
			if cost, tokens = cost-r.Cost, tokens-r.Tokens; cost < 0 || tokens < 0 {
				break
			}
			funded = append(funded, r)
		}
	}
	return funded, err
}

// blocking lists the budgets that block runs. It steps from one to the next by their index. With DISTINCT,
// PostgreSQL reads the whole table until it has statistics of it.
func (bs Budgets) blocking(ctx context.Context) ([]string, error) {
	var budgets []string
	for last := ""; ; last = budgets[len(budgets)-1] {
		next, err := bs.s.strings(ctx, `SELECT blocked_budget
			FROM runs
			WHERE blocked_budget <> '' AND blocked_budget > $1
			ORDER BY blocked_budget
			LIMIT 1`, last)
		if err != nil || len(next) == 0 {
			return budgets, err
		}
		budgets = append(budgets, next...)
	}
}

// roomOf returns what is left of a budget, or of the budget of a run. A budget that does not exist has no bounds.
func (bs Budgets) roomOf(ctx context.Context, budget string) (cost, tokens int64, err error) {
	cost, tokens = math.MaxInt64, math.MaxInt64
	c := caps{runs: map[string]runCap{}}
	if c.shared, err = bs.read(ctx, "b.uid = $1", budget); err != nil {
		return 0, 0, err
	}
	p := payer{run: budget, entries: []string{ofRun(budget).entry}}
	if len(c.shared) > 0 {
		p.team, p.entries = c.shared[0].Team, []string{ofScope(c.shared[0].Scope, c.shared[0].ScopeUID).entry}
	} else if c, err = bs.readCaps(ctx, []payer{p}); err != nil {
		return 0, 0, err
	}
	list, err := bs.limits(c, p, penstock.Now())
	if err != nil || len(list) == 0 {
		return cost, tokens, err
	}
	accounts, err := bs.accounts(ctx, []AccountKey{list[0].AccountKey}, "")
	withAccounts(list, accounts)
	if list[0].hasCost {
		cost = list[0].roomCost()
	}
	if list[0].hasTokens {
		tokens = list[0].roomTokens()
	}
	return cost, tokens, err
}

// Resume queues a run that a budget blocks, if all its budgets have the room that it needs. Otherwise it records
// which one does not.
func (bs BudgetsTx) Resume(ctx context.Context, id string) (resumed bool, err error) {
	run, err := bs.tx.Runs().Lock(ctx, id)
	if err != nil || run.State != penstock.StateBlocked || run.BlockedBudget == "" {
		return false, err
	}
	lists, err := bs.limitsNow(ctx, []payer{run.payer()})
	if err != nil {
		return false, err
	}
	for _, l := range lists[0] {
		if l.hasCost && l.roomCost() < run.NeededCost || l.hasTokens && l.roomTokens() < run.NeededTokens {
			_, err := bs.tx.exec(ctx, "UPDATE runs SET blocked_budget = $1 WHERE id = $2", l.Budget, id)
			return false, err
		}
	}
	return true, bs.tx.Runs().Requeue(ctx, run, Funded)
}
