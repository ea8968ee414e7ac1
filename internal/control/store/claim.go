package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Claim is what an event is about. Events with the same key reach one run.
type Claim struct {
	Key     string // a hash of scope, source and values, never of joined texts
	Subject string
	Rules   penstock.SubjectRules
	Does    EventRole
	At      penstock.Time // when what the event is about has changed, as far as it says so
	Kind    OccurrenceKind
	Call    *SubjectCall // of a call or a dispatch
	Full    string       // why the event must start no run; a run that works on the subject may receive it; "": it may
}

// SubjectCall is a request for a run that is about a subject. It waits while a run works on the subject.
type SubjectCall struct {
	Caller     penstock.Principal  `json:"caller"`
	Request    penstock.RunRequest `json:"request"`
	Source     penstock.Source     `json:"source"`
	TriggerURL string              `json:"trigger_url,omitempty"`
	Metadata   map[string]string   `json:"metadata,omitempty"` // of the run; nil: the request has it
}

// ClaimKey hashes a claim. Each part is apart in the JSON, so that no value can imitate another subject, as it
// could in a joined text.
func ClaimKey(team, scope, source string, values ...string) string {
	sum := sha256.Sum256([]byte(marshal(append([]string{team, scope, source}, values...))))
	return hex.EncodeToString(sum[:])
}

// EventRole is what an event may do with its subject.
type EventRole byte

// EventStarts is the role of an event that starts a run unless one works on the subject.
const (
	EventStarts    EventRole = iota
	EventContinues           // it never starts a run
	EventCloses              // it ends the subject
)

// subjectStart is an event of a delivery that is about a subject, with the run that it would start.
type subjectStart struct {
	member *deliver
	start  int // in the member's Starts
	run    *NewRun
}

// What a subject decides, in the rows of a run and in the log entry of its delivery.
var (
	entryColumnsOfSubject = deliveryFields.some("identity", "matches", "runs")
	runColumnsOfSubject   = runFields.some("subject_uid", "subject", "continues", "events_count")
	readyColumn           = queueFields.some("ready_at")
)

// place puts what the subject has decided into the rows of the run. They are made before the transaction.
func (c subjectStart) place() {
	of := c.member.runs[c.start]
	if of == nil { // of a call
		c.member.runs[c.start] = newCreateRun(c.run)
		return
	}
	runFields.set(of.rows.run, &c.run.RunRow, runColumnsOfSubject)
	queueFields.set(of.rows.queue[0], c.run.place(c.run.CreatedAt), readyColumn)
}

// claim decides for each run that an event would start whether the event starts it, reaches the run that
// works on its subject, or closes the subject.
func (su SubjectsTx) claim(ctx context.Context, members []*deliver) error {
	list := claimsOf(members)
	if len(list) == 0 {
		return nil
	}
	subjects, err := su.lockClaims(ctx, list)
	if err != nil {
		return err
	}
	runs, err := su.newestRuns(ctx, subjects)
	if err != nil {
		return err
	}
	var events []*SubjectEventRow
	joined := map[string]int64{}
	for _, c := range list {
		e := nothingToContinue()
		if s := subjects[c.run.Claim.Key]; s != nil {
			if e, err = su.receive(ctx, s, runs, joined, c); err != nil {
				return err
			}
		}
		if c.member.events == nil {
			c.member.events = map[int]*SubjectEventRow{}
		}
		c.member.events[c.start] = e
		if e.UID != "" {
			events = append(events, e)
		}
	}
	if err := su.countJoined(ctx, joined); err != nil {
		return err
	}
	if err := su.setAll(ctx, subjects); err != nil {
		return err
	}
	var rows [][]any
	for _, e := range events { // now, because a later event may have decided an earlier one
		rows = append(rows, subjectEventFields.row(e))
	}
	if err := su.tx.insert(ctx, subjectEventFields.table, rows); err != nil {
		return err
	}
	for _, m := range members {
		if m.events != nil && m.row != nil { // a call has no log entry
			m.logSubjects()
		}
	}
	return nil
}

// claimsOf lists what is about a subject in the deliveries that are accepted.
func claimsOf(members []*deliver) []subjectStart {
	var list []subjectStart
	for _, m := range members {
		m.events = nil
		if m.err != nil || m.got.Limited || m.got.Unlogged || m.got.Outcome != penstock.OutcomeAccepted {
			continue
		}
		for i, run := range m.Starts {
			if run.Claim != nil {
				list = append(list, subjectStart{m, i, run})
			}
		}
	}
	return list
}

// logSubjects puts into the log entry which run has the delivery, if one has it by now.
func (d *deliver) logSubjects() {
	entry := d.entry
	entry.Matches = slices.Clone(d.Matches)
	for start, e := range d.events {
		for i := range entry.Matches {
			m := &entry.Matches[i]
			if m.RunID != d.Starts[start].ID {
				continue
			}
			m.RunID, m.SubjectUID = e.RunID, e.SubjectUID
			if e.RunID == "" && e.Fate != FateWaiting { // no run will have it
				m.WouldTrigger, m.Reason = false, e.Reason
				entry.runs--
			}
		}
	}
	if d.retryable() {
		entry.identity = ""
	}
	d.logged = slices.Clone(d.row)
	deliveryFields.set(d.logged, &entry, entryColumnsOfSubject)
}

// started lists the runs that the delivery starts, without those whose event reaches another run.
func (d *deliver) started() []*createRun {
	if d.events == nil {
		return d.runs
	}
	var runs []*createRun
	for i, run := range d.runs {
		if e, about := d.events[i]; !about || e.Fate == FateStarted {
			runs = append(runs, run)
		}
	}
	return runs
}

