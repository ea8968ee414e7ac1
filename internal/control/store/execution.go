package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// WorkerExecution is a run that a connected worker has.
type WorkerExecution struct {
	RunID       string         `json:"run_id"`
	ExecutionID int            `json:"execution_id"`
	Title       string         `json:"title"`
	State       penstock.State `json:"state"`
	Since       penstock.Time  `json:"since"` // when the state, or what it waits for, began
	// Waiting is set from the claim of a launcher until the worker in the Pod has started.
	Waiting *PodWait `json:"waiting,omitempty"`
}

// PodWait says what keeps the Pod of an execution from starting.
type PodWait struct {
	Reason  string `json:"reason,omitempty"` // one word, such as ImagePullBackOff; "": nothing unusual
	Message string `json:"message"`
}

// HeldRun is a run that a worker has.
type HeldRun struct {
	WorkerExecution
	WorkerID string
	// Last is the latest timeline event about the claim or the Pod of a run that is still CLAIMED.
	// For other runs, it is empty.
	Last penstock.Event
}

// HeldRuns lists up to limit runs of the viewer that workers have. Those come first that have not
// started, and of these the oldest.
func (e Executions) HeldRuns(ctx context.Context, v Viewer, limit int) ([]HeldRun, error) {
	// A CLAIMED run has few events after its claim, so the latest one is found at once.
	rows, err := e.s.query(ctx, `SELECT q.worker_id, r.id, r.execution_id, r.title, r.state, r.state_at,
			COALESCE(e.at, 0), COALESCE(e.data, '')
		FROM queue q
		JOIN runs r ON r.id = q.run_id
		LEFT JOIN events e ON r.state = 'CLAIMED' AND e.run_id = r.id AND e.seq = (
			SELECT l.seq
			FROM events l
			WHERE l.run_id = r.id AND l.execution_id = r.execution_id AND l.type = 'timeline'
				AND l.key IN ('run_claimed', 'pod_created', 'pod_waiting', 'pod_started')
			ORDER BY l.seq DESC
			LIMIT 1
		)
		WHERE q.token <> '' AND r.team = $1 AND ($2 = 1 OR r.personal = 0 OR r.creator = $3)
		ORDER BY CASE r.state WHEN 'CLAIMED' THEN 0 WHEN 'PENDING' THEN 1 ELSE 2 END, r.state_at, r.id
		LIMIT $4`, v.Team, flag(v.All), v.UID, limit)
	return collect(e.s, rows, err, "held runs", func(h *HeldRun) []any {
		return []any{
			&h.WorkerID, &h.RunID, &h.ExecutionID, &h.Title, &h.State, &h.Since, &h.Last.At,
			(*[]byte)(&h.Last.Data),
		}
	})
}

// HeldRun reads the run that l holds; otherwise penstock.ErrLeaseLost.
func (e Executions) HeldRun(ctx context.Context, l penstock.Lease) (RunRow, error) {
	r, err := e.s.d.runBy(
		ctx, e.s, `r.id = $1 AND EXISTS (
			SELECT 1 FROM queue q WHERE q.run_id = r.id AND q.token = $2 AND q.token <> ''
		)`,
		l.RunID, l.Token,
	)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		err = penstock.ErrLeaseLost
	}
	return r, err
}

// holds reports whether the lease is active. The run must be locked: except for a renewal, its
// queue row changes only under that lock.
func (e ExecutionsTx) holds(ctx context.Context, l penstock.Lease) (bool, error) {
	var one int
	err := e.tx.row(ctx, `SELECT 1
		FROM queue
		WHERE run_id = $1 AND token = $2 AND token <> ''`, l.RunID, l.Token).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrapf(err, "look at the lease of run %s", l.RunID)
}

// Held reads the run that l holds, and locks it until the transaction ends.
// penstock.ErrLeaseLost: the lease is no longer active.
func (e ExecutionsTx) Held(ctx context.Context, l penstock.Lease) (RunRow, error) {
	run, err := e.tx.Runs().Lock(ctx, l.RunID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return run, penstock.ErrLeaseLost
	}
	if err != nil {
		return run, err
	}
	held, err := e.holds(ctx, l)
	if err == nil && !held {
		err = penstock.ErrLeaseLost
	}
	return run, err
}

