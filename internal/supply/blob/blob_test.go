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

	"github.com/penstock-dev/penstock/internal/testkit"
)

// place is where a test keeps its blobs.
type place struct {
	// dir holds each blob as a file that is named by its key.
	dir string
	// open opens the place once more.
	open func(t *testing.T) *Store
}

// places runs a test with a folder and with a bucket of an object store.
func places(t *testing.T, test func(t *testing.T, p place)) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		test(t, place{dir, func(t *testing.T) *Store { t.Helper(); return open(t, dir) }})
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		test(t, bucketOf(testkit.NewS3(t)))
	})
}

// bucketOf uses a prefix of a bucket.
func bucketOf(s3 *testkit.S3) place {
	return place{filepath.Join(s3.Dir, "pre", "fix"), func(*testing.T) *Store {
		return OpenS3(S3Options{
			Config: s3.Config(), Bucket: testkit.S3Bucket, Prefix: "pre/fix", Endpoint: s3.URL, PathStyle: true,
		})
	}}
}

// age sets the time of a blob back.
func (p place) age(t *testing.T, key string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(filepath.Join(p.dir, key), at, at); err != nil {
		t.Fatal(err)
	}
}

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

// tree lists every file and folder below dir, so that a test can check what is left.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && rel != "." && rel != tempDir && rel != treeFile {
			names = append(names, rel)
		}
		if errors.Is(err, os.ErrNotExist) { // a bucket has no empty folders
			err = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestPutOpenDelete(t *testing.T) { places(t, testPutOpenDelete) }

func testPutOpenDelete(t *testing.T, p place) {
	s := p.open(t)
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

	if _, _, err := s.Put(ctx, "artifacts/run-1/a.txt", strings.NewReader("2nd"), -1); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want %v", err, ErrExists)
	}
	put(t, s, "artifacts/run-1/b", "")
	put(t, s, "top", "x")
	if got, err := get(s, "artifacts/run-1/a.txt"); err != nil || got != "first" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := get(s, "artifacts/run-1/b"); err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
	if size, err := s.Size(ctx, "artifacts/run-1/a.txt"); err != nil || size != 5 {
		t.Errorf("got the size %d, %v", size, err)
	}
	if _, err := old.Seek(1, io.SeekStart); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(old); err != nil || string(got) != "irst" {
		t.Errorf("from the second byte: got %q, %v", got, err)
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
		if _, err := s.Size(ctx, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("the size of %s: got %v, want %v", key, err, ErrNotFound)
		}
	}
	if diff := cmp.Diff([]string{"top"}, tree(t, p.dir)); diff != "" {
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

func TestFailedPutLeavesNothing(t *testing.T) { places(t, testFailedPutLeavesNothing) }

func testFailedPutLeavesNothing(t *testing.T, p place) {
	s := p.open(t)
	put(t, s, "key", "before")
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
			"other", io.MultiReader(strings.NewReader("12"), iotest.ErrReader(io.ErrUnexpectedEOF)), -1, io.ErrUnexpectedEOF,
		},
		"a context that ended": {"other", strings.NewReader("1"), -1, reason},
		"a source without end": {"other", zeros{}, 1 << 20, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
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
			if diff := cmp.Diff([]string{"key"}, tree(t, p.dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestLimitIsInclusive(t *testing.T) { places(t, testLimitIsInclusive) }

func testLimitIsInclusive(t *testing.T, p place) {
	s := p.open(t)
	for limit, content := range map[int64]string{0: "", 4: "1234", 1<<63 - 1: "12"} {
		size, _, err := s.Put(t.Context(), fmt.Sprint(limit), iotest.OneByteReader(strings.NewReader(content)), limit)
		if err != nil || size != int64(len(content)) {
			t.Errorf("limit %d: got %d, %v", limit, size, err)
		}
	}
}

func TestKeys(t *testing.T) { places(t, testKeys) }

func testKeys(t *testing.T, p place) {
	s := p.open(t)
	for _, key := range []string{
		"a", "0", "a/b", "a_b-c.d/e..f", strings.Repeat("a", MaxSegment), strings.Repeat("a/", MaxKey/2-1) + "ab",
	} {
		put(t, s, key, "x")
		if err := s.Delete(t.Context(), key); err != nil { // another key may begin with it
			t.Error(err)
		}
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

func TestBetween(t *testing.T) { places(t, testBetween) }

func testBetween(t *testing.T, p place) {
	s := p.open(t)
	now := time.Now()
	for key, old := range map[string]time.Duration{
		"sessions/old": 48 * time.Hour, "sessions/new": time.Hour, "old": 25 * time.Hour, "a/b/c/old": 72 * time.Hour,
		"a/ancient": 200 * time.Hour,
	} {
		put(t, s, key, "x")
		p.age(t, key, old)
	}
	for _, name := range []string{filepath.Join(tempDir, "put-1"), "Not a key", ".hidden"} {
		file := filepath.Join(p.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		p.age(t, name, 48*time.Hour)
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

func TestDeleteOlderKeepsNewFiles(t *testing.T) { places(t, testDeleteOlderLeavesWhatIsNew) }

func testDeleteOlderLeavesWhatIsNew(t *testing.T, p place) {
	s := p.open(t)
	before := time.Now().Add(-time.Hour)
	put(t, s, "a/key", "first")
	for _, key := range []string{"a/key", "a", "never/there"} {
		if removed, err := s.DeleteOlder(t.Context(), key, before); err != nil || removed {
			t.Errorf("%s: removed %t, %v", key, removed, err)
		}
	}
	if got, err := get(s, "a/key"); err != nil || got != "first" {
		t.Errorf("got %q, %v", got, err)
	}
	p.age(t, "a/key", 2*time.Hour)
	if removed, err := s.DeleteOlder(t.Context(), "a/key", before); err != nil || !removed {
		t.Errorf("removed %t, %v", removed, err)
	}
}

// A listing is complete even if it has more names than are held at a time, and while blobs are
// removed.
func TestBetweenListsManyBlobs(t *testing.T) { places(t, testBetweenListsManyBlobs) }

func testBetweenListsManyBlobs(t *testing.T, p place) {
	s := p.open(t)
	if b, ok := s.in.(*bucket); ok {
		b.maxKeysPerPage = 250
	}
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

// Other processes create and remove folders during a Put. One of two writers of a key wins.
func TestPutAndDeleteAtTheSameTime(t *testing.T) { places(t, testPutAndDeleteAtTheSameTime) }

func testPutAndDeleteAtTheSameTime(t *testing.T, p place) {
	stores, rounds, lost := []*Store{p.open(t), p.open(t)}, 200, ErrExists
	if stores[0].HasLinks() {
		rounds, lost = 25, ErrUnavailable // only the local store has folders
	}
	var all sync.WaitGroup
	for i := range 8 {
		key, s := fmt.Sprintf("deep/er/%d", i%4), stores[i/4]
		all.Go(func() {
			for range rounds {
				_, _, err := s.Put(t.Context(), key, strings.NewReader(key), -1)
				if err != nil && !errors.Is(err, ErrExists) && !errors.Is(err, lost) {
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
	if left := tree(t, p.dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOpenDoesNotDisturbActiveWriters(t *testing.T) {
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

func TestOneOwner(t *testing.T) { places(t, testOneOwner) }

func testOneOwner(t *testing.T, p place) {
	if owner, err := p.open(t).Owner(t.Context()); err != nil || owner != "" {
		t.Errorf("got the owner %q, %v", owner, err)
	}
	var all sync.WaitGroup
	for range 4 {
		s := p.open(t)
		all.Go(func() {
			if err := s.Own(t.Context(), "one"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := p.open(t)
	if err := s.Own(t.Context(), "two"); !errors.Is(err, ErrOwned) {
		t.Errorf("got %v, want %v", err, ErrOwned)
	}
	if owner, err := s.Owner(t.Context()); err != nil || owner != "one" {
		t.Errorf("got the owner %q, %v", owner, err)
	}
	for key, err := range s.Keys(t.Context()) {
		t.Errorf("got the key %q, %v", key, err)
	}
}
