package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
)

// KeyRow is an API key with its internal fields.
type KeyRow struct {
	penstock.Key
	Team      string
	Hash      string // SHA-256 of the key, hex
	RevokedAt penstock.Time
	Makers    []string // the keys that made it, the nearest first

	Member   penstock.MemberType // of its owner; "": an agent or an automation, which has no roles
	Disabled penstock.Time       // its owner, or 0
	Roles    []penstock.Role     // of its owner
	Groups   []string            // of its owner
	Issuer   string              // of its owner
	SignedIn penstock.Time       // its owner, at an identity provider, or 0
}

// Active reports whether the key is valid at now.
func (k KeyRow) Active(now penstock.Time) bool {
	return k.RevokedAt == 0 && k.Disabled == 0 && (k.ExpiresAt == 0 || k.ExpiresAt > now)
}

// DefaultTeam is the team that every installation has.
const DefaultTeam = "default"

// keyFields are the columns of a key.
var keyFields = newResource("api_keys", "k",
	textColumn("uid", func(k *KeyRow) *string { return &k.UID }),
	textColumn("team", func(k *KeyRow) *string { return &k.Team }),
	storedText("principal", func(k *KeyRow) string { return k.Owner.UID }),
	textColumn("name", func(k *KeyRow) *string { return &k.Name }),
	textColumn("prefix", func(k *KeyRow) *string { return &k.Prefix }),
	textColumn("hash", func(k *KeyRow) *string { return &k.Hash }),
	jsonColumn("scopes", func(k *KeyRow) *[]penstock.Scope { return &k.Scopes }),
	storedFlag("admin", func(k *KeyRow) bool { return slices.Contains(k.Scopes, penstock.ScopeAdmin) }),
	flagColumn("sign_in", func(k *KeyRow) *bool { return &k.SignIn }),
	textColumn("agent_uid", func(k *KeyRow) *string { return &k.AgentUID }),
	numberColumn("created_at", func(k *KeyRow) *penstock.Time { return &k.CreatedAt }),
	numberColumn("expires_at", func(k *KeyRow) *penstock.Time { return &k.ExpiresAt }),
	numberColumn("revoked_at", func(k *KeyRow) *penstock.Time { return &k.RevokedAt }).unset(),
	numberColumn("last_used_at", func(k *KeyRow) *penstock.Time { return &k.LastUsedAt }).unset(),
	listColumn("makers", func(k *KeyRow) *[]string { return &k.Makers }),
)

// principal is the row of a person or service account.
type principal struct {
	penstock.Actor
	team string
}

// principalFields are the columns of a principal.
var principalFields = newResource("principals", "p",
	textColumn("uid", func(p *principal) *string { return &p.UID }),
	storedText("team", func(p *principal) string { return p.team }),
	textColumn("type", func(p *principal) *string { return &p.Type }),
	textColumn("display_name", func(p *principal) *string { return &p.DisplayName }).editable(),
	textColumn("email", func(p *principal) *string { return &p.Email }).editable(),
	textColumn("photo_url", func(p *principal) *string { return &p.PhotoURL }).editable(),
	storedNumber("created_at", func(*principal) penstock.Time { return penstock.Now() }),
)

var (
	setPrincipal = principalFields.upsert("uid") + " WHERE principals.member = ''"
	keyColumns   = "SELECT " + keyFields.selected + ", p.member, p.disabled_at, p.issuer, p.signed_in_at, " +
		rights + ", " + principalFields.selected + `
	FROM api_keys k
	JOIN principals p ON p.uid = k.principal `
)

func (s *Store) scanKey(row scanner) (KeyRow, error) {
	var k KeyRow
	var owner principal
	of := append([]any{&k.Member, &k.Disabled, &k.Issuer, &k.SignedIn}, rightsInto(&k.Roles, &k.Groups)...)
	err := row.Scan(keyFields.into(&k, append(of, principalFields.into(&owner)...)...)...)
	k.Owner = owner.Actor
	k.Roles = s.withGroupRoles(k.Roles, k.Issuer, k.Groups)
	return k, err
}

