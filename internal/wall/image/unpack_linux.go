package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The names by which a layer removes what is in the layers below it (OCI image layer filesystem
// changeset, "Whiteouts").
const (
	whiteoutPrefix = ".wh."
	opaqueMarker   = ".wh..wh..opq"
)

// maxEntries bounds the files of one layer.
const maxEntries = 2_000_000

// unpacking writes one layer to a folder that overlayfs can use as a lower directory. All files
// belong to the user of this process.
type unpacking struct {
	dir   string
	root  *os.Root
	below []string // the folders of the layers below this one, the nearest first
	quota *quota
	modes []dirMode // of folders, which stay writable until the end
}

type dirMode struct {
	path string
	mode fs.FileMode
}

// unpack writes the entries of a layer to dir, which is empty. A path that leaves the layer is an
// error. Devices and named pipes are skipped. The set-id bits, owners and extended attributes of the
// layer are dropped.
func unpack(layer io.Reader, dir string, below []string, quota *quota) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacking{dir: dir, root: root, below: below, quota: quota}
	entries := tar.NewReader(layer)
	for n := 0; ; n++ {
		entry, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			return u.finish()
		case err != nil:
			return fmt.Errorf("read the layer: %w", err)
		case n >= maxEntries:
			return fmt.Errorf("the layer has more than %d files", maxEntries)
		}
		if err := u.add(entry, entries); err != nil {
			return fmt.Errorf("%q in the layer: %w", entry.Name, err)
		}
	}
}

// errEscapes is returned for a path that leads out of its layer.
var errEscapes = errors.New("the path leads out of the image")

func inLayer(name string) (string, error) {
	name = path.Clean(strings.TrimLeft(name, "/"))
	if !filepath.IsLocal(name) {
		return "", errEscapes
	}
	return name, nil
}

func (u *unpacking) add(entry *tar.Header, content io.Reader) error {
	name, err := inLayer(entry.Name)
	if err != nil || name == "." {
		return err
	}
	if err := u.quota.take(fileOverhead); err != nil {
		return err
	}
	parent, base := path.Split(name)
	if parent = path.Clean(parent); parent != "." {
		if err := u.root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	switch {
	case base == opaqueMarker:
		return u.makeOpaque(parent)
	case strings.HasPrefix(base, whiteoutPrefix):
		return u.whiteOut(path.Join(parent, strings.TrimPrefix(base, whiteoutPrefix)))
	}
	return u.write(name, entry, content)
}

// write adds a file. The last of several entries with one name wins, and only folders are merged.
func (u *unpacking) write(name string, entry *tar.Header, content io.Reader) error {
	if entry.Typeflag != tar.TypeDir {
		if err := u.root.RemoveAll(name); err != nil {
			return err
		}
	}
	mode := entry.FileInfo().Mode().Perm() | entry.FileInfo().Mode()&fs.ModeSticky
	switch entry.Typeflag {
	case tar.TypeDir:
		return u.folder(name, mode)
	case tar.TypeReg:
		return u.file(name, mode, entry, content)
	case tar.TypeSymlink:
		return u.root.Symlink(entry.Linkname, name)
	case tar.TypeLink:
		return u.link(name, entry.Linkname)
	}
	return nil
}

func (u *unpacking) folder(name string, mode fs.FileMode) error {
	err := u.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = u.root.Lstat(name); err == nil && !info.IsDir() {
			if err = u.root.Remove(name); err == nil {
				err = u.root.Mkdir(name, 0o700)
			}
		}
	}
	// The owner may always list and remove, so that the cache can.
	u.modes = append(u.modes, dirMode{name, mode | 0o700})
	return err
}

func (u *unpacking) file(name string, mode fs.FileMode, entry *tar.Header, content io.Reader) error {
	if err := u.quota.take(entry.Size); err != nil {
		return err
	}
	file, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chmod(mode|0o400), file.Close(), u.root.Chtimes(name, entry.ModTime, entry.ModTime))
}

// link makes a hard link. Layers are unpacked apart, so a file of a lower layer is copied.
func (u *unpacking) link(name, target string) error {
	target, err := inLayer(target)
	if err != nil {
		return err
	}
	err = u.root.Link(target, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range u.below {
		found, err := u.copyFrom(dir, target, name)
		if found || err != nil {
			return err
		}
	}
	return fmt.Errorf("the hard link leads to %q, which does not exist", target)
}

func (u *unpacking) copyFrom(dir, target, name string) (found bool, err error) {
	lower, err := os.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer lower.Close()
	info, err := lower.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return true, errors.Join(err, fmt.Errorf("the hard link leads to %q, which is not a file of the image", target))
	}
	if err := u.quota.take(info.Size()); err != nil {
		return true, err
	}
	from, err := lower.Open(target)
	if err != nil {
		return true, err
	}
	defer from.Close()
	to, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return true, err
	}
	_, err = io.Copy(to, from)
	return true, errors.Join(err, to.Chmod(info.Mode().Perm()), to.Close())
}

// whiteOut removes a file of the layers below (overlayfs: a character device 0:0, which everybody
// may create since Linux 5.8).
func (u *unpacking) whiteOut(name string) error {
	if base := path.Base(name); base == "." || base == ".." || path.Dir(name) == name {
		return errEscapes
	}
	if _, err := u.root.Lstat(name); err == nil {
		return nil // the layer itself has it
	}
	return u.inFolder(path.Dir(name), func(folder string) error {
		return unix.Mknod(path.Join(folder, path.Base(name)), unix.S_IFCHR, 0)
	})
}

// makeOpaque hides what the layers below have in a folder.
func (u *unpacking) makeOpaque(name string) error {
	return u.inFolder(name, func(folder string) error {
		return unix.Setxattr(folder, "user.overlay.opaque", []byte("y"), 0)
	})
}

// inFolder calls f with a path of a folder of the layer that no link can divert.
func (u *unpacking) inFolder(name string, f func(folder string) error) error {
	folder, err := u.root.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d", folder.Fd()))
}

// finish gives folders their modes, the deepest ones first.
func (u *unpacking) finish() error {
	for _, folder := range slices.Backward(u.modes) {
		if err := u.root.Chmod(folder.path, folder.mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Chmod(u.dir, 0o755) //nolint:gosec // it becomes the root of a tree
}

// syncFiles makes the files durable before they get their name.
func syncFiles(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("write a layer to disk: %w", err)
	}
	return nil
}
