package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) runConversation(c *call) error {
	conversation, err := a.svc.RunConversation(c.ctx(), c.principal, c.param("runId"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, conversation)
}

func (a *API) conversation(c *call) error {
	conversation, err := a.svc.Conversation(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, conversation)
}

func (a *API) transcript(c *call) error {
	link, err := a.svc.TranscriptLink(c.ctx(), c.principal, c.param("runId"))
	if err != nil {
		return err
	}
	return c.redirect(link)
}

func (a *API) conversationTranscript(c *call) error {
	link, err := a.svc.ConversationTranscriptLink(c.ctx(), c.principal, c.param("id"))
	if err != nil {
		return err
	}
	return c.redirect(link)
}

func (a *API) downloadScreenshot(c *call) error {
	link, err := a.svc.ScreenshotLink(c.ctx(), c.principal, c.param("id"), c.param("uid"))
	if err != nil {
		return err
	}
	return c.redirect(link)
}

// conversationRedirect leads from a conversation to its live session, and
// sessionRedirect back once that has ended. Both tell ids to whoever knows one
// already, and nothing else.
func (a *API) conversationRedirect(c *call) error {
	id := c.param("id")
	if !penstock.ValidID(id) {
		return penstock.NotFound("conversation", id)
	}
	session, err := a.svc.ConversationRedirect(c.ctx(), id)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, optional("session_id", session))
}

func (a *API) sessionRedirect(c *call) error {
	id := c.param("uuid")
	if !penstock.ValidID(id) {
		return penstock.NotFound("session", id)
	}
	conversation, err := a.svc.SessionRedirect(c.ctx(), id)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, optional("conversation_id", conversation))
}

// optional is an object with one member, or none when value is empty.
func optional(name, value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{name: value}
}
