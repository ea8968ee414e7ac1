package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// serverGroup is the group to which we move ourselves if necessary: in cgroup v2, a group can limit
// the groups below it only if it has no processes itself.
const serverGroup = "penstock-server"

// groupPrefix is the start of the name of a tree's group. Our PID, our start time and two numbers
// follow, which distinguish groups in use from the groups of a killed worker.
const groupPrefix = "penstock-tree-"

// limiters counts the limiters of this process, for unique names.
var limiters atomic.Int64

// limiter creates the control groups of the trees, below our own group. Each controller may be in
// version 1 or 2.
type limiter struct {
	controllers map[string]controller // the usable ones of memory, pids and cpu
	reason      string                // why the others are not usable, if known
	seq         atomic.Int64
	owner       string
}

type controller struct {
	parent string // the directory for groups
	home   string // our own group
	v2     bool
}

// newLimiter finds the usable controllers, and ends processes that dead workers have left in their
// groups.
func newLimiter() *limiter {
	l := &limiter{controllers: map[string]controller{}, reason: "no control group for it"}
	self, _ := inside.ReadStat(os.Getpid())
	l.owner = fmt.Sprintf("%d-%d-%d", os.Getpid(), self.Start, limiters.Add(1))
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return l
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return l
	}
	for _, h := range hierarchies(mounts, groups) {
		l.add(h)
	}
	parents := map[string]bool{}
	for _, c := range l.controllers {
		parents[c.parent] = true
	}
	for parent := range parents {
		sweep(parent)
	}
	return l
}

// hierarchy is one mounted tree of groups, with our own place in it.
type hierarchy struct {
	dir         string
	v2          bool
	controllers []string // of a v1 hierarchy
}

// hierarchies joins proc_pid_mountinfo(5) and /proc/self/cgroup (cgroups(7)).
func hierarchies(mountinfo, groups []byte) []hierarchy {
	own := map[string]string{} // controllers, "" for v2 → our path
	for line := range strings.Lines(string(groups)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			own[f[1]] = f[2]
		}
	}
	var all []hierarchy
	for line := range strings.Lines(string(mountinfo)) {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) < 3 || g[0] != "cgroup" && g[0] != "cgroup2" {
			continue
		}
		root, point := f[3], f[4]
		h := hierarchy{v2: g[0] == "cgroup2"}
		path, ok := own[""], true
		if !h.v2 {
			// The options of a v1 mount include its controllers.
			options := strings.Split(g[2], ",")
			ok = false
			for names, p := range own {
				if c := strings.Split(names, ","); names != "" && slices.Contains(options, c[0]) {
					path, ok, h.controllers = p, true, c
				}
			}
		}
		rel, err := filepath.Rel(root, path)
		if ok && err == nil && filepath.IsLocal(rel) {
			h.dir = filepath.Join(point, rel)
			all = append(all, h)
		}
	}
	return all
}

// add takes the usable controllers from h.
func (l *limiter) add(h hierarchy) {
	names, home := h.controllers, h.dir
	if h.v2 {
		h.dir = strings.TrimSuffix(h.dir, "/"+serverGroup)
		var err error
		var moved bool
		if names, moved, err = enable(h.dir); err != nil {
			l.reason = err.Error()
			return
		}
		if moved {
			home = filepath.Join(h.dir, serverGroup)
		}
	}
	for _, name := range names {
		if !slices.Contains([]string{"memory", "pids", "cpu"}, name) {
			continue
		}
		if err := unix.Access(h.dir, unix.W_OK); err != nil {
			l.reason = h.dir + " is not writable"
			continue
		}
		l.controllers[name] = controller{h.dir, home, h.v2}
	}
}

// enable makes the v2 group dir limit the groups below it. It returns the enabled controllers, and
// whether we had to move to a group of our own.
func enable(dir string) (names []string, moved bool, err error) {
	content, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, false, fmt.Errorf("%s cannot be read", dir)
	}
	var orders []string
	for name := range strings.FieldsSeq(string(content)) {
		if slices.Contains([]string{"memory", "pids", "cpu"}, name) {
			names, orders = append(names, name), append(orders, "+"+name)
		}
	}
	if len(names) == 0 {
		return nil, false, fmt.Errorf("%s has no controllers", dir)
	}
	control := filepath.Join(dir, "cgroup.subtree_control")
	err = inside.Write(control, strings.Join(orders, " "))
	if errors.Is(err, syscall.EBUSY) {
		server := filepath.Join(dir, serverGroup)
		if err = os.Mkdir(server, 0o700); err == nil || errors.Is(err, os.ErrExist) {
			moved = inside.Write(filepath.Join(server, "cgroup.procs"), strconv.Itoa(os.Getpid())) == nil
			err = inside.Write(control, strings.Join(orders, " "))
		}
	}
	if errors.Is(err, syscall.EBUSY) {
		return nil, moved, fmt.Errorf("%s holds processes other than this one", dir)
	}
	if err != nil {
		return nil, moved, fmt.Errorf("%s is not writable", dir)
	}
	return names, moved, nil
}

// cgroup is the group of one tree: a directory for each hierarchy that limits it.
type cgroup struct {
	dirs     []string
	homes    []string // the groups to which the supervisor returns
	memory   string   // the directory that limits memory, or ""
	memoryV2 bool
	says     string
}

