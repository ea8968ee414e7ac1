package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// FollowUp sends a message to a run. While the run waits or works, the message is queued, and
// the agent gets it in order in a later turn. For a blocked run, the message is the answer. For a
// run that has ended, it starts a new execution; that is a conflict if another run of the
// conversation is active.
func (s *Runs) FollowUp(
	ctx context.Context, p penstock.Principal, id string, req FollowupRequest,
) (FollowupAccepted, error) {
	run, err := s.writableRun(ctx, p, id)
	if err != nil {
		return FollowupAccepted{}, err
	}
	return s.followUpRun(ctx, p, run, req, FollowupAccepted{})
}

// FollowUpConversation is FollowUp for the steered run of a conversation.
func (s *Runs) FollowUpConversation(
	ctx context.Context, p penstock.Principal, id string, req FollowupRequest,
) (FollowupAccepted, error) {
	run, err := s.steeredRun(ctx, p, id)
	if err != nil {
		return FollowupAccepted{}, err
	}
	return s.followUpRun(ctx, p, run, req, FollowupAccepted{RunID: run.ID})
}

// steeredRun returns the run that a conversation steers: the active one, or else the newest.
func (s *Runs) steeredRun(ctx context.Context, p penstock.Principal, conversationID string) (store.RunRow, error) {
	if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
		return store.RunRow{}, err
	}
	if !penstock.ValidID(conversationID) {
		return store.RunRow{}, penstock.NotFound("conversation", conversationID)
	}
	return s.store.Conversations.SteeredRun(ctx, viewer(p), conversationID)
}

func (s *Runs) followUpRun(
	ctx context.Context, p penstock.Principal, run store.RunRow, req FollowupRequest,
	accepted FollowupAccepted,
) (FollowupAccepted, error) {
	if err := s.checkFollowup(ctx, run, &req); err != nil {
		return accepted, err
	}
	if err := s.checkSenderPrice(ctx, p, run); err != nil {
		return accepted, err
	}
	files, err := s.files.putFollowupAttachments(ctx, run.ID, req.Attachments)
	if err != nil {
		return accepted, err
	}
	f := store.Followup{
		ID: penstock.NewID(), Message: req.Message, Mode: req.Mode, Creator: p.Actor.UID, Attachments: files,
	}
	accepted.FollowupID = f.ID
	done, err := access.Act(ctx, s.responses, p, func(tx *store.Tx) (_ FollowupAccepted, err error) {
		accepted.Outcome, err = followUp(ctx, tx, p, run, f, req.question)
		return accepted, err
	})
	if err != nil {
		s.files.DropRejected(ctx, err, attached(files)...)
	}
	return done, err
}

func (s *Runs) checkFollowup(ctx context.Context, run store.RunRow, req *FollowupRequest) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	request.Text(bad, "/message", req.Message, maxPrompt)
	if !req.Mode.Valid() {
		bad("/mode", "must be normal, plan or orchestrate")
	}
	checkFollowupAttachments(bad, req.Attachments)
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	if strings.TrimSpace(req.Message) != "" {
		return nil
	}
	if len(req.Attachments) > 0 {
		req.Message = "See the attached files."
		return nil
	}
	_, err := s.store.Conversations.Session(ctx, run.ConversationID)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && !run.State.Done() {
		return penstock.Invalid("/message", "is required unless a saved conversation is continued or files are attached")
	}
	req.Message = "Continue."
	return err
}

// The most messages that may wait for an agent, and the most bytes of text in them.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 16 << 20
)

// followUp stores a message for the run in its current state, and returns what happens to it. With a question, it
// is an error unless the run waits for its answer.
func followUp(
	ctx context.Context, tx *store.Tx, p penstock.Principal, seen store.RunRow, f store.Followup, question int,
) (outcome string, err error) {
	if err := spoken(ctx, tx, p, seen); err != nil {
		return "", err
	}
	return addFollowup(ctx, tx, p, seen, f, func(run store.RunRow) error {
		if question == 0 {
			return nil
		}
		return asksIn(run, question)
	})
}

