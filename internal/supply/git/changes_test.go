package git

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

// checkedOut is a checkout with its base.
type checkedOut struct {
	t                 *testing.T
	cache             *Cache
	dir, base, commit string
	mask              func(string) string
}

func checkOutForChanges(t *testing.T, origin string) *checkedOut {
	t.Helper()
	o := &checkedOut{t: t, cache: open(t, Options{}), dir: filepath.Join(t.TempDir(), "work")}
	o.base = filepath.Join(t.TempDir(), "base", "app.git")
	if err := os.Mkdir(filepath.Dir(o.base), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	checkout, err := o.cache.CheckoutWithBase(t.Context(), Source{URL: fileURL(origin)}, o.dir, o.base)
	o.commit = checkout.Commit
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *checkedOut) changes() (penstock.RepositoryChanges, string, error) {
	o.t.Helper()
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		o.t.Fatal(err)
	}
	defer root.Close()
	scratch := filepath.Join(o.t.TempDir(), "scratch")
	found, patch, err := o.cache.Changes(
		o.t.Context(), Comparison{Base: o.base, Dir: root, Scratch: scratch, Mask: o.mask},
	)
	return found, string(patch), err
}

func (o *checkedOut) must() (penstock.RepositoryChanges, string) {
	o.t.Helper()
	found, patch, err := o.changes()
	if err != nil {
		o.t.Fatal(err)
	}
	return found, patch
}

func (o *checkedOut) write(name, content string) {
	o.t.Helper()
	file := filepath.Join(o.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
		o.t.Fatal(err)
	}
}

// mustApply applies a patch to a new checkout of the commit, and returns its folder.
func (o *checkedOut) mustApply(patch string) (dir string) {
	o.t.Helper()
	dir = filepath.Join(o.t.TempDir(), "fresh")
	git(o.t, o.t.TempDir(), "clone", "-q", "--", git(o.t, o.dir, "config", "remote.origin.url"), dir)
	apply := exec.Command("git", "apply")
	apply.Dir, apply.Stdin = dir, strings.NewReader(patch)
	if out, err := apply.CombinedOutput(); err != nil {
		o.t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
	}
	return dir
}

// originWith makes a repository with one commit of these files.
func originWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	for name, content := range files {
		file := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "--all", "--force")
	git(t, dir, "commit", "-q", "-m", "all")
	return dir
}

func lines(n int, text string) string { return strings.Repeat(text+"\n", n) }

