package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func skills(path string) bool { return strings.HasSuffix(path, "/SKILL.md") }

func TestFilesReadsTheSelectedFiles(t *testing.T) {
	t.Parallel()
	dir := origin(t)
	commit(t, dir, ".agents/skills/a/SKILL.md", "A\n")
	commit(t, dir, ".agents/skills/a/notes.md", "not selected\n")
	commit(t, dir, ".agents/skills/é b\n/SKILL.md", "B\n")
	commit(t, dir, ".claude/skills/big/SKILL.md", strings.Repeat("x", 101))
	commit(t, dir, "elsewhere/c/SKILL.md", "C\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, ".agents/skills/a/link")); err != nil {
		t.Fatal(err)
	}
	commit(t, dir, "d", "")

	c := open(t, Options{})
	s := Selection{
		Dirs: []string{".agents/skills", ".claude/skills", ".cursor/skills"}, Match: skills, MaxSize: 100, MaxAll: 1000,
		Max: 3,
	}
	want := []File{
		{Path: ".agents/skills/a/SKILL.md", Size: 2, Content: "A\n"},
		{Path: ".agents/skills/é b\n/SKILL.md", Size: 2, Content: "B\n"},
		{Path: ".claude/skills/big/SKILL.md", Size: 101},
	}
	got, err := c.Files(t.Context(), Source{URL: fileURL(dir)}, s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// A link is not followed, whatever its name is.
	s.Match = func(path string) bool { return strings.HasSuffix(path, "/link") }
	if got, err := c.Files(t.Context(), Source{URL: fileURL(dir)}, s); err != nil || len(got) != 0 {
		t.Errorf("a link was read: %v, %v", got, err)
	}
	// A tag from before there was any.
	s.Match = skills
	if got, err := c.Files(t.Context(), Source{URL: fileURL(dir), Ref: "v1"}, s); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want no files at v1", got, err)
	}
	s.Max = 2
	if _, err := c.Files(t.Context(), Source{URL: fileURL(dir)}, s); err == nil ||
		!strings.Contains(err.Error(), "more than 2") {
		t.Errorf("too many files: got %v", err)
	}
	s.Max, s.MaxAll = 3, 3
	if _, err := c.Files(t.Context(), Source{URL: fileURL(dir)}, s); err == nil ||
		!strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("too many bytes: got %v", err)
	}
}

func TestFilesSeesNewCommits(t *testing.T) {
	t.Parallel()
	dir := origin(t)
	c := open(t, Options{})
	s := Selection{Dirs: []string{"skills"}, Match: skills, MaxSize: 100, MaxAll: 1000, Max: 10}
	for _, want := range []string{"one", "two"} {
		commit(t, dir, "skills/a/SKILL.md", want)
		got, err := c.Files(t.Context(), Source{URL: fileURL(dir)}, s)
		if err != nil || len(got) != 1 || got[0].Content != want {
			t.Errorf("got %v, %v, want %q", got, err, want)
		}
	}
}

func TestFilesRecoversFromABrokenMirror(t *testing.T) {
	t.Parallel()
	dir := origin(t)
	commit(t, dir, "skills/a/SKILL.md", "one")
	c := open(t, Options{})
	s := Selection{Dirs: []string{"skills"}, Match: skills, MaxSize: 100, MaxAll: 1000, Max: 10}
	if _, err := c.Files(t.Context(), Source{URL: fileURL(dir)}, s); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(c.dir, "*.git/objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("no packs in the mirror: %v", err)
	}
	for _, pack := range packs {
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := c.Files(t.Context(), Source{URL: fileURL(dir)}, s); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFilesRejectsForbiddenFiles(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	s := Selection{Match: skills, MaxSize: 100, MaxAll: 1000, Max: 10}
	for name, src := range map[string]Source{
		"a URL that is none":             {URL: "--upload-pack=touch x"},
		"a ref that is an option":        {URL: fileURL(t.TempDir()), Ref: "--output=x"},
		"a repository that is not there": {URL: fileURL(filepath.Join(t.TempDir(), "none"))},
	} {
		if _, err := c.Files(t.Context(), src, s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{
		"https://github.com/acme/app.git":      {"acme", "app"},
		"https://git.example.com/a/b/c/":       {"b", "c"},
		"git@example.com:acme/app.git":         {"acme", "app"},
		"ssh://git@example.com:2222/~ada/.dot": {"~ada", ".dot"},
		"":                                     {"", ""},
	} {
		if owner, name := Names(url); owner != want[0] || name != want[1] {
			t.Errorf("%q: got %q and %q, want %q", url, owner, name, want)
		}
	}
}

func TestCheckURLOfACache(t *testing.T) {
	t.Parallel()
	var none *Cache
	if err := none.CheckURL("file:///x/y"); err == nil {
		t.Error("without a cache a local URL is allowed")
	}
	if err := open(t, Options{}).CheckURL("file:///x/y"); err != nil {
		t.Error(err)
	}
}
