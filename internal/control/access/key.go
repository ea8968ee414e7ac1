package access

import (
	"cmp"
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

// KeyChange changes a key.
type KeyChange struct {
	OwnerUID string `json:"owner_uid"` // the user or service account that it belongs to from now on
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
	}
	return s.principalOf(k), nil
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
	req, err := scopesOf(req)
	if err == nil {
		err = checkKey(p, req)
	}
	if err != nil {
		return penstock.Key{}, err
	}
	key := NewKey()
	k := penstock.Key{
		UID: penstock.NewUID(), Name: strings.TrimSpace(req.Name),
		Scopes: slices.Compact(slices.Sorted(slices.Values(req.Scopes))), Prefix: shown(key),
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

// scopesOf gives a request for a role the scopes of the role.
func scopesOf(req KeyRequest) (KeyRequest, error) {
	if req.Role == "" {
		return req, nil
	}
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	checkRole(bad, req.Role)
	if len(req.Scopes) > 0 {
		bad("/role", "stands for its scopes: name a role or scopes, and not both")
	}
	if errs != nil {
		return req, penstock.InvalidFields(errs...)
	}
	req.Scopes = req.Role.Scopes()
	return req, nil
}

// setOwner decides who owns a new key, and stores its name.
func setOwner(ctx context.Context, tx *store.Tx, p penstock.Principal, owner string, k *penstock.Key) error {
	switch {
	case owner == "":
		if err := setAgent(ctx, tx, p, k); err != nil {
			return err
		}
		return tx.Keys().AddPrincipal(ctx, p.Team, k.Owner)
	case k.AgentUID != "":
		return penstock.Invalid("/owner_uid", "cannot be together with agent_uid: the key of an agent belongs to the agent")
	}
	m, err := ownerOf(ctx, tx, p, owner)
	if err != nil {
		return err
	}
	if _, withheld := m.Type.Narrow(k.Scopes, m.Roles); len(withheld) > 0 {
		return penstock.Invalid(
			"/scopes", "the owner %s lacks %s; grant a role first, or give the key fewer scopes",
			cmp.Or(m.DisplayName, m.UID), request.Enumerated(withheld),
		)
	}
	k.Owner = m.Actor()
	return nil
}

// ownerOf reads the member who is to own a key, until the transaction ends. The caller acts for others with it, so it
// may be nobody who may do more than the caller.
func ownerOf(ctx context.Context, tx *store.Tx, p penstock.Principal, uid string) (m store.MemberRow, err error) {
	if err := mayManage(p); err != nil {
		return m, err
	}
	for _, of := range []penstock.MemberType{penstock.MemberUser, penstock.MemberServiceAccount} {
		if m, err = tx.Members().Lock(ctx, p.Team, of, uid); penstock.CodeOf(err) != penstock.CodeNotFound {
			break
		}
	}
	switch {
	case penstock.CodeOf(err) == penstock.CodeNotFound:
		return m, penstock.Invalid("/owner_uid", "the team has no user or service account %.80q", uid)
	case err != nil:
		return m, err
	case m.DisabledAt != 0:
		return m, penstock.Invalid("/owner_uid", "%s is disabled", cmp.Or(m.DisplayName, m.UID))
	}
	return m, outranked(p, m.Roles...)
}

// Assign gives a key to another member, from the next request on: what it does is the new owner's, and it may do at
// most what the new owner may.
func (s *Keys) Assign(ctx context.Context, p penstock.Principal, uid string, req KeyChange) (penstock.Key, error) {
	if err := Require(p, penstock.ScopeKeysManage); err != nil {
		return penstock.Key{}, err
	}
	if req.OwnerUID == "" {
		return penstock.Key{}, penstock.Invalid("/owner_uid", "is required: the uid of a user or service account")
	}
	return Act(ctx, s.responses, p, func(tx *store.Tx) (key penstock.Key, err error) {
		return key, keepAdmin(ctx, tx, p.Team, func() error {
			key, err = assign(ctx, tx, p, uid, req.OwnerUID)
			return err
		})
	})
}

func assign(ctx context.Context, tx *store.Tx, p penstock.Principal, uid, owner string) (penstock.Key, error) {
	m, err := ownerOf(ctx, tx, p, owner)
	if err != nil {
		return penstock.Key{}, err
	}
	k, err := tx.Keys().Find(ctx, p.Team, uid)
	if err != nil {
		return penstock.Key{}, err
	}
	if k.AgentUID != "" {
		return penstock.Key{}, penstock.Errorf(penstock.CodeConflict, "the key belongs to an agent, and stays with it")
	}
	if err := outranked(p, k.Roles...); err != nil {
		return penstock.Key{}, err
	}
	for _, scope := range k.Scopes {
		if !p.May(scope) {
			return penstock.Key{}, penstock.Errorf(
				penstock.CodeNotAuthorized, "the key has the scope %s, which the caller lacks", scope,
			)
		}
	}
	k.Owner = m.Actor()
	return k.Key, tx.Keys().Own(ctx, p.Team, uid, owner)
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

// setAgent makes an agent the owner of a key. It locks the agent until the key is stored, so
// that a deletion of the agent also deletes the key.
func setAgent(ctx context.Context, tx *store.Tx, p penstock.Principal, k *penstock.Key) error {
	if k.AgentUID == "" {
		return nil
	}
	agent, err := tx.Identities().Lock(ctx, p.Team, k.AgentUID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Invalid("/agent_uid", "there is no agent %q", k.AgentUID)
	}
	if err == nil && agent.OnBehalfOfEnabled && !p.May(penstock.ScopeAdmin) {
		return penstock.Errorf(
			penstock.CodeNotAuthorized, "only an admin can create a key for an agent that acts on behalf of users",
		)
	}
	k.Owner = AgentActor(agent)
	return err
}

const maxKeyLife = 10 * 365 * 24 * time.Hour

func checkKey(p penstock.Principal, req KeyRequest) error {
	var errs []penstock.FieldError
	request.Name(func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}, strings.TrimSpace(req.Name), true)
	if len(req.Scopes) == 0 {
		errs = append(errs, penstock.FieldError{Pointer: "/scopes", Detail: "needs at least one scope"})
	}
	for i, scope := range req.Scopes {
		at := fmt.Sprintf("/scopes/%d", i)
		switch {
		case !slices.Contains(penstock.Scopes(), scope):
			errs = append(
				errs,
				penstock.FieldError{
					Pointer: at, Detail: fmt.Sprintf("%q is not a scope; use one of %s", scope, request.Enumerated(penstock.Scopes())),
				},
			)
		case !p.May(scope):
			return penstock.Errorf(
				penstock.CodeNotAuthorized, "a key cannot grant the scope %s, which it does not have", scope,
			)
		}
	}
	if req.ExpiresInSeconds < 0 || req.ExpiresInSeconds > int64(maxKeyLife/time.Second) {
		errs = append(
			errs,
			penstock.FieldError{
				Pointer: "/expires_in_seconds", Detail: "must be from 1 to 315360000, or absent for a key that does not expire",
			},
		)
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
		admins, err := tx.Keys().Admin(ctx, p.Team)
		if err != nil {
			return err
		}
		if len(admins) == 1 && admins[0] == uid {
			return penstock.Errorf(
				penstock.CodeConflict, "this is the team's last key with the scope admin; create another one first",
			)
		}
		revoked, err := tx.Keys().Revoke(ctx, p.Team, uid)
		if err == nil && !revoked {
			err = penstock.NotFound("key", uid)
		}
		return err
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
