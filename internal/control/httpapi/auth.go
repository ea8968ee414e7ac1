package httpapi

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/share"
)

// authenticator finds the principal of a request, by its key or its session.
type authenticator struct {
	keys     *access.Keys
	sessions *access.Sessions
	origin   string   // for clients
	cookie   string   // of a session
	failures *limiter // bad keys and sessions of a client address
}

func newAuthenticator(keys *access.Keys, sessions *access.Sessions, origin string, failures int) *authenticator {
	return &authenticator{
		keys: keys, sessions: sessions, origin: origin, cookie: cookieAt(origin, ofSession), failures: newLimiter(failures),
	}
}

// authenticate finds the principal of the request's key, or of its session if it has no key.
func (a *authenticator) authenticate(c *call) error {
	if len(c.r.Header["Authorization"]) == 0 {
		if c.route.keyOnly != nil {
			c.challenge("")
			return c.route.keyOnly()
		}
		if proofs := a.proofs(c); len(proofs) > 0 {
			return a.resume(c, proofs)
		}
	}
	key, err := bearer(c.r.Header["Authorization"])
	if err != nil {
		c.challenge("")
		return err
	}
	return a.authenticateKey(c, key)
}

// offered reports whether the request has a key or a session.
func (a *authenticator) offered(c *call) bool {
	session := len(a.proofs(c)) > 0 && c.r.Header.Get(secretHeader) != ""
	return len(c.r.Header["Authorization"]) > 0 || session
}

func (a *authenticator) authenticateKey(c *call, key string) error {
	p, err := a.keys.Authenticate(c.ctx(), key)
	if err != nil {
		return a.fail(c, err)
	}
	c.principal, c.key = p, key
	return nil
}

// fail returns the error for an invalid key or session. It returns other errors unchanged.
func (a *authenticator) fail(c *call, err error) error {
	if penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
		return err
	}
	if err = a.countFailure(c, err); penstock.CodeOf(err) == penstock.CodeAuthenticationRequired {
		c.challenge(`, error="invalid_token"`)
	}
	return err
}

// countFailure counts a request with an invalid key or session. After too many of them in a minute,
// callers at its address that guess get 429 instead of err. A valid key never comes here, so
// failures of others at the same address do not slow it down.
func (a *authenticator) countFailure(c *call, err error) error {
	if a.failures.quota == 0 {
		return err
	}
	if v := a.failures.take(share.Network(c.peer.addr).String(), time.Now()); !v.admitted {
		return limited(v.reset, "this address sent too many requests without a valid key")
	}
	return err
}

// identify finds the principal of a public request, for the log. It neither reports nor counts an
// invalid key or session.
func (a *authenticator) identify(c *call) {
	if key, err := bearer(c.r.Header["Authorization"]); err == nil {
		c.principal, _ = a.keys.Authenticate(c.ctx(), key)
		return
	}
	if a.checkSameOrigin(c) != nil {
		return
	}
	for _, proof := range a.proofs(c) {
		if p, _, err := a.sessions.Resume(c.ctx(), proof); err == nil {
			c.principal = p
			return
		}
	}
}

// recheck checks whether the key or session of the request is still valid, and may still use the route.
func (a *authenticator) recheck(ctx context.Context, c *call) error {
	var p penstock.Principal
	var err error
	if c.session != nil {
		p, _, err = a.sessions.Resume(ctx, c.proof)
	} else {
		p, err = a.keys.Authenticate(ctx, c.key)
	}
	if err != nil {
		return err
	}
	return c.route.admits(p)
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
	err := c.route.admits(p)
	if err != nil {
		c.challenge(fmt.Sprintf(`, error="insufficient_scope", scope="%s"`, c.route.Scope))
	}
	return err
}

// admits refuses a caller without the scope of the route. The key of an execution has none.
func (r *Route) admits(p penstock.Principal) error {
	if r.Scope == anyKey || p.RunID != "" || p.May(r.Scope) {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "this key %s", p.Lacks(r.Scope))
}
