package store_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// columnsOf reads a schema as table, column, type, not null, without the engines' search tables.
func columnsOf(t *testing.T, driver, source, query string) map[string]string {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var table, column, kind string
		var required bool
		if err := rows.Scan(&table, &column, &kind, &required); err != nil {
			t.Fatal(err)
		}
		// Only SQLite has the search index in tables.
		if strings.HasPrefix(table, "run_search") ||
			strings.HasPrefix(table, "run_fts") || strings.HasPrefix(table, "goose") || strings.HasPrefix(table, "sqlite") {
			continue
		}
		if required {
			kind += " NOT NULL"
		}
		out[table+"."+column] = kind
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBothEnginesHaveTheSameSchema(t *testing.T) {
	t.Parallel()
	lite := "sqlite://" + filepath.Join(t.TempDir(), "penstock.db")
	testkit.OpenStore(t, lite)
	post := testkit.Postgres(t)
	testkit.OpenStore(t, post)
	got := columnsOf(t, "sqlite", "file:"+strings.TrimPrefix(
		lite, "sqlite://",
	), `SELECT m.name, c.name, CASE c.type WHEN 'INTEGER' THEN 'BIGINT' WHEN 'BLOB' THEN 'BYTEA' ELSE c.type END,
		c."notnull" OR c.pk > 0 FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`)
	want := columnsOf(
		t, "pgx", post,
		`SELECT table_name, column_name, upper(data_type), is_nullable = 'NO' FROM information_schema.columns WHERE `+
			`table_schema = 'public'`,
	)
	if len(want) < 100 {
		t.Fatalf("only %d columns were read", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the schemas differ (-postgres +sqlite):\n%s", diff)
	}
}

func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	testkit.EmptyEngines(t, func(t *testing.T, url string) {
		var together sync.WaitGroup
		for range 4 {
			together.Go(func() {
				s, err := store.Open(t.Context(), store.Options{URL: url})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
	})
}

func TestDatabaseOfANewerReleaseIsRefused(t *testing.T) {
	t.Parallel()
	testkit.EmptyEngines(t, func(t *testing.T, url string) {
		s, err := store.Open(t.Context(), store.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		testkit.Exec(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)")
		if s, err := store.Open(t.Context(), store.Options{URL: url}); err == nil ||
			!strings.Contains(err.Error(), "newer release") {
			t.Errorf("got %v, want a refusal", err)
			if err == nil {
				_ = s.Close()
			}
		}
	})
}

func TestDatabaseOfADevelopmentBuildIsRefused(t *testing.T) {
	t.Parallel()
	testkit.EmptyEngines(t, func(t *testing.T, url string) {
		s, err := store.Open(t.Context(), store.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, before := range []string{
			"DELETE FROM settings WHERE name = 'schema'",
			"INSERT INTO goose_db_version (version_id, is_applied) VALUES (13, true)",
		} {
			testkit.Exec(t, url, before)
			s, err := store.Open(t.Context(), store.Options{URL: url})
			if err == nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "development build") ||
				!strings.Contains(err.Error(), "new database") {
				t.Errorf("got %v, want a refusal that says what to do", err)
			}
		}
	})
}

func TestBadDatabaseURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "mysql://x", "sqlite://relative.db", "postgres://127.0.0.1:1/nothing?connect_timeout=1",
		"sqlite:///proc/nowhere/x.db",
	} {
		if s, err := store.Open(t.Context(), store.Options{URL: url}); err == nil {
			t.Errorf("%q was opened", url)
			_ = s.Close()
		}
	}
}
