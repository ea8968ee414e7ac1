package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/penstock-dev/penstock/internal/control/store"
)

type subjectCmds struct {
	connection

	List subjectListCmd `cmd:"" help:"List what events are about, with the run that works on each."`
	Get  getCmd         `cmd:"" help:"Show a subject, and what became of its events."`
}

var subjectNoun = &noun[store.Subject]{
	name: "subject", id: "UID", uid: true, path: "subjects", key: "subjects",
	head: []string{"SUBJECT", "UID", "RUN", "STATE", "EVENTS", "WAITING", "LATEST"},
	row: func(s store.Subject) []string {
		return []string{
			s.Subject, s.UID, s.RunID, string(s.RunState), number(s.EventsCount), number(s.Waiting), timestamp(s.UpdatedAt),
		}
	},
	facts: subjectFacts,
}

func subjectFacts(s store.Subject) []fact {
	list := []fact{
		{"subject", s.Subject},
		{"uid", s.UID},
		{"automation", s.AutomationUID},
		{"webhook", s.WebhookUID},
		{"run", strings.TrimSpace(s.RunID + " " + string(s.RunState))},
		{"events", number(s.EventsCount)},
		{"waiting", number(s.Waiting)},
		{"next", timestamp(s.NextAt)},
		{"closed", timestamp(s.ClosedAt)},
	}
	for _, e := range s.Events {
		text := strings.Join([]string{timestamp(e.DueAt), string(e.Fate), e.DeliveryID}, " ")
		if why := cmp.Or(e.Reason, e.RunID); why != "" {
			text += ": " + why
		}
		list = append(list, fact{"event", text})
	}
	return list
}

type subjectListCmd struct {
	Subject    string `placeholder:"TEXT" field:"?subject" help:"Only this subject, such as acme/shop#7."`
	Automation string `placeholder:"UID" field:"?automation_uid" help:"Only subjects whose latest event was of this automation."`
	Limit      int    `default:"20" help:"Maximum number; 0 lists all."`
	Cursor     string `field:"?cursor" help:"Cursor of the next page, as the previous page printed it."`
}

func (cmd *subjectListCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if cmd.Limit < 0 {
		return exitf(exitUsage, "--limit must not be negative")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	page, err := c.pages(ctx, subjectNoun.path, subjectNoun.key, queryOf(cmd), cmd.Limit)
	if err != nil {
		return err
	}
	return subjectNoun.showPage(ctx, c, page)
}
