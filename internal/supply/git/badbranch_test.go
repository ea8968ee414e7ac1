package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// badCommit makes a commit that no git accepts: its tree contains a .git folder.
func badCommit(t *testing.T, from string) (id string) {
	t.Helper()
	blob := git(t, from, "rev-parse", "HEAD:README.md")
	object := make([]byte, 20)
	for i := range object {
		object[i] = unhex(blob[2*i])<<4 | unhex(blob[2*i+1])
	}
	file := filepath.Join(t.TempDir(), "tree")
	if err := os.WriteFile(file, append([]byte("100644 .git\x00"), object...), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := git(t, from, "hash-object", "-t", "tree", "--literally", "-w", file)
	return git(t, from, "commit-tree", "-m", "bad", tree)
}

// badBranches make the branch "bad" of a repository one that cannot be fetched.
var badBranches = map[string]func(t *testing.T, from string){
	"an object that attacks a checkout": func(t *testing.T, from string) {
		git(t, from, "update-ref", "refs/heads/bad", badCommit(t, from))
	},
	"a commit that is malformed": func(t *testing.T, from string) {
		file := filepath.Join(t.TempDir(), "commit")
		text := "tree " + git(
			t, from, "rev-parse", "HEAD^{tree}",
		) + "\nparent 0123\nauthor A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\nbad\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		id := git(t, from, "hash-object", "-t", "commit", "--literally", "-w", file)
		// update-ref would read it.
		if err := os.WriteFile(filepath.Join(from, ".git", "refs", "heads", "bad"), []byte(id+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	},
	"an object that is lost": func(t *testing.T, from string) {
		git(t, from, "checkout", "-q", "-b", "bad")
		commit(t, from, "lost.txt", "lost\n")
		lost := git(t, from, "rev-parse", "HEAD:lost.txt")
		git(t, from, "checkout", "-q", "main")
		if err := os.Remove(filepath.Join(from, ".git", "objects", lost[:2], lost[2:])); err != nil {
			t.Fatal(err)
		}
	},
}

func TestBadBranchBlocksNoOther(t *testing.T) {
	t.Parallel()
	for name, spoil := range badBranches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh, used, from := open(t, Options{}), open(t, Options{}), origin(t)
			if _, err := used.Checkout(t.Context(), Source{URL: fileURL(from)}, filepath.Join(t.TempDir(), "repo")); err != nil {
				t.Fatal(err)
			}
			first := git(t, from, "rev-parse", "HEAD")
			spoil(t, from)
			want := commit(t, from, "README.md", "three\n")
			for cache, c := range map[string]*Cache{"a new mirror": fresh, "a mirror from before": used} {
				for ref, want := range map[string]string{
					"": want, "main": want, "refs/heads/main": want, "v1": git(t, from, "rev-parse", "v1^{commit}"), first: first,
				} {
					dir := filepath.Join(t.TempDir(), "repo")
					if got, err := c.Checkout(t.Context(), Source{URL: fileURL(from), Ref: ref}, dir); err != nil || got != want {
						t.Errorf("%s, checkout of %q: got %s, %v, want %s", cache, ref, got, err, want)
					}
				}
				files, err := c.Files(t.Context(), Source{URL: fileURL(from)}, Selection{
					Dirs: []string{"README.md"}, Match: func(string) bool { return true }, MaxSize: 100, MaxAll: 100, Max: 1,
				})
				if err != nil || len(files) != 1 || files[0].Content != "three\n" {
					t.Errorf("%s: got files %v, %v", cache, files, err)
				}
			}
			if _, err := fresh.Snapshot(
				t.Context(), Source{URL: fileURL(from)}, Head{"main", want}, everything("team"),
			); err != nil {
				t.Errorf("snapshot: %v", err)
			}
		})
	}
}

// The old mirror keeps its objects: a bad branch does not cause another fetch of them.
func TestBadBranchCostsNoMirror(t *testing.T) {
	t.Parallel()
	c, from := open(t, Options{}), origin(t)
	src := Source{URL: fileURL(from), Ref: "main"}
	if _, err := c.Checkout(t.Context(), src, filepath.Join(t.TempDir(), "repo")); err != nil {
		t.Fatal(err)
	}
	r, err := c.remote(src)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(c.mirror(r).path)
	if err != nil {
		t.Fatal(err)
	}
	git(t, from, "update-ref", "refs/heads/bad", badCommit(t, from))
	dir := filepath.Join(t.TempDir(), "repo")
	if _, err := c.Checkout(t.Context(), src, dir); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(c.mirror(r).path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the mirror was made anew (%v)", err)
	}
	git(t, dir, "rev-parse", "--verify", "refs/remotes/origin/feature/x") // of the mirror from before
}

func TestBadBranchIsNamed(t *testing.T) {
	t.Parallel()
	for name, spoil := range badBranches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, from := open(t, Options{}), origin(t)
			spoil(t, from)
			id := git(t, from, "rev-parse", "bad")
			dir := filepath.Join(t.TempDir(), "repo")
			_, err := c.Checkout(t.Context(), Source{URL: fileURL(from), Ref: "bad"}, dir)
			if err == nil || !strings.Contains(err.Error(), `the branch "bad" cannot be fetched`) {
				t.Errorf("checkout: got %v", err)
			}
			if got := left(t, dir); len(got) > 0 {
				t.Errorf("left: %v", got)
			}
			_, err = c.Snapshot(t.Context(), Source{URL: fileURL(from), Ref: "bad"}, Head{"bad", id}, everything("team"))
			if err == nil || !strings.Contains(err.Error(), `the branch "bad" cannot be fetched`) {
				t.Errorf("snapshot: got %v", err)
			}
		})
	}
}
