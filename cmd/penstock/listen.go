package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// listening holds the addresses of the server.
type listening struct {
	Listen         string         `default:"127.0.0.1:8080" help:"Address to listen on. With 127.0.0.1, localhost or [::1] the server listens on both 127.0.0.1 and [::1]. Any other address needs TLS (--tls-cert and --tls-key), --trusted-proxies or --plain-http-from."`
	PublicURL      string         `placeholder:"URL" help:"URL at which clients reach the server. The server uses it for links in responses, and to verify senders that sign the URL. By default, it is the address of --listen."`
	TLSCert        string         `type:"path" placeholder:"FILE" help:"TLS certificate with its chain. Reloaded when the file changes, and on SIGHUP."`
	TLSKey         string         `type:"path" placeholder:"FILE" help:"Private key of the TLS certificate. Reloaded together with the certificate."`
	PlainHTTPFrom  []netip.Prefix `name:"plain-http-from" placeholder:"CIDR" help:"Networks whose clients may call the server over plain HTTP, such as the network of containers on one machine; repeatable. Anyone who can capture their traffic can read API keys. None by default; this machine is always allowed."`
	TrustedProxies []netip.Prefix `placeholder:"CIDR" help:"Networks of the proxies that terminate TLS in front of the server. The server trusts their X-Forwarded-For and X-Forwarded-Proto headers."`
}

// decodeNetwork reads a network, or one address, from a flag.
func decodeNetwork(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("network", &text); err != nil {
		return err
	}
	text = strings.TrimSpace(text) // "10.0.0.1, 10.0.0.2"
	network, err := netip.ParsePrefix(text)
	if addr, single := netip.ParseAddr(text); single == nil && addr.Zone() == "" {
		network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil {
		return fmt.Errorf("%q is neither a network, such as 10.0.0.0/8, nor an IP address", text)
	}
	target.Set(reflect.ValueOf(network))
	return nil
}

// checkAddress rejects an address at which keys would not be encrypted.
func (l *listening) checkAddress() error {
	host, _, err := net.SplitHostPort(l.Listen)
	if err != nil {
		return exitf(exitUsage, "--listen %q is not an address such as 127.0.0.1:8080", l.Listen)
	}
	if (l.TLSCert == "") != (l.TLSKey == "") {
		return exitf(exitUsage, "--tls-cert and --tls-key must be set together")
	}
	addr, err := netip.ParseAddr(host)
	loopback := host == "localhost" || err == nil && addr.Unmap().IsLoopback()
	if !loopback && l.TLSCert == "" && len(l.TrustedProxies) == 0 && len(l.PlainHTTPFrom) == 0 {
		return exitf(
			exitUsage,
			"--listen %s: plain HTTP would expose API keys; set --tls-cert and --tls-key, set --trusted-proxies to the "+
				"proxies that terminate TLS, or listen on 127.0.0.1",
			l.Listen,
		)
	}
	if l.PublicURL == "" {
		return nil
	}
	u, err := serverURL("--public-url", l.PublicURL)
	if err == nil && strings.Trim(u.Path, "/") != "" {
		err = exitf(
			exitUsage, "--public-url %s://%s%s: the server cannot be below a path: give it a host name or a port of its own, "+
				"such as %[1]s://penstock.%[2]s", u.Scheme, u.Host, u.EscapedPath(),
		)
	}
	return err
}

// serverURL parses the address of a server, which the flag sets: a scheme, a host and maybe a path. Its errors repeat
// nothing of it, because it may contain a password.
func serverURL(flag, text string) (*url.URL, error) {
	const example = "such as https://penstock.example.com"
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, exitf(exitUsage, "%s is not a URL %s", flag, example)
	case u.User != nil:
		return nil, exitf(exitUsage, "%s contains a user or a password: set a URL %s", flag, example)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, exitf(exitUsage, "%s contains a query or a fragment: set a URL %s", flag, example)
	}
	return u, nil
}

// open listens. origin is the server's address for clients.
func (l *listening) open(
	ctx context.Context, log *slog.Logger,
) (on listeners, cert *certificate, origin string, err error) {
	if l.TLSCert != "" {
		if cert, err = loadCertificate(l.TLSCert, l.TLSKey, log); err != nil {
			return nil, nil, "", &exitError{exitConfig, err}
		}
	}
	on, err = l.listen(ctx)
	if op, ok := errors.AsType[*net.OpError](err); ok && errors.Is(err, syscall.EADDRINUSE) &&
		!errors.Is(err, errOtherTaken) {
		return nil, nil, "", exitf(
			exitConfig, "%s is already in use: stop the process that uses it, or set --listen to another address", op.Addr,
		)
	}
	if err != nil {
		return nil, nil, "", exitf(exitConfig, "listen: %w", err)
	}
	return on, cert, cmp.Or(strings.TrimRight(l.PublicURL, "/"), l.origin(on[0].Addr())), nil
}

// origin returns the address of a listener as a URL. It replaces a wildcard by this machine's name.
func (l *listening) origin(at net.Addr) string {
	scheme := "http"
	if l.TLSCert != "" {
		scheme = "https"
	}
	host, _, err := net.SplitHostPort(l.Listen)
	if addr, parseErr := netip.ParseAddr(host); err != nil || host == "" || parseErr == nil && addr.IsUnspecified() {
		host = defaultHost()
	}
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return scheme + "://" + at.String()
	}
	return fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, port))
}

// localOrigin returns the address for programs on this machine. With TLS, it has the name in the
// certificate.
func (l *listening) localOrigin(origin string, at net.Addr) string {
	if l.TLSCert != "" {
		return origin
	}
	if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() {
		return "http://" + at.String()
	}
	_, port, _ := net.SplitHostPort(at.String()) // a listener's address has one
	return "http://" + net.JoinHostPort("127.0.0.1", port)
}
