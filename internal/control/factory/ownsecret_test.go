package factory_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

const deployKey = "value-of-the-deploy-key"

// hookFile is a webhook's file that names a secret.
func hookFile(secret string) string { return "secretName: " + secret + "\n" }

// A key that only manages factories can neither name other secrets in a webhook nor replace them,
// in any way.
func TestManagingFactoriesReachesNoSecretOfOthers(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		h.secret("DEPLOY_KEY", new(deployKey))
		h.secret("DECLARED", nil)
		manager := h.As("mia", penstock.ScopeFactoriesManage, penstock.ScopeRunsWrite)
		own, err := h.Resources.CreateWebhook(ctx, manager, h.factory, named("own", penstock.AuthToken))
		if err != nil {
			h.T.Fatal(err)
		}
		files := h.files().Files
		refusals := map[string]string{}
		for _, secret := range []string{"DEPLOY_KEY", "DEPLOY_KEYS", "DECLARED"} {
			for what, next := range map[string]map[string]string{
				"a new webhook":      with(files, "webhooks/thief.yaml", hookFile(secret)),
				"its own webhook":    with(files, "webhooks/own.yaml", hookFile(secret)),
				"another name of it": with(with(files, "webhooks/own.yaml", ""), "webhooks/renamed.yaml", hookFile(secret)),
			} {
				for _, dry := range []bool{true, false} {
					_, err := h.Factories.Apply(ctx, manager, h.factory, factory.ApplyRequest{Files: next, DryRun: dry})
					refusals[what+secret] = wantNamingRefused(h.T, what, secret, err)
				}
			}
			made := with(with(files, "webhooks/own.yaml", ""), "webhooks/thief.yaml", hookFile(secret))
			made["factory.yaml"] = strings.Replace(made["factory.yaml"], "name: acme", "name: another", 1)
			_, err := h.Factories.Create(ctx, manager, factory.FactoryRequest{Files: made})
			wantNamingRefused(h.T, "a new factory", secret, err)
			result, err := h.Factories.Validate(ctx, manager, with(files, "webhooks/thief.yaml", hookFile(secret)))
			if err != nil || result.Valid || !strings.Contains(result.Diagnostics[0].Message, "secrets:manage") {
				h.T.Errorf("validated: got %+v, %v", result, err)
			}
			if secret != "DEPLOY_KEYS" {
				request := named("thief", penstock.AuthToken)
				request.SecretName = &secret
				_, err = h.Resources.CreateWebhook(ctx, manager, h.factory, request)
				testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")
			}
		}
		for what, text := range refusals { // of one that exists, one that does not, and one that was declared
			for other, same := range refusals {
				if strings.Split(what, "DE")[0] == strings.Split(other, "DE")[0] && text != same {
					h.T.Errorf("%s: %q, and %s: %q", what, text, other, same)
				}
			}
		}
		result, err := h.Factories.Validate(ctx, manager, files)
		if err != nil || !result.Valid {
			h.T.Errorf("its own files: got %+v, %v", result, err)
		}
		h.managed("DEPLOY_KEY", deployKey)
		h.values(own.UID, own.Secret)
	})
}

// wantNamingRefused requires the finding that naming a secret needs a scope, and returns it without
// the name.
func wantNamingRefused(t *testing.T, what, secret string, err error) string {
	t.Helper()
	found := testworld.Findings(err)
	if penstock.CodeOf(err) != penstock.CodeInvalidDefinition || len(found) != 1 {
		t.Errorf("%s that names %s: got %v", what, secret, err)
		return ""
	}
	if !strings.Contains(found[0].Message, "secrets:manage") || found[0].Nearest != "" ||
		found[0].Code != "FF_INVALID_REFERENCE" {
		t.Errorf("%s that names %s: got %+v", what, secret, found[0])
	}
	return strings.ReplaceAll(found[0].Message, secret, "")
}

