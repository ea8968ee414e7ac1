package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// SubjectRow is a subject with its internal fields. Its row is the claim of the subject: whatever starts or
// continues a run on it locks the row, after budgets and before runs.
type SubjectRow struct {
	Subject
	Team  string
	Claim string
	Rules penstock.SubjectRules // of the latest event
	// Followups counts the follow-ups of events since a person last spoke.
	Followups     int
	Interrupt     bool // an event asks to end the turn
	InterruptedAt penstock.Time
	FirstAt       penstock.Time // when the first event came that waits; 0: none waits
	// OpenedAt is the time of the newest event that may start runs. An older one closes nothing.
	OpenedAt penstock.Time
	Closing  bool // the run is to be cancelled, because an event closed the subject

	gathered []*SubjectEventRow // events that wait and are not stored yet
	fresh    bool               // it is not stored yet
}

var subjectFields = newResource("subjects", "s",

	textColumn("uid", func(r *SubjectRow) *string { return &r.UID }),
	textColumn("team", func(r *SubjectRow) *string { return &r.Team }),
	textColumn("claim", func(r *SubjectRow) *string { return &r.Claim }),
	textColumn("subject", func(r *SubjectRow) *string { return &r.Subject.Subject }).editable(),
	textColumn("automation_uid", func(r *SubjectRow) *string { return &r.AutomationUID }).editable(),
	textColumn("factory_uid", func(r *SubjectRow) *string { return &r.FactoryUID }),
	textColumn("webhook_uid", func(r *SubjectRow) *string { return &r.WebhookUID }),
	jsonColumn("rules", func(r *SubjectRow) *penstock.SubjectRules { return &r.Rules }).editable(),
	textColumn("run_id", func(r *SubjectRow) *string { return &r.RunID }).editable(),
	numberColumn("events", func(r *SubjectRow) *int64 { return &r.EventsCount }).editable(),
	numberColumn("followups", func(r *SubjectRow) *int { return &r.Followups }).editable(),
	flagColumn("interrupt", func(r *SubjectRow) *bool { return &r.Interrupt }).editable(),
	numberColumn("interrupted_at", func(r *SubjectRow) *penstock.Time { return &r.InterruptedAt }).editable(),
	numberColumn("first_at", func(r *SubjectRow) *penstock.Time { return &r.FirstAt }).editable(),
	numberColumn("due_at", func(r *SubjectRow) *penstock.Time { return &r.NextAt }).editable(),
	numberColumn("closed_at", func(r *SubjectRow) *penstock.Time { return &r.ClosedAt }).editable(),
	numberColumn("opened_at", func(r *SubjectRow) *penstock.Time { return &r.OpenedAt }).editable(),
	flagColumn("closing", func(r *SubjectRow) *bool { return &r.Closing }).editable(),
	numberColumn("created_at", func(r *SubjectRow) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *SubjectRow) *penstock.Time { return &r.UpdatedAt }).editable(),
)

var (
	setSubjects    = subjectFields.onConflict(subjectFields.orUpdate("uid"))
	setSubject     = subjectFields.update("", "uid = ?")
	selectSubjects = "SELECT " + subjectFields.selected + " FROM subjects s "
)

// SubjectEventRow is an event with its internal fields.
type SubjectEventRow struct {
	SubjectEvent
	SubjectUID string
	PaidBy     []string
	Continues  bool         // it never starts a run
	Call       *SubjectCall // until a run has it
	Subject    string       // only of [Subjects.OfDeliveries]
}

// Decides reports whether the event is what a delivery was for the automation of a match.
func (r SubjectEventRow) Decides(m DeliveryMatch) bool {
	return m.SubjectUID == r.SubjectUID && (r.AutomationUID == "" || r.AutomationUID == m.UID)
}

var subjectEventFields = newResource("subject_events", "e",

	textColumn("uid", func(r *SubjectEventRow) *string { return &r.UID }),
	textColumn("subject_uid", func(r *SubjectEventRow) *string { return &r.SubjectUID }),
	textColumn("automation_uid", func(r *SubjectEventRow) *string { return &r.AutomationUID }),
	textColumn("delivery_id", func(r *SubjectEventRow) *string { return &r.DeliveryID }),
	numberColumn("due_at", func(r *SubjectEventRow) *penstock.Time { return &r.DueAt }),
	numberColumn("decided_at", func(r *SubjectEventRow) *penstock.Time { return &r.DecidedAt }),
	textColumn("fate", func(r *SubjectEventRow) *Fate { return &r.Fate }),
	textColumn("reason", func(r *SubjectEventRow) *string { return &r.Reason }),
	textColumn("run_id", func(r *SubjectEventRow) *string { return &r.RunID }),
	textColumn("followup_id", func(r *SubjectEventRow) *string { return &r.FollowupID }),
	listColumn("paid_by", func(r *SubjectEventRow) *[]string { return &r.PaidBy }),
	flagColumn("continues", func(r *SubjectEventRow) *bool { return &r.Continues }),
	textColumn("kind", func(r *SubjectEventRow) *OccurrenceKind { return &r.Kind }),
	jsonColumn("call", func(r *SubjectEventRow) **SubjectCall { return &r.Call }),
)

