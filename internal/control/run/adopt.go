package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// The length of the token that an adopter chooses, in bytes.
const (
	minAdoptionToken = 20
	maxAdoptionToken = 64
)

// Adopt implements penstock.Control.
func (c control) Adopt(
	ctx context.Context, l penstock.Lease, adoption penstock.Adoption,
) (penstock.Assignment, error) {
	if n := len(adoption.Token); n < minAdoptionToken || n > maxAdoptionToken {
		return penstock.Assignment{}, penstock.Invalid(
			"/adoption/token", "must have %d to %d bytes", minAdoptionToken, maxAdoptionToken,
		)
	}
	for pointer, name := range map[string]string{
		"/adoption/worker_host": adoption.Host, "/adoption/sandbox": adoption.Sandbox,
	} {
		if len(name) > request.MaxName {
			return penstock.Assignment{}, penstock.Invalid(pointer, "has more than %d bytes", request.MaxName)
		}
	}
	a := penstock.Assignment{Lease: l}
	a.Lease.Token = store.AdoptedToken(l.Token, adoption.Token)
	// A repeated call gets the same key, so that it does not matter which response arrives.
	a.APIKey = access.DeriveKey(a.Lease.Token)
	var run store.RunRow
	err := c.s.store.Write(ctx, func(tx *store.Tx) error {
		var repeated bool
		var err error
		if run, repeated, err = tx.Executions().Adopt(ctx, l, adoption, access.HashKey(a.APIKey)); err != nil {
			return err
		}
		if repeated {
			a.Prompts, err = deliveredPrompts(ctx, tx, run)
			return err
		}
		if err := tx.Events().Append(ctx, run.ID, penstock.Timeline(
			penstock.Now(), timelinePodStarted,
			map[string]any{"worker_host": adoption.Host, "sandbox": adoption.Sandbox},
		)); err != nil {
			return err
		}
		a.Prompts, err = c.s.deliverPrompt(ctx, tx, run)
		return err
	})
	if err != nil {
		return penstock.Assignment{}, err
	}
	a.Lease.ExecutionID = run.ExecutionID
	a, err = c.s.assigned(ctx, a, run, c.s.buildAssignment(ctx, &a, run, run.SessionID))
	if errors.Is(err, penstock.ErrNoWork) { // its secrets are not granted, so it has ended
		err = penstock.ErrLeaseLost
	}
	return a, err
}

// deliveredPrompts lists the prompts that the execution has received, for a repeated adoption.
func deliveredPrompts(ctx context.Context, tx *store.Tx, run store.RunRow) ([]penstock.Prompt, error) {
	if run.PromptState == store.PromptDelivering {
		p := penstock.Prompt{ID: run.ID, Text: run.Prompt, Mode: run.Mode}
		err := withEvents(ctx, tx, run, "", &p)
		return []penstock.Prompt{p}, err
	}
	return promptsInProgress(ctx, tx, run)
}

// ReportLoss implements penstock.Control.
func (c control) ReportLoss(ctx context.Context, l penstock.Lease, loss penstock.Loss) error {
	if loss.State != penstock.StateFailed && loss.State != penstock.StateError {
		return penstock.Invalid("/loss/state", "must be FAILED or ERROR")
	}
	if loss.Message.Message == "" || len(loss.Message.Message) > maxLossText || len(loss.Reason) > request.MaxName {
		return penstock.Invalid("/loss/message", "must have 1 to %d bytes, and the reason at most %d",
			maxLossText, request.MaxName)
	}
	held, final := false, false
	err := c.s.store.Write(ctx, func(tx *store.Tx) (err error) {
		held, final, err = c.s.endLaunched(ctx, tx, l, loss)
		return err
	})
	switch {
	case err != nil:
		return err
	case !held:
		return penstock.ErrLeaseLost
	case final:
		c.s.metrics.finished(loss.State)
	}
	return nil
}

// maxLossText limits the message of a loss, in bytes.
const maxLossText = 4096

// endLaunched ends or requeues a run whose process is lost. held is false if the execution had ended
// already; the timeline of the run then gets the loss, unless the run has succeeded. final means that
// the run has ended.
func (s *Executions) endLaunched(
	ctx context.Context, tx *store.Tx, l penstock.Lease, loss penstock.Loss,
) (held, final bool, err error) {
	run, err := tx.Runs().Lock(ctx, l.RunID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	var events []penstock.Draft
	if loss.Reason != "" {
		events = append(events, penstock.Timeline(penstock.Now(), timelinePodLost, map[string]any{
			"reason": loss.Reason, "message": loss.Message.Message,
		}))
	}
	adopted, givenUp, err := tx.Executions().Launched(ctx, l)
	if errors.Is(err, penstock.ErrLeaseLost) {
		succeeded := run.State == penstock.StateSucceeded && run.ExecutionID == l.ExecutionID
		if len(events) == 0 || succeeded {
			return false, false, nil
		}
		return false, false, tx.Executions().AppendLoss(ctx, l, events[0])
	}
	if err != nil {
		return false, false, err
	}
	if adopted && (loss.Unadopted || !loss.Certain && !givenUp) || !adopted && !loss.Unadopted && !loss.Certain {
		return true, false, penstock.ErrRenewed
	}
	if err := tx.Events().Append(ctx, run.ID, events...); err != nil {
		return true, false, err
	}
	message := loss.Message
	requeue := !loss.Final && run.TimesLost < maxLost
	if requeue && (run.State != penstock.StateInProgress || run.Resumable) {
		return true, false, s.requeueHeld(ctx, tx, run, store.LeaseLost)
	}
	if requeue {
		message.Message = strings.TrimSuffix(message.Message, ".") + ". The agent's session cannot be resumed."
	} else if !loss.Final {
		message.Message = fmt.Sprintf("%s The run lost its worker %d times.", message.Message, run.TimesLost+1)
	}
	if err := tx.Followups().MarkDelivered(ctx, &run); err != nil {
		return true, false, err
	}
	return true, true, s.end(ctx, tx, run, &penstock.Result{State: loss.State, Message: &message})
}
