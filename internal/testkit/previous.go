package testkit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// PreviousBinary returns the path of the binary that this one replaces in a rolling upgrade: of the
// last release or, before the second release, of the commit before the newest migration. It is
// built from the history of git, once per commit. Without history, the test is skipped.
func PreviousBinary(tb testing.TB) string {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	if shallow, err := git(root, "rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		tb.Skip("the previous binary is built from git's history, which is not here")
	}
	commit, err := git(root, "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^")
	if err == nil {
		commit, err = git(root, "rev-parse", commit+"^{commit}")
	} else {
		commit, err = git(root, "log", "-1", "-M", "--diff-filter=A", "--format=%H", "--", "internal/store/migrations",
			"internal/control/store/migrations")
		if err == nil {
			commit, err = git(root, "rev-parse", commit+"^")
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	path, err := buildCommit(root, commit)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// buildCommit builds the binary of a commit into bin/test/ of the module, unless it is there.
func buildCommit(root, commit string) (string, error) {
	dir := filepath.Join(root, "bin", "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(dir, "lock-previous"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, "penstock-"+commit)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	sources, err := os.MkdirTemp("", "penstock-previous-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(sources) }()
	archive := filepath.Join(sources, "sources.tar")
	for _, command := range [][]string{
		{"git", "-C", root, "archive", "-o", archive, commit},
		{"tar", "-C", sources, "-xf", archive},
		{
			"go", "build", "-C", sources, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w",
			"-gcflags=all=-dwarf=false", "-o", path, "./cmd/penstock",
		},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the binary of commit %s: %s: %w\n%s", commit, command[0], err, bytes.TrimSpace(out))
		}
	}
	return path, nil
}
