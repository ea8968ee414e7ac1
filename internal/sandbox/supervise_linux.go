package sandbox

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What the supervisor finds open. Its standard streams are those of the tree.
const (
	controlFD = 3 // an order, then ticks: its end, and its silence, are the order to kill
	reportFD  = 4 // reports, from the supervisor to the worker
	firstFD   = 3 // in the program: the first of order.Files
)

// order is what the worker sends to a supervisor, once.
type order struct {
	Argv, Env []string
	Dir       string
	// Files are contents that the program finds open for reading from
	// firstFD on. They are in no file system and on no command line.
	Files [][]byte
	// Apart gives the program /dev/null as standard input and output. The tree's own
	// are the two descriptors after Files, for a program further down.
	Apart bool
	// AwaitRead adds one more descriptor, a socket with one byte in it, and
	// holds back report.Started until the program has read that byte and closed the
	// socket; a program that dies instead has not started.
	AwaitRead bool
	// Root says that the worker is root, and so is, to the kernel, the tree: it may change
	// mode, owner and times of each file of the host that it can name, were it by a link in
	// /proc. So the program is executed from a copy, and devices are read-only where we may mount.
	Root bool
	// Silence is how long no tick may come.
	Silence time.Duration
}

// report is what a supervisor tells the worker: Started or Failed, and at the
// very end, when no process of the tree exists any more, Ended.
type report struct {
	Started bool
	PID     int
	Failed  string
	Ended   bool
	Code    int
}

// codeCannotExecute is a shell's exit code for a program that is not there.
const codeCannotExecute = 127

// Supervise is the whole of the hidden command "supervise", which only a
// sandbox starts. It runs one program, adopts every orphan that its tree
// leaves, and ends the tree as a whole when the program ends, when the worker
// says so, when the worker is gone, however it went, or frozen. It returns the exit
// code for this process.
func Supervise() int {
	// The parent-death signal below is sent when the thread that forked ends, and
	// PR_SET_NO_NEW_PRIVS and the session keyring belong to a thread: there is one
	// thread for all of them.
	runtime.LockOSThread()
	// A read with a deadline needs a pipe that does not block, and the runtime asks
	// for that when it is given the file.
	_ = unix.SetNonblock(controlFD, true)
	control, reports := os.NewFile(controlFD, "control"), os.NewFile(reportFD, "reports")
	if err := keepFromProgram(); err != nil {
		fmt.Fprintln(os.Stderr, "penstock supervise is started by a sandbox, never by hand:", err)
		return 2
	}
	over, end := signal.NotifyContext(context.Background(),
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	defer end()

	out := gob.NewEncoder(reports)
	s, err := supervise(control)
	if err != nil {
		_ = out.Encode(report{Failed: err.Error()})
		return 1
	}
	go func() {
		heed(control, s.silence)
		end()
	}()
	select {
	case err := <-s.started:
		if err != nil {
			s.end()
			_ = out.Encode(report{Failed: err.Error()})
			return 1
		}
		_ = out.Encode(report{Started: true, PID: s.pid})
	case <-over.Done():
	}
	select {
	case <-s.exited:
	case <-over.Done():
	}
	s.end()
	_ = out.Encode(report{Ended: true, Code: s.code})
	return 0
}

// heed returns when the worker has closed control, or has not been heard of for so
// long.
func heed(control *os.File, silence time.Duration) {
	ticks := make([]byte, 64)
	for {
		_ = control.SetReadDeadline(time.Now().Add(silence))
		_, err := control.Read(ticks)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// It may have been us who were stopped: then ticks lie there.
			_ = control.SetReadDeadline(time.Now().Add(silence / 10))
			_, err = control.Read(ticks)
		}
		if err != nil {
			return
		}
	}
}

// keepFromProgram has every descriptor above the standard streams closed in the
// program: ours, and those that whoever started the worker left open in it.
func keepFromProgram() error {
	for _, fd := range []int{controlFD, reportFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// supervised is the tree of one supervisor.
type supervised struct {
	silence time.Duration // see order
	pid     int
	started chan error    // one value: nil, or why the program has not started
	exited  chan struct{} // closed when the program has ended
	empty   chan struct{} // closed when no process of the tree exists
	code    int           // of the program; to be read after empty is closed
}

// supervise takes the order from control and starts its program.
func supervise(control io.Reader) (*supervised, error) {
	var o order
	if err := gob.NewDecoder(control).Decode(&o); err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	// Orphans come to us, not to the machine's init: a tree without children
	// of ours is a tree without processes.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become subreaper: %w", err)
	}
	// A process that became another user by a setuid program could not be killed.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := leaveSessionKeyring(); err != nil {
		return nil, err
	}
	if o.Root {
		if err := guardDevices(); err != nil && !errors.Is(err, os.ErrPermission) {
			return nil, err
		}
	}
	s := &supervised{
		silence: o.Silence,
		started: make(chan error, 1),
		exited:  make(chan struct{}),
		empty:   make(chan struct{}),
		code:    codeCannotExecute,
	}
	fds, ready, err := o.descriptors()
	if err != nil {
		return nil, err
	}
	s.pid, err = o.fork(fds)
	for _, fd := range fds {
		if fd >= firstFD {
			_ = unix.Close(int(fd))
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "penstock: cannot execute %s: %v\n", o.Argv[0], err)
	}
	if err := releaseStreams(); err != nil {
		return nil, err
	}
	go s.reap()
	if ready == nil {
		s.started <- nil
		return s, nil
	}
	go func() { s.started <- awaitRead(ready) }()
	return s, nil
}

