package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrDiffers is returned if two stores have different contents under one key.
var ErrDiffers = errors.New("the contents differ")

// Copy copies the blob of a key from another store, reads the copy back and compares it. Then
// copied is its size. If this store has the key already, copied is -1, and only the sizes are
// compared; verify also compares the contents. It returns ErrDiffers, and ErrNotFound if the other
// store has no such blob.
func (s *Store) Copy(ctx context.Context, from *Store, key string, verify bool) (copied int64, err error) {
	size, err := from.Size(ctx, key)
	if err != nil {
		return -1, err
	}
	have, err := s.Size(ctx, key)
	if errors.Is(err, ErrNotFound) {
		if copied, err = s.copyNew(ctx, from, key); !errors.Is(err, ErrExists) {
			return copied, err
		}
		have, err = s.Size(ctx, key) // another copy was quicker
	}
	switch {
	case err != nil:
		return -1, err
	case have != size:
		return -1, fmt.Errorf("copy blob %s: %w: %d bytes here, %d there", key, ErrDiffers, have, size)
	case !verify:
		return -1, nil
	}
	sum, err := from.sum(ctx, key)
	if err != nil {
		return -1, err
	}
	return -1, s.compare(ctx, key, sum)
}

func (s *Store) copyNew(ctx context.Context, from *Store, key string) (int64, error) {
	r, size, err := from.Open(ctx, key)
	if err != nil {
		return -1, err
	}
	defer r.Close()
	n, sum, err := s.Put(ctx, key, r, size)
	if err == nil && n != size {
		err = fmt.Errorf("copy blob %s: %w", key, io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = s.compare(ctx, key, sum)
	}
	if err == nil {
		return n, nil
	}
	if !errors.Is(err, ErrExists) && !errors.Is(err, ErrUnavailable) {
		err = errors.Join(err, s.Delete(ctx, key)) // the next attempt starts over
	}
	return -1, err
}

// compare returns ErrDiffers unless the blob of a key has a SHA-256.
func (s *Store) compare(ctx context.Context, key, want string) error {
	got, err := s.sum(ctx, key)
	if err == nil && got != want {
		err = fmt.Errorf("compare blob %s: %w", key, ErrDiffers)
	}
	return err
}

func (s *Store) sum(ctx context.Context, key string) (string, error) {
	r, _, err := s.Open(ctx, key)
	if err != nil {
		return "", err
	}
	defer r.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return "", fmt.Errorf("read blob %s: %w", key, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Probe tries every operation that a server needs, on a blob that it creates. Its error names the
// permission that an object store requires.
func (s *Store) Probe(ctx context.Context) error {
	key := ".probe-" + strings.ToLower(rand.Text())
	steps := []struct {
		right string
		try   func() error
	}{
		{"s3:ListBucket", func() error {
			return s.in.list(ctx, func(string, time.Time) bool { return false })
		}},
		{"s3:PutObject", func() error { return s.in.put(ctx, key, strings.NewReader(key)) }},
		{"If-None-Match", func() error {
			err := s.in.put(ctx, key, strings.NewReader(key))
			if err == nil {
				return errReplaces
			}
			if errors.Is(err, ErrExists) {
				return nil
			}
			return err
		}},
		{"s3:GetObject", func() error {
			r, _, err := s.in.open(ctx, key)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		}},
		{"s3:DeleteObject", func() error { _, err := s.in.remove(ctx, key, time.Time{}); return err }},
		{"s3:ListBucketMultipartUploads", func() error { return s.in.sweep(ctx, time.Time{}) }},
	}
	for _, step := range steps {
		if err := step.try(); err != nil {
			return fmt.Errorf("%s: %w", step.right, err)
		}
	}
	return nil
}
