package store

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Without this setting, data that a failed machine never acknowledges is resent for a quarter of an
// hour.
func TestSilentConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := dialPostgres(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("got a %T", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got int
	if failed := raw.Control(
		func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) },
	); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	if want := int((15 * time.Second).Milliseconds()); got != want {
		t.Errorf("unacknowledged for %d ms, want %d", got, want)
	}
}
