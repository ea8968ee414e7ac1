package factory_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func TestWebhookIsFinishedByItsSecret(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		w := h.hook(signature("x", "stripe", nil))
		_, err := h.Resources.UpdateWebhook(ctx, h.Admin, h.factory, w.UID, factory.WebhookRequest{Enabled: new(true)})
		testworld.WantCode(h.T, err, penstock.CodeConflict, "waits for its secret")
		if got := h.update(w.UID, factory.WebhookRequest{DeliveryIDHeader: new("X-Id")}); !got.PendingSecret ||
			got.Enabled || got.DeliveryIDHeader != "X-Id" {
			h.T.Errorf("another change: got %+v, want it to wait still", got)
		}
		got := h.update(w.UID, factory.WebhookRequest{Secret: new("whsec_live_0123456789")})
		if !got.Enabled || got.PendingSecret || got.Secret != "" || len(got.Secrets) != 1 {
			h.T.Errorf("got %+v, want it enabled, with a secret that is not shown", got)
		}
		h.values(w.UID, "whsec_live_0123456789")
		h.managed(w.SecretName, "whsec_live_0123456789")
		_, err = h.Resources.UpdateWebhook(
			ctx, h.Admin, h.factory, w.UID, factory.WebhookRequest{Secret: new("another-secret-of-it")},
		)
		testworld.WantCode(h.T, err, penstock.CodeConflict, "rotate-secret")

		off := h.hook(signature("y", "stripe", nil))
		if got := h.update(
			off.UID, factory.WebhookRequest{Secret: new("secret-of-sixteen"), Enabled: new(false)},
		); got.Enabled || got.PendingSecret {
			h.T.Errorf("got %+v, want it finished and not enabled", got)
		}
		bad := h.hook(signature("z", "discord", nil))
		_, err = h.Resources.UpdateWebhook(
			ctx, h.Admin, h.factory, bad.UID, factory.WebhookRequest{Secret: new("no key, but long enough")},
		)
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "public key")
		if strings.Contains(err.Error(), "but long enough") {
			h.T.Errorf("the error repeats the secret: %v", err)
		}
		rotated := h.rotate(
			h.hook(signature("r", "github", nil)).UID, factory.RotateRequest{Secret: new("secret by rotation")},
		)
		if !rotated.Enabled || rotated.PendingSecret || rotated.Secret != "secret by rotation" {
			h.T.Errorf("by rotation: got %+v", rotated)
		}
	})
}

func TestWebhookKeepsItsSecretUntilItIsEnabledAgain(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := h.hook(named("x", penstock.AuthToken))
		h.setSecret(w.SecretName, "the-next-of-its-values")
		h.values(w.UID, w.Secret)
		h.update(w.UID, factory.WebhookRequest{Enabled: new(true)}) // it is: nothing changes
		h.values(w.UID, w.Secret)
		if got := h.update(w.UID, factory.WebhookRequest{Enabled: new(false)}); got.Enabled {
			h.T.Errorf("got %+v, want it disabled", got)
		}
		h.values(w.UID, w.Secret)
		if got := h.update(w.UID, factory.WebhookRequest{Enabled: new(true)}); !got.Enabled {
			h.T.Errorf("got %+v, want it enabled", got)
		}
		h.values(w.UID, "the-next-of-its-values")
		h.setSecret(w.SecretName, "value-after-an-edit")
		h.update(w.UID, factory.WebhookRequest{ReplayGuard: new(true)})
		h.values(w.UID, "value-after-an-edit")

		inURL := h.hook(named("y", penstock.AuthURLToken))
		h.setSecret(inURL.SecretName, "not/safe-in-a-path")
		h.update(inURL.UID, factory.WebhookRequest{Enabled: new(false)})
		_, err := h.Resources.UpdateWebhook(
			h.T.Context(), h.Admin, h.factory, inURL.UID, factory.WebhookRequest{Enabled: new(true)},
		)
		testworld.WantCode(h.T, err, penstock.CodeConflict, "A-Z a-z 0-9")
		h.values(inURL.UID, inURL.Secret)
	})
}

