package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// QuietRun is a run that works and has had no event of progress for some time.
type QuietRun struct {
	ID          string
	Execution   int
	Since       penstock.Time // the last progress of the run or of one below it, or the return of its worker
	LastSeq     int64
	progressSeq int64
	Environment penstock.EnvironmentConfig
}

// Unknown reports whether a server of the previous release has appended to the run, which did not
// record when.
func (q QuietRun) Unknown() bool { return q.progressSeq != q.LastSeq }

// working is the condition of a run in a turn whose worker is there. Between two turns, an
// interactive run waits for a person.
const working = `r.state = 'INPROGRESS' AND r.stalled = '' AND (
	r.prompt_state = 'handed'
	OR EXISTS (SELECT 1 FROM followups f WHERE f.run_id = r.id AND f.state = 'handed')
)`

// Quiet lists runs that work without an event since before t, by id, after one. A run with an
// active run below it may wait for that one, unless that one has stalled, too.
func (e Executions) Quiet(ctx context.Context, t penstock.Time, after string, limit int) ([]QuietRun, error) {
	rows, err := e.s.query(ctx, `SELECT r.id, r.execution_id, r.last_seq, r.progress_seq, r.progress_at, q.back_at,
			COALESCE((
				SELECT MAX(b.progress_at)
				FROM run_ancestors a
				JOIN runs b ON b.id = a.run_id
				WHERE a.ancestor = r.id
			), 0),
			COALESCE(env.config, '')
		FROM queue q
		JOIN runs r ON r.id = q.run_id
		LEFT JOIN environments env ON env.uid = r.environment_id
		WHERE q.token <> '' AND q.lease_until >= `+e.s.d.now+`
			AND q.run_id > $1 AND r.progress_at < $2 AND q.back_at < $2
			AND `+working+`
			AND NOT EXISTS (
				SELECT 1
				FROM run_ancestors a
				JOIN runs b ON b.id = a.run_id
				WHERE a.ancestor = r.id AND b.stalled = ''
					AND b.state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')
			)
		ORDER BY q.run_id
		LIMIT $3`, after, int64(t), limit)
	if err != nil {
		return nil, e.s.d.mapError(fmt.Errorf("look for stalled runs: %w", err))
	}
	defer rows.Close()
	var out []QuietRun
	for rows.Next() {
		var q QuietRun
		var progress, back, below penstock.Time
		var environment string
		err := rows.Scan(&q.ID, &q.Execution, &q.LastSeq, &q.progressSeq, &progress, &back, &below, &environment)
		if err != nil {
			return nil, fmt.Errorf("look for stalled runs: %w", err)
		}
		q.Since = max(progress, back, below)
		if err := unmarshal(environment, &q.Environment); err != nil {
			return nil, fmt.Errorf("read the environment of run %s: %w", q.ID, err)
		}
		out = append(out, q)
	}
	return out, e.s.d.mapError(rows.Err())
}

// Noticed records that a run has had an event by now, because it is not known when.
func (rs RunsTx) Noticed(ctx context.Context, q QuietRun, now penstock.Time) error {
	_, err := rs.tx.exec(ctx, `UPDATE runs
		SET progress_at = $1, progress_seq = last_seq
		WHERE id = $2 AND last_seq = $3 AND progress_seq <> last_seq`, int64(now), q.ID, q.LastSeq)
	return wrapf(err, "record the progress of run %s", q.ID)
}

// Stall marks a run as stalled, with its event, once. It returns nil if the run has had an event since it was
// read, if it does not work, or if its worker is gone. The run must be locked.
func (rs RunsTx) Stall(ctx context.Context, q QuietRun, since penstock.Time) (*penstock.Stalled, error) {
	stalled := penstock.Stalled{Since: since}
	none := penstock.NoProgress()
	err := rs.tx.row(ctx, `SELECT seq, type, at
		FROM events
		WHERE run_id = $1 AND NOT (type = 'timeline' AND key IN (`+placeholders(2, len(none))+`))
		ORDER BY seq DESC
		LIMIT 1`, append([]any{q.ID}, anys(none)...)...).
		Scan(&stalled.LastEvent.Seq, &stalled.LastEvent.Type, &stalled.LastEvent.At)
	if err != nil {
		return nil, fmt.Errorf("read the last event of run %s: %w", q.ID, err)
	}
	now := penstock.Now()
	var last int64
	err = rs.tx.row(ctx, `UPDATE runs AS r
		SET stalled = $1, last_seq = last_seq + 1, progress_seq = progress_seq + 1, updated_at = $2
		WHERE id = $3 AND execution_id = $4 AND last_seq = $5 AND progress_seq = $5
			AND `+working+`
			AND EXISTS (
				SELECT 1
				FROM queue q
				WHERE q.run_id = r.id AND q.token <> '' AND q.lease_until >= `+rs.tx.s.d.now+` AND q.back_at <= $6
			)
		RETURNING last_seq`,
		marshal(stalled), int64(now), q.ID, q.Execution, q.LastSeq, int64(q.Since)).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // it has not stalled
	}
	if err != nil {
		return nil, fmt.Errorf("mark run %s as stalled: %w", q.ID, err)
	}
	event := penstock.Timeline(now, penstock.TimelineStalled, map[string]any{
		"since": stalled.Since, "last_event": stalled.LastEvent,
	})
	return &stalled, rs.tx.Events().insert(ctx, q.ID, q.Execution, last, []penstock.Draft{event})
}

// endStall removes the mark of a stalled run that has an event again, and returns the event that says so. It
// takes the next number of the log for it.
func (rs RunsTx) endStall(ctx context.Context, runID, stalled string) (penstock.Draft, error) {
	var was penstock.Stalled
	if err := unmarshal(stalled, &was); err != nil {
		return penstock.Draft{}, fmt.Errorf("read since when run %s is stalled: %w", runID, err)
	}
	now := penstock.Now()
	_, err := rs.tx.exec(ctx, `UPDATE runs
		SET stalled = '', last_seq = last_seq + 1, progress_seq = progress_seq + 1, updated_at = $1
		WHERE id = $2`, int64(now), runID)
	if err != nil {
		return penstock.Draft{}, fmt.Errorf("end the stall of run %s: %w", runID, err)
	}
	return penstock.Timeline(now, penstock.TimelineStallEnded, map[string]any{"since": was.Since}), nil
}
