package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// OldRun is an ended run that has not changed for long.
type OldRun struct {
	ID, Team  string
	State     penstock.State
	UpdatedAt penstock.Time
}

// Old lists at most limit ended runs that have not changed since before and that follow a run, by team,
// state and age. The zero value is before all.
func (rs Runs) Old(ctx context.Context, before penstock.Time, after OldRun, limit int) ([]OldRun, error) {
	var old []OldRun
	teams, err := rs.s.strings(ctx, "SELECT uid FROM teams WHERE uid >= $1 ORDER BY uid", after.Team)
	for _, team := range teams {
		begun := after.ID == "" || team != after.Team
		for _, state := range penstock.States() {
			from := OldRun{}
			if !begun && state == after.State {
				from, begun = after, true
			}
			if !begun || !state.Done() || len(old) >= limit {
				continue
			}
			// The order of the index runs_state.
			rows, err := rs.s.query(ctx, `SELECT id, updated_at
				FROM runs
				WHERE team = $1 AND state = $2 AND updated_at < $3 AND (updated_at, id) > ($4, $5)
				ORDER BY updated_at, id
				LIMIT $6`,
				team, string(state), int64(before), int64(from.UpdatedAt), from.ID, limit-len(old))
			list, err := collect(rs.s, rows, err, "old runs", func(r *OldRun) []any { return []any{&r.ID, &r.UpdatedAt} })
			if err != nil {
				return nil, err
			}
			for _, r := range list {
				old = append(old, OldRun{ID: r.ID, Team: team, State: state, UpdatedAt: r.UpdatedAt})
			}
		}
	}
	return old, err
}

// Remove removes a run and everything that belongs only to it. Its settled calls stay in the
// ledger as sums. It does nothing if the run has changed or is gone. blobs are the files to which
// nothing refers after the commit.
func (rs RunsTx) Remove(ctx context.Context, id string, before penstock.Time) (blobs []string, err error) {
	run, err := rs.Lock(ctx, id)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return nil, nil
	}
	if err != nil || !run.State.Done() || run.UpdatedAt >= before {
		return nil, err
	}
	if blobs, err = rs.filesOf(ctx, run); err != nil {
		return nil, err
	}
	packs, err := rs.tx.Files().RemoveCheckpoints(ctx, id)
	if err != nil {
		return nil, err
	}
	blobs = append(blobs, packs...)
	if err := rs.tx.Conversations().remember(ctx, run); err != nil {
		return nil, err
	}
	if err := rs.forgetDeliveries(ctx, run); err != nil {
		return nil, err
	}
	if err := rs.tx.Calls().merge(ctx, id); err != nil {
		return nil, fmt.Errorf("sum up the calls of run %s: %w", id, err)
	}
	for key, value := range run.Metadata {
		if _, err := rs.tx.exec(ctx, `DELETE FROM run_metadata
			WHERE team = $1 AND key = $2 AND value = $3 AND run_id = $4`, run.Team, key, value, id); err != nil {
			return nil, fmt.Errorf("remove metadata of run %s: %w", id, err)
		}
	}
	if rs.tx.s.d.unindex != "" {
		if _, err := rs.tx.exec(ctx, rs.tx.s.d.unindex, id); err != nil {
			return nil, fmt.Errorf("remove run %s from the search: %w", id, err)
		}
	}
	for _, from := range []string{
		"run_search WHERE run_id = $1", "run_ancestors WHERE ancestor = $1", "run_ancestors WHERE run_id = $1",
		"attachments WHERE run_id = $1", "run_hosts WHERE run_id = $1",
		"budget_accounts WHERE budget = $1",
		"artifacts WHERE run_id = $1", "changes WHERE run_id = $1", "followups WHERE run_id = $1",
		"outputs WHERE run_id = $1", "forge_threads WHERE run_id = $1",
		"executions WHERE run_id = $1", "events WHERE run_id = $1", "runs WHERE id = $1",
	} {
		if _, err := rs.tx.exec(ctx, "DELETE FROM "+from, id); err != nil {
			return nil, fmt.Errorf("remove run %s: %w", id, err)
		}
	}
	return blobs, nil
}

