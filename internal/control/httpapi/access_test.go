package httpapi_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestKeysAreAskedFor(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, reader := w.newKey(penstock.ScopeRunsRead)
	uid, revoked := w.newKey(penstock.ScopeAdmin)
	w.must(http.StatusNoContent, "DELETE", "/api/v1/keys/"+uid, nil)
	tests := []struct {
		name, authorization string
		method              string
		status              int
		challenge           string
	}{
		{"none", "", "GET", 401, `Bearer realm="penstock"`},
		{"another scheme", "Basic YTpi", "GET", 401, `Bearer realm="penstock"`},
		{"no key in it", "Bearer ", "GET", 401, `Bearer realm="penstock"`},
		{
			"unknown", "Bearer psk_0000000000000000000000000000000000000000000", "GET", 401,
			`Bearer realm="penstock", error="invalid_token"`,
		},
		{"revoked", "Bearer " + revoked, "GET", 401, `Bearer realm="penstock", error="invalid_token"`},
		{
			"too little scope", "Bearer " + reader, "POST", 403,
			`Bearer realm="penstock", error="insufficient_scope", scope="runs:write"`,
		},
		{"enough scope", "Bearer " + reader, "GET", 200, ""},
		{"scheme in lower case", "bearer " + reader, "GET", 200, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := w.do(tt.method, "/api/v1/agent/runs", nil, "Authorization", tt.authorization)
			if a.status != tt.status || a.header.Get("WWW-Authenticate") != tt.challenge {
				t.Errorf(
					"got %d, WWW-Authenticate %q; want %d, %q", a.status, a.header.Get("WWW-Authenticate"), tt.status, tt.challenge,
				)
			}
		})
	}
}

func TestTheRateOfAKeyIsLimited(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.RequestsPerMinute = 3 })
	for left := 2; left >= 0; left-- {
		a := w.must(http.StatusOK, "GET", "/api/v1/me", nil)
		if got, want := a.header.Get("Ratelimit"), `"default";r=`+strconv.Itoa(left)+`;t=`; !strings.HasPrefix(got, want) {
			t.Errorf("got RateLimit %q, want %q…", got, want)
		}
		if got, want := a.header.Get("Ratelimit-Policy"), `"default";q=3;w=60`; got != want {
			t.Errorf("got RateLimit-Policy %q, want %q", got, want)
		}
	}
	a := w.must(http.StatusTooManyRequests, "GET", "/api/v1/me", nil)
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || after < 1 || after > 61 || a.header.Get("X-Should-Retry") != "true" ||
		a.field("retryable") != "true" {
		t.Errorf(
			"got Retry-After %q, X-Should-Retry %q, %s", a.header.Get("Retry-After"), a.header.Get("X-Should-Retry"), a.body,
		)
	}
	w.must(http.StatusOK, "GET", "/healthz", nil)
	if a := w.do("GET", "/api/v1/me", nil, "Authorization", "Bearer psk_wrong"); a.status != 401 {
		t.Errorf("another key: got %d, want its own budget", a.status)
	}
}

func TestFailedAuthenticationIsLimitedByAddress(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.FailuresPerMinute = 2 })
	for range 2 {
		w.must(http.StatusUnauthorized, "GET", "/api/v1/me", nil, "Authorization", "Bearer psk_wrong")
	}
	a := w.must(http.StatusTooManyRequests, "GET", "/api/v1/me", nil, "Authorization", "Bearer psk_wrong")
	if a.header.Get("Retry-After") == "" || a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("the 429 has the headers %v", a.header)
	}
	w.must(http.StatusUnauthorized, "GET", "/api/v1/me", nil, "Authorization", "") // no guess
}

