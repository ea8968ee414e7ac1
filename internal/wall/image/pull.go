package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/filelock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// Acquire returns the image of a reference, such as alpine:3.22 or
// registry.example.com/team/app@sha256:…, and pulls what is missing. A tag is resolved by its
// registry each time. If the registry cannot be reached, the image is the one to which the tag led
// before. A digest that is in the store needs no registry. The caller releases the image.
func (s *Store) Acquire(ctx context.Context, image string, login Login) (*Image, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return nil, &PullError{
			image, "invalid image reference: use a lower-case name, such as registry.example.com/team/app:1.2", false,
		}
	}
	if _, pinned := ref.(name.Digest); pinned {
		if i, err := s.use(image, s.known(ref.Name())); err == nil {
			return i, nil
		}
	}
	if err := s.create(); err != nil {
		return nil, err
	}
	// Nothing is removed while this is held.
	pulling, err := filelock.Await(ctx, s.lockFile(), filelock.Shared)
	if err != nil {
		return nil, err
	}
	p := &pull{s: s, ctx: ctx, image: image, login: login, registry: ref.Context().RegistryStr()}
	i, err := p.resolve(ref)
	pulling.Release()
	if err != nil {
		return nil, err
	}
	if i.Pulled {
		err = s.shrink()
	}
	if err != nil {
		i.Release()
		return nil, err
	}
	return i, nil
}

// pull is one call of Acquire.
type pull struct {
	s     *Store
	ctx   context.Context //nolint:containedctx // of the one call that this lives for
	image string
	login Login
	// registry is the host of the reference.
	registry string
	pulled   bool
}

// options are for requests to a registry. A login is only for the registry of the image: a mirror
// gets the credentials that this machine has for it.
func (p *pull) options(source name.Reference) []remote.Option {
	o := []remote.Option{
		remote.WithContext(p.ctx),
		remote.WithUserAgent("penstock"),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}),
	}
	if !p.login.IsZero() && source.Context().RegistryStr() == p.registry {
		return append(o, remote.WithTransport(guarded{p.login, p.s.transport}),
			remote.WithAuth(&authn.Basic{Username: p.login.Username, Password: p.login.Password}))
	}
	return append(o, remote.WithTransport(p.s.transport), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// sources are the references to ask, a mirror first.
func (p *pull) sources(ref name.Reference) []name.Reference {
	mirror := p.s.o.Mirrors[ref.Context().RegistryStr()]
	if ref.Context().RegistryStr() == name.DefaultRegistry && mirror == "" {
		mirror = p.s.o.Mirrors[penstock.DockerHub]
	}
	if mirror == "" {
		return []name.Reference{ref}
	}
	separator := ":"
	if _, pinned := ref.(name.Digest); pinned {
		separator = "@"
	}
	mirrored, err := name.ParseReference(mirror + "/" + ref.Context().RepositoryStr() + separator + ref.Identifier())
	if err != nil {
		return []name.Reference{ref}
	}
	return []name.Reference{mirrored, ref}
}

// resolve asks for the digest of a tag, and returns its image.
func (p *pull) resolve(ref name.Reference) (*Image, error) {
	var failed error
	away := true // no registry responded
	for _, source := range p.sources(ref) {
		found, err := remote.Head(source, p.options(source)...)
		if err != nil {
			away = away && unavailable(err)
			failed = err
			continue
		}
		away = false
		i, err := p.usePinned(ref, source, found.Digest.String())
		if err == nil {
			i.Pulled = p.pulled
			return i, nil
		}
		failed = err
	}
	if p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx)
	}
	if away {
		if i, err := p.s.use(p.image, p.s.known(p.image)); err == nil {
			return i, nil
		}
	}
	return nil, p.explain(failed)
}

// usePinned returns the image of a digest, which may name an index of platforms.
func (p *pull) usePinned(ref, source name.Reference, digest string) (*Image, error) {
	pinned := ref.Context().Digest(digest).Name()
	i, err := p.s.use(p.image, p.s.known(pinned))
	if err != nil {
		i, err = p.fetch(source.Context().Digest(digest))
	}
	if err != nil {
		return nil, err
	}
	for _, known := range []string{pinned, p.image} {
		if err := p.s.remember(known, i.Digest); err != nil {
			i.Release()
			return nil, err
		}
	}
	return i, nil
}

