package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	blockSize = 512     // of Stat_t.Blocks, independent of the file system's block size
	minFile   = 4 << 10 // minimum size of a file or folder, so that their number is limited, too

	// maxLevels limits the folders that a measurement has open. Deeper folders wait in a queue with
	// the same limit. Only a malicious tree needs more.
	maxLevels = 256
)

// diskUse returns the size of the files below dirs, and of unlinked files that the processes have
// open on the same file systems. It stops when ctx ends or the sum exceeds limit. It does not
// follow links, and counts a file with several names once.
//
// It does not see descriptors that are in transit through a socket, or that belong to a process
// that hides from its own user (PR_SET_DUMPABLE).
func diskUse(ctx context.Context, limit int64, dirs []string, processes func() []int) int64 {
	u := usage{ctx: ctx, limit: limit, devices: map[uint64]bool{}, linked: map[inode]bool{}}
	for _, dir := range dirs {
		u.walk(unix.AT_FDCWD, dir, 0)
		for len(u.deeper) > 0 {
			next := u.deeper[0]
			u.deeper = u.deeper[1:]
			u.list(next, 0)
		}
	}
	for _, file := range unlinkedFiles(processes()) {
		if u.devices[file.Dev] {
			u.bytes += file.Blocks * blockSize
		}
	}
	return u.bytes
}

type inode struct{ device, number uint64 }

// folder is an open folder that is not listed yet.
type folder struct {
	fd   int
	lock func()
}

// usage is an active measurement.
type usage struct {
	ctx     context.Context //nolint:containedctx // of the one call that this lives for
	limit   int64
	bytes   int64
	devices map[uint64]bool
	linked  map[inode]bool // files with several names
	deeper  []folder
}

// done reports whether the measurement can stop.
func (u *usage) done() bool { return u.bytes > u.limit || u.ctx.Err() != nil }

// walk counts name in the folder at, and everything below it.
func (u *usage) walk(at int, name string, level int) {
	var file unix.Stat_t
	if unix.Fstatat(at, name, &file, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return // removed since it was listed
	}
	if id := (inode{file.Dev, file.Ino}); file.Nlink > 1 && file.Mode&unix.S_IFMT != unix.S_IFDIR {
		if u.linked[id] {
			return
		}
		u.linked[id] = true
	}
	u.devices[file.Dev] = true
	u.bytes += max(file.Blocks*blockSize, minFile)
	if file.Mode&unix.S_IFMT != unix.S_IFDIR {
		return
	}
	lock := unlock(at, name, file)
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case err != nil: // gone or replaced
		lock()
	case level < maxLevels:
		u.list(folder{fd, lock}, level)
	case len(u.deeper) < maxLevels:
		u.deeper = append(u.deeper, folder{fd, lock})
	default:
		_ = unix.Close(fd)
		lock()
		u.bytes = u.limit + 1
	}
}

// list counts the content of a folder, and closes it.
func (u *usage) list(f folder, level int) {
	defer f.lock()
	dir := os.NewFile(uintptr(f.fd), "folder")
	defer dir.Close()
	for !u.done() {
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			if u.done() {
				return
			}
			u.walk(f.fd, name, level+1)
		}
		if err != nil {
			return
		}
	}
}

// unlock makes a folder of our user readable for us. Otherwise its content would not count. lock
// restores its mode.
func unlock(at int, name string, file unix.Stat_t) (lock func()) {
	const readable = unix.S_IRUSR | unix.S_IXUSR
	before := file.Mode &^ unix.S_IFMT
	if before&readable == readable || os.Geteuid() == 0 || int(file.Uid) != os.Geteuid() {
		return func() {}
	}
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	path := fmt.Sprintf("/proc/self/fd/%d", fd)
	_ = unix.Chmod(path, before|readable)
	return func() {
		var now unix.Stat_t
		if unix.Stat(path, &now) == nil && now.Mode&^unix.S_IFMT == before|readable {
			_ = unix.Chmod(path, before)
		}
		_ = unix.Close(fd)
	}
}

// unlinkedFiles returns the files without a name that the processes have open, or mapped if the
// kernel shows that. Each file occurs once.
func unlinkedFiles(pids []int) map[inode]unix.Stat_t {
	files := map[inode]unix.Stat_t{}
	see := func(path string) {
		var file unix.Stat_t
		if unix.Stat(path, &file) == nil && file.Mode&unix.S_IFMT == unix.S_IFREG && file.Nlink == 0 {
			files[inode{file.Dev, file.Ino}] = file
		}
	}
	for _, pid := range pids {
		process := fmt.Sprintf("/proc/%d", pid)
		open, _ := os.ReadDir(filepath.Join(process, "fd")) // empty for a process that is gone
		for _, fd := range open {
			see(filepath.Join(process, "fd", fd.Name()))
		}
		maps, _ := os.ReadFile(filepath.Join(process, "maps"))
		for line := range strings.Lines(string(maps)) {
			if !strings.HasSuffix(line, " (deleted)\n") {
				continue
			}
			var from, to uint64
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err == nil {
				see(fmt.Sprintf("%s/map_files/%x-%x", process, from, to))
			}
		}
	}
	return files
}
