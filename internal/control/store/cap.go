package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// payer is a run whose calls are counted.
type payer struct {
	run, team string
	// entries are what its calls count for: the run itself and its scopes of budgets, then the
	// other keys that pay for it, then the entries of the runs above, the nearest first.
	entries   []string
	inherited []string // without the run itself and its scopes
}

func (r RunRow) payer() payer { return payer{r.ID, r.Team, r.Bequeath(), r.above()} }

// above lists what the run's calls count for besides the run itself and its scopes of budgets.
func (r RunRow) above() []string {
	var list []string
	for _, key := range penstock.MorePayers(r.Payers, r.Senders...) {
		if key != r.KeyUID {
			list = append(list, ofScope(BudgetOfKey, key).entry)
		}
	}
	return penstock.MorePayers(list, r.Inherited...)
}

// payer is the run that made a call.
func (c Call) payer() payer {
	r := RunRow{
		Run: penstock.Run{ID: c.RunID, FactoryUID: c.FactoryUID}, Team: c.Team, AgentUID: c.AgentUID,
		AutomationID: c.AutomationID, KeyUID: c.KeyUID, Inherited: c.inherited,
	}
	return r.payer()
}

// nearest returns the UID of the first of the entries that is of a scope, or "".
func (p payer) nearest(scope penstock.BudgetScope) string {
	for _, entry := range p.entries {
		if uid, ok := strings.CutPrefix(entry, string(scope)+":"); ok {
			return uid
		}
	}
	return ""
}

func (p payer) counts(b *BudgetRow) bool {
	return p.team == b.Team && (b.Scope == BudgetOfTeam ||
		slices.Contains(p.entries, ofScope(b.Scope, b.ScopeUID).entry))
}

// runCap is the budget of one run.
type runCap struct {
	id           string
	cost, tokens int64 // 0: no cap
}

// caps are the budgets that apply to some runs.
type caps struct {
	shared []BudgetRow
	runs   map[string]runCap
}

// readCaps reads the budgets that apply to any of the payers.
func (bs budgetReads) readCaps(ctx context.Context, payers []payer) (caps, error) {
	c := caps{runs: map[string]runCap{}}
	uids, runs := map[string]map[string]bool{}, map[string]bool{}
	for _, p := range payers {
		if uids[p.team] == nil {
			uids[p.team] = map[string]bool{"": true}
		}
		for _, entry := range p.entries {
			kind, uid, _ := strings.Cut(entry, ":")
			if kind == "run" {
				runs[uid] = true
			} else {
				uids[p.team][uid] = true
			}
		}
	}
	for _, team := range slices.Sorted(maps.Keys(uids)) {
		text, args := "b.team = $1 AND b.scope_uid IN (", []any{team}
		for _, uid := range slices.Sorted(maps.Keys(uids[team])) {
			args = append(args, uid)
		}
		list, err := bs.read(ctx, text+placeholders(2, len(args)-1)+")", args...)
		if err != nil {
			return c, err
		}
		c.shared = append(c.shared, list...)
	}
	for args := range chunks(slices.Sorted(maps.Keys(runs)), func(id string) []any { return []any{id} }) {
		rows, err := bs.q.query(ctx, `SELECT id, max_cost, max_tokens
			FROM runs
			WHERE id IN (`+placeholders(1, len(args))+`) AND (max_cost > 0 OR max_tokens > 0)`, args...)
		list, err := collect(bs.q.store(), rows, err, "budgets of runs", func(c *runCap) []any {
			return []any{&c.id, &c.cost, &c.tokens}
		})
		if err != nil {
			return c, err
		}
		for _, r := range list {
			c.runs[r.id] = r
		}
	}
	return c, nil
}

// limit is a cap that applies to a run at a time, with the account that it bounds.
type limit struct {
	*Account
	cost, tokens       int64
	hasCost, hasTokens bool
	own                bool       // of the run itself
	notifyAt           []float64  // shares of cost to report
	refuses            bool       // the run is FAILED, not BLOCKED
	shared             *BudgetRow // nil for the budget of a run
}

// limits lists the caps that apply to a run at a time, in the order of their keys. Accounts that do not
// exist are empty.
func (bs budgetReads) limits(c caps, p payer, at penstock.Time) ([]limit, error) {
	var list []limit
	for i := range c.shared {
		b := &c.shared[i]
		if !p.counts(b) {
			continue
		}
		key, err := bs.accountKey(*b, at)
		if err != nil {
			return nil, err
		}
		list = append(list, limit{
			Account: &Account{AccountKey: key}, cost: b.MaxCost, hasCost: true, notifyAt: b.NotifyAt,
			refuses: b.Action == penstock.BudgetRefuse, shared: b,
		})
	}
	for _, entry := range p.entries {
		id, _ := strings.CutPrefix(entry, "run:")
		if r, ok := c.runs[id]; ok {
			list = append(list, limit{
				Account: &Account{AccountKey: AccountKey{Budget: id}}, own: id == p.run,
				cost: r.cost, hasCost: r.cost > 0, tokens: r.tokens, hasTokens: r.tokens > 0,
			})
		}
	}
	slices.SortFunc(list, func(a, b limit) int { return a.compare(b.AccountKey) })
	return list, nil
}

