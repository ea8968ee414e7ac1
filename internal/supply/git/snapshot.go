package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// Snapshot is a folder at a commit.
type Snapshot struct {
	Commit Commit
	Files  []Entry // in no particular order
}

// Commit is a commit. Its texts come from the author and are safe to show.
type Commit struct {
	ID      string
	Author  string // name and email address
	Subject string // the first line of its message
	At      time.Time
}

// Entry is a file of a [Snapshot], or a link or submodule.
type Entry struct {
	Path    string // relative to the folder, with slashes; may not be UTF-8
	Plain   bool   // a file; otherwise a link or a submodule
	Size    int64
	Content []byte // only if it was selected
}

// Window selects the part of a repository that a [Snapshot] shows.
type Window struct {
	// Space separates mirrors: a caller with access to one repository must not find objects that
	// another caller's credential has fetched.
	Space string
	Path  string                 // of the folder; "": the root
	List  func(path string) bool // whether to list a file
	Read  func(path string) bool // whether to read its content
	Max   int                    // maximum number of entries; more are omitted
	Bytes int64                  // limit of all contents together; above it, no content is read
}

// ErrNoFolder is returned if the folder does not exist at the commit.
var ErrNoFolder = errors.New("the folder does not exist")

// ErrManyFiles is returned if a folder has too many files to list.
var ErrManyFiles = errors.New("the folder has too many files")

const (
	maxList    = 8 << 20  // of a folder, in bytes
	maxSubject = 200      // bytes
	maxAuthor  = 200      // bytes
	perEntry   = 64 + 128 // maximum output of git for a file, beside its content
)

// Snapshot reads a folder of a repository at head. It fetches only this commit into the mirror,
// without its history. If the branch has moved since, it reads the new commit.
func (c *Cache) Snapshot(ctx context.Context, src Source, head Head, w Window) (Snapshot, error) {
	r, err := c.remote(src)
	if err != nil {
		return Snapshot{}, err
	}
	key := sha256.Sum256([]byte("snapshot\x00" + w.Space + "\x00" + strings.TrimRight(r.url, "/")))
	m := &mirror{Cache: c, remote: r, path: filepath.Join(c.dir, hex.EncodeToString(key[:16])+".git")}
	s, err := m.snapshot(ctx, head, w)
	if _, broken := errors.AsType[*brokenError](err); broken && ctx.Err() == nil { // create the mirror again, once
		if err = m.discard(ctx); err == nil {
			s, err = m.snapshot(ctx, head, w)
		}
	}
	return s, r.hide(err)
}

func (m *mirror) snapshot(ctx context.Context, head Head, w Window) (Snapshot, error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer lock.Close()
	commit, err := m.fetchHead(ctx, lock, head)
	if err != nil {
		return Snapshot{}, err
	}
	if err := waitLock(ctx, lock, filelock.Shared); err != nil {
		return Snapshot{}, err
	}
	v := view{m, lock}
	text, err := v.read(ctx, 0, "", "cat-file", "commit", commit)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Commit: parseCommit(commit, text)}
	if s.Files, err = v.files(ctx, commit, w); err != nil {
		err = fmt.Errorf("commit %s: %w", commit, err)
	}
	return s, err
}

// fetchHead fetches only the commit of a branch into the mirror, and returns its id.
func (m *mirror) fetchHead(ctx context.Context, lock *os.File, head Head) (string, error) {
	if err := m.clearLeftovers(); err != nil {
		return "", err
	}
	from, to := "HEAD", "refs/penstock/head"
	if head.Branch != "" {
		from = "refs/heads/" + head.Branch
		to = from
	}
	_, err := os.Stat(m.path)
	existed := err == nil
	if existed {
		if commit, err := m.resolve(ctx, lock, to); err == nil && commit == head.Commit {
			return commit, nil
		}
	}
	fetch := func() error {
		if err := m.initialize(ctx, lock, len(head.Commit)); err != nil {
			return err
		}
		_, err := m.run(ctx, command{args: []string{
			"fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", m.remote.url,
			"+" + from + ":" + to,
		}, repo: m.path, remote: &m.remote, watch: m.path, lock: lock})
		return err
	}
	err = fetch()
	if err != nil && ctx.Err() == nil { // the remote rejects the request or the mirror is damaged; nothing is lost
		again := existed && !errors.Is(err, ErrTooLarge)
		err = errors.Join(err, os.RemoveAll(m.path))
		if again {
			err = fetch()
		}
	}
	if retriable(ctx, err) {
		if _, probe := m.ask(ctx, lock, "--", m.remote.url, from); probe == nil {
			err = unfetched(from, err)
		}
	}
	if err != nil {
		return "", err
	}
	return m.resolve(ctx, lock, to)
}

