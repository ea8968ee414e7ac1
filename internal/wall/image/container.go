package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// Container is what to start. It has no capabilities, no new privileges, a read-only file system and
// the seccomp profile of the daemon. The daemon keeps none of its output.
type Container struct {
	// Image is the name or ID of an image that the daemon has.
	Image string
	// Runtime is an OCI runtime; "" is the daemon's default.
	Runtime string
	// User is UID:GID.
	User string
	Argv []string
	// Env is added to the environment of the image.
	Env    []string
	Labels map[string]string
	Mounts []BindMount
	// Tmpfs are file systems in memory, by path, with their options.
	Tmpfs map[string]string
	// Masked and ReadOnly are parts of /proc and /sys.
	Masked, ReadOnly []string
	// HostNetwork is the network of the host; otherwise there is only loopback.
	HostNetwork bool
	// Memory is in bytes; CPUs is processor time per time. 0 disables a limit.
	Memory    int64
	Processes int64
	CPUs      float64
}

// BindMount shows Source, a path of the host, at Target.
type BindMount struct {
	Source, Target string
	Writable       bool
}

// RunningContainer is a container that was started. Its standard input is attached to this process: it ends
// when this process ends, or Close is called.
type RunningContainer struct {
	d        *Daemon
	ID       string
	PID      int    // of its first process, in the namespace of the daemon
	since    string // a time before its start, in seconds
	attached client.HijackedResponse
	detached chan struct{}
	words    lastBytes
}

// Volumes returns the paths at which the daemon would give an image volumes of its own.
func (d *Daemon) Volumes(ctx context.Context, imageID string) ([]string, error) {
	i, err := d.inspect(ctx, imageID)
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("the Docker daemon does not have the image %s", imageID)
	}
	if err != nil {
		return nil, d.explain(err)
	}
	return i.volumes, nil
}

// Start creates a container and starts it. After an error, nothing of it is left, except if the
// daemon does not respond: then the error has its ID, for a later Remove.
func (d *Daemon) Start(ctx context.Context, c Container) (*RunningContainer, error) {
	created, err := d.client.ContainerCreate(ctx, c.options())
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("the Docker daemon does not have the image %s", c.Image)
	}
	if err != nil {
		return nil, d.explain(err)
	}
	since := strconv.FormatInt(time.Now().Unix()-1, 10)
	s := &RunningContainer{d: d, ID: created.ID, since: since, detached: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		if left := d.Remove(cleaning, s.ID); left != nil {
			return nil, &NotRemovedError{s.ID, d.explain(err)}
		}
		return nil, d.explain(err)
	}
	return s, nil
}

// removeTime limits the removal of a container.
const removeTime = 20 * time.Second

// NotRemovedError says that a container could not be removed.
type NotRemovedError struct {
	ID    string
	Cause error
}

func (e *NotRemovedError) Error() string { return e.Cause.Error() }
func (e *NotRemovedError) Unwrap() error { return e.Cause }

func (s *RunningContainer) start(ctx context.Context) error {
	attached, err := s.d.client.ContainerAttach(ctx, s.ID, client.ContainerAttachOptions{
		Stream: true, Stdin: true, Stdout: true, Stderr: true,
	})
	if err != nil {
		close(s.detached)
		return err
	}
	s.attached = attached.HijackedResponse
	go func() {
		defer close(s.detached)
		_, _ = stdcopy.StdCopy(&s.words, &s.words, s.attached.Reader) // until it ends, or is closed
	}()
	_, err = s.d.client.ContainerStart(ctx, s.ID, client.ContainerStartOptions{})
	if err == nil {
		s.PID, err = s.pid(ctx)
	}
	if err != nil {
		s.Close()
	}
	return err
}

func (s *RunningContainer) pid(ctx context.Context) (int, error) {
	found, err := s.d.client.ContainerInspect(ctx, s.ID, client.ContainerInspectOptions{})
	switch {
	case errdefs.IsNotFound(err), err == nil && (found.Container.State == nil || found.Container.State.Pid == 0):
		<-s.detached
		return 0, errors.New("the container ended at once: " + s.Words())
	case err != nil:
		return 0, err
	}
	return found.Container.State.Pid, nil
}

// Detached is closed when the container has ended, or the connection to the daemon is lost.
func (s *RunningContainer) Detached() <-chan struct{} { return s.detached }

// OutOfMemory reports whether the kernel has killed a process of the container for memory, as the
// daemon remembers it, also after the container is gone.
func (s *RunningContainer) OutOfMemory(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	found := s.d.client.Events(ctx, client.EventsListOptions{
		Since: s.since, Until: strconv.FormatInt(time.Now().Unix()+1, 10),
		Filters: make(client.Filters).Add("container", s.ID).Add("event", string(events.ActionOOM)),
	})
	select {
	case <-found.Messages:
		return true, nil
	case err := <-found.Err:
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, s.d.explain(err)
	}
}

// Words is the end of what the container itself has written.
func (s *RunningContainer) Words() string { return strings.TrimSpace(s.words.String()) }

// Close ends the standard input of the container.
func (s *RunningContainer) Close() {
	s.attached.Close()
	<-s.detached
}

// Remove kills a container, if it runs, and removes it. It is nil if there is no such container.
func (d *Daemon) Remove(ctx context.Context, id string) error {
	for {
		_, err := d.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil, errdefs.IsNotFound(err):
			return nil
		case errdefs.IsConflict(err): // the daemon is removing it
			select {
			case <-ctx.Done():
				return d.explain(err)
			case <-time.After(20 * time.Millisecond):
			}
		default:
			return d.explain(err)
		}
	}
}

// List returns the containers with a label, in any state, by ID with all their labels.
func (d *Daemon) List(ctx context.Context, label, value string) (map[string]map[string]string, error) {
	found, err := d.client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", label+"="+value),
	})
	if err != nil {
		return nil, d.explain(err)
	}
	all := map[string]map[string]string{}
	for _, c := range found.Items {
		all[c.ID] = c.Labels
	}
	return all, nil
}

func (c Container) options() client.ContainerCreateOptions {
	no := false
	network := container.NetworkMode("none")
	if c.HostNetwork {
		network = "host"
	}
	host := &container.HostConfig{
		AutoRemove:     true,
		LogConfig:      container.LogConfig{Type: "none"},
		NetworkMode:    network,
		IpcMode:        "private",
		UsernsMode:     "host", // the files of the workspace belong to users of the host
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: true,
		Runtime:        c.Runtime,
		Tmpfs:          c.Tmpfs,
		MaskedPaths:    c.Masked,
		ReadonlyPaths:  c.ReadOnly,
		Init:           &no,
		Resources: container.Resources{
			Memory: c.Memory, MemorySwap: c.Memory, NanoCPUs: int64(c.CPUs * 1e9),
		},
	}
	if c.Processes > 0 {
		host.PidsLimit = &c.Processes
	}
	for _, m := range c.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: !m.Writable,
		})
	}
	return client.ContainerCreateOptions{HostConfig: host, Config: &container.Config{
		Image: c.Image, User: c.User, Entrypoint: c.Argv, Env: c.Env, Labels: c.Labels, WorkingDir: "/",
		AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}}
}
