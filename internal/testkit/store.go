package testkit

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
	s, err := store.Open(t.Context(), store.Options{URL: url})
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
