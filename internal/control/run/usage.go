package run

import (
	"cmp"
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// UsageReport is what the runs of a team have used between two times.
type UsageReport struct {
	From     penstock.Time       `json:"from"` // included
	To       penstock.Time       `json:"to"`   // not included
	GroupBy  penstock.UsageGroup `json:"group_by"`
	TimeZone string              `json:"time_zone"`
	// Rows are in the order of days, or else those with the highest cost first.
	Rows        []penstock.UsageRow `json:"rows"`
	OmittedRows int                 `json:"omitted_rows"` // beyond the limit of a report
	Total       penstock.UsageSum   `json:"total"`        // also of omitted rows
	// Hourly is nil unless it was asked for.
	Hourly *store.HourlyCosts `json:"hourly,omitempty"`
}

// RunUsage is what a run has used, with all its executions.
type RunUsage struct {
	Models []penstock.UsageRow `json:"models"` // those with the highest cost first
	Total  penstock.UsageSum   `json:"total"`
	Budget *RunBudgetUsage     `json:"budget,omitempty"` // nil if the run has no budget of its own
}

// RunBudgetUsage is the run's own budget, and what the run and the runs below it have spent of it. A nil
// cap is no cap.
type RunBudgetUsage struct {
	MaxCostUSD     *float64 `json:"max_cost_usd,omitempty"`
	SpentUSD       float64  `json:"spent_usd"`
	ReservedUSD    float64  `json:"reserved_usd"`
	MaxTotalTokens *int64   `json:"max_total_tokens,omitempty"`
	SpentTokens    int64    `json:"spent_tokens"`
	ReservedTokens int64    `json:"reserved_tokens"`
}

// The limits of a report.
const (
	maxUsageRows  = 1000
	MaxHourlyRows = 8 // with costs of their own
)

// ModelCall is one call to a model, as the ledger has it.
type ModelCall struct {
	ID          string        `json:"id"`
	ExecutionID int           `json:"execution_id"`
	Provider    string        `json:"provider"`
	Model       string        `json:"model"`
	CreatedAt   penstock.Time `json:"created_at"`
	SettledAt   penstock.Time `json:"settled_at,omitzero"`
	State       string        `json:"state"` // reserved, settled or unsent
	penstock.TokenUsage
	Reasoning int64    `json:"reasoning_tokens"`
	CostUSD   *float64 `json:"cost_usd"` // nil if it is not known; of a reserved call the most that it can be
	Estimated bool     `json:"estimated"`
	Unknown   bool     `json:"unknown"`
}

// ModelCallPage is a page of calls, the newest first.
type ModelCallPage struct {
	Calls    []ModelCall    `json:"calls"`
	PageInfo store.PageInfo `json:"page_info"`
}

// SumUsage adds up rows.
func SumUsage(rows []penstock.UsageRow) penstock.UsageSum {
	var sum penstock.UsageSum
	var priced, reserved int64 // in nano-dollars, which add up exactly
	for _, r := range rows {
		sum.Calls += r.Calls
		sum.TokenUsage = sum.Add(r.TokenUsage)
		sum.Reasoning += r.Reasoning
		sum.UnpricedCalls += r.UnpricedCalls
		sum.EstimatedCalls += r.EstimatedCalls
		sum.UnknownCalls += r.UnknownCalls
		sum.UnsettledCalls += r.UnsettledCalls
		priced, reserved = priced+penstock.NanosOf(r.PricedCostUSD), reserved+penstock.NanosOf(r.ReservedUSD)
	}
	sum.PricedCostUSD, sum.ReservedUSD = penstock.USDOf(priced), penstock.USDOf(reserved)
	if sum.UnpricedCalls == 0 {
		sum.CostUSD = new(sum.PricedCostUSD)
	}
	return sum
}

// OfTeam sums up what the runs of the team have used, personal runs included.
func (s *Usage) OfTeam(
	ctx context.Context, p penstock.Principal, q penstock.UsageQuery,
) (UsageReport, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return UsageReport{}, err
	}
	zone, err := q.Resolve(penstock.Now())
	if err != nil {
		return UsageReport{}, err
	}
	report := UsageReport{From: q.From, To: q.To, GroupBy: q.GroupBy, TimeZone: q.TimeZone}
	if report.Total, err = s.store.Usage.Total(ctx, p.Team, q.From, q.To); err != nil {
		return UsageReport{}, err
	}
	report.Rows, report.OmittedRows, err = s.store.Usage.Sum(ctx, p.Team, q, zone, maxUsageRows)
	if err == nil && (q.GroupBy == penstock.UsageByAgent || q.GroupBy == penstock.UsageByAutomation) {
		err = s.nameFactories(ctx, p.Team, report.Rows)
	}
	if err != nil || !q.Hourly {
		return report, err
	}
	var keys []string
	for _, row := range report.Rows[:min(len(report.Rows), MaxHourlyRows)] {
		keys = append(keys, row.Key)
	}
	report.Hourly, err = s.store.Usage.HourlyCosts(ctx, p.Team, q, keys)
	return report, err
}

