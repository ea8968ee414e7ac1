package store

import (
	"context"
	"fmt"
	"strconv"

	"github.com/penstock-dev/penstock"
)

// everyone stands for the events of all automations that share a subject.
const everyone = "*"

// end gives the events of a subject that wait a final fate without a run, and lets their payloads go. They are the
// events of one automation that shares the subject, or everyone's.
func (su SubjectsTx) end(
	ctx context.Context, s *SubjectRow, whose string, fate Fate, reason string, at penstock.Time,
) error {
	const waiting = "e.subject_uid = $1 AND e.fate = 'waiting' AND ($2 = '" + everyone + "' OR e.automation_uid = $2)"
	if _, err := su.tx.exec(ctx, `UPDATE deliveries
		SET runs = runs - (SELECT count(*) FROM subject_events e WHERE e.delivery_id = deliveries.id AND `+waiting+`)
		WHERE runs > 0 AND id IN (SELECT e.delivery_id FROM subject_events e WHERE `+waiting+")", s.UID, whose,
	); err != nil {
		return fmt.Errorf("let the payloads of subject %s go: %w", s.UID, err)
	}
	// Few events outlive the entries of the log.
	orphans, err := readSubjectEvents(ctx, su.tx, waiting+` AND EXISTS (
			SELECT 1 FROM payloads p WHERE p.delivery_id = e.delivery_id
		)
		ORDER BY e.delivery_id`, s.UID, whose)
	if err != nil {
		return err
	}
	if _, err := su.decide(ctx, *s, Given{Fate: fate, AutomationUID: whose}, reason, at); err != nil {
		return err
	}
	left, err := su.Waiting(ctx, s.UID, 1)
	if err != nil {
		return err
	}
	gathered := s.gathered
	s.gathered = nil
	for _, e := range gathered {
		if whose == everyone || e.AutomationUID == whose {
			e.Fate, e.Reason, e.DecidedAt = fate, reason, at
		} else {
			s.gathered = append(s.gathered, e)
		}
	}
	for _, e := range orphans {
		if err := su.tx.Deliveries().dropPayload(ctx, s.Team, e.DeliveryID, e.DueAt, ""); err != nil {
			return err
		}
	}
	switch {
	case len(left) > 0:
		s.FirstAt = left[0].DueAt
	case len(s.gathered) > 0:
		s.FirstAt = s.gathered[0].DueAt
	default:
		s.FirstAt, s.NextAt, s.Interrupt = 0, 0, false
	}
	return nil
}

// Drop skips the events of a locked subject that wait.
func (su SubjectsTx) Drop(ctx context.Context, s SubjectRow, reason string, at penstock.Time) error {
	return su.drop(ctx, s, everyone, reason, at)
}

// DropLike skips the events of a locked subject that wait, if they are of the automation of one of them.
func (su SubjectsTx) DropLike(
	ctx context.Context, s SubjectRow, like SubjectEventRow, reason string, at penstock.Time,
) error {
	return su.drop(ctx, s, like.AutomationUID, reason, at)
}

func (su SubjectsTx) drop(ctx context.Context, s SubjectRow, whose, reason string, at penstock.Time) error {
	if s.FirstAt == 0 {
		return nil
	}
	if err := su.end(ctx, &s, whose, FateSkipped, reason, at); err != nil {
		return err
	}
	return su.Set(ctx, s)
}

// Waiting lists the events of a subject that wait, the oldest ones first, at most limit.
func (su subjectReads) Waiting(ctx context.Context, uid string, limit int) ([]SubjectEventRow, error) {
	return readSubjectEvents(
		ctx, su.q, "e.subject_uid = $1 AND e.fate = 'waiting' ORDER BY e.uid LIMIT $2", uid, limit,
	)
}

