package store

import (
	"errors"
	"os"
	"syscall"
)

// allocate takes n bytes of the disk for a file.
func allocate(f *os.File, from, n int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, from, n)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return fill(f, from, n)
	}
	return err
}
