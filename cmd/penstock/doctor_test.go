package main_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

type report struct {
	OK     bool `json:"ok"`
	Checks []struct {
		Check  string `json:"check"`
		Status string `json:"status"`
		Found  string `json:"found"`
		Todo   string `json:"todo"`
	} `json:"checks"`
}

// says returns the status of a check and its text.
func (r report) says(check string) (status, text string) {
	for _, c := range r.Checks {
		if c.Check == check {
			return c.Status, c.Found + " " + c.Todo
		}
	}
	return "", ""
}

func examine(t *testing.T, code int, env []string, args ...string) report {
	t.Helper()
	got := call(t, env, append([]string{"doctor", "-o", "json", "--listen", "127.0.0.1:0"}, args...)...)
	got.want(t, code)
	var r report
	fromJSON(t, got.out, &r)
	if r.OK != (code == 0) {
		t.Errorf("ok is %t with exit code %d", r.OK, code)
	}
	return r
}

// want fails unless a check has the status and its text contains something.
func (r report) want(t *testing.T, check, status, says string) {
	t.Helper()
	if gotStatus, text := r.says(check); gotStatus != status || !strings.Contains(text, says) {
		t.Errorf("%s: got %s, %q; want %s with %q", check, gotStatus, text, status, says)
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--data", data, "--sandbox", "process", "--allow-open-network"}
	r := examine(t, 0, nil, args...)
	r.want(t, "data folder", "ok", "can be created")
	r.want(t, "database", "ok", "serve creates it")
	r.want(t, "keyset", "ok", "serve creates it")
	r.want(t, "process", "warn", "isolates nothing")
	r.want(t, "git", "ok", "git version")
	r.want(t, "models", "warn", "ANTHROPIC_API_KEY")
	r.want(t, "address", "ok", "is free")
	if _, err := os.Stat(data); err == nil {
		t.Error("doctor made the data folder")
	}

	call(t, nil, "migrate", "--data", data).want(t, 0)
	if err := os.Chmod(data, 0o755); err != nil {
		t.Fatal(err)
	}
	r = examine(t, 1, []string{"OPENAI_API_KEY=sk-x"}, args...)
	r.want(t, "data folder", "warn", "chmod 700 "+data)
	r.want(t, "database", "ok", "schema")
	r.want(t, "keyset", "fail", "is missing")
	r.want(t, "models", "ok", "OpenAI")

	r = examine(t, 1, []string{"PENSTOCK_DATABASE=postgres://me:hunter2@127.0.0.1:1/x"}, args...)
	r.want(t, "database", "fail", "postgres://me:xxxxx@127.0.0.1:1/x")
	if _, text := r.says("database"); strings.Contains(text, "hunter2") {
		t.Error("doctor shows the password")
	}
	r = examine(t, 1, []string{"PATH=/nowhere"}, "--data", data)
	r.want(t, "git", "fail", "apt-get install git")
	r.want(t, "bubblewrap", "fail", "apt-get install bubblewrap")
	r = examine(t, 1, nil, "--data", "/proc/penstock")
	r.want(t, "data folder", "fail", "--data")
}

func TestDoctorLooksForRoomOnTheDisk(t *testing.T) {
	t.Parallel()
	for size, want := range map[string]struct {
		code   int
		status string
	}{
		"100m": {1, "fail"}, "1g": {0, "warn"}, "3g": {0, "ok"},
	} {
		dir, _ := smallDisk(t, size)
		r := examine(t, want.code, nil, "--data", filepath.Join(dir, "data"), "--sandbox", "process", "--allow-open-network")
		r.want(t, "disk space", want.status, "free")
		r = examine(
			t, want.code, nil, "--data", t.TempDir(), "--blobs", filepath.Join(dir, "blobs"),
			"--sandbox", "process", "--allow-open-network",
		)
		r.want(t, "blobs", "ok", "can be created")
		r.want(t, "blobs' space", want.status, "free")
	}
}

func TestDoctorWhileAServerRuns(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	address := strings.TrimPrefix(s.URL, "http://")
	call(t, nil, "doctor", "--data", s.Data, "--listen", address).want(t, 0, "serves this data folder")
	call(t, nil, "doctor", "--data", t.TempDir(), "--listen", address).want(t, 1, "fail  address")
}

// The tools detect, migrate, back up and restore a PostgreSQL database. No program gets the
// password as an argument.
func TestPostgresMaintenance(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t)
	r := examine(t, 0, []string{"PENSTOCK_DATABASE=" + database}, "--data", t.TempDir())
	r.want(t, "database", "warn", "penstock migrate")
	call(t, nil, "migrate", "--database", database, "--data", t.TempDir()).want(t, 0, "up to date")
	r = examine(t, 0, []string{"PENSTOCK_DATABASE=" + database}, "--data", t.TempDir())
	r.want(t, "database", "ok", "responds in")

	s := testkit.Serve(t, testkit.ServeOptions{Database: database})
	first := startRun(t, client(s), "look around", "--wait")
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	for _, name := range store.DriverParameters() {
		value := "1000" // such as milliseconds
		if name == "default_query_exec_mode" {
			value = "exec"
		}
		database += "&" + name + "=" + value
	}
	call(t, nil, "backup", "--database", database, "--data", s.Data, "--to", file).want(t, 0, "backed up")
	s.Stop()

	other := testkit.Postgres(t)
	call(
		t, nil, "restore", "--data", filepath.Join(t.TempDir(), "d"), "--from", file,
	).want(t, 65, "contains a postgres database")
	data := filepath.Join(t.TempDir(), "d")
	keyset := writeFile(t, "keyset.json", "another")
	call(
		t, nil, "restore", "--database", other, "--data", data, "--from", file, "--keyset", keyset,
	).want(t, 65, "a different keyset")
	call(t, nil, "restore", "--database", other, "--data", data, "--from", file).want(t, 0, "restored")
	again := serve(t, nil, "--database", other, "--data", data)
	restored := []string{"PENSTOCK_BASE_URL=" + again.url, "PENSTOCK_API_KEY=" + s.Key}
	call(t, restored, "run", "logs", first).want(t, 0, "demo/offline")
	again.stop()
	fresh := filepath.Join(t.TempDir(), "d")
	call(t, nil, "restore", "--database", other, "--data", fresh, "--from", file).want(t, 70, "already exists")
	if entries, err := os.ReadDir(fresh); err != nil || len(entries) != 1 { // the lock
		t.Errorf("got %v (%v) in the data folder, want nothing", entries, err)
	}
}

