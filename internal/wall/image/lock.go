package image

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// lock is a lock of a file (flock(2)). The kernel releases it with the process.
type lock struct{ file *os.File }

// tryHold locks a file that exists, if that is possible at once.
func tryHold(file string, how int) (*lock, error) {
	return tryOpen(file, os.O_RDWR, how)
}

func tryOpen(file string, flags, how int) (*lock, error) {
	for {
		f, err := os.OpenFile(file, flags, 0o600)
		if err != nil {
			return nil, err
		}
		if err := filelock.Try(f, how); err != nil {
			_ = f.Close()
			return nil, err
		}
		// A file that was removed or replaced meanwhile locks nobody out.
		ours, err1 := f.Stat()
		current, err2 := os.Stat(file)
		if errors.Join(err1, err2) == nil && os.SameFile(ours, current) {
			return &lock{f}, nil
		}
		_ = f.Close()
		if errors.Is(err2, os.ErrNotExist) && flags&os.O_CREATE == 0 {
			return nil, err2
		}
	}
}

// await locks a file, which it creates, once nobody excludes that.
func await(ctx context.Context, file string, how int) (*lock, error) {
	for {
		l, err := tryOpen(file, os.O_RDWR|os.O_CREATE, how)
		if !errors.Is(err, filelock.ErrHeld) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// release is a no-op for nil.
func (l *lock) release() {
	if l != nil {
		_ = l.file.Close()
	}
}
