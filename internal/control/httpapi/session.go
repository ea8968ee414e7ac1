package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// secretHeader carries a session's secret, which no other origin can read. It also
// stops cross-site request forgery: a page of another site cannot set the header
// without a preflight, which never allows credentials.
const secretHeader = "X-Penstock-Session-Secret"

// sessionCookie is the name of the cookie for a server at origin. Over HTTPS its prefix binds it to
// exactly this host (RFC 6265bis §4.1.3.2); on loopback the name includes the port, because cookies
// do not distinguish ports.
func sessionCookie(origin string) string {
	const name = "penstock_session"
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

// setCookie sets the session's cookie, or deletes it if value is "". It has no maximum age,
// so it ends with the browser or with the session.
func (a *authenticator) setCookie(c *call, value string) {
	// A client that forges the header only loses its own cookie.
	overTLS := c.r.TLS != nil || strings.EqualFold(c.r.Header.Get("X-Forwarded-Proto"), "https")
	cookie := http.Cookie{ //nolint:gosec // Secure wherever there is HTTPS; without it browsers would drop the cookie
		Name: a.cookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
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
	h.auth.setCookie(c, cookie)
	return c.respond(http.StatusCreated, session)
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
	h.auth.setCookie(c, "")
	return c.noContent()
}

func noSession() error {
	return penstock.Errorf(penstock.CodeNotFound, "this request has an API key, not a session")
}
