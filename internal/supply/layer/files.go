package layer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Files are the files of the parts of a workspace at one time, by part and path.
type Files map[string]map[string]File

// File is what is known about a file without reading it. It differs after each change of the file: its
// owner may set all times, except Changed.
type File struct {
	Mode              fs.FileMode // with the type
	Size              int64       // of a regular file
	Modified, Changed int64       // in nanoseconds
	Inode             uint64
	Same              string // the first of its names, for a further one
}

// Bounds of the files of one workspace, and of their paths in bytes.
const (
	maxScanned = 1_000_000
	maxPaths   = 128 << 20
)

// ErrTooMany is returned for a workspace with more files, or deeper folders, than can be kept.
var ErrTooMany = errors.New("the workspace has too many files or levels of folders")

// tick is more than the steps in which the kernel counts the time of a change.
const tick = 20 * time.Millisecond

// Scan reads which files there are. It leaves out what no layer has: sockets, pipes, devices and the
// locks of Git.
func Scan(ctx context.Context, parts []Part) (Files, error) {
	found, restore, err := scan(ctx, parts)
	return found, errors.Join(err, restore())
}

// scan is Scan, and makes all folders accessible for their owner until restore is called.
func scan(ctx context.Context, parts []Part) (found Files, restore func() error, err error) {
	found = Files{}
	begun, left, paths := time.Now(), maxScanned, maxPaths
	var opened []func() error
	restore = func() error {
		var err error
		for _, undo := range slices.Backward(opened) { // the content before its folder
			if undone := undo(); !errors.Is(undone, fs.ErrNotExist) {
				err = errors.Join(err, undone)
			}
		}
		return err
	}
	for _, p := range parts {
		s := &scanner{
			part: p, begun: begun, found: map[string]File{}, names: map[any]string{}, left: &left, paths: &paths,
			opened: &opened,
		}
		if err := s.folder(ctx, ".", p.From, 0); err != nil {
			return nil, restore, fmt.Errorf("read the files of %s: %w", p.Name, err)
		}
		found[p.Name] = s.found
	}
	return found, restore, nil
}

type scanner struct {
	part   Part
	begun  time.Time
	found  map[string]File
	names  map[any]string // the first names of files with several
	left   *int
	paths  *int
	opened *[]func() error // undo what made folders accessible
}

func (s *scanner) folder(ctx context.Context, name string, in *os.Root, level int) error {
	entries, err := readDir(in)
	if err != nil {
		return err
	}
	if level > maxLevels {
		return ErrTooMany
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		full := path.Join(name, e.Name())
		if leftOut(full, e.IsDir()) {
			continue
		}
		info, err := in.Lstat(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		if err := s.entry(ctx, full, info, in, level); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) entry(ctx context.Context, full string, info fs.FileInfo, in *os.Root, level int) error {
	f := File{Mode: info.Mode(), Modified: info.ModTime().UnixNano()}
	f.Changed, f.Inode = stamp(info)
	if time.Unix(0, f.Changed).Add(tick).After(s.begun) { // for all names of a file, or for none
		f.Changed = -s.begun.UnixNano() // a later change may have the same time, so it equals no other scan
	}
	switch info.Mode().Type() {
	case 0:
		f.Size = info.Size()
		if id, several := identity(info); several {
			if first, seen := s.names[id]; seen {
				f.Same = first
			} else {
				s.names[id] = full
			}
		}
	case fs.ModeDir, fs.ModeSymlink:
	default:
		if !s.part.Changes || !hides(info) {
			return nil
		}
	}
	*s.left, *s.paths = *s.left-1, *s.paths-len(full)
	if *s.left < 0 || *s.paths < 0 {
		return ErrTooMany
	}
	s.found[full] = f
	if !info.IsDir() {
		return nil
	}
	return s.enter(ctx, full, info, in, level)
}

// enter scans a folder, also one that its owner may not read. It does nothing if the folder is gone.
func (s *scanner) enter(ctx context.Context, full string, info fs.FileInfo, in *os.Root, level int) error {
	if perm := info.Mode().Perm(); perm&0o500 != 0o500 {
		if err := in.Chmod(info.Name(), perm|0o500); err != nil {
			return err
		}
		*s.opened = append(*s.opened, func() error { return s.part.From.Chmod(full, perm) })
	}
	below, err := in.OpenRoot(info.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer below.Close()
	return s.folder(ctx, full, below, level+1)
}