// The patch, applied to the commit, gives the files of the checkout.
func TestChangesOfEveryKind(t *testing.T) {
	t.Parallel()
	o := checkOutForChanges(t, originWith(t, map[string]string{
		"edit.txt": "one\ntwo\nthree\n", "gone.txt": "bye\n", "old name.txt": lines(20, "the same"), "same.txt": "same\n",
		"run.sh": "#!/bin/sh\n", "picture.png": "\x00\x01\x02", "becomes/folder": "file\n", "folder": "x\n",
		".gitignore": "*.log\n/build/\n!keep.log\n", "tracked.log": "tracked, although ignored\n",
	}))
	if found, patch := o.must(); len(found.Files) > 0 || patch != "" || found.Base != o.commit || found.Branch != "main" {
		t.Fatalf("an unchanged checkout: %+v %q", found, patch)
	}
	git(t, o.dir, "checkout", "-q", "-b", "fix/it")
	o.write("edit.txt", "one\n2\nthree\nfour\n")
	git(t, o.dir, "commit", "-q", "-am", "the agent commits")
	git(t, o.dir, "mv", "old name.txt", "new name.txt")
	git(t, o.dir, "rm", "-q", "gone.txt", "folder")
	o.write("folder/file", "a folder replaces a file\n")
	git(t, o.dir, "rm", "-rq", "becomes")
	o.write("becomes", "a file replaces a folder\n")
	o.write("new/untracked.txt", "no newline at the end")
	o.write("picture.png", "\x00\x01\x03")
	o.write("tracked.log", "changed\n")
	o.write("debug.log", "ignored\n")
	o.write("keep.log", "not ignored\n")
	o.write("build/out.bin", "ignored\n")
	o.write("sub/build/out.txt", "not ignored\n")
	if err := errors.Join(
		os.Chmod(filepath.Join(o.dir, "run.sh"), 0o755), os.Symlink("/etc/passwd", filepath.Join(o.dir, "link")),
	); err != nil {
		t.Fatal(err)
	}
	found, patch := o.must()
	want := []penstock.FileChange{
		{Path: "becomes", Status: "added", Additions: 1},
		{Path: "becomes/folder", Status: "deleted", Deletions: 1},
		{Path: "edit.txt", Status: "modified", Additions: 2, Deletions: 1},
		{Path: "folder", Status: "deleted", Deletions: 1},
		{Path: "folder/file", Status: "added", Additions: 1},
		{Path: "gone.txt", Status: "deleted", Deletions: 1},
		{Path: "keep.log", Status: "added", Additions: 1},
		{Path: "link", Status: "added", Additions: 1},
		{Path: "new name.txt", PreviousPath: "old name.txt", Status: "renamed"},
		{Path: "new/untracked.txt", Status: "added", Additions: 1},
		{Path: "picture.png", Status: "modified", Binary: true},
		{Path: "run.sh", Status: "modified"},
		{Path: "sub/build/out.txt", Status: "added", Additions: 1},
		{Path: "tracked.log", Status: "modified", Additions: 1, Deletions: 1},
	}
	if diff := cmp.Diff(want, found.Files); diff != "" {
		t.Error(diff)
	}
	if found.Base != o.commit || found.Branch != "fix/it" || found.Truncated || found.FilesOmitted != 0 {
		t.Errorf("found %+v", found)
	}
	if strings.Contains(patch, "root:") {
		t.Error("the patch has the content of a file outside of the checkout")
	}
	fresh := o.mustApply(patch)
	for _, name := range []string{"becomes", "edit.txt", "folder/file", "new name.txt", "tracked.log", "picture.png"} {
		a, errA := os.ReadFile(filepath.Join(o.dir, name))
		b, errB := os.ReadFile(filepath.Join(fresh, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %q and %q, %v %v", name, a, b, errA, errB)
		}
	}
}

// Files that git converts on checkout are compared as they were checked out.
func TestConvertedFilesAreUnchanged(t *testing.T) {
	t.Parallel()
	o := checkOutForChanges(t, originWith(t, map[string]string{
		".gitattributes": "*.bat text eol=crlf\n*.id ident\n", "a.bat": "echo 1\necho 2\n", "x.id": "$Id$\n", "b.txt": "b\n",
	}))
	if text, err := os.ReadFile(filepath.Join(o.dir, "a.bat")); err != nil || !strings.Contains(string(text), "\r\n") {
		t.Fatalf("git did not convert the file: %q %v", text, err)
	}
	if found, patch := o.must(); len(found.Files) > 0 {
		t.Fatalf("found %+v\n%s", found, patch)
	}
	o.write("a.bat", "echo 1\r\necho 3\r\n")
	found, patch := o.must()
	if len(found.Files) != 1 || found.Files[0].Additions != 1 || !strings.Contains(patch, "+echo 3\r\n") {
		t.Errorf("found %+v\n%s", found, patch)
	}
}

// The patch has at most one MiB. A large file does not displace small ones.
func TestLargeChangesAreTruncated(t *testing.T) {
	t.Parallel()
	o := checkOutForChanges(t, originWith(t, map[string]string{"a": "a\n", "z": "z\n", "huge": "small\n"}))
	o.write("a", lines(300_000, "a long file"))
	o.write("b", lines(300_000, "another"))
	o.write("z", "changed\n")
	o.write("new.txt", "new\n")
	sparse, err := os.Create(filepath.Join(o.dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sparse.Truncate(1<<40), sparse.Close()); err != nil {
		t.Fatal(err)
	}
	found, patch := o.must()
	want := []penstock.FileChange{
		{Path: "a", Status: "modified", Additions: 300_000, Deletions: 1, Truncated: true},
		{Path: "b", Status: "added", Additions: 300_000, Truncated: true},
		{Path: "huge", Status: "modified", Truncated: true},
		{Path: "new.txt", Status: "added", Additions: 1},
		{Path: "z", Status: "modified", Additions: 1, Deletions: 1},
	}
	if diff := cmp.Diff(want, found.Files); diff != "" || !found.Truncated {
		t.Errorf("truncated %v\n%s", found.Truncated, diff)
	}
	if len(patch) > penstock.MaxPatchBytes || strings.Count(patch, "diff --git") != 2 {
		t.Errorf("the patch has %d bytes", len(patch))
	}
	for i := range maxChanged + 500 {
		o.write(fmt.Sprintf("0/%04d", i), "many\n")
	}
	found, _ = o.must()
	if len(found.Files) != maxChanged || found.FilesOmitted != 505 || found.Files[len(found.Files)-1].Path != "z" {
		t.Errorf("%d files, and %d more", len(found.Files), found.FilesOmitted)
	}
}

func TestSecretsInChangesAreMasked(t *testing.T) {
	t.Parallel()
	o := checkOutForChanges(t, originWith(t, map[string]string{
		"config": "key=hunter2hunter2\nx=1\n", "same": "hunter2hunter2\n",
		"far": "hunter2hunter2\n" + lines(20, "line") + "x=1\n",
	}))
	const pem = "-----BEGIN\nAAAA\nBBBB\n-----END"
	o.mask = func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "hunter2hunter2", "***"), pem, "***")
	}
	o.write("config", "key=hunter2hunter2\nx=2\n")
	o.write("far", "hunter2hunter2\n"+lines(20, "line")+"x=2\n")
	o.write("key.pem", pem+"\n")
	o.write("hunter2hunter2.txt", "a name\n")
	found, patch := o.must()
	for _, text := range []string{"hunter2", "AAAA", "BBBB"} {
		if strings.Contains(patch+fmt.Sprint(found), text) {
			t.Errorf("the patch shows %q:\n%s", text, patch)
		}
	}
	// A part with a masked line of the commit would not apply.
	if len(found.Files) != 4 || strings.Count(patch, "-x=1\n+x=2\n") != 1 || !strings.Contains(patch, "b/far") ||
		!found.Files[0].Truncated || found.Files[0].Path != "config" || !found.Truncated {
		t.Errorf("found %+v\n%s", found, patch)
	}
	o.mustApply(patch)
}

