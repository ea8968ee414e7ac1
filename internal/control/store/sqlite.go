package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteReaders is the number of reading connections, beside the writing one.
const sqliteReaders = 4

// writer is SQLite's only writing connection. One transaction at a time has it, so transactions of
// this process never wait in SQLite's busy handler.
type writer struct {
	turn  chan struct{} // holds one token while no transaction writes
	conn  *sql.Conn
	stmts *statements
}

func (s *Store) openSQLite(ctx context.Context, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the database path %q must be absolute: sqlite:///path/penstock.db", path)
	}
	s.d = sqliteDialect()
	s.stmts = newStatements()

	// The file holds encrypted secrets, and prompts in plain text.
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("open the database file: %w", err)
	} else if err := f.Close(); err != nil {
		return fmt.Errorf("open the database file: %w", err)
	}
	write, err := sql.Open("sqlite", sqliteDSN(path, "_txlock=immediate&_pragma=wal_autocheckpoint(0)"))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	s.close = append(s.close, write.Close)
	conn, err := firstConn(ctx, write, path)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	s.close = append(s.close, conn.Close)
	s.writer = &writer{turn: make(chan struct{}, 1), conn: conn, stmts: newStatements()}
	s.writer.turn <- struct{}{}

	s.read, err = sql.Open("sqlite", sqliteDSN(path, "_pragma=query_only(1)"))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	s.read.SetMaxOpenConns(sqliteReaders)
	s.read.SetMaxIdleConns(sqliteReaders)
	s.close = append(s.close, s.read.Close)
	err = s.startCheckpoints(path)
	return wrapf(err, "open %s", path)
}

// firstConn makes the connection that switches a new file to WAL mode. SQLite does not wait for
// another process that does the same, so we take a lock.
func firstConn(ctx context.Context, db *sql.DB, path string) (*sql.Conn, error) {
	unlock, err := lockBeside(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return db.Conn(ctx)
}

// lockBeside takes the lock for changes of the whole file, and waits for other processes.
func lockBeside(path string) (unlock func(), err error) {
	guard, err := os.OpenFile(path+".migrate", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(guard.Fd()), syscall.LOCK_EX); err != nil {
		_ = guard.Close() // nothing was written
		return nil, err
	}
	return func() { _ = guard.Close() }, nil // closing the file releases the lock
}

// sqliteDSN returns the settings of a connection. With synchronous=FULL, a commit in WAL mode is on
// disk before it returns.
func sqliteDSN(path, extra string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=cache_size(-16000)&_pragma=temp_store(MEMORY)&" + extra
}

func sqliteDialect() *dialect {
	return &dialect{
		name:       "sqlite",
		now:        "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
		committers: 1,
		finds: func(placeholder string) string { // CROSS JOIN reads the index first, so that a LIMIT ends it
			return `SELECT s.run_id
				FROM run_fts
				CROSS JOIN run_search s ON s.n = run_fts.rowid
				WHERE run_fts MATCH ` +
				placeholder
		},
		contains: func(column, placeholder string) string {
			return "instr(" + column + ", " + placeholder + ") > 0"
		},
		number:  func(column, key string) string { return "json_extract(NULLIF(" + column + ", ''), '$." + key + "')" },
		wordArg: func(word string) string { return `"` + strings.ReplaceAll(word, `"`, `""`) + `"` },
		begin:   beginSQLite,
		insert: func(ctx context.Context, tx *Tx, t table, rows [][]any) error {
			_, err := insertValues(ctx, tx, t, rows)
			return err
		},
		insertNew: insertValues,
		index:     indexSQLite,
		unindex: `INSERT INTO run_fts (run_fts, rowid, text)
			SELECT 'delete', n, text
			FROM run_search
			WHERE run_id = $1`,
		transient: func(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_BUSY },
		unique: func(err error) bool {
			code := sqliteExtended(err)
			return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
		},
		away: func(err error) bool {
			switch sqliteCode(err) {
			case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY,
				sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
				return true
			}
			return false
		},
	}
}

// sqliteFull reports whether a write may have failed because the disk is full. File systems with
// quotas, and the shared-memory file, report an I/O error then.
func sqliteFull(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR
}

func sqliteExtended(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// sqliteCode returns the primary code. Extended codes add detail above the low byte.
func sqliteCode(err error) int { return sqliteExtended(err) & 0xff }

func beginSQLite(ctx context.Context, s *Store, tx *Tx) (func(bool) error, error) {
	next := chan<- struct{}(s.writer.turn)
	give := func() { next <- struct{}{} }
	if tx.hasTurn {
		give = func() {}
	} else {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.writer.turn:
		}
	}
	// A statement that was interrupted by its context leaves the transaction open, so the end must
	// always run.
	always := context.WithoutCancel(ctx)
	tx.conn, tx.stmts = s.writer.conn, s.writer.stmts
	if _, err := tx.exec(always, "BEGIN IMMEDIATE"); err != nil {
		give()
		return nil, err
	}
	return func(commit bool) error {
		defer give()
		if commit {
			_, err := tx.exec(always, "COMMIT")
			if err == nil {
				next = s.checkpoints.committed()
				return nil
			}
			_, _ = tx.conn.ExecContext(always, "ROLLBACK") // SQLite may have rolled back already
			return err
		}
		_, err := tx.conn.ExecContext(always, "ROLLBACK")
		return err
	}, nil
}

// insertValues adds several rows with one statement, because a call costs about as much as
// inserting one row into a small table. With OR FAIL, SQLite does not record how to undo the rows
// before a failed one, because an error ends the transaction anyway.
func insertValues(ctx context.Context, tx *Tx, t table, rows [][]any) (added int64, err error) {
	for _, size := range insertSizes {
		if len(rows) < size {
			continue
		}
		text := tx.stmts.insert(t, size)
		for len(rows) >= size {
			n, err := tx.exec(ctx, text, slices.Concat(rows[:size]...)...)
			if err != nil {
				return 0, fmt.Errorf("insert into %s: %w", t.name, err)
			}
			added += n
			rows = rows[size:]
		}
	}
	return added, nil
}

// insertion is the key of a text that inserts rows.
type insertion struct {
	name, conflict string
	columns, rows  int
}

// insert returns the text that inserts this many rows. It is cached, because it may have several
// kilobytes.
func (k *statements) insert(t table, rows int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	as := insertion{t.name, t.conflict, len(t.columns), rows}
	text := k.inserts[as]
	if text == "" {
		text = "INSERT OR FAIL INTO " + t.name + " (" + t.names() + ") VALUES " + t.values(rows) + " " + t.conflict
		k.inserts[as] = text
	}
	return text
}

// values returns "(?, ?), (?, ?)" for this many rows. Parameters with a name or number are slower,
// because the driver looks up each.
func (t table) values(rows int) string {
	row := "(" + strings.Repeat("?, ", len(t.columns)-1) + "?)"
	return strings.Repeat(row+", ", rows-1) + row
}