// Turn returns the number of the current turn of a run's execution, from 1.
func (e ExecutionsTx) Turn(ctx context.Context, runID string) (turn int, err error) {
	err = e.tx.row(ctx, "SELECT turn FROM queue WHERE run_id = $1", runID).Scan(&turn)
	return turn, err
}

// MarkTurnCounted records that the usage of a turn was counted. It returns false if it was counted
// before, by a request whose response was lost. A turn without a number is always new.
func (e ExecutionsTx) MarkTurnCounted(ctx context.Context, runID string, turn int) (bool, error) {
	if turn == 0 {
		return true, nil
	}
	n, err := e.tx.exec(ctx, `UPDATE queue
		SET tallied = $1
		WHERE run_id = $2 AND tallied < $1`, turn, runID)
	return n > 0, err
}

// NextTurn begins the next turn.
func (e ExecutionsTx) NextTurn(ctx context.Context, runID string) error {
	_, err := e.tx.exec(ctx, "UPDATE queue SET turn = turn + 1 WHERE run_id = $1", runID)
	return err
}

// Renew extends a lease by penstock.LeaseTime from the database's now.
func (e Executions) Renew(ctx context.Context, l penstock.Lease) error {
	return e.s.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, `UPDATE queue
			SET back_at = CASE WHEN lease_until < `+tx.s.d.now+` THEN `+tx.s.d.now+` ELSE back_at END,
				lease_until = `+tx.s.d.now+` + $1
			WHERE run_id = $2 AND token = $3 AND token <> ''`,
			penstock.LeaseTime.Milliseconds(), l.RunID, l.Token)
		if err == nil && n == 0 {
			err = penstock.ErrLeaseLost
		}
		return err
	})
}

// Holds reports whether the lease is active, and returns the signal for its worker.
func (e Executions) Holds(ctx context.Context, l penstock.Lease) (signal penstock.Signal, err error) {
	err = e.s.row(ctx, `SELECT
			(SELECT count(*) FROM followups f WHERE f.run_id = q.run_id AND f.state = 'waiting'),
			CASE
				WHEN q.interrupt = q.turn AND (r.prompt_state = 'handed' OR EXISTS (
					SELECT 1 FROM followups f WHERE f.run_id = q.run_id AND f.state = 'handed'
				)) THEN q.turn
				ELSE 0
			END
		FROM queue q
		JOIN runs r ON r.id = q.run_id
		WHERE q.run_id = $1 AND q.token = $2 AND q.token <> ''`,
		l.RunID, l.Token).Scan(&signal.Followups, &signal.Interrupt)
	if errors.Is(err, sql.ErrNoRows) {
		return signal, penstock.ErrLeaseLost
	}
	return signal, e.s.d.mapError(err)
}

// Interrupt requests the end of the active turn of a worker's agent. asked is false if that was
// requested before. The run must be locked. Without an active turn, the error is ErrNoTurn.
func (e ExecutionsTx) Interrupt(ctx context.Context, runID string) (requested bool, err error) {
	n, err := e.tx.exec(ctx, `UPDATE queue
		SET interrupt = turn
		WHERE run_id = $1 AND token <> '' AND interrupt <> turn
			AND EXISTS (SELECT 1 FROM runs r WHERE r.id = $1 AND r.state = 'INPROGRESS')
			AND (
				EXISTS (SELECT 1 FROM runs r WHERE r.id = $1 AND r.prompt_state = 'handed')
				OR EXISTS (SELECT 1 FROM followups f WHERE f.run_id = $1 AND f.state = 'handed')
			)`, runID)
	if err != nil {
		return false, fmt.Errorf("interrupt run %s: %w", runID, err)
	}
	if n > 0 {
		return true, nil
	}
	before, err := e.Interrupted(ctx, runID)
	if err == nil && !before {
		err = ErrNoTurn
	}
	return false, err
}

