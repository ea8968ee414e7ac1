package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

const identityColumns = "SELECT uid, name, factory_uid, data, created_at, updated_at FROM identities "

// scanIdentity reads an agent. The data holds what has no column of its own.
func scanIdentity(scan func(...any) error) (penstock.Identity, error) {
	var i, columns penstock.Identity
	var data string
	if err := scan(&columns.UID, &columns.Name, &columns.FactoryUID, &data, &columns.CreatedAt, &columns.UpdatedAt); err != nil {
		return i, err
	}
	err := unmarshal(data, &i)
	i.UID, i.Name, i.FactoryUID, i.CreatedAt, i.UpdatedAt = columns.UID, columns.Name, columns.FactoryUID, columns.CreatedAt, columns.UpdatedAt
	return i, err
}

// Identities lists a team's agents by name.
func (s *Store) Identities(ctx context.Context, team string) ([]penstock.Identity, error) {
	return s.identities(ctx, s, "WHERE team = $1 AND deleted_at = 0 ORDER BY folded, uid", team)
}

func (s *Store) identities(ctx context.Context, q querier, where string, args ...any) ([]penstock.Identity, error) {
	rows, err := q.query(ctx, identityColumns+where, args...)
	if err != nil {
		return nil, s.d.mapError(fmt.Errorf("list agents: %w", err))
	}
	defer rows.Close()
	out := []penstock.Identity{}
	for rows.Next() {
		i, err := scanIdentity(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		out = append(out, i)
	}
	return out, s.d.mapError(rows.Err())
}

// FactoryAgents lists a factory's agents by name, within the transaction.
func (tx *Tx) FactoryAgents(ctx context.Context, factoryUID string) ([]penstock.Identity, error) {
	return tx.s.identities(ctx, tx, "WHERE factory_uid = $1 AND factory_uid <> '' AND deleted_at = 0 ORDER BY folded, uid", factoryUID)
}

// Identity reads an agent; absence is penstock.CodeNotFound.
func (s *Store) Identity(ctx context.Context, team, uid string) (penstock.Identity, error) {
	return s.identity(ctx, s, "", team, uid)
}

// Identity reads an agent and keeps it from changing until the transaction
// ends; absence is penstock.CodeNotFound.
func (tx *Tx) Identity(ctx context.Context, team, uid string) (penstock.Identity, error) {
	return tx.s.identity(ctx, tx, tx.s.d.lock, team, uid)
}

func (s *Store) identity(ctx context.Context, q querier, lock, team, uid string) (penstock.Identity, error) {
	i, err := scanIdentity(q.row(ctx, identityColumns+"WHERE uid = $1 AND team = $2 AND deleted_at = 0"+lock, uid, team).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return i, penstock.NotFound("agent", uid)
	}
	if err != nil {
		return i, s.d.mapError(fmt.Errorf("read agent %s: %w", uid, err))
	}
	return i, nil
}

// AddIdentity stores a new agent. A name that the team uses already, in the
// same factory or outside of one, is a conflict in whatever case it is written.
func (tx *Tx) AddIdentity(ctx context.Context, team string, i penstock.Identity) error {
	_, err := tx.exec(ctx, "INSERT INTO identities (uid, team, name, folded, factory_uid, environment_id, data, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		i.UID, team, i.Name, fold(i.Name), i.FactoryUID, i.EnvironmentID, marshal(i), int64(i.CreatedAt), int64(i.UpdatedAt))
	if err != nil {
		return tx.nameTaken(err, "an agent", i.Name)
	}
	return tx.SetSecretUses(ctx, team, penstock.SecretOfAgent, i.UID, i.Config().SecretNames())
}

// SetIdentity stores an agent that was read and changed in the transaction.
func (tx *Tx) SetIdentity(ctx context.Context, team string, i penstock.Identity) error {
	n, err := tx.exec(ctx, "UPDATE identities SET name = $1, folded = $2, environment_id = $3, data = $4, updated_at = $5 WHERE uid = $6 AND team = $7 AND deleted_at = 0",
		i.Name, fold(i.Name), i.EnvironmentID, marshal(i), int64(i.UpdatedAt), i.UID, team)
	if err == nil && n == 0 {
		return penstock.NotFound("agent", i.UID)
	}
	if err != nil {
		return tx.nameTaken(err, "an agent", i.Name)
	}
	return tx.SetSecretUses(ctx, team, penstock.SecretOfAgent, i.UID, i.Config().SecretNames())
}

// DeleteIdentity takes an agent from every list and revokes its keys. Absence
// is penstock.CodeNotFound.
func (tx *Tx) DeleteIdentity(ctx context.Context, team, uid string) error {
	now := int64(penstock.Now())
	n, err := tx.exec(ctx, "UPDATE identities SET deleted_at = $1 WHERE uid = $2 AND team = $3 AND deleted_at = 0", now, uid, team)
	if err != nil {
		return fmt.Errorf("delete agent %s: %w", uid, err)
	}
	if n == 0 {
		return penstock.NotFound("agent", uid)
	}
	if _, err := tx.exec(ctx, "UPDATE api_keys SET revoked_at = $1 WHERE agent_uid = $2 AND agent_uid <> '' AND team = $3 AND revoked_at = 0", now, uid, team); err != nil {
		return fmt.Errorf("revoke the keys of agent %s: %w", uid, err)
	}
	return tx.SetSecretUses(ctx, team, penstock.SecretOfAgent, uid, nil)
}
