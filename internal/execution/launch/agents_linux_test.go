package launch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock"
)

// process is a process of the node.
type process struct {
	id      int
	command string // with its arguments
}

// processes lists the processes of the node.
func processes() (list []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && len(raw) > 0 {
			list = append(list, process{id, string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '}))})
		}
	}
	return list
}

// container returns the container of a process, by its cgroup.
func (p process) container() string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.id))
	for line := range strings.Lines(string(raw)) {
		if _, group, ok := strings.Cut(strings.TrimSpace(line), "/kubepods"); ok {
			return group
		}
	}
	return ""
}

// run returns the run of a worker in a Pod, by the name of the Pod.
func (p process) run() string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.id))
	for variable := range strings.SplitSeq(string(raw), "\x00") {
		if name, ok := strings.CutPrefix(variable, "PENSTOCK_HOST=penstock-"); ok && len(name) > 36 {
			return name[:36]
		}
	}
	return ""
}

// began returns when the process has begun, as the time since the machine has. The kernel rounds it
// down to 10 ms.
func (p process) began() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.id))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(after)
	if len(fields) < 20 {
		return 0, fmt.Errorf("the state of process %d has %d fields", p.id, len(fields))
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	return time.Duration(ticks) * 10 * time.Millisecond, err
}

// span is when the agent of one container worked.
type span struct {
	container  string
	begin, end time.Duration
}

// agents records when the agents of all Pods work.
type agents struct {
	t    *testing.T
	mu   sync.Mutex
	runs map[string]string // by container
	live map[int]bool
	all  map[string]span // by container
}

func watchAgents(t *testing.T) *agents {
	t.Helper()
	return &agents{t: t, runs: map[string]string{}, live: map[int]bool{}, all: map[string]span{}}
}

// run looks for new agents until ctx ends. The kernel says when one has begun and ended.
func (a *agents) run(ctx context.Context) {
	var ending sync.WaitGroup
	defer ending.Wait()
	for ctx.Err() == nil {
		for _, p := range processes() {
			worker := strings.Contains(p.command, "penstock worker --once")
			agent := strings.HasPrefix(p.command, "/opt/penstock/penstock agent") ||
				strings.HasPrefix(p.command, "/bin/sh -c sleep 2")
			if !worker && !agent {
				continue
			}
			group := p.container()
			if worker {
				a.belongs(group, p.run())
				continue
			}
			if group != "" && a.begin(p, group) {
				ending.Go(func() { a.end(ctx, p, group) })
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (a *agents) belongs(container, run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if container != "" && run != "" {
		a.runs[container] = run
	}
}

// begin returns false for an agent that is known.
func (a *agents) begin(p process, container string) bool {
	at, err := p.began()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil || a.live[p.id] {
		return false
	}
	a.live[p.id] = true
	s, known := a.all[container]
	if !known {
		s = span{container: container, begin: at}
	}
	s.begin = min(s.begin, at)
	a.all[container] = s
	return true
}

func (a *agents) end(ctx context.Context, p process, container string) {
	if err := waitEnd(ctx, p.id); err != nil {
		return
	}
	now := uptime()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.live, p.id)
	s := a.all[container]
	s.end = max(s.end, now)
	a.all[container] = s
}

// waitEnd returns nil once the process has ended.
func waitEnd(ctx context.Context, id int) error {
	handle, err := unix.PidfdOpen(id, 0)
	if err != nil {
		return nil // it has ended already
	}
	defer unix.Close(handle)
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 1000)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return ctx.Err()
}

// uptime is the time since the machine has begun.
func uptime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// none returns an error while an agent works.
func (a *agents) none() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.live) > 0 {
		return fmt.Errorf("%d processes of agents are alive", len(a.live))
	}
	return nil
}

// check fails if two agents of a run have worked at the same time, or if one was not seen.
func (a *agents) check(ends map[string]runEnd) {
	a.t.Helper()
	byRun := map[string][]span{}
	for container, s := range a.all {
		run, known := a.runs[container]
		if !known {
			a.t.Errorf("an agent worked in the container %s, whose run is not known", container)
		}
		byRun[run] = append(byRun[run], s)
	}
	worked := 0
	for run, spans := range byRun {
		worked += len(spans)
		slices.SortFunc(spans, func(s, o span) int { return cmp.Compare(s.begin, o.begin) })
		for i, s := range spans[1:] {
			if before := spans[i]; s.begin+10*time.Millisecond < before.end {
				a.t.Errorf("two agents of run %s worked at once, for %s: %s", run, before.end-s.begin, ends[run].said())
			}
		}
	}
	for id, r := range ends {
		if r.State == penstock.StateSucceeded && len(byRun[id]) == 0 {
			a.t.Errorf("run %s has succeeded, but no agent was seen", id)
		}
	}
	a.t.Logf("%d agents of %d runs worked", worked, len(byRun))
}
