package layer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-dev/penstock/internal/supply/layer"
)

// fillDisk makes layers on a disk for two of them, and uses one.
func fillDisk(from, at string) error {
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size=2500k"); err != nil {
		return fmt.Errorf("cannot mount: %w", err)
	}
	store, ctx := layer.Open(filepath.Join(at, "layers"), 0), context.Background()
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	add := func(key string) error {
		_, err := store.Seal(ctx, layer.Record{Key: key}, []layer.Part{{Name: "work", From: root}}, nil)
		return err
	}
	if err := errors.Join(add("a"), add("b")); err != nil {
		return err
	}
	used, err := store.Find("a", nil)
	if err != nil {
		return err
	}
	if err := add("c"); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("a third layer: %w", err)
	}
	if _, err := store.Find("b", nil); !errors.Is(err, layer.ErrNone) {
		return fmt.Errorf("layer b is still there: %w", err)
	}
	if _, err := store.Find("a", nil); err != nil {
		return fmt.Errorf("layer a in use: %w", err)
	}
	used.Release()
	return add("c")
}

// TestAFullDiskHasNoLayers makes layers until the disk is full: those that are not in use go.
func TestAFullDiskHasNoLayers(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(from, fmt.Sprint(i)), strings.Repeat("x", 100<<10), 0o644)
	}
	run := exec.Command(os.Args[0])
	run.Env = append(os.Environ(), "FULL_FROM="+from, "FULL_AT="+t.TempDir())
	run.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := run.CombinedOutput()
	if err != nil && (len(out) == 0 || strings.HasPrefix(string(out), "cannot mount")) {
		t.Skipf("a file system of its own is not possible here: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
