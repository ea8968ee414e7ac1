package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// dockerKind is the kind Docker. The first process of a container is a supervisor, as it runs for
// the other kinds on the host: it gets its descriptors from the worker through a socket. So the
// daemon carries no byte of the tree's input and output, and a tree ends with its worker whatever
// the daemon does. The standard input of the container is only there to end the tree.
type dockerKind struct {
	machine
	*image.Daemon
	path, dir, runtime, image string

	mu       sync.Mutex
	can      *image.DaemonInfo // nil until the daemon was asked
	leftover []string          // containers that could not be removed
}

func newDocker(m machine, opts Options) (Sandbox, error) {
	if !filepath.IsAbs(opts.Dir) {
		return nil, errors.New("sandbox: the kind docker needs a folder")
	}
	daemon, err := image.NewDaemon(opts.DockerHost)
	if err != nil {
		return nil, err
	}
	return &dockerKind{
		machine: m, Daemon: daemon, path: opts.Path, dir: opts.Dir, runtime: opts.DockerRuntime, image: opts.DockerImage,
	}, nil
}

func (d *dockerKind) Kind() string { return Docker }

func (d *dockerKind) Layout(Spec) Layout {
	return Layout{Dir: insideDir, Home: insideHome, Exe: insideExe}
}

// The labels of our containers. The first one holds Options.Dir, and the second one the process
// that created the container.
const (
	folderLabel  = "dev.penstock.folder"
	processLabel = "dev.penstock.process"
)

// processName identifies this process among those that ever used its folder.
var processName = sync.OnceValue(func() string {
	self, _ := inside.ReadStat(os.Getpid())
	return fmt.Sprintf("%d-%d", os.Getpid(), self.Start)
})

// ready asks the daemon what it can do, and removes containers that were left: once the containers
// of dead processes, and each time the ones that it could not remove before.
func (d *dockerKind) ready(ctx context.Context) (image.DaemonInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.can == nil {
		can, err := d.Info(ctx)
		if err != nil {
			return can, err
		}
		// A name of containerd's need not be configured.
		if r := d.runtime; r != "" && !strings.Contains(r, ".") && !slices.Contains(can.Runtimes, r) {
			return can, fmt.Errorf("the Docker daemon has no runtime %q: it has %s; add it to the daemon's configuration, or "+
				"change --docker-runtime", r, strings.Join(can.Runtimes, ", "))
		}
		ours, err := d.List(ctx, folderLabel, d.dir)
		if err != nil {
			return can, err
		}
		for id, labels := range ours {
			if labels[processLabel] != processName() {
				d.leftover = append(d.leftover, id)
			}
		}
		d.can = &can
	}
	for len(d.leftover) > 0 {
		if err := d.Remove(ctx, d.leftover[0]); err != nil {
			return *d.can, fmt.Errorf("remove a container that was left: %w", err)
		}
		d.leftover = d.leftover[1:]
	}
	return *d.can, nil
}

