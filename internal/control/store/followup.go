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
	Attachments []Attachment // its files, in order
}

// followupRow is a row of a message, with the ids of its attachments.
type followupRow struct {
	Followup
	runID       string
	attachments []string
}

// followupFields are the columns of a follow-up.
var followupFields = newResource("followups", "f",
	textColumn("id", func(f *followupRow) *string { return &f.ID }),
	storedText("run_id", func(f *followupRow) string { return f.runID }),
	textColumn("message", func(f *followupRow) *string { return &f.Message }),
	textColumn("mode", func(f *followupRow) *penstock.Mode { return &f.Mode }),
	textColumn("state", func(f *followupRow) *string { return &f.State }),
	flagColumn("redelivered", func(f *followupRow) *bool { return &f.Redelivered }).unset(),
	textColumn("creator", func(f *followupRow) *string { return &f.Creator }),
	numberColumn("created_at", func(f *followupRow) *penstock.Time { return &f.CreatedAt }),
	jsonColumn("attachments", func(f *followupRow) *[]string { return &f.attachments }),
)

// Add stores a message that waits for the agent of a run, by the floor of the run's conversation. Its
// attachments must exist already.
func (fs FollowupsTx) Add(ctx context.Context, floor Floor, run RunRow, f Followup) error {
	if err := floor.in(run.ConversationID); err != nil {
		return err
	}
	f.State = PromptWaiting
	row := followupRow{Followup: f, runID: run.ID}
	for _, a := range f.Attachments {
		row.attachments = append(row.attachments, a.ID)
	}
	if err := followupFields.add(ctx, fs.tx, &row); err != nil {
		return fmt.Errorf("store a follow-up of run %s: %w", run.ID, err)
	}
	fs.tx.Nudge(RunTopic(run.ID))
	return nil
}

// Waiting counts a run's messages that wait for the agent, and the bytes
// of their texts.
func (fs FollowupsTx) Waiting(ctx context.Context, runID string) (n int, bytes int64, err error) {
	err = fs.tx.row(ctx, `SELECT count(*), COALESCE(sum(length(message)), 0)
		FROM followups
		WHERE run_id = $1 AND state = 'waiting'`, runID).Scan(&n, &bytes)
	if err != nil {
		return 0, 0, fmt.Errorf("count the follow-ups of run %s: %w", runID, err)
	}
	return n, bytes, nil
}

// List returns a run's messages in the given state, oldest first.
func (fs FollowupsTx) List(ctx context.Context, runID, state string) ([]Followup, error) {
	rows, err := fs.tx.query(ctx, "SELECT "+followupFields.selected+`
		FROM followups f
		WHERE f.run_id = $1 AND f.state = $2
		ORDER BY f.id`, runID, state)
	list, err := collect(fs.tx.s, rows, err, "follow-ups", func(f *followupRow) []any { return followupFields.into(f) })
	if err != nil {
		return nil, err
	}
	var files map[string]Attachment // of the run, read when one has any
	out := make([]Followup, len(list))
	for i, f := range list {
		if len(f.attachments) > 0 && files == nil {
			if files, err = fs.attachmentsByID(ctx, runID); err != nil {
				return nil, err
			}
		}
		for _, id := range f.attachments {
			f.Attachments = append(f.Attachments, files[id])
		}
		out[i] = f.Followup
	}
	return out, nil
}

func (fs FollowupsTx) attachmentsByID(ctx context.Context, runID string) (map[string]Attachment, error) {
	list, err := fs.tx.Files().Attachments(ctx, runID)
	files := make(map[string]Attachment, len(list))
	for _, a := range list {
		files[a.ID] = a
	}
	return files, err
}

// GivenAttachments lists the ids of the attachments of a run's follow-ups. The value is true if an
// agent has received the attachment.
func (fs Followups) GivenAttachments(ctx context.Context, runID string) (map[string]bool, error) {
	rows, err := fs.s.query(ctx, `SELECT state, attachments
		FROM followups
		WHERE run_id = $1 AND attachments <> ''`, runID)
	list, err := collect(fs.s, rows, err, "attachments of follow-ups", func(f *followupRow) []any {
		return []any{&f.State, &document{into: &f.attachments}}
	})
	given := map[string]bool{}
	for _, f := range list {
		for _, id := range f.attachments {
			given[id] = given[id] || f.State == PromptDelivering || f.State == PromptDelivered
		}
	}
	return given, err
}

// Set moves all of a run's messages from one state to another. Messages that return to
// waiting are marked as redelivered, because a worker has had them.
func (fs FollowupsTx) Set(ctx context.Context, runID, from, to string) error {
	_, err := fs.tx.exec(ctx, `UPDATE followups
		SET state = $1, redelivered = CASE WHEN $1 = 'waiting' THEN 1 ELSE redelivered END
		WHERE run_id = $2 AND state = $3`, to, runID, from)
	return wrapf(err, "move the follow-ups of run %s to %s", runID, to)
}

// MarkDelivered records that the agent has received the prompt of the turn. Before the agent has
// started, it changes no follow-ups. Those that are being delivered are left to the move that ends
// the run.
func (fs FollowupsTx) MarkDelivered(ctx context.Context, run *RunRow) error {
	if run.PromptState == PromptDelivering {
		run.PromptState = PromptDelivered
		if err := fs.tx.Runs().SetPrompt(ctx, run.ID, PromptDelivered); err != nil {
			return err
		}
	}
	if run.State != penstock.StateInProgress {
		return nil
	}
	return fs.Set(ctx, run.ID, PromptDelivering, PromptDelivered)
}

// LastEnded returns the last message of a run after a turn whose own turn has ended, or "".
func (fs Followups) LastEnded(ctx context.Context, runID string, turn int64) (string, error) {
	ids, err := fs.s.strings(ctx, `SELECT id
		FROM (
			SELECT id, state, row_number() OVER (ORDER BY id) AS n
			FROM followups
			WHERE run_id = $1
		) AS f
		WHERE f.n >= $2 AND f.state = 'delivered'
		ORDER BY f.id DESC
		LIMIT 1`, runID, turn)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// Deliver assigns one waiting message to the execution.
func (fs FollowupsTx) Deliver(ctx context.Context, id string) error {
	_, err := fs.tx.exec(ctx, `UPDATE followups
		SET state = $1
		WHERE id = $2 AND state = 'waiting'`, PromptDelivering, id)
	return err
}

// PromptCounts are the numbers of follow-ups of a run that wait for its agent, and that its agent has in its
// turn.
type PromptCounts struct{ Waiting, Delivering int }

// Counts counts the follow-ups of runs that have not ended.
func (fs Followups) Counts(ctx context.Context, runIDs []string) (map[string]PromptCounts, error) {
	if len(runIDs) == 0 {
		return nil, nil //nolint:nilnil // no run, no follow-up
	}
	type count struct {
		run, state string
		n          int
	}
	rows, err := fs.s.query(ctx, `SELECT run_id, state, count(*)
		FROM followups
		WHERE run_id IN (`+placeholders(1, len(runIDs))+`) AND state IN ('waiting', 'handed')
		GROUP BY run_id, state`, anys(runIDs)...)
	list, err := collect(fs.s, rows, err, "counts of follow-ups", func(c *count) []any {
		return []any{&c.run, &c.state, &c.n}
	})
	counts := make(map[string]PromptCounts, len(list))
	for _, c := range list {
		of := counts[c.run]
		if c.state == PromptWaiting {
			of.Waiting = c.n
		} else {
			of.Delivering = c.n
		}
		counts[c.run] = of
	}
	return counts, err
}
