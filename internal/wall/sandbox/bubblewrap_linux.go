package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// Paths in a sandbox that isolates. They are the same in every sandbox, because agents file
// their sessions under the path of the workspace.
const (
	insideDir  = "/workspace"
	insideHome = "/home/agent"
	insideExe  = "/opt/penstock/penstock"
	insideUser = "agent"
	insideUID  = "1000"
)

// etc lists the visible part of /etc: certificates, the links of alternatives, the dynamic
// linker, the time zone. Keys lie beside these files (/etc/ssl/private), so directories are
// not shown as a whole. The directory /usr/lib/jvm of Debian needs the one here.
var etc = []string{
	"nsswitch.conf", "protocols", "services",
	"ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "crypto-policies",
	"pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf",
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "os-release",
	"java-*-openjdk",
}

// etcNames is how the host resolves names. A sealed tree has resolvConf and hosts instead.
var etcNames = []string{"resolv.conf", "hosts", "host.conf", "gai.conf"}

// The parts of /proc that are read-only or hidden. The permissions of /proc/sys do not
// suffice: they let the host's root write, whatever its capabilities, and
// /proc/sys/kernel/core_pattern names a program that the kernel runs outside of every sandbox.
var (
	procReadOnly = []string{"sys", "sysrq-trigger", "bus", "fs", "irq", "mtrr", "pressure"}
	procHidden   = []string{
		"acpi", "asound", "kcore", "keys", "kmsg", "interrupts", "latency_stats", "sched_debug", "scsi", "timer_list",
	}
)

const (
	passwd = "root:x:0:0:root:/root:/bin/sh\n" +
		insideUser + ":x:" + insideUID + ":" + insideUID + "::" + insideHome + ":/bin/sh\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
	group = "root:x:0:\n" + insideUser + ":x:" + insideUID + ":\nnogroup:x:65534:\n"
	// Without a server, resolvers ask 127.0.0.1, where nothing listens: they fail at once.
	resolvConf = "# There is no DNS in this sandbox. The HTTP proxy at " + RelayAddress + " resolves names.\n"
	hosts      = "127.0.0.1 localhost\n::1 localhost\n"
)

// bubblewrap is the kind Bubblewrap.
type bubblewrap struct {
	machine
	bwrap          string
	path           string
	userNamespaces bool         // see Options
	disablesUsers  func() error // errNoDisable, or nil
	sizes          func() bool  // whether bwrap can bound a tmpfs
	users          userPool
	trees          int    // see Options
	runs, layers   string // see Options
	standing       func() (standing, error)
}

func newBubblewrap(m machine, opts Options) (Sandbox, error) {
	name := cmp.Or(opts.Bwrap, "bwrap")
	bwrap, err := exec.LookPath(name)
	if err == nil {
		bwrap, err = filepath.Abs(bwrap)
	}
	if err != nil {
		return nil, fmt.Errorf("bubblewrap is not installed (%w): install the package bubblewrap", err)
	}
	b := &bubblewrap{machine: m, bwrap: bwrap, path: opts.Path, userNamespaces: opts.AllowUserNamespaces}
	b.users.ids = cmp.Or(opts.Users, subordinateIDs("/etc/subuid", "/etc/subgid"))
	b.runs, b.layers = opts.Runs, cmp.Or(opts.Layers, opts.Runs)
	b.trees, b.standing = cmp.Or(opts.Trees, defaultTrees), sync.OnceValues(b.tryStandings)
	b.disablesUsers = sync.OnceValue(b.tryDisableUsers)
	b.sizes = sync.OnceValue(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		help, err := exec.CommandContext(ctx, bwrap, "--help").Output()
		return err == nil && strings.Contains(string(help), "--size BYTES")
	})
	return b, nil
}

// errNoDisable is returned if bwrap works, but cannot disable user namespaces.
var errNoDisable = errors.New("this bwrap cannot disable user namespaces (--disable-userns): " +
	"install bubblewrap 0.8 or newer and let it write to /proc/sys, or accept them with --allow-user-namespaces")

// tryDisableUsers returns errNoDisable if bwrap can create namespaces but not disable them. The
// rest is for the start of a tree to report. One failure proves nothing: a busy machine causes it, too, and
// the answer counts until the worker ends.
func (b *bubblewrap) tryDisableUsers() error {
	works := func(options ...string) bool {
		args := append(namespaces(), options...)
		args = append(args, "--ro-bind", "/", "/", "--", b.bwrap, "--version")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, b.bwrap, args...)
		cmd.Env = []string{}
		return cmd.Run() == nil
	}
	const attempts = 3
	for range attempts {
		if works("--disable-userns") {
			return nil
		}
	}
	if works() {
		return errNoDisable
	}
	return nil
}

func (b *bubblewrap) Kind() string { return Bubblewrap }

func (b *bubblewrap) Layout(Spec) Layout {
	return Layout{Dir: insideDir, Home: insideHome, Exe: insideExe}
}

