package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// section is the part of docs/attacks.md that lists the attacks of this package.
const section = "The egress proxy"

const (
	malformed = "malformed requests are refused"
	digits    = "ports are digits without a leading zero, up to 65535"
	strict    = "the authority is read strictly"
	noUser    = "a URL with a user is refused"
	exactly   = "methods are compared exactly"
)

// attackHosts are spellings of a host that another program could read as another host.
var attackHosts = []struct{ name, host, stops string }{
	{"a NUL byte before the allowed name", "evil.test\x00.example.test", "a host with control bytes is refused"},
	{"a NUL byte after the allowed name", "api.example.test\x00", "a host with control bytes is refused"},
	{"an encoded NUL byte", "api.example.test%00.evil.test", "a host with a percent sign is refused"},
	{"a line break", "api.example.test\r\nHost:evil.test", "a host with control bytes is refused"},
	{"a tab", "api.example.test\tevil.test", "a host with control bytes is refused"},
	{"a space", "api.example.test evil.test", "a host with spaces is refused"},
	{"a backslash", `api.example.test\.evil.test`, "a host with separators is refused"},
	{"a slash", "evil.test/api.example.test", "a host with separators is refused"},
	{"a question mark", "evil.test?api.example.test", "a host with separators is refused"},
	{"a number sign", "evil.test#api.example.test", "a host with separators is refused"},
	{"a user name", "api.example.test@evil.test", "a host with separators is refused"},
	{"two final dots", "api.example.test..", "an empty label is refused"},
	{"an empty label", "api..example.test", "an empty label is refused"},
	{"only a dot", ".", "an empty label is refused"},
	{"a label that is too long", strings.Repeat("a", 64) + ".example.test", "labels have up to 63 bytes"},
	{"a name that is too long", strings.Repeat("a.", 130) + "test", "names have up to 253 bytes"},
	{"an invalid xn-- label", "xn--a.example.test", "IDNA refuses it"},
	{"bytes that are no UTF-8", "0\x83", "IDNA gets valid text only"},
	{"a zero-width joiner", "api\u200d.example.test", "IDNA refuses it"},
	{"a right-to-left mark", "api\u202e.example.test", "IDNA refuses it"},
	{"a fullwidth slash", "evil.test\uff0fexample.test", "IDNA refuses it"},
	{"a decimal IPv4 address", "2130706433", "a name that ends in a number is refused"},
	{"an octal IPv4 address", "0177.0.0.1", "a name that ends in a number is refused"},
	{"a hexadecimal IPv4 address", "0x7f.0.0.1", "a name that ends in a number is refused"},
	{"a hexadecimal number", "0x7f000001", "a name that ends in a number is refused"},
	{"a short IPv4 address", "127.1", "a name that ends in a number is refused"},
	{"an IPv4 address with a final dot", "127.0.0.1.", "a name that ends in a number is refused"},
	{"an IPv4 address in fullwidth digits", "\uff11\uff12\uff17.\uff10.\uff10.\uff11", "IDNA maps it first"},
	{"an IPv4 address with ideographic dots", "127\u30020\u30020\u30021", "IDNA maps it first"},
	{"an IPv4 address written as IPv6", "::ffff:127.0.0.1", "only the IPv4 form is accepted"},
	{"an IPv6 zone", "fe80::1%25lo", "a host with a percent sign is refused"},
	{"brackets around a name", "[api.example.test]", "brackets go with IPv6 only"},
}

func TestAttackHostNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{rules: []penstock.NetworkRule{{Host: "api.example.test"}, {Host: "*.wild.test"}}})
	attacks := testkit.NewAttacks(t, section)
	for _, a := range attackHosts {
		attacks.Run(a.name, a.stops, func(t *testing.T) {
			t.Parallel()
			got, err := canonical(a.host)
			if err == nil && isAddress(got) && !isAddress(a.host) {
				err = fmt.Errorf("mapped to the address %s, which no rule lists", got)
			}
			if err == nil {
				t.Errorf("accepted as %q; want: %s", got, a.stops)
			}
			if d := w.Policy.Decide(a.host, w.port()); d.Allowed {
				t.Errorf("allowed: %s", d.Reason)
			}
			for _, request := range []string{
				"CONNECT %s:%d HTTP/1.1\r\nHost: api.example.test\r\n\r\n",
				"GET http://%s:%d/ HTTP/1.1\r\nHost: api.example.test\r\nConnection: close\r\n\r\n",
			} {
				if status, text := w.raw(t, fmt.Sprintf(request, a.host, w.port())); status < 400 || status >= 500 {
					t.Errorf("%q got %d: %s", request, status, text)
				}
			}
			w.silent(t)
		})
	}
}

func TestAttackWildcards(t *testing.T) {
	t.Parallel()
	network := penstock.Network{Allow: []penstock.NetworkRule{{Host: "*.corp.example"}, {Host: "api.example.test"}}}
	policy, err := Compile(penstock.NetworkPolicy{Layers: []penstock.NetworkLayer{{Source: "server", Network: network}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"git.corp.example", "a.b.corp.example", "GIT.Corp.Example", "git.corp.example."} {
		if d := policy.Decide(host, 443); !d.Allowed {
			t.Errorf("%s is refused: %s", host, d.Reason)
		}
	}
	attacks := testkit.NewAttacks(t, section)
	for _, a := range []struct {
		name, host string
		port       int
	}{
		{"the domain of a wildcard itself", "corp.example", 443},
		{"a name that only ends like a wildcard", "xcorp.example", 443},
		{"an empty first label", ".corp.example", 443},
		{"the domain of a wildcard as a prefix", "git.corp.example.evil.test", 443},
		{"a name below an exact host", "x.api.example.test", 443},
		{"a port that is not listed", "git.corp.example", 8443},
		{"the port of ssh", "api.example.test", 22},
		{"an address instead of a name", "127.0.0.1", 443},
	} {
		attacks.Run(a.name, "hosts are matched label by label, and ports by number", func(t *testing.T) {
			if d := policy.Decide(a.host, a.port); d.Allowed {
				t.Errorf("allowed: %s", d.Reason)
			}
		})
	}
}

func TestAttackAddresses(t *testing.T) {
	t.Parallel()
	own := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(9, 9, 9, 9), Mask: net.CIDRMask(24, 32)}}, nil
	}
	for _, addr := range []string{"1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"} {
		if reason := (guard{own: own}).check(netip.MustParseAddr(addr)); reason != "" {
			t.Errorf("the public address %s is refused: %s", addr, reason)
		}
	}
	attacks := testkit.NewAttacks(t, section)
	for _, a := range []struct{ name, addr string }{
		{"loopback", "127.0.0.1"},
		{"loopback, another address", "127.8.8.8"},
		{"unspecified", "0.0.0.0"},
		{"this network", "0.1.2.3"},
		{"private 10", "10.1.2.3"},
		{"private 172", "172.31.0.1"},
		{"private 192", "192.168.1.1"},
		{"carrier-grade NAT", "100.64.0.1"},
		{"the metadata service of most clouds", "169.254.169.254"},
		{"the metadata service of Alibaba", "100.100.100.200"},
		{"the metadata service of Azure", "168.63.129.16"},
		{"the metadata service of Oracle", "192.0.0.192"},
		{"the metadata service of AWS in IPv6", "fd00:ec2::254"},
		{"multicast", "224.0.0.1"},
		{"broadcast", "255.255.255.255"},
		{"this machine", "9.9.9.9"},
		{"IPv6 loopback", "::1"},
		{"IPv6 unspecified", "::"},
		{"IPv6 link-local", "fe80::1"},
		{"IPv6 link-local with a zone", "fe80::1%lo"},
		{"IPv6 private", "fd12::1"},
		{"IPv6 site-local", "fec0::1"},
		{"IPv6 multicast", "ff02::1"},
		{"loopback mapped into IPv6", "::ffff:127.0.0.1"},
		{"this machine mapped into IPv6", "::ffff:9.9.9.9"},
		{"loopback compatible in IPv6", "::127.0.0.1"},
		{"loopback in NAT64", "64:ff9b::7f00:1"},
		{"metadata in NAT64", "64:ff9b::a9fe:a9fe"},
		{"NAT64 of local use", "64:ff9b:1::101:101"},
		{"loopback in 6to4", "2002:7f00:1::1"},
		{"Teredo", "2001:0:7f00:1::1"},
		{"documentation", "2001:db8::1"},
	} {
		attacks.Run(a.name, "addresses are checked before they are dialled", func(t *testing.T) {
			if reason := (guard{own: own}).check(netip.MustParseAddr(a.addr)); reason == "" {
				t.Errorf("%s is open", a.addr)
			}
		})
	}
	listed := guard{own: own, open: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	if reason := listed.check(netip.MustParseAddr("64:ff9b::a01:203")); reason != "" {
		t.Errorf("10.1.2.3 in NAT64 is refused although the operator lists it: %s", reason)
	}
	if listed.check(netip.MustParseAddr("127.0.0.1")) == "" {
		t.Error("127.0.0.1 is open although the operator lists only 10.0.0.0/8")
	}
}

