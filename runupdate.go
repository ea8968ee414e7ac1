package penstock

import "slices"

// RunUpdate changes a run. Of its configuration, only the budget can change.
type RunUpdate struct {
	Config *RunConfigUpdate `json:"config,omitempty"`
	// Cleared lists the JSON pointers of the fields that were given as null.
	Cleared []string `json:"-"`
}

// RunConfigUpdate is the configuration in a [RunUpdate].
type RunConfigUpdate struct {
	Budget *BudgetUpdate `json:"budget,omitempty"`
}

// BudgetUpdate changes the caps of a run. An absent one stays unchanged, and null removes it.
type BudgetUpdate struct {
	MaxTotalTokens *int64   `json:"max_total_tokens,omitempty"`
	MaxCostUSD     *float64 `json:"max_cost_usd,omitempty"`
}

// The pointers that a [RunUpdate] can clear.
const (
	pointerBudget    = "/config/budget"
	pointerMaxTokens = "/config/budget/max_total_tokens"
	pointerMaxCost   = "/config/budget/max_cost_usd"
)

// RunUpdateNulls lists the pointers that can be null in a [RunUpdate].
func RunUpdateNulls() []string { return []string{pointerBudget, pointerMaxTokens, pointerMaxCost} }

// budget is never nil.
func (u RunUpdate) budget() *BudgetUpdate {
	if u.Config == nil || u.Config.Budget == nil {
		return &BudgetUpdate{}
	}
	return u.Config.Budget
}

// Check returns what is wrong with u. A cap of 0 is refused, because it could be meant as a cap, or as none.
func (u RunUpdate) Check() []FieldError {
	b := u.budget()
	if *b == (BudgetUpdate{}) && len(u.Cleared) == 0 {
		return []FieldError{{pointerBudget, "is required, with max_cost_usd or max_total_tokens"}}
	}
	var errs []FieldError
	if b.MaxTotalTokens != nil && *b.MaxTotalTokens <= 0 {
		errs = append(errs, FieldError{pointerMaxTokens, "must be above 0"})
	}
	if b.MaxCostUSD != nil && (NanosOf(*b.MaxCostUSD) <= 0 || *b.MaxCostUSD > MaxBudgetUSD) {
		errs = append(errs, FieldError{pointerMaxCost, "must be above 0 and at most a billion"})
	}
	return errs
}

// Apply returns the budget after the change; nil stands for no budget.
func (u RunUpdate) Apply(before *Budget) Budget {
	var after Budget
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
