package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// keysIn counts the keys of a keyset.
func keysIn(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var keyset struct {
		Key []struct{ KeyID int64 } `json:"key"`
	}
	fromJSON(t, string(content), &keyset)
	return len(keyset.Key)
}

// The key is rotated while the server runs. The first attempt is killed.
func TestKeyIsRotatedWhileServing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: url})
		env := client(s)
		where := []string{"PENSTOCK_DATA=" + s.Data, "PENSTOCK_DATABASE=" + url}
		keyset := filepath.Join(s.Data, "keyset.json")
		before, err := os.ReadFile(keyset)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"A", "B"} {
			callWith(t, "hunter22", env, "secret", "create", name, "--value-file", "-").want(t, 0)
		}

		first := command(t, where, "secret", "rotate-key", "--settle", "1h")
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, timeout, func() error {
			if n := keysIn(t, keyset); n != 2 {
				return fmt.Errorf("the keyset has %d keys", n)
			}
			return nil
		})
		call(t, where, "secret", "rotate-key").want(t, 65, "another process")
		call(t, where, "backup", "--to", filepath.Join(t.TempDir(), "b.tar")).want(t, 65, "rotate-key is running")
		_ = first.Process.Kill()
		_ = first.Wait()

		callWith(t, "hunter23", env, "secret", "set", "A", "--value-file", "-").want(t, 0)
		call(
			t, where, "secret", "rotate-key", "--keep-old", "--settle", "1s",
		).want(t, 0, "continuing with it", "kept the old key")
		callWith(t, "hunter24!", env, "secret", "set", "B", "--value-file", "-").want(t, 0)
		call(t, where, "secret", "rotate-key", "--settle", "1s").want(t, 0, "removed the old key")
		if n := keysIn(t, keyset); n != 1 {
			t.Errorf("the keyset has %d keys, want one", n)
		}
		id := startRun(t, env, `demo: run echo "${#A} ${#B}"`, "--secret", "A", "--secret", "B", "--wait")
		call(t, env, "run", "logs", id).want(t, 0, "8 9")

		// The wrong keyset decrypts nothing. The command reports this, and nothing is lost.
		wrong := writeFile(t, "keyset.json", string(before))
		call(
			t, where, "secret", "rotate-key", "--keyset", wrong, "--settle", "0s",
		).want(t, 1, "the secret A of team default", "kept the old key")
		call(t, where, "secret", "rotate-key", "--keyset", filepath.Join(t.TempDir(), "none.json")).want(t, 78, "no keyset")
		again := startRun(t, env, `demo: run echo "${#A}"`, "--secret", "A", "--wait")
		call(t, env, "run", "logs", again).want(t, 0, "8")
		if strings.Contains(s.Logs(), "level=ERROR") {
			t.Errorf("the server complains: %s", s.Logs())
		}
	})
}

func TestRotationNeedsADatabase(t *testing.T) {
	t.Parallel()
	call(t, nil, "secret", "rotate-key", "--data", t.TempDir()).want(t, 78, "no database")
	call(t, nil, "secret", "rotate-key", "--data", t.TempDir(), "--prepare", "--keep-old").want(t, 64)
	data := filepath.Join(t.TempDir(), "data")
	call(t, nil, "migrate", "--data", data).want(t, 0)
	call(t, nil, "secret", "rotate-key", "--data", data, "--prepare").want(t, 78, "no keyset")
	testkit.Exec(
		t, "sqlite://"+filepath.Join(data, "penstock.db"),
		"DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)",
	)
	call(t, nil, "secret", "rotate-key", "--data", data).want(t, 78, "use the same version as the server")
}

func TestBackupWithoutItsKeys(t *testing.T) {
	t.Parallel()
	data, to := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "b.tar")
	call(t, nil, "migrate", "--data", data).want(t, 0)
	call(t, nil, "backup", "--data", data, "--to", to).want(t, 0, "the backup contains no keyset", "--keyset")
	call(t, nil, "restore", "--data", filepath.Join(t.TempDir(), "new"), "--from", to).want(t, 0, "the backup contains "+
		"no keyset")
}
