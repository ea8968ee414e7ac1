package factory_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

const (
	short  = "fifteen_letters"
	enough = "sixteen__letters"
)

func TestWebhooksRejectShortSecrets(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		refused := func(what, pointer string, err error) {
			h.T.Helper()
			testworld.WantField(h.T, err, pointer)
			if err != nil && (!strings.Contains(err.Error(), "at least 16 characters") || strings.Contains(err.Error(), short)) {
				h.T.Errorf("%s: %v", what, err)
			}
		}
		h.secret("SHORT", new(short))
		h.secret("LONG", new(enough))
		for name, req := range map[string]factory.WebhookRequest{
			"token": named("token", penstock.AuthToken), "url-token": named("url-token", penstock.AuthURLToken),
			"github": signature("github", "github", nil),
		} {
			req.Secret = new(short)
			_, err := h.Resources.CreateWebhook(ctx, h.Admin, h.factory, req)
			refused("create "+name, "/secret", err)
			req.Secret, req.SecretName = nil, new("SHORT")
			_, err = h.Resources.CreateWebhook(ctx, h.Admin, h.factory, req)
			refused("name a secret for "+name, "/secret_name", err)
			req.SecretName = new("LONG")
			h.hook(req)
		}
		if list, err := h.Webhooks.List(ctx, h.Admin, h.factory); err != nil || len(list) != 3 {
			h.T.Errorf("%d webhooks are there, %v; want those with a long secret", len(list), err)
		}

		waits := h.hook(signature("waits", "stripe", nil))
		_, err := h.Resources.UpdateWebhook(ctx, h.Admin, h.factory, waits.UID, factory.WebhookRequest{Secret: new(short)})
		refused("finish", "/secret", err)
		h.setSecret(waits.SecretName, short)
		_, err = h.Resources.UpdateWebhook(ctx, h.Admin, h.factory, waits.UID, factory.WebhookRequest{Enabled: new(true)})
		testworld.WantCode(h.T, err, penstock.CodeConflict, "at least 16 characters")
		own := h.hook(named("own", penstock.AuthToken))
		_, err = h.Resources.RotateWebhookSecret(ctx, h.Admin, h.factory, own.UID, factory.RotateRequest{Secret: new(short)})
		refused("rotate", "/secret", err)
		h.update(own.UID, factory.WebhookRequest{SecretRefresh: new(penstock.RefreshImmediate)})
		_, err = h.Secrets.Set(ctx, h.Admin, own.SecretName, access.SecretChange{Value: new(short)})
		refused("set the secret that it follows", "/value", err)
		h.values(own.UID, own.Secret)
	})
}

func TestFilesCannotNameShortSecrets(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		h.secret("SHORT", new(short))
		files := with(team(), "webhooks/ci.yaml", "secretName: SHORT\n")
		_, err := h.Factories.Apply(ctx, h.Admin, h.factory, factory.ApplyRequest{Files: files})
		testworld.WantCode(
			h.T, err, penstock.CodeInvalidDefinition,
			"webhooks/ci.yaml:1:13: FF_INVALID_VALUE the value of the secret SHORT has fewer than 16 characters: a webhook "+
				"needs a longer one",
		)
		h.values(h.webhooks()[0].UID, "the-value-of-CI_TOKEN")

		// The value of an existing webhook's secret is changed.
		h.setSecret("CI_TOKEN", short)
		_, err = h.Factories.Apply(
			ctx, h.Admin, h.factory, factory.ApplyRequest{Files: with(team(), "README.md", "# More\n")},
		)
		testworld.WantCode(
			h.T, err, penstock.CodeInvalidDefinition, "the value of the secret CI_TOKEN has fewer than 16 characters",
		)
	})
}

func TestAWebhookKeepsAShortSecret(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		hook := h.webhooks()[0]
		if err := h.KeepSecret(ctx, h.Admin, hook, short); err != nil {
			h.T.Fatal(err)
		}
		const warning = "FF_INVALID_VALUE the value of the secret CI_TOKEN has fewer than 16 characters: the webhook keeps " +
			"it, but should get a longer one"
		warned := func(what string, found []penstock.Diagnostic) {
			h.T.Helper()
			for _, d := range found {
				if d.Code+" "+d.Message == warning && d.Severity == "warning" && d.Path == "webhooks/ci.yaml" {
					return
				}
			}
			h.T.Errorf("%s: got %+v, want a warning", what, found)
		}
		valid, err := h.Factories.Validate(ctx, h.Admin, team())
		if err != nil || !valid.Valid {
			h.T.Errorf("got %+v, %v, want it valid", valid, err)
		}
		warned("validate", valid.Diagnostics)
		warned("apply", h.apply(with(team(), "README.md", "# More\n")).Diagnostics)
		h.values(hook.UID, short)

		h.update(hook.UID, factory.WebhookRequest{Enabled: new(false)})
		h.update(hook.UID, factory.WebhookRequest{Enabled: new(true), ReplayGuard: new(true)})
		h.values(hook.UID, short)
		valid, err = h.Factories.Validate(ctx, h.As("eve", penstock.ScopeFactoriesManage), team())
		if err != nil {
			h.T.Fatal(err)
		}
		warned("validate without secrets:manage", valid.Diagnostics)
	})
}
