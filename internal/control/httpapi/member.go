package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// members holds the handlers of users or of service accounts.
type members struct {
	rules *access.Members
	of    penstock.MemberType
	list  string // the name of their list
}

func (h members) create(c *call) error {
	var req access.MemberRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.rules.Create(c.ctx(), c.principal, h.of, req))
}

func (h members) listAll(c *call) error {
	list, err := h.rules.List(c.ctx(), c.principal, h.of)
	return c.ok(map[string][]penstock.Member{h.list: list}, err)
}

func (h members) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, h.of, c.param("uid")))
}

func (h members) update(c *call) error {
	var req access.MemberChange
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Update(c.ctx(), c.principal, h.of, c.param("uid"), req))
}

func (h members) delete(c *call) error {
	return c.done(h.rules.Delete(c.ctx(), c.principal, h.of, c.param("uid")))
}

// grants holds the handlers of the roles of members and groups.
type grants struct {
	rules *access.Members
}

func (h grants) create(c *call) error {
	var req access.GrantRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.rules.Grant(c.ctx(), c.principal, req))
}

func (h grants) list(c *call) error {
	list, err := h.rules.Grants(c.ctx(), c.principal)
	return c.ok(map[string][]penstock.Grant{"grants": list}, err)
}

func (h grants) delete(c *call) error {
	return c.done(h.rules.Revoke(c.ctx(), c.principal, c.param("uid")))
}
