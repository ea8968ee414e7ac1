package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// BudgetRow is a shared budget as it is stored: without the name of its scope and without what was
// spent, which is in its [Account].
type BudgetRow struct {
	penstock.SharedBudget
	Team    string
	MaxCost int64 // MaxCostUSD in nano-dollars
}

// budgetFields are the columns of a budget.
var budgetFields = newResource("budgets", "b",
	textColumn("uid", func(b *BudgetRow) *string { return &b.UID }),
	textColumn("team", func(b *BudgetRow) *string { return &b.Team }),
	textColumn("scope", func(b *BudgetRow) *penstock.BudgetScope { return &b.Scope }),
	textColumn("scope_uid", func(b *BudgetRow) *string { return &b.ScopeUID }),
	textColumn("period", func(b *BudgetRow) *penstock.BudgetPeriod { return &b.Period }).editable(),
	textColumn("time_zone", func(b *BudgetRow) *string { return &b.TimeZone }).editable(),
	numberColumn("max_cost", func(b *BudgetRow) *int64 { return &b.MaxCost }).
		from(func(b *BudgetRow) any { return penstock.NanosOf(b.MaxCostUSD) }).editable(),
	textColumn("action", func(b *BudgetRow) *penstock.BudgetAction { return &b.Action }).editable(),
	jsonColumn("notify_at", func(b *BudgetRow) *[]float64 { return &b.NotifyAt }).editable(),
	numberColumn("created_at", func(b *BudgetRow) *penstock.Time { return &b.CreatedAt }),
	numberColumn("updated_at", func(b *BudgetRow) *penstock.Time { return &b.UpdatedAt }).editable(),
)

var setBudget = budgetFields.update("", "uid = ? AND team = ?")

// List returns the budgets of a team, the oldest first.
func (bs Budgets) List(ctx context.Context, team string) ([]BudgetRow, error) {
	return bs.read(ctx, "b.team = $1 ORDER BY b.created_at, b.uid", team)
}

// Find reads one budget; absence is penstock.CodeNotFound.
func (bs Budgets) Find(ctx context.Context, team, uid string) (BudgetRow, error) {
	return bs.readOne(ctx, team, uid)
}

// Lock reads a budget to change it in this transaction. Until the transaction ends, no call of the team
// is reserved or settled. Absence is penstock.CodeNotFound.
func (bs BudgetsTx) Lock(ctx context.Context, team, uid string) (BudgetRow, error) {
	if err := bs.lockTeam(ctx, team); err != nil {
		return BudgetRow{}, err
	}
	return bs.readOne(ctx, team, uid)
}

func (bs budgetReads) readOne(ctx context.Context, team, uid string) (BudgetRow, error) {
	list, err := bs.read(ctx, "b.team = $1 AND b.uid = $2", team, uid)
	return only(list, err, "budget", uid)
}

func (bs budgetReads) read(ctx context.Context, where string, args ...any) ([]BudgetRow, error) {
	rows, err := bs.q.query(ctx, "SELECT "+budgetFields.selected+" FROM budgets b WHERE "+where, args...)
	list, err := collect(bs.q.store(), rows, err, "budgets", func(b *BudgetRow) []any { return budgetFields.into(b) })
	for i := range list {
		list[i].MaxCostUSD = penstock.USDOf(list[i].MaxCost)
	}
	return list, err
}

// Add stores a budget. It starts with what was spent in its current period.
func (bs BudgetsTx) Add(ctx context.Context, b BudgetRow) error {
	if err := bs.lockTeam(ctx, b.Team); err != nil {
		return err
	}
	if err := budgetFields.add(ctx, bs.tx, &b); err != nil {
		return fmt.Errorf("add budget %s: %w", b.UID, err)
	}
	bs.tx.Nudge(TopicBudgets)
	return bs.openAccount(ctx, b)
}

// Update stores the changed fields of a budget that [BudgetsTx.Lock] has read. before is the budget as it was read.
func (bs BudgetsTx) Update(ctx context.Context, before, b BudgetRow) error {
	n, err := bs.tx.exec(ctx, setBudget, budgetFields.changes(&b, b.UID, b.Team)...)
	if err != nil {
		return fmt.Errorf("change budget %s: %w", b.UID, err)
	}
	if n == 0 {
		return penstock.NotFound("budget", b.UID)
	}
	bs.tx.Nudge(TopicBudgets)
	if before.Period == b.Period && before.TimeZone == b.TimeZone {
		return nil
	}
	if err := bs.closeAccounts(ctx, b.UID); err != nil { // they are of other periods
		return err
	}
	return bs.openAccount(ctx, b)
}

