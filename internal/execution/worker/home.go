package worker

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Limits of a saved session. A larger HOME is not saved. The next execution then begins a new
// session and gets the conversation as text.
const (
	maxPacked        = 64 << 20
	maxSessionFiles  = 20_000
	maxSessionLevels = 100       // of folders: opening one costs as many steps
	maxSessionBytes  = 512 << 20 // unpacked
)

// caches lists folders of HOME that are never part of a session.
var caches = []string{
	".cache", ".npm", ".yarn", ".pnpm-store", ".cargo", ".rustup", ".m2", ".gradle", ".nuget", ".gem", ".bundle",
	".local/lib", ".local/bin", ".local/share/pnpm", ".nvm", ".pyenv", ".rbenv", ".deno", ".bun", "go", "node_modules",
}

var errSessionTooLarge = errors.New("the session is too large to save")

// receivedEntry lists the ids that the run received from its providers. No file of HOME has such a
// name, so an agent cannot forge it.
const receivedEntry = "/received.json"

// pack writes the state of HOME as a tar.gz: the paths in state, or everything except the caches.
// It stores links as links and never follows them, because the agent may still be working there. It
// calls received last, for the content of receivedEntry, so that the content includes all ids in
// HOME. received may be nil, and may return nil.
func pack(home *os.Root, state []string, received func() []byte, w io.Writer) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	p := packer{home: home, archive: archive, files: maxSessionFiles, bytes: maxSessionBytes}
	if len(state) == 0 {
		state = []string{"."}
		p.skip = caches
	}
	for _, dir := range state {
		if err := p.tree(path.Clean(filepath.ToSlash(dir))); err != nil {
			return fmt.Errorf("pack the session: %w", err)
		}
	}
	if received != nil {
		if err := addReceived(archive, received()); err != nil {
			return fmt.Errorf("pack the session: %w", err)
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

func addReceived(archive *tar.Writer, data []byte) error {
	if data == nil {
		return nil
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: receivedEntry, Mode: 0o600, Size: int64(len(data))}
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	_, err := archive.Write(data)
	return err
}

type packer struct {
	home    *os.Root
	archive *tar.Writer
	skip    []string
	files   int
	bytes   int64
}

func (p *packer) tree(dir string) error {
	err := fs.WalkDir(p.home.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
			return nil // gone meanwhile, or not readable
		case err != nil:
			return err
		case slices.Contains(p.skip, name) && d.IsDir():
			return fs.SkipDir
		case d.IsDir() && !utf8.ValidString(name):
			return fs.SkipDir // io/fs does not see it as a folder
		case slices.Contains(p.skip, name):
			return nil // a link: SkipDir would omit its siblings
		}
		if p.files--; p.files < 0 || strings.Count(name, "/") > maxSessionLevels {
			return errSessionTooLarge
		}
		return p.entry(name, d)
	})
	return err
}

func (p *packer) entry(name string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return p.archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700})
	case d.Type() == fs.ModeSymlink:
		if target, err := p.home.Readlink(filepath.FromSlash(name)); err == nil { // otherwise gone meanwhile
			return p.archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target})
		}
		return nil
	case d.Type().IsRegular():
		return p.file(name)
	}
	return nil // sockets, pipes
}

func (p *packer) file(name string) error {
	file, err := p.home.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil // gone meanwhile, or not readable
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	size := info.Size()
	if p.bytes -= size; p.bytes < 0 {
		return errSessionTooLarge
	}
	header := tar.Header{
		Typeflag: tar.TypeReg, Name: name, Mode: int64(info.Mode().Perm()) | 0o600, Size: size, ModTime: info.ModTime(),
	}
	if err := p.archive.WriteHeader(&header); err != nil {
		return err
	}
	// A file that shrinks meanwhile is padded, because its header is already written.
	_, err = io.CopyN(p.archive, io.MultiReader(file, zeros{}), size)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// limitWriter fails when its limit is exceeded.
type limitWriter struct {
	w    io.Writer
	left int64
}

func (l *limitWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errSessionTooLarge
	}
	return l.w.Write(p)
}

// unpack writes a saved session into HOME. The archive contains files of an agent, so it is not
// trusted. It rejects a path that leads out of HOME, even through a link in the archive, and an
// archive with more than limit bytes. It returns the content of receivedEntry, which the worker
// added.
func unpack(home *os.Root, r io.Reader, limit int64) (received []byte, err error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("unpack the session: %w", err)
	}
	archive := tar.NewReader(io.LimitReader(zipped, limit))
	for n := 0; ; n++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return received, nil
		}
		switch {
		case err != nil:
		case n > maxSessionFiles:
			err = errSessionTooLarge
		case header.Name == receivedEntry && header.Typeflag == tar.TypeReg:
			received, err = io.ReadAll(archive)
		default:
			err = unpackEntry(home, header, archive)
		}
		if err != nil {
			return nil, fmt.Errorf("unpack the session: %w", err)
		}
	}
}

func unpackEntry(home *os.Root, header *tar.Header, content io.Reader) error {
	name := filepath.FromSlash(strings.TrimSuffix(header.Name, "/"))
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is outside HOME", header.Name)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return home.MkdirAll(name, 0o700)
	case tar.TypeReg:
		return put(home, name, header.FileInfo().Mode().Perm()|0o600, content)
	case tar.TypeSymlink:
		if err := home.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := removeTree(home, name); err != nil {
			return err
		}
		return home.Symlink(header.Linkname, name)
	}
	return nil
}
