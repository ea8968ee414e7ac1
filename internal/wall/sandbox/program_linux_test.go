package sandbox

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// smallProgram builds the program that production starts in and around sandboxes. The test binary
// takes its place only where a test asks for it.
func smallProgram(t testing.TB) []byte {
	t.Helper()
	program, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var buildProgram = sync.OnceValues(func() ([]byte, error) {
	if file := os.Getenv("SANDBOX_TEST_PROGRAM"); file != "" { // see asNobody
		return os.ReadFile(file)
	}
	dir, err := os.MkdirTemp("", "penstock-inside-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "inside")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", file, "../../../cmd/penstock-inside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return os.ReadFile(file)
})

// openWith opens a sandbox with a program in dir.
func openWith(t *testing.T, program []byte, dir string) Sandbox {
	t.Helper()
	open(t, Bubblewrap) // skips the test if it cannot
	s, err := New(Options{Exe: self(t), Program: program, ProgramDir: dir, AllowOpenNetwork: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hello checks that trees start.
func hello(t *testing.T, s Sandbox) {
	t.Helper()
	if got := output(t, s, spec(t, "echo hello")); got != "hello\n" {
		t.Errorf("got %q", got)
	}
}

// sealed returns sp with a relay.
func sealed(t *testing.T, sp Spec) Spec {
	t.Helper()
	seal(t, &sp)
	return sp
}

// relayOf returns the process of a tree's relay.
func relayOf(t *testing.T, r *tree) int {
	t.Helper()
	for _, pid := range inside.Descendants(r.pid()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(line, []byte("\x00"+inside.RelayArg+"\x00")) {
			return pid
		}
	}
	t.Fatal("there is no relay")
	return 0
}

// programIn returns the only program in a folder.
func programIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder has %q, %v", files, err)
	}
	return files[0]
}

func TestSupervisorAndRelayAreTheSmallProgram(t *testing.T) {
	t.Parallel()
	s, dir := open(t, Bubblewrap), ""
	if b, ok := s.(*bubblewrap); ok {
		dir = filepath.Dir(b.program.path)
	}
	sp := sealed(t, spec(t, "read wait"))
	r := start(t, s, sp)
	tree, ok := r.(*tree)
	if !ok {
		t.Fatal("another kind of tree")
	}
	relay := relayOf(t, tree)
	for name, pid := range map[string]int{"supervisor": tree.pid(), "relay": relay} {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if os.Geteuid() != 0 && errors.Is(err, os.ErrPermission) {
			continue // the relay hides from its user
		}
		if err != nil || exe != insideProgram && filepath.Dir(exe) != dir {
			t.Errorf("the %s is executed from %q, %v", name, exe, err)
		}
	}
}

// A folder may be on a file system that lets nothing run, as /tmp often is.
func TestProgramOnAFileSystemWithoutExecution(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, "size=16m"); err != nil {
		t.Skip("this user may not mount:", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	s := openWith(t, smallProgram(t), dir)
	if why := StartsSlowly(s); !errors.Is(why, os.ErrPermission) || !strings.Contains(why.Error(), dir) {
		t.Errorf("the reason is %v", why)
	}
	hello(t, s)
}

// An embedded program can be one for another processor, or cut short.
func TestProgramThatCannotBeExecuted(t *testing.T) {
	t.Parallel()
	foreign := bytes.Clone(smallProgram(t))
	machine := elf.EM_AARCH64
	if binary.LittleEndian.Uint16(foreign[18:]) == uint16(machine) {
		machine = elf.EM_X86_64
	}
	binary.LittleEndian.PutUint16(foreign[18:], uint16(machine))
	for name, program := range map[string][]byte{
		"none": nil, "for another processor": foreign, "cut short": smallProgram(t)[:100],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openWith(t, program, t.TempDir())
			if StartsSlowly(s) == nil {
				t.Error("it is used")
			}
			hello(t, s)
		})
	}
}

func TestProgramIsReplacedUnlessItIsIntact(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(file string) error{
		"other content": func(file string) error {
			return errors.Join(os.Chmod(file, 0o755), os.WriteFile(file, make([]byte, len(smallProgram(t))), 0o600),
				os.Chmod(file, programMode))
		},
		"cut short": func(file string) error {
			return errors.Join(os.Chmod(file, 0o755), os.Truncate(file, 1000), os.Chmod(file, programMode))
		},
		"others write it": func(file string) error { return os.Chmod(file, 0o777) },
		"not executable":  func(file string) error { return os.Chmod(file, 0o444) },
		"a link": func(file string) error {
			return errors.Join(os.Rename(file, file+".moved"), os.Symlink(file+".moved", file))
		},
		"another owner": func(file string) error {
			if os.Geteuid() != 0 {
				return os.Remove(file)
			}
			return os.Chown(file, 1234, 1234)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			hello(t, openWith(t, smallProgram(t), dir))
			file := programIn(t, dir)
			if err := spoil(file); err != nil {
				t.Fatal(err)
			}
			s := openWith(t, smallProgram(t), dir)
			info, err := os.Lstat(file)
			content, err2 := os.ReadFile(file)
			if err != nil || err2 != nil || info.Mode() != programMode || !bytes.Equal(content, smallProgram(t)) {
				t.Errorf("the file is %v, %v, %v", info.Mode(), err, err2)
			}
			if owner := stat(t, file); !strings.Contains(owner, fmt.Sprintf("owner %d:", os.Geteuid())) {
				t.Errorf("the file has %s", owner)
			}
			if why := StartsSlowly(s); why != nil {
				t.Error(why)
			}
		})
	}
}

// Somebody may clean the folder while a worker runs.
func TestProgramThatIsLostIsPlacedAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "inside")
	s := openWith(t, smallProgram(t), dir)
	for range 2 {
		hello(t, s)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	hello(t, s)
}

