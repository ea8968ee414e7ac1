package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/penstock-dev/penstock"
)

// ErrReplay is returned for a request whose idempotency key already has a response.
var ErrReplay = errors.New("the idempotency key has been used")

// KeptResponse is the response that a repeated request gets.
type KeptResponse struct {
	Scope  string // of the key: team, principal, method, path and key, hashed
	Status int
	Body   []byte // encrypted, with the hash of the request's body
	Until  penstock.Time
}

// keepIfAbsent stores the response. It returns false if the key already has one. nil keeps nothing.
func (r ResponsesTx) keepIfAbsent(ctx context.Context, k *KeptResponse) (bool, error) {
	if k == nil {
		return true, nil
	}
	n, err := r.tx.exec(ctx, `INSERT INTO idempotency (scope, status, response, expires_at)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (scope) DO UPDATE SET status = $2, response = $3, expires_at = $4
		WHERE idempotency.expires_at <= $5`,
		k.Scope, k.Status, k.Body, int64(k.Until), int64(penstock.Now()))
	return n > 0, wrapf(err, "keep a response")
}

// Keep stores the response in the transaction of the request. ErrReplay: the key already has one,
// and the transaction must roll back.
func (r ResponsesTx) Keep(ctx context.Context, k *KeptResponse) error {
	kept, err := r.keepIfAbsent(ctx, k)
	if err == nil && !kept {
		err = ErrReplay
	}
	return err
}

// Find reads the response of a key; absence is penstock.CodeNotFound.
func (r Responses) Find(ctx context.Context, scope string) (KeptResponse, error) {
	k := KeptResponse{Scope: scope}
	err := r.s.row(ctx, `SELECT status, response, expires_at
		FROM idempotency
		WHERE scope = $1 AND expires_at > $2`, scope, int64(penstock.Now())).
		Scan(&k.Status, &k.Body, &k.Until)
	if errors.Is(err, sql.ErrNoRows) {
		return k, penstock.NotFound("kept response", scope)
	}
	return k, r.s.d.mapError(err)
}

// Drop removes expired responses, at most limit.
func (r Responses) Drop(ctx context.Context, limit int) (dropped int, err error) {
	err = r.s.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, `DELETE FROM idempotency
			WHERE scope IN (SELECT scope FROM idempotency WHERE expires_at <= $1 LIMIT $2)`, int64(penstock.Now()), limit)
		dropped = int(n)
		return err
	})
	return dropped, err
}
