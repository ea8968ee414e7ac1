package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// DefaultHost is the address of the daemon that Docker's own client uses.
const DefaultHost = "unix:///var/run/docker.sock"

// Daemon is a Docker daemon. It is safe for concurrent use.
type Daemon struct {
	// Outbound checks where pulls go. Default: everywhere.
	Outbound *egress.Outbound

	client *client.Client
	socket string
}

// NewDaemon returns the daemon at host, or at DefaultHost if it is "". It connects to nothing yet.
func NewDaemon(host string) (*Daemon, error) {
	host = cmp.Or(host, DefaultHost)
	socket, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return nil, fmt.Errorf("the Docker daemon %s is not on this machine: use the address of a socket, such as %s",
			host, DefaultHost)
	}
	c, err := client.New(client.WithHost(host), client.WithUserAgent("penstock"))
	if err != nil {
		return nil, fmt.Errorf("use the Docker daemon %s: %w", host, err)
	}
	return &Daemon{client: c, socket: socket}, nil
}

// Host returns the address of the daemon.
func (d *Daemon) Host() string { return "unix://" + d.socket }

// DaemonInfo is what a daemon can do.
type DaemonInfo struct {
	// Runtimes are the names of its OCI runtimes.
	Runtimes []string
	// Memory, Processes and CPUs say whether it can limit them.
	Memory, Processes, CPUs bool
	// Rootless says that it runs in a user namespace.
	Rootless bool
}

// Info asks the daemon what it can do.
func (d *Daemon) Info(ctx context.Context) (DaemonInfo, error) {
	i, err := d.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return DaemonInfo{}, d.explain(err)
	}
	if i.Info.OSType != "" && i.Info.OSType != "linux" {
		return DaemonInfo{}, fmt.Errorf(
			"the Docker daemon at %s runs %s containers, and runs need Linux", d.socket, i.Info.OSType,
		)
	}
	return DaemonInfo{
		Runtimes: slices.Sorted(maps.Keys(i.Info.Runtimes)),
		Memory:   i.Info.MemoryLimit, Processes: i.Info.PidsLimit, CPUs: i.Info.CPUCfsQuota,
		Rootless: slices.Contains(i.Info.SecurityOptions, "name=rootless"),
	}, nil
}

// ConnectionError says that there is no connection to the daemon.
type ConnectionError struct{ reason string }

func (e *ConnectionError) Error() string { return e.reason }

// explain says what an error of the client means.
func (d *Daemon) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if !client.IsErrConnectionFailed(err) {
		return err
	}
	// The client's error does not say why.
	conn, dialErr := net.DialTimeout("unix", d.socket, time.Second) //nolint:noctx // bounded
	switch {
	case dialErr == nil:
		_ = conn.Close()
		return &ConnectionError{"the Docker daemon at " + d.socket + " ended the connection"}
	case errors.Is(dialErr, fs.ErrPermission):
		return &ConnectionError{"this user may not use the socket of the Docker daemon, " + d.socket +
			": add the user to its group, which is usually docker, and log in again"}
	case errors.Is(dialErr, fs.ErrNotExist):
		return &ConnectionError{"no Docker daemon listens at " + d.socket + ": install and start Docker, or name another " +
			"socket with --docker-host"}
	}
	return &ConnectionError{"the Docker daemon at " + d.socket + " does not respond: start it (" + dialErr.Error() + ")"}
}
