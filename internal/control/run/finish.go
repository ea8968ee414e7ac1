package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Finish implements penstock.Control.
func (c control) Finish(ctx context.Context, l penstock.Lease, r penstock.Result) ([]penstock.Prompt, error) {
	var prompts []penstock.Prompt
	var ended penstock.Result
	err := c.s.store.Write(ctx, func(tx *store.Tx) error {
		ended = r
		if r.Usage != nil {
			if err := tx.Budgets().Share(ctx, l.RunID); err != nil {
				return err
			}
		}
		subject, about, err := tx.Subjects().LockOf(ctx, l.RunID)
		if err != nil {
			return err
		}
		run, err := tx.Executions().Held(ctx, l)
		if err != nil {
			return err
		}
		if !about {
			prompts, err = c.s.finish(ctx, tx, run, &ended, nil)
			return err
		}
		prompts, err = c.s.finish(ctx, tx, run, &ended, &subject)
		return err
	})
	if err == nil && len(prompts) == 0 && !ended.KeepOpen {
		c.s.metrics.finished(ended.State)
	}
	return prompts, err
}

// finish ends a turn, and the run if no prompt follows. It changes the result if the run ends otherwise than its
// agent. subject is what the run's events are about, locked; nil: they are about nothing.
func (s *Executions) finish(
	ctx context.Context, tx *store.Tx, run store.RunRow, r *penstock.Result, subject *store.SubjectRow,
) ([]penstock.Prompt, error) {
	turn, err := tx.Executions().Turn(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if r.Turn != 0 && r.Turn < turn { // a repeated call whose response was lost
		return promptsInProgress(ctx, tx, run)
	}
	if err := s.addUsage(ctx, tx, run, *r); err != nil {
		return nil, err
	}
	if r.State == penstock.StateQueued {
		return nil, s.requeueHeld(ctx, tx, run, store.RequeuedByWorker)
	}
	if r.State == penstock.StateBlocked && r.Message != nil && r.Message.Budget != nil {
		return nil, s.blockUnfunded(ctx, tx, run, *r)
	}
	if err := tx.Followups().MarkDelivered(ctx, &run); err != nil {
		return nil, err
	}
	if err := decideOutputs(ctx, tx, run, *r); err != nil {
		return nil, err
	}
	if r.State == penstock.StateSucceeded && subject != nil {
		question, err := nextEvents(ctx, tx, *subject, run, penstock.Now())
		if err != nil {
			return nil, err
		}
		if question != nil {
			r.State, r.Message, r.KeepOpen = penstock.StateBlocked, question, false
		}
	}
	if r.State == penstock.StateSucceeded || r.State == penstock.StateBlocked {
		prompts, err := s.deliverPrompt(ctx, tx, run)
		if err != nil {
			return nil, err
		}
		if len(prompts) > 0 {
			return prompts, tx.Executions().NextTurn(ctx, run.ID)
		}
		if r.KeepOpen {
			return nil, forgetInterrupt(ctx, tx, run, *r)
		}
	}
	return nil, s.end(ctx, tx, run, r)
}

// promptsInProgress lists the prompts that the execution received and has not finished.
func promptsInProgress(ctx context.Context, tx *store.Tx, run store.RunRow) ([]penstock.Prompt, error) {
	list, err := tx.Followups().List(ctx, run.ID, store.PromptDelivering)
	var prompts []penstock.Prompt
	for _, f := range list {
		p := promptOf(f)
		if err := withEvents(ctx, tx, run, f.ID, &p); err != nil {
			return nil, err
		}
		prompts = append(prompts, p)
	}
	return prompts, err
}

// timelineByState maps each final state to its timeline event.
var timelineByState = map[penstock.State]string{
	penstock.StateSucceeded: TimelineDone,
	penstock.StateFailed:    penstock.TimelineFailed,
	penstock.StateError:     timelineErrored,
	penstock.StateBlocked:   penstock.TimelineBlocked,
}

// end ends a run, and sets the state of the result to the one that follows.
func (s *Executions) end(ctx context.Context, tx *store.Tx, run store.RunRow, r *penstock.Result) error {
	timelineEvent, ok := timelineByState[r.State]
	if !ok || !run.State.CanMove(r.State) {
		return penstock.Errorf(penstock.CodeConflict, "a run in state %s cannot end in state %s", run.State, r.State)
	}
	payload := map[string]any{}
	if r.Message != nil {
		payload["message"] = r.Message.Message
		if r.Message.ErrorCode != "" {
			payload["error_code"] = string(r.Message.ErrorCode)
			r.Message.Retryable = r.Message.Retryable || r.Message.ErrorCode.Retryable()
		}
	}
	if uid := run.Config.EnvironmentID; uid != "" {
		failed := r.Message != nil && r.Message.ErrorCode == penstock.CodeEnvironmentSetupFailed
		if err := tx.Environments().SetSetup(ctx, uid, failed); err != nil {
			return err
		}
	}
	move := store.Move{
		Run: run, To: r.State, Message: r.Message, TimelineEvent: timelineEvent, Payload: payload,
		ActionsUnknown: r.ActionsUnknown,
	}
	if r.Message != nil && r.State == penstock.StateBlocked {
		move.Blocked = store.BlockedBy(r.Message.Budget)
	}
	var err error
	r.State, err = tx.Runs().End(ctx, move)
	return err
}

// requeue returns a held run to the queue. Its unfinished prompts are delivered again.
func requeue(ctx context.Context, tx *store.Tx, run store.RunRow, reason string) error {
	if err := tx.Followups().Set(ctx, run.ID, store.PromptDelivering, store.PromptWaiting); err != nil {
		return err
	}
	return tx.Runs().Requeue(ctx, run, reason)
}

// requeueHeld takes a held run from its worker. An interrupted turn counts as ended: the run
// continues with the next follow-up, or waits for one.
func (s *Executions) requeueHeld(ctx context.Context, tx *store.Tx, run store.RunRow, reason string) error {
	interrupted, err := tx.Executions().Interrupted(ctx, run.ID)
	if err != nil {
		return err
	}
	if !interrupted || run.State != penstock.StateInProgress {
		return requeue(ctx, tx, run, reason)
	}
	if err := endTurn(ctx, tx, run, map[string]any{"reason": reason}); err != nil {
		return err
	}
	waiting, _, err := tx.Followups().Waiting(ctx, run.ID)
	if err != nil {
		return err
	}
	if waiting > 0 {
		return requeue(ctx, tx, run, reason)
	}
	return s.end(
		ctx, tx, run,
		&penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: penstock.Interrupted}},
	)
}

