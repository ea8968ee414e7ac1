package main

import (
	"context"
	"database/sql" //nolint:depguard // a million rows for a measurement, with statements that the product does not need
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" //nolint:depguard // as above
	_ "modernc.org/sqlite"             //nolint:depguard // as above

	"github.com/penstock-dev/penstock"
)

// freshSQLite returns the URL of a file that does not exist yet.
func (b *bench) freshSQLite(context.Context) (string, func(), error) {
	dir, err := os.MkdirTemp(b.dir, "sqlite-")
	return "sqlite://" + filepath.Join(dir, "penstock.db"), func() { _ = os.RemoveAll(dir) }, err
}

// freshPostgres returns the URL of a new database in the server.
func (b *bench) freshPostgres(ctx context.Context) (string, func(), error) {
	u, err := url.Parse(b.postgres)
	if err != nil {
		return "", nil, fmt.Errorf("read the URL of the PostgreSQL server: %w", err)
	}
	name := "bench_" + strings.ReplaceAll(penstock.NewID(), "-", "")
	if err := b.inServer(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	drop := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := b.inServer(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			b.progressf("the database %s stays: %s", name, err)
		}
	}
	return u.String(), drop, nil
}

func (b *bench) inServer(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", b.postgres)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// postgresSettings returns the version of a server, and the settings that decide whether a commit
// is durable.
func postgresSettings(ctx context.Context, server string) (string, error) {
	db, err := sql.Open("pgx", server)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var version, fsync, commit string
	err = db.QueryRowContext(
		ctx, "SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')",
	).Scan(&version, &fsync, &commit)
	version, _, _ = strings.Cut(version, " ")
	return fmt.Sprintf("PostgreSQL %s, fsync=%s, synchronous_commit=%s", version, fsync, commit), err
}

// ageLog makes a new PostgreSQL create as many segments of its write-ahead log as it keeps. A
// server that has run for a while has them and reuses them. A commit that needs a new segment waits
// until the server has filled it with zeros and synced it.
func (b *bench) ageLog(ctx context.Context) error {
	const segments = `DO $$ BEGIN
		FOR i IN (SELECT count(*) FROM pg_ls_waldir()) .. least(64,
			pg_size_bytes(current_setting('max_wal_size')) / pg_size_bytes(current_setting('wal_segment_size'))
		) - 2 LOOP
			PERFORM pg_logical_emit_message(false, '', '');
			PERFORM pg_switch_wal();
		END LOOP; END $$`
	if err := b.inServer(ctx, segments); err != nil {
		return fmt.Errorf("have PostgreSQL's log made: %w", err)
	}
	return b.inServer(ctx, "CHECKPOINT")
}

const (
	fillNames = 20
	fillBatch = 50_000
)

// fillRuns copies the only run many times, a second apart. Every tenth copy is FAILED, the others
// are SUCCEEDED. It counts from a power of ten, so that all numbers have the same length on both
// engines.
const fillRuns = `INSERT INTO runs (
		id, team, state, title, prompt, mode, source,
		created_at, updated_at, started_at, finished_at, run_ms, execution_id, last_seq,
		prompt_state, creator, executor, config, config_sources, name, model_id, harness,
		conversation_id, root_id, metadata
	)
	WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2)
	SELECT '01900000-0000-7000-8000-' || CAST(100000000000 + i AS TEXT), r.team,
		CASE WHEN i % 7 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, r.title || ' ' || CAST(i AS TEXT), r.prompt, r.mode, r.source,
		$3 + i * 1000, $3 + i * 1000 + 60000, $3 + i * 1000 + 1000, $3 + i * 1000 + 60000, 59000, r.execution_id, r.last_seq,
		'delivered', r.creator, r.executor, r.config, r.config_sources,
		'nightly-' || CAST(i % 20 AS TEXT), r.model_id, r.harness,
		'01900000-0000-7000-9000-' || CAST(100000000000 + i AS TEXT),
		'01900000-0000-7000-8000-' || CAST(100000000000 + i AS TEXT), r.metadata
	FROM n, runs r WHERE r.id = $4`

// fill creates a database with this many finished runs. They are old, so the search treats them as
// indexed. Only lists with q use the search.
func (b *bench) fill(ctx context.Context, engine, database string, runs int) error {
	if err := b.firstRun(ctx, database); err != nil {
		return err
	}
	db, err := openFor(engine, database)
	if err != nil {
		return err
	}
	defer db.Close()
	var first string
	if err := db.QueryRowContext(ctx, "SELECT id FROM runs").Scan(&first); err != nil {
		return err
	}
	start := time.Now().Add(-time.Duration(runs)*time.Second - time.Hour).UnixMilli()
	for from := 0; from < runs; from += fillBatch {
		if _, err := db.ExecContext(ctx, fillRuns, from, min(runs, from+fillBatch), start, first); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		"DELETE FROM queue",
		fmt.Sprintf(
			"INSERT INTO settings (name, value) VALUES ('search_indexed_until', '%d') ON CONFLICT (name) DO UPDATE SET value "+
				"= excluded.value",
			time.Now().UnixMilli(),
		),
		map[string]string{
			"sqlite": "PRAGMA wal_checkpoint(TRUNCATE)", "postgres": "VACUUM (ANALYZE) runs",
		}[engine], // autovacuum would do this within a minute
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// fillSearch indexes the runs of fill for the search, as the server does in the background.
func fillSearch(ctx context.Context, engine, database string) error {
	db, err := openFor(engine, database)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range map[string][]string{
		"sqlite": {
			"INSERT INTO run_search (run_id, text)" + fillTexts,
			"INSERT INTO run_fts (rowid, text) SELECT n, text FROM run_search",
			"PRAGMA wal_checkpoint(TRUNCATE)",
		},
		"postgres": {"INSERT INTO run_search (run_id, text)" + fillTexts, "VACUUM (ANALYZE) run_search"},
	}[engine] {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// fillTexts are the texts that the search uses to find runs.
const fillTexts = ` SELECT id, lower(title || '
' || skill || '
' || prompt) FROM runs ORDER BY id`

// firstRun creates the schema and one run, as the server does.
func (b *bench) firstRun(ctx context.Context, database string) error {
	p, err := b.serve(ctx, database, "--worker=false")
	if err != nil {
		return err
	}
	defer p.stop()
	c, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.do(
		request(
			"POST", createPath,
			`{"prompt": "Look at the failing job of this morning.", "config": {"name": "first"}, `+
				`"metadata": {"branch": "main"}}`,
		),
	)
	return err
}

// openFor opens a database to fill it. Its writes need not be durable.
func openFor(engine, database string) (*sql.DB, error) {
	if engine == "postgres" {
		return sql.Open("pgx", database)
	}
	db, err := sql.Open(
		"sqlite",
		"file:"+strings.TrimPrefix(database, "sqlite://")+
			"?_pragma=synchronous(OFF)&_pragma=cache_size(-200000)&_pragma=busy_timeout(10000)",
	)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}
