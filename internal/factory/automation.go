package factory

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/automation"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/store"
)

// CreateAutomation makes an automation; it fires from the next delivery on.
func (s *Resources) CreateAutomation(
	ctx context.Context, p penstock.Principal, factoryUID string, req penstock.AutomationRequest,
) (penstock.Automation, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Automation{}, err
	}
	factory, err := s.store.Factory(ctx, p.Team, factoryUID)
	if err != nil {
		return penstock.Automation{}, err
	}
	now := penstock.Now()
	row := store.AutomationRow{
		Automation: penstock.Automation{UID: penstock.NewID(), Enabled: true, CreatedAt: now, UpdatedAt: now}, Team: p.Team,
		FactoryUID: factory.UID,
	}
	change := automation.Change{AutomationRequest: req, All: true}
	if err := change.Apply(s.automations, &row); err != nil {
		return penstock.Automation{}, err
	}
	// What is told of the surroundings may be out of date by a moment; what is
	// refused for them is read in the transaction.
	around, err := s.automations.Surroundings(ctx, factory)
	if err != nil {
		return penstock.Automation{}, err
	}
	answer := row.Automation
	if answer.Problems, err = around.Problems(ctx, row); err != nil {
		return penstock.Automation{}, err
	}
	return access.Edit(ctx, s.answers, p, func(tx *store.Tx) (penstock.Automation, error) {
		factory, err := tx.Factory(ctx, p.Team, factoryUID)
		if err != nil {
			return answer, err
		}
		if err := s.repositories.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return answer, err
		}
		if err := change.Use(ctx, tx, p, factory, row); err != nil {
			return answer, err
		}
		if err := tx.AddAutomation(ctx, row); err != nil {
			return answer, err
		}
		clocks, err := s.keepAutomation(ctx, tx, row, nil, nil)
		if err != nil {
			return answer, err
		}
		answer.Triggers = automation.WithClocks(row, clocks)
		err = s.factories.rewrite(ctx, tx, p, factory.UID)
		return answer, err
	})
}

// UpdateAutomation changes what the request has: an absent field stays and null
// clears. Runs that there are keep their configuration.
func (s *Resources) UpdateAutomation(
	ctx context.Context, p penstock.Principal, factoryUID, uid string, req penstock.AutomationRequest,
) (penstock.Automation, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Automation{}, err
	}
	_, err := access.Edit(ctx, s.answers, p, func(tx *store.Tx) (struct{}, error) {
		factory, err := tx.Factory(ctx, p.Team, factoryUID)
		if err != nil {
			return struct{}{}, err
		}
		row, err := tx.Automation(ctx, factory.UID, uid)
		if err != nil {
			return struct{}{}, err
		}
		if err := s.repositories.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return struct{}{}, err
		}
		before, change := row, automation.Change{AutomationRequest: req}
		if err := change.Apply(s.automations, &row); err != nil {
			return struct{}{}, err
		}
		if err := change.Use(ctx, tx, p, factory, row); err != nil {
			return struct{}{}, err
		}
		clocks, err := tx.Clocks(ctx, row.UID)
		if err != nil {
			return struct{}{}, err
		}
		row.UpdatedAt = penstock.Now()
		if err := tx.SetAutomation(ctx, row); err != nil {
			return struct{}{}, err
		}
		if _, err = s.keepAutomation(ctx, tx, row, &before, clocks); err != nil {
			return struct{}{}, err
		}
		err = s.factories.rewrite(ctx, tx, p, factory.UID, renamed{definition.KindAutomation, before.Name, row.Name})
		return struct{}{}, err
	})
	if err != nil {
		return penstock.Automation{}, err
	}
	return s.automations.ReadAutomation(ctx, p, factoryUID, uid)
}

// keepAutomation stores what goes with an automation that was just stored: who
// it is, and its clocks.
func (s *Resources) keepAutomation(
	ctx context.Context, tx *store.Tx, row store.AutomationRow, before *store.AutomationRow, clocks []store.Clock,
) ([]store.Clock, error) {
	if err := tx.AddPrincipal(ctx, row.Team, automation.Actor(row)); err != nil {
		return nil, err
	}
	next, err := automation.SetClocks(row, before, clocks, penstock.Now())
	if err != nil {
		return nil, err
	}
	return next, tx.SetClocks(ctx, row.Team, row.UID, next)
}

// DeleteAutomation ends an automation. Runs that it started go on.
func (s *Resources) DeleteAutomation(ctx context.Context, p penstock.Principal, factoryUID, uid string) error {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.answers.Alter(ctx, p.Team, func(tx *store.Tx) error {
		factory, err := tx.Factory(ctx, p.Team, factoryUID)
		if err != nil {
			return err
		}
		row, err := tx.Automation(ctx, factory.UID, uid)
		if err != nil {
			return err
		}
		if err := s.repositories.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return err
		}
		if err := tx.DeleteAutomation(ctx, row); err != nil {
			return err
		}
		return s.factories.rewrite(ctx, tx, p, factory.UID)
	})
}