// forgetInterrupt drops an interrupt that came too late: its turn has ended by itself.
// Otherwise requeueHeld would treat the agent as interrupted.
func forgetInterrupt(ctx context.Context, tx *store.Tx, run store.RunRow, r penstock.Result) error {
	if r.State != penstock.StateSucceeded {
		return nil
	}
	return tx.Executions().ForgetInterrupt(ctx, run.ID)
}

// endTurn ends the worker's unfinished turn, if there is one.
func endTurn(ctx context.Context, tx *store.Tx, run store.RunRow, payload map[string]any) error {
	delivering, err := tx.Followups().List(ctx, run.ID, store.PromptDelivering)
	if err != nil || run.PromptState != store.PromptDelivering && len(delivering) == 0 {
		return err
	}
	if err := tx.Followups().MarkDelivered(ctx, &run); err != nil {
		return err
	}
	return tx.Events().Append(ctx, run.ID, penstock.Timeline(penstock.Now(), penstock.TimelineInterrupted, payload))
}

// addUsage adds the usage of a turn as the agent reports it, once. It counts only if no call of the
// execution went through the ledger: otherwise the ledger is exact.
func (s *Executions) addUsage(ctx context.Context, tx *store.Tx, row store.RunRow, r penstock.Result) error {
	if r.Usage == nil {
		return nil
	}
	u := r.Usage.Bounded()
	if fresh, err := tx.Executions().MarkTurnCounted(ctx, row.ID, r.Turn); err != nil || !fresh {
		return err
	}
	if counted, err := tx.Calls().Counted(ctx, row.ID, row.ExecutionID); err != nil || counted {
		return err
	}
	provider, _, _ := strings.Cut(u.ModelID, "/")
	c := store.Call{
		ID: penstock.NewID(), RunID: row.ID, Provider: provider, Model: u.ModelID, Tokens: u.Tokens, Unpriced: true,
	}
	if parts, known := s.prices.Turn(u.ModelID, u.Tokens, time.Now()); known {
		c.Costs, c.Cost, c.Unpriced = parts, parts.Total(), false
	} else if u.CostUSD != nil {
		c.Cost, c.Unpriced = penstock.NanosOf(*u.CostUSD), false
	}
	if c.Unpriced && u.Tokens.Total() == 0 {
		return nil
	}
	if err := tx.Calls().AddReported(ctx, row, c); err != nil {
		return err
	}
	return consume(ctx, tx, c)
}

// overdueBatch bounds one pass over overdue runs.
const overdueBatch = 100

// EndOverdue ends runs that have waited longer than the queue timeout.
func (s *Executions) EndOverdue(ctx context.Context) error {
	before := penstock.Now().Add(-s.queueTimeout)
	workers, err := s.store.Queue.Workers(ctx)
	if err != nil {
		return err
	}
	return share.Sweep(overdueBatch, func(after store.Waiting) ([]store.Waiting, error) {
		return s.store.Queue.WaitingSince(ctx, before, after, overdueBatch)
	}, func(w store.Waiting) error {
		if err := s.store.Write(ctx, func(tx *store.Tx) error {
			row, err := tx.Runs().Lock(ctx, w.RunID)
			if err != nil || row.State != penstock.StateQueued {
				return err
			}
			message := fmt.Sprintf("The run waited for a worker for %s.", s.queueTimeout.Round(time.Second))
			if m := Missing(row, workers); m != nil {
				message += " " + m.Message
			}
			return tx.Runs().Move(ctx, store.Move{
				Run: row, To: penstock.StateError, TimelineEvent: timelineErrored,
				Message: &penstock.StatusMessage{Message: message, ErrorCode: penstock.CodeUnavailable, Retryable: true},
			})
		}); err != nil {
			return fmt.Errorf("end the overdue run %s: %w", w.RunID, err)
		}
		return nil
	})
}

// endNotGranted ends a claimed run that cannot get its secrets.
func (s *Executions) endNotGranted(ctx context.Context, l penstock.Lease, why *access.GrantError) error {
	if why.Cause != nil {
		s.log.Error("cannot decrypt a secret of the run", "run_id", l.RunID, "error", why.Cause)
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		run, err := tx.Executions().Held(ctx, l)
		if err != nil {
			return err
		}
		if err := tx.Followups().MarkDelivered(ctx, &run); err != nil {
			return err
		}
		return s.end(ctx, tx, run, &penstock.Result{State: why.State, Message: &why.Message})
	})
	if err == nil {
		s.metrics.finished(why.State)
	}
	return cmp.Or(err, penstock.ErrNoWork)
}
