package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// The kinds of changes of a file.
const (
	FileAdded    penstock.ChangeStatus = "added"
	FileModified penstock.ChangeStatus = "modified"
	FileDeleted  penstock.ChangeStatus = "deleted"
	FileRenamed  penstock.ChangeStatus = "renamed"
)

// Limits of a comparison.
const (
	maxCompare     = 60 * time.Second
	maxCompareList = 64 << 20 // bytes of the listing of a commit
	maxEntries     = 500_000  // files and folders that are not ignored
	maxPathBytes   = 4000
	maxIgnoreFile  = 1 << 20
	maxContent     = 4 << 20  // of one file that is compared line by line
	maxContents    = 32 << 20 // of all these files
	maxChanged     = 1000     // files that are listed
	maxChangedText = 100 << 10
)

// The reasons for which changes cannot be computed. Their text is for users.
var (
	ErrNoBase      = errors.New("the worker does not have the commit that was checked out")
	ErrNoWorkTree  = errors.New("the directory of the repository no longer exists")
	errSlowCompare = fmt.Errorf("the comparison took longer than %d seconds", int(maxCompare.Seconds()))
	errManyEntries = fmt.Errorf("the repository has more than %d files that are not ignored", maxEntries)
	errLongPath    = fmt.Errorf("the path of a file has more than %d bytes", maxPathBytes)
)

// Comparison says what Changes compares.
type Comparison struct {
	// Base is the folder that CheckoutWithBase filled.
	Base string
	// Dir is the checkout. Others may be writing there.
	Dir *os.Root
	// Scratch is a missing folder that nobody else can write to. The caller removes it.
	Scratch string
	// Mask removes secrets from a text. It may be nil.
	Mask func(string) string
}

// Changes compares the files of a checkout with those that were checked out, and returns a unified
// diff of at most penstock.MaxPatchBytes. Files that the repository's .gitignore files ignore do
// not count, unless the commit has them.
//
// A checkout is hostile, and its owner can change it at any time. So git never runs there: files
// are read through Dir, and git sees only copies of .gitignore files and of changed files in
// Scratch, under a configuration of ours. The file .git/info/exclude has no effect, and neither has
// the index. The content of submodules does not count.
func (c *Cache) Changes(ctx context.Context, o Comparison) (penstock.RepositoryChanges, []byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxCompare, errSlowCompare)
	defer cancel()
	w := &comparer{Comparison: o, cache: c, ctx: ctx, left: maxContents}
	if w.Mask == nil {
		w.Mask = func(s string) string { return s }
	}
	found, patch, err := w.run()
	if err != nil {
		err = &hiddenError{err, clean(strings.ReplaceAll(err.Error(), filepath.Dir(o.Base)+"/", ""), nil)}
	}
	return found, patch, err
}

// comparer is one call of Changes.
type comparer struct {
	Comparison
	cache   *Cache
	ctx     context.Context //nolint:containedctx // of this call
	tree    string
	tracked map[string]*trackedFile
	folders map[string]bool // that have tracked files
	entries int
	left    int64 // bytes that may still be compared
	changed []changedFile
}

// trackedFile is a file of the commit.
type trackedFile struct {
	mode, object string
	size         int64
	seen         bool
}

// changedFile is a file that differs from the commit.
type changedFile struct {
	path    string
	was     *trackedFile // nil: added
	mode    string       // "": deleted
	content string
	large   bool // content is not read
}

func (w *comparer) run() (penstock.RepositoryChanges, []byte, error) {
	found := penstock.RepositoryChanges{Files: []penstock.FileChange{}, Branch: w.branch()}
	if _, err := os.Stat(filepath.Join(w.Base, "HEAD")); err != nil {
		return found, nil, ErrNoBase
	}
	tree, err := w.git(w.Base, "rev-parse", filesRef)
	if err != nil {
		return found, nil, err
	}
	w.tree = strings.TrimSpace(tree)
	commit, err := w.git(w.Base, "rev-parse", "--verify", "--quiet", "HEAD")
	if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() == 1 {
		err = nil // an unborn branch was checked out
	}
	if err != nil {
		return found, nil, err
	}
	found.Base = strings.TrimSpace(commit)
	if err := w.prepare(); err != nil {
		return found, nil, err
	}
	if err := w.walk(); err != nil {
		return found, nil, err
	}
	for path, t := range w.tracked {
		if !t.seen {
			w.changed = append(w.changed, changedFile{path: path, was: t})
		}
	}
	if len(w.changed) == 0 {
		return found, nil, nil
	}
	patch, err := w.diff(&found)
	return found, patch, err
}

// git runs a local git in a repository of ours.
func (w *comparer) git(repo string, args ...string) (string, error) {
	return w.cache.run(w.ctx, command{args: args, repo: repo, local: true, most: maxCompareList})
}

// branch returns the branch that the checkout is on, or "".
func (w *comparer) branch() string {
	head, _, err := w.read(".git/HEAD", 1024)
	name, isBranch := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/")
	if err != nil || !isBranch || name == "" || CheckRef(name) != nil || !utf8.ValidString(name) {
		return ""
	}
	return w.Mask(name)
}

// prepare makes a repository in Scratch that can read the objects of Base, and lists the commit.
func (w *comparer) prepare() error {
	format, err := w.git(w.Base, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	_, err = w.git(w.Base, "init", "--quiet", "--template=", "--object-format="+strings.TrimSpace(format), "--", w.Scratch)
	if err != nil {
		return err
	}
	info := filepath.Join(w.Scratch, ".git", "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	alternate := filepath.Join(w.Base, "objects") + "\n"
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(alternate), 0o600); err != nil {
		return err
	}
	list, err := w.git(w.Scratch, "ls-tree", "-r", "-l", "-z", "--full-tree", w.tree)
	if errors.Is(err, errLongOutput) {
		return errManyEntries
	}
	if err != nil {
		return err
	}
	w.tracked, w.folders = map[string]*trackedFile{}, map[string]bool{"": true}
	for line := range strings.SplitSeq(list, "\x00") {
		head, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 {
			continue
		}
		t := &trackedFile{mode: fields[0], object: fields[2]}
		t.size, _ = strconv.ParseInt(fields[3], 10, 64) // "-" for a submodule
		w.tracked[path] = t
		for dir := folder(path); !w.folders[dir]; dir = folder(dir) {
			w.folders[dir] = true
		}
	}
	return nil
}

// folder returns the folder of a path, "" for the top.
func folder(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// read reads a file of the checkout if it is regular and has at most limit bytes; otherwise, large
// is true. It never waits, and links cannot lead out of the checkout.
func (w *comparer) read(path string, limit int64) (content string, large bool, err error) {
	file, err := w.Dir.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", false, errors.Join(err, os.ErrNotExist)
	}
	if info.Size() > limit {
		return "", true, nil
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	return string(data), int64(len(data)) > limit, err
}
