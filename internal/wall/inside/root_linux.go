package inside

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Devices are the host's devices that bwrap shows unchanged.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// guardDevices makes the devices read-only for this thread and everything that it starts, in a new
// mount namespace. They work as before, but their mode, owner and times cannot change. If root may
// not mount, as in most containers, the error is an [os.ErrPermission].
func guardDevices() error {
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	}
	if err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	for _, device := range Devices {
		err := unix.Mount(device, device, "", unix.MS_BIND, "")
		if err == nil {
			err = unix.Mount("", device, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, "")
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("make %s read-only: %w", device, err)
		}
	}
	return nil
}

// copyProgram copies a program into memory for one start, so that it cannot be changed. The name of
// the file is executable until the file is closed.
func copyProgram(path string) (*os.File, error) {
	program, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("bwrap", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3, where all of them are executable
		fd, err = unix.MemfdCreate("bwrap", flags)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	_, err = io.Copy(file, program)
	if err == nil {
		_, err = unix.FcntlInt(
			uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE,
		)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("copy %s: %w", path, err)
	}
	return file, nil
}
