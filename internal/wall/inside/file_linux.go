package inside

import (
	"errors"
	"os"
)

// Overhead is added to the limit of processes of a tree, for the sandbox program, and for the
// supervisor until it leaves the group.
const Overhead = 16

// Write writes to an existing file of the kernel.
func Write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
