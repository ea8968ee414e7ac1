package sandbox

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// machine starts trees on this machine, each under its own supervisor.
type machine struct {
	exe       string
	program   *placed // nil: exe takes its place
	noProgram error   // why
	limits    *limiter
	silence   time.Duration // see Options
}

// tree is a process tree of this machine. It is Running.
type tree struct {
	*streams
	keeper
	proof Proof

	gauges     []gauge
	onExceeded func(Resource)
	exceeding  sync.Once
	exceeded   Resource // set within exceeding, read when the watch is over
	ended      atomic.Bool

	ending sync.Once
	done   chan struct{} // closed when no process of the tree exists
	exit   Exit          // to be read after done is closed
	err    error         // likewise
}

// keeper is where the supervisor of a tree runs, with the limits of the tree.
type keeper interface {
	// pid is the supervisor's, as this process sees it.
	pid() int
	// begun is called when the program has started, with its process ID as the supervisor numbers it.
	begun(program int)
	// wake lets a supervisor run that was stopped.
	wake()
	// fate is called when the supervisor has ended the tree (ended), and not itself, or is gone. It
	// returns whether the kernel has killed a process of the tree for memory, and what has ended the
	// tree, if that was neither the program nor this process.
	fate(ended bool) (outOfMemory bool, lost error)
	// wait returns when the supervisor has ended and nothing of it is left.
	wait()
	// limits reports whether the limit of memory is enforced, and returns the text of Running.Limits.
	limits() (memory bool, text string)
}

// local is a supervisor that is a child of this process.
type local struct {
	*cgroup
	supervisor *exec.Cmd
	program    int // also its process group
}

func (l *local) pid() int { return l.supervisor.Process.Pid }
func (l *local) wake()    { _ = l.supervisor.Process.Signal(unix.SIGCONT) }

func (l *local) limits() (memory bool, text string) { return l.memory != "", l.says }

func (l *local) begun(program int) {
	l.program = program
	l.release(l.pid())
}

func (l *local) fate(bool) (outOfMemory bool, lost error) { return l.outOfMemory(), nil }

func (l *local) wait() {
	if err := l.supervisor.Wait(); err != nil && l.program > 0 {
		// Somebody killed the supervisor. The program dies with it; of the rest we kill what
		// we can name.
		_ = unix.Kill(-l.program, unix.SIGKILL)
	}
	l.remove()
}

// launch starts a supervisor with order o. It returns when the program has started.
func (m *machine) launch(ctx context.Context, o inside.Order, spec Spec) (*tree, error) {
	return m.begin(ctx, o, spec, m.superviseHere)
}

// superviseHere starts a supervisor beside this process.
func (m *machine) superviseHere(_ context.Context, s *streams, spec Spec) (keeper, error) {
	// The supervisor gets nothing of our environment, and no directory to pin.
	m.replaceLost()
	supervisor := &exec.Cmd{
		Path: m.starter(), Args: []string{"penstock", "supervise"}, Dir: "/", Env: []string{"GOMAXPROCS=1"},
		Stdin: s.theirs[0], Stdout: s.theirs[1], Stderr: s.theirs[2],
		ExtraFiles: s.theirs[inside.ControlFD:],
		// In a new session, a terminal's Ctrl-C reaches us and not the tree.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := supervisor.Start(); err != nil {
		return nil, fmt.Errorf("sandbox: start supervisor: %w", err)
	}
	// It waits for its order, so nothing of the tree runs outside of the limits.
	return &local{cgroup: m.limits.group(spec.Limits, supervisor.Process.Pid), supervisor: supervisor}, nil
}

// begin lets supervise start a supervisor, which gets their ends of the streams, and gives it order
// o. It returns when the program has started.
func (m *machine) begin(
	ctx context.Context, o inside.Order, spec Spec, supervise func(context.Context, *streams, Spec) (keeper, error),
) (*tree, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := openStreams(spec)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	t := &tree{streams: s, onExceeded: spec.Exceeded, done: make(chan struct{})}
	t.keeper, err = supervise(ctx, s, spec)
	s.closeTheirs()
	if err != nil {
		s.closeOurs()
		return nil, err
	}

	unbind := context.AfterFunc(ctx, t.end)
	in := gob.NewDecoder(s.reports)
	var first inside.Report
	o.Silence = m.silence
	err = gob.NewEncoder(s.control).Encode(o)
	if err == nil {
		go t.tick(m.silence, spec.Left)
		err = in.Decode(&first)
	}
	if err != nil || !first.Started {
		unbind()
		t.end()
		t.wait()
		defer s.closeOurs()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, startError(first, s.lastWords())
	}
	t.begun(first.PID)
	t.gauges = t.gaugesOf(spec)
	go func() {
		defer close(t.done)
		defer unbind()
		t.await(in)
	}()
	return t, nil
}

// startError says why a tree has not started: by the last line that the sandbox program
// printed, or else by the supervisor's report.
func startError(r inside.Report, words string) error {
	lines := strings.Split(strings.TrimSpace(words), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return fmt.Errorf("sandbox: %s", last)
	}
	if r.Failed != "" {
		return fmt.Errorf("sandbox: %s", r.Failed)
	}
	return errors.New("sandbox: the supervisor ended before it started anything")
}

