package httpapi_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/testkit"
)

const secretHeader = "X-Penstock-Session-Secret"

// browser holds a session of a world's server.
type browser struct {
	*world
	cookie string
	secret string
}

// signIn starts a session with the given key.
func (w *world) signIn(key string) *browser {
	w.t.Helper()
	a := w.must(http.StatusCreated, "POST", "/api/v1/session", access.SessionRequest{APIKey: key}, "Authorization", "")
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	return &browser{world: w, cookie: cookie, secret: a.field("secret")}
}

// do sends a request like a page of the server.
func (b *browser) do(method, path string, body any, headers ...string) response {
	b.t.Helper()
	as := []string{"Authorization", "", "Cookie", b.cookie, "Sec-Fetch-Site", "same-origin", secretHeader, b.secret}
	return b.world.do(method, path, body, append(as, headers...)...)
}

func (b *browser) cookieValue() string {
	_, value, _ := strings.Cut(b.cookie, "=")
	return value
}

func TestSession(t *testing.T) {
	t.Parallel()
	w := start(t)
	b := w.signIn(w.admin)
	got := b.do("GET", "/api/v1/session", nil)
	var session access.Session
	got.into(t, &session)
	want := access.Session{
		Team: "default", Actor: penstock.Actor{Type: "user", UID: "admin", DisplayName: "Admin"},
		Scopes: []penstock.Scope{penstock.ScopeAdmin},
		KeyUID: "first", PrincipalUID: "admin", ExpiresAt: session.ExpiresAt, IdleSeconds: 24 * 3600,
	}
	if diff := cmp.Diff(want, session); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	if left := time.Until(session.ExpiresAt.Std()); left < 167*time.Hour || left > 168*time.Hour {
		t.Errorf("it ends in %v, want in 168 h", left)
	}
	id := b.do("POST", "/api/v1/agent/runs", map[string]any{"prompt": "x"}).field("run_id")
	if a := b.do("GET", "/api/v1/agent/runs/"+id, nil); a.status != http.StatusOK {
		t.Errorf("a run of the session: got %d %s", a.status, a.body)
	}
	if a := b.do("GET", "/api/v1/session", nil, "Authorization", "Bearer psk_wrong"); a.status != http.StatusUnauthorized {
		t.Errorf("a bad key beside a good cookie: got %d, want 401", a.status)
	}
	out := b.do("DELETE", "/api/v1/session", nil)
	if out.status != http.StatusNoContent || !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("sign out: got %d, Set-Cookie %q", out.status, out.header.Get("Set-Cookie"))
	}
	if a := b.do("GET", "/api/v1/session", nil); a.status != http.StatusUnauthorized {
		t.Errorf("after signing out: got %d, want 401", a.status)
	}
	if strings.Contains(w.log.String(), b.cookieValue()) || strings.Contains(w.log.String(), b.secret) {
		t.Error("the log holds the cookie or the secret")
	}
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	cert, _ := certificate(t)
	overTLS := start(t, func(s *settings) {
		s.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	})
	tests := []struct {
		name    string
		w       *world
		headers []string
		want    string
	}{
		{
			"over HTTPS it is bound to this host", overTLS, nil,
			`^__Host-penstock_session=[\w-]{43}; Path=/; HttpOnly; Secure; SameSite=Strict$`,
		},
		{
			"behind a proxy that ends TLS it is never sent in the clear", start(t),
			[]string{"X-Forwarded-Proto", "https"},
			`; HttpOnly; Secure; SameSite=Strict$`,
		},
		{
			"on loopback it is told apart by the port", start(t), nil,
			`^penstock_session_\d+=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`,
		},
	}
	for _, tt := range tests {
		a := tt.w.must(
			http.StatusCreated, "POST", "/api/v1/session", access.SessionRequest{APIKey: adminKey},
			append(tt.headers, "Authorization", "")...,
		)
		if got := a.header.Get("Set-Cookie"); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("%s: got %q, want %s", tt.name, got, tt.want)
		}
	}
}

