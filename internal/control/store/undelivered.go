package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// unread lists the follow-ups that will never reach the agent after this move: those that wait,
// and, if the agent has not started, those that are being delivered. It is empty if the move does
// not end the run, and for SUCCEEDED, which fails while a follow-up waits.
func (fs FollowupsTx) unread(ctx context.Context, m Move) ([]Followup, error) {
	if !m.To.Done() || m.To == penstock.StateSucceeded {
		return nil, nil
	}
	list, err := fs.List(ctx, m.Run.ID, PromptWaiting)
	if err != nil || m.Run.State == penstock.StateInProgress {
		return list, err
	}
	handed, err := fs.List(ctx, m.Run.ID, PromptDelivering)
	return append(handed, list...), err
}

// undelivered returns the events of follow-ups that never reach the agent. Each is in the
// conversation, with a mark, and on the timeline.
func undelivered(list []Followup, at penstock.Time) (drafts []penstock.Draft, ids []string) {
	for _, f := range list {
		message := penstock.NewDraft(penstock.EventMessage, at, f.ConversationMessage(at, true))
		message.Key = "" // it has no deltas to remove
		payload := map[string]any{"followup_id": f.ID, "by": f.Creator}
		if f.Redelivered {
			payload["redelivered"] = true
		}
		drafts = append(drafts, message, penstock.Timeline(at, TimelineFollowupUndelivered, payload))
		ids = append(ids, f.ID)
	}
	return drafts, ids
}

// GiveUp marks the messages of a locked run that no agent has seen as undelivered, and returns their events.
func (fs FollowupsTx) GiveUp(ctx context.Context, run RunRow) ([]penstock.Draft, error) {
	list, err := fs.List(ctx, run.ID, PromptWaiting)
	if err == nil && run.State != penstock.StateInProgress {
		var handed []Followup
		handed, err = fs.List(ctx, run.ID, PromptDelivering)
		list = append(handed, list...)
	}
	if err != nil || len(list) == 0 {
		return nil, err
	}
	drafts, _ := undelivered(list, penstock.Now())
	return drafts, fs.giveUp(ctx, list)
}

// giveUp marks follow-ups as undelivered. The run must be locked.
func (fs FollowupsTx) giveUp(ctx context.Context, list []Followup) error {
	for _, f := range list {
		if _, err := fs.tx.exec(ctx, `UPDATE followups
			SET state = $1
			WHERE id = $2`, PromptUndelivered, f.ID); err != nil {
			return fmt.Errorf("mark the follow-up %s as undelivered: %w", f.ID, err)
		}
	}
	return nil
}

// ConversationMessage returns the follow-up as the conversation shows it.
func (f Followup) ConversationMessage(at penstock.Time, undelivered bool) penstock.Message {
	content := []penstock.Block{penstock.Text(f.Message)}
	if len(f.Attachments) > 0 {
		content = append(content, AttachmentsBlock(FilesOf(f.Attachments)))
	}
	if undelivered {
		content = append(content, penstock.Undelivered(f.ID))
	}
	return penstock.Message{ID: f.ID, Role: penstock.RoleUser, Content: content, Timestamp: at}
}
