package testkit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/penstock-dev/penstock/internal/control/store"
)

// Running the migrations takes longer than most tests, so they run once, and tests get copies of
// the result.

// sqliteTemplate returns the content of a database with the schema.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "penstock-schema-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "penstock.db")
	if err := migrated("sqlite://" + file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

func migratedSQLite(tb testing.TB) string {
	tb.Helper()
	content, err := sqliteTemplate()
	if err != nil {
		tb.Fatal(err)
	}
	u := sqliteURL(tb)
	if err := os.WriteFile(strings.TrimPrefix(u, "sqlite://"), content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return u
}

func migratedPostgres(tb testing.TB) string {
	tb.Helper()
	server := postgresServer(tb)
	name, err := postgresTemplate()
	if err != nil {
		tb.Fatal(err)
	}
	return postgresFrom(tb, server, name)
}

// postgresTemplate creates the database that tests copy, unless another process has created it on
// this server. It returns its name, which identifies the schema.
var postgresTemplate = sync.OnceValues(func() (string, error) {
	server := os.Getenv(postgresVariable)
	name, err := schemaName()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }() // which releases the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(7126)"); err != nil {
		return "", err
	}
	var exists bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	if err != nil || exists {
		return name, err
	}
	draft := name + "_draft" // the draft of a killed test is never used as the template
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + draft, "CREATE DATABASE " + draft} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	u, err := inDatabase(server, draft)
	if err != nil {
		return "", err
	}
	if err := migrated(u); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+draft+" RENAME TO "+name)
	return name, err
})

// schemaName returns a name for the schema, derived from its migrations.
func schemaName() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(root, "internal/control/store/migrations/postgres/*"))
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	return fmt.Sprintf("penstock_schema_%x", hash.Sum(nil)[:8]), nil
}

// migrated adds the schema to an empty database.
func migrated(url string) error {
	s, err := store.Open(context.Background(), store.Options{URL: url})
	if err != nil {
		return err
	}
	return s.Close()
}
