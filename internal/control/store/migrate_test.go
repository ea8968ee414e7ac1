package store_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/store"
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

// A released migration never changes, because databases have applied it. This is the schema of 0.1.0.
func TestReleasedMigrationsDoNotChange(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"postgres/0001_init.sql": "8907569a7a0417e23ab442945f5b976431f2278c92acc7121594f600d8073e45",
		"sqlite/0001_init.sql":   "3104cdd1b14c054c0bca6c91ffeb223f0daadb74850ba951712caa44eb3934d3",
	} {
		text, err := os.ReadFile(filepath.Join("migrations", file))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != want {
			t.Errorf("%s has the hash %s: add another migration instead", file, got)
		}
	}
}

// During a rolling upgrade, servers of the previous release use the new schema. So a migration only
// adds tables, indexes and columns, and the previous release can insert rows without the new columns.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	var since schemaSince
	for _, file := range files { // of one engine after the other, in order
		if filepath.Base(file) == "0001_init.sql" { // released
			since = schemaSince{}
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checked++
		for _, problem := range since.breaking(string(text)) {
			t.Errorf("%s: the previous release cannot work with: %s", file, problem)
		}
	}
	if checked == 0 {
		t.Error("no migration was checked")
	}
	for _, text := range []string{
		"DROP TABLE runs;", "ALTER TABLE runs DROP COLUMN team;", "ALTER TABLE runs RENAME COLUMN team TO crew;",
		"ALTER TABLE runs ADD COLUMN crew TEXT NOT NULL;", "ALTER TABLE runs ALTER COLUMN team TYPE BIGINT;",
		"CREATE UNIQUE INDEX one ON runs (team);", "CREATE UNIQUE INDEX one ON runs (team) WHERE name <> '';",
		"ALTER TABLE runs ADD COLUMN crew TEXT NOT NULL DEFAULT ''; CREATE UNIQUE INDEX one ON runs (crew);",
	} {
		if len((schemaSince{}).breaking(text)) == 0 {
			t.Errorf("%s was not found", text)
		}
	}
}

// schemaSince has the names of tables, indexes and columns ("TABLE.COLUMN") that migrations have added since the last
// release.
type schemaSince map[string]bool

// breaking lists the statements of a migration that the previous release cannot work with. What was added since
// may change.
func (added schemaSince) breaking(migration string) (found []string) {
	created := regexp.MustCompile(`\bCREATE TABLE (\w+)`)
	column := regexp.MustCompile(`\bALTER TABLE (\w+) ADD COLUMN (\w+)`)
	index := regexp.MustCompile(`\bCREATE (UNIQUE )?INDEX (\w+) ON (\w+)(?: \([^)]*\) WHERE (\w+) <> ''$)?`)
	dropped := regexp.MustCompile(`^DROP INDEX (\w+)$`)
	for statement := range strings.SplitSeq(regexp.MustCompile(`--[^\n]*`).ReplaceAllString(migration, ""), ";") {
		s := strings.ToUpper(strings.Join(strings.Fields(statement), " "))
		if table := created.FindStringSubmatch(s); table != nil {
			added[table[1]] = true
		}
		if c := column.FindStringSubmatch(s); c != nil {
			added[c[1]+"."+c[2]] = true
		}
		// The previous release leaves a column that it does not know empty, and so its rows out of a unique index.
		if i := index.FindStringSubmatch(s); i != nil && (i[1] == "" || added[i[3]] || added[i[3]+"."+i[4]]) {
			added[i[2]] = true
			continue
		}
		if i := dropped.FindStringSubmatch(s); i != nil && added[i[1]] {
			continue
		}
		if regexp.MustCompile(`\b(DROP|RENAME|TRUNCATE|SET NOT NULL|ALTER COLUMN|ADD CONSTRAINT|CREATE UNIQUE)\b`).
			MatchString(s) ||
			strings.Contains(s, "ADD COLUMN") && strings.Contains(s, "NOT NULL") && !strings.Contains(s, "DEFAULT") {
			found = append(found, s)
		}
	}
	return found
}
