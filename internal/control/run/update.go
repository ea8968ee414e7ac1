package run

import (
	"slices"

	"github.com/penstock-dev/penstock"
)

// Update changes a run. Of its configuration, only the budget can change.
type Update struct {
	Config *ConfigUpdate `json:"config,omitempty"`
	// Cleared lists the JSON pointers of the fields that were given as null.
	Cleared []string `json:"-"`
}

// ConfigUpdate is the configuration in an [Update].
type ConfigUpdate struct {
	Budget *BudgetUpdate `json:"budget,omitempty"`
}

// BudgetUpdate changes the caps of a run. An absent one stays unchanged, and null removes it.
type BudgetUpdate struct {
	MaxTotalTokens *int64   `json:"max_total_tokens,omitempty"`
	MaxCostUSD     *float64 `json:"max_cost_usd,omitempty"`
}

// The pointers that an [Update] can clear.
const (
	pointerBudget    = "/config/budget"
	pointerMaxTokens = "/config/budget/max_total_tokens"
	pointerMaxCost   = "/config/budget/max_cost_usd"
)

// UpdateNulls lists the pointers that can be null in an [Update].
func UpdateNulls() []string { return []string{pointerBudget, pointerMaxTokens, pointerMaxCost} }

// budget is never nil.
func (u Update) budget() *BudgetUpdate {
	if u.Config == nil || u.Config.Budget == nil {
		return &BudgetUpdate{}
	}
	return u.Config.Budget
}

// Check returns what is wrong with u. A cap of 0 is refused, because it could be meant as a cap, or as none.
func (u Update) Check() []penstock.FieldError {
	b := u.budget()
	if *b == (BudgetUpdate{}) && len(u.Cleared) == 0 {
		return []penstock.FieldError{{Pointer: pointerBudget, Detail: "is required, with max_cost_usd or max_total_tokens"}}
	}
	var errs []penstock.FieldError
	if b.MaxTotalTokens != nil && *b.MaxTotalTokens <= 0 {
		errs = append(errs, penstock.FieldError{Pointer: pointerMaxTokens, Detail: "must be above 0"})
	}
	if b.MaxCostUSD != nil && (penstock.NanosOf(*b.MaxCostUSD) <= 0 || *b.MaxCostUSD > penstock.MaxBudgetUSD) {
		errs = append(errs, penstock.FieldError{Pointer: pointerMaxCost, Detail: "must be above 0 and at most a billion"})
	}
	return errs
}

// Apply returns the budget after the change; nil stands for no budget.
func (u Update) Apply(before *penstock.Budget) penstock.Budget {
	var after penstock.Budget
	if before != nil {
		after = *before
	}
	cleared := func(pointer string) bool {
		return slices.Contains(u.Cleared, pointer) || slices.Contains(u.Cleared, pointerBudget)
	}
	if cleared(pointerMaxTokens) {
		after.MaxTotalTokens = 0
	}
	if cleared(pointerMaxCost) {
		after.MaxCostUSD = 0
	}
	if b := u.budget(); b.MaxTotalTokens != nil {
		after.MaxTotalTokens = *b.MaxTotalTokens
	}
	if b := u.budget(); b.MaxCostUSD != nil {
		after.MaxCostUSD = *b.MaxCostUSD
	}
	return after
}