// lockClaims locks the rows of the claims in one order. It makes the rows of claims that are new, which
// [SubjectsTx.setAll] stores.
func (su SubjectsTx) lockClaims(ctx context.Context, list []subjectStart) (map[string]*SubjectRow, error) {
	keys, fresh := map[string]bool{}, map[string]*SubjectRow{}
	for _, c := range list {
		claim, at := c.run.Claim, c.member.ReceivedAt
		keys[claim.Key] = true
		if fresh[claim.Key] != nil || claim.Does == EventContinues {
			continue
		}
		fresh[claim.Key] = &SubjectRow{
			Subject: Subject{
				UID: penstock.NewID(), Subject: claim.Subject, AutomationUID: c.run.AutomationID, FactoryUID: c.run.FactoryUID,
				WebhookUID: c.run.WebhookUID, CreatedAt: at, UpdatedAt: at,
			},
			Team: c.run.Team, Claim: claim.Key, Rules: claim.Rules, fresh: true,
		}
	}
	subjects := fresh
	for args := range sets(slices.Sorted(maps.Keys(keys)), one[string]) {
		locked, err := readSubjects(
			ctx, su.tx, "WHERE s.claim IN ("+placeholders(1, len(args))+") ORDER BY s.claim"+su.tx.s.d.lock, args...,
		)
		if err != nil {
			return nil, err
		}
		for i := range locked {
			subjects[locked[i].Claim] = &locked[i]
		}
	}
	return subjects, nil
}

// setAll stores subjects of [SubjectsTx.lockClaims], those that are new and the others in one statement each. If
// another server has stored a new claim first, the transaction is repeated: see [dialect.transient].
func (su SubjectsTx) setAll(ctx context.Context, subjects map[string]*SubjectRow) error {
	var fresh, others [][]any
	for _, key := range slices.Sorted(maps.Keys(subjects)) {
		if s := subjects[key]; s.fresh {
			fresh = append(fresh, subjectFields.row(s))
		} else {
			others = append(others, subjectFields.row(s))
		}
	}
	if err := su.tx.insert(ctx, subjectFields.table, fresh); err != nil {
		return fmt.Errorf("claim subjects: %w", err)
	}
	return su.tx.insert(ctx, setSubjects, others)
}

// newestRuns reads the newest runs of subjects. It locks those that events can still join, in one order.
// A run that has begun is not locked: if it ends meanwhile, the event waits, and is due at once.
func (su SubjectsTx) newestRuns(ctx context.Context, subjects map[string]*SubjectRow) (map[string]*subjectRun, error) {
	var ids []string
	for _, s := range subjects {
		if s.RunID != "" {
			ids = append(ids, s.RunID)
		}
	}
	slices.Sort(ids)
	runs := make(map[string]*subjectRun, len(ids))
	if lock := su.tx.s.d.lock; lock != "" {
		// One that begins before it is locked is no longer chosen, and is read below.
		const waits = " AND prompt_state = '" + PromptWaiting + "' AND state IN ('QUEUED', 'BLOCKED') ORDER BY id"
		if err := su.readRuns(ctx, runs, ids, waits+lock); err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return runs[id] != nil })
	}
	return runs, su.readRuns(ctx, runs, ids, "")
}

func (su SubjectsTx) readRuns(ctx context.Context, into map[string]*subjectRun, ids []string, end string) error {
	for args := range sets(ids, one[string]) {
		rows, err := su.tx.query(ctx, `SELECT id, automation_id, state, prompt_state, created_at, finished_at
			FROM runs
			WHERE id IN (`+placeholders(1, len(args))+")"+end, args...)
		list, err := collect(su.tx.s, rows, err, "runs of subjects", func(r *subjectRun) []any {
			return []any{&r.id, &r.automation, &r.state, &r.promptState, &r.createdAt, &r.finishedAt}
		})
		if err != nil {
			return err
		}
		for i := range list {
			into[list[i].id] = &list[i]
		}
	}
	return nil
}

// countJoined counts events that join runs which wait, by run.
func (su SubjectsTx) countJoined(ctx context.Context, joined map[string]int64) error {
	for args := range sets(slices.Sorted(maps.Keys(joined)), func(id string) []any { return []any{id, joined[id]} }) {
		rows := make([]string, len(args)/2)
		for i := range rows {
			rows[i] = fmt.Sprintf("(CAST($%d AS TEXT), CAST($%d AS BIGINT))", 2*i+1, 2*i+2)
		}
		if _, err := su.tx.exec(ctx, "WITH joined (id, n) AS (VALUES "+strings.Join(rows, ", ")+`)
			UPDATE runs
			SET events_count = events_count + joined.n
			FROM joined
			WHERE runs.id = joined.id`, args...); err != nil {
			return fmt.Errorf("count the events of runs: %w", err)
		}
	}
	return nil
}

// Receive decides what becomes of a call about a subject, whose claim the run has that it would start. It stores
// that run if the call starts it.
func (su SubjectsTx) Receive(ctx context.Context, run *NewRun) (e SubjectEventRow, atCapacity bool, err error) {
	m := &deliver{
		NewDelivery: &NewDelivery{
			Delivery: Delivery{ID: run.ID, ReceivedAt: run.CreatedAt, Outcome: penstock.OutcomeAccepted},
			PaidBy:   run.Claim.Call.Caller.PaidBy(), Starts: []*NewRun{run},
		},
		runs: make([]*createRun, 1), // its rows depend on the claim
	}
	m.fail(nil)
	if err := su.claim(ctx, []*deliver{m}); err != nil {
		return e, false, err
	}
	if e = *m.events[0]; e.Fate != FateStarted {
		return e, false, nil
	}
	started := m.runs[0]
	if err := su.tx.Runs().createAll(ctx, []*createRun{started}); err != nil {
		return e, false, err
	}
	return e, started.atCapacity, started.err
}