// filesOf lists the run's files. It removes the saved session of its conversation unless another
// run continues it.
func (rs RunsTx) filesOf(ctx context.Context, run RunRow) ([]string, error) {
	rows, err := rs.tx.query(ctx, `SELECT blob
		FROM attachments
		WHERE run_id = $1 AND blob <> ''
		UNION
		SELECT blob
		FROM artifacts
		WHERE run_id = $1 AND blob <> ''
		UNION
		SELECT blob
		FROM changes
		WHERE run_id = $1 AND blob <> ''
		UNION
		SELECT blob
		FROM conversations
		WHERE id = $2 AND NOT EXISTS (
			SELECT 1 FROM runs WHERE conversation_id = $2 AND id <> $1
		)`, run.ID, run.ConversationID)
	blobs, err := collect(rs.tx.s, rows, err, "files of a run", func(v *string) []any { return []any{v} })
	if err != nil {
		return nil, err
	}
	_, err = rs.tx.exec(ctx, `DELETE FROM conversations
		WHERE id = $1 AND NOT EXISTS (
			SELECT 1 FROM runs WHERE conversation_id = $1 AND id <> $2
		)`, run.ConversationID, run.ID)
	return blobs, err
}

// forgetDeliveries removes the run from the log entries of its deliveries: the one that started it, and
// those about the same subject that it has received.
func (rs RunsTx) forgetDeliveries(ctx context.Context, run RunRow) error {
	if run.SubjectUID == "" {
		return rs.forgetDelivery(ctx, run, run.DeliveryID, run.CreatedAt)
	}
	events, err := readSubjectEvents(ctx, rs.tx, "e.run_id = $1 AND e.run_id <> '' ORDER BY e.delivery_id", run.ID)
	if err != nil {
		return err
	}
	if _, err := rs.tx.exec(ctx, "UPDATE subject_events SET run_id = '' WHERE run_id = $1", run.ID); err != nil {
		return fmt.Errorf("forget the events of run %s: %w", run.ID, err)
	}
	for _, e := range events {
		if err := rs.forgetDelivery(ctx, run, e.DeliveryID, e.DueAt); err != nil {
			return err
		}
	}
	return nil
}

// forgetDelivery removes the run from the log entry of a delivery that came at a time. If the entry is
// gone, its payload is removed with the last run.
func (rs RunsTx) forgetDelivery(ctx context.Context, run RunRow, deliveryID string, at penstock.Time) error {
	if deliveryID == "" {
		return nil
	}
	var text string
	err := rs.tx.row(ctx, `SELECT matches
		FROM deliveries
		WHERE id = $1`+rs.tx.s.d.lock, deliveryID).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return rs.tx.Deliveries().dropPayload(ctx, run.Team, deliveryID, at, run.ID)
	}
	if err != nil {
		return fmt.Errorf("read delivery %s: %w", deliveryID, err)
	}
	var matches []DeliveryMatch
	if err := unmarshal(text, &matches); err != nil {
		return fmt.Errorf("read the matches of delivery %s: %w", deliveryID, err)
	}
	left := 0
	for i := range matches {
		switch {
		case matches[i].RunID == run.ID:
			matches[i].RunID = ""
		case matches[i].SubjectUID != "" || matches[i].RunID == "":
		default:
			left++
		}
	}
	_, err = rs.tx.exec(
		ctx, `UPDATE deliveries
			SET matches = $1, runs = $2 + (
				SELECT count(*) FROM subject_events e WHERE e.delivery_id = $3 AND (e.run_id <> '' OR e.fate = 'waiting')
			)
			WHERE id = $3`, marshal(matches), left, deliveryID,
	)
	return err
}

// dropPayload removes the payload of a delivery whose log entry is gone, unless a run reads it besides one,
// or an event that waits. The runs that the delivery started have the time at which it came.
func (ds DeliveriesTx) dropPayload(ctx context.Context, team, id string, at penstock.Time, besides string) error {
	// Without this lock, two transactions that remove the last two runs would both leave the
	// payload.
	if _, err := ds.tx.exec(ctx, `SELECT 1
		FROM payloads
		WHERE delivery_id = $1`+ds.tx.s.d.lock, id); err != nil {
		return fmt.Errorf("lock the payload of delivery %s: %w", id, err)
	}
	_, err := ds.tx.exec(ctx, `DELETE FROM payloads
		WHERE delivery_id = $1
			AND NOT EXISTS (
				SELECT 1
				FROM runs
				WHERE team = $2 AND created_at = $3 AND delivery_id = $1 AND id <> $4
			)
			AND NOT EXISTS (
				SELECT 1 FROM subject_events e WHERE e.delivery_id = $1 AND (e.run_id <> '' OR e.fate = 'waiting')
			)`, id, team, int64(at), besides)
	return wrapf(err, "remove the payload of delivery %s", id)
}
