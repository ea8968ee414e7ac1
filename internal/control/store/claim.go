package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	Kind    penstock.OccurrenceKind
	Call    *SubjectCall // of a call or a dispatch
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

// SubjectRow is a subject with its internal fields. Its row is the claim of the subject: whatever starts or
// continues a run on it locks the row, after budgets and before runs.
type SubjectRow struct {
	penstock.Subject
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
	penstock.SubjectEvent
	SubjectUID string
	PaidBy     []string
	Continues  bool         // it never starts a run
	Call       *SubjectCall // until a run has it
	Subject    string       // only of [Subjects.OfDeliveries]
}

// Decides reports whether the event is what a delivery was for the automation of a match.
func (r SubjectEventRow) Decides(m penstock.DeliveryMatch) bool {
	return m.SubjectUID == r.SubjectUID && (r.AutomationUID == "" || r.AutomationUID == m.UID)
}

var subjectEventFields = newResource("subject_events", "e",
	textColumn("uid", func(r *SubjectEventRow) *string { return &r.UID }),
	textColumn("subject_uid", func(r *SubjectEventRow) *string { return &r.SubjectUID }),
	textColumn("automation_uid", func(r *SubjectEventRow) *string { return &r.AutomationUID }),
	textColumn("delivery_id", func(r *SubjectEventRow) *string { return &r.DeliveryID }),
	numberColumn("due_at", func(r *SubjectEventRow) *penstock.Time { return &r.DueAt }),
	numberColumn("decided_at", func(r *SubjectEventRow) *penstock.Time { return &r.DecidedAt }),
	textColumn("fate", func(r *SubjectEventRow) *penstock.Fate { return &r.Fate }),
	textColumn("reason", func(r *SubjectEventRow) *string { return &r.Reason }),
	textColumn("run_id", func(r *SubjectEventRow) *string { return &r.RunID }),
	textColumn("followup_id", func(r *SubjectEventRow) *string { return &r.FollowupID }),
	listColumn("paid_by", func(r *SubjectEventRow) *[]string { return &r.PaidBy }),
	flagColumn("continues", func(r *SubjectEventRow) *bool { return &r.Continues }),
	textColumn("kind", func(r *SubjectEventRow) *penstock.OccurrenceKind { return &r.Kind }),
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

// subjectRun is what a subject's newest run looks like to an event.
type subjectRun struct {
	id          string
	automation  string
	state       penstock.State
	promptState string
	createdAt   penstock.Time
	finishedAt  penstock.Time
	begun       *subjectStart // of the same batch: it is stored later; nil: it is stored
}

// waits reports whether the run has not begun, so that events of its automation can still join its first prompt.
func (r *subjectRun) waits() bool {
	return r != nil && r.promptState == PromptWaiting &&
		(r.state == penstock.StateQueued || r.state == penstock.StateBlocked)
}

// ContinuesWith reports whether later events continue the run, or an event has to start another one.
func (r SubjectRow) ContinuesWith(state penstock.State, finishedAt, now penstock.Time) bool {
	switch {
	case state == "":
		return false
	case !state.Done():
		return true
	}
	return state == penstock.StateSucceeded && now < finishedAt.Add(r.Rules.Keep.Or(penstock.DefaultKeep))
}

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
			if e.RunID == "" && e.Fate != penstock.FateWaiting { // no run will have it
				m.WouldTrigger, m.Reason = false, e.Reason
				entry.runs--
			}
		}
	}
	if d.comesAgain() {
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
		if e, about := d.events[i]; !about || e.Fate == penstock.FateStarted {
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
			Subject: penstock.Subject{
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

// receive decides what becomes of an event on a locked subject. joined counts the events that join stored runs.
func (su SubjectsTx) receive(
	ctx context.Context, s *SubjectRow, runs map[string]*subjectRun, joined map[string]int64, c subjectStart,
) (*SubjectEventRow, error) {
	at, claim := c.member.ReceivedAt, c.run.Claim
	run := runs[s.RunID]
	var state penstock.State
	var finishedAt penstock.Time
	if run != nil {
		state, finishedAt = run.state, run.finishedAt
	}
	goesOn := s.FirstAt != 0 || s.ContinuesWith(state, finishedAt, at)
	if claim.Does == EventContinues && s.ClosedAt == 0 && !goesOn {
		return nothingToContinue(), nil
	}
	s.Subject.Subject, s.Rules = claim.Subject, claim.Rules
	s.EventsCount++
	s.UpdatedAt = max(s.UpdatedAt, at)
	e := &SubjectEventRow{
		SubjectEvent: penstock.SubjectEvent{
			UID: penstock.NewID(), Kind: claim.Kind, DeliveryID: c.member.ID, DueAt: at, DecidedAt: at,
		},
		SubjectUID: s.UID, PaidBy: c.member.PaidBy, Continues: claim.Does == EventContinues, Call: claim.Call,
	}
	if claim.Rules.SubjectScope == penstock.SubjectScopeFactory {
		e.AutomationUID = c.run.AutomationID
	}
	if claim.Does == EventCloses {
		return e, su.shut(ctx, s, e, claim, state, at)
	}
	if s.ClosedAt > 0 {
		if e.Continues || claim.At <= s.ClosedAt {
			e.Fate, e.Reason = penstock.FateSkipped, fmt.Sprintf("The subject was closed at %s.", s.ClosedAt)
			return e, nil
		}
		s.ClosedAt, goesOn = 0, s.FirstAt != 0 || state != "" && !state.Done()
	}
	if !e.Continues {
		s.OpenedAt = max(s.OpenedAt, claim.At)
	}
	switch {
	case run.waits() && !s.Closing && run.automation == c.run.AutomationID:
		e.Fate, e.RunID = penstock.FateMerged, run.id
		if err := su.join(ctx, *run, joined, s.Rules, at); err != nil {
			return nil, err
		}
	case !goesOn:
		e.Fate, e.RunID, e.Call = penstock.FateStarted, c.run.ID, nil
		su.begin(s, c.run, run)
		c.run.ReadyAt = readyAt(s.Rules, at, at)
		c.place()
		runs[c.run.ID] = &subjectRun{
			id: c.run.ID, automation: c.run.AutomationID, state: penstock.StateQueued, promptState: PromptWaiting,
			createdAt: c.run.CreatedAt, begun: &c,
		}
	default:
		e.Fate, e.DecidedAt = penstock.FateWaiting, 0
		if err := su.gather(ctx, s, e, at); err != nil {
			return nil, err
		}
		s.gathered = append(s.gathered, e)
	}
	return e, nil
}

// nothingToContinue is the result of an event that starts no run while none is there to receive it.
func nothingToContinue() *SubjectEventRow {
	return &SubjectEventRow{SubjectEvent: penstock.SubjectEvent{
		Reason: "The event only continues runs, and no run works on its subject.",
	}}
}

// shut ends a subject: what waits is dropped, and the run is cancelled if the rules say so.
func (su SubjectsTx) shut(
	ctx context.Context, s *SubjectRow, e *SubjectEventRow, claim *Claim, state penstock.State, at penstock.Time,
) error {
	e.Fate = penstock.FateSkipped
	if claim.At < s.OpenedAt {
		e.Reason = fmt.Sprintf("It did not close the subject: an event with the later time %s came before.", s.OpenedAt)
		return nil
	}
	e.Reason = "It closed the subject."
	s.ClosedAt = max(s.ClosedAt, claim.At)
	if claim.Rules.ClosesRun && state != "" && !state.Done() {
		e.Reason = fmt.Sprintf("It closed the subject, and run %s is cancelled.", s.RunID)
		s.Closing = true
		su.tx.Nudge(TopicSubjects)
	}
	if s.FirstAt == 0 {
		return nil
	}
	return su.end(ctx, s, everyone, penstock.FateSkipped, "The delivery "+e.DeliveryID+" closed the subject.", at)
}

// begin makes a new run the one that works on the subject.
func (su SubjectsTx) begin(s *SubjectRow, started *NewRun, before *subjectRun) {
	started.ContinuesID = ""
	if before != nil && before.state != penstock.StateCancelled {
		started.ContinuesID = before.id
	}
	started.SubjectUID, started.Subject, started.EventsCount = s.UID, s.Subject.Subject, 1
	s.RunID, s.AutomationUID, s.Followups, s.Interrupt, s.Closing = started.ID, started.AutomationID, 0, false, false
}

// gather makes an event wait for the run that works on its subject.
func (su SubjectsTx) gather(ctx context.Context, s *SubjectRow, e *SubjectEventRow, at penstock.Time) error {
	longest := s.Rules.LongestWait.Or(penstock.DefaultLongestWait)
	quiet := penstock.DefaultQuiet
	switch s.Rules.WhenBusy {
	case penstock.WhenBusyQueue:
		quiet = 0
	case penstock.WhenBusyReplace:
		if err := su.supersede(ctx, s, e, at); err != nil {
			return err
		}
		if at >= s.InterruptedAt.Add(longest) {
			quiet, s.Interrupt = 0, true
		}
	}
	s.FirstAt = cmp.Or(s.FirstAt, at)
	s.NextAt = min(at.Add(s.Rules.Quiet.Or(quiet)), s.FirstAt.Add(longest))
	su.tx.Nudge(TopicSubjects)
	return nil
}

// join counts an event that joins a run which waits, and delays its claim if it waits for quiet.
func (su SubjectsTx) join(
	ctx context.Context, run subjectRun, joined map[string]int64, rules penstock.SubjectRules, at penstock.Time,
) error {
	until := readyAt(rules, run.createdAt, at)
	if c := run.begun; c != nil {
		c.run.EventsCount++
		c.run.ReadyAt = max(c.run.ReadyAt, until)
		c.place()
		return nil
	}
	if until > 0 {
		if _, err := su.tx.exec(ctx, `UPDATE queue
			SET ready_at = $1
			WHERE run_id = $2 AND token = '' AND ready_at > $3 AND ready_at < $1`, int64(until), run.id, int64(at)); err != nil {
			return fmt.Errorf("hold run %s: %w", run.id, err)
		}
	}
	joined[run.id]++
	return nil
}

// readyAt returns when a worker may claim the first run of a subject, whose first and latest events came at
// these times; 0: at once.
func readyAt(rules penstock.SubjectRules, first, latest penstock.Time) penstock.Time {
	quiet := rules.Quiet.Or(0)
	if quiet == 0 {
		return 0
	}
	return min(latest.Add(quiet), first.Add(rules.LongestWait.Or(penstock.DefaultLongestWait)))
}

// supersede ends what waits of a subject, because a newer event of the same automation replaces it.
func (su SubjectsTx) supersede(ctx context.Context, s *SubjectRow, by *SubjectEventRow, at penstock.Time) error {
	if s.FirstAt == 0 {
		return nil
	}
	reason := "A later " + string(by.Kind) + " replaced it before any run received it."
	if by.Kind == penstock.OccurrenceDelivery {
		reason = "The delivery " + by.DeliveryID + " replaced it before any run received it."
	}
	return su.end(ctx, s, by.AutomationUID, penstock.FateSuperseded, reason, at)
}

// everyone stands for the events of all automations that share a subject.
const everyone = "*"

// end gives the events of a subject that wait a final fate without a run, and lets their payloads go. They are the
// events of one automation that shares the subject, or everyone's.
func (su SubjectsTx) end(
	ctx context.Context, s *SubjectRow, whose string, fate penstock.Fate, reason string, at penstock.Time,
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
	if err := su.end(ctx, &s, whose, penstock.FateSkipped, reason, at); err != nil {
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

// Set stores a subject that was read and locked in the transaction.
func (su SubjectsTx) Set(ctx context.Context, s SubjectRow) error {
	if _, err := su.tx.exec(ctx, setSubject, subjectFields.changes(&s, s.UID)...); err != nil {
		return fmt.Errorf("store subject %s: %w", s.UID, err)
	}
	return nil
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

// WaitingStarts reports whether an event waits that may start a run, and is of the automation of another one.
func (su subjectReads) WaitingStarts(ctx context.Context, like SubjectEventRow) (bool, error) {
	var n int
	err := su.q.row(ctx, `SELECT count(*)
		FROM subject_events e
		WHERE e.subject_uid = $1 AND e.automation_uid = $2 AND e.fate = 'waiting' AND e.continues = 0`,
		like.SubjectUID, like.AutomationUID).Scan(&n)
	return n > 0, su.q.store().d.mapError(err)
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

// countEvents counts events that a run receives.
func (su SubjectsTx) countEvents(ctx context.Context, runID string, n int64) error {
	if _, err := su.tx.exec(ctx, "UPDATE runs SET events_count = events_count + $1 WHERE id = $2", n, runID); err != nil {
		return fmt.Errorf("count the events of run %s: %w", runID, err)
	}
	return nil
}

// Lock reads a subject and locks it until the transaction ends. Absence is penstock.CodeNotFound.
func (su SubjectsTx) Lock(ctx context.Context, uid string) (SubjectRow, error) {
	list, err := readSubjects(ctx, su.tx, "WHERE s.uid = $1"+su.tx.s.d.lock, uid)
	if err == nil && len(list) == 0 {
		err = penstock.NotFound("subject", uid)
	}
	if err != nil {
		return SubjectRow{}, err
	}
	return list[0], nil
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

// Given says which events of a subject a run receives: those that wait, until one of them, inclusive.
type Given struct {
	RunID      string
	FollowupID string // "": with the first prompt
	Until      string // the UID of the last one
	Fate       penstock.Fate
	// AutomationUID is whose they are, if a factory's automations share the subject.
	AutomationUID string
}

// OfCalls reports whether the events of the subject are calls and dispatches, not deliveries.
func (r SubjectRow) OfCalls() bool { return r.AutomationUID == "" }

// AutomationOf returns the automation that waited for an event of the subject.
func (r SubjectRow) AutomationOf(e SubjectEventRow) string {
	return cmp.Or(e.AutomationUID, r.AutomationUID)
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
	if err != nil {
		return 0, fmt.Errorf("decide the events of subject %s: %w", s.UID, err)
	}
	return n, nil
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
	given.Until, given.Fate = events[0].UID, penstock.FateStarted
	if _, err := su.decide(ctx, s, given, "", now); err != nil {
		return err
	}
	given.Until, given.Fate = events[len(events)-1].UID, penstock.FateMerged
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

// Receive decides what becomes of a call about a subject, whose claim the run has that it would start. It stores
// that run if the call starts it.
func (su SubjectsTx) Receive(ctx context.Context, run *NewRun) (e SubjectEventRow, atCapacity bool, err error) {
	m := &deliver{
		NewDelivery: &NewDelivery{
			Delivery: penstock.Delivery{ID: run.ID, ReceivedAt: run.CreatedAt, Outcome: penstock.OutcomeAccepted},
			PaidBy:   run.Claim.Call.Caller.PaidBy(), Starts: []*NewRun{run},
		},
		runs: make([]*createRun, 1), // its rows depend on the claim
	}
	m.fail(nil)
	if err := su.claim(ctx, []*deliver{m}); err != nil {
		return e, false, err
	}
	if e = *m.events[0]; e.Fate != penstock.FateStarted {
		return e, false, nil
	}
	started := m.runs[0]
	if err := su.tx.Runs().createAll(ctx, []*createRun{started}); err != nil {
		return e, false, err
	}
	return e, started.atCapacity, started.err
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
