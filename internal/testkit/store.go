package testkit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/penstock-dev/penstock/internal/control/store"
)

// Stores runs a test on a fresh store of each engine: SQLite always, PostgreSQL
// if one is available.
func Stores(t *testing.T, test func(*testing.T, *store.Store)) {
	t.Helper()
	Engines(t, func(t *testing.T, url string) { test(t, OpenStore(t, url)) })
}

// OpenStore opens the database of a test, and closes it at its end.
func OpenStore(t *testing.T, url string) *store.Store {
	t.Helper()
	return openStore(t, store.Options{URL: url})
}

func openStore(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// Exec changes a database directly, without its store, to simulate the effect of time or an
// accident.
func Exec(t *testing.T, url, statement string) {
	t.Helper()
	db := open(t, url)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Rows reads a table of texts directly from a database. NULL is "".
func Rows(t *testing.T, url, query string, args ...any) [][]string {
	t.Helper()
	db := open(t, url)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return texts(t, rows)
}

// texts reads and closes rows.
func texts(t *testing.T, rows *sql.Rows) (list [][]string) {
	t.Helper()
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, c := range cells {
			line = append(line, c.String)
		}
		list = append(list, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Direct is a connection to a database for a test that reads it often, independently of the store.
type Direct struct {
	t          *testing.T
	db         *sql.DB
	statements map[string]*sql.Stmt
}

// OpenDirect opens a database, and closes it at the end of the test.
func OpenDirect(t *testing.T, url string) *Direct {
	t.Helper()
	d := &Direct{t, open(t, url), map[string]*sql.Stmt{}}
	d.db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = d.db.Close() })
	return d
}

func (d *Direct) prepared(text string) *sql.Stmt {
	d.t.Helper()
	if d.statements[text] == nil {
		stmt, err := d.db.PrepareContext(d.t.Context(), text)
		if err != nil {
			d.t.Fatal(err)
		}
		d.statements[text] = stmt
	}
	return d.statements[text]
}

// Rows is [Rows].
func (d *Direct) Rows(query string, args ...any) [][]string {
	d.t.Helper()
	rows, err := d.prepared(query).QueryContext(d.t.Context(), args...)
	if err != nil {
		d.t.Fatal(err)
	}
	return texts(d.t, rows)
}

// Exec is [Exec].
func (d *Direct) Exec(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.prepared(statement).ExecContext(d.t.Context(), args...); err != nil {
		d.t.Fatal(err)
	}
}

// ClockOfTest gives a database the clock of testing/synctest. It returns the URL of the database with that clock,
// and tick, which sets the clock of a PostgreSQL database to the time of the goroutine.
func ClockOfTest(t *testing.T, url string) (clocked string, tick func()) {
	t.Helper()
	if strings.HasPrefix(url, "sqlite://") {
		clockOfSQLite()
		return url, func() {}
	}
	url = withParameter(t, url, "search_path", "public,pg_catalog")
	// Otherwise the store listens for notifications, and no time passes while a goroutine reads from the network.
	url = withParameter(t, url, "default_query_exec_mode", "exec")
	db := open(t, url)
	t.Cleanup(func() { _ = db.Close() })
	exec := func(statement string, args ...any) {
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE clock_of_test AS SELECT pg_catalog.clock_timestamp() AS at")
	exec("CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT at FROM clock_of_test'")
	tick = func() { exec("UPDATE clock_of_test SET at = $1", time.Now()) }
	tick()
	return url, tick
}

// clockOfSQLite gives that clock to all SQLite databases of this process.
var clockOfSQLite = sync.OnceFunc(func() {
	now := func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return float64(time.Now().UnixMilli()) / 1000, nil
	}
	sqlite.MustRegisterScalarFunction("unixepoch", 1, now)
})

// HoldWrites makes every write to the table wait until release is called, or until the test ends.
func HoldWrites(t *testing.T, url, table string) (release func()) {
	t.Helper()
	db := open(t, url)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{"BEGIN", "LOCK TABLE " + table + " IN EXCLUSIVE MODE"}
	if strings.HasPrefix(url, "sqlite://") {
		statements = []string{"BEGIN IMMEDIATE"} // SQLite has one writer at a time
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	release = sync.OnceFunc(func() {
		_, _ = conn.ExecContext(context.Background(), "ROLLBACK") // otherwise the end of the connection does it
		_, _ = conn.Close(), db.Close()
	})
	t.Cleanup(release)
	return release
}

// Break makes each update of the rows of a table fail that a condition on NEW finds, or each removal if the
// condition is on OLD.
func Break(t *testing.T, url, table, condition string) {
	t.Helper()
	change := "UPDATE"
	if strings.Contains(condition, "OLD.") {
		change = "DELETE"
	}
	if strings.HasPrefix(url, "sqlite://") {
		Exec(t, url, fmt.Sprintf(
			"CREATE TRIGGER broken_%s BEFORE %s ON %s WHEN %s BEGIN SELECT RAISE(ABORT, 'a test broke it'); END",
			table, change, table, condition,
		))
		return
	}
	Exec(t, url, `CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql
		AS $$ BEGIN RAISE 'a test broke it'; END $$`)
	Exec(t, url, fmt.Sprintf(
		"CREATE TRIGGER broken BEFORE %s ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION broken()",
		change, table, condition,
	))
}

// open opens a database independently of the store.
func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	driver, source := "pgx", withParameter(t, url, store.PoolParameter, "")
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// sqliteURL returns the URL of a database file in a fresh folder.
func sqliteURL(tb testing.TB) string {
	tb.Helper()
	return "sqlite://" + filepath.Join(tb.TempDir(), "penstock.db")
}
