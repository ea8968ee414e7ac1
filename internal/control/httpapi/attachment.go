package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// attachments holds the handlers of the files that users give to a run.
type attachments struct {
	rules *run.Files
}

func (h attachments) prepare(c *call) error {
	var req run.PrepareRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.PrepareAttachments(c.ctx(), c.principal, c.param("runId"), req))
}

func (h attachments) prepareInConversation(c *call) error {
	var req run.PrepareRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.PrepareConversationAttachments(c.ctx(), c.principal, c.param("id"), req))
}

// upload serves the upload URLs of prepared attachments. The body is the file.
func (h attachments) upload(c *call) error {
	const limit = run.MaxAttachmentBytes
	if c.r.ContentLength > limit {
		return tooLarge(limit)
	}
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return penstock.Errorf(penstock.CodeInvalidRequest, "the body must be sent without Content-Encoding")
	}
	body := http.MaxBytesReader(c.w, slowBody{c.r.Body, http.NewResponseController(c.w)}, limit)
	sent := &sentContent{Reader: body}
	done, err := h.rules.Upload(c.ctx(), c.param("token"), sent)
	if sent.err != nil {
		return bodyError(sent.err, limit)
	}
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, done)
}

func (h attachments) listForHandoff(c *call) error {
	attachments, err := h.rules.HandoffAttachments(c.ctx(), c.principal, c.param("runId"))
	return c.ok(map[string][]run.HandoffAttachment{"attachments": attachments}, err)
}
