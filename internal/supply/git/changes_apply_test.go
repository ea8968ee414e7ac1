package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

// noise is content that does not compress.
func noise(n int) string {
	var b strings.Builder
	for x := uint32(1); b.Len() < n; x = x*1664525 + 1013904223 {
		b.WriteByte(byte(x >> 24))
	}
	return b.String()
}

// Git applies the patch to the commit, whatever has changed, and then the files equal the files of
// the checkout. What the patch cannot contain is listed as truncated.
func TestPatchApplies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before map[string]string
		change func(o *checkedOut) error
		left   []string // out of the patch
	}{
		"a binary file beside a text": {
			map[string]string{"a.bin": noise(900), "a.txt": "one\n"},
			func(o *checkedOut) error {
				o.write("a.bin", noise(1200))
				o.write("new.bin", "\x00\xff"+noise(50))
				o.write("a.txt", "two\n")
				return nil
			}, nil,
		},
		"a binary file that is renamed, changed and executable": {
			map[string]string{"a.bin": noise(4000), "gone.bin": "\x00\x01"},
			func(o *checkedOut) error {
				o.write("a.bin", noise(3990)+"\x00end")
				return errors.Join(
					os.Rename(filepath.Join(o.dir, "a.bin"), filepath.Join(o.dir, "b.bin")),
					os.Chmod(filepath.Join(o.dir, "b.bin"), 0o755), os.Remove(filepath.Join(o.dir, "gone.bin")),
				)
			}, nil,
		},
		"a file becomes a link, and a link a file": {
			map[string]string{"a": "one\n", "b": "two\n"},
			func(o *checkedOut) error {
				return errors.Join(os.Remove(filepath.Join(o.dir, "a")), os.Symlink("b", filepath.Join(o.dir, "a")))
			}, nil,
		},
		"empty files, and files without a last newline": {
			map[string]string{"empty": "", "filled": "", "cut": "one\ntwo", "full": "one\n"},
			func(o *checkedOut) error {
				o.write("filled", "x")
				o.write("cut", "one\ntwo\n")
				o.write("full", "one")
				o.write("new", "")
				return os.Remove(filepath.Join(o.dir, "empty"))
			}, nil,
		},
		"Windows line ends, also with an attribute": {
			map[string]string{"dos": "one\r\ntwo\r\n", ".gitattributes": "*.bat text eol=crlf\n", "a.bat": "one\ntwo\n"},
			func(o *checkedOut) error {
				o.write("dos", "one\r\n2\r\n")
				o.write("a.bat", "one\r\n2\r\n")
				o.write("mixed", "one\r\ntwo\n")
				return nil
			}, nil,
		},
		"names that must be quoted": {
			map[string]string{"tab\there": "one\n", "größe": "one\n", "a b": "one\n"},
			func(o *checkedOut) error {
				for _, name := range []string{
					"tab\there", "größe", "a b", "new\nline", `quo"te`, `back\slash`, "-option", " lead", "trail ", "\xff", "apply/x",
					":(top)x", "a/ b /c",
				} {
					o.write(name, "two\n")
				}
				return nil
			}, nil,
		},
		"a folder replaces a file that is too large for a comparison": {
			map[string]string{"big": noise(maxContent + 1), "a.txt": "one\n"},
			func(o *checkedOut) error {
				err := os.Remove(filepath.Join(o.dir, "big"))
				o.write("big/x", "one\n")
				o.write("a.txt", "two\n")
				return err
			},
			[]string{"big", "big/x"},
		},
		"a file replaces a folder with one that is too large": {
			map[string]string{"dir/big": noise(maxContent + 1), "a.txt": "one\n", "dir/small": "one\n"},
			func(o *checkedOut) error {
				err := os.RemoveAll(filepath.Join(o.dir, "dir"))
				o.write("dir", "one\n")
				o.write("a.txt", "two\n")
				return err
			},
			[]string{"dir", "dir/big"},
		},
		"files that git converts on checkout": {
			map[string]string{
				".gitattributes": "*.id ident\n*.u16 text working-tree-encoding=UTF-16LE\n", "x.id": "$Id$\none\n",
				"x.u16": "one\n", "a.txt": "one\n",
			},
			func(o *checkedOut) error {
				text, err := os.ReadFile(filepath.Join(o.dir, "x.id"))
				o.write("x.id", strings.Replace(string(text), "one", "two", 1))
				o.write("x.u16", "t\x00w\x00o\x00\n\x00")
				o.write("a.txt", "two\n")
				return err
			},
			[]string{"x.id", "x.u16"},
		},
		"names that git refuses": {
			map[string]string{"a.txt": "one\n"},
			func(o *checkedOut) error {
				o.write("git~1/config", "x\n")
				o.write("a.txt", "two\n")
				return os.Symlink("a.txt", filepath.Join(o.dir, ".gitmodules"))
			},
			[]string{".gitmodules", "git~1/config"},
		},
		"a binary file that is too large": {
			map[string]string{"a.txt": "one\n"},
			func(o *checkedOut) error {
				o.write("large.bin", noise(penstock.MaxPatchBytes))
				o.write("a.txt", "two\n")
				return nil
			},
			[]string{"large.bin"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := checkOutForChanges(t, originWith(t, test.before))
			if err := test.change(o); err != nil {
				t.Fatal(err)
			}
			found, patch := o.must()
			var left []string
			for _, f := range found.Files {
				if f.Truncated {
					left = append(left, f.Path)
				}
			}
			if diff := cmp.Diff(test.left, left); diff != "" || found.Truncated != (test.left != nil) {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			fresh := o.mustApply(patch)
			if test.left != nil {
				if text, err := os.ReadFile(filepath.Join(fresh, "a.txt")); err != nil || string(text) != "two\n" {
					t.Errorf("a.txt has %q, %v", text, err)
				}
				return
			}
			for _, dir := range []string{o.dir, fresh} { // compares names, modes, links and contents
				git(t, dir, "add", "--all", "--force")
			}
			if a, b := git(t, o.dir, "write-tree"), git(t, fresh, "write-tree"); a != b {
				t.Errorf("the patch makes other files:\n%s", patch)
			}
		})
	}
}

// A submodule that the agent removes is a change that applies.
func TestPatchOfARemovedSubmodule(t *testing.T) {
	t.Parallel()
	from := origin(t)
	git(t, from, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", fileURL(origin(t)), "lib")
	git(t, from, "commit", "-q", "-m", "a submodule")
	o := checkOutForChanges(t, from)
	if found, _ := o.must(); len(found.Files) > 0 {
		t.Fatalf("an unchanged checkout: %+v", found)
	}
	o.write("README.md", "three\n")
	for _, name := range []string{"lib", ".gitmodules"} {
		if err := os.Remove(filepath.Join(o.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	found, patch := o.must()
	if len(found.Files) != 3 || found.Truncated || !strings.Contains(patch, "deleted file mode 160000") {
		t.Errorf("found %+v\n%s", found, patch)
	}
	o.mustApply(patch)
}
