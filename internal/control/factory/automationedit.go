package factory

import (
	"context"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// CreateAutomation creates an automation. It fires from the next delivery on.
func (s *Resources) CreateAutomation(
	ctx context.Context, p penstock.Principal, factoryUID string, req AutomationRequest,
) (penstock.Automation, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Automation{}, err
	}
	factory, err := s.store.Factories.Find(ctx, p.Team, factoryUID)
	if err != nil {
		return penstock.Automation{}, err
	}
	if err := s.checkConnections(ctx, p, factoryUID, req.Repositories); err != nil {
		return penstock.Automation{}, err
	}
	now := penstock.Now()
	row := store.AutomationRow{
		Automation: penstock.Automation{UID: penstock.NewID(), Enabled: true, CreatedAt: now, UpdatedAt: now}, Team: p.Team,
		FactoryUID: factory.UID,
	}
	change := Change{AutomationRequest: req, All: true}
	if err := change.Apply(s.automations, &row); err != nil {
		return penstock.Automation{}, err
	}
	if err := refuseAdded(p, nil, row.Repositories); err != nil {
		return penstock.Automation{}, err
	}
	// The reported problems may be slightly out of date. The transaction reads everything that
	// can reject the request.
	around, err := s.automations.Checker(ctx, factory)
	if err != nil {
		return penstock.Automation{}, err
	}
	response := row.Automation
	if response.Problems, err = around.Problems(ctx, row); err != nil {
		return penstock.Automation{}, err
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Automation, error) {
		factory, err := tx.Factories().Find(ctx, p.Team, factoryUID)
		if err != nil {
			return response, err
		}
		if err := s.repositories.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return response, err
		}
		if err := change.Use(ctx, tx, p, factory, row); err != nil {
			return response, err
		}
		if err := s.factories.edit(ctx, tx, p, factory.UID, automationEdit(factory, "", row.Automation)); err != nil {
			return response, err
		}
		made, err := tx.Automations().Find(ctx, factory.UID, row.UID)
		if err != nil {
			return response, err
		}
		problems := response.Problems
		response = made.Automation
		response.Problems = problems
		clocks, err := tx.Automations().Clocks(ctx, row.UID)
		response.Triggers = WithClocks(made, clocks)
		return response, err
	})
}

// UpdateAutomation changes the given fields: an absent field stays unchanged, and null clears.
// Existing runs keep their configuration.
func (s *Resources) UpdateAutomation(
	ctx context.Context, p penstock.Principal, factoryUID, uid string, req AutomationRequest,
) (penstock.Automation, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Automation{}, err
	}
	if err := s.checkConnections(ctx, p, factoryUID, req.Repositories); err != nil {
		return penstock.Automation{}, err
	}
	_, err := access.Edit(ctx, s.responses, p, func(tx *store.Tx) (struct{}, error) {
		factory, err := tx.Factories().Find(ctx, p.Team, factoryUID)
		if err != nil {
			return struct{}{}, err
		}
		row, err := tx.Automations().Find(ctx, factory.UID, uid)
		if err != nil {
			return struct{}{}, err
		}
		resume := row.Paused != nil && req.Enabled != nil && *req.Enabled
		if resume && row.Enabled && req.onlyEnables() { // nothing of its file changes
			return struct{}{}, tx.Automations().SetHealth(ctx, healthOf(row, true), penstock.Now())
		}
		if err := s.repositories.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return struct{}{}, err
		}
		before, change := row, Change{AutomationRequest: req}
		if err := change.Apply(s.automations, &row); err != nil {
			return struct{}{}, err
		}
		if err := refuseAdded(p, before.Repositories, row.Repositories); err != nil {
			return struct{}{}, err
		}
		if err := change.Use(ctx, tx, p, factory, row); err != nil {
			return struct{}{}, err
		}
		row.UpdatedAt = penstock.Now()
		err = s.factories.edit(ctx, tx, p, factory.UID, automationEdit(factory, before.Name, row.Automation))
		if err != nil || !resume {
			return struct{}{}, err
		}
		return struct{}{}, tx.Automations().SetHealth(ctx, healthOf(row, true), penstock.Now())
	})
	if err != nil {
		return penstock.Automation{}, err
	}
	return s.automations.ReadAutomation(ctx, p, factoryUID, uid)
}

// onlyEnables reports whether the request does nothing but enable the automation.
func (r AutomationRequest) onlyEnables() bool {
	for _, f := range automationSettable {
		if f.Name != "enabled" && f.Given(&r) {
			return false
		}
	}
	return len(r.Cleared) == 0
}

func healthOf(row store.AutomationRow, resume bool) store.HealthOf {
	return store.HealthOf{
		Source: row.UID, Team: row.Team, Enabled: row.Enabled, Rules: row.HealthRules, Resume: resume,
	}
}

// automationEdit writes the new values of an automation into its document. before is its
// current name in the files, or "".
func automationEdit(factory store.FactoryRow, before string, row penstock.Automation) edit {
	return edit{
		kind: definition.KindAutomation, from: before, to: row.Name, automation: row,
		write: func(document []byte, present *definition.Definition) ([]byte, error) {
			doc := definition.AutomationOf(row)
			for _, agent := range factory.Agents { // files are stricter about case
				if strings.EqualFold(agent.Name, doc.Agent) {
					doc.Agent = agent.Name
				}
			}
			for _, was := range present.Automations {
				if was.Name != before {
					continue
				}
				fromFile := definition.AutomationOf(was.Automation())
				doc.Settings = kept(was.Settings, fromFile.Settings, doc.Settings)
				for _, list := range []struct{ file, was, doc *[]definition.Trigger }{
					{&fromFile.Triggers, &was.Triggers, &doc.Triggers},
					{&fromFile.ContinueOn, &was.ContinueOn, &doc.ContinueOn},
					{&fromFile.Closes, &was.Closes, &doc.Closes},
				} {
					if same(*list.file, *list.doc) {
						*list.doc = *list.was
					}
				}
			}
			return definition.WriteAutomation(document, doc)
		},
	}
}