// Everything that a hostile agent can put into a checkout: nothing of it is executed, nothing
// outside is read, nothing waits, and the changes are still found.
func TestChangesOfAHostileCheckout(t *testing.T) {
	t.Parallel()
	o := checkOutForChanges(t, originWith(t, map[string]string{
		"a.txt": "a\n", ".gitattributes": "*.txt diff=evil filter=evil\n", "dir/b.txt": "b\n",
	}))
	secret, proof := filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "executed")
	if err := os.WriteFile(secret, []byte("outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := "touch " + proof + "; cat"
	for key, value := range map[string]string{
		"core.fsmonitor": run, "core.hooksPath": o.dir + "/hooks", "diff.external": run, "diff.evil.textconv": run,
		"diff.evil.command": run, "filter.evil.clean": run, "filter.evil.smudge": run, "filter.evil.process": run,
		"filter.evil.required": "true", "core.worktree": "/etc", "core.sshCommand": run,
		"core.excludesFile": "/dev/zero", "core.attributesFile": "/dev/zero", "alias.diff-tree": "!" + run,
		"core.pager": run, "core.alternateRefsCommand": run, "uploadpack.packObjectsHook": run,
	} {
		git(t, o.dir, "config", key, value)
	}
	for _, hook := range []string{"post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc"} {
		o.write(".git/hooks/"+hook, "#!/bin/sh\n"+run+"\n")
		o.write("hooks/"+hook, "#!/bin/sh\n"+run+"\n")
	}
	o.write(".git/info/exclude", "*\n")
	o.write(".git/info/attributes", "* -diff\n")
	o.write("a.txt", "changed\n")
	o.write(".GIT/config", "[core]\n\tfsmonitor = "+run+"\n")
	o.write("git~1/config", "x\n")
	o.write("nested/.git/HEAD", "ref: refs/heads/main\n")
	o.write("nested/file", "in a nested repository\n")
	names := []string{
		"new\nline", "\xff\xfe invalid", ":(top)magic", ":!a.txt", "-option", `quote"back\slash`, "tab\tname", "!bang",
		"#hash", " space ", "ünïcode",
	}
	for _, name := range names {
		o.write(name, "x\n")
	}
	work := func(name string) string { return filepath.Join(o.dir, name) }
	if err := errors.Join(
		syscall.Mkfifo(work("fifo"), 0o600), os.Symlink(secret, work("link")), os.Symlink("/dev/zero", work("zero")),
		os.RemoveAll(work("dir")), os.Symlink(filepath.Dir(secret), work("dir")), os.Symlink("link", work(".gitmodules")),
		os.Symlink(secret, work("hooks/.gitignore")), os.Symlink(".", work("loop")),
		os.Remove(work(".git/index")), syscall.Mkfifo(work(".git/index"), 0o600), os.RemoveAll(work(".git/objects")),
		os.Remove(work(".git/HEAD")), syscall.Mkfifo(work(".git/HEAD"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	found, patch := o.must()
	if _, err := os.Stat(proof); err == nil {
		t.Error("something was executed")
	}
	if strings.Contains(patch, "outside") {
		t.Error("the patch has the content of a file outside of the checkout")
	}
	got := map[string]penstock.ChangeStatus{}
	for _, f := range found.Files {
		got[f.Path] = f.Status
	}
	want := map[string]penstock.ChangeStatus{
		"a.txt": "modified", "dir": "added", "dir/b.txt": "deleted", "link": "added", "zero": "added", "loop": "added",
		".gitmodules": "added", "git~1/config": "added", "nested/file": "added", "hooks/.gitignore": "added",
		"hooks/post-index-change": "added", "hooks/reference-transaction": "added", "hooks/post-checkout": "added",
		"hooks/pre-auto-gc": "added",
	}
	for _, name := range names {
		want[strings.ToValidUTF8(name, "\uFFFD")] = "added"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if found.Branch != "" {
		t.Errorf("the branch is %q", found.Branch)
	}
	if !strings.Contains(patch, "-a\n+changed\n") {
		t.Errorf("the patch is\n%s", patch)
	}
}

// The result names what could not be compared.
func TestChangesThatCannotBeComputed(t *testing.T) {
	t.Parallel()
	o := checkOutForChanges(t, origin(t))
	o.write(strings.Repeat(strings.Repeat("d", 250)+"/", 16)+"deep", "x")
	if _, _, err := o.changes(); err == nil || !strings.Contains(err.Error(), "4000 bytes") {
		t.Errorf("a long path: %v", err)
	}
	if err := os.RemoveAll(o.base); err != nil {
		t.Fatal(err)
	}
	if _, _, err := o.changes(); err == nil || err.Error() != ErrNoBase.Error() {
		t.Errorf("without the base: %v", err)
	}
}

// The base survives the mirror, and a new history of the remote.
func TestChangesAfterTheMirrorIsGone(t *testing.T) {
	t.Parallel()
	o := checkOutForChanges(t, origin(t))
	if _, err := o.cache.Evict(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	o.write("README.md", "three\n")
	if found, patch := o.must(); len(found.Files) != 1 || !strings.Contains(patch, "-two\n+three\n") {
		t.Errorf("found %+v\n%s", found, patch)
	}
}
