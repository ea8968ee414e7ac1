package main

import (
	"context"
	"strings"

	"github.com/penstock-dev/penstock"
)

type occurrencesCmd struct {
	connection
	Schedule   string `placeholder:"ID|NAME" field:"?schedule_id" help:"Only times of this schedule."`
	Automation string `placeholder:"UID" field:"?automation_uid" help:"Only times of this automation."`
	Kind       string `enum:",tick" default:"" field:"?kind" help:"Only those of this kind: tick, a time of a schedule or clock."`
	Fate       string `enum:",waiting,started,continued,merged_into,superseded,skipped,missed,failed" default:"" field:"?fate" help:"Only this fate: waiting, started, continued, merged_into, superseded, skipped, missed or failed."`
	Limit      int    `default:"20" help:"Maximum number; 0 lists all."`
	Cursor     string `field:"?cursor" help:"Cursor of the next page, as the previous page printed it."`
}

func (cmd *occurrencesCmd) Help() string {
	return "Lists the times of schedules and of automations with clocks of their own, newest first, with the\n" +
		"runs that they started, or why they started none."
}

var occurrenceNoun = &noun[penstock.Occurrence]{
	name: "occurrence", path: "occurrences", key: "occurrences",
	head: []string{"DUE", "FATE", "SCHEDULE", "AUTOMATION", "RUN", "REASON"},
	row: func(o penstock.Occurrence) []string {
		return []string{
			timestamp(o.DueAt), string(o.Fate), o.ScheduleID, o.AutomationUID, strings.Join(o.RunIDs, " "), o.Reason,
		}
	},
}

func (cmd *occurrencesCmd) Run(ctx context.Context, std *stdio) error {
	if cmd.Limit < 0 {
		return exitf(exitUsage, "--limit must not be negative")
	}
	c, err := cmd.dial(ctx, std)
	if err != nil {
		return err
	}
	if cmd.Schedule, err = scheduleNoun.find(ctx, c, cmd.Schedule); err != nil {
		return err
	}
	page, err := c.pages(ctx, occurrenceNoun.path, occurrenceNoun.key, queryOf(cmd), cmd.Limit)
	if err != nil {
		return err
	}
	return occurrenceNoun.showPage(ctx, c, page)
}
