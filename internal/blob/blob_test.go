package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t *testing.T, s *Store, key, content string) {
	t.Helper()
	if _, _, err := s.Put(t.Context(), key, strings.NewReader(content), -1); err != nil {
		t.Fatal(err)
	}
}

func get(s *Store, key string) (string, error) {
	r, size, err := s.Open(context.Background(), key)
	if err != nil {
		return "", err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err == nil && size != int64(len(content)) {
		err = fmt.Errorf("size %d of %d bytes", size, len(content))
	}
	return string(content), err
}

// tree lists every file and folder below dir, so that a test sees what is left.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && rel != "." && rel != tempDir && rel != treeFile {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestPutOpenDelete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	ctx := t.Context()

	size, sum, err := s.Put(ctx, "artifacts/run-1/a.txt", strings.NewReader("first"), -1)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("first"))); err != nil || size != 5 || sum != want {
		t.Errorf("got %d, %s, %v, want 5, %s", size, sum, err, want)
	}
	old, _, err := s.Open(ctx, "artifacts/run-1/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()

	put(t, s, "artifacts/run-1/a.txt", "second")
	put(t, s, "artifacts/run-1/b", "")
	put(t, s, "top", "x")
	if got, err := get(s, "artifacts/run-1/a.txt"); err != nil || got != "second" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := old.Seek(1, io.SeekStart); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(old); err != nil || string(got) != "irst" {
		t.Errorf("reader of the old content: got %q, %v", got, err)
	}

	for _, key := range []string{
		"artifacts/run-1/a.txt", "artifacts/run-1/b", "artifacts/run-1/b", "never/there", "top/of/a/file",
	} {
		if err := s.Delete(ctx, key); err != nil {
			t.Errorf("delete %s: %v", key, err)
		}
	}
	for _, key := range []string{"artifacts/run-1/a.txt", "artifacts/run-1", "top/of/a/file"} {
		if _, err := get(s, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v, want %v", key, err, ErrNotFound)
		}
	}
	if diff := cmp.Diff([]string{"top"}, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestFoldersAreNoBlobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a/b/c", "kept")
	if _, err := get(s, "a/b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("open: got %v", err)
	}
	if err := s.Delete(t.Context(), "a/b"); err != nil {
		t.Errorf("delete: %v", err)
	}
	for _, key := range []string{"a/b", "a/b/c/d", "a/b/c/d/e"} {
		if _, _, err := s.Put(t.Context(), key, strings.NewReader("x"), -1); err == nil {
			t.Errorf("put %s: got no error", key)
		}
	}
	if got, err := get(s, "a/b/c"); err != nil || got != "kept" {
		t.Errorf("got %q, %v", got, err)
	}
	if diff := cmp.Diff([]string{"a", "a/b", "a/b/c"}, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	reason := errors.New("the run was cancelled")
	for name, test := range map[string]struct {
		key   string
		r     io.Reader
		limit int64
		want  error
	}{
		"one byte too many":    {"new/key", strings.NewReader("1234"), 3, ErrTooLarge},
		"anything but nothing": {"new/key", strings.NewReader("1"), 0, ErrTooLarge},
		"a source that fails":  {"new/key", iotest.ErrReader(io.ErrUnexpectedEOF), -1, io.ErrUnexpectedEOF},
		"a source that ends bad": {
			"key", io.MultiReader(strings.NewReader("12"), iotest.ErrReader(io.ErrUnexpectedEOF)), -1, io.ErrUnexpectedEOF,
		},
		"a context that ended": {"key", strings.NewReader("1"), -1, reason},
		"a source without end": {"key", zeros{}, 1 << 20, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			put(t, s, "key", "before")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if errors.Is(test.want, reason) {
				cancel(reason)
			}
			size, sum, err := s.Put(ctx, test.key, test.r, test.limit)
			if !errors.Is(err, test.want) || size != 0 || sum != "" {
				t.Errorf("got %d, %q, %v, want %v", size, sum, err, test.want)
			}
			if got, err := get(s, "key"); err != nil || got != "before" {
				t.Errorf("got %q, %v", got, err)
			}
			if diff := cmp.Diff([]string{"key"}, tree(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestLimitIsInclusive(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for limit, content := range map[int64]string{0: "", 4: "1234", 1<<63 - 1: "12"} {
		size, _, err := s.Put(t.Context(), "key", iotest.OneByteReader(strings.NewReader(content)), limit)
		if err != nil || size != int64(len(content)) {
			t.Errorf("limit %d: got %d, %v", limit, size, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for _, key := range []string{
		"a", "0", "a/b", "a_b-c.d/e..f", strings.Repeat("a", MaxSegment), strings.Repeat("a/", MaxKey/2-1) + "ab",
	} {
		put(t, open(t, t.TempDir()), key, "x")
		if err := CheckKey(key); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/.", ".tmp/x", "a/.hidden", "A", "a b", "a\x00",
		"ä",
		`a\b`, "a\n", "c:d", strings.Repeat("a", MaxSegment+1), strings.Repeat("a/", MaxKey/2) + "ab",
	} {
		_, _, err := s.Put(t.Context(), key, strings.NewReader("x"), -1)
		_, _, openErr := s.Open(t.Context(), key)
		if err == nil || openErr == nil || errors.Is(openErr, ErrNotFound) || s.Delete(t.Context(), key) == nil {
			t.Errorf("%q: got no error", key)
		}
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	now := time.Now()
	age := func(key string, age time.Duration) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(dir, key), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	for key, old := range map[string]time.Duration{
		"sessions/old": 48 * time.Hour, "sessions/new": time.Hour, "old": 25 * time.Hour, "a/b/c/old": 72 * time.Hour,
		"a/ancient": 200 * time.Hour,
	} {
		put(t, s, key, "x")
		age(key, old)
	}
	for _, name := range []string{filepath.Join(tempDir, "put-1"), "Not a key", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age(name, 48*time.Hour)
	}
	from, to := now.Add(-100*time.Hour), now.Add(-24*time.Hour)
	var got []string
	for key, err := range s.Between(t.Context(), from, to) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, key)
		if removed, err := s.DeleteOlder(t.Context(), key, to); err != nil || !removed { // as a collection does
			t.Errorf("%s: removed %t, %v", key, removed, err)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a/b/c/old", "old", "sessions/old"}, got); diff != "" {
		t.Error(diff)
	}
	for _, err := range s.Between(t.Context(), from, now) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Between(ended, from, now) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	}
}

func TestDeleteOlderLeavesWhatWasPutAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a/key", "first")
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a/key"), before, before.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	put(t, s, "a/key", "second")
	for _, key := range []string{"a/key", "a", "never/there"} {
		if removed, err := s.DeleteOlder(t.Context(), key, before); err != nil || removed {
			t.Errorf("%s: removed %t, %v", key, removed, err)
		}
	}
	if got, err := get(s, "a/key"); err != nil || got != "second" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A folder with more names than are held at a time is listed as a whole, also while
// what is listed goes.
func TestBetweenListsLargeFolders(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	const files = 600
	for i := range files {
		put(t, s, fmt.Sprintf("runs/%d/x", i), "")
	}
	to, got := time.Now().Add(time.Hour), map[string]bool{}
	for key, err := range s.Between(t.Context(), time.Time{}, to) {
		if err != nil {
			t.Fatal(err)
		}
		got[key] = true
		if _, err := s.DeleteOlder(t.Context(), key, to); err != nil {
			t.Error(err)
		}
	}
	if len(got) != files {
		t.Errorf("got %d files, want %d", len(got), files)
	}
}

// Folders come and go under the feet of a Put, also by another process.
func TestPutAndDeleteAtTheSameTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores := []*Store{open(t, dir), open(t, dir)}
	var all sync.WaitGroup
	for i := range 8 {
		key, s := fmt.Sprintf("deep/er/%d", i%4), stores[i/4]
		all.Go(func() {
			for range 200 {
				if _, _, err := s.Put(t.Context(), key, strings.NewReader(key), -1); err != nil {
					t.Error(err)
				}
				if got, err := get(s, key); err != nil && !errors.Is(err, ErrNotFound) || err == nil && got != key {
					t.Errorf("got %q, %v", got, err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left := tree(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOpenLeavesWritersAtWorkAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		_, _, err := s.Put(t.Context(), "key", r, -1)
		done <- err
	}()
	if _, err := io.WriteString(w, "half"); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	_, _ = io.WriteString(w, " and half")
	_ = w.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, err := get(s, "key"); err != nil || got != "half and half" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestQuotaIsFull(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]bool{syscall.EDQUOT: true, syscall.ENOSPC: true, syscall.EIO: false} {
		if err := full(&os.PathError{Op: "write", Err: errno}); errors.Is(err, ErrFull) != want || !errors.Is(err, errno) {
			t.Errorf("%v: got %v", errno, err)
		}
	}
}

func TestFolderHasOneOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		s := open(t, dir)
		all.Go(func() {
			if err := s.Own("one"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := open(t, dir).Own("two"); !errors.Is(err, ErrOwned) {
		t.Errorf("got %v, want %v", err, ErrOwned)
	}
}
