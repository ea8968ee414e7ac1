package worker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// On a worker's own machine, only the worker keeps the disk from filling up.
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
		config := w.environment(
			penstock.EnvironmentConfig{
				Name: name, Repos: []penstock.GitRepo{{URL: repository(t, map[string]string{"README.md": name})}},
			},
		)
		w.becomes(
			w.create(penstock.RunRequest{Prompt: "demo: run cat app/README.md", Config: config}), penstock.StateSucceeded,
		)
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
	testkit.Eventually(t, time.Minute, func() error {
		if left := glob(t, dir, "*.git"); len(left) != 1 {
			return fmt.Errorf("mirrors left: %v", left)
		}
		return nil
	})
}

// A process of another run can hold a descriptor of the workspace while git works: it could add a
// command to a repository's configuration, and git would run it on the host. The git of this test
// does that before each of its commands.
func TestGitNeverRunsInTheWorkspace(t *testing.T) {
	w := newWorld(t)
	spaces, started := t.TempDir(), filepath.Join(t.TempDir(), "started")
	program := filepath.Join(t.TempDir(), "git")
	script := fmt.Sprintf(`#!/bin/sh
for repo in %[1]s/runs/*/work/*/.git; do
	[ -d "$repo" ] || continue
	mkdir -p "$repo/info"
	echo '* filter=x' > "$repo/info/attributes"
	git config -f "$repo/config" filter.x.smudge 'touch %[2]s; cat'
done
exec git "$@"
`, spaces, started)
	// Another process writes the file, because a fork of a concurrent test may still hold open a
	// file that this process writes.
	write := exec.CommandContext(t.Context(), "install", "-m", "700", "/dev/stdin", program)
	write.Stdin = strings.NewReader(script)
	if err := write.Run(); err != nil {
		t.Fatal(err)
	}
	repos, err := git.Open(t.Context(), git.Options{Dir: t.TempDir(), AllowLocal: true, Program: program})
	if err != nil {
		t.Fatal(err)
	}
	w.start(func(o *worker.Options) { o.Dir, o.Repositories = spaces, repos })
	config := w.environment(
		penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: repository(t, map[string]string{"README.md": "hello"})}}},
	)
	id := w.create(penstock.RunRequest{Prompt: "demo: run cat app/README.md; rm -rf app", Config: config})
	w.becomes(id, penstock.StateSucceeded)
	w.followUp(id, "demo: run cat app/README.md; ls -A ..")
	testkit.Eventually(t, timeout, func() error {
		if run := w.get(id); run.ExecutionID != 2 || run.State != penstock.StateSucceeded {
			return fmt.Errorf("execution %d is %s", run.ExecutionID, run.State)
		}
		return nil
	})
	if out := strings.Join(w.outputs(id, "run_command"), ""); strings.Count(out, "hello") != 2 ||
		strings.Contains(out, "checkout") {
		t.Errorf("the agent finds %s", out)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("git has run a command that stood in the configuration of a workspace's repository")
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
