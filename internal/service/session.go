package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
)

// SessionLimits say when a browser's session ends by itself. The zero value
// has the defaults.
type SessionLimits struct {
	Life time.Duration // after the sign-in; default 168 h
	Idle time.Duration // after the last request; default 24 h
}

func (l SessionLimits) orDefault() SessionLimits {
	return SessionLimits{Life: cmp.Or(l.Life, 168*time.Hour), Idle: cmp.Or(l.Idle, 24*time.Hour)}
}

// longestToken bounds what is hashed of a cookie that somebody sends.
const longestToken = 100

// SignIn begins a session of p, who came with an API key: token is the cookie's
// value, and the server keeps only its hash. ended is the token of a session that
// this one replaces, or "".
func (s *Service) SignIn(ctx context.Context, p penstock.Principal, ended string) (token string, session penstock.Session, err error) {
	if p.KeyUID == "" {
		return "", penstock.Session{}, penstock.Errorf(penstock.CodeNotAuthorized, "only an API key can sign in, and not that of an execution")
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(random[:])
	row := store.SessionRow{Hash: hashKey(token), CreatedAt: penstock.Now()}
	row.Key.UID = p.KeyUID
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		if ended != "" && len(ended) <= longestToken {
			if err := tx.EndSession(ctx, hashKey(ended)); err != nil {
				return err
			}
		}
		return tx.AddSession(ctx, row)
	})
	return token, s.sessionOf(p, token, row), err
}

// ResumeSession finds who a session belongs to and what its key may do now. One
// that is unknown or has ended, and one whose key was revoked or has expired, is
// CodeAuthenticationRequired: both rows are read after the call has begun.
func (s *Service) ResumeSession(ctx context.Context, token string) (penstock.Principal, penstock.Session, error) {
	refused := penstock.Errorf(penstock.CodeAuthenticationRequired, "the session has ended: sign in again")
	if len(token) > longestToken {
		return penstock.Principal{}, penstock.Session{}, refused
	}
	hash := hashKey(token)
	row, err := s.sessions.ask(ctx, hash, func(ctx context.Context) (store.SessionRow, error) { return s.store.SessionByHash(ctx, hash) })
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Principal{}, penstock.Session{}, refused
	}
	if err != nil {
		return penstock.Principal{}, penstock.Session{}, err
	}
	now, limits, k := penstock.Now(), s.options.Sessions, row.Key
	if row.CreatedAt.Add(limits.Life) <= now || row.UsedAt.Add(limits.Idle) <= now || !k.InForce(now) {
		return penstock.Principal{}, penstock.Session{}, refused
	}
	s.usedSessions.mark(hash)
	p := s.principalOf(k)
	return p, s.sessionOf(p, token, row), nil
}

// SignOut ends a session from the next request on, on every replica.
func (s *Service) SignOut(ctx context.Context, token string) error {
	return s.store.Write(ctx, func(tx *store.Tx) error { return tx.EndSession(ctx, hashKey(token)) })
}

func (s *Service) sessionOf(p penstock.Principal, token string, row store.SessionRow) penstock.Session {
	limits := s.options.Sessions
	return penstock.Session{
		Team: p.Team, Actor: p.Actor, Scopes: p.Scopes, KeyUID: p.KeyUID, CSRFToken: csrfToken(token),
		ExpiresAt: row.CreatedAt.Add(limits.Life), IdleSeconds: int64(limits.Idle / time.Second),
	}
}

// csrfToken follows from the cookie's value, which does not follow from it.
func csrfToken(token string) string {
	sum := sha256.Sum256([]byte("csrf\x00" + token))
	return hex.EncodeToString(sum[:16])
}

func (s *Service) touchSessions(ctx context.Context) error {
	return s.usedSessions.flush(func(at map[string]penstock.Time) error { return s.store.TouchSessions(ctx, at) })
}

func (s *Service) dropSessions(ctx context.Context) error {
	const batch = 1000
	for {
		now, limits := penstock.Now(), s.options.Sessions
		n, err := s.store.DropSessions(ctx, now.Add(-limits.Life), now.Add(-limits.Idle), batch)
		if err != nil || n < batch {
			return err
		}
	}
}
