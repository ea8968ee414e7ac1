package run

import (
	"context"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Page is one page of runs.
type Page struct {
	Runs     []penstock.Run `json:"runs"`
	PageInfo store.PageInfo `json:"page_info"`
}

// queueOrder returns the positions of runs in the queue. For a list, they may be a second old.
// For a single run, they are current.
type queueOrder struct {
	mu      sync.Mutex
	at      time.Time
	waiting []store.WaitingRun            // the next one first
	known   map[string]bool               // by their ids
	placed  map[store.Want]map[string]int // the positions of runs with the same requirements, if a list has used them
}

// The limits for a list: the age of positions, and how many are computed. Runs further back
// have no position in a list.
const (
	orderMaxAge  = time.Second
	maxPositions = 10_000
)

// positions returns the position of each waiting run among the runs that wait for the same
// workers, from 1. A run that no worker can execute does not block others.
func (o *queueOrder) positions(
	ctx context.Context, db *store.Store, workers []store.Worker, runs []store.RunRow,
) (map[string]int, error) {
	switch len(runs) {
	case 0:
		return nil, nil //nolint:nilnil // no run, no position
	case 1:
		ahead, err := db.Queue.Ahead(ctx, runs[0].ID)
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
	if err := o.refresh(ctx, db, runs); err != nil {
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

// enumerate returns the positions of the runs with the same requirements.
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

// refresh reads the queue unless the last read is at most a second old and has all runs that
// can have a position. While the queue is short, a new run causes a new read.
func (o *queueOrder) refresh(ctx context.Context, db *store.Store, runs []store.RunRow) error {
	if time.Since(o.at) <= orderMaxAge && o.knows(runs) {
		return nil
	}
	waiting, err := db.Queue.Waiting(ctx, maxPositions)
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
