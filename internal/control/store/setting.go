package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/penstock-dev/penstock"
)

// ID identifies this database, and databases that were restored from its backups.
func (s *Store) ID(ctx context.Context) (string, error) {
	return s.Settings.first(ctx, "database_id", penstock.NewID())
}

// first stores a setting unless it has a value, and returns its value.
func (s Settings) first(ctx context.Context, name, value string) (string, error) {
	err := s.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO settings (name, value)
			VALUES ($1, $2)
			ON CONFLICT (name) DO NOTHING`, name, value)
		return err
	})
	if err != nil {
		return "", err
	}
	return s.Value(ctx, name)
}

// Value reads a setting. It returns "" if it was never set.
func (s Settings) Value(ctx context.Context, name string) (value string, err error) {
	err = s.s.row(ctx, "SELECT value FROM settings WHERE name = $1", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, s.s.d.mapError(err)
}

// Set stores a setting of the installation.
func (s SettingsTx) Set(ctx context.Context, name, value string) error {
	_, err := s.tx.exec(ctx, `INSERT INTO settings (name, value)
		VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = $2`, name, value)
	return err
}
