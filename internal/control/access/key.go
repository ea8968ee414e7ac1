package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// KeyRequest creates a key.
type KeyRequest struct {
	Name             string           `json:"name"`
	Scopes           []penstock.Scope `json:"scopes"`
	ExpiresInSeconds int64            `json:"expires_in_seconds,omitzero"` // 0: with the key that creates it, or never
	AgentUID         string           `json:"agent_uid,omitempty"`         // acts as this agent
	OwnerUID         string           `json:"owner_uid,omitempty"`         // the user or service account; "": the caller
	Role             penstock.Role    `json:"role,omitempty"`              // instead of Scopes: its scopes
}

// Me describes the caller.
type Me struct {
	Team   string           `json:"team"`
	Actor  penstock.Actor   `json:"actor"`
	KeyUID string           `json:"key_uid,omitempty"`
	Scopes []penstock.Scope `json:"scopes"`
	Grants []MyGrant        `json:"grants,omitzero"`
	RunID  string           `json:"run_id,omitempty"`
}

// MyGrant is a role of the caller.
type MyGrant struct {
	Role penstock.Role `json:"role"`
}

// AgentActor returns an agent as an actor.
func AgentActor(i penstock.Identity) penstock.Actor {
	return penstock.Actor{Type: "service_account", UID: i.UID, DisplayName: i.Name}
}

// keyPrefix begins every key, so that secret scanners find leaked keys.
const keyPrefix = "psk_"

// NewKey makes a key of 32 random bytes.
func NewKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return keyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// DeriveKey returns the key that belongs to a secret text of at least 128 random bits, always the
// same one.
func DeriveKey(secret string) string {
	sum := sha256.Sum256([]byte("key of " + secret))
	return keyPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
}

// HashKey returns the stored form of a key. A key has 256 random bits, so an attacker cannot
// search a plain hash. The index compares the hashes.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Authenticate returns the principal of an API key, or of the key of an active execution. It
// reads the row after the call began (several calls may share one read), so a revoked key stops
// working with the next request.
func (s *Keys) Authenticate(ctx context.Context, key string) (penstock.Principal, error) {
	refused := penstock.Errorf(penstock.CodeAuthenticationRequired, "the API key is unknown, expired or revoked")
	if !strings.HasPrefix(key, keyPrefix) || len(key) > 200 {
		return penstock.Principal{}, refused
	}
	hash := HashKey(key)
	k, err := s.keys.Ask(
		ctx, hash, func(ctx context.Context) (store.KeyRow, error) { return s.store.Keys.ByHash(ctx, hash) },
	)
	switch {
	case penstock.CodeOf(err) == penstock.CodeNotFound:
		return s.authenticateExecution(ctx, hash, refused)
	case err != nil:
		return penstock.Principal{}, err
	case !k.Active(penstock.Now()):
		return penstock.Principal{}, refused
	case asleep(k, penstock.Now()):
		return penstock.Principal{}, penstock.Errorf(
			penstock.CodeAuthenticationRequired, "the key sleeps: %s has not signed in for %d days, so it is not known "+
				"whether the key may still be used; it works again after the next sign-in", k.Owner.DisplayName, sleepDays,
		)
	}
	return s.principalOf(k), nil
}

// sleepDays is for how many days the keys of a person count whom the identity provider has not confirmed since.
const sleepDays = 7

// asleep reports whether the owner of a key signs in at an identity provider and has not for long.
func asleep(k store.KeyRow, now penstock.Time) bool {
	return k.SignedIn != 0 && k.SignedIn.Add(sleepDays*24*time.Hour) <= now
}

// principalOf returns the principal of a key and marks the key as used.
func (s *Keys) principalOf(k store.KeyRow) penstock.Principal {
	s.usedKeys.Mark(k.UID)
	p := penstock.Principal{
		Team: k.Team, KeyUID: k.UID, Makers: k.Makers, Actor: k.Owner, Scopes: k.Scopes, ExpiresAt: k.ExpiresAt,
		AgentUID: k.AgentUID,
	}
	if k.Member != "" {
		p.Roles = k.Roles
		p.Scopes, p.Withheld = k.Member.Narrow(k.Scopes, k.Roles)
	}
	return p
}

