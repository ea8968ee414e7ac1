package install

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// sync writes the file system of dir to its disk.
func syncDir(dir string) error {
	open, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(open.Fd())), open.Close())
}
