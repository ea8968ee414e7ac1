package egress

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// idleConn ends a connection on which nothing moves in either direction for the idle time.
type idleConn struct {
	net.Conn
	idle time.Duration
	last atomic.Int64 // time of the latest transfer in Unix nanoseconds
}

func limitIdle(conn net.Conn, idle time.Duration) *idleConn {
	c := &idleConn{Conn: conn, idle: idle}
	c.moved()
	return c
}

func (c *idleConn) moved() { c.last.Store(time.Now().UnixNano()) }

func (c *idleConn) Read(p []byte) (int, error) {
	return c.transfer(c.SetReadDeadline, c.Conn.Read, p)
}

func (c *idleConn) Write(p []byte) (int, error) {
	return c.transfer(c.SetWriteDeadline, c.Conn.Write, p)
}

// transfer repeats do after a timeout if the other direction has moved meanwhile.
func (c *idleConn) transfer(deadline func(time.Time) error, do func([]byte) (int, error), p []byte) (int, error) {
	done := 0
	for {
		if err := deadline(time.Now().Add(c.idle)); err != nil {
			return done, err
		}
		n, err := do(p[done:])
		done += n
		if n > 0 {
			c.moved()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(time.Unix(0, c.last.Load())) >= c.idle {
			return done, err
		}
	}
}

// CloseWrite ends one direction, where the connection can.
func (c *idleConn) CloseWrite() error { return closeWrite(c.Conn) }
