package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bare makes a repository without commits whose HEAD names a branch.
func bare(t *testing.T, branch string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "--bare", "--initial-branch="+branch)
	return dir
}

func TestCheckoutOfABranchWithoutCommits(t *testing.T) {
	t.Parallel()
	headGone := origin(t)
	git(t, headGone, "symbolic-ref", "HEAD", "refs/heads/gone")
	onlyTag := origin(t)
	git(t, onlyTag, "symbolic-ref", "HEAD", "refs/heads/gone")
	git(t, onlyTag, "branch", "-D", "main", "feature/x")
	served := t.TempDir()
	git(t, served, "init", "-q", "--bare", "--initial-branch=trunk", "e.git")
	for name, test := range map[string]struct {
		url, ref string
		want     Checkout
	}{
		"an empty repository":               {fileURL(bare(t, "trunk")), "", Checkout{Branch: "trunk"}},
		"an empty repository over HTTP":     {serve(t, served, nil).URL + "/e.git", "", Checkout{Branch: "trunk"}},
		"a branch of an empty repository":   {fileURL(bare(t, "trunk")), "first/try", Checkout{Branch: "first/try"}},
		"a HEAD with a name that we refuse": {fileURL(bare(t, "-x")), "", Checkout{Branch: "main"}},
		"a HEAD that names a missing branch": {
			fileURL(headGone), "", Checkout{Branch: "gone", Branches: []string{"feature/x", "main"}},
		},
		"a repository that has only one tag": {fileURL(onlyTag), "", Checkout{Branch: "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, Options{})
			for range 2 { // with and without a mirror
				dir, base := filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "base")
				got, err := c.CheckoutWithBase(t.Context(), Source{URL: test.url, Ref: test.ref}, dir, base)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if head := git(t, dir, "symbolic-ref", "HEAD"); head != "refs/heads/"+test.want.Branch {
					t.Errorf("HEAD is %s", head)
				}
				if status := git(t, dir, "status", "--porcelain"); status != "" {
					t.Errorf("the status is %s", status)
				}
				if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				root, err := os.OpenRoot(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer root.Close()
				changes, patch, err := c.Changes(t.Context(), Comparison{
					Base: base, Dir: root, Scratch: filepath.Join(t.TempDir(), "scratch"),
				})
				if err != nil {
					t.Fatal(err)
				}
				if changes.Base != "" || len(changes.Files) != 1 || !strings.Contains(string(patch), "+one\n") {
					t.Errorf("the changes are %+v\n%s", changes, patch)
				}
				commit(t, dir, "b.txt", "two\n")
				if !strings.HasPrefix(test.url, "http:") { // which is read-only
					git(t, dir, "push", "-q", "--dry-run")
				}
			}
		})
	}
}

// A repository that gets its first commit is checked out with it, although the mirror is older.
func TestFirstCommitArrives(t *testing.T) {
	t.Parallel()
	remote := bare(t, "trunk")
	c := open(t, Options{})
	dir := filepath.Join(t.TempDir(), "repo")
	if _, err := c.Checkout(t.Context(), Source{URL: fileURL(remote)}, dir); err != nil {
		t.Fatal(err)
	}
	want := commit(t, dir, "a.txt", "one\n")
	git(t, dir, "push", "-q", remote, "trunk")
	if got, err := c.Checkout(t.Context(), Source{URL: fileURL(remote)}, filepath.Join(t.TempDir(), "repo")); err != nil ||
		got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	// A branch that does not exist is still an error: the repository has others.
	_, err := c.Checkout(t.Context(), Source{URL: fileURL(remote), Ref: "nope"}, filepath.Join(t.TempDir(), "repo"))
	if err == nil || !strings.Contains(err.Error(), `no branch or tag "nope"`) {
		t.Errorf("got %v", err)
	}
}

func TestCheckoutWithSHA256(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	git(t, from, "init", "-q", "--object-format=sha256")
	want := commit(t, from, "a.txt", "one\n")
	c := open(t, Options{})
	for _, ref := range []string{"", "main", want} {
		got, err := c.Checkout(t.Context(), Source{URL: fileURL(from), Ref: ref}, filepath.Join(t.TempDir(), "repo"))
		if err != nil || got != want {
			t.Errorf("ref %q: got %s, %v", ref, got, err)
		}
	}
	files, err := open(t, Options{}).Files(t.Context(), Source{URL: fileURL(bare(t, "trunk"))}, Selection{
		Match: func(string) bool { return true },
	})
	if err != nil || len(files) != 0 {
		t.Errorf("the files of an empty repository are %v, %v", files, err)
	}
}
