package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
)

type scheduleCmds struct {
	connection

	List    scheduleListCmd    `cmd:"" help:"List schedules."`
	Create  scheduleCreateCmd  `cmd:"" help:"Create a schedule."`
	Get     scheduleGetCmd     `cmd:"" help:"Show a schedule and when it fires next."`
	Replace scheduleReplaceCmd `cmd:"" help:"Replace a schedule; omitted fields are removed."`
	Pause   schedulePauseCmd   `cmd:"" help:"Pause a schedule."`
	Resume  scheduleResumeCmd  `cmd:"" help:"Resume a paused schedule."`
	Delete  scheduleDeleteCmd  `cmd:"" help:"Delete a schedule; its runs are kept."`
}

func schedulePath(id string, rest ...string) string {
	return strings.Join(append([]string{"agent/schedules", url.PathEscape(id)}, rest...), "/")
}

// scheduleFields are the flags that describe a schedule.
type scheduleFields struct {
	Name        *string           `field:"/name" help:"Name of the schedule."`
	Cron        string            `placeholder:"EXPRESSION" field:"/cron_schedule" help:"Schedule: five cron fields in UTC, or @daily, @hourly, @every 1h."`
	Prompt      string            `field:"/prompt" help:"Prompt for the agent; - reads it from standard input."`
	Skill       string            `placeholder:"REFERENCE" field:"/skill" help:"Skill to follow."`
	Mode        string            `enum:",normal,plan,orchestrate" default:"" placeholder:"MODE" field:"/mode" help:"Mode of its runs: normal, plan (plan first and ask) or orchestrate."`
	Agent       string            `placeholder:"UID|NAME" field:"/agent_uid" help:"Agent whose name and settings its runs use."`
	Environment string            `placeholder:"UID|NAME" field:"/agent_config/environment_id" help:"Environment for its runs."`
	Model       string            `placeholder:"ID" field:"/agent_config/model_id" help:"Model, such as demo/offline."`
	Metadata    map[string]string `mapsep:"none" placeholder:"KEY=VALUE" field:"/metadata" help:"Label of its runs; repeatable."`
	Paused      bool              `field:"/enabled" help:"Create it paused; schedule resume starts it."`
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
func (f *scheduleFields) body(ctx context.Context, std *stdio, c *client) (map[string]any, error) {
	if f.Prompt == "-" && f.File == "-" {
		return nil, exitf(exitUsage, "--prompt and --file cannot both be read from standard input")
	}
	prompt, err := std.text(f.Prompt)
	if err != nil {
		return nil, err
	}
	config := penstock.Config{ModelID: f.Model}
	if config.EnvironmentID, err = c.environmentUID(ctx, f.Environment); err != nil {
		return nil, err
	}
	request := penstock.ScheduleRequest{
		Cron: f.Cron, Prompt: prompt, Mode: penstock.Mode(f.Mode), Skill: f.Skill, Metadata: f.Metadata, Config: &config,
	}
	if request.AgentUID, err = c.agentUID(ctx, f.Agent); err != nil {
		return nil, err
	}
	if f.Paused {
		request.Enabled = new(bool)
	}
	flags, err := toMap(request)
	if err != nil {
		return nil, err
	}
	delete(flags, "name") // name and cron_schedule have no omitempty, and an empty one must not hide the file's value
	if f.Name != nil {
		flags["name"] = *f.Name
	}
	if f.Cron == "" {
		delete(flags, "cron_schedule")
	}
	body, err := f.with(std, flags)
	if _, said := body["enabled"]; !said && err == nil {
		body["enabled"] = true
	}
	return body, err
}

type scheduleListCmd struct{}

func (cmd *scheduleListCmd) Run(ctx context.Context, std *stdio, in *scheduleCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, "agent/schedules", nil, func(l scheduleList) error {
		var rows [][]string
		for _, s := range l.Schedules {
			next := "paused"
			if s.Enabled {
				next = nextTime(s)
			}
			rows = append(rows, []string{s.ID, s.Name, s.Cron, next})
		}
		return std.table([]string{"SCHEDULE", "NAME", "CRON", "NEXT"}, rows)
	})
}