// A flood of bad keys from one address does not lock out other callers at that address, even if
// their keys are new to this process.
func TestAGoodKeyIsNeverTakenForAGuess(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w := start(t, func(s *settings) { s.storeURL = database })
		b := w.signIn(w.admin)
		_, never := w.newKey(penstock.ScopeRunsRead)
		w.newRun("mine")
		agent := w.work(w.svc.Executions.Control())
		guessed := start(t, func(s *settings) { s.api.Rules, s.api.PublicURL, s.api.FailuresPerMinute = w.svc, w.url, 2 })
		guess := func() int { return guessed.do("GET", "/api/v1/me", nil, "Authorization", "Bearer psk_wrong").status }
		if got, want := []int{guess(), guess(), guess()}, []int{401, 401, 429}; !slices.Equal(got, want) {
			t.Errorf("three guesses: got %v, want %v", got, want)
		}
		guessed.must(http.StatusTooManyRequests, "POST", "/api/v1/session", `{"api_key": "psk_wrong"}`, "Authorization", "")
		there := &browser{world: guessed, cookie: b.cookie, secret: b.secret}
		if a := there.do("GET", "/api/v1/me", nil, secretHeader, ""); a.status != http.StatusTooManyRequests {
			t.Errorf("a cookie without its secret: got %d %s, want 429", a.status, a.body)
		}
		if a := there.do("GET", "/api/v1/me", nil); a.status != http.StatusOK {
			t.Errorf("a session: got %d %s", a.status, a.body)
		}
		guessed.must(http.StatusOK, "GET", "/api/v1/me", nil, "Authorization", "Bearer "+never)
		guessed.must(http.StatusOK, "GET", "/api/v1/me", nil, "Authorization", "Bearer "+agent.a.APIKey)
		guessed.must(
			http.StatusCreated, "POST", "/api/v1/session", access.SessionRequest{APIKey: never}, "Authorization", "",
		)
		if status := guess(); status != http.StatusTooManyRequests {
			t.Errorf("another guess: got %d, want 429", status)
		}
	})
}

func TestAnExecutionsKeyReachesItsOwnRunOnly(t *testing.T) {
	t.Parallel()
	w := start(t)
	mine := w.newRun("mine")
	g := w.work(w.svc.Executions.Control())
	other := w.newRun("other")
	key := "Bearer " + g.a.APIKey
	plan := `{"artifact_type": "PLAN", "data": {"content": "1. Look."}}`
	tests := []struct {
		method, path string
		body         any
		status       int
	}{
		{"GET", "/api/v1/me", nil, 200},
		{"GET", "/api/v1/agent/runs/" + mine, nil, 200},
		{"GET", "/api/v1/agent/runs/" + mine + "/timeline", nil, 200},
		{"GET", "/api/v1/agent/runs/" + mine + "/conversation", nil, 200},
		{"POST", "/api/v1/agent/runs/" + mine + "/artifacts", plan, 201},
		{"GET", "/api/v1/agent/runs/" + other, nil, 403},
		{"POST", "/api/v1/agent/runs/" + other + "/artifacts", plan, 403},
		{"POST", "/api/v1/agent/runs/" + mine + "/cancel", nil, 403},
		{"POST", "/api/v1/agent/runs/" + mine + "/followups", `{"message": "x"}`, 403},
		{"POST", "/api/v1/agent/runs", `{"prompt": "x"}`, 403},
		{"GET", "/api/v1/agent/runs", nil, 403},
		{"GET", "/api/v1/agent/runs/" + mine + "/transcript", nil, 403},
		{"GET", "/api/v1/keys", nil, 403},
		{"GET", "/api/v1/limits", nil, 403},
		{"GET", "/api/v1/agent/runs/" + mine + "/usage", nil, 200},
		{"GET", "/api/v1/agent/runs/" + mine + "/calls", nil, 200},
		{"GET", "/api/v1/agent/runs/" + mine + "/harness-usage", nil, 200},
		{"GET", "/api/v1/agent/runs/" + other + "/usage", nil, 403},
		{"PATCH", "/api/v1/agent/runs/" + mine, `{"config": {"budget": null}}`, 403},
		{"PATCH", "/api/v1/agent/runs/" + other, `{"config": {"budget": null}}`, 403},
		{"GET", "/api/v1/agent/runs/" + mine + "/outputs", nil, 200},
		{"POST", "/api/v1/agent/runs/" + other + "/outputs", `{"kind": "comment", "body": "x"}`, 403},
		{"GET", "/api/v1/outputs?state=held", nil, 403},
		{"POST", "/api/v1/outputs/x/approve", nil, 403},
		{"GET", "/api/v1/usage", nil, 403},
		{"GET", "/api/v1/budgets", nil, 403},
		{"POST", "/api/v1/budgets", `{"scope": "team", "period": "day", "max_cost_usd": 1}`, 403},
		{"POST", "/api/v1/worker/claim", `{}`, 403},
	}
	for _, tt := range tests {
		if a := w.do(tt.method, tt.path, tt.body, "Authorization", key); a.status != tt.status {
			t.Errorf("%s %s: got %d %s, want %d", tt.method, tt.path, a.status, a.body, tt.status)
		}
	}
	g.succeed()
	if a := w.do("GET", "/api/v1/me", nil, "Authorization", key); a.status != 401 {
		t.Errorf("after the execution: got %d, want the key to be over with it", a.status)
	}
}