// addFollowup is followUp for a message that no person may have written. may is asked about the locked run.
func addFollowup(
	ctx context.Context, tx *store.Tx, p penstock.Principal, seen store.RunRow, f store.Followup,
	may func(store.RunRow) error,
) (outcome string, err error) {
	floor, err := tx.Conversations().Enter(ctx, seen.ConversationID, speaks(p))
	if err != nil {
		return "", err
	}
	run, err := tx.Runs().Lock(ctx, seen.ID)
	if err != nil {
		return "", err
	}
	if err := may(run); err != nil {
		return "", err
	}
	if run.State.Done() && floor.Talking != "" {
		return "", errConversationBusy(floor.Talking)
	}
	n, size, err := tx.Followups().Waiting(ctx, run.ID)
	if err != nil {
		return "", err
	}
	if n >= maxWaiting || n > 0 && size+int64(len(f.Message)) > maxWaitingBytes {
		return "", penstock.Errorf(
			penstock.CodeConflict, "%d follow-ups are already waiting for the agent; wait until it has read some", n,
		)
	}
	if f.Attachments, err = attach(ctx, tx, run.ID, f.Attachments); err != nil {
		return "", err
	}
	f.CreatedAt = penstock.Now()
	if err := tx.Followups().Add(ctx, floor, run, f); err != nil {
		return "", err
	}
	if err := chargeSender(ctx, tx, p, run); err != nil {
		return "", err
	}
	payload := map[string]any{"followup_id": f.ID, "by": f.Creator}
	if restarts(run) {
		return FollowupHandoff, tx.Runs().Move(
			ctx, store.Move{Run: run, To: penstock.StateQueued, TimelineEvent: penstock.TimelineFollowup, Payload: payload},
		)
	}
	followup := penstock.Timeline(f.CreatedAt, penstock.TimelineFollowup, payload)
	if err := tx.Events().Append(ctx, run.ID, followup); err != nil {
		return "", err
	}
	if run.State == penstock.StateInProgress {
		outcome = FollowupLive
	}
	return cmp.Or(outcome, FollowupQueued), tx.Runs().Touch(ctx, run.ID)
}

// restarts reports whether a follow-up starts a new execution of the run at once.
func restarts(run store.RunRow) bool {
	return run.State.Done() || run.State == penstock.StateBlocked && run.BlockedBudget == ""
}

// chargeSender makes the key of a follow-up pay for the execution that gets it.
func chargeSender(ctx context.Context, tx *store.Tx, p penstock.Principal, run store.RunRow) error {
	if err := senderHasRoom(ctx, tx, p, run); err != nil {
		return err
	}
	before, added := newSenders(p, run)
	senders, err := access.Payers(
		ctx, tx, run.Team, penstock.MorePayers(before, added...), "wait until the present execution has ended",
	)
	if err != nil {
		return err
	}
	return tx.Runs().SetSenders(ctx, run.ID, senders)
}

// senderHasRoom refuses what a key sends whose budget is spent, unless it pays for the run already: the run of
// another key would end or wait for that budget.
func senderHasRoom(ctx context.Context, tx *store.Tx, p penstock.Principal, run store.RunRow) error {
	_, added := newSenders(p, run)
	short, err := tx.Budgets().ShortOfKeys(ctx, run.Team, added)
	if err == nil && short != nil {
		err = penstock.Errorf(penstock.CodeBudgetExceeded, "the key that sends a follow-up pays for what the agent does "+
			"with it: %s", short.Explain(false))
	}
	return err
}

// newSenders lists the senders that pay for the next execution of a run so far, and the keys of another one that
// do not pay for it yet.
func newSenders(p penstock.Principal, run store.RunRow) (before, added []string) {
	if !restarts(run) {
		before = run.Senders
	}
	paying := penstock.MorePayers([]string{run.KeyUID}, penstock.MorePayers(run.Payers, before...)...)
	return before, slices.DeleteFunc(p.PaidBy(), func(key string) bool { return slices.Contains(paying, key) })
}

// Interrupt requests the end of the agent's current turn. The run then continues with the next
// follow-up, or waits for one. The request survives a crash of this server or the worker. A
// repeated request does nothing. A run that has ended is an invalid request; a run without a
// current turn is a conflict.
func (s *Runs) Interrupt(ctx context.Context, p penstock.Principal, id string) (InterruptAccepted, error) {
	run, err := s.writableRun(ctx, p, id)
	if err != nil {
		return InterruptAccepted{}, err
	}
	return s.interruptRun(ctx, p, run.ID, InterruptAccepted{})
}

// InterruptConversation is Interrupt for the steered run of a conversation.
func (s *Runs) InterruptConversation(
	ctx context.Context, p penstock.Principal, id string,
) (InterruptAccepted, error) {
	run, err := s.steeredRun(ctx, p, id)
	if err != nil {
		return InterruptAccepted{}, err
	}
	return s.interruptRun(ctx, p, run.ID, InterruptAccepted{RunID: run.ID})
}

