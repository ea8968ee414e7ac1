package factory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// presentAutomations adds the values that are not stored with automations: the times of their
// clocks and their problems.
func (s *Automations) presentAutomations(
	ctx context.Context, factory store.FactoryRow, rows []store.AutomationRow,
) ([]penstock.Automation, error) {
	clocks, err := s.store.Automations.FactoryClocks(ctx, factory.UID)
	if err != nil {
		return nil, err
	}
	check, err := s.Checker(ctx, factory)
	if err != nil {
		return nil, err
	}
	out := make([]penstock.Automation, len(rows))
	for i, row := range rows {
		out[i] = row.Automation
		out[i].Enabled = row.Fires()
		out[i].Triggers = WithClocks(row, clocks)
		if out[i].Problems, err = check.Problems(ctx, row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// WithClocks returns a row's triggers with the times of their clocks.
func WithClocks(row store.AutomationRow, clocks []store.Clock) []penstock.Trigger {
	triggers := slices.Clone(row.Triggers)
	for _, c := range clocks {
		if c.AutomationUID != row.UID || c.N >= len(triggers) || triggers[c.N].Schedule == nil {
			continue
		}
		schedule := *triggers[c.N].Schedule
		schedule.LastRun, schedule.NextRun, schedule.LastError = c.LastAt, c.NextAt, c.LastError
		schedule.TimeZone = schedule.Timezone
		triggers[c.N].Schedule = &schedule
	}
	return triggers
}

// checker finds the problems of a factory's automations. It holds the resources that they
// depend on, read once.
type checker struct {
	s         *Automations
	factory   store.FactoryRow
	webhooks  []store.WebhookRow
	schedules map[string]store.ScheduleRow // nil until one is needed
	tried     map[string]error             // whether a run can be made, by agent, overrides and who pays
}

// Checker reads the resources that the automations of a factory depend on.
func (s *Automations) Checker(ctx context.Context, factory store.FactoryRow) (*checker, error) {
	webhooks, err := s.store.Webhooks.List(ctx, factory.Team, factory.UID)
	return &checker{s: s, factory: factory, webhooks: webhooks, tried: map[string]error{}}, err
}

// Problems returns the reasons why an automation, or one of its triggers, starts no runs.
func (a *checker) Problems(ctx context.Context, row store.AutomationRow) ([]penstock.FieldError, error) {
	var found []penstock.FieldError
	for _, list := range []struct {
		pointer  string
		triggers []penstock.Trigger
	}{{"/triggers", row.Triggers}, {"/continue_on", row.ContinueOn}, {"/closes", row.Closes}} {
		for i, t := range list.triggers {
			problems, err := a.triggerProblems(ctx, fmt.Sprintf("%s/%d", list.pointer, i), t)
			if err != nil {
				return nil, err
			}
			found = append(found, problems...)
		}
	}
	key, err := json.Marshal([]any{row.Agent, row.Overrides, row.PaidBy})
	if err != nil {
		return nil, fmt.Errorf("compare automations: %w", err)
	}
	broken, known := a.tried[string(key)]
	if !known {
		_, broken = a.s.ResolveAutomation(ctx, row)
		a.tried[string(key)] = broken
	}
	if broken == nil {
		return found, nil
	}
	reason, ok := WhyBroken(broken)
	if !ok {
		return nil, broken
	}
	if fields, ok := request.FieldErrors(broken); ok {
		return append(found, fields...), nil
	}
	return append(found, penstock.FieldError{Detail: reason}), nil
}

func (a *checker) triggerProblems(
	ctx context.Context, at string, t penstock.Trigger,
) ([]penstock.FieldError, error) {
	switch {
	case t.Provider == penstock.ProviderWebhook:
		return a.webhookProblems(at, t), nil
	case t.Scheme() != "":
		return a.eventProblems(at, t), nil
	case t.Provider == penstock.ProviderSchedule:
		return a.scheduleProblems(ctx, at, t)
	}
	return []penstock.FieldError{{
		Pointer: at + "/provider",
		Detail: fmt.Sprintf(
			"not connected: no events of %s reach this server, so the trigger never starts a run", t.Provider,
		),
	}}, nil
}

func (a *checker) webhookProblems(at string, t penstock.Trigger) []penstock.FieldError {
	f, _ := t.Webhook()
	var found []penstock.FieldError
	for i, id := range f.WebhookIDs.In {
		pointer := at + "/filter/webhook_ids" + f.WebhookIDs.Pointer(i)
		n := slices.IndexFunc(a.webhooks, func(w store.WebhookRow) bool { return w.UID == id || w.Name == id })
		if n < 0 {
			names := make([]string, len(a.webhooks))
			for j, w := range a.webhooks {
				names[j] = w.Name
			}
			found = append(
				found, penstock.FieldError{Pointer: pointer, Detail: request.Unknown("webhook of this factory", id, names)},
			)
		} else if why := InactiveReason(a.webhooks[n]); why != "" {
			found = append(found, penstock.FieldError{Pointer: pointer, Detail: why})
		}
	}
	return found
}

// eventProblems returns the reasons why no webhook reports a trigger's event, or the keys of
// its filter.
func (a *checker) eventProblems(at string, t penstock.Trigger) []penstock.FieldError {
	var found []penstock.FieldError
	if why := a.undelivered(t.Scheme()); why != "" {
		found = append(
			found,
			penstock.FieldError{
				Pointer: at + "/provider", Detail: "not connected: " + why + ", so the trigger never starts a run",
			},
		)
	}
	for _, key := range trigger.UnreportedKeys(t) {
		found = append(found, penstock.FieldError{
			Pointer: at + "/filter/" + key,
			Detail: fmt.Sprintf(
				"%s does not report this for the event %s, so the trigger never starts a run", t.Provider, t.Event,
			),
		})
	}
	return found
}

// undelivered returns why no webhook with the scheme gets deliveries, or "".
func (a *checker) undelivered(scheme penstock.SignatureScheme) string {
	why := "no webhook of this factory has the signature scheme " + string(scheme)
	for _, w := range a.webhooks {
		if w.SignatureScheme != scheme {
			continue
		}
		if why = InactiveReason(w); why == "" {
			break
		}
	}
	return why
}

// InactiveReason returns why a webhook accepts no deliveries, or "".
func InactiveReason(w store.WebhookRow) string {
	switch {
	case w.PendingSecret:
		return fmt.Sprintf("the webhook %q waits for its secret", w.Name)
	case !w.Enabled:
		return fmt.Sprintf("the webhook %q is disabled", w.Name)
	case w.Suspended:
		return fmt.Sprintf("the webhook %q is suspended", w.Name)
	}
	return ""
}

func (a *checker) scheduleProblems(
	ctx context.Context, at string, t penstock.Trigger,
) ([]penstock.FieldError, error) {
	f, selects := t.Schedules()
	if selects && a.schedules == nil {
		rows, err := a.s.store.Schedules.List(ctx, store.Viewer{Team: a.factory.Team, All: true})
		if err != nil {
			return nil, err
		}
		a.schedules = map[string]store.ScheduleRow{}
		for _, r := range rows {
			if !r.Personal { // personal schedules are visible only to their owner
				a.schedules[r.ID] = r
			}
		}
	}
	var found []penstock.FieldError
	for i, id := range f.ScheduleIDs.In {
		pointer := at + "/filter/schedule_ids" + f.ScheduleIDs.Pointer(i)
		switch r, ok := a.schedules[id]; {
		case !ok:
			found = append(
				found, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf("the team has no schedule %q", id)},
			)
		case !r.Enabled:
			found = append(
				found, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf("the schedule %q is paused", r.Name)},
			)
		}
	}
	return found, nil
}