// The PostgreSQL programs get the password in a way that other users cannot see.
func TestDatabasePasswordIsNotInTheProcessList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	fake := "#!/bin/sh\n{ echo \"$@\"; echo \"password=$PGPASSWORD\"; } > " + seen + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "pg_dump"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, database := range []string{
		"postgres://me:p%40ss@db.example/x?sslmode=require", "postgres://me@db.example/x?password=p%40ss&sslmode=require",
	} {
		env := []string{"PATH=" + dir + ":/usr/bin:/bin", "PENSTOCK_DATABASE=" + database}
		call(t, env, "backup", "--data", dir, "--to", filepath.Join(dir, "b.tar")).want(t, 70, "pg_dump")
		content, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		arguments, password, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
		if password != "password=p@ss" || strings.Contains(arguments, "p%40ss") || strings.Contains(arguments, "p@ss") {
			t.Errorf("got the arguments %s and %s", arguments, password)
		}
		if name, _, _ := strings.Cut(
			arguments[strings.Index(arguments, "--dbname=")+len("--dbname="):], " ",
		); name != "postgres://me@db.example/x?sslmode=require" {
			u, err := url.Parse(name)
			t.Errorf("got the database %v (%v)", u, err)
		}
	}
	call(
		t, []string{"PATH=/nowhere", "PENSTOCK_DATABASE=postgres://db.example/x"}, "backup", "--data", dir, "--to",
		filepath.Join(dir, "b.tar"),
	).want(t, 78, "postgresql-client")
}

// fakeHarness installs a harness that is no program.
func fakeHarness(t *testing.T, data, name, version string) {
	t.Helper()
	dir := filepath.Join(data, "harnesses", name)
	err := errors.Join(
		os.MkdirAll(filepath.Join(dir, version, "node_modules"), 0o700),
		os.Symlink(version, filepath.Join(dir, "current")),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// Each harness has a line of its own, and a running server is not doubted: its worker has tried it.
func TestDoctorReportsEachHarness(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fakeHarness(t, data, "codex", "0.0.7")
	fakeHarness(t, data, "qwen", "0.0.8")
	args := []string{"--data", data, "--sandbox", "process", "--allow-open-network"}
	r := examine(t, 1, nil, args...)
	var found []string
	for _, c := range r.Checks {
		if c.Check == "harnesses" {
			found = append(found, c.Status+" "+c.Found)
		}
	}
	if len(found) != 2 || !strings.HasPrefix(found[0], "fail codex 0.0.7: ") ||
		!strings.HasPrefix(found[1], "fail qwen 0.0.8: ") {
		t.Errorf("got %q", found)
	}

	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--sandbox", "process", "--allow-open-network"}})
	fakeHarness(t, s.Data, "codex", "0.0.9")
	address := strings.TrimPrefix(s.URL, "http://")
	testkit.Eventually(t, time.Minute, func() error {
		got := call(t, nil, "doctor", "--data", s.Data, "--listen", address, "--sandbox", "process", "--allow-open-network")
		if !strings.Contains(got.out, "codex 0.0.9 in the running server: Its check failed: ") {
			return errors.New(got.out)
		}
		return nil
	})
}

func TestDoctorKnowsTheProvidersOfTheConfigurationFile(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "penstock.yaml", "providers:\n  ollama: {api: openai, base_url: http://127.0.0.1:1/v1}\n")
	r := examine(
		t, 0, nil, "--config", file, "--data", t.TempDir(), "--sandbox", "process", "--allow-open-network",
	)
	r.want(t, "models", "ok", "ollama")
}
