package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
)

// eventRecord is the row of an event.
type eventRecord struct {
	penstock.Event
	key string
}

// eventAt returns a draft as an event with its position in the log.
func eventAt(runID string, execution int, seq int64, d penstock.Draft) *eventRecord {
	return &eventRecord{penstock.Event{
		RunID: runID, Seq: seq, ExecutionID: execution, Type: d.Type, At: d.At, Data: d.Data,
	}, cmp.Or(actionKey(d), d.Key)}
}

// eventFields are the columns of an event.
var (
	eventFields = newResource("events", "events",
		textColumn("run_id", func(e *eventRecord) *string { return &e.RunID }),
		numberColumn("seq", func(e *eventRecord) *int64 { return &e.Seq }),
		numberColumn("execution_id", func(e *eventRecord) *int { return &e.ExecutionID }),
		textColumn("type", func(e *eventRecord) *penstock.EventType { return &e.Type }),
		numberColumn("at", func(e *eventRecord) *penstock.Time { return &e.At }),
		storedText("key", func(e *eventRecord) string { return e.key }),
		rawColumn("data", func(e *eventRecord) *json.RawMessage { return &e.Data }),
	)
	eventOutline = eventFields.without("data")
)

// List returns up to limit events of a run after seq, oldest first.
func (es Events) List(ctx context.Context, runID string, after int64, limit int) ([]penstock.Event, error) {
	return es.selectWhere(ctx, "run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3", runID, after, limit)
}

// Timeline returns the timeline events of a run, oldest first.
func (es Events) Timeline(ctx context.Context, runID string) ([]penstock.Event, error) {
	return es.selectWhere(ctx, "run_id = $1 AND type = 'timeline' ORDER BY seq", runID)
}

func (es Events) selectWhere(ctx context.Context, where string, args ...any) ([]penstock.Event, error) {
	return es.read(ctx, eventFields, where, args...)
}

func (es Events) read(
	ctx context.Context, fields resource[eventRecord], where string, args ...any,
) ([]penstock.Event, error) {
	rows, err := es.s.query(ctx, "SELECT "+fields.selected+" FROM events WHERE "+where, args...)
	if err != nil {
		return nil, es.s.d.mapError(fmt.Errorf("read events: %w", err))
	}
	defer rows.Close()
	var out []penstock.Event
	for rows.Next() {
		var e eventRecord
		if err := rows.Scan(fields.into(&e)...); err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		out = append(out, e.Event)
	}
	return out, es.s.d.mapError(rows.Err())
}

type appendEvents struct {
	result
	lease  penstock.Lease
	drafts []penstock.Draft
}

func (a *appendEvents) key() string   { return a.lease.RunID }
func (a *appendEvents) join(g *group) { g.appends = append(g.appends, a) }

// Append adds drafts to the log of the run that l holds, through the group commit. If the lease is
// lost or has ended, the error is penstock.ErrLeaseLost.
func (es Events) Append(ctx context.Context, l penstock.Lease, drafts []penstock.Draft) error {
	if len(drafts) == 0 {
		return nil
	}
	return es.s.commits.do(ctx, &appendEvents{lease: l, drafts: drafts})
}

func (es EventsTx) appendHeld(ctx context.Context, a *appendEvents) error {
	if err := es.tx.Runs().lockRow(ctx, a.lease.RunID); err != nil {
		return err
	}
	held, err := es.tx.Executions().holds(ctx, a.lease)
	if err != nil {
		return err
	}
	if !held {
		a.fail(penstock.ErrLeaseLost)
		return nil
	}
	drafts, err := es.Fresh(ctx, a.lease, a.drafts)
	if err != nil || len(drafts) == 0 {
		return err
	}
	drafts, reports := splitReports(drafts)
	if err := es.tx.Executions().Report(ctx, a.lease, reports...); err != nil || len(drafts) == 0 {
		return err
	}
	return es.Append(ctx, a.lease.RunID, drafts...)
}

// Fresh removes the drafts that this lease has already appended, and records the rest. The lease
// must be active.
func (es EventsTx) Fresh(ctx context.Context, l penstock.Lease, drafts []penstock.Draft) ([]penstock.Draft, error) {
	last := drafts[len(drafts)-1].N
	if last == 0 {
		return drafts, nil
	}
	var before int64
	if err := es.tx.row(ctx, `SELECT appended
		FROM queue
		WHERE run_id = $1`, l.RunID).Scan(&before); err != nil {
		return nil, fmt.Errorf("read what was appended to run %s: %w", l.RunID, err)
	}
	for len(drafts) > 0 && drafts[0].N <= before {
		drafts = drafts[1:]
	}
	_, err := es.tx.exec(ctx, `UPDATE queue
		SET appended = $1
		WHERE run_id = $2 AND appended < $1`, last, l.RunID)
	return drafts, err
}