// await waits for the end of the tree and removes all that is left of it.
func (t *tree) await(in *gob.Decoder) {
	watching, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { t.watch(watching) })
	var last inside.Report
	_ = in.Decode(&last)
	outOfMemory, lost := t.fate(last.Ended)
	t.err = lost
	_ = t.control.Close() // the supervisor waits for it
	t.wait()
	stop()
	watch.Wait()
	t.exit.Code = last.Code
	if !last.Ended {
		// Somebody killed the supervisor.
		t.err = cmp.Or(t.err, errors.New("sandbox: the supervisor was killed from outside"))
		t.exit.Code = 128 + int(unix.SIGKILL)
	}
	t.lastCheck()
	t.exit.Exceeded = t.exceeded
	if outOfMemory { // the kernel may have chosen the supervisor
		t.exit.Exceeded, t.err = Memory, nil
	}
	_ = t.reports.Close()
	t.finishStderr()
}

// tick tells the supervisor regularly how long the tree may run, until the end of the tree.
func (t *tree) tick(silence time.Duration, left func() time.Duration) {
	if left == nil {
		left = func() time.Duration { return silence }
	}
	clock := time.NewTicker(silence / 20)
	defer clock.Stop()
	for {
		select {
		case <-t.done:
			return
		case <-clock.C:
			// The pipe holds hours of ticks that a stopped supervisor does not read.
			if _, err := t.control.Write([]byte{inside.Allowance(left(), silence)}); err != nil {
				return
			}
		}
	}
}

// end makes the supervisor kill the tree, and does not wait.
func (t *tree) end() { t.endAs(func() {}) }

// endAs is end. It calls note before, unless the tree is ended already.
func (t *tree) endAs(note func()) {
	t.ending.Do(func() {
		note()
		_ = t.control.Close()
		t.wake() // a tree of kind Process could have stopped its supervisor
	})
}

func (t *tree) Stdin() io.WriteCloser { return t.stdin }
func (t *tree) Stdout() io.ReadCloser { return t.stdout }
func (t *tree) Proof() Proof          { return t.proof }

func (t *tree) Limits() string {
	_, text := t.limits()
	return text
}

func (t *tree) Wait() (Exit, error) {
	<-t.done
	return t.exit, t.err
}

func (t *tree) Kill() {
	t.end()
	<-t.done
}

// streams are the pipes and sockets between us and a supervisor with its tree.
type streams struct {
	stdin, stdout, control, reports *os.File
	proving                         *os.File // nil unless the tree must be sealed

	stderr *os.File // nil if it goes to stdout
	copied chan struct{}
	tail   Tail

	theirs []*os.File // by their number in the supervisor
}

// openStreams opens all of them, and starts to copy the standard error if that has its own stream.
func openStreams(spec Spec) (*streams, error) {
	s := &streams{theirs: make([]*os.File, inside.ReportFD+1)}
	var err error
	open := func(pair func() (a, b *os.File, err error)) (a, b *os.File) {
		if err == nil {
			a, b, err = pair()
		}
		return a, b
	}
	if spec.Sockets {
		s.theirs[0], s.stdin = open(socketPair)
		s.theirs[1], s.stdout = open(socketPair)
	} else {
		s.theirs[0], s.stdin = open(os.Pipe)
		s.stdout, s.theirs[1] = open(os.Pipe)
	}
	s.theirs[2] = s.theirs[1]
	w := spec.Stderr
	if w != nil {
		s.stderr, s.theirs[2] = open(os.Pipe)
	}
	s.theirs[inside.ControlFD], s.control = open(os.Pipe)
	s.reports, s.theirs[inside.ReportFD] = open(os.Pipe)
	if spec.Relay != "" {
		theirs, ours := open(proofPair)
		s.theirs, s.proving = append(s.theirs, theirs), ours
	}
	if err != nil {
		s.closeTheirs()
		s.closeOurs()
		return nil, err
	}
	if w != nil {
		s.copied = make(chan struct{})
		go func() {
			defer close(s.copied)
			// The tree must never block because its standard error is not read.
			if _, err := io.Copy(io.MultiWriter(&s.tail, w), s.stderr); err != nil {
				_, _ = io.Copy(io.Discard, s.stderr)
			}
		}()
	}
	return s, nil
}

// socketPair connects a descriptor of the tree, which blocks as programs expect, and one of
// ours.
func socketPair() (theirs, ours *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	if err := unix.SetNonblock(pair[1], true); err != nil {
		return nil, nil, errors.Join(
			fmt.Errorf("set a socket non-blocking: %w", err), unix.Close(pair[0]), unix.Close(pair[1]),
		)
	}
	return os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket"), nil
}

// finishStderr returns when all of the standard error is written. Once the tree has ended, it
// returns immediately, unless the tree passed its standard error to a process outside, for which we
// do not wait.
func (s *streams) finishStderr() {
	if s.stderr != nil {
		_ = s.stderr.SetReadDeadline(time.Now().Add(time.Second))
		<-s.copied
		_ = s.stderr.Close()
	}
}

// lastWords returns the end of the output of a tree that has not started.
func (s *streams) lastWords() string {
	if s.stderr == nil {
		_ = s.stdout.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(&s.tail, s.stdout)
	}
	s.finishStderr()
	return s.tail.String()
}

func (s *streams) closeTheirs() {
	for _, f := range s.theirs {
		_ = f.Close() // a second close, or one of a nil file, is an error and nothing more
	}
}

func (s *streams) closeOurs() {
	for _, f := range []*os.File{s.stdin, s.stdout, s.control, s.reports, s.stderr, s.proving} {
		_ = f.Close()
	}
}
