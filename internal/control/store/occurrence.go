package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
)

// OccurrenceRow is an occurrence with its internal fields.
type OccurrenceRow struct {
	Occurrence
	Team string
	// Source is the schedule, or the automation whose own clock it was. Its runs have this id as the id
	// of their schedule.
	Source string
	Clock  string // of an automation's own clock: its time zone and cron expression
	Tick   string // the first occurrence of those that are decided together
	Owner  string // of a personal schedule; "": the team's
}

// occurrenceFields are the columns of an occurrence.
var occurrenceFields = newResource("occurrences", "o",
	textColumn("uid", func(r *OccurrenceRow) *string { return &r.UID }),
	textColumn("team", func(r *OccurrenceRow) *string { return &r.Team }),
	textColumn("kind", func(r *OccurrenceRow) *OccurrenceKind { return &r.Kind }),
	textColumn("source", func(r *OccurrenceRow) *string { return &r.Source }),
	textColumn("schedule_id", func(r *OccurrenceRow) *string { return &r.ScheduleID }),
	textColumn("automation_uid", func(r *OccurrenceRow) *string { return &r.AutomationUID }),
	textColumn("clock", func(r *OccurrenceRow) *string { return &r.Clock }),
	textColumn("moment", func(r *OccurrenceRow) *string { return &r.Tick }),
	numberColumn("due_at", func(r *OccurrenceRow) *penstock.Time { return &r.DueAt }),
	numberColumn("decided_at", func(r *OccurrenceRow) *penstock.Time { return &r.DecidedAt }).editable(),
	textColumn("fate", func(r *OccurrenceRow) *Fate { return &r.Fate }).editable(),
	textColumn("reason", func(r *OccurrenceRow) *string { return &r.Reason }).editable(),
	jsonColumn("missed", func(r *OccurrenceRow) **MissedTicks { return &r.Missed }),
	listColumn("run_ids", func(r *OccurrenceRow) *[]string { return &r.RunIDs }).editable(),
	textColumn("owner", func(r *OccurrenceRow) *string { return &r.Owner }),
)

var (
	addOccurrence = occurrenceFields.insert +
		" ON CONFLICT (source, automation_uid, clock, due_at) WHERE fate <> 'missed' DO NOTHING"
	selectOccurrences = "SELECT " + occurrenceFields.selected + " FROM occurrences o WHERE "
	decideOccurrence  = occurrenceFields.update("", "uid = ? AND fate = 'waiting'")
	refuseOccurrence  = occurrenceFields.update("", "uid = ? AND fate IN ('started', 'merged_into')")
)

// isLive holds for runs of a schedule or clock that no other run started and that have not ended yet. One
// that a person continued after its end belongs to that person. The index runs_live has the same words.
const isLive = `r.schedule_id <> '' AND r.parent_id = '' AND r.ended_before = 0
		AND r.state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED')`

func readOccurrences(ctx context.Context, q querier, where string, args ...any) ([]OccurrenceRow, error) {
	rows, err := q.query(ctx, selectOccurrences+where, args...)
	return collect(q.store(), rows, err, "occurrences", func(r *OccurrenceRow) []any { return occurrenceFields.into(r) })
}

