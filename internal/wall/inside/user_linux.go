package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// lentDir is where the supervisor mounts what it lends to the tree's user, in its own mount
// namespace. That user cannot go through the folders of the worker. bwrap shows a new folder here.
const lentDir = "/dev/shm"

// Lent is a file or folder of the worker that the tree's user sees as its own.
type Lent struct {
	Source   string
	Writable bool
}

// LentAt is the path of the lent file with a number.
func LentAt(i int) string { return filepath.Join(lentDir, strconv.Itoa(i)) }

// becomeUser makes this process, a supervisor that is root, one of the user id, without any right of
// root. What it lends is mounted before. All that it starts counts for the user.
func becomeUser(id int, files []Lent) error {
	space, err := ownerMap(id)
	if err != nil {
		return err
	}
	defer unix.Close(space)
	err = unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	}
	if err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	var trees []int
	for _, f := range files {
		tree, err := f.clone(space)
		if err != nil {
			return fmt.Errorf("map the owner of %s: %w", f.Source, err)
		}
		trees = append(trees, tree)
	}
	if err := unix.Mount("tmpfs", lentDir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("mount %s: %w", lentDir, err)
	}
	for i, tree := range trees {
		if err := attach(tree, LentAt(i)); err != nil {
			return fmt.Errorf("mount %s: %w", files[i].Source, err)
		}
	}
	err = errors.Join(syscall.Setgroups([]int{}), syscall.Setresgid(id, id, id), syscall.Setresuid(id, id, id))
	if err != nil {
		return fmt.Errorf("become user %d: %w", id, err)
	}
	// Otherwise /proc/self belongs to root. In its process namespace, the tree does not see us.
	return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
}

// ownerMap returns a user namespace in which our own user and group are called id.
func ownerMap(id int) (fd int, err error) {
	ids := func(ours int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: ours, HostID: id, Size: 1}}
	}
	// The child stops before its first instruction. Nothing of it ever runs.
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"penstock", "enter"}, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Sys: &syscall.SysProcAttr{
			Ptrace: true, Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWUSER,
			UidMappings: ids(os.Geteuid()), GidMappings: ids(os.Getegid()),
		},
	})
	if err != nil {
		return 0, fmt.Errorf("make a user namespace: %w", err)
	}
	fd, err = unix.Open(fmt.Sprintf("/proc/%d/ns/user", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	_ = unix.Kill(pid, unix.SIGKILL)
	for {
		var status unix.WaitStatus
		if _, waitErr := unix.Wait4(pid, &status, unix.WALL, nil); waitErr != nil && !errors.Is(waitErr, unix.EINTR) ||
			status.Exited() || status.Signaled() {
			return fd, err
		}
	}
}

// clone returns a copy of the mount of f, in which the files of root belong to the user of space.
func (f Lent) clone(space int) (tree int, err error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
	if !f.Writable { // the mounts of the host below it stay in sight
		flags |= unix.AT_RECURSIVE
	}
	if tree, err = unix.OpenTree(unix.AT_FDCWD, f.Source, flags); err != nil {
		return 0, err
	}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(space), //nolint:gosec // a descriptor
	})
	if err != nil && f.Writable {
		return 0, errors.Join(err, unix.Close(tree))
	}
	return tree, nil // a file that is only read may belong to another user
}

// attach mounts a tree at a new path.
func attach(tree int, at string) error {
	defer unix.Close(tree)
	var stat unix.Stat_t
	err := unix.Fstatat(tree, "", &stat, unix.AT_EMPTY_PATH)
	if err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = os.Mkdir(at, 0o700)
	} else if err == nil {
		err = os.WriteFile(at, nil, 0o600)
	}
	if err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}
