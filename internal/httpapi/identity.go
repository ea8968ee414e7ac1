package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) createIdentity(c *call) error {
	var req penstock.IdentityRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	identity, err := a.svc.Resources.CreateIdentity(c.ctx(), c.principal, req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, identity)
}

func (a *API) listIdentities(c *call) error {
	q := c.query()
	factory := q.optional("factory_uid")
	if q.err != nil {
		return q.err
	}
	identities, err := a.svc.Resources.ListIdentities(c.ctx(), c.principal, factory)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.Identity{"agents": identities})
}

func (a *API) identity(c *call) error {
	identity, err := a.svc.Resources.Identity(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, identity)
}

func (a *API) updateIdentity(c *call) error {
	switch appends, err := c.gives("secrets_append"); {
	case err != nil:
		return err
	case appends:
		return a.appendIdentitySecrets(c)
	}
	var req penstock.IdentityRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	identity, err := a.svc.Resources.UpdateIdentity(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, identity)
}

// appendIdentitySecrets is an update whose only field is secrets_append.
func (a *API) appendIdentitySecrets(c *call) error {
	var req penstock.SecretsAppend
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
	identity, err := a.svc.Resources.AppendIdentitySecrets(c.ctx(), c.principal, c.param("uid"), req)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, identity)
}

func (a *API) deleteIdentity(c *call) error {
	if err := a.svc.Resources.DeleteIdentity(c.ctx(), c.principal, c.param("uid")); err != nil {
		return err
	}
	return c.noContent()
}
