package penstock

import (
	"encoding/json"
	"slices"
)

// Automation starts a run of a factory's agent when one of its triggers fires: the contract's
// Automation.
type Automation struct {
	UID      string    `json:"uid"`
	Name     string    `json:"name"`
	Enabled  bool      `json:"enabled"`
	Agent    string    `json:"agent,omitempty"` // name of an agent of the factory; absent: its foreman
	Title    string    `json:"title,omitempty"` // a TitleTemplate; absent: the automation's name
	Prompt   string    `json:"prompt"`
	Triggers []Trigger `json:"triggers"`
	SubjectRules
	HealthRules
	Health
	OnHollow OnHollow `json:"on_hollow,omitempty"` // absent: alert
	Overrides
	// Problems are the reasons why the automation or one of its triggers starts no runs: a
	// missing agent, webhook or schedule, or a provider that is not connected.
	Problems  []FieldError `json:"problems,omitempty"`
	CreatedAt Time         `json:"created_at"`
	UpdatedAt Time         `json:"updated_at"`
}

// Overrides are the agent's settings that an automation may override for its runs. An override
// replaces the value; it never merges.
type Overrides struct {
	// Model is short for the built-in harness with this model.
	Model         string               `json:"model,omitempty" config:"model_id"`
	Harness       *Harness             `json:"harness,omitempty"`
	RunnerID      string               `json:"runner,omitempty" config:"runner_id"`
	EnvironmentID string               `json:"environment_id,omitempty"`
	Secrets       []string             `json:"secrets,omitzero"` // empty: no secrets, even if weaker layers have some
	MCPServers    map[string]MCPServer `json:"mcp_servers,omitzero"`
	Repositories  []RunRepository      `json:"repositories,omitzero"` // empty: none, even if weaker layers have some
	// HarnessAuthSecrets belong to a harness in a file. The API cannot set them.
	HarnessAuthSecrets json.RawMessage `json:"harness_auth_secrets,omitempty"`
	LayerKeys
}

// Trigger is an event that starts an automation.
type Trigger struct {
	Provider string          `json:"provider"`
	Event    string          `json:"event"`
	Filter   json.RawMessage `json:"filter,omitempty"` // an object whose keys depend on the provider
	Schedule *CronTrigger    `json:"schedule,omitempty"`
}

// The providers that this server supports. GitHub and Linear triggers fire on deliveries to
// webhooks with the signature scheme of the same name.
const (
	ProviderWebhook  = "webhook"
	EventReceived    = "received"
	ProviderSchedule = "schedule"
	EventCronFired   = "cron_fired"
	ProviderGitHub   = "github"
	ProviderLinear   = "linear"
)

// CronTrigger is the schedule of a trigger.
type CronTrigger struct {
	Cron     string `json:"cron"`
	Name     string `json:"name,omitempty"`
	Timezone string `json:"timezone,omitempty"` // IANA; UTC when absent
	// TimeZone is the same by the name that schedules have for it. Responses have both.
	TimeZone string  `json:"time_zone,omitempty"`
	CatchUp  CatchUp `json:"catch_up,omitempty"` // once when absent
	Overlap  Overlap `json:"overlap,omitempty"`  // allow when absent

	// In responses: when it last started a run, when it will next, and why its last time
	// started no run.
	LastRun   Time   `json:"last_run,omitzero"`
	NextRun   Time   `json:"next_run,omitzero"`
	LastError string `json:"last_error,omitempty"`
}

// WebhookFilter is the filter of a webhook trigger.
type WebhookFilter struct {
	WebhookIDs Selection       `json:"webhook_ids"`       // UIDs, or names of the factory's webhooks
	Payload    json.RawMessage `json:"payload,omitempty"` // absent: every delivery
}

// ScheduleFilter is the filter of a schedule trigger without its own schedule.
type ScheduleFilter struct {
	ScheduleIDs Selection `json:"schedule_ids"` // of the team's schedules
}

// Webhook returns the filter of a checked webhook trigger. ok is false for every other trigger.
func (t Trigger) Webhook() (f WebhookFilter, ok bool) {
	return f, t.Provider == ProviderWebhook && json.Unmarshal(t.Filter, &f) == nil
}

// Schedules returns the filter of a checked schedule trigger. ok is false for every other
// trigger, and for a trigger with its own schedule.
func (t Trigger) Schedules() (f ScheduleFilter, ok bool) {
	return f, t.Provider == ProviderSchedule && t.Schedule == nil && json.Unmarshal(t.Filter, &f) == nil
}

// listens returns every trigger of a: those that start runs, continue them or close their subject.
func (a Automation) listens() []Trigger { return slices.Concat(a.Triggers, a.ContinueOn, a.Closes) }

// WebhookIDs lists the UIDs and names of webhooks that a's triggers select, sorted and without
// duplicates.
func (a Automation) WebhookIDs() []string {
	var ids []string
	for _, t := range a.listens() {
		if f, ok := t.Webhook(); ok {
			ids = append(ids, f.WebhookIDs.In...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Schemes lists the signature schemes of the webhooks that report the events of a's triggers,
// sorted and without duplicates.
func (a Automation) Schemes() []SignatureScheme {
	var schemes []SignatureScheme
	for _, t := range a.listens() {
		if scheme := t.Scheme(); scheme != "" {
			schemes = append(schemes, scheme)
		}
	}
	slices.Sort(schemes)
	return slices.Compact(schemes)
}

// EventTriggers returns the triggers on events that webhooks with the signature scheme report.
func EventTriggers(triggers []Trigger, scheme SignatureScheme) []Trigger {
	return slices.DeleteFunc(
		slices.Clone(triggers), func(t Trigger) bool { return t.Scheme() == "" || t.Scheme() != scheme },
	)
}

// PayloadFilters returns the payload filters of the triggers that select a webhook. A nil
// filter matches every delivery. A delivery fires an automation once if any of them matches.
func PayloadFilters(triggers []Trigger, webhookUID, webhookName string) []json.RawMessage {
	var filters []json.RawMessage
	for _, t := range triggers {
		if f, ok := t.Webhook(); ok && f.WebhookIDs.Has(webhookUID, webhookName) {
			if absent(f.Payload) {
				f.Payload = nil
			}
			filters = append(filters, f.Payload)
		}
	}
	return filters
}

// ScheduleIDs lists the schedules that fire a, sorted and without duplicates.
func (a Automation) ScheduleIDs() []string {
	var ids []string
	for _, t := range a.Triggers {
		if f, ok := t.Schedules(); ok {
			ids = append(ids, f.ScheduleIDs.In...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Config returns the automation's layer of a run's configuration.
func (o Overrides) Config() *Config {
	var c Config
	CarryKeys(&c, o)
	return c.withHarness()
}
