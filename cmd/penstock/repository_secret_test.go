package main_test

import (
	"net/http"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A repository's webhooks name secrets by the right of the key that connected it.
func TestARepositoryNamesSecretsByTheRightOfTheKeyThatConnectedIt(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w := serveTracked(t, testkit.ServeOptions{Database: database, Args: asked})
		w.repository.Commit("Begin", acmeFiles())
		place := map[string]any{"repository": map[string]string{"url": w.repository.URL()}}
		manager := w.keyed("factories:manage", "factories:read")
		var f penstock.Factory
		manager.ask(http.MethodPost, "/factory", place, http.StatusCreated, &f)
		w.factory, manager.factory = f.UID, f.UID
		f = w.sync()
		d := f.Definition
		if d.Status != penstock.DefinitionInvalid || len(d.Diagnostics) != 1 || d.Diagnostics[0].Path != "webhooks/ci.yaml" ||
			!has(d.Diagnostics[0].Message, "CI_TOKEN", "secrets:manage", "PATCH") {
			t.Fatalf("connected without secrets:manage: %+v", d)
		}
		manager.ask(http.MethodPatch, manager.path(), place, http.StatusOK, nil) // changes nothing
		if f = w.sync(); f.Definition.Status != penstock.DefinitionInvalid {
			t.Fatalf("named again without secrets:manage: %+v", f.Definition)
		}
		w.ask(http.MethodPatch, w.path(), place, http.StatusOK, nil)
		if f = w.sync(); f.Definition.Status != penstock.DefinitionApplied {
			t.Fatalf("named again with secrets:manage: %+v", f.Definition)
		}
		w.startsARun()
		hook := w.webhook("ci")
		manager.ask(http.MethodPost, manager.hookPath(hook)+"/rotate-secret", map[string]any{}, http.StatusForbidden, nil)
		w.startsARun()

		// Whoever has it moved to another place answers for that place.
		w.ask(http.MethodPost, "/secrets", map[string]string{"name": "OTHER", "value": ciToken}, http.StatusCreated, nil)
		w.repository.Git("checkout", "-q", "-b", "live")
		w.repository.Commit("Take another", with(acmeFiles(), "webhooks/ci.yaml", "secretName: OTHER\n"))
		moved := map[string]any{"repository": map[string]string{"url": w.repository.URL(), "branch": "live"}}
		manager.ask(http.MethodPatch, manager.path(), moved, http.StatusOK, nil)
		if f = w.sync(); f.Definition.Status != penstock.DefinitionInvalid || len(f.Definition.Diagnostics) != 1 {
			t.Errorf("moved without secrets:manage: %+v", f.Definition)
		}
	})
}

// keyed is the same server for a key of its own.
func (h *hooked) keyed(scopes ...penstock.Scope) *hooked {
	h.t.Helper()
	var key penstock.Key
	h.ask(http.MethodPost, "/keys", penstock.KeyRequest{Name: "limited", Scopes: scopes}, http.StatusCreated, &key)
	server := *h.Server
	server.Key = key.Key
	return &hooked{Server: &server, t: h.t, factory: h.factory}
}
