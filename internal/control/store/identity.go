package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// identityRecord is the row of an agent. data has the fields without a column of their own.
type identityRecord struct {
	penstock.Identity
	team string
	data penstock.Identity
}

// identityFields are the columns of an agent.
var identityFields = newResource("identities", "i",
	textColumn("uid", func(i *identityRecord) *string { return &i.UID }),
	storedText("team", func(i *identityRecord) string { return i.team }),
	textColumn("name", func(i *identityRecord) *string { return &i.Name }).editable(),
	storedText("folded", func(i *identityRecord) string { return fold(i.Name) }).editable(),
	textColumn("factory_uid", func(i *identityRecord) *string { return &i.FactoryUID }),
	storedText("environment_id", func(i *identityRecord) string { return i.EnvironmentID }).editable(),
	jsonColumn("data", func(i *identityRecord) *penstock.Identity { return &i.data }).editable(),
	numberColumn("created_at", func(i *identityRecord) *penstock.Time { return &i.CreatedAt }),
	numberColumn("updated_at", func(i *identityRecord) *penstock.Time { return &i.UpdatedAt }).editable(),
)

var (
	identityColumns = "SELECT " + identityFields.selected + " FROM identities i "
	setIdentity     = identityFields.update("", "uid = ? AND team = ? AND deleted_at = 0")
)

func scanIdentity(row scanner) (penstock.Identity, error) {
	var i identityRecord
	err := row.Scan(identityFields.into(&i)...)
	own := i.Identity
	i.Identity = i.data
	i.UID, i.Name, i.FactoryUID, i.CreatedAt, i.UpdatedAt = own.UID, own.Name, own.FactoryUID, own.CreatedAt, own.UpdatedAt
	return i.Identity, err
}

// List returns a team's agents by name.
func (is Identities) List(ctx context.Context, team string) ([]penstock.Identity, error) {
	return readIdentities(ctx, is.s, "WHERE team = $1 AND deleted_at = 0 ORDER BY folded, uid", team)
}

func readIdentities(ctx context.Context, q querier, where string, args ...any) ([]penstock.Identity, error) {
	rows, err := q.query(ctx, identityColumns+where, args...)
	if err != nil {
		return nil, q.store().d.mapError(fmt.Errorf("list agents: %w", err))
	}
	defer rows.Close()
	out := []penstock.Identity{}
	for rows.Next() {
		i, err := scanIdentity(rows)
		if err != nil {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		out = append(out, i)
	}
	return out, q.store().d.mapError(rows.Err())
}

// OfFactory lists a factory's agents by name, within the transaction.
func (is IdentitiesTx) OfFactory(ctx context.Context, factoryUID string) ([]penstock.Identity, error) {
	return readIdentities(ctx, is.tx, `WHERE factory_uid = $1 AND factory_uid <> '' AND deleted_at = 0
		ORDER BY folded, uid`, factoryUID)
}

// Find reads an agent; absence is penstock.CodeNotFound.
func (is Identities) Find(ctx context.Context, team, uid string) (penstock.Identity, error) {
	return readIdentity(ctx, is.s, "", team, uid)
}

// Lock reads an agent and locks it until the transaction ends; absence is
// penstock.CodeNotFound.
func (is IdentitiesTx) Lock(ctx context.Context, team, uid string) (penstock.Identity, error) {
	return readIdentity(ctx, is.tx, is.tx.s.d.lock, team, uid)
}

func readIdentity(ctx context.Context, q querier, lock, team, uid string) (penstock.Identity, error) {
	i, err := scanIdentity(q.row(ctx, identityColumns+"WHERE uid = $1 AND team = $2 AND deleted_at = 0"+lock, uid, team))
	if errors.Is(err, sql.ErrNoRows) {
		return i, penstock.NotFound("agent", uid)
	}
	if err != nil {
		return i, q.store().d.mapError(fmt.Errorf("read agent %s: %w", uid, err))
	}
	return i, nil
}

// Add stores a new agent. A name that is used already in the same factory, or by the team
// outside of factories, is a conflict, ignoring case.
func (is IdentitiesTx) Add(ctx context.Context, team string, i penstock.Identity) error {
	err := identityFields.add(ctx, is.tx, &identityRecord{i, team, i})
	if err != nil {
		return is.tx.nameTaken(err, "an agent", i.Name)
	}
	return is.tx.Secrets().SetUses(ctx, team, SecretOfAgent, i.UID, i.SecretNames())
}

// Set stores an agent that was read and changed in the transaction.
func (is IdentitiesTx) Set(ctx context.Context, team string, i penstock.Identity) error {
	n, err := is.tx.exec(ctx, setIdentity, identityFields.changes(&identityRecord{i, team, i}, i.UID, team)...)
	if err == nil && n == 0 {
		return penstock.NotFound("agent", i.UID)
	}
	if err != nil {
		return is.tx.nameTaken(err, "an agent", i.Name)
	}
	return is.tx.Secrets().SetUses(ctx, team, SecretOfAgent, i.UID, i.SecretNames())
}

// Delete removes an agent from every list and revokes its keys. Absence is
// penstock.CodeNotFound.
func (is IdentitiesTx) Delete(ctx context.Context, team, uid string) error {
	now := int64(penstock.Now())
	n, err := is.tx.exec(ctx, `UPDATE identities
		SET deleted_at = $1
		WHERE uid = $2 AND team = $3 AND deleted_at = 0`, now, uid, team)
	if err != nil {
		return fmt.Errorf("delete agent %s: %w", uid, err)
	}
	if n == 0 {
		return penstock.NotFound("agent", uid)
	}
	if _, err := is.tx.exec(ctx, `UPDATE api_keys
		SET revoked_at = $1
		WHERE agent_uid = $2 AND agent_uid <> '' AND team = $3 AND revoked_at = 0`, now, uid, team); err != nil {
		return fmt.Errorf("revoke the keys of agent %s: %w", uid, err)
	}
	return is.tx.Secrets().SetUses(ctx, team, SecretOfAgent, uid, nil)
}