// WaitingLike lists the events of a subject that wait and are of the automation of one of them, the oldest ones
// first, at most limit.
func (su subjectReads) WaitingLike(ctx context.Context, like SubjectEventRow, limit int) ([]SubjectEventRow, error) {
	return readSubjectEvents(
		ctx, su.q, "e.subject_uid = $1 AND e.automation_uid = $2 AND e.fate = 'waiting' ORDER BY e.uid LIMIT $3",
		like.SubjectUID, like.AutomationUID, limit,
	)
}

// WaitingStarts reports whether an event waits that may start a run, and is of the automation of another one.
func (su subjectReads) WaitingStarts(ctx context.Context, like SubjectEventRow) (bool, error) {
	var n int
	err := su.q.row(ctx, `SELECT count(*)
		FROM subject_events e
		WHERE e.subject_uid = $1 AND e.automation_uid = $2 AND e.fate = 'waiting' AND e.continues = 0`,
		like.SubjectUID, like.AutomationUID).Scan(&n)
	return n > 0, su.q.store().d.mapError(err)
}

// countEvents counts events that a run receives.
func (su SubjectsTx) countEvents(ctx context.Context, runID string, n int64) error {
	_, err := su.tx.exec(ctx, "UPDATE runs SET events_count = events_count + $1 WHERE id = $2", n, runID)
	return wrapf(err, "count the events of run %s", runID)
}

// Given says which events of a subject a run receives: those that wait, until one of them, inclusive.
type Given struct {
	RunID      string
	FollowupID string // "": with the first prompt
	Until      string // the UID of the last one
	Fate       Fate
	// AutomationUID is whose they are, if a factory's automations share the subject.
	AutomationUID string
}

// Give gives events of a locked subject that wait to a run, and stores the subject. The caller has locked
// the run.
func (su SubjectsTx) Give(ctx context.Context, s SubjectRow, g Given, now penstock.Time) error {
	n, err := su.decide(ctx, s, g, "", now)
	if err != nil {
		return err
	}
	if g.FollowupID != "" {
		if err := su.countEvents(ctx, g.RunID, n); err != nil {
			return err
		}
	}
	return su.rest(ctx, s, now)
}

// rest stores a subject after some of its events have left.
func (su SubjectsTx) rest(ctx context.Context, s SubjectRow, now penstock.Time) error {
	left, err := su.Waiting(ctx, s.UID, 1)
	if err != nil {
		return err
	}
	s.FirstAt, s.NextAt, s.Interrupt = 0, 0, false
	if len(left) > 0 {
		s.FirstAt, s.NextAt = left[0].DueAt, now
	}
	return su.Set(ctx, s)
}

// decide gives events that wait their final fate, and returns their number.
func (su SubjectsTx) decide(
	ctx context.Context, s SubjectRow, g Given, reason string, now penstock.Time,
) (int64, error) {
	n, err := su.tx.exec(ctx, `UPDATE subject_events
		SET fate = $1, decided_at = $2, run_id = $3, followup_id = $4, reason = $5,
			call = CASE WHEN $1 = 'merged_into' THEN call ELSE '' END
		WHERE subject_uid = $6 AND fate = 'waiting' AND ($7 = '' OR uid <= $7)
			AND ($8 = '`+everyone+`' OR automation_uid = $8)`,
		string(g.Fate), int64(now), g.RunID, g.FollowupID, reason, s.UID, g.Until, g.AutomationUID)
	return n, wrapf(err, "decide the events of subject %s", s.UID)
}

// Start stores the new run of a locked subject, with the events that wait for it.
func (su SubjectsTx) Start(
	ctx context.Context, s SubjectRow, run *NewRun, before RunRow,
	events []SubjectEventRow, now penstock.Time,
) error {
	var was *subjectRun
	if before.ID != "" {
		was = &subjectRun{id: before.ID, state: before.State}
	}
	su.begin(&s, run, was)
	run.EventsCount = int64(len(events))
	if _, err := su.tx.Runs().Create(ctx, run); err != nil {
		return err
	}
	given := Given{RunID: run.ID, AutomationUID: events[0].AutomationUID}
	given.Until, given.Fate = events[0].UID, FateStarted
	if _, err := su.decide(ctx, s, given, "", now); err != nil {
		return err
	}
	given.Until, given.Fate = events[len(events)-1].UID, FateMerged
	return su.Give(ctx, s, given, now)
}

