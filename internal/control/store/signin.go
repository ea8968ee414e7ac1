package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// SignInRow is an attempt to sign in at an identity provider.
type SignInRow struct {
	State    string // SHA-256 of the parameter, hex
	Browser  string // SHA-256 of the browser's cookie, hex
	Provider string
	ReturnTo string
	Expires  penstock.Time
}

// Begin stores an attempt.
func (s SessionsTx) Begin(ctx context.Context, r SignInRow) error {
	_, err := s.tx.exec(ctx, `INSERT INTO sign_ins (state, browser, provider, return_to, expires_at)
		VALUES ($1, $2, $3, $4, $5)`, r.State, r.Browser, r.Provider, r.ReturnTo, int64(r.Expires))
	return wrapf(err, "store a sign-in")
}

// Take removes the attempt of a state and a browser, so that nobody else has it, and returns it. ok is false without
// one, or if it has expired.
func (s SessionsTx) Take(ctx context.Context, state, browser string) (r SignInRow, ok bool, err error) {
	rows, err := s.tx.query(ctx, `DELETE FROM sign_ins
		WHERE state = $1 AND browser = $2 AND expires_at > $3
		RETURNING provider, return_to`, state, browser, int64(penstock.Now()))
	taken, err := collect(s.tx.s, rows, err, "sign-ins", func(r *SignInRow) []any {
		return []any{&r.Provider, &r.ReturnTo}
	})
	if err != nil || len(taken) == 0 {
		return r, false, err
	}
	return taken[0], true, nil
}

// DropSignIns removes the attempts that have expired.
func (s Sessions) DropSignIns(ctx context.Context) error {
	return s.s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.exec(ctx, "DELETE FROM sign_ins WHERE expires_at <= $1", int64(penstock.Now())); err != nil {
			return fmt.Errorf("drop sign-ins: %w", err)
		}
		return nil
	})
}
