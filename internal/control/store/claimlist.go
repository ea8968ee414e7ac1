package store

import (
	"cmp"
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// SubjectQuery chooses subjects. An empty field chooses all.
type SubjectQuery struct {
	AutomationUID string
	FactoryUID    string
	Subject       string
	Cursor        string
	Limit         int
}

const countedSubject = `, (SELECT count(*) FROM subject_events w WHERE w.subject_uid = s.uid AND w.fate = 'waiting'),
	COALESCE((SELECT r.state FROM runs r WHERE r.id = s.run_id), '')`

// List returns one page of a team's subjects, newest first, and the cursor of the next one, or "".
func (su Subjects) List(
	ctx context.Context, team string, q SubjectQuery,
) (list []Subject, next string, err error) {
	var w where
	w.add("s.team = ? AND s.uid < ?", team, newestPosition) // so that SQLite follows the uids
	for _, f := range []struct{ column, value string }{
		{"s.factory_uid", q.FactoryUID}, {"s.subject", q.Subject},
	} {
		if f.value != "" {
			w.add(f.column+" = ?", f.value)
		}
	}
	if q.AutomationUID != "" {
		w.add(`(s.automation_uid = ? OR s.uid IN (
			SELECT e.subject_uid FROM subject_events e WHERE e.automation_uid = ? AND e.automation_uid <> ''
		))`, q.AutomationUID, q.AutomationUID)
	}
	after, limit := q.Cursor, cmp.Or(q.Limit, penstock.DefaultLimit)
	q.Cursor, q.Limit = "", 0
	rows, next, err := pageByUID(
		w, "s.uid", fingerprintOf(q, Viewer{Team: team}), after, limit,
		func(where string, args ...any) ([]SubjectRow, error) { return su.read(ctx, "WHERE "+where, args...) },
		func(r SubjectRow) string { return r.UID },
	)
	if err != nil {
		return nil, "", err
	}
	list = []Subject{}
	for _, r := range rows {
		list = append(list, r.Subject)
	}
	return list, next, nil
}

func (su Subjects) read(ctx context.Context, where string, args ...any) ([]SubjectRow, error) {
	rows, err := su.s.query(ctx, "SELECT "+subjectFields.selected+countedSubject+" FROM subjects s "+where, args...)
	return collect(su.s, rows, err, "subjects", func(r *SubjectRow) []any {
		return subjectFields.into(r, &r.Waiting, &r.RunState)
	})
}

// shownEvents is how many events of a subject or run are shown.
const shownEvents = 200

// Find reads one subject of a team, with its latest events. Absence is penstock.CodeNotFound.
func (su Subjects) Find(ctx context.Context, team, uid string) (Subject, error) {
	rows, err := su.read(ctx, "WHERE s.uid = $1 AND s.team = $2", uid, team)
	if err == nil && len(rows) == 0 {
		err = penstock.NotFound("subject", uid)
	}
	if err != nil {
		return Subject{}, err
	}
	found := rows[0].Subject
	events, err := readSubjectEvents(
		ctx, su.s, fmt.Sprintf("e.subject_uid = $1 ORDER BY e.uid DESC LIMIT %d", shownEvents), uid,
	)
	found.Events = []SubjectEvent{}
	for _, e := range events {
		e.WebhookUID = found.WebhookUID
		if e.Kind != OccurrenceDelivery {
			e.DeliveryID = ""
		}
		found.Events = append(found.Events, e.SubjectEvent)
	}
	return found, err
}

// OfDeliveries returns the events of deliveries by their delivery.
func (su Subjects) OfDeliveries(ctx context.Context, ids []string) (map[string][]SubjectEventRow, error) {
	events := map[string][]SubjectEventRow{}
	for args := range chunks(ids, func(id string) []any { return []any{id} }) {
		rows, err := su.s.query(ctx, "SELECT "+subjectEventFields.selected+`, s.subject
			FROM subject_events e
			JOIN subjects s ON s.uid = e.subject_uid
			WHERE e.delivery_id IN (`+placeholders(1, len(args))+`)
			ORDER BY e.uid`, args...)
		list, err := collect(su.s, rows, err, "events of deliveries", func(r *SubjectEventRow) []any {
			return subjectEventFields.into(r, &r.Subject)
		})
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			events[e.DeliveryID] = append(events[e.DeliveryID], e)
		}
	}
	return events, nil
}

