package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestBubblewrapShowsNothingElseOfTheHost(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	outside := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(outside, []byte("host secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"files of the host": `[ ! -e "$1" ] && [ ! -e /root ] && [ ! -e /var/lib ] && [ ! -e /boot ] && [ ! -e /sys ]`,
		"the top": `for f in /*; do case $f in ` +
			`/bin|/dev|/etc|/home|/lib*|/opt|/proc|/run|/sbin|/tmp|/usr|/var|/workspace) ;; *) echo $f; exit 1;; esac; done`,
		"keys in /etc": `[ ! -e /etc/shadow ] && [ ! -e /etc/ssl/private ] && [ ! -e /etc/ssh ] && [ ! -e ` +
			`/etc/machine-id ]`,
		"empty places": `[ -z "$(ls -A /tmp /run | grep -v :)" ]`,
		"users":        `[ "$(id -u):$(id -un):$(id -gn)" = 1000:agent:agent ] && [ $(wc -l < /etc/passwd) = 3 ]`,
		"processes": `for p in /proc/[0-9]*; do [ ${p#/proc/} -lt 100 ] || exit 1; done; ` +
			`! grep -q '[s]upervise' /proc/[0-9]*/cmdline`,
		"capabilities": `[ "$(grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -vc ` +
			`0000000000000000)" = 0 ]`,
		"new privileges":        `grep -q 'NoNewPrivs:.1' /proc/self/status`,
		"a session of its own":  `[ "$(cut -d ' ' -f 6 /proc/$$/stat)" -gt 0 ] && ! cat /dev/tty 2>/dev/null`,
		"namespaces of its own": `for n in user pid ipc uts mnt; do readlink /proc/self/ns/$n; done > ns`,
		"devices": `[ ! -e /dev/sda ] && [ ! -e /dev/mem ] && [ ! -e /dev/kmsg ] && echo x > /dev/null ` +
			`&& [ -r /dev/urandom ]`,
		"kernel's memory": `[ -z "$(cat /proc/kcore | head -c 1)" ]`,
		"names and certificates": `[ -r /etc/resolv.conf ] && [ -r /etc/hosts ] && [ "$(getent hosts localhost | wc ` +
			`-l)" -gt 0 ]`,
		"temporary places":       `echo x > /tmp/a && echo x > /var/tmp/b && echo x > /run/c && echo x > /dev/shm/d`,
		"the workspace and home": `echo x > /workspace/a && echo x > /home/agent/b`,
		"no further user space":  `! unshare --user true 2>/dev/null`,
		"no mount of kernel's":   `! unshare --user --map-root-user --mount mount -t tmpfs x /tmp 2>/dev/null`,
		"no swapping of programs": `! { echo x > /opt/penstock/penstock; } ` +
			`2>/dev/null && ! rm -f /opt/penstock/penstock 2>/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sp := spec(t, script, outside)
			output(t, s, sp)
			if name != "namespaces of its own" {
				return
			}
			inside, err := os.ReadFile(filepath.Join(sp.Dir, "ns"))
			if err != nil {
				t.Fatal(err)
			}
			for ns := range strings.FieldsSeq(string(inside)) {
				kind, _, _ := strings.Cut(ns, ":")
				if host, err := os.Readlink("/proc/self/ns/" + kind); err != nil || host == ns {
					t.Errorf("%s is the host's (%v)", ns, err)
				}
			}
		})
	}
}

// A program's environment holds keys that its children must not get. bwrap is the first process of
// the sandbox, and the children can read everything in it.
func TestBubblewrapKeepsTheEnvironmentToTheProgram(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	sp := spec(t, "")
	sp.Argv, sp.Env = []string{s.Layout(sp).Exe, "spy"}, []string{"SECRET=" + mark()}
	want := "bwrap does not know it\n"
	if SeparatesSockets() { // which also hides everything that bwrap has
		want = "nothing to look at: open /proc/1/maps: permission denied\nopen /proc/1/mem: permission denied\n"
	}
	if got := output(t, s, sp); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// spy looks for a secret in the memory of the sandbox's first process.
func spy(secret string) {
	maps, err := os.ReadFile("/proc/1/maps")
	memory, err2 := os.Open("/proc/1/mem")
	if err = errors.Join(err, err2); err != nil || secret == "" {
		fmt.Println("nothing to look at:", err)
		return
	}
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			continue
		}
		content := make([]byte, max(0, to-from))
		n, _ := memory.ReadAt(content, from) // not every part can be read
		if bytes.Contains(content[:n], []byte(secret)) {
			fmt.Println("bwrap knows it:", line)
			return
		}
	}
	fmt.Println("bwrap does not know it")
}

// Some files under /proc (core_pattern) let a root without capabilities take over the machine. So
// the test tries every file, not only the known ones.
func TestBubblewrapCanWriteOnlyToItsOwnFolders(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	got := output(t, s, spec(t, `
		find / -xdev -path /proc -prune -o -writable ! -type l -print 2>/dev/null
		find /proc -mindepth 1 -maxdepth 1 ! -name '[0-9]*' ! -name self ! -name thread-self 2>/dev/null |
		while read top; do
			find $top -type f -writable 2>/dev/null | while read file; do
				( : 3<>$file ) 2>/dev/null && echo $file
			done
		done
		for d in /usr /etc /opt /bin/ /proc/sys; do touch $d/x 2>/dev/null && echo $d; done
		true`))
	if diff := cmp.Diff(
		[]string{"/home/agent", "/run", "/tmp", "/workspace"}, slices.Sorted(strings.FieldsSeq(got)),
	); diff != "" {
		t.Error(diff)
	}
}

func TestBubblewrapShowsWhatTheOperatorAdds(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	tools := t.TempDir()
	write := exec.Command("/bin/sh", "-c", `printf '#!/bin/sh\necho works\n' > tool && chmod 755 tool`)
	if write.Dir = tools; write.Run() != nil {
		t.Fatal("no tool")
	}
	sp := spec(t, `"$1/tool" && /opt/tools/tool && ! echo x > "$1/x" && ! rm /opt/tools/tool`, tools)
	sp.ReadOnly = []Mount{{Source: tools}, {Source: tools, Target: "/opt/tools"}}
	if got := output(t, s, sp); strings.Count(got, "works\n") != 2 {
		t.Errorf("got %q", got)
	}

	sp.ReadOnly = []Mount{{Source: "/no/such/toolchain"}}
	for _, stderr := range []*bytes.Buffer{nil, {}} {
		if sp.Stderr = nil; stderr != nil {
			sp.Stderr = stderr
		}
		_, err := s.Start(t.Context(), sp)
		if err == nil || !strings.Contains(err.Error(), "/no/such/toolchain") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line that names the directory", err)
		}
	}
}

func TestBubblewrapWithoutAWorkspaceDoesNotStart(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	sp := spec(t, "exit 0")
	sp.Dir = filepath.Join(sp.Dir, "missing")
	sp.Limits.Processes = 100
	if _, err := s.Start(t.Context(), sp); err == nil || !strings.Contains(err.Error(), sp.Dir) {
		t.Errorf("got %v, want an error with the directory", err)
	}
}

func TestProbeReportsWhyThereIsNoSandbox(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts Options
		want string
	}{
		"not installed": {
			Options{Bwrap: "/no/bwrap", Exe: self(t)},
			"bubblewrap is not installed (exec: \"/no/bwrap\": stat /no/bwrap: no such file or directory): install the " +
				"package bubblewrap",
		},
		"no such kind": {
			Options{Kind: "vm", Exe: self(t)}, `unknown kind of sandbox "vm": use bubblewrap, docker or process`,
		},
		"without this one": {Options{}, "sandbox: the path of this program is required"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Probe(t.Context(), test.opts)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The test uses namespaces to build machines that forbid namespaces.
func TestProbeOnMachinesThatForbidIt(t *testing.T) {
	t.Parallel()
	open(t, Bubblewrap)
	for name, test := range map[string]struct {
		forbid string
		flags  uintptr
		filter string // see forbid
		want   string
	}{
		"network namespaces switched off": {
			forbid: "echo 0 > /proc/sys/user/max_net_namespaces", flags: syscall.CLONE_NEWUSER,
			want: "network namespaces are switched off; set sysctl user.max_net_namespaces",
		},
		"a service manager that forbids network namespaces": {
			forbid: "true", filter: "namespaces",
			want: "network namespaces are forbidden; in a systemd service, set RestrictNamespaces=no",
		},
		"a service manager that forbids netlink": {
			forbid: "true", filter: "netlink", want: "add AF_NETLINK, AF_UNIX, AF_INET and AF_INET6 to RestrictAddressFamilies=",
		},
		"a service manager that forbids user namespaces": {
			forbid: "true", filter: "users", want: "a seccomp filter forbids user namespaces; in a systemd service",
		},
		"namespaces switched off": {
			forbid: "echo 0 > /proc/sys/user/max_user_namespaces", flags: syscall.CLONE_NEWUSER,
			want: "user namespaces are switched off; set sysctl user.max_user_namespaces",
		},
		"a container that hides parts of /proc": {
			// The kernel needs only one complete /proc, anywhere on the machine.
			forbid: `for p in $(awk '/ - proc /{print $5}' /proc/self/mountinfo); do mount -t tmpfs none $p/acpi || exit; done`,
			flags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			want:   "parts of /proc are hidden here",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("/bin/sh", "-c", test.forbid+` && exec "$@"`, "sh",
				self(t), "-test.run=^TestProbeHere$", "-test.v")
			cmd.Env = append(os.Environ(), "SANDBOX_TEST_PROBE=1", "SANDBOX_TEST_FORBID="+test.filter)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags: test.flags,
			}
			if test.flags != 0 {
				cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
				cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
			}
			got, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Skip(err)
			}
			if !strings.Contains(string(got), test.want) {
				t.Errorf("got\n%s\nwant %q", got, test.want)
			}
		})
	}
}

func TestProbeHere(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_PROBE") == "" {
		t.Skip("runs inside of TestProbeOnMachinesThatForbidIt")
	}
	if what := os.Getenv("SANDBOX_TEST_FORBID"); what != "" {
		forbid(t, what)
	}
	t.Log(Probe(t.Context(), Options{Exe: self(t)}))
}

// forbid installs a filter in this process, as service managers do.
func forbid(t *testing.T, what string) {
	t.Helper()
	clone := func(flags uint32) []bpf.Instruction {
		return []bpf.Instruction{
			bpf.LoadAbsolute{Off: offsetCall, Size: 4},
			equals(unix.SYS_CLONE, 1), unless(unix.SYS_UNSHARE, 3),
			argument(0), withoutBits(flags, 1), eperm, allow,
		}
	}
	program, err := bpf.Assemble(map[string][]bpf.Instruction{
		"namespaces": clone(unix.CLONE_NEWNET),
		"users":      clone(unix.CLONE_NEWUSER),
		"netlink": {
			bpf.LoadAbsolute{Off: offsetCall, Size: 4},
			unless(unix.SYS_SOCKET, 3),
			argument(0), unless(unix.AF_NETLINK, 1), noFamily, allow,
		},
	}[what])
	if err != nil {
		t.Fatal(err)
	}
	var code []unix.SockFilter
	for _, i := range program {
		code = append(code, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	filter := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		t.Fatal(errno)
	}
}

// An old bwrap is one that does not know the option.
func TestABwrapThatCannotDisableUserNamespaces(t *testing.T) {
	t.Parallel()
	open(t, Bubblewrap)
	old := filepath.Join(t.TempDir(), "bwrap")
	script := `
		printf '#!/bin/sh\nfor a; do [ "$a" = --disable-userns ] && exit 1; done; exec bwrap "$@"\n' > "$1"
		chmod 755 "$1"`
	if err := exec.Command("/bin/sh", "-c", script, "sh", old).Run(); err != nil {
		t.Fatal(err)
	}
	err := Probe(t.Context(), Options{Exe: self(t), Bwrap: old})
	if err == nil || !strings.Contains(err.Error(), "install bubblewrap 0.8 or newer") ||
		!strings.Contains(err.Error(), "--allow-user-namespaces") {
		t.Errorf("got %v, want an error that names the remedy", err)
	}
}

// On a busy machine, bwrap fails now and then. The worker asks again before it remembers the answer.
func TestABwrapThatFailsOnce(t *testing.T) {
	t.Parallel()
	open(t, Bubblewrap)
	busy := filepath.Join(t.TempDir(), "bwrap")
	script := `
		printf '#!/bin/sh\nfor a; do
			if [ "$a" = --disable-userns ] && mkdir %s 2>/dev/null; then exit 1; fi
		done; exec bwrap "$@"\n' "$1.failed" > "$1"
		chmod 755 "$1"`
	if err := exec.Command("/bin/sh", "-c", script, "sh", busy).Run(); err != nil {
		t.Fatal(err)
	}
	if err := (&bubblewrap{bwrap: busy}).tryDisableUsers(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(busy + ".failed"); err != nil {
		t.Errorf("it has not failed: %v", err)
	}
}

func TestTheOperatorCanAllowUserNamespaces(t *testing.T) {
	t.Parallel()
	open(t, Bubblewrap)
	s, err := New(Options{Exe: self(t), AllowUserNamespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	sp := spec(t, `unshare --user --map-root-user --mount mount -t tmpfs none /tmp && echo mounted`)
	seal(t, &sp)
	if got := output(t, s, sp); got != "mounted\n" {
		t.Errorf("got %q", got)
	}
}

// Workers rarely run as root, but tests often do. What is left out takes long and is the same for
// every user: the sandbox without walls, killed servers, and the count of a tree's files.
func TestEverythingAsAnUnprivilegedUser(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	if os.Getuid() != 0 {
		t.Skip("the tests run as an unprivileged user already")
	}
	same := "Test/^process$|TestFrozenServer|TestServerKilledWhile|" +
		"TestTreeThatUsesTooMuchIsEnded/^(empty_files|deep_folder)$"
	if out, err := asNobody(t, "-test.timeout=15m", "-test.skip="+same).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// asNobody returns a command that runs the tests of this binary as an unprivileged user.
func asNobody(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	const nobody = 65534
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tmp, exe := filepath.Join(dir, "tmp"), filepath.Join(dir, "sandbox.test")
	// Another process writes the file. If this process wrote it, a fork of a concurrent test might
	// still hold it open, and then it could not be executed.
	err := exec.Command("install", "-m", "755", self(t), exe).Run()
	program := filepath.Join(dir, "inside")
	err = errors.Join(err, os.WriteFile(program, smallProgram(t), 0o644))
	err = errors.Join(err, os.Mkdir(tmp, 0o700), os.Chown(tmp, nobody, nobody))
	for _, file := range []string{"go.mod", "docs/attacks.md"} { // for testkit.NewAttacks
		err = errors.Join(err, exec.Command("install", "-D", "-m", "644", "../../../"+file, filepath.Join(dir, file)).Run())
	}
	err = errors.Join(err, os.Chmod(filepath.Join(dir, "docs"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp, "SANDBOX_TEST_PROGRAM="+program)
	cmd.Dir = tmp
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}