// A worker starts other processes while it places the program. They must not keep the kernel from
// executing it.
func TestProgramIsPlacedWhileOthersFork(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var forks sync.WaitGroup
	defer forks.Wait()
	defer stop()
	for range 4 {
		forks.Go(func() {
			for ctx.Err() == nil {
				_ = exec.CommandContext(ctx, "/bin/true").Run()
			}
		})
	}
	for range 60 {
		if _, err := placeProgram(t.TempDir(), smallProgram(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder keeps some programs of other versions, which may be in use, and no more.
func TestOldProgramsAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := smallProgram(t)
	for version := range 5 {
		p, err := placeProgram(dir, append(bytes.Clone(program), byte(version)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(p.path); err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != keptPrograms {
		t.Errorf("the folder has %v, %v", files, err)
	}
}

// CVE-2019-5736: a program of a sandbox must not write to what the host executes.
func TestProgramCannotBeChangedFromASandbox(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Bubblewrap, ownUser, Docker} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := open(t, kind)
			file := programOf(t, s)
			before := stat(t, file)
			sp := sealed(t, spec(t, `
				for file in /proc/[0-9]*/exe "$1"; do
					printf x >> $file && echo "content of $file"
					touch -c -d @1 $file && echo "times of $file"
					chmod 777 $file && echo "mode of $file"
				done 2>/dev/null
				true`, insideProgram))
			r := start(t, s, sp)
			got, err := io.ReadAll(r.Stdout())
			if exit, err2 := r.Wait(); err != nil || err2 != nil || exit.Code != 0 || len(got) > 0 {
				t.Errorf("it ends with %v (%v, %v) and changes\n%s", exit, err, err2, got)
			}
			content, err := os.ReadFile(file)
			if after := stat(t, file); err != nil || after != before || !bytes.Equal(content, smallProgram(t)) {
				t.Errorf("the program was %s and is %s, %v", before, after, err)
			}
		})
	}
}

// programOf returns the file of the program that a sandbox starts.
func programOf(t *testing.T, s Sandbox) string {
	t.Helper()
	var m machine
	switch s := s.(type) {
	case *bubblewrap:
		m = s.machine
	case *dockerKind:
		m = s.machine
	}
	if m.program == nil {
		t.Fatalf("it starts no small program: %v", m.noProgram)
	}
	return m.program.path
}