// ByHash reads a key, even a revoked or expired one; absence is penstock.CodeNotFound.
func (ks Keys) ByHash(ctx context.Context, hash string) (KeyRow, error) {
	k, err := ks.s.scanKey(ks.s.row(ctx, keyColumns+"WHERE k.hash = $1", hash))
	if errors.Is(err, sql.ErrNoRows) {
		return k, penstock.NotFound("key", "")
	}
	return k, ks.s.d.mapError(err)
}

// RunByAgentKey returns the run whose execution has this key and an active lease; absence is
// penstock.CodeNotFound.
func (ks Keys) RunByAgentKey(ctx context.Context, hash string) (team, runID string, execution int, err error) {
	err = ks.s.row(
		ctx, `SELECT q.team, q.run_id, r.execution_id
			FROM queue q
			JOIN runs r ON r.id = q.run_id
			WHERE q.agent_key = $1 AND q.agent_key <> '' AND q.lease_until > `+ks.s.d.now, hash,
	).Scan(&team, &runID, &execution)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", 0, penstock.NotFound("key", "")
	}
	return team, runID, execution, ks.s.d.mapError(err)
}

// List returns a team's keys that are not revoked, newest first.
func (ks Keys) List(ctx context.Context, team string) ([]penstock.Key, error) {
	rows, err := ks.s.query(ctx, keyColumns+`WHERE k.team = $1 AND k.revoked_at = 0
	ORDER BY k.created_at DESC, k.uid`, team)
	if err != nil {
		return nil, ks.s.d.mapError(fmt.Errorf("list keys: %w", err))
	}
	defer rows.Close()
	keys := []penstock.Key{}
	for rows.Next() {
		k, err := ks.s.scanKey(rows)
		if err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		keys = append(keys, k.Key)
	}
	return keys, ks.s.d.mapError(rows.Err())
}

// Count returns the number of all keys, including revoked ones.
func (ks Keys) Count(ctx context.Context) (n int, err error) {
	err = ks.s.row(ctx, "SELECT count(*) FROM api_keys").Scan(&n)
	return n, ks.s.d.mapError(err)
}

// Add stores a key of an existing principal.
func (ks KeysTx) Add(ctx context.Context, k KeyRow) error {
	err := keyFields.add(ctx, ks.tx, &k)
	if err != nil && ks.tx.s.d.unique(err) {
		return penstock.Errorf(penstock.CodeConflict, "this key exists already")
	}
	return err
}

// Budgeted returns the keys for which a budget exists, or can be created, in their order.
func (ks KeysTx) Budgeted(ctx context.Context, team string, keys []string) ([]string, error) {
	var budgeted []string
	for _, uid := range keys { // few
		var one int
		err := ks.tx.row(ctx, `SELECT 1
			WHERE EXISTS (SELECT 1 FROM api_keys WHERE team = $1 AND uid = $2 AND revoked_at = 0)
				OR EXISTS (SELECT 1 FROM budgets WHERE team = $1 AND scope = 'key' AND scope_uid = $2)`, team, uid).Scan(&one)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, fmt.Errorf("look for budgets of key %s: %w", uid, err)
		default:
			budgeted = append(budgeted, uid)
		}
	}
	return budgeted, nil
}

// Revoke revokes a key from the next request on. It returns false if the key does not exist.
func (ks KeysTx) Revoke(ctx context.Context, team, uid string) (bool, error) {
	n, err := ks.tx.exec(ctx, `UPDATE api_keys
		SET revoked_at = $1
		WHERE uid = $2 AND team = $3 AND revoked_at = 0`, int64(penstock.Now()), uid, team)
	return n > 0, err
}

