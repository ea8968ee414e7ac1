package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// SessionRequest starts a session of the dashboard: with an API key, or with what an identity provider sent the browser
// back with.
type SessionRequest struct {
	APIKey string `json:"api_key,omitempty"`
	State  string `json:"state,omitempty"`
	Code   string `json:"code,omitempty"`
	Issuer string `json:"iss,omitempty"` // RFC 9207
}

// Session is the session of a browser that signed in.
type Session struct {
	Team   string           `json:"team"`
	Actor  penstock.Actor   `json:"actor"`
	Scopes []penstock.Scope `json:"scopes"` // the current scopes of the key
	KeyUID string           `json:"key_uid"`
	// PrincipalUID is the UID of the member that the key belongs to.
	PrincipalUID string `json:"principal_uid,omitempty"`
	// Secret must accompany the cookie in every request. Only the response that starts the
	// session has it.
	Secret string `json:"secret,omitempty"`
	// ReturnTo is the page where a sign-in at an identity provider began. Only the response that starts the session has
	// it.
	ReturnTo    string        `json:"return_to,omitempty"`
	ExpiresAt   penstock.Time `json:"expires_at"`   // even if it is used
	IdleSeconds int64         `json:"idle_seconds"` // idle time after which it ends
}

// SessionLimits say when a browser's session expires. The zero value has the defaults.
type SessionLimits struct {
	Life time.Duration // after the sign-in; default 168 h
	Idle time.Duration // after the last request; default 24 h
	// SignIn is how long a session lives at most that began at an identity provider; default 12 h. The groups of its
	// person are read again with the next sign-in.
	SignIn time.Duration
}

func (l SessionLimits) orDefault() SessionLimits {
	return SessionLimits{
		Life: cmp.Or(l.Life, 168*time.Hour), Idle: cmp.Or(l.Idle, 24*time.Hour), SignIn: cmp.Or(l.SignIn, 12*time.Hour),
	}
}

// life is how long the session of a key lives.
func (l SessionLimits) life(k store.KeyRow) time.Duration {
	if k.SignIn {
		return min(l.Life, l.SignIn)
	}
	return l.Life
}

// SessionProof authenticates a browser session with two independent random values. Cookies are
// shared by all ports of a host, so the cookie also reaches programs that listen on another
// port. The secret is not in a cookie: the page keeps it in localStorage, which belongs to one
// origin, including its port.
type SessionProof struct {
	Cookie string
	Secret string
}

// longestToken is the longest cookie or secret that is hashed.
const longestToken = 100

// complete reports whether both values exist and are short enough to be hashed.
func (p SessionProof) complete() bool {
	return p.Cookie != "" && p.Secret != "" && len(p.Cookie) <= longestToken && len(p.Secret) <= longestToken
}

func newToken() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// SignIn starts a session for p, who used an API key. cookie is the value of the cookie, and
// session.Secret is the secret. The server stores only their hashes. ended is the proof of the
// session that this one replaces, or empty.
func (s *Sessions) SignIn(
	ctx context.Context, p penstock.Principal, ended ...SessionProof,
) (cookie string, session Session, err error) {
	if p.KeyUID == "" {
		return "", Session{}, penstock.Errorf(
			penstock.CodeNotAuthorized, "only an API key can sign in, but not the key of an execution",
		)
	}
	cookie, secret, row := newSession(store.KeyRow{Key: penstock.Key{UID: p.KeyUID}})
	err = s.store.Write(ctx, func(tx *store.Tx) error { return replace(ctx, tx, row, ended) })
	session = s.sessionOf(p, row)
	session.Secret = secret
	return cookie, session, err
}

// newSession makes a session of a key, with the values that prove it.
func newSession(k store.KeyRow) (cookie, secret string, row store.SessionRow) {
	cookie, secret = newToken(), newToken()
	return cookie, secret, store.SessionRow{
		Hash: HashKey(cookie), SecretHash: HashKey(secret), CreatedAt: penstock.Now(), Key: k,
	}
}

// replace stores a session instead of others.
func replace(ctx context.Context, tx *store.Tx, row store.SessionRow, ended []SessionProof) error {
	for _, proof := range ended {
		if !proof.complete() {
			continue
		}
		if err := tx.Sessions().End(ctx, HashKey(proof.Cookie), HashKey(proof.Secret)); err != nil {
			return err
		}
	}
	return tx.Sessions().Add(ctx, row)
}

// Resume returns the principal of a session with the current scopes of its key. It returns
// CodeAuthenticationRequired if the proof is incomplete or wrong, if the session has ended, or
// if its key was revoked or has expired. It reads both rows after the call began.
func (s *Sessions) Resume(ctx context.Context, proof SessionProof) (penstock.Principal, Session, error) {
	refused := penstock.Errorf(penstock.CodeAuthenticationRequired, "the session has ended: sign in again")
	if !proof.complete() {
		return penstock.Principal{}, Session{}, refused
	}
	hash := HashKey(proof.Cookie)
	row, err := s.sessions.Ask(
		ctx, hash, func(ctx context.Context) (store.SessionRow, error) { return s.store.Sessions.ByHash(ctx, hash) },
	)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Principal{}, Session{}, refused
	}
	if err != nil {
		return penstock.Principal{}, Session{}, err
	}
	now, limits, k := penstock.Now(), s.sessionLimits, row.Key
	known := subtle.ConstantTimeCompare([]byte(HashKey(proof.Secret)), []byte(row.SecretHash)) == 1
	if !known || row.CreatedAt.Add(limits.life(k)) <= now || row.UsedAt.Add(limits.Idle) <= now || !k.Active(now) {
		return penstock.Principal{}, Session{}, refused
	}
	s.usedSessions.Mark(hash)
	p := s.keys.principalOf(k)
	return p, s.sessionOf(p, row), nil
}

// SignOut ends a session. It stops working with the next request, on every replica.
func (s *Sessions) SignOut(ctx context.Context, proof SessionProof) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		return tx.Sessions().End(ctx, HashKey(proof.Cookie), HashKey(proof.Secret))
	})
}

func (s *Sessions) sessionOf(p penstock.Principal, row store.SessionRow) Session {
	limits := s.sessionLimits
	ends := row.CreatedAt.Add(limits.life(row.Key))
	if p.ExpiresAt != 0 {
		ends = min(ends, p.ExpiresAt)
	}
	return Session{
		Team: p.Team, Actor: p.Actor, Scopes: p.Scopes, KeyUID: p.KeyUID, PrincipalUID: p.Actor.UID,
		ExpiresAt: ends, IdleSeconds: int64(limits.Idle / time.Second),
	}
}

// Touch records when sessions were used.
func (s *Sessions) Touch(ctx context.Context) error {
	return s.usedSessions.Flush(func(at map[string]penstock.Time) error { return s.store.Sessions.Touch(ctx, at) })
}

// DropEnded removes the sessions and the attempts to sign in that have ended.
func (s *Sessions) DropEnded(ctx context.Context) error {
	const batch = 1000
	if err := s.store.Sessions.DropSignIns(ctx); err != nil {
		return err
	}
	for {
		now, limits := penstock.Now(), s.sessionLimits
		n, err := s.store.Sessions.Drop(ctx, now.Add(-limits.Life), now.Add(-limits.Idle), batch)
		if err != nil || n < batch {
			return err
		}
	}
}
