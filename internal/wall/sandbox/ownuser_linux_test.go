package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// hoarded is what a tree has got of what the kernel counts for each user.
type hoarded struct {
	watchers int // instances of inotify
	groups   int // of fanotify
	pipes    int // of 1 MiB
	size     int // of a new pipe
}

// mostHoarded is how many instances and groups a tree asks for, far more than the kernel allows a user.
const mostHoarded = 10_000

// hoard takes all that the kernel allows its user, and keeps it until its standard input ends. First
// it prints what it has got.
func hoard() {
	var got hoarded
	var first [2]int
	if err := unix.Pipe(first[:]); err == nil {
		got.size, _ = unix.FcntlInt(uintptr(first[0]), unix.F_GETPIPE_SZ, 0)
	}
	for ; got.watchers < mostHoarded; got.watchers++ {
		if _, err := unix.InotifyInit(); err != nil {
			break
		}
	}
	for ; got.groups < mostHoarded; got.groups++ {
		if _, err := newGroup(); err != nil {
			break
		}
	}
	for range 4000 { // their memory counts, even if they are not larger than usual
		var pipe [2]int
		if err := unix.Pipe(pipe[:]); err != nil {
			break
		}
		if _, err := unix.FcntlInt(uintptr(pipe[0]), unix.F_SETPIPE_SZ, 1<<20); err == nil {
			got.pipes++
		}
	}
	fmt.Println(got.watchers, got.groups, got.pipes, got.size)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// newGroup creates a group of fanotify as users without capabilities can.
func newGroup() (fd int, err error) {
	return unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY)
}

// startHoard starts a tree that takes all it can, and returns what it has got.
func startHoard(t *testing.T, s Sandbox, image *Image) (got hoarded) {
	t.Helper()
	sp := spec(t, "")
	sp.Image = image
	sp.Argv = []string{s.Layout(sp).Exe, "hoard"}
	r := start(t, s, sp)
	line, err := bufio.NewReader(r.Stdout()).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &got.watchers, &got.groups, &got.pipes, &got.size)
	}
	if err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return got
}

// A run takes all that the kernel allows its user. Another run and the worker still get theirs. Not
// parallel: other tests have the same user.
func TestAttackLimitsOfTheUser(t *testing.T) {
	tried := testkit.NewAttacks(t, section)
	tried.Run("all inotify instances of the worker's user", "a user of its own, or a share of them", func(t *testing.T) {
		for _, kind := range []string{Bubblewrap, ownUser} {
			s := openIf(t, kind)
			if s == nil {
				continue
			}
			for range 2 {
				if n := startHoard(t, s, nil).watchers; n == 0 || n >= mostHoarded {
					t.Errorf("%s: a run got %d", kind, n)
				}
			}
			fd, err := unix.InotifyInit()
			if err != nil {
				t.Errorf("%s: the worker: %v", kind, err)
			}
			_ = unix.Close(fd)
		}
	})
	tried.Run("all fanotify groups of the worker's user", "a user of its own, or a share of them", func(t *testing.T) {
		fd, err := newGroup()
		if err != nil {
			t.Skipf("this kernel has no groups of fanotify for users without capabilities: %v", err)
		}
		_ = unix.Close(fd)
		for _, kind := range []string{Bubblewrap, ownUser} {
			s := openIf(t, kind)
			if s == nil {
				continue
			}
			for range 2 {
				if n := startHoard(t, s, nil).groups; n == 0 || n >= mostHoarded {
					t.Errorf("%s: a run got %d", kind, n)
				}
			}
			fd, err := newGroup()
			if err != nil {
				t.Errorf("%s: the worker: %v", kind, err)
			}
			_ = unix.Close(fd)
		}
	})
	const pipesStoppedBy = "a user of its own, or pipes that do not grow"
	tried.Run("the memory for pipes of the worker's user", pipesStoppedBy, func(t *testing.T) {
		if n := startHoard(t, open(t, Bubblewrap), nil).pipes; n > 0 {
			t.Errorf("a run with the worker's user got %d large pipes", n)
		}
		s := openIf(t, ownUser)
		if s == nil {
			return
		}
		for _, image := range []*Image{nil, pulled(t), nil} {
			if got := startHoard(t, s, image); got.watchers == 0 || got.pipes == 0 || got.size != defaultPipe {
				t.Errorf("got %+v", got)
			}
		}
	})
}

// To the machine, a tree with its own user is nobody. Its files belong to the worker.
func TestFilesOfATreeWithItsOwnUserBelongToTheWorker(t *testing.T) {
	t.Parallel()
	s := open(t, ownUser)
	sp := spec(t, `id -u; stat -c %u . before
		umask 077; echo new > file; mkdir folder; ln -s file link; echo more >> before
		cat /lent/secret; read wait`)
	if err := os.WriteFile(filepath.Join(sp.Dir, "before"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "secret"), []byte("only for its owner\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sp.ReadOnly = []Mount{{Source: secret, Target: "/lent"}}
	r := start(t, s, sp)
	out := bufio.NewReader(r.Stdout())
	for _, want := range []string{"1000", "1000", "1000", "only for its owner"} {
		if line, err := out.ReadString('\n'); strings.TrimSpace(line) != want {
			t.Fatalf("got %q, %v, want %q", line, err, want)
		}
	}
	tree, ok := r.(*tree)
	if !ok {
		t.Fatal("another kind of sandbox")
	}
	for _, pid := range append(inside.Descendants(tree.pid()), tree.pid()) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil { // it has ended
			continue
		}
		if !strings.Contains(string(status), "Uid:\t2000") || !strings.Contains(string(status), "Groups:\t \n") {
			t.Errorf("process %d is not one of the run's user:\n%s", pid, status)
		}
	}
	for _, name := range []string{"before", "file", "folder", "link"} {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(sp.Dir, name), &stat); err != nil || stat.Uid != 0 || stat.Gid != 0 {
			t.Errorf("%s belongs to %d:%d (%v)", name, stat.Uid, stat.Gid, err)
		}
	}
}