// Admin lists the team's active keys with the scope admin whose owners are admins, and prevents their revocation
// until the transaction ends. Agents are none: they manage no members. Nor are the keys of sign-ins: without the
// identity provider, nobody gets in with them.
func (ks KeysTx) Admin(ctx context.Context, team string) ([]string, error) {
	rows, err := ks.tx.query(ctx, `SELECT uid
		FROM api_keys
		WHERE team = $1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2) AND admin = 1 AND agent_uid = ''
			AND sign_in = 0
			AND EXISTS (
				SELECT 1
				FROM principals p
				WHERE p.uid = api_keys.principal AND p.disabled_at = 0 AND (p.member = '' OR EXISTS (
					SELECT 1
					FROM grants g
					WHERE g.team = p.team AND g.subject_type = p.member AND g.subject = p.uid AND g.role = 'admin'
				))
			)
		ORDER BY uid`+ks.tx.s.d.lock, team, int64(penstock.Now()))
	return collect(ks.tx.s, rows, err, "admin keys", func(uid *string) []any { return []any{uid} })
}

// Touch records when keys were last used.
func (ks Keys) Touch(ctx context.Context, used map[string]penstock.Time) error {
	return ks.s.touch(ctx, `UPDATE api_keys
		SET last_used_at = $1
		WHERE uid = $2 AND last_used_at < $1`, used)
}

// touch executes a statement with the time and the key of each entry.
func (s *Store) touch(ctx context.Context, statement string, used map[string]penstock.Time) error {
	return s.Write(ctx, func(tx *Tx) error {
		for _, key := range slices.Sorted(maps.Keys(used)) { // in one order, so that replicas cannot deadlock
			if _, err := tx.exec(ctx, statement, int64(used[key]), key); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddPrincipal stores an agent or automation, or updates its name and other details. A member of the team stays as it
// is.
func (ks KeysTx) AddPrincipal(ctx context.Context, team string, a penstock.Actor) error {
	_, err := ks.tx.exec(ctx, setPrincipal, principalFields.row(&principal{a, team})...)
	return err
}

// Principal reads a person or service account of a team; absence is penstock.CodeNotFound, also of a disabled
// one.
func (ks Keys) Principal(ctx context.Context, team, uid string) (penstock.Actor, error) {
	var p principal
	err := ks.s.row(ctx, "SELECT "+principalFields.selected+`
		FROM principals p
		WHERE p.uid = $1 AND p.team = $2 AND p.disabled_at = 0`, uid, team).Scan(principalFields.into(&p)...)
	if errors.Is(err, sql.ErrNoRows) {
		return p.Actor, penstock.NotFound("principal", uid)
	}
	return p.Actor, ks.s.d.mapError(err)
}

// Own gives a key to another principal.
func (ks KeysTx) Own(ctx context.Context, team, uid, principal string) error {
	n, err := ks.tx.exec(ctx, `UPDATE api_keys
		SET principal = $1
		WHERE uid = $2 AND team = $3 AND revoked_at = 0 AND agent_uid = ''`, principal, uid, team)
	if err == nil && n == 0 {
		err = penstock.NotFound("key", uid)
	}
	return wrapf(err, "give key %s to %s", uid, principal)
}

// Find reads a key that is not revoked; absence is penstock.CodeNotFound.
func (ks KeysTx) Find(ctx context.Context, team, uid string) (KeyRow, error) {
	row := ks.tx.row(ctx, keyColumns+"WHERE k.uid = $1 AND k.team = $2 AND k.revoked_at = 0", uid, team)
	k, err := ks.tx.s.scanKey(row)
	if errors.Is(err, sql.ErrNoRows) {
		return k, penstock.NotFound("key", uid)
	}
	return k, ks.tx.s.d.mapError(err)
}

// SignIn reads the key of a member's sign-ins that is not revoked; absence is penstock.CodeNotFound. The member is
// locked, so there is at most one.
func (ks KeysTx) SignIn(ctx context.Context, team, member string) (KeyRow, error) {
	k, err := ks.tx.s.scanKey(ks.tx.row(ctx, keyColumns+`WHERE k.principal = $1 AND k.team = $2
	AND k.sign_in = 1 AND k.revoked_at = 0`, member, team))
	if errors.Is(err, sql.ErrNoRows) {
		return k, penstock.NotFound("key", "")
	}
	return k, ks.tx.s.d.mapError(err)
}
