package httpapi

import (
	"net/http"

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
	identity, err := h.rules.CreateIdentity(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, identity)
}

func (h identities) list(c *call) error {
	q := c.query()
	factory := q.optional("factory_uid")
	if q.err != nil {
		return q.err
	}
	identities, err := h.rules.ListIdentities(c.ctx(), c.principal, factory)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Identity{"agents": identities})
}

func (h identities) read(c *call) error {
	identity, err := h.rules.Identity(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, identity)
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
	identity, err := h.rules.UpdateIdentity(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, identity)
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
	identity, err := h.rules.AppendIdentitySecrets(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, identity)
}

func (h identities) delete(c *call) error {
	if err := h.rules.DeleteIdentity(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}
