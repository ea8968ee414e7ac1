package store

import (
	"context"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveUpSilent limits how long sent data may stay unacknowledged (tcp(7)).
func giveUpSilent(_ context.Context, network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silentFor.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
