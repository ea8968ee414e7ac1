package factory_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// Every edit of a factory applies its files, and then all of its webhooks read their secrets again.
// An edit that changes no file does not.
func TestEditsReadSecretsAgain(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		h.secret("LATER", nil)
		h.apply(
			with(
				with(team(), "webhooks/later.yaml", "secretName: LATER\n"), "webhooks/off.yaml",
				"secretName: CI_TOKEN\nenabled: false\n",
			),
		)
		hooks := map[string]string{}
		for _, w := range h.webhooks() {
			hooks[w.Name] = w.UID
		}
		h.setSecret("CI_TOKEN", "the-next-of-its-values")
		h.setSecret("LATER", "value-there-now-1")
		h.values(hooks["ci"], "the-value-of-CI_TOKEN")
		description := "Works."
		edit := func() {
			h.T.Helper()
			if _, err := h.Factories.Update(
				ctx, h.Admin, h.factory, factory.FactoryRequest{Description: &description},
			); err != nil {
				h.T.Fatal(err)
			}
		}
		edit()
		h.values(hooks["ci"], "the-next-of-its-values")
		h.values(hooks["off"], "the-value-of-CI_TOKEN") // until it is switched on
		if got := h.read(hooks["later"]); got.PendingSecret || !got.Enabled {
			h.T.Errorf("got %+v, want that it has found its secret", got)
		}
		h.values(hooks["later"], "value-there-now-1")

		h.setSecret("CI_TOKEN", "the-one-after-that")
		edit() // says nothing new
		h.values(hooks["ci"], "the-next-of-its-values")
		description = "Works on."
		h.setSecret("CI_TOKEN", "no token, by its\nline break")
		edit()
		h.values(hooks["ci"], "the-next-of-its-values") // and the edit is made
	})
}

// A pending webhook is disabled, whatever its file says. The file's setting is kept, and applies
// once the secret is set, no matter who sets it.
func TestAWebhookDisabledByItsFileStaysDisabledWhenItGetsItsSecret(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		files := team()
		for name, more := range map[string]string{
			"applied": "", "followed": "secretRefresh: immediate\n", "offered": "authMode: signature\nsignatureScheme: notion\n",
		} {
			secret := strings.ToUpper(name)
			h.secret(secret, nil)
			files["webhooks/"+name+".yaml"] = more + "secretName: " + secret + "\nenabled: false # not yet\n"
		}
		h.apply(files)
		hooks := map[string]string{}
		for _, w := range h.webhooks() {
			hooks[w.Name] = w.UID
		}
		edit := func(description string) {
			h.T.Helper()
			if _, err := h.Factories.Update(
				ctx, h.Admin, h.factory, factory.FactoryRequest{Description: &description},
			); err != nil {
				h.T.Fatal(err)
			}
		}
		edit("Waits.")
		h.setSecret("FOLLOWED", "value-there-now-1")
		h.setSecret("APPLIED", "value-there-now-1")
		edit("Waits no more.")
		for _, name := range []string{"applied", "followed"} {
			if got := h.read(hooks[name]); got.PendingSecret || got.Enabled {
				h.T.Errorf("got %+v, want that it has its secret and is off", got)
			}
			h.values(hooks[name], "value-there-now-1")
		}
		in, err := h.Receiver.Plan(ctx, hooks["offered"], false, true)
		if err != nil {
			h.T.Fatal(err)
		}
		testworld.WantCode(h.T, h.Receiver.Offer(ctx, in, "from-somebody"), penstock.CodeNotFound, "")
		if got := h.read(hooks["offered"]); !got.PendingSecret || got.Enabled {
			h.T.Errorf("got %+v, want that it waits still", got)
		}
		got := h.files().Files
		for path, want := range files {
			if strings.HasPrefix(path, "webhooks/") && got[path] != want {
				h.T.Errorf("%s: got %q, want %q", path, got[path], want)
			}
		}
	})
}

// Files do not mention the default mode. An unchanged file stays as its author wrote it.
func TestWrittenFilesNameTheMode(t *testing.T) {
	withTeam(t, func(h *hooks) {
		h.apply(
			with(with(team(), "webhooks/ci.yaml", "secretName: CI_TOKEN\n"), "webhooks/quiet.yaml", "secretName: CI_TOKEN\n"),
		)
		h.hook(named("made", penstock.AuthToken))
		for _, w := range h.webhooks() {
			if w.Name == "ci" {
				h.update(w.UID, factory.WebhookRequest{ReplayGuard: new(true)})
			}
		}
		files := h.files().Files
		for path, want := range map[string]string{
			"webhooks/made.yaml":  "authMode: token\nsecretName: MADE_WEBHOOK_SECRET\n",
			"webhooks/ci.yaml":    "secretName: CI_TOKEN\nauthMode: token\nreplayGuard: true\n",
			"webhooks/quiet.yaml": "secretName: CI_TOKEN\n",
		} {
			if got := files[path]; got != want {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}
	})
}
