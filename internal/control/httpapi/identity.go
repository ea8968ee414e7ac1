package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// identities holds the handlers of agents.
type identities struct {
	rules *factory.Resources
}

func (h identities) create(c *call) error {
	var req factory.IdentityRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.created(h.rules.CreateIdentity(c.ctx(), c.principal, req))
}

func (h identities) list(c *call) error {
	q := c.query()
	factory := q.optional("factory_uid")
	if q.err != nil {
		return q.err
	}
	identities, err := h.rules.ListIdentities(c.ctx(), c.principal, factory)
	return c.ok(map[string][]penstock.Identity{"agents": identities}, err)
}

func (h identities) read(c *call) error {
	return c.ok(h.rules.Identity(c.ctx(), c.principal, c.param("uid")))
}

func (h identities) update(c *call) error {
	switch appends, err := c.gives("secrets_append"); {
	case err != nil:
		return err
	case appends:
		return h.appendSecrets(c)
	}
	var req factory.IdentityRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.UpdateIdentity(c.ctx(), c.principal, c.param("uid"), req))
}

// appendSecrets is an update whose only field is secrets_append.
func (h identities) appendSecrets(c *call) error {
	var req factory.SecretsAppend
	if err := c.decode(&req); err != nil {
		return err
	}
	if len(c.fields()) > 1 {
		return penstock.Invalid(
			"/secrets_append", "must be the only field of the request; change the other fields in another request",
		)
	}
	if req.Secrets == nil {
		return penstock.Invalid("/secrets_append", "must be an array, not null")
	}
	return c.ok(h.rules.AppendIdentitySecrets(c.ctx(), c.principal, c.param("uid"), req))
}

func (h identities) delete(c *call) error {
	return c.done(h.rules.DeleteIdentity(c.ctx(), c.principal, c.param("uid")))
}