// TestAttackRebinding resolves a name first to a public address and then to the metadata service.
// The proxy looks a name up once per connection.
func TestAttackRebinding(t *testing.T) {
	t.Parallel()
	testkit.NewAttacks(t, section).Run("a name that resolves to another address at the second look-up",
		"each connection has one look-up, and its address is checked", rebind)
}

func rebind(t *testing.T) {
	var w *world
	turn := 0
	w = newWorld(t, setup{
		rules: []penstock.NetworkRule{{Host: "api.example.test"}},
		options: func(o *Options) {
			o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
				turn++
				if turn == 1 {
					return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
				}
				return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("::ffff:10.0.0.1")}, nil
			}
		},
	})
	if status, body := w.do(t, "GET", w.url("api.example.test", "/"), ""); status != 200 {
		t.Fatalf("first: %d %s", status, body)
	}
	if turn != 1 {
		t.Errorf("%d look-ups for one connection, want 1", turn)
	}
	status, text := w.raw(t, fmt.Sprintf("CONNECT api.example.test:%d HTTP/1.1\r\nHost: x\r\n\r\n", w.port()))
	if status != 403 || !strings.Contains(text, "a private address") {
		t.Errorf("second: %d %s", status, text)
	}
	if turn != 2 {
		t.Errorf("%d look-ups for two connections, want 2", turn)
	}
}

