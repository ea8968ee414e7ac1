package main_test

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// listenAt listens on an address until the test ends. It skips the test if the machine has no IPv6.
func listenAt(t *testing.T, address string) *net.TCPAddr {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("listen at %s: %v", address, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("got %v", l.Addr())
	}
	return taken
}

// status asks for a path without a key.
func (s *served) status(path string) int {
	s.t.Helper()
	return testkit.Request(s.t, http.MethodGet, s.url+path, nil, "").Status
}

var listensAt = regexp.MustCompile(`listen="?([^"\n]*?)"? version=`)

// A server that listens on one loopback address also listens on the other one: localhost may
// resolve to either, and no other program may take the second one.
func TestServeListensOnBothLoopbacks(t *testing.T) {
	t.Parallel()
	listenAt(t, "[::1]:0")
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, "--listen", listen)
			_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			host, _, _ := strings.Cut(listen, ":0")
			if want := "http://" + host + ":" + port; s.url != want {
				t.Errorf("got the address %s, want %s", s.url, want)
			}
			for _, host := range []string{"127.0.0.1", "::1", "localhost"} {
				at := &served{t: t, url: "http://" + net.JoinHostPort(host, port)}
				if got := at.status("/healthz"); got != http.StatusOK {
					t.Errorf("%s: got %d", at.url, got)
				}
			}
			for _, host := range []string{"127.0.0.1", "::1"} {
				if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, port)); err == nil {
					_ = l.Close()
					t.Errorf("another program can listen at %s", net.JoinHostPort(host, port))
				}
			}
			s.client("run", "list").want(t, 0)
			if code := s.stop(); code != 0 {
				t.Errorf("it ended with %d: %s", code, s.logs())
			}
		})
	}
}

// A program that listened on the other loopback address would receive the server's requests.
func TestServeRefusesAPortInUseOnTheOtherLoopback(t *testing.T) {
	t.Parallel()
	for theirs, ours := range map[string]string{"[::1]": "127.0.0.1", "127.0.0.1": "[::1]"} {
		taken := listenAt(t, theirs+":"+testkit.FreePort(t))
		listen := fmt.Sprintf("%s:%d", ours, taken.Port)
		call(t, nil, "serve", "--listen", listen).want(
			t, 78, taken.String(), "address already in use", "another program already listens on this address", "--listen",
		)
		call(t, nil, "doctor", "--listen", listen).want(t, 1, "fail  address", "another program already listens on this "+
			"address")
		call(
			t, nil, "serve", "--listen", fmt.Sprintf("localhost:%d", taken.Port),
		).want(t, 78, taken.String(), "already in use")
	}
}

// ownNetwork runs a script in a new network namespace with an active loopback interface.
func ownNetwork(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	unshare := func(script string, args ...string) *exec.Cmd {
		// Not CommandContext: the test's context ends before its cleanups.
		return exec.Command(
			"unshare",
			append([]string{"--user", "--map-root-user", "--net", "sh", "-ec", "ip link set lo up; " + script}, args...)...,
		)
	}
	if out, err := unshare("true").CombinedOutput(); err != nil {
		t.Skipf("no network of its own: %v %s", err, out)
	}
	return unshare(script, args...)
}

// A machine without IPv6 has one loopback address.
func TestServeWithoutIPv6(t *testing.T) {
	t.Parallel()
	const withoutIPv6 = "echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6; "
	for listen, code := range map[string]int{"127.0.0.1:0": 0, "localhost:0": 0, "[::1]:0": 1} {
		cmd := ownNetwork(
			t, withoutIPv6+`exec "$0" "$@"`, testkit.Binary(t), "doctor", "--listen", listen, "--data", t.TempDir(),
		)
		got := finish(t, "", cmd)
		if want := map[int]string{0: "ok    address", 1: "fail  address"}[code]; !strings.Contains(got.out, want) {
			t.Errorf("%s: got %s%s, want %q", listen, got.out, got.err, want)
		}
	}
	data := filepath.Join(t.TempDir(), "data")
	s := launch(
		t, ownNetwork(t, withoutIPv6+`exec "$0" "$@"`, testkit.Binary(t), "serve", "--listen", "127.0.0.1:0", "--data", data),
	)
	if found := listensAt.FindStringSubmatch(s.logs()); found == nil || found[1] != strings.TrimPrefix(s.url, "http://") {
		t.Errorf("got %s, want it to listen on 127.0.0.1 alone", s.logs())
	}
}

// If a random port is free on the first address but taken on the second, the server releases it and
// tries another one.
func TestARandomPortIsFreeOnBothLoopbacks(t *testing.T) {
	t.Parallel()
	const script = `echo "40000 40001" > /proc/sys/net/ipv4/ip_local_port_range
exec python3 -c 'import socket, subprocess, sys
taken = socket.socket(socket.AF_INET6)
taken.bind(("::1", 40000))
taken.listen()
for _ in range(8):
    subprocess.run(sys.argv[1:])' "$0" "$@"`
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	got := finish(
		t, "", ownNetwork(t, script, testkit.Binary(t), "doctor", "--listen", "127.0.0.1:0", "--data", t.TempDir()),
	)
	if n := strings.Count(got.out, "ok    address"); n != 8 {
		t.Errorf("got %d of 8: %s%s", n, got.out, got.err)
	}
}
