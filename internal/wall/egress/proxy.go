// Package egress is the forward proxy of a run: the only way out of its sandbox. It decides by
// the run's network policy, resolves and checks addresses itself, and puts in the credentials
// that the sandbox must not have.
//
// One Proxy belongs to one execution. A relay in the sandbox connects to it, so that only the agent
// reaches its listener. See docs/network.md for the rules from a user's view.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// Options are the parts of a Proxy. Only Policy is required.
type Options struct {
	Policy *Policy
	// Local serves requests in origin form and those for LocalAddress: the model gateway and the
	// routes of the control plane. Without it they are 404.
	Local http.Handler
	// LocalAddress is where the agent sees the proxy: host and port of the relay in the sandbox.
	// Default 127.0.0.1:3128. localhost and [::1] with that port mean the same.
	LocalAddress string
	// Networks are the networks that the operator opens: private, loopback and other special
	// addresses may be dialled if one of these contains them.
	Networks []netip.Prefix
	// Upstream is the operator's own proxy (http or https, with user and password if needed). It
	// then resolves the names, so that addresses are not checked.
	Upstream *url.URL
	// SystemRoots is a file of CA certificates in PEM. Default: where the distributions have it.
	SystemRoots string
	// CA holds the operator's additional CA certificates in PEM.
	CA []byte
	// Secret returns the value of a managed secret. It is called for each request, and its result
	// goes nowhere but into the request.
	Secret func(name string) (string, bool)
	// Push returns what serves the pushes of git to a repository, given by the escaped path of its URL. If
	// it returns nil, the policy decides about them, as about all other requests.
	Push func(host string, port int, path string) http.Handler
	// Denied is called for the first refusal of each host and port. It must not block.
	Denied func(Denial)
	// PullRequest is called for each pull request that the proxy sees created. It must not block.
	PullRequest func(PullRequest)
	// Resolve returns the addresses of a host. Default: the resolver of this machine, without its
	// search domains.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Connections bounds the open connections from the agent. Default 512.
	Connections int
	// Idle ends a connection on which nothing moves. Default 15 minutes.
	Idle time.Duration
	// Lifetime bounds the CA of the execution. Default 7 days.
	Lifetime time.Duration
	// Log gets failures that are neither the agent's nor a host's. Default: none.
	Log *slog.Logger
}

// Limits of what the agent sends.
const (
	maxHeader     = 64 << 10
	headerTimeout = 30 * time.Second
	keepAlive     = 2 * time.Minute  // between two requests
	firstByte     = 30 * time.Second // of what follows CONNECT
	maxResponse   = 256 << 10        // header of a response
	responseDelay = 30 * time.Minute // until the header of a response
	idleUpstreams = 32               // kept connections to hosts
)

