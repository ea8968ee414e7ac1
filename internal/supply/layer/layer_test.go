package layer_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/layer"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// write makes a file with the time of all files of these tests.
func write(t *testing.T, name, content string, mode fs.FileMode) {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o600),
		os.Chmod(name, mode), os.Chtimes(name, long, long))
	if err != nil {
		t.Fatal(err)
	}
}

// seal makes a layer of one part.
func seal(t *testing.T, store *layer.Store, key, part string, from *os.Root, secrets ...layer.Secret) error {
	t.Helper()
	_, err := store.Seal(t.Context(), record(key), []layer.Part{{Name: part, From: from}}, secrets)
	return err
}

// record is a layer of a new commit.
func record(key string) layer.Record {
	return layer.Record{Key: key, Heads: []layer.Head{{Dir: "repo", Commit: penstock.NewID()}}}
}

var long = time.Date(2025, 3, 4, 5, 6, 7, 123456789, time.UTC)

// picture describes a folder with everything that a copy keeps.
func picture(t *testing.T, dir string) map[string]string {
	t.Helper()
	inodes, all := map[uint64]string{}, map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		text := fmt.Sprint(info.Mode())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			stat, ok := info.Sys().(*syscall.Stat_t)
			if first, seen := inodes[stat.Ino]; seen || !ok {
				text = "also " + first
				break
			}
			inodes[stat.Ino] = rel
			text += fmt.Sprintf(" %s %d %q", info.ModTime().UTC(), info.Size(), content[:min(len(content), 100)])
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += " " + target
		case rel != ".":
			text += " " + info.ModTime().UTC().String()
		}
		all[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestALayerIsTheFolder seals what package managers leave, and gets the same back: several names of
// one file, links that lead nowhere, out or to themselves, files that are executable, read-only,
// empty, with holes, or have odd names, and times to the nanosecond.
func TestALayerIsTheFolder(t *testing.T) {
	t.Parallel()
	store, from := layer.Open(filepath.Join(t.TempDir(), "layers"), 0), t.TempDir()
	at := func(name string) string { return filepath.Join(from, name) }
	write(t, at("repo/node_modules/.pnpm/a/index.js"), "module", 0o644)
	write(t, at("repo/node_modules/.bin/tool"), "#!/bin/sh\n", 0o755)
	write(t, at("readonly/deep/file"), "go module", 0o444)
	write(t, at("empty"), "", 0o600)
	write(t, at("odd\n\xff name"), "odd", 0o640)
	write(t, at("repo/.git/index"), "index", 0o644)
	write(t, at("repo/yarn.lock"), "kept", 0o644)
	for i := range 300 {
		write(t, at(fmt.Sprintf("many/%d/%d", i%7, i)), strings.Repeat("x", i*100), 0o644)
	}
	err := errors.Join(
		os.Link(at("repo/node_modules/.pnpm/a/index.js"), at("repo/node_modules/b.js")),
		os.Symlink("../../nowhere", at("repo/node_modules/dangling")),
		os.Symlink("/etc/passwd", at("out")), os.Symlink("self", at("self")),
		os.Mkdir(at("nothing"), 0o711), os.Truncate(at("empty"), 3<<20),
		os.WriteFile(at("big"), append(make([]byte, 1<<20), "end of it"...), 0o600),
		os.Chmod(at("readonly/deep"), 0o555), os.Chmod(at("readonly"), 0o555),
		os.Chtimes(at("big"), long, long), os.Chtimes(at("empty"), long, long), os.Chtimes(at("nothing"), long, long),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := picture(t, from)
	write(t, at("repo/.git/refs/heads/main.lock"), "", 0o600) // what a killed git leaves
	if err := errors.Join(os.Remove(at("repo/.git/refs/heads/main.lock")), syscall.Mkfifo(at("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	write(t, at("repo/.git/index.lock"), "", 0o600)
	root := openRoot(t, from)
	r, err := store.Seal(t.Context(), layer.Record{Key: "k"}, []layer.Part{{Name: "work", From: root}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Find("k", nil)
	if err != nil || l.UID != r.UID {
		t.Fatalf("found %v, %v", l, err)
	}
	defer l.Release()
	to := t.TempDir()
	if err := l.CopyTo(t.Context(), layer.Part{Name: "work", From: openRoot(t, to)}, nil); err != nil {
		t.Fatal(err)
	}
	got := picture(t, to)
	// What was made beside the picture changes the times of these folders.
	for _, name := range []string{"repo/.git", "repo/.git/refs", "repo/.git/refs/heads"} {
		delete(want, name)
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the copy (-folder +copy):\n%s", diff)
	}
	if err := l.CopyTo(t.Context(), layer.Part{Name: "other", From: openRoot(t, t.TempDir())}, nil); err != nil {
		t.Errorf("a part that the layer lacks: %v", err)
	}
}

// TestACopyIsNotTheLayer writes to a copy, also through another name of a file. The layer and other
// copies stay as they are.
func TestACopyIsNotTheLayer(t *testing.T) {
	t.Parallel()
	store, from := layer.Open(t.TempDir(), 0), t.TempDir()
	write(t, filepath.Join(from, "a"), "good", 0o644)
	if err := os.Link(filepath.Join(from, "a"), filepath.Join(from, "b")); err != nil {
		t.Fatal(err)
	}
	if err := seal(t, store, "k", "work", openRoot(t, from)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(from, "a"), "the run that made it works on", 0o644)
	for range 2 {
		l, err := store.Find("k", nil)
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		if err := l.CopyTo(t.Context(), layer.Part{Name: "work", From: openRoot(t, to)}, nil); err != nil {
			t.Fatal(err)
		}
		l.Release()
		for _, name := range []string{"a", "b"} {
			if content, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(content) != "good" {
				t.Fatalf("%s is %q, %v", name, content, err)
			}
		}
		write(t, filepath.Join(to, "b"), "poison", 0o644)
	}
}

// TestWhatIsThereStays copies into a checkout that has other files: they stay, and no link in it
// leads the copy elsewhere.
func TestWhatIsThereStays(t *testing.T) {
	t.Parallel()
	store, from, to, outside := layer.Open(t.TempDir(), 0), t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(from, "main.go"), "old", 0o644)
	write(t, filepath.Join(from, "node_modules/x"), "module", 0o644)
	write(t, filepath.Join(from, "docs/y"), "made", 0o644)
	write(t, filepath.Join(from, "file/z"), "made", 0o644)
	write(t, filepath.Join(from, "gone/deleted"), "tracked", 0o644)
	if err := os.Link(filepath.Join(from, "main.go"), filepath.Join(from, "second")); err != nil {
		t.Fatal(err)
	}
	if err := seal(t, store, "k", "work", openRoot(t, from)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(to, "main.go"), "new", 0o644)
	write(t, filepath.Join(to, "docs/readme"), "new", 0o644)
	write(t, filepath.Join(to, "file"), "a file now", 0o644)
	if err := os.Symlink(outside, filepath.Join(to, "node_modules")); err != nil {
		t.Fatal(err)
	}
	l, err := store.Find("k", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	err = l.CopyTo(t.Context(), layer.Part{Name: "work", From: openRoot(t, to)}, func(name string, folder bool) bool {
		return name == "gone" && folder
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, text := range picture(t, to) {
		if strings.HasPrefix(text, "-") {
			content, _ := os.ReadFile(filepath.Join(to, name))
			got = append(got, name+": "+string(content))
		}
	}
	want := map[string]bool{
		"main.go: new": true, "second: old": true, "docs/readme: new": true, "docs/y: made": true, "file: a file now": true,
	}
	for _, line := range got {
		if !want[line] {
			t.Errorf("there is %q", line)
		}
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("the copy left the folder: %v, %v", entries, err)
	}
}

// TestNoLayerHasASecret leaves a value of a secret in a file, in ways in which tools do it.
func TestNoLayerHasASecret(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t/+value?&with=odd.Ünits"
	base := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, content := range map[string]string{
		"plain":  "//registry.example.com/:_authToken=" + value + "\n",
		"query":  "key: make-fetch-happen:request-cache:https://x.example.com/?sig=" + url.QueryEscape(value),
		"path":   "https://x.example.com/" + url.PathEscape(value) + "/index.json",
		"base64": base(value), "user 0": base("abc:" + value), "user 1": base("ab:" + value),
		"user 2": base("a:" + value + "\n"), "in the middle": base("user:" + value + ":more text"),
		"web": base64.URLEncoding.EncodeToString([]byte("u:" + value)),
		"hex": fmt.Sprintf("%x", value), "HEX": fmt.Sprintf("%X", value),
		"at the end": strings.Repeat("z", 1<<20) + value,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, from := filepath.Join(t.TempDir(), "layers"), t.TempDir()
			write(t, filepath.Join(from, ".config/tool"), content, 0o600)
			err := seal(t, layer.Open(dir, 0), "k", "home", openRoot(t, from),
				layer.Secret{"OTHER", "not in it"}, layer.Secret{"TOKEN", value})
			found, ok := errors.AsType[*layer.SecretError](err)
			if !ok || *found != (layer.SecretError{"TOKEN", "home/.config/tool"}) {
				t.Fatalf("sealed with %v", err)
			}
			if strings.Contains(err.Error(), value) {
				t.Errorf("the error has the secret: %v", err)
			}
			if _, err := layer.Open(dir, 0).Find("k", nil); !errors.Is(err, layer.ErrNone) {
				t.Errorf("there is a layer: %v", err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
	t.Run("anywhere in a large file", func(t *testing.T) {
		t.Parallel()
		for before := 256<<10 - 400; before < 256<<10+400; before += len(value) - 2 {
			from := t.TempDir()
			write(t, filepath.Join(from, "log"), strings.Repeat("x", before)+value+strings.Repeat("y", 300<<10), 0o600)
			err := seal(t, layer.Open(t.TempDir(), 0), "k", "home", openRoot(t, from), layer.Secret{"TOKEN", value})
			if _, ok := errors.AsType[*layer.SecretError](err); !ok {
				t.Errorf("after %d bytes: %v", before, err)
			}
		}
	})
	t.Run("names and links", func(t *testing.T) {
		t.Parallel()
		for _, leave := range []func(dir string) error{
			func(dir string) error { return os.Symlink("https:/x/"+value, filepath.Join(dir, "link")) },
			func(dir string) error { return os.MkdirAll(filepath.Join(dir, "cache", value), 0o700) },
		} {
			from := t.TempDir()
			if err := leave(from); err != nil {
				t.Fatal(err)
			}
			err := seal(t, layer.Open(t.TempDir(), 0), "k", "home", openRoot(t, from), layer.Secret{"TOKEN", value})
			if found, ok := errors.AsType[*layer.SecretError](err); !ok || strings.Contains(found.Error(), value[:6]) {
				t.Errorf("sealed with %v", err)
			}
		}
	})
}

// TestTheStoreIsBounded removes the longest unused layers, but none in use, and keeps two of a key.
func TestTheStoreIsBounded(t *testing.T) {
	t.Parallel()
	dir, from := filepath.Join(t.TempDir(), "layers"), t.TempDir()
	store := layer.Open(dir, 100_000)
	write(t, filepath.Join(from, "file"), strings.Repeat("x", 40_000), 0o644)
	root := openRoot(t, from)
	add := func(key string) {
		t.Helper()
		if err := seal(t, store, key, "work", root); err != nil {
			t.Fatal(err)
		}
	}
	has := func(key string) bool {
		l, err := store.Find(key, nil)
		if err == nil {
			l.Release()
		}
		return err == nil
	}
	add("a")
	used, err := store.Find("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, used.UID+".lock"), before, before); err != nil { // the longest unused
		t.Fatal(err)
	}
	add("b")
	add("c")
	if !has("a") || has("b") || !has("c") {
		t.Errorf("a (in use) %v, b %v, c %v", has("a"), has("b"), has("c"))
	}
	used.Release()
	write(t, filepath.Join(from, "file"), strings.Repeat("x", 100_001), 0o644)
	if err := seal(t, store, "d", "work", root); !errors.Is(err, layer.ErrTooLarge) {
		t.Errorf("a layer that is larger than all may be: %v", err)
	}
	if !has("a") || !has("c") {
		t.Error("a layer that was refused cost others")
	}
	write(t, filepath.Join(from, "file"), "small", 0o644)
	for range 5 {
		add("e")
	}
	if layers, err := filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(layers) != 4 { // a, c, two of e
		t.Errorf("there are %d layers: %v", len(layers), err)
	}
}

// TestHolesAreNoContent copies files with holes that are larger than the disk, and with more holes than
// content: the copy takes as little as the original. A secret between holes is found.
func TestHolesAreNoContent(t *testing.T) {
	t.Parallel()
	store, from := layer.Open(t.TempDir(), 0), t.TempDir()
	file, err := os.Create(filepath.Join(from, "holes"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := range int64(100) {
		if _, err := file.WriteAt([]byte(fmt.Sprint("part ", i)), i<<18+12345); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(file.Truncate(1<<42), file.Sync()); err != nil {
		t.Skipf("the file system has no large files: %v", err)
	}
	root := openRoot(t, from)
	if err := seal(t, store, "k", "work", root, layer.Secret{"TOKEN", "not in there"}); err != nil {
		t.Fatal(err)
	}
	l, err := store.Find("k", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	to := t.TempDir()
	if err := l.CopyTo(t.Context(), layer.Part{Name: "work", From: openRoot(t, to)}, nil); err != nil {
		t.Fatal(err)
	}
	size := func(dir string) (size, used int64) {
		info, err := os.Stat(filepath.Join(dir, "holes"))
		stat, ok := info.Sys().(*syscall.Stat_t)
		if err != nil || !ok {
			t.Fatal(err)
		}
		return info.Size(), stat.Blocks
	}
	wantSize, want := size(from)
	if got, used := size(to); got != wantSize || used > want*2 {
		t.Errorf("a file of %d bytes in %d blocks has %d in %d", wantSize, want, got, used)
	}
	for i := range int64(100) {
		part, want := make([]byte, 8), fmt.Sprint("part ", i)
		copied, err := os.Open(filepath.Join(to, "holes"))
		if err == nil {
			_, err = copied.ReadAt(part, i<<18+12345)
			_ = copied.Close()
		}
		if got := strings.TrimRight(string(part), "\x00"); err != nil || got != want {
			t.Fatalf("%q, %v instead of %q", got, err, want)
		}
	}
	err = seal(t, store, "k", "work", root, layer.Secret{"TOKEN", "part 99"})
	if _, ok := errors.AsType[*layer.SecretError](err); !ok {
		t.Errorf("a secret between holes: %v", err)
	}
}

// TestABoundIsForEverything bounds empty files, folders and links, and sizes that no sum can hold.
func TestABoundIsForEverything(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(dir string) error{
		"empty files": func(dir string) (err error) {
			for i := range 300 {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
			}
			return err
		},
		"folders": func(dir string) (err error) {
			for i := range 300 {
				err = errors.Join(err, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o700))
			}
			return err
		},
		"links": func(dir string) (err error) {
			for i := range 300 {
				err = errors.Join(err, os.Symlink("x", filepath.Join(dir, fmt.Sprint(i))))
			}
			return err
		},
	} {
		from := t.TempDir()
		if err := fill(from); err != nil {
			t.Fatal(err)
		}
		err := seal(t, layer.Open(t.TempDir(), 100_000), "k", "work", openRoot(t, from))
		if !errors.Is(err, layer.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestACopyStops cancels a copy before the content of a large file.
func TestACopyStops(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	write(t, filepath.Join(from, "large"), strings.Repeat("x", 40<<20), 0o600)
	store := layer.Open(t.TempDir(), 0)
	if err := seal(t, store, "k", "work", openRoot(t, from)); err != nil {
		t.Fatal(err)
	}
	l, err := store.Find("k", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	ctx, stop := context.WithCancel(t.Context())
	into := openRoot(t, to)
	err = l.CopyTo(ctx, layer.Part{Name: "work", From: into}, func(string, bool) bool {
		stop()
		return false
	})
	if info, statErr := into.Stat("large"); !errors.Is(err, context.Canceled) || statErr != nil || info.Size() == 40<<20 {
		t.Errorf("copied %v, %v", info, err)
	}
}

// TestALeftoverTakesNoSpace makes a layer that is too large for the store: what a killed process left goes
// all the same.
func TestALeftoverTakesNoSpace(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "killed/work/file"), "half", 0o600)
	write(t, filepath.Join(dir, "killed.lock"), "", 0o600)
	write(t, filepath.Join(from, "file"), strings.Repeat("x", 10_000), 0o600)
	if err := seal(t, layer.Open(dir, 1000), "k", "work", openRoot(t, from)); !errors.Is(err, layer.ErrTooLarge) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SEAL_IN"); dir != "" {
		root, err := os.OpenRoot(os.Getenv("SEAL_FROM"))
		for err == nil {
			_, err = layer.Open(dir, 0).Seal(
				context.Background(), record("k"), []layer.Part{{Name: "work", From: root}}, nil,
			)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if from := os.Getenv("FULL_FROM"); from != "" {
		if err := fillDisk(from, os.Getenv("FULL_AT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestAKilledProcessLeavesNoHalfLayer kills processes that make layers all the time. Those that are found
// are complete, and the next layer removes what the others left.
func TestAKilledProcessLeavesNoHalfLayer(t *testing.T) {
	t.Parallel()
	dir, from := filepath.Join(t.TempDir(), "layers"), t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(from, fmt.Sprint(i%5), fmt.Sprint(i)), strings.Repeat("x", 1000), 0o644)
	}
	want := picture(t, from)
	for i := range 40 {
		maker := exec.Command(os.Args[0])
		maker.Env = append(os.Environ(), "SEAL_IN="+dir, "SEAL_FROM="+from)
		if err := maker.Start(); err != nil {
			t.Fatal(err)
		}
		for begun := false; !begun; {
			locks, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
			for _, lock := range locks {
				uid := strings.TrimSuffix(lock, ".lock")
				made, _ := filepath.Glob(filepath.Join(uid, "work", "*", "*"))
				_, err := os.Stat(uid + ".json")
				begun = begun || len(made) >= i && err != nil // it has made some of a layer
			}
		}
		_ = maker.Process.Kill()
		_ = maker.Wait()
		l, err := layer.Open(dir, 0).Find("k", nil)
		if errors.Is(err, layer.ErrNone) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		if err := l.CopyTo(t.Context(), layer.Part{Name: "work", From: openRoot(t, to)}, nil); err != nil {
			t.Fatal(err)
		}
		l.Release()
		if diff := cmp.Diff(want, picture(t, to)); diff != "" {
			t.Fatalf("a layer is not complete (-want +got):\n%s", diff)
		}
	}
	root := openRoot(t, from)
	if err := seal(t, layer.Open(dir, 0), "k", "work", root); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 6 {
		t.Errorf("two layers have three entries each, but there are %v", left)
	}
}

// TestManyAtOnce makes layers of many keys at the same time, as workers of one machine do. None takes what
// another one makes, half or whole, for something that is left.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	dir, from := t.TempDir(), t.TempDir()
	write(t, filepath.Join(from, "file"), "content", 0o644)
	root := openRoot(t, from)
	var all errgroup.Group
	for i := range 16 {
		all.Go(func() error {
			store, key := layer.Open(dir, 0), fmt.Sprint(i)
			for range 20 {
				made, err := store.Seal(t.Context(), record(key), []layer.Part{{Name: "work", From: root}}, nil)
				if err != nil {
					return err
				}
				l, err := store.Find(key, nil)
				if err != nil {
					return err
				}
				l.Release()
				if l.UID != made.UID {
					return fmt.Errorf("%s was made, but %s is found", made.UID, l.UID)
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAFailureWaitsLonger tries again after a minute, then two, and so on up to six hours.
func TestAFailureWaitsLonger(t *testing.T) {
	t.Parallel()
	store, now := layer.Open(filepath.Join(t.TempDir(), "layers"), 0), time.Now()
	if reason, _ := store.Failed("k", now); reason != "" {
		t.Errorf("a new key failed: %s", reason)
	}
	for i, minutes := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360} {
		until, err := store.Fail(layer.Record{Key: "k"}, "npm is away", now)
		if err != nil || until.Sub(now) != time.Duration(minutes)*time.Minute {
			t.Errorf("after %d failures it waits %s, %v", i+1, until.Sub(now), err)
		}
		if reason, _ := store.Failed("k", until.Add(-time.Second)); reason != "npm is away" {
			t.Errorf("it does not wait: %q", reason)
		}
		now = until
		if reason, _ := store.Failed("k", now); reason != "" {
			t.Errorf("it still waits: %q", reason)
		}
	}
	from := t.TempDir()
	write(t, filepath.Join(from, "file"), "works", 0o644)
	if err := seal(t, store, "k", "work", openRoot(t, from)); err != nil {
		t.Fatal(err)
	}
	if until, err := store.Fail(layer.Record{Key: "k"}, "again", now); err != nil || until.Sub(now) != time.Minute {
		t.Errorf("after a success it waits %s, %v", until.Sub(now), err)
	}
}

// TestOneOfManyMakesTheLayer lets many executions prepare the same at once. One of them makes a layer,
// and another one only after the head has moved.
func TestOneOfManyMakesTheLayer(t *testing.T) {
	t.Parallel()
	dir, from := filepath.Join(t.TempDir(), "layers"), t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(from, fmt.Sprint(i)), strings.Repeat("x", 1000), 0o644)
	}
	root := openRoot(t, from)
	for i, commit := range []string{"1", "2"} {
		head := []layer.Head{{Dir: "a", Commit: "1"}, {Dir: "b", Commit: commit}}
		var made, kept atomic.Int32
		var all sync.WaitGroup
		again := func() error {
			parts := []layer.Part{{Name: "work", From: root}}
			_, err := layer.Open(dir, 0).Seal(t.Context(), layer.Record{Key: "k", Heads: head}, parts, nil)
			return err
		}
		for range 20 {
			all.Go(func() {
				switch err := again(); {
				case err == nil:
					made.Add(1)
				case errors.Is(err, layer.ErrKept):
					kept.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		layers, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		if made.Load() != 1 || kept.Load() != 19 || len(layers) != i+1 {
			t.Errorf("%d were made, %d were kept by others, %d are there", made.Load(), kept.Load(), len(layers))
		}
		if err := again(); !errors.Is(err, layer.ErrKept) {
			t.Errorf("later: %v", err)
		}
	}
}