func nextTime(s penstock.Schedule) string {
	if s.History == nil || s.History.NextRun == nil {
		return ""
	}
	return timestamp(*s.History.NextRun)
}

type scheduleList struct {
	Schedules []penstock.Schedule `json:"schedules"`
}

type scheduleCreateCmd struct {
	NewName *string `arg:"" optional:"" name:"name" field:"/name" help:"Name of the schedule; can be set by --name or --file instead."`
	scheduleFields
}

func (cmd *scheduleCreateCmd) Run(ctx context.Context, std *stdio, in *scheduleCmds) (err error) {
	if cmd.Name, err = nameGiven(cmd.NewName, cmd.Name); err != nil {
		return err
	}
	if err := cmd.check("<name>"); err != nil {
		return err
	}
	return in.write(ctx, std, http.MethodPost, "", cmd.body)
}

type scheduleReplaceCmd struct {
	Schedule string `arg:"" name:"schedule" help:"ID or name of the schedule."`
	scheduleFields
}

func (cmd *scheduleReplaceCmd) Run(ctx context.Context, std *stdio, in *scheduleCmds) error {
	if err := cmd.check("--name"); err != nil {
		return err
	}
	return in.write(ctx, std, http.MethodPut, cmd.Schedule, cmd.body)
}

// write sends the result of body for the schedule with this name or id, and shows the schedule in
// the response. "" means a new schedule. A nil body sends nothing.
func (in *scheduleCmds) write(
	ctx context.Context, std *stdio, method, called string,
	body func(context.Context, *stdio, *client) (map[string]any, error), rest ...string,
) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	path := "agent/schedules"
	if method != http.MethodPost || called != "" {
		id, err := c.scheduleID(ctx, called)
		if err != nil {
			return err
		}
		path = schedulePath(id, rest...)
	}
	var request any
	if body != nil {
		if request, err = body(ctx, std, c); err != nil {
			return err
		}
	}
	return perform(ctx, c, method, path, request, func(s penstock.Schedule) error { return std.facts(scheduleFacts(s)) })
}

func scheduleFacts(s penstock.Schedule) []fact {
	config := s.Config
	if config == nil {
		config = &penstock.Config{}
	}
	list := []fact{
		{"schedule", s.ID},
		{"name", s.Name},
		{"cron", s.Cron + " UTC"},
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

type scheduleGetCmd struct {
	Schedule string `arg:"" name:"schedule" help:"ID or name of the schedule."`
}

func (cmd *scheduleGetCmd) Run(ctx context.Context, std *stdio, in *scheduleCmds) error {
	return in.write(ctx, std, http.MethodGet, cmd.Schedule, nil)
}

type schedulePauseCmd struct {
	Schedule string `arg:"" name:"schedule" help:"ID or name of the schedule."`
}

func (cmd *schedulePauseCmd) Run(ctx context.Context, std *stdio, in *scheduleCmds) error {
	return in.write(ctx, std, http.MethodPost, cmd.Schedule, nil, "pause")
}

type scheduleResumeCmd struct {
	Schedule string `arg:"" name:"schedule" help:"ID or name of the schedule."`
}

func (cmd *scheduleResumeCmd) Run(ctx context.Context, std *stdio, in *scheduleCmds) error {
	return in.write(ctx, std, http.MethodPost, cmd.Schedule, nil, "resume")
}

type scheduleDeleteCmd struct {
	Schedule string `arg:"" name:"schedule" help:"ID or name of the schedule."`
}

func (cmd *scheduleDeleteCmd) Run(ctx context.Context, std *stdio, in *scheduleCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	id, err := c.scheduleID(ctx, cmd.Schedule)
	if err != nil {
		return err
	}
	return perform[any](ctx, c, http.MethodDelete, schedulePath(id), nil, nil)
}

// scheduleID returns the id of the schedule with this id or name.
func (c *client) scheduleID(ctx context.Context, called string) (string, error) {
	var list scheduleList
	if _, err := c.call(ctx, http.MethodGet, "agent/schedules", nil, &list); err != nil {
		return "", err
	}
	var named []string
	for _, s := range list.Schedules {
		if s.ID == called {
			return called, nil
		}
		if s.Name == called {
			named = append(named, s.ID)
		}
	}
	return theOne("schedule", called, named)
}