func TestWebhookUsesANewSecretImmediately(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		h.secret("SHARED", nil)
		request := func(name string, mode penstock.AuthMode, refresh penstock.SecretRefresh) factory.WebhookRequest {
			r := named(name, mode)
			r.SecretName, r.SecretRefresh = new("SHARED"), &refresh
			return r
		}
		follows := h.hook(request("follows", penstock.AuthURLToken, penstock.RefreshImmediate))
		waits := h.hook(request("waits", penstock.AuthToken, penstock.RefreshApply))
		before, _ := h.TeamVersion(ctx)
		h.setSecret("SHARED", "the-first-of-its-values")
		if after, err := h.TeamVersion(ctx); after <= before || err != nil {
			h.T.Errorf("the team's version went from %d to %d, %v", before, after, err)
		}
		h.values(follows.UID, "the-first-of-its-values")
		h.values(waits.UID)
		if got := h.read(follows.UID); !got.Enabled || got.PendingSecret {
			h.T.Errorf("got %+v, want it finished", got)
		}
		if got := h.update(waits.UID, factory.WebhookRequest{Enabled: new(true)}); !got.Enabled || got.PendingSecret {
			h.T.Errorf("got %+v, want it finished by the switch", got)
		}
		h.values(waits.UID, "the-first-of-its-values")

		_, err := h.Secrets.Set(ctx, h.Admin, "SHARED", access.SecretChange{Value: new("not/safe-in-a-path")})
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, `the webhook "follows"`)
		h.managed("SHARED", "the-first-of-its-values")
		h.setSecret("SHARED", "the-second-of-its-values")
		h.values(follows.UID, "the-second-of-its-values")
		h.values(waits.UID, "the-first-of-its-values")
		h.update(waits.UID, factory.WebhookRequest{SecretRefresh: new(penstock.RefreshImmediate)})
		h.values(waits.UID, "the-second-of-its-values")

		late := h.hook(signature("late", "github", nil))
		h.setSecret(late.SecretName, "the-value-of-late")
		if got := h.update(late.UID, factory.WebhookRequest{SecretRefresh: new(penstock.RefreshImmediate)}); !got.Enabled ||
			got.PendingSecret {
			h.T.Errorf("got %+v, want it to take the value that is there", got)
		}
		h.values(late.UID, "the-value-of-late")
	})
}

func TestWebhookKeepsItsNameAndScheme(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		w := h.hook(named("x", penstock.AuthToken))
		req := signature("y", "github", nil)
		req.SecretName = new("Z")
		_, err := h.Resources.UpdateWebhook(h.T.Context(), h.Admin, h.factory, w.UID, req)
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "/name")
		for _, pointer := range []string{"/name", "/auth_mode", "/signature_scheme", "/secret_name"} {
			if !strings.Contains(err.Error(), pointer+": cannot be changed") {
				h.T.Errorf("the error does not name %s: %v", pointer, err)
			}
		}
	})
}

func TestWebhookChanges(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		w := h.hook(signature("x", "grafana", new("secret-of-sixteen")))
		before, _ := h.TeamVersion(ctx)
		got := h.update(w.UID, factory.WebhookRequest{
			DeliveryIDHeader: new("X-Event-Id"), ReplayGuard: new(true), SecretRefresh: new(penstock.RefreshImmediate),
			Signature: &penstock.Signature{TimestampHeader: "X-Time"},
		})
		want := w
		want.Secret, want.DeliveryIDHeader = "", "X-Event-Id"
		want.ReplayGuard, want.SecretRefresh = true, penstock.RefreshImmediate
		want.Signature, want.UpdatedAt = &penstock.Signature{TimestampHeader: "X-Time"}, got.UpdatedAt
		if diff := cmp.Diff(want, got); diff != "" || got.UpdatedAt < w.UpdatedAt {
			h.T.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(got, h.read(w.UID)); diff != "" {
			h.T.Errorf("later, -want +got:\n%s", diff)
		}
		if after, err := h.TeamVersion(ctx); after <= before || err != nil {
			h.T.Errorf("the team's version went from %d to %d, %v", before, after, err)
		}
		got = h.update(w.UID, factory.WebhookRequest{DeliveryIDHeader: new(""), Signature: &penstock.Signature{}})
		if got.DeliveryIDHeader != "" || got.Signature != nil || !got.ReplayGuard {
			h.T.Errorf("got %+v, want the header and the signature object gone and the rest as it was", got)
		}
		for pointer, req := range map[string]factory.WebhookRequest{
			"/delivery_id_header: cannot":                 {DeliveryIDHeader: new("Cookie")},
			"/delivery_id_header: X":                      {DeliveryIDHeader: new("X-Grafana-Alerting-Signature")},
			"/signature: must have only timestamp_header": {Signature: &penstock.Signature{Header: "X"}},
			"/signature/timestamp_header":                 {Signature: &penstock.Signature{TimestampHeader: "Connection"}},
			"/secret_refresh":                             {SecretRefresh: new(penstock.SecretRefresh("x"))},
			"/secret: must":                               {Secret: new("secret-of-sixteen ")},
		} {
			_, err := h.Resources.UpdateWebhook(ctx, h.Admin, h.factory, w.UID, req)
			testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, pointer)
		}
	})
}

