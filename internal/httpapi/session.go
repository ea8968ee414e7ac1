package httpapi

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
)

// csrfHeader carries a session's CSRF token. A page of another site cannot set
// it without a preflight, which never allows credentials.
const csrfHeader = "X-Penstock-Csrf"

// sessionCookie is the name of the cookie for a server at origin. Over HTTPS its
// prefix binds it to exactly this host (RFC 6265bis §4.1.3.2); a server on
// loopback has the port in it, since cookies do not tell ports apart.
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

// sessionToken is the value of the session's cookie, "" without one.
func (c *call) sessionToken() string {
	cookie, err := c.r.Cookie(c.api.cookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// resume authenticates a request by the session's cookie.
func (c *call) resume(token string) error {
	if err := c.checkSameOrigin(); err != nil {
		return err
	}
	if err := c.api.door.admit(c.peer.addr, token); err != nil {
		return err
	}
	p, session, err := c.api.svc.ResumeSession(c.ctx(), token)
	if err != nil {
		if penstock.CodeOf(err) == penstock.CodeAuthenticationRequired {
			c.api.door.failed(c.peer.addr)
		}
		return err
	}
	c.api.door.passed(token)
	c.principal, c.key, c.session = p, token, &session
	if safe := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead; safe {
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(c.r.Header.Get(csrfHeader)), []byte(session.CSRFToken)) != 1 {
		return penstock.Errorf(penstock.CodeNotAuthorized, "a write with a session's cookie needs the session's csrf_token in the header X-Penstock-CSRF")
	}
	return nil
}

// checkSameOrigin refuses a request that a page of another origin made the
// browser send: by Sec-Fetch-Site, and by Origin where a browser sends that
// alone. The cookie's SameSite=Strict does not tell sites of one domain apart.
func (c *call) checkSameOrigin() error {
	refused := penstock.Errorf(penstock.CodeNotAuthorized, "a page of another origin may not use a session of this server")
	switch c.r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none", "":
	default:
		return refused
	}
	origin := c.r.Header.Get("Origin")
	if origin == "" || origin == c.api.origin {
		return nil
	}
	if u, err := url.Parse(origin); err != nil || u.Host != c.r.Host {
		return refused
	}
	return nil
}

// setSessionCookie hands the browser a session, or takes it away where token is
// "". It has no age: it ends with the browser, or with the session.
func (c *call) setSessionCookie(token string) {
	// Whoever forges the header keeps a cookie of their own from themselves.
	overTLS := c.r.TLS != nil || strings.EqualFold(c.r.Header.Get("X-Forwarded-Proto"), "https")
	cookie := http.Cookie{ //nolint:gosec // Secure wherever there is HTTPS; without it browsers would drop the cookie
		Name: c.api.cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: overTLS || strings.HasPrefix(c.api.origin, "https://"),
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.w, &cookie)
}

// signIn is refused like any request with a bad key where the key is one, and
// counts against the key's rate where it is good.
func (a *API) signIn(c *call) error {
	if err := c.checkSameOrigin(); err != nil {
		return err
	}
	var req penstock.SessionRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	if req.APIKey == "" {
		return penstock.Invalid("/api_key", "is required")
	}
	if err := c.authenticateKey(req.APIKey); err != nil {
		return err
	}
	if err := c.limitRate(); err != nil {
		return err
	}
	token, session, err := a.svc.SignIn(c.ctx(), c.principal, c.sessionToken())
	if err != nil {
		return err
	}
	c.setSessionCookie(token)
	return c.respond(http.StatusCreated, session)
}

func (a *API) readSession(c *call) error {
	if c.session == nil {
		return noSession()
	}
	return c.respond(http.StatusOK, c.session)
}

func (a *API) signOut(c *call) error {
	if c.session == nil {
		return noSession()
	}
	if err := a.svc.SignOut(c.ctx(), c.key); err != nil {
		return err
	}
	c.setSessionCookie("")
	return c.noContent()
}

func noSession() error {
	return penstock.Errorf(penstock.CodeNotFound, "this request came with an API key, which has no session")
}
