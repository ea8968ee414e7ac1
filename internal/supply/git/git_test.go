package git

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// left lists what is in dir.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCheckoutOfEachKindOfRef(t *testing.T) {
	t.Parallel()
	from := origin(t)
	first, second := git(t, from, "rev-parse", "v1^{commit}"), git(t, from, "rev-parse", "main")
	git(t, from, "update-ref", "refs/pull/7/head", first)
	git(t, from, "branch", "v1", second) // a branch comes before a tag of the same name
	c := open(t, Options{})
	for name, test := range map[string]struct{ ref, commit, branch, upstream string }{
		"the default branch":           {"", second, "main", "origin/main"},
		"a branch":                     {"feature/x", first, "feature/x", "origin/feature/x"},
		"a branch before a tag":        {"v1", second, "v1", "origin/v1"},
		"a tag by its full name":       {"refs/tags/v1", first, "", ""},
		"a branch by its full name":    {"refs/heads/main", second, "main", "origin/main"},
		"a ref of neither kind":        {"refs/pull/7/head", first, "", ""},
		"a commit":                     {first, first, "", ""},
		"an annotated tag has its own": {git(t, from, "rev-parse", "refs/tags/v1"), first, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "repo")
			commit, err := c.Checkout(t.Context(), Source{URL: fileURL(from), Ref: test.ref}, dir)
			if err != nil {
				t.Fatal(err)
			}
			branch := git(t, dir, "branch", "--show-current")
			upstream := ""
			if branch != "" {
				upstream = git(t, dir, "rev-parse", "--abbrev-ref", "@{upstream}")
			}
			got := []string{commit, git(t, dir, "rev-parse", "HEAD"), branch, upstream, git(t, dir, "status", "--porcelain")}
			if diff := cmp.Diff([]string{test.commit, test.commit, test.branch, test.upstream, ""}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckoutDoesNotDependOnItsMirror(t *testing.T) {
	t.Parallel()
	from := origin(t)
	c := open(t, Options{})
	dir := t.TempDir() // empty, and there
	if _, err := c.Checkout(t.Context(), Source{URL: fileURL(from)}, dir); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "remote", "-v"); strings.Contains(got, c.dir) || !strings.Contains(got, fileURL(from)) {
		t.Errorf("got remotes\n%s", got)
	}
	if got := git(t, dir, "rev-parse", "--abbrev-ref", "origin/HEAD"); got != "origin/main" {
		t.Errorf("got default branch %q", got)
	}
	err := filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || !alone(info) {
			t.Errorf("%s has other names, %v", path, err)
		}
		if content, _ := os.ReadFile(path); bytes.Contains(content, []byte(c.dir)) {
			t.Errorf("%s names the mirror", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if hooks := left(t, filepath.Join(dir, ".git", "hooks")); len(hooks) > 0 {
		t.Errorf("got hooks %v", hooks)
	}
	// Without mirror and remote, the result is complete.
	if err := errors.Join(os.RemoveAll(c.dir), os.RemoveAll(from)); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "fsck", "--full", "--strict")
	if got := git(t, dir, "log", "--oneline", "--all"); strings.Count(got, "\n") != 1 {
		t.Errorf("got log\n%s", got)
	}
}

func TestCheckoutFollowsTheRemote(t *testing.T) {
	t.Parallel()
	from := origin(t)
	c := open(t, Options{})
	checkout := func(ref string) (string, error) {
		return c.Checkout(t.Context(), Source{URL: fileURL(from), Ref: ref}, filepath.Join(t.TempDir(), "repo"))
	}
	if _, err := checkout(""); err != nil {
		t.Fatal(err)
	}
	old := git(t, from, "rev-parse", "HEAD")
	git(t, from, "reset", "-q", "--hard", "HEAD^")
	rewritten := commit(t, from, "README.md", "rewritten\n")
	git(t, from, "tag", "-f", "v1", rewritten)
	git(t, from, "branch", "-D", "feature/x")
	git(t, from, "branch", "feature") // in the way of the old name's folder
	git(t, from, "checkout", "-q", "-b", "trunk")
	trunk := commit(t, from, "README.md", "trunk\n")

	for ref, want := range map[string]string{
		"": trunk, "main": rewritten, "refs/tags/v1": rewritten, "feature": rewritten, old: old,
	} {
		if got, err := checkout(ref); err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", ref, got, err, want)
		}
	}
	if _, err := checkout("feature/x"); err == nil || !strings.Contains(err.Error(), `no branch or tag "feature/x"`) {
		t.Errorf("a branch that is gone: got %v", err)
	}
}

func TestSecondCheckoutMovesNoObjects(t *testing.T) {
	t.Parallel()
	from := origin(t)
	s := serve(t, filepath.Dir(from), nil)
	c := open(t, Options{})
	src := Source{URL: s.URL + "/" + filepath.Base(from)}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if _, err := c.Checkout(t.Context(), src, filepath.Join(t.TempDir(), "repo")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, packs := s.counts(); packs != 1 {
		t.Errorf("six checkouts at the same time: objects moved %d times, want 1", packs)
	}
	// Another process with the same folder.
	if _, err := open(t, Options{Dir: c.dir}).Checkout(t.Context(), src, filepath.Join(t.TempDir(), "repo")); err != nil {
		t.Error(err)
	}
	if _, packs := s.counts(); packs != 1 {
		t.Errorf("another process: objects moved %d times, want 1", packs)
	}
	want := commit(t, from, "new", "new\n")
	got, err := c.Checkout(t.Context(), src, filepath.Join(t.TempDir(), "repo"))
	if err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, packs := s.counts(); packs != 2 {
		t.Errorf("after a commit: objects moved %d times, want 2", packs)
	}
}

func TestCheckoutRepairsTheMirror(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, mirror string){
		"locks and packs of a git that was killed": func(t *testing.T, mirror string) {
			for _, name := range []string{
				"packed-refs.lock", "HEAD.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_x", "shallow.lock",
			} {
				if err := os.WriteFile(filepath.Join(mirror, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a file of refs that is not one": func(t *testing.T, mirror string) {
			if err := os.WriteFile(filepath.Join(mirror, "packed-refs"), []byte("\x00\x00garbage"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"objects that are lost": func(t *testing.T, mirror string) {
			if err := os.RemoveAll(filepath.Join(mirror, "objects", "pack")); err != nil {
				t.Fatal(err)
			}
		},
		"objects that are damaged": func(t *testing.T, mirror string) {
			packs, _ := filepath.Glob(filepath.Join(mirror, "objects", "pack", "*.pack"))
			for _, pack := range packs {
				content, err := os.ReadFile(pack)
				clear(content[12:])
				if err = errors.Join(err, os.Chmod(pack, 0o600), os.WriteFile(pack, content, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a mirror that was never finished": func(t *testing.T, mirror string) {
			if err := errors.Join(os.RemoveAll(mirror), os.MkdirAll(mirror+".new/objects", 0o700)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := origin(t)
			c := open(t, Options{})
			src := Source{URL: fileURL(from), Ref: "main"}
			want, err := c.Checkout(t.Context(), src, filepath.Join(t.TempDir(), "repo"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.remote(src)
			if err != nil {
				t.Fatal(err)
			}
			harm(t, c.mirror(r).path)
			dir := filepath.Join(t.TempDir(), "repo")
			if got, err := c.Checkout(t.Context(), src, dir); err != nil || got != want {
				t.Fatalf("got %s, %v, want %s", got, err, want)
			}
			git(t, dir, "fsck", "--full")
		})
	}
}

func TestFailedCheckoutDoesNotChangeTheDirectory(t *testing.T) {
	t.Parallel()
	from := origin(t)
	c := open(t, Options{})
	for name, test := range map[string]struct {
		src  Source
		want string
	}{
		"no such repository": {Source{URL: fileURL(from) + "/nowhere"}, "does not appear to be a git repository"},
		"no such branch":     {Source{URL: fileURL(from), Ref: "nowhere"}, `the repository has no branch or tag "nowhere"`},
		"no such ref":        {Source{URL: fileURL(from), Ref: "refs/pull/9/head"}, "couldn't find remote ref"},
		"no such commit":     {Source{URL: fileURL(from), Ref: strings.Repeat("ab", 20)}, "no branch or tag of the"},
		"not a commit": {
			Source{URL: fileURL(from), Ref: git(t, from, "rev-parse", "HEAD:README.md")}, "is not a commit",
		},
		"not a ref": {Source{URL: fileURL(from), Ref: "a..b"}, "is not a branch, tag or commit id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			missing, empty := filepath.Join(t.TempDir(), "repo"), t.TempDir()
			for _, dir := range []string{missing, empty} {
				if _, err := c.Checkout(t.Context(), test.src, dir); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want an error with %q", err, test.want)
				}
				if got := left(t, dir); len(got) > 0 {
					t.Errorf("left: %v", got)
				}
			}
			if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory was made: %v", err)
			}
		})
	}
}

func TestCheckoutIntoSomethingElse(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	full, outside := t.TempDir(), t.TempDir()
	link, file := filepath.Join(full, "link"), filepath.Join(full, "file")
	if err := errors.Join(os.Symlink(outside, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		full: "is not empty", link: "is not a directory", file: "is not a directory",
	} {
		if _, err := c.Checkout(t.Context(), Source{URL: fileURL(origin(t))}, dir); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if got := append(left(t, full), left(t, outside)...); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestSizeLimit(t *testing.T) {
	t.Parallel()
	random, _ := os.ReadFile("/proc/self/exe")
	for name, content := range map[string]string{
		"of what is fetched":      string(random[:4<<20]),
		"of what is unpacked":     strings.Repeat("a", 16<<20),
		"of what is unpacked now": strings.Repeat("b\n", 2<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := origin(t)
			commit(t, from, "big", content)
			c := open(t, Options{MaxBytes: 1 << 20})
			dir := filepath.Join(t.TempDir(), "repo")
			_, err := c.Checkout(t.Context(), Source{URL: fileURL(from)}, dir)
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v, want %v", err, ErrTooLarge)
			}
			if got := left(t, dir); len(got) > 0 {
				t.Errorf("left: %v", got)
			}
			if use := diskUse(c.dir); use > 1<<20 {
				t.Errorf("the mirrors take %d bytes", use)
			}
			if _, err := open(t, Options{MaxBytes: -1}).Checkout(t.Context(), Source{URL: fileURL(from)}, dir); err != nil {
				t.Errorf("without a limit: %v", err)
			}
		})
	}
}

func TestCheckoutEndsWithItsContext(t *testing.T) {
	t.Parallel()
	from := origin(t)
	reached := make(chan struct{}, 10)
	s := serve(t, filepath.Dir(from), func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			reached <- struct{}{}
			<-r.Context().Done() // a server that never responds
		})
	})
	c := open(t, Options{})
	src := Source{URL: s.URL + "/" + filepath.Base(from)}
	reason := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-reached
		cancel(reason)
	}()
	dir := filepath.Join(t.TempDir(), "repo")
	if _, err := c.Checkout(ctx, src, dir); !errors.Is(err, reason) { // otherwise it never ends
		t.Errorf("got %v, want %v", err, reason)
	}
	if pids := running(src.URL); len(pids) > 0 {
		t.Errorf("git still runs: %v", pids)
	}
	// Waiting for a mirror that another process holds ends with the context, too.
	r, err := c.remote(src)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := c.mirror(r).lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancelTimeout := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancelTimeout()
	if _, err := c.Checkout(ctx, src, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

// running lists the processes of this machine with text on their command line.
func running(text string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(text)) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

func TestOpen(t *testing.T) {
	t.Parallel()
	old := filepath.Join(t.TempDir(), "git")
	program(t, old, "#!/bin/sh\necho git version 2.25.1\n")
	for program, want := range map[string]string{
		"/no/git":    "git is not installed",
		old:          "git version 2.25.1 is too old; at least 2.32 is required",
		"/bin/false": "git cannot be run",
	} {
		if _, err := Open(t.Context(), Options{Dir: t.TempDir(), Program: program}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := Open(t.Context(), Options{Dir: old}); err == nil {
		t.Error("a file for a folder: got no error")
	}
}

func TestSSH(t *testing.T) {
	t.Parallel()
	from := origin(t)
	script, log := filepath.Join(t.TempDir(), "ssh"), filepath.Join(t.TempDir(), "log")
	// This runs the commands on the host.
	text := "#!/bin/sh\necho \"$@\" >> " + log + "\nfor last; do :; done\nexec sh -c \"$last\"\n"
	program(t, script, text)
	c := open(t, Options{Env: []string{"GIT_SSH_COMMAND=" + script, "GIT_SSH_VARIANT=ssh"}})
	for _, url := range []string{"ssh://git@example.com:2222" + from, "git@example.com:" + from} {
		dir := filepath.Join(t.TempDir(), "repo")
		if _, err := c.Checkout(t.Context(), Source{URL: url}, dir); err != nil {
			t.Error(err)
			continue
		}
		if got := git(t, dir, "config", "remote.origin.url"); got != url {
			t.Errorf("got origin %s, want %s", got, url)
		}
	}
	got, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(got), "-p 2222 git@example.com git-upload-pack") {
		t.Errorf("got calls of ssh\n%s%v", got, err)
	}
}
