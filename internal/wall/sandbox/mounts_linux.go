package sandbox

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// profile collects the arguments of bwrap and the mounts that they should lead to.
type profile struct {
	args   []string
	mounts map[string]expectedMount // by their path in the sandbox
	on     []inside.Point           // what an image needs for them
	lends  bool                     // the tree has a user of its own
	lent   []inside.Lent
	// Of an image: the folder with its layers, and the folder with the changes, as the tree's user sees them.
	layers, changes string
}

// expectedMount is what a proof expects at a path.
type expectedMount struct {
	writable bool
	// below allows read-only mounts below the path: the host's own below a directory, and what
	// bwrap itself hides in /proc.
	below bool
	// optional means that the mount may be missing.
	optional bool
	// same is a file of the host that must be the one at the path, or "".
	same string
}

func (p *profile) add(args ...string) { p.args = append(p.args, args...) }

func (p *profile) expect(at string, m expectedMount) {
	if p.mounts == nil {
		p.mounts = map[string]expectedMount{}
	}
	p.mounts[path.Clean(at)] = m
}

// show makes a file or directory of the host readable, if it exists.
func (p *profile) show(source, at string) {
	p.add("--ro-bind-try", source, at)
	p.mountOn(source, at)
	p.expect(at, expectedMount{below: true, optional: true})
}

// share makes a file or directory of the host available. It must exist.
func (p *profile) share(source, at string, writable bool) {
	option := "--ro-bind"
	if writable {
		option = "--bind"
	}
	p.add(option, p.lend(source, writable), at)
	p.mountOn(source, at)
	p.expect(at, expectedMount{writable: writable, same: source})
}

// lend returns the path at which the user of the tree finds a file or folder of the worker.
func (p *profile) lend(source string, writable bool) string {
	if !p.lends {
		return source
	}
	p.lent = append(p.lent, inside.Lent{Source: source, Writable: writable})
	return inside.LentAt(len(p.lent) - 1)
}

// seal makes the file system at a path read-only.
func (p *profile) seal(at string) {
	p.add("--remount-ro", at)
	p.expect(at, expectedMount{})
}

// openMounts compares the mounts of a process with the expected ones (proc_pid_mountinfo(5)).
func openMounts(pid int, want map[string]expectedMount) (open []string) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return []string{fmt.Sprintf("the mounts cannot be checked (%v)", err)}
	}
	missing := map[string]expectedMount{}
	for at, m := range want {
		if !m.optional {
			missing[at] = m
		}
	}
	var all [][]string
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			return []string{"a mount that cannot be read"}
		}
		all = append(all, fields)
	}
	covers := coveringMounts(all)
	writable := map[string]bool{} // the last mount at a path hides the others
	for _, fields := range all {
		if cover, ok := covers[fields[1]]; !ok || cover == fields[0] {
			writable[unescape(fields[4])] = !slices.Contains(strings.Split(fields[5], ","), "ro")
		}
	}
	for at, canWrite := range writable {
		m, expected := want[at]
		delete(missing, at)
		switch {
		case !expected && !(mayHave(want, at) && !canWrite):
			open = append(open, "mount "+at)
		case expected && canWrite && !m.writable:
			open = append(open, "writing to "+at)
		case expected && m.same != "" && !sameFile(m.same, fmt.Sprintf("/proc/%d/root%s", pid, at)):
			open = append(open, "another file or directory at "+at)
		}
	}
	for at := range missing {
		open = append(open, at+" (its mount is missing)")
	}
	slices.Sort(open)
	return open
}

// coveringMounts returns, for each mount on which another one lies as a whole, that other one.
// Nothing else that is mounted on the first one can be reached.
func coveringMounts(all [][]string) map[string]string {
	point, covers := map[string]string{}, map[string]string{}
	for _, m := range all {
		point[m[0]] = m[4]
	}
	for _, m := range all {
		if at, ok := point[m[1]]; ok && at == m[4] && m[0] != m[1] {
			covers[m[1]] = m[0]
		}
	}
	return covers
}

// mayHave reports whether the nearest expected mount above a path may have mounts below it.
func mayHave(want map[string]expectedMount, at string) bool {
	for at != "/" {
		at = path.Dir(at)
		if m, ok := want[at]; ok {
			return m.below
		}
	}
	return false
}

func sameFile(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Lstat(b)
	if err1 != nil || err2 != nil {
		return false
	}
	x, ok1 := one.Sys().(*syscall.Stat_t)
	y, ok2 := other.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && x.Dev == y.Dev && x.Ino == y.Ino
}

// unescape reads the octal escapes for spaces and the like in mountinfo.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
