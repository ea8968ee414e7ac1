package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// seal makes sp sealed, and returns the listener of its relay.
func seal(t testing.TB, sp *Spec) *net.UnixListener {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay-") //nolint:usetesting // paths in t.TempDir are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sp.Relay = filepath.Join(dir, "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: sp.Relay, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func TestASealedProgramReachesItsRelayAlone(t *testing.T) {
	eachKind(t, func(t *testing.T, s Sandbox) {
		if Isolates(s.Kind()) {
			reachRelayAlone(t, s)
		}
	})
}

func reachRelayAlone(t *testing.T, s Sandbox) {
	t.Helper()
	sp := spec(t, `grep -vc lo: /proc/net/dev; getent hosts example.com; cat /proc/net/route | wc -l; "$1" attack relay`)
	sp.Argv = append(sp.Argv, s.Layout(sp).Exe)
	listener := seal(t, &sp)
	go func() {
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("from the worker"))
			_ = conn.Close()
		}
	}()
	r := start(t, s, sp)
	if p := r.Proof(); len(p.Checked) == 0 || p.Took <= 0 {
		t.Errorf("got the proof %v", p)
	}
	r.Kill()
	// Two lines of heading, and one.
	if got, want := output(t, s, sp), "2\n1\nfrom the worker\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// leaks are changes to the arguments of bwrap that a proof must notice.
var leaks = map[string]struct {
	change func(args []string) []string
	want   []string
}{
	"leak-network": {
		func(a []string) []string { return without(a, "--unshare-net", 0) },
		[]string{"the worker's namespace net", "the worker's own listener (tcp4)", "the worker's own listener (unix)"},
	},
	"leak-processes": {
		func(a []string) []string { return without(a, "--unshare-pid", 0) }, []string{"the worker's namespace pid"},
	},
	"leak-mount": {
		func(a []string) []string { return slices.Insert(a, 0, "--ro-bind", "/etc", "/opt/etc") },
		[]string{"mount /opt/etc"},
	},
	"leak-mount-in-the-workspace": {
		func(a []string) []string {
			return slices.Insert(a, slices.Index(a, insideDir)+1, "--ro-bind", "/etc", insideDir)
		},
		[]string{"another file or directory at /workspace"},
	},
	"leak-writing": {
		func(a []string) []string { a[slices.Index(a, "/usr")-1] = "--bind"; return a }, []string{"writing to /usr"},
	},
	"leak-interrupts": {
		func(a []string) []string {
			i := slices.Index(a, "/proc/interrupts")
			return slices.Delete(a, i-2, i+1)
		},
		[]string{"/proc/interrupts (its mount is missing)"},
	},
	"leak-environment": {
		func(a []string) []string { return append(a, "--setenv", "LEAKED", "1") }, []string{"environment variable LEAKED"},
	},
	"leak-calls": {
		func(a []string) []string { return without(a, "--seccomp", 1) },
		[]string{"all system calls (no filter)", "system call clone3"},
	},
	"leak-users": {
		func(a []string) []string { return without(without(a, "--seccomp", 1), "--disable-userns", 0) },
		[]string{"user namespaces"},
	},
}

// without removes an option and its values.
func without(args []string, option string, values int) []string {
	i := slices.Index(args, option)
	return slices.Delete(args, i, i+1+values)
}

// leak is a bwrap that applies the leak of its name to its arguments.
func leak() int {
	bwrap, err := inside.LookPath("bwrap", "/", []string{"PATH=" + defaultPath})
	if err == nil && slices.Contains(os.Args, "--args") {
		err = changeArgs(leaks[filepath.Base(os.Args[0])].change)
	}
	if err == nil {
		err = unix.Exec(bwrap, append([]string{bwrap}, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func changeArgs(change func([]string) []string) error {
	content, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", inside.FirstFD))
	if err != nil {
		return err
	}
	args := strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
	fd, err := unix.MemfdCreate("args", 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte(strings.Join(change(args), "\x00")+"\x00")); err != nil {
		return err
	}
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return err
	}
	return unix.Dup3(fd, inside.FirstFD, 0)
}

func TestAProofNamesWhatIsOpenAndTheProgramNeverRuns(t *testing.T) {
	t.Parallel()
	open(t, Bubblewrap)
	for name, test := range leaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bwrap := filepath.Join(t.TempDir(), name)
			if err := os.Symlink(self(t), bwrap); err != nil {
				t.Fatal(err)
			}
			s, err := New(Options{Exe: self(t), Program: smallProgram(t), ProgramDir: programDir, Bwrap: bwrap})
			if err != nil {
				t.Fatal(err)
			}
			sp := spec(t, `touch ran`)
			seal(t, &sp)
			r, err := s.Start(t.Context(), sp)
			if err == nil {
				_, _ = r.Wait()
			}
			var open *OpenError
			if !errors.As(err, &open) {
				t.Fatalf("got %v, want an OpenError", err)
			}
			for _, want := range test.want {
				if !slices.Contains(open.Open, want) {
					t.Errorf("got %q, want %q among them", open.Open, want)
				}
			}
			if _, err := os.Stat(filepath.Join(sp.Dir, "ran")); err == nil {
				t.Error("the program ran")
			}
		})
	}
}

func TestASocketThatOthersCanReachIsNotUsedAsRelay(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	for name, test := range map[string]struct {
		change func(sp *Spec) error
		want   string
	}{
		"no socket":          {func(sp *Spec) error { return os.Remove(sp.Relay) }, "no such file"},
		"an open directory":  {func(sp *Spec) error { return os.Chmod(filepath.Dir(sp.Relay), 0o755) }, "0700"},
		"a file":             {func(sp *Spec) error { sp.Relay = self(t); return nil }, "is not a socket"},
		"a relative path":    {func(sp *Spec) error { sp.Relay = "s"; return nil }, "not an absolute path"},
		"a link to a socket": {func(sp *Spec) error { sp.Relay += "l"; return os.Symlink("s", sp.Relay) }, "is not a socket"},
	} {
		sp := spec(t, "exit 0")
		seal(t, &sp)
		if err := test.change(&sp); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(t.Context(), sp); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	sp := spec(t, "exit 0")
	seal(t, &sp)
	_, err := open(t, Process).Start(t.Context(), sp)
	if err == nil || !strings.Contains(err.Error(), "cannot be sealed") {
		t.Errorf("the kind process: got %v", err)
	}
}

func TestProcessNeedsTheFlag(t *testing.T) {
	t.Parallel()
	for _, probe := range []func() error{
		func() error { return Probe(t.Context(), Options{Kind: Process, Exe: self(t)}) },
		func() error { _, err := New(Options{Kind: Process, Exe: self(t)}); return err },
	} {
		if err := probe(); err == nil || !strings.Contains(err.Error(), "--allow-open-network") {
			t.Errorf("got %v, want an error that names the flag", err)
		}
	}
}
