package layer

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A checkpoint has what changed in a workspace since it was prepared. It is a list of its files with
// packs, which have their content: a pack of its own, and packs of earlier checkpoints. A pack is a
// tar.zst with the list and then the files, named by number.

// Since is what is known of a workspace from one checkpoint to the next.
type Since struct {
	// Prepared are the files as they were prepared; nil: a checkpoint has all files.
	Prepared Files
	Changed  map[string]map[string]Packed // by part and path
	Packs    []Pack
	Note     []byte // restored with the files
}

// Pack is a pack that a checkpoint needs.
type Pack struct {
	UID   string
	Bytes int64 // of the files in it
}

// Packed is a changed file and where its content is.
type Packed struct {
	File

	Target string            // of a symbolic link
	Marks  map[string][]byte // of a folder that hides another one
	Pack   string            // "": it has no content
	Number int               // in the pack
	Data   [][2]int64        // offsets and lengths, if the file has holes
	Bytes  int64             // of its content
}

// list is the first file of a pack.
type list struct {
	All     bool // nothing of the prepared workspace belongs to it
	Packs   []string
	Parts   map[string]map[string]Packed
	Removed map[string][]string
	Note    []byte
}

// Limits of the packs of a checkpoint: beyond them, everything is packed anew.
const (
	mostPacks = 16
	mostWaste = 32 << 20 // and as much again as the files that are still needed
)

// FullError is returned for a checkpoint that is larger than its limit.
type FullError struct {
	Bytes   int64    // of the files that changed
	Largest []string // folders, the largest first
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%d bytes in the workspace have changed since it was prepared", e.Bytes)
}

// Next writes a pack with what changed in the parts, and returns what is known for the checkpoint after it.
// s stays as it is. Nothing is written if more than limit bytes have changed since the preparation.
func (s Since) Next(ctx context.Context, parts []Part, uid string, limit int64, to io.Writer) (_ Since, err error) {
	now, restore, err := scan(ctx, parts)
	defer func() { err = errors.Join(err, restore()) }()
	if err != nil {
		return s, err
	}
	next := Since{Prepared: s.Prepared, Changed: map[string]map[string]Packed{}, Note: s.Note}
	p := &packer{uid: uid, needed: map[string]bool{}, list: list{
		All: s.Prepared == nil, Parts: next.Changed, Removed: map[string][]string{}, Note: s.Note,
	}}
	repack := s.wasted(now)
	for _, part := range parts {
		if err := p.plan(ctx, part, s, now[part.Name], repack); err != nil {
			return s, err
		}
	}
	if p.bytes > limit {
		return s, &FullError{Bytes: p.bytes, Largest: largest(next.Changed)}
	}
	for _, old := range s.Packs {
		if p.needed[old.UID] {
			next.Packs, p.list.Packs = append(next.Packs, old), append(p.list.Packs, old.UID)
		}
	}
	next.Packs, p.list.Packs = append(next.Packs, Pack{uid, p.fresh}), append(p.list.Packs, uid)
	return next, p.write(ctx, to)
}

// wasted reports whether the packs have too much that is no longer needed, or are too many.
func (s Since) wasted(now Files) bool {
	if len(s.Packs) >= mostPacks {
		return true
	}
	var total, live int64
	for _, p := range s.Packs {
		total += p.Bytes
	}
	for part, files := range s.Changed {
		for name, f := range files {
			if now[part][name] == f.File {
				live += f.Bytes
			}
		}
	}
	return total > 2*live+mostWaste
}

type packer struct {
	uid    string
	list   list
	needed map[string]bool
	bytes  int64    // of all files
	fresh  int64    // of those that this pack has
	todo   []source // in the order of their numbers
}

// source is a file whose content is packed.
type source struct {
	root *os.Root
	name string
	Packed
}

// plan decides for each file of a part where its content is. again: in this pack.
func (p *packer) plan(ctx context.Context, part Part, s Since, now map[string]File, repack bool) error {
	prepared := s.Prepared[part.Name]
	for name := range prepared {
		if _, there := now[name]; !there {
			p.list.Removed[part.Name] = append(p.list.Removed[part.Name], name)
		}
	}
	changed := map[string]Packed{}
	p.list.Parts[part.Name] = changed
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := now[name]
		if before, there := prepared[name]; there && before == f {
			continue
		}
		old, packed := s.Changed[part.Name][name]
		if packed && old.File == f && (!repack || old.Pack == "") {
			changed[name] = old
			if p.bytes += old.Bytes; old.Pack != "" {
				p.needed[old.Pack] = true
			}
			continue
		}
		if _, ok := changed[f.Same]; f.Same != "" && !ok { // its first name was removed meanwhile
			f.Same = ""
		}
		described, err := p.describe(part, name, f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		changed[name] = described
	}
	return nil
}