// descriptors opens everything that the program finds open, in the order of the
// numbers it finds them at, and our end of the socket of AwaitRead.
func (o order) descriptors() (fds []uintptr, ready *os.File, err error) {
	fds = []uintptr{0, 1, 2}
	for _, content := range o.Files {
		fd, err := unix.MemfdCreate("penstock", unix.MFD_CLOEXEC)
		if err != nil {
			return nil, nil, fmt.Errorf("memfd_create: %w", err)
		}
		fds = append(fds, uintptr(fd))
		for len(content) > 0 {
			n, err := unix.Write(fd, content)
			if err != nil {
				return nil, nil, fmt.Errorf("write memfd: %w", err)
			}
			content = content[n:]
		}
		if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
			return nil, nil, fmt.Errorf("rewind memfd: %w", err)
		}
	}
	if o.Apart {
		for i := range 2 {
			null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, nil, fmt.Errorf("open %s: %w", os.DevNull, err)
			}
			fds, fds[i] = append(fds, fds[i]), uintptr(null)
		}
	}
	if !o.AwaitRead {
		return fds, nil, nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	if _, err := unix.Write(pair[0], []byte{0}); err != nil {
		return nil, nil, fmt.Errorf("write to socketpair: %w", err)
	}
	return append(fds, uintptr(pair[1])), os.NewFile(uintptr(pair[0]), "ready"), nil
}

// fork starts the program in a process group of its own, tied to our life.
func (o order) fork(fds []uintptr) (pid int, err error) {
	path, err := lookPath(o.Argv[0], o.Dir, o.Env)
	if err != nil {
		return 0, err
	}
	if o.Root {
		copied, err := copyProgram(path)
		if err != nil {
			return 0, err
		}
		defer copied.Close()
		path = copied.Name()
	}
	return syscall.ForkExec(path, o.Argv, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: fds,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// Enter is the whole of the hidden command "enter", the first program in a sandbox
// of kind Bubblewrap. Three descriptors come first in args: the environment, and what
// becomes the standard input and output. Enter becomes the program that follows them.
// It returns, with the exit code for this process, only where that cannot be.
func Enter(args []string) int {
	if len(args) <= entered {
		fmt.Fprintln(os.Stderr, "penstock enter is started by a sandbox, never by hand")
		return 2
	}
	runtime.LockOSThread() // a thread is restricted, and becomes the program
	program := args[entered:]
	err := become([entered]string(args), program)
	fmt.Fprintf(os.Stderr, "penstock: cannot execute %s: %v\n", program[0], err)
	return codeCannotExecute
}

// entered is how many descriptors Enter is given.
const entered = 3

func become(descriptors [entered]string, program []string) error {
	var fds [entered]int
	for i, text := range descriptors {
		fd, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		fds[i] = fd
	}
	file := os.NewFile(uintptr(fds[0]), "environment")
	text, err := io.ReadAll(file)
	_ = file.Close()
	if err != nil {
		return err
	}
	for i, fd := range fds[1:] {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return fmt.Errorf("take over standard stream %d: %w", i, err)
		}
		_ = unix.Close(fd) // the program has it once, and what that starts not at all
	}
	env := strings.Split(string(text), "\x00")
	path, err := lookPath(program[0], ".", env)
	if err != nil {
		return err
	}
	if err := scope(); err != nil {
		return err
	}
	return syscall.Exec(path, program, env) //nolint:gosec // it is what the sandbox is for
}

// lookPath finds program in the PATH of env, which is not ours.
func lookPath(program, dir string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	var list string
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			list = value
		}
	}
	for _, in := range filepath.SplitList(list) {
		if !filepath.IsAbs(in) {
			in = filepath.Join(dir, in)
		}
		path := filepath.Join(in, program)
		info, err := os.Stat(path) //nolint:gosec // it is to be executed
		if err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// awaitRead returns nil when the other end has read the byte that lies in its
// socket and closed it. The kernel tells: end of file, or a reset for a byte unread.
func awaitRead(ready *os.File) error {
	defer ready.Close()
	_, err := ready.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return errors.New("the sandbox was not set up")
}

// releaseStreams lets go of the tree's standard input and output, so that both
// ends are seen: a reader that is gone, and writers that are gone.
func releaseStreams() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer unix.Close(null)
	for fd := range 2 {
		if err := unix.Dup3(null, fd, 0); err != nil {
			return fmt.Errorf("release standard stream %d: %w", fd, err)
		}
	}
	return nil
}

// reap waits for every child we have or adopt. It returns when there is none,
// and then there is no process of the tree: whoever has an ancestor in the tree
// has us as the last one, and nobody but us is here to start another.
func (s *supervised) reap() {
	defer close(s.empty)
	ended := false
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			if !ended {
				close(s.exited)
			}
			return
		case pid == s.pid:
			s.code = status.ExitStatus()
			if status.Signaled() {
				s.code = 128 + int(status.Signal())
			}
			ended = true
			close(s.exited)
		}
	}
}

// end kills the tree and returns when it is empty. Processes that fork while
// they are counted are frozen first: a frozen one neither forks nor
// answers the death of another with a new one.
func (s *supervised) end() {
	const freezes = 100 // a tree that outruns these is killed as it runs
	frozen := map[int]bool{}
	for round := 0; ; round++ {
		fresh := false
		tree := descendants(os.Getpid())
		for _, pid := range tree {
			if !frozen[pid] {
				frozen[pid], fresh = true, true
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if fresh && round < freezes {
			continue
		}
		for _, pid := range tree {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-s.empty:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
