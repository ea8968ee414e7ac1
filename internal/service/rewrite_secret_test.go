package service_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

// Every edit of a factory applies its files, by which its webhooks read their
// secrets again, all of them; what changes no file does not.
func TestEditsReadSecretsAgain(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.t.Context()
		h.secret("LATER", nil)
		h.apply(with(with(team(), "webhooks/later.yaml", "secretName: LATER\n"), "webhooks/off.yaml", "secretName: CI_TOKEN\nenabled: false\n"))
		hooks := map[string]string{}
		for _, w := range h.webhooks() {
			hooks[w.Name] = w.UID
		}
		h.setSecret("CI_TOKEN", "the-next")
		h.setSecret("LATER", "there-now")
		h.values(hooks["ci"], "value-of-CI_TOKEN")
		description := "Works."
		edit := func() {
			h.t.Helper()
			if _, err := h.UpdateFactory(ctx, h.admin, h.factory, penstock.FactoryRequest{Description: &description}); err != nil {
				h.t.Fatal(err)
			}
		}
		edit()
		h.values(hooks["ci"], "the-next")
		h.values(hooks["off"], "value-of-CI_TOKEN") // until it is switched on
		if got := h.read(hooks["later"]); got.PendingSecret || !got.Enabled {
			h.t.Errorf("got %+v, want that it has found its secret", got)
		}
		h.values(hooks["later"], "there-now")

		h.setSecret("CI_TOKEN", "the-one-after")
		edit() // says nothing new
		h.values(hooks["ci"], "the-next")
		description = "Works on."
		h.setSecret("CI_TOKEN", "no token, by its\nline break")
		edit()
		h.values(hooks["ci"], "the-next") // and the edit is made
	})
}
