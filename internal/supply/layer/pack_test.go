package layer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/layer"
)

// place is a workspace of two parts, and the packs of all workspaces of a test.
type place struct {
	t     *testing.T
	dir   string
	parts []layer.Part
	packs map[string][]byte
}

func newPlace(t *testing.T, packs map[string][]byte) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), packs: packs}
	t.Cleanup(func() { _ = removeAll(p.dir) })
	for _, name := range []string{"work", "home"} {
		dir := filepath.Join(p.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		p.parts = append(p.parts, layer.Part{Name: name, From: root})
	}
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, "work", name) }

func (p *place) write(name, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) scan() layer.Files {
	p.t.Helper()
	found, err := layer.Scan(p.t.Context(), p.parts)
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// settled waits until a later change has another time.
func settled() { <-time.After(50 * time.Millisecond) }

const roomy = 1 << 30

func (p *place) next(s layer.Since, uid string) layer.Since {
	p.t.Helper()
	var to bytes.Buffer
	next, err := s.Next(p.t.Context(), p.parts, uid, roomy, &to)
	if err != nil {
		p.t.Fatal(err)
	}
	p.packs[uid] = to.Bytes()
	return next
}

func (p *place) restoring() layer.Restoring {
	return layer.Restoring{
		Parts: p.parts,
		Open: func(uid string) (io.ReadCloser, error) {
			content, ok := p.packs[uid]
			if !ok {
				return nil, fmt.Errorf("there is no pack %s", uid)
			}
			return io.NopCloser(bytes.NewReader(content)), nil
		},
		Remove: func(root *os.Root, name string) error { return removeAll(filepath.Join(root.Name(), name)) },
	}
}

func (p *place) restore(uid string) layer.Since {
	p.t.Helper()
	s, err := p.restoring().Restore(p.t.Context(), uid)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// tree describes everything that a user can see of the files.
func (p *place) tree() map[string]string {
	p.t.Helper()
	found := map[string]string{}
	for _, part := range []string{"work", "home"} {
		if err := describe(filepath.Join(p.dir, part), part, found, map[uint64]string{}); err != nil {
			p.t.Fatal(err)
		}
	}
	return found
}

func describe(dir, short string, found map[string]string, names map[uint64]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, short := filepath.Join(dir, e.Name()), short+"/"+e.Name()
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		link := info.Mode().Type() == fs.ModeSymlink
		text := info.Mode().String()
		if !link {
			text += " " + info.ModTime().UTC().Format(time.RFC3339Nano)
			if err := os.Chmod(name, info.Mode().Perm()|0o700); err != nil {
				return err
			}
		}
		switch {
		case link:
			var target string
			target, err = os.Readlink(name)
			text += " " + target
		case info.IsDir():
			err = describe(name, short, found, names)
		default:
			var content []byte
			content, err = os.ReadFile(name)
			text += fmt.Sprintf(" %q", content)
			stat, ok := info.Sys().(*syscall.Stat_t)
			if !ok {
				return errors.ErrUnsupported
			}
			inode := stat.Ino
			if first, seen := names[inode]; seen {
				text += " = " + first
			} else {
				names[inode] = short
			}
		}
		if !link {
			err = errors.Join(err, os.Chmod(name, info.Mode().Perm()))
		}
		if err != nil {
			return err
		}
		found[short] = text
	}
	return nil
}

// removeAll removes a folder also where its owner may not.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (p *place) same(other *place, when string) {
	p.t.Helper()
	want, got := p.tree(), other.tree()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			p.t.Errorf("%s: %s is %s, want %s", when, name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			p.t.Errorf("%s: there is %s, which was not there", when, name)
		}
	}
	if p.t.Failed() {
		p.t.FailNow()
	}
}

// history changes files at random, as programs do.
type history struct {
	*rand.Rand
	p *place
}

func (h history) name() string {
	names := []string{"a", "b", "c d", "é", "odd\xff", "-x", "git"}
	at := []string{[]string{"work", "home"}[h.IntN(2)]}
	for range 1 + h.IntN(3) {
		at = append(at, names[h.IntN(len(names))])
	}
	return filepath.Join(h.p.dir, filepath.Join(at...))
}

