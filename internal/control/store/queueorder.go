package store

import (
	"context"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Workers lists the connected workers.
func (qu queueReads) Workers(ctx context.Context) ([]Worker, error) {
	rows, err := qu.q.query(ctx, "SELECT "+workerFields.selected+`, COALESCE(working.n, 0)
		FROM workers w
		LEFT JOIN (
			SELECT worker_id, count(*) AS n
			FROM queue
			WHERE token <> ''
			GROUP BY worker_id
		) AS working ON working.worker_id = w.id
		WHERE w.last_seen_at > $1
		ORDER BY w.host, w.id`, int64(penstock.Now().Add(-WorkerSeenFor)))
	return collect(qu.q.store(), rows, err, "workers", func(w *Worker) []any { return workerFields.into(w, &w.Working) })
}

// Competes reports whether runs that want a and b compete for a worker: one worker can execute
// both. If no worker can execute b, they compete only if a equals b.
func Competes(workers []Worker, a, b Want) bool {
	able := slices.ContainsFunc(workers, func(w Worker) bool { return w.Can(b) })
	if !able {
		return a == b
	}
	return slices.ContainsFunc(workers, func(w Worker) bool { return w.Can(a) && w.Can(b) })
}

// Ahead counts the waiting runs up to this one in the queue, including itself, by what they want.
// It is empty if the run does not wait.
func (qu Queue) Ahead(ctx context.Context, runID string) (map[Want]int, error) {
	type count struct {
		place
		n int
	}
	rows, err := qu.s.query(ctx, "SELECT "+wantFields.selected+`, count(*)
		FROM queue q, queue mine
		WHERE mine.run_id = $1
			AND mine.token = ''
			AND q.token = ''
			AND (q.enqueued_at, q.run_id) <= (mine.enqueued_at, mine.run_id)
		GROUP BY `+wantFields.selected, runID)
	counts, err := collect(qu.s, rows, err, "the queue", func(c *count) []any { return wantFields.into(&c.place, &c.n) })
	out := make(map[Want]int, len(counts))
	for _, c := range counts {
		out[c.Want] = c.n
	}
	return out, err
}

// WaitingRun is a waiting run with its requirements.
type WaitingRun struct {
	ID string
	Want
}

// place is a run's place in the queue.
type place struct {
	WaitingRun
	team string
	at   penstock.Time
	// ready is when a worker may claim the run.
	ready penstock.Time
}

// place returns the place of a run that waits since at.
func (r RunRow) place(at penstock.Time) *place {
	return &place{WaitingRun{r.ID, r.Wants()}, r.Team, at, r.ReadyAt}
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
		storedNumber("ready_at", func(q *place) penstock.Time { return q.ready }),
	)
	wantFields = queueFields.without("run_id")
)

// Waiting lists the waiting runs, the next one first.
func (qu Queue) Waiting(ctx context.Context, limit int) ([]WaitingRun, error) {
	rows, err := qu.s.query(ctx, "SELECT "+queueFields.selected+`
		FROM queue q
		WHERE q.token = ''
		ORDER BY q.enqueued_at, q.run_id
		LIMIT $1`, limit)
	list, err := collect(qu.s, rows, err, "the queue", func(q *place) []any { return queueFields.into(q) })
	runs := make([]WaitingRun, len(list))
	for i, q := range list {
		runs[i] = q.WaitingRun
	}
	return runs, err
}

// slotUse is a run that occupies a slot of a worker, or that waits for one.
type slotUse struct {
	place
	worker string // "" if the run waits
}

// slotUses lists the runs that workers execute, and the newest runs that wait, up to waiting. It is
// one statement, so that a run that is claimed at this moment is in the list, and is in it once.
func (qu QueueTx) slotUses(ctx context.Context, waiting int) ([]slotUse, error) {
	rows, err := qu.tx.query(ctx, "SELECT "+queueFields.selected+`, q.worker_id
		FROM queue q
		WHERE q.token <> ''
		UNION ALL
		SELECT *
		FROM (
			SELECT `+queueFields.selected+`, ''
			FROM queue q
			WHERE q.token = ''
			ORDER BY q.enqueued_at DESC, q.run_id DESC
			LIMIT $1
		) AS waiting`, waiting)
	return collect(qu.tx.s, rows, err, "the use of slots", func(u *slotUse) []any {
		return queueFields.into(&u.place, &u.worker)
	})
}

// recent is how many waiting runs are counted in addition to the slots. These are the newest runs,
// which a worker with a free slot may not have claimed yet. If an older run still waits, no worker
// with a free slot can execute it.
const recent = 100

// markCapacity finds out for each new run whether a worker has a slot for it. It compares the slots
// of the workers that can execute the run with the runs that work on them or wait for them,
// including the new one.
func (qu QueueTx) markCapacity(ctx context.Context, members []*createRun) error {
	if len(members) == 0 {
		return nil
	}
	workers, err := qu.Workers(ctx)
	if err != nil {
		return err
	}
	free := vacancies{workers, map[Want]int{}}
	most := 0
	for _, m := range members {
		most = max(most, free.add(m.run.Wants()))
	}
	if most > 0 {
		uses, err := qu.slotUses(ctx, most+recent)
		if err != nil {
			return err
		}
		for _, u := range uses {
			free.use(u)
		}
	} else {
		clear(free.slots)
	}
	for _, m := range members {
		if m.unfunded != nil {
			continue
		}
		want := m.run.Wants()
		m.atCapacity = free.slots[want] <= 0
		free.queue(want)
	}
	return nil
}

// vacancies are the slots that are left for runs, by what the runs want.
type vacancies struct {
	workers []Worker
	slots   map[Want]int
}

// add counts all slots of the workers that can execute want, and returns how many of them no run
// occupies.
func (v vacancies) add(want Want) (vacant int) {
	v.slots[want] = 0
	for _, w := range v.workers {
		if w.Can(want) {
			v.slots[want] += w.Capacity
			vacant += w.Capacity - w.Working
		}
	}
	return vacant
}

func (v vacancies) use(u slotUse) {
	if u.worker == "" {
		v.queue(u.Want)
		return
	}
	i := slices.IndexFunc(v.workers, func(w Worker) bool { return w.ID == u.worker })
	if i < 0 {
		return
	}
	for want := range v.slots {
		if v.workers[i].Can(want) {
			v.slots[want]--
		}
	}
}

// queue takes a slot from each kind of run that competes with one that wants by.
func (v vacancies) queue(by Want) {
	for want := range v.slots {
		if Competes(v.workers, by, want) {
			v.slots[want]--
		}
	}
}

// Length counts a team's runs that wait for a worker.
func (qu Queue) Length(ctx context.Context, team string) (n int64, err error) {
	err = qu.s.row(
		ctx, `SELECT count(*)
			FROM runs
			WHERE team = $1 AND state = $2`, team, string(penstock.StateQueued),
	).Scan(&n)
	return n, qu.s.d.mapError(err)
}