func (s *Runs) interruptRun(
	ctx context.Context, p penstock.Principal, id string, accepted InterruptAccepted,
) (InterruptAccepted, error) {
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (InterruptAccepted, error) {
		run, err := tx.Runs().Lock(ctx, id)
		if err != nil {
			return accepted, err
		}
		if run.State.Done() {
			return accepted, penstock.Errorf(penstock.CodeInvalidRequest, "the run has already ended in state %s", run.State)
		}
		requested, err := tx.Executions().Interrupt(ctx, id)
		if errors.Is(err, store.ErrNoTurn) {
			return accepted, penstock.Errorf(
				penstock.CodeConflict, "the run is %s, so there is no turn to interrupt", run.State,
			)
		}
		if err != nil || !requested {
			return accepted, err
		}
		event := penstock.Timeline(penstock.Now(), penstock.TimelineInterrupt, map[string]any{"by": p.Actor.UID})
		if err := tx.Events().Append(ctx, id, event); err != nil {
			return accepted, err
		}
		return accepted, tx.Runs().Touch(ctx, id)
	})
}

// Cancel stops a run that waits or works, and with cascade also its descendants. When it
// returns, the state is CANCELLED and the worker's lease has ended. A worker that can be
// reached stops the agent within seconds. A run that has ended is an invalid request.
func (s *Runs) Cancel(ctx context.Context, p penstock.Principal, id string, cascade bool) (string, error) {
	if _, err := s.writableRun(ctx, p, id); err != nil {
		return "", err
	}
	return access.ActBy(ctx, s.responses, p, s.store.WriteReserved, func(tx *store.Tx) (string, error) {
		return id, cancelActive(ctx, tx, p, id, cascade, func(store.RunRow) error { return nil })
	})
}

// cancelActive cancels a run that has not ended, and with cascade all below it. check may refuse it.
func cancelActive(
	ctx context.Context, tx *store.Tx, p penstock.Principal, id string, cascade bool, check func(store.RunRow) error,
) error {
	if err := dropEvents(ctx, tx, id); err != nil {
		return err
	}
	run, err := tx.Runs().Lock(ctx, id)
	if err != nil {
		return err
	}
	if err := check(run); err != nil {
		return err
	}
	if run.State.Done() {
		return penstock.Errorf(penstock.CodeInvalidRequest, "the run has already ended in state %s", run.State)
	}
	if err := cancel(ctx, tx, p, run, ""); err != nil || !cascade {
		return err
	}
	return cancelBelow(ctx, tx, p, id)
}

// CancelIn cancels a run and all below it in a transaction. It does nothing if the run has ended.
func CancelIn(ctx context.Context, tx *store.Tx, p penstock.Principal, id string) error {
	if err := dropEvents(ctx, tx, id); err != nil {
		return err
	}
	run, err := tx.Runs().Lock(ctx, id)
	if err != nil || run.State.Done() {
		return err
	}
	if err := cancel(ctx, tx, p, run, ""); err != nil {
		return err
	}
	return cancelBelow(ctx, tx, p, id)
}

// cancelBelow cancels the runs below one that have not ended.
func cancelBelow(ctx context.Context, tx *store.Tx, p penstock.Principal, id string) error {
	below, err := tx.Runs().Descendants(ctx, id)
	if err != nil {
		return err
	}
	for _, child := range below {
		run, err := tx.Runs().Lock(ctx, child)
		if err != nil {
			return err
		}
		if run.State.Done() {
			continue
		}
		if err := cancel(ctx, tx, p, run, id); err != nil {
			return err
		}
	}
	return nil
}

func cancel(ctx context.Context, tx *store.Tx, p penstock.Principal, run store.RunRow, because string) error {
	payload := map[string]any{"by": p.Actor.UID}
	if because != "" {
		payload["because_of"] = because
	}
	return cancelBecause(ctx, tx, run, payload, "Cancelled by "+cmp.Or(p.Actor.DisplayName, p.Actor.UID)+".")
}

// cancelBecause is the only way in which a run becomes CANCELLED.
func cancelBecause(
	ctx context.Context, tx *store.Tx, run store.RunRow, payload map[string]any, message string,
) error {
	if run.PromptState == store.PromptWaiting {
		if err := tx.Runs().SetPrompt(ctx, run.ID, store.PromptUndelivered); err != nil {
			return err
		}
	}
	if err := tx.Followups().MarkDelivered(ctx, &run); err != nil {
		return err
	}
	return tx.Runs().Move(ctx, store.Move{
		Run: run, To: penstock.StateCancelled, TimelineEvent: timelineCancelled, Payload: payload,
		Message: &penstock.StatusMessage{Message: message},
	})
}