var selectSubjectEvents = "SELECT " + subjectEventFields.selected + " FROM subject_events e WHERE "

func readSubjects(ctx context.Context, q querier, where string, args ...any) ([]SubjectRow, error) {
	rows, err := q.query(ctx, selectSubjects+where, args...)
	return collect(q.store(), rows, err, "subjects", func(r *SubjectRow) []any { return subjectFields.into(r) })
}

func readSubjectEvents(ctx context.Context, q querier, where string, args ...any) ([]SubjectEventRow, error) {
	rows, err := q.query(ctx, selectSubjectEvents+where, args...)
	return collect(
		q.store(), rows, err, "events of subjects", func(r *SubjectEventRow) []any { return subjectEventFields.into(r) },
	)
}

// ContinuesWith reports whether later events continue the run, or an event has to start another one.
func (r SubjectRow) ContinuesWith(state penstock.State, finishedAt, now penstock.Time) bool {
	switch {
	case state == "":
		return false
	case !state.Done():
		return true
	}
	return state == penstock.StateSucceeded && now < finishedAt.Add(r.Rules.Keep.Or(defaultKeep))
}

// Set stores a subject that was read and locked in the transaction.
func (su SubjectsTx) Set(ctx context.Context, s SubjectRow) error {
	_, err := su.tx.exec(ctx, setSubject, subjectFields.changes(&s, s.UID)...)
	return wrapf(err, "store subject %s", s.UID)
}

// CallsAhead counts the calls about a subject that wait, or have joined a run that has not begun, and their bytes.
func (su SubjectsTx) CallsAhead(ctx context.Context, uid, runID string) (n int, bytes int64, err error) {
	err = su.tx.row(ctx, `SELECT count(*), COALESCE(sum(length(call)), 0)
		FROM subject_events e
		WHERE e.subject_uid = $1 AND (e.fate = 'waiting' OR e.run_id = $2 AND e.followup_id = '' AND e.call <> '')`,
		uid, runID).Scan(&n, &bytes)
	return n, bytes, su.tx.s.d.mapError(err)
}

// RunOf reads the newest run on the subject of a claim. Its ID is "" if it has none that is kept.
func (su Subjects) RunOf(ctx context.Context, claim string) (RunRow, error) {
	run, err := su.s.d.runBy(
		ctx, su.s, "r.id = (SELECT s.run_id FROM subjects s WHERE s.claim = $1)", claim,
	)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return RunRow{}, nil
	}
	return run, err
}

// Lock reads a subject and locks it until the transaction ends. Absence is penstock.CodeNotFound.
func (su SubjectsTx) Lock(ctx context.Context, uid string) (SubjectRow, error) {
	list, err := readSubjects(ctx, su.tx, "WHERE s.uid = $1"+su.tx.s.d.lock, uid)
	return only(list, err, "subject", uid)
}

// LockOf reads and locks the subject of a run; ok is false if it has none.
func (su SubjectsTx) LockOf(ctx context.Context, runID string) (s SubjectRow, ok bool, err error) {
	var uid string
	err = su.tx.row(ctx, "SELECT subject_uid FROM runs WHERE id = $1", runID).Scan(&uid)
	if errors.Is(err, sql.ErrNoRows) || err == nil && uid == "" {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read the subject of run %s: %w", runID, err)
	}
	s, err = su.Lock(ctx, uid)
	if penstock.CodeOf(err) == penstock.CodeNotFound { // no longer kept
		return s, false, nil
	}
	return s, err == nil, err
}

// OfCalls reports whether the events of the subject are calls and dispatches, not deliveries.
func (r SubjectRow) OfCalls() bool { return r.AutomationUID == "" }

// AutomationOf returns the automation that waited for an event of the subject.
func (r SubjectRow) AutomationOf(e SubjectEventRow) string {
	return cmp.Or(e.AutomationUID, r.AutomationUID)
}
