package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Binary returns the path of the penstock binary: the one in PENSTOCK_TEST_BINARY, as in `make
// test`, or one that it builds from the work tree once per test process.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

var binary = sync.OnceValues(func() (string, error) {
	path := os.Getenv("PENSTOCK_TEST_BINARY")
	if path == "" {
		return buildBinary()
	}
	if _, err := os.Stat(path); err != nil { // go test records this file, so that another binary has no cached result
		return "", fmt.Errorf("PENSTOCK_TEST_BINARY: %w", err)
	}
	return path, nil
})

// buildBinary builds into bin/test/ of the module. Tests of several packages run at once, so they
// take turns. The second build has nothing to do.
func buildBinary() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(dir, "lock"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, "penstock")
	inside := exec.Command("scripts/build-inside")
	inside.Dir, inside.Stderr = root, os.Stderr
	sum, err := inside.Output()
	if err != nil {
		return "", fmt.Errorf("build penstock-inside: %w", err)
	}
	build := exec.Command(
		"go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false",
		"-ldflags=-X main.insideSum="+string(bytes.TrimSpace(sum)), "-o", path, "./cmd/penstock",
	)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build penstock: %w\n%s", err, bytes.TrimSpace(out))
	}
	return path, noteSources(root)
}

// noteSources opens every folder of the module, so that go test sees that the result depends on all
// sources. Otherwise a cached result could remain after a change of the binary.
func noteSources(root string) error {
	return filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			switch entry.Name() {
			case ".git", ".tools", "bin", "node_modules":
				return filepath.SkipDir
			}
		}
		return err
	})
}

// moduleRoot returns the folder of go.mod, because a test runs in the folder of its package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}

// lockFile takes a lock between processes. The file stays.
func lockFile(path string, how int) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