func (b *bubblewrap) Start(ctx context.Context, spec Spec) (Running, error) {
	if err := errors.Join(spec.check(), spec.checkRelay(), spec.Image.check()); err != nil {
		return nil, err
	}
	if spec.Image != nil {
		if err := spec.Image.create(); err != nil {
			return nil, err
		}
	}
	if !b.userNamespaces {
		if err := b.disablesUsers(); err != nil {
			return nil, err
		}
	}
	has, _ := b.standing()
	filter := seccompFilter(b.userNamespaces, has != own)
	if filter == nil && spec.Relay != "" {
		return nil, fmt.Errorf("sandbox: no system call filter for %s, so it cannot be sealed", runtime.GOARCH)
	}
	tree, want, err := b.launchAs(ctx, has, spec, filter)
	if err != nil || spec.Relay == "" {
		return newRunning(tree, err)
	}
	if err = tree.prove(ctx, want); err != nil {
		tree.Kill()
		tree.closeOurs()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return newRunning(tree, err)
}

// launchAs starts a tree that has a standing, and returns what its proof expects.
func (b *bubblewrap) launchAs(ctx context.Context, has standing, spec Spec, filter []byte) (*tree, intention, error) {
	user := 0
	if has == own {
		if user = b.users.take(); user == 0 {
			return nil, intention{}, errors.New("sandbox: all users of the worker's range are in use")
		}
	}
	o, p := b.order(spec, filter, user)
	if has == bounded {
		o.Bounds = shareOf(b.trees)
	}
	want := intention{
		environment: string(o.Files[environmentFile]), mounts: p.mounts, userNamespaces: b.userNamespaces,
	}
	t, err := b.launch(ctx, o, spec)
	if err != nil {
		b.users.free(user)
		return nil, want, err
	}
	go func() {
		<-t.done
		b.users.free(user)
	}()
	return t, want, nil
}

// newRunning keeps a nil tree from becoming a Running that is not nil.
func newRunning(t *tree, err error) (Running, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// environmentFile is the index of the environment in order.Files.
const environmentFile = 3

// order is the start of bwrap for spec. Descriptors carry what must not be on a command line,
// which every user of the machine can see. The environment and the standard streams bypass
// bwrap and go to enter: bwrap remains the first process of the sandbox, and all others there
// can read its memory and take its descriptors.
func (b *bubblewrap) order(spec Spec, filter []byte, user int) (inside.Order, *profile) {
	env := strings.Join(environment(b.path, insideUser, b.Layout(spec), spec.Env), "\x00")
	files := [][]byte{nil, []byte(passwd), []byte(group), environmentFile: []byte(env)}
	add := func(content []byte) string {
		files = append(files, content)
		return strconv.Itoa(inside.FirstFD + len(files) - 1)
	}
	fd := func(i int) string { return strconv.Itoa(inside.FirstFD + i) }
	p := b.profile(spec, user != 0)
	data := func(fd, at string) {
		p.add("--ro-bind-data", fd, at)
		p.on = append(p.on, inside.Point{Path: at[1:]})
		p.expect(at, expectedMount{})
	}
	data(fd(1), "/etc/passwd")
	data(fd(2), "/etc/group")
	if spec.Relay != "" {
		data(add([]byte(resolvConf)), "/etc/resolv.conf")
		data(add([]byte(hosts)), "/etc/hosts")
	}
	var image *inside.Overlay
	if spec.Image != nil {
		image = p.overlay(spec.Image)
	} else {
		p.seal("/")
	}
	if filter != nil {
		p.add("--seccomp", add(filter))
	}
	n := len(files)
	enter := []string{b.entry(), "enter", fd(environmentFile), fd(n), fd(n + 1), inside.NoFD, inside.NoFD}
	n += 2
	if spec.Relay != "" {
		enter[5] = fd(n)
		n++
	}
	p.add("--block-fd", fd(n))
	files[0] = []byte(strings.Join(p.args, "\x00") + "\x00")
	argv := append([]string{b.bwrap, "--args", fd(0), "--"}, enter...)
	return inside.Order{
		Argv:      append(argv, spec.Argv...),
		Env:       []string{},
		Dir:       "/",
		Files:     files,
		Apart:     true,
		Proof:     spec.Relay != "",
		Root:      os.Geteuid() == 0,
		User:      user,
		Lent:      p.lent,
		Overlay:   image,
		AwaitRead: true, // bwrap reads the block-fd when everything is set up
	}, p
}

// namespaces are the options that separate processes, users and names. The network remains the
// host's.
func namespaces() []string {
	return []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--uid", insideUID, "--gid", insideUID,
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
	}
}

// profile lists everything that the tree sees, in the order of mounting.
func (b *bubblewrap) profile(spec Spec, ownUser bool) *profile {
	p := &profile{args: namespaces(), lends: ownUser}
	files := slices.Clone(etc)
	if spec.Relay != "" {
		p.add("--unshare-net")
	} else {
		files = append(files, etcNames...)
	}
	if !b.userNamespaces {
		p.add("--disable-userns")
	}
	if spec.Image != nil {
		p.layers, p.changes = p.lend(filepath.Dir(spec.Image.Layers[0]), false), p.lend(spec.Image.Dir, true)
		p.add("--bind", filepath.Join(p.changes, inside.ImageRoot), "/")
		p.expect("/", expectedMount{writable: true})
		files = slices.DeleteFunc(files, func(name string) bool { return !slices.Contains(etcNames, name) })
	} else {
		p.programs()
	}
	for _, pattern := range files {
		found, _ := filepath.Glob(path.Join("/etc", pattern))
		for _, file := range found {
			p.show(file, file)
		}
	}
	p.proc()
	p.add("--dev", "/dev")
	for _, device := range inside.Devices {
		p.expect(device, expectedMount{writable: true, optional: true})
	}
	p.expect("/dev/pts", expectedMount{writable: true, optional: true})
	b.tmpfs(p, "/dev/shm", spec.Shm)
	p.seal("/dev")
	b.tmpfs(p, "/tmp", spec.Tmp)
	b.tmpfs(p, "/run", runBytes)
	if spec.Image == nil {
		p.add("--symlink", "../tmp", "/var/tmp")
	}
	p.share(spec.Home, insideHome, true)
	p.share(spec.Dir, insideDir, true)
	for _, m := range spec.ReadOnly {
		target := cmp.Or(m.Target, m.Source)
		p.share(m.Source, target, false)
		p.expect(target, expectedMount{below: true, optional: true}) // a link may point elsewhere
	}
	p.share(b.exe, insideExe, false)
	if b.program != nil {
		p.share(b.program.path, insideProgram, false)
	}
	if spec.Relay != "" {
		p.share(spec.Relay, inside.RelaySocket, false)
	}
	p.add("--chdir", path.Join(insideDir, filepath.ToSlash(spec.Cwd)), "--setenv", "GOMAXPROCS", "1") // for enter alone
	return p
}

// systemDirs are folders with programs and libraries, or links to some below /usr.
var systemDirs = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// programs shows the programs and libraries of the host.
func (p *profile) programs() {
	p.add("--ro-bind", "/usr", "/usr")
	p.expect("/usr", expectedMount{below: true})
	for _, dir := range systemDirs {
		if target, err := os.Readlink(dir); err == nil {
			p.add("--symlink", target, dir)
		} else {
			p.show(dir, dir)
		}
	}
}

// runBytes is the size of /run.
const runBytes = 64 << 20

// tmpfs mounts a file system in memory of at most size bytes, 0 for the kernel's default.
// bwrap can do that since version 0.7.
func (b *bubblewrap) tmpfs(p *profile, at string, size int64) {
	if size > 0 && b.sizes() {
		p.add("--size", strconv.FormatInt(size, 10))
	}
	p.add("--tmpfs", at)
	p.expect(at, expectedMount{writable: true})
}

// proc mounts a /proc of the sandbox's own processes and hides the parts that concern the
// machine.
func (p *profile) proc() {
	p.add("--proc", "/proc")
	p.expect("/proc", expectedMount{writable: true, below: true})
	for _, name := range procReadOnly {
		if file := path.Join("/proc", name); exists(file) {
			p.add("--ro-bind", file, file)
			p.expect(file, expectedMount{below: true})
		}
	}
	hidden := procHidden
	if os.Geteuid() == 0 && !p.lends {
		hidden = slices.Concat(hidden, procOfRoot())
	}
	for _, name := range hidden {
		file := path.Join("/proc", name)
		info, err := os.Stat(file)
		switch {
		case err != nil:
		case info.IsDir():
			p.add("--tmpfs", file)
			p.seal(file)
		default:
			p.add("--ro-bind", "/dev/null", file)
			p.expect(file, expectedMount{})
		}
	}
}

// procOfRoot lists what only root may read in /proc, except what belongs to processes or networks. A
// tree of root has no capabilities, but to the kernel its user is the owner of these files, such as
// the tables of all memory pages and of the kernel's caches.
var procOfRoot = sync.OnceValue(func() (names []string) {
	_ = filepath.WalkDir("/proc", func(file string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(file, "/proc/")
		if err != nil || file == "/proc" {
			return nil // it has gone
		}
		if process := strings.Trim(name, "0123456789") == ""; process || slices.Contains(procPerReader, name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil // a link
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Type() == fs.ModeSymlink || info.Mode().Perm()&0o004 != 0 ||
			slices.Contains(procReadOnly, name) || slices.Contains(procHidden, name) {
			return nil
		}
		names = append(names, name)
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return names
})

// procPerReader are folders of /proc whose content depends on who reads it.
var procPerReader = []string{"self", "thread-self", "net", "sys/net", "sys/user"}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
