package run

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

func (s *Runs) checkPrice(
	ctx context.Context, _ penstock.Principal, _ penstock.RunRequest, run *store.NewRun,
) error {
	return s.CheckPrice(ctx, run.RunRow)
}

// CheckPrice refuses a run under a cap on costs whose model has no price: its first call would be refused. Callers that
// add a key that pays for a run call it again.
func (s *Runs) CheckPrice(ctx context.Context, run store.RunRow) error {
	why := s.withoutPrice(run.Config)
	if why == "" {
		return nil
	}
	capped, err := s.capped(ctx, run)
	if err == nil && capped {
		err = penstock.Errorf(penstock.CodeNotSupported, "%s", why)
	}
	return err
}

// checkSenderPrice refuses a follow-up if its key would bring the first cap on costs to a run whose model
// has no price: every later call of the run would be refused. It also refuses one that would start a new execution
// under a cap.
func (s *Runs) checkSenderPrice(ctx context.Context, p penstock.Principal, run store.RunRow) error {
	why := s.withoutPrice(run.Config)
	if why == "" {
		return nil
	}
	if restarts(run) {
		run.Senders = nil
		if err := s.CheckPrice(ctx, run); err != nil {
			return err
		}
	} else if before, err := s.capped(ctx, run); err != nil || before {
		return err
	}
	run.Senders = penstock.MorePayers(run.Senders, p.PaidBy()...)
	after, err := s.capped(ctx, run)
	if err == nil && after {
		err = penstock.Errorf(penstock.CodeNotSupported, "the key that sends a follow-up pays for what the agent does "+
			"with it, and has a budget: %s", why)
	}
	return err
}

// withoutPrice returns why the model of a configuration has no price, or "". A nil configuration names no model.
func (s *Runs) withoutPrice(config *penstock.Config) string {
	if s.unpriced == nil || config == nil {
		return ""
	}
	return s.unpriced(config.Model())
}

// capped reports whether a cap on costs applies to a run.
func (s *Runs) capped(ctx context.Context, run store.RunRow) (bool, error) {
	if budget := run.Config.Budget; budget != nil && budget.MaxCostUSD > 0 {
		return true, nil
	}
	return s.store.Budgets.CapCosts(ctx, run)
}

// Update changes the run's own budget. A run that the budget blocks continues if it has room now. The
// key of an agent cannot do this: the agent could have it in the run.
func (s *Runs) Update(
	ctx context.Context, p penstock.Principal, id string, req Update,
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
