package testkit

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Docker is a real Docker daemon, with a folder of its own and without a network. A small process
// beside this one removes all of it when this one has ended, however it ends.
type Docker struct {
	// Host is its address.
	Host string
	// Image is an image with programs of this machine.
	Image string

	dir    string
	keeper *exec.Cmd
	orders io.WriteCloser
}

// dockerImage is the name of Docker.Image.
const dockerImage = "penstock-test:host"

// DockerPrograms are the programs of Docker.Image, in /bin.
var DockerPrograms = []string{
	"sh", "bash", "cat", "ls", "dd", "env", "sort", "grep", "cut", "wc", "getent", "touch", "find", "xargs",
	"truncate", "tr", "yes", "readlink", "mkdir", "chmod", "chown", "rm", "ln", "id", "head", "tail", "seq",
	"sleep", "setsid", "awk", "true", "unshare", "mount", "echo", "printf", "git",
}

var sharedDocker = sync.OnceValues(newDocker)

// SharedDocker returns a daemon that all tests of this binary share. The test is skipped without
// Docker and root; with CI set, it fails without Docker.
func SharedDocker(tb testing.TB) *Docker {
	tb.Helper()
	needDocker(tb)
	d, err := sharedDocker()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// StartDocker returns a daemon of this test alone, on the conditions of SharedDocker.
func StartDocker(tb testing.TB) *Docker {
	tb.Helper()
	needDocker(tb)
	d, err := newDocker()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = d.orders.Close()
		_ = d.keeper.Wait()
	})
	return d
}

func needDocker(tb testing.TB) {
	tb.Helper()
	_, err := dockerd()
	switch {
	case err != nil && os.Getenv("CI") != "":
		tb.Fatal(err)
	case err != nil:
		tb.Skip(err)
	case os.Geteuid() != 0:
		tb.Skip("only root can start a Docker daemon")
	}
}

// HasDocker reports whether a Docker daemon is installed.
func HasDocker() bool {
	_, err := dockerd()
	return err == nil
}

func dockerd() (string, error) {
	for _, name := range []string{"dockerd", "/usr/sbin/dockerd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("dockerd is not installed (on Debian: apt-get install docker.io)")
}

//go:embed docker.sh
var dockerScript string

func newDocker() (*Docker, error) {
	program, err := dockerd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "penstock-docker-") // paths of sockets are short
	if err != nil {
		return nil, err
	}
	d := &Docker{Host: "unix://" + filepath.Join(dir, "docker.sock"), Image: dockerImage, dir: dir}
	d.keeper = exec.Command("/bin/sh", "-c", dockerScript, "keep-docker", dir, program)
	d.keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if d.orders, err = d.keeper.StdinPipe(); err != nil {
		return nil, err
	}
	if err := d.keeper.Start(); err != nil {
		return nil, err
	}
	return d, d.Restart()
}

// Restart starts the daemon, which was killed.
func (d *Docker) Restart() error {
	if _, err := io.WriteString(d.orders, "start\n"); err != nil {
		return err
	}
	c, err := client.New(client.WithHost(d.Host))
	if err != nil {
		return err
	}
	defer c.Close()
	for deadline := time.Now().Add(Patience * time.Minute); ; <-time.After(20 * time.Millisecond) {
		if _, err = c.Ping(context.Background(), client.PingOptions{}); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(d.dir, "log"))
			return fmt.Errorf("the Docker daemon does not start: %w\n%s", err, log[max(0, len(log)-4000):])
		}
	}
}

// Kill kills the daemon and its containerd, as SIGKILL does. Containers go on.
func (d *Docker) Kill(tb testing.TB) {
	tb.Helper()
	if _, err := io.WriteString(d.orders, "kill\n"); err != nil {
		tb.Fatal(err)
	}
	c := d.client(tb)
	Eventually(tb, time.Minute, func() error {
		if _, err := c.Ping(context.Background(), client.PingOptions{}); err == nil {
			return errors.New("the daemon still responds")
		}
		return nil
	})
}

func (d *Docker) client(tb testing.TB) *client.Client {
	tb.Helper()
	c, err := client.New(client.WithHost(d.Host))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

var importing sync.Mutex

// ImportImage gives the daemon the image Docker.Image, unless it has it. Needs no registry.
func (d *Docker) ImportImage(tb testing.TB) {
	tb.Helper()
	importing.Lock()
	defer importing.Unlock()
	c := d.client(tb)
	if _, err := c.ImageInspect(tb.Context(), d.Image); err == nil {
		return
	}
	d.Import(tb, d.Image, HostImage(tb, DockerPrograms...))
}

// Import gives the daemon an image of one layer, with changes as in a Dockerfile.
func (d *Docker) Import(tb testing.TB, name string, layer []ImageFile, changes ...string) {
	tb.Helper()
	stream, err := d.client(tb).ImageImport(tb.Context(), client.ImageImportSource{
		Source: bytes.NewReader(layerArchive(tb, layer)), SourceName: "-",
	}, name, client.ImageImportOptions{Changes: changes})
	if err != nil {
		tb.Fatal(err)
	}
	defer stream.Close()
	if _, err := io.Copy(io.Discard, stream); err != nil {
		tb.Fatal(err)
	}
}

// Containers counts the containers of the daemon, in any state.
func (d *Docker) Containers(tb testing.TB) int {
	tb.Helper()
	all, err := d.client(tb).ContainerList(tb.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		tb.Fatal(err)
	}
	return len(all.Items)
}
