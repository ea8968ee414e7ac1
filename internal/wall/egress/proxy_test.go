package egress

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{rules: []penstock.NetworkRule{
		{Host: "api.example.test"}, {Host: "read.wild.test", Methods: []string{"GET"}},
	}})
	issuer := func(host string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url(host, "/"), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := w.client(t).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.TLS.PeerCertificates[0].Issuer.CommonName
	}
	if got := issuer("api.example.test"); got != "hosts" {
		t.Errorf("a tunnel shows a certificate of %q", got)
	}
	if got := issuer("read.wild.test"); got != "Penstock execution CA" {
		t.Errorf("an inspected host shows a certificate of %q", got)
	}
	status, body := w.do(t, "POST", w.url("read.wild.test", "/x"), "data")
	want := fmt.Sprintf("POST /x on read.wild.test:%d is refused: the rule for read.wild.test of the environment ci "+
		"does not allow it: POST is not among its methods (GET). To allow it, change that rule.\n", w.port())
	if status != 403 || body != want {
		t.Errorf("got %d %q, want %q", status, body, want)
	}
	for range 2 {
		status, body = w.do(t, "GET", fmt.Sprintf("http://evil.test:%d/", w.plainPort()), "")
		if status != 403 || !strings.Contains(body, "no rule of the run's network policy allows it. To allow it, add it to") {
			t.Errorf("got %d %q", status, body)
		}
	}
	status, body = w.do(t, "GET", fmt.Sprintf("http://api.example.test:%d/p?a=;b", w.plainPort()), "")
	if body != "GET /p?a=;b" {
		t.Errorf("plain: %d %q", status, body)
	}
	w.mu.Lock()
	if len(w.denials) != 2 {
		t.Errorf("got %d denials, want one for each host: %v", len(w.denials), w.denials)
	}
	w.mu.Unlock()
	modes := map[string]string{}
	for _, h := range w.Report() {
		modes[h.Host+" "+h.Mode] = fmt.Sprint(h.Requests, h.Refused, h.BytesIn > 0, h.BytesOut > 0)
	}
	if diff := cmp.Diff(map[string]string{
		"api.example.test tunnel": "1 0 true true", "api.example.test http": "1 0 true true",
		"read.wild.test inspect": "1 1 true true", "evil.test refused": "0 2 false false",
	}, modes); diff != "" {
		t.Error(diff)
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	for _, request := range []string{
		"GET /model/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"GET http://" + w.address + "/model/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
	} {
		if status, text := w.raw(t, request); status != 200 || !strings.HasSuffix(text, "local /model/x") {
			t.Errorf("%q: %d %q", request, status, text)
		}
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if status, text := exchangeRaw(t, conn, "CONNECT "+w.address+" HTTP/1.1\r\nHost: a\r\n\r\n"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	status, text := exchangeRaw(t, conn, "GET /m HTTP/1.1\r\nHost: a\r\n\r\n")
	if status != 200 || !strings.HasSuffix(text, "local /m") {
		t.Errorf("in CONNECT: %d %q", status, text)
	}
}

func TestCredential(t *testing.T) {
	t.Parallel()
	rule := func(as, user, header string) penstock.NetworkRule {
		return penstock.NetworkRule{
			Host:       "api.example.test",
			Credential: &penstock.NetworkCredential{Secret: "TOKEN", As: as, User: user, Header: header},
		}
	}
	for _, c := range []struct {
		name, header, want string
		rule               penstock.NetworkRule
	}{
		{"bearer", "Authorization", "Bearer " + secretValue, rule("bearer", "", "")},
		{
			"basic", "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+secretValue)),
			rule("basic", "", ""),
		},
		{
			"basic with a user", "Authorization",
			"Basic " + base64.StdEncoding.EncodeToString([]byte("oauth2:"+secretValue)), rule("basic", "oauth2", ""),
		},
		{"header", "Private-Token", secretValue, rule("header", "", "private-token")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{
				rules: []penstock.NetworkRule{c.rule}, hosts: map[string][]string{"TOKEN": {"api.example.test"}},
			})
			status, body := w.do(t, "GET", w.url("api.example.test", "/"), "", c.header, "agent", c.header, "second",
				"Connection", "keep-alive, "+c.header)
			if status != 200 {
				t.Fatalf("%d %s", status, body)
			}
			if diff := cmp.Diff([]string{c.want}, w.requests()[0].Header.Values(c.header)); diff != "" {
				t.Error(diff)
			}
			// Without TLS the rule does not apply, and nothing is sent.
			status, body = w.do(t, "GET", fmt.Sprintf("http://api.example.test:%d/", w.plainPort()), "")
			if status != 403 || !strings.Contains(body, "needs https") || len(w.requests()) != 1 {
				t.Errorf("without TLS: %d %s", status, body)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			shown := fmt.Sprint(w.Report(), w.denials, body)
			if strings.Contains(shown, secretValue) {
				t.Errorf("the secret is in %s", shown)
			}
		})
	}
	t.Run("host that the secret does not list", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, setup{
			rules: []penstock.NetworkRule{rule("bearer", "", "")}, hosts: map[string][]string{"TOKEN": {"other.test"}},
		})
		if status, body := w.do(t, "GET", w.url("api.example.test", "/"), ""); status != 0 {
			t.Errorf("got %d %s", status, body)
		}
		w.silent(t)
		if len(w.Policy.Warnings()) != 1 {
			t.Errorf("warnings: %q", w.Policy.Warnings())
		}
	})
	t.Run("placeholder without a credential", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, setup{rules: []penstock.NetworkRule{{Host: "api.example.test", Methods: []string{"GET"}}}})
		w.do(t, "GET", w.url("api.example.test", "/"), "", "Authorization", "token "+Placeholder)
		if got := w.requests()[0].Header.Get("Authorization"); got != "" {
			t.Errorf("sent %q", got)
		}
	})
}

