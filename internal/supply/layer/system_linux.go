package layer

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity returns what is the same for all names of a file, and whether it has several.
func identity(info fs.FileInfo) (id any, several bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Nlink < 2 {
		return nil, false
	}
	return [2]uint64{stat.Dev, stat.Ino}, true
}

// sparse reports whether a file has large holes.
func sparse(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Blocks*512 < info.Size()/2
}

// nextData returns the next part of a file, from the offset at, that is no hole, or io.EOF.
func nextData(file *os.File, at int64) (start, end int64, err error) {
	start, err = file.Seek(at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return 0, 0, io.EOF
	}
	if err == nil {
		end, err = file.Seek(start, unix.SEEK_HOLE)
	}
	return start, end, err
}

// flush returns when everything that was written to the file system of a folder is on its disk.
func flush(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Syncfs(int(file.Fd()))
}

// copyHidden copies the mark by which an overlay file system hides a file of a lower layer.
func copyHidden(info fs.FileInfo, to *os.Root, name string) (hidden bool, err error) {
	if !hides(info) {
		return false, nil
	}
	return true, unlessExists(hide(to, name))
}

// markPrefix begins the names of the attributes of an overlay file system that anybody may set.
const markPrefix = "user.overlay."

// copyMarks copies the attributes of a folder by which an overlay file system hides the content of lower
// layers.
func copyMarks(from, to *os.Root) error {
	found, err := marks(from)
	if err != nil {
		return err
	}
	return setMarks(to, found)
}

// marks returns the attributes of a folder by which an overlay file system hides the content of lower
// layers; nil: it has none.
func marks(of *os.Root) (found map[string][]byte, err error) {
	dir, err := of.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(dir.Fd()), names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil //nolint:nilnil // a file system without attributes hides nothing
	}
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(names[:n]), "\x00") {
		if !strings.HasPrefix(name, markPrefix) {
			continue
		}
		value := make([]byte, 4<<10)
		n, err := unix.Fgetxattr(int(dir.Fd()), name, value)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = map[string][]byte{}
		}
		found[name] = value[:n]
	}
	return found, nil
}

// setMarks sets attributes that marks has returned.
func setMarks(of *os.Root, found map[string][]byte) error {
	if len(found) == 0 {
		return nil
	}
	dir, err := of.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	for name, value := range found {
		if !strings.HasPrefix(name, markPrefix) {
			continue
		}
		if err := unix.Fsetxattr(int(dir.Fd()), name, value, 0); err != nil {
			return err
		}
	}
	return nil
}

// removeMark removes an attribute that marks has returned.
func removeMark(of *os.Root, name string) error {
	dir, err := of.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Fremovexattr(int(dir.Fd()), name)
}

// hides reports whether a file is the mark by which an overlay file system hides one of a lower layer.
func hides(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().Type() == fs.ModeDevice|fs.ModeCharDevice && stat.Rdev == 0
}

// hide makes such a mark.
func hide(in *os.Root, name string) error {
	dir, err := in.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Mknodat(int(dir.Fd()), name, unix.S_IFCHR, 0)
}

// stamp returns what changes with each change of a file. Its owner can set any time but changed.
func stamp(info fs.FileInfo) (changed int64, inode uint64) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return stat.Ctim.Nano(), stat.Ino
}