// Append adds drafts to a run's log. An update of the run's row assigns the sequence numbers
// and locks the row until the commit. So commit order is sequence order. An event of progress ends a
// stall, which has an event of its own.
func (es EventsTx) Append(ctx context.Context, runID string, drafts ...penstock.Draft) error {
	progress := slices.ContainsFunc(drafts, penstock.Draft.Progress)
	var last int64
	var execution int
	var stalled string
	err := es.tx.row(ctx, `UPDATE runs
		SET last_seq = last_seq + $1,
			progress_seq = CASE WHEN $2 = 1 THEN last_seq ELSE progress_seq END + $1,
			progress_at = CASE WHEN $2 = 1 THEN $3 ELSE progress_at END
		WHERE id = $4
		RETURNING last_seq, execution_id, stalled`, len(drafts), flag(progress), int64(penstock.Now()), runID).
		Scan(&last, &execution, &stalled)
	if err != nil {
		return fmt.Errorf("take the sequence of run %s: %w", runID, err)
	}
	if stalled != "" && progress {
		ended, err := es.tx.Runs().endStall(ctx, runID, stalled)
		if err != nil {
			return err
		}
		drafts, last = append(slices.Clip(drafts), ended), last+1
	}
	return es.insert(ctx, runID, execution, last, drafts)
}

// AppendAfter adds an event, and reports about traffic, to an execution after the end of its
// lease, once. If the event exists already, or if the lease never belonged to the execution, the
// error is penstock.ErrLeaseLost.
func (es EventsTx) AppendAfter(
	ctx context.Context, l penstock.Lease, d penstock.Draft, reports []penstock.Draft,
) error {
	if err := es.tx.Runs().lockRow(ctx, l.RunID); err != nil {
		return err
	}
	first, err := es.tx.exec(ctx, `UPDATE executions SET token = ''
		WHERE run_id = $1 AND execution_id = $2 AND token = $3 AND token <> '' AND ended_at <> 0
			AND NOT EXISTS (
				SELECT 1 FROM events e
				WHERE e.run_id = $1 AND e.execution_id = $2 AND e.type = 'timeline' AND e.key = $4
			)`,
		l.RunID, l.ExecutionID, l.Token, d.Key)
	if err != nil {
		return fmt.Errorf("look at execution %d of run %s: %w", l.ExecutionID, l.RunID, err)
	}
	if first == 0 {
		return penstock.ErrLeaseLost
	}
	if err := es.tx.Executions().Report(ctx, l, reports...); err != nil {
		return err
	}
	var last int64
	if err := es.tx.row(ctx, `UPDATE runs
		SET last_seq = last_seq + 1, progress_seq = progress_seq + 1
		WHERE id = $1
		RETURNING last_seq`, l.RunID).Scan(&last); err != nil {
		return fmt.Errorf("take the sequence of run %s: %w", l.RunID, err)
	}
	return es.insert(ctx, l.RunID, l.ExecutionID, last, []penstock.Draft{d})
}

// insert stores drafts. Their sequence numbers are assigned and end with last.
func (es EventsTx) insert(
	ctx context.Context, runID string, execution int, last int64, drafts []penstock.Draft,
) error {
	rows := make([][]any, len(drafts))
	for i, d := range drafts {
		rows[i] = eventFields.row(eventAt(runID, execution, last-int64(len(drafts))+int64(i)+1, d))
	}
	if err := es.tx.insert(ctx, eventFields.table, rows); err != nil {
		return err
	}
	for _, d := range drafts { // after the insert, because the deltas may be in the same batch as their message
		if d.Type == penstock.EventMessage && d.Key != "" {
			if _, err := es.tx.exec(ctx, `DELETE FROM events
				WHERE run_id = $1 AND key = $2 AND type = 'message_delta'`, runID, d.Key); err != nil {
				return fmt.Errorf("remove the deltas of a message: %w", err)
			}
		}
	}
	es.tx.Nudge(RunTopic(runID))
	return nil
}
