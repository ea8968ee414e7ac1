package image_test

import (
	"archive/tar"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/image"
)

func file(name, content string) testkit.ImageFile {
	return testkit.ImageFile{Header: tar.Header{Name: name}, Content: content}
}

func entry(header tar.Header) testkit.ImageFile { return testkit.ImageFile{Header: header} }

func pull(t *testing.T, s *image.Store, name string) *image.Image {
	t.Helper()
	i, err := s.Acquire(t.Context(), name, image.Login{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Release)
	return i
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestAnImageIsUnpacked(t *testing.T) {
	t.Parallel()
	registry := testkit.NewRegistry(t)
	digest := registry.Push(t, "team/app:1", []string{"PATH=/opt/bin:/bin"}, []testkit.ImageFile{
		entry(tar.Header{Name: "opt/", Typeflag: tar.TypeDir, Mode: 0o555}),
		file("opt/a", "a"), file("opt/gone", "g"), file("opt/folder/old", "o"),
		entry(tar.Header{Name: "opt/hard", Typeflag: tar.TypeLink, Linkname: "opt/a"}),
		{Header: tar.Header{Name: "opt/setuid", Mode: 0o6755, Uid: 33}, Content: "s"},
		entry(tar.Header{Name: "opt/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}),
		entry(tar.Header{Name: "opt/pipe", Typeflag: tar.TypeFifo}),
		entry(tar.Header{Name: "opt/out", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}),
	}, []testkit.ImageFile{
		entry(tar.Header{Name: "opt/.wh.gone"}),
		entry(tar.Header{Name: "opt/folder/.wh..wh..opq"}),
		file("opt/folder/new", "n"),
		entry(tar.Header{Name: "opt/copied", Typeflag: tar.TypeLink, Linkname: "opt/a"}),
	})
	i := pull(t, image.Open(t.TempDir(), image.Options{}), registry.Host+"/team/app:1")
	if i.Digest != digest || len(i.Layers) != 2 || !i.Pulled || len(i.Env) != 1 || i.Env[0] != "PATH=/opt/bin:/bin" {
		t.Fatalf("got %+v", i)
	}
	top, bottom := i.Layers[0], i.Layers[1]
	if got := read(t, bottom, "opt/hard") + read(t, top, "opt/copied") + read(t, top, "opt/folder/new"); got != "aan" {
		t.Errorf("the files have the contents %q", got)
	}
	var white, a, hard unix.Stat_t
	if err := unix.Lstat(filepath.Join(top, "opt/gone"), &white); err != nil || white.Mode&unix.S_IFMT != unix.S_IFCHR ||
		white.Rdev != 0 {
		t.Errorf("a removed file is no whiteout: %v, mode %o", err, white.Mode)
	}
	opaque := make([]byte, 8)
	n, err := unix.Getxattr(filepath.Join(top, "opt/folder"), "user.overlay.opaque", opaque)
	if err != nil || string(opaque[:n]) != "y" {
		t.Errorf("a replaced folder is not opaque: %v", err)
	}
	if err := errors.Join(
		unix.Lstat(filepath.Join(bottom, "opt/a"), &a), unix.Lstat(filepath.Join(bottom, "opt/hard"), &hard),
	); err != nil || a.Ino != hard.Ino {
		t.Errorf("a hard link is another file: %v", err)
	}
	setuid, err := os.Stat(filepath.Join(bottom, "opt/setuid"))
	if err != nil || setuid.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		t.Errorf("a set-id bit is kept: %v, %v", setuid.Mode(), err)
	}
	for _, skipped := range []string{"opt/null", "opt/pipe"} {
		if _, err := os.Lstat(filepath.Join(bottom, skipped)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was created", skipped)
		}
	}
}

// A layer that names a path outside of it is refused, and writes nothing there.
func TestHostileLayers(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	link := func(name, to string) testkit.ImageFile {
		return entry(tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to})
	}
	for name, layer := range map[string][]testkit.ImageFile{
		"dots":                {file("../../escaped", "x")},
		"dots below a folder": {file("opt/../../../escaped", "x")},
		"relative link":       {link("opt/up", "../../../../../../../../.."+outside), file("opt/up/escaped", "x")},
		"absolute link":       {link("up", outside), file("up/escaped", "x")},
		"hard link with dots": {entry(tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"})},
		"hard link through link": {
			link("up", "/etc"), entry(tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "up/passwd"}),
		},
		"whiteout through link": {link("up", outside), file("up/.wh.escaped", "")},
		"whiteout of dots":      {file("opt/.wh...", "")},
		"opaque through link":   {link("up", outside), file("up/.wh..wh..opq", "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := testkit.NewRegistry(t)
			registry.Push(t, "hostile", nil, layer)
			store := image.Open(t.TempDir(), image.Options{})
			_, err := store.Acquire(t.Context(), registry.Host+"/hostile", image.Login{})
			if err == nil {
				t.Fatal("the image was unpacked")
			}
			t.Log(err)
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("the layer wrote %s outside", left[0].Name())
			}
			if list, err := store.List(); err != nil || len(list) > 0 {
				t.Errorf("the refused image is listed: %v, %v", list, err)
			}
		})
	}
}

// Two pulls of one image download it once, and neither waits for the pull of another image.
func TestPullsAreShared(t *testing.T) {
	t.Parallel()
	registry := testkit.NewRegistry(t)
	registry.Push(t, "slow", nil, []testkit.ImageFile{file("slow", "s")})
	registry.Push(t, "quick", nil, []testkit.ImageFile{file("quick", "q")})
	held := make(chan struct{})
	registry.Hold = func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/slow/") {
			<-held
		}
	}
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			i, err := image.Open(dir, image.Options{}).Acquire(t.Context(), registry.Host+"/slow", image.Login{})
			if err != nil {
				t.Error(err)
				return
			}
			i.Release()
		})
	}
	pull(t, image.Open(dir, image.Options{}), registry.Host+"/quick")
	close(held)
	wait.Wait()
	layers, err := filepath.Glob(filepath.Join(dir, "layers", "*.size"))
	if err != nil || len(layers) != 2 {
		t.Errorf("two images of a layer have %d layers (%v)", len(layers), err)
	}
	// The configuration is small, so each pull may fetch it. The layer is fetched once.
	if n := registry.Blobs.Load(); n > 4+1+2 {
		t.Errorf("%d downloads", n)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	registry := testkit.NewRegistry(t)
	base := []testkit.ImageFile{file("base", strings.Repeat("b", 100_000))}
	for _, name := range []string{"one", "two", "three"} {
		registry.Push(t, name, nil, base, []testkit.ImageFile{file(name, strings.Repeat(name, 100_000/len(name)))})
	}
	store := image.Open(t.TempDir(), image.Options{MaxBytes: 350_000})
	names := func() (out []string) {
		list, err := store.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			out = append(out, strings.TrimPrefix(r.Names[0], registry.Host+"/"))
		}
		return out
	}
	used := pull(t, store, registry.Host+"/one")
	pull(t, store, registry.Host+"/two").Release()
	pull(t, store, registry.Host+"/three").Release()
	if got := strings.Join(names(), " "); got != "three one" {
		t.Errorf("the cache has %s, want three and one, which is in use", got)
	}
	if got := read(t, used.Layers[1], "base"); len(got) != 100_000 {
		t.Error("the shared layer was removed")
	}
	if err := store.Remove(registry.Host + "/one"); !errors.Is(err, image.ErrInUse) {
		t.Errorf("the removal of an image in use: %v", err)
	}
	used.Release()
	for _, name := range []string{"/one", "/three"} {
		if err := store.Remove(registry.Host + name); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(used.Layers[0])); err != nil || len(left) > 0 {
		t.Errorf("%d layers are left of no image (%v)", len(left), err)
	}
	registry.Push(t, "huge", nil, []testkit.ImageFile{file("huge", strings.Repeat("h", 400_000))})
	if _, err := store.Acquire(t.Context(), registry.Host+"/huge", image.Login{}); err == nil ||
		!strings.Contains(err.Error(), "larger than the cache") {
		t.Errorf("an image that is larger than the cache: %v", err)
	}
}

