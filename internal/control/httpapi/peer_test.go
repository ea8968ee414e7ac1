package httpapi

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddressAndSafety(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32")}
	tests := []struct {
		name          string
		remote, local string
		trusted       []netip.Prefix
		tls           bool
		header        http.Header
		want          peer
	}{
		{
			"loopback", "127.0.0.1:9", "127.0.0.1:80", nil, false, nil,
			peer{addr: netip.MustParseAddr("127.0.0.1"), secure: true},
		},
		{"loopback, IPv6", "[::1]:9", "[::1]:80", nil, false, nil, peer{addr: netip.MustParseAddr("::1"), secure: true}},
		{"plain from afar", "192.0.2.7:9", "192.0.2.1:80", nil, false, nil, peer{addr: netip.MustParseAddr("192.0.2.7")}},
		{
			"TLS from afar", "192.0.2.7:9", "192.0.2.1:443", nil, true, nil,
			peer{addr: netip.MustParseAddr("192.0.2.7"), secure: true, https: true},
		},
		{
			"headers of a stranger count for nothing", "192.0.2.7:9", "192.0.2.1:80", proxies, false,
			http.Header{"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Proto": {"https"}},
			peer{addr: netip.MustParseAddr("192.0.2.7")},
		},
		{
			"proxy with TLS in front", "10.1.1.1:9", "10.1.1.2:80", proxies, false,
			http.Header{"X-Forwarded-For": {"203.0.113.5"}, "X-Forwarded-Proto": {"https"}},
			peer{addr: netip.MustParseAddr("203.0.113.5"), secure: true, https: true},
		},
		{
			"proxy without TLS in front", "10.1.1.1:9", "10.1.1.2:80", proxies, false,
			http.Header{"X-Forwarded-For": {"203.0.113.5"}, "X-Forwarded-Proto": {"http"}},
			peer{addr: netip.MustParseAddr("203.0.113.5")},
		},
		{
			"proxy on this machine without TLS in front", "127.0.0.1:9", "127.0.0.1:80", proxies, false,
			http.Header{"X-Forwarded-For": {"203.0.113.5"}, "X-Forwarded-Proto": {"http"}},
			peer{addr: netip.MustParseAddr("203.0.113.5")},
		},
		{
			"proxy that does not say", "10.1.1.1:9", "10.1.1.2:80", proxies, false, nil,
			peer{addr: netip.MustParseAddr("10.1.1.1")},
		},
		{
			"a client that forges hops before two proxies", "10.1.1.1:9", "10.1.1.2:80", proxies, false,
			http.Header{
				"X-Forwarded-For": {"127.0.0.1, 198.51.100.9", "203.0.113.5:4711, 10.9.9.9"}, "X-Forwarded-Proto": {"https"},
			},
			peer{addr: netip.MustParseAddr("203.0.113.5"), secure: true, https: true},
		},
		{
			"a hop that cannot be read", "10.1.1.1:9", "10.1.1.2:80", proxies, false,
			http.Header{"X-Forwarded-For": {"203.0.113.5, unknown, 10.9.9.9"}, "X-Forwarded-Proto": {"https"}},
			peer{addr: netip.MustParseAddr("10.9.9.9"), secure: true, https: true},
		},
		{
			"an undeclared proxy on this machine", "127.0.0.1:9", "127.0.0.1:80", nil, false,
			http.Header{"X-Forwarded-For": {"203.0.113.5"}},
			peer{addr: netip.MustParseAddr("127.0.0.1"), secure: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.local))
			ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(local))
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			r.RemoteAddr = tt.remote
			if tt.header != nil {
				r.Header = tt.header
			}
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			if got := peerOf(r, tt.trusted); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// A client in a plain network may use plain HTTP, but not one that a proxy there speaks for.
func TestPlainNetworks(t *testing.T) {
	t.Parallel()
	plain := plainNetworks{netip.MustParsePrefix("10.1.0.0/16")}
	for name, tt := range map[string]struct {
		from, header string
		want         bool
	}{
		"inside":                  {"10.1.2.3:4", "", true},
		"elsewhere":               {"10.2.2.3:4", "", false},
		"a proxy inside":          {"10.1.2.3:4", "X-Forwarded-For", false},
		"a proxy, of plain HTTP":  {"10.1.2.3:4", "X-Forwarded-Proto", false},
		"a proxy that says so":    {"10.1.2.3:4", "Via", false},
		"a proxy of the standard": {"10.1.2.3:4", "Forwarded", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = tt.from
		if tt.header != "" {
			r.Header.Set(tt.header, "http")
		}
		c := &call{route: &Route{}, r: r}
		if got := plain.check(c) == nil; got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
