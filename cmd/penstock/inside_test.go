package main

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestEmbeddedProgramOfAnotherBuildIsNotUsed(t *testing.T) {
	t.Parallel()
	fresh, stale := []byte("fresh"), []byte("stale")
	sum := sha256.Sum256(fresh)
	if verified(fresh, hex.EncodeToString(sum[:])) == nil {
		t.Error("the program of this build is not used")
	}
	for name, got := range map[string][]byte{
		"of another build":   verified(stale, hex.EncodeToString(sum[:])),
		"in a plain build":   verified(stale, ""),
		"empty":              verified(nil, ""),
		"what is there here": insideProgram(), // go test is a plain build
	} {
		if got != nil {
			t.Errorf("a program %s is used", name)
		}
	}
}

// A release for arm64 that contains a program for amd64 starts every run slowly.
func TestSmallProgramIsForTheProcessorOfItsBuild(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles a part of the standard library")
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		build := exec.Command("../../scripts/build-inside")
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch)
		sum, err := build.Output()
		if err != nil {
			t.Fatal(err)
		}
		name := "inside/" + arch + "/penstock-inside"
		content, err := os.ReadFile(name)
		if err != nil || verified(content, strings.TrimSpace(string(sum))) == nil {
			t.Errorf("%s does not have the sum %s (%v)", name, sum, err)
		}
		program, err := elf.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if libraries, err := program.ImportedLibraries(); program.Machine != machine || err != nil || libraries != nil {
			t.Errorf("%s is for %v and needs %v, %v", name, program.Machine, libraries, err)
		}
		_ = program.Close()
	}
}

// make build and scripts/release embed the small program, and then all runs start with it.
func TestBinaryContainsTheSmallProgram(t *testing.T) {
	t.Parallel()
	// It may find other problems.
	out, _ := exec.Command(testkit.Binary(t), "doctor", "--data", t.TempDir()).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "bubblewrap" {
			continue
		}
		if fields[0] != "ok" {
			t.Skip("no sandbox here:", line)
		}
		if strings.Contains(line, "slowly") || !strings.Contains(line, "works") {
			t.Error(line)
		}
		return
	}
	t.Errorf("doctor says nothing about bubblewrap:\n%s", out)
}
