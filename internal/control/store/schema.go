package store

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// SchemaVersion returns the schema version of the database, or 0 for an empty one, and the newest
// version that this release knows.
func (s *Store) SchemaVersion(ctx context.Context) (have, newest int64, err error) {
	entries, err := migrations.ReadDir(path.Join("migrations", s.d.name))
	if err != nil {
		return 0, 0, fmt.Errorf("read the migrations: %w", err)
	}
	for _, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("read the migrations: %w", err)
		}
		newest = max(newest, n)
	}
	var tables int
	known := `SELECT count(*)
		FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_name = 'goose_db_version'`
	if s.writer != nil {
		known = "SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'"
	}
	if err := s.read.QueryRowContext(ctx, known).Scan(&tables); err != nil || tables == 0 {
		return 0, newest, s.d.mapError(err)
	}
	err = s.read.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0)
		FROM goose_db_version`).Scan(&have)
	return have, newest, s.d.mapError(err)
}
