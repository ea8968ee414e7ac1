package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// sockets listens on an abstract socket named by the first argument, unless it is empty. It
// connects to each of the others, prints the results and waits for the end of its input.
func sockets(args []string) {
	if args[0] != "" {
		stream, packets, err := listen(args[0])
		if err != nil {
			fmt.Println("listen:", err)
			return
		}
		defer stream.Close()
		defer packets.Close()
	}
	for _, name := range args[1:] {
		fmt.Println(dial(name))
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// dial sends to the two sockets of a name. Both or neither must accept.
func dial(name string) string {
	var results [2]string
	for i, to := range []net.UnixAddr{{Name: "@" + name, Net: "unix"}, {Name: "@" + name + "-packets", Net: "unixgram"}} {
		conn, err := net.DialUnix(to.Net, nil, &to)
		if err == nil {
			_, err = conn.Write([]byte("x"))
			_ = conn.Close()
		}
		switch {
		case err == nil:
			results[i] = "connected"
		case errors.Is(err, unix.EPERM):
			results[i] = "not permitted"
		default:
			results[i] = err.Error()
		}
	}
	if results[0] != results[1] {
		return fmt.Sprint(results)
	}
	return results[0]
}

// listen opens the two sockets of a name.
func listen(name string) (stream *net.UnixListener, packets *net.UnixConn, err error) {
	stream, err = net.ListenUnix("unix", &net.UnixAddr{Name: "@" + name, Net: "unix"})
	if err == nil {
		packets, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@" + name + "-packets", Net: "unixgram"})
	}
	return stream, packets, err
}

// The network is the host's, and so are the names of abstract sockets.
func TestAbstractSocketsStayWithinASandbox(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	if !SeparatesSockets() {
		t.Skip("the Landlock of this kernel cannot restrict abstract unix sockets: that takes Linux 6.12")
	}
	run := func(listen string, dials ...string) (said []string) {
		sp := spec(t, `exe=$1; shift; "$exe" sockets "$@"`)
		sp.Argv = append(sp.Argv, s.Layout(sp).Exe, listen)
		sp.Argv = append(sp.Argv, dials...)
		r := start(t, s, sp)
		lines := bufio.NewScanner(r.Stdout())
		for range dials {
			if !lines.Scan() {
				t.Fatal("it ends early:", lines.Err())
			}
			said = append(said, lines.Text())
		}
		return said
	}
	one, host := "one-"+mark(), "host-"+mark()
	stream, packets, err := listen(host)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	defer packets.Close()
	if got := run(one, one, host); got[0] != "connected" || got[1] != "not permitted" {
		t.Errorf("a sandbox and its own socket: %s; and the host's: %s", got[0], got[1])
	}
	// It still listens.
	if got := dial(one); got != "connected" {
		t.Errorf("the host and a sandbox's socket: %s", got)
	}
	if got := run("", one); got[0] != "not permitted" {
		t.Errorf("another sandbox and the socket of the first: %s", got[0])
	}
}
