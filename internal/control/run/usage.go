package run

import (
	"cmp"
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// OfTeam sums up what the runs of the team have used, personal runs included.
func (s *Usage) OfTeam(
	ctx context.Context, p penstock.Principal, q penstock.UsageQuery,
) (penstock.UsageReport, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.UsageReport{}, err
	}
	zone, err := q.Resolve(penstock.Now())
	if err != nil {
		return penstock.UsageReport{}, err
	}
	report := penstock.UsageReport{From: q.From, To: q.To, GroupBy: q.GroupBy, TimeZone: q.TimeZone}
	if report.Total, err = s.store.Usage.Total(ctx, p.Team, q.From, q.To); err != nil {
		return penstock.UsageReport{}, err
	}
	report.Rows, report.OmittedRows, err = s.store.Usage.Sum(ctx, p.Team, q, zone, penstock.MaxUsageRows)
	if err == nil && (q.GroupBy == penstock.UsageByAgent || q.GroupBy == penstock.UsageByAutomation) {
		err = s.nameFactories(ctx, p.Team, report.Rows)
	}
	if err != nil || !q.Hourly {
		return report, err
	}
	var keys []string
	for _, row := range report.Rows[:min(len(report.Rows), penstock.MaxHourlyRows)] {
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
func (s *Usage) OfRun(ctx context.Context, p penstock.Principal, id string) (penstock.RunUsage, error) {
	seen, err := s.runs.Read(ctx, p, id)
	if err != nil {
		return penstock.RunUsage{}, err
	}
	usage := penstock.RunUsage{}
	if usage.Models, err = s.store.Usage.OfRun(ctx, id); err != nil {
		return penstock.RunUsage{}, err
	}
	usage.Total = penstock.SumUsage(usage.Models)
	if b := seen.Config.Budget; b != nil && *b != (penstock.Budget{}) {
		spent, err := s.store.Budgets.SpentByRun(ctx, id)
		if err != nil {
			return penstock.RunUsage{}, err
		}
		usage.Budget = budgetUsage(*b, spent)
	}
	return usage, nil
}

// OfHarness returns what a run has used, in the shape that clients of its agent read.
func (s *Usage) OfHarness(ctx context.Context, p penstock.Principal, id string) (penstock.HarnessUsage, error) {
	seen, err := s.runs.Read(ctx, p, id)
	if err != nil {
		return penstock.HarnessUsage{}, err
	}
	h := penstock.HarnessUsage{RunID: id, ConversationID: seen.ConversationID}
	var state penstock.HarnessUsageState
	if state.CapturedAt, state.ExecutionID, err = s.store.Usage.LastSettled(ctx, id); err != nil {
		return h, err
	}
	usage := penstock.RunUsage{}
	if usage.Models, err = s.store.Usage.OfRun(ctx, id); err != nil {
		return h, err
	}
	usage.Total = penstock.SumUsage(usage.Models)
	h.Fill(seen.Config.Harness.Kind(), usage, state, penstock.Now())
	return h, nil
}

func budgetUsage(b penstock.Budget, spent store.Account) *penstock.RunBudgetUsage {
	usage := &penstock.RunBudgetUsage{
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
) (penstock.ModelCallPage, error) {
	if _, err := s.runs.Read(ctx, p, id); err != nil {
		return penstock.ModelCallPage{}, err
	}
	calls, next, err := s.store.Usage.CallsOfRun(ctx, id, cursor, cmp.Or(limit, 100))
	page := penstock.ModelCallPage{
		Calls: make([]penstock.ModelCall, len(calls)), PageInfo: penstock.PageInfo{HasNext: next != "", NextCursor: next},
	}
	for i, c := range calls {
		page.Calls[i] = penstock.ModelCall{
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