// A page on another port of loopback can set a cookie of this name, too. If its path is longer, the
// browser sends it before the session's own.
func TestAnotherCookieWithTheSameNameLocksNobodyOut(t *testing.T) {
	t.Parallel()
	w := start(t)
	in := w.must(
		http.StatusCreated, "POST", "/api/v1/session", access.SessionRequest{APIKey: adminKey}, "Authorization", "",
	)
	var session access.Session
	in.into(t, &session)
	own, _, _ := strings.Cut(in.header.Get("Set-Cookie"), ";")
	name, _, _ := strings.Cut(own, "=")
	for _, cookies := range []string{
		own, name + "=x; " + own, own + "; " + name + "=x", name + "=; " + name + "=x; " + name + "=y; " + own,
	} {
		w.must(
			http.StatusOK, "GET", "/api/v1/session", nil, "Authorization", "", "Cookie", cookies, "X-Penstock-Session-Secret",
			session.Secret,
		)
	}
	w.must(http.StatusUnauthorized, "GET", "/api/v1/session", nil,
		"Authorization", "", "Cookie", name+"=x; "+name+"=y", "X-Penstock-Session-Secret", session.Secret)
}

func TestSigningInAgainEndsTheSessionBefore(t *testing.T) {
	t.Parallel()
	w := start(t)
	b := w.signIn(w.admin)
	if a := b.do("POST", "/api/v1/session", access.SessionRequest{APIKey: w.admin}); a.status != http.StatusCreated {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if a := b.do("GET", "/api/v1/session", nil); a.status != http.StatusUnauthorized {
		t.Errorf("the first session: got %d, want 401", a.status)
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	unlimited := start(t)
	tests := []struct {
		name string
		end  func(t *testing.T) (w *world, b *browser)
	}{
		{"with their key", func(t *testing.T) (*world, *browser) {
			t.Helper()
			uid, key := unlimited.newKey(penstock.ScopeRunsRead)
			b := unlimited.signIn(key)
			unlimited.must(http.StatusNoContent, "DELETE", "/api/v1/keys/"+uid, nil)
			return unlimited, b
		}},
		{"at their age", func(t *testing.T) (*world, *browser) {
			t.Helper()
			w := start(t, func(s *settings) { s.sessions.Life = time.Millisecond })
			return w, w.signIn(w.admin)
		}},
		{"when they are not used", func(t *testing.T) (*world, *browser) {
			t.Helper()
			w := start(t, func(s *settings) { s.sessions.Idle = time.Millisecond })
			return w, w.signIn(w.admin)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, b := tt.end(t)
			eventually(
				t, "the session to end",
				func() bool { return b.do("GET", "/api/v1/session", nil).status == http.StatusUnauthorized },
			)
			if a := b.do("POST", "/api/v1/agent/runs", map[string]any{"prompt": "x"}); a.status != http.StatusUnauthorized {
				t.Errorf("a write: got %d, want 401", a.status)
			}
		})
	}
}

// A session is valid on every replica and after a restart: no process holds any of its state.
func TestSessionIsValidOnEveryReplica(t *testing.T) {
	t.Parallel()
	w := start(t)
	other := start(t, func(s *settings) { s.api.Rules, s.api.PublicURL = w.svc, w.url })
	b := w.signIn(w.admin)
	there := &browser{world: other, cookie: b.cookie, secret: b.secret}
	if a := there.do("GET", "/api/v1/session", nil); a.status != http.StatusOK {
		t.Errorf("got %d %s", a.status, a.body)
	}
	b.do("DELETE", "/api/v1/session", nil)
	if a := there.do("GET", "/api/v1/session", nil); a.status != http.StatusUnauthorized {
		t.Errorf("after signing out elsewhere: got %d", a.status)
	}
}

// Requests that another site makes a browser send with the cookie have no effect.
func TestOtherSitesCannotUseASession(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.CORSOrigins = []string{"*"} })
	b := w.signIn(w.admin)
	tests := []struct {
		name    string
		method  string
		headers []string
		status  int
	}{
		{"this page", "POST", []string{"Origin", w.url}, 200},
		{"this page, of a browser without Sec-Fetch-Site", "POST", []string{"Sec-Fetch-Site", "", "Origin", w.url}, 200},
		{"another site, even with the secret", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a neighbor of this site, even with the secret", "POST", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{
			"another origin, even with the secret", "POST",
			[]string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
			403,
		},
		{"a page without origin", "POST", []string{"Sec-Fetch-Site", "", "Origin", "null"}, 403},
		{"a read by another site", "GET", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a read", "GET", nil, 200},
	}
	for _, tt := range tests {
		var body any
		if tt.method == "POST" {
			body = map[string]any{"prompt": tt.name}
		}
		a := b.do(tt.method, "/api/v1/agent/runs", body, tt.headers...)
		if a.status != tt.status {
			t.Errorf("%s: got %d %s, want %d", tt.name, a.status, a.body, tt.status)
		}
		if a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: credentials of other origins are allowed", tt.name)
		}
	}
	if a := w.do(
		"POST", "/api/v1/session", access.SessionRequest{APIKey: w.admin}, "Authorization", "", "Sec-Fetch-Site",
		"cross-site",
	); a.status != http.StatusForbidden {
		t.Errorf("another site signs the browser in: got %d, want 403", a.status)
	}
}