// fetch downloads the image of a digest.
func (p *pull) fetch(ref name.Digest) (*Image, error) {
	found, err := remote.Image(ref, p.options(ref)...)
	if err != nil {
		return nil, err
	}
	digest, err := found.Digest()
	if err != nil {
		return nil, err
	}
	config, err := found.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := found.Layers()
	if err != nil {
		return nil, err
	}
	quota := &quota{limit: p.s.o.MaxBytes}
	var below []string
	var records []LayerRecord
	for _, l := range layers {
		record, err := p.layer(l, below, quota)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
		below = slices.Insert(below, 0, p.s.layer(record.DiffID))
	}
	if err := p.s.add(digest.String(), records, config.Config.Env); err != nil {
		return nil, err
	}
	return p.s.use(p.image, digest.String())
}

// sizeSuffix is of the file beside a layer that has its size.
const sizeSuffix = ".size"

// layer unpacks a layer, unless the store has it or another pull unpacks it.
func (p *pull) layer(l v1.Layer, below []string, quota *quota) (LayerRecord, error) {
	diffID, err := l.DiffID()
	if err != nil {
		return LayerRecord{}, err
	}
	dir := p.s.layer(diffID.String())
	unpacking, err := filelock.Await(p.ctx, filepath.Join(p.s.unpacking(), filepath.Base(dir)+".lock"), filelock.Exclusive)
	if err != nil {
		return LayerRecord{}, err
	}
	defer unpacking.Release()
	record := LayerRecord{DiffID: diffID.String()}
	if text, err := os.ReadFile(dir + sizeSuffix); err == nil {
		if _, err := os.Stat(dir); err == nil {
			record.Size, err = strconv.ParseInt(string(text), 10, 64)
			if err == nil {
				err = quota.take(record.Size)
			}
			return record, err
		}
	}
	before := quota.used
	if err := p.unpack(l, diffID, dir, below, quota); err != nil {
		return LayerRecord{}, err
	}
	p.pulled = true
	record.Size = quota.used - before
	return record, nil
}

// unpack downloads a layer to its folder, which appears complete.
func (p *pull) unpack(l v1.Layer, diffID v1.Hash, dir string, below []string, quota *quota) error {
	part, err := os.MkdirTemp(p.s.unpacking(), "layer-*")
	if err != nil {
		return fmt.Errorf("unpack a layer: %w", err)
	}
	defer os.RemoveAll(part)
	content, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer content.Close()
	before, hash := quota.used, sha256.New()
	all := io.TeeReader(content, hash)
	if err := unpack(all, part, below, quota); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, all); err != nil { // what follows the end of the archive
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != diffID.Hex {
		return fmt.Errorf("a layer has the content %s instead of %s", got, diffID.Hex)
	}
	if err := syncFiles(part); err != nil {
		return err
	}
	size := strconv.FormatInt(quota.used-before, 10)
	if err := os.WriteFile(dir+sizeSuffix, []byte(size), 0o600); err != nil {
		return fmt.Errorf("unpack a layer: %w", err)
	}
	return os.Rename(part, dir)
}

// unavailable reports whether a later attempt may succeed.
func unavailable(err error) bool {
	response, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return true
	}
	return response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
}

// PullError says why an image cannot be pulled. Its text contains no credential.
type PullError struct {
	Image, Reason string
	Retryable     bool // a later attempt may succeed
}

func (e *PullError) Error() string { return "pull the image " + e.Image + ": " + e.Reason }

// explain says what the registry's refusal means. The errors of the library may hold addresses with
// tokens of a storage service, so they are not shown as they are.
func (p *pull) explain(err error) error {
	if refused, ok := errors.AsType[*loginError](err); ok {
		return &PullError{p.image, refused.reason, false}
	}
	if blocked, ok := errors.AsType[*egress.BlockedError](err); ok {
		return &PullError{p.image, blocked.Error(), false}
	}
	if response, ok := errors.AsType[*transport.Error](err); ok {
		var reason string
		switch code := response.StatusCode; code {
		case http.StatusUnauthorized, http.StatusForbidden:
			reason = fmt.Sprintf("%s denies it (HTTP %d); the image does not exist, or %s",
				p.registry, code, p.login.Doubt())
		case http.StatusNotFound:
			reason = p.registry + " does not have it"
		case http.StatusTooManyRequests:
			reason = p.registry + " limits its pulls (HTTP 429)"
		default:
			reason = fmt.Sprintf("%s responded with HTTP %d", p.registry, code)
		}
		return &PullError{p.image, reason, unavailable(err)}
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		host := p.registry
		if at, err := url.Parse(request.URL); err == nil && at.Host != "" {
			host = at.Host
		}
		return &PullError{p.image, fmt.Sprintf("cannot reach %s: %s", host, request.Err), true}
	}
	return &PullError{p.image, err.Error(), false}
}
