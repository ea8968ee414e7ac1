// Package image pulls container images from registries and keeps them unpacked, so that a sandbox
// can mount their layers: a [Store] needs no daemon and no root, and several processes may use its
// folder. A [Daemon] is a Docker daemon, or one that speaks its API (1.41), with its containers.
//
// Each layer is unpacked once, by the hash of its content (diff ID). Everything belongs to the user
// of the process: an image cannot bring a device, a set-id program or a file of another user.
package image

import (
	"cmp"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/penstock-dev/penstock/internal/supply/filelock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// Store keeps images in a folder. It is safe for concurrent use.
type Store struct {
	dir       string
	o         Options
	transport http.RoundTripper // of requests to registries
}

// Options configure a [Store].
type Options struct {
	// MaxBytes bounds the unpacked images. Images that are not in use are removed for a new one, the
	// longest unused first. An image that is larger on its own is refused. 0: no bound.
	MaxBytes int64
	// Mirrors maps the host of a registry (docker.io, registry.example.com:5000) to the host that is
	// asked before it.
	Mirrors map[string]string
	// Outbound opens the connections to registries, and wherever they lead. Default: every address
	// is allowed, and the environment names the proxy.
	Outbound *egress.Outbound
}

// Image is an unpacked image that is in use. [Image.Release] ends the use.
type Image struct {
	// Name is the reference by which the image was asked for.
	Name string
	// Digest identifies the manifest: sha256 and 64 hexadecimal digits.
	Digest string
	// Layers are the folders of the layers, the top one first. They are siblings.
	Layers []string
	// Env is the environment that the image sets, KEY=value.
	Env []string
	// Pulled means that a layer was downloaded for this use.
	Pulled bool
	// Size is the unpacked size in bytes.
	Size int64

	use *filelock.Lock
}

// Release allows the removal of the image. The image must not be mounted any more.
func (i *Image) Release() {
	if i.use != nil { // an image of a Docker daemon
		i.use.Release()
	}
}

// Record describes an image of a [Store].
type Record struct {
	Digest string        `json:"digest"`
	Layers []LayerRecord `json:"layers"` // the lowest one first
	Env    []string      `json:"env"`
	Names  []string      `json:"-"` // the references that lead to it
	UsedAt time.Time     `json:"-"`
	InUse  bool          `json:"-"`
}

// LayerRecord describes a layer of an image.
type LayerRecord struct {
	DiffID string `json:"diff_id"`
	Size   int64  `json:"size"` // unpacked, in bytes
}

// Size is the unpacked size of the image in bytes.
func (r Record) Size() (n int64) {
	for _, l := range r.Layers {
		n += l.Size
	}
	return n
}

// Open returns the store in dir. The folder is created with the first image.
func Open(dir string, o Options) *Store {
	s := &Store{dir, o, remote.DefaultTransport}
	if o.Outbound != nil {
		s.transport = o.Outbound.Transport()
	}
	return s
}

func (s *Store) layers() string { return filepath.Join(s.dir, "layers") }
func (s *Store) images() string { return filepath.Join(s.dir, "images") }
func (s *Store) names() string  { return filepath.Join(s.dir, "names") }

// unpacking is the folder for what a pull writes before it is complete, and the locks of layers.
func (s *Store) unpacking() string { return filepath.Join(s.dir, "unpacking") }

// layer is the folder of a layer. Its name is short, because the kernel takes at most a page of
// options for a mount.
func (s *Store) layer(diffID string) string {
	hash, _ := hex.DecodeString(strings.TrimPrefix(diffID, "sha256:"))
	name := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(hash[:min(16, len(hash))])
	return filepath.Join(s.layers(), strings.ToLower(name))
}

func (s *Store) record(digest string) string {
	return filepath.Join(s.images(), strings.TrimPrefix(digest, "sha256:")+".json")
}

func (s *Store) create() error {
	for _, dir := range []string{s.layers(), s.images(), s.names(), s.unpacking()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create the folder of images: %w", err)
		}
	}
	return nil
}

// use returns the image of a digest, if the store has it.
func (s *Store) use(name, digest string) (*Image, error) {
	held, err := filelock.Share(s.record(digest))
	if err != nil {
		return nil, err
	}
	r, err := s.read(held.File().Name())
	if err == nil {
		now := time.Now()
		err = os.Chtimes(held.File().Name(), now, now)
	}
	if err != nil {
		held.Release()
		return nil, fmt.Errorf("use the image %s: %w", name, err)
	}
	i := &Image{Name: name, Digest: digest, Env: r.Env, Size: r.Size(), use: held}
	for _, l := range slices.Backward(r.Layers) {
		i.Layers = append(i.Layers, s.layer(l.DiffID))
	}
	return i, nil
}

