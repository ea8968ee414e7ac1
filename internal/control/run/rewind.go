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

// RewindRequest takes a run back to the end of a turn.
type RewindRequest struct {
	Turn   *int64 `json:"turn"`
	Prompt string `json:"prompt,omitempty"` // the next message; "": the run waits for one
}

// Rewound is the response to a RewindRequest.
type Rewound struct {
	RunID      string         `json:"run_id"`
	Turn       int64          `json:"turn"`
	State      penstock.State `json:"state"`
	FollowupID string         `json:"followup_id,omitempty"`
	// Reached lists the hosts that the run exchanged data with in the executions that ended after the
	// turn. What it did there, such as a push, is not undone.
	Reached []ReachedHost `json:"reached"`
}

// ReachedHost is a host that a run sent requests to.
type ReachedHost struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Requests int64  `json:"requests"`
	BytesOut int64  `json:"bytes_out"`
}

// Rewind ends the current turn of a run and takes the run back to the end of an earlier one: the next turn has
// the files and the conversation of that time. Later messages stay in the conversation, as superseded.
// A turn whose files are not kept is a conflict.
func (s *Turns) Rewind(ctx context.Context, p penstock.Principal, id string, req RewindRequest) (Rewound, error) {
	seen, err := s.runs.writableRun(ctx, p, id)
	if err != nil {
		return Rewound{}, err
	}
	if err := checkRewind(req); err != nil {
		return Rewound{}, err
	}
	if err := s.runs.checkSenderPrice(ctx, p, seen); err != nil {
		return Rewound{}, err
	}
	return access.Act(ctx, s.runs.responses, p, func(tx *store.Tx) (Rewound, error) {
		if err := spoken(ctx, tx, p, seen); err != nil {
			return Rewound{}, err
		}
		floor, err := tx.Conversations().Enter(ctx, seen.ConversationID, speaks(p))
		if err != nil {
			return Rewound{}, err
		}
		if floor.Talking != "" && floor.Talking != id {
			return Rewound{}, errConversationBusy(floor.Talking)
		}
		return rewind(ctx, tx, p, id, req, floor)
	})
}

// rewind is [Turns.Rewind] in a transaction, by the floor of the run's conversation.
func rewind(
	ctx context.Context, tx *store.Tx, p penstock.Principal, id string, req RewindRequest, floor store.Floor,
) (Rewound, error) {
	done := Rewound{RunID: id, Turn: *req.Turn, Reached: []ReachedHost{}}
	run, err := tx.Runs().Lock(ctx, id)
	if err != nil {
		return done, err
	}
	to, err := keptTurn(ctx, tx, id, req.Turn)
	if err != nil {
		return done, err
	}
	hosts, err := tx.Executions().TrafficSince(ctx, id, to.CreatedAt)
	if err != nil {
		return done, err
	}
	for _, h := range hosts {
		done.Reached = append(done.Reached, ReachedHost{h.Host, h.Port, h.Requests, h.BytesOut})
	}
	if req.Prompt == "" && unfunded(run) {
		return done, penstock.Errorf(
			penstock.CodeConflict, "the run waits for room in a budget; send a prompt, which waits with it, or raise the budget",
		)
	}
	if err := goBack(ctx, tx, p, run, to); err != nil {
		return done, err
	}
	next := store.Followup{
		ID: penstock.NewID(), Message: req.Prompt, Creator: p.Actor.UID, CreatedAt: penstock.Now(),
	}
	if req.Prompt != "" {
		done.FollowupID = next.ID
		err := errors.Join(tx.Followups().Add(ctx, floor, run, next), chargeSender(ctx, tx, p, run))
		if err != nil {
			return done, err
		}
	}
	done.State, err = moveBack(ctx, tx, run, to, next, req.Prompt != "")
	return done, err
}

func checkRewind(req RewindRequest) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if req.Turn == nil || *req.Turn < 0 {
		bad("/turn", "is required, and must be 0 or more")
	}
	if req.Prompt != "" && strings.TrimSpace(req.Prompt) == "" {
		bad("/prompt", "must not be blank")
	}
	request.Text(bad, "/prompt", req.Prompt, maxPrompt)
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// goBack ends the turn of a locked run, gives up the messages that wait, and supersedes everything
// after a turn.
func goBack(ctx context.Context, tx *store.Tx, p penstock.Principal, run store.RunRow, to store.Checkpoint) error {
	now := penstock.Now()
	if run.State == penstock.StateInProgress {
		if err := endTurn(ctx, tx, run, map[string]any{"rewound_to": to.Turn}); err != nil {
			return err
		}
	}
	drafts, err := tx.Followups().GiveUp(ctx, run)
	if err != nil {
		return err
	}
	// No agent has seen the own prompt of the run.
	if run.PromptState != store.PromptDelivered && run.State != penstock.StateInProgress {
		if err := tx.Runs().SetPrompt(ctx, run.ID, store.PromptDelivered); err != nil {
			return err
		}
		message := store.Followup{ID: run.ID, Message: run.Prompt}.ConversationMessage(now, true)
		own := penstock.NewDraft(penstock.EventMessage, now, message)
		own.Key = ""
		drafts = append(drafts, own)
	}
	mark := penstock.NewDraft(penstock.EventMessage, now, penstock.Rewound(to.MessageID, to.Turn, now))
	mark.Key = ""
	drafts = append(drafts, mark, penstock.Timeline(now, penstock.TimelineRewound, map[string]any{
		"turn": to.Turn, "message_id": to.MessageID, "by": p.Actor.UID,
	}))
	if err := tx.Events().Append(ctx, run.ID, drafts...); err != nil {
		return err
	}
	if err := tx.Conversations().DropSession(ctx, run.ConversationID); err != nil {
		return err
	}
	return tx.Files().Supersede(ctx, run.ID, to.Turn)
}

// moveBack moves a run that went back to a turn to its next state: it gets its next message, or waits for one.
func moveBack(
	ctx context.Context, tx *store.Tx, run store.RunRow, to store.Checkpoint, next store.Followup, prompted bool,
) (penstock.State, error) {
	move := store.Move{Run: run, To: run.State}
	switch {
	case prompted:
		move.TimelineEvent = penstock.TimelineFollowup
		move.Payload = map[string]any{"followup_id": next.ID, "by": next.Creator}
		if run.State != penstock.StateQueued && !unfunded(run) {
			move.To = penstock.StateQueued
		}
	case run.State.Held() || run.State == penstock.StateQueued:
		move.To, move.TimelineEvent = penstock.StateBlocked, penstock.TimelineBlocked
		move.Message = &penstock.StatusMessage{Message: fmt.Sprintf("The run went back to turn %d.", to.Turn)}
		move.Payload = map[string]any{"message": move.Message.Message}
	}
	if move.To != run.State {
		return move.To, tx.Runs().Move(ctx, move)
	}
	if move.TimelineEvent != "" {
		draft := penstock.Timeline(penstock.Now(), move.TimelineEvent, move.Payload)
		if err := tx.Events().Append(ctx, run.ID, draft); err != nil {
			return "", err
		}
	}
	return run.State, tx.Runs().Touch(ctx, run.ID)
}

// unfunded reports whether a run waits for room in a budget.
func unfunded(run store.RunRow) bool {
	return run.State == penstock.StateBlocked && run.BlockedBudget != ""
}
