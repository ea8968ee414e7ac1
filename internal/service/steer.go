package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
)

// Empty is the answer `{}`.
type Empty struct{}

// FollowUp gives a run a further message. While the run waits or works it is
// kept and given to the agent at its next turn, in order; a blocked run is
// answered by it, and one that is over starts a new execution of the same
// conversation, in which no other run may talk by then.
func (s *Service) FollowUp(ctx context.Context, p penstock.Principal, id string, req penstock.FollowupRequest) error {
	if err := require(p, penstock.ScopeRunsWrite); err != nil {
		return err
	}
	run, err := s.visibleRun(ctx, p, id)
	if err != nil {
		return err
	}
	if err := s.checkFollowup(ctx, run, &req); err != nil {
		return err
	}
	_, err = act(ctx, s, p, func(tx *store.Tx) (Empty, error) {
		return Empty{}, followUp(ctx, tx, p, run, req)
	})
	return err
}

func (s *Service) checkFollowup(ctx context.Context, run store.RunRow, req *penstock.FollowupRequest) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	checkText(bad, "/message", req.Message, maxPrompt)
	if !req.Mode.Valid() {
		bad("/mode", "must be normal, plan or orchestrate")
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	if strings.TrimSpace(req.Message) != "" {
		return nil
	}
	_, err := s.store.Session(ctx, run.ConversationID)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && !run.State.Done() {
		return penstock.Invalid("/message", "is required unless a saved conversation is continued")
	}
	req.Message = "Continue."
	return err
}

func followUp(ctx context.Context, tx *store.Tx, p penstock.Principal, seen store.RunRow, req penstock.FollowupRequest) error {
	id := seen.ID
	talking, err := tx.Talking(ctx, seen.ConversationID)
	if err != nil {
		return err
	}
	run, err := tx.Run(ctx, id)
	if err != nil {
		return err
	}
	if run.State.Done() && talking != "" {
		return talksAlready(talking)
	}
	now := penstock.Now()
	f := store.Followup{ID: penstock.NewID(), Message: req.Message, Mode: req.Mode, Creator: p.Actor.UID, CreatedAt: now}
	if err := tx.AddFollowup(ctx, id, f); err != nil {
		return err
	}
	payload := map[string]any{"followup_id": f.ID, "by": p.Actor.UID}
	if run.State.Done() || run.State == penstock.StateBlocked {
		return tx.Move(ctx, store.Move{Run: run, To: penstock.StateQueued, Moment: penstock.MomentFollowup, Payload: payload})
	}
	if err := tx.AppendEvents(ctx, id, penstock.Timeline(now, penstock.MomentFollowup, payload)); err != nil {
		return err
	}
	return tx.Touch(ctx, id)
}

// CancelRun stops a run that waits or works, and with cascade those below it.
// The state is CANCELLED when it returns, and its worker's lease is over: the
// agent is gone within seconds where the worker can be reached. A run that is
// over is an invalid request.
func (s *Service) CancelRun(ctx context.Context, p penstock.Principal, id string, cascade bool) (string, error) {
	if err := require(p, penstock.ScopeRunsWrite); err != nil {
		return "", err
	}
	if _, err := s.visibleRun(ctx, p, id); err != nil {
		return "", err
	}
	return act(ctx, s, p, func(tx *store.Tx) (string, error) {
		run, err := tx.Run(ctx, id)
		if err != nil {
			return "", err
		}
		if run.State.Done() {
			return "", penstock.Errorf(penstock.CodeInvalidRequest, "the run is over: it is %s", run.State)
		}
		if err := cancel(ctx, tx, p, run, ""); err != nil || !cascade {
			return id, err
		}
		below, err := tx.Descendants(ctx, id)
		if err != nil {
			return "", err
		}
		for _, child := range below {
			run, err := tx.Run(ctx, child)
			if err != nil {
				return "", err
			}
			if run.State.Done() {
				continue
			}
			if err := cancel(ctx, tx, p, run, id); err != nil {
				return "", err
			}
		}
		return id, nil
	})
}

func cancel(ctx context.Context, tx *store.Tx, p penstock.Principal, run store.RunRow, because string) error {
	payload := map[string]any{"by": p.Actor.UID}
	if because != "" {
		payload["because_of"] = because
	}
	if run.PromptState == store.PromptWaiting {
		if err := tx.SetPrompt(ctx, run.ID, store.PromptUndelivered); err != nil {
			return err
		}
	}
	if err := delivered(ctx, tx, &run); err != nil {
		return err
	}
	who := p.Actor.DisplayName
	if who == "" {
		who = p.Actor.UID
	}
	return tx.Move(ctx, store.Move{
		Run: run, To: penstock.StateCancelled, Moment: penstock.MomentCancelled, Payload: payload,
		Message: &penstock.StatusMessage{Message: "Cancelled by " + who + "."},
	})
}
