package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // the hash that git uses
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/penstock-dev/penstock"
)

const (
	modeFile    = "100644"
	modeProgram = "100755"
	modeLink    = "120000"
	modeModule  = "160000"
)

// walk compares every file of the checkout, folder by folder from the top, so that one git decides
// for all files of a level whether they are ignored.
func (w *comparer) walk() error {
	for level := []string{""}; len(level) > 0; {
		var next, files, folders []string
		for _, dir := range level {
			if err := context.Cause(w.ctx); err != nil {
				return err
			}
			if err := w.list(dir, &next, &files, &folders); err != nil {
				return err
			}
		}
		ignored, err := w.ignored(append(files, folders...))
		if err != nil {
			return err
		}
		skip := func(path string) bool { return ignored[path] }
		for _, path := range slices.DeleteFunc(files, skip) {
			if err := w.compare(path, nil); err != nil {
				return err
			}
		}
		level = slices.Concat(next, slices.DeleteFunc(folders, skip))
	}
	return nil
}

// list reads one folder. It compares the tracked files, and returns the folders with tracked files,
// and all other files and folders.
func (w *comparer) list(dir string, next, files, folders *[]string) error {
	file, err := w.Dir.OpenFile(orTop(dir), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		if dir == "" {
			return ErrNoWorkTree
		}
		return nil // removed since it was listed, or not readable
	}
	defer file.Close()
	if err := w.copyIgnoreFile(dir); err != nil {
		return err
	}
	for {
		entries, err := file.ReadDir(1024)
		for _, e := range entries {
			path := e.Name()
			if dir != "" {
				path = dir + "/" + path
			}
			if strings.EqualFold(e.Name(), ".git") {
				continue // git does not accept such a name
			}
			if err := w.entry(path, e, next, files, folders); err != nil {
				return err
			}
		}
		if err != nil { // also io.EOF
			return nil
		}
	}
}

func orTop(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

func (w *comparer) entry(path string, e fs.DirEntry, next, files, folders *[]string) error {
	if w.entries++; w.entries > maxEntries {
		return errManyEntries
	}
	if len(path) > maxPathBytes {
		return errLongPath
	}
	t := w.tracked[path]
	switch {
	case t != nil && t.mode == modeModule:
		t.seen = true
	case e.IsDir() && w.folders[path]:
		*next = append(*next, path)
		return w.makeFolder(path)
	case e.IsDir():
		*folders = append(*folders, path)
		return w.makeFolder(path) // so that a pattern for folders matches it
	case !e.Type().IsRegular() && e.Type() != fs.ModeSymlink: // a socket or pipe
	case t != nil:
		return w.compare(path, t)
	default:
		*files = append(*files, path)
	}
	return nil
}

func (w *comparer) makeFolder(path string) error {
	return os.Mkdir(filepath.Join(w.Scratch, path), 0o700)
}

// copyIgnoreFile copies the .gitignore file of a folder into Scratch.
func (w *comparer) copyIgnoreFile(dir string) error {
	name := filepath.Join(dir, ".gitignore")
	if info, err := w.Dir.Lstat(name); err == nil && info.Mode().IsRegular() { // git does not follow a link either
		if content, large, err := w.read(name, maxIgnoreFile); err == nil && !large {
			return os.WriteFile(filepath.Join(w.Scratch, name), []byte(content), 0o600)
		}
	}
	return nil
}

// ignored returns the paths that a .gitignore file excludes.
func (w *comparer) ignored(paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	if len(paths) == 0 {
		return ignored, nil
	}
	// Without the prefix, git would read a name that begins with a colon as a pattern.
	const prefix = "./"
	out, err := w.cache.run(w.ctx, command{
		args: []string{"check-ignore", "-z", "--stdin", "--no-index"}, repo: w.Scratch, local: true,
		stdin: prefix + strings.Join(paths, "\x00"+prefix) + "\x00", most: maxEntries * maxPathBytes,
	})
	if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() == 1 {
		return ignored, nil // it ignores none
	}
	if err != nil {
		return nil, err
	}
	for path := range strings.SplitSeq(out, "\x00") {
		ignored[strings.TrimPrefix(path, prefix)] = true
	}
	return ignored, nil
}

// compare adds a file to the changed ones if it differs from the commit. was is nil for a file that
// the commit does not have.
func (w *comparer) compare(path string, was *trackedFile) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	f, err := w.open(path, was)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since it was listed: the same as if it had been removed before
	}
	f.large = f.large || err != nil // not readable
	if was != nil {
		was.seen = true
	}
	if f.mode != "" {
		w.left -= int64(len(f.content))
		w.changed = append(w.changed, f)
	}
	return nil
}

// open reads a file that may have changed. mode is "" if it has not.
func (w *comparer) open(path string, was *trackedFile) (f changedFile, err error) {
	f = changedFile{path: path, was: was, mode: modeFile}
	info, err := w.Dir.Lstat(path)
	switch {
	case err != nil:
	case info.Mode().Type() == fs.ModeSymlink:
		f.mode = modeLink
		f.content, err = w.Dir.Readlink(path)
		if err == nil && was != nil && was.mode == modeLink && blobID(was.object, f.content) == was.object {
			f.mode = ""
		}
	case info.Mode().IsRegular():
		if info.Mode()&0o100 != 0 {
			f.mode = modeProgram
		}
		if was != nil && was.mode == f.mode && was.size == info.Size() && w.same(path, was) {
			f.mode = ""
			return f, nil
		}
		f.content, f.large, err = w.read(path, min(maxContent, w.left))
	default:
		err = fs.ErrNotExist
	}
	return f, err
}

// same reports whether a file has the content of the commit.
func (w *comparer) same(path string, was *trackedFile) bool {
	file, err := w.Dir.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	sum := newBlobHash(was.object, was.size)
	n, err := io.Copy(sum, io.LimitReader(file, was.size+1))
	return err == nil && n == was.size && hex.EncodeToString(sum.Sum(nil)) == was.object
}

// newBlobHash returns git's hash of a blob, in the format of another object.
func newBlobHash(like string, size int64) hash.Hash {
	sum := sha1.New() //nolint:gosec // the hash that git uses
	if len(like) == 2*sha256.Size {
		sum = sha256.New()
	}
	_, _ = fmt.Fprintf(sum, "blob %d\x00", size) // a hash cannot fail
	return sum
}

func blobID(like, content string) string {
	sum := newBlobHash(like, int64(len(content)))
	_, _ = io.WriteString(sum, content)
	return hex.EncodeToString(sum.Sum(nil))
}

// status says what happened to a file that is not in the patch.
func (f changedFile) status() penstock.ChangeStatus {
	switch {
	case f.was == nil:
		return FileAdded
	case f.mode == "":
		return FileDeleted
	}
	return FileModified
}
