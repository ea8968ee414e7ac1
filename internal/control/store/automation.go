package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
)

// AutomationRow is an automation with its internal fields.
type AutomationRow struct {
	penstock.Automation // without Problems and the fields that come from clocks
	Team                string
	FactoryUID          string
	PaidBy              []string // the keys that gave it its present form, and pay for its runs
	ByAgent             bool     // one of them is of an agent
}

// Fires reports whether events start runs of the automation: it is enabled, and failures have not paused it.
func (r AutomationRow) Fires() bool { return r.Enabled && r.Paused == nil }

// Actor returns the automation as the actor of its runs. It acts on behalf of no person.
func (r AutomationRow) Actor() penstock.Actor {
	return penstock.Actor{Type: "service_account", UID: r.UID, DisplayName: r.Name}
}

// automationData holds the fields of an automation without a column of their own.
type automationData struct {
	Agent    string             `json:"agent,omitempty"`
	Title    string             `json:"title,omitempty"`
	Prompt   string             `json:"prompt"`
	Triggers []penstock.Trigger `json:"triggers"`
	penstock.SubjectRules
	penstock.HealthRules
	OnHollow  penstock.OnHollow  `json:"on_hollow,omitempty"`
	Overrides penstock.Overrides `json:"overrides,omitzero"`
	ByAgent   bool               `json:"by_agent,omitempty"`
}

// automationFields are the columns of an automation.
var automationFields = newResource("automations", "a",
	textColumn("uid", func(r *automationRecord) *string { return &r.UID }),
	textColumn("team", func(r *automationRecord) *string { return &r.Team }),
	textColumn("factory_uid", func(r *automationRecord) *string { return &r.FactoryUID }),
	textColumn("name", func(r *automationRecord) *string { return &r.Name }).editable(),
	flagColumn("enabled", func(r *automationRecord) *bool { return &r.Enabled }).editable(),
	storedText("environment_id", func(r *automationRecord) string { return r.EnvironmentID }).editable(),
	jsonColumn("data", func(r *automationRecord) *automationData { return &r.data }).editable(),
	numberColumn("created_at", func(r *automationRecord) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *automationRecord) *penstock.Time { return &r.UpdatedAt }).editable(),
	listColumn("paid_by", func(r *automationRecord) *[]string { return &r.PaidBy }).editable(),
)

var (
	automationColumns = "SELECT " + automationFields.selected + ", " + healthFields.orZero +
		" FROM automations a LEFT JOIN health h ON h.source = a.uid "
	setAutomation = automationFields.update("", "uid = ?")
)

// automationRecord is the row of an automation.
type automationRecord struct {
	AutomationRow
	data automationData
}

func (r AutomationRow) record() *automationRecord {
	return &automationRecord{r, automationData{
		r.Agent, r.Title, r.Prompt, r.Triggers, r.SubjectRules, r.HealthRules, r.OnHollow, r.Overrides,
		r.ByAgent,
	}}
}

func scanAutomation(row scanner) (AutomationRow, error) {
	var r automationRecord
	var h healthRow
	err := row.Scan(automationFields.into(&r, healthFields.into(&h)...)...)
	r.Agent, r.Title, r.Prompt = r.data.Agent, r.data.Title, r.data.Prompt
	r.Triggers, r.SubjectRules, r.Overrides = r.data.Triggers, r.data.SubjectRules, r.data.Overrides
	r.ByAgent = r.data.ByAgent
	r.HealthRules, r.Health, r.OnHollow = r.data.HealthRules, h.health(r.data.HealthRules), r.data.OnHollow
	return r.AutomationRow, err
}

// List returns a factory's automations by name.
func (a automationReads) List(ctx context.Context, factoryUID string) ([]AutomationRow, error) {
	return a.read(ctx, "WHERE a.factory_uid = $1 ORDER BY a.name", factoryUID)
}

// OfWebhook lists the enabled automations of the webhook's factory that it can start, by name.
// One of their triggers selects the webhook by UID or name, or its events come from webhooks with
// this signature scheme.
func (a Automations) OfWebhook(ctx context.Context, w WebhookRow) ([]AutomationRow, error) {
	return a.read(ctx, `WHERE a.enabled = 1 AND a.uid IN (
			SELECT w.automation_uid
			FROM automation_webhooks w
			WHERE w.factory_uid = $1 AND w.webhook IN ($2, $3, $4)
		)
		ORDER BY a.name`, w.FactoryUID, w.UID, w.Name, ofScheme(w.SignatureScheme))
}

// OfConnection lists the enabled automations of a team that wait for events of a signature scheme, by factory and
// name.
func (a Automations) OfConnection(
	ctx context.Context, team string, scheme penstock.SignatureScheme,
) ([]AutomationRow, error) {
	return a.read(ctx, `WHERE a.enabled = 1 AND a.team = $1 AND a.uid IN (
			SELECT w.automation_uid
			FROM automation_webhooks w
			WHERE w.webhook = $2
		)
		ORDER BY a.factory_uid, a.name`, team, ofScheme(scheme))
}

// ofScheme returns the value that stands for all webhooks with a signature scheme in
// automation_webhooks. No webhook has it as UID or name.
func ofScheme(scheme penstock.SignatureScheme) string { return "scheme:" + string(scheme) }

