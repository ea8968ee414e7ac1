package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
)

type automationCmds struct {
	factoryConnection

	List    listCmd             `cmd:"" help:"List automations."`
	Get     getCmd              `cmd:"" help:"Show an automation and any problem that keeps it from firing."`
	Create  automationCreateCmd `cmd:"" help:"Create an automation that starts runs on webhook deliveries or on a schedule."`
	Update  automationUpdateCmd `cmd:"" help:"Change the given fields of an automation."`
	Enable  actionCmd           `cmd:"" help:"Enable an automation."`
	Disable actionCmd           `cmd:"" help:"Disable an automation."`
	Run     automationRunCmd    `cmd:"" help:"Start a run of an automation now, without an event."`
	Delete  deleteAllCmd        `cmd:"" help:"Delete automations; their runs are kept."`
}

var automationNoun = &noun[penstock.Automation]{
	name: "automation", path: "{factory}/automations", key: "automations",
	head: []string{"AUTOMATION", "NAME", "STATE", "TRIGGERS"},
	row: func(a penstock.Automation) []string {
		var triggers []string
		for _, t := range a.Triggers {
			triggers = append(triggers, t.Provider+" "+t.Event)
		}
		return []string{a.UID, a.Name, automationState(a), strings.Join(triggers, ", ")}
	},
	facts:  automationFacts,
	rename: resourceName,
	actions: map[string]action{
		"enable":  {method: http.MethodPatch, body: map[string]any{"enabled": true}},
		"disable": {method: http.MethodPatch, body: map[string]any{"enabled": false}},
	},
}

// resourceName is the name of a webhook or automation that a person may write like its label.
func resourceName(target string) string {
	name, _ := factory.ResourceName(target)
	return name
}

func automationState(a penstock.Automation) string {
	switch {
	case a.Paused != nil:
		return "paused: " + failuresText(a.Paused)
	case !a.Enabled:
		return "disabled"
	case len(a.Problems) == 1:
		return "broken (1 problem)"
	case len(a.Problems) > 1:
		return "broken (" + strconv.Itoa(len(a.Problems)) + " problems)"
	}
	if a.Silent != nil {
		return "silent since " + timestamp(a.Silent.Since)
	}
	if a.Degraded != nil {
		return "degraded: " + failuresText(a.Degraded)
	}
	return "enabled"
}

// failuresText says in a list since when runs in a row have failed.
func failuresText(f *penstock.Failures) string {
	return number(int64(f.Failures)) + " failed since " + timestamp(f.Since)
}

// healthFacts says what failures and silence have done to an automation or schedule.
func healthFacts(r penstock.HealthRules, h penstock.Health) []fact {
	var list []fact
	if r.PauseAfterFailures > 0 {
		list = append(list, fact{"pause after failures", number(int64(r.PauseAfterFailures))})
	}
	if r.ExpectEvery != "" {
		list = append(list, fact{"expect every", string(r.ExpectEvery)})
	}
	if h.Silent != nil {
		list = append(list, fact{"silent", timestamp(h.Silent.Since) + ": " + h.Silent.Reason})
	}
	if h.Paused != nil {
		list = append(list, fact{"paused", timestamp(h.Paused.Since) + ": " + h.Paused.Reason})
	}
	if h.Degraded != nil {
		list = append(list, fact{"degraded", timestamp(h.Degraded.Since) + ": " + h.Degraded.Reason})
	}
	return list
}

func automationFacts(a penstock.Automation) []fact {
	list := []fact{
		{"automation", a.UID},
		{"name", a.Name},
		{"state", automationState(a)},
		{"agent", a.Agent},
		{"title", a.Title},
		{"model", a.Model},
		{"environment", a.EnvironmentID},
		{"secrets", strings.Join(a.Secrets, ", ")},
		{"worker host", a.WorkerHost},
		{"subject", a.Subject},
		{"subject scope", string(a.SubjectScope)},
		{"when busy", string(a.WhenBusy)},
		{"quiet", string(a.Quiet)},
		{"longest wait", string(a.LongestWait)},
		{"keep", string(a.Keep)},
		{"follow-up prompt", a.FollowupPrompt},
	}
	for _, t := range a.ContinueOn {
		list = append(list, fact{"continues on", triggerText(t)})
	}
	for _, t := range a.Closes {
		list = append(list, fact{"closed by", triggerText(t)})
	}
	if a.ClosesRun {
		list = append(list, fact{"closing", "also cancels the run"})
	}
	if a.MaxFollowups != nil {
		list = append(list, fact{"max follow-ups", number(int64(*a.MaxFollowups))})
	}
	list = append(list, healthFacts(a.HealthRules, a.Health)...)
	list = append(list, fact{"on hollow", string(a.OnHollow)})
	for _, t := range a.Triggers {
		list = append(list, fact{"trigger", triggerText(t)})
		if c := t.Schedule; c != nil {
			list = append(
				list, fact{"last run", timestamp(c.LastRun)}, fact{"next run", timestamp(c.NextRun)},
				fact{"last error", c.LastError},
			)
		}
	}
	for _, p := range a.Problems {
		list = append(list, fact{"problem", p.String()})
	}
	return append(
		list, fact{"created", timestamp(a.CreatedAt)}, fact{"changed", timestamp(a.UpdatedAt)}, fact{"prompt", a.Prompt},
	)
}

