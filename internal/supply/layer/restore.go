package layer

import (
	"archive/tar"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Restoring puts the files of a checkpoint into a workspace that was prepared like its own.
type Restoring struct {
	Parts []Part
	// Open opens a pack.
	Open func(uid string) (io.ReadCloser, error)
	// Remove removes a file or a folder with its content, if it exists.
	Remove func(root *os.Root, name string) error
}

// Restore restores the checkpoint whose own pack is uid, and returns what is known for the next one. After an
// error, the workspace is between two states.
func (r Restoring) Restore(ctx context.Context, uid string) (Since, error) {
	s, err := r.restore(ctx, uid)
	if err != nil {
		return s, fmt.Errorf("restore the checkpoint %s: %w", uid, err)
	}
	return s, nil
}

func (r Restoring) restore(ctx context.Context, uid string) (s Since, err error) {
	first, err := r.open(uid)
	if err != nil {
		return s, err
	}
	defer func() { first.close() }()
	l, err := first.list()
	if err != nil {
		return s, err
	}
	maps.DeleteFunc(l.Parts, func(name string, _ map[string]Packed) bool { // the run has another image now
		return !slices.ContainsFunc(r.Parts, func(p Part) bool { return p.Name == name })
	})
	if l.All {
		err = r.clear()
	} else {
		s.Prepared, err = Scan(ctx, r.Parts)
	}
	if err != nil {
		return s, err
	}
	s.Changed, s.Note = l.Parts, l.Note
	touched := map[string]folders{}
	for _, part := range r.Parts {
		f := folders{part.From, map[string]fs.FileInfo{}}
		touched[part.Name] = f
		if err := r.arrange(f, part.Changes, l.Parts[part.Name], l.Removed[part.Name]); err != nil {
			return s, err
		}
	}
	for _, uid := range slices.Backward(l.Packs) {
		of := first
		if uid != l.Packs[len(l.Packs)-1] {
			if of, err = r.open(uid); err == nil {
				_, err = of.list() // of another checkpoint
			}
		}
		if err == nil {
			err = of.files(ctx, r.Parts, wanted(l.Parts, uid))
		}
		if of != nil {
			of.close()
		}
		if err != nil {
			return s, err
		}
		s.Packs = append(s.Packs, Pack{uid, of.bytes})
	}
	slices.Reverse(s.Packs)
	for _, part := range r.Parts {
		if err := finish(part.From, l.Parts[part.Name], touched[part.Name]); err != nil {
			return s, err
		}
	}
	return s, learn(ctx, s, r.Parts)
}

func (r Restoring) clear() error {
	for _, part := range r.Parts {
		entries, err := readDir(part.From)
		for _, e := range entries {
			err = errors.Join(err, r.Remove(part.From, e.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folders are folders that are made accessible until everything is restored.
type folders struct {
	root   *os.Root
	before map[string]fs.FileInfo
}

// open makes the folders above a file accessible. It makes those that do not exist: a workspace that was
// prepared anew may lack some.
func (f folders) open(name string) error {
	dir := path.Dir(name)
	if _, ok := f.before[dir]; ok || dir == "." {
		return nil
	}
	if err := f.open(dir); err != nil {
		return err
	}
	info, err := f.root.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.Join(f.root.Remove(dir), fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.before[dir] = nil
		return f.root.Mkdir(dir, 0o755)
	}
	if err != nil {
		return err
	}
	f.before[dir] = info
	return f.root.Chmod(dir, info.Mode().Perm()|0o700)
}

// has reports whether the folder of a file exists.
func (f folders) has(name string) bool {
	info, err := f.root.Lstat(path.Dir(name))
	return err == nil && info.IsDir()
}

// arrange removes what the checkpoint does not have, and makes its folders and links.
func (r Restoring) arrange(at folders, marked bool, changed map[string]Packed, removed []string) error {
	slices.Sort(removed)
	for _, name := range slices.Backward(removed) { // the content before its folder
		if !at.has(name) {
			continue
		}
		if err := errors.Join(at.open(name), r.Remove(at.root, name)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) { // folders before their content
		if err := at.open(name); err != nil {
			return err
		}
		if err := r.arrangeOne(at, marked, name, changed[name]); err != nil {
			return err
		}
	}
	return nil
}

func (r Restoring) arrangeOne(at folders, marked bool, name string, f Packed) error {
	info, err := at.root.Lstat(name)
	there := err == nil && info.IsDir() && f.Mode.IsDir()
	switch {
	case !there:
		return errors.Join(r.Remove(at.root, name), place(at.root, name, f))
	case marked:
		return errors.Join(at.open(path.Join(name, "x")), remark(at.root, name, f.Marks))
	}
	return nil
}

// remark gives a folder exactly the marks of a checkpoint.
func remark(root *os.Root, name string, want map[string][]byte) error {
	return inside(root, name, func(in *os.Root) error {
		have, err := marks(in)
		if err != nil {
			return err
		}
		for mark := range have {
			if _, ok := want[mark]; !ok {
				err = errors.Join(err, removeMark(in, mark))
			}
		}
		return errors.Join(err, setMarks(in, want))
	})
}

// place makes a file, except for its content, permissions and times.
func place(root *os.Root, name string, f Packed) error {
	switch {
	case f.Mode.IsDir():
		if err := root.Mkdir(name, 0o700); err != nil {
			return err
		}
		return inside(root, name, func(in *os.Root) error { return setMarks(in, f.Marks) })
	case f.Mode.Type() == fs.ModeSymlink:
		return root.Symlink(f.Target, name)
	case f.Mode.IsRegular():
		return nil // comes from a pack
	default:
		return inside(root, path.Dir(name), func(in *os.Root) error { return hide(in, path.Base(name)) })
	}
}

// wantedFile is a file whose content comes from a pack.
type wantedFile struct {
	part, name string
	Packed
}

func wanted(parts map[string]map[string]Packed, uid string) map[int]wantedFile {
	found := map[int]wantedFile{}
	for part, files := range parts {
		for name, f := range files {
			if f.Pack == uid {
				found[f.Number] = wantedFile{part, name, f}
			}
		}
	}
	return found
}

// openPack is a pack that is being read.
type openPack struct {
	content io.ReadCloser
	zipped  *zstd.Decoder
	archive *tar.Reader
	bytes   int64 // of the files in it
}

// mostWindow bounds the memory for reading a pack, in bytes.
const mostWindow = 64 << 20

func (r Restoring) open(uid string) (*openPack, error) {
	content, err := r.Open(uid)
	if err != nil {
		return nil, err
	}
	zipped, err := zstd.NewReader(content, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return &openPack{content, zipped, tar.NewReader(zipped), 0}, nil
}

func (p *openPack) close() {
	p.zipped.Close()
	_ = p.content.Close() // only read
}

func (p *openPack) list() (l list, err error) {
	header, err := p.archive.Next()
	if err != nil {
		return l, damage(err)
	}
	if header.Name != listName {
		return l, damage(fmt.Errorf("it begins with %q", header.Name))
	}
	return l, damage(gob.NewDecoder(p.archive).Decode(&l))
}

// ErrDamaged is returned for a checkpoint whose packs do not have what they should.
var ErrDamaged = errors.New("a pack is damaged")

func damage(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// files writes those files of a pack that are wanted.
func (p *openPack) files(ctx context.Context, parts []Part, want map[int]wantedFile) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		header, err := p.archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return damage(err)
		}
		number, err := strconv.Atoi(header.Name)
		if err != nil {
			return damage(fmt.Errorf("it has a file %q", header.Name))
		}
		p.bytes += header.Size
		f, ok := want[number]
		if !ok {
			continue
		}
		delete(want, number)
		i := slices.IndexFunc(parts, func(p Part) bool { return p.Name == f.part })
		if i < 0 || header.Size != f.Bytes {
			return damage(fmt.Errorf("it does not have %s/%s", f.part, f.name))
		}
		if err := f.write(ctx, parts[i].From, p.archive); err != nil {
			return err
		}
	}
	for _, f := range want {
		return damage(fmt.Errorf("it does not have %s/%s", f.part, f.name))
	}
	return nil
}

func (f wantedFile) write(ctx context.Context, root *os.Root, content io.Reader) (err error) {
	file, err := root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = f.pieces(ctx, file, func(n int64) error {
		_, err := io.CopyN(file, reading{content}, n)
		return err
	})
	if err != nil || f.Data == nil {
		return err
	}
	return file.Truncate(f.Size)
}

// reading marks what cannot be read as damaged.
type reading struct{ io.Reader }

func (r reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damage(err)
	}
	return n, err
}

// finish makes the further names of files, and sets permissions and times.
func finish(root *os.Root, changed map[string]Packed, at folders) error {
	names := slices.Sorted(maps.Keys(changed))
	for _, name := range names {
		if err := changed[name].finish(root, name); err != nil {
			return err
		}
	}
	all := maps.Clone(at.before)
	for _, name := range names {
		if changed[name].Mode.IsDir() {
			all[name] = nil
		}
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(all))) { // the content before its folder
		f, ok := changed[name]
		if info := all[name]; !ok && info != nil {
			if now, err := root.Lstat(name); err != nil || !now.IsDir() {
				continue // removed
			}
			f.Mode, f.Modified = info.Mode(), info.ModTime().UnixNano()
		}
		if err := f.settle(root, name); err != nil {
			return err
		}
	}
	return nil
}

// finish makes a further name of a file, or sets its permissions and time.
func (f Packed) finish(root *os.Root, name string) error {
	switch {
	case !f.Mode.IsRegular():
		return nil
	case f.Same != "":
		err := root.Link(f.Same, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = damage(err)
		}
		return err
	}
	modified := time.Unix(0, f.Modified)
	return errors.Join(root.Chmod(name, f.Mode.Perm()), root.Chtimes(name, modified, modified))
}

// settle sets the permissions and the time of a folder. It does nothing for one that no checkpoint had.
func (f Packed) settle(root *os.Root, name string) error {
	if !f.Mode.IsDir() {
		return nil
	}
	modified := time.Unix(0, f.Modified)
	return errors.Join(root.Chtimes(name, modified, modified), root.Chmod(name, f.Mode.Perm()))
}

// learn reads the files as they are after a checkpoint was restored.
func learn(ctx context.Context, s Since, parts []Part) error {
	now, err := Scan(ctx, parts)
	if err != nil {
		return err
	}
	for part, files := range now {
		changed, prepared := s.Changed[part], s.Prepared[part]
		for name, f := range files {
			if p, ok := changed[name]; ok {
				p.File = f
				changed[name] = p
			} else if _, ok := prepared[name]; ok {
				prepared[name] = f // restoring may have touched it
			}
		}
	}
	return nil
}
