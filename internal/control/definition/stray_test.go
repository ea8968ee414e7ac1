package definition_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

// A typical repository has other files besides its factory. They are ignored, with a note. A file
// that was probably meant as a resource is an error, because ignoring it would lose the resource.
func TestStrayFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, severity, nearest string }{
		{"README.md", "", ""},
		{"README", "", ""},
		{"LICENSE", "", ""},
		{".gitignore", "", ""},
		{".github/workflows/check.yml", "", ""},
		{"agents/README.md", "", ""},
		{"agents/foreman/.agent.md.swp", "", ""},
		{"LICENSE.txt", "note", ""},
		{"package.json", "note", ""},
		{"docs/guide.md", "note", ""},
		{"src/main.go", "note", ""},
		{"agents/LICENSE", "note", ""},
		{"agents/foreman/agent.md~", "note", ""},
		{"agents/foreman/#agent.md#", "note", ""},
		{"agents/foreman/agent.md.orig", "note", ""},
		{"agents/foreman/notes.md", "note", ""},
		{"agents/foreman/logo.png", "note", ""},
		{"automations/build/fixture.json", "note", ""},
		{"runners/Makefile", "note", ""},
		{"webhooks/sample.json", "note", ""},
		{"scorers/tests/cases.csv", "note", ""},
		{"benchmarks/suite/tasks/notes.txt", "note", ""},
		{"agent/x/agent.md", "warning", "agents/x/agent.md"},
		{"Agents/x/agent.md", "warning", "agents/x/agent.md"},
		{"webhook/x.yaml", "warning", "webhooks/x.yaml"},
		{"webhooks2/x.yml", "warning", "webhooks/x.yml"},
		{"automation/x.md", "warning", "automations/x.md"},
		{"skill/x/SKILL.md", "warning", "skills/x/SKILL.md"},
		{"factroy.yaml", "warning", "factory.yaml"},
		{"agent/main.go", "note", ""},
		{"factory.yml", "error", "factory.yaml"},
		{"agents/x.md", "error", ""},
		{"agents/x/agnet.md", "error", ""},
		{"agents/team/extra/agent.md", "error", ""},
		{"agents/x/skills/y.md", "warning", ""},
		{"automations/x.yaml", "error", ""},
		{"automations/x/y/automation.md", "error", ""},
		{"runners/x.yml", "error", "runners/x.yaml"},
		{"webhooks/x.yml", "error", "webhooks/x.yaml"},
		{"webhooks/a/x.yaml", "error", ""},
		{"skills/x.md", "warning", ""},
		{"scorers/flat.md", "error", ""},
		{"benchmarks/one.yaml", "error", ""},
	} {
		files := with(test.path, "x")
		got, found := definition.Parse(files, definition.Known{})
		switch {
		case test.severity == "" && len(found) == 0 && got != nil:
		case len(found) != 1:
			t.Errorf("%s: got\n%s", test.path, lines(found))
		case found[0].Code != definition.UnsupportedPath || found[0].Path != test.path ||
			string(found[0].Severity) != test.severity,
			found[0].Nearest != test.nearest, (got == nil) != (test.severity == "error"):
			t.Errorf(
				"%s: got %s %s, near %q (a definition: %t), want %s near %q", test.path, found[0].Severity, found[0],
				found[0].Nearest, got != nil, test.severity, test.nearest,
			)
		}
	}
}

// One note covers a folder with any number of files.
func TestStrayFolderHasOneNote(t *testing.T) {
	t.Parallel()
	got := findings(
		with(
			"src/a.go", "", "src/b/c.go", "", "src/d.go", "", "docs/a.md", "", "agent/a/agent.md", "", "agent/b/agent.md", "",
			"agent/c.go", "",
		),
	)
	want := `agent/a/agent.md:1:1: FF_UNSUPPORTED_PATH (warning) the folder "agent" is not part of a factory`
	if strings.Count(got, "\n") != 4 || !strings.HasPrefix(got, want) || !strings.Contains(got, "docs/a.md:1:1") ||
		!strings.Contains(got, "src/a.go:1:1") {
		t.Errorf("got\n%s", got)
	}
}

// Stray files of a folder are not read at all, so that they neither count nor leave the machine.
func TestReadTreeLeavesStrayFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("factory.yaml", []byte(smallFactory))
	write("agents/foreman/agent.md", []byte(smallForeman))
	write("agents/foreman/agent.md~", []byte("old"))
	write("assets/film.mp4", make([]byte, definition.MaxBytes+1))
	for i := range definition.MaxFiles + 1 {
		write("node_modules/m/"+strings.Repeat("x", i%100)+string(rune('a'+i%26))+".js", nil)
	}
	if err := os.Symlink("agents/foreman/agent.md", filepath.Join(folder, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(folder, "config")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("foreman", filepath.Join(folder, "agents", "second")); err != nil {
		t.Fatal(err)
	}
	files, found, err := definition.ReadTree(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"agents/foreman/agent.md", "factory.yaml"}, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var got []string
	for _, d := range found {
		got = append(got, string(d.Severity)+" "+d.Path[:min(len(d.Path), 24)])
	}
	want := []string{
		"note agents/foreman/agent.md~", "error agents/second", "note assets/film.mp4", "note node_modules/m/",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}
