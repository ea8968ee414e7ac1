package testkit_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestPostgresDatabasesAreApartAndDropped(t *testing.T) {
	t.Parallel()
	var dropped string
	t.Run("two databases", func(t *testing.T) {
		first, second := testkit.Postgres(t), testkit.Postgres(t)
		dropped = first
		conn, err := pgx.Connect(t.Context(), first) // left open: it must not keep the database
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE only_here (x int)"); err != nil {
			t.Fatal(err)
		}
		other, err := pgx.Connect(t.Context(), second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(t.Context(), "SELECT * FROM only_here"); err == nil {
			t.Error("the second database has the first one's table")
		}
	})
	if dropped == "" {
		t.Skip("no PostgreSQL")
	}
	if conn, err := pgx.Connect(t.Context(), dropped); err == nil {
		_ = conn.Close(t.Context())
		t.Error("the database is still there after its test")
	}
}

// TestWithPostgresEndsItsCluster runs scripts/with-postgres and ends it in every possible way. Each
// time, the server must be gone.
func TestWithPostgresEndsItsCluster(t *testing.T) {
	t.Parallel()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 {
		t.Skip("no PostgreSQL is installed")
	}
	terminate := func(script *os.Process, _ int) error { return script.Signal(syscall.SIGTERM) }
	kill := func(script *os.Process, _ int) error { return script.Kill() }
	killCommand := func(_ *os.Process, command int) error { return syscall.Kill(command, syscall.SIGKILL) }
	tests := []struct {
		name    string
		then    string // the script's action after it has seen its cluster
		end     func(script *os.Process, command int) error
		want    int  // exit status
		remains bool // the folder
	}{
		{name: "the command succeeds", then: "exit 0", want: 0},
		{name: "the command fails", then: "exit 7", want: 7},
		{name: "the command is killed", then: "exec sleep 60", end: killCommand, want: 128 + int(syscall.SIGKILL)},
		{name: "the script is terminated", then: "exec sleep 60", end: terminate, want: 128 + int(syscall.SIGTERM)},
		{name: "the script is killed", then: "exec sleep 60", end: kill, want: -1, remains: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			script := exec.Command("../../scripts/with-postgres", "sh", "-c",
				`echo "$$ $PENSTOCK_TEST_POSTGRES" >"$1.new" && mv "$1.new" "$1"; `+test.then, "sh", out)
			script.Env = append(os.Environ(), "PENSTOCK_TEST_POSTGRES=")
			if err := script.Start(); err != nil {
				t.Fatal(err)
			}
			var command int
			var address string
			testkit.Eventually(t, time.Minute, func() error {
				line, err := os.ReadFile(out)
				if err == nil {
					_, err = fmt.Sscan(string(line), &command, &address)
				}
				return err
			})
			t.Cleanup(func() { _ = syscall.Kill(command, syscall.SIGKILL) })
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			folder := u.Query().Get("host")
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			if test.end != nil {
				if err := test.end(script.Process, command); err != nil {
					t.Fatal(err)
				}
			}
			_ = script.Wait() // the exit status is checked below
			if got := script.ProcessState.ExitCode(); got != test.want {
				t.Errorf("got exit status %d, want %d", got, test.want)
			}
			testkit.Eventually(t, 10*time.Second, func() error { return noServerIn(folder) })
			if _, err := os.Stat(folder); !test.remains && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is still there: %v", err)
			}
		})
	}
}

// noServerIn returns an error while a process has folder on its command line.
func noServerIn(folder string) error {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, path := range lines {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), folder) {
			return fmt.Errorf("still there: %s", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return nil
}
