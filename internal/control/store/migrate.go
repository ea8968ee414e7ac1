package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var migrations embed.FS

// migrate brings the schema up to this release's version, forward only.
func (s *Store) migrate(ctx context.Context) error {
	dir, err := fs.Sub(migrations, "migrations/"+s.d.name)
	if err != nil {
		return err
	}
	db, dialect, options, release, err := s.migrationPlan(ctx)
	if err != nil {
		return err
	}
	defer release()
	provider, err := goose.NewProvider(dialect, db, dir, options...)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	have, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	if have > 0 {
		if err := s.released(ctx); err != nil {
			return err
		}
	}
	if have > newest {
		return fmt.Errorf("the database has schema version %d, created by a newer release; this one supports up to %d: "+
			"run the newer release, or restore a backup", have, newest)
	}
	if have == newest { // without the lock, which a pooler of connections may keep
		return nil
	}
	_, err = provider.Up(ctx)
	return wrapf(err, "migrate the database")
}

// released rejects a database of a development build from before the first release. Its schema
// versions have the same numbers but another content.
func (s *Store) released(ctx context.Context) error {
	value, err := s.Settings.Value(ctx, "schema")
	if err != nil {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	if value == "" {
		return errors.New("the database was created by a development build before the first release: " +
			"start with a new database, or continue with the build that created it")
	}
	return nil
}

// migrationPlan returns the connection and the lock for a migration. PostgreSQL has advisory locks.
// goose has no lock for SQLite, so we lock a file beside the database.
func (s *Store) migrationPlan(
	ctx context.Context,
) (db *sql.DB, d goose.Dialect, o []goose.ProviderOption, release func(), err error) {
	if s.writer == nil {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		return s.read, goose.DialectPostgres, []goose.ProviderOption{goose.WithSessionLocker(locker)}, func() {}, err
	}
	var file string
	if err := s.writer.conn.QueryRowContext(
		ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'",
	).Scan(&file); err != nil {
		return nil, "", nil, nil, err
	}
	unlock, err := lockBeside(file)
	if err != nil {
		return nil, "", nil, nil, err
	}
	db, err = sql.Open("sqlite", sqliteDSN(file, "_txlock=immediate"))
	return db, goose.DialectSQLite3, nil, func() { _ = db.Close(); unlock() }, err
}

// Backup writes a consistent copy of a SQLite database to a new file, while the database is in use.
// PostgreSQL has tools of its own.
func (s *Store) Backup(ctx context.Context, to string) error {
	if s.writer == nil {
		return fmt.Errorf("a PostgreSQL database is backed up with pg_dump")
	}
	var file string
	if err := s.read.QueryRowContext(
		ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'",
	).Scan(&file); err != nil {
		return fmt.Errorf("copy the database to %s: %w", to, s.d.mapError(err))
	}
	// Backup uses a connection of its own. Reading connections cannot write, not even a copy, and
	// the writing connection must not wait.
	db, err := sql.Open("sqlite", sqliteDSN(file, ""))
	if err != nil {
		return fmt.Errorf("copy the database to %s: %w", to, err)
	}
	defer func() { _ = db.Close() }() // nothing was written to the database
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", to); err != nil {
		return fmt.Errorf("copy the database to %s: %w", to, s.d.mapError(err))
	}
	return nil
}
