package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// SharedBudgetRequest creates or changes a budget. In a change, an absent field stays unchanged, null
// sets its default, and Scope and ScopeUID cannot be set.
type SharedBudgetRequest struct {
	Scope      *penstock.BudgetScope  `json:"scope,omitempty"`
	ScopeUID   *string                `json:"scope_uid,omitempty"`
	Period     *penstock.BudgetPeriod `json:"period,omitempty"`
	TimeZone   *string                `json:"time_zone,omitempty"`
	MaxCostUSD *float64               `json:"max_cost_usd,omitempty"`
	Action     *penstock.BudgetAction `json:"action,omitempty"`
	NotifyAt   *[]float64             `json:"notify_at,omitempty"`

	Cleared []string `json:"-"` // the fields that were given as null
}

// maxBudgets is how many budgets a team can have: their list has no pages.
const maxBudgets = 1000

// mayChange returns an error unless p may change budgets. The key of an agent may not, whatever
// its scopes: an agent that gets it in a run could raise the budget of that run.
func mayChange(p penstock.Principal) error {
	if err := access.Require(p, penstock.ScopeAdmin); err != nil {
		return err
	}
	return access.RefuseAgent(p, "change budgets")
}

// List lists the team's budgets, the oldest first.
func (s *Budgets) List(ctx context.Context, p penstock.Principal) ([]penstock.SharedBudget, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	rows, err := s.store.Budgets.List(ctx, p.Team)
	if err != nil {
		return nil, err
	}
	return s.present(ctx, p.Team, rows)
}

// Read returns one budget.
func (s *Budgets) Read(ctx context.Context, p penstock.Principal, uid string) (penstock.SharedBudget, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.SharedBudget{}, err
	}
	return s.readBudget(ctx, p.Team, uid)
}

func (s *Budgets) readBudget(ctx context.Context, team, uid string) (penstock.SharedBudget, error) {
	row, err := s.store.Budgets.Find(ctx, team, uid)
	if err != nil {
		return penstock.SharedBudget{}, err
	}
	list, err := s.present(ctx, team, []store.BudgetRow{row})
	if err != nil {
		return penstock.SharedBudget{}, err
	}
	return list[0], nil
}

// present adds the names of the scopes and of their factories, the current periods, and what is spent
// and reserved in them.
func (s *Budgets) present(
	ctx context.Context, team string, rows []store.BudgetRow,
) ([]penstock.SharedBudget, error) {
	names, err := s.store.Budgets.ScopeNames(ctx, team)
	if err != nil {
		return nil, err
	}
	uids := make([]string, len(rows))
	for i, row := range rows {
		uids[i] = row.ScopeUID
	}
	factories, err := s.store.Factories.NamesOf(ctx, team, uids)
	if err != nil {
		return nil, err
	}
	now := penstock.Now()
	spent, err := s.store.Budgets.Spent(ctx, rows, now)
	if err != nil {
		return nil, err
	}
	list := make([]penstock.SharedBudget, len(rows))
	for i, row := range rows {
		list[i] = presentBudget(row, names[row.ScopeUID], spent[row.UID])
		list[i].FactoryName = factories[row.ScopeUID]
		if list[i].PeriodStart, list[i].PeriodEnd, err = row.PeriodAt(now); err != nil {
			return nil, fmt.Errorf("read budget %s: %w", row.UID, err)
		}
	}
	return list, nil
}

func presentBudget(row store.BudgetRow, scopeName string, spent store.Account) penstock.SharedBudget {
	b := row.SharedBudget
	b.ScopeName = scopeName
	b.SpentUSD, b.ReservedUSD = penstock.USDOf(spent.SpentCost), penstock.USDOf(spent.ReservedCost)
	if b.NotifyAt == nil {
		b.NotifyAt = []float64{}
	}
	return b
}

// Create creates a budget. It counts from the start of the current period.
func (s *Budgets) Create(
	ctx context.Context, p penstock.Principal, req SharedBudgetRequest,
) (penstock.SharedBudget, error) {
	if err := mayChange(p); err != nil {
		return penstock.SharedBudget{}, err
	}
	b := penstock.SharedBudget{
		UID: penstock.NewUID(), Scope: request.Value(req.Scope), ScopeUID: request.Value(req.ScopeUID),
		TimeZone: defaultZone, Action: penstock.BudgetPause, NotifyAt: defaultNotifyAt(), CreatedAt: penstock.Now(),
	}
	if errs := slices.Concat(required(req), checkScope(b), change(&b, req)); errs != nil {
		return penstock.SharedBudget{}, penstock.InvalidFields(onePerField(errs)...)
	}
	// Whether a run without a price is created depends on the budgets of the team, so plans of deliveries are read again.
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.SharedBudget, error) {
		n, err := tx.Budgets().Count(ctx, p.Team)
		if err != nil {
			return b, err
		}
		if n >= maxBudgets {
			return b, penstock.Errorf(penstock.CodeConflict, "the team has %d budgets, the maximum", n)
		}
		name, err := scopeName(ctx, tx, p.Team, b)
		if err != nil {
			return b, err
		}
		row := store.BudgetRow{SharedBudget: b, Team: p.Team}
		if err := tx.Budgets().Add(ctx, row); err != nil {
			return b, err
		}
		now := penstock.Now()
		spent, err := tx.Budgets().Spent(ctx, row, now)
		if err != nil {
			return b, err
		}
		factories, err := tx.Factories().NamesOf(ctx, p.Team, []string{b.ScopeUID})
		if err != nil {
			return b, err
		}
		out := presentBudget(row, name, spent)
		out.FactoryName = factories[b.ScopeUID]
		out.PeriodStart, out.PeriodEnd, err = out.PeriodAt(now)
		return out, err
	})
}

