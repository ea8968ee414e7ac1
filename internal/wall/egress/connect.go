package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// connect serves CONNECT host:port.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	host, port, err := splitAuthority(r.RequestURI, 0)
	if err == nil && (r.ContentLength != 0 || len(r.TransferEncoding) > 0) {
		err = errors.New("CONNECT has no body (RFC 9110 §9.3.6)")
	}
	if err != nil {
		p.forward.refuse(w, r.RequestURI, 0, http.StatusBadRequest, "The request is refused: "+err.Error()+".")
		return
	}
	t := target{host: host, port: port, secure: true}
	if p.local[hostPort{host, port}] {
		p.hijack(w, func(conn *bufferedConn) { p.serveConn(r.Context(), conn, http.HandlerFunc(p.serveLocal)) })
		return
	}
	// A CONNECT may carry requests without TLS, too; serveTarget decides on each of these.
	d := p.Policy.decideTarget(t)
	if !d.Allowed {
		p.forward.refuse(w, host, port, http.StatusForbidden, d.Reason)
		return
	}
	if err := p.ledger.exhausted(); err != nil {
		p.forward.fail(w, t, err)
		return
	}
	if d.Mode != ModeTunnel || port == 80 {
		p.hijack(w, func(conn *bufferedConn) { p.intercept(r.Context(), conn, t, d.Mode) })
		return
	}
	upstream, err := p.dialer.dial(r.Context(), host, port)
	if err != nil {
		p.forward.fail(w, t, err)
		return
	}
	defer upstream.Close()
	p.hijack(w, func(conn *bufferedConn) { p.tunnel(r.Context(), conn, upstream, t) })
}

// hijack takes the connection of a CONNECT over, confirms it, and closes it after serve. Bytes
// that the client sent too early are the first of what serve reads.
func (p *Proxy) hijack(w http.ResponseWriter, serve func(*bufferedConn)) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "The connection cannot be taken over.", http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, established); err != nil {
		return
	}
	// The reader of the server itself would end the context of the request at the first timeout.
	early, err := buffered.Peek(buffered.Reader.Buffered())
	if err != nil {
		return
	}
	serve(&bufferedConn{Conn: conn, reader: bufio.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn))})
}

// intercept serves the requests within a CONNECT: TLS ends here.
func (p *Proxy) intercept(ctx context.Context, conn *bufferedConn, t target, mode string) {
	secure, ok := p.peek(ctx, conn)
	if !ok {
		return
	}
	if !secure {
		p.serveTarget(ctx, conn, target{host: t.host, port: t.port})
		return
	}
	if mode == ModeTunnel { // of port 80, where TLS is unusual
		upstream, err := p.dialer.dial(ctx, t.host, t.port)
		if err != nil {
			p.ledger.refuse(t.host, t.port, sentence(t, err))
			return
		}
		defer upstream.Close()
		p.tunnel(ctx, conn, upstream, t)
		return
	}
	config := p.ca.config(t.host, func(name string) error {
		if name == t.host || name == "" && isAddress(t.host) {
			return nil
		}
		return p.wrongName(t, name)
	})
	handshakeCtx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	inner := tls.Server(conn, config)
	if err := inner.HandshakeContext(handshakeCtx); err != nil {
		return
	}
	p.serveTarget(ctx, inner, t)
}

func (p *Proxy) wrongName(t target, name string) error {
	reason := fmt.Sprintf("%s is refused: the server name in TLS is %q, but the connection is for %s.",
		t, cut(name), t.host)
	if name == "" {
		reason = fmt.Sprintf("%s is refused: the ClientHello has no server name (SNI).", t)
	}
	p.ledger.refuse(t.host, t.port, reason)
	return errors.New(reason)
}

func cut(s string) string { return s[:min(len(s), maxShown)] }

// peek reports whether the connection begins with TLS.
func (p *Proxy) peek(ctx context.Context, conn *bufferedConn) (secure, ok bool) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	timer := time.AfterFunc(firstByte, func() { conn.Close() })
	defer timer.Stop()
	first, err := conn.reader.Peek(1)
	return err == nil && first[0] == recordHandshake, err == nil
}

