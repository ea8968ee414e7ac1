package main

import (
	"context"
	"strings"

	"github.com/penstock-dev/penstock/internal/control/store"
)

type occurrencesCmd struct {
	connection
	Schedule   string `placeholder:"ID|NAME" field:"?schedule_id" help:"Only times of this schedule."`
	Automation string `placeholder:"UID" field:"?automation_uid" help:"Only what this automation was to start."`
	Webhook    string `placeholder:"UID" field:"?webhook_uid" help:"Only deliveries to this webhook."`
	Kind       string `enum:",tick,delivery,call,dispatch" default:"" field:"?kind" help:"Only this kind: tick (a time of a schedule or clock), delivery, call (a request for a run) or dispatch."`
	Fate       string `enum:",waiting,started,continued,merged_into,superseded,no_match,duplicate,rejected,skipped,missed,failed" default:"" field:"?fate" help:"Only this fate: waiting, started, continued, merged_into, superseded, no_match, duplicate, rejected, skipped, missed or failed."`
	Limit      int    `default:"20" help:"Maximum number; 0 lists all."`
	Cursor     string `field:"?cursor" help:"Cursor of the next page, as the previous page printed it."`
}

func (cmd *occurrencesCmd) Help() string {
	return "Lists the times of schedules and of automations with clocks of their own, deliveries to webhooks,\n" +
		"requests for runs, and work that was dispatched to factories, newest first, with the runs that they\n" +
		"started or joined, or why they started none. Deliveries need the scope factories:manage."
}

var occurrenceNoun = &noun[store.Occurrence]{
	name: "occurrence", path: "occurrences", key: "occurrences",
	head: []string{"DUE", "KIND", "FATE", "SOURCE", "AUTOMATION", "SUBJECT", "RUN", "REASON"},
	row: func(o store.Occurrence) []string {
		return []string{
			timestamp(o.DueAt), string(o.Kind), string(o.Fate), o.ScheduleID + o.DeliveryID, o.AutomationUID, o.Subject,
			strings.Join(o.RunIDs, " "), o.Reason,
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
