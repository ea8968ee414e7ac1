package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	dialTimeout      = 30 * time.Second
	attemptTimeout   = 10 * time.Second // one of several addresses
	handshakeTimeout = 15 * time.Second
)

// dialer opens connections to targets: directly at an address that it checked, or through the
// upstream proxy of the operator, which resolves names itself.
type dialer struct {
	guard    guard
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error)
	upstream *url.URL
	roots    *x509.CertPool
	idle     time.Duration
}

// lookup resolves a name as it is: without the search domains of the machine, which would make
// another name of it. A name without a dot is the exception: it has no other meaning.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// dial resolves the host once, checks each address, and connects to those that passed.
func (d *dialer) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if d.upstream != nil {
		conn, err := d.dialUpstream(ctx)
		if err != nil {
			return nil, err
		}
		conn, err = connectThrough(ctx, conn, d.upstream, net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return nil, err
		}
		return limitIdle(conn, d.idle), nil
	}
	addrs, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		var conn net.Conn
		conn, err = connect(ctx, netip.AddrPortFrom(addr, uint16(port))) //nolint:gosec // ports are from 1 to 65535
		if err == nil {
			return limitIdle(conn, d.idle), nil
		}
	}
	return nil, fmt.Errorf("connect to %s: %w", host, err)
}

// dialAddress dials an address host:port.
func (d *dialer) dialAddress(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := parsePort(port)
	if err != nil {
		return nil, err
	}
	return d.dial(ctx, host, number)
}

func connect(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", addr.String())
}

// addresses returns the addresses of host that may be dialled, at least one.
func (d *dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, addr)
	} else if addrs, err = d.resolve(ctx, host); err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	var allowed []netip.Addr
	var refused error
	for _, addr := range addrs {
		if reason := d.guard.check(addr); reason != "" {
			refused = &addressError{host: host, addr: addr, reason: reason}
			continue
		}
		allowed = append(allowed, addr.Unmap())
	}
	if len(allowed) > 0 {
		return allowed, nil
	}
	if refused != nil {
		return nil, refused
	}
	return nil, fmt.Errorf("look up %s: no address", host)
}

// dialUpstream connects to the proxy of the operator, whose address is the operator's choice.
func (d *dialer) dialUpstream(ctx context.Context) (net.Conn, error) {
	port := d.upstream.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[d.upstream.Scheme]
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(d.upstream.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("connect to the upstream proxy: %w", err)
	}
	if d.upstream.Scheme == "https" {
		return handshake(ctx, conn, &tls.Config{
			ServerName: d.upstream.Hostname(), RootCAs: d.roots, MinVersion: tls.VersionTLS12,
		})
	}
	return conn, nil
}

// handshake closes conn if it fails.
func handshake(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("verify %s: %w", config.ServerName, err)
	}
	return secure, nil
}

// connectThrough asks the upstream proxy for a tunnel (RFC 9110 §9.3.6). It closes conn if that
// fails.
func connectThrough(ctx context.Context, conn net.Conn, upstream *url.URL, address string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	request := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{},
	}
	if value := proxyAuthorization(upstream); value != "" {
		request.Header.Set("Proxy-Authorization", value)
	}
	if err := request.Write(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the upstream proxy: %w", err)
	}
	reader := bufio.NewReaderSize(conn, 4<<10)
	response, err := http.ReadResponse(reader, request) //nolint:bodyclose // what follows is the tunnel
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it responded %d", response.StatusCode)
	}
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the upstream proxy for %s: %w", address, err)
	}
	return &bufferedConn{Conn: conn, reader: reader}, nil
}

func proxyAuthorization(upstream *url.URL) string {
	if upstream.User == nil {
		return ""
	}
	password, _ := upstream.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(upstream.User.Username()+":"+password))
}

func checkUpstream(u *url.URL) error {
	if u != nil && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		return errors.New("the upstream proxy must be a URL such as http://proxy.example.com:3128")
	}
	return nil
}

// bufferedConn reads what a bufio.Reader has taken from the connection first.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// CloseWrite ends one direction, where the connection can.
func (c *bufferedConn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}
