package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// The changes of a run that has ended survive kill -9.
func TestRunDiff(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--git-allow-file"}})
		env := client(s)
		repo := testkit.NewRepository(t, t.TempDir(), "app")
		repo.Commit("first", map[string]string{"a.txt": "one\n", "same.txt": "same\n"})
		call(t, env, "environment", "create", "app", "--repo", repo.URL()).want(t, 0)
		id := startRun(
			t, env, "demo: write app/a.txt two\\n\ndemo: write app/new.txt new\\n",
			"--environment", "app", "--wait",
		)
		s.Kill9()
		s.Restart()
		got := call(t, env, "run", "diff", id)
		got.want(t, 0, "diff --git a/a.txt b/a.txt", "-one\n+two\n", "+++ b/new.txt")
		if strings.Contains(got.out, "\x1b") {
			t.Errorf("a pipe gets colors: %q", got.out)
		}
		call(t, env, "run", "diff", id, "--stat").want(t, 0, "app/a.txt", "modified", "+1", "-1", "app/new.txt", "added")
		call(t, env, "run", "diff", id, "-o", "json").want(t, 0, `"patch_url"`, `"branch": "main"`)
		call(t, env, "run", "diff", id, "--repository", "other").want(t, 64, `no changes of a repository "other"`)
		other := testkit.NewRepository(t, t.TempDir(), ".github")
		other.Commit("first", map[string]string{"b.txt": "one\n"})
		call(t, env, "environment", "create", "two", "--repo", repo.URL(), "--repo", other.URL()).want(t, 0)
		binary := startRun(
			t, env, `demo: run printf '\000\001' > app/a.bin; echo two > app/a.txt; echo two > .github/b.txt`,
			"--environment", "two", "--wait",
		)
		both := call(t, env, "run", "diff", binary)
		both.want(t, 0, "GIT binary patch", "b/b.txt")
		if !strings.Contains(both.err, "add --repository with one of: app, .github") {
			t.Errorf("two patches without a word: %q", both.err)
		}
		repo.GitWith(call(t, env, "run", "diff", binary, "--repository", "app").out, "apply")
		if text, err := os.ReadFile(filepath.Join(repo.Dir, "a.bin")); err != nil || string(text) != "\x00\x01" {
			t.Errorf("after git apply, a.bin has %q, %v", text, err)
		}
		other.GitWith(call(t, env, "run", "diff", binary, "--repository", ".github").out, "apply")
		none := startRun(t, env, "demo: say hello", "--wait")
		call(t, env, "run", "diff", none).want(t, 0, "no repository")
		gone := startRun(t, env, "demo: run rm -rf app", "--environment", "app", "--wait")
		call(t, env, "run", "diff", gone).want(t, 1, "no longer exists")
	})
}

// A backup has the patches.
func TestBackupOfChanges(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--git-allow-file"}})
	env := client(s)
	repo := testkit.NewRepository(t, t.TempDir(), "app")
	repo.Commit("first", map[string]string{"a.txt": "one\n"})
	call(t, env, "environment", "create", "app", "--repo", repo.URL()).want(t, 0)
	id := startRun(t, env, "demo: write app/a.txt two\\n", "--environment", "app", "--wait")
	s.Stop()
	archive, data := filepath.Join(t.TempDir(), "b.tar"), filepath.Join(t.TempDir(), "restored")
	call(t, nil, "backup", "--data", s.Data, "--to", archive).want(t, 0)
	call(t, nil, "restore", "--data", data, "--from", archive).want(t, 0)
	again := serve(t, nil, "--data", data)
	defer again.stop()
	restored := []string{"PENSTOCK_BASE_URL=" + again.url, "PENSTOCK_API_KEY=" + s.Key}
	call(t, restored, "run", "diff", id).want(t, 0, "-one\n+two\n")
}
