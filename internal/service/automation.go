package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/filter"
	"github.com/penstock-dev/penstock/internal/store"
)

// ListAutomations lists a factory's automations by name.
func (s *Service) ListAutomations(ctx context.Context, p penstock.Principal, factoryUID string) ([]penstock.Automation, error) {
	if err := require(p, penstock.ScopeFactoriesRead); err != nil {
		return nil, err
	}
	factory, err := s.store.Factory(ctx, p.Team, factoryUID)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Automations(ctx, factory.UID)
	if err != nil {
		return nil, err
	}
	return s.presentAutomations(ctx, factory, rows)
}

// Automation answers one automation of a factory.
func (s *Service) Automation(ctx context.Context, p penstock.Principal, factoryUID, uid string) (penstock.Automation, error) {
	if err := require(p, penstock.ScopeFactoriesRead); err != nil {
		return penstock.Automation{}, err
	}
	return s.readAutomation(ctx, p, factoryUID, uid)
}

// readAutomation reads an automation, with what keeps it from starting runs.
func (s *Service) readAutomation(ctx context.Context, p penstock.Principal, factoryUID, uid string) (penstock.Automation, error) {
	factory, err := s.store.Factory(ctx, p.Team, factoryUID)
	if err != nil {
		return penstock.Automation{}, err
	}
	row, err := s.store.Automation(ctx, factory.UID, uid)
	if err != nil {
		return penstock.Automation{}, err
	}
	list, err := s.presentAutomations(ctx, factory, []store.AutomationRow{row})
	if err != nil {
		return penstock.Automation{}, err
	}
	return list[0], nil
}

// CreateAutomation makes an automation; it fires from the next delivery on.
func (s *Service) CreateAutomation(ctx context.Context, p penstock.Principal, factoryUID string, req penstock.AutomationRequest) (penstock.Automation, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Automation{}, err
	}
	factory, err := s.store.Factory(ctx, p.Team, factoryUID)
	if err != nil {
		return penstock.Automation{}, err
	}
	now := penstock.Now()
	row := store.AutomationRow{
		Automation: penstock.Automation{UID: penstock.NewID(), Enabled: true, CreatedAt: now, UpdatedAt: now}, Team: p.Team, FactoryUID: factory.UID,
	}
	change := automationChange{AutomationRequest: req, all: true}
	if err := change.apply(s, &row); err != nil {
		return penstock.Automation{}, err
	}
	// What is told of the surroundings may be out of date by a moment; what is
	// refused for them is read in the transaction.
	around, err := s.surroundings(ctx, factory)
	if err != nil {
		return penstock.Automation{}, err
	}
	answer := row.Automation
	if answer.Problems, err = around.problems(ctx, row); err != nil {
		return penstock.Automation{}, err
	}
	return edit(ctx, s, p, func(tx *store.Tx) (penstock.Automation, error) {
		factory, err := tx.Factory(ctx, p.Team, factoryUID)
		if err != nil {
			return answer, err
		}
		if err := s.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return answer, err
		}
		if err := change.use(ctx, tx, p, factory, row); err != nil {
			return answer, err
		}
		if err := tx.AddAutomation(ctx, row); err != nil {
			return answer, err
		}
		clocks, err := s.keepAutomation(ctx, tx, row, nil, nil)
		if err != nil {
			return answer, err
		}
		answer.Triggers = withClocks(row, clocks)
		err = s.rewrite(ctx, tx, p, factory.UID)
		return answer, err
	})
}

// UpdateAutomation changes what the request has: an absent field stays and null
// clears. Runs that there are keep their configuration.
func (s *Service) UpdateAutomation(ctx context.Context, p penstock.Principal, factoryUID, uid string, req penstock.AutomationRequest) (penstock.Automation, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Automation{}, err
	}
	_, err := edit(ctx, s, p, func(tx *store.Tx) (struct{}, error) {
		factory, err := tx.Factory(ctx, p.Team, factoryUID)
		if err != nil {
			return struct{}{}, err
		}
		row, err := tx.Automation(ctx, factory.UID, uid)
		if err != nil {
			return struct{}{}, err
		}
		if err := s.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return struct{}{}, err
		}
		before, change := row, automationChange{AutomationRequest: req}
		if err := change.apply(s, &row); err != nil {
			return struct{}{}, err
		}
		if err := change.use(ctx, tx, p, factory, row); err != nil {
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
		err = s.rewrite(ctx, tx, p, factory.UID, renamed{definition.KindAutomation, before.Name, row.Name})
		return struct{}{}, err
	})
	if err != nil {
		return penstock.Automation{}, err
	}
	return s.readAutomation(ctx, p, factoryUID, uid)
}

