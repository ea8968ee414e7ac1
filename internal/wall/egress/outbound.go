package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Outbound opens the connections that the worker itself makes on behalf of runs: pulls of images,
// logins to their registries, clones. A run chooses where they go, so each address is checked as
// the proxy checks its own.
type Outbound struct {
	dialer  dialer // its upstream is used by proxied alone
	roots   *x509.CertPool
	proxied func(*url.URL) (*url.URL, error)
	trusted map[string]bool
}

// OutboundOptions are the parts of an Outbound. All are optional.
type OutboundOptions struct {
	// Networks are the networks that the operator opens, as in Options.
	Networks []netip.Prefix
	// Upstream is the operator's own proxy, as in Options. Hosts of NoProxy, a list as in the variable
	// NO_PROXY, are reached without it.
	Upstream *url.URL
	NoProxy  string
	// CA holds the operator's additional CA certificates in PEM.
	CA []byte
	// Trusted lists HOST:PORT of services that the operator named, such as a mirror. Their addresses
	// are not checked.
	Trusted []string
	// Resolve is as in Options.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// outboundIdle ends a connection on which nothing moves.
const outboundIdle = 5 * time.Minute

// NewOutbound returns an error for an upstream proxy that is not one.
func NewOutbound(o OutboundOptions) (*Outbound, error) {
	if err := checkUpstream(o.Upstream); err != nil {
		return nil, err
	}
	out := &Outbound{dialer: dialer{
		guard: guard{open: o.Networks, own: net.InterfaceAddrs}, resolve: o.Resolve, upstream: o.Upstream, idle: outboundIdle,
	}, trusted: map[string]bool{}}
	if o.Resolve == nil {
		out.dialer.resolve = lookup
	}
	if len(o.CA) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("read the CA certificates of this system: %w", err)
		}
		pool.AppendCertsFromPEM(o.CA)
		out.roots, out.dialer.roots = pool, pool
	}
	for _, address := range o.Trusted {
		out.trusted[strings.ToLower(address)] = true
	}
	if o.Upstream != nil {
		config := httpproxy.Config{HTTPSProxy: o.Upstream.String(), NoProxy: o.NoProxy}
		out.proxied = config.ProxyFunc()
	}
	return out, nil
}

// BlockedError is returned for a host that has no address to which the worker may connect. It is the
// same for a name that does not exist: a run must not learn which private names and services exist.
type BlockedError struct{ Host string }

func (e *BlockedError) Error() string {
	return e.Host + " has no address to which this worker may connect: the name does not exist, or its addresses are " +
		"not public. Only the operator of the worker can open private networks (--private-network)"
}

// Dial connects to HOST:PORT, through the upstream proxy if there is one. Without one, it resolves
// the host once and connects to an address that it checked. A *BlockedError means that no address
// is allowed.
func (o *Outbound) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !o.throughProxy(address) {
		return o.Direct(ctx, network, address)
	}
	host, port, err := splitDialed(address)
	if err != nil {
		return nil, err
	}
	if o.blocked(host, address) {
		return nil, &BlockedError{Host: host}
	}
	return o.dialer.dial(ctx, host, port)
}

// Direct is Dial without the upstream proxy.
func (o *Outbound) Direct(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := splitDialed(address)
	if err != nil {
		return nil, err
	}
	direct := o.dialer
	direct.upstream = nil
	if o.trusted[strings.ToLower(address)] {
		direct.guard.open = everywhere
	}
	conn, err := direct.dial(ctx, host, port)
	return conn, indistinct(host, err)
}

var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// Check returns a *BlockedError if the worker must not connect to HOST:PORT. It is for a program that
// connects by itself, and may choose any address of the name.
func (o *Outbound) Check(ctx context.Context, address string) error {
	host, _, err := splitDialed(address)
	if err != nil {
		return err
	}
	switch {
	case o.blocked(host, address):
		return &BlockedError{Host: host}
	case o.trusted[strings.ToLower(address)] || o.throughProxy(address) || isAddress(host):
		return nil
	}
	addrs, err := o.dialer.resolve(ctx, host)
	if err != nil {
		return indistinct(host, fmt.Errorf("look up %s: %w", host, err))
	}
	if len(addrs) == 0 || slices.ContainsFunc(addrs, func(a netip.Addr) bool { return o.dialer.guard.check(a) != "" }) {
		return &BlockedError{Host: host}
	}
	return nil
}

// IsPublic reports whether an address is in no private network, also if the operator opened that network.
func (o *Outbound) IsPublic(addr netip.Addr) bool {
	return guard{own: o.dialer.guard.own}.check(addr) == ""
}

// Canonical returns the one form of a host in which it is resolved and dialled, or why it is refused.
func Canonical(host string) (string, error) { return canonical(host) }

// blocked reports whether host is an IP address to which the worker must not connect.
func (o *Outbound) blocked(host, address string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && !o.trusted[strings.ToLower(address)] && o.dialer.guard.check(addr) != ""
}

// throughProxy reports whether the upstream proxy opens connections to HOST:PORT, and resolves the
// name.
func (o *Outbound) throughProxy(address string) bool {
	if o.proxied == nil {
		return false
	}
	upstream, err := o.proxied(&url.URL{Scheme: "https", Host: address})
	return err == nil && upstream != nil
}

func splitDialed(address string) (host string, port int, err error) {
	name, number, err := net.SplitHostPort(address)
	if err == nil {
		port, err = parsePort(number)
	}
	if err == nil {
		host, err = canonical(name)
	}
	if err != nil {
		return "", 0, fmt.Errorf("the address %q is refused: %w", address, err)
	}
	return host, port, nil
}

// indistinct returns a *BlockedError for each reason that would say something about private networks.
func indistinct(host string, err error) error {
	var address *addressError
	var name *net.DNSError
	if errors.As(err, &address) || errors.As(err, &name) && name.IsNotFound {
		return &BlockedError{Host: host}
	}
	return err
}

// Transport returns a new transport whose connections o opens.
func (o *Outbound) Transport() *http.Transport {
	return &http.Transport{
		DialContext:       o.Dial,
		TLSClientConfig:   &tls.Config{RootCAs: o.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, MaxIdleConns: 100, MaxIdleConnsPerHost: 50, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: handshakeTimeout, ExpectContinueTimeout: time.Second,
	}
}
