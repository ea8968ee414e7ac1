package penstock_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// guard is a condition that keeps a promise, and the test that fails without it.
type guard struct {
	Name    string `yaml:"guard"`
	File    string `yaml:"file"`
	Text    string `yaml:"text"`    // occurs once in the file
	Without string `yaml:"without"` // replaces the text, so that the guard is removed
	Package string `yaml:"package"`
	Test    string `yaml:"test"`
}

func readGuards(t *testing.T) []guard {
	t.Helper()
	text, err := os.ReadFile("testdata/guards.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []guard
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// Each guard of the list is where the list says, and so is its test.
func TestGuardsAreListed(t *testing.T) {
	t.Parallel()
	list := readGuards(t)
	if len(list) < 30 {
		t.Errorf("the list has %d guards, want 30", len(list))
	}
	names := map[string]bool{}
	for _, g := range list {
		if names[g.Name] {
			t.Errorf("%s: listed twice", g.Name)
		}
		names[g.Name] = true
		source, err := os.ReadFile(g.File)
		if n := bytes.Count(source, []byte(g.Text)); err != nil || n != 1 || g.Text == g.Without {
			t.Errorf("%s: %s has its text %d times, want 1 (%v)", g.Name, g.File, n, err)
		}
		files, err := filepath.Glob(filepath.Join(g.Package, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for test := range strings.SplitSeq(g.Test, "|") {
			declared := regexp.MustCompile(`(?m)^func ` + test + `\(t \*testing\.T\)`)
			found := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				found = found || err == nil && declared.Match(text)
			}
			if !found {
				t.Errorf("%s: %s has no test %s", g.Name, g.Package, test)
			}
		}
	}
}

// Without each guard, its test fails. It takes long, so that only `make guards` runs it.
func TestGuards(t *testing.T) {
	only := os.Getenv("PENSTOCK_GUARDS")
	if only == "" {
		t.Skip("make guards runs it")
	}
	tree := t.TempDir()
	files, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.SplitSeq(strings.Trim(string(files), "\x00"), "\x00") {
		content, err := os.ReadFile(file)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(tree, file)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, file), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	failed := regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	for _, g := range readGuards(t) {
		if only != "all" && !strings.Contains(g.Name, only) {
			continue
		}
		path := filepath.Join(tree, g.File)
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		without := strings.Replace(string(source), g.Text, g.Without, 1)
		if err := os.WriteFile(path, []byte(without), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(
			t.Context(), "go", "test", "-vet=off", "-count=1", "-timeout=3m", "-run=^("+g.Test+")$", "./"+g.Package,
		)
		cmd.Dir = tree
		out, err := cmd.CombinedOutput()
		caught := failed.FindSubmatch(out)
		switch {
		case err == nil:
			t.Errorf("%s: no test fails without it", g.Name)
		case caught != nil:
			fmt.Printf("%-44s %s\n", g.Name, caught[1])
		case bytes.Contains(out, []byte("panic: test timed out")):
			fmt.Printf("%-44s %s (never ends)\n", g.Name, g.Test)
		default:
			t.Errorf("%s: the test did not run:\n%s", g.Name, out)
		}
		if err := os.WriteFile(path, source, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
