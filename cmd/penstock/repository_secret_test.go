package main_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A repository's webhooks can name the secrets that the key that connected the repository may use.
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

		// After a move to another place, the key that moved the repository decides for that place.
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

// keyed returns the same server, used with a new key.
func (h *hooked) keyed(scopes ...penstock.Scope) *hooked {
	h.t.Helper()
	var key penstock.Key
	h.ask(http.MethodPost, "/keys", access.KeyRequest{Name: "limited", Scopes: scopes}, http.StatusCreated, &key)
	server := *h.Server
	server.Key = key.Key
	return &hooked{Server: &server, t: h.t, factory: h.factory}
}

// A webhook of a repository takes a new value of its secret with the next commit. Until then, the
// factory shows that the webhook is pending.
func TestANewValueOfASecretThatWaitsIsShown(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w := serveTracked(t, testkit.ServeOptions{Database: database, Args: asked})
		env := client(w.Server)
		w.ask(http.MethodPost, "/secrets", map[string]any{"name": "LATER"}, http.StatusCreated, nil)
		files := with(with(acmeFiles(), "webhooks/later.yaml", "secretName: LATER\n"),
			"webhooks/now.yaml", "secretName: CI_TOKEN\nsecretRefresh: immediate\n")
		f := w.trackFiles(files)
		waits := func(when string, want ...string) {
			t.Helper()
			var page factory.Page
			w.ask(http.MethodGet, "/factory", nil, http.StatusOK, &page)
			for how, got := range map[string]penstock.Factory{"read": w.get(), "listed": page.Factories[0], "synced": w.sync()} {
				if diff := cmp.Diff(want, got.Definition.OutdatedWebhooks); diff != "" {
					t.Errorf("%s, %s: -want +got:\n%s", when, how, diff)
				}
			}
			for _, name := range []string{"ci", "later", "now"} {
				if got := w.webhook(name).OutdatedSecret; got != slices.Contains(want, name) {
					t.Errorf("%s: webhook %s is outdated: %t", when, name, got)
				}
			}
		}
		waits("at first")
		if got := call(t, env, "factory", "get", f.UID); has(got.out, "outdated") {
			t.Errorf("at first: got %s", got.out)
		}
		w.ask(http.MethodPut, "/secrets/CI_TOKEN", map[string]string{"value": ciToken}, http.StatusOK, nil)
		waits("with the same value")
		w.ask(http.MethodPut, "/secrets/CI_TOKEN", map[string]string{"value": "another-value-of-it"}, http.StatusOK, nil)
		waits("with another value", "ci")
		w.ask(http.MethodPut, "/secrets/LATER", map[string]string{"value": "the-first-value-of-it"}, http.StatusOK, nil)
		waits("with a first value", "ci", "later")
		call(t, env, "factory", "get", f.UID).want(
			t, 0, "webhook ci has not taken the new value", "fix", "push a commit", "secretRefresh: immediate",
		)
		call(t, env, "factory", "list").want(t, 0, "new secret pending")
		call(t, env, "webhook", "get", "ci", "--factory", f.UID).want(t, 0, "outdated")

		w.repository.Commit(
			"Follow the secret", with(files, "webhooks/ci.yaml", "secretName: CI_TOKEN\nsecretRefresh: immediate\n"),
		)
		w.sync()
		waits("after the commit that the note names")
		w.ask(http.MethodPut, "/secrets/CI_TOKEN", map[string]string{"value": ciToken}, http.StatusOK, nil)
		waits("where it applies at once")
		w.startsARun()
	})
}
