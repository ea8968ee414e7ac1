package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// ForgeRow is a connection to a forge with its internal fields.
type ForgeRow struct {
	penstock.Forge
	Team   string
	Sealed []byte // the tokens
	DueAt  penstock.Time
}

var forgeFields = newResource("forges", "f",
	textColumn("uid", func(r *ForgeRow) *string { return &r.UID }),
	textColumn("team", func(r *ForgeRow) *string { return &r.Team }),
	textColumn("name", func(r *ForgeRow) *string { return &r.Name }),
	textColumn("provider", func(r *ForgeRow) *penstock.ForgeProvider { return &r.Provider }),
	textColumn("url", func(r *ForgeRow) *string { return &r.URL }),
	textColumn("auth", func(r *ForgeRow) *penstock.ForgeAuth { return &r.Auth }),
	jsonColumn("bot", func(r *ForgeRow) **penstock.ForgeBot { return &r.Bot }).editable(),
	bytesColumn("sealed", func(r *ForgeRow) *[]byte { return &r.Sealed }).editable(),
	flagColumn("read_token", func(r *ForgeRow) *bool { return &r.ReadToken }).editable(),
	listColumn("factories", func(r *ForgeRow) *[]string { return &r.Factories }).editable(),
	listColumn("repositories", func(r *ForgeRow) *[]string { return &r.Repositories }).editable(),
	textColumn("status", func(r *ForgeRow) *penstock.ForgeStatus { return &r.Status }).editable(),
	textColumn("problem", func(r *ForgeRow) *string { return &r.Problem }).editable(),
	numberColumn("expires_at", func(r *ForgeRow) *penstock.Time { return &r.ExpiresAt }).editable(),
	numberColumn("checked_at", func(r *ForgeRow) *penstock.Time { return &r.CheckedAt }).editable(),
	numberColumn("due_at", func(r *ForgeRow) *penstock.Time { return &r.DueAt }).editable(),
	numberColumn("created_at", func(r *ForgeRow) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *ForgeRow) *penstock.Time { return &r.UpdatedAt }).editable(),
)

var (
	selectForges = "SELECT " + forgeFields.selected + " FROM forges f "
	setForge     = forgeFields.update("", "uid = ? AND team = ?")
)

func readForges(ctx context.Context, q querier, where string, args ...any) ([]ForgeRow, error) {
	rows, err := q.query(ctx, selectForges+where, args...)
	return collect(q.store(), rows, err, "connections", func(r *ForgeRow) []any { return forgeFields.into(r) })
}

func readForge(ctx context.Context, q querier, lock, team, uid string) (ForgeRow, error) {
	rows, err := readForges(ctx, q, "WHERE f.uid = $1 AND f.team = $2"+lock, uid, team)
	return only(rows, err, "connection", uid)
}

// List lists the connections of a team by name.
func (fs Forges) List(ctx context.Context, team string) ([]ForgeRow, error) {
	return readForges(ctx, fs.s, "WHERE f.team = $1 ORDER BY f.name", team)
}

// Find reads one connection of a team. Absence is penstock.CodeNotFound.
func (fs Forges) Find(ctx context.Context, team, uid string) (ForgeRow, error) {
	return readForge(ctx, fs.s, "", team, uid)
}

// Due claims at most limit connections that are to be checked: until then, no other server checks them.
func (fs Forges) Due(ctx context.Context, now, until penstock.Time, limit int) ([]ForgeRow, error) {
	due, err := readForges(ctx, fs.s, "WHERE f.due_at <= $1 ORDER BY f.due_at LIMIT $2", int64(now), limit)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	var claimed []ForgeRow
	err = fs.s.Write(ctx, func(tx *Tx) error {
		claimed = nil
		for _, r := range due {
			n, err := tx.exec(ctx, `UPDATE forges
				SET due_at = $1
				WHERE uid = $2 AND due_at = $3`, int64(until), r.UID, int64(r.DueAt))
			if err != nil {
				return fmt.Errorf("claim connection %s: %w", r.UID, err)
			}
			if n > 0 {
				r.DueAt = until
				claimed = append(claimed, r)
			}
		}
		return nil
	})
	return claimed, err
}

// Lock reads one connection of a team and locks it until the transaction ends.
func (fs ForgesTx) Lock(ctx context.Context, team, uid string) (ForgeRow, error) {
	return readForge(ctx, fs.tx, fs.tx.s.d.lock, team, uid)
}

// Count returns how many connections a team has.
func (fs ForgesTx) Count(ctx context.Context, team string) (n int, err error) {
	err = fs.tx.row(ctx, "SELECT count(*) FROM forges WHERE team = $1", team).Scan(&n)
	return n, err
}

// Add stores a new connection. A name that the team uses already is a conflict.
func (fs ForgesTx) Add(ctx context.Context, r ForgeRow) error {
	return fs.tx.nameTaken(forgeFields.add(ctx, fs.tx, &r), "a connection", r.Name)
}

// Set stores a connection that was read and changed in the transaction.
func (fs ForgesTx) Set(ctx context.Context, r ForgeRow) error {
	if _, err := fs.tx.exec(ctx, setForge, forgeFields.changes(&r, r.UID, r.Team)...); err != nil {
		return fmt.Errorf("store connection %s: %w", r.UID, err)
	}
	return nil
}

// Delete removes a connection with its ingress.
func (fs ForgesTx) Delete(ctx context.Context, team, uid string) error {
	n, err := fs.tx.exec(ctx, "DELETE FROM forges WHERE uid = $1 AND team = $2", uid, team)
	if err == nil && n == 0 {
		return penstock.NotFound("connection", uid)
	}
	if err == nil {
		_, err = fs.tx.exec(ctx, "DELETE FROM forge_repositories WHERE forge_uid = $1", uid)
	}
	if err != nil {
		return wrapf(err, "delete connection %s", uid)
	}
	return fs.tx.Webhooks().Delete(ctx, uid)
}
