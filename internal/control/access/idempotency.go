package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Edit is [Act] for data that evaluates deliveries. It orders the changes of a team, and the
// change applies to the next delivery on every replica.
func Edit[T any](ctx context.Context, s *Responses, p penstock.Principal, fn func(*store.Tx) (T, error)) (T, error) {
	return Act(ctx, s, p, func(tx *store.Tx) (T, error) {
		if err := tx.Changed(ctx, p.Team); err != nil {
			var none T
			return none, err
		}
		return fn(tx)
	})
}

// Alter is [Edit] for a request whose response is not stored.
func (s *Responses) Alter(ctx context.Context, team string, fn func(*store.Tx) error) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Changed(ctx, team); err != nil {
			return err
		}
		return fn(tx)
	})
}

// ErrReplay is returned if a response is already stored for the request's idempotency key:
// [Responses.Replay] returns the response.
var ErrReplay = store.ErrReplay

// Idempotency is a request that may be sent again.
type Idempotency struct {
	Key, Method, Path string
	BodyHash          [sha256.Size]byte
	Status            int  // of the response if the request succeeds
	OneTimeSecret     bool // the response has a secret that is shown once, so it is kept for only an hour
}

// How long a response is kept.
const (
	KeepAnswer = 24 * time.Hour
	keepSecret = time.Hour
)

// IdempotencyKey is the context key of an [Idempotency].
type IdempotencyKey struct{}

// WithIdempotency makes the rules store their response under i, in the transaction of the
// request.
func WithIdempotency(ctx context.Context, i Idempotency) context.Context {
	return context.WithValue(ctx, IdempotencyKey{}, i)
}

// scope hides the key and bounds its length.
func (i Idempotency) scope(p penstock.Principal) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.Team, p.Actor.UID, p.RunID, i.Method, i.Path, i.Key}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Replay returns the response that is stored for i; found is false if none is stored. The same
// key with another body is a conflict.
func (s *Responses) Replay(
	ctx context.Context, p penstock.Principal, i Idempotency,
) (body []byte, status int, found bool, err error) {
	scope := i.scope(p)
	kept, err := s.store.Responses.Find(ctx, scope)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return nil, 0, false, nil
	}
	if err != nil {
		return nil, 0, false, err
	}
	opened, err := s.keyset.Open(kept.Body, scope)
	if err != nil {
		return nil, 0, false, fmt.Errorf("open a kept response: %w", err)
	}
	body, same := bytes.CutPrefix(opened, i.BodyHash[:])
	if !same {
		return nil, 0, false, penstock.Errorf(
			penstock.CodeConflict,
			"this Idempotency-Key was used with another body in the last 24 hours; use a new key for a new request",
		)
	}
	return body, kept.Status, true, nil
}

// Encode encodes result for storage. It returns nil if the request has no idempotency key.
func (s *Responses) Encode(ctx context.Context, p penstock.Principal, result any) (*store.KeptResponse, error) {
	i, ok := ctx.Value(IdempotencyKey{}).(Idempotency)
	if !ok {
		return nil, nil //nolint:nilnil // a nil response means that the store keeps nothing
	}
	body, err := json.Marshal(result, json.Deterministic(true)) // in the same way as the response
	if err != nil {
		return nil, fmt.Errorf("keep a response: %w", err)
	}
	scope := i.scope(p)
	// The hash is encrypted too: otherwise a reader of the database could guess a secret in the
	// body.
	sealed, err := s.keyset.Seal(append(i.BodyHash[:], body...), scope)
	if err != nil {
		return nil, fmt.Errorf("keep a response: %w", err)
	}
	lasts := KeepAnswer
	if i.OneTimeSecret {
		lasts = keepSecret
	}
	return &store.KeptResponse{
		Scope: scope, Status: i.Status, Body: sealed, Until: penstock.Now().Add(lasts),
	}, nil
}

// Act runs fn in one transaction, which also stores the result for the request's idempotency
// key. Every POST except the creation of a single run writes this way.
func Act[T any](ctx context.Context, s *Responses, p penstock.Principal, fn func(*store.Tx) (T, error)) (T, error) {
	return ActBy(ctx, s, p, s.store.Write, fn)
}

// ActBy is [Act] with another write function, such as [store.Store.WriteReserved].
func ActBy[T any](
	ctx context.Context, s *Responses, p penstock.Principal,
	write func(context.Context, func(*store.Tx) error) error, fn func(*store.Tx) (T, error),
) (T, error) {
	var result T
	err := write(ctx, func(tx *store.Tx) error {
		var err error
		if result, err = fn(tx); err != nil {
			return err
		}
		kept, err := s.Encode(ctx, p, result)
		if err != nil {
			return err
		}
		return tx.Responses().Keep(ctx, kept)
	})
	if s.LostRace(ctx, p, err) {
		err = ErrReplay
	}
	return result, err
}

// LostRace reports whether a request failed because another replica carried out the same
// request with the same idempotency key at the same time.
func (s *Responses) LostRace(ctx context.Context, p penstock.Principal, err error) bool {
	i, ok := ctx.Value(IdempotencyKey{}).(Idempotency)
	if code := penstock.CodeOf(err); !ok || code == "" || code.OurFault() {
		return false
	}
	_, err = s.store.Responses.Find(ctx, i.scope(p))
	return err == nil
}

// DropKept removes expired responses.
func (s *Responses) DropKept(ctx context.Context) error {
	return share.Drain(1000, func(limit int) (int, error) { return s.store.Responses.Drop(ctx, limit) })
}
