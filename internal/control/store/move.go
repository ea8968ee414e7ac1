package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/penstock-dev/penstock"
)

// ErrMoved is returned if the run is no longer in the state that the caller saw.
var ErrMoved = errors.New("the run is in another state by now")

// Move takes a run from one state to another, with its events.
type Move struct {
	Run           RunRow // as read in the same transaction by [RunsTx.Lock]
	To            penstock.State
	Message       *penstock.StatusMessage // replaces the previous one; nil removes it
	TimelineEvent string                  // of the timeline; "": none
	Payload       map[string]any          // of the timeline event

	Events                      []penstock.Draft // appended after the events of the move itself
	Blocked                     Blocked          // what a BLOCKED run waits for, besides a message
	SessionID, Location, Prompt string           // of the run; "": unchanged

	// ActionsUnknown means that the agent's harness reports no actions, so that their absence says
	// nothing about the run.
	ActionsUnknown bool

	requeued  string           // why, of a [RunsTx.Requeue]
	discarded []penstock.Draft // the events of outputs that the move discards
}

// Move is the one place where a run's state changes: one conditional write that compares the state
// it leaves, together with the queue entry and the events. A pair of states that is not in the
// table of moves is a bug of the caller.
//
// A move to QUEUED enqueues a new execution. A move out of a held state ends the lease and adds up
// the time. A move to SUCCEEDED fails with ErrMoved while a follow-up waits, and ends a hollow run
// as its automation says: see [RunsTx.End]. Every other move that ends the run records the
// follow-ups that the agent has not received as undelivered.
func (rs RunsTx) Move(ctx context.Context, m Move) error {
	_, err := rs.End(ctx, m)
	return err
}

// End is [RunsTx.Move], and returns the run's new state. It is FAILED instead of SUCCEEDED for a
// hollow run of an automation with [penstock.HollowFail].
func (rs RunsTx) End(ctx context.Context, m Move) (penstock.State, error) {
	from := m.Run.State
	if !from.CanMove(m.To) {
		return from, fmt.Errorf("run %s cannot move from %s to %s", m.Run.ID, from, m.To)
	}
	unread, err := rs.tx.Followups().unread(ctx, m)
	if err != nil {
		return from, err
	}
	evidence, hollow, err := rs.ending(ctx, m, unread)
	if err != nil {
		return from, err
	}
	succeeds := m.To == penstock.StateSucceeded
	if hollow != "" {
		m = m.hollow(hollow)
	}
	if m.Run.Stalled != nil {
		m = m.with("stalled_since", m.Run.Stalled.Since)
	}
	now := penstock.Now()
	if cancelled := m.To == penstock.StateCancelled; cancelled || from == penstock.StateInProgress {
		if m.discarded, err = rs.tx.Forges().DiscardOutputs(ctx, m.Run.ID, cancelled, now); err != nil {
			return from, err
		}
	}
	return m.To, rs.write(ctx, m, ending{evidence, hollow, succeeds}, unread, now)
}

// ending is what the agent's work says about the end of a run.
type ending struct {
	evidence *penstock.Evidence // nil: unchanged
	hollow   string             // why the run is hollow; "": it is not
	succeeds bool               // the agent has succeeded, so the end has to wait for follow-ups that wait
}

// hollow returns the move that ends a hollow run.
func (m Move) hollow(reason string) Move {
	m = m.with("hollow_reason", reason)
	if m.Run.OnHollow != penstock.HollowFail {
		return m
	}
	m.To, m.Message, m.TimelineEvent = penstock.StateFailed, didNothing(reason), penstock.TimelineFailed
	return m.with("message", m.Message.Message).with("error_code", string(m.Message.ErrorCode))
}

// write stores a move.
func (rs RunsTx) write(ctx context.Context, m Move, end ending, unread []Followup, now penstock.Time) error {
	set := newChange(m, now)
	drafts := m.drafts(set, unread, now)
	var last, heard, threads int64
	err := rs.tx.row(ctx, `UPDATE runs
		SET state = $1, updated_at = $2, started_at = $3, finished_at = $4, run_ms = $5, held_at = $6,
			execution_id = $7, status_message = $8, last_seq = last_seq + $9,
			session_id = COALESCE(NULLIF($10, ''), session_id),
			location = COALESCE(NULLIF($11, ''), location),
			prompt_state = COALESCE(NULLIF($12, ''), prompt_state), times_lost = $13,
			not_given_since = $14, blocked_budget = $15, needed_cost = $16, needed_tokens = $17, state_at = $2,
			ended_before = CASE WHEN $18 = 1 THEN 1 ELSE ended_before END,
			evidence = COALESCE(NULLIF($19, ''), evidence), hollow = $20,
			progress_at = $2, progress_seq = last_seq + $9, stalled = ''
		WHERE id = $21
			AND state = $22
			AND execution_id = $23
			AND ($24 = 0 OR NOT EXISTS (
				SELECT 1 FROM followups f WHERE f.run_id = $21 AND f.state = 'waiting'
			))
		RETURNING last_seq, CASE WHEN personal = 0 AND `+hasEndpoints+` THEN 1 ELSE 0 END,
			(SELECT count(*) FROM forge_threads t WHERE t.run_id = runs.id)`,
		string(m.To), int64(now), int64(set.startedAt), int64(set.finishedAt), set.runMillis, int64(set.heldAt),
		set.execution, marshal(m.Message), len(drafts), m.SessionID, m.Location, m.Prompt,
		set.timesLost, int64(set.notGivenSince), m.Blocked.Budget, m.Blocked.Cost, m.Blocked.Tokens,
		flag(m.To.Done() || m.Run.State.Done()), marshal(end.evidence), end.hollow,
		m.Run.ID, string(m.Run.State), m.Run.ExecutionID, flag(end.succeeds)).Scan(&last, &heard, &threads)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrMoved
	}
	if err != nil {
		return fmt.Errorf("move run %s to %s: %w", m.Run.ID, m.To, err)
	}
	if err := rs.moveQueue(ctx, m, now); err != nil {
		return err
	}
	if err := rs.tx.Followups().giveUp(ctx, unread); err != nil {
		return err
	}
	if heard == 1 {
		if err := rs.tx.Endpoints().announceMove(ctx, m, now, last, end.hollow != ""); err != nil {
			return err
		}
	}
	if threads > 0 {
		if err := rs.tx.Forges().tellThread(ctx, m.Run.ID, m.To.Done(), now); err != nil {
			return err
		}
	}
	if err := rs.tx.Events().insert(ctx, m.Run.ID, set.execution, last, drafts); err != nil {
		return err
	}
	return rs.tx.Automations().countEnd(ctx, m, now)
}