func triggerText(t penstock.Trigger) string {
	text := t.Provider + " " + t.Event
	if len(t.Filter) > 0 {
		text += " " + string(t.Filter)
	}
	if c := t.Schedule; c != nil {
		text = strings.TrimSpace(text + " " + c.Cron + " " + c.Timezone)
	}
	return text
}

type automationRunCmd struct{ resourceArg }

func (cmd *automationRunCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := automationNoun.dialItem(ctx, std, in, cmd.Target, "run")
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, path, nil, func(run run.Created) error {
		return std.facts([]fact{{"run", run.ID}, {"state", string(run.State)}})
	})
}

// automationFields are the flags that describe an automation.
type automationFields struct {
	Prompt      *string          `field:"/prompt" help:"Prompt for its runs; - reads it from standard input."`
	Title       *string          `field:"/title" help:"Title of its runs. {{data.order}} inserts the value of that key of the payload. By default, the name of the automation."`
	Webhook     []string         `placeholder:"UID|NAME" about:"/triggers/0/filter/webhook_ids" help:"Webhook whose deliveries trigger it; repeatable."`
	Filter      string           `placeholder:"JSON|FILE" about:"/triggers/0/filter/payload" help:"Payload filter for these webhooks: JSON, or a file with JSON; - reads standard input."`
	Cron        string           `placeholder:"EXPRESSION" about:"/triggers/0/schedule/cron /triggers/1/schedule/cron" help:"Schedule: five cron fields, or @daily, @hourly, @every 1h."`
	Timezone    string           `name:"time-zone" aliases:"timezone" placeholder:"NAME" about:"/triggers/0/schedule/timezone /triggers/1/schedule/timezone /triggers/0/schedule/time_zone /triggers/1/schedule/time_zone" help:"Time zone of --cron, such as Europe/Berlin; UTC by default."`
	CatchUp     penstock.CatchUp `enum:",once,all,none" default:"" placeholder:"HOW" about:"/triggers" help:"What starts for times of --cron that passed while no server was there: once (the default), all or none."`
	Overlap     penstock.Overlap `enum:",allow,queue,skip,replace" default:"" placeholder:"HOW" about:"/triggers" help:"What happens at a time of --cron while an earlier run has not ended: allow (the default), queue, skip or replace."`
	Agent       *string          `placeholder:"NAME" field:"/agent" help:"Agent of the factory that does the work; the foreman by default."`
	Environment *string          `placeholder:"UID|NAME" field:"/environment_id" help:"Environment for its runs."`
	Model       *string          `placeholder:"ID" field:"/model" help:"Model, such as demo/offline."`
	Secret      []string         `placeholder:"NAME" field:"/secrets" help:"Managed secret that its runs get as an environment variable; repeatable."`
	subjectFields
	PauseAfterFailures *int    `placeholder:"N" field:"/pause_after_failures" help:"Pause it after so many runs in a row that ended FAILED or ERROR; 0, the default, never does."`
	ExpectEvery        *string `placeholder:"TIME" field:"/expect_every" help:"How often it is expected to start or continue a run, such as 26h. If it does not for so long, it is silent, and event endpoints get a message; 0, the default, never is."`
	OnHollow           *string `placeholder:"alert|fail|none" field:"/on_hollow" help:"What happens to a run that SUCCEEDED without doing anything: alert (endpoints get a message; the default), fail (the run is FAILED) or none."`
	requestBody
}

