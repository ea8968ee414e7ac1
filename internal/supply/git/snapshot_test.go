package git

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// everything shows all of a repository.
func everything(space string) Window {
	all := func(string) bool { return true }
	return Window{Space: space, List: all, Read: all, Max: 100, Bytes: 1 << 20}
}

func TestHead(t *testing.T) {
	t.Parallel()
	from := origin(t)
	first, second := git(t, from, "rev-parse", "v1^{commit}"), git(t, from, "rev-parse", "main")
	git(t, from, "branch", "feature/xy", second) // begins like another one
	site := serve(t, filepath.Dir(from), nil)
	c := open(t, Options{})
	for name, url := range map[string]string{
		"file": fileURL(from), "smart http": site.URL + "/" + filepath.Base(from) + "/.git",
	} {
		t.Run(name, func(t *testing.T) {
			for ref, want := range map[string]Head{
				"": {"main", second}, "feature/x": {"feature/x", first}, "feature/xy": {"feature/xy", second},
			} {
				if got, err := c.Head(t.Context(), Source{URL: url, Ref: ref}); err != nil || got != want {
					t.Errorf("%q: got %v, %v, want %v", ref, got, err, want)
				}
			}
			for _, ref := range []string{"feature", "v1", "gone"} {
				if got, err := c.Head(t.Context(), Source{URL: url, Ref: ref}); !errors.Is(err, ErrNoBranch) {
					t.Errorf("%q: got %v, %v, want no branch", ref, got, err)
				}
			}
		})
	}
	empty := t.TempDir()
	git(t, empty, "init", "-q")
	if _, err := c.Head(t.Context(), Source{URL: fileURL(empty)}); !errors.Is(err, ErrNoBranch) {
		t.Errorf("of an empty repository: got %v", err)
	}
	if before, _ := site.counts(); before > 8 {
		t.Errorf("six questions were %d requests, want one each and two to begin with", before)
	}
	if _, packs := site.counts(); packs > 0 {
		t.Errorf("asking has moved objects")
	}
}

// If a server knows only older protocols, git itself fetches.
func TestHeadOfAnOldGitServer(t *testing.T) {
	t.Parallel()
	from := origin(t)
	want := Head{"main", git(t, from, "rev-parse", "main")}
	git(t, from, "update-server-info")
	for name, handler := range map[string]func(http.Handler) http.Handler{
		"version 0": func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("Git-Protocol")
				next.ServeHTTP(w, r)
			})
		},
		"files": func(http.Handler) http.Handler { return http.FileServer(http.Dir(filepath.Dir(from))) },
	} {
		site := serve(t, filepath.Dir(from), handler)
		got, err := open(t, Options{}).Head(t.Context(), Source{URL: site.URL + "/" + filepath.Base(from) + "/.git"})
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	dir := origin(t)
	commit(t, dir, "ops/a.yaml", "a\n")
	commit(t, dir, "ops/deep/b.md", strings.Repeat("b", 100))
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "ops/link")); err != nil {
		t.Fatal(err)
	}
	id := commit(t, dir, "ops/deep/c.md", strings.Repeat("b", 100))
	c := open(t, Options{})
	src := Source{URL: fileURL(dir)}
	head := Head{"main", id}
	w := everything("team")
	w.Path = "ops"
	w.Read = func(path string) bool { return path != "deep/b.md" }
	got, err := c.Snapshot(t.Context(), src, head, w)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{"a.yaml", true, 2, []byte("a\n")},
		{"deep/b.md", true, 100, nil},
		{"deep/c.md", true, 100, []byte(strings.Repeat("b", 100))},
		{"link", false, 11, nil},
	}
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got.Commit.ID != id || got.Commit.Author != "A <a@example.com>" || got.Commit.Subject != "change ops/deep/c.md" ||
		time.Since(got.Commit.At) > time.Hour {
		t.Errorf("commit: got %+v", got.Commit)
	}
	w.Bytes = 100
	if got, err := c.Snapshot(t.Context(), src, head, w); err != nil || len(got.Files) != 4 ||
		got.Files[0].Content != nil {
		t.Errorf("of more bytes than allowed: got %v, %v, want the list alone", got.Files, err)
	}
	w.Max = 2
	if got, err := c.Snapshot(t.Context(), src, head, w); err != nil || len(got.Files) != 2 {
		t.Errorf("of more files than allowed: got %v, %v", got.Files, err)
	}
	for _, path := range []string{"nowhere", "ops/a.yaml", "ops/link", "ops/../ops", "-x", "--", ":/"} {
		w.Path = path
		if _, err := c.Snapshot(t.Context(), src, head, w); !errors.Is(err, ErrNoFolder) {
			t.Errorf("folder %q: got %v", path, err)
		}
	}
	// The mirror has one commit without its history.
	mirrors, err := filepath.Glob(filepath.Join(c.dir, "*.git"))
	if err != nil || len(mirrors) != 1 {
		t.Fatalf("got the mirrors %v, %v", mirrors, err)
	}
	if n := git(t, mirrors[0], "rev-list", "--count", "main"); n != "1" {
		t.Errorf("the mirror has %s commits, want 1", n)
	}
}

