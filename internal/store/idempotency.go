package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// ErrReplay is a request whose idempotency key has an answer already.
var ErrReplay = errors.New("the idempotency key has been used")

// KeptAnswer is the answer to a request that may be sent again.
type KeptAnswer struct {
	Scope  string // of the key: team, principal, method, path and key, hashed
	Status int
	Answer []byte // sealed, with the hash of the request's body
	Until  penstock.Time
}

// keep stores the answer; false: the key has one already. nil keeps nothing.
func (tx *Tx) keep(ctx context.Context, k *KeptAnswer) (bool, error) {
	if k == nil {
		return true, nil
	}
	n, err := tx.exec(ctx, `INSERT INTO idempotency (scope, status, answer, expires_at)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (scope) DO UPDATE SET status = $2, answer = $3, expires_at = $4
		WHERE idempotency.expires_at <= $5`,
		k.Scope, k.Status, k.Answer, int64(k.Until), int64(penstock.Now()))
	if err != nil {
		return false, fmt.Errorf("keep an answer: %w", err)
	}
	return n > 0, nil
}

// Keep stores the answer in the transaction that acts; ErrReplay: the key has
// one already, and nothing of the transaction must be done.
func (tx *Tx) Keep(ctx context.Context, k *KeptAnswer) error {
	kept, err := tx.keep(ctx, k)
	if err == nil && !kept {
		err = ErrReplay
	}
	return err
}

// Kept reads the answer of a key; absence is penstock.CodeNotFound.
func (s *Store) Kept(ctx context.Context, scope string) (KeptAnswer, error) {
	k := KeptAnswer{Scope: scope}
	err := s.row(ctx, `SELECT status, answer, expires_at
		FROM idempotency
		WHERE scope = $1 AND expires_at > $2`, scope, int64(penstock.Now())).
		Scan(&k.Status, &k.Answer, &k.Until)
	if errors.Is(err, sql.ErrNoRows) {
		return k, penstock.NotFound("kept answer", scope)
	}
	return k, s.d.mapError(err)
}

// DropKept removes answers that nobody can ask for any more, at most limit.
func (s *Store) DropKept(ctx context.Context, limit int) (dropped int, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, `DELETE FROM idempotency
			WHERE scope IN (SELECT scope FROM idempotency WHERE expires_at <= $1 LIMIT $2)`, int64(penstock.Now()), limit)
		dropped = int(n)
		return err
	})
	return dropped, err
}
