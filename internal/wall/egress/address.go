package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// special lists the networks that no run reaches unless the operator lists them, with the
// reason. The sources are the special-purpose address registries of IANA (RFC 6890). In IPv6
// only 2000::/3 is public (RFC 4291 §2.4); everything else is refused without an entry.
var special = []struct {
	network netip.Prefix
	reason  string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a provider's own network (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "the metadata service of Azure"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address, which metadata services use"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved or broadcast address"},

	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a NAT64 address of local use (RFC 8215)"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
}

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052 §2.1
)

// guard decides which addresses may be dialled.
type guard struct {
	open []netip.Prefix // listed by the operator
	own  func() ([]net.Addr, error)
}

// check returns why addr must not be dialled, "" if it may be. An IPv4 address within an IPv6
// address is judged as the IPv4 address, because that is where the packets go.
func (g guard) check(addr netip.Addr) string {
	addr = embedded(addr.WithZone(""))
	if slices.ContainsFunc(g.open, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return ""
	}
	for _, s := range special {
		if s.network.Contains(addr) {
			return s.reason
		}
	}
	if addr.Is6() && !publicIPv6.Contains(addr) {
		return "not a public address"
	}
	if !addr.IsValid() {
		return "not an address"
	}
	return g.checkOwn(addr)
}

// checkOwn asks for the addresses of the machine each time: they change while it runs.
func (g guard) checkOwn(addr netip.Addr) string {
	own, err := g.own()
	if err != nil {
		return "not comparable with the addresses of this machine: " + err.Error()
	}
	for _, o := range own {
		if n, ok := o.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == addr {
				return "an address of this machine"
			}
		}
	}
	return ""
}

// embedded returns the IPv4 address that addr stands for (v4-mapped, NAT64), or addr itself.
// All of 6to4, Teredo and the v4-compatible addresses is refused as it is.
func embedded(addr netip.Addr) netip.Addr {
	if nat64.Contains(addr) {
		bytes := addr.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return addr.Unmap()
}

// addressError is the error for a host whose addresses are all refused.
type addressError struct {
	host, reason string
	addr         netip.Addr
}

func (e *addressError) Error() string {
	return fmt.Sprintf("%s has the address %s, which is %s. Only the operator of the worker can open such networks "+
		"(--private-network)", e.host, e.addr, e.reason)
}