// Delete removes a budget; absence is penstock.CodeNotFound.
func (bs BudgetsTx) Delete(ctx context.Context, team, uid string) error {
	if err := bs.lockTeam(ctx, team); err != nil {
		return err
	}
	n, err := bs.tx.exec(ctx, "DELETE FROM budgets WHERE uid = $1 AND team = $2", uid, team)
	if err != nil {
		return fmt.Errorf("delete budget %s: %w", uid, err)
	}
	if n == 0 {
		return penstock.NotFound("budget", uid)
	}
	bs.tx.Nudge(TopicBudgets)
	return bs.closeAccounts(ctx, uid)
}

// SetRunBudget changes the caps of a run's own budget: cost in nano-dollars, and tokens. 0 removes a cap.
func (bs BudgetsTx) SetRunBudget(ctx context.Context, team, id string, cost, tokens int64) error {
	if err := bs.lockTeam(ctx, team); err != nil {
		return err
	}
	run, err := bs.tx.Runs().Lock(ctx, id)
	if err != nil {
		return err
	}
	if _, err := bs.tx.exec(ctx, `UPDATE runs
		SET max_cost = $1, max_tokens = $2, updated_at = $3
		WHERE id = $4`, cost, tokens, int64(penstock.Now()), id); err != nil {
		return fmt.Errorf("set the budget of run %s: %w", id, err)
	}
	bs.tx.Nudge(TopicBudgets)
	bs.tx.Nudge(RunTopic(id))
	switch had, has := run.MaxCost+run.MaxTokens > 0, cost+tokens > 0; {
	case had && !has: // nobody keeps it up to date
		return bs.closeAccounts(ctx, id)
	case has && !had:
		return bs.addAccount(ctx, AccountKey{Budget: id}, run.Team, ofRun(id), run.CreatedAt.Add(-clockSkew))
	}
	return nil
}

// clockSkew is more than the clocks of servers and database differ.
const clockSkew = 24 * time.Hour

// lockTeam keeps every reservation and settlement of the team out until the transaction ends. It comes
// before the lock of a run.
func (bs BudgetsTx) lockTeam(ctx context.Context, team string) error {
	return bs.order(ctx, bs.tx.s.d.lockBudgets, "uid = $1", team)
}

// Share keeps the budgets of a run's team from being added, changed or removed until the transaction
// ends. It comes before the lock of the run. A transaction that may count calls begins with it.
func (bs BudgetsTx) Share(ctx context.Context, runID string) error {
	return bs.shareOf(ctx, []string{runID})
}

func (bs BudgetsTx) shareOf(ctx context.Context, runIDs []string) error {
	for args := range chunks(runIDs, func(id string) []any { return []any{id} }) {
		condition := "uid IN (SELECT team FROM runs WHERE id IN (" + placeholders(1, len(args)) + "))"
		if err := bs.order(ctx, bs.tx.s.d.shareBudgets, condition, args...); err != nil {
			return err
		}
	}
	return nil
}

func (bs BudgetsTx) order(
	ctx context.Context, lock func(condition string) string, condition string, args ...any,
) error {
	if lock == nil {
		return nil
	}
	_, err := bs.tx.exec(ctx, lock(condition), args...)
	return wrapf(err, "lock the budgets of a team")
}

// AccountKey names what was spent of a budget in one period.
type AccountKey struct {
	Budget string        // its UID, or the id of a run for its own
	Start  penstock.Time // of the period; 0 for a total and for a run's own budget
}

func (k AccountKey) compare(other AccountKey) int {
	if k.Budget != other.Budget {
		return strings.Compare(k.Budget, other.Budget)
	}
	return int(k.Start - other.Start)
}

// Account is what was spent of a budget in one period, by the calls that were made in it. Costs are in
// nano-dollars.
type Account struct {
	AccountKey
	SpentCost, SpentTokens       int64
	ReservedCost, ReservedTokens int64 // upper bounds of calls that are not settled
	notified                     int64
}

var accountFields = newResource("budget_accounts", "a",
	textColumn("budget", func(a *Account) *string { return &a.Budget }),
	numberColumn("period_start", func(a *Account) *penstock.Time { return &a.Start }),
	numberColumn("spent_cost", func(a *Account) *int64 { return &a.SpentCost }).editable(),
	numberColumn("spent_tokens", func(a *Account) *int64 { return &a.SpentTokens }).editable(),
	numberColumn("reserved_cost", func(a *Account) *int64 { return &a.ReservedCost }).editable(),
	numberColumn("reserved_tokens", func(a *Account) *int64 { return &a.ReservedTokens }).editable(),
	numberColumn("notified", func(a *Account) *int64 { return &a.notified }).editable(),
)

