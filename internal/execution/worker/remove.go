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

// removeTree removes a file or directory of an agent, if it exists. It overrides permissions,
// because some tools write-protect their caches. It works at any depth: os.RemoveAll keeps a file
// open for each level, and an agent can create more levels than this process may have open files,
// so removeTree moves deep directories to the top first. All processes of the tree should have
// ended. If one still has a descriptor, it can replace directories by links, but these cannot lead
// out of root. So root must contain only files of the run.
func removeTree(root *os.Root, name string) error {
	err := root.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if info, statErr := root.Lstat(name); statErr != nil || !info.IsDir() || path.Clean(name) == "." {
		return err
	}
	above, moved := penstock.NewID(), 0 // a name that no agent can guess
	err = clearOut(root, name, func(child string, isDir bool) error {
		if !isDir {
			return root.Remove(child)
		}
		err := clearOut(root, child, func(grandchild string, isDir bool) error {
			if !isDir {
				return root.Remove(grandchild)
			}
			moved++
			// Moving a directory requires write permission on it.
			err := root.Chmod(grandchild, 0o700)
			return errors.Join(err, root.Rename(grandchild, path.Join(name, fmt.Sprintf("%s-%d", above, moved))))
		})
		return errors.Join(err, root.Remove(child))
	})
	return errors.Join(err, root.Remove(name))
}

// clearOut calls away for each entry of a directory, in portions, because all entries may not fit
// into memory. It stops at the first entry that cannot be removed.
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

// portion returns some entries of a directory, or none if it is empty.
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