// Two trees at the same time have two users; a user is free again after the end of its tree.
func TestEachTreeHasItsOwnUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give each tree a user of its own")
	}
	s, err := New(Options{Exe: self(t), Program: smallProgram(t), ProgramDir: programDir, Users: IDRange{2_100_000, 2}})
	if err != nil {
		t.Fatal(err)
	}
	wait := func() Spec { return spec(t, "echo; read wait") }
	one, other := start(t, s, wait()), start(t, s, wait())
	if _, err := s.Start(t.Context(), wait()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a third tree: got %v", err)
	}
	one.Kill()
	testkit.Eventually(t, 20*time.Second, func() error { // the user is free once its processes have ended
		third, err := s.Start(t.Context(), wait())
		if err == nil {
			third.Kill()
		}
		return err
	})
	other.Kill()
}

// Where the file system of the runs or of the layers cannot map owners, or images do not work, runs work
// all the same.
func TestNoUserOfItsOwnWhereFilesCannotHaveIt(t *testing.T) {
	t.Parallel()
	open(t, ownUser) // skips where no tree can have a user
	layer := func(t *testing.T, in string) string {
		dir := filepath.Join(in, "layer")
		if err := errors.Join(
			os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "private"), []byte("of the image\n"), 0o600),
		); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for name, test := range map[string]struct {
		runs, layers func(t *testing.T) string
		own          bool
		says         string
	}{
		"both can":      {temporary, temporary, true, ""},
		"runs cannot":   {withoutOwners, temporary, false, "map the owner of "},
		"layers cannot": {temporary, withoutOwners, false, "permission denied"},
		"images do not work": {func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "a:b")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			return dir
		}, temporary, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := Options{
				Exe: self(t), Program: smallProgram(t), ProgramDir: programDir, Users: IDRange{2_200_000, 100},
				Runs: test.runs(t), Layers: test.layers(t),
			}
			s, err := New(opts)
			if err != nil {
				t.Fatal(err)
			}
			why := SharesUser(s)
			if (why == nil) != test.own || why != nil && !strings.Contains(why.Error(), test.says) {
				t.Errorf("got %v", why)
			}
			sp := spec(t, `echo > written; cat written`)
			sp.Dir, sp.Home = filepath.Join(opts.Runs, "work"), filepath.Join(opts.Runs, "home")
			if err := errors.Join(os.Mkdir(sp.Dir, 0o700), os.Mkdir(sp.Home, 0o700)); err != nil {
				t.Fatal(err)
			}
			output(t, s, sp)
			if !strings.Contains(opts.Runs, ":") {
				sp.Image = &Image{Layers: []string{layer(t, opts.Layers)}, Dir: filepath.Join(opts.Runs, "image")}
				if err := os.Mkdir(sp.Image.Dir, 0o700); err != nil {
					t.Fatal(err)
				}
				sp.ReadOnly = hostPrograms()
				sp.Argv = []string{"/bin/cat", "/private"}
				if got := output(t, s, sp); got != "of the image\n" {
					t.Errorf("a run in an image got %q", got)
				}
			}
			for _, dir := range []string{opts.Runs, opts.Layers} {
				if left, err := filepath.Glob(filepath.Join(dir, ".trial-*")); err != nil || len(left) > 0 {
					t.Errorf("the trial left %v (%v)", left, err)
				}
			}
		})
	}
}

func temporary(t *testing.T) string { return t.TempDir() }

// withoutOwners returns a folder on a file system that cannot map owners, such as NFS.
func withoutOwners(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("ramfs", dir, "ramfs", 0, "mode=755"); err != nil {
		t.Skipf("mount a ramfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestSubordinateIDs(t *testing.T) {
	t.Parallel()
	line := func(ids string) string { return fmt.Sprintf("%d:%s\n", os.Getuid(), ids) }
	for name, test := range map[string]struct {
		subuid, subgid string
		want           IDRange
	}{
		"none":             {"", "", IDRange{}},
		"of another user":  {"somebody:100000:65536\n", "somebody:100000:65536\n", IDRange{}},
		"by number":        {"a:1:2\n" + line("100000:65536"), line("100000:100"), IDRange{100000, 100}},
		"not for groups":   {line("100000:65536"), "", IDRange{}},
		"other groups":     {line("100000:9"), line("200000:9"), IDRange{}},
		"not numbers":      {line("x:9"), line("x:9"), IDRange{}},
		"the users of all": {line("0:9"), line("0:9"), IDRange{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := [2]string{filepath.Join(dir, "subuid"), filepath.Join(dir, "subgid")}
			for i, content := range []string{test.subuid, test.subgid} {
				if err := os.WriteFile(files[i], []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := subordinateIDs(files[0], files[1]); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
