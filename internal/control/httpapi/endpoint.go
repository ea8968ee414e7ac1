package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
)

// endpoints holds the handlers of event endpoints.
type endpoints struct {
	rules *announce.Endpoints
}

func (h endpoints) create(c *call) error {
	var req announce.EndpointRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	endpoint, err := h.rules.Create(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, endpoint)
}

func (h endpoints) list(c *call) error {
	list, err := h.rules.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.EventEndpoint{"endpoints": list})
}

func (h endpoints) read(c *call) error {
	endpoint, err := h.rules.Read(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, endpoint)
}

func (h endpoints) update(c *call) error {
	var req announce.EndpointRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	endpoint, err := h.rules.Update(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, endpoint)
}

func (h endpoints) delete(c *call) error {
	if err := h.rules.Delete(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}

func (h endpoints) ping(c *call) error {
	sent, err := h.rules.Ping(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusAccepted, sent)
}

func (h endpoints) rotateSecret(c *call) error {
	var req announce.RotateRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	endpoint, err := h.rules.RotateSecret(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, endpoint)
}

func (h endpoints) attempts(c *call) error {
	q := c.query()
	aq := announce.AttemptQuery{
		MessageID: q.text("message_id"), Limit: q.limit(penstock.DefaultLimit), Cursor: q.optional("cursor"),
	}
	if q.err != nil {
		return q.err
	}
	page, err := h.rules.Attempts(c.ctx(), c.principal, c.param("uid"), aq)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, page)
}

func (h endpoints) replay(c *call) error {
	var req announce.ReplayRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	replayed, err := h.rules.Replay(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusAccepted, replayed)
}

func (h endpoints) eventTypes(c *call) error {
	return c.respond(http.StatusOK, map[string][]announce.EventType{"event_types": h.rules.EventTypes()})
}
