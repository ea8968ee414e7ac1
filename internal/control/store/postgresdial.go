package store

import (
	"context"
	"net"
	"time"
)

// silentFor is how long the database's machine may leave data unacknowledged before we close the
// connection. By default, an operating system resends for a quarter of an hour. Callers would hang
// for that time, even after another machine has taken over.
const silentFor = 15 * time.Second

func dialPostgres(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silentFor / 3, Interval: silentFor / 3, Count: 2},
		ControlContext:  giveUpSilent,
	}
	return dialer.DialContext(ctx, network, address)
}