// A webhook whose secret the server did not create for it keeps that secret until a manager of
// secrets replaces it.
func TestOnlyOnesOwnSecretIsRotatedWithoutSecretsManage(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		h.secret("DEPLOY_KEY", new(deployKey))
		h.secret("DECLARED", nil)
		files := h.files().Files
		h.apply(with(with(files, "webhooks/ci.yaml", hookFile("DEPLOY_KEY")), "webhooks/waits.yaml", hookFile("DECLARED")))
		manager := h.As("mia", penstock.ScopeFactoriesManage)
		ci, waits := h.webhookNamed("ci"), h.webhookNamed("waits")
		for _, req := range []factory.RotateRequest{{}, {Secret: new("another-token-of-mine")}, {OverlapSeconds: 60}} {
			_, err := h.Resources.RotateWebhookSecret(ctx, manager, h.factory, ci.UID, req)
			testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")
			_, err = h.Resources.RotateWebhookSecret(ctx, manager, h.factory, waits.UID, req)
			testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")
		}
		_, err := h.Resources.UpdateWebhook(
			ctx, manager, h.factory, waits.UID, factory.WebhookRequest{Secret: new("another-token-of-mine")},
		)
		testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")
		h.managed("DEPLOY_KEY", deployKey)
		if secret, err := h.Secrets.Read(ctx, h.Admin, "DECLARED"); err != nil || !secret.Pending {
			h.T.Errorf("got %+v, %v", secret, err)
		}
		// Another edit of the same files names no new secret.
		if _, err := h.Factories.Apply(
			ctx, manager, h.factory, factory.ApplyRequest{Files: with(h.files().Files, "README.md", "x")},
		); err != nil {
			h.T.Errorf("an edit beside the webhooks: %v %+v", err, testworld.Findings(err))
		}
		h.rotate(ci.UID, factory.RotateRequest{})
		h.update(waits.UID, factory.WebhookRequest{Secret: new("another-token-of-mine")})
	})
}

// A manager of factories may replace a secret that the server created for the webhook, but not
// after another webhook has taken its name.
func TestASecretBelongsToTheWebhookThatItWasCreatedFor(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		manager := h.As("mia", penstock.ScopeFactoriesManage)
		own, err := h.Resources.CreateWebhook(ctx, manager, h.factory, named("own", penstock.AuthToken))
		if err != nil {
			h.T.Fatal(err)
		}
		if secret, err := h.Secrets.Read(ctx, h.Admin, own.SecretName); err != nil || secret.WebhookUID != own.UID {
			h.T.Errorf("got %+v, %v, want it marked as made for %s", secret, err, own.UID)
		}
		if _, err := h.Resources.RotateWebhookSecret(ctx, manager, h.factory, own.UID, factory.RotateRequest{}); err != nil {
			h.T.Error(err)
		}
		pending, err := h.Resources.CreateWebhook(ctx, manager, h.factory, signature("pending", "stripe", nil))
		if err != nil {
			h.T.Fatal(err)
		}
		if _, err := h.Resources.UpdateWebhook(
			ctx, manager, h.factory, pending.UID, factory.WebhookRequest{Secret: new("whsec_live_0123456789")},
		); err != nil {
			h.T.Error(err)
		}
		h.setSecret(own.SecretName, "given-by-a-manager-of-secrets")
		if _, err := h.Resources.RotateWebhookSecret(ctx, manager, h.factory, own.UID, factory.RotateRequest{}); err != nil {
			h.T.Error(err)
		}

		before := h.files().Files // an old revision
		if err := h.Resources.DeleteWebhook(ctx, manager, h.factory, own.UID); err != nil {
			h.T.Fatal(err)
		}
		h.setSecret(own.SecretName, "of-use-to-somebody-else")
		_, err = h.Factories.Apply(ctx, manager, h.factory, factory.ApplyRequest{Files: before})
		wantNamingRefused(h.T, "an old revision", own.SecretName, err)
		request := named("own", penstock.AuthToken)
		request.SecretName = &own.SecretName
		_, err = h.Resources.CreateWebhook(ctx, manager, h.factory, request)
		testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")
		h.managed(own.SecretName, "of-use-to-somebody-else")

		h.apply(before)
		again := h.webhookNamed("own")
		_, err = h.Resources.RotateWebhookSecret(ctx, manager, h.factory, again.UID, factory.RotateRequest{})
		testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")

		// A new secret with the same name belongs to nobody.
		if err := h.Resources.DeleteWebhook(ctx, manager, h.factory, pending.UID); err != nil {
			h.T.Fatal(err)
		}
		if err := h.Secrets.Delete(ctx, h.Admin, pending.SecretName); err != nil {
			h.T.Fatal(err)
		}
		h.secret(pending.SecretName, nil)
		if secret, err := h.Secrets.Read(ctx, h.Admin, pending.SecretName); err != nil || secret.WebhookUID != "" {
			h.T.Errorf("got %+v, %v", secret, err)
		}
	})
}