// step does one thing. What is not possible now, is not done.
func (h history) step() {
	name, other := h.name(), h.name()
	if info, err := os.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSymlink {
		_ = os.Remove(name) // never write through a link
	}
	switch h.IntN(12) {
	case 0, 1:
		_ = os.MkdirAll(name, 0o755)
	case 2, 3, 4:
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		content := strings.Repeat(string(rune('a'+h.IntN(26))), h.IntN(300))
		_ = os.WriteFile(name, []byte(content), fs.FileMode([]int{0o600, 0o644, 0o755}[h.IntN(3)]))
	case 5:
		if file, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil { // in place, and the time as before
			info, _ := file.Stat()
			_, _ = file.WriteAt([]byte("Z"), 0)
			_ = file.Close()
			_ = os.Chtimes(name, info.ModTime(), info.ModTime())
		}
	case 6:
		_ = removeAll(name)
	case 7:
		_ = os.Rename(name, other)
	case 8:
		_ = os.Symlink([]string{"/nowhere/at/all", "nowhere", "a/nowhere", "../nowhere/x"}[h.IntN(4)], name)
	case 9:
		_ = os.Link(name, other)
	case 10:
		mode := fs.FileMode([]int{0o500, 0o700, 0o755, 0o444, 0o640, 0}[h.IntN(6)])
		if info, err := os.Lstat(name); err == nil && info.Mode().Type() != fs.ModeSymlink {
			_ = os.Chmod(name, mode)
		}
	case 11:
		if file, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil { // with a hole
			_ = file.Truncate(1 << 20)
			_, _ = file.WriteAt([]byte("end"), 900_000)
			_ = file.Close()
		}
	}
}

// prepare makes the same files in each place, with the same times.
func prepare(t *testing.T, seed uint64, places ...*place) {
	t.Helper()
	for _, p := range places {
		h := history{rand.New(rand.NewPCG(seed, 1)), p}
		for range 40 {
			h.step()
		}
		at := time.Unix(1_700_000_000, 5)
		_ = filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(name, 0o755)
			}
			return nil
		})
		_ = filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, _ error) error {
			if d.Type() != fs.ModeSymlink {
				_ = os.Chtimes(name, at, at)
			}
			return nil
		})
	}
}

func TestACheckpointRestoresTheFilesAsTheyWere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			packs := map[string][]byte{}
			at, n := newPlace(t, packs), 0
			prepare(t, seed, at)
			since := layer.Since{}
			if seed%3 > 0 { // otherwise nothing is known about its preparation
				since.Prepared = at.scan()
			}
			h := history{rand.New(rand.NewPCG(seed, 2)), at}
			for round := range 24 {
				for range 1 + h.IntN(8) {
					h.step()
				}
				n++
				uid := fmt.Sprint("pack-", n)
				since = at.next(since, uid)
				if h.IntN(3) > 0 && round < 23 {
					continue
				}
				other := newPlace(t, packs)
				prepare(t, seed, other)
				resumed := other.restore(uid)
				at.same(other, fmt.Sprint("round ", round))
				if h.IntN(2) > 0 { // another worker goes on
					at, since, h.p = other, resumed, other
				}
			}
			if len(since.Packs) > 17 {
				t.Errorf("the checkpoint needs %d packs", len(since.Packs))
			}
		})
	}
}

func TestACheckpointHasOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	noise := func(n int) string {
		b := make([]byte, n)
		r := rand.NewChaCha8([32]byte{1})
		_, _ = r.Read(b)
		return string(b)
	}
	p.write("node_modules/large", noise(4<<20))
	settled()
	since := layer.Since{Prepared: p.scan()}
	p.write("target/built", noise(1<<20))
	settled()
	since = p.next(since, "one")
	p.write("src/main.go", "package main")
	p.next(since, "two")
	if size := len(p.packs["one"]); size > 1<<20+16<<10 {
		t.Errorf("the first pack has %d bytes: it has files of the preparation", size)
	}
	if size := len(p.packs["two"]); size > 16<<10 {
		t.Errorf("the second pack has %d bytes: it has files of the first one", size)
	}
}