func TestWebhookGetsANewSecret(t *testing.T) {
	tests := []struct {
		name  string
		req   factory.WebhookRequest
		given *string
		code  penstock.Code // of an error
	}{
		{"a token", named("x", penstock.AuthToken), nil, ""},
		{"a token that is given", named("x", penstock.AuthToken), new("given-by-a-person"), ""},
		{"a token in the URL", named("x", penstock.AuthURLToken), nil, ""},
		{"a token in the URL that is given", named("x", penstock.AuthURLToken), new("given~by~a~person~1"), ""},
		{"a token that is not safe in the URL", named("x", penstock.AuthURLToken), new("a%2F"), penstock.CodeInvalidRequest},
		{"a signing secret", signature("x", "standard_webhooks", nil), nil, ""},
		{"a signing secret that is given", signature("x", "github", new("old-one-of-github")), new("given-by-a-person"), ""},
		{
			"a signing secret that only the sender makes", signature("x", "github", new("old-one-of-github")), nil,
			penstock.CodeInvalidRequest,
		},
		{
			"a signing secret that is none", signature("x", "standard_webhooks", nil), new("whsec_*"),
			penstock.CodeInvalidRequest,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			withFactory(t, nil, func(h *hooks) {
				ctx := h.T.Context()
				w := h.hook(tt.req)
				old := w.Secret
				before, _ := h.TeamVersion(ctx)
				got, err := h.Resources.RotateWebhookSecret(
					ctx, h.Admin, h.factory, w.UID, factory.RotateRequest{Secret: tt.given},
				)
				if penstock.CodeOf(err) != tt.code || tt.code == "" && err != nil {
					h.T.Fatalf("got %v, want %q", err, tt.code)
				}
				if tt.code != "" {
					h.values(w.UID, old)
					h.managed(w.SecretName, old)
					return
				}
				if got.Secret == "" || got.Secret == old || tt.given != nil && got.Secret != *tt.given {
					h.T.Errorf("got the secret %q after %q", got.Secret, old)
				}
				if w.AuthMode == penstock.AuthURLToken && !strings.HasSuffix(got.IngressURL, "/"+got.Secret) {
					h.T.Errorf("got the URL %s, want the new one", got.IngressURL)
				}
				h.values(w.UID, got.Secret)
				h.managed(w.SecretName, got.Secret)
				if later := h.read(w.UID); later.Secret != "" || strings.Contains(later.IngressURL, got.Secret) {
					h.T.Errorf("later: got %+v, want no secret", later)
				}
				if after, err := h.TeamVersion(ctx); after <= before || err != nil {
					h.T.Errorf("the team's version went from %d to %d, %v", before, after, err)
				}
			})
		})
	}
}

func TestWebhookSecretsOverlap(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		w := h.hook(named("x", penstock.AuthToken))
		for _, seconds := range []int64{-1, factory.MaxOverlapSeconds + 1} {
			_, err := h.Resources.RotateWebhookSecret(
				ctx, h.Admin, h.factory, w.UID, factory.RotateRequest{OverlapSeconds: seconds},
			)
			testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "/overlap_seconds")
		}
		if err := h.SignedWith(ctx, w.UID); err != nil {
			h.T.Fatal(err)
		}
		now := penstock.Now()
		second := h.rotate(w.UID, factory.RotateRequest{OverlapSeconds: factory.MaxOverlapSeconds})
		h.values(w.UID, second.Secret, w.Secret)
		h.managed(w.SecretName, second.Secret)
		secrets := h.read(w.UID).Secrets
		end := now.Add(factory.MaxOverlapSeconds * time.Second)
		if len(secrets) != 2 || secrets[0] != (penstock.WebhookSecret{}) || secrets[1].Index != 1 ||
			secrets[1].LastUsedAt == 0 ||
			secrets[1].ExpiresAt < end || secrets[1].ExpiresAt > end.Add(time.Minute) {
			h.T.Errorf("got %+v, want the old one, once used, to end at %v", secrets, end)
		}
		third := h.rotate(w.UID, factory.RotateRequest{OverlapSeconds: 60})
		h.values(w.UID, third.Secret, second.Secret, w.Secret)
		for range 2 {
			h.rotate(w.UID, factory.RotateRequest{OverlapSeconds: 60})
		}
		_, err := h.Resources.RotateWebhookSecret(ctx, h.Admin, h.factory, w.UID, factory.RotateRequest{OverlapSeconds: 60})
		testworld.WantCode(h.T, err, penstock.CodeConflict, "5 valid secrets")
		last := h.rotate(w.UID, factory.RotateRequest{})
		h.values(w.UID, last.Secret)
	})
}

