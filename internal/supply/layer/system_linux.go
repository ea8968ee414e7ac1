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
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Type() != fs.ModeDevice|fs.ModeCharDevice || stat.Rdev != 0 {
		return false, nil
	}
	dir, err := to.Open(".")
	if err != nil {
		return true, err
	}
	defer dir.Close()
	return true, unlessExists(unix.Mknodat(int(dir.Fd()), name, unix.S_IFCHR, 0))
}

// markPrefix begins the names of the attributes of an overlay file system that anybody may set.
const markPrefix = "user.overlay."

// copyMarks copies the attributes of a folder by which an overlay file system hides the content of lower
// layers.
func copyMarks(from, to *os.Root) error {
	source, err := from.Open(".")
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := to.Open(".")
	if err != nil {
		return err
	}
	defer target.Close()
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(source.Fd()), names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(string(names[:n]), "\x00") {
		if !strings.HasPrefix(name, markPrefix) {
			continue
		}
		value := make([]byte, 4<<10)
		n, err := unix.Fgetxattr(int(source.Fd()), name, value)
		if err == nil {
			err = unix.Fsetxattr(int(target.Fd()), name, value[:n], 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