// TestAttackRequests sends requests that a proxy and a host could read differently. The proxy must
// refuse each without a look-up.
func TestAttackRequests(t *testing.T) {
	t.Parallel()
	const host = "api.example.test"
	attacks := testkit.NewAttacks(t, section)
	for _, a := range []struct{ name, request, stops string }{
		{"CONNECT with a user", "CONNECT user@HOST HTTP/1.1\r\nHost: x\r\n\r\n", strict},
		{"CONNECT without a port", "CONNECT api.example.test HTTP/1.1\r\nHost: x\r\n\r\n", "the port is required"},
		{"CONNECT with a path", "CONNECT HOST/x HTTP/1.1\r\nHost: x\r\n\r\n", strict},
		{"CONNECT with two ports", "CONNECT HOST:80 HTTP/1.1\r\nHost: x\r\n\r\n", strict},
		{"CONNECT with a signed port", "CONNECT api.example.test:+443 HTTP/1.1\r\nHost: x\r\n\r\n", digits},
		{"CONNECT with a port of zeros", "CONNECT api.example.test:0443 HTTP/1.1\r\nHost: x\r\n\r\n", digits},
		{"CONNECT with a large port", "CONNECT api.example.test:65979 HTTP/1.1\r\nHost: x\r\n\r\n", digits},
		{"CONNECT with a body", "CONNECT HOST HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd", "CONNECT has no body"},
		{
			"CONNECT with a chunked body", "CONNECT HOST HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"CONNECT has no body",
		},
		{"CONNECT to the port of ssh", "CONNECT api.example.test:22 HTTP/1.1\r\nHost: x\r\n\r\n", "ports need a rule"},
		{"a user in the URL", "GET http://u:p@PLAIN/ HTTP/1.1\r\nHost: x\r\n\r\n", noUser},
		{"the allowed host as the user", "GET http://PLAIN@evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n", noUser},
		{"another scheme", "GET ftp://PLAIN/ HTTP/1.1\r\nHost: x\r\n\r\n", "only http and https are served"},
		{"a URL without a host", "GET http:PLAIN/ HTTP/1.1\r\nHost: x\r\n\r\n", "the host is required"},
		{
			"the absolute form of another host", "GET http://evil.test/ HTTP/1.1\r\nHost: PLAIN\r\n\r\n",
			"the URL is matched, not the header",
		},
		{"two Host headers", "GET http://PLAIN/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", malformed},
		{"a folded header", "GET http://PLAIN/ HTTP/1.1\r\nHost: x\r\n evil.test\r\n\r\n", malformed},
		{"a space before a colon", "GET http://PLAIN/ HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc", malformed},
		{
			"two lengths", "POST http://PLAIN/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
			malformed,
		},
		{
			"an unknown coding", "POST http://PLAIN/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
			malformed,
		},
		{
			"chunked twice",
			"POST http://PLAIN/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" +
				"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			malformed,
		},
		{"HTTP/2 prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "only HTTP/1.1 is served"},
		{"HTTP/2 in the request line", "GET http://PLAIN/ HTTP/2.0\r\nHost: x\r\n\r\n", "only HTTP/1.1 is served"},
		{"TRACE, which repeats a credential", "TRACE http://PLAIN/ HTTP/1.1\r\nHost: x\r\n\r\n", "TRACE is not forwarded"},
		{"a method in small letters", "get http://METHODS/ HTTP/1.1\r\nHost: x\r\n\r\n", exactly},
		{"a method that is not listed", "POST http://METHODS/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", exactly},
		{
			"a header that is too long",
			"GET http://PLAIN/ HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 80<<10) + "\r\n\r\n",
			"headers have up to 64 KiB",
		},
	} {
		attacks.Run(a.name, a.stops, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{rules: []penstock.NetworkRule{
				{Host: host}, {Host: "get.example.test", Methods: []string{"GET"}},
			}})
			request := strings.NewReplacer(
				"HOST HTTP", fmt.Sprintf("%s:%d HTTP", host, w.port()), "HOST", fmt.Sprintf("%s:%d", host, w.port()),
				"PLAIN", fmt.Sprintf("%s:%d", host, w.plainPort()), "METHODS", fmt.Sprintf("get.example.test:%d", w.plainPort()),
			).Replace(a.request)
			if status, text := w.raw(t, request); status < 400 || status > 505 || status == 502 {
				t.Errorf("got %d %q; want: %s", status, text, a.stops)
			}
			w.silent(t)
		})
	}
}

