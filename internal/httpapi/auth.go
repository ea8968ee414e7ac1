package httpapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
)

// authenticate finds the principal of the request's key, or of its session if it has no key.
func (c *call) authenticate() error {
	if len(c.r.Header["Authorization"]) == 0 {
		if proofs := c.sessionProofs(); len(proofs) > 0 {
			return c.resume(proofs)
		}
	}
	key, err := bearer(c.r.Header["Authorization"])
	if err != nil {
		c.challenge("")
		return err
	}
	return c.authenticateKey(key)
}

func (c *call) authenticateKey(key string) error {
	p, err := c.api.svc.Keys.Authenticate(c.ctx(), key)
	if err != nil {
		return c.authError(err)
	}
	c.principal, c.key = p, key
	return nil
}

// authError returns the error for an invalid key or session. It returns other errors unchanged.
func (c *call) authError(err error) error {
	if penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
		return err
	}
	if err = c.countFailure(err); penstock.CodeOf(err) == penstock.CodeAuthenticationRequired {
		c.challenge(`, error="invalid_token"`)
	}
	return err
}

// identify finds the principal of a public request, for the log. It neither reports nor counts an
// invalid key or session.
func (c *call) identify() {
	if key, err := bearer(c.r.Header["Authorization"]); err == nil {
		c.principal, _ = c.api.svc.Keys.Authenticate(c.ctx(), key)
		return
	}
	if c.checkSameOrigin() != nil {
		return
	}
	for _, proof := range c.sessionProofs() {
		if p, _, err := c.api.svc.Sessions.Resume(c.ctx(), proof); err == nil {
			c.principal = p
			return
		}
	}
}

// again checks whether the key or session of the request is still valid.
func (c *call) again(ctx context.Context) error {
	if c.session != nil {
		_, _, err := c.api.svc.Sessions.Resume(ctx, c.proof)
		return err
	}
	_, err := c.api.svc.Keys.Authenticate(ctx, c.key)
	return err
}

// challenge sets WWW-Authenticate (RFC 6750 §3).
func (c *call) challenge(params string) {
	c.w.Header()["Www-Authenticate"] = []string{`Bearer realm="penstock"` + params}
}

// bearer reads the key from the header Authorization.
func bearer(values []string) (string, error) {
	if len(values) == 0 {
		return "", penstock.Errorf(penstock.CodeAuthenticationRequired, "send an API key as Authorization: Bearer psk_…")
	}
	scheme, key, found := strings.Cut(values[0], " ")
	key = strings.TrimSpace(key)
	if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || key == "" {
		return "", penstock.Errorf(penstock.CodeAuthenticationRequired, "the header Authorization must be: Bearer psk_…")
	}
	return key, nil
}

// authorize checks whether the key may use the route. The key of an execution can only use its own
// run.
func (c *call) authorize() error {
	p := c.principal
	if p.RunID != "" {
		if !c.route.OwnRun {
			return penstock.Errorf(
				penstock.CodeNotAuthorized, "the key of an execution may only read its own run and add artifacts to it",
			)
		}
		if id := c.param("runId"); id != "" && id != p.RunID {
			return penstock.Errorf(penstock.CodeNotAuthorized, "the key of an execution can only be used for its own run")
		}
		return nil
	}
	if scope := c.route.Scope; scope != anyKey && !p.May(scope) {
		c.challenge(fmt.Sprintf(`, error="insufficient_scope", scope="%s"`, scope))
		return penstock.Errorf(penstock.CodeNotAuthorized, "this key lacks the scope %s", scope)
	}
	return nil
}
