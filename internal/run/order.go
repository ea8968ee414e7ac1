package run

import (
	"context"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/store"
)

// queueOrder knows where runs stand in the queue. A list asks for many at once,
// and may be told what was so a second ago; who asks for one run is told how it
// is.
type queueOrder struct {
	mu      sync.Mutex
	at      time.Time
	waiting []store.WaitingRun            // the next one first
	known   map[string]bool               // by their ids
	placed  map[store.Want]map[string]int // the positions of those that ask for the same, as far as a list has had one
}

// A list's positions: how old they may be, and how many are worked out. A run
// further back has none in a list.
const (
	orderMaxAge  = time.Second
	maxPositions = 10_000
)

// positions says where runs that wait stand among those that wait for the same
// workers, from 1: who waits for what no worker has is in nobody's way.
func (o *queueOrder) positions(
	ctx context.Context, s *store.Store, workers []store.Worker, runs []store.RunRow,
) (map[string]int, error) {
	switch len(runs) {
	case 0:
		return nil, nil //nolint:nilnil // no run, no position
	case 1:
		ahead, err := s.Ahead(ctx, runs[0].ID)
		n := 0
		for want, count := range ahead {
			if store.Competes(workers, want, runs[0].Wants()) {
				n += count
			}
		}
		return map[string]int{runs[0].ID: n}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.refresh(ctx, s, runs); err != nil {
		return nil, err
	}
	n := make(map[string]int, len(runs))
	for _, r := range runs {
		want := r.Wants()
		if o.placed[want] == nil {
			o.placed[want] = enumerate(workers, o.waiting, want)
		}
		n[r.ID] = o.placed[want][r.ID]
	}
	return n, nil
}

// enumerate answers the positions of those that ask for want.
func enumerate(workers []store.Worker, waiting []store.WaitingRun, want store.Want) map[string]int {
	n := map[string]int{}
	competes := map[store.Want]bool{}
	position := 0
	for _, w := range waiting {
		in, known := competes[w.Want]
		if !known {
			in = store.Competes(workers, w.Want, want)
			competes[w.Want] = in
		}
		if in {
			position++
		}
		if w.Want == want {
			n[w.ID] = position
		}
	}
	return n
}

// refresh reads the queue, unless it was read a second ago at most and with all of the
// runs in it that can have a position: one that has come since is looked up at once,
// while the queue is short.
func (o *queueOrder) refresh(ctx context.Context, s *store.Store, runs []store.RunRow) error {
	if time.Since(o.at) <= orderMaxAge && o.knows(runs) {
		return nil
	}
	waiting, err := s.Waiting(ctx, maxPositions)
	if err != nil {
		return err
	}
	o.waiting, o.known, o.at = waiting, make(map[string]bool, len(waiting)), time.Now()
	o.placed = map[store.Want]map[string]int{}
	for _, w := range waiting {
		o.known[w.ID] = true
	}
	return nil
}

func (o *queueOrder) knows(runs []store.RunRow) bool {
	for _, r := range runs {
		if !o.known[r.ID] && len(o.known) < maxPositions {
			return false
		}
	}
	return true
}