// A cookie reaches every port of its host, so a program on another port gets it. It is useless
// without the secret, which is in no cookie.
func TestACookieAloneDoesNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w := start(t, func(s *settings) { s.storeURL = database })
		b, other := w.signIn(w.admin), w.signIn(w.admin)
		id := w.newRun("watched")
		cookieName, _, _ := strings.Cut(b.cookie, "=")
		proofs := []struct{ name, cookie, secret string }{
			{"no secret", b.cookie, ""},
			{"a made-up secret", b.cookie, strings.Repeat("A", 43)},
			{"a secret that is too long", b.cookie, strings.Repeat("A", 10_000)},
			{"the secret of another session", b.cookie, other.secret},
			{"the cookie as the secret", b.cookie, b.cookieValue()},
			{"the secret as the cookie", cookieName + "=" + b.secret, b.secret},
			{"the secret's hash as the secret", b.cookie, fmt.Sprintf("%x", sha256.Sum256([]byte(b.secret)))},
			{"the secret in a cookie", b.cookie + "; " + secretHeader + "=" + b.secret, ""},
			{"the secret alone", "", b.secret},
		}
		requests := []struct {
			method, path string
			body         any
		}{
			{"GET", "/api/v1/session", nil},
			{"GET", "/api/v1/agent/runs", nil},
			{"GET", "/api/v1/agent/runs/" + id + "/events", nil},
			{"GET", "/api/v1/agent/runs/" + id + "/transcript", nil},
			{"GET", "/api/v1/keys", nil},
			{"POST", "/api/v1/keys", access.KeyRequest{Name: "stolen", Scopes: []penstock.Scope{penstock.ScopeAdmin}}},
			{"POST", "/api/v1/agent/runs", map[string]any{"prompt": "stolen"}},
			{"DELETE", "/api/v1/session", nil},
		}
		for _, proof := range proofs {
			for _, r := range requests {
				a := b.do(r.method, r.path, r.body, "Cookie", proof.cookie, secretHeader, proof.secret)
				if a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: %s %s: got %d %s, want 401", proof.name, r.method, r.path, a.status, a.body)
				}
			}
		}
		if a := b.do("GET", "/api/v1/session", nil); a.status != http.StatusOK {
			t.Errorf("the session itself afterwards: got %d %s", a.status, a.body)
		}
		if keys := w.do("GET", "/api/v1/keys", nil).body; strings.Contains(keys, "stolen") {
			t.Errorf("a key was made: %s", keys)
		}
	})
}

// A sign-in replaces the session only if the browser presents both halves of it. A program that has
// only the cookie, and a key of its own, cannot end another user's session.
func TestASignInEndsNoSessionByItsCookieAlone(t *testing.T) {
	t.Parallel()
	w := start(t)
	b := w.signIn(w.admin)
	_, reader := w.newKey(penstock.ScopeRunsRead)
	a := b.do("POST", "/api/v1/session", access.SessionRequest{APIKey: reader}, secretHeader, "")
	if a.status != http.StatusCreated {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if a := b.do("GET", "/api/v1/session", nil); a.status != http.StatusOK {
		t.Errorf("the session: got %d, want 200", a.status)
	}
}

// Nothing in a copy of the database can be used as a session.
func TestTheDatabaseHoldsNoSession(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "penstock.db")
	w := start(t, func(s *settings) { s.storeURL = "sqlite://" + file })
	b := w.signIn(w.admin)
	b.do("GET", "/api/v1/session", nil)
	for _, name := range []string{file, file + "-wal"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(b.secret)) || bytes.Contains(content, []byte(b.cookieValue())) {
			t.Errorf("%s holds the cookie or the secret", name)
		}
	}
}

