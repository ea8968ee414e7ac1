package sandbox

import (
	"archive/tar"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/inside"
)

// pulled returns an image of layers, on top of one with a shell.
func pulled(t testing.TB, layers ...[]testkit.ImageFile) *Image {
	t.Helper()
	registry := testkit.NewRegistry(t)
	base := testkit.HostImage(t, "sh", "cat", "ls", "dd")
	registry.Push(t, "image", nil, append([][]testkit.ImageFile{base}, layers...)...)
	i, err := image.Open(t.TempDir(), image.Options{}).Acquire(t.Context(), registry.Host+"/image", image.Login{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Release)
	return &Image{Layers: i.Layers, Dir: t.TempDir()}
}

func TestATreeLivesInItsImage(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	text := func(name, content string) testkit.ImageFile {
		return testkit.ImageFile{Header: tar.Header{Name: name}, Content: content}
	}
	i := pulled(t,
		[]testkit.ImageFile{text("opt/below", "below"), text("opt/gone", "gone"), text("home/agent/old", "hidden")},
		[]testkit.ImageFile{text("opt/.wh.gone", ""), text("opt/above", "above")},
	)
	for _, sealed := range []bool{false, true} {
		sp := spec(t, `cat /opt/below /opt/above; ls /opt; ls /home/agent; cd /; echo *; echo "$PWD" > /workspace/written`)
		sp.Image = i
		if sealed {
			seal(t, &sp)
		}
		got := output(t, s, sp)
		want := "belowaboveabove\nbelow\npenstock\nbin dev etc home lib lib64 opt proc run tmp workspace\n"
		if got != want {
			t.Errorf("sealed %v: got %q, want %q", sealed, got, want)
		}
		if content, err := os.ReadFile(filepath.Join(sp.Dir, "written")); string(content) != "/\n" {
			t.Errorf("the workspace has %q, %v", content, err)
		}
	}
}

// A tree's changes to its image exist at its next start, and no other tree sees them.
func TestChangesOfAnImageAreOfOneExecution(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	i := pulled(t)
	first := spec(t, `echo tool > /bin/tool; echo > /bin/ls`)
	first.Image = i
	output(t, s, first)
	again := spec(t, `cat /bin/tool`)
	again.Image = i
	if got := output(t, s, again); got != "tool\n" {
		t.Errorf("the second start sees %q", got)
	}
	other := spec(t, `ls /bin`)
	other.Image = &Image{Layers: i.Layers, Dir: t.TempDir()}
	if got := output(t, s, other); got != "cat\ndd\nls\nsh\n" {
		t.Errorf("another execution sees %q", got)
	}
}

// Nothing that an image has at the place of a mount leads the sandbox to files of the host.
func TestHostileMountPoints(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	outside := t.TempDir()
	at := "/oldroot" + outside
	var layer []testkit.ImageFile
	for _, name := range []string{"workspace", "home", "proc", "dev", "tmp", "run", "etc", "opt"} {
		layer = append(layer, testkit.ImageFile{
			Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: at + "/" + name},
		})
	}
	for _, inner := range []bool{false, true} {
		sp := spec(t, `echo x > /workspace/x; echo x > /home/agent/x; cat /etc/passwd`)
		sp.Image = pulled(t, layer)
		if inner {
			sp.Image = pulled(t, []testkit.ImageFile{
				{Header: tar.Header{Name: "etc/passwd", Typeflag: tar.TypeSymlink, Linkname: at + "/passwd"}},
				{Header: tar.Header{Name: "etc/hosts", Typeflag: tar.TypeSymlink, Linkname: "../../.." + at + "/hosts"}},
				{Header: tar.Header{Name: "home/agent", Typeflag: tar.TypeSymlink, Linkname: at}},
			})
		}
		seal(t, &sp)
		if got := output(t, s, sp); got != passwd {
			t.Errorf("got %q", got)
		}
		for _, dir := range []string{sp.Dir, sp.Home} {
			if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
				t.Error(err)
			}
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%d files were created on the host (%v)", len(left), err)
	}
}

func TestAnImageThatCannotBeMounted(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	sp := spec(t, "exit 0")
	sp.Image = &Image{Layers: []string{filepath.Join(t.TempDir(), "removed")}, Dir: t.TempDir()}
	if _, err := s.Start(t.Context(), sp); err == nil || !strings.Contains(err.Error(), "mount the layers of the image") {
		t.Errorf("got %v", err)
	}
	sp.Image = &Image{Layers: []string{t.TempDir(), "/"}, Dir: t.TempDir()}
	if _, err := s.Start(t.Context(), sp); err == nil {
		t.Error("layers of two folders were mounted")
	}
	noSuch := spec(t, "")
	noSuch.Argv = []string{"/usr/bin/no-such-program"}
	noSuch.Image = pulled(t)
	if result, err := Run(t.Context(), s, noSuch); err != nil || result.Code != inside.CodeCannotExecute {
		t.Errorf("a program that the image lacks: %v, %v", result, err)
	}
}

func TestChangesOfAnImageCountAsDiskUse(t *testing.T) {
	t.Parallel()
	s := open(t, Bubblewrap)
	sp := spec(t, `dd if=/dev/zero of=/big bs=1M count=64 2>/dev/null; while :; do :; done`)
	sp.Image = pulled(t)
	sp.Limits.Disk = 32 << 20
	result, err := Run(t.Context(), s, sp)
	if err != nil || result.Exceeded != Disk {
		t.Errorf("got %v, %v", result, err)
	}
	if _, err := os.Stat(filepath.Join(sp.Image.Layers[0], "big")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the layer was changed: %v", err)
	}
}