// Update changes a budget. Runs that it blocks continue if it has room now.
func (s *Budgets) Update(
	ctx context.Context, p penstock.Principal, uid string, req SharedBudgetRequest,
) (penstock.SharedBudget, error) {
	if err := mayChange(p); err != nil {
		return penstock.SharedBudget{}, err
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		before, err := tx.Budgets().Lock(ctx, p.Team, uid)
		if err != nil {
			return err
		}
		after := before
		errs := slices.Concat(
			change(&after.SharedBudget, req), fixed("scope", before.Scope, req.Scope),
			fixed("scope_uid", before.ScopeUID, req.ScopeUID),
		)
		if errs != nil {
			return penstock.InvalidFields(onePerField(errs)...)
		}
		return tx.Budgets().Update(ctx, before, after)
	})
	if err != nil {
		return penstock.SharedBudget{}, err
	}
	return s.readBudget(ctx, p.Team, uid)
}

// Delete removes a budget. Runs that it blocks continue.
func (s *Budgets) Delete(ctx context.Context, p penstock.Principal, uid string) error {
	if err := mayChange(p); err != nil {
		return err
	}
	return s.responses.Alter(ctx, p.Team, func(tx *store.Tx) error { return tx.Budgets().Delete(ctx, p.Team, uid) })
}

// required returns an error for each field that a new budget lacks.
func required(req SharedBudgetRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	for _, f := range []struct {
		pointer string
		absent  bool
	}{{"/scope", req.Scope == nil}, {"/period", req.Period == nil}, {"/max_cost_usd", req.MaxCostUSD == nil}} {
		if f.absent {
			errs = append(errs, penstock.FieldError{Pointer: f.pointer, Detail: "is required"})
		}
	}
	return errs
}

// fixed returns an error if a change sets a field that cannot change to another value.
func fixed[T ~string](name string, is T, want *T) []penstock.FieldError {
	if want == nil || *want == is {
		return nil
	}
	return []penstock.FieldError{{Pointer: "/" + name, Detail: "cannot change; create another budget"}}
}

// onePerField drops the further errors of each field: a missing field is also an invalid one.
func onePerField(errs []penstock.FieldError) []penstock.FieldError {
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(e penstock.FieldError) bool {
		repeated := seen[e.Pointer]
		seen[e.Pointer] = true
		return repeated
	})
}

// change applies a request to a budget, and returns what is wrong with the result.
func change(b *penstock.SharedBudget, req SharedBudgetRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	for _, name := range []string{"scope", "period", "max_cost_usd"} {
		if slices.Contains(req.Cleared, name) {
			errs = append(errs, penstock.FieldError{Pointer: "/" + name, Detail: "must not be null"})
		}
	}
	request.Clear(req.Cleared, map[string]func(){
		"time_zone": func() { b.TimeZone = defaultZone },
		"action":    func() { b.Action = penstock.BudgetPause },
		"notify_at": func() { b.NotifyAt = defaultNotifyAt() },
	})
	request.Set(&b.Period, req.Period)
	request.Set(&b.TimeZone, req.TimeZone)
	request.Set(&b.MaxCostUSD, req.MaxCostUSD)
	request.Set(&b.Action, req.Action)
	request.Set(&b.NotifyAt, req.NotifyAt)
	b.TimeZone, b.UpdatedAt = cmp.Or(b.TimeZone, defaultZone), penstock.Now()
	return append(errs, b.Check()...)
}

const defaultZone = "UTC"

func defaultNotifyAt() []float64 { return []float64{0.8} }

// checkScope returns what is wrong with the scope of a new budget, as far as the request shows.
func checkScope(b penstock.SharedBudget) []penstock.FieldError {
	switch {
	case b.Scope == "": // it is missing
		return nil
	case !slices.Contains(store.BudgetScopes(), b.Scope):
		return []penstock.FieldError{{
			Pointer: "/scope", Detail: "must be one of " + request.Enumerated(store.BudgetScopes()),
		}}
	case b.Scope == store.BudgetOfTeam && b.ScopeUID != "":
		return []penstock.FieldError{{Pointer: "/scope_uid", Detail: "must be absent with the scope team"}}
	case b.Scope != store.BudgetOfTeam && b.ScopeUID == "":
		return []penstock.FieldError{{
			Pointer: "/scope_uid", Detail: fmt.Sprintf("is required with the scope %s", b.Scope),
		}}
	}
	return nil
}

// scopeName returns the name of what a new budget is for, or an error if the team has nothing such.
func scopeName(ctx context.Context, tx *store.Tx, team string, b penstock.SharedBudget) (string, error) {
	if b.Scope == store.BudgetOfTeam {
		return "", nil
	}
	name, err := tx.Budgets().ScopeName(ctx, team, b.Scope, b.ScopeUID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return "", penstock.Invalid("/scope_uid", "there is no %s with the uid %.80q", b.Scope, b.ScopeUID)
	}
	return name, err
}