// keepAutomation stores what goes with an automation that was just stored: who
// it is, and its clocks.
func (s *Service) keepAutomation(ctx context.Context, tx *store.Tx, row store.AutomationRow, before *store.AutomationRow, clocks []store.Clock) ([]store.Clock, error) {
	if err := tx.AddPrincipal(ctx, row.Team, automationActor(row)); err != nil {
		return nil, err
	}
	next, err := setClocks(row, before, clocks, penstock.Now())
	if err != nil {
		return nil, err
	}
	return next, tx.SetClocks(ctx, row.Team, row.UID, next)
}

// DeleteAutomation ends an automation. Runs that it started go on.
func (s *Service) DeleteAutomation(ctx context.Context, p penstock.Principal, factoryUID, uid string) error {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.alter(ctx, p.Team, func(tx *store.Tx) error {
		factory, err := tx.Factory(ctx, p.Team, factoryUID)
		if err != nil {
			return err
		}
		row, err := tx.Automation(ctx, factory.UID, uid)
		if err != nil {
			return err
		}
		if err := s.readOnly(factory, definition.KindAutomation, row.Name); err != nil {
			return err
		}
		if err := tx.DeleteAutomation(ctx, row); err != nil {
			return err
		}
		return s.rewrite(ctx, tx, p, factory.UID)
	})
}

// automationChange is a request for a new automation, or to change one.
type automationChange struct {
	penstock.AutomationRequest
	all bool // of a new one: every field counts as given
}

// given reports whether the request says something about the field that a
// pointer leads to, or into.
func (c automationChange) given(pointer string) bool {
	field, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	said := map[string]bool{
		"name": c.Name != nil, "enabled": c.Enabled != nil, "agent": c.Agent != nil, "prompt": c.Prompt != nil, "triggers": c.Triggers != nil,
		"model": c.Model != nil, "harness": c.Harness != nil, "runner": c.RunnerID != nil, "environment_id": c.EnvironmentID != nil,
		"secrets": c.Secrets != nil, "mcp_servers": c.MCPServers != nil, "worker_host": c.WorkerHost != nil, "credential_strategy": c.CredentialStrategy != nil,
	}
	return c.all || field == "" || said[field] || slices.Contains(c.Cleared, field)
}

// apply makes the row what the request says, and reports all that is wrong with
// what is given. What is not was accepted before.
func (c automationChange) apply(s *Service, row *store.AutomationRow) error {
	o := &row.Overrides
	clearFields(c.Cleared, map[string]func(){
		"name": func() { row.Name = "" }, "agent": func() { row.Agent = "" }, "prompt": func() { row.Prompt = "" }, "triggers": func() { row.Triggers = nil },
		"model": func() { o.Model = "" }, "harness": func() { o.Harness = nil }, "runner": func() { o.RunnerID = "" },
		"environment_id": func() { o.EnvironmentID = "" }, "secrets": func() { o.Secrets = nil }, "mcp_servers": func() { o.MCPServers = nil },
		"worker_host": func() { o.WorkerHost = "" }, "credential_strategy": func() { o.CredentialStrategy = "" },
	})
	set(&row.Enabled, c.Enabled)
	set(&row.Agent, c.Agent)
	set(&row.Prompt, c.Prompt)
	if c.Triggers != nil {
		row.Triggers = givenTriggers(*c.Triggers)
	}
	set(&o.Model, c.Model)
	if c.Harness != nil {
		o.Harness = c.Harness
	}
	set(&o.RunnerID, c.RunnerID)
	set(&o.EnvironmentID, c.EnvironmentID)
	set(&o.Secrets, c.Secrets)
	set(&o.MCPServers, c.MCPServers)
	set(&o.WorkerHost, c.WorkerHost)
	set(&o.CredentialStrategy, c.CredentialStrategy)
	errs := c.check(s, row)
	errs = slices.DeleteFunc(errs, func(e penstock.FieldError) bool { return !c.given(e.Pointer) })
	if len(errs) > 0 {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// givenTriggers drops what only answers say.
func givenTriggers(list []penstock.Trigger) []penstock.Trigger {
	out := slices.Clone(list)
	for i, t := range out {
		if t.Schedule != nil {
			out[i].Schedule = &penstock.CronTrigger{Cron: strings.TrimSpace(t.Schedule.Cron), Name: strings.TrimSpace(t.Schedule.Name), Timezone: t.Schedule.Timezone}
		}
	}
	return out
}

// check reports all that is wrong with an automation by itself, and puts its
// name into its canonical form.
func (c automationChange) check(s *Service, row *store.AutomationRow) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	set(&row.Name, c.Name)
	name, ok := penstock.ResourceName(row.Name)
	switch {
	case name == "":
		bad("/name", "is required")
	case !ok:
		bad("/name", "%s", penstock.ResourceNameRule)
	default:
		row.Name = name
	}
	if slices.Contains(c.Cleared, "enabled") {
		bad("/enabled", "must be true or false")
	}
	checkText(bad, "/agent", row.Agent, maxName)
	if strings.TrimSpace(row.Prompt) == "" {
		bad("/prompt", "is required")
	}
	checkText(bad, "/prompt", row.Prompt, maxAgentPrompt)
	switch n := len(row.Triggers); {
	case n == 0:
		bad("/triggers", "is required: at least one")
	case n > penstock.MaxTriggers:
		bad("/triggers", "has %d triggers; at most %d are allowed", n, penstock.MaxTriggers)
	default:
		errs = append(errs, checkTriggers(row.Triggers)...)
	}
	return append(errs, c.checkOverrides(s, row.Overrides)...)
}

// checkOverrides reports what is wrong with an automation's own configuration.
func (c automationChange) checkOverrides(s *Service, o penstock.Overrides) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if o.Model != "" && o.Harness != nil {
		if c.Model != nil {
			bad("/model", "cannot be given together with harness, which has a model of its own")
		} else {
			bad("/harness", "cannot be given together with model: clear model with null")
		}
	}
	for _, given := range []struct{ pointer, text string }{
		{"/model", o.Model}, {"/runner", o.RunnerID}, {"/environment_id", o.EnvironmentID}, {"/worker_host", o.WorkerHost},
	} {
		checkText(bad, given.pointer, given.text, maxName)
	}
	config := o.Config()
	for _, e := range append(config.Check("", s.harnesses), s.reserved(config)...) {
		e.Pointer = overridePointer(e.Pointer)
		errs = append(errs, e)
	}
	return errs
}