// subjectFields are the flags about what the events of an automation are about.
type subjectFields struct {
	Subject        *string `placeholder:"TEMPLATE" field:"/subject" help:"What events are about, such as '{{repository.full_name}}#{{pull_request.number}}', or auto. Later events about the same reach the same run."`
	SubjectScope   *string `placeholder:"automation|factory" field:"/subject_scope" help:"Whose events about the same reach the same run: those of this automation (the default), or of all automations of the factory that have factory, which need the same agent, secrets and network."`
	WhenBusy       *string `placeholder:"HOW" field:"/when_busy" help:"What an event does while a run works on its subject: coalesce (one follow-up after the turn; the default), queue, replace or parallel."`
	Quiet          *string `placeholder:"TIME" field:"/quiet" help:"How long no event of the subject must come before something starts, such as 30s."`
	LongestWait    *string `placeholder:"TIME" field:"/longest_wait" help:"The most that events wait for that; 5m by default."`
	Keep           *string `placeholder:"TIME" field:"/keep" help:"How long after its success events continue a run; 14d by default."`
	MaxFollowups   *int    `placeholder:"N" field:"/max_followups" help:"How often events may continue a run before a person has to answer; 20 by default."`
	FollowupPrompt *string `placeholder:"TEXT" field:"/followup_prompt" help:"Prompt for later events; the prompt by default."`
}

// body returns the request from the flags of cmd and the file.
func (f *automationFields) body(ctx context.Context, c *client, cmd any) (map[string]any, error) {
	inputs := 0
	for _, from := range []string{f.Filter, f.File} {
		if from == "-" {
			inputs++
		}
	}
	if f.Prompt != nil && *f.Prompt == "-" {
		inputs++
	}
	if inputs > 1 {
		return nil, exitf(exitUsage, "only one of --prompt, --filter and --file can be read from standard input")
	}
	if err := c.settle(ctx, f.Prompt, f.Environment); err != nil {
		return nil, err
	}
	flags := fieldsOf(cmd)
	triggers, err := f.triggers(c.std)
	if err != nil {
		return nil, err
	}
	if len(triggers) > 0 {
		flags["triggers"] = triggers
	}
	return f.with(c.std, flags)
}

// triggers returns the triggers from the flags: one for webhooks, and one for a schedule.
func (f *automationFields) triggers(std *stdio) ([]penstock.Trigger, error) {
	var list []penstock.Trigger
	switch {
	case f.Filter != "" && len(f.Webhook) == 0:
		return nil, exitf(exitUsage, "--filter needs --webhook")
	case f.Timezone+string(f.CatchUp)+string(f.Overlap) != "" && f.Cron == "":
		return nil, exitf(exitUsage, "--time-zone, --catch-up and --overlap need --cron")
	}
	if len(f.Webhook) > 0 {
		filter := penstock.WebhookFilter{WebhookIDs: penstock.Selection{In: f.Webhook}}
		var err error
		if filter.Payload, err = f.payloadFilter(std); err != nil {
			return nil, err
		}
		raw, err := json.Marshal(filter)
		if err != nil {
			return nil, exitf(exitUsage, "--filter: %w", err)
		}
		list = append(list, penstock.Trigger{Provider: penstock.ProviderWebhook, Event: penstock.EventReceived, Filter: raw})
	}
	if f.Cron != "" {
		list = append(list, penstock.Trigger{
			Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired,
			Schedule: &penstock.CronTrigger{Cron: f.Cron, Timezone: f.Timezone, CatchUp: f.CatchUp, Overlap: f.Overlap},
		})
	}
	return list, nil
}

// payloadFilter reads --filter unchanged, because its numbers must not change.
func (f *automationFields) payloadFilter(std *stdio) ([]byte, error) {
	switch text := strings.TrimSpace(f.Filter); {
	case text == "":
		return nil, nil
	case strings.HasPrefix(text, "{"):
		if !jsontext.Value(text).IsValid() {
			const advice = `put the filter in single quotes, such as '{"type": ["order.paid"]}'`
			return nil, exitf(exitUsage, "--filter is not valid JSON: got %q; %s", text, advice)
		}
		return []byte(text), nil
	}
	return readJSON(std, "--filter", f.Filter)
}

type automationCreateCmd struct {
	Name     string `arg:"" optional:"" field:"/name" help:"Name of the automation; can be set by --file instead."`
	Disabled bool   `about:"/enabled" help:"Create it disabled."`
	automationFields
}

func (cmd *automationCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return automationNoun.create(ctx, std, in, func(ctx context.Context, c *client) (map[string]any, error) {
		body, err := cmd.body(ctx, c, cmd)
		if err == nil && cmd.Disabled {
			body["enabled"] = false
		}
		return body, err
	})
}

type automationUpdateCmd struct {
	resourceArg
	Name *string `field:"/name" help:"New name."`
	automationFields
}

func (cmd *automationUpdateCmd) Help() string {
	return "An empty value clears a field, for example --model=\"\". --webhook and --cron replace all\ntriggers."
}

func (cmd *automationUpdateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return automationNoun.change(
		ctx, std, in, http.MethodPatch, cmd.Target, func(ctx context.Context, c *client) (map[string]any, error) {
			return someChange(cmd.body(ctx, c, cmd))
		},
	)
}
