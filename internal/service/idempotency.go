package service

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
	"github.com/penstock-dev/penstock/internal/store"
)

// ErrReplay says that the request's idempotency key has an answer by now:
// [Service.Replay] has it.
var ErrReplay = store.ErrReplay

// Idempotency is a request that may be sent again.
type Idempotency struct {
	Key, Method, Path string
	BodyHash          [sha256.Size]byte
	Status            int  // of the answer when the request succeeds
	OneTimeSecret     bool // the answer holds a secret that is shown once: kept for an hour only
}

// How long an answer is kept.
const (
	keepAnswer = 24 * time.Hour
	keepSecret = time.Hour
)

// idempotencyKey is the key of a context under which a request that may be sent again is kept.
type idempotencyKey struct{}

// WithIdempotency makes the service keep its answer to the request under i, in
// the transaction that acts.
func WithIdempotency(ctx context.Context, i Idempotency) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, i)
}

// scope hides the key and bounds its length.
func (i Idempotency) scope(p penstock.Principal) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.Team, p.Actor.UID, p.RunID, i.Method, i.Path, i.Key}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Replay returns the answer that was kept for i; found is false where there is
// none. The same key with another body is a conflict.
func (s *Service) Replay(ctx context.Context, p penstock.Principal, i Idempotency) (body []byte, status int, found bool, err error) {
	scope := i.scope(p)
	kept, err := s.store.Kept(ctx, scope)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return nil, 0, false, nil
	}
	if err != nil {
		return nil, 0, false, err
	}
	opened, err := s.keyset.Open(kept.Answer, scope)
	if err != nil {
		return nil, 0, false, fmt.Errorf("open a kept answer: %w", err)
	}
	body, same := bytes.CutPrefix(opened, i.BodyHash[:])
	if !same {
		return nil, 0, false, penstock.Errorf(penstock.CodeConflict, "this Idempotency-Key was used with another body in the last 24 hours; use a new key for a new request")
	}
	return body, kept.Status, true, nil
}

// answer is result as it is to be kept; nil where the request did not ask.
func (s *Service) answer(ctx context.Context, p penstock.Principal, result any) (*store.KeptAnswer, error) {
	i, ok := ctx.Value(idempotencyKey{}).(Idempotency)
	if !ok {
		return nil, nil //nolint:nilnil // nothing is to be kept, which is what a nil answer says to the store
	}
	body, err := json.Marshal(result, json.Deterministic(true)) // as the answer itself is written
	if err != nil {
		return nil, fmt.Errorf("keep an answer: %w", err)
	}
	scope := i.scope(p)
	// The hash is sealed as well: who sees the database could try values of a
	// secret that was in the body.
	sealed, err := s.keyset.Seal(append(i.BodyHash[:], body...), scope)
	if err != nil {
		return nil, fmt.Errorf("keep an answer: %w", err)
	}
	lasts := keepAnswer
	if i.OneTimeSecret {
		lasts = keepSecret
	}
	return &store.KeptAnswer{
		Scope: scope, Status: i.Status, Answer: sealed, Until: penstock.Now().Add(lasts),
	}, nil
}

// act runs fn in one transaction and keeps its result for the request's
// idempotency key in the same one. It is how every POST but the creation of
// runs writes.
func act[T any](ctx context.Context, s *Service, p penstock.Principal, fn func(*store.Tx) (T, error)) (T, error) {
	return actBy(ctx, s, p, s.store.Write, fn)
}

// actBy is act with a way of its own to write: [store.Store.WriteReserved].
func actBy[T any](
	ctx context.Context, s *Service, p penstock.Principal,
	write func(context.Context, func(*store.Tx) error) error, fn func(*store.Tx) (T, error),
) (T, error) {
	var result T
	err := write(ctx, func(tx *store.Tx) error {
		var err error
		if result, err = fn(tx); err != nil {
			return err
		}
		kept, err := s.answer(ctx, p, result)
		if err != nil {
			return err
		}
		return tx.Keep(ctx, kept)
	})
	if s.lostToItself(ctx, p, err) {
		err = ErrReplay
	}
	return result, err
}

// lostToItself reports whether a request was refused because the same request,
// under the same idempotency key, has been carried out at the same time by
// another replica: what it makes is there already.
func (s *Service) lostToItself(ctx context.Context, p penstock.Principal, err error) bool {
	i, ok := ctx.Value(idempotencyKey{}).(Idempotency)
	if code := penstock.CodeOf(err); !ok || code == "" || code.OurFault() {
		return false
	}
	_, err = s.store.Kept(ctx, i.scope(p))
	return err == nil
}