// A program may write a file again within the step of the kernel's clock in which it was scanned.
func TestAChangeRightAfterAScanIsSeen(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	for i := range 100 {
		name := fmt.Sprint("file", i)
		p.write(name, "before")
		info, err := os.Stat(p.path(name))
		if err != nil {
			t.Fatal(err)
		}
		since := layer.Since{Prepared: p.scan()}
		p.write(name, "after!")
		if err := os.Chtimes(p.path(name), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if since = p.next(since, name); since.Changed["work"][name].Bytes != 6 {
			t.Fatalf("the change of %s is not saved", name)
		}
	}
}

func TestPacksAreWrittenAnewOnceTheyAreMostlyOutOfDate(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	since := layer.Since{Prepared: p.scan()}
	for i := range 6 {
		p.write("log", strings.Repeat(fmt.Sprint(i), 12<<20))
		since = p.next(since, fmt.Sprint(i))
	}
	if len(since.Packs) > 4 {
		t.Errorf("the checkpoint needs %d packs of 12 MB for a file of 12 MB", len(since.Packs))
	}
}

func TestACheckpointThatIsTooLargeNamesTheFolders(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	since := layer.Since{Prepared: p.scan()}
	p.write("app/node_modules/x/y", strings.Repeat("x", 3000))
	p.write("small", "x")
	var to bytes.Buffer
	_, err := since.Next(t.Context(), p.parts, "one", 2000, &to)
	full, ok := errors.AsType[*layer.FullError](err)
	if !ok || full.Bytes < 3000 || full.Largest[0] != "work/app/node_modules" || to.Len() > 0 {
		t.Errorf("error %v with %d bytes written", err, to.Len())
	}
}

// Files with holes may be larger than the disk.
func TestHolesAreNotPacked(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	since := layer.Since{Prepared: p.scan()}
	p.write("disk.img", "start")
	if err := os.Truncate(p.path("disk.img"), 4<<40); err != nil {
		t.Skip("the file system does not have such files")
	}
	p.next(since, "one")
	other := newPlace(t, p.packs)
	other.restore("one")
	info, err := os.Stat(other.path("disk.img"))
	if err != nil || info.Size() != 4<<40 {
		t.Fatalf("%v %v", info, err)
	}
	start := make([]byte, 6)
	file, err := os.Open(other.path("disk.img"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.ReadFull(file, start); err != nil || string(start) != "start\x00" {
		t.Errorf("the file begins with %q: %v", start, err)
	}
}

// A workspace that was prepared anew on another machine may differ.
func TestACheckpointIsRestoredOnAnotherPreparation(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	p.write("a/b/kept", "1")
	p.write("a/gone", "1")
	since := layer.Since{Prepared: p.scan()}
	p.write("a/b/mine", "2")
	p.write("c/d/new", "3")
	if err := os.Remove(p.path("a/gone")); err != nil {
		t.Fatal(err)
	}
	p.next(since, "one")
	other := newPlace(t, p.packs)
	other.write("a/gone/folder/now", "x") // a folder instead of a file
	other.write("c/d", "a file instead of a folder")
	if err := os.Symlink(t.TempDir(), other.path("a/b")); err != nil {
		t.Fatal(err)
	}
	other.restore("one")
	for name, want := range map[string]string{"a/b/mine": "2", "c/d/new": "3"} {
		if content, err := os.ReadFile(other.path(name)); err != nil || string(content) != want {
			t.Errorf("%s has %q: %v", name, content, err)
		}
	}
	if _, err := os.Lstat(other.path("a/gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the run had removed is there again: %v", err)
	}
}

func TestADamagedPackRestoresNothingInSilence(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	since := layer.Since{Prepared: p.scan()}
	p.write("a", strings.Repeat("content", 1000))
	settled()
	since = p.next(since, "one")
	p.write("b", "more")
	p.next(since, "two")
	for name, damage := range map[string]func(map[string][]byte){
		"a missing pack": func(m map[string][]byte) { delete(m, "one") },
		"half a pack":    func(m map[string][]byte) { m["one"] = m["one"][:len(m["one"])/2] },
		"another pack":   func(m map[string][]byte) { m["one"] = m["two"] },
		"half a list":    func(m map[string][]byte) { m["two"] = m["two"][:40] },
		"an empty pack":  func(m map[string][]byte) { m["two"] = nil },
	} {
		packs := maps.Clone(p.packs)
		damage(packs)
		if _, err := newPlace(t, packs).restoring().Restore(t.Context(), "two"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A pipe in the place of a file would block the worker for ever.
func TestAPipeInThePlaceOfAFileIsNotOpened(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string][]byte{})
	p.write("file", "x")
	info, err := p.parts[0].From.Lstat("file")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(p.path("file")), syscall.Mkfifo(p.path("file"), 0o600)); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := layer.OpenUnread(p.parts[0].From, info)
		opened <- err
	}()
	select {
	case err := <-opened:
		if err == nil {
			t.Error("it opens a pipe")
		}
	case <-time.After(time.Minute):
		t.Error("it waits for somebody who writes to the pipe")
	}
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, pack []byte) {
		outside := t.TempDir()
		p := newPlace(t, map[string][]byte{"one": pack})
		if err := os.Symlink(outside, p.path("out")); err != nil {
			t.Fatal(err)
		}
		_, _ = p.restoring().Restore(t.Context(), "one")
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Errorf("%v was written outside of the workspace: %v", entries, err)
		}
	})
}
