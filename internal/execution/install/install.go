// Package install puts agent programs and their Node.js into a folder: npm packages at
// versions that this release pins, with the hash of every file that npm downloads.
//
// A version appears in one step, complete, beside the others. Nothing of a package is run
// while it is installed. Several processes may use a folder at the same time.
//
// [Try] tries an installed agent before runs use it: a whole execution by a worker, in the real
// sandbox and through the model gateway, with a scripted model. So it finds what a run would find,
// and costs nothing.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// Store is the folder of the installed programs: NAME/VERSION, and a link NAME/current to
// the version that runs use.
type Store struct {
	dir   string
	locks fs.FS
	npm   string // the program
	libc  string // file that a system with glibc has
}

// Open returns the store in dir, which need not exist.
func Open(dir string) *Store {
	return &Store{dir: filepath.Clean(dir), locks: pinned(), npm: "npm", libc: loader}
}

// Program is an installed version of a program.
type Program struct {
	Name, Version string
	Dir           string // with its node_modules
	Current       bool   // runs use it
	Pinned        bool   // this release has its lock
}

const (
	currentLink = "current"
	// stagingPrefix is of folders that are not installed yet. A name of a program never
	// begins like this.
	stagingPrefix = ".staging-"
	lockName      = ".lock"
)

// List returns what is installed, by name and version.
func (s *Store) List() ([]Program, error) {
	names, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the installed agents: %w", err)
	}
	var list []Program
	for _, name := range names {
		versions, err := os.ReadDir(filepath.Join(s.dir, name.Name()))
		if strings.HasPrefix(name.Name(), ".") || err != nil {
			continue
		}
		for _, v := range versions {
			if p, ok := s.find(name.Name(), v.Name()); ok && v.IsDir() {
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(a, b Program) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), compareVersions(a.Version, b.Version))
	})
	return list, nil
}

// find returns an installed version.
func (s *Store) find(name, version string) (Program, bool) {
	p := Program{Name: name, Version: version, Dir: filepath.Join(s.dir, name, version)}
	if info, err := os.Stat(filepath.Join(p.Dir, "node_modules")); err != nil || !info.IsDir() {
		return p, false
	}
	current, _ := os.Readlink(filepath.Join(s.dir, name, currentLink)) // absent: none is
	p.Current = current == version
	pin, known := s.Pin(name)
	p.Pinned = known && pin.Version == version
	return p, true
}

// Current returns the version of a program that runs use.
func (s *Store) Current(name string) (Program, bool) {
	version, err := os.Readlink(filepath.Join(s.dir, name, currentLink))
	if err != nil || !validVersion().MatchString(version) {
		return Program{}, false
	}
	return s.find(name, version)
}

// Remove removes a version of a program, or all if version is "". Runs that use it fail.
func (s *Store) Remove(ctx context.Context, name, version string) (removed []string, err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Name != name || version != "" && p.Version != version {
			continue
		}
		if p.Current {
			if err := os.Remove(filepath.Join(s.dir, name, currentLink)); err != nil {
				return removed, fmt.Errorf("remove %s: %w", name, err)
			}
		}
		// The rename comes first: what is half removed does not look installed.
		gone := filepath.Join(s.dir, stagingPrefix+"removed-"+name+"-"+p.Version)
		if err := errors.Join(os.RemoveAll(gone), os.Rename(p.Dir, gone), os.RemoveAll(gone)); err != nil {
			return removed, fmt.Errorf("remove %s %s: %w", name, p.Version, err)
		}
		removed = append(removed, p.Version)
	}
	_ = os.Remove(filepath.Join(s.dir, name)) // fails unless it is empty
	return removed, nil
}

// use makes runs use a version.
func (s *Store) use(name, version string) error {
	dir := filepath.Join(s.dir, name)
	link := filepath.Join(dir, stagingPrefix+currentLink)
	_ = os.Remove(link) // of an installation that was killed
	if err := errors.Join(os.Symlink(version, link), os.Rename(link, filepath.Join(dir, currentLink))); err != nil {
		return fmt.Errorf("use %s %s: %w", name, version, err)
	}
	return nil
}

// lock keeps other processes from changing the folder, and removes what killed ones left.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil { //nolint:gosec // programs, no secrets
		return nil, fmt.Errorf("create the folder of the agents: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the agents: %w", err)
	}
	if err := filelock.Wait(ctx, file, filelock.Exclusive); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the folder of the agents: %w", err), file.Close())
	}
	left, _ := filepath.Glob(filepath.Join(s.dir, stagingPrefix+"*")) // the pattern is valid
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("remove the rest of an installation: %w", err), file.Close())
		}
	}
	return func() { _ = file.Close() }, nil
}