func TestSharedSecretIsNotRotated(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		const value = "value-of-the-shared-secret"
		h.secret("SHARED", new(value))
		first, second := signature("x", "github", nil), named("y", penstock.AuthToken)
		first.SecretName, second.SecretName = new("SHARED"), new("SHARED")
		w := h.hook(first)
		h.hook(second)
		agent, err := h.Resources.CreateIdentity(
			ctx, h.Admin,
			factory.IdentityRequest{Name: new("reviewer"), Secrets: &[]penstock.NamedSecret{{Name: w.SecretName}}},
		)
		if err != nil {
			h.T.Fatal(err)
		}
		_, err = h.Resources.RotateWebhookSecret(
			ctx, h.Admin, h.factory, w.UID, factory.RotateRequest{Secret: new("next-of-the-shared")},
		)
		testworld.WantCode(h.T, err, penstock.CodeConflict, "is also used by")
		for _, user := range []string{`the agent "reviewer"`, `the webhook "y" of the factory "acme"`} {
			if !strings.Contains(err.Error(), user) {
				h.T.Errorf("the error does not name %s: %v", user, err)
			}
		}
		if strings.Contains(err.Error(), `"x"`) {
			h.T.Errorf("the error names the webhook itself: %v", err)
		}
		h.values(w.UID, value)
		h.managed(w.SecretName, value)
		if err := h.Resources.DeleteIdentity(ctx, h.Admin, agent.UID); err != nil {
			h.T.Fatal(err)
		}
	})
}

// Whatever the order of rotations and new values of the managed secret, a webhook that follows it
// ends with its value.
func TestWebhookUsesANewSecretUnderConcurrency(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		req := named("x", penstock.AuthToken)
		req.SecretRefresh = new(penstock.RefreshImmediate)
		w := h.hook(req)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				value := fmt.Sprintf("value-of-sixteen-%d", i)
				var err error
				switch i % 4 {
				case 0:
					_, err = h.Resources.RotateWebhookSecret(ctx, h.Admin, h.factory, w.UID, factory.RotateRequest{OverlapSeconds: 1})
				case 1:
					_, err = h.Secrets.Set(ctx, h.Admin, w.SecretName, access.SecretChange{Value: &value})
				case 2:
					_, err = h.Resources.UpdateWebhook(
						ctx, h.Admin, h.factory, w.UID, factory.WebhookRequest{DeliveryIDHeader: new("X-" + value)},
					)
				default:
					other := named(value, penstock.AuthToken)
					_, err = h.Resources.CreateWebhook(ctx, h.Admin, h.factory, other)
				}
				if err != nil {
					h.T.Errorf("%d: %v", i, err)
				}
			})
		}
		all.Wait()
		values, err := h.WebhookValues(ctx, w.UID)
		if err != nil || len(values) == 0 {
			h.T.Fatalf("got %v, %v", values, err)
		}
		h.managed(w.SecretName, values[0])
	})
}

func TestWebhookSecretsAreReencrypted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	keyset, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	withFactory(t, func(o *run.Deps) { o.Keyset = keyset }, func(h *hooks) {
		ctx := h.T.Context()
		w := h.hook(named("x", penstock.AuthToken))
		present := h.rotate(w.UID, factory.RotateRequest{OverlapSeconds: 60})

		own := testworld.CopyOf(h.T, path) // the engines' tests share a keyset at the same time
		rotation, err := secret.BeginRotation(t.Context(), secret.KeysetFile{Path: own})
		if err != nil {
			h.T.Fatal(err)
		}
		defer rotation.Close()
		db := testkit.OpenStore(h.T, h.URL)
		if got, err := access.Reencrypt(ctx, db, rotation); err != nil || len(got.Lost) > 0 {
			h.T.Fatalf("got %+v, %v", got, err)
		}
		if err := rotation.Finish(t.Context()); err != nil {
			h.T.Fatal(err)
		}
		fresh, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: own})
		if err != nil {
			h.T.Fatal(err)
		}
		deps := run.Deps{Store: db, Keyset: fresh}
		again := &hooks{
			&world{&testworld.World{Rules: control.New(deps), T: h.T, URL: h.URL, Deps: deps, Admin: h.Admin}},
			h.factory,
		}
		again.values(w.UID, present.Secret, w.Secret)
		again.managed(w.SecretName, present.Secret)
	})
}
