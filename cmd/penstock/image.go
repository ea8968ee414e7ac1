package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// imaging holds the settings of the container images on this machine.
type imaging struct {
	ImageCache  byteSize      `default:"20GB" placeholder:"SIZE" help:"Maximum total size, unpacked, of the container images that are kept for runs, such as 20GB or 500MB; 0 disables the limit. An image in use is never removed."`
	ImageMirror []imageMirror `placeholder:"REGISTRY=HOST" help:"Mirror to ask before a registry, such as docker.io=mirror.example.com; repeatable."`
}

// imageDir is the folder of the images in a data folder.
const imageDir = "images"

// images opens the images of a data folder. outbound opens the connections to registries; nil: like
// an operator's own command.
func (i imaging) images(data string, outbound *egress.Outbound) *image.Store {
	mirrors := map[string]string{}
	for _, m := range i.ImageMirror {
		mirrors[m.registry] = m.host
	}
	return image.Open(filepath.Join(data, imageDir), image.Options{
		MaxBytes: int64(i.ImageCache), Mirrors: mirrors, Outbound: outbound,
	})
}

// byteSize is a size in bytes, written as in 20GB or 512MiB.
type byteSize int64

var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
	{"", 1},
}

// UnmarshalText is called by kong.
func (s *byteSize) UnmarshalText(text []byte) error {
	for _, unit := range sizeUnits {
		number, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if n *= unit.bytes; err != nil || !(n >= 0 && n < math.MaxInt64) {
			break
		}
		*s = byteSize(n)
		return nil
	}
	return fmt.Errorf("%q is not a size, such as 20GB or 512MiB", text)
}

// imageMirror is a registry that is asked before another one.
type imageMirror struct{ registry, host string }

// UnmarshalText is called by kong.
func (m *imageMirror) UnmarshalText(text []byte) error {
	var ok bool
	m.registry, m.host, ok = strings.Cut(string(text), "=")
	if !ok || m.registry == "" || m.host == "" || strings.Contains(m.host, "://") || strings.Contains(m.host, "@") {
		return errors.New("a mirror has the form REGISTRY=HOST, such as docker.io=mirror.example.com:5000")
	}
	return nil
}

type imageCmds struct {
	Data string `type:"path" env:"PENSTOCK_DATA" default:"${data}" placeholder:"DIR" help:"Data folder of serve or worker. Default: ${data}"`
	imaging

	Pull   imagePullCmd   `cmd:"" help:"Pull a container image before a run needs it."`
	List   imageListCmd   `cmd:"" help:"List the container images that are kept for runs."`
	Remove imageRemoveCmd `cmd:"" help:"Remove a container image that no run uses."`
}

type imagePullCmd struct {
	Image string `arg:"" name:"image" help:"Reference to an image, such as debian:13 or registry.example.com/team/app@sha256:…."`
}

func (*imagePullCmd) Help() string {
	return "Uses the credentials that docker login has stored on this machine. Safe while a server or worker uses the " +
		"data folder."
}

func (cmd *imagePullCmd) Run(ctx context.Context, std *stdio, in *imageCmds) error {
	i, err := in.images(in.Data, nil).Acquire(ctx, cmd.Image, image.Login{})
	if err != nil {
		return err
	}
	defer i.Release()
	said := "is in the cache"
	if i.Pulled {
		said = "was pulled"
	}
	_, err = fmt.Fprintf(std.out, "%s %s: %s, %s\n", cmd.Image, said, i.Digest, bytesText(i.Size))
	return err
}

type imageListCmd struct {
	resultFlags
}

// imageLine is an image in the output of image list.
type imageLine struct {
	Digest string    `json:"digest"`
	Names  []string  `json:"names"`
	Bytes  int64     `json:"bytes"`
	UsedAt time.Time `json:"used_at"`
	InUse  bool      `json:"in_use"`
}

func (cmd *imageListCmd) Run(ctx context.Context, std *stdio, in *imageCmds) error {
	records, err := in.images(in.Data, nil).List()
	if err != nil {
		return err
	}
	list, rows := []imageLine{}, [][]string{}
	for _, r := range records {
		line := imageLine{
			Digest: r.Digest, Names: append([]string{}, r.Names...), Bytes: r.Size(), UsedAt: r.UsedAt.UTC(), InUse: r.InUse,
		}
		list = append(list, line)
		used := span(time.Since(r.UsedAt)) + " ago"
		if r.InUse {
			used = "now"
		}
		rows = append(rows, []string{strings.Join(line.Names, ", "), line.Digest, bytesText(line.Bytes), used})
	}
	if std.format.data() {
		return std.result(ctx, map[string]any{"images": list})
	}
	return std.table([]string{"NAMES", "DIGEST", "SIZE", "USED"}, rows)
}

type imageRemoveCmd struct {
	Image string `arg:"" name:"image" help:"Name or digest of an image, as image list shows it."`
}

func (cmd *imageRemoveCmd) Run(std *stdio, in *imageCmds) error {
	switch err := in.images(in.Data, nil).Remove(cmd.Image); {
	case errors.Is(err, image.ErrInUse):
		return exitf(exitFailed, "a run uses the image %s, or another image is being pulled; try again later", cmd.Image)
	case errors.Is(err, image.ErrUnknown):
		return exitf(exitFailed, "the image %s is not in the cache; penstock image list shows what is", cmd.Image)
	case err != nil:
		return err
	}
	_, err := fmt.Fprintf(std.out, "removed %s\n", cmd.Image)
	return err
}

// images starts this program in an empty image, as a worker starts an agent.
func (cmd *doctorCmd) images(ctx context.Context) finding {
	switch cmd.Sandbox {
	case sandbox.Docker:
		return ok("not used: the Docker daemon has the images of its containers")
	case sandbox.Process:
		return ok("not used: the sandbox %s cannot use container images", cmd.Sandbox)
	}
	o := sandbox.Options{
		Kind: cmd.Sandbox, AllowOpenNetwork: cmd.AllowOpenNetwork, AllowUserNamespaces: cmd.AllowUserNamespaces,
	}
	place(&o, cmd.Data)
	box, err := openSandbox(ctx, o)
	if err != nil {
		return failing("see the check of the sandbox", "%v", err)
	}
	if err := tryImage(ctx, box, existing(cmd.Data)); err != nil {
		return warn("runs that name a container image fail here; overlay file systems in user namespaces need Linux 5.11 "+
			"and a data folder on ext4, xfs, btrfs or tmpfs", "%v", err)
	}
	list, err := image.Open(cmd.path(imageDir), image.Options{}).List()
	if err != nil {
		return failing("", "%v", err)
	}
	return ok("work; %d in the cache", len(list))
}

// tryImage runs this program in an image without any files, which it mounts below dir.
func tryImage(ctx context.Context, box sandbox.Sandbox, dir string) error {
	dir, err := os.MkdirTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"work", "home", "layers", "layers/one", "image"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			return err
		}
	}
	spec := sandbox.Spec{
		Dir: at("work"), Home: at("home"), Image: &sandbox.Image{Layers: []string{at("layers/one")}, Dir: at("image")},
	}
	spec.Argv = []string{box.Layout(spec).Exe, "version"}
	result, err := sandbox.Run(ctx, box, spec)
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("this program does not run in an image: %s (%s)", result.Exit, strings.TrimSpace(result.Output))
	}
	return err
}