// serveTarget serves the requests of a connection that belongs to one host.
func (p *Proxy) serveTarget(ctx context.Context, conn net.Conn, t target) {
	p.serveConn(ctx, conn, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, port, err := splitAuthority(r.Host, map[bool]int{true: 443, false: 80}[t.secure])
		switch {
		case r.ProtoMajor != 1:
			p.forward.refuse(w, t.host, t.port, http.StatusHTTPVersionNotSupported, "The proxy speaks HTTP/1.1.")
		case r.Method == http.MethodConnect || r.URL.Host != "" || r.URL.Scheme != "":
			p.forward.refuse(w, t.host, t.port, http.StatusBadRequest,
				fmt.Sprintf("The request is refused: within a connection to %s, a request has a path, not a URL.", t))
		case err != nil || host != t.host || port != t.port:
			p.forward.refuse(w, t.host, t.port, http.StatusMisdirectedRequest,
				fmt.Sprintf("The request is refused: its Host is %q, but the connection is for %s.", cut(r.Host), t))
		default:
			p.forward.serve(w, r, t)
		}
	}))
}

// serveConn serves one connection and returns when it is closed and no handler runs.
func (p *Proxy) serveConn(ctx context.Context, conn net.Conn, handler http.Handler) {
	var handlers sync.WaitGroup
	once := &onceListener{conn: conn, done: make(chan struct{})}
	finish := sync.OnceFunc(func() { close(once.done) })
	server := p.newServer(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		handler.ServeHTTP(w, r)
	}))
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			finish()
		}
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_ = server.Serve(once) // it always ends with the listener
	handlers.Wait()
}

// onceListener accepts one connection and ends once done is closed.
type onceListener struct {
	conn net.Conn
	done chan struct{}
}

func (l *onceListener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *onceListener) Close() error   { return nil }
func (l *onceListener) Addr() net.Addr { return &net.UnixAddr{} }

// tunnel checks the server name of the ClientHello and carries bytes until both directions
// have ended. Requests without TLS are served as intercept does, so that they are read.
func (p *Proxy) tunnel(ctx context.Context, conn *bufferedConn, upstream net.Conn, t target) {
	stop := context.AfterFunc(ctx, func() { conn.Close(); upstream.Close() })
	defer stop()
	secure, ok := p.peek(ctx, conn)
	if !ok {
		return
	}
	if !secure {
		upstream.Close()
		p.serveTarget(ctx, conn, target{host: t.host, port: t.port})
		return
	}
	timer := time.AfterFunc(firstByte, func() { conn.Close() })
	hello, name, err := readHello(conn)
	timer.Stop()
	if err != nil {
		p.ledger.refuse(t.host, t.port, fmt.Sprintf("%s is refused: %s.", t, err))
		return
	}
	if !strings.EqualFold(name, t.host) && (name != "" || !isAddress(t.host)) {
		_ = p.wrongName(t, name)
		// alert unrecognized_name (RFC 6066 §3)
		_, _ = conn.Write([]byte{21, 3, 3, 0, 2, 2, 112}) // the agent may have gone
		return
	}
	account := p.ledger.begin(t, ModeTunnel)
	p.pipe(limitIdle(conn, p.Idle), upstream, bytes.NewReader(hello), account, t)
}

// pipe carries bytes in both directions. The end of one direction ends only that one; an error
// ends both.
func (p *Proxy) pipe(conn, upstream net.Conn, hello io.Reader, a *account, t target) {
	var both sync.WaitGroup
	both.Go(func() {
		to := &duplex{ReadWriteCloser: upstream, ledger: p.ledger, account: a}
		err := relay(to, io.MultiReader(hello, conn))
		if _, ok := errors.AsType[uploadError](err); ok {
			p.ledger.refuse(t.host, t.port, sentence(t, err))
		}
		if err != nil || closeWrite(upstream) != nil {
			conn.Close()
			upstream.Close()
		}
	})
	from := &download{ReadCloser: upstream, account: a}
	if err := relay(conn, from); err != nil || closeWrite(conn) != nil {
		conn.Close()
		upstream.Close()
	}
	both.Wait()
}

const relayBuffer = 128 << 10

var relayBuffers = sync.Pool{New: func() any { return new([relayBuffer]byte) }}

func relay(to io.Writer, from io.Reader) error {
	buffer, ok := relayBuffers.Get().(*[relayBuffer]byte)
	if !ok {
		buffer = new([relayBuffer]byte)
	}
	defer relayBuffers.Put(buffer)
	// The wrappers hide ReadFrom and WriteTo, which would copy past the counters.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buffer[:])
	return err
}