func (s *Store) read(file string) (Record, error) {
	var r Record
	content, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	return r, err
}

// List returns the images of the store, the last used first.
func (s *Store) List() ([]Record, error) {
	files, err := filepath.Glob(filepath.Join(s.images(), "*.json"))
	if err != nil {
		return nil, err
	}
	names, err := s.allNames()
	if err != nil {
		return nil, err
	}
	var list []Record
	for _, file := range files {
		r, err := s.read(file)
		info, statErr := os.Stat(file)
		if errors.Is(errors.Join(err, statErr), fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err := errors.Join(err, statErr); err != nil {
			return nil, fmt.Errorf("list images: %w", err)
		}
		r.UsedAt, r.Names = info.ModTime(), names[r.Digest]
		unused, err := filelock.Hold(file, filelock.Exclusive)
		r.InUse = err != nil
		unused.Release()
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Record) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(a.Digest, b.Digest))
	})
	return list, nil
}

// ErrInUse is returned for the removal of an image that a run uses, or while another image is
// pulled.
var ErrInUse = errors.New("the image is in use")

// ErrUnknown is returned for the removal of an image that the store does not have.
var ErrUnknown = errors.New("there is no such image in the cache")

// Remove removes an image by its name or digest, and the layers that no other image has.
func (s *Store) Remove(name string) error {
	all, err := filelock.Hold(s.lockFile(), filelock.Exclusive)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrUnknown
	}
	if err != nil {
		return ErrInUse
	}
	defer all.Release()
	list, err := s.List()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(r Record) bool { return r.Digest == name || slices.Contains(r.Names, name) })
	switch {
	case i < 0:
		return ErrUnknown
	case list[i].InUse:
		return ErrInUse
	}
	if err := os.Remove(s.record(list[i].Digest)); err != nil {
		return fmt.Errorf("remove the image %s: %w", name, err)
	}
	return s.removeUnused()
}

// shrink removes images until the bound holds, except those in use. While another process pulls, it
// does nothing: that process shrinks the cache afterwards.
func (s *Store) shrink() error {
	if s.o.MaxBytes == 0 {
		return nil
	}
	all, err := filelock.Hold(s.lockFile(), filelock.Exclusive)
	if err != nil {
		return nil // another pull is active
	}
	defer all.Release()
	list, err := s.List()
	if err != nil {
		return err
	}
	for i := len(list) - 1; i >= 0 && sizeOf(list) > s.o.MaxBytes; i-- {
		if list[i].InUse {
			continue
		}
		if err := os.Remove(s.record(list[i].Digest)); err != nil {
			return fmt.Errorf("shrink the cache of images: %w", err)
		}
		list = slices.Delete(list, i, i+1)
	}
	return s.removeUnused()
}

// sizeOf counts each layer once.
func sizeOf(list []Record) (n int64) {
	seen := map[string]bool{}
	for _, r := range list {
		for _, l := range r.Layers {
			if !seen[l.DiffID] {
				seen[l.DiffID] = true
				n += l.Size
			}
		}
	}
	return n
}

// removeUnused removes the layers that no image has, and what interrupted pulls have left. The
// caller holds the lock of the store.
func (s *Store) removeUnused() error {
	list, err := s.List()
	if err != nil {
		return err
	}
	if err := s.forgetNames(list); err != nil {
		return err
	}
	used := map[string]bool{}
	for _, r := range list {
		for _, l := range r.Layers {
			used[s.layer(l.DiffID)] = true
		}
	}
	left, err := filepath.Glob(filepath.Join(s.unpacking(), "*"))
	if err != nil {
		return err
	}
	layers, err := filepath.Glob(filepath.Join(s.layers(), "*"))
	if err != nil {
		return err
	}
	for _, file := range layers {
		if !used[strings.TrimSuffix(file, sizeSuffix)] {
			left = append(left, file)
		}
	}
	for _, file := range left {
		if err := os.RemoveAll(file); err != nil {
			return fmt.Errorf("remove a layer: %w", err)
		}
	}
	return nil
}

func (s *Store) lockFile() string { return filepath.Join(s.dir, "lock") }

// add records an image whose layers are unpacked.
func (s *Store) add(digest string, layers []LayerRecord, env []string) error {
	return s.put(s.record(digest), Record{Digest: digest, Layers: layers, Env: env})
}

// put writes a file as a whole.
func (s *Store) put(file string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(s.unpacking(), "record-*")
	if err != nil {
		return fmt.Errorf("record an image: %w", err)
	}
	_, err = part.Write(data)
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("record an image: %w", err)
	}
	return nil
}