func TestUploadLimit(t *testing.T) {
	t.Parallel()
	for _, rule := range []penstock.NetworkRule{
		{Host: "api.example.test"}, {Host: "api.example.test", Methods: []string{"GET", "POST"}},
	} {
		w := newWorld(t, setup{rules: []penstock.NetworkRule{rule}, limit: 20_000})
		if status, body := w.do(t, "POST", w.url("api.example.test", "/"), strings.Repeat("a", 5000)); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		if status, body := w.do(t, "POST", w.url("api.example.test", "/"), strings.Repeat("a", 1<<20)); status == 200 {
			t.Errorf("1 MiB was sent: %s", body)
		}
		w.mu.Lock()
		for _, body := range w.bodies {
			if len(body) > 20_000 {
				t.Errorf("%d bytes arrived", len(body))
			}
		}
		w.mu.Unlock()
		status, text := w.raw(t, fmt.Sprintf("CONNECT api.example.test:%d HTTP/1.1\r\nHost: x\r\n\r\n", w.port()))
		if status != 403 || !strings.Contains(text, "20000 bytes (max_upload_bytes)") {
			t.Errorf("after the limit: %d %s", status, text)
		}
		w.mu.Lock()
		if len(w.denials) != 1 || !strings.Contains(w.denials[0].Reason, "max_upload_bytes") {
			t.Errorf("denials: %v", w.denials)
		}
		w.mu.Unlock()
	}
}

func TestPullRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, request, response string
		status                        int
		want                          []PullRequest
	}{
		{
			"GitHub and Gitea", "/repos/o/r/pulls", "{}",
			`{"html_url": "https://HOST/o/r/pull/7", "number": 7, "title": "T", "head": {"ref": "b"}, "draft": true}`, 201,
			[]PullRequest{{Repository: "o/r", Number: 7, Title: "T", Branch: "b", Draft: true, URL: "https://HOST/o/r/pull/7"}},
		},
		{
			"GitLab", "/api/v4/projects/g%2Fs%2Fp/merge_requests", "{}",
			`{"web_url": "https://HOST/g/s/p/-/merge_requests/3", "iid": 3, "title": "T", "source_branch": "b"}`, 201,
			[]PullRequest{{
				Repository: "g/s/p", Number: 3, Title: "T", Branch: "b", URL: "https://HOST/g/s/p/-/merge_requests/3",
			}},
		},
		{
			"Bitbucket", "/2.0/repositories/w/r/pullrequests", "{}",
			`{"links": {"html": {"href": "https://HOST/w/r/pull-requests/5"}}, "id": 5, "title": "T", ` +
				`"source": {"branch": {"name": "b"}}}`,
			201,
			[]PullRequest{{Repository: "w/r", Number: 5, Title: "T", Branch: "b", URL: "https://HOST/w/r/pull-requests/5"}},
		},
		{
			"gh", "/graphql", `{"variables": {"input": {"title": "T", "headRefName": "me:b"}}}`,
			`{"data": {"createPullRequest": {"pullRequest": {"id": "x", "url": "https://HOST/o/r/pull/9"}}}}`, 200,
			[]PullRequest{{Repository: "o/r", Number: 9, Title: "T", Branch: "b", URL: "https://HOST/o/r/pull/9"}},
		},
		{"refused by the host", "/repos/o/r/pulls", "{}", `{"html_url": "https://HOST/o/r/pull/7"}`, 422, nil},
		{"of another host", "/repos/o/r/pulls", "{}", `{"html_url": "https://evil.test/o/r/pull/7"}`, 201, nil},
		{"of no valid URL", "/repos/o/r/pulls", "{}", `{"html_url": "javascript:alert(1)"}`, 201, nil},
		{
			"too long", "/repos/o/r/pulls", "{}",
			`{"html_url": "https://HOST/o/r/pull/7"` + strings.Repeat(" ", 2<<20) + "}", 201, nil,
		},
		{"another endpoint", "/repos/o/r/issues", "{}", `{"html_url": "https://HOST/o/r/pull/7"}`, 201, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var w *world
			fill := func(s string) string {
				return strings.ReplaceAll(s, "HOST", fmt.Sprintf("api.example.test:%d", w.port()))
			}
			w = newWorld(t, setup{
				rules: []penstock.NetworkRule{{Host: "api.api.wild.test", Methods: all}, {Host: "api.example.test", Methods: all}},
				serve: func(rw http.ResponseWriter, _ *http.Request) {
					rw.WriteHeader(c.status)
					_, _ = io.WriteString(rw, fill(c.response))
				},
			})
			// The host is api.example.test. Its URLs may belong to example.test or to itself.
			status, body := w.do(t, "POST", w.url("api.example.test", c.path), c.request, "Accept-Encoding", "gzip")
			if status != c.status || body != fill(c.response) {
				t.Fatalf("the response changed: %d %.200s", status, body)
			}
			for i := range c.want {
				c.want[i].URL, c.want[i].Host = fill(c.want[i].URL), "api.example.test"
			}
			// The client may have the end of the response before the proxy reads it.
			testkit.Eventually(t, time.Minute, func() error {
				w.mu.Lock()
				defer w.mu.Unlock()
				if diff := cmp.Diff(c.want, w.pulls); diff != "" {
					return errors.New(diff)
				}
				return nil
			})
		})
	}
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{
		rules: []penstock.NetworkRule{{Host: "api.example.test", Paths: []string{"/ws"}}},
		serve: func(rw http.ResponseWriter, _ *http.Request) {
			conn, buffered, err := http.NewResponseController(rw).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			line, _ := buffered.ReadString('\n')
			_, _ = io.WriteString(conn, "echo "+line)
		},
	})
	conn, err := w.inside(t, "api.example.test", "api.example.test")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: api.example.test:%d\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\n\r\n", w.port())
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil) //nolint:bodyclose // the connection itself is closed
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", response, err)
	}
	fmt.Fprintln(conn, "frame")
	if line, err := reader.ReadString('\n'); line != "echo frame\n" {
		t.Errorf("got %q, %v", line, err)
	}
}