// Due lists subjects whose events may start something now: no run works on them, or the agent of the run
// has no turn, or its turn is to be interrupted. It also lists closed subjects whose run is to be cancelled. It
// starts after one in their order, longest due first.
func (su Subjects) Due(ctx context.Context, now penstock.Time, after SubjectRow, limit int) ([]SubjectRow, error) {
	return readSubjects(ctx, su.s, `LEFT JOIN runs r ON r.id = s.run_id
		WHERE s.uid IN (
			SELECT uid FROM subjects WHERE closing = 1
			UNION ALL
			SELECT uid FROM subjects WHERE due_at > 0
		) AND (
			s.closing = 1 OR s.due_at > 0 AND (
				s.due_at <= $1 AND (r.id IS NULL OR r.state IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED') OR `+idle+`)
				OR s.interrupt = 1 AND r.state = 'INPROGRESS'
			)
		) AND (s.due_at, s.uid) > ($2, $3)
		ORDER BY s.due_at, s.uid
		LIMIT `+strconv.Itoa(limit), int64(now), int64(after.NextAt), after.UID) // SQLite would plan anew for each $4
}

// idle holds for a run whose worker waits for a follow-up.
const idle = `r.state = 'INPROGRESS' AND r.prompt_state = 'delivered' AND NOT EXISTS (
	SELECT 1 FROM followups f WHERE f.run_id = r.id AND f.state IN ('waiting', 'handed')
)`

// Idle reports whether a locked run waits for a follow-up at its worker.
func (su SubjectsTx) Idle(ctx context.Context, runID string) (bool, error) {
	var n int
	err := su.tx.row(ctx, "SELECT count(*) FROM runs r WHERE r.id = $1 AND "+idle, runID).Scan(&n)
	return n > 0, err
}

// EventsOf lists the events that a run has received with a follow-up, or with its first prompt if
// followupID is "", oldest first, with the sizes of their bodies.
func (su SubjectsTx) EventsOf(ctx context.Context, runID, followupID string) ([]EventFile, error) {
	rows, err := su.tx.query(ctx, `SELECT e.delivery_id, e.due_at, COALESCE(length(d.body), length(p.body), -1)
		FROM subject_events e
		LEFT JOIN deliveries d ON d.id = e.delivery_id
		LEFT JOIN payloads p ON p.delivery_id = e.delivery_id
		WHERE e.run_id = $1 AND e.run_id <> '' AND e.followup_id = $2
		ORDER BY e.uid`, runID, followupID)
	return collect(su.tx.s, rows, err, "events of a run", func(f *EventFile) []any {
		return []any{&f.DeliveryID, &f.At, &f.Size}
	})
}

// CallsOf lists the calls that a run receives with its first prompt besides the one that started it, oldest
// first.
func (su SubjectsTx) CallsOf(ctx context.Context, runID string) ([]SubjectEventRow, error) {
	return readSubjectEvents(
		ctx, su.tx, "e.run_id = $1 AND e.run_id <> '' AND e.followup_id = '' AND e.call <> '' ORDER BY e.uid", runID,
	)
}

// EventFile is the body of an event of a run.
type EventFile struct {
	DeliveryID string
	At         penstock.Time
	Size       int64 // -1: it is no longer stored
}

// HasEvent reports whether a run has received a delivery.
func (su Subjects) HasEvent(ctx context.Context, runID, deliveryID string) (bool, error) {
	var n int
	err := su.s.row(ctx, `SELECT count(*)
		FROM subject_events
		WHERE run_id = $1 AND delivery_id = $2`, runID, deliveryID).Scan(&n)
	return n > 0, su.s.d.mapError(err)
}
