package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// relayTo serves a relay to a unix socket, and returns its address and the socket's listener.
func relayTo(t *testing.T) (string, *net.UnixListener) {
	t.Helper()
	var sp Spec
	listener := seal(t, &sp)
	in, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	go inside.ServeRelay(in, sp.Relay)
	return in.Addr().String(), listener
}

func dialRelay(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatal("no TCP")
	}
	t.Cleanup(func() { _ = tcp.Close() })
	if err := tcp.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return tcp
}

// The other end responds only after the end of the request, as a half-closed connection allows.
func TestRelayForwardsManyConnectionsAndTheirEnds(t *testing.T) {
	t.Parallel()
	address, listener := relayTo(t)
	go func() {
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			go func() {
				all, _ := io.ReadAll(conn)
				_, _ = conn.Write(all)
				_ = conn.Close()
			}()
		}
	}()
	var clients sync.WaitGroup
	for i := range 200 {
		clients.Go(func() {
			conn := dialRelay(t, address)
			sent := bytes.Repeat(fmt.Appendf(nil, "client %d;", i), 20_000)
			if _, err := conn.Write(sent); err != nil {
				t.Error(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Error(err)
			}
			if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("client %d: got %d bytes, %v, want %d", i, len(got), err, len(sent))
			}
		})
	}
	clients.Wait()
}

func TestRelayResetsWhenTheSocketIsGone(t *testing.T) {
	t.Parallel()
	address, listener := relayTo(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
	if err == nil { // the reset can come that soon
		defer conn.Close()
		if err = conn.SetDeadline(time.Now().Add(2 * time.Minute)); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
	}
	if !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

// An open connection ends, too, and a client that keeps sending gets an error.
func TestRelayEndsConnectionsOfALostWorker(t *testing.T) {
	t.Parallel()
	address, listener := relayTo(t)
	conn := dialRelay(t, address)
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	worker, err := listener.AcceptUnix()
	if err == nil {
		_, err = io.ReadFull(worker, make([]byte, 1))
	}
	if err == nil {
		_, err = worker.Write([]byte("the last words"))
	}
	if err = errors.Join(err, worker.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "the last words" {
		t.Errorf("got %q, %v", got, err)
	}
	for err == nil {
		_, err = conn.Write(make([]byte, 1<<10))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the client waits forever")
	}
}

func TestRelayDisconnectsFromTheWorkerWhenTheClientDoes(t *testing.T) {
	t.Parallel()
	address, listener := relayTo(t)
	conn := dialRelay(t, address)
	worker, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
		t.Fatal(err)
	}
	if err := worker.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := worker.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d, %v, want the end", n, err)
	}
}

// If the other end does not read, the client must block, and the relay must not grow.
func TestRelayBuffersNoMoreThanTheWorkerReads(t *testing.T) {
	t.Parallel()
	address, listener := relayTo(t)
	conn := dialRelay(t, address)
	worker, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	sent, chunk := 0, make([]byte, 1<<20)
	for err == nil && sent < 256<<20 {
		var n int
		if err = conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err == nil {
			n, err = conn.Write(chunk)
		}
		sent += n
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) || sent > 64<<20 {
		t.Errorf("the relay took %d bytes that nobody read (%v)", sent, err)
	}
}

// A sandbox without its worker's socket keeps running, and its connections fail at once.
func TestASealedProgramWhoseWorkerIsLost(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	sp := spec(t, `read go; "$1" attack relay; echo $?`)
	sp.Argv = append(sp.Argv, s.Layout(sp).Exe)
	listener := seal(t, &sp)
	r := start(t, s, sp)
	if err := errors.Join(listener.Close(), os.RemoveAll(filepath.Dir(sp.Relay))); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(r.Stdin(), "go\n")
	got, err := io.ReadAll(r.Stdout())
	if err != nil || string(got) != "\n1\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
