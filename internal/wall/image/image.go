package image

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// Acquire returns the image of a reference, and lets the daemon pull what is missing. A tag is
// resolved by its registry each time. If the registry cannot be reached, or has an address that is
// not allowed, the image is the one that the daemon has. An image that was built or imported on this
// machine, and one that is named by its digest, need no registry. The image has no layers that this
// process can read: its Name is what the daemon calls it.
func (d *Daemon) Acquire(ctx context.Context, reference string, login Login) (*Image, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, &PullError{
			Image:  reference,
			Reason: "invalid image reference: use a lower-case name, such as registry.example.com/team/app:1.2",
		}
	}
	has, err := d.inspect(ctx, reference)
	if err != nil && !errdefs.IsNotFound(err) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &PullError{Image: reference, Reason: d.explain(err).Error(), Retryable: true}
	}
	_, pinned := ref.(name.Digest)
	if has != nil && (pinned || len(has.repoDigests) == 0) {
		return has.image(ref), nil
	}
	err = d.mayReach(ctx, reference, ref)
	reached := err == nil
	if reached {
		err = d.pull(ctx, reference, ref, login)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		refused, ok := errors.AsType[*PullError](err)
		if has != nil && (!reached || ok && refused.Retryable) {
			return has.image(ref), nil
		}
		return nil, err
	}
	now, err := d.inspect(ctx, reference)
	if err != nil {
		return nil, d.explain(err)
	}
	i := now.image(ref)
	i.Pulled = has == nil || has.id != now.id
	return i, nil
}

// localImage is an image that the daemon has.
type localImage struct {
	id          string
	repoDigests []string
	env         []string
	volumes     []string
	size        int64
}

func (d *Daemon) inspect(ctx context.Context, reference string) (*localImage, error) {
	found, err := d.client.ImageInspect(ctx, reference)
	if err != nil {
		return nil, err
	}
	i := &localImage{id: found.ID, repoDigests: found.RepoDigests, size: found.Size}
	if found.Config != nil {
		i.env, i.volumes = found.Config.Env, slices.Sorted(maps.Keys(found.Config.Volumes))
	}
	return i, nil
}

// image describes i as the image of a reference.
func (i *localImage) image(ref name.Reference) *Image {
	digest := i.id
	for _, known := range i.repoDigests {
		pinned, err := name.NewDigest(known)
		if err == nil && (pinned.Context() == ref.Context() || digest == i.id) {
			digest = pinned.DigestStr()
		}
	}
	return &Image{Name: i.id, Digest: digest, Env: i.env, Size: i.size}
}

// mayReach returns a *image.PullError if the registry of ref has an address that is not allowed. The daemon
// connects by itself, so this only binds registries that do not change their response.
func (d *Daemon) mayReach(ctx context.Context, reference string, ref name.Reference) error {
	if d.Outbound == nil {
		return nil
	}
	address := ref.Context().RegistryStr()
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(address, "443")
	}
	if err := d.Outbound.Check(ctx, address); err != nil {
		_, blocked := errors.AsType[*egress.BlockedError](err)
		return &PullError{Image: reference, Reason: err.Error(), Retryable: !blocked}
	}
	return nil
}

// maySend returns a *image.PullError if the registry of ref would make the daemon send the login to a host
// that must not get it.
func (d *Daemon) maySend(ctx context.Context, ref name.Reference, login Login) error {
	if login.IsZero() {
		return nil
	}
	if d.Outbound == nil {
		return CheckLogin(ctx, ref, login, http.DefaultTransport)
	}
	transport := d.Outbound.Transport()
	defer transport.CloseIdleConnections()
	return CheckLogin(ctx, ref, login, transport)
}

// pull lets the daemon pull an image.
func (d *Daemon) pull(ctx context.Context, reference string, ref name.Reference, login Login) error {
	if err := d.maySend(ctx, ref, login); err != nil {
		return err
	}
	auth, err := registryAuth(ref, login)
	if err != nil {
		return err
	}
	failed := func(reason string, retryable bool) error {
		return &PullError{Image: reference, Reason: reason, Retryable: retryable}
	}
	host, sent := ref.Context().RegistryStr(), ""
	if login.Secret != "" {
		sent = fmt.Sprintf("; %s got the credentials in the secret %s", host, login.Secret)
	}
	explain := func(err error) error {
		switch {
		case errdefs.IsNotFound(err), errdefs.IsUnauthorized(err), errdefs.IsPermissionDenied(err):
			return failed(host+" does not have it, or "+login.Doubt(), false)
		case client.IsErrConnectionFailed(err):
			return failed(d.explain(err).Error(), true)
		}
		return failed(strings.TrimPrefix(strings.TrimSpace(err.Error()), "Error response from daemon: ")+sent, true)
	}
	stream, err := d.client.ImagePull(ctx, reference, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return explain(err)
	}
	defer stream.Close()
	for message, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return explain(err)
		}
		if refused := message.Error; refused != nil {
			return failed(refused.Message+sent, temporary(refused))
		}
	}
	return nil
}

// temporary reports whether a later pull may succeed. The daemon gives a code only for some errors.
func temporary(refused *jsonstream.Error) bool { return refused.Code == 0 || refused.Code >= 500 }

// registryAuth is the header with the credentials for the registry of ref: login, or else the
// machine's own.
func registryAuth(ref name.Reference, login Login) (string, error) {
	auth := registry.AuthConfig{Username: login.Username, Password: login.Password}
	if login.IsZero() {
		known, err := authn.DefaultKeychain.Resolve(ref.Context())
		if err != nil {
			return "", fmt.Errorf("find the credentials of %s: %w", ref.Context().RegistryStr(), err)
		}
		c, err := known.Authorization()
		if err != nil {
			return "", fmt.Errorf("find the credentials of %s: %w", ref.Context().RegistryStr(), err)
		}
		auth = registry.AuthConfig{
			Username: c.Username, Password: c.Password, Auth: c.Auth,
			IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken,
		}
	}
	if auth == (registry.AuthConfig{}) {
		return "", nil
	}
	text, err := json.Marshal(auth) //nolint:gosec // for the daemon, which needs the password
	if err != nil {
		return "", err
	}
	return base64.URLEncoding.EncodeToString(text), nil
}
