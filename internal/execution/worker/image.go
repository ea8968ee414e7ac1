package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// usedImage is the container image of an execution. nil is none: all methods then return nothing.
type usedImage struct {
	*image.Image

	reference string // by which the run or this worker names it
	dir       string // for the changes of the run
	new       bool   // dir was created by this execution
}

func (i *usedImage) digest() string {
	if i == nil {
		return ""
	}
	return i.Digest
}

// fresh reports whether the image has no changes of an earlier execution of the run.
func (i *usedImage) fresh() bool { return i != nil && i.new }

func (i *usedImage) sandbox() *sandbox.Image {
	if i == nil {
		return nil
	}
	return &sandbox.Image{Name: i.Name, Layers: i.Layers, Dir: i.dir}
}

// ofSandbox are the variables that the sandbox itself sets, because the user of an image does not
// exist there.
var ofSandbox = []string{"HOME", "USER", "LOGNAME", "SHELL", "PWD"}

// environment returns the variables of the image.
func (i *usedImage) environment() (env []string) {
	if i == nil {
		return nil
	}
	for _, entry := range i.Env {
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && !strings.ContainsRune(entry, 0) && !slices.Contains(ofSandbox, name) {
			env = append(env, entry)
		}
	}
	return env
}

// imageName is the image that the run names, or else the worker's default, or "".
func (t *task) imageName() string {
	return cmp.Or(penstock.ImageOf(t.Runner, t.Environment).Reference, t.w.DefaultImage)
}

// usesImages reports whether the run's programs come from its image.
func (b *box) usesImages() bool {
	return b.w.usesImages() && sandbox.Isolates(b.sandbox.Kind())
}

// usesImages reports whether runs in the sandbox of this worker live in container images.
func (w *Worker) usesImages() bool { return w.Images != nil && sandbox.Isolates(w.kind()) }

// useImage pulls the image of the run, and keeps it until releaseImage. Without it, the run fails.
func (b *box) useImage(ctx context.Context) error {
	name := b.imageName()
	if name == "" && b.w.Images != nil && b.sandbox.Kind() == sandbox.Docker {
		return setupFailed("This run names no container image, and the sandbox docker of this worker needs one: name it as " +
			"docker_image of the environment or runner, or start the worker with --docker-image.")
	}
	if name == "" || !b.usesImages() {
		return nil
	}
	login, err := b.registryLogin()
	if err != nil {
		return err
	}
	start := time.Now()
	pulled, err := b.w.Images.Acquire(ctx, name, login)
	if ctx.Err() != nil {
		if err == nil {
			pulled.Release()
		}
		return context.Cause(ctx)
	}
	if refused, ok := errors.AsType[*image.PullError](err); ok {
		return &penstock.Error{
			Code: penstock.CodeEnvironmentSetupFailed, Detail: fmt.Sprintf("The worker cannot %s.", refused),
			Retryable: refused.Retryable,
		}
	}
	if err != nil {
		return setupFailed("The worker cannot use the image %s: %s.", name, err)
	}
	b.image = &usedImage{Image: pulled, reference: name}
	if len(pulled.Layers) > 0 { // otherwise the run cannot change it
		if b.image.dir, b.image.new, err = b.space.imageDir(pulled.Digest); err != nil {
			return fmt.Errorf("make the folder of the image of run %s: %w", b.Lease.RunID, err)
		}
	}
	b.timeline(timelineImageReady, map[string]any{
		"image": name, "digest": pulled.Digest, "pulled": pulled.Pulled, "bytes": pulled.Size,
		"duration_ms": time.Since(start).Milliseconds(),
	})
	return nil
}

// registryLogin returns the credentials that the run has for its image. Without any, the machine's
// own credentials apply.
func (t *task) registryLogin() (image.Login, error) {
	of := penstock.ImageOf(t.Runner, t.Environment)
	if of.Secret == "" {
		return image.Login{}, nil
	}
	login, err := image.ParseLogin(t.RegistryLogin)
	if err != nil {
		return login, setupFailed("The worker cannot use the secret %s for the registry %s of the image: %s.",
			of.Secret, penstock.ImageRegistry(of.Reference), err)
	}
	login.Secret, login.Hosts = of.Secret, t.RegistryHosts
	return login, nil
}

// releaseImage ends the use of the image. No program of the run exists any more.
func (b *box) releaseImage() {
	if b.image != nil {
		b.image.Release()
	}
}

// notStarted is the error of a run whose sandbox does not start.
func (b *box) notStarted(err error) error {
	if b.image != nil {
		return &penstock.Error{
			Code: penstock.CodeEnvironmentSetupFailed, Retryable: true, Cause: err,
			Detail: fmt.Sprintf("This worker cannot start the sandbox with the image %s: %s.", b.image.reference, err),
		}
	}
	return &penstock.Error{
		Code: penstock.CodeUnavailable, Detail: "This worker cannot start the sandbox.", Retryable: true, Cause: err,
	}
}

// inImage adds the image to the reason for which an agent did not start: the image may lack what the
// agent needs.
func (b *box) inImage(err error) error {
	failed, ok := errors.AsType[*penstock.Error](err)
	if !ok || b.image == nil || failed.Code != penstock.CodeAgentProcessFailed {
		return err
	}
	said := *failed
	said.Detail = fmt.Sprintf("The agent did not start in the image %s. %s", b.image.reference, failed.Detail)
	return &said
}

// sayWhatIsNotUsed reports an image and a machine size, which this kind of sandbox ignores.
func (b *box) sayWhatIsNotUsed() {
	if b.w.OwnImage {
		return
	}
	payload := map[string]any{}
	if name := b.imageName(); name != "" && !b.usesImages() {
		payload["image"] = name
		payload["reason"] = "The sandbox " + b.sandbox.Kind() + " of this worker uses the programs of its machine."
	}
	if shape := b.Runner.Shape(); shape != "" {
		payload["instance_shape"] = shape
	}
	if len(payload) == 0 {
		return
	}
	if b.Runner != nil {
		payload["runner"] = b.Runner.Name
	}
	payload["sandbox"] = b.sandbox.Kind()
	b.timeline(timelineImageNotUsed, payload)
}

// imagePrefix begins the names of the folders with the changes of images.
const imagePrefix = "image-"

// imageDir returns the folder for what the run changes in the image of a digest. It removes the
// folders of other images: the setup of the workspace was done in them.
func (s *workspace) imageDir(digest string) (dir string, created bool, err error) {
	name := imagePrefix + strings.TrimPrefix(digest, "sha256:")[:16]
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(s.dir, name)
	for _, entry := range entries {
		switch {
		case entry.Name() == name:
			return dir, false, nil
		case strings.HasPrefix(entry.Name(), imagePrefix):
			if err := s.all.removeIn(s.run, entry.Name()); err != nil {
				return "", false, err
			}
		}
	}
	// Until the setup commands have run in this image, the workspace is not complete.
	if err := os.Remove(s.marker()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", false, err
	}
	return dir, true, os.Mkdir(dir, 0o700)
}
