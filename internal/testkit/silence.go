package testkit

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Silenced returns the URL of a proxy for the database. A connection stalls once it carries text,
// such as a part of a statement. It continues when speak is called.
func Silenced(tb testing.TB, database, text string) (through string, speak func()) {
	tb.Helper()
	speaks := make(chan struct{})
	speak = sync.OnceFunc(func() { close(speaks) })
	tb.Cleanup(speak)
	return wired(tb, database, text, func() bool { <-speaks; return true }), speak
}

// Severed returns the URL of a proxy for the database. It cuts a connection that carries text,
// before the receiver gets the text. After fix, it cuts no connection.
func Severed(tb testing.TB, database, text string) (through string, fix func()) {
	tb.Helper()
	var fixed atomic.Bool
	return wired(tb, database, text, fixed.Load), func() { fixed.Store(true) }
}

// CommitAnswered is PostgreSQL's response to a COMMIT, and to nothing else.
const CommitAnswered = "\x0bCOMMIT\x00"

// wired returns the URL of a proxy for the database. When a connection carries text, it continues
// if passes returns true, and otherwise it is cut.
func wired(tb testing.TB, database, text string, passes func() bool) (through string) {
	tb.Helper()
	config, err := pgconn.ParseConfig(database)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	carry := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if bytes.Contains(buf[:n], []byte(text)) && !passes() {
				return
			}
			if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
				return
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			network, address := pgconn.NetworkAddress(config.Host, config.Port)
			server, err := new(net.Dialer).DialContext(tb.Context(), network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go carry(server, client)
			go carry(client, server)
		}
	}()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatal(err)
	}
	q := u.Query()
	q.Del("host")
	q.Set("sslmode", "disable")
	u.RawQuery, u.Host = q.Encode(), listener.Addr().String()
	return u.String()
}
