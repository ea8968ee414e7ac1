package egress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// target is a host in its canonical form, a port, and whether TLS protects what is sent.
type target struct {
	host   string
	port   int
	secure bool
}

func (t target) scheme() string {
	if t.secure {
		return "https"
	}
	return "http"
}

// authority is the Host that a request to t has.
func (t target) authority() string {
	if t.secure {
		return authority(t.host, t.port, 443)
	}
	return authority(t.host, t.port, 80)
}

func (t target) String() string { return authority(t.host, t.port, 443) }

// Explain says in a few lines what the policy does with a host, host:port or URL, and which
// rule decides, or where one is missing. For a URL it is about a GET of that URL. It returns an
// error for any other text.
func (c *Policy) Explain(what string) (string, Decision, error) {
	t, path, err := parseWhat(what)
	if err != nil {
		return "", Decision{}, err
	}
	d := c.decideTarget(t)
	if path != "" && d.Allowed && d.Mode != ModeTunnel {
		d, _ = c.decideRequest(t, http.MethodGet, path)
	}
	lines := []string{d.Reason}
	if d.Allowed {
		lines = append(lines, modeSentence(d))
		if addr, err := netip.ParseAddr(t.host); err == nil {
			if reason := (guard{own: noAddresses}).check(addr); reason != "" {
				lines = append(lines, "The address is "+reason+". Only the operator of the worker can open its network "+
					"(--private-network).")
			}
		}
	}
	if c.maxUpload > 0 {
		lines = append(lines, fmt.Sprintf("The run may send %d bytes to all hosts together.", c.maxUpload))
	}
	return strings.Join(lines, "\n") + "\n", d, nil
}

// noAddresses stands for the addresses of the worker, which are unknown here.
func noAddresses() ([]net.Addr, error) { return nil, nil }

func modeSentence(d Decision) string {
	var details []string
	if len(d.Rule.Methods) > 0 {
		details = append(details, "methods "+strings.Join(d.Rule.Methods, ", "))
	}
	if len(d.Rule.Paths) > 0 {
		details = append(details, "paths "+strings.Join(d.Rule.Paths, ", "))
	}
	if d.Rule.Credential != nil {
		details = append(details, "with the secret "+d.Rule.Credential.Secret)
	}
	suffix := "."
	if len(details) > 0 {
		suffix = ": " + strings.Join(details, "; ") + "."
	}
	switch d.Mode {
	case ModeInspect:
		return "The proxy reads the requests (inspect)" + suffix
	case ModeHTTP:
		return "The requests are not encrypted (http)" + suffix
	}
	return "TLS passes through the proxy untouched (tunnel)."
}

func parseWhat(what string) (target, string, error) {
	if !strings.Contains(what, "://") {
		host, port, err := splitAuthority(what, 443)
		return target{host, port, true}, "", err
	}
	u, err := url.Parse(what)
	if err != nil {
		return target{}, "", errors.New("the URL is not valid")
	}
	return urlTarget(u)
}

// urlTarget returns the target and the escaped path of an http or https URL.
func urlTarget(u *url.URL) (target, string, error) {
	t := target{secure: u.Scheme == "https"}
	byDefault := 443
	if !t.secure {
		if u.Scheme != "http" {
			return target{}, "", errors.New("the scheme is neither http nor https")
		}
		byDefault = 80
	}
	if u.User != nil {
		return target{}, "", errors.New("the URL contains a user name")
	}
	if u.Opaque != "" {
		return target{}, "", errors.New("the URL has no host")
	}
	var err error
	t.host, t.port, err = splitAuthority(u.Host, byDefault)
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return t, path, err
}