// group limits the process pid and everything that it starts. The group says which limits it cannot
// enforce. The caller measures those, or does not limit them.
func (l *limiter) group(limits Limits, pid int) *cgroup {
	g := &cgroup{says: "no limits set"}
	if limits == (Limits{}) {
		return g
	}
	name := groupPrefix + l.owner + "-" + strconv.FormatInt(l.seq.Add(1), 10)
	var held, measured, missing []string
	version := "v1"
	for _, s := range settings(limits) {
		c, ok := l.controllers[s.controller]
		dir := filepath.Join(c.parent, name)
		if ok {
			ok = g.join(dir, c.home, pid) == nil && s.apply(c.v2, dir) == nil
		}
		if !ok && s.controller == "memory" {
			measured = append(measured, s.says)
			continue
		}
		if !ok {
			missing = append(missing, s.controller)
			continue
		}
		if c.v2 {
			version = "v2"
		}
		if s.controller == "memory" {
			g.memory, g.memoryV2 = dir, c.v2
		}
		held = append(held, s.says)
	}
	if limits.Disk > 0 {
		measured = append(measured, fmt.Sprintf("%d MiB of disk", limits.Disk>>20))
	}
	g.says = describe("cgroup "+version, held, missing, l.reason, measured)
	return g
}

// describe says which limits something enforces, which ones nothing does and why, and which ones we
// measure.
func describe(by string, held, missing []string, reason string, measured []string) string {
	var says []string
	if len(held) > 0 {
		says = append(says, by+": "+strings.Join(held, ", "))
	}
	if len(missing) > 0 {
		says = append(says, "not limited: "+strings.Join(missing, ", ")+" ("+reason+")")
	}
	if len(measured) > 0 {
		says = append(says, "measured: "+strings.Join(measured, ", "))
	}
	return strings.Join(says, "; ")
}

// join adds the directory dir to g and moves pid from home into it.
func (g *cgroup) join(dir, home string, pid int) error {
	if slices.Contains(g.dirs, dir) {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	g.dirs, g.homes = append(g.dirs, dir), append(g.homes, home)
	return inside.Write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
}

// release removes pid from the group. Otherwise the kernel could kill the supervisor for memory,
// and nothing would end the rest of the tree.
func (g *cgroup) release(pid int) {
	for _, home := range g.homes {
		_ = inside.Write(filepath.Join(home, "cgroup.procs"), strconv.Itoa(pid))
	}
}

// setting is one limit: the files and values for versions 1 and 2.
type setting struct {
	controller string
	says       string
	v1, v2     [][2]string // files and values; only the first must succeed
}

func settings(l Limits) []setting {
	var all []setting
	if l.Memory > 0 {
		n := strconv.FormatInt(l.Memory, 10)
		all = append(all, setting{
			"memory", fmt.Sprintf("%d MiB of memory", l.Memory>>20),
			[][2]string{{"memory.limit_in_bytes", n}, {"memory.memsw.limit_in_bytes", n}},
			[][2]string{{"memory.max", n}, {"memory.swap.max", "0"}},
		})
	}
	if l.Processes > 0 {
		n := strconv.Itoa(l.Processes + inside.Overhead)
		file := [][2]string{{"pids.max", n}}
		all = append(all, setting{"pids", fmt.Sprintf("%d processes", l.Processes), file, file})
	}
	if l.CPUs > 0 {
		const period = 100_000 // microseconds, the kernel's default
		quota := strconv.FormatInt(max(int64(l.CPUs*period), 1000), 10)
		all = append(all, setting{
			"cpu", strconv.FormatFloat(l.CPUs, 'g', 3, 64) + " CPUs",
			[][2]string{{"cpu.cfs_quota_us", quota}},
			[][2]string{{"cpu.max", fmt.Sprintf("%s %d", quota, period)}},
		})
	}
	return all
}

func (s setting) apply(v2 bool, dir string) error {
	values := s.v1
	if v2 {
		values = s.v2
	}
	for i, v := range values {
		// Without swap accounting, this file does not exist.
		if err := inside.Write(filepath.Join(dir, v[0]), v[1]); err != nil && i == 0 {
			return err
		}
	}
	return nil
}

// outOfMemory reports whether the kernel has killed a process of this group for memory.
func (g *cgroup) outOfMemory() bool {
	if g.memory == "" {
		return false
	}
	file := "memory.oom_control"
	if g.memoryV2 {
		file = "memory.events"
	}
	content, err := os.ReadFile(filepath.Join(g.memory, file))
	if err != nil {
		return false
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "oom_kill "); ok {
			return n != "0"
		}
	}
	return false
}

// remove kills the rest of the group, and removes it.
func (g *cgroup) remove() {
	for _, dir := range g.dirs {
		removeGroup(dir)
	}
}

// removeGroup kills the processes of a group until it is empty, and removes it. A process that
// cannot die at once, because it waits for a disk, gets ten seconds. After that, the sweep of a
// later start removes its group.
func removeGroup(dir string) {
	deadline, tick := time.After(10*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		content, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for field := range bytes.FieldsSeq(content) {
			if pid, err := strconv.Atoi(string(field)); err == nil && pid > 1 {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			return
		}
	}
}

// sweep removes the groups in parent whose owner is gone.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	for _, dir := range dirs {
		var pid int
		var start uint64
		_, err := fmt.Sscanf(filepath.Base(dir), groupPrefix+"%d-%d-", &pid, &start)
		if stat, alive := inside.ReadStat(pid); err == nil && (!alive || stat.Start != start) {
			removeGroup(dir)
		}
	}
}