// nameFactories adds the factories of agents or automations, because these can share a name.
func (s *Usage) nameFactories(ctx context.Context, team string, rows []penstock.UsageRow) error {
	uids := make([]string, len(rows))
	for i, row := range rows {
		uids[i] = row.Key
	}
	names, err := s.store.Factories.NamesOf(ctx, team, uids)
	for i := range rows {
		rows[i].FactoryName = names[rows[i].Key]
	}
	return err
}

// OfRun returns what a run has used, by model, and what is spent of its own budget.
func (s *Usage) OfRun(ctx context.Context, p penstock.Principal, id string) (RunUsage, error) {
	seen, err := s.runs.Read(ctx, p, id)
	if err != nil {
		return RunUsage{}, err
	}
	usage := RunUsage{}
	if usage.Models, err = s.store.Usage.OfRun(ctx, id); err != nil {
		return RunUsage{}, err
	}
	usage.Total = SumUsage(usage.Models)
	if b := seen.Config.Budget; b != nil && *b != (penstock.Budget{}) {
		spent, err := s.store.Budgets.SpentByRun(ctx, id)
		if err != nil {
			return RunUsage{}, err
		}
		usage.Budget = budgetUsage(*b, spent)
	}
	return usage, nil
}

// OfHarness returns what a run has used, in the shape that clients of its agent read.
func (s *Usage) OfHarness(ctx context.Context, p penstock.Principal, id string) (HarnessUsage, error) {
	seen, err := s.runs.Read(ctx, p, id)
	if err != nil {
		return HarnessUsage{}, err
	}
	h := HarnessUsage{RunID: id, ConversationID: seen.ConversationID}
	var state HarnessUsageState
	if state.CapturedAt, state.ExecutionID, err = s.store.Usage.LastSettled(ctx, id); err != nil {
		return h, err
	}
	usage := RunUsage{}
	if usage.Models, err = s.store.Usage.OfRun(ctx, id); err != nil {
		return h, err
	}
	usage.Total = SumUsage(usage.Models)
	h.Fill(seen.Config.Harness.Kind(), usage, state, penstock.Now())
	return h, nil
}

func budgetUsage(b penstock.Budget, spent store.Account) *RunBudgetUsage {
	usage := &RunBudgetUsage{
		SpentUSD: penstock.USDOf(spent.SpentCost), ReservedUSD: penstock.USDOf(spent.ReservedCost),
		SpentTokens: spent.SpentTokens, ReservedTokens: spent.ReservedTokens,
	}
	if b.MaxCostUSD > 0 {
		usage.MaxCostUSD = &b.MaxCostUSD
	}
	if b.MaxTotalTokens > 0 {
		usage.MaxTotalTokens = &b.MaxTotalTokens
	}
	return usage
}

// CallsOfRun lists one page of the calls of a run to models, the newest first. A limit of 0 is 100.
func (s *Usage) CallsOfRun(
	ctx context.Context, p penstock.Principal, id, cursor string, limit int,
) (ModelCallPage, error) {
	if _, err := s.runs.Read(ctx, p, id); err != nil {
		return ModelCallPage{}, err
	}
	calls, next, err := s.store.Usage.CallsOfRun(ctx, id, cursor, cmp.Or(limit, 100))
	page := ModelCallPage{
		Calls: make([]ModelCall, len(calls)), PageInfo: store.PageInfo{HasNext: next != "", NextCursor: next},
	}
	for i, c := range calls {
		page.Calls[i] = ModelCall{
			ID: c.ID, ExecutionID: c.ExecutionID, Provider: c.Provider, Model: c.Model, CreatedAt: c.CreatedAt,
			SettledAt: c.SettledAt, State: string(c.State), TokenUsage: c.Tokens, Reasoning: c.Reasoning,
			Estimated: c.Estimated, Unknown: c.Unknown,
		}
		if !c.Unpriced {
			page.Calls[i].CostUSD = new(penstock.USDOf(c.Cost))
		}
	}
	return page, err
}
