package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// launching is a container before its start.
type launching struct {
	kind     *dockerKind
	spec     image.Container
	limits   Limits                   // that the daemon enforces
	says     string                   // see Running.Limits
	mounts   map[string]expectedMount // that a proof expects
	dir      string                   // of the small files, on the host
	listener *net.UnixListener
}

// The parts of /proc and /sys that a container cannot see. Docker hides these and more by default.
var dockerMasked = append(under("/proc", procHidden), "/sys", "/proc/keys", "/proc/timer_stats")

func under(dir string, names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// container decides everything about the container of spec, and opens its socket. The caller closes
// it once the container has started.
func (d *dockerKind) container(ctx context.Context, spec Spec, can image.DaemonInfo) (*launching, error) {
	imageName, err := d.imageName(spec)
	if err != nil {
		return nil, err
	}
	volumes, err := d.Volumes(ctx, imageName)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	c := &launching{kind: d, mounts: map[string]expectedMount{}}
	c.limits, c.says = dockerLimits(spec.Limits, can)
	uid, gid := dockerUser(can)
	masked := dockerMasked
	if uid == 0 {
		masked = slices.Concat(masked, under("/proc", procOfRoot()))
	}
	c.spec = image.Container{
		Image: imageName, Runtime: d.runtime, User: fmt.Sprintf("%d:%d", uid, gid),
		Argv:   []string{d.entry(), "enter", inside.JoinArg},
		Env:    []string{"GOMAXPROCS=1"},
		Labels: map[string]string{folderLabel: d.dir, processLabel: processName()},
		Masked: masked, ReadOnly: under("/proc", procReadOnly),
		HostNetwork: spec.Relay == "",
		Memory:      c.limits.Memory, Processes: int64(c.limits.Processes), CPUs: c.limits.CPUs,
		Tmpfs: map[string]string{
			"/tmp":     tmpfsOptions(spec.Tmp, "exec", "mode=1777"),
			"/var/tmp": tmpfsOptions(spec.Tmp, "exec", "mode=1777"),
			"/dev/shm": tmpfsOptions(spec.Shm, "noexec", "mode=1777"),
			"/run":     tmpfsOptions(runBytes, "exec", "mode=0755", fmt.Sprintf("uid=%d,gid=%d", uid, gid)),
		},
	}
	if err := c.open(uid, gid); err != nil {
		c.close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	c.show(spec)
	for _, volume := range volumes { // else the daemon gives the tree disk that nothing limits
		if _, used := c.mounts[filepath.Clean(volume)]; !used && filepath.Clean(volume) != "/" {
			c.spec.Tmpfs[filepath.Clean(volume)] = tmpfsOptions(spec.Tmp, "exec", "mode=1777")
		}
	}
	c.expect()
	return c, nil
}

// open creates the small files and the socket of the container.
func (c *launching) open(uid, gid int) (err error) {
	if err := os.MkdirAll(c.kind.dir, 0o700); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(c.kind.dir, "container-*"); err != nil {
		return err
	}
	ids := fmt.Sprintf("%d:%d", uid, gid)
	users := strings.Replace(passwd, insideUID+":"+insideUID, ids, 1)
	if uid == 0 { // the first line of a user is its name
		lines := strings.SplitAfterN(users, "\n", 3)
		users = lines[1] + lines[0] + lines[2]
	}
	groups := strings.Replace(group, ":"+insideUID+":", fmt.Sprintf(":%d:", gid), 1)
	if gid == 0 {
		lines := strings.SplitAfterN(groups, "\n", 3)
		groups = lines[1] + lines[0] + lines[2]
	}
	for name, content := range map[string]string{
		"passwd": users, "group": groups, "resolv.conf": resolvConf, "hosts": hosts,
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o644); err != nil { //nolint:gosec // public
			return err
		}
	}
	c.listener, err = Listen(c.dir, "launch")
	return err
}

// close removes the small files. The mounts of a container keep them as long as it runs.
func (c *launching) close() {
	if c.listener != nil {
		_ = c.listener.Close()
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// show mounts what the tree sees of the host.
func (c *launching) show(spec Spec) {
	share := func(source, at string, writable bool) {
		c.spec.Mounts = append(c.spec.Mounts, image.BindMount{Source: source, Target: at, Writable: writable})
		c.mounts[filepath.Clean(at)] = expectedMount{writable: writable, same: source}
	}
	small := func(name string) { share(filepath.Join(c.dir, name), "/etc/"+name, false) }
	small("passwd")
	small("group")
	if spec.Relay != "" {
		small("resolv.conf")
		small("hosts")
	}
	share(c.kind.exe, insideExe, false)
	if c.kind.program != nil {
		c.kind.replaceLost()
		share(c.kind.program.path, insideProgram, false)
	}
	share(filepath.Join(c.dir, "launch"), inside.LaunchSocket, false)
	if spec.Relay != "" {
		share(spec.Relay, inside.RelaySocket, false)
	}
	share(spec.Home, insideHome, true)
	share(spec.Dir, insideDir, true)
	for _, m := range spec.ReadOnly {
		at := cmp.Or(m.Target, m.Source)
		share(m.Source, at, false)
		c.mounts[filepath.Clean(at)] = expectedMount{below: true}
	}
}

// expect adds to the expected mounts those that the daemon makes itself.
func (c *launching) expect() {
	c.mounts["/"] = expectedMount{}
	c.mounts["/proc"] = expectedMount{writable: true, below: true}
	c.mounts["/sys"] = expectedMount{below: true}
	for _, at := range []string{"/dev", "/dev/pts"} {
		c.mounts[at] = expectedMount{writable: true}
	}
	c.mounts["/dev/mqueue"] = expectedMount{writable: true, optional: true}
	c.mounts["/etc/hostname"] = expectedMount{optional: true}
	for _, at := range c.spec.Masked {
		if at != "/sys" { // an empty folder that is read-only, or /dev/null
			c.mounts[at] = expectedMount{writable: true, optional: true}
		}
	}
	for at := range c.spec.Tmpfs {
		c.mounts[at] = expectedMount{writable: true}
	}
}

// start starts the container and gives its supervisor the descriptors.
func (c *launching) start(ctx context.Context, s *streams, _ Spec) (keeper, error) {
	started, err := c.kind.Daemon.Start(ctx, c.spec)
	if err != nil {
		if left, ok := errors.AsType[*image.NotRemovedError](err); ok {
			c.kind.keepForLater(left.ID)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	h := &held{RunningContainer: started, kind: c.kind, memory: c.limits.Memory > 0, says: c.says}
	stat, _ := inside.ReadStat(started.PID)
	h.started = stat.Start
	if h.memory {
		h.groups = memoryGroups(started.PID)
	}
	if err := c.pass(ctx, started, s.theirs); err != nil {
		h.wait()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return h, nil
}

// joinTime limits how long the first process of a container may take to ask for its descriptors.
const joinTime = time.Minute

// pass sends the descriptors to the first process of a container.
func (c *launching) pass(ctx context.Context, started *image.RunningContainer, theirs []*os.File) error {
	waiting, stop := context.WithTimeout(ctx, joinTime)
	defer stop()
	defer context.AfterFunc(waiting, func() { _ = c.listener.SetDeadline(time.Unix(1, 0)) })()
	go func() { // ends with waiting at the latest
		select {
		case <-started.Detached():
			stop()
		case <-waiting.Done():
		}
	}()
	conn, err := c.listener.AcceptUnix()
	_ = c.listener.Close() // nobody else gets any
	if err != nil {
		if words := started.Words(); words != "" {
			return fmt.Errorf("sandbox: the container does not run this program: %s", words)
		}
		return errors.New("sandbox: the container ended before it started anything")
	}
	defer conn.Close()
	var fds []int
	for _, f := range theirs {
		fds = append(fds, int(f.Fd()))
	}
	if _, _, err := conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("sandbox: pass descriptors to the container: %w", err)
	}
	return nil
}

// memoryGroups are the control groups that limit the memory of a process.
func memoryGroups(pid int) (dirs []string) {
	mounts, err1 := os.ReadFile("/proc/self/mountinfo")
	groups, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if errors.Join(err1, err2) != nil {
		return nil
	}
	for _, h := range hierarchies(mounts, groups) {
		if h.v2 || slices.Contains(h.controllers, "memory") {
			dirs = append(dirs, h.dir)
		}
	}
	return dirs
}
