package worker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/penstock-dev/penstock"
)

// removeTree removes a file or a directory that an agent may have filled, if it is
// there. Permissions are no obstacle: some tools write-protect what they cache.
// Neither is depth: os.RemoveAll holds a file open for each level, and an agent can
// make more of them than this process may have files. So directories are moved to
// the top before their turn comes. The tree's own processes have ended; one that holds a
// descriptor of it all the same can turn directories into links, which lead nowhere out
// of root. So root holds nothing but what is the run's.
func removeTree(root *os.Root, name string) error {
	err := root.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if info, statErr := root.Lstat(name); statErr != nil || !info.IsDir() || path.Clean(name) == "." {
		return err
	}
	above, moved := penstock.NewID(), 0 // a name that no agent has guessed
	err = clearOut(root, name, func(child string, isDir bool) error {
		if !isDir {
			return root.Remove(child)
		}
		err := clearOut(root, child, func(grandchild string, isDir bool) error {
			if !isDir {
				return root.Remove(grandchild)
			}
			moved++
			// Who moves a directory has to be able to write into it.
			err := root.Chmod(grandchild, 0o700)
			return errors.Join(err, root.Rename(grandchild, path.Join(name, fmt.Sprintf("%s-%d", above, moved))))
		})
		return errors.Join(err, root.Remove(child))
	})
	return errors.Join(err, root.Remove(name))
}

// clearOut has away take what is in a directory, in portions: there may be more
// than fits into memory. It ends with the first that stays.
func clearOut(root *os.Root, dir string, away func(name string, isDir bool) error) error {
	if err := root.Chmod(dir, 0o700); err != nil {
		return err
	}
	for {
		entries, err := portion(root, dir)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if err := away(path.Join(dir, e.Name()), e.IsDir()); err != nil {
				return err
			}
		}
	}
}

// portion is some of what is in a directory, nothing when it is empty.
func portion(root *os.Root, dir string) ([]fs.DirEntry, error) {
	file, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(1024)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
