package sandbox

import (
	"context"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// The pause between two measurements depends on their duration, so that they cost at most a
// twentieth of a processor.
const (
	pauseFactor = 20
	minPause    = 100 * time.Millisecond
)

// gauge measures one resource of a tree that the kernel does not limit for us.
type gauge struct {
	resource Resource
	limit    int64
	maxPause time.Duration
	use      func(context.Context) int64
}

// watch measures what t uses until ctx ends, and returns when no measurement is under way.
func (t *tree) watch(ctx context.Context) {
	var all sync.WaitGroup
	for _, g := range t.gauges {
		all.Go(func() {
			for begin := time.Now(); ; begin = time.Now() {
				t.check(ctx, g)
				select {
				case <-ctx.Done():
					return
				case <-time.After(min(max(pauseFactor*time.Since(begin), minPause), g.maxPause)):
				}
			}
		})
	}
	all.Wait()
}

// check ends the tree if it uses more than g allows. A tree that changes while it is
// measured may have been counted twice in part, so one measurement is not enough.
func (t *tree) check(ctx context.Context, g gauge) {
	for range 2 {
		if g.use(ctx) <= g.limit || ctx.Err() != nil {
			return
		}
	}
	t.exceeding.Do(func() {
		t.exceeded = g.resource
		if t.onExceeded != nil {
			t.onExceeded(g.resource)
		}
		t.end()
	})
}

// lastCheck finds what the tree did since the last measurement. No process is left.
func (t *tree) lastCheck() {
	t.ended.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, g := range t.gauges {
		t.check(ctx, g)
	}
}

// processTable is what all measurements of this process share. A table takes some milliseconds of
// processor time, and each tree needs one for each measurement.
var processTable sharedTable

// sharedTable is a table of processes that is read anew when it is older than a moment.
type sharedTable struct {
	mu    sync.Mutex
	at    time.Time
	table inside.Table
}

func (s *sharedTable) descendants(pid int) []int {
	const recent = minPause / 2
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > recent {
		s.table, s.at = inside.Processes(), time.Now()
	}
	return s.table.Below(pid)
}

// gaugesOf returns the gauges for the limits of spec that group does not enforce.
func (t *tree) gaugesOf(spec Spec) (all []gauge) {
	processes := func() []int {
		if t.ended.Load() {
			return nil // see lastCheck
		}
		return processTable.descendants(t.pid())
	}
	enforced, _ := t.limits()
	if limit := spec.Limits.Memory; limit > 0 && !enforced {
		all = append(all, gauge{Memory, limit, 2 * time.Second, func(context.Context) int64 {
			return memoryUse(processes(), limit)
		}})
	}
	if limit := spec.Limits.Disk; limit > 0 {
		all = append(all, gauge{Disk, limit, 30 * time.Second, func(ctx context.Context) int64 {
			dirs := []string{spec.Dir, spec.Home}
			if spec.Image != nil {
				dirs = append(dirs, spec.Image.Changes())
			}
			return diskUse(ctx, limit, dirs, processes)
		}})
	}
	return all
}
