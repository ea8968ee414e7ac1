package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each line is printed as soon as its check ends: when doctor asks git for its version, which may take long, the
// lines of the checks before it are there already.
func TestDoctorPrintsAsItGoes(t *testing.T) {
	t.Parallel()
	bin, out, seen := t.TempDir(), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "seen")
	git := "#!/bin/sh\n[ -e " + seen + " ] || /bin/cp " + out + " " + seen + "\necho git version 2.99.0\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(git), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := command(
		t, []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "doctor", "--data", t.TempDir(), "--sandbox", "process",
		"--allow-open-network", "--listen", "127.0.0.1:0",
	)
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err != nil {
		t.Errorf("doctor: %v", err)
	}
	early, err := os.ReadFile(seen)
	whole, errWhole := os.ReadFile(out)
	if err != nil || errWhole != nil {
		t.Fatal(err, errWhole)
	}
	for _, check := range []string{"data folder", "disk space", "database", "keyset", "process", "images", "harnesses"} {
		if !strings.Contains(string(early), " "+check+" ") {
			t.Errorf("the line of %s does not come before that of git:\n%s", check, early)
		}
	}
	if strings.Contains(string(early), "git version") || !strings.Contains(string(whole), "git version 2.99.0") {
		t.Errorf("while git runs:\n%s\nat the end:\n%s", early, whole)
	}
}