// arrivedAt returns the context of a request to a listener at addr.
func arrivedAt(ctx context.Context, addr string) context.Context {
	local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))
	return context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(local))
}

// from serves a request as if it came from the network.
func (w *world) from(remote string, r *http.Request) *httptest.ResponseRecorder {
	r = r.WithContext(arrivedAt(r.Context(), "192.0.2.1:80"))
	r.RemoteAddr, r.RequestURI = remote, r.URL.RequestURI()
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return rec
}

func TestPlainHTTPFromOtherMachinesIsRejected(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) {
		s.api.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	tests := []struct {
		name, remote, path string
		headers            []string
		status             int
	}{
		{"plain", "192.0.2.7:1", "/api/v1/me", nil, 403},
		{"plain, with a forged header", "192.0.2.7:1", "/api/v1/me", []string{"X-Forwarded-Proto", "https"}, 403},
		{
			"behind a trusted proxy", "10.0.0.9:1", "/api/v1/me",
			[]string{"X-Forwarded-Proto", "https", "X-Forwarded-For", "203.0.113.5"},
			200,
		},
		{
			"behind a trusted proxy that was called plainly", "10.0.0.9:1", "/api/v1/me",
			[]string{"X-Forwarded-Proto", "http"},
			403,
		},
		{"a probe", "192.0.2.7:1", "/healthz", []string{"Authorization", ""}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := w.from(tt.remote, w.request("GET", tt.path, nil, tt.headers...))
			if rec.Code != tt.status {
				t.Errorf("got %d %s, want %d", rec.Code, rec.Body, tt.status)
			}
		})
	}
}

// Every process of this machine can reach loopback, including agents, so a local caller gets no
// extra access.
func TestMetricsNeedAKey(t *testing.T) {
	t.Parallel()
	metrics := func(s *settings) {
		s.api.Metrics = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("up 1\n")) })
	}
	w := start(t, metrics)
	_, scraper := w.newKey(penstock.ScopeMetricsRead)
	_, reader := w.newKey(penstock.ScopeRunsRead)
	w.newRun("mine")
	agent := w.work(w.svc.Executions.Control())
	for name, tt := range map[string]struct {
		authorization string
		status        int
	}{
		"no key":              {"", 401},
		"a bad key":           {"Bearer psk_wrong", 401},
		"an admin":            {"Bearer " + w.admin, 200},
		"the scope":           {"Bearer " + scraper, 200},
		"another scope":       {"Bearer " + reader, 403},
		"the key of an agent": {"Bearer " + agent.a.APIKey, 403},
	} {
		a := w.do("GET", "/metrics", nil, "Authorization", tt.authorization)
		if a.status != tt.status || (a.body == "up 1\n") != (tt.status == 200) {
			t.Errorf("%s: got %d %q, want %d", name, a.status, a.body, tt.status)
		}
	}
	if a := w.do("GET", "/api/v1/agent/runs", nil, "Authorization", "Bearer "+scraper); a.status != http.StatusForbidden {
		t.Errorf("runs with the scope metrics:read alone: got %d, want 403", a.status)
	}
	open := start(t, metrics, func(s *settings) { s.api.MetricsOpen = true })
	if a := open.do("GET", "/metrics", nil, "Authorization", ""); a.status != 200 {
		t.Errorf("open metrics without a key: got %d %s", a.status, a.body)
	}
}

