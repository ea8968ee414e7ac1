package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// CheckURL returns an error if the URL of a remote is invalid for this cache. A nil cache accepts
// no local URLs.
func (c *Cache) CheckURL(raw string) error { return CheckURL(raw, c != nil && c.local) }

// Names returns the last two parts of a repository's URL, without .git: usually its owner and name.
// Each may be "".
func Names(url string) (owner, name string) {
	parts := strings.FieldsFunc(
		strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"), func(r rune) bool { return r == '/' || r == ':' },
	)
	if n := len(parts); n > 0 {
		name = parts[n-1]
		if n > 1 {
			owner = parts[n-2]
		}
	}
	return owner, name
}

// File is a regular file of a repository.
type File struct {
	Path    string // relative to the repository's root, with slashes
	Size    int64
	Content string // "" if Size exceeds the limit
}

// Selection says which files to read.
type Selection struct {
	Dirs    []string               // only files below these
	Match   func(path string) bool // only matching files
	MaxSize int64                  // of a file that is read; at most 1 MiB
	MaxAll  int64                  // bytes of all files that are read; more are an error
	Max     int                    // number of files; more are an error
}

// Files reads files of src without a checkout. It contacts the remote each time, but fetches only
// objects that the mirror lacks. It omits links, submodules and names that are not UTF-8. A missing
// folder counts as empty.
func (c *Cache) Files(ctx context.Context, src Source, s Selection) ([]File, error) {
	r, err := c.remote(src)
	if err != nil {
		return nil, err
	}
	if err := CheckRef(src.Ref); err != nil {
		return nil, err
	}
	m := c.mirror(r)
	files, err := m.files(ctx, src.Ref, s)
	var broken *brokenError
	if errors.As(err, &broken) && ctx.Err() == nil { // as in checkout: create the mirror again, once
		if err = m.discard(ctx); err == nil {
			files, err = m.files(ctx, src.Ref, s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.url, r.hide(err))
	}
	return files, nil
}

func (m *mirror) files(ctx context.Context, ref string, s Selection) ([]File, error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	t, err := m.update(ctx, lock, ref)
	if err != nil || t.commit == "" {
		return nil, err
	}
	if err := waitLock(ctx, lock, filelock.Shared); err != nil {
		return nil, err
	}
	read := func(ctx context.Context, args ...string) (string, error) {
		out, err := m.run(ctx, command{repo: m.path, args: args, local: true, lock: lock})
		if _, failed := errors.AsType[*runError](err); failed {
			err = &brokenError{err}
		}
		return out, err
	}
	listing, cancel := context.WithTimeoutCause(ctx, m.listing, ErrManyFiles)
	list, err := read(listing, append([]string{"ls-tree", "-r", "-l", "-z", "--full-tree", t.commit, "--"}, s.Dirs...)...)
	cancel()
	if err != nil {
		return nil, err
	}
	var files []File
	left := s.MaxAll
	for entry := range strings.SplitSeq(list, "\x00") {
		f, object, ok := treeEntry(entry)
		if !ok || !s.Match(f.Path) {
			continue
		}
		if len(files) == s.Max {
			return nil, fmt.Errorf("more than %d files would be read", s.Max)
		}
		if f.Size <= min(s.MaxSize, maxStdout) {
			if left -= f.Size; left < 0 {
				return nil, fmt.Errorf("the files have more than %d bytes", s.MaxAll)
			}
			if f.Content, err = read(ctx, "cat-file", "blob", object); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	return files, nil
}

// treeEntry reads a line of ls-tree: mode, type, object and size, then a tab and the path. It
// returns false if the entry is not a regular file.
func treeEntry(entry string) (f File, object string, ok bool) {
	head, path, _ := strings.Cut(entry, "\t")
	fields := strings.Fields(head)
	if len(fields) != 4 || fields[1] != "blob" || !strings.HasPrefix(fields[0], "100") || !utf8.ValidString(path) {
		return f, "", false
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	return File{Path: path, Size: size}, fields[2], err == nil
}