// Waiting returns what waits longest of each source without a live run: the occurrences of one moment.
// It reads at most limit sources, of which the first occurrence has a greater uid than after.
func (os Occurrences) Waiting(ctx context.Context, after string, limit int) ([][]OccurrenceRow, error) {
	oldest, err := readOccurrences(ctx, os.s, `o.uid IN (
			SELECT w.uid
			FROM (
				SELECT source, min(uid) AS uid
				FROM occurrences
				WHERE fate = 'waiting'
				GROUP BY source
			) w
			WHERE w.uid > $1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.schedule_id = w.source AND `+isLive+`)
		)
		ORDER BY o.uid
		LIMIT $2`, after, limit)
	if err != nil {
		return nil, err
	}
	groups := make([][]OccurrenceRow, len(oldest))
	for i, o := range oldest {
		if groups[i], err = readOccurrences(
			ctx, os.s, "o.source = $1 AND o.moment = $2 AND o.fate = 'waiting' ORDER BY o.uid", o.Source, o.Tick,
		); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(groups, func(g []OccurrenceRow) bool { return len(g) == 0 }), nil // decided meanwhile
}

// keptOccurrences is how many occurrences of a source are kept, however old they are.
const keptOccurrences = 50

// Clear removes decided occurrences from before a time, at most limit, and returns how many it removed.
// The newest ones of a schedule or automation stay as long as it exists.
func (os Occurrences) Clear(ctx context.Context, before penstock.Time, limit int) (n int, err error) {
	err = os.s.Write(ctx, func(tx *Tx) error {
		removed, err := tx.exec(ctx, `DELETE FROM occurrences
			WHERE uid IN (
				SELECT o.uid
				FROM occurrences o
				WHERE o.decided_at > 0 AND o.decided_at < $1 AND (
					$2 <= (
						SELECT count(*)
						FROM (
							SELECT 1
							FROM occurrences n
							WHERE n.source = o.source AND n.automation_uid = o.automation_uid AND n.uid > o.uid
							LIMIT $2
						) newer
					)
					OR NOT EXISTS (SELECT 1 FROM schedules s WHERE s.id = o.source)
					AND NOT EXISTS (SELECT 1 FROM automations a WHERE a.uid = o.source)
				)
				LIMIT $3
			)`, int64(before), keptOccurrences, limit)
		n = int(removed)
		return err
	})
	return n, err
}

// DecidedUntil returns the latest time until now of a source that has its fate, or 0.
// A later one comes from a clock that was ahead.
func (os Occurrences) DecidedUntil(
	ctx context.Context, source, automationUID, clock string, now penstock.Time,
) (at penstock.Time, err error) {
	var latest sql.NullInt64
	err = os.s.row(ctx, `SELECT max(o.due_at)
		FROM occurrences o
		WHERE o.source = $1 AND o.automation_uid = $2 AND o.clock = $3 AND o.due_at <= $4`,
		source, automationUID, clock, int64(now)).Scan(&latest)
	if err != nil {
		return 0, fmt.Errorf("read the last time of %s: %w", source, err)
	}
	return penstock.Time(latest.Int64), nil
}

// LiveRun is a run of a source that has not ended.
type LiveRun struct {
	ID            string
	AutomationUID string // "": the schedule's own
}

// Live lists the runs of a source that have not ended, oldest first, without those that runs started.
func (os OccurrencesTx) Live(ctx context.Context, source string) ([]LiveRun, error) {
	rows, err := os.tx.query(ctx, `SELECT r.id, r.automation_id
		FROM runs r
		WHERE r.schedule_id = $1 AND `+isLive+`
		ORDER BY r.created_at, r.id`, source)
	return collect(os.tx.s, rows, err, "runs", func(r *LiveRun) []any { return []any{&r.ID, &r.AutomationUID} })
}

// CountWaiting returns how many times of a source wait.
func (os OccurrencesTx) CountWaiting(ctx context.Context, source string) (n int, err error) {
	const count = "SELECT count(DISTINCT o.moment) FROM occurrences o WHERE o.source = $1 AND o.fate = 'waiting'"
	err = os.tx.row(ctx, count, source).Scan(&n)
	return n, err
}

// Add stores a new occurrence, and announces one that was missed. It returns false if there is one of this time
// already.
func (os OccurrencesTx) Add(ctx context.Context, r OccurrenceRow) (bool, error) {
	n, err := os.tx.exec(ctx, addOccurrence, occurrenceFields.row(&r)...)
	if err != nil {
		return false, fmt.Errorf("store an occurrence of %s: %w", r.Source, err)
	}
	if n > 0 && r.Fate == FateMissed {
		err = os.tx.Endpoints().announceMissed(ctx, r)
	}
	return n > 0, err
}

// SkipWaiting skips what waits of a source, or of one clock of it; "": of all.
func (os OccurrencesTx) SkipWaiting(ctx context.Context, source, clock, reason string, now penstock.Time) error {
	_, err := os.tx.exec(ctx, `UPDATE occurrences
		SET fate = 'skipped', reason = $1, decided_at = $2
		WHERE source = $3 AND fate = 'waiting' AND ($4 = '' OR clock = $4)`, reason, int64(now), source, clock)
	return wrapf(err, "skip what waits of %s", source)
}

// Decide gives an occurrence that waits its final fate. It returns false if it has one.
func (os OccurrencesTx) Decide(ctx context.Context, r OccurrenceRow) (bool, error) {
	n, err := os.tx.exec(ctx, decideOccurrence, occurrenceFields.changes(&r, r.UID)...)
	return n > 0, wrapf(err, "decide occurrence %s", r.UID)
}

// Refuse gives an occurrence another fate in the transaction that has started its run, which a budget
// refused.
func (os OccurrencesTx) Refuse(ctx context.Context, r OccurrenceRow) error {
	_, err := os.tx.exec(ctx, refuseOccurrence, occurrenceFields.changes(&r, r.UID)...)
	return wrapf(err, "refuse occurrence %s", r.UID)
}

// Occurrence is one event that was due to start work, and what became of it. An event has one for each
// automation that it concerns, and a time of a schedule has one for each run that it could start.
type Occurrence struct {
	UID           string         `json:"occurrence_uid"`
	Kind          OccurrenceKind `json:"kind"`
	AutomationUID string         `json:"automation_uid,omitempty"`
	ScheduleID    string         `json:"schedule_id,omitempty"`
	WebhookUID    string         `json:"webhook_uid,omitempty"`
	DeliveryID    string         `json:"delivery_id,omitempty"`
	Subject       string         `json:"subject,omitempty"`
	DueAt         penstock.Time  `json:"due_at"`
	DecidedAt     penstock.Time  `json:"decided_at,omitzero"` // absent while it waits
	Fate          Fate           `json:"fate"`
	Reason        string         `json:"reason,omitempty"` // why this fate, in words
	Missed        *MissedTicks   `json:"missed,omitempty"` // with the fate missed
	RunIDs        []string       `json:"run_ids"`          // that it started, or joined
}

// MissedTicks says which times of a schedule passed without a run.
type MissedTicks struct {
	Count   int           `json:"count"`
	AtLeast bool          `json:"at_least,omitempty"` // there were more than Count
	First   penstock.Time `json:"first"`
	Last    penstock.Time `json:"last"`
}

// OccurrenceKind is what an occurrence was.
type OccurrenceKind string

// OccurrenceTick is a time of a schedule, or of an automation's own clock.
const (
	OccurrenceTick     OccurrenceKind = "tick"
	OccurrenceDelivery OccurrenceKind = "delivery" // to a webhook
	OccurrenceCall     OccurrenceKind = "call"     // of the API, for a run
	OccurrenceDispatch OccurrenceKind = "dispatch" // of work to a factory
)

// Fate is what became of an occurrence. It waits first, or has its final fate at once. A final fate
// never changes.
type Fate string

// The fates.
const (
	FateWaiting    Fate = "waiting"
	FateStarted    Fate = "started"
	FateContinued  Fate = "continued"   // a follow-up gave it to a run
	FateMerged     Fate = "merged_into" // joined the run that another one started
	FateSuperseded Fate = "superseded"  // a later one replaced it before it started anything
	FateNoMatch    Fate = "no_match"    // the automation waits for something else
	FateDuplicate  Fate = "duplicate"   // the same delivery had come before
	FateRejected   Fate = "rejected"    // the webhook did not accept it
	FateSkipped    Fate = "skipped"     // a run was still live, or nothing may start
	FateMissed     Fate = "missed"      // no server was there in time
	FateFailed     Fate = "failed"      // no run could be made
)
