package main_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// attacker is a connection that abuses HTTP/2 within its rules.
type attacker struct {
	*http2.Framer

	conn    net.Conn
	written atomic.Int64
	path    string
}

func (a *attacker) Write(p []byte) (int, error) {
	n, err := a.conn.Write(p)
	a.written.Add(int64(n))
	return n, err
}

// attack opens a connection from a new address. If deaf is set, the client reads nothing.
func attack(ctx context.Context, s *served, path string, deaf bool) (*attacker, error) {
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 66)}},
		Config:    &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}},
	}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "https://"))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	a := &attacker{conn: conn, path: path}
	a.Framer = http2.NewFramer(a, conn)
	a.AllowIllegalWrites = true
	if !deaf {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	if _, err := io.WriteString(a, http2.ClientPreface); err != nil {
		return nil, err
	}
	return a, a.WriteSettings()
}

// request returns a header block for a delivery without a credential, with extra headers.
func (a *attacker) request(more ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := append([]string{":method", http.MethodPost, ":scheme", "https", ":authority", "x", ":path", a.path}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // a buffer never fails
	}
	return block.Bytes()
}

// open starts a request and never sends its body.
func (a *attacker) open(stream uint32, more ...string) error {
	return a.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: a.request(more...), EndHeaders: true})
}

// flood is what an attacker repeats: step n, until the server disconnects it.
type flood struct {
	deaf bool
	step func(a *attacker, n uint32) error
	// most is how many bytes a connection may send before the server disconnects it; 0: it may
	// stay.
	most int64
}

var floods = map[string]flood{
	"rapid reset": {step: func(a *attacker, n uint32) error {
		if err := a.open(2*n + 1); err != nil {
			return err
		}
		return a.WriteRSTStream(2*n+1, http2.ErrCodeCancel)
	}},
	"headers without end": {most: 16 << 20, step: func(a *attacker, n uint32) error {
		if n == 0 {
			return a.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: a.request()})
		}
		return a.WriteContinuation(1, false, a.request(fmt.Sprintf("x-%d", n), strings.Repeat("a", 12_000)))
	}},
	"headers of nothing": {most: 16 << 20, step: func(a *attacker, n uint32) error {
		if n == 0 {
			return a.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: a.request()})
		}
		return a.WriteContinuation(1, false, nil)
	}},
	"a header a thousand times": {step: func(a *attacker, n uint32) error {
		more := []string{"cookie", strings.Repeat("a", 3000)}
		for range 1000 { // one byte each with header compression
			more = append(more, more[0], more[1])
		}
		return a.WriteHeaders(
			http2.HeadersFrameParam{StreamID: 2*n + 1, BlockFragment: a.request(more...), EndHeaders: true, EndStream: true},
		)
	}},
	"settings":         {step: func(a *attacker, _ uint32) error { return a.WriteSettings() }},
	"settings, unread": {deaf: true, most: 64 << 20, step: func(a *attacker, _ uint32) error { return a.WriteSettings() }},
	"pings":            {step: func(a *attacker, _ uint32) error { return a.WritePing(false, [8]byte{}) }},
	"pings, unread": {
		deaf: true, most: 64 << 20, step: func(a *attacker, _ uint32) error { return a.WritePing(false, [8]byte{}) },
	},
	"data of nothing": {step: emptyData},
	"windows":         {step: func(a *attacker, _ uint32) error { return a.WriteWindowUpdate(0, 1) }},
	"bodies that never come": {step: func(a *attacker, n uint32) error {
		return a.open(2*n+1, "x-hub-signature-256", "sha256="+strings.Repeat("0", 64), "content-length", "262144")
	}},
}

func emptyData(a *attacker, n uint32) error {
	if n == 0 {
		return a.open(1, "x-hub-signature-256", "sha256="+strings.Repeat("0", 64))
	}
	return a.WriteData(1, false, nil)
}

// secureHooks starts a server with HTTPS and a webhook with GitHub's signatures.
func secureHooks(t *testing.T) (*served, penstock.Webhook) {
	t.Helper()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certificateFor(t, 1, cert, key)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(githubSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(
		t, []string{"SSL_CERT_FILE=" + cert}, append([]string{"--tls-cert", cert, "--tls-key", key}, noWorker...)...,
	)
	env := []string{"PENSTOCK_BASE_URL=" + s.url, "PENSTOCK_KEY_FILE=" + s.keyFile(), "SSL_CERT_FILE=" + cert}
	call(t, env, "factory", "create", "acme").want(t, 0)
	return s, made(
		t, env, "webhook", "create", "flooded", "--mode", "signature", "--scheme", "github", "--secret-file", secret,
	)
}

// Some HTTP/2 requests are cheap to send and expensive to serve. The server disconnects or delays
// such floods, and valid deliveries pass.
func TestFloodsOfHTTP2(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	s, w := secureHooks(t)
	path := "/webhooks/w/" + w.UID
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	valid := &sender{t, &http.Client{Transport: transport, Timeout: 2 * time.Minute}}
	deliver := func(what string) {
		t.Helper()
		body := fmt.Sprintf("%q", penstock.NewID())
		if got := valid.post(s.url+path, signed(body), body); got.status != http.StatusAccepted {
			t.Errorf("%s: a valid delivery got %d: %s", what, got.status, got.body)
		}
	}
	deliver("before")
	for name, f := range floods {
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		var attackers sync.WaitGroup
		for range 4 {
			attackers.Go(func() { f.run(ctx, t, s, name, path) })
		}
		for range 5 {
			deliver(name)
		}
		if f.most == 0 {
			stop()
		}
		attackers.Wait()
		stop()
		deliver("after " + name)
	}
	if memory := testkit.PeakMemory(t, s.cmd.Process.Pid); memory > 512<<20 {
		t.Errorf("the floods took %d MB", memory>>20)
	}
	if strings.Contains(s.logs(), "panicked") {
		t.Error("the server panicked")
	}
}

// run floods until time is up. A flood that the server must disconnect ends with that, and fails if
// it comes late.
func (f flood) run(ctx context.Context, t *testing.T, s *served, name, path string) {
	for ctx.Err() == nil {
		a, err := attack(ctx, s, path, f.deaf)
		for n := uint32(0); err == nil; n++ {
			err = f.step(a, n)
		}
		if f.most > 0 && a != nil {
			if sent := a.written.Load(); sent > f.most {
				t.Errorf("%s: %d MB were taken before it was cut off", name, sent>>20)
			}
			return
		}
	}
}
