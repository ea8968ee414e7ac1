package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// peer describes the client of a request.
type peer struct {
	addr   netip.Addr // of the client: the nearest hop that is not a trusted proxy
	secure bool       // nobody can read the connection: TLS, or loopback
	https  bool       // the client uses HTTPS, to this server or to a trusted proxy
}

// peerOf finds the client of r. X-Forwarded-For and X-Forwarded-Proto count only if the connection
// comes from a trusted proxy.
func peerOf(r *http.Request, trusted []netip.Prefix) peer {
	direct := hostAddr(r.RemoteAddr)
	p := peer{addr: direct, secure: r.TLS != nil, https: r.TLS != nil}
	if listener, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && !p.secure {
		p.secure = hostAddr(listener.String()).IsLoopback() && direct.IsLoopback()
	}
	if !isTrusted(direct, trusted) {
		return p
	}
	if proto := r.Header.Values("X-Forwarded-Proto"); len(proto) > 0 {
		p.https = strings.EqualFold(strings.TrimSpace(proto[len(proto)-1]), "https")
		p.secure = p.https
	}
	p.addr = lastUntrusted(r.Header.Values("X-Forwarded-For"), direct, trusted)
	return p
}

// ClientAddr returns the address of the client of r: the nearest hop that is not a trusted proxy.
func ClientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr { return peerOf(r, trusted).addr }

// lastUntrusted walks the hops from the nearest to the farthest, while a trusted proxy added them.
// It stops at a hop that it cannot parse.
func lastUntrusted(headers []string, direct netip.Addr, trusted []netip.Prefix) netip.Addr {
	hops := strings.Split(strings.Join(headers, ","), ",")
	client := direct
	for _, hop := range slices.Backward(hops) {
		addr := hostAddr(strings.TrimSpace(hop))
		if !addr.IsValid() {
			return client
		}
		client = addr
		if !isTrusted(addr, trusted) {
			return client
		}
	}
	return client
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// hostAddr reads an address with or without a port.
func hostAddr(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// plainNetworks are networks whose clients may use plain HTTP.
type plainNetworks []netip.Prefix

// has reports whether the client itself, and not a proxy for others, is in a network in
// which plain HTTP is allowed.
func (n plainNetworks) has(r *http.Request) bool {
	for _, header := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via"} {
		if len(r.Header[header]) > 0 {
			return false
		}
	}
	return isTrusted(hostAddr(r.RemoteAddr), n)
}

// check rejects plain HTTP from other machines, because others could read the key on the way.
func (n plainNetworks) check(c *call) error {
	if c.peer.secure || c.route.plain || n.has(c.r) {
		return nil
	}
	return penstock.Errorf(
		penstock.CodeNotAuthorized,
		"this server accepts only HTTPS; if a proxy terminates TLS, add it to --trusted-proxies and let it set "+
			"X-Forwarded-Proto",
	)
}
