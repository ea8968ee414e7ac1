// Package blob stores data that is too large for the database: attachments, artifacts,
// transcripts and saved sessions. They are files in a folder, or objects in a bucket of an object
// store. Several processes may share either.
//
// When Put returns, its content is stored durably. A key has one content: it can be deleted, but
// not replaced. Callers of the API never choose keys.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"syscall"
	"time"
)

var (
	// ErrNotFound is returned if no blob has the key.
	ErrNotFound = errors.New("no such blob")
	// ErrExists is returned if a blob has the key already.
	ErrExists = errors.New("the blob exists")
	// ErrTooLarge is returned if the content of a Put exceeds its limit.
	ErrTooLarge = errors.New("blob too large")
	// ErrOwned is returned if the blobs belong to another owner.
	ErrOwned = errors.New("the blobs of another database")
	// ErrFull is returned if the storage is full, or the user's quota is used up.
	ErrFull = errors.New("storage full")
	// ErrUnavailable is returned if the object store does not work now. The call can be repeated.
	ErrUnavailable = errors.New("object store unavailable")
)

var errReplaces = errors.New("the object store replaces objects in spite of If-None-Match: it cannot be used")

// MaxKey is the longest key, and MaxSegment the longest part of a key, in bytes.
const (
	MaxKey     = 512
	MaxSegment = 128
)

// ownerKey is the blob that names the owner. No key of a caller leads to it.
const ownerKey = ".owner"

// Store holds blobs. It is safe for concurrent use.
type Store struct {
	in    backend
	close func() error // nil: there is nothing to close
	link  linker       // nil: blobs have no links
}

// backend is a folder or a bucket. Its errors are not wrapped.
type backend interface {
	// put stores what r has, or returns ErrExists. After an error of r nothing is stored.
	put(ctx context.Context, key string, r io.Reader) error
	open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error)
	size(ctx context.Context, key string) (int64, error)
	// remove reports whether it removed the blob, which must be from before a time that is not zero.
	remove(ctx context.Context, key string, before time.Time) (bool, error)
	list(ctx context.Context, visit func(key string, at time.Time) bool) error
	sweep(ctx context.Context, before time.Time) error
}

// Close closes the store. Blobs that Open returned stay open.
func (s *Store) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Own assigns the store to owner, such as a database whose rows name the blobs. It returns
// ErrOwned if it belongs to another owner: each would remove the other's blobs as orphans.
func (s *Store) Own(ctx context.Context, owner string) error {
	had, err := s.Owner(ctx)
	if err == nil && had == "" {
		if err = s.in.put(ctx, ownerKey, strings.NewReader(owner)); errors.Is(err, ErrExists) || err == nil {
			had, err = s.Owner(ctx)
		}
	}
	switch {
	case err == nil && had != owner:
		err = ErrOwned
	case err == nil:
		// Where a second put is not refused, a late one could replace what a row describes.
		if err = s.in.put(ctx, ownerKey, strings.NewReader(owner)); err == nil {
			err = errReplaces
		} else if errors.Is(err, ErrExists) {
			return nil
		}
	}
	return fmt.Errorf("own blobs: %w", err)
}

// Owner returns the owner of the store, "" if it has none yet.
func (s *Store) Owner(ctx context.Context) (string, error) {
	const most = 1 << 10
	r, _, err := s.in.open(ctx, ownerKey)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the owner of the blobs: %w", err)
	}
	defer r.Close()
	owner, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return "", fmt.Errorf("read the owner of the blobs: %w", err)
	}
	return string(owner), nil
}

// Put stores the content of r under key, and returns the size and the SHA-256 in hexadecimal.
// More than limit bytes are ErrTooLarge; a negative limit means no limit. A key that has a blob
// keeps it, and Put returns ErrExists.
//
// A failed Put changes nothing. But if the last step fails, such as the final sync of a folder
// or the response of an object store, key may have the whole content.
//
// In a folder, a key cannot be the folder of another key (a and a/b).
func (s *Store) Put(ctx context.Context, key string, r io.Reader, limit int64) (size int64, sum string, err error) {
	if err := CheckKey(key); err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	content := readFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		_, _ = hash.Write(p[:n]) // never fails
		size += int64(n)
		return n, err
	})
	if err := s.in.put(ctx, key, limited(ctx, content, limit)); err != nil {
		return 0, "", fmt.Errorf("put blob %s: %w", key, full(err))
	}
	return size, hex.EncodeToString(hash.Sum(nil)), nil
}

// Open opens the blob of a key and returns its size. A Delete does not change an open file, but
// reading an open object can return ErrNotFound after it. The caller closes it.
func (s *Store) Open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error) {
	if err := CheckKey(key); err != nil {
		return nil, 0, err
	}
	r, size, err := s.in.open(ctx, key)
	if err != nil {
		return nil, 0, fmt.Errorf("open blob %s: %w", key, err)
	}
	return r, size, nil
}

// Size returns the size of the blob of a key.
func (s *Store) Size(ctx context.Context, key string) (int64, error) {
	if err := CheckKey(key); err != nil {
		return 0, err
	}
	size, err := s.in.size(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("find blob %s: %w", key, err)
	}
	return size, nil
}

// Delete removes the blob of a key. A missing blob is not an error.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.DeleteOlder(ctx, key, time.Time{})
	return err
}

// DeleteOlder removes the blob of a key unless it was put at t or later; a zero t removes it in
// any case. It reports whether it removed the blob.
func (s *Store) DeleteOlder(ctx context.Context, key string, t time.Time) (bool, error) {
	if err := CheckKey(key); err != nil {
		return false, err
	}
	removed, err := s.in.remove(ctx, key, t)
	if err != nil {
		return false, fmt.Errorf("delete blob %s: %w", key, err)
	}
	return removed, nil
}

// Between lists the keys that were put at from or later and before to, in no order that
// counts. It ends with the first error. Blobs that are put or deleted in the meantime may or
// may not be listed.
func (s *Store) Between(ctx context.Context, from, to time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := s.in.list(ctx, func(key string, at time.Time) bool {
			return at.Before(from) || !at.Before(to) || yield(key, nil)
		})
		if err != nil {
			yield("", fmt.Errorf("list blobs: %w", err))
		}
	}
}

// Keys lists all keys, as Between does.
func (s *Store) Keys(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := s.in.list(ctx, func(key string, _ time.Time) bool { return yield(key, nil) })
		if err != nil {
			yield("", fmt.Errorf("list blobs: %w", err))
		}
	}
}

// Sweep removes what dead writers have left behind: unfinished files, and uploads to an object
// store that began before the given time and never ended.
func (s *Store) Sweep(ctx context.Context, before time.Time) error {
	if err := s.in.sweep(ctx, before); err != nil {
		return fmt.Errorf("remove unfinished blobs: %w", err)
	}
	return nil
}

// CheckKey returns an error if key is invalid. A key consists of parts of the characters
// a-z 0-9 _ . - with slashes between them. No part begins with a dot.
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
			p = p[:left+1] // one more byte shows whether the limit is exceeded
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