// initialize creates the mirror if it does not exist. Ids of 64 digits are SHA-256.
func (m *mirror) initialize(ctx context.Context, lock *os.File, digits int) error {
	if _, err := os.Stat(m.path); err == nil {
		return nil
	}
	format := "sha1"
	if digits == 64 {
		format = "sha256"
	}
	_, err := m.run(ctx, command{args: []string{
		"init", "--quiet", "--bare", "--template=", "--object-format=" + format, "--initial-branch=" + unborn, "--", m.path,
	}, lock: lock})
	return err
}

// view reads a mirror under a lock, so that it does not change.
type view struct {
	*mirror

	lock *os.File
}

// read runs git and returns its output, at most most bytes; 0 means the default limit. A failure is
// an error of the mirror.
func (v view) read(ctx context.Context, most int, stdin string, args ...string) (string, error) {
	out, err := v.run(ctx, command{repo: v.path, args: args, local: true, lock: v.lock, most: most, stdin: stdin})
	if _, failed := errors.AsType[*runError](err); failed {
		err = &brokenError{err}
	}
	return out, err
}

// files lists a folder and reads the selected files.
func (v view) files(ctx context.Context, commit string, w Window) ([]Entry, error) {
	tree := commit + ":" + w.Path
	if w.Path != "" {
		kind, err := v.run(ctx, command{repo: v.path, args: []string{"cat-file", "-t", tree}, local: true, lock: v.lock})
		if _, failed := errors.AsType[*runError](err); failed || err == nil && strings.TrimSpace(kind) != "tree" {
			err = fmt.Errorf("%w: %s", ErrNoFolder, w.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	listing, cancel := context.WithTimeoutCause(ctx, v.listing, ErrManyFiles)
	list, err := v.read(listing, maxList, "", "ls-tree", "-r", "-l", "-z", "--full-tree", tree)
	cancel()
	if errors.Is(err, errLongOutput) {
		return nil, ErrManyFiles
	}
	if err != nil {
		return nil, err
	}
	var files []Entry
	var objects []string // in the order of files; "" for files that are not read
	size := int64(0)
	for line := range strings.SplitSeq(list, "\x00") {
		e, object, ok := parseEntry(line)
		if !ok || !w.List(e.Path) {
			continue
		}
		if len(files) == w.Max {
			break
		}
		if !e.Plain || !w.Read(e.Path) {
			object = ""
		} else {
			size += e.Size
		}
		files, objects = append(files, e), append(objects, object)
	}
	if size > w.Bytes {
		return files, nil
	}
	return files, v.contents(ctx, files, objects, size)
}

// parseEntry reads a line of ls-tree -l: mode, type, object and size, then a tab and the path.
func parseEntry(line string) (e Entry, object string, ok bool) {
	head, path, _ := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if len(fields) != 4 {
		return e, "", false
	}
	e = Entry{Path: path, Plain: fields[1] == "blob" && strings.HasPrefix(fields[0], "100")}
	e.Size, _ = strconv.ParseInt(fields[3], 10, 64) // "-" for a submodule
	return e, fields[2], true
}

// contents reads objects with one git process, each only once.
func (v view) contents(ctx context.Context, files []Entry, objects []string, size int64) error {
	wanted := slices.DeleteFunc(slices.Clone(objects), func(object string) bool { return object == "" })
	if len(wanted) == 0 {
		return nil
	}
	out, err := v.read(ctx, int(size)+perEntry*len(wanted), strings.Join(wanted, "\n")+"\n", "cat-file", "--batch")
	if err != nil {
		return err
	}
	for i, object := range objects {
		if object == "" {
			continue
		}
		head, rest, _ := strings.Cut(out, "\n")
		n := int(files[i].Size)
		if head != fmt.Sprintf("%s blob %d", object, n) || len(rest) <= n {
			return &brokenError{fmt.Errorf("object %s cannot be read: %q", object, head)}
		}
		files[i].Content, out = []byte(rest[:n]), rest[n+1:]
	}
	return nil
}

// parseCommit reads a commit object, and ignores parts that it cannot parse.
func parseCommit(id, text string) Commit {
	c := Commit{ID: id}
	header, message, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		who, when, _ := strings.Cut(value, "> ")
		switch name {
		case "author":
			c.Author = shown(who+">", maxAuthor)
		case "committer":
			seconds, _, _ := strings.Cut(when, " ")
			if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && n >= 0 && n < 1<<40 {
				c.At = time.Unix(n, 0)
			}
		}
	}
	subject, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	c.Subject = shown(subject, maxSubject)
	return c
}

// shown returns a text of a repository in one line, cut to most bytes.
func shown(s string, most int) string {
	s = strings.Join(strings.Fields(clean(s[:min(len(s), maxStderr)], nil)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
