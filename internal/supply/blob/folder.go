package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"
)

// No key of a caller leads to these: the folder of unfinished files, and a file that is locked
// while folders are created or removed.
const (
	tempDir  = ".tmp"
	treeFile = ".tree"
)

// folder keeps blobs as files below a folder. Several processes may share it, also on several
// machines if the file system supports flock(2) between them.
type folder struct {
	// root keeps all our file operations in the folder.
	root *os.Root
	// tree is held while folders are created and removed. Otherwise a removal could take a new
	// folder before its first file exists. The lock of shared does the same between processes.
	tree   sync.Mutex
	shared *os.File
}

// Open opens the folder dir, creates it if necessary, and removes the unfinished files of dead
// writers. It does not disturb active writers of other processes. The caller closes the store.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open blobs: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open blobs: %w", err)
	}
	s := &folder{root: root}
	if s.shared, err = root.OpenFile(treeFile, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open blobs: %w", err), root.Close())
	}
	if err := s.removeUnfinished(); err != nil {
		return nil, errors.Join(fmt.Errorf("open blobs: remove unfinished: %w", err), s.close())
	}
	return &Store{in: s, close: s.close}, nil
}

func (s *folder) close() error { return errors.Join(s.shared.Close(), s.root.Close()) }

// lockTree keeps all other callers and processes from creating and removing folders.
func (s *folder) lockTree() (unlock func(), err error) {
	s.tree.Lock()
	if err := flock(s.shared, syscall.LOCK_EX); err != nil {
		s.tree.Unlock()
		return nil, fmt.Errorf("lock the folders: %w", err)
	}
	return func() {
		_ = flock(s.shared, syscall.LOCK_UN) // of a file that is open and locked
		s.tree.Unlock()
	}, nil
}

func (s *folder) put(_ context.Context, key string, r io.Reader) (err error) {
	temp, name, err := s.create()
	if err != nil {
		return err
	}
	defer func() {
		_ = temp.Close() // synced before, or given up
		if err != nil {
			_ = s.root.Remove(name)
		}
	}()
	if _, err = io.Copy(temp, r); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	return s.publish(name, key)
}

func (s *folder) open(_ context.Context, key string) (io.ReadSeekCloser, int64, error) {
	f, err := s.root.Open(key)
	if absent(err) {
		return nil, 0, ErrNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotFound
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (s *folder) size(_ context.Context, key string) (int64, error) {
	info, err := s.root.Lstat(key)
	if absent(err) || err == nil && !info.Mode().IsRegular() {
		return 0, ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (s *folder) remove(_ context.Context, key string, before time.Time) (bool, error) {
	unlock, err := s.lockTree() // no put can come between the check and the removal
	if err != nil {
		return false, err
	}
	defer unlock()
	info, err := s.root.Lstat(key)
	if absent(err) || err == nil && (info.IsDir() || !before.IsZero() && !info.ModTime().Before(before)) {
		return false, nil
	}
	if err == nil {
		err = s.root.Remove(key)
	}
	if err == nil {
		err = s.syncDir(s.prune(path.Dir(key)))
	}
	if err != nil && !absent(err) {
		return false, err
	}
	return true, nil
}

func (s *folder) list(ctx context.Context, visit func(key string, at time.Time) bool) error {
	_, err := s.walk(ctx, ".", func(key string, info fs.FileInfo) bool { return visit(key, info.ModTime()) })
	return err
}

// sweep leaves the writers at work alone, however long they have been.
func (s *folder) sweep(context.Context, time.Time) error { return s.removeUnfinished() }

// walk visits all blobs below a folder until visit returns false, and then also returns false. It
// reads only a few names at a time, because a folder may have a million.
func (s *folder) walk(ctx context.Context, dir string, visit func(string, fs.FileInfo) bool) (goOn bool, err error) {
	const names = 256
	d, err := s.root.Open(dir)
	if absent(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = d.Close() }() // only read
	for {
		some, err := d.ReadDir(names)
		for _, e := range some {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			key := path.Join(dir, e.Name())
			if CheckKey(key) != nil { // is being written, or not ours
				continue
			}
			if goOn, err := s.visit(ctx, key, visit); err != nil || !goOn {
				return false, err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || absent(err):
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

func (s *folder) visit(ctx context.Context, key string, visit func(string, fs.FileInfo) bool) (goOn bool, err error) {
	info, err := s.root.Lstat(key)
	switch {
	case absent(err):
		return true, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return s.walk(ctx, key, visit)
	}
	return !info.Mode().IsRegular() || visit(key, info), nil
}

// publish moves temp to key, and returns when the move survives a power cut.
func (s *folder) publish(temp, key string) error {
	parents, err := s.place(temp, key)
	if err != nil {
		return err
	}
	for _, dir := range append(parents, path.Dir(key)) {
		// A concurrent Delete may have removed file and folder.
		if err := s.syncDir(dir); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// place moves temp to key, and returns the folders in which it created a folder.
func (s *folder) place(temp, key string) (parents []string, err error) {
	unlock, err := s.lockTree()
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir := "."
	defer func() {
		if err != nil {
			s.prune(dir)
		}
	}()
	for part := range strings.SplitSeq(path.Dir(key), "/") {
		next := path.Join(dir, part)
		switch err := s.root.Mkdir(next, 0o700); {
		case err == nil:
			parents = append(parents, dir)
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
		dir = next
	}
	if info, err := s.root.Lstat(key); err == nil && info.Mode().IsRegular() {
		return parents, ErrExists
	}
	return parents, s.root.Rename(temp, key)
}

// prune removes the folder dir and its empty parents, and returns the first folder that stays.
func (s *folder) prune(dir string) string {
	for dir != "." {
		// Remove would also remove a blob.
		if info, err := s.root.Lstat(dir); err != nil || !info.IsDir() || s.root.Remove(dir) != nil {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

func (s *folder) syncDir(dir string) error {
	d, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// absent reports whether err means that the file does not exist.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
