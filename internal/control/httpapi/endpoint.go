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
	return c.created(h.rules.Create(c.ctx(), c.principal, req))
}

func (h endpoints) list(c *call) error {
	list, err := h.rules.List(c.ctx(), c.principal)
	return c.ok(map[string][]penstock.EventEndpoint{"endpoints": list}, err)
}

func (h endpoints) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("uid")))
}

func (h endpoints) update(c *call) error {
	var req announce.EndpointRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	req.Cleared = c.nulls()
	return c.ok(h.rules.Update(c.ctx(), c.principal, c.param("uid"), req))
}

func (h endpoints) delete(c *call) error {
	return c.done(h.rules.Delete(c.ctx(), c.principal, c.param("uid")))
}

func (h endpoints) ping(c *call) error {
	return c.accepted(h.rules.Ping(c.ctx(), c.principal, c.param("uid")))
}

func (h endpoints) rotateSecret(c *call) error {
	var req announce.RotateRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.RotateSecret(c.ctx(), c.principal, c.param("uid"), req))
}

func (h endpoints) attempts(c *call) error {
	q := c.query()
	aq := announce.AttemptQuery{
		MessageID: q.text("message_id"), Limit: q.limit(penstock.DefaultLimit), Cursor: q.optional("cursor"),
	}
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.Attempts(c.ctx(), c.principal, c.param("uid"), aq))
}

func (h endpoints) replay(c *call) error {
	var req announce.ReplayRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.accepted(h.rules.Replay(c.ctx(), c.principal, c.param("uid"), req))
}

func (h endpoints) eventTypes(c *call) error {
	return c.respond(http.StatusOK, map[string][]announce.EventType{"event_types": h.rules.EventTypes()})
}
