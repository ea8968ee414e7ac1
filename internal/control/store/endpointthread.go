package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Thread is the thread of a run in the channel of an endpoint. The zero Thread does not exist yet.
type Thread struct {
	RunID    string
	PostedTo string // the id of the channel
	TS       string // of the message that began it; "" with a RunID: the thread is gone
}

// Thread reads the thread of a run in the present channel of an endpoint.
func (es Endpoints) Thread(ctx context.Context, e EndpointRow, runID string) (t Thread, err error) {
	err = es.s.row(ctx, `SELECT run_id, posted_to, ts
		FROM endpoint_threads
		WHERE endpoint_uid = $1 AND run_id = $2 AND channel = $3`, e.UID, runID, e.Channel).
		Scan(&t.RunID, &t.PostedTo, &t.TS)
	if errors.Is(err, sql.ErrNoRows) {
		return Thread{}, nil
	}
	if err != nil {
		return t, fmt.Errorf("read the thread of run %s at event endpoint %s: %w", runID, e.UID, err)
	}
	return t, nil
}

// keepThread stores the thread that an attempt has used, or forgets one that is gone.
func (es EndpointsTx) keepThread(ctx context.Context, e EndpointRow, t Thread, at penstock.Time) error {
	var err error
	switch {
	case t.RunID == "":
		return nil
	case t.TS == "":
		_, err = es.tx.exec(ctx, `DELETE FROM endpoint_threads
			WHERE endpoint_uid = $1 AND run_id = $2`, e.UID, t.RunID)
	default:
		_, err = es.tx.exec(ctx, `INSERT INTO endpoint_threads (endpoint_uid, run_id, channel, posted_to, ts, used_at)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (endpoint_uid, run_id) DO UPDATE
			SET channel = $3, posted_to = $4, ts = $5, used_at = $6`,
			e.UID, t.RunID, e.Channel, t.PostedTo, t.TS, int64(at))
	}
	return wrapf(err, "store the thread of run %s at event endpoint %s", t.RunID, e.UID)
}

func (es EndpointsTx) clearThreads(ctx context.Context, before penstock.Time, limit int) (int64, error) {
	n, err := es.tx.exec(ctx, `DELETE FROM endpoint_threads
		WHERE (endpoint_uid, run_id) IN (
			SELECT endpoint_uid, run_id
			FROM endpoint_threads
			WHERE used_at < $1
			ORDER BY used_at
			LIMIT $2
		)`, int64(before), limit)
	return n, wrapf(err, "remove old threads")
}

// Question returns the state of the run that a message is about, as its event says. A run is BLOCKED at most once in
// an execution, so the execution identifies the question. It is zero if the event was removed.
func (es Endpoints) Question(ctx context.Context, m MessageRow) (state penstock.StateData, err error) {
	var data []byte
	err = es.s.row(ctx, `SELECT data
		FROM events
		WHERE run_id = $1 AND type = 'state' AND seq <= $2
		ORDER BY seq DESC
		LIMIT 1`, m.Data.RunID, m.Data.Sequence).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("read the state in message %s: %w", m.ID, err)
	}
	return state, json.Unmarshal(data, &state)
}

// Enabled reads an enabled endpoint of any team. Absence is penstock.CodeNotFound.
func (es Endpoints) Enabled(ctx context.Context, uid string) (EndpointRow, error) {
	rows, err := readEndpoints(ctx, es.s, "WHERE e.uid = $1 AND e.enabled = 1", uid)
	return only(rows, err, "event endpoint", uid)
}

// Hears reports whether an endpoint may hear of a run: one of its team and factories that is not personal.
func (es Endpoints) Hears(ctx context.Context, e EndpointRow, runID string) (bool, error) {
	var factory string
	err := es.s.row(ctx, `SELECT factory_uid
		FROM runs
		WHERE id = $1 AND team = $2 AND personal = 0`, runID, e.Team).Scan(&factory)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the factory of run %s: %w", runID, es.s.d.mapError(err))
	}
	return e.Hears(factory), nil
}