func (d *dockerKind) Start(ctx context.Context, spec Spec) (Running, error) {
	if err := errors.Join(spec.check(), spec.checkRelay()); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, dir := range []string{spec.Dir, spec.Home} {
		if _, err := os.Stat(dir); err != nil { // the daemon may see it where this process does not
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	can, err := d.ready(ctx)
	if err != nil {
		return nil, err
	}
	filter := seccompFilter(false, true)
	if filter == nil && spec.Relay != "" {
		return nil, fmt.Errorf("sandbox: no system call filter for %s, so it cannot be sealed", runtime.GOARCH)
	}
	c, err := d.container(ctx, spec, can)
	if err != nil {
		return nil, err
	}
	defer c.close()
	o := d.order(spec, filter)
	tree, err := d.begin(ctx, o, spec, c.start)
	if err != nil {
		return nil, err
	}
	if h, ok := tree.keeper.(*held); ok {
		go h.endWith(tree)
	}
	if spec.Relay == "" {
		return tree, nil
	}
	err = tree.prove(ctx, intention{
		environment: string(o.Files[0]), mounts: c.mounts, sharesUsers: true, ownKernel: d.ownKernel,
	})
	if err != nil {
		tree.Kill()
		tree.closeOurs()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return newRunning(tree, err)
}

// order is the start of the program by the supervisor in the container.
func (d *dockerKind) order(spec Spec, filter []byte) inside.Order {
	env := strings.Join(environment(d.path, insideUser, d.Layout(spec), spec.Env), "\x00")
	fd := func(i int) string { return strconv.Itoa(inside.FirstFD + i) }
	enter := []string{d.entry(), "enter", fd(0), fd(2), fd(3), inside.NoFD, fd(1)}
	if spec.Relay != "" {
		enter[5] = fd(4)
	}
	return inside.Order{
		Argv:  append(enter, spec.Argv...),
		Env:   []string{"GOMAXPROCS=1"},
		Dir:   path.Join(insideDir, filepath.ToSlash(spec.Cwd)),
		Files: [][]byte{[]byte(env), filter},
		Apart: true,
		Proof: spec.Relay != "",
	}
}

// ownKernel reports whether the kernel of a tree is not ours: then its process is one of the
// runtime.
func (d *dockerKind) ownKernel(pid int) bool {
	return d.runtime != "" && !sameFile(d.exe, fmt.Sprintf("/proc/%d/root%s", pid, insideExe))
}

// imageName returns the image of a tree.
func (d *dockerKind) imageName(spec Spec) (string, error) {
	name := d.image
	if spec.Image != nil {
		name = spec.Image.Name
	}
	if name == "" {
		return "", errors.New("sandbox: the kind docker needs a container image: name one as docker_image of the " +
			"environment or runner, or set --docker-image")
	}
	return name, nil
}

// held is a container as the keeper of a tree.
type held struct {
	*image.RunningContainer
	kind    *dockerKind
	started uint64   // the start of its first process; see inside.ReadStat
	groups  []string // its control groups of memory, to ask about kills
	memory  bool     // the daemon limits memory
	says    string

	cutOff atomic.Bool // before anybody ended the tree
}

func (h *held) pid() int  { return h.PID }
func (h *held) begun(int) {}
func (h *held) wake()     {} // no process of a container can stop its first one

func (h *held) limits() (memory bool, text string) { return h.memory, h.says }

func (h *held) fate(ended bool) (outOfMemory bool, lost error) {
	outOfMemory = slices.ContainsFunc(h.groups, func(dir string) bool {
		v1 := cgroup{memory: dir}
		v2 := cgroup{memory: dir, memoryV2: true}
		return v1.outOfMemory() || v2.outOfMemory()
	})
	if outOfMemory || ended && !h.cutOff.Load() { // a container that we end is detached, too
		return outOfMemory, nil
	}
	select {
	case <-h.Detached(): // soon, if the container is gone
	case <-time.After(5 * time.Second):
		return false, nil
	}
	if !h.memory { // without a limit, the machine ran out of memory, if anything did
		return false, h.lost()
	}
	// If the kernel has killed the first process, its groups may be gone already.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if killed, err := h.OutOfMemory(ctx); err == nil && killed {
		return true, nil
	}
	return false, h.lost()
}

// wait ends the container. The supervisor has ended the tree, or was killed.
func (h *held) wait() {
	h.Close()
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	if err := h.kind.Remove(ctx, h.ID); err != nil {
		h.kind.keepForLater(h.ID)
	}
	h.awaitEnd()
}

// lost says why the container was cut off.
func (h *held) lost() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := h.kind.Info(ctx)
	if _, gone := errors.AsType[*image.ConnectionError](err); gone {
		return fmt.Errorf("sandbox: the Docker daemon ended while the program ran (%w)", err)
	}
	return errors.New("sandbox: the container was ended from outside, or the Docker daemon has restarted")
}

// endWith ends a tree when its container is cut off from this process. No tree outlives its daemon.
func (h *held) endWith(t *tree) {
	select {
	case <-h.Detached():
		t.endAs(func() { h.cutOff.Store(true) })
	case <-t.done:
	}
}

// awaitEnd waits until the first process of the container is gone, and all others with it. It is
// gone at once, except where a daemon that has ended could not remove the container.
func (h *held) awaitEnd() {
	deadline := time.Now().Add(removeTime)
	for time.Now().Before(deadline) {
		if now, exists := inside.ReadStat(h.PID); !exists || now.Start != h.started || now.Zombie {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// removeTime limits how long we wait for the removal of a container.
const removeTime = 30 * time.Second

// keepForLater notes a container that could not be removed, because the daemon does not respond.
func (d *dockerKind) keepForLater(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leftover = append(d.leftover, id)
}

// dockerLimits are the limits that the daemon enforces, and the text about all of them.
func dockerLimits(l Limits, can image.DaemonInfo) (enforced Limits, says string) {
	if l == (Limits{}) {
		return l, "no limits set"
	}
	var held, missing, measured []string
	for _, s := range settings(l) {
		switch {
		case s.controller == "memory" && can.Memory:
			enforced.Memory = l.Memory
		case s.controller == "memory":
			measured = append(measured, s.says)
			continue
		case s.controller == "pids" && can.Processes:
			enforced.Processes = l.Processes + inside.Overhead
		case s.controller == "cpu" && can.CPUs:
			enforced.CPUs = l.CPUs
		default:
			missing = append(missing, s.controller)
			continue
		}
		held = append(held, s.says)
	}
	if l.Disk > 0 {
		measured = append(measured, fmt.Sprintf("%d MiB of disk", l.Disk>>20))
	}
	return enforced, describe("Docker", held, missing, "the daemon cannot limit it here", measured)
}

// dockerUser is UID:GID of the processes in a container: the worker's, so that both can use the
// files of the workspace. A rootless daemon runs as the worker's user, which it calls root.
func dockerUser(can image.DaemonInfo) (uid, gid int) {
	if can.Rootless {
		return 0, 0
	}
	return os.Geteuid(), os.Getegid()
}

// tmpfsOptions returns the mount options of a file system in memory. It has at most size bytes; 0
// is the kernel's default.
func tmpfsOptions(size int64, options ...string) string {
	all := append([]string{"rw", "nosuid", "nodev"}, options...)
	if size > 0 {
		all = append(all, "size="+strconv.FormatInt(size, 10))
	}
	return strings.Join(all, ",")
}
