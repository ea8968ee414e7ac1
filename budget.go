package penstock

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// BudgetScope says which runs share a budget.
type BudgetScope string

// BudgetPeriod is the time after which a budget starts again at zero.
type BudgetPeriod string

// The periods. A week begins on Monday (ISO 8601). BudgetTotal never ends.
const (
	BudgetDay   BudgetPeriod = "day"
	budgetWeek  BudgetPeriod = "week"
	BudgetMonth BudgetPeriod = "month"
	BudgetTotal BudgetPeriod = "total"
)

// budgetPeriods lists the periods, the shortest first.
func budgetPeriods() []BudgetPeriod {
	return []BudgetPeriod{BudgetDay, budgetWeek, BudgetMonth, BudgetTotal}
}

// At returns the start and the end of the period that contains t, by the clocks of zone. The start is
// included, the end is not. For BudgetTotal both are zero.
func (p BudgetPeriod) At(t Time, zone *time.Location) (start, end Time) {
	local := t.Std().In(zone)
	year, month, day := local.Date()
	midnight := func(month time.Month, day int) Time { return firstOf(year, month, day, zone) }
	switch p {
	case BudgetDay:
		return midnight(month, day), midnight(month, day+1)
	case budgetWeek:
		monday := day - (int(local.Weekday())+6)%7
		return midnight(month, monday), midnight(month, monday+7)
	case BudgetMonth:
		return midnight(month, 1), midnight(month+1, 1)
	}
	return 0, 0
}

// firstOf returns the first instant of a day. Where clocks skip midnight, that is later than 0:00. Where
// they repeat it, time.Date returns the earlier of the two.
func firstOf(year int, month time.Month, day int, zone *time.Location) Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	want := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Day()
	for t.Day() != want { // before the gap
		t = t.Add(15 * time.Minute)
	}
	return TimeOf(t)
}

// ParseZone returns the IANA time zone with this name; "" is UTC.
func ParseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, Errorf(CodeInvalidRequest, "%.80q is not an IANA time zone, such as Europe/Berlin", name)
	}
	return zone, nil
}

// BudgetAction says what happens to a run whose next call would cross a budget.
type BudgetAction string

// The actions.
const (
	BudgetPause  BudgetAction = "pause"  // the run is BLOCKED until the budget has room
	BudgetRefuse BudgetAction = "refuse" // the run is FAILED
)

// budgetActions lists the actions.
func budgetActions() []BudgetAction { return []BudgetAction{BudgetPause, BudgetRefuse} }

// SharedBudget caps the cost of many runs together. The budget of one run is a [Budget].
type SharedBudget struct {
	UID       string      `json:"uid"`
	Scope     BudgetScope `json:"scope"`
	ScopeUID  string      `json:"scope_uid,omitempty"`  // empty for a team
	ScopeName string      `json:"scope_name,omitempty"` // empty if it no longer exists
	// FactoryName is the name of the factory that the scope's agent or automation belongs to; otherwise empty.
	FactoryName string       `json:"factory_name,omitempty"`
	Period      BudgetPeriod `json:"period"`
	TimeZone    string       `json:"time_zone"` // IANA
	MaxCostUSD  float64      `json:"max_cost_usd"`
	Action      BudgetAction `json:"action"`
	NotifyAt    []float64    `json:"notify_at"` // shares of MaxCostUSD, in order
	CreatedAt   Time         `json:"created_at"`
	UpdatedAt   Time         `json:"updated_at"`

	// The current period; zero for BudgetTotal.
	PeriodStart Time `json:"period_start,omitzero"`
	PeriodEnd   Time `json:"period_end,omitzero"`
	// SpentUSD is the cost of its settled calls. ReservedUSD is an upper bound of the others.
	SpentUSD    float64 `json:"spent_usd"`
	ReservedUSD float64 `json:"reserved_usd"`
}

// Name is what people call the budget: "daily budget of the factory payments". scopeName may be empty.
func (b *SharedBudget) Name(scopeName string) string {
	name := "budget of the " + string(b.Scope)
	if scopeName != "" {
		name += " " + scopeName
	}
	switch b.Period {
	case BudgetDay:
		return "daily " + name
	case budgetWeek, BudgetMonth:
		return string(b.Period) + "ly " + name
	}
	return name
}

// PeriodAt is [BudgetPeriod.At] in the time zone of b.
func (b *SharedBudget) PeriodAt(t Time) (start, end Time, err error) {
	zone, err := ParseZone(b.TimeZone)
	if err != nil {
		return 0, 0, err
	}
	start, end = b.Period.At(t, zone)
	return start, end, nil
}

// MaxBudgetUSD is the largest cap of a budget. maxNotifyAt is how many thresholds a budget can have.
const (
	MaxBudgetUSD = 1e9
	maxNotifyAt  = 10
)

// Check returns what is wrong with b besides its scope. It also sorts NotifyAt.
func (b *SharedBudget) Check() []FieldError {
	var errs []FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, FieldError{pointer, fmt.Sprintf(format, args...)})
	}
	if !slices.Contains(budgetPeriods(), b.Period) {
		bad("/period", "must be day, week, month or total")
	}
	if !slices.Contains(budgetActions(), b.Action) {
		bad("/action", "must be pause or refuse")
	}
	if _, err := ParseZone(b.TimeZone); err != nil {
		bad("/time_zone", "must be an IANA time zone, such as Europe/Berlin")
	}
	if !(b.MaxCostUSD >= 0 && b.MaxCostUSD <= MaxBudgetUSD) {
		bad("/max_cost_usd", "must be from 0 to %.0f", MaxBudgetUSD)
	}
	b.NotifyAt = slices.Compact(slices.Sorted(slices.Values(b.NotifyAt)))
	if len(b.NotifyAt) > maxNotifyAt {
		bad("/notify_at", "must have at most %d different values", maxNotifyAt)
	}
	if slices.ContainsFunc(b.NotifyAt, func(share float64) bool { return !(share > 0 && share <= 1) }) {
		bad("/notify_at", "must have values above 0 and up to 1, such as 0.8")
	}
	return errs
}

// nanosPerUSD is how many nano-dollars are a dollar. The ledger counts in nano-dollars.
const nanosPerUSD = 1e9

// NanosOf converts dollars to nano-dollars.
func NanosOf(usd float64) int64 { return int64(math.Round(usd * nanosPerUSD)) }

// USDOf converts nano-dollars to dollars.
func USDOf(nanos int64) float64 { return float64(nanos) / nanosPerUSD }
