package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// followups holds the handlers that steer a run or a conversation.
type followups struct {
	rules *run.Runs
}

func (h followups) create(c *call) error {
	req, err := c.followup()
	if err != nil {
		return err
	}
	return c.ok(h.rules.FollowUp(c.ctx(), c.principal, c.param("runId"), req))
}

func (h followups) createInConversation(c *call) error {
	req, err := c.followup()
	if err != nil {
		return err
	}
	return c.ok(h.rules.FollowUpConversation(c.ctx(), c.principal, c.param("id"), req))
}

// followup reads a follow-up and checks the size of its attachments and of the rest.
func (c *call) followup() (req run.FollowupRequest, err error) {
	if err := c.decode(&req); err != nil {
		return req, err
	}
	var files []penstock.Attachment
	for _, f := range req.Attachments {
		files = append(files, penstock.Attachment{Data: f.Data})
	}
	return req, c.checkRunSize(files)
}

func (h followups) interruptRun(c *call) error {
	return c.accepted(h.rules.Interrupt(c.ctx(), c.principal, c.param("runId")))
}

func (h followups) interruptConversation(c *call) error {
	return c.accepted(h.rules.InterruptConversation(c.ctx(), c.principal, c.param("id")))
}
