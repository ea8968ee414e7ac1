package testkit

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// PgBouncer starts a PgBouncer in transaction mode in front of the database of the test, and returns
// the URL of the database there. It ends with the test. Without the program, the test is skipped, and
// fails in CI.
func PgBouncer(tb testing.TB, database string) string {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("no pgbouncer: install it with scripts/need pgbouncer")
		}
		tb.Skip("no pgbouncer: install it with scripts/need pgbouncer")
	}
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatal(err)
	}
	server, name, port := u.Query().Get("host"), filepath.Base(u.Path), FreePort(tb)
	dir, err := os.MkdirTemp("", "penstock-pgbouncer-*") //nolint:usetesting // another user must reach it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(settings, fmt.Appendf(nil, `[databases]
%s = host=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
`, name, server, u.User.Username(), port), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), program, settings)
	cmd.Stderr = tb.Output()
	if os.Getuid() == 0 { // PgBouncer refuses to run as root, and only this user may use the socket
		folder, err := os.Stat(server)
		if err != nil {
			tb.Fatal(err)
		}
		owner := folder.Sys().(*syscall.Stat_t) //nolint:forcetypeassert,errcheck // on Linux
		for _, path := range []string{dir, settings} {
			if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
				tb.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	Eventually(tb, 20*time.Second, func() error {
		conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return (&url.URL{
		Scheme: "postgres", User: u.User, Host: net.JoinHostPort("127.0.0.1", port), Path: name, RawQuery: "sslmode=disable",
	}).String()
}