func (p *packer) describe(part Part, name string, f File) (d Packed, err error) {
	d = Packed{File: f}
	switch {
	case f.Mode.Type() == fs.ModeSymlink:
		d.Target, err = part.From.Readlink(name)
	case f.Mode.IsDir() && part.Changes:
		err = inside(part.From, name, func(folder *os.Root) (err error) {
			d.Marks, err = marks(folder)
			return err
		})
	case f.Mode.IsRegular() && f.Same == "":
		if d.Data, d.Bytes, err = extents(part.From, name, f.Size); err != nil {
			return d, err
		}
		d.Pack, d.Number = p.uid, len(p.todo)
		p.todo = append(p.todo, source{part.From, name, d})
		p.bytes, p.fresh = p.bytes+d.Bytes, p.fresh+d.Bytes
	}
	if p.bytes < 0 {
		p.bytes = math.MaxInt64
	}
	return d, err
}

// inside calls do with a folder.
func inside(root *os.Root, name string, do func(*os.Root) error) error {
	in, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return do(in)
}

// mostExtents bounds the parts of a file with holes.
const mostExtents = 10_000

// extents returns where a file has data, if it has holes, and how much.
func extents(root *os.Root, name string, size int64) (data [][2]int64, bytes int64, err error) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || !sparse(info) {
		return nil, size, err
	}
	err = inside(root, path.Dir(name), func(in *os.Root) error {
		file, err := openUnread(in, info)
		if errors.Is(err, errOther) {
			err = fs.ErrNotExist // the next checkpoint has what it is now
		}
		if err != nil {
			return err
		}
		defer file.Close()
		data = [][2]int64{}
		for at := int64(0); len(data) < mostExtents; {
			start, end, err := nextData(file, at)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			data, bytes, at = append(data, [2]int64{start, end - start}), bytes+end-start, end
		}
		return ErrTooMany
	})
	return data, bytes, err
}

func (p *packer) write(ctx context.Context, to io.Writer) error {
	zipped, ok := encoders.Get().(*zstd.Encoder)
	if !ok {
		return errors.New("there is no zstd encoder")
	}
	defer func() {
		zipped.Reset(nil) // which waits for what is still written
		encoders.Put(zipped)
	}()
	zipped.Reset(to)
	archive := tar.NewWriter(zipped)
	if err := p.writeList(archive); err != nil {
		return err
	}
	for _, f := range p.todo {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := f.write(ctx, archive); err != nil {
			return fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// encoders keeps encoders, because a new one costs more than a small checkpoint. Each compresses one block
// while the files of the next are read.
var encoders = sync.Pool{New: func() any {
	zipped, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	if err != nil {
		return err
	}
	return zipped
}}

// listName is the name of the list in a pack.
const listName = "list"

// writeList writes the list of files.
func (p *packer) writeList(archive *tar.Writer) error {
	var content strings.Builder
	if err := gob.NewEncoder(&content).Encode(p.list); err != nil {
		return err
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: listName, Mode: 0o600, Size: int64(content.Len())}
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	_, err := io.WriteString(archive, content.String())
	return err
}

// write writes the content of a file. Where it has become shorter meanwhile, the rest is zero: the next
// checkpoint packs it again.
func (f source) write(ctx context.Context, archive *tar.Writer) error {
	header := tar.Header{Typeflag: tar.TypeReg, Name: strconv.Itoa(f.Number), Mode: 0o600, Size: f.Bytes}
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	file, err := f.open()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOther) {
		_, err = io.CopyN(archive, zeros{}, f.Bytes)
		return err
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return f.pieces(ctx, file, func(n int64) error {
		_, err := io.CopyN(archive, io.MultiReader(file, zeros{}), n)
		return err
	})
}

// pieces calls move for the content of a file without its holes, at each place in turn.
func (f Packed) pieces(ctx context.Context, file *os.File, move func(bytes int64) error) error {
	data := f.Data
	if data == nil {
		data = [][2]int64{{0, f.Bytes}}
	}
	for _, d := range data {
		if _, err := file.Seek(d[0], io.SeekStart); err != nil {
			return err
		}
		for left := d[1]; left > 0; left -= min(left, piece) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := move(min(left, piece)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f source) open() (file *os.File, err error) {
	err = inside(f.root, path.Dir(f.name), func(in *os.Root) error {
		info, err := in.Lstat(path.Base(f.name))
		if err == nil && !info.Mode().IsRegular() {
			err = errOther
		}
		if err == nil {
			file, err = openUnread(in, info)
		}
		return err
	})
	return file, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// largest names the folders with most of the changed bytes, at most two levels deep.
func largest(parts map[string]map[string]Packed) []string {
	sizes := map[string]int64{}
	for part, files := range parts {
		for name, f := range files {
			levels := strings.SplitN(path.Join(part, path.Dir(name)), "/", 4)
			sizes[strings.Join(levels[:min(len(levels), 3)], "/")] += f.Bytes
		}
	}
	names := slices.Collect(maps.Keys(sizes))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(a, b))
	})
	return names[:min(len(names), 3)]
}
