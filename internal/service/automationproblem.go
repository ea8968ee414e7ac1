package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
)

// presentAutomations adds what is not stored with automations: what their
// clocks know, and why they stay silent.
func (s *Service) presentAutomations(ctx context.Context, factory store.FactoryRow, rows []store.AutomationRow) ([]penstock.Automation, error) {
	clocks, err := s.store.FactoryClocks(ctx, factory.UID)
	if err != nil {
		return nil, err
	}
	around, err := s.surroundings(ctx, factory)
	if err != nil {
		return nil, err
	}
	out := make([]penstock.Automation, len(rows))
	for i, row := range rows {
		out[i] = row.Automation
		out[i].Triggers = withClocks(row, clocks)
		if out[i].Problems, err = around.problems(ctx, row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withClocks are a row's triggers with what its clocks know.
func withClocks(row store.AutomationRow, clocks []store.Clock) []penstock.Trigger {
	triggers := slices.Clone(row.Triggers)
	for _, c := range clocks {
		if c.AutomationUID != row.UID || c.N >= len(triggers) || triggers[c.N].Schedule == nil {
			continue
		}
		told := *triggers[c.N].Schedule
		told.LastRun, told.NextRun, told.LastError = c.LastAt, c.NextAt, c.LastError
		triggers[c.N].Schedule = &told
	}
	return triggers
}

// surroundings is what the automations of a factory depend on, read at one
// time.
type surroundings struct {
	s         *Service
	factory   store.FactoryRow
	webhooks  []store.WebhookRow
	schedules map[string]store.ScheduleRow // nil until one is asked for
	tried     map[string]error             // whether a run can be made, by agent and overrides
}

func (s *Service) surroundings(ctx context.Context, factory store.FactoryRow) (*surroundings, error) {
	webhooks, err := s.store.Webhooks(ctx, factory.Team, factory.UID)
	return &surroundings{s: s, factory: factory, webhooks: webhooks, tried: map[string]error{}}, err
}

// problems are the reasons why an automation, or a trigger of it, stays silent.
func (a *surroundings) problems(ctx context.Context, row store.AutomationRow) ([]penstock.FieldError, error) {
	var found []penstock.FieldError
	for i, t := range row.Triggers {
		at := fmt.Sprintf("/triggers/%d", i)
		switch {
		case !t.Connected():
			found = append(found, penstock.FieldError{Pointer: at + "/provider", Detail: fmt.Sprintf("not connected: no events of %s reach this server, so the trigger stays silent", t.Provider)})
		case t.Provider == penstock.ProviderWebhook:
			found = append(found, a.webhookProblems(at, t)...)
		default:
			problems, err := a.scheduleProblems(ctx, at, t)
			if err != nil {
				return nil, err
			}
			found = append(found, problems...)
		}
	}
	key, err := json.Marshal([]any{row.Agent, row.Overrides})
	if err != nil {
		return nil, fmt.Errorf("compare automations: %w", err)
	}
	broken, known := a.tried[string(key)]
	if !known {
		_, broken = a.s.resolveAutomation(ctx, row)
		a.tried[string(key)] = broken
	}
	if broken == nil {
		return found, nil
	}
	reason, ok := whyBroken(broken)
	if !ok {
		return nil, broken
	}
	if fields, ok := errorFields(broken); ok {
		return append(found, fields...), nil
	}
	return append(found, penstock.FieldError{Detail: reason}), nil
}

func (a *surroundings) webhookProblems(at string, t penstock.Trigger) []penstock.FieldError {
	f, _ := t.Webhook()
	var found []penstock.FieldError
	for i, id := range f.WebhookIDs {
		pointer := fmt.Sprintf("%s/filter/webhook_ids/%d", at, i)
		n := slices.IndexFunc(a.webhooks, func(w store.WebhookRow) bool { return w.UID == id || w.Name == id })
		switch {
		case n < 0:
			names := make([]string, len(a.webhooks))
			for j, w := range a.webhooks {
				names[j] = w.Name
			}
			found = append(found, penstock.FieldError{Pointer: pointer, Detail: unknownName("webhook of this factory", id, names)})
		case a.webhooks[n].PendingSecret:
			found = append(found, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf("the webhook %q waits for its secret", a.webhooks[n].Name)})
		case !a.webhooks[n].Enabled:
			found = append(found, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf("the webhook %q is switched off", a.webhooks[n].Name)})
		case a.webhooks[n].Suspended:
			found = append(found, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf("the webhook %q is suspended", a.webhooks[n].Name)})
		}
	}
	return found
}

func (a *surroundings) scheduleProblems(ctx context.Context, at string, t penstock.Trigger) ([]penstock.FieldError, error) {
	f, selects := t.Schedules()
	if selects && a.schedules == nil {
		rows, err := a.s.store.Schedules(ctx, store.Viewer{Team: a.factory.Team, All: true})
		if err != nil {
			return nil, err
		}
		a.schedules = map[string]store.ScheduleRow{}
		for _, r := range rows {
			if !r.Personal { // somebody's own are theirs alone
				a.schedules[r.ID] = r
			}
		}
	}
	var found []penstock.FieldError
	for i, id := range f.ScheduleIDs {
		pointer := fmt.Sprintf("%s/filter/schedule_ids/%d", at, i)
		switch r, ok := a.schedules[id]; {
		case !ok:
			found = append(found, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf("there is no schedule %q of the team", id)})
		case !r.Enabled:
			found = append(found, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf("the schedule %q is paused", r.Name)})
		}
	}
	return found, nil
}
