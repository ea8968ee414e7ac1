package main

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

type runListCmd struct {
	State         []string          `placeholder:"STATE" about:"?state" help:"Only runs in one of these states, such as QUEUED."`
	Status        string            `enum:",running,failed,blocked,cancelled,complete" default:"" placeholder:"STATUS" field:"?task_status" help:"Only runs that are running, failed, blocked, cancelled or complete."`
	Query         string            `short:"q" placeholder:"WORDS" field:"?q" help:"Only runs with all of these words in the title, prompt or skill."`
	Name          string            `field:"?name" help:"Only runs with this configuration name."`
	Model         string            `placeholder:"ID" field:"?model_id" help:"Only runs with this model."`
	Creator       string            `placeholder:"UID" field:"?creator" help:"Only runs created by this user or service account."`
	Source        string            `field:"?source" help:"Only runs from this source, such as API or SCHEDULED_AGENT."`
	Skill         string            `placeholder:"REFERENCE" field:"?skill" help:"Only runs with this skill."`
	Schedule      string            `placeholder:"ID" field:"?schedule_id" help:"Only runs of this schedule."`
	Factory       string            `placeholder:"UID|NAME" field:"?factory_uid" help:"Only runs of this factory."`
	Subject       string            `placeholder:"TEXT" field:"?subject" help:"Only runs on this subject, such as acme/shop#7."`
	Automation    string            `placeholder:"UID" field:"?automation_id" help:"Only runs started by this automation."`
	Webhook       string            `placeholder:"UID" field:"?webhook_uid" help:"Only runs started by deliveries to this webhook."`
	Environment   string            `placeholder:"UID|NAME" field:"?environment_id" help:"Only runs in this environment."`
	Ancestor      string            `placeholder:"RUN" field:"?ancestor_run_id" help:"Only descendants of this run, or of @last."`
	CreatedAfter  string            `placeholder:"TIME|AGE" field:"?created_after" help:"Only runs created after this time (RFC 3339), or less than this long ago (such as 24h)."`
	CreatedBefore string            `placeholder:"TIME|AGE" field:"?created_before" help:"Only runs created before this time (RFC 3339), or more than this long ago (such as 24h)."`
	Metadata      map[string]string `mapsep:"none" placeholder:"KEY=VALUE" about:"?metadata" help:"Only runs with this label; repeatable."`
	SortBy        string            `enum:"updated_at,created_at,title,agent" default:"updated_at" field:"?sort_by" help:"Sort by updated_at, created_at, title or agent (the name of the configuration)."`
	Ascending     bool              `help:"Sort in ascending order."`
	Limit         int               `default:"20" help:"Maximum number of runs; 0 lists all."`
	Cursor        string            `field:"?cursor" help:"Cursor of the next page, as the previous page printed it."`
	Watch         bool              `short:"w" help:"List them every 2 seconds until an interrupt. On a terminal, redraw the table; otherwise print a line for each run that is new or has changed."`
}

func (cmd *runListCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	if cmd.Watch && (cmd.Cursor != "" || cmd.Limit == 0) {
		return exitf(exitUsage, "--watch shows the first page: it needs a --limit, and no --cursor")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	query, err := cmd.query(ctx, c)
	if err != nil {
		return err
	}
	if cmd.Watch {
		return cmd.watch(ctx, std, c, query)
	}
	page, err := c.pages(ctx, runNoun.path, runNoun.key, query, cmd.Limit)
	if err != nil {
		return err
	}
	return cmd.columns().showPage(ctx, c, page)
}

// columns shows runs with the column by which they are sorted.
func (cmd *runListCmd) columns() *noun[penstock.Run] {
	if cmd.SortBy != "agent" {
		return runNoun
	}
	named := *runNoun
	named.head = append(slices.Clip(runNoun.head), "NAME")
	named.row = func(r penstock.Run) []string {
		name := ""
		if r.Config != nil {
			name = r.Config.Name
		}
		return append(runNoun.row(r), name)
	}
	return &named
}

func (cmd *runListCmd) query(ctx context.Context, c *client) (url.Values, error) {
	if cmd.Limit < 0 {
		return nil, exitf(exitUsage, "--limit must not be negative")
	}
	var err error
	if cmd.CreatedAfter, err = parseTime("--created-after", cmd.CreatedAfter); err != nil {
		return nil, err
	}
	if cmd.CreatedBefore, err = parseTime("--created-before", cmd.CreatedBefore); err != nil {
		return nil, err
	}
	if cmd.Environment != store.EmptyEnvironment {
		if cmd.Environment, err = environmentNoun.find(ctx, c, cmd.Environment); err != nil {
			return nil, err
		}
	}
	if cmd.Factory != "" {
		if cmd.Factory, err = findFactory(ctx, c, cmd.Factory); err != nil {
			return nil, err
		}
	}
	query := queryOf(cmd)
	if cmd.Ascending {
		query.Set("sort_order", "asc")
	}
	for _, state := range cmd.State {
		query.Add("state", strings.ToUpper(state))
	}
	for key, value := range cmd.Metadata {
		query.Set("metadata["+key+"]", value)
	}
	return query, nil
}

// parseTime converts a time, or an age, to the form of the API.
func parseTime(flag, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return penstock.Now().Add(-ago).String(), nil
	}
	var at penstock.Time
	if err := at.UnmarshalText([]byte(text)); err != nil {
		return "", exitf(
			exitUsage, "%s %q is neither a time, such as 2026-01-31T12:00:00Z, nor an age, such as 24h", flag, text,
		)
	}
	return at.String(), nil
}
