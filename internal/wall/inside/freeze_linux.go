package inside

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// allowances is how many steps the time between two ticks has. A tick is one byte: the number of
// steps for which the tree may run without another tick. 0 freezes it at once.
const allowances = 100

// Allowance returns the tick for the time that a tree may run.
func Allowance(left, silence time.Duration) byte {
	return byte(max(0, min(left*allowances/silence, allowances)))
}

// follow reads the ticks of the worker, and returns when the worker has closed control. If the time
// that the last tick allows is over, it freezes the tree: then the worker does not run, or its lease
// is about to expire, and another worker may get the run. The tree runs again after the next tick
// that allows it. A tree that is frozen loses nothing if nobody else took its run.
func (s *supervised) follow(control *os.File) {
	var over sync.WaitGroup
	defer over.Wait()
	defer s.allowed.Close()
	over.Go(func() {
		for expired := make([]byte, 8); ; {
			_, err := s.allowed.Read(expired)
			if errors.Is(err, os.ErrClosed) {
				return
			}
			s.freezeIf(func() bool { return err != nil || s.isOver() }) // a silent worker runs again, or control ends
			if err != nil {
				return
			}
		}
	})
	s.allow(s.silence)
	for ticks := make([]byte, 64); ; {
		n, err := control.Read(ticks)
		if err != nil {
			return
		}
		if s.allow(time.Duration(ticks[n-1]) * s.silence / allowances); ticks[n-1] == 0 {
			s.freeze()
		} else {
			s.thaw()
		}
	}
}

// newAllowance returns a timer that also counts the time for which the machine sleeps. The timers of
// the runtime do not.
func newAllowance() (*os.File, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	return os.NewFile(uintptr(fd), "timer"), nil
}

// allow sets the time after which the tree is frozen; 0 stops the timer.
func (s *supervised) allow(d time.Duration) {
	raw, err := s.allowed.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
	})
}

// isOver reports whether the allowed time is over: a tick may have come after the timer expired.
func (s *supervised) isOver() bool {
	var left unix.ItimerSpec
	raw, err := s.allowed.SyscallConn()
	if err != nil {
		return true // it is closed
	}
	_ = raw.Control(func(fd uintptr) { err = unix.TimerfdGettime(int(fd), &left) })
	return err != nil || left.Value == unix.Timespec{}
}

// freeze stops every process of the tree that is not stopped already. A process must be stopped
// before its children: a shell with job control would take a child for a job that its user has
// stopped.
func (s *supervised) freeze() { s.freezeIf(func() bool { return true }) }

// freezeIf is freeze if a condition holds, which no thaw can change meanwhile.
func (s *supervised) freezeIf(holds func() bool) {
	const rounds = 100 // after these, some processes continue each other, or hang in the kernel
	s.signals.Lock()
	defer s.signals.Unlock()
	if !holds() {
		return
	}
	if s.frozen == nil {
		s.frozen = map[int]uint64{}
	}
	patient := time.Now().Add(patience)
	for range rounds {
		running := false
		for _, pid := range Descendants(os.Getpid()) {
			stat, exists := ReadStat(pid)
			if !exists || stat.Stopped {
				continue
			}
			running = running || !stat.Zombie
			s.frozen[pid] = stat.Start
			_ = unix.Kill(pid, unix.SIGSTOP)
			awaitStop(pid, patient)
		}
		if !running {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// patience is how long a freeze waits for all processes together before it does not wait for each of them any more. The
// lease of the run lasts longer.
const patience = 2 * time.Second

// awaitStop returns when a process has stopped or ended. On a busy machine it takes a while until a process runs, and
// stops; until then it may look at its children once more. A process that hangs in the kernel does not, and nobody
// waits long for it.
func awaitStop(pid int, until time.Time) {
	const longest = 8 * time.Millisecond
	for wait := 20 * time.Microsecond; ; wait = min(2*wait, longest) {
		stat, exists := ReadStat(pid)
		ended := !exists || stat.Stopped || stat.Zombie
		if ended || stat.Hangs && wait == longest || time.Now().After(until) {
			return
		}
		<-time.After(wait)
	}
}

// thaw continues the processes that freeze has stopped, children first.
func (s *supervised) thaw() {
	s.signals.Lock()
	defer s.signals.Unlock()
	if len(s.frozen) == 0 {
		return
	}
	for _, pid := range slices.Backward(Descendants(os.Getpid())) {
		if stat, exists := ReadStat(pid); exists && s.frozen[pid] == stat.Start {
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	}
	s.frozen = nil
}

// end kills the tree and returns when it is empty. It freezes processes before it kills them:
// a frozen process cannot fork, nor start another when one dies.
func (s *supervised) end() {
	const freezes = 100 // after these, a tree that still grows is killed as it runs
	s.signals.Lock()
	defer s.signals.Unlock()
	frozen := map[int]bool{}
	const longest = 16 * time.Millisecond
	for round, pause := 0, time.Millisecond; ; round++ {
		select {
		case <-s.empty: // usually at once, because most programs leave nothing
			return
		default:
		}
		fresh := false
		tree := children(os.Getpid())
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
		case <-time.After(pause):
			pause = min(2*pause, longest)
		}
	}
}