// accountKey is the key of the budget's account at a time.
func (bs budgetReads) accountKey(b BudgetRow, at penstock.Time) (AccountKey, error) {
	zone, err := bs.zone(b.TimeZone)
	if err != nil {
		return AccountKey{}, fmt.Errorf("read the time zone of budget %s: %w", b.UID, err)
	}
	start, _ := b.Period.At(at, zone)
	return AccountKey{b.UID, start}, nil
}

// zone reads a time zone once.
func (bs budgetReads) zone(name string) (*time.Location, error) {
	known, _ := bs.q.store().zones.Load(name)
	if zone, ok := known.(*time.Location); ok {
		return zone, nil
	}
	zone, err := penstock.ParseZone(name)
	if err == nil {
		bs.q.store().zones.Store(name, zone)
	}
	return zone, err
}

// Spent reads what was spent of each of the budgets in the period that contains a time, by UID. A budget that
// is not in the map has spent nothing.
func (bs Budgets) Spent(ctx context.Context, list []BudgetRow, at penstock.Time) (map[string]Account, error) {
	var keys []AccountKey
	for _, b := range list {
		key, err := bs.accountKey(b, at)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	found, err := bs.accounts(ctx, keys, "")
	out := map[string]Account{}
	for key, a := range found {
		out[key.Budget] = *a
	}
	return out, err
}

// SpentByRun reads what a run and the runs below it have spent of its own budget. It is zero for a run without one.
func (bs Budgets) SpentByRun(ctx context.Context, id string) (Account, error) {
	key := AccountKey{Budget: id}
	found, err := bs.accounts(ctx, []AccountKey{key}, "")
	if a := found[key]; a != nil {
		return *a, err
	}
	return Account{AccountKey: key}, err
}

// accounts reads accounts in the order of their keys. Those that do not exist are absent.
func (bs budgetReads) accounts(
	ctx context.Context, keys []AccountKey, lock string,
) (map[AccountKey]*Account, error) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, AccountKey.compare)
	keys = slices.Compact(keys)
	found := make(map[AccountKey]*Account, len(keys))
	for args := range chunks(keys, func(k AccountKey) []any { return []any{k.Budget, int64(k.Start)} }) {
		var either []string
		for i := 0; i < len(args); i += 2 {
			either = append(either, fmt.Sprintf("(a.budget = $%d AND a.period_start = $%d)", i+1, i+2))
		}
		rows, err := bs.q.query(ctx, "SELECT "+accountFields.selected+`
			FROM budget_accounts a
			WHERE `+strings.Join(either, " OR ")+`
			ORDER BY a.budget`+bs.q.store().d.bytewise+", a.period_start"+lock, args...)
		list, err := collect(bs.q.store(), rows, err, "accounts", func(a *Account) []any { return accountFields.into(a) })
		if err != nil {
			return nil, err
		}
		for i := range list {
			found[list[i].AccountKey] = &list[i]
		}
	}
	return found, nil
}

// openAccount creates the account of the budget's current period. The team's budgets must be locked.
// Accounts of later periods start empty, because the first call of a period creates them.
func (bs BudgetsTx) openAccount(ctx context.Context, b BudgetRow) error {
	now, err := bs.tx.clock(ctx)
	if err != nil {
		return err
	}
	key, err := bs.accountKey(b, now)
	if err != nil {
		return err
	}
	return bs.addAccount(ctx, key, b.Team, ofScope(b.Scope, b.ScopeUID), key.Start)
}

// addAccount creates an account with the sum of the team's calls since a time.
func (bs BudgetsTx) addAccount(
	ctx context.Context, key AccountKey, team string, calls callFilter, since penstock.Time,
) error {
	a := Account{AccountKey: key}
	if err := bs.tx.Calls().sum(ctx, &a, team, calls, since); err != nil {
		return err
	}
	err := accountFields.add(ctx, bs.tx, &a)
	return wrapf(err, "open the account of budget %s", key.Budget)
}

func (bs BudgetsTx) closeAccounts(ctx context.Context, budget string) error {
	_, err := bs.tx.exec(ctx, "DELETE FROM budget_accounts WHERE budget = $1", budget)
	return wrapf(err, "remove the accounts of budget %s", budget)
}

// clock is the database's clock, which all servers share. It is read after the locks that order transactions.
func (tx *Tx) clock(ctx context.Context) (now penstock.Time, err error) {
	if err := tx.row(ctx, "SELECT "+tx.s.d.now).Scan(&now); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	return now, nil
}