// HSTS applies only to HTTPS (RFC 6797 §7.2). It makes browsers use HTTPS.
func TestStrictTransportSecurityIsSentOverHTTPSOnly(t *testing.T) {
	t.Parallel()
	cert, _ := certificate(t)
	plain := start(t, func(s *settings) { s.api.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	overTLS := start(t, func(s *settings) {
		s.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	})
	const header, want = "Strict-Transport-Security", "max-age=31536000"
	for _, path := range []string{"/", "/api/v1/me", "/nothing", "/docs", "/healthz"} {
		if got := overTLS.do("GET", path, nil).header.Get(header); got != want {
			t.Errorf("%s over TLS: got %q, want %q", path, got, want)
		}
		if got := plain.do("GET", path, nil).header.Values(header); got != nil {
			t.Errorf("%s over HTTP on loopback: got %q", path, got)
		}
		if got := plain.do("GET", path, nil, "X-Forwarded-Proto", "https").header.Values(header); got != nil {
			t.Errorf("%s with a header of a stranger: got %q", path, got)
		}
	}
	for proto, want := range map[string]string{"https": want, "http": ""} {
		rec := plain.from("10.0.0.9:1", plain.request("GET", "/api/v1/me", nil, "X-Forwarded-Proto", proto))
		if got := rec.Header().Get(header); got != want {
			t.Errorf("behind a trusted proxy with %s: got %q, want %q", proto, got, want)
		}
	}
}

// Scanners constantly request paths that do not exist, so these requests are not logged. Such a
// request with a valid key is.
func TestAnonymousMissesAreLoggedAtDebug(t *testing.T) {
	t.Parallel()
	w := start(t)
	b := w.signIn(w.admin)
	tests := []struct {
		name    string
		path    string
		headers []string
		level   string
	}{
		{"no key", "/wp-login.php", []string{"Authorization", ""}, "DEBUG"},
		{"no key, below the API", "/api/v1/nothing", []string{"Authorization", ""}, "DEBUG"},
		{"no key, a file", "/assets/nothing.js", []string{"Authorization", ""}, "DEBUG"},
		{"no key, a link", "/api/v1/downloads/nothing", []string{"Authorization", ""}, "DEBUG"},
		{"a bad key", "/api/v1/nothing", []string{"Authorization", "Bearer psk_wrong"}, "DEBUG"},
		{"a cookie alone", "/api/v1/nothing", []string{"Authorization", "", "Cookie", b.cookie}, "DEBUG"},
		{"a good key", "/api/v1/nothing", nil, "INFO"},
		{"a session", "/api/v1/nothing", []string{"Authorization", "", "Cookie", b.cookie, secretHeader, b.secret}, "INFO"},
		{"a good key and a known route", "/api/v1/agent/runs/" + penstock.NewID(), nil, "INFO"},
	}
	for i, tt := range tests {
		id := "miss-" + strconv.Itoa(i)
		a := w.must(http.StatusNotFound, "GET", tt.path, nil, append(tt.headers, "X-Request-Id", id)...)
		if a.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: the 404 asks for a key", tt.name)
		}
		eventually(t, "the log", func() bool { return strings.Contains(w.log.String(), id) })
		for line := range strings.Lines(w.log.String()) {
			if strings.Contains(line, id) && !strings.Contains(line, `"level":"`+tt.level+`"`) {
				t.Errorf("%s: got %s, want it at %s", tt.name, line, tt.level)
			}
		}
	}
}

func TestTheLogHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.newRun("x")
	w.do("GET", "/api/v1/agent/runs/"+id+"?name=hidden-query", nil)
	link := w.do("GET", "/api/v1/agent/runs/"+id+"/transcript", nil).header.Get("Location")
	token := link[strings.LastIndexByte(link, '/')+1:]
	w.do("GET", link, nil, "Authorization", "")
	w.do("GET", "/api/v1/downloads/wrong-token", nil)
	log := w.log.String()
	for _, secret := range []string{adminKey, token, "wrong-token", "hidden-query"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	for _, fact := range []string{
		`"route":"/api/v1/agent/runs/{runId}"`, `"status":302`, `"run_id":"` + id, `"request_id":"`, `"key_uid":"`,
	} {
		if !strings.Contains(log, fact) {
			t.Errorf("the log lacks %s", fact)
		}
	}
}