func checkTriggers(list []penstock.Trigger) []penstock.FieldError {
	var errs []penstock.FieldError
	names := map[string]bool{}
	for i, t := range list {
		at := fmt.Sprintf("/triggers/%d", i)
		errs = append(errs, checkTrigger(at, t)...)
		if t.Schedule == nil || t.Schedule.Name == "" {
			continue
		}
		name := t.Schedule.Name
		if names[name] {
			errs = append(errs, penstock.FieldError{Pointer: at + "/schedule/name", Detail: "is the name of another trigger's schedule"})
		}
		names[name] = true
	}
	return errs
}

// checkTrigger reports all that is wrong with a trigger.
func checkTrigger(at string, t penstock.Trigger) []penstock.FieldError {
	errs := t.Check(at)
	if c := t.Schedule; c != nil && t.Provider == penstock.ProviderSchedule {
		checkText(func(pointer, format string, args ...any) {
			errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
		}, at+"/schedule/name", c.Name, maxName)
		errs = append(errs, checkClock(at+"/schedule", *c)...)
	}
	if t.Provider != penstock.ProviderWebhook {
		return errs
	}
	var fields penstock.WebhookFilter
	if json.Unmarshal(t.Filter, &fields) != nil || len(fields.Payload) == 0 || string(fields.Payload) == "null" {
		return errs
	}
	_, err := filter.Parse(fields.Payload)
	found, _ := errorFields(err)
	for _, e := range found {
		errs = append(errs, penstock.FieldError{Pointer: at + "/filter/payload" + e.Pointer, Detail: e.Detail})
	}
	return errs
}

// errorFields are the findings of an invalid request.
func errorFields(err error) ([]penstock.FieldError, bool) {
	told, ok := errors.AsType[*penstock.Error](err)
	if !ok || len(told.Fields) == 0 {
		return nil, false
	}
	return told.Fields, true
}

// use makes sure that what the request names is there when the transaction is
// committed. What it does not mention may be gone: the automation is broken
// then, and says so.
func (c automationChange) use(ctx context.Context, tx *store.Tx, p penstock.Principal, factory store.FactoryRow, row store.AutomationRow) error {
	var errs []penstock.FieldError
	collect := func(err error) error {
		found, ok := errorFields(err)
		errs = append(errs, found...)
		if ok {
			return nil
		}
		return err
	}
	if c.given("/agent") {
		_, err := agentOf(factory, row.Agent)
		if err := collect(err); err != nil {
			return err
		}
	}
	if c.given("/environment_id") {
		if err := collect(useEnvironment(ctx, tx, p, row.EnvironmentID, "/environment_id")); err != nil {
			return err
		}
	}
	if c.given("/secrets") || c.given("/mcp_servers") {
		if err := collect(useSecrets(ctx, tx, p, "", row.Config())); err != nil {
			return err
		}
	}
	errs = slices.DeleteFunc(errs, func(e penstock.FieldError) bool { return !c.given(e.Pointer) })
	if len(errs) > 0 {
		return penstock.InvalidFields(errs...)
	}
	return nil
}
