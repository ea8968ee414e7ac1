package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// listeners are the sockets of one server. The first one is for --listen.
type listeners []net.Listener

func (on listeners) close() {
	for _, l := range on {
		_ = l.Close()
	}
}

// String lists their addresses for the log.
func (on listeners) String() string {
	addresses := make([]string, len(on))
	for i, l := range on {
		addresses[i] = l.Addr().String()
	}
	return strings.Join(addresses, ", ")
}

// randomPorts is the number of random ports to try. A port must be free on both loopback addresses.
const randomPorts = 100

// listen listens at --listen. On loopback, it uses both 127.0.0.1 and [::1] with the same port.
// Otherwise another program, such as an agent, could listen on the second address, to which
// localhost may resolve.
func (l *listening) listen(ctx context.Context) (listeners, error) {
	host, port, err := net.SplitHostPort(l.Listen)
	if err != nil {
		return nil, err
	}
	hosts := loopbacks(host)
	if len(hosts) == 1 {
		return listenAt(ctx, host, port)
	}
	for range randomPorts {
		var on listeners
		on, err = listenOnBoth(ctx, hosts, port, host == "localhost")
		if port != "0" || !errors.Is(err, errOtherTaken) {
			return on, err
		}
	}
	return nil, err
}

func listenAt(ctx context.Context, host, port string) (listeners, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return listeners{l}, nil
}

// loopbacks returns the addresses to listen on for a host of --listen.
func loopbacks(host string) []string {
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", err == nil && addr.Unmap() == netip.AddrFrom4([4]byte{127, 0, 0, 1}):
		return []string{"127.0.0.1", "::1"}
	case err == nil && addr == netip.IPv6Loopback():
		return []string{"::1", "127.0.0.1"}
	default:
		return []string{host}
	}
}

// errOtherTaken is returned if only the second address is in use.
var errOtherTaken = errors.New("another program already listens on this address")

// listenOnBoth listens at one port of all hosts. It skips a host that this machine does not have.
// The first host is required, unless either is set.
func listenOnBoth(ctx context.Context, hosts []string, port string, either bool) (listeners, error) {
	var on listeners
	var missing error
	for i, host := range hosts {
		l, err := listenAt(ctx, host, port)
		if isAbsent(err) && (i > 0 || either) {
			missing = err
			continue
		}
		if err != nil {
			on.close()
			if i > 0 && errors.Is(err, syscall.EADDRINUSE) {
				err = fmt.Errorf("%w: %w: Penstock listens on both %s and %s, because localhost can resolve to either; stop that "+
					"program, "+
					"or set --listen to another port", err, errOtherTaken, net.JoinHostPort(hosts[0], port),
					net.JoinHostPort(host, port))
			}
			return nil, err
		}
		on = append(on, l...)
		if _, chosen, err := net.SplitHostPort(l.String()); err == nil {
			port = chosen // if it was 0
		}
	}
	if len(on) == 0 {
		return nil, missing
	}
	return on, nil
}

// isAbsent reports whether an error means that this machine does not have the address: no IPv6, or
// no IPv6 loopback.
func isAbsent(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT)
}
