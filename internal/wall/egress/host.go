package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxName is the longest host name of DNS in its text form (RFC 1035 §2.3.4).
const maxName = 253

// canonical returns the one form of a host in which it is matched, resolved, dialled and
// compared: a name in lower case and ASCII (IDNA, RFC 5891) without a final dot, or an IP
// address in its usual text form. It refuses everything that two programs could read in two
// ways: control and separator bytes, names that other resolvers take for a number
// (0x7f.1, 127.1, 0177.0.0.1), IPv6 zones, and IPv4 addresses written as IPv6.
// canonical(canonical(h)) == canonical(h) for each h that it accepts.
func canonical(host string) (string, error) {
	if host == "" {
		return "", errors.New("the host is empty")
	}
	if len(host) > 4*maxName {
		return "", errors.New("the host is too long")
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
		if !strings.Contains(host, ":") {
			return "", errors.New("brackets go with an IPv6 address only")
		}
	}
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`/\?#@%[]<>^|"`, c) >= 0 {
			return "", fmt.Errorf("the host contains the byte 0x%02x", c)
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Is4In6() {
			return "", errors.New("the host is an IPv4 address written as IPv6")
		}
		return addr.String(), nil
	}
	if strings.Contains(host, ":") {
		return "", errors.New("the host contains a colon but is no IPv6 address")
	}
	name, err := asciiName(host)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxName {
		return "", errors.New("the host name is too long")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !validLabel(label) {
			return "", errors.New("the host is not a valid name; use one such as api.example.com")
		}
	}
	// inet_aton and many URL parsers read a name that ends in a number as an IPv4 address. No
	// top-level domain begins with a digit.
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		return "", errors.New("the host looks like a number but is not an IP address in its usual form")
	}
	return name, nil
}

func asciiName(host string) (string, error) {
	ascii := true
	for i := range len(host) {
		ascii = ascii && host[i] < 0x80
	}
	lower := strings.ToLower(host)
	if ascii && !strings.Contains(lower, "xn--") {
		return lower, nil
	}
	name, err := idna.Lookup.ToASCII(host)
	if err == nil && utf8.ValidString(host) {
		// The mapping must be final: what it returns means nothing else to another resolver.
		if again, err := idna.Lookup.ToASCII(name); err == nil && again == name {
			return name, nil
		}
	}
	return "", errors.New("the host is not a valid internationalized name")
}

// validLabel reports whether s is one label of a host name (RFC 1123 §2.1) in lower case, or
// one with underscores, which some hosts have.
func validLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// splitAuthority splits host[:port] and returns the canonical host. The port is byDefault if
// authority has none; 0 requires one.
func splitAuthority(authority string, byDefault int) (string, int, error) {
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
		if port == "" {
			return "", 0, errors.New("the port is empty")
		}
	}
	// An IPv6 address in an authority has brackets (RFC 3986 §3.2.2).
	if strings.Contains(host, ":") != strings.HasPrefix(host, "[") {
		return "", 0, errors.New("the authority is not host:port")
	}
	name, err := canonical(host)
	if err != nil {
		return "", 0, err
	}
	number := byDefault
	if port != "" {
		if number, err = parsePort(port); err != nil {
			return "", 0, err
		}
	}
	if number == 0 {
		return "", 0, errors.New("the port is missing")
	}
	return name, number, nil
}

func parsePort(s string) (int, error) {
	number, err := strconv.ParseUint(s, 10, 16)
	// A sign, a leading zero or another base would be a second form of the same port.
	if err != nil || number == 0 || strconv.FormatUint(number, 10) != s {
		return 0, errors.New("the port is not a number from 1 to 65535")
	}
	return int(number), nil
}

// authority is host:port, without the port if it is the default of the scheme.
func authority(host string, port, byDefault int) string {
	if port != byDefault {
		return net.JoinHostPort(host, strconv.Itoa(port))
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
