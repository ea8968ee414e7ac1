package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

func TestSharedLocksExcludeExclusiveOnes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second, third := open(), open(), open()
	for _, f := range []*os.File{first, second} {
		if err := filelock.Try(f, filelock.Shared); err != nil {
			t.Fatalf("a shared lock: %v", err)
		}
	}
	if err := filelock.Try(third, filelock.Exclusive); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("an exclusive lock beside two shared ones: %v", err)
	}
	_ = first.Close()
	stopped := errors.New("the server stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if err := filelock.Wait(ctx, third, filelock.Exclusive); !errors.Is(err, stopped) {
		t.Errorf("waiting ended with %v", err)
	}
	waited := make(chan error)
	go func() { waited <- filelock.Wait(t.Context(), third, filelock.Exclusive) }()
	_ = second.Close()
	if err := <-waited; err != nil {
		t.Errorf("once the others are gone: %v", err)
	}
}
