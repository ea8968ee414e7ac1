package store

import (
	"context"
	"net"
	"time"
)

// silentFor is how long the database's machine may acknowledge nothing until a
// connection to it is given up. Left to itself a system sends again for a quarter
// of an hour, during which whatever waits on that connection hangs: also after
// another machine has taken over.
const silentFor = 15 * time.Second

func dialPostgres(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silentFor / 3, Interval: silentFor / 3, Count: 2},
		ControlContext:  giveUpSilent,
	}
	return dialer.DialContext(ctx, network, address)
}
