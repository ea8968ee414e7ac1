package store

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// HeldRun is a run that a worker has.
type HeldRun struct {
	penstock.WorkerExecution
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