func (s *Keys) authenticateExecution(ctx context.Context, hash string, refused error) (penstock.Principal, error) {
	team, runID, execution, err := s.store.Keys.RunByAgentKey(ctx, hash)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Principal{}, refused
	}
	if err != nil {
		return penstock.Principal{}, err
	}
	return penstock.Principal{
		Team: team, RunID: runID, Execution: execution, Scopes: []penstock.Scope{penstock.ScopeOwnRun},
		Actor: penstock.Actor{Type: "service_account", UID: "run:" + runID, DisplayName: "Agent of run " + runID},
	}, nil
}

// firstKey is the UID of an installation's first key. If two replicas start at once on an empty
// database, only one can store it.
const firstKey = "first"

// Bootstrap creates the first admin key of an installation without keys. If key is "", it
// generates one. made is false if a key already exists.
func (s *Keys) Bootstrap(ctx context.Context, key string) (made bool, result string, err error) {
	if n, err := s.store.Keys.Count(ctx); err != nil || n > 0 {
		return false, "", err
	}
	if key == "" {
		key = NewKey()
	}
	if !strings.HasPrefix(key, keyPrefix) || len(key) < 24 || len(key) > 200 {
		return false, "", penstock.Errorf(
			penstock.CodeInvalidRequest, "the first key must begin with %s and be 24 to 200 characters long", keyPrefix,
		)
	}
	now := penstock.Now()
	admin := penstock.Member{UID: "admin", Type: penstock.MemberUser, DisplayName: "Admin", CreatedAt: now}
	grant := penstock.Grant{
		UID: "admin:admin", SubjectType: penstock.GrantToUser, Subject: admin.UID, Role: penstock.AdminRole, CreatedAt: now,
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Members().Add(ctx, store.MemberRow{Member: admin, Team: store.DefaultTeam}); err != nil {
			return err
		}
		if err := tx.Members().AddGrant(ctx, store.GrantRow{Grant: grant, Team: store.DefaultTeam}); err != nil {
			return err
		}
		return tx.Keys().Add(ctx, store.KeyRow{
			Key: penstock.Key{
				UID: firstKey, Name: "admin", Scopes: []penstock.Scope{penstock.ScopeAdmin}, Prefix: shown(key),
				Owner: admin.Actor(), CreatedAt: now,
			},
			Team: store.DefaultTeam, Hash: HashKey(key),
		})
	})
	if penstock.CodeOf(err) == penstock.CodeConflict { // another replica was first
		return false, "", nil
	}
	return err == nil, key, err
}

// shown returns the part of a key that users see: 8 of its 43 characters.
func shown(key string) string { return key[:len(keyPrefix)+8] }

// Create creates a key for the caller, for another member of the team or for an agent. Only this response has its
// secret. The key cannot have a scope that the caller does not have, and cannot expire later than the caller's key.
func (s *Keys) Create(ctx context.Context, p penstock.Principal, req KeyRequest) (penstock.Key, error) {
	if err := Require(p, penstock.ScopeKeysManage); err != nil {
		return penstock.Key{}, err
	}
	if err := checkKey(p, req); err != nil {
		return penstock.Key{}, err
	}
	key := NewKey()
	k := penstock.Key{
		UID: penstock.NewUID(), Name: strings.TrimSpace(req.Name),
		Scopes: slices.Compact(slices.Sorted(slices.Values(req.scopes()))), Prefix: shown(key),
		Owner: p.Actor, AgentUID: req.AgentUID, CreatedAt: penstock.Now(), Key: key,
	}
	k.ExpiresAt = p.ExpiresAt
	if req.ExpiresInSeconds > 0 {
		k.ExpiresAt = k.CreatedAt.Add(time.Duration(req.ExpiresInSeconds) * time.Second)
	}
	if p.ExpiresAt != 0 && k.ExpiresAt > p.ExpiresAt {
		return penstock.Key{}, penstock.Invalid("/expires_in_seconds",
			"must be at most %d, or absent: a key cannot expire later than the key that creates it",
			p.ExpiresAt.Sub(k.CreatedAt)/time.Second)
	}
	return Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Key, error) {
		if err := setOwner(ctx, tx, p, req.OwnerUID, &k); err != nil {
			return k, err
		}
		makers, err := Payers(ctx, tx, p.Team, p.PaidBy(), "create the new key with the key that made this one")
		if err != nil {
			return k, err
		}
		return k, tx.Keys().Add(ctx, store.KeyRow{Key: k, Team: p.Team, Hash: HashKey(key), Makers: makers})
	})
}

