package store

import (
	"context"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Workers lists the workers that are connected.
func (s *Store) Workers(ctx context.Context) ([]Worker, error) { return s.workers(ctx, s) }

func (s *Store) workers(ctx context.Context, q querier) ([]Worker, error) {
	rows, err := q.query(ctx, `SELECT id, host, version, platform, local, strict_image, harnesses, providers, capacity, busy, COALESCE(n, 0), connected_at, last_seen_at FROM workers
		LEFT
		JOIN (SELECT worker_id,
			count(*) AS n FROM queue WHERE token <> '' GROUP BY worker_id) AS working ON worker_id = id
		WHERE last_seen_at > $1 ORDER BY host, id`, int64(penstock.Now().Add(-WorkerSeenFor)))
	var lists [][2]string
	workers, err := collect(s, rows, err, "workers", func(w *Worker) []any {
		lists = append(lists, [2]string{})
		list := &lists[len(lists)-1]
		return []any{
			&w.ID, &w.Host, &w.Version, &w.Platform, &w.Local, &w.StrictImage, &list[0], &list[1], &w.Capacity, &w.Busy,
			&w.Working, &w.ConnectedAt, &w.LastSeenAt,
		}
	})
	for i := range workers {
		workers[i].Harnesses, workers[i].Providers = listed(lists[i][0]), listed(lists[i][1])
	}
	return workers, err
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
		Want
		n int
	}
	rows, err := s.query(ctx, `SELECT q.harness, q.worker_host, q.platform, q.provider, q.image, count(*)
		FROM queue q, queue mine
		WHERE mine.run_id = $1
			AND mine.token = ''
			AND q.token = ''
			AND (q.enqueued_at, q.run_id) <= (mine.enqueued_at, mine.run_id)
		GROUP BY q.harness, q.worker_host, q.platform, q.provider, q.image`, runID)
	counts, err := collect(s, rows, err, "the queue", func(c *count) []any { return append(c.columns(), &c.n) })
	out := make(map[Want]int, len(counts))
	for _, c := range counts {
		out[c.Want] = c.n
	}
	return out, err
}

// WaitingRun is a run that waits, and what it asks for.
type WaitingRun struct {
	ID string
	Want
}

// Waiting lists the runs that wait, the next one first.
func (s *Store) Waiting(ctx context.Context, limit int) ([]WaitingRun, error) {
	rows, err := s.query(ctx, `SELECT run_id, harness, worker_host, platform, provider, image
		FROM queue
		WHERE token = ''
		ORDER BY enqueued_at, run_id
		LIMIT $1`, limit)
	return collect(s, rows, err, "the queue", func(w *WaitingRun) []any { return append([]any{&w.ID}, w.columns()...) })
}

// columns are the places of harness, worker_host, platform, provider and image.
func (w *Want) columns() []any {
	return []any{&w.Harness, &w.Host, &w.Platform, &w.Provider, &w.Image}
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
		rows, err := tx.query(
			ctx,
			`SELECT run_id, harness, worker_host, platform, provider, image
				FROM queue
				WHERE token = ''
				ORDER BY enqueued_at DESC, run_id DESC
				LIMIT $1`,
			most+recent,
		)
		if waiting, err = collect(
			tx.s, rows, err, "the queue", func(w *WaitingRun) []any { return append([]any{&w.ID}, w.columns()...) },
		); err != nil {
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