// Two webhooks share a secret that was created for one of them.
func TestNoWebhookCanRotateASharedSecret(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		manager := h.As("mia", penstock.ScopeFactoriesManage)
		own := h.hook(named("own", penstock.AuthToken))
		request := named("second", penstock.AuthToken)
		request.SecretName = &own.SecretName
		second := h.hook(request)
		_, err := h.Resources.RotateWebhookSecret(ctx, manager, h.factory, own.UID, factory.RotateRequest{})
		testworld.WantCode(h.T, err, penstock.CodeConflict, "second")
		_, err = h.Resources.RotateWebhookSecret(ctx, manager, h.factory, second.UID, factory.RotateRequest{})
		testworld.WantCode(h.T, err, penstock.CodeNotAuthorized, "secrets:manage")
		h.values(second.UID, own.Secret)
	})
}

// No run gets a secret that belongs to a webhook, no matter who names it and where.
func TestRunsNeverGetTheSecretOfAWebhook(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		own := h.hook(named("own", penstock.AuthToken))
		for pointer, config := range secretConfigs(own.SecretName) {
			_, err := h.Runs.Create(ctx, h.Admin, penstock.RunRequest{Prompt: "go", Config: &config}, run.SourceAPI)
			testworld.WantCode(
				h.T, err, penstock.CodeInvalidRequest,
				"/config"+pointer+`: the managed secret "`+own.SecretName+`" belongs to a webhook, and runs cannot use it`,
			)
			_, err = h.Schedules.Create(
				ctx, h.Admin, factory.ScheduleRequest{Name: "n", Cron: "@daily", Prompt: "go", Config: &config},
			)
			testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "belongs to a webhook")
			user := h.As("ann", penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
			_, err = h.Runs.Create(ctx, user, penstock.RunRequest{Prompt: "go", Config: &config}, run.SourceAPI)
			testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "it does not exist, has no value, or belongs to a webhook")
		}
		agentName, secrets := "thief", []penstock.NamedSecret{{Name: own.SecretName}}
		_, err := h.Resources.CreateIdentity(ctx, h.Admin, factory.IdentityRequest{Name: &agentName, Secrets: &secrets})
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "belongs to a webhook")
		_, err = h.Resources.CreateAutomation(ctx, h.Admin, h.factory, factory.AutomationRequest{
			Name: new("a"), Prompt: new("go"), Secrets: &[]string{own.SecretName},
			Triggers: &[]penstock.Trigger{
				{Provider: penstock.ProviderSchedule, Event: "cron_fired", Schedule: &penstock.CronTrigger{Cron: "@daily"}},
			},
		})
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "belongs to a webhook")
		files := h.files().Files
		for path, content := range map[string]string{
			"agents/thief/agent.md": "---\nsecrets: [" + own.SecretName + "]\n---\nGo.\n",
			"automations/a.md": "---\nsecrets: [" + own.SecretName + "]\n" +
				"triggers: [{provider: schedule, event: cron_fired, schedule: {cron: '@daily'}}]\n---\nGo.\n",
			"runners/r.yaml": "platform: {linux: {dockerImage: x, registryCredentialSecretName: " + own.SecretName + "}}\n",
			"factory.yaml": files["factory.yaml"] +
				"mcpServers:\n  m:\n    command: m\n    env: {T: '${{ secrets." + own.SecretName + " }}'}\n",
		} {
			_, err := h.Factories.Apply(ctx, h.Admin, h.factory, factory.ApplyRequest{Files: with(files, path, content)})
			found := testworld.Findings(err)
			if len(found) != 1 || !strings.Contains(found[0].Message, "belongs to a webhook") ||
				found[0].Path != path {
				h.T.Errorf("%s: got %v", path, err)
			}
		}
	})
}

// A run that named the secret before the webhook existed does not get it either.
func TestAClaimedRunDoesNotGetTheSecretOfAWebhook(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		h.secret("LATER", new(deployKey))
		run := h.Create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Secrets: []string{"LATER"}}})
		next := h.Create(penstock.RunRequest{Prompt: "next"})
		if err := h.Secrets.Delete(h.T.Context(), h.Admin, "LATER"); err != nil {
			h.T.Fatal(err)
		}
		request := named("own", penstock.AuthToken)
		request.SecretName = new("LATER")
		h.hook(request)
		if got := h.Work().Run.ID; got != next.ID {
			h.T.Errorf("got run %s, want the next, %s", got, next.ID)
		}
		if message := h.MustBe(run.ID, penstock.StateFailed).StatusMessage.Message; !strings.Contains(
			message, "belongs to a webhook",
		) {
			h.T.Errorf("got %q", message)
		}
	})
}

func (h *hooks) webhookNamed(name string) penstock.Webhook {
	h.T.Helper()
	list, err := h.Webhooks.List(h.T.Context(), h.Admin, h.factory)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, w := range list {
		if w.Name == name {
			return w
		}
	}
	h.T.Fatalf("there is no webhook %s: %+v", name, list)
	return penstock.Webhook{}
}
