package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// workspace holds the directories that the file tools may access. No symbolic link can lead out of
// them.
type workspace struct {
	dirs []workDir // the session's cwd first
}

type workDir struct {
	path string
	root *os.Root
}

var errOutside = errors.New("the path is outside the workspace")

// openWorkspace opens the directories, all of which must be absolute.
func openWorkspace(cwd string, more []string) (*workspace, error) {
	w := &workspace{}
	for _, dir := range append([]string{cwd}, more...) {
		if !filepath.IsAbs(dir) {
			w.close()
			return nil, fmt.Errorf("the directory %q is not absolute", dir)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			w.close()
			return nil, err
		}
		w.dirs = append(w.dirs, workDir{filepath.Clean(dir), root})
	}
	return w, nil
}

func (w *workspace) close() {
	for _, d := range w.dirs {
		d.root.Close()
	}
}

// cwd returns the session's directory.
func (w *workspace) cwd() string { return w.dirs[0].path }

// locate finds the directory of a path, and the path in it. A relative path starts at the cwd.
func (w *workspace) locate(path string) (d workDir, rel string, err error) {
	if strings.ContainsRune(path, 0) {
		return d, "", errOutside
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.cwd(), path)
	}
	for _, d := range w.dirs {
		rel, err := filepath.Rel(d.path, path)
		if err == nil && filepath.IsLocal(rel) {
			return d, rel, nil
		}
	}
	return d, "", errOutside
}

// absolute returns the path for the client.
func (w *workspace) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.cwd(), path)
}

// maxFile is the largest file that the tools read.
const maxFile = 16 << 20

// read returns the content of a regular file. It never waits for a pipe or device in place of a
// file.
func (w *workspace) read(path string) ([]byte, error) {
	d, rel, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	return readRegular(d.root, rel)
}

func readRegular(root *os.Root, rel string) ([]byte, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, plain(err)
	}
	switch {
	case info.IsDir():
		return nil, errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("the file has %d bytes; the limit is %d", info.Size(), maxFile)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// write replaces the content of a file, or creates it with its directories.
func (w *workspace) write(path string, data []byte) error {
	d, rel, err := w.locate(path)
	if err != nil {
		return err
	}
	if dir := filepath.Dir(rel); dir != "." {
		if err := d.root.MkdirAll(dir, 0o755); err != nil {
			return plain(err)
		}
	}
	// Without O_NONBLOCK, this would wait for a pipe in place of the file.
	f, err := d.root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return plain(err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return errors.New("it is not a regular file")
	}
	_, err = f.Write(data)
	return plain(errors.Join(err, f.Close()))
}

func (w *workspace) remove(path string) error {
	d, rel, err := w.locate(path)
	if err != nil {
		return err
	}
	return plain(d.root.Remove(rel))
}

// stat returns information about a file.
func (w *workspace) stat(path string) (fs.FileInfo, error) {
	d, rel, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	info, err := d.root.Stat(rel)
	return info, plain(err)
}

// plain takes the path out of an error: the caller names it as it was given.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// isBinary reports whether data should not be shown as text.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0
}

// clean makes s valid as JSON text and in the store: valid UTF-8
// without NUL.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// cut shortens s to at most n bytes, at a rune's end, and says so.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[… %d more bytes]", s[:n], len(s)-n)
}
