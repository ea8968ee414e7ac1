package inside

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The open descriptors of the supervisor, see also passedFD. It shares its standard streams with the tree.
const (
	ControlFD = 3 // an order, then ticks; the tree is frozen when it is silent and killed when it ends
	ReportFD  = 4 // reports, from the supervisor to the worker
	ProofFD   = 5 // only with order.Proof: a socket between the worker and enter
	FirstFD   = 3 // in the program: the first of order.Files
)

// Order is what the worker sends to a supervisor, once.
type Order struct {
	Argv, Env []string
	Dir       string
	// Files are contents that the program can read from descriptors, from FirstFD on. They
	// are in no file system and on no command line.
	Files [][]byte
	// Apart gives the program /dev/null as standard input and output. The tree's are the two
	// descriptors after Files, for a program that it starts.
	Apart bool
	// Proof passes ProofFD on as the next descriptor.
	Proof bool
	// AwaitRead adds one more descriptor, a socket with one byte in it. report.Started is
	// sent when the program has read that byte and closed the socket. A program that dies
	// instead has not started.
	AwaitRead bool
	// Root means that the worker is root. To the kernel the tree then is root too, and may
	// change mode, owner and times of each file of the host that it can name, even by a link
	// in /proc. So the program is executed from a copy, and devices are read-only if we may
	// mount.
	Root bool
	// User, unless it is 0, is the user of the supervisor and the tree. Lent is what the worker lends
	// to that user; see LentAt.
	User int
	Lent []Lent
	// Bounds are written to files of /proc/sys/user, if possible, for all that the program starts.
	Bounds map[string]int
	// Overlay, unless it is nil, is mounted before the program starts.
	Overlay *Overlay
	// Silence is the longest time that the tree may run after a tick. See allowance.
	Silence time.Duration
}

// Report is a message of a supervisor to the worker: first Started or Failed, and at the
// end, when no process of the tree exists, Ended.
type Report struct {
	Started bool
	PID     int
	Failed  string
	Ended   bool
	Code    int
}

// CodeCannotExecute is the exit code of a shell for a program that does not exist.
const CodeCannotExecute = 127

// supervise is the command "supervise". It runs one
// program and adopts every orphan of its tree. It kills the whole tree when the program ends,
// when the worker asks for it, and when the worker is gone. While the worker is stopped, the tree is
// frozen. It returns the exit code for this process.
func supervise() int { return superviseUntil(nil, 0) }

