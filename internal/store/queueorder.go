package store

import (
	"context"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Workers lists the workers that are connected.
func (s *Store) Workers(ctx context.Context) ([]Worker, error) { return s.workers(ctx, s) }

func (s *Store) workers(ctx context.Context, q querier) ([]Worker, error) {
	rows, err := q.query(ctx, "SELECT "+workerFields.selected+`, COALESCE(working.n, 0)
		FROM workers w
		LEFT JOIN (
			SELECT worker_id, count(*) AS n
			FROM queue
			WHERE token <> ''
			GROUP BY worker_id
		) AS working ON working.worker_id = w.id
		WHERE w.last_seen_at > $1
		ORDER BY w.host, w.id`, int64(penstock.Now().Add(-WorkerSeenFor)))
	return collect(s, rows, err, "workers", func(w *Worker) []any { return workerFields.into(w, &w.Working) })
}

// Competes reports whether runs that ask for a and for b wait for the same workers:
// one of them can execute both. Where none can execute b, that is who asks for the
// same.
func Competes(workers []Worker, a, b Want) bool {
	able := slices.ContainsFunc(workers, func(w Worker) bool { return w.Can(b) })
	if !able {
		return a == b
	}
	return slices.ContainsFunc(workers, func(w Worker) bool { return w.Can(a) && w.Can(b) })
}

// Ahead counts the runs that wait and have waited at least as long as this one, itself
// included, by what they ask for. It is empty for a run that does not wait.
func (s *Store) Ahead(ctx context.Context, runID string) (map[Want]int, error) {
	type count struct {
		place
		n int
	}
	rows, err := s.query(ctx, "SELECT "+wantFields.selected+`, count(*)
		FROM queue q, queue mine
		WHERE mine.run_id = $1
			AND mine.token = ''
			AND q.token = ''
			AND (q.enqueued_at, q.run_id) <= (mine.enqueued_at, mine.run_id)
		GROUP BY `+wantFields.selected, runID)
	counts, err := collect(s, rows, err, "the queue", func(c *count) []any { return wantFields.into(&c.place, &c.n) })
	out := make(map[Want]int, len(counts))
	for _, c := range counts {
		out[c.Want] = c.n
	}
	return out, err
}

// WaitingRun is a run that waits, and what it requires.
type WaitingRun struct {
	ID string
	Want
}

// place is a run's place in the queue.
type place struct {
	WaitingRun
	team string
	at   penstock.Time
}

// place is the place of a run that waits from then on.
func (r RunRow) place(at penstock.Time) *place {
	return &place{WaitingRun{r.ID, r.Wants()}, r.Team, at}
}

// queueFields are the columns of a place in the queue that no lease changes.
var (
	queueFields = newResource("queue", "q",
		textColumn("run_id", func(q *place) *string { return &q.ID }),
		storedText("team", func(q *place) string { return q.team }),
		storedNumber("enqueued_at", func(q *place) penstock.Time { return q.at }),
		textColumn("harness", func(q *place) *string { return &q.Harness }),
		textColumn("worker_host", func(q *place) *string { return &q.Host }),
		flagColumn("image", func(q *place) *bool { return &q.Image }),
		textColumn("platform", func(q *place) *string { return &q.Platform }),
		textColumn("provider", func(q *place) *string { return &q.Provider }),
	)
	wantFields = queueFields.without("run_id")
)

// Waiting lists the runs that wait, the next one first.
func (s *Store) Waiting(ctx context.Context, limit int) ([]WaitingRun, error) {
	return s.waiting(ctx, s, "ORDER BY q.enqueued_at, q.run_id", limit)
}

func (s *Store) waiting(ctx context.Context, q querier, order string, limit int) ([]WaitingRun, error) {
	rows, err := q.query(ctx, "SELECT "+queueFields.selected+`
		FROM queue q
		WHERE q.token = ''
		`+order+`
		LIMIT $1`, limit)
	list, err := collect(s, rows, err, "the queue", func(q *place) []any { return queueFields.into(q) })
	runs := make([]WaitingRun, len(list))
	for i, q := range list {
		runs[i] = q.WaitingRun
	}
	return runs, err
}

// recent is how many runs that wait are looked at beyond the slots: those that came
// last, which a worker with a free slot has not had the time to claim. Of those that
// wait for long no worker can execute one while it has a free slot.
const recent = 100

// markCapacity finds out for each new run whether a worker has a slot for it: all
// that works on the workers that can execute it or waits for them, itself
// included, against the slots there are.
func (tx *Tx) markCapacity(ctx context.Context, members []*createRun) error {
	if len(members) == 0 {
		return nil
	}
	workers, err := tx.s.workers(ctx, tx)
	if err != nil {
		return err
	}
	free := map[Want]int{} // slots; of all members before the one in hand they are taken
	most := 0
	for _, m := range members {
		want := m.run.Wants()
		if _, known := free[want]; known {
			continue
		}
		for _, w := range workers {
			if w.Can(want) {
				free[want] += w.Capacity - w.Working
			}
		}
		most = max(most, free[want])
	}
	var waiting []WaitingRun
	if most > 0 {
		waiting, err = tx.s.waiting(ctx, tx, "ORDER BY q.enqueued_at DESC, q.run_id DESC", most+recent)
		if err != nil {
			return err
		}
	}
	take := func(by Want) {
		for want := range free {
			if Competes(workers, by, want) {
				free[want]--
			}
		}
	}
	for _, w := range waiting {
		take(w.Want)
	}
	for _, m := range members {
		want := m.run.Wants()
		m.atCapacity = free[want] <= 0
		take(want)
	}
	return nil
}
