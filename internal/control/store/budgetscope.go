package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// scopeRows has, by scope, what a team's budgets can name: a SELECT of uid and name. The team is $1.
var scopeRows = map[penstock.BudgetScope]string{
	BudgetOfFactory:    "SELECT uid, name FROM factories WHERE team = $1 AND deleted_at = 0",
	BudgetOfAgent:      "SELECT uid, name FROM identities WHERE team = $1 AND deleted_at = 0",
	BudgetOfAutomation: "SELECT uid, name FROM automations WHERE team = $1",
	BudgetOfKey:        "SELECT uid, name FROM api_keys WHERE team = $1 AND revoked_at = 0",
}

// ScopeName returns the name of what a budget of this scope is for; absence is
// penstock.CodeNotFound.
func (bs BudgetsTx) ScopeName(
	ctx context.Context, team string, scope penstock.BudgetScope, uid string,
) (name string, err error) {
	err = bs.tx.row(ctx, "SELECT name FROM ("+scopeRows[scope]+") s WHERE uid = $2", team, uid).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", penstock.NotFound(string(scope), uid)
	}
	return name, wrapf(err, "look for %s %s", scope, uid)
}

// ScopeNames reads the names of what the team's budgets name. A scope that no longer exists is
// absent.
func (bs Budgets) ScopeNames(ctx context.Context, team string) (map[string]string, error) {
	type named struct{ uid, name string }
	names := map[string]string{}
	for _, scope := range BudgetScopes() {
		if scopeRows[scope] == "" {
			continue
		}
		rows, err := bs.s.query(ctx, "SELECT uid, name FROM ("+scopeRows[scope]+`) s
			WHERE uid IN (
				SELECT scope_uid
				FROM budgets
				WHERE team = $1 AND scope = $2
			)`, team, string(scope))
		list, err := collect(bs.s, rows, err, "names of budgets", func(n *named) []any { return []any{&n.uid, &n.name} })
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			names[n.uid] = n.name
		}
	}
	return names, nil
}

// Spent reads what was spent of a budget in the period that contains a time.
func (bs BudgetsTx) Spent(ctx context.Context, b BudgetRow, at penstock.Time) (Account, error) {
	key, err := bs.accountKey(b, at)
	if err != nil {
		return Account{}, err
	}
	found, err := bs.accounts(ctx, []AccountKey{key}, "")
	if a := found[key]; a != nil {
		return *a, err
	}
	return Account{AccountKey: key}, err
}

// Count is how many budgets a team has.
func (bs BudgetsTx) Count(ctx context.Context, team string) (n int, err error) {
	if err := bs.tx.row(ctx, "SELECT count(*) FROM budgets WHERE team = $1", team).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the budgets: %w", err)
	}
	return n, nil
}

// RunToBudget reads a run to change its own budget in this transaction. Until the transaction ends, no call
// of the team is reserved or settled.
func (bs BudgetsTx) RunToBudget(ctx context.Context, team, id string) (RunRow, error) {
	if err := bs.lockTeam(ctx, team); err != nil {
		return RunRow{}, err
	}
	return bs.tx.Runs().Lock(ctx, id)
}

// The scopes. A budget of BudgetOfKey counts the runs that an API key has created.
const (
	BudgetOfTeam       penstock.BudgetScope = "team"
	BudgetOfFactory    penstock.BudgetScope = "factory"
	BudgetOfAgent      penstock.BudgetScope = "agent"
	BudgetOfAutomation penstock.BudgetScope = "automation"
	BudgetOfKey        penstock.BudgetScope = "key"
)

// BudgetScopes lists the scopes, the widest first.
func BudgetScopes() []penstock.BudgetScope {
	return []penstock.BudgetScope{BudgetOfTeam, BudgetOfFactory, BudgetOfAgent, BudgetOfAutomation, BudgetOfKey}
}
