//go:build unix

// Package filelock locks files between processes (flock(2)). A lock ends when all descriptors of
// the open file are closed, so at the latest with the processes that have it.
package filelock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// The kinds of locks. Any number of shared ones can be held at once.
const (
	Shared    = syscall.LOCK_SH
	Exclusive = syscall.LOCK_EX
)

// ErrHeld is returned for a lock that another one excludes.
var ErrHeld = errors.New("another process has the lock")

// Try locks a file, or changes the kind of its lock. It returns ErrHeld instead of waiting.
func Try(f *os.File, kind int) error {
	for {
		err := syscall.Flock(int(f.Fd()), kind|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// Wait is Try, but waits for the lock until ctx ends.
func Wait(ctx context.Context, f *os.File, kind int) error {
	for {
		if err := Try(f, kind); !errors.Is(err, ErrHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
