//go:build unix

package filelock

import (
	"context"
	"errors"
	"os"
	"time"
)

// Lock is a lock of the file with a name.
type Lock struct{ file *os.File }

// Hold locks a file that exists, if that is possible at once.
func Hold(name string, kind int) (*Lock, error) { return hold(name, os.O_RDWR, kind) }

// Share is Hold for a shared lock, and waits up to a second for an exclusive one that is about to end: each
// program that a process starts has all of its locks until it is executed.
func Share(name string) (l *Lock, err error) {
	for range 40 {
		if l, err = Hold(name, Shared); !errors.Is(err, ErrHeld) {
			return l, err
		}
		<-time.After(25 * time.Millisecond)
	}
	return nil, err
}

// Create is Hold, but creates the file if it is missing.
func Create(name string, kind int) (*Lock, error) { return hold(name, os.O_RDWR|os.O_CREATE, kind) }

func hold(name string, flags, kind int) (*Lock, error) {
	for {
		f, err := os.OpenFile(name, flags, 0o600)
		if err != nil {
			return nil, err
		}
		if err := Try(f, kind); err != nil {
			_ = f.Close()
			return nil, err
		}
		// A file that was removed or replaced meanwhile locks nobody out.
		ours, err1 := f.Stat()
		current, err2 := os.Stat(name)
		if errors.Join(err1, err2) == nil && os.SameFile(ours, current) {
			return &Lock{f}, nil
		}
		_ = f.Close()
		if errors.Is(err2, os.ErrNotExist) && flags&os.O_CREATE == 0 {
			return nil, err2
		}
	}
}

// Await is Create, but waits until nobody excludes the lock.
func Await(ctx context.Context, name string, kind int) (*Lock, error) {
	for {
		l, err := Create(name, kind)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// File is the file, open for reading and writing.
func (l *Lock) File() *os.File { return l.file }

// Release ends the lock. It is a no-op for nil.
func (l *Lock) Release() {
	if l != nil {
		_ = l.file.Close()
	}
}
