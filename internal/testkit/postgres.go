package testkit

import (
	"context"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Engines runs a test once per engine, with the URL of a fresh database that has the schema and no
// rows. Both run in parallel, after the calling test function has returned.
func Engines(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	eachEngine(t, test, migratedSQLite, migratedPostgres)
}

// EmptyEngines is [Engines] with empty databases.
func EmptyEngines(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	eachEngine(t, test, sqliteURL, Postgres)
}

func eachEngine(t *testing.T, test func(t *testing.T, url string), sqlite, postgres func(testing.TB) string) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		// To connect takes longer than what most tests do with a connection.
		test(t, withParameter(t, postgres(t), store.PoolParameter, "5"))
	})
}

// withParameter sets a parameter of a URL, or removes it if the value is empty.
func withParameter(tb testing.TB, address, name, value string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	query := u.Query()
	query.Del(name)
	if value != "" {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Postgres creates an empty database for the test, on the server in PENSTOCK_TEST_POSTGRES, and
// drops it at the end. Without a server, the test is skipped, and fails in CI.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return postgresFrom(tb, postgresServer(tb), "template1")
}

const postgresVariable = "PENSTOCK_TEST_POSTGRES"

// postgresServer returns the server for tests.
func postgresServer(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv(postgresVariable)
	if server == "" {
		if os.Getenv("CI") != "" {
			tb.Fatal("PENSTOCK_TEST_POSTGRES is not set: run the tests with scripts/with-postgres")
		}
		tb.Skip("no PostgreSQL: run the tests with scripts/with-postgres")
	}
	return server
}

// postgresFrom creates a database as a copy of another one.
func postgresFrom(tb testing.TB, server, template string) string {
	tb.Helper()
	name := "test_" + strings.ReplaceAll(penstock.NewID(), "-", "")
	if err := execPostgres("CREATE DATABASE " + name + " TEMPLATE " + template + ""); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := execPostgres("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	u, err := inDatabase(server, name)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// inDatabase returns the URL of a database of the server.
func inDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// maintenance is the connection to the server that creates and drops databases. It lives as long as
// the process, since to connect takes as long as to create a database.
var maintenance struct {
	sync.Mutex
	*pgx.Conn
}

func execPostgres(statement string) error {
	maintenance.Lock()
	defer maintenance.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), Patience*time.Minute)
	defer cancel()
	if maintenance.Conn == nil || maintenance.IsClosed() {
		conn, err := pgx.Connect(ctx, os.Getenv(postgresVariable))
		if err != nil {
			return err
		}
		maintenance.Conn = conn
	}
	_, err := maintenance.Exec(ctx, statement)
	return err
}
