package inside

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// RelaySocket is the path of Spec.Relay in a sealed sandbox.
const RelaySocket = "/opt/penstock/relay.sock"

// RelayArg is the argument of enter that makes it the relay. One more argument follows for
// each listener, which are its descriptors from FirstFD on.
const RelayArg = "relay"

// startRelay listens on RelayAddress, and on the same port of ::1 if this sandbox has it, and
// starts a process that serves the listeners. Connections wait in the kernel until it is
// ready, so that the program need not wait for it.
func startRelay() error {
	var listeners []uintptr
	for _, at := range []unix.Sockaddr{
		&unix.SockaddrInet4{Port: RelayPort, Addr: [4]byte{127, 0, 0, 1}},
		&unix.SockaddrInet6{Port: RelayPort, Addr: [16]byte{15: 1}},
	} {
		fd, err := listenAt(at)
		_, six := at.(*unix.SockaddrInet6)
		if six && (errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT)) {
			continue // a machine without IPv6
		}
		if err != nil {
			return fmt.Errorf("listen for the relay: %w", err)
		}
		defer unix.Close(fd)
		listeners = append(listeners, uintptr(fd))
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	args := []string{"penstock", "enter", RelayArg}
	for range listeners {
		args = append(args, "listener")
	}
	_, err = syscall.ForkExec("/proc/self/exe", args, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"},
		Files: append([]uintptr{null.Fd(), null.Fd(), null.Fd()}, listeners...),
		// It becomes a child of the sandbox's init, not of the program, which must have only its
		// own children. A new session keeps it out of the program's process group.
		Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_PARENT},
	})
	if err != nil {
		return fmt.Errorf("start the relay: %w", err)
	}
	return nil
}

// RelayPort is the port of RelayAddress.
const RelayPort = 3128

func listenAt(at unix.Sockaddr) (int, error) {
	family := unix.AF_INET
	if _, six := at.(*unix.SockaddrInet6); six {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, at)
	}
	if err == nil {
		err = unix.Listen(fd, 4096)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// relay serves n listeners until the sandbox ends. It returns the exit code for this process
// if it cannot.
func relay(n int) int {
	// Programs of the sandbox have the same user. They can neither trace us nor open our
	// descriptors through /proc if we are not dumpable.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil || n == 0 {
		fmt.Fprintln(os.Stderr, "penstock enter is started by a sandbox, never by hand")
		return 2
	}
	debug.SetGCPercent(50)
	var serving sync.WaitGroup
	for i := range n {
		file := os.NewFile(uintptr(FirstFD+i), "listener")
		listener, err := net.FileListener(file)
		_ = file.Close()
		if err != nil {
			return 1
		}
		serving.Go(func() { ServeRelay(listener, RelaySocket) })
	}
	serving.Wait()
	return 1
}

// ServeRelay connects each connection to the socket, until the listener is closed.
func ServeRelay(listener net.Listener, socket string) {
	var passing *net.OpError
	for {
		conn, err := listener.Accept()
		switch {
		case errors.As(err, &passing) && passing.Temporary():
			<-time.After(20 * time.Millisecond) // such as one without free descriptors
		case err != nil:
			return
		default:
			if in, ok := conn.(*net.TCPConn); ok {
				go relayConn(in, socket)
			}
		}
	}
}

// relayConn behaves as if the client had connected to the socket itself.
func relayConn(in *net.TCPConn, socket string) {
	defer in.Close()
	out, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		_ = in.SetLinger(0) // the client gets a reset, which it cannot take for an empty response
		return
	}
	defer out.Close()
	var up sync.WaitGroup
	up.Go(func() { relayUp(out, in) })
	relayDown(in, out)
	up.Wait()
}

// relayUp copies what the client sends. If the other end accepts no more, it may still send,
// and relayDown sees when it is gone.
func relayUp(out *net.UnixConn, in *net.TCPConn) {
	switch readErr, writeErr := copyStream(out, in); {
	case readErr != nil:
		_ = out.Close()
	case writeErr == nil:
		_ = out.CloseWrite()
	}
}

// relayDown copies what the client receives.
func relayDown(in *net.TCPConn, out *net.UnixConn) {
	switch readErr, writeErr := copyStream(in, out); {
	case readErr != nil:
		_ = in.SetLinger(0)
	case writeErr != nil:
	case hungUp(out):
	default:
		_ = in.CloseWrite()
		return
	}
	// Everything that was written still arrives, but the client's further data is not read.
	_ = in.Close()
	_ = out.Close()
}

// buffers are taken for the time between a read and its write only, so that an idle
// connection has none.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

const bufferSize = 64 << 10

// copyStream copies until from ends. It reads no more than to accepts.
func copyStream(to io.Writer, from syscall.Conn) (readErr, writeErr error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return err, nil
	}
	for {
		var buffer *[bufferSize]byte
		var n int
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			buffer, _ = buffers.Get().(*[bufferSize]byte) // the pool has nothing else
			n, failed = unix.Read(int(fd), buffer[:])
			for errors.Is(failed, unix.EINTR) {
				n, failed = unix.Read(int(fd), buffer[:])
			}
			if errors.Is(failed, unix.EAGAIN) {
				buffers.Put(buffer)
				return false
			}
			return true
		})
		switch {
		case err != nil:
			return err, nil
		case failed == nil && n > 0:
			_, writeErr = to.Write(buffer[:n])
		}
		buffers.Put(buffer)
		if failed != nil || writeErr != nil || n <= 0 {
			return failed, writeErr
		}
	}
}

// hungUp reports whether the other end of a unix socket is closed, not only for writing.
func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd)}} //nolint:gosec // a descriptor
		n, err := unix.Poll(poll, 0)
		gone = err == nil && n > 0 && poll[0].Revents&unix.POLLHUP != 0
	})
	return gone || err != nil
}
