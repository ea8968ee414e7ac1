package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// peer is what is known of the other end of a request.
type peer struct {
	addr   netip.Addr // of the client: the last hop that no trusted proxy vouches for
	secure bool       // nobody in between can read along: TLS, or loopback
	https  bool       // the client speaks HTTPS, with this server or with a trusted proxy
}

// peerOf works out the client of r. X-Forwarded-For and X-Forwarded-Proto count
// only where the connection comes from a trusted proxy.
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

// ClientAddr is the address of the client of r: the last hop that none of the
// trusted proxies vouches for.
func ClientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr { return peerOf(r, trusted).addr }

// lastUntrusted walks the hops from the nearest to the farthest, as far as each
// was added by a trusted proxy. What cannot be read ends the walk.
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

// checkSecure refuses what came over plain HTTP from afar: the key in it has
// been readable on the way.
func (c *call) checkSecure() error {
	if c.peer.secure || c.route.plain {
		return nil
	}
	return penstock.Errorf(
		penstock.CodeNotAuthorized,
		"this server accepts only HTTPS; if a proxy terminates TLS, add it to --trusted-proxies and let it set "+
			"X-Forwarded-Proto",
	)
}