// DeleteAutomation deletes an automation. Its runs continue.
func (s *Resources) DeleteAutomation(ctx context.Context, p penstock.Principal, factoryUID, uid string) error {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		factory, err := tx.Factories().Find(ctx, p.Team, factoryUID)
		if err != nil {
			return err
		}
		row, err := tx.Automations().Find(ctx, factory.UID, uid)
		if err != nil {
			return err
		}
		if err := s.repositories.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return err
		}
		return s.factories.edit(ctx, tx, p, factory.UID, edit{kind: definition.KindAutomation, from: row.Name})
	})
}

// automations stores the automations with their clocks.
func (a *application) automations(ctx context.Context, d *definition.Definition) error {
	if !a.edits(definition.KindAutomation) {
		return nil
	}
	rows, err := a.tx.Automations().List(ctx, a.factory.UID)
	if err != nil {
		return err
	}
	present := map[string]store.AutomationRow{}
	for _, row := range rows {
		name := a.nameAfter(definition.KindAutomation, row.Name)
		present[name] = row
		if a.deleted(d, definition.KindAutomation, name) {
			if err := a.deletedClocks(ctx, row); err != nil {
				return err
			}
			if err := a.tx.Automations().Delete(ctx, row); err != nil {
				return err
			}
			a.health = append(a.health, store.HealthOf{Source: row.UID})
		}
	}
	for _, doc := range d.Automations {
		before, there := present[doc.Name]
		if err := a.automation(ctx, doc, before, there); err != nil {
			return err
		}
	}
	return nil
}

// deletedClocks gives times of a deleted automation their fate.
func (a *application) deletedClocks(ctx context.Context, row store.AutomationRow) error {
	clocks, err := a.tx.Automations().Clocks(ctx, row.UID)
	if err != nil {
		return err
	}
	return skipClocks(ctx, a.tx, row, clocks, nil, penstock.Now())
}

// automation stores what the document of an automation says.
func (a *application) automation(
	ctx context.Context, doc definition.Automation, before store.AutomationRow, there bool,
) error {
	row := store.AutomationRow{Team: a.factory.Team, FactoryUID: a.factory.UID}
	if a.editsResource(definition.KindAutomation, doc.Name) {
		row.Automation = doc.ApplyTo(a.edit.automation)
		return a.storeAutomation(ctx, row, before, there)
	}
	if a.edit != nil {
		return nil
	}
	row.Automation = doc.ApplyTo(before.Automation)
	a.badFields(definition.KindAutomation, doc.Name, Change{}.Check(a.s.automations, &row))
	a.refuseAdded(definition.KindAutomation, doc.Name, "repositories", before.Repositories, row.Repositories)
	was, is := definition.AutomationOf(before.Automation), definition.AutomationOf(row.Automation)
	if there && was.Prompt == is.Prompt && same(was, is) {
		return nil
	}
	if definition.HasErrors(a.found) {
		return nil // the files are not applied, but more findings may follow
	}
	row.UpdatedAt = penstock.Now()
	if !there {
		row.UID, row.CreatedAt = penstock.NewID(), row.UpdatedAt
	}
	return a.storeAutomation(ctx, row, before, there)
}

// storeAutomation stores an automation with its identity and its clocks.
func (a *application) storeAutomation(ctx context.Context, row, before store.AutomationRow, there bool) error {
	row.PaidBy, row.ByAgent = a.p.PaidBy(), a.byAgent || a.p.IsAgent()
	put := a.tx.Automations().Add
	if there {
		put = a.tx.Automations().Set
	}
	clocks, err := a.tx.Automations().Clocks(ctx, row.UID)
	if err != nil {
		return err
	}
	if there {
		if err := skipClocks(ctx, a.tx, before, clocks, &row, penstock.Now()); err != nil {
			return err
		}
	}
	if err := put(ctx, row); err != nil {
		return err
	}
	if err := a.tx.Keys().AddPrincipal(ctx, row.Team, row.Actor()); err != nil {
		return err
	}
	if there && before.Enabled && !row.Enabled {
		if err := a.tx.Endpoints().AnnouncePause(ctx, row); err != nil {
			return err
		}
	}
	next, err := SetClocks(row, &before, clocks, penstock.Now())
	if err != nil {
		return err
	}
	// A file of an automation that changes is how the owner of a repository fixes it.
	a.health = append(a.health, healthOf(row, a.edit == nil))
	return a.tx.Automations().SetClocks(ctx, row.Team, row.UID, next)
}

// storeHealth stores the settings about health of all automations that have changed. It comes last and in
// one order: runs that end lock these rows, too.
func (a *application) storeHealth(ctx context.Context) error {
	slices.SortFunc(a.health, func(a, b store.HealthOf) int { return strings.Compare(a.Source, b.Source) })
	for _, of := range a.health {
		if err := a.tx.Automations().SetHealth(ctx, of, penstock.Now()); err != nil {
			return err
		}
	}
	return nil
}