func TestRegistries(t *testing.T) {
	t.Parallel()
	registry, mirror := testkit.NewTLSRegistry(t), testkit.NewRegistry(t)
	registry.Username, registry.Password = user, password
	digest := registry.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a")})
	name := registry.Host + "/team/app"
	login := loginFor(registry.Host)

	store := storeFor(t, registry)
	unknown := login
	unknown.Password = "wrong-password"
	for _, wrong := range []image.Login{{}, unknown} {
		_, err := store.Acquire(t.Context(), name+":1", wrong)
		if err == nil || !strings.Contains(err.Error(), registry.Host+" denies it") ||
			strings.Contains(err.Error(), "password") {
			t.Errorf("without the right credentials: %v", err)
		}
	}
	_, err := store.Acquire(t.Context(), name+":2", login)
	if err == nil || !strings.Contains(err.Error(), "does not have it") {
		t.Errorf("a tag that does not exist: %v", err)
	}
	first, err := store.Acquire(t.Context(), name+":1", login)
	if err != nil || first.Digest != digest {
		t.Fatal(first, err)
	}
	first.Release()

	registry.Status.Store(http.StatusServiceUnavailable)
	for _, cached := range []string{":1", "@" + digest} {
		i, err := store.Acquire(t.Context(), name+cached, login)
		if err != nil || i.Digest != digest || i.Pulled {
			t.Fatalf("%s while the registry is away: %v, %v", cached, i, err)
		}
		i.Release()
	}
	registry.Status.Store(0)

	mirror.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a of the mirror")})
	store = image.Open(t.TempDir(), image.Options{
		Outbound: outboundTo(t, registry), Mirrors: map[string]string{registry.Host: mirror.Host},
	})
	i := pull(t, store, name+":1")
	if got := read(t, i.Layers[0], "a"); got != "a of the mirror" {
		t.Errorf("with a mirror, the image has %q", got)
	}
	mirror.Status.Store(http.StatusNotFound)
	if i, err = store.Acquire(t.Context(), name+":1", login); err != nil || i.Digest != digest {
		t.Errorf("without the mirror's image: %v, %v", i, err)
	} else {
		i.Release()
	}
}
