package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/share"
)

// secretHeader carries a session's secret, which no other origin can read. It also
// stops cross-site request forgery: a page of another site cannot set the header
// without a preflight, which never allows credentials.
const secretHeader = "X-Penstock-Session-Secret"

// Cookies of the dashboard.
const (
	ofSession = "penstock_session"
	ofSignIn  = "penstock_signin" // of a browser that signs in at an identity provider
)

// cookieAt is the name of a cookie for a server at origin. Over HTTPS its prefix binds it to exactly this host
// (RFC 6265bis §4.1.3.2); on loopback the name includes the port, because cookies do not distinguish ports.
func cookieAt(origin, name string) string {
	if strings.HasPrefix(origin, "https://") {
		return "__Host-" + name
	}
	if u, err := url.Parse(origin); err == nil && u.Port() != "" {
		return name + "_" + u.Port()
	}
	return name
}

// maxCookies limits how many cookies with the session's name are tried. A page on another port of
// loopback can set such a cookie, and it comes first if its path is longer.
const maxCookies = 4

// proofs returns the session credentials of the request, one for each cookie.
func (a *authenticator) proofs(c *call) (proofs []access.SessionProof) {
	cookies := c.r.CookiesNamed(a.cookie)
	for _, cookie := range cookies[:min(len(cookies), maxCookies)] {
		if cookie.Value != "" {
			proofs = append(proofs, access.SessionProof{Cookie: cookie.Value, Secret: c.r.Header.Get(secretHeader)})
		}
	}
	return proofs
}

// resume authenticates a request by the session's cookie and secret. proofs is not empty.
func (a *authenticator) resume(c *call, proofs []access.SessionProof) error {
	err := a.checkSameOrigin(c)
	if err != nil {
		return err
	}
	for _, proof := range proofs {
		var p penstock.Principal
		var session access.Session
		if p, session, err = a.sessions.Resume(c.ctx(), proof); err == nil {
			c.principal, c.proof, c.session = p, proof, &session
			return nil
		}
		if penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
			break // the next one would fail in the same way
		}
	}
	return a.fail(c, err)
}

// checkSameOrigin rejects a request that a page of another origin made the browser send. It checks
// Sec-Fetch-Site, or Origin if a browser sends only that. The cookie's SameSite=Strict does not
// separate sites of one domain.
func (a *authenticator) checkSameOrigin(c *call) error {
	refused := penstock.Errorf(penstock.CodeNotAuthorized, "a page of another origin cannot use a session of this server")
	switch c.r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none", "":
	default:
		return refused
	}
	origin := c.r.Header.Get("Origin")
	if origin == "" || origin == a.origin {
		return nil
	}
	if u, err := url.Parse(origin); err != nil || u.Host != c.r.Host {
		return refused
	}
	return nil
}

// setCookie sets a cookie, or deletes it if value is "". It has no maximum age, so it ends with the browser or with the
// session.
func (a *authenticator) setCookie(c *call, name, value string) {
	// A client that forges the header only loses its own cookie.
	overTLS := c.r.TLS != nil || strings.EqualFold(c.r.Header.Get("X-Forwarded-Proto"), "https")
	cookie := http.Cookie{ //nolint:gosec // Secure wherever there is HTTPS; without it browsers would drop the cookie
		Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: overTLS || strings.HasPrefix(a.origin, "https://"),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.w, &cookie)
}

// sessions holds the handlers of sessions of the dashboard.
type sessions struct {
	rules *access.Sessions
	auth  *authenticator
	rate  *keyRate

	begins *limiter // of sign-ins at identity providers, of a client address
}

// signIn rejects an invalid key like any other request. A valid key counts against its rate.
func (h sessions) signIn(c *call) error {
	if err := h.auth.checkSameOrigin(c); err != nil {
		return err
	}
	var req access.SessionRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	if req.State != "" || req.Code != "" {
		return h.complete(c, req)
	}
	if req.APIKey == "" {
		return penstock.Invalid("/api_key", "is required")
	}
	if err := h.auth.authenticateKey(c, req.APIKey); err != nil {
		return err
	}
	if err := h.rate.limit(c); err != nil {
		return err
	}
	cookie, session, err := h.rules.SignIn(c.ctx(), c.principal, h.auth.proofs(c)...)
	if err != nil {
		return err
	}
	return h.started(c, cookie, session)
}

// started answers with a new session.
func (h sessions) started(c *call, cookie string, session access.Session) error {
	h.auth.setCookie(c, h.auth.cookie, cookie)
	return c.respond(http.StatusCreated, session)
}

func (h sessions) providers(c *call) error {
	return c.respond(http.StatusOK, map[string]any{"providers": h.rules.Providers()})
}

// beginsPerMinute limits how often one network begins to sign in: each time stores a row.
const beginsPerMinute = 60

func (h sessions) begin(c *call) error {
	if err := h.auth.checkSameOrigin(c); err != nil {
		return err
	}
	if origin := c.r.Header.Get("Origin"); origin != "" && origin != h.auth.origin {
		return penstock.Invalid("", "the identity provider sends browsers to %s, so open the dashboard there", h.auth.origin)
	}
	var req access.SignInRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	if v := h.begins.take(share.Network(c.peer.addr).String(), time.Now()); !v.admitted {
		return limited(v.reset, "this address began to sign in too often")
	}
	start, browser, err := h.rules.Begin(c.ctx(), h.browserCookies(c), req)
	if err != nil {
		return err
	}
	h.auth.setCookie(c, cookieAt(h.auth.origin, ofSignIn), browser)
	return c.respond(http.StatusCreated, start)
}

// browserCookies returns the values of the cookie of a browser that signs in.
func (h sessions) browserCookies(c *call) (values []string) {
	for _, cookie := range c.r.CookiesNamed(cookieAt(h.auth.origin, ofSignIn)) {
		values = append(values, cookie.Value)
	}
	return values
}

// complete starts the session of a person whom an identity provider sent back.
func (h sessions) complete(c *call, req access.SessionRequest) error {
	switch {
	case req.APIKey != "":
		return penstock.Invalid("/api_key", "cannot be together with state and code")
	case req.State == "":
		return penstock.Invalid("/state", "is required with code")
	case req.Code == "":
		return penstock.Invalid("/code", "is required with state")
	}
	cookie, session, err := h.rules.Complete(c.ctx(), h.browserCookies(c), req, h.auth.proofs(c)...)
	if err != nil {
		return h.auth.fail(c, err)
	}
	return h.started(c, cookie, session)
}

func (h sessions) read(c *call) error {
	if c.session == nil {
		return noSession()
	}
	return c.respond(http.StatusOK, c.session)
}

func (h sessions) signOut(c *call) error {
	if c.session == nil {
		return noSession()
	}
	if err := h.rules.SignOut(c.ctx(), c.proof); err != nil {
		return err
	}
	h.auth.setCookie(c, h.auth.cookie, "")
	return c.noContent()
}

func noSession() error {
	return penstock.Errorf(penstock.CodeNotFound, "this request has an API key, not a session")
}