// TestUpstreamProxy sends everything through a proxy that requires a password and resolves names.
func TestUpstreamProxy(t *testing.T) {
	t.Parallel()
	var target, plain string
	upstream := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("u:p")) {
			rw.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.Method != http.MethodConnect {
			fmt.Fprintf(rw, "upstream %s from %s", r.URL.Path, plain)
			return
		}
		out, err := new(net.Dialer).DialContext(r.Context(), "tcp", target)
		if err != nil {
			return
		}
		defer out.Close()
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, established)
		go func() { _, _ = io.Copy(out, conn) }()
		_, _ = io.Copy(conn, out)
	}))
	t.Cleanup(upstream.Close)
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("u", "p")
	w := newWorld(t, setup{
		rules:   []penstock.NetworkRule{{Host: "api.example.test"}, {Host: "read.wild.test", Methods: []string{"GET"}}},
		options: func(o *Options) { o.Upstream, o.Networks = u, nil },
	})
	target, plain = w.tls.Listener.Addr().String(), "x"
	for _, host := range []string{"api.example.test", "read.wild.test"} {
		if status, body := w.do(t, "GET", w.url(host, "/a"), ""); status != 200 || body != "GET /a" {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	_, body := w.do(t, "GET", fmt.Sprintf("http://api.example.test:%d/b", w.plainPort()), "")
	if body != "upstream /b from x" {
		t.Errorf("plain: %s", body)
	}
	if len(w.asked) > 0 || !w.AddressesUnchecked() {
		t.Errorf("looked up %q, unchecked %t", w.asked, w.AddressesUnchecked())
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	layer := func(source string, limit int64, rules ...penstock.NetworkRule) penstock.NetworkLayer {
		return penstock.NetworkLayer{Source: source, Network: penstock.Network{Allow: rules, MaxUploadBytes: limit}}
	}
	policy, err := Compile(penstock.NetworkPolicy{
		Layers: []penstock.NetworkLayer{
			layer("server", 0, penstock.NetworkRule{Preset: "packages"}),
			layer("environment", 500, penstock.NetworkRule{Host: "a.example.com"}, penstock.NetworkRule{Host: "b.example.com"}),
			layer("agent", 900, penstock.NetworkRule{Host: "c.other.com"}),
		},
		Ceiling: &penstock.Network{Allow: []penstock.NetworkRule{
			{Host: "*.example.com"},
			{Host: "pypi.org", Methods: []string{"GET"}},
			{Host: "b.example.com", Methods: []string{"GET"}},
		}},
		Request: &penstock.Network{MaxUploadBytes: 300, Allow: []penstock.NetworkRule{
			{Host: "a.example.com", Methods: []string{"GET"}}, {Host: "pypi.org"}, {Host: "c.other.com"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if policy.MaxUploadBytes() != 300 {
		t.Errorf("upload limit %d, want the smallest", policy.MaxUploadBytes())
	}
	for host, want := range map[string]string{
		"a.example.com": "inspect", "pypi.org": "inspect",
		"b.example.com": "the network of the run's own request leaves it out",
		"c.other.com":   "outside the ceiling of the server. Only the operator of the server can change that.",
		"d.example.com": "no rule of the run's network policy",
	} {
		d := policy.Decide(host, 443)
		if d.Mode != want && !strings.Contains(d.Reason, want) {
			t.Errorf("%s: %s, %s; want %s", host, d.Mode, d.Reason, want)
		}
	}
	for port, want := range map[int]string{
		8443: "pypi.org:8443 is refused: the rule for pypi.org of the preset packages of the server does not have the port " +
			"8443. To allow it, add a rule for pypi.org to network.allow of",
		443: "does not allow it: POST is not among its methods (GET, HEAD). To allow it, add a rule for pypi.org to",
	} {
		d, _ := policy.decideRequest(target{host: "pypi.org", port: port, secure: true}, "POST", "/")
		if d.Allowed || !strings.Contains(d.Reason, want) {
			t.Errorf("port %d: got %s, want %s", port, d.Reason, want)
		}
	}
	d, _ := policy.decideRequest(target{host: "pypi.org", port: 443, secure: true}, "HEAD", "/")
	if want := "(GET). Only the operator of the server can change that."; !strings.HasSuffix(d.Reason, want) {
		t.Errorf("got %s, want %s", d.Reason, want)
	}
	text, _, err := policy.Explain("https://pypi.org/simple/")
	want := "pypi.org is allowed by the rule for pypi.org of the preset packages of the server.\n" +
		"The proxy reads the requests (inspect): methods GET, HEAD.\nThe run may send 300 bytes to all hosts together.\n"
	if err != nil || text != want {
		t.Errorf("got %q, %v", text, err)
	}
	for _, bad := range []penstock.NetworkPolicy{
		{Layers: []penstock.NetworkLayer{layer("agent", 0, penstock.NetworkRule{Preset: "nothing"})}},
		{Layers: []penstock.NetworkLayer{layer("agent", 0, penstock.NetworkRule{Host: "a b"})}},
		{Request: &penstock.Network{Allow: []penstock.NetworkRule{
			{Host: "a.example.com", Credential: &penstock.NetworkCredential{Secret: "TOKEN", As: "bearer"}},
		}}},
	} {
		if _, err := Compile(bad); err == nil {
			t.Errorf("compiled %v", bad)
		}
	}
}