// ForgetInterrupt drops the request to end the latest turn of the active execution.
func (e ExecutionsTx) ForgetInterrupt(ctx context.Context, runID string) error {
	_, err := e.tx.exec(ctx, `UPDATE queue
		SET interrupt = 0
		WHERE run_id = $1 AND interrupt <> 0`, runID)
	return wrapf(err, "drop an interrupt of run %s", runID)
}

// Interrupted reports whether the end of the latest turn of the active execution was requested.
func (e ExecutionsTx) Interrupted(ctx context.Context, runID string) (bool, error) {
	var n int
	err := e.tx.row(ctx, `SELECT count(*)
		FROM queue
		WHERE run_id = $1 AND token <> '' AND interrupt = turn`, runID).Scan(&n)
	return n > 0, wrapf(err, "look for an interrupt of run %s", runID)
}

// LostLease is the lease of a worker that has not renewed it in time.
type LostLease struct {
	penstock.Lease
	WorkerID string
	Expired  int64 // how long ago, in milliseconds
	// MayReturn means that the worker has neither said that it stops, nor called since to say that it works on
	// no more than its other leases: then the answer to its claim did not reach it. A launcher never returns to
	// an execution.
	MayReturn bool
	Want      Want // what the run requires of a worker
}

// LostLeases lists the leases that have expired, the longest first, without the first so many.
func (e Executions) LostLeases(ctx context.Context, limit, without int) ([]LostLease, error) {
	type lost struct {
		place
		LostLease
	}
	rows, err := e.s.query(ctx, "SELECT "+wantFields.selected+`, q.run_id, q.token, q.worker_id,
			`+e.s.d.now+` - q.lease_until,
			EXISTS (
				SELECT 1
				FROM workers w
				WHERE w.id = q.worker_id AND w.launcher = 0 AND NOT (
					w.last_seen_at > q.lease_until AND w.busy <= (
						SELECT count(*)
						FROM queue o
						WHERE o.worker_id = q.worker_id AND o.token <> '' AND o.lease_until >= `+e.s.d.now+`
					)
				)
			)
		FROM queue q
		WHERE q.token <> '' AND q.lease_until < `+e.s.d.now+`
		ORDER BY q.lease_until, q.run_id
		LIMIT $1 OFFSET $2`, limit, without)
	list, err := collect(e.s, rows, err, "lost leases", func(l *lost) []any {
		return wantFields.into(&l.place, &l.RunID, &l.Token, &l.WorkerID, &l.Expired, &l.MayReturn)
	})
	leases := make([]LostLease, len(list))
	for i, l := range list {
		leases[i], leases[i].Want = l.LostLease, l.place.Want
	}
	return leases, err
}

// SilentWorker is a worker that has not renewed the lease of a run.
type SilentWorker struct {
	RunID, Host string
	Since       penstock.Time // the end of the lease
}

// Silent lists which of these runs have a worker that is silent.
func (e Executions) Silent(ctx context.Context, runIDs []string) ([]SilentWorker, error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	rows, err := e.s.query(ctx, `SELECT q.run_id, COALESCE(w.host, ''), q.lease_until
		FROM queue q
		LEFT JOIN workers w ON w.id = q.worker_id
		WHERE q.token <> '' AND q.lease_until < `+e.s.d.now+` AND q.run_id IN (`+placeholders(1, len(runIDs))+`)`,
		anys(runIDs)...)
	return collect(e.s, rows, err, "silent workers", func(w *SilentWorker) []any {
		return []any{&w.RunID, &w.Host, &w.Since}
	})
}

// Expired reports whether the lease is held and has expired by the database's clock, and prevents
// its renewal until the transaction ends. The run must be locked.
func (e ExecutionsTx) Expired(ctx context.Context, l penstock.Lease) (bool, error) {
	var one int
	err := e.tx.row(
		ctx, `SELECT 1
			FROM queue
			WHERE run_id = $1 AND token = $2 AND lease_until < `+e.tx.s.d.now+e.tx.s.d.lock, l.RunID,
		l.Token,
	).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
