package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

const (
	imageBytes   = 250 << 20
	unpackRounds = 3
)

// images measures how long an image takes to be unpacked, beside tar, and how long a sandbox in it
// takes to start, beside the same sandbox without an image.
func (b *bench) images(ctx context.Context) error {
	layer := filepath.Join(b.dir, "layer.tar")
	if err := b.writeLayer(ctx, layer); err != nil {
		return err
	}
	quiet := registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))
	server := httptest.NewServer(registry.New(quiet))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/image:1"
	compressed, err := push(ctx, reference, layer)
	if err != nil {
		return err
	}
	packed := layer + ".gz"
	if err := writeAll(packed, compressed); err != nil {
		return err
	}
	var pulled *image.Image
	var took, tar []time.Duration
	for range unpackRounds {
		if pulled != nil {
			pulled.Release()
		}
		dir, err := os.MkdirTemp(b.dir, "image-")
		if err != nil {
			return err
		}
		start := time.Now()
		if pulled, err = image.Open(filepath.Join(dir, "store"), image.Options{}).Acquire(
			ctx, reference, image.Login{},
		); err != nil {
			return err
		}
		took, start = append(took, time.Since(start)), time.Now()
		const untar = `mkdir "$1" && tar -xzf "$2" -C "$1" && sync -f "$1"`
		if _, err := output(ctx, "/bin/sh", "-c", untar, "untar", filepath.Join(dir, "tar"), packed); err != nil {
			return fmt.Errorf("unpack with tar: %w", err)
		}
		tar = append(tar, time.Since(start))
	}
	defer pulled.Release()
	own, bare := quantile(took, .5), quantile(tar, .5)
	b.out.row(row{
		what: "an image of 250 MB is pulled and unpacked, p50", penstock: millis(own), bare: millis(bare),
		ratio: ratio(float64(own), float64(bare)), aim: upTo(float64(own), 2*float64(bare), "ratio ≤ 2"),
	})
	return b.startsInImage(ctx, pulled.Layers)
}

// writeLayer writes files of this machine to an archive: a shell with its libraries, and what
// follows below /usr up to the size of the image.
func (b *bench) writeLayer(ctx context.Context, archive string) error {
	libraries, err := output(ctx, "ldd", "/bin/sh")
	if err != nil {
		return fmt.Errorf("list the libraries of the shell: %w", err)
	}
	list := []string{"/bin/sh"}
	for field := range strings.FieldsSeq(libraries) {
		if filepath.IsAbs(field) {
			list = append(list, field)
		}
	}
	var size int64
	err = filepath.WalkDir("/usr", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > imageBytes {
			return fs.SkipAll
		}
		list = append(list, path)
		return nil
	})
	if err != nil {
		return err
	}
	names := filepath.Join(b.dir, "layer.names")
	if err := os.WriteFile(names, []byte(strings.Join(list, "\n")), 0o600); err != nil {
		return err
	}
	_, err = output(ctx, "tar", "--create", "--dereference", "--file", archive, "--files-from", names)
	return err
}

// push stores an image with one layer, and returns its compressed content.
func push(ctx context.Context, reference, archive string) (io.ReadCloser, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromFile(archive, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	made, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	if made, err = mutate.AppendLayers(made, layer); err != nil {
		return nil, err
	}
	if err := remote.Write(ref, made, remote.WithContext(ctx)); err != nil {
		return nil, err
	}
	return layer.Compressed()
}

func writeAll(path string, from io.ReadCloser) error {
	defer from.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(file, from)
	return err
}

// startsInImage measures the time until the program in a sandbox prints something.
func (b *bench) startsInImage(ctx context.Context, layers []string) error {
	box, err := sandbox.New(b.box(sandbox.Options{AllowOpenNetwork: true}))
	if err != nil {
		return err
	}
	const script = "echo x; read wait"
	host := sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Limits: sandbox.Limits{Memory: 1 << 30, Processes: 100, CPUs: 2},
	}
	inImage := host
	inImage.Image = &sandbox.Image{Layers: layers}
	for _, dir := range []*string{&host.Dir, &host.Home, &inImage.Dir, &inImage.Home, &inImage.Image.Dir} {
		if *dir, err = os.MkdirTemp(b.dir, "start-"); err != nil {
			return err
		}
	}
	inside, outside, alone, err := medianStarts(ctx, box, script, inImage, host)
	if err != nil {
		return err
	}
	b.startRows("start of a sandbox in this image, p50", 4, inside, outside, alone)
	return nil
}
