package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/penstock-dev/penstock"
)

// SessionRow is a browser session with its key.
type SessionRow struct {
	Hash       string // SHA-256 of the cookie, hex
	SecretHash string // SHA-256 of the secret that must come with it, hex
	CreatedAt  penstock.Time
	UsedAt     penstock.Time // seconds late
	Key        KeyRow
}

// sessionFields are the columns of a session.
var sessionFields = newResource("sessions", "s",
	textColumn("hash", func(s *SessionRow) *string { return &s.Hash }),
	textColumn("secret_hash", func(s *SessionRow) *string { return &s.SecretHash }),
	textColumn("key_uid", func(s *SessionRow) *string { return &s.Key.UID }),
	numberColumn("created_at", func(s *SessionRow) *penstock.Time { return &s.CreatedAt }),
	numberColumn("used_at", func(s *SessionRow) *penstock.Time { return &s.UsedAt }),
)

// ByHash reads a session, even an ended one; absence is penstock.CodeNotFound.
func (s Sessions) ByHash(ctx context.Context, hash string) (SessionRow, error) {
	row := SessionRow{Hash: hash}
	err := s.s.row(ctx, "SELECT "+sessionFields.selected+`
		FROM sessions s
		WHERE s.hash = $1`, hash).Scan(sessionFields.into(&row)...)
	if err == nil {
		row.Key, err = s.s.scanKey(s.s.row(ctx, keyColumns+"WHERE k.uid = $1", row.Key.UID))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return row, penstock.NotFound("session", "")
	}
	return row, s.s.d.mapError(err)
}

// Add stores a session of an existing key.
func (s SessionsTx) Add(ctx context.Context, row SessionRow) error {
	row.UsedAt = row.CreatedAt
	return sessionFields.add(ctx, s.tx, &row)
}

// End ends a session from the next request on, for a caller with its secret. A missing
// session is not an error.
func (s SessionsTx) End(ctx context.Context, hash, secretHash string) error {
	_, err := s.tx.exec(ctx, `DELETE FROM sessions
		WHERE hash = $1 AND secret_hash = $2`, hash, secretHash)
	return err
}

// Touch records when sessions were last used.
func (s Sessions) Touch(ctx context.Context, used map[string]penstock.Time) error {
	return s.s.touch(ctx, `UPDATE sessions
		SET used_at = $1
		WHERE hash = $2 AND used_at < $1`, used)
}

// Drop removes at most limit sessions that began before created, were not used since used,
// or whose key was revoked.
func (s Sessions) Drop(ctx context.Context, created, used penstock.Time, limit int) (dropped int64, err error) {
	err = s.s.Write(ctx, func(tx *Tx) error {
		dropped, err = tx.exec(ctx, `DELETE FROM sessions
			WHERE hash IN (
				SELECT hash
				FROM sessions
				WHERE created_at <= $1 OR used_at <= $2
					OR key_uid IN (SELECT uid FROM api_keys WHERE revoked_at > 0)
				LIMIT $3
			)`, int64(created), int64(used), limit)
		return wrapf(err, "drop sessions")
	})
	return dropped, err
}