// withAccounts replaces the empty accounts by those that were read.
func withAccounts(list []limit, accounts map[AccountKey]*Account) {
	for i, l := range list {
		if a := accounts[l.AccountKey]; a != nil {
			list[i].Account = a
		}
	}
}

// roomCost is what is left of the cost.
func (l limit) roomCost() int64 { return max(0, l.cost-l.SpentCost-l.ReservedCost) }

// roomTokens is what is left of the tokens.
func (l limit) roomTokens() int64 { return max(0, l.tokens-l.SpentTokens-l.ReservedTokens) }

// fits returns the largest output of a call for which the limit has room, if it had more than it has; -1 if
// it has not even enough for the input.
func (l limit) fits(r *penstock.Reservation, more held) int64 {
	output := r.Output
	if l.hasCost {
		output = min(output, r.OutputFor(l.roomCost()+more.cost))
	}
	if l.hasTokens {
		output = min(output, r.OutputWithin(l.roomTokens()+more.tokens))
	}
	return output
}

// held is what some calls have reserved.
type held struct{ cost, tokens int64 }

// shortage says what the limit lacks for the smallest output of a call.
func (l limit) shortage(r *penstock.Reservation) *penstock.BudgetShortage {
	if l.hasCost && r.OutputFor(l.roomCost()) < r.LeastOutput {
		return l.shortOfCost(r.Cost(r.LeastOutput))
	}
	return l.shortOfTokens(r.Tokens(r.LeastOutput))
}

func (l limit) shortOfCost(needed int64) *penstock.BudgetShortage {
	return &penstock.BudgetShortage{
		BudgetUID: l.Budget, SpentUSD: penstock.USDOf(l.SpentCost + l.ReservedCost), CapUSD: penstock.USDOf(l.cost),
		NeededUSD: penstock.USDOf(needed),
	}
}

func (l limit) shortOfTokens(needed int64) *penstock.BudgetShortage {
	return &penstock.BudgetShortage{
		BudgetUID: l.Budget, SpentTokens: l.SpentTokens + l.ReservedTokens, CapTokens: l.tokens, NeededTokens: needed,
	}
}

// lockAccounts reads the accounts of the limits, creates those that do not exist, and locks all of them, in
// the order of their keys, until the transaction ends.
func (bs BudgetsTx) lockAccounts(ctx context.Context, keys []AccountKey) (map[AccountKey]*Account, error) {
	found, err := bs.accounts(ctx, keys, bs.tx.s.d.lock)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, key := range keys {
		if found[key] == nil {
			rows = append(rows, accountFields.row(&Account{AccountKey: key}))
		}
	}
	if len(rows) == 0 {
		return found, nil
	}
	// A missing row cannot be locked: another server may insert it, too.
	if err := bs.tx.insert(ctx, newAccounts, rows); err != nil {
		return nil, fmt.Errorf("open accounts: %w", err)
	}
	return bs.accounts(ctx, keys, bs.tx.s.d.lock)
}

var (
	newAccounts = accountFields.onConflict("ON CONFLICT DO NOTHING")
	setAccounts = accountFields.onConflict(`ON CONFLICT (budget, period_start) DO UPDATE SET
		spent_cost = excluded.spent_cost, spent_tokens = excluded.spent_tokens,
		reserved_cost = excluded.reserved_cost, reserved_tokens = excluded.reserved_tokens,
		notified = excluded.notified`)
)

// saveAccounts stores accounts that are locked.
func (bs BudgetsTx) saveAccounts(ctx context.Context, changed map[AccountKey]*Account) error {
	var rows [][]any
	for _, key := range slices.SortedFunc(maps.Keys(changed), AccountKey.compare) {
		rows = append(rows, accountFields.row(changed[key]))
	}
	err := bs.tx.insert(ctx, setAccounts, rows)
	return wrapf(err, "count a call")
}

// name is what people call the budget; "" for a run's own.
func (bs BudgetsTx) name(ctx context.Context, l limit) (string, error) {
	if l.shared == nil {
		return "", nil
	}
	var scope string
	if l.shared.ScopeUID != "" {
		var err error
		scope, err = bs.ScopeName(ctx, l.shared.Team, l.shared.Scope, l.shared.ScopeUID)
		if err != nil && penstock.CodeOf(err) != penstock.CodeNotFound { // it was deleted
			return "", err
		}
	}
	return l.shared.Name(scope), nil
}

// crosses reports whether crossed would list a threshold.
func (l limit) crosses() bool {
	return slices.ContainsFunc(l.notifyAt, func(share float64) bool {
		threshold := int64(share * float64(l.cost))
		return threshold > l.notified && l.SpentCost >= threshold
	})
}

// crossed lists the thresholds that the account has reached, and has not reported yet, and returns the largest.
func (l limit) crossed(name string) (drafts []penstock.Draft, largest float64) {
	for _, share := range l.notifyAt {
		threshold := int64(share * float64(l.cost))
		if threshold <= l.notified || l.SpentCost < threshold {
			continue
		}
		l.notified, largest = threshold, max(largest, share)
		drafts = append(drafts, penstock.Timeline(penstock.Now(), TimelineBudgetThreshold, map[string]any{
			"budget_uid": l.Budget, "budget_name": name, "notify_at": share,
			"spent_usd": penstock.USDOf(l.SpentCost), "cap_usd": penstock.USDOf(l.cost),
		}))
	}
	return drafts, largest
}
