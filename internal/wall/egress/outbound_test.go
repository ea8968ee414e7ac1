package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// names resolves host names for a test.
func names(hosts map[string][]string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) (addrs []netip.Addr, err error) {
		for _, text := range hosts[host] {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		if addrs == nil {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return addrs, nil
	}
}

func newOutbound(t *testing.T, o OutboundOptions) *Outbound {
	t.Helper()
	out, err := NewOutbound(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAttackOutbound makes the worker itself connect to private services. It must not, and the error
// must not tell an open port from a closed one, or a private name from none.
func TestAttackOutbound(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(service.Close)
	_, open, err := net.SplitHostPort(service.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	closed := closedPort(t)
	hosts := map[string][]string{
		"loopback.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"}, "nat64.test": {"64:ff9b::7f00:1"},
		"metadata.test": {"169.254.169.254"}, "private.test": {"10.0.0.1"},
	}
	out := newOutbound(t, OutboundOptions{Resolve: names(hosts)})
	attacks := testkit.NewAttacks(t, section)
	for _, a := range []struct{ name, host string }{
		{"a request of the worker to loopback by its address", "127.0.0.1"},
		{"a request of the worker to loopback by a name", "loopback.test"},
		{"a request of the worker to loopback mapped into IPv6", "mapped.test"},
		{"a request of the worker to loopback in NAT64", "nat64.test"},
		{"a request of the worker to the metadata service", "metadata.test"},
		{"a request of the worker to a private network", "private.test"},
		{"a request of the worker to a name that does not exist, to compare", "none.test"},
	} {
		attacks.Run(a.name, "the worker's own connections have the same address checks, and one error", func(t *testing.T) {
			for _, port := range []string{open, closed} {
				address := net.JoinHostPort(a.host, port)
				for _, dial := range []func() error{
					func() error { _, err := out.Dial(t.Context(), "tcp", address); return err },
					func() error { _, err := out.Direct(t.Context(), "tcp", address); return err },
					func() error { return out.Check(t.Context(), address) },
				} {
					blocked, ok := errors.AsType[*BlockedError](dial())
					if !ok || blocked.Host != a.host || blocked.Error() != (&BlockedError{a.host}).Error() {
						t.Errorf("port %s: got %v", port, dial())
					}
				}
			}
		})
	}
	attacks.Run("a redirect of a public service to loopback, by the worker", "each redirect is dialled by the same checks",
		func(t *testing.T) {
			public := httptest.NewServer(http.RedirectHandler(service.URL, http.StatusFound))
			t.Cleanup(public.Close)
			out := newOutbound(t, OutboundOptions{Trusted: []string{public.Listener.Addr().String()}})
			response, err := (&http.Client{Transport: out.Transport()}).Get(public.URL) //nolint:noctx // a test
			if err == nil {
				response.Body.Close()
			}
			if _, ok := errors.AsType[*BlockedError](err); !ok {
				t.Errorf("got %v", err)
			}
		})
	if n := reached.Load(); n != 0 {
		t.Errorf("the service got %d requests", n)
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestOutboundOfTheOperator shows what an operator opens: networks, a mirror, a proxy.
func TestOutboundOfTheOperator(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	address := l.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	resolve := names(map[string][]string{"registry.corp": {"10.1.2.3", "127.0.0.1"}})
	for name, o := range map[string]OutboundOptions{
		"networks": {Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolve: resolve},
		"trusted":  {Trusted: []string{address}, Resolve: resolve},
		"hosts without the proxy": {
			Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolve: resolve,
			Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, NoProxy: ".corp,127.0.0.1",
		},
	} {
		out := newOutbound(t, o)
		conn, err := out.Dial(t.Context(), "tcp", address)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		conn.Close()
		if err := out.Check(t.Context(), address); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "trusted" {
			continue
		}
		// Of two addresses, one is allowed. The worker dials that one. Another program may choose the other.
		if conn, err = out.Dial(t.Context(), "tcp", net.JoinHostPort("registry.corp", port)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		conn.Close()
		if err := out.Check(t.Context(), net.JoinHostPort("registry.corp", port)); err == nil {
			t.Errorf("%s: a program may connect to 10.1.2.3", name)
		}
	}
	proxied := newOutbound(t, OutboundOptions{
		Resolve: resolve, Upstream: &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", closedPort(t))},
	})
	_, err = proxied.Dial(t.Context(), "tcp", "registry.corp:443")
	if err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Errorf("the proxy resolves names, but got %v", err)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "10.1.2.3", "[::1]", "169.254.169.254"} {
		if _, err := proxied.Dial(t.Context(), "tcp", host+":443"); !errors.As(err, new(*BlockedError)) {
			t.Errorf("%s through the proxy: %v", host, err)
		}
	}
}
