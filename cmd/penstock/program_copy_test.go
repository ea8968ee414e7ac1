package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A worker in another image starts the bubblewrap of the mounted one, with the libraries of that.
func TestMountedBubblewrap(t *testing.T) {
	t.Parallel()
	bwrap, err := exec.LookPath("bwrap")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("bubblewrap is not installed")
	}
	root := t.TempDir()
	loader, libraries, err := linked("/", bwrap)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{bwrap: "usr/bin/bwrap", loader: loader} {
		copyInto(t, from, filepath.Join(root, to))
	}
	for _, library := range libraries {
		copyInto(t, library, filepath.Join(root, library))
	}
	starter, err := mountedBubblewrap(root, filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(starter, "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "bubblewrap ") {
		t.Errorf("got %q, %v", out, err)
	}
	script, err := os.ReadFile(starter)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(script), root); got < 3 { // the loader, the libraries, the program
		t.Errorf("the script uses files of the machine: %s", script)
	}
	if _, err := mountedBubblewrap(t.TempDir(), t.TempDir()); err == nil {
		t.Error("bubblewrap was found in an empty image")
	}
}

func copyInto(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(from, to); err != nil {
		t.Fatal(err)
	}
}