// TestAttackPaths asks for paths that a host could resolve to a path other than the one that was
// matched.
func TestAttackPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{rules: []penstock.NetworkRule{{Host: "api.example.test", Paths: []string{"/api/*"}}}})
	conn, err := w.inside(t, "api.example.test", "api.example.test")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	attacks := testkit.NewAttacks(t, section)
	for _, a := range []struct{ name, path string }{
		{"dots in a path", "/api/../admin"},
		{"encoded dots in a path", "/api/%2e%2e/admin"},
		{"half encoded dots in a path", "/api/.%2E/admin"},
		{"one dot in a path", "/api/./../admin"},
		{"dots at the end of a path", "/api/.."},
		{"an empty segment in a path", "/api//admin"},
		{"an empty first segment in a path", "//api/x"},
		{"an encoded slash in a path", "/api/..%2fadmin"},
		{"a backslash in a path", `/api/..\admin`},
		{"an encoded backslash in a path", "/api/..%5cadmin"},
		{"encoded twice", "/api/%252e%252e/admin"},
		{"parameters after dots", "/api/..;x=1/admin"},
		{"encoded parameters after dots", "/api/..%3bx/admin"},
		{"a NUL byte in a path", "/api/%00/admin"},
		{"a line break in a path", "/api/%0d%0aX:y"},
		{"another path", "/admin"},
		{"a longer path", "/apix"},
		{"an encoded letter in a path", "/%61dmin"},
	} {
		attacks.Run(a.name, "ambiguous paths are refused, and the others matched as they are sent", func(t *testing.T) {
			text := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: api.example.test:%d\r\n\r\n", a.path, w.port())
			if status, body := exchangeRaw(t, conn, text); status != 403 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	w.silent(t)
	for _, path := range []string{"/api/", "/api/a-b_c~d", "/api/%E4%BD%A0?x=../..//"} {
		if status, body := w.do(t, "GET", w.url("api.example.test", path), ""); status != 200 || body != "GET "+path {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
}

// TestAttackServerName opens a connection to an allowed host and asks for another host in TLS.
func TestAttackServerName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{rules: []penstock.NetworkRule{
		{Host: "api.example.test"}, {Host: "read.wild.test", Methods: []string{"GET"}},
	}})
	attacks := testkit.NewAttacks(t, section)
	for _, a := range []struct{ attack, name string }{
		{"another server name in TLS", "evil.test"},
		{"no server name in TLS", ""},
		{"the allowed host as a prefix of the server name", "api.example.test.evil.test"},
		{"a server name below an exact host", "x.read.wild.test"},
	} {
		attacks.Run(a.attack, "the server name must be that of CONNECT", func(t *testing.T) {
			for _, host := range []string{"api.example.test", "read.wild.test"} {
				if _, err := w.inside(t, host, a.name); err == nil {
					t.Errorf("connection to %s with the server name %q is open", host, a.name)
				}
			}
		})
	}
	for _, a := range []struct{ attack, text string }{
		{"SSH in a tunnel", "SSH-2.0-x\r\n"},
		{"CONNECT in a tunnel", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n"},
		{"an alert of TLS before its first message", "\x15\x03\x01\x00\x02\x02\x28"},
	} {
		attacks.Run(a.attack, "a tunnel carries TLS only", func(t *testing.T) {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			connect := fmt.Sprintf("CONNECT api.example.test:%d HTTP/1.1\r\nHost: x\r\n\r\n", w.port())
			if status, response := exchangeRaw(t, conn, connect); status != 200 {
				t.Fatalf("%d %s", status, response)
			}
			if status, response := exchangeRaw(t, conn, a.text); status >= 200 && status < 400 {
				t.Errorf("got %d %s", status, response)
			}
		})
	}
	if got := w.requests(); len(got) > 0 {
		t.Errorf("%d requests arrived", len(got))
	}
}

// TestAttackInside sends requests for another host within an inspected connection.
func TestAttackInside(t *testing.T) {
	t.Parallel()
	attacks := testkit.NewAttacks(t, section)
	stops := map[int]string{
		400: "malformed and absolute requests are refused", 403: "the rule lists the methods",
		421: "Host must be that of CONNECT", 505: "only HTTP/1.1 is served",
	}
	for _, a := range []struct {
		name, request string
		want          int
	}{
		{"another Host", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", 421},
		{"another port in Host", "GET / HTTP/1.1\r\nHost: api.example.test:1\r\n\r\n", 421},
		{"no port in Host", "GET / HTTP/1.1\r\nHost: api.example.test\r\n\r\n", 421},
		{"no Host", "GET / HTTP/1.0\r\n\r\n", 421},
		{"a NUL byte in Host", "GET / HTTP/1.1\r\nHost: AUTHORITY\x00\r\n\r\n", 400},
		{"a user in Host", "GET / HTTP/1.1\r\nHost: evil@AUTHORITY\r\n\r\n", 400},
		{"the absolute form", "GET https://evil.test/ HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n", 400},
		{"the absolute form of the same host", "GET https://AUTHORITY/ HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n", 400},
		{"CONNECT", "CONNECT evil.test:443 HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n", 400},
		{"HTTP/2 prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
		{
			"a WebSocket past a rule with methods",
			"GET / HTTP/1.1\r\nHost: AUTHORITY\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 403,
		},
		{"an upload that is not listed", "PUT / HTTP/1.1\r\nHost: AUTHORITY\r\nContent-Length: 0\r\n\r\n", 403},
		{
			"a method override by name",
			"PUT / HTTP/1.1\r\nX-HTTP-Method-Override: GET\r\nHost: AUTHORITY\r\nContent-Length: 0\r\n\r\n", 403,
		},
	} {
		attacks.Run(a.name+" in an inspected connection", stops[a.want], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{rules: []penstock.NetworkRule{{Host: "api.example.test", Methods: []string{"GET"}}}})
			conn, err := w.inside(t, "api.example.test", "api.example.test")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			request := strings.ReplaceAll(a.request, "AUTHORITY", fmt.Sprintf("api.example.test:%d", w.port()))
			if status, text := exchangeRaw(t, conn, request); status != a.want {
				t.Errorf("got %d %q, want %d", status, text, a.want)
			}
			w.silent(t)
		})
	}
}

// TestAttackSplitting smuggles a second request into the body of a first one. The host must see one
// request with one framing.
func TestAttackSplitting(t *testing.T) {
	t.Parallel()
	testkit.NewAttacks(t, section).Run("a second request in the body of a chunked one",
		"the proxy writes each request anew", split)
}

func split(t *testing.T) {
	w := newWorld(t, setup{rules: []penstock.NetworkRule{{Host: "api.example.test", Paths: []string{"/ok"}}}})
	conn, err := w.inside(t, "api.example.test", "api.example.test")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	smuggled := fmt.Sprintf("GET /admin HTTP/1.1\r\nHost: api.example.test:%d\r\n\r\n", w.port())
	exchangeRaw(t, conn, fmt.Sprintf("POST /ok HTTP/1.1\r\nHost: api.example.test:%d\r\nContent-Length: 4\r\n"+
		"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n%s",
		w.port(), len(smuggled), smuggled, smuggled))
	for i, r := range w.requests() {
		if r.RequestURI != "/ok" || len(r.TransferEncoding) > 0 && r.ContentLength >= 0 || i > 0 {
			t.Errorf("request %d: %s with length %d and coding %v", i, r.RequestURI, r.ContentLength, r.TransferEncoding)
		}
	}
}

// TestAttackRedirects has a host redirect to another one. The proxy must not follow, and must not
// send the credential there.
func TestAttackRedirects(t *testing.T) {
	t.Parallel()
	testkit.NewAttacks(t, section).Run("a redirect to another host, with a credential",
		"the proxy follows no redirect", redirect)
}

func redirect(t *testing.T) {
	w := newWorld(t, setup{
		rules: []penstock.NetworkRule{{
			Host: "api.example.test", Credential: &penstock.NetworkCredential{Secret: "TOKEN", As: "bearer"},
		}},
		hosts: map[string][]string{"TOKEN": {"api.example.test"}},
		serve: func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "https://evil.test/", http.StatusTemporaryRedirect)
		},
	})
	if status, _ := w.do(t, "GET", w.url("api.example.test", "/"), ""); status != 307 {
		t.Errorf("got %d, want the redirect itself", status)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) != 1 || len(w.seen) != 1 {
		t.Errorf("looked up %q for %d requests", w.asked, len(w.seen))
	}
}