// maxPayers is how many keys may pay for one thing: what a key does, or the runs of a schedule.
const maxPayers = 50

// Payers returns the keys that can pay for something. Revoked keys without a budget, such as those that a key
// replaced, are left out, because no budget can ever count for them. Too many are a conflict, which says what to do
// instead.
func Payers(ctx context.Context, tx *store.Tx, team string, keys []string, instead string) ([]string, error) {
	paying, err := tx.Keys().Budgeted(ctx, team, keys)
	if err == nil && len(paying) > maxPayers {
		err = penstock.Errorf(
			penstock.CodeConflict, "this would count for %d keys that are in use, and at most %d other keys can pay; %s",
			len(paying), maxPayers, instead,
		)
	}
	return paying, err
}

const maxKeyLife = 10 * 365 * 24 * time.Hour

// scopes returns the scopes that the request lists, or the scopes of its role.
func (r KeyRequest) scopes() []penstock.Scope {
	if r.Role != "" {
		return r.Role.Scopes()
	}
	return r.Scopes
}

func checkKey(p penstock.Principal, req KeyRequest) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	request.Name(bad, strings.TrimSpace(req.Name), true)
	switch {
	case req.Role == "" && len(req.Scopes) == 0:
		bad("/scopes", "needs at least one scope")
	case req.Role != "" && len(req.Scopes) > 0:
		bad("/role", "stands for its scopes: name a role or scopes, and not both")
	case req.Role != "":
		checkRole(bad, req.Role)
	}
	for i, scope := range req.scopes() {
		switch {
		case !slices.Contains(penstock.Scopes(), scope):
			bad(
				fmt.Sprintf("/scopes/%d", i), "%q is not a scope; use one of %s", scope, request.Enumerated(penstock.Scopes()),
			)
		case !p.May(scope):
			return penstock.Errorf(
				penstock.CodeNotAuthorized, "a key cannot grant the scope %s, which it does not have", scope,
			)
		}
	}
	if req.ExpiresInSeconds < 0 || req.ExpiresInSeconds > int64(maxKeyLife/time.Second) {
		bad("/expires_in_seconds", "must be from 1 to 315360000, or absent for a key that does not expire")
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// List lists the team's keys, without their secrets.
func (s *Keys) List(ctx context.Context, p penstock.Principal) ([]penstock.Key, error) {
	if err := Require(p, penstock.ScopeKeysManage); err != nil {
		return nil, err
	}
	return s.store.Keys.List(ctx, p.Team)
}

// Revoke revokes a key. It stops working with the next request, on every replica. Revoking the
// last admin key is a conflict.
func (s *Keys) Revoke(ctx context.Context, p penstock.Principal, uid string) error {
	if err := Require(p, penstock.ScopeKeysManage); err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		return keepAdmin(ctx, tx, p.Team, func() error {
			revoked, err := tx.Keys().Revoke(ctx, p.Team, uid)
			if err == nil && !revoked {
				err = penstock.NotFound("key", uid)
			}
			return err
		})
	})
}

// Me returns the caller.
func (s *Keys) Me(p penstock.Principal) Me {
	me := Me{Team: p.Team, Actor: p.Actor, KeyUID: p.KeyUID, Scopes: p.Scopes, RunID: p.RunID}
	for _, role := range p.Roles {
		me.Grants = append(me.Grants, MyGrant{role})
	}
	return me
}

// Touch records when keys were used.
func (s *Keys) Touch(ctx context.Context) error {
	return s.usedKeys.Flush(func(at map[string]penstock.Time) error { return s.store.Keys.Touch(ctx, at) })
}
