package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// The processes of a worker that runs as root own the host's files, whatever user they appear to
// be. Without the copy, a chmod of /proc/1/exe ends all runs.
func TestBubblewrapOfRootIsACopy(t *testing.T) {
	t.Parallel()
	s := openAsRoot(t)
	bwrap := s.bwrap
	before := stat(t, bwrap)
	// Without enter, which hides bwrap from the tree if the kernel can.
	sp := spec(t, "")
	argv := append([]string{bwrap}, namespaces()...)
	argv = append(argv, "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/sh", "-c",
		`readlink /proc/1/exe; for exe in /proc/[0-9]*/exe; do touch -d @1 $exe; chown 1000:1000 $exe; chmod 0 $exe; `+
			`done; true`)
	for range 2 {
		tree, err := s.launch(t.Context(), inside.Order{Argv: argv, Env: []string{}, Dir: "/", Root: true}, sp)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(tree.Stdout())
		exit, err2 := tree.Wait()
		if err != nil || err2 != nil || exit.Code != 0 || !strings.HasPrefix(string(said), "/memfd:bwrap") {
			t.Errorf("got %v, %v, %v:\n%s", exit, err, err2, said)
		}
	}
	if after := stat(t, bwrap); after != before {
		t.Errorf("bwrap was %s and is %s", before, after)
	}
}

// openAsRoot creates a sandbox with a copy of bwrap, so that the test cannot damage the machine's
// bwrap.
func openAsRoot(t *testing.T) *bubblewrap {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only the tree of a worker that is root owns files of the host")
	}
	s, ok := open(t, Bubblewrap).(*bubblewrap)
	if !ok {
		t.Fatal("another kind of sandbox")
	}
	bwrap := filepath.Join(t.TempDir(), "bwrap")
	if err := exec.Command("install", "-m", "755", s.bwrap, bwrap).Run(); err != nil {
		t.Fatal(err)
	}
	s.bwrap = bwrap
	return s
}

func TestRunOfRootDoesNotChangeTheHostsFiles(t *testing.T) {
	t.Parallel()
	s, own := openAsRoot(t), self(t)
	before := stat(t, own)
	sp := spec(t, `
		for file in /proc/[0-9]*/exe "$1" /usr/bin/env; do
			touch -c -d @1 $file && echo "times of $file"
			chown 1000:1000 $file && echo "owner of $file"
			chmod 755 $file && echo "mode of $file"
		done 2>/dev/null
		for file in $2; do
			chmod 666 $file 2>/dev/null && echo "mode of $file"
		done
		cat; head -c 1 /dev/zero | wc -c; echo x > /dev/null && [ -r /dev/urandom ] && echo devices`)
	shared := "/proc/1/fd/0 /proc/1/fd/1 " + strings.Join(inside.Devices, " ")
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Log("this root may not mount, so that the devices are not looked at:", err)
		shared = ""
	}
	sp.Argv = append(sp.Argv, s.Layout(sp).Exe, shared)
	r := start(t, s, sp)
	if tree, ok := r.(*tree); ok {
		here, _ := tree.keeper.(*local)
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", here.program)); err != nil ||
			!strings.HasPrefix(exe, "/memfd:bwrap") {
			t.Errorf("the sandbox is executed from %s, %v", exe, err)
		}
	}
	_ = r.Stdin().Close()
	got, err := io.ReadAll(r.Stdout())
	exit, err2 := r.Wait()
	if err != nil || err2 != nil || exit.Code != 0 || string(got) != "1\ndevices\n" {
		t.Errorf("it ends with %v (%v, %v) and changes\n%s", exit, err, err2, got)
	}
	if after := stat(t, own); after != before {
		t.Errorf("this program was %s and is %s", before, after)
	}
}

// stat returns the properties of a file that a run must not change.
func stat(t *testing.T, file string) string {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("mode %o, owner %d:%d, modified %d", s.Mode, s.Uid, s.Gid, s.Mtim.Nano())
}
