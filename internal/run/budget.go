package run

import (
	"cmp"
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/store"
)

// checkPrice refuses a run under a cap on costs whose model has no price: its first call would be refused.
func (s *Runs) checkPrice(
	ctx context.Context, _ penstock.Principal, _ penstock.RunRequest, run *store.NewRun,
) error {
	if s.unpriced == nil {
		return nil
	}
	why := s.unpriced(cmp.Or(run.Config.Harness.ModelID, run.Config.ModelID))
	if why == "" {
		return nil
	}
	capped := run.Config.Budget != nil && run.Config.Budget.MaxCostUSD > 0
	if !capped {
		var err error
		if capped, err = s.store.Budgets.CapCosts(ctx, run.RunRow); err != nil {
			return err
		}
	}
	if capped {
		return penstock.Errorf(penstock.CodeNotSupported, "%s", why)
	}
	return nil
}

// Update changes the run's own budget. A run that the budget blocks continues if it has room now. The
// key of an agent cannot do this: the agent could have it in the run.
func (s *Runs) Update(
	ctx context.Context, p penstock.Principal, id string, req penstock.RunUpdate,
) (penstock.Run, error) {
	if err := access.RefuseAgent(p, "change the budget of a run"); err != nil {
		return penstock.Run{}, err
	}
	if _, err := s.writableRun(ctx, p, id); err != nil {
		return penstock.Run{}, err
	}
	if errs := req.Check(); errs != nil {
		return penstock.Run{}, penstock.InvalidFields(errs...)
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		run, err := tx.Budgets().RunToBudget(ctx, p.Team, id)
		if err != nil {
			return err
		}
		budget := req.Apply(run.Config.Budget)
		return tx.Budgets().SetRunBudget(ctx, p.Team, id, penstock.NanosOf(budget.MaxCostUSD), budget.MaxTotalTokens)
	})
	if err != nil {
		return penstock.Run{}, err
	}
	row, err := s.store.Runs.Find(ctx, p.Team, id)
	if err != nil {
		return penstock.Run{}, err
	}
	runs, err := s.Present(ctx, []store.RunRow{row})
	if err != nil {
		return penstock.Run{}, err
	}
	showOnlySkill(&runs[0])
	return runs[0], nil
}