func TestSignInIsSlowedDown(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.FailuresPerMinute = 2 })
	for range 2 {
		w.must(http.StatusUnauthorized, "POST", "/api/v1/session", `{"api_key": "psk_wrong"}`, "Authorization", "")
	}
	if a := w.must(
		http.StatusTooManyRequests, "POST", "/api/v1/session", `{"api_key": "psk_wrong"}`, "Authorization", "",
	); a.header.Get("Retry-After") == "" {
		t.Error("the 429 has no Retry-After")
	}
}

func TestRevokedKeyEndsTheStreamsOfItsSessions(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.KeepAlive = 10 * time.Millisecond })
	uid, key := w.newKey(penstock.ScopeRunsRead)
	b := w.signIn(key)
	r := w.request(
		"GET", "/api/v1/agent/runs/"+w.newRun("watched")+"/events", nil, "Authorization", "", "Cookie", b.cookie,
		secretHeader, b.secret,
	)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.send(r)
	}()
	w.must(http.StatusNoContent, "DELETE", "/api/v1/keys/"+uid, nil)
	select {
	case <-ended:
	case <-time.After(testkit.Patience * time.Minute):
		t.Error("the stream goes on")
	}
}

func TestBrowsersGetTheDashboard(t *testing.T) {
	t.Parallel()
	w := start(t)
	const page = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
	tests := []struct {
		name, path, accept string
		status             int
		contentType        string
	}{
		{"the front page", "/", page, 200, "text/html; charset=utf-8"},
		{"the front page for a program", "/", "*/*", 200, "text/plain; charset=utf-8"},
		{"a page of a run", "/runs/" + penstock.NewID(), page, 200, "text/html; charset=utf-8"},
		{"a run for a program", "/runs/" + penstock.NewID(), "*/*", 200, "text/plain; charset=utf-8"},
		{"a page of a delivery", "/factory/a/webhooks/b/deliveries/c", page, 200, "text/html; charset=utf-8"},
		{"an unknown address for a program", "/nothing", "*/*", 404, "application/problem+json"},
		{"an unknown address of the API", "/api/v1/nothing", page, 404, "application/problem+json"},
		{"a file that is not there", "/assets/nothing.js", "*/*", 404, "text/plain; charset=utf-8"},
		{"a file above the files", "/assets/../index.html", page, 404, "application/problem+json"},
	}
	for _, tt := range tests {
		a := w.do("GET", tt.path, nil, "Authorization", "", "Accept", tt.accept)
		if a.status != tt.status || a.header.Get("Content-Type") != tt.contentType {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, a.status, a.header.Get("Content-Type"), tt.status, tt.contentType)
		}
	}
	a := w.do("GET", "/runs", nil, "Authorization", "", "Accept", page)
	policy := a.header.Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") ||
		policy == w.do("GET", "/runs", nil, "Accept", page).header.Get("Content-Security-Policy") {
		t.Errorf("policy %q allows what is inline, or always has the same nonce", policy)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Cache-Control": "no-store",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if a := w.do("POST", "/runs", nil); a.status != http.StatusNotFound {
		t.Errorf("a POST to a page: got %d, want 404", a.status)
	}
}

// back is what a provider sends a browser back with, as the callback page posts it.
func (w *world) back(idp *testkit.IDP, headers ...string) (body map[string]string, cookie string) {
	w.t.Helper()
	a := w.must(
		http.StatusCreated, "POST", "/api/v1/session/providers", access.SignInRequest{Provider: "Corp", ReturnTo: "/runs"},
		append(headers, "Authorization", "", "Sec-Fetch-Site", "same-origin", "Origin", w.url)...,
	)
	answer := idp.Visit(w.t, a.field("authorization_url"))
	cookie, _, _ = strings.Cut(a.header.Get("Set-Cookie"), ";")
	return map[string]string{"state": answer.Get("state"), "code": answer.Get("code"), "iss": answer.Get("iss")}, cookie
}

