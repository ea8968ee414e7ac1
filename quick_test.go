package penstock_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const quickScript = "scripts/quick"

// quickPlan returns what the script would run in dir, by the words before the first colon, or by the
// line.
func quickPlan(t *testing.T, dir string, files ...string) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "./"+quickScript, append([]string{"--list"}, files...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", quickScript, err, stderr.Bytes())
	}
	plan := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		kind, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		plan[kind] = append(plan[kind], strings.Fields(names)...)
	}
	return plan
}

func TestQuickPicksTheTestsOfAChange(t *testing.T) {
	t.Parallel()
	type tests struct {
		files         []string
		test, without []string
		also          []string
	}
	for name, tt := range map[string]tests{
		"the store": {
			files:   []string{"internal/control/store/run.go"},
			test:    []string{"./internal/control/store", "./internal/control/run"},
			without: []string{"./internal/control/trigger", "./internal/control/httpapi"},
			also:    []string{"format", "test of the root package", "vet, and no tests"},
		},
		"a test, and the code of a package whose tests take long": {
			files:   []string{"internal/control/store/run_test.go", "internal/control/httpapi/run.go"},
			test:    []string{"./internal/control/store", "./internal/control/httpapi"},
			without: []string{"./internal/control/run", "./cmd/penstock"},
		},
		"documents": {
			files:   []string{"docs/limits.md", "README.md"},
			test:    []string{".", "TestDocumentOfLimits"}, // the second is in another package
			without: []string{"./internal/control/store"},
		},
		"what is not Go": {
			files: []string{
				"api/openapi.yaml", "internal/control/store/migrations/postgres/0001_init.sql", "scripts/need",
				"sdk/python/src/penstock/_events.py", "sdk/typescript/src/core.ts", "web/src/format.ts",
			},
			test:    []string{"./api", "./internal/control/store", "./internal/control/run"},
			without: []string{"./internal/control/httpapi"},
			also: []string{
				"shellcheck", "check", "make check-generated", "make test-python", "make test-typescript", "vet, and no tests",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, file := range tt.files {
				if _, err := os.Stat(file); err != nil {
					t.Fatal(err)
				}
			}
			plan := quickPlan(t, ".", tt.files...)
			for _, want := range tt.test {
				if !slices.Contains(plan["test"], want) {
					t.Errorf("%s is not tested: %v", want, plan)
				}
			}
			for _, unwanted := range tt.without {
				if slices.Contains(plan["test"], unwanted) {
					t.Errorf("%s is tested: %v", unwanted, plan)
				}
			}
			for _, want := range tt.also {
				if _, found := plan[want]; !found {
					t.Errorf("%q is missing: %v", want, plan)
				}
			}
		})
	}
}

// A change is all that differs from main: what was committed, what was not, new files and removed ones.
func TestQuickFindsTheChangesOfABranch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile(quickScript)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		file := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, []byte(content), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{
			"-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main",
		}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	const code = "// A change.\n"
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write(quickScript, string(script))
	for _, name := range []string{"committed", "edited", "removed", "untouched"} {
		write(name+"/a.go", "package "+name+"\n")
	}
	write("importer/a.go", "package importer\n\nimport _ \"example.com/m/committed\"\n")
	write("tester/a_test.go", "package tester\n\nimport _ \"example.com/m/importer\"\n")
	write("removed/b.go", "package removed\n")
	git("init")
	git("add", ".")
	git("commit", "-m", "one")
	if plan := quickPlan(t, dir); len(plan) != 1 || plan["test"] != nil {
		t.Errorf("without a change: %v", plan)
	}
	git("checkout", "-b", "branch")
	write("committed/a.go", "package committed\n"+code)
	git("commit", "-a", "-m", "two")
	git("checkout", "main")
	write("untouched/a.go", "package untouched\n"+code) // what main has since got is not the branch's
	git("commit", "-a", "-m", "three")
	git("checkout", "branch")
	write("edited/a.go", "package edited\n"+code)
	write("new/a.go", "package new\n")
	if err := os.Remove(filepath.Join(dir, "removed", "b.go")); err != nil {
		t.Fatal(err)
	}

	plan := quickPlan(t, dir)
	want := []string{"./committed", "./edited", "./importer", "./new", "./removed"}
	if diff := cmp.Diff(want, plan["test"]); diff != "" {
		t.Errorf("tested packages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"./tester"}, plan["vet, and no tests"]); diff != "" {
		t.Errorf("vetted packages (-want +got):\n%s", diff)
	}
}
