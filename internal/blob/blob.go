// Package blob stores data that is too large for the database: attachments, artifacts,
// transcripts and saved sessions. They are files in one folder. Several processes may share it,
// also on several machines if the file system supports flock(2) between them.
//
// When Put returns, its content is on the disk and survives a power cut. A failed Put leaves
// nothing. Callers of the API never choose keys.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	// ErrNotFound means that no blob has the key.
	ErrNotFound = errors.New("no such blob")
	// ErrTooLarge means that the content of a Put exceeds its limit.
	ErrTooLarge = errors.New("blob too large")
	// ErrOwned means that the folder belongs to another owner.
	ErrOwned = errors.New("the folder of another database")
	// ErrFull means that the storage is full, or the user's quota is used up.
	ErrFull = errors.New("storage full")
)

// MaxKey is the longest key, and MaxSegment the longest part of a key, in bytes.
const (
	MaxKey     = 512
	MaxSegment = 128
)

// No key leads to these: the folder of unfinished files, a file that is locked while folders
// are created or removed, and a file that names the owner.
const (
	tempDir   = ".tmp"
	treeFile  = ".tree"
	ownerFile = ".owner"
)

// Store is a folder of blobs. It is safe for concurrent use.
type Store struct {
	// root holds every file that we touch inside of the folder.
	root *os.Root
	// tree is held while folders come and go: between the making of a folder
	// and the first file in it, Delete must not take the folder for empty. The
	// lock of shared keeps other processes from it.
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
	s := &Store{root: root}
	if s.shared, err = root.OpenFile(treeFile, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open blobs: %w", err), root.Close())
	}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(fmt.Errorf("open blobs: remove unfinished: %w", err), s.Close())
	}
	return s, nil
}

// Close closes the folder. Files that Open returned stay open.
func (s *Store) Close() error { return errors.Join(s.shared.Close(), s.root.Close()) }

// lockTree keeps all other callers and processes from creating and removing folders.
func (s *Store) lockTree() (unlock func(), err error) {
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

// Own assigns the folder to owner, such as a database whose rows name the blobs. It returns
// ErrOwned if it belongs to another owner: each would remove the other's blobs as orphans.
func (s *Store) Own(owner string) error {
	unlock, err := s.lockTree()
	if err != nil {
		return fmt.Errorf("own blobs: %w", err)
	}
	defer unlock()
	had, err := s.root.ReadFile(ownerFile)
	switch {
	case absent(err):
		err = s.writeOwner(owner)
	case err == nil && string(had) != owner:
		err = ErrOwned
	}
	if err != nil {
		return fmt.Errorf("own blobs: %w", err)
	}
	return nil
}

func (s *Store) writeOwner(owner string) error {
	temp, name, err := s.create()
	if err != nil {
		return err
	}
	_, err = io.WriteString(temp, owner)
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return errors.Join(err, s.root.Remove(name))
	}
	return errors.Join(s.root.Rename(name, ownerFile), s.syncDir("."))
}

// Put stores the content of r under key, replaces an older blob, and returns the size and the
// SHA-256 in hexadecimal. More than limit bytes are ErrTooLarge; a negative limit means no
// limit. After any error, including an error of r, key is unchanged. If only the final sync
// fails, key may have the new content.
//
// A key that ends where another goes on (a and a/b) cannot be stored beside it.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, limit int64) (size int64, sum string, err error) {
	if err := CheckKey(key); err != nil {
		return 0, "", err
	}
	size, sum, err = s.put(ctx, key, r, limit)
	if err != nil {
		return 0, "", fmt.Errorf("put blob %s: %w", key, full(err))
	}
	return size, sum, nil
}

func (s *Store) put(ctx context.Context, key string, r io.Reader, limit int64) (size int64, sum string, err error) {
	temp, name, err := s.create()
	if err != nil {
		return 0, "", err
	}
	defer func() {
		_ = temp.Close() // synced before, or given up
		if err != nil {
			_ = s.root.Remove(name)
		}
	}()
	hash := sha256.New()
	if size, err = io.Copy(io.MultiWriter(temp, hash), limited(ctx, r, limit)); err != nil {
		return 0, "", err
	}
	if err := temp.Sync(); err != nil {
		return 0, "", err
	}
	if err := s.publish(name, key); err != nil {
		return 0, "", err
	}
	return size, hex.EncodeToString(hash.Sum(nil)), nil
}

