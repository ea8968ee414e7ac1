package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
)

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

// The defaults of [penstock.SubjectRules].
const (
	defaultQuiet       = 30 * time.Second
	defaultLongestWait = 5 * time.Minute
	defaultKeep        = 14 * 24 * time.Hour
)

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
		SubjectEvent: SubjectEvent{
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
			e.Fate, e.Reason = FateSkipped, fmt.Sprintf("The subject was closed at %s.", s.ClosedAt)
			return e, nil
		}
		s.ClosedAt, goesOn = 0, s.FirstAt != 0 || state != "" && !state.Done()
	}
	if !e.Continues {
		s.OpenedAt = max(s.OpenedAt, claim.At)
	}
	switch {
	case run.waits() && !s.Closing && run.automation == c.run.AutomationID:
		e.Fate, e.RunID = FateMerged, run.id
		if err := su.join(ctx, *run, joined, s.Rules, at); err != nil {
			return nil, err
		}
	case !goesOn && claim.Full != "":
		e.Fate, e.Reason = FateSkipped, claim.Full
	case !goesOn:
		e.Fate, e.RunID, e.Call = FateStarted, c.run.ID, nil
		su.begin(s, c.run, run)
		c.run.ReadyAt = readyAt(s.Rules, at, at)
		c.place()
		runs[c.run.ID] = &subjectRun{
			id: c.run.ID, automation: c.run.AutomationID, state: penstock.StateQueued, promptState: PromptWaiting,
			createdAt: c.run.CreatedAt, begun: &c,
		}
	default:
		e.Fate, e.DecidedAt = FateWaiting, 0
		if err := su.gather(ctx, s, e, at); err != nil {
			return nil, err
		}
		s.gathered = append(s.gathered, e)
	}
	return e, nil
}

// nothingToContinue is the result of an event that starts no run while none is there to receive it.
func nothingToContinue() *SubjectEventRow {
	return &SubjectEventRow{SubjectEvent: SubjectEvent{
		Reason: "The event only continues runs, and no run works on its subject.",
	}}
}

// shut ends a subject: what waits is dropped, and the run is cancelled if the rules say so.
func (su SubjectsTx) shut(
	ctx context.Context, s *SubjectRow, e *SubjectEventRow, claim *Claim, state penstock.State, at penstock.Time,
) error {
	e.Fate = FateSkipped
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
	return su.end(ctx, s, everyone, FateSkipped, "The delivery "+e.DeliveryID+" closed the subject.", at)
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
	longest := s.Rules.LongestWait.Or(defaultLongestWait)
	quiet := defaultQuiet
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
	return min(latest.Add(quiet), first.Add(rules.LongestWait.Or(defaultLongestWait)))
}

// supersede ends what waits of a subject, because a newer event of the same automation replaces it.
func (su SubjectsTx) supersede(ctx context.Context, s *SubjectRow, by *SubjectEventRow, at penstock.Time) error {
	if s.FirstAt == 0 {
		return nil
	}
	reason := "A later " + string(by.Kind) + " replaced it before any run received it."
	if by.Kind == OccurrenceDelivery {
		reason = "The delivery " + by.DeliveryID + " replaced it before any run received it."
	}
	return su.end(ctx, s, by.AutomationUID, FateSuperseded, reason, at)
}
