package layer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// copier copies the content of a folder: files with their permissions and times, links as links, and
// several names of one file as such. It never follows a link.
type copier struct {
	skip     func(name string, folder bool) bool // nil: nothing
	changes  bool                                // see Part
	search   *search                             // nil: nothing
	maxBytes int64                               // 0: no bound

	group    *errgroup.Group
	from, to *os.Root // the folders

	mu      sync.Mutex
	bytes   int64
	files   int
	folders []copied           // their times are set at the end
	names   map[any]*firstName // of files with several names
	links   []link
}

// copied is a folder whose permissions and time are not set yet.
type copied struct {
	name string
	mode fs.FileMode
	time time.Time
}

// firstName is the first name that was seen of a file with several.
type firstName struct {
	name string
	made bool // otherwise something else was there already
}

// link is a further name of such a file.
type link struct {
	name  string
	first *firstName
}

// maxLevels bounds how deep folders are, because each level keeps two files open.
const maxLevels = 200

func (c *copier) copy(ctx context.Context, from, to *os.Root) error {
	c.from, c.to, c.names = from, to, map[any]*firstName{}
	var working context.Context
	c.group, working = errgroup.WithContext(ctx)
	c.group.SetLimit(2 * runtime.GOMAXPROCS(0))
	first := c.folder(working, ".", from, to, 0)
	if err := c.group.Wait(); err != nil { // which ended the rest
		first = err
	}
	if first != nil {
		return fmt.Errorf("copy a layer: %w", first)
	}
	for _, l := range c.links {
		if err := c.link(ctx, l); err != nil {
			return fmt.Errorf("copy a layer: %w", err)
		}
	}
	// The deepest first: a folder may become read-only, and its time changes with its content.
	slices.SortFunc(c.folders, func(a, b copied) int { return len(b.name) - len(a.name) })
	for _, d := range c.folders {
		if err := errors.Join(to.Chmod(d.name, d.mode), to.Chtimes(d.name, d.time, d.time)); err != nil {
			return fmt.Errorf("copy a layer: %w", err)
		}
	}
	return nil
}

// link gives a file that was copied a further name.
func (c *copier) link(ctx context.Context, l link) error {
	if l.first.made {
		return unlessExists(c.to.Link(l.first.name, l.name))
	}
	info, err := c.from.Lstat(l.name)
	if err != nil {
		return err
	}
	from, err := c.from.OpenRoot(path.Dir(l.name))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := c.to.OpenRoot(path.Dir(l.name))
	if err != nil {
		return err
	}
	defer to.Close()
	_, err = c.single(ctx, l.name, info, from, to)
	return err
}

// folder copies the content of the folder name. from and to are the folder itself.
func (c *copier) folder(ctx context.Context, name string, from, to *os.Root, level int) error {
	if level > maxLevels {
		return fmt.Errorf("%s: there are more than %d levels of folders", name, maxLevels)
	}
	entries, err := readDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		full := path.Join(name, e.Name())
		if c.skip != nil && c.skip(full, e.IsDir()) {
			continue
		}
		if secret, at := c.search.find([]byte(full)); secret != "" { // its beginning may be the name of a folder
			return &SecretError{secret, path.Dir(full[:at] + "x")}
		}
		if err := c.entry(ctx, full, e, from, to, level); err != nil {
			return err
		}
	}
	return nil
}

// readDir lists a folder, also one that its owner may not read.
func readDir(dir *os.Root) ([]fs.DirEntry, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.ReadDir(-1)
}

func (c *copier) entry(ctx context.Context, full string, e fs.DirEntry, from, to *os.Root, level int) error {
	info, err := from.Lstat(e.Name())
	if err != nil {
		return err
	}
	if c.changes && info.Mode().Type() != fs.ModeDir {
		if hidden, err := copyHidden(info, to, e.Name()); hidden || err != nil {
			return err
		}
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return c.enter(ctx, full, info, from, to, level)
	case fs.ModeSymlink:
		target, err := from.Readlink(e.Name())
		if err != nil {
			return err
		}
		if secret := c.search.in([]byte(target)); secret != "" {
			return &SecretError{secret, full}
		}
		if err := c.count(0); err != nil {
			return err
		}
		return unlessExists(to.Symlink(target, e.Name()))
	case 0:
		return c.file(ctx, full, info, from, to)
	}
	return nil // a socket, a pipe, a device
}

