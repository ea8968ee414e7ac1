package layer_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/supply/layer"
)

// A folder of an image that the run has replaced hides the image's files, also after a restore.
func TestAFolderThatHidesAnotherOneDoesSoAfterARestore(t *testing.T) {
	t.Parallel()
	const mark = "user.overlay.opaque"
	packs := map[string][]byte{}
	prepared := func() *place {
		p := newPlace(t, packs)
		for i := range p.parts {
			p.parts[i].Changes = true
		}
		p.write("app/new", "x")
		p.write("lib/new", "x")
		if err := unix.Setxattr(p.path("lib"), mark, []byte("y"), 0); err != nil {
			t.Skip(err)
		}
		return p
	}
	at := prepared()
	since := layer.Since{Prepared: at.scan()}
	for _, name := range []string{"app", "lib"} {
		if err := os.RemoveAll(at.path(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(at.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Setxattr(at.path("app"), mark, []byte("y"), 0); err != nil {
		t.Fatal(err)
	}
	at.next(since, "one")
	other := prepared()
	other.restore("one")
	value := make([]byte, 8)
	if n, err := unix.Getxattr(other.path("app"), mark, value); err != nil || string(value[:n]) != "y" {
		t.Errorf("a folder that hides another one does not: %v", err)
	}
	if _, err := unix.Getxattr(other.path("lib"), mark, value); err == nil {
		t.Error("a folder that hides nothing does")
	}
}
