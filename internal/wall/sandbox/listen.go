package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// Listen listens on a new unix socket in dir. The path of a socket has at most about 100 bytes, but
// the path of dir may be longer. The caller removes the socket.
func Listen(dir, name string) (*net.UnixListener, error) {
	open, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	path := fmt.Sprintf("/proc/self/fd/%d/%s", open.Fd(), name)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", filepath.Join(dir, name), err)
	}
	listener.SetUnlinkOnClose(false) // the descriptor may be another folder by then
	return listener, nil
}
