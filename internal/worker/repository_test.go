package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/worker"
)

// A worker on another machine has nobody else who would keep its disk from filling.
func TestMirrorsThatNothingUsesAreRemoved(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "mirrors")
	mirrors, err := git.Open(t.Context(), git.Options{Dir: dir, AllowLocal: true})
	if err != nil {
		t.Fatal(err)
	}
	remote := func(o *worker.Options) { o.Local, o.Repositories = false, mirrors }
	_, stop := w.start(remote)
	for name, age := range map[string]time.Duration{"old": 15 * 24 * time.Hour, "new": time.Hour} {
		before := glob(t, dir, "*.git")
		config := w.environment(penstock.EnvironmentConfig{Name: name, Repos: []penstock.GitRepo{{URL: repository(t, map[string]string{"README.md": name})}}})
		w.becomes(w.create(penstock.RunRequest{Prompt: "demo: run cat app/README.md", Config: config}), penstock.StateSucceeded)
		after := glob(t, dir, "*.git")
		if len(after) != len(before)+1 {
			t.Fatalf("mirrors are %v", after)
		}
		for _, lock := range glob(t, dir, "*.git.lock") {
			if info, err := os.Stat(lock); err != nil {
				t.Fatal(err)
			} else if used := time.Now().Add(-age); time.Since(info.ModTime()) < time.Minute {
				if err := os.Chtimes(lock, used, used); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	stop()
	w.start(remote)
	testkit.Eventually(t, 20*time.Second, func() error {
		if left := glob(t, dir, "*.git"); len(left) != 1 {
			return fmt.Errorf("mirrors left: %v", left)
		}
		return nil
	})
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