// A browser signs in at a provider, and its session is one like others.
func TestSignInAtAProvider(t *testing.T) {
	t.Parallel()
	idp := testkit.NewIDP(t, map[string]any{"sub": "1", "name": "Ada", "groups": []string{"dev"}})
	w := start(t, func(s *settings) { s.idp = idp })
	list := w.must(http.StatusOK, "GET", "/api/v1/session/providers", nil, "Authorization", "")
	if strings.TrimSpace(list.body) != `{"providers":[{"name":"Corp"}]}` {
		t.Errorf("the providers are %s", list.body)
	}
	body, cookie := w.back(idp)
	if !regexp.MustCompile(`^penstock_signin_\d+=[\w-]{43}$`).MatchString(cookie) {
		t.Errorf("the cookie is %s", cookie)
	}
	a := w.must(http.StatusCreated, "POST", "/api/v1/session", body, "Authorization", "", "Cookie", cookie)
	if a.field("return_to") != "/runs" || a.field("principal_uid") == "" {
		t.Errorf("the session is %s", a.body)
	}
	own, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	b := &browser{world: w, cookie: own, secret: a.field("secret")}
	if me := b.do("GET", "/api/v1/me", nil); !strings.Contains(me.body, `"display_name":"Ada"`) {
		t.Errorf("me: %s", me.body)
	}
	users := b.do("GET", "/api/v1/users", nil)
	if users.status != http.StatusForbidden || !strings.Contains(users.body, "Ada has only the role editor") {
		t.Errorf("the users, of an editor: got %d %s", users.status, users.body)
	}

	// Another sign-in in the same browser ends this session.
	body, cookie = w.back(idp, "Cookie", cookie)
	w.must(
		http.StatusCreated, "POST", "/api/v1/session", body,
		"Authorization", "", "Cookie", cookie+"; "+own, secretHeader, b.secret, "Sec-Fetch-Site", "same-origin",
	)
	if a := b.do("GET", "/api/v1/me", nil); a.status != http.StatusUnauthorized {
		t.Errorf("the session before: got %d", a.status)
	}
	for _, secret := range []string{body["code"], body["state"], idp.ClientSecret, b.secret} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// Somebody's link must not sign a person in as somebody else.
func TestASignInBelongsToItsBrowserAndItsPage(t *testing.T) {
	t.Parallel()
	idp := testkit.NewIDP(t, map[string]any{"sub": "1", "name": "Eve", "groups": []string{"dev"}})
	w := start(t, func(s *settings) { s.idp = idp })
	body, cookie := w.back(idp)
	for name, headers := range map[string][]string{
		"without the cookie":   {},
		"with another cookie":  {"Cookie", strings.Split(cookie, "=")[0] + "=" + strings.Repeat("x", 43)},
		"from another site":    {"Cookie", cookie, "Sec-Fetch-Site", "cross-site"},
		"from a sister's site": {"Cookie", cookie, "Sec-Fetch-Site", "same-site"},
	} {
		a := w.do("POST", "/api/v1/session", body, append(headers, "Authorization", "")...)
		if a.status != http.StatusUnauthorized && a.status != http.StatusForbidden || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: got %d %s", name, a.status, a.body)
		}
	}
	alias := *w
	alias.url = strings.Replace(w.url, "127.0.0.1", "localhost", 1)
	a := alias.do(
		"POST", "/api/v1/session/providers", `{"provider": "Corp"}`, "Authorization", "", "Origin", alias.url,
	)
	if a.status != http.StatusBadRequest || !strings.Contains(a.body, "open the dashboard there") {
		t.Errorf("from a page that the provider would not come back to: got %d %s", a.status, a.body)
	}
	// A page on another port of loopback can set a cookie of this name, too, which comes first if its path is longer.
	planted := strings.Split(cookie, "=")[0] + "=x; " + cookie
	w.must(http.StatusCreated, "POST", "/api/v1/session", body, "Authorization", "", "Cookie", planted)
}

func TestASignInIs503WhileTheProviderIsAway(t *testing.T) {
	t.Parallel()
	idp := testkit.NewIDP(t, nil)
	w := start(t, func(s *settings) { s.idp = idp })
	b := w.signIn(w.admin)
	idp.Close()
	a := w.must(
		http.StatusServiceUnavailable, "POST", "/api/v1/session/providers", `{"provider": "Corp"}`, "Authorization", "",
	)
	if !strings.Contains(a.body, "the identity provider Corp does not answer") ||
		strings.Contains(a.body, strings.TrimPrefix(idp.URL, "http://")) {
		t.Errorf("got %s", a.body)
	}
	if a := b.do("GET", "/api/v1/me", nil); a.status != http.StatusOK {
		t.Errorf("a session: got %d", a.status)
	}
}
