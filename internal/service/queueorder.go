package service

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
	waiting []store.WaitingRun // the next one first
	known   map[string]bool    // by their ids
}

// A list's positions: how old they may be, and how many are worked out. A run
// further back has none in a list.
const (
	orderLasts = time.Second
	orderKnown = 10_000
)

// positions says where runs that wait stand among those that wait for the same
// workers, from 1: who waits for what no worker has is in nobody's way.
func (o *queueOrder) positions(ctx context.Context, s *store.Store, workers []store.Worker, runs []store.RunRow) (map[string]int, error) {
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
	waiting, err := o.look(ctx, s, runs)
	if err != nil {
		return nil, err
	}
	n, placed := map[string]int{}, map[store.Want]bool{}
	for _, r := range runs {
		if want := r.Wants(); !placed[want] {
			placed[want] = true
			enumerate(n, workers, waiting, want)
		}
	}
	return n, nil
}

// enumerate gives those that ask for want their positions.
func enumerate(n map[string]int, workers []store.Worker, waiting []store.WaitingRun, want store.Want) {
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
}

// look answers the queue as it was a second ago at most, and with all of the runs in
// it that can have a position: one that has come since is looked up at once, while
// the queue is short.
func (o *queueOrder) look(ctx context.Context, s *store.Store, runs []store.RunRow) ([]store.WaitingRun, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.at) <= orderLasts && o.knows(runs) {
		return o.waiting, nil
	}
	waiting, err := s.Waiting(ctx, orderKnown)
	if err != nil {
		return nil, err
	}
	o.waiting, o.known, o.at = waiting, make(map[string]bool, len(waiting)), time.Now()
	for _, w := range waiting {
		o.known[w.ID] = true
	}
	return waiting, nil
}

func (o *queueOrder) knows(runs []store.RunRow) bool {
	for _, r := range runs {
		if !o.known[r.ID] && len(o.known) < orderKnown {
			return false
		}
	}
	return true
}
