package testkit

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy forwards TCP connections to a server, and can be made to fail. Each change of its behavior
// ends the open connections.
type Proxy struct {
	URL string // http, of the proxy

	target   string
	listener net.Listener
	passed   atomic.Int64 // bytes from clients, since the last change
	changed  chan struct{}
	mu       sync.Mutex
	behavior behavior
	open     map[net.Conn]bool
	serving  sync.WaitGroup
}

type behavior struct {
	response string        // sent to each client instead of connecting; "": connect
	refuse   bool          // closes each connection at once
	most     int64         // bytes from clients that are passed on, and then none; negative: no limit
	lose     *atomic.Int64 // how many connections get no response; nil: all get one
}

// NewProxy starts a proxy before the server at a host and port. It ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{
		URL: "http://" + listener.Addr().String(), target: target, listener: listener,
		open: map[net.Conn]bool{}, behavior: behavior{most: -1}, changed: make(chan struct{}),
	}
	p.serving.Go(p.accept)
	tb.Cleanup(func() {
		_ = listener.Close()
		p.change(behavior{refuse: true})
		p.serving.Wait()
	})
	return p
}

// Pass lets the proxy work.
func (p *Proxy) Pass() { p.change(behavior{most: -1}) }

// Refuse closes each connection at once, as if the server was absent.
func (p *Proxy) Refuse() { p.change(behavior{refuse: true}) }

// Respond sends the same bytes to each client that has sent something.
func (p *Proxy) Respond(response string) { p.change(behavior{response: response}) }

// Hold reads everything that clients send, but forwards only the given number of bytes. It forwards
// everything that the server sends.
func (p *Proxy) Hold(after int64) { p.change(behavior{most: after}) }

// LoseResponses passes requests on, and closes the next connections as soon as the server responds.
func (p *Proxy) LoseResponses(connections int64) {
	var left atomic.Int64
	left.Store(connections)
	p.change(behavior{most: -1, lose: &left})
}

// Passed returns how many bytes of clients the proxy has passed on since the last change.
func (p *Proxy) Passed() int64 { return p.passed.Load() }

func (p *Proxy) change(b behavior) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behavior = b
	p.passed.Store(0)
	close(p.changed)
	p.changed = make(chan struct{})
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.serving.Go(func() { p.serve(client) })
	}
}

// track closes a connection with the next change of behavior.
func (p *Proxy) track(c net.Conn) (b behavior, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = true
	return p.behavior, p.changed
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	_ = c.Close()
}

func (p *Proxy) serve(client net.Conn) {
	defer p.drop(client)
	b, changed := p.track(client)
	switch {
	case b.refuse:
		return
	case b.response != "":
		if _, err := client.Read(make([]byte, 64<<10)); err == nil {
			_, _ = io.WriteString(client, b.response) // the client may be gone
		}
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(server)
	p.track(server)
	p.serving.Go(func() {
		if b.lose != nil && b.lose.Add(-1) >= 0 {
			_, _ = server.Read(make([]byte, 1)) // until the server has done its work
		} else {
			_, _ = io.Copy(client, server) // either may end first
		}
		_ = client.Close()
	})
	if err := p.forward(server, client, b.most); errors.Is(err, errHeld) {
		<-changed
	}
}

var errHeld = errors.New("held")

// forward copies what a client sends, until the proxy has passed on the most.
func (p *Proxy) forward(server io.Writer, client io.Reader, most int64) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := client.Read(buffer)
		passed := p.passed.Add(int64(n))
		if over := passed - most; most >= 0 && over > 0 {
			_, _ = server.Write(buffer[:max(0, int64(n)-over)]) // all that it gets
			return errHeld
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
}