// Open opens the blob of a key and returns its size. Later calls of Put and Delete do not
// change the open blob. The caller closes it.
func (s *Store) Open(_ context.Context, key string) (io.ReadSeekCloser, int64, error) {
	if err := CheckKey(key); err != nil {
		return nil, 0, err
	}
	f, err := s.root.Open(key)
	if absent(err) {
		return nil, 0, fmt.Errorf("open blob %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open blob %s: %w", key, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotFound
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("open blob %s: %w", key, err)
	}
	return f, info.Size(), nil
}

// Delete removes the blob of a key. A missing blob is not an error.
func (s *Store) Delete(_ context.Context, key string) error {
	_, err := s.remove(key, func(fs.FileInfo) bool { return true })
	return err
}

// DeleteOlder removes the blob of a key unless it was put at t or later. It reports whether it
// removed the blob.
func (s *Store) DeleteOlder(_ context.Context, key string, t time.Time) (bool, error) {
	return s.remove(key, func(info fs.FileInfo) bool { return info.ModTime().Before(t) })
}

func (s *Store) remove(key string, wanted func(fs.FileInfo) bool) (bool, error) {
	if err := CheckKey(key); err != nil {
		return false, err
	}
	unlock, err := s.lockTree() // no Put comes between the look and the removal
	if err != nil {
		return false, fmt.Errorf("delete blob %s: %w", key, err)
	}
	defer unlock()
	info, err := s.root.Lstat(key)
	if err == nil && (info.IsDir() || !wanted(info)) || absent(err) {
		return false, nil
	}
	if err == nil {
		err = s.root.Remove(key)
	}
	if err == nil {
		err = s.syncDir(s.prune(path.Dir(key)))
	}
	if err != nil && !absent(err) {
		return false, fmt.Errorf("delete blob %s: %w", key, err)
	}
	return true, nil
}

// Between lists the keys that were last put at from or later and before to, in no order that
// counts. It ends with the first error. Blobs that are put or deleted in the meantime may or
// may not be listed.
func (s *Store) Between(ctx context.Context, from, to time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		_, err := s.walk(ctx, ".", func(key string, info fs.FileInfo) bool {
			at := info.ModTime()
			return at.Before(from) || !at.Before(to) || yield(key, nil)
		})
		if err != nil {
			yield("", fmt.Errorf("list blobs: %w", err))
		}
	}
}

// walk visits all blobs below a folder until visit says no, of which it tells. It holds
// a few names of each folder at a time: one may have a million.
func (s *Store) walk(ctx context.Context, dir string, visit func(string, fs.FileInfo) bool) (goOn bool, err error) {
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

func (s *Store) visit(ctx context.Context, key string, visit func(string, fs.FileInfo) bool) (goOn bool, err error) {
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

// CheckKey returns the error of a key: it is made of parts of the characters a-z 0-9 _ . - with
// slashes between them, and no part begins with a dot.
func CheckKey(key string) error {
	if len(key) > MaxKey {
		return fmt.Errorf("blob key has %d bytes; at most %d are allowed", len(key), MaxKey)
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "":
			return fmt.Errorf("blob key %q has an empty part", key)
		case len(part) > MaxSegment:
			return fmt.Errorf("blob key %q has a part of more than %d bytes", key, MaxSegment)
		case part[0] == '.':
			return fmt.Errorf("blob key %q has a part that begins with a dot", key)
		case strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "":
			return fmt.Errorf("blob key %q has characters other than a-z 0-9 _ . - /", key)
		}
	}
	return nil
}

// publish moves temp to key, and returns when the move survives a power cut.
func (s *Store) publish(temp, key string) error {
	parents, err := s.place(temp, key)
	if err != nil {
		return err
	}
	for _, dir := range append(parents, path.Dir(key)) {
		// A Delete that was quicker may have taken file and folder with it.
		if err := s.syncDir(dir); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// place moves temp to key, and returns the folders in which it created a folder.
func (s *Store) place(temp, key string) (parents []string, err error) {
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
	return parents, s.root.Rename(temp, key)
}

// prune removes the folder dir and those above it as far as they are empty, and
// returns the first that stays.
func (s *Store) prune(dir string) string {
	for dir != "." {
		// Remove would take a blob as well.
		if info, err := s.root.Lstat(dir); err != nil || !info.IsDir() || s.root.Remove(dir) != nil {
			break
		}
		dir = path.Dir(dir)
	}
	return dir
}

func (s *Store) syncDir(dir string) error {
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

// full converts the operating system's errors of a full disk to ErrFull.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// limited reads r until ctx ends, and returns an error after limit bytes unless limit is
// negative.
func limited(ctx context.Context, r io.Reader, limit int64) io.Reader {
	left := limit
	return readFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if limit >= 0 && int64(len(p)) > left {
			p = p[:left+1] // one more tells the limit from the end
		}
		n, err := r.Read(p)
		if left -= int64(n); limit >= 0 && left < 0 {
			return 0, ErrTooLarge
		}
		return n, err
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