// OldSubject is a subject that was created before some time.
type OldSubject struct {
	UID     string
	Dormant bool // it has no event since then, and none of its runs is kept
}

// Old lists subjects that were created before a time and follow one by their UID, at most limit.
func (su Subjects) Old(ctx context.Context, before penstock.Time, after string, limit int) ([]OldSubject, error) {
	rows, err := su.s.query(ctx, "SELECT s.uid, CASE WHEN "+dormant+` THEN 1 ELSE 0 END
		FROM subjects s
		WHERE s.uid > $2 AND s.uid < $3
		ORDER BY s.uid
		LIMIT $4`, int64(before), after, FirstID(before), limit)
	return collect(su.s, rows, err, "old subjects", func(o *OldSubject) []any { return []any{&o.UID, &o.Dormant} })
}

// dormant holds for a subject without an event since $1, and without a run.
const dormant = `s.updated_at < $1 AND s.due_at = 0 AND NOT EXISTS (
		SELECT 1 FROM runs r WHERE r.subject_uid <> '' AND r.subject_uid = s.uid
	)`

// Remove removes a subject with its events, unless an event has come since before, or one of its runs is kept.
func (su SubjectsTx) Remove(ctx context.Context, uid string, before penstock.Time) (removed bool, err error) {
	n, err := su.tx.exec(ctx, "DELETE FROM subjects AS s WHERE "+dormant+" AND s.uid = $2", int64(before), uid)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = su.tx.exec(ctx, "DELETE FROM subject_events WHERE subject_uid = $1", uid)
	return err == nil, err
}

// Subject is what the events of an automation are about, with the run that works on it.
type Subject struct {
	UID           string         `json:"uid"`
	Subject       string         `json:"subject"`
	AutomationUID string         `json:"automation_uid,omitempty"`
	FactoryUID    string         `json:"factory_uid,omitempty"`
	WebhookUID    string         `json:"webhook_uid,omitempty"`
	RunID         string         `json:"run_id,omitempty"`    // the newest run
	RunState      penstock.State `json:"run_state,omitempty"` // absent if the run is no longer kept
	EventsCount   int64          `json:"events_count"`
	Waiting       int64          `json:"waiting_count"`      // events that no run has received yet
	NextAt        penstock.Time  `json:"next_at,omitzero"`   // when waiting events start something, at the earliest
	ClosedAt      penstock.Time  `json:"closed_at,omitzero"` // the time of the event that closed it
	CreatedAt     penstock.Time  `json:"created_at"`
	UpdatedAt     penstock.Time  `json:"updated_at"` // of the latest event
	// Events are the latest ones, newest first; only in a response with this one subject.
	Events []SubjectEvent `json:"events,omitzero"`
}

// SubjectEvent is an event with a subject, and what became of it.
type SubjectEvent struct {
	UID        string         `json:"occurrence_uid"`
	Kind       OccurrenceKind `json:"kind"` // not tick
	DeliveryID string         `json:"delivery_id,omitempty"`
	WebhookUID string         `json:"webhook_uid,omitempty"`
	// AutomationUID is the automation that waited for the event, if a factory's automations share the subject.
	AutomationUID string        `json:"automation_uid,omitempty"`
	DueAt         penstock.Time `json:"due_at"`
	DecidedAt     penstock.Time `json:"decided_at,omitzero"` // absent while it waits
	Fate          Fate          `json:"fate"`
	Reason        string        `json:"reason,omitempty"`
	RunID         string        `json:"run_id,omitempty"`
	FollowupID    string        `json:"followup_id,omitempty"` // that gave it; absent: it came with the first prompt
}
