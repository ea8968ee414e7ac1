package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// subjects serves what events are about.
type subjects struct{ rules *factory.Subjects }

func (h subjects) list(c *call) error {
	q := c.query()
	sq := factory.SubjectQuery{
		AutomationUID: q.text("automation_uid"), FactoryUID: q.text("factory_uid"), Subject: q.text("subject"),
		Limit: q.limit(penstock.DefaultLimit), Cursor: q.optional("cursor"),
	}
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.List(c.ctx(), c.principal, sq))
}

func (h subjects) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("uid")))
}