// Proxy is the proxy of one execution.
type Proxy struct {
	Options

	local   map[hostPort]bool
	dialer  *dialer
	ledger  *ledger
	ca      *authorityKey
	roots   *parsedRoots // system and operator
	forward *forwarder
	slots   chan struct{}

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

// New prepares a proxy and creates the CA of its execution. It starts nothing.
func New(o Options) (*Proxy, error) {
	if o.Policy == nil {
		return nil, errors.New("egress: Policy is missing")
	}
	if err := checkUpstream(o.Upstream); err != nil {
		return nil, err
	}
	o.LocalAddress = cmp.Or(o.LocalAddress, "127.0.0.1:3128")
	o.Connections = cmp.Or(o.Connections, 512)
	o.Idle = cmp.Or(o.Idle, 15*time.Minute)
	o.Lifetime = cmp.Or(o.Lifetime, 7*24*time.Hour)
	if o.Resolve == nil {
		o.Resolve = lookup
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{
		Options: o, slots: make(chan struct{}, o.Connections),
		ledger: &ledger{limit: o.Policy.MaxUploadBytes(), denied: o.Denied, hosts: map[hostPort]*account{}},
	}
	localHost, localPort, err := splitAuthority(o.LocalAddress, 0)
	if err != nil {
		return nil, fmt.Errorf("local address %s: %w", o.LocalAddress, err)
	}
	p.local = map[hostPort]bool{
		{localHost, localPort}: true, {"localhost", localPort}: true, {"::1", localPort}: true,
	}
	roots, err := loadRoots(o.SystemRoots, o.CA)
	if err != nil {
		return nil, err
	}
	p.roots = parseRoots(roots)
	p.dialer = &dialer{
		guard: guard{open: o.Networks, own: net.InterfaceAddrs}, resolve: o.Resolve, upstream: o.Upstream,
		roots: p.roots.pool, idle: o.Idle,
	}
	if p.ca, err = newAuthorityKey(o.Policy.inspectable(), o.Lifetime); err != nil {
		return nil, err
	}
	p.forward = newForwarder(o, p.ledger, p.dialer)
	return p, nil
}

// Report returns what the run exchanged with each host so far, sorted by host and port.
func (p *Proxy) Report() []penstock.HostTraffic { return p.ledger.report() }

// AddressesUnchecked reports whether an upstream proxy resolves the names, so that the proxy
// cannot check their addresses. The run must say so.
func (p *Proxy) AddressesUnchecked() bool { return p.Upstream != nil }

// Serve serves the connections of l until ctx ends, then closes all of them and returns nil
// once every handler has returned. It closes l. A Proxy serves once.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	server := p.newServer(ctx, p)
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(&limitedListener{Listener: l, slots: p.slots})
	server.Close()
	p.close()
	if ctx.Err() != nil && errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the egress proxy: %w", err)
}

func (p *Proxy) newServer(ctx context.Context, handler http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: handler, Protocols: &protocols, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTimeout,
		IdleTimeout: keepAlive, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
}

// enter counts a handler, unless the proxy is closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.active.Add(1)
	return true
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.active.Wait()
	p.forward.close()
}

// ServeHTTP serves CONNECT, requests in absolute form, and Local.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		http.Error(w, "The run is over.", http.StatusServiceUnavailable)
		return
	}
	defer p.active.Done()
	switch {
	// The preface of HTTP/2 arrives as a request PRI * (RFC 9113 §3.4).
	case r.ProtoMajor != 1:
		http.Error(w, "The proxy speaks HTTP/1.1.", http.StatusHTTPVersionNotSupported)
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "" && r.URL.Host == "":
		p.serveLocal(w, r)
	default:
		p.serveAbsolute(w, r)
	}
}

func (p *Proxy) serveLocal(w http.ResponseWriter, r *http.Request) {
	if p.Local == nil {
		http.NotFound(w, r)
		return
	}
	p.Local.ServeHTTP(w, r)
}

// serveAbsolute serves GET http://host/path. The Host header of such a request has no meaning
// (RFC 9112 §3.2.2): the host of the URL is matched and sent. Some clients write https here,
// too; the proxy then encrypts the request itself.
func (p *Proxy) serveAbsolute(w http.ResponseWriter, r *http.Request) {
	t, _, err := urlTarget(r.URL)
	if err != nil {
		p.forward.refuse(w, r.URL.Host, 0, http.StatusBadRequest, "The request is refused: "+err.Error()+".")
		return
	}
	if p.local[hostPort{t.host, t.port}] && !t.secure {
		r.URL.Scheme, r.URL.Host = "", ""
		p.serveLocal(w, r)
		return
	}
	p.forward.serve(w, r, t)
}

// limitedListener bounds the open connections. One too many gets a 503 and is closed, because
// a client that waits would not learn why.
type limitedListener struct {
	net.Listener
	slots chan struct{}
}

const tooMany = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" +
	"The run has too many open connections.\n"

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &slotConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
		default:
		}
		// The first bytes fit into the buffer of a new socket: this does not wait.
		if conn.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
			_, _ = conn.Write([]byte(tooMany)) // the agent may have gone
		}
		conn.Close()
	}
}

type slotConn struct {
	net.Conn
	release func()
}

func (c *slotConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite ends one direction, where the connection can.
func (c *slotConn) CloseWrite() error { return closeWrite(c.Conn) }