// unlessExists is err, except that something is there already.
func unlessExists(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// enter copies a folder, if possible at the same time as others.
func (c *copier) enter(
	ctx context.Context, full string, info fs.FileInfo, from, to *os.Root, level int,
) error {
	name := info.Name()
	switch err := to.Mkdir(name, 0o700); {
	case err == nil:
		if err := c.count(0); err != nil {
			return err
		}
		c.mu.Lock()
		c.folders = append(c.folders, copied{full, info.Mode().Perm(), info.ModTime()})
		c.mu.Unlock()
	case !errors.Is(err, fs.ErrExist):
		return err
	default:
		if there, err := to.Lstat(name); err != nil || !there.IsDir() {
			return err // something else is there already
		}
	}
	restore := func() error { return nil }
	hidden := info.Mode().Perm()&0o500 != 0o500 // a tool has removed the permission
	if hidden {
		if err := from.Chmod(name, info.Mode().Perm()|0o500); err != nil {
			return err
		}
		restore = func() error { return from.Chmod(name, info.Mode().Perm()) }
	}
	below, err := from.OpenRoot(name)
	if err != nil {
		return errors.Join(err, restore())
	}
	into, err := to.OpenRoot(name)
	if err != nil {
		return errors.Join(err, below.Close(), restore())
	}
	work := func() (err error) {
		defer func() { err = errors.Join(err, below.Close(), into.Close(), restore()) }()
		if c.changes {
			if err := copyMarks(below, into); err != nil {
				return err
			}
		}
		return c.folder(ctx, full, below, into, level+1)
	}
	if !hidden && c.group.TryGo(work) { // from is open until it returns
		return nil
	}
	return work()
}

func (c *copier) file(ctx context.Context, full string, info fs.FileInfo, from, to *os.Root) error {
	id, several := identity(info)
	if !several {
		_, err := c.single(ctx, full, info, from, to)
		return err
	}
	c.mu.Lock()
	first, seen := c.names[id]
	if seen {
		c.links = append(c.links, link{full, first})
	} else {
		first = &firstName{name: full}
		c.names[id] = first
	}
	c.mu.Unlock()
	if seen {
		return nil
	}
	var err error
	first.made, err = c.single(ctx, full, info, from, to) // read when all folders are copied
	return err
}

// single copies a file. made means that nothing was there.
func (c *copier) single(
	ctx context.Context, full string, info fs.FileInfo, from, to *os.Root,
) (made bool, err error) {
	if err := c.count(info.Size()); err != nil {
		return false, err
	}
	name := path.Base(full)
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, unlessExists(err)
	}
	in, err := openUnread(from, info)
	if err == nil {
		err = c.content(ctx, full, info, in, out)
		_ = in.Close()
	}
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	err = errors.Join(err, out.Close())
	if err == nil {
		err = to.Chtimes(name, info.ModTime(), info.ModTime())
	}
	return true, err
}

// entrySize is what an entry takes on the disk without its content: an attacker must not be able to
// use up all inodes of a disk with empty files.
const entrySize = 512

// count fails beyond the bound.
func (c *copier) count(bytes int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files++
	if c.bytes += entrySize + bytes; c.bytes < 0 { // files with holes may be larger than any disk
		c.bytes = math.MaxInt64
	}
	if c.maxBytes > 0 && c.bytes > c.maxBytes {
		return ErrTooLarge
	}
	return nil
}

// openUnread opens a file, also one that a tool has made unreadable for its owner.
func openUnread(in *os.Root, info fs.FileInfo) (*os.File, error) {
	file, err := openRegular(in, info.Name())
	if !errors.Is(err, fs.ErrPermission) {
		return file, err
	}
	if err := in.Chmod(info.Name(), info.Mode().Perm()|0o400); err != nil {
		return nil, err
	}
	file, err = openRegular(in, info.Name())
	return file, errors.Join(err, in.Chmod(info.Name(), info.Mode().Perm()))
}

// errOther is returned for a file that has become something else.
var errOther = errors.New("the file was replaced")

// openRegular opens a file for reading. A pipe in its place does not block it.
func openRegular(in *os.Root, name string) (*os.File, error) {
	file, err := in.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errOther
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// piece is how much is copied before the next look at whether to stop.
const piece = 16 << 20

// content copies what a file has, without its holes: they may be larger than the disk.
func (c *copier) content(ctx context.Context, full string, info fs.FileInfo, in, out *os.File) error {
	if !sparse(info) {
		return c.data(ctx, full, in, math.MaxInt64, out)
	}
	for at := int64(0); ; {
		start, end, err := nextData(in, at)
		if errors.Is(err, io.EOF) {
			return out.Truncate(info.Size())
		}
		if err == nil {
			_, err = in.Seek(start, io.SeekStart)
		}
		if err == nil {
			_, err = out.Seek(start, io.SeekStart)
		}
		if err == nil {
			err = c.data(ctx, full, in, end-start, out)
		}
		if err != nil {
			return err
		}
		at = end
	}
}

// data copies the next bytes of a file, at most n. Without anything to look for, the kernel copies, and
// shares the blocks if the file system can.
func (c *copier) data(ctx context.Context, full string, in *os.File, n int64, out *os.File) error {
	if !c.search.active() {
		for n > 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			copied, err := io.CopyN(out, in, min(n, piece))
			if n -= copied; errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	rest := io.LimitReader(in, n)
	buffer := make([]byte, min(n, 256<<10)+int64(c.search.longest)) // a file may have many small parts

	kept := 0 // bytes at the start of the buffer that were written before
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.ReadFull(rest, buffer[kept:])
		if secret := c.search.in(buffer[:kept+n]); secret != "" {
			return &SecretError{secret, full}
		}
		if _, writeErr := out.Write(buffer[kept : kept+n]); writeErr != nil {
			return writeErr
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		kept = min(c.search.longest, kept+n)
		copy(buffer, buffer[len(buffer)-kept:])
	}
}
