package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// tracked is a server with a factory that comes from a repository.
type tracked struct {
	*hooked

	repository *testkit.Repository
}

// polled polls local repositories every second. asked polls them only on request.
var (
	polled = append(slices.Clip(noWorker), "--git-allow-file", "--git-poll", "1s")
	asked  = append(slices.Clip(noWorker), "--git-allow-file", "--git-poll", "0")
)

const ciToken = "value-of-the-ci-token"

// acmeFiles define a factory whose webhook ci starts a run for each delivery.
func acmeFiles() map[string]string {
	return map[string]string{
		"factory.yaml":         "schemaVersion: v1alpha1\nname: tracked\nagentDefaults: {model: demo/offline}\n",
		"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		"automations/mend.md": "---\ntriggers: [{provider: webhook, event: received, filter: {webhook_ids: [ci]}}]\n---\n" +
			"Mend it.\n",
		"webhooks/ci.yaml": "secretName: CI_TOKEN\n",
		"README.md":        "# Ours\n",
	}
}

func with(files map[string]string, path, content string) map[string]string {
	files = maps.Clone(files)
	files[path] = content
	return files
}

// serveTracked starts a server with the secret CI_TOKEN, and creates a repository.
func serveTracked(t *testing.T, o testkit.ServeOptions) *tracked {
	t.Helper()
	w := &tracked{&hooked{Server: testkit.Serve(t, o), t: t}, testkit.NewRepository(t, t.TempDir(), "factories")}
	w.ask(http.MethodPost, "/secrets", map[string]string{"name": "CI_TOKEN", "value": ciToken}, http.StatusCreated, nil)
	return w
}

// track creates a factory that comes from a repository, and syncs it.
func (w *tracked) track(place map[string]string) penstock.Factory {
	w.t.Helper()
	var f penstock.Factory
	w.ask(http.MethodPost, "/factory", map[string]any{"repository": place}, http.StatusCreated, &f)
	if w.factory = f.UID; f.Source != store.FactoryRepository || f.Definition.Revision > 0 {
		w.t.Errorf("a new factory is %+v", f)
	}
	return w.sync()
}

// trackFiles is track for a repository with one commit.
func (w *tracked) trackFiles(files map[string]string) penstock.Factory {
	w.t.Helper()
	w.repository.Commit("Begin", files)
	return w.track(map[string]string{"url": w.repository.URL()})
}

func (w *tracked) sync() penstock.Factory {
	w.t.Helper()
	var f penstock.Factory
	if got := w.ask(
		http.MethodPost, w.path()+"/sync", nil, http.StatusOK, &f,
	); strings.Contains(string(got.body), gitToken) {
		w.t.Errorf("the response shows the credential: %s", got.body)
	}
	return f
}

func (w *tracked) get() penstock.Factory {
	w.t.Helper()
	var f penstock.Factory
	w.ask(http.MethodGet, w.path(), nil, http.StatusOK, &f)
	return f
}

func (w *tracked) history() []factory.Revision {
	w.t.Helper()
	var page factory.HistoryPage
	w.ask(http.MethodGet, w.path()+"/definition/history?limit=500", nil, http.StatusOK, &page)
	return page.Revisions
}

// results returns the results of the history, the newest first.
func (w *tracked) results() []store.CommitResult {
	w.t.Helper()
	var list []store.CommitResult
	for _, r := range w.history() {
		list = append(list, r.Result)
	}
	return list
}

// eventually waits until the factory reaches a state without a request to sync.
func (w *tracked) eventually(what string, check func(penstock.Factory) bool) penstock.Factory {
	w.t.Helper()
	var f penstock.Factory
	testkit.Eventually(w.t, time.Minute, func() error {
		if f = w.get(); !check(f) {
			return fmt.Errorf("waited in vain for %s: %+v", what, f)
		}
		return nil
	})
	return f
}

func (w *tracked) applied(commit string) penstock.Factory {
	w.t.Helper()
	return w.eventually("commit "+commit, func(f penstock.Factory) bool {
		return f.Definition.Status == penstock.DefinitionApplied && f.Definition.Commit == commit &&
			f.Definition.Problem == ""
	})
}

// webhook returns the webhook with a name, and the value of its secret.
func (w *tracked) webhook(name string) penstock.Webhook {
	w.t.Helper()
	var list struct{ Webhooks []penstock.Webhook }
	w.ask(http.MethodGet, w.path()+"/webhooks", nil, http.StatusOK, &list)
	i := slices.IndexFunc(list.Webhooks, func(w penstock.Webhook) bool { return w.Name == name })
	if i < 0 {
		w.t.Fatalf("there is no webhook %s: %+v", name, list)
	}
	list.Webhooks[i].Secret = ciToken
	return list.Webhooks[i]
}

// startsARun sends a delivery to the webhook ci, which must start a run.
func (w *tracked) startsARun() {
	w.t.Helper()
	hook := w.webhook("ci")
	id := newSender(w.t).accepted(w.url(hook), bearer(hook), fmt.Sprintf("%q", penstock.NewID()))
	if d := w.entry(hook, id); len(d.Runs) != 1 {
		w.t.Errorf("a delivery has started the runs %v, want one: %+v", d.Runs, d.Matches)
	}
}

// serveSecured serves a repository over HTTPS with a password, and starts a server that trusts its
// certificate.
func serveSecured(t *testing.T, database string, args ...string) (*tracked, *testkit.GitServer) {
	t.Helper()
	root := t.TempDir()
	repository := testkit.NewRepository(t, root, "factories")
	git := testkit.NewGitServer(t, root, gitToken)
	w := serveTracked(
		t,
		testkit.ServeOptions{
			Database: database, Args: append(slices.Clip(noWorker), args...), Env: []string{"GIT_SSL_CAINFO=" + git.CAFile},
		},
	)
	w.repository = repository
	w.ask(
		http.MethodPost, "/secrets", map[string]string{"name": "GIT_TOKEN", "value": gitToken + "\n"}, http.StatusCreated,
		nil,
	)
	return w, git
}

const gitToken = "ghp-a-token-that-nobody-may-see"

// secured returns the place of serveSecured's repository.
func secured(git *testkit.GitServer) map[string]string {
	return map[string]string{"url": git.URL + "/factories/.git", "secret": "GIT_TOKEN"}
}

// has reports whether a text contains all words.
func has(text string, words ...string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// mirrors returns the folders in which a server keeps repositories.
func (w *tracked) mirrors() []string {
	w.t.Helper()
	list, err := filepath.Glob(filepath.Join(w.Data, "mirrors", "*.git"))
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}