// The branch moves, its history is rewritten, and the mirror is damaged. Each read returns the
// state of the remote.
func TestSnapshotFollowsTheBranch(t *testing.T) {
	t.Parallel()
	dir := origin(t)
	c := open(t, Options{})
	src := Source{URL: fileURL(dir)}
	read := func(want string) {
		t.Helper()
		head, err := c.Head(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Snapshot(t.Context(), src, head, everything("team"))
		if err != nil || len(got.Files) != 1 || string(got.Files[0].Content) != want {
			t.Errorf("got %v, %v, want %q", got, err, want)
		}
	}
	read("two\n")
	commit(t, dir, "README.md", "three")
	read("three")
	git(t, dir, "reset", "-q", "--hard", "v1")
	commit(t, dir, "README.md", "another")
	read("another")
	packs, err := filepath.Glob(filepath.Join(c.dir, "*.git/objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("no packs in the mirror: %v", err)
	}
	for _, pack := range packs {
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
	read("another")
}

func TestSnapshotOfSHA256(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "--object-format=sha256")
	id := commit(t, dir, "a", "A")
	site := serve(t, filepath.Dir(dir), nil)
	c := open(t, Options{})
	src := Source{URL: site.URL + "/" + filepath.Base(dir) + "/.git"}
	head, err := c.Head(t.Context(), src)
	if err != nil || head.Commit != id {
		t.Fatalf("got %v, %v, want %s", head, err, id)
	}
	if got, err := c.Snapshot(t.Context(), src, head, everything("team")); err != nil || len(got.Files) != 1 ||
		string(got.Files[0].Content) != "A" {
		t.Errorf("got %v, %v", got, err)
	}
}

// Spaces do not share fetched objects, and unused objects are removed after a while.
func TestSpacesHaveSeparateMirrors(t *testing.T) {
	t.Parallel()
	dir := origin(t)
	c := open(t, Options{})
	head := Head{"main", git(t, dir, "rev-parse", "main")}
	for _, space := range []string{"one", "two"} {
		if _, err := c.Snapshot(t.Context(), Source{URL: fileURL(dir)}, head, everything(space)); err != nil {
			t.Fatal(err)
		}
	}
	mirrors := func() []string {
		return slices.DeleteFunc(left(t, c.dir), func(name string) bool { return !strings.HasSuffix(name, ".git") })
	}
	if got := mirrors(); len(got) != 2 {
		t.Fatalf("got %v, want a mirror for each space", got)
	}
	if n, err := c.Evict(t.Context(), time.Hour); err != nil || n != 0 {
		t.Errorf("got %d, %v, want none that is so old", n, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(c.dir, mirrors()[0]+".lock"), old, old); err != nil {
		t.Fatal(err)
	}
	// A process that another test starts has our locks until it runs its program, and a locked mirror
	// stays.
	testkit.Eventually(t, time.Minute, func() error {
		n, err := c.Evict(t.Context(), time.Hour)
		if err == nil && (n != 1 || len(mirrors()) != 1) {
			return fmt.Errorf("got %d, want one: %v", n, mirrors())
		}
		return err
	})
	for _, space := range []string{"one", "two"} {
		if _, err := c.Snapshot(t.Context(), Source{URL: fileURL(dir)}, head, everything(space)); err != nil {
			t.Error(err)
		}
	}
}
