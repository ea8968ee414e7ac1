package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Followup is a message that steers a run.
type Followup struct {
	ID          string // of the message in the conversation
	Message     string
	Mode        penstock.Mode
	State       string
	Redelivered bool
	Creator     string
	CreatedAt   penstock.Time
	Attachments []Attachment // files that go with it, in its order
}

// AddFollowup stores a message that waits for the agent. Its attachments are there
// already.
func (tx *Tx) AddFollowup(ctx context.Context, runID string, f Followup) error {
	ids := make([]string, len(f.Attachments))
	for i, a := range f.Attachments {
		ids[i] = a.ID
	}
	if _, err := tx.exec(ctx, `INSERT INTO followups (id, run_id, message, mode, state, creator, created_at, attachments)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		f.ID, runID, f.Message, string(f.Mode), PromptWaiting, f.Creator, int64(f.CreatedAt), marshalList(ids)); err != nil {
		return fmt.Errorf("store a follow-up of run %s: %w", runID, err)
	}
	tx.Nudge(RunTopic(runID))
	return nil
}

// marshalList is JSON for a column, "" for an empty list.
func marshalList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return marshal(list)
}

// FollowupsWaiting counts a run's messages that wait for the agent, and the bytes
// of their texts.
func (tx *Tx) FollowupsWaiting(ctx context.Context, runID string) (n int, bytes int64, err error) {
	err = tx.row(ctx, `SELECT count(*), COALESCE(sum(length(message)), 0)
		FROM followups
		WHERE run_id = $1 AND state = 'waiting'`, runID).Scan(&n, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count the follow-ups of run %s: %w", runID, err)
	}
	return n, bytes, nil
}

// followup is a row of a message, with the ids of its attachments.
type followup struct {
	Followup
	attachments string
}

// Followups lists a run's messages in the given state, oldest first.
func (tx *Tx) Followups(ctx context.Context, runID, state string) ([]Followup, error) {
	rows, err := tx.query(ctx, `SELECT id, message, mode, state, redelivered, creator, created_at, attachments
		FROM followups
		WHERE run_id = $1 AND state = $2
		ORDER BY id`, runID, state)
	list, err := collect(tx.s, rows, err, "follow-ups", func(f *followup) []any {
		return []any{&f.ID, &f.Message, &f.Mode, &f.State, &f.Redelivered, &f.Creator, &f.CreatedAt, &f.attachments}
	})
	if err != nil {
		return nil, err
	}
	var files map[string]Attachment // of the run, read when one has any
	out := make([]Followup, len(list))
	for i, f := range list {
		var ids []string
		if err := unmarshal(f.attachments, &ids); err != nil {
			return nil, fmt.Errorf("read the attachments of follow-up %s: %w", f.ID, err)
		}
		if len(ids) > 0 && files == nil {
			if files, err = tx.attachmentsByID(ctx, runID); err != nil {
				return nil, err
			}
		}
		for _, id := range ids {
			f.Attachments = append(f.Attachments, files[id])
		}
		out[i] = f.Followup
	}
	return out, nil
}

func (tx *Tx) attachmentsByID(ctx context.Context, runID string) (map[string]Attachment, error) {
	list, err := tx.Attachments(ctx, runID)
	files := make(map[string]Attachment, len(list))
	for _, a := range list {
		files[a.ID] = a
	}
	return files, err
}

// GivenAttachments lists the ids of the attachments of a run's follow-ups: those
// that an agent has been given are true.
func (s *Store) GivenAttachments(ctx context.Context, runID string) (map[string]bool, error) {
	rows, err := s.query(ctx, `SELECT state, attachments
		FROM followups
		WHERE run_id = $1 AND attachments <> ''`, runID)
	type row struct{ state, attachments string }
	list, err := collect(
		s, rows, err, "attachments of follow-ups", func(r *row) []any { return []any{&r.state, &r.attachments} },
	)
	given := map[string]bool{}
	for _, r := range list {
		var ids []string
		if err := unmarshal(r.attachments, &ids); err != nil {
			return nil, fmt.Errorf("read the attachments of the follow-ups of run %s: %w", runID, err)
		}
		for _, id := range ids {
			given[id] = given[id] || r.state == PromptHanded || r.state == PromptDelivered
		}
	}
	return given, err
}

// SetFollowups moves all of a run's messages from one state to another.
// Those that go back to waiting have been given to a worker before: they are
// marked as redelivered.
func (tx *Tx) SetFollowups(ctx context.Context, runID, from, to string) error {
	_, err := tx.exec(ctx, `UPDATE followups
		SET state = $1, redelivered = CASE WHEN $1 = 'waiting' THEN 1 ELSE redelivered END
		WHERE run_id = $2 AND state = $3`, to, runID, from)
	if err != nil {
		return fmt.Errorf("move the follow-ups of run %s to %s: %w", runID, to, err)
	}
	return nil
}

// MarkDelivered notes that the turn's prompt has been worked on. Before the agent has
// started no follow-up has: those that were handed over are left to the move that
// ends the run.
func (tx *Tx) MarkDelivered(ctx context.Context, run *RunRow) error {
	if run.PromptState == PromptHanded {
		run.PromptState = PromptDelivered
		if err := tx.SetPrompt(ctx, run.ID, PromptDelivered); err != nil {
			return err
		}
	}
	if run.State != penstock.StateInProgress {
		return nil
	}
	return tx.SetFollowups(ctx, run.ID, PromptHanded, PromptDelivered)
}

// HandFollowup gives one waiting message to the execution.
func (tx *Tx) HandFollowup(ctx context.Context, id string) error {
	_, err := tx.exec(ctx, `UPDATE followups
		SET state = $1
		WHERE id = $2 AND state = 'waiting'`, PromptHanded, id)
	return err
}

// SetPrompt records how far the run's own prompt is on its way.
func (tx *Tx) SetPrompt(ctx context.Context, runID, state string) error {
	_, err := tx.exec(ctx, "UPDATE runs SET prompt_state = $1 WHERE id = $2", state, runID)
	return err
}

// SetResumable records whether the saved session lets another worker go on.
func (tx *Tx) SetResumable(ctx context.Context, runID string, resumable bool) error {
	_, err := tx.exec(ctx, "UPDATE runs SET resumable = $1 WHERE id = $2", flag(resumable), runID)
	return err
}

// SetTally records what the run has consumed so far.
func (tx *Tx) SetTally(ctx context.Context, runID string, t Tally) error {
	_, err := tx.exec(ctx, "UPDATE runs SET usage = $1 WHERE id = $2", marshal(t), runID)
	return err
}