// superviseUntil is supervise, which also ends when the file of alive ends, unless that is nil. passed is
// added to the numbers of its descriptors.
func superviseUntil(alive *os.File, passed int) int {
	// The parent-death signal below is sent when the thread that forked ends, and
	// PR_SET_NO_NEW_PRIVS and the session keyring belong to a thread. So one thread does all
	// of it.
	runtime.LockOSThread()
	// A read with a deadline needs a non-blocking pipe, and the runtime checks that when the
	// file is created.
	_ = unix.SetNonblock(passed+ControlFD, true)
	control := os.NewFile(uintptr(passed+ControlFD), "control")
	reports := os.NewFile(uintptr(passed+ReportFD), "reports")
	if err := keepFromProgram(passed); err != nil {
		fmt.Fprintln(os.Stderr, "penstock supervise is started by a sandbox, never by hand:", err)
		return 2
	}
	over, end := signal.NotifyContext(context.Background(),
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	defer end()

	out := gob.NewEncoder(reports)
	s, err := superviseTree(control, passed+ProofFD)
	if err != nil {
		_ = out.Encode(Report{Failed: err.Error()})
		return 1
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		s.follow(control)
		end()
	}()
	if alive != nil {
		go func() {
			_, _ = io.Copy(io.Discard, alive)
			end()
		}()
	}
	select {
	case err := <-s.started:
		if err != nil {
			s.end()
			_ = out.Encode(Report{Failed: err.Error()})
			return 1
		}
		_ = out.Encode(Report{Started: true, PID: s.pid})
	case <-over.Done():
	}
	select {
	case <-s.exited:
	case <-over.Done():
	}
	s.end()
	_ = out.Encode(Report{Ended: true, Code: s.code})
	<-released // the worker may still ask the kernel what the tree has done
	return 0
}

// keepFromProgram closes all descriptors above the standard streams in the program: ours, and
// those that the worker inherited.
func keepFromProgram(passed int) error {
	for _, fd := range []int{passed + ControlFD, passed + ReportFD} {
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
	silence time.Duration  // see order
	allowed *os.File       // a timer: how long the tree may run; see newAllowance
	signals sync.Mutex     // held while the tree is frozen, thawed or killed
	frozen  map[int]uint64 // the processes that follow has stopped, with their start
	pid     int
	started chan error    // one value: nil, or why the program has not started
	exited  chan struct{} // closed when the program has ended
	empty   chan struct{} // closed when no process of the tree exists
	code    int           // exit code of the program; read it after empty is closed
}

// superviseTree reads the order from control and starts its program. proof is the descriptor for
// order.Proof.
func superviseTree(control io.Reader, proof int) (*supervised, error) {
	var o Order
	if err := gob.NewDecoder(control).Decode(&o); err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	// We adopt orphans instead of the machine's init. So if we have no children, the tree has
	// no processes.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become subreaper: %w", err)
	}
	// We could not kill a process that became another user by a setuid program.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := leaveSessionKeyring(); err != nil {
		return nil, err
	}
	if o.User != 0 {
		if err := becomeUser(o.User, o.Lent); err != nil {
			return nil, err
		}
	} else if o.Root {
		if err := guardDevices(); err != nil && !errors.Is(err, os.ErrPermission) {
			return nil, err
		}
	}
	allowed, err := newAllowance()
	if err != nil {
		return nil, err
	}
	s := &supervised{
		silence: o.Silence,
		allowed: allowed,
		started: make(chan error, 1),
		exited:  make(chan struct{}),
		empty:   make(chan struct{}),
		code:    CodeCannotExecute,
	}
	fds, ready, err := o.descriptors(proof)
	if err != nil {
		return nil, err
	}
	s.pid, err = o.fork(fds)
	for _, fd := range fds {
		if fd >= FirstFD {
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

// descriptors opens the program's descriptors, in the order of their numbers there, and our
// end of the socket of AwaitRead.
func (o Order) descriptors(proof int) (fds []uintptr, ready *os.File, err error) {
	fds = []uintptr{0, 1, 2}
	for _, content := range o.Files {
		fd, err := memoryFile(content)
		if err != nil {
			return nil, nil, err
		}
		fds = append(fds, fd)
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
	if o.Proof {
		fds = append(fds, uintptr(proof))
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

// memoryFile returns a descriptor of a file in memory.
func memoryFile(content []byte) (uintptr, error) {
	fd, err := unix.MemfdCreate("penstock", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("memfd_create: %w", err)
	}
	for len(content) > 0 {
		n, err := unix.Write(fd, content)
		if err != nil {
			return 0, errors.Join(fmt.Errorf("write memfd: %w", err), unix.Close(fd))
		}
		content = content[n:]
	}
	if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
		return 0, errors.Join(fmt.Errorf("rewind memfd: %w", err), unix.Close(fd))
	}
	return uintptr(fd), nil
}

// fork starts the program in a new process group. It is killed when we end.
func (o Order) fork(fds []uintptr) (pid int, err error) {
	path, err := LookPath(o.Argv[0], o.Dir, o.Env)
	if err != nil {
		return 0, err
	}
	if o.Root && o.User == 0 {
		copied, err := copyProgram(path)
		if err != nil {
			return 0, err
		}
		defer copied.Close()
		path = copied.Name()
	}
	if o.Overlay != nil || len(o.Bounds) > 0 {
		return o.forkMounting(path, fds)
	}
	return syscall.ForkExec(path, o.Argv, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: fds,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// awaitRead returns nil when the other end has read the byte in its socket and closed it. A
// socket that is closed with the byte unread is reset by the kernel.
func awaitRead(ready *os.File) error {
	defer ready.Close()
	_, err := ready.Read(make([]byte, 1))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return errors.New("the sandbox was not set up")
}

// releaseStreams closes our copies of the tree's standard input and output. Otherwise the other
// ends would not see the end of the last reader and writer.
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

// reap waits for every child that we have or adopt. It returns when none is left. Then the
// tree has no process, because each process of the tree descends from one of our children.
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
