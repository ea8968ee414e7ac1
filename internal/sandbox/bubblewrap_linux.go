package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Where a bubblewrap sandbox has things. The paths are the same in every
// sandbox, because agents file their sessions under the path of the workspace.
const (
	insideDir  = "/workspace"
	insideHome = "/home/agent"
	insideExe  = "/opt/penstock/penstock"
	insideUser = "agent"
	insideUID  = "1000"
)

// etc is what of /etc is visible: name resolution, certificates, the links of
// alternatives, the dynamic linker, the time zone. There are keys beside these
// files (/etc/ssl/private), so directories are not shown as a whole. /usr/lib/jvm
// of Debian is of no use without its directory here.
var etc = []string{
	"resolv.conf", "hosts", "host.conf", "nsswitch.conf", "gai.conf", "protocols", "services",
	"ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "crypto-policies",
	"pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf",
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "os-release",
	"java-*-openjdk",
}

// What of /proc is read-only or hidden. Being read-only is not left to the
// permissions of /proc/sys: they let the host's root write, whatever its
// capabilities, and /proc/sys/kernel/core_pattern names a program that the kernel
// runs outside of every sandbox.
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
)

// bubblewrap is the kind Bubblewrap.
type bubblewrap struct {
	machine
	bwrap string
	path  string
	// noUsers tells whether bwrap can forbid further user namespaces: version
	// 0.8 can, where /proc/sys is writable to it. With one, a hostile process has far more of
	// the kernel to attack.
	noUsers func() bool
	sizes   func() bool // whether bwrap can bound a tmpfs
}

func newBubblewrap(m machine, opts Options) (Sandbox, error) {
	name := opts.Bwrap
	if name == "" {
		name = "bwrap"
	}
	bwrap, err := exec.LookPath(name)
	if err == nil {
		bwrap, err = filepath.Abs(bwrap)
	}
	if err != nil {
		return nil, fmt.Errorf("bubblewrap is not installed (%w): install the package bubblewrap", err)
	}
	b := &bubblewrap{machine: m, bwrap: bwrap, path: opts.Path}
	b.noUsers = sync.OnceValue(func() bool {
		args := append(namespaces(), "--disable-userns", "--ro-bind", "/", "/", "--", bwrap, "--version")
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, bwrap, args...)
		cmd.Env = []string{}
		return cmd.Run() == nil
	})
	b.sizes = sync.OnceValue(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		help, err := exec.CommandContext(ctx, bwrap, "--help").Output()
		return err == nil && strings.Contains(string(help), "--size BYTES")
	})
	return b, nil
}

func (b *bubblewrap) Kind() string { return Bubblewrap }

func (b *bubblewrap) Layout(Spec) Layout {
	return Layout{Dir: insideDir, Home: insideHome, Exe: insideExe}
}

func (b *bubblewrap) Start(ctx context.Context, spec Spec) (Running, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	// What is read from a descriptor is on no command line, which every user of the
	// machine can see. The environment and the standard streams go past bwrap to Enter:
	// bwrap stays the first process of the sandbox, and all others there can read its
	// memory and take its descriptors.
	env := strings.Join(environment(b.path, insideUser, b.Layout(spec), spec.Env), "\x00")
	files := [][]byte{nil, []byte(passwd), []byte(group), []byte(env)}
	filter := noKeys()
	if filter != nil {
		files = append(files, filter)
	}
	fd := func(i int) string { return strconv.Itoa(firstFD + i) }
	stdin, stdout, blocked := fd(len(files)), fd(len(files)+1), fd(len(files)+2)
	options := b.options(spec)
	options = append(options, "--ro-bind-data", fd(1), "/etc/passwd", "--ro-bind-data", fd(2), "/etc/group",
		"--remount-ro", "/", "--block-fd", blocked)
	if filter != nil {
		options = append(options, "--seccomp", fd(4))
	}
	files[0] = []byte(strings.Join(options, "\x00") + "\x00")
	tree, err := b.launch(ctx, order{
		Argv:      append([]string{b.bwrap, "--args", fd(0), "--", insideExe, "enter", fd(3), stdin, stdout}, spec.Argv...),
		Env:       []string{},
		Dir:       "/",
		Files:     files,
		Apart:     true,
		Root:      os.Geteuid() == 0,
		AwaitRead: true, // bwrap reads the block-fd when everything is set up
	}, spec)
	if err != nil {
		return nil, err
	}
	return tree, nil
}

// namespaces are the options that separate processes, users and names. The network
// is the host's.
func namespaces() []string {
	return []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--uid", insideUID, "--gid", insideUID,
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
	}
}

// options is the profile: everything that the tree sees, in the order of mounting.
func (b *bubblewrap) options(spec Spec) []string {
	o := namespaces()
	if b.noUsers() {
		o = append(o, "--disable-userns")
	}
	o = append(o, "--ro-bind", "/usr", "/usr")
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(dir); err == nil {
			o = append(o, "--symlink", target, dir)
		} else {
			o = append(o, "--ro-bind-try", dir, dir)
		}
	}
	for _, pattern := range etc {
		files, _ := filepath.Glob(path.Join("/etc", pattern))
		for _, file := range files {
			o = append(o, "--ro-bind-try", file, file)
		}
	}
	o = append(o, procOptions()...)
	o = append(o, "--dev", "/dev")
	o = append(o, b.tmpfs("/dev/shm", spec.Shm)...)
	o = append(o, "--remount-ro", "/dev")
	o = append(o, b.tmpfs("/tmp", spec.Tmp)...)
	o = append(o, b.tmpfs("/run", runBytes)...)
	o = append(o, "--symlink", "../tmp", "/var/tmp")
	o = append(o, "--bind", spec.Home, insideHome, "--bind", spec.Dir, insideDir)
	for _, m := range spec.ReadOnly {
		target := m.Target
		if target == "" {
			target = m.Source
		}
		o = append(o, "--ro-bind", m.Source, target)
	}
	o = append(o, "--ro-bind", b.exe, insideExe, "--chdir", path.Join(insideDir, filepath.ToSlash(spec.Cwd)),
		"--setenv", "GOMAXPROCS", "1") // for Enter alone
	return o
}

// runBytes is the size of /run.
const runBytes = 64 << 20

// tmpfs are the options for a file system in memory of at most size bytes, 0 for the
// kernel's default. bwrap can do that from version 0.7 on.
func (b *bubblewrap) tmpfs(at string, size int64) []string {
	if size <= 0 || !b.sizes() {
		return []string{"--tmpfs", at}
	}
	return []string{"--size", strconv.FormatInt(size, 10), "--tmpfs", at}
}

// procOptions mount a /proc of the sandbox's own processes without the handles
// to the machine that lie beside them.
func procOptions() []string {
	o := []string{"--proc", "/proc"}
	for _, name := range procReadOnly {
		if file := path.Join("/proc", name); exists(file) {
			o = append(o, "--ro-bind", file, file)
		}
	}
	for _, name := range procHidden {
		file := path.Join("/proc", name)
		info, err := os.Stat(file)
		switch {
		case err != nil:
		case info.IsDir():
			o = append(o, "--tmpfs", file, "--remount-ro", file)
		default:
			o = append(o, "--ro-bind", "/dev/null", file)
		}
	}
	return o
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
