package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) followUp(c *call) error {
	req, err := c.followup()
	if err != nil {
		return err
	}
	accepted, err := a.svc.Runs.FollowUp(c.ctx(), c.principal, c.param("runId"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, accepted)
}

func (a *API) followUpConversation(c *call) error {
	req, err := c.followup()
	if err != nil {
		return err
	}
	accepted, err := a.svc.Runs.FollowUpConversation(c.ctx(), c.principal, c.param("id"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, accepted)
}

// followup reads a follow-up and checks the size of its attachments and of the rest.
func (c *call) followup() (req penstock.FollowupRequest, err error) {
	if err := c.decode(&req); err != nil {
		return req, err
	}
	var files []penstock.Attachment
	for _, f := range req.Attachments {
		files = append(files, penstock.Attachment{Data: f.Data})
	}
	return req, c.checkRunSize(files)
}

func (a *API) interruptRun(c *call) error {
	accepted, err := a.svc.Runs.Interrupt(c.ctx(), c.principal, c.param("runId"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusAccepted, accepted)
}

func (a *API) interruptConversation(c *call) error {
	accepted, err := a.svc.Runs.InterruptConversation(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusAccepted, accepted)
}

func (a *API) prepareAttachments(c *call) error {
	var req penstock.PrepareRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	prepared, err := a.svc.Files.PrepareAttachments(c.ctx(), c.principal, c.param("runId"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, prepared)
}

func (a *API) prepareConversationAttachments(c *call) error {
	var req penstock.PrepareRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	prepared, err := a.svc.Files.PrepareConversationAttachments(c.ctx(), c.principal, c.param("id"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, prepared)
}

// upload serves the upload URLs of prepared attachments. The body is the file.
func (a *API) upload(c *call) error {
	const limit = penstock.MaxAttachmentBytes
	if c.r.ContentLength > limit {
		return tooLarge(limit)
	}
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return penstock.Errorf(penstock.CodeInvalidRequest, "the body must be sent without Content-Encoding")
	}
	body := http.MaxBytesReader(c.w, slowBody{c.r.Body, http.NewResponseController(c.w)}, limit)
	sent := &sentContent{Reader: body}
	done, err := a.svc.Files.Upload(c.ctx(), c.param("token"), sent)
	if sent.err != nil {
		return bodyError(sent.err, limit)
	}
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, done)
}
