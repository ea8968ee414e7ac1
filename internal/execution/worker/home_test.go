package worker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openRoot(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func fill(t *testing.T, root *os.Root, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := errors.Join(
			root.MkdirAll(filepath.Dir(name), 0o755), root.WriteFile(name, []byte(content), 0o640),
		); err != nil {
			t.Fatal(err)
		}
	}
}

// tree lists the entries of root: files with their content, links with their targets.
func tree(t *testing.T, root *os.Root) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := root.Readlink(name)
			found[name] = "→ " + target
			return err
		}
		content, err := root.ReadFile(name)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSessionIsPackedAndUnpacked(t *testing.T) {
	t.Parallel()
	home := openRoot(t)
	fill(t, home, map[string]string{
		".agent/sessions/a.json": "{}", ".agent/empty": "", "notes.txt": "n", ".cache/big": "cached", "go/pkg/x": "module",
		".local/lib/y": "lib",
	})
	if err := errors.Join(
		home.Symlink("sessions/a.json", ".agent/last"), home.Symlink("/etc/passwd", "outside"),
		syscall.Mkfifo(filepath.Join(home.Name(), "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		state []string
		want  map[string]string
	}{
		"all but the caches": {nil, map[string]string{
			".agent/sessions/a.json": "{}", ".agent/empty": "", "notes.txt": "n", ".agent/last": "→ sessions/a.json",
			"outside": "→ /etc/passwd",
		}},
		"what the program names": {[]string{".agent/sessions", "missing"}, map[string]string{".agent/sessions/a.json": "{}"}},
		"a single file":          {[]string{"notes.txt"}, map[string]string{"notes.txt": "n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var archive bytes.Buffer
			if err := pack(home, test.state, nil, &archive); err != nil {
				t.Fatal(err)
			}
			restored := openRoot(t)
			fill(t, restored, map[string]string{"notes.txt": "older", "other": "stays"})
			if _, err := unpack(restored, &archive, 1<<20); err != nil {
				t.Fatal(err)
			}
			got := tree(t, restored)
			delete(got, "other")
			if _, packed := test.want["notes.txt"]; !packed {
				delete(got, "notes.txt")
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
		})
	}
}

// The ids that a run received are stored with its session, and no file of the agent can replace
// them.
func TestSessionIncludesReceivedIDs(t *testing.T) {
	t.Parallel()
	home := openRoot(t)
	fill(t, home, map[string]string{"received.json": `["forged"]`, "a/received.json": `["forged"]`})
	for _, want := range []string{"", `["resp_1"]`} {
		var ids []byte
		if want != "" {
			ids = []byte(want)
		}
		var archive bytes.Buffer
		if err := pack(home, nil, func() []byte { return ids }, &archive); err != nil {
			t.Fatal(err)
		}
		restored := openRoot(t)
		got, err := unpack(restored, &archive, 1<<20)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		if diff := cmp.Diff(tree(t, home), tree(t, restored)); diff != "" {
			t.Errorf("restored (-want +got):\n%s", diff)
		}
	}
}

func TestCacheThatIsALinkHidesNothingBesideIt(t *testing.T) {
	t.Parallel()
	home := openRoot(t)
	fill(t, home, map[string]string{".agent/session.json": "{}", ".npm": "a file", "notes.txt": "n"})
	if err := home.Symlink("/tmp/cache", ".cache"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{".agent/session.json": "{}", "notes.txt": "n"}
	if diff := cmp.Diff(want, tree(t, repacked(t, home))); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// repacked returns a HOME after packing and unpacking.
func repacked(t *testing.T, home *os.Root) *os.Root {
	t.Helper()
	var archive bytes.Buffer
	if err := pack(home, nil, nil, &archive); err != nil {
		t.Fatal(err)
	}
	restored := openRoot(t)
	if _, err := unpack(restored, &archive, 1<<20); err != nil {
		t.Fatal(err)
	}
	return restored
}

func TestSessionThatIsTooLargeIsNotPacked(t *testing.T) {
	t.Parallel()
	home := openRoot(t)
	noise := make([]byte, 1<<20)
	if _, err := rand.New(rand.NewSource(1)).Read(noise); err != nil {
		t.Fatal(err)
	}
	fill(t, home, map[string]string{"noise": string(noise)})
	if err := pack(home, nil, nil, &limitWriter{&bytes.Buffer{}, 1 << 19}); !errors.Is(err, errSessionTooLarge) {
		t.Errorf("got %v, want that it is too large", err)
	}
}

// Walking a tree of n levels takes n² steps, and the end of the turn waits for it.
func TestSessionThatIsTooDeepIsNotPacked(t *testing.T) {
	t.Parallel()
	home := openRoot(t)
	if err := home.MkdirAll(strings.Repeat("d/", 2*maxSessionLevels), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := pack(home, nil, nil, &bytes.Buffer{}); !errors.Is(err, errSessionTooLarge) {
		t.Errorf("got %v, want that it is too large", err)
	}
}

func TestSessionOmitsFoldersWithInvalidUTF8InTheirNames(t *testing.T) {
	t.Parallel()
	home := openRoot(t)
	fill(t, home, map[string]string{"a\xff/x": "x", "notes.txt": "n"})
	if got := tree(t, repacked(t, home))["notes.txt"]; got != "n" {
		t.Errorf("restored %q", got)
	}
}

// The agent decides what the archive contains, so unpacking must not write outside of HOME.
func TestHostileArchiveStaysInHome(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, entries := range map[string][]tar.Header{
		"a path upwards":   {{Name: "../evil", Typeflag: tar.TypeReg}},
		"an absolute path": {{Name: outside + "/evil", Typeflag: tar.TypeReg}},
		"a path by a link": {
			{Name: "d", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "d/evil", Typeflag: tar.TypeReg},
		},
		"a directory by a link": {
			{Name: "d", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "d/evil/", Typeflag: tar.TypeDir},
		},
		"a link by a link": {
			{Name: "d", Typeflag: tar.TypeSymlink, Linkname: outside},
			{Name: "d/evil", Typeflag: tar.TypeSymlink, Linkname: "x"},
		},
		"a file that is a link": {
			{Name: "evil", Typeflag: tar.TypeSymlink, Linkname: outside + "/evil"}, {Name: "evil", Typeflag: tar.TypeReg},
		},
		"a hard link":           {{Name: "evil", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"a device":              {{Name: "evil", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"HOME itself as a file": {{Name: ".", Typeflag: tar.TypeReg}},
		"HOME itself as a link": {{Name: "./", Typeflag: tar.TypeSymlink, Linkname: outside}},
		"a link to a path upwards": {
			{Name: "u", Typeflag: tar.TypeSymlink, Linkname: "../.."}, {Name: "u/evil", Typeflag: tar.TypeReg},
		},
		"a path with a detour":      {{Name: "a/../../evil", Typeflag: tar.TypeReg}},
		"a set-user-id file":        {{Name: "suid", Typeflag: tar.TypeReg, Mode: 0o4755}},
		"more entries than allowed": manyEntries(),
	} {
		t.Run(name, func(t *testing.T) {
			var archive bytes.Buffer
			zipped := gzip.NewWriter(&archive)
			w := tar.NewWriter(zipped)
			for _, h := range entries {
				if err := w.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Close(), zipped.Close()); err != nil {
				t.Fatal(err)
			}
			home := openRoot(t)
			_, err := unpack(home, &archive, maxSessionBytes)
			if found, _ := filepath.Glob(outside + "/*"); len(found) > 0 {
				t.Errorf("%v was made out of HOME", found)
			}
			if found, _ := filepath.Glob(filepath.Join(filepath.Dir(home.Name()), "*evil*")); len(found) > 0 {
				t.Errorf("%v was made out of HOME", found)
			}
			if info, statErr := home.Lstat("suid"); statErr == nil && info.Mode()&fs.ModeSetuid != 0 {
				t.Error("a file may act as its owner")
			}
			harmless := name == "a file that is a link" || name == "a hard link" || name == "a device" ||
				name == "a set-user-id file"
			if harmless != (err == nil) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func manyEntries() []tar.Header {
	list := make([]tar.Header, maxSessionFiles+2)
	for i := range list {
		list[i] = tar.Header{Name: "d/", Typeflag: tar.TypeDir}
	}
	return list
}

func TestArchiveThatGrowsWithoutEndIsRefused(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&archive, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zipped)
	const size = 3 << 20
	if err := w.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: size}); err != nil {
		t.Fatal(err)
	}
	for chunk, left := make([]byte, 1<<20), int64(size); left > 0; left -= int64(len(chunk)) {
		if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(openRoot(t), &archive, 2<<20); err == nil || !strings.Contains(err.Error(), "unpack the session") {
		t.Errorf("got %v, want a refusal", err)
	}
}
