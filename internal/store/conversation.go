package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// RunsOfConversation lists the runs of a conversation, oldest first.
func (s *Store) RunsOfConversation(ctx context.Context, id string) ([]string, error) {
	return s.strings(ctx, "SELECT id FROM runs WHERE conversation_id = $1 ORDER BY id", id)
}

// RunOfConversation is the newest run of a conversation.
func (s *Store) RunOfConversation(ctx context.Context, team, conversationID string) (RunRow, error) {
	r, err := s.d.runBy(ctx, s, "r.id = (SELECT max(id) FROM runs WHERE conversation_id = $1 AND team = $2)", conversationID, team)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		err = penstock.NotFound("conversation", conversationID)
	}
	return r, err
}

// Talking is the run of a conversation that is not over, "" where there is none.
// No other begins until the transaction ends, if it asks as well. It locks runs,
// so it comes before [Tx.Run].
func (tx *Tx) Talking(ctx context.Context, conversationID string) (runID string, err error) {
	if lock := tx.s.d.lock; lock != "" {
		// In the order of their ids, as every transaction that locks several runs.
		if _, err := tx.exec(ctx, "SELECT 1 FROM runs WHERE conversation_id = $1 ORDER BY id"+lock, conversationID); err != nil {
			return "", fmt.Errorf("lock conversation %s: %w", conversationID, err)
		}
	}
	err = tx.row(ctx, `SELECT id FROM runs WHERE conversation_id = $1
		AND state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED') ORDER BY id LIMIT 1`, conversationID).Scan(&runID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read conversation %s: %w", conversationID, err)
	}
	return runID, nil
}
