package git

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Guard opens the connections of git to remotes that a run names, so that it can refuse addresses.
type Guard struct {
	// Dial connects to HOST:PORT of an http or https remote, or of a host to which it redirects.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Direct connects to HOST:PORT of an ssh remote, never through a proxy. If it is nil, ssh connects
	// as its configuration says.
	Direct func(ctx context.Context, network, address string) (net.Conn, error)
}

// Guarded returns a cache with the same mirrors and limits, whose git connects only through g. It is not
// for file: URLs and for http: URLs of this machine, which need Options.AllowLocal.
func (c *Cache) Guarded(g Guard) *Cache {
	return &Cache{
		dir: c.dir, program: c.program, local: c.local, max: c.max, env: c.env, memory: c.memory, listing: c.listing,
		guard: &g,
	}
}

// passage is the way of one git to its remote.
type passage struct {
	env  []string
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	failed error // why the first connection that failed could not be opened
	close  func()
}

// open prepares the way to r, nil for none. The caller closes it. Without a guard, git finds its own.
func (g *Guard) open(ctx context.Context, env []string, r *remote) (*passage, error) {
	if g == nil || r == nil {
		return &passage{close: func() {}}, nil
	}
	u, err := parse(r.url, true)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "https", "http":
		return g.openProxy(ctx, u)
	case "ssh":
		if g.Direct != nil {
			return g.pinHost(ctx, env, u)
		}
	}
	return &passage{close: func() {}}, nil
}

// openProxy starts a proxy on this machine for one git: libcurl resolves no name then, and each
// redirect passes here. It serves only CONNECT, so git reaches nothing else without TLS than the
// local remote itself.
func (g *Guard) openProxy(ctx context.Context, u *url.URL) (*passage, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the proxy of git: %w", err)
	}
	address := "http://" + listener.Addr().String()
	p := &passage{dial: g.Dial}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		p.env = append(p.env, name+"="+address, strings.ToUpper(name)+"="+address)
	}
	direct := ""
	if u.Scheme == "http" {
		direct = u.Hostname()
	}
	p.env = append(p.env, "no_proxy="+direct, "NO_PROXY="+direct)
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	server := &http.Server{ //nolint:gosec // git of this process is its only client, and ends with ctx
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			work.Add(1)
			defer work.Done()
			p.connect(ctx, w, r)
		}),
	}
	work.Go(func() { _ = server.Serve(listener) }) // it always ends with Close
	p.close = func() {
		cancel()
		_ = server.Close()
		work.Wait()
	}
	return p, nil
}

// connect serves CONNECT HOST:PORT.
func (p *passage) connect(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		p.fail(fmt.Errorf("connect to %s: only https is allowed", r.Host))
		http.Error(w, "only CONNECT is served", http.StatusMethodNotAllowed)
		return
	}
	there, err := p.dial(ctx, "tcp", r.Host)
	if err != nil {
		p.fail(err)
		http.Error(w, "no connection", http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.fail(err)
		return
	}
	defer here.Close()
	defer context.AfterFunc(ctx, func() { here.Close(); there.Close() })()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(there, buffered) // a broken connection ends git, which says so
		there.Close()
	})
	_, _ = io.Copy(here, there)
	here.Close()
	both.Wait()
}

// pinHost connects to an ssh remote to find an address that is allowed and responds, and makes ssh
// use this address. ssh still compares the host key with the key known for the name.
func (g *Guard) pinHost(ctx context.Context, env []string, u *url.URL) (*passage, error) {
	port := u.Port()
	if port == "" {
		port = "22"
	}
	conn, err := g.Direct(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	conn.Close()
	if err != nil {
		return nil, fmt.Errorf("read the address of %s: %w", u.Hostname(), err)
	}
	alias := u.Hostname()
	if port != "22" {
		alias = "[" + alias + "]:" + port // as in known_hosts
	}
	program := defaultSSH
	for _, entry := range slices.Backward(env) {
		if value, found := strings.CutPrefix(entry, "GIT_SSH_COMMAND="); found {
			program = value
			break
		}
	}
	pinned := fmt.Sprintf("GIT_SSH_COMMAND=%s -oHostName='%s' -oHostKeyAlias='%s'", program, host, alias)
	return &passage{env: []string{pinned}, close: func() {}}, nil
}

func (p *passage) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// reason returns why a connection could not be opened, nil if all could.
func (p *passage) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}