// Why [RunsTx.Requeue] is called.
const (
	RequeuedByWorker = "handed_back"     // its worker returned it
	LeaseLost        = "lease_lost"      // its worker is gone
	Funded           = "budget_has_room" // see [BudgetsTx.Resume]
	NotGiven         = "not_given"       // its assignment could not be built
)

// Requeue moves a held run back to the queue, as a new execution. The reason is in
// the payload of its timeline event, and counts into RunRow.TimesLost and
// RunRow.NotGivenSince.
func (rs RunsTx) Requeue(ctx context.Context, run RunRow, reason string) error {
	return rs.Move(ctx, Move{
		Run: run, To: penstock.StateQueued, TimelineEvent: timelineRequeued,
		Payload: map[string]any{"reason": reason}, requeued: reason,
	})
}

// drafts returns the events of a move. Undelivered follow-ups come first, so that the state is the
// last event of a run.
func (m Move) drafts(set change, unread []Followup, now penstock.Time) []penstock.Draft {
	drafts, ids := undelivered(unread, now)
	payload := m.Payload
	if len(ids) > 0 {
		payload = m.with("undelivered_followups", ids).Payload
	}
	drafts = append(append(m.discarded, drafts...), penstock.NewDraft(penstock.EventState, now,
		penstock.StateData{State: m.To, ExecutionID: set.execution, StatusMessage: m.Message}))
	if m.TimelineEvent != "" {
		drafts = append(drafts, penstock.Timeline(now, m.TimelineEvent, payload))
	}
	return append(drafts, m.Events...)
}

// with returns m with another value in the payload of its timeline event.
func (m Move) with(key string, value any) Move {
	m.Payload = maps.Clone(m.Payload)
	if m.Payload == nil {
		m.Payload = map[string]any{}
	}
	m.Payload[key] = value
	return m
}

// change is what a move does to the run's row besides its state.
type change struct {
	startedAt, finishedAt, heldAt penstock.Time
	runMillis                     int64
	execution                     int
	timesLost                     int
	notGivenSince                 penstock.Time
}

func newChange(m Move, now penstock.Time) change {
	r, to := m.Run, m.To
	c := change{
		startedAt: r.StartedAt, finishedAt: 0, heldAt: r.heldAt, execution: r.ExecutionID,
		timesLost: r.TimesLost, notGivenSince: r.NotGivenSince,
	}
	switch {
	case m.requeued == LeaseLost:
		c.timesLost++
	case m.requeued == NotGiven:
		c.notGivenSince = cmp.Or(r.NotGivenSince, now)
	case to != penstock.StateQueued && to != penstock.StateClaimed:
		c.notGivenSince = 0
	}
	c.runMillis = int64(r.RunTime) / 1e6
	switch {
	case to == penstock.StateClaimed:
		c.heldAt = now
		c.startedAt = cmp.Or(c.startedAt, now)
	case !to.Held():
		c.heldAt = 0
	default: // the run stays held: its time is added up later
		c.runMillis -= int64(max(0, now-r.heldAt))
		c.runMillis = max(0, c.runMillis)
	}
	if to.Done() {
		c.finishedAt = now
	}
	if to == penstock.StateQueued {
		c.execution++
	}
	return c
}

// moveQueue updates the queue. A QUEUED run waits in it, and other runs have no row. The claim
// itself writes the lease of a held run.
func (rs RunsTx) moveQueue(ctx context.Context, m Move, now penstock.Time) error {
	if m.To.Held() {
		return nil
	}
	if _, err := rs.tx.exec(ctx, "DELETE FROM queue WHERE run_id = $1", m.Run.ID); err != nil {
		return fmt.Errorf("take run %s from the queue: %w", m.Run.ID, err)
	}
	if m.Run.State.Held() {
		if _, err := rs.tx.exec(ctx, `UPDATE executions
			SET ended_at = $1
			WHERE run_id = $2 AND execution_id = $3`, int64(now), m.Run.ID, m.Run.ExecutionID); err != nil {
			return fmt.Errorf("end the execution of run %s: %w", m.Run.ID, err)
		}
		rs.tx.Nudge(TopicQueue) // a slot is free
	}
	if m.To != penstock.StateQueued {
		return nil
	}
	if err := queueFields.add(ctx, rs.tx, m.Run.place(now)); err != nil {
		return err
	}
	rs.tx.Nudge(TopicQueue)
	return nil
}

// didNothing explains a run that is FAILED because it is hollow, for this reason.
func didNothing(reason string) *penstock.StatusMessage {
	return &penstock.StatusMessage{
		Message:   reason + " Its automation has `on_hollow: fail`, so the run is FAILED.",
		ErrorCode: penstock.CodeAgentDidNothing,
	}
}