// OfSchedule lists the enabled automations that fire with a
// schedule, in the order of their factories and names.
func (a automationReads) OfSchedule(ctx context.Context, team, scheduleID string) ([]AutomationRow, error) {
	return a.read(ctx, `WHERE a.enabled = 1 AND a.team = $1 AND a.uid IN (
			SELECT c.automation_uid
			FROM automation_schedules c
			WHERE c.schedule_id = $2
		)
		ORDER BY a.factory_uid, a.name`, team, scheduleID)
}

func (a automationReads) read(ctx context.Context, where string, args ...any) ([]AutomationRow, error) {
	rows, err := a.q.query(ctx, automationColumns+where, args...)
	if err != nil {
		return nil, a.q.store().d.mapError(fmt.Errorf("list automations: %w", err))
	}
	defer rows.Close()
	out := []AutomationRow{}
	for rows.Next() {
		r, err := scanAutomation(rows)
		if err != nil {
			return nil, fmt.Errorf("list automations: %w", err)
		}
		out = append(out, r)
	}
	return out, a.q.store().d.mapError(rows.Err())
}

// Find reads one automation of a factory. In a transaction that has called [Tx.Changed], no other one
// changes it until the end. Absence is penstock.CodeNotFound.
func (a automationReads) Find(ctx context.Context, factoryUID, uid string) (AutomationRow, error) {
	r, err := scanAutomation(a.q.row(ctx, automationColumns+"WHERE a.uid = $1 AND a.factory_uid = $2", uid, factoryUID))
	if errors.Is(err, sql.ErrNoRows) {
		return r, penstock.NotFound("automation", uid)
	}
	if err != nil {
		return r, a.q.store().d.mapError(fmt.Errorf("read automation %s: %w", uid, err))
	}
	return r, nil
}

// ByUID reads an automation of any factory; absence is penstock.CodeNotFound.
func (a automationReads) ByUID(ctx context.Context, uid string) (AutomationRow, error) {
	rows, err := a.read(ctx, "WHERE a.uid = $1", uid)
	if err != nil {
		return AutomationRow{}, err
	}
	if len(rows) == 0 {
		return AutomationRow{}, penstock.NotFound("automation", uid)
	}
	return rows[0], nil
}

// Add stores a new automation. A name that its factory uses already
// is a conflict.
func (a AutomationsTx) Add(ctx context.Context, r AutomationRow) error {
	err := automationFields.add(ctx, a.tx, r.record())
	if err != nil {
		return a.tx.nameTaken(err, "an automation", r.Name)
	}
	return a.link(ctx, r)
}

// Set stores an automation that was read and changed in the
// transaction.
func (a AutomationsTx) Set(ctx context.Context, r AutomationRow) error {
	_, err := a.tx.exec(ctx, setAutomation, automationFields.changes(r.record(), r.UID)...)
	if err != nil {
		return a.tx.nameTaken(err, "an automation", r.Name)
	}
	return a.link(ctx, r)
}

// Delete removes an automation that was read in the transaction. Runs
// that it started keep its name.
func (a AutomationsTx) Delete(ctx context.Context, r AutomationRow) error {
	if _, err := a.tx.exec(ctx, "DELETE FROM automations WHERE uid = $1", r.UID); err != nil {
		return fmt.Errorf("delete automation %s: %w", r.UID, err)
	}
	if _, err := a.tx.exec(ctx, `DELETE FROM automation_clocks
		WHERE automation_uid = $1`, r.UID); err != nil {
		return fmt.Errorf("delete the clocks of automation %s: %w", r.UID, err)
	}
	r.Triggers, r.Overrides = nil, penstock.Overrides{}
	return a.link(ctx, r)
}

// link records the webhooks, schedules and secrets that an automation refers to.
func (a AutomationsTx) link(ctx context.Context, r AutomationRow) error {
	for _, statement := range []string{
		"DELETE FROM automation_webhooks WHERE automation_uid = $1",
		"DELETE FROM automation_schedules WHERE automation_uid = $1",
	} {
		if _, err := a.tx.exec(ctx, statement, r.UID); err != nil {
			return fmt.Errorf("link automation %s: %w", r.UID, err)
		}
	}
	webhooks := r.WebhookIDs()
	for _, scheme := range r.Schemes() {
		if all := ofScheme(scheme); !slices.Contains(webhooks, all) {
			webhooks = append(webhooks, all)
		}
	}
	for _, webhook := range webhooks {
		if _, err := a.tx.exec(ctx, `INSERT INTO automation_webhooks (factory_uid, webhook, automation_uid)
			VALUES ($1, $2, $3)`, r.FactoryUID, webhook, r.UID); err != nil {
			return fmt.Errorf("link automation %s: %w", r.UID, err)
		}
	}
	for _, schedule := range r.ScheduleIDs() {
		if _, err := a.tx.exec(ctx, `INSERT INTO automation_schedules (schedule_id, automation_uid)
			VALUES ($1, $2)`, schedule, r.UID); err != nil {
			return fmt.Errorf("link automation %s: %w", r.UID, err)
		}
	}
	return a.tx.Secrets().SetUses(ctx, r.Team, SecretOfAutomation, r.UID, r.Config().SecretNames())
}
