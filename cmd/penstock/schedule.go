package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/penstock-dev/penstock"
)

type scheduleCmds struct {
	connection

	List    listCmd            `cmd:"" help:"List schedules."`
	Create  scheduleCreateCmd  `cmd:"" help:"Create a schedule."`
	Get     getCmd             `cmd:"" help:"Show a schedule and when it fires next."`
	Replace scheduleReplaceCmd `cmd:"" help:"Replace a schedule; omitted fields are removed, but --time-zone, --catch-up, --overlap and --pause-after-failures stay as they are."`
	Pause   actionCmd          `cmd:"" help:"Pause a schedule."`
	Resume  actionCmd          `cmd:"" help:"Resume a paused schedule."`
	Delete  deleteCmd          `cmd:"" help:"Delete a schedule; its runs are kept."`
}

var scheduleNoun = &noun[penstock.Schedule]{
	name: "schedule", id: "ID or name", path: "agent/schedules", key: "schedules",
	head: []string{"SCHEDULE", "NAME", "CRON", "NEXT"},
	row: func(s penstock.Schedule) []string {
		next := "paused"
		if s.Enabled {
			next = nextTime(s)
		}
		return []string{s.ID, s.Name, s.Cron, next}
	},
	facts: scheduleFacts,
	actions: map[string]action{
		"pause":  {method: http.MethodPost, rest: []string{"pause"}},
		"resume": {method: http.MethodPost, rest: []string{"resume"}},
	},
}

// scheduleFields are the flags that describe a schedule.
type scheduleFields struct {
	Name               *string           `field:"/name" help:"Name of the schedule."`
	Cron               string            `placeholder:"EXPRESSION" field:"/cron_schedule" help:"Schedule: five cron fields, or @daily, @hourly, @every 1h."`
	TimeZone           string            `aliases:"timezone" placeholder:"NAME" field:"/time_zone" help:"Time zone of --cron, such as Europe/Berlin; UTC by default."`
	CatchUp            string            `enum:",once,all,none" default:"" placeholder:"HOW" field:"/catch_up" help:"What starts for times that passed while no server was there: once (one run for all; the default), all (one for each, at most 100) or none."`
	Overlap            string            `enum:",allow,queue,skip,replace" default:"" placeholder:"HOW" field:"/overlap" help:"What happens while an earlier run has not ended: allow (start another one; the default), queue, skip, or replace (cancel it)."`
	Prompt             string            `field:"/prompt" help:"Prompt for the agent; - reads it from standard input."`
	Skill              string            `placeholder:"REFERENCE" field:"/skill" help:"Skill to follow."`
	Mode               string            `enum:",normal,plan,orchestrate" default:"" placeholder:"MODE" field:"/mode" help:"Mode of its runs: normal, plan (plan first and ask) or orchestrate."`
	Agent              string            `placeholder:"UID|NAME" field:"/agent_uid" help:"Agent whose name and settings its runs use."`
	Environment        string            `placeholder:"UID|NAME" field:"/agent_config/environment_id" help:"Environment for its runs."`
	Model              string            `placeholder:"ID" field:"/agent_config/model_id" help:"Model, such as demo/offline."`
	Metadata           map[string]string `mapsep:"none" placeholder:"KEY=VALUE" field:"/metadata" help:"Label of its runs; repeatable."`
	PauseAfterFailures *int              `placeholder:"N" field:"/pause_after_failures" help:"Pause it after so many runs in a row that ended FAILED or ERROR; 0, the default, never does."`
	ExpectEvery        *string           `placeholder:"TIME" field:"/expect_every" help:"How often it is expected to start a run, such as 26h. If it does not for so long, it is silent, and event endpoints get a message; 0, the default, never is."`
	Paused             bool              `about:"/enabled" help:"Create it paused; schedule resume starts it."`
	requestBody
}

// check returns an error if there is no file and the flags lack required fields.
func (f *scheduleFields) check(name string) error {
	if f.File != "" {
		return nil
	}
	var missing []string
	if f.Name == nil {
		missing = append(missing, name)
	}
	if f.Cron == "" {
		missing = append(missing, "--cron")
	}
	if f.Prompt == "" && f.Skill == "" {
		missing = append(missing, "--prompt or --skill")
	}
	if missing != nil {
		return exitf(exitUsage, "missing: %s", strings.Join(missing, ", "))
	}
	return nil
}

// body builds the request from the flags and the file.
func (f *scheduleFields) body(ctx context.Context, c *client) (map[string]any, error) {
	if f.Prompt == "-" && f.File == "-" {
		return nil, exitf(exitUsage, "--prompt and --file cannot both be read from standard input")
	}
	var err error
	if f.Prompt, err = c.std.text(f.Prompt); err != nil {
		return nil, err
	}
	if f.Environment, err = environmentNoun.find(ctx, c, f.Environment); err != nil {
		return nil, err
	}
	if f.Agent, err = agentNoun.find(ctx, c, f.Agent); err != nil {
		return nil, err
	}
	flags := fieldsOf(f)
	if f.Paused {
		flags["enabled"] = false
	}
	body, err := f.with(c.std, flags)
	if _, said := body["enabled"]; !said && err == nil {
		body["enabled"] = true
	}
	return body, err
}

func nextTime(s penstock.Schedule) string {
	if s.History == nil || s.History.NextRun == nil {
		return ""
	}
	return timestamp(*s.History.NextRun)
}

type scheduleCreateCmd struct {
	newName
	scheduleFields
}

func (cmd *scheduleCreateCmd) Run(ctx context.Context, std *stdio, in *connection) (err error) {
	if cmd.Name, err = cmd.or(cmd.Name); err != nil {
		return err
	}
	if err := cmd.check("<name>"); err != nil {
		return err
	}
	return scheduleNoun.create(ctx, std, in, cmd.body)
}

type scheduleReplaceCmd struct {
	resourceArg
	scheduleFields
}

func (cmd *scheduleReplaceCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if err := cmd.check("--name"); err != nil {
		return err
	}
	return scheduleNoun.change(ctx, std, in, http.MethodPut, cmd.Target, cmd.body)
}

func scheduleFacts(s penstock.Schedule) []fact {
	config := cmp.Or(s.Config, &penstock.Config{})
	list := []fact{
		{"schedule", s.ID},
		{"name", s.Name},
		{"cron", s.Cron + " " + s.TimeZone},
		{"catch up", string(s.CatchUp)},
		{"overlap", string(s.Overlap)},
		{"enabled", fmt.Sprint(s.Enabled)},
		{"agent", s.AgentUID},
		{"environment", config.EnvironmentID},
		{"model", config.ModelID},
		{"skill", config.SkillSpec},
		{"mode", string(s.Mode)},
		{"metadata", pairs(s.Metadata)},
		{"created", timestamp(s.CreatedAt)},
		{"created by", actor(s.CreatedBy)},
	}
	list = append(list, healthFacts(s.HealthRules, s.Health)...)
	if s.History != nil && s.History.LastRan != nil {
		list = append(list, fact{"last ran", timestamp(*s.History.LastRan)})
	}
	if s.LastSpawnError != nil {
		list = append(list, fact{"last error", *s.LastSpawnError})
	}
	for _, at := range s.Upcoming {
		list = append(list, fact{"fires", timestamp(at)})
	}
	return append(list, fact{"prompt", s.Prompt})
}
