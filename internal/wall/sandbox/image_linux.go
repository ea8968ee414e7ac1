package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

func (i *Image) check() error {
	if i == nil {
		return nil
	}
	if len(i.Layers) == 0 {
		return errors.New("sandbox: the image has no layers")
	}
	parent := filepath.Dir(i.Layers[0])
	for _, layer := range i.Layers {
		if !filepath.IsAbs(layer) || filepath.Dir(layer) != parent || strings.ContainsAny(filepath.Base(layer), `:,\`) {
			return fmt.Errorf("sandbox: %q cannot be a layer of an image", layer)
		}
	}
	if !filepath.IsAbs(i.Dir) || strings.ContainsAny(i.Dir, `:,\`) {
		return fmt.Errorf("sandbox: %q cannot be the folder of an image", i.Dir)
	}
	return nil
}

// create makes the folders of an execution's image.
func (i *Image) create() error {
	for _, name := range []string{inside.ImageUpper, inside.ImageWork, inside.ImageRoot} {
		err := os.Mkdir(filepath.Join(i.Dir, name), 0o755) //nolint:gosec // it becomes the root of the tree
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("sandbox: %w", err)
		}
	}
	return nil
}

// Changes is the folder below Dir with the changes of the tree, as an overlay file system keeps them. It
// exists from the first tree on.
func (i *Image) Changes() string { return filepath.Join(i.Dir, inside.ImageUpper) }

// fresh are the folders on which a sandbox mounts new file systems.
var fresh = []string{"/proc", "/dev", "/tmp", "/run"}

// points returns where bwrap mounts something on the image itself. It makes the others on file
// systems of the sandbox.
func (p *profile) points() (out []inside.Point) {
	for _, at := range fresh {
		out = append(out, inside.Point{Path: at[1:], Dir: true})
	}
	for _, on := range p.on {
		covered := slices.ContainsFunc(out, func(o inside.Point) bool {
			return o.Dir && strings.HasPrefix(on.Path, o.Path+"/")
		})
		if !covered {
			out = append(out, on)
		}
	}
	return out
}

// overlay is how the file system of an image is mounted for the user of the tree.
func (p *profile) overlay(i *Image) *inside.Overlay {
	o := &inside.Overlay{Dir: p.changes, Points: p.points()}
	for _, layer := range i.Layers {
		o.Layers = append(o.Layers, filepath.Join(p.layers, filepath.Base(layer)))
	}
	return o
}

// mountOn notes that source, a file or folder, is mounted on a path.
func (p *profile) mountOn(source, at string) {
	info, err := os.Stat(source)
	if err == nil {
		p.on = append(p.on, inside.Point{Path: strings.TrimPrefix(path.Clean(at), "/"), Dir: info.IsDir()})
	}
}
