package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestRepositoryDefinesAFactory(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w := serveTracked(t, testkit.ServeOptions{Database: database, Args: polled})
		first := w.repository.Commit("Begin", acmeFiles())
		f := w.track(map[string]string{"url": w.repository.URL()})
		if d := f.Definition; d.Status != penstock.DefinitionApplied || d.Commit != first || d.Revision != 1 ||
			f.Name != "tracked" || f.ForemanUID == "" || d.CheckedAt == 0 {
			t.Fatalf("after the first commit: %+v", f)
		}
		w.startsARun()
		hook := w.webhook("ci")

		// The server finds a commit by polling. Resources that the commit does not touch stay
		// unchanged.
		second := w.repository.Commit(
			"Lead better\n\nMuch better.",
			with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nLead them.\n"),
		)
		f = w.applied(second)
		if w.webhook("ci").UID != hook.UID || f.Definition.Revision != 2 {
			t.Errorf("after the second commit: %+v, webhook %+v", f, w.webhook("ci"))
		}

		// A factory with an error is not applied, and the error names its line. The previous files
		// stay active.
		broken := w.repository.Commit("Break it", with(acmeFiles(), "webhooks/ci.yaml", "secretName: CI_TOKN\n"))
		f = w.eventually(
			"a rejection", func(f penstock.Factory) bool { return f.Definition.Status == penstock.DefinitionInvalid },
		)
		d := f.Definition
		if d.Commit != second || d.Rejected != broken || d.Revision != 2 || len(d.Diagnostics) != 1 ||
			d.Diagnostics[0].Path != "webhooks/ci.yaml" ||
			d.Diagnostics[0].Line != 1 || d.Diagnostics[0].Nearest != "" || !strings.Contains(d.Detail, "CI_TOKN") {
			t.Errorf("after a commit with an error: %+v", d)
		}
		w.startsARun()

		// When the missing secret is created, the server applies the commit without a new push.
		w.ask(http.MethodPost, "/secrets", map[string]string{"name": "CI_TOKN", "value": ciToken}, http.StatusCreated, nil)
		w.applied(broken)
		w.startsARun()

		// A commit with the same tree changes nothing. Neither does a change outside of the
		// factory.
		w.applied(
			w.repository.Commit(
				"Say more", with(with(acmeFiles(), "webhooks/ci.yaml", "secretName: CI_TOKN\n"), "README.md", "# More\n"),
			),
		)
		if f = w.sync(); f.Definition.Revision != 3 {
			t.Errorf("after a commit that changes nothing: revision %d, want 3", f.Definition.Revision)
		}
		want := []store.CommitResult{
			store.CommitUnchanged, store.CommitApplied, store.CommitRejected, store.CommitApplied,
			store.CommitApplied,
		}
		if diff := cmp.Diff(want, w.results()); diff != "" {
			t.Errorf("results of the commits (-want +got):\n%s", diff)
		}
		history := w.history()
		if c := history[3]; c.Commit.ID != second || c.Commit.Message != "Lead better" ||
			c.Commit.Author != "Ada Brandt <ada@example.com>" || c.Revision != 2 ||
			len(c.Changed) != 1 || !strings.Contains(c.Diff, "+Lead them.") || c.Commit.CommittedAt == 0 {
			t.Errorf("the second commit in the history: %+v %+v", c, c.Commit)
		}
		if c := history[2]; c.Revision != 2 || len(c.Diagnostics) != 1 || c.Diff != "" {
			t.Errorf("the rejected commit in the history: %+v", c)
		}
	})
}

func TestRepositoryBranchFolderAndMove(t *testing.T) {
	t.Parallel()
	w := serveTracked(t, testkit.ServeOptions{Args: asked})
	inside := map[string]string{"src/main.go": "package main\n"}
	for path, content := range acmeFiles() {
		inside["ops/factory/"+path] = content
	}
	w.repository.Commit("Begin", inside)
	w.repository.Git("checkout", "-q", "-b", "live")
	live := w.repository.Commit("Go live", inside)
	w.repository.Git("checkout", "-q", "main")
	w.repository.Commit("Not yet", map[string]string{"factory.yaml": "no: thing\n"})

	f := w.track(map[string]string{"url": w.repository.URL(), "branch": "live", "path": "/ops/factory/"})
	if f.Definition.Commit != live || f.Repository.Path != "ops/factory" {
		t.Errorf("got %+v %+v, want commit %s", f.Definition, f.Repository, live)
	}
	// The top of the repository is not a factory. The findings name its files.
	var moved penstock.Factory
	w.ask(
		http.MethodPatch, w.path(),
		map[string]any{"repository": map[string]string{"url": w.repository.URL(), "branch": "live"}}, http.StatusOK, &moved,
	)
	f = w.sync()
	if f.Definition.Status != penstock.DefinitionInvalid || f.Definition.Commit != live ||
		!strings.Contains(fmt.Sprint(f.Definition.Diagnostics), "src/main.go") {
		t.Errorf("at the top of the repository: %+v", f.Definition)
	}
	w.ask(
		http.MethodPatch, w.path(),
		map[string]any{"repository": map[string]string{"url": w.repository.URL(), "path": "ops/elsewhere", "branch": "live"}},
		http.StatusOK, nil,
	)
	if f = w.sync(); f.Definition.Status != penstock.DefinitionInvalid ||
		!strings.Contains(f.Definition.Detail, `no folder "ops/elsewhere"`) {
		t.Errorf("in a folder that is not there: %+v", f.Definition)
	}
	// Without a branch, the server uses the current default branch.
	w.ask(
		http.MethodPatch, w.path(),
		map[string]any{"repository": map[string]string{"url": w.repository.URL(), "path": "ops/factory"}}, http.StatusOK, nil,
	)
	if f = w.sync(); f.Definition.Status != penstock.DefinitionInvalid {
		t.Errorf("on the default branch: %+v", f.Definition)
	}
	w.repository.Git("checkout", "-q", "live")
	if f = w.sync(); f.Definition.Status != penstock.DefinitionApplied || f.Definition.Commit != live {
		t.Errorf("on the next default branch: %+v", f.Definition)
	}
	w.startsARun()
}

// Two servers poll one repository, and apply each commit once.
func TestRepositoryOfTwoReplicas(t *testing.T) {
	t.Parallel()
	first := serveTracked(t, testkit.ServeOptions{Database: testkit.Postgres(t), Args: polled})
	first.trackFiles(acmeFiles())
	second := &tracked{first.replica(testkit.ServeOptions{Args: polled}), first.repository}
	const commits = 8
	for n := range commits {
		id := first.repository.Commit(
			fmt.Sprint("Change ", n),
			with(acmeFiles(), "agents/lead/agent.md", fmt.Sprintf("---\nagentType: FOREMAN\n---\nLead %d.\n", n)),
		)
		var all sync.WaitGroup
		for _, w := range []*tracked{first, second, first, second} {
			all.Go(func() { send(t, w.Server, http.MethodPost, w.path()+"/sync", "") })
		}
		all.Wait()
		second.applied(id)
	}
	history := first.history()
	if len(history) != commits+1 || history[0].Revision != commits+1 {
		t.Errorf("%d commits have %d entries, and revision %d", commits+1, len(history), history[0].Revision)
	}
	seen := map[string]bool{}
	for _, r := range history {
		if r.Result != store.CommitApplied || seen[r.Commit.ID] {
			t.Errorf("commit %s is %s once more", r.Commit.ID, r.Result)
		}
		seen[r.Commit.ID] = true
	}
	// A suspension on one server takes effect on the other one with the next request.
	hook := first.webhook("ci")
	for _, suspended := range []bool{true, false, true, false} {
		first.change(hook, map[string]any{"suspended": suspended})
		want := map[bool]int{true: http.StatusNotFound, false: http.StatusAccepted}[suspended]
		if got := newSender(t).post(second.url(hook), bearer(hook), "1"); got.status != want {
			t.Errorf("suspended %t: got %d, want %d: %s", suspended, got.status, want, got.body)
		}
	}
}

// A server that starts with polling enabled polls, even if polling was disabled before.
func TestRepositoryOfAServerThatPollsFromNowOn(t *testing.T) {
	t.Parallel()
	first := serveTracked(t, testkit.ServeOptions{Database: testkit.Postgres(t), Args: asked})
	first.trackFiles(acmeFiles())
	first.Stop()
	second := &tracked{first.replica(testkit.ServeOptions{Args: polled}), first.repository}
	second.applied(
		first.repository.Commit("Next", with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nNext.\n")),
	)
}

func TestRepositoryMakesTheAPIReadOnly(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w := serveTracked(t, testkit.ServeOptions{Database: database, Args: asked})
		w.ask(http.MethodPost, "/secrets", map[string]string{"name": "LATER"}, http.StatusCreated, nil)
		files := with(acmeFiles(), "webhooks/later.yaml", "secretName: LATER\nenabled: false\n")
		w.repository.Commit("Begin", files)
		f := w.track(map[string]string{"url": w.repository.URL(), "branch": "main"})
		hook, later := w.webhook("ci"), w.webhook("later")
		var automations struct{ Automations []penstock.Automation }
		w.ask(http.MethodGet, w.path()+"/automations", nil, http.StatusOK, &automations)
		automation, agent := w.path()+"/automations/"+automations.Automations[0].UID, "/agent/identities/"+f.ForemanUID
		for _, tt := range []struct {
			method, path, file string
			body               any
		}{
			{"PATCH", w.path(), "factory.yaml", map[string]any{"description": "x"}},
			{"PUT", w.path() + "/definition", "factory.yaml", map[string]any{"files": files}},
			{
				"POST", w.path() + "/automations", "automations/new/automation.md",
				map[string]any{"name": "new", "prompt": "x", "triggers": automations.Automations[0].Triggers},
			},
			{"PATCH", automation, "automations/mend/automation.md", map[string]any{"enabled": false}},
			{"DELETE", automation, "automations/mend/automation.md", nil},
			{"PUT", agent, "agents/lead/agent.md", map[string]any{"prompt": "x"}},
			{"DELETE", agent, "agents/lead/agent.md", nil},
			{"POST", w.path() + "/webhooks", "webhooks/new.yaml", map[string]any{"name": "new"}},
			{"PATCH", w.hookPath(hook), "webhooks/ci.yaml", map[string]any{"enabled": false}},
			{"PATCH", w.hookPath(hook), "webhooks/ci.yaml", map[string]any{"suspended": true, "replay_guard": true}},
			{"DELETE", w.hookPath(hook), "webhooks/ci.yaml", nil},
		} {
			got := w.ask(tt.method, tt.path, tt.body, http.StatusConflict, nil)
			if !has(string(got.body), tt.file, `branch \"main\"`, w.repository.URL()) {
				t.Errorf("%s %s: got %s, want where to edit", tt.method, tt.path, got.body)
			}
		}
		w.ask(http.MethodPut, w.path()+"/definition", map[string]any{"files": files, "dry_run": true}, http.StatusOK, nil)

		// Fields that the files do not set can be changed.
		s := newSender(t)
		id := s.accepted(w.url(hook), bearer(hook), "1")
		w.change(hook, map[string]any{"suspended": true})
		if got := s.post(w.url(hook), bearer(hook), "2"); got.status != http.StatusNotFound {
			t.Errorf("suspended: got %d", got.status)
		}
		w.repository.Commit("More", with(files, "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nMore.\n"))
		if f := w.sync(); f.Definition.Revision != 2 || !w.webhook("ci").Suspended {
			t.Errorf("the next commit has ended the suspension: %+v", w.webhook("ci"))
		}
		var replayed store.Delivery
		w.ask(http.MethodPost, w.hookPath(hook)+"/deliveries/"+id+"/replay", nil, http.StatusCreated, &replayed)
		if len(replayed.Runs) != 1 {
			t.Errorf("a replay has started %v", replayed.Runs)
		}
		w.change(hook, map[string]any{"suspended": false})
		w.startsARun()
		var rotated penstock.Webhook
		w.ask(http.MethodPost, w.hookPath(hook)+"/rotate-secret", nil, http.StatusOK, &rotated)
		s.accepted(w.url(rotated), bearer(rotated), "3")
		// A pending webhook gets its secret. Otherwise it stays as its file says.
		w.change(later, map[string]any{"secret": "value-that-comes-later"})
		if hook := w.webhook("later"); hook.PendingSecret || hook.Enabled {
			t.Errorf("a webhook that is switched off in its file is %+v", hook)
		}
		if f := w.sync(); f.Definition.Revision != 2 {
			t.Errorf("it has changed the files: revision %d", f.Definition.Revision)
		}
		w.ask(http.MethodDelete, "/secrets/CI_TOKEN", nil, http.StatusConflict, nil)
		w.ask(http.MethodDelete, w.path(), nil, http.StatusNoContent, nil)
		w.ask(http.MethodDelete, "/secrets/CI_TOKEN", nil, http.StatusNoContent, nil)
	})
}

// The host of the repository reports a push with a webhook, so that the factory changes before the
// next poll.
func TestRepositoryIsReadWhenAPushIsDelivered(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w, git := serveSecured(t, database, "--git-poll", "0")
		w.repository.Commit("Begin", acmeFiles())
		w.factory = w.newFactory("hooks")
		hook := w.githubHook("pushes")
		push := func(ref, event string) {
			body := fmt.Sprintf(
				`{"ref": %q, "repository": {"full_name": "acme/factories", "clone_url": %q}}`, ref, git.URL+"/factories/.git",
			)
			newSender(t).accepted(
				w.url(hook), signed(body, "X-GitHub-Event", event, "X-GitHub-Delivery", penstock.NewID()), body,
			)
		}
		push("refs/heads/main", "push") // of a repository that no factory uses yet
		w.track(secured(git))
		before := w.get()
		next := w.repository.Commit(
			"Next", with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nNext.\n"),
		)
		push("refs/heads/other", "push")
		push("refs/heads/main", "pull_request")
		body := fmt.Sprintf(`{"ref": "refs/heads/main", "repository": {"clone_url": %q}}`, git.URL+"/factories/.git")
		if got := newSender(t).post(
			w.url(hook), map[string]string{"X-Hub-Signature-256": "sha256=00", "X-GitHub-Event": "push"}, body,
		); got.status != http.StatusUnauthorized {
			t.Errorf("a forged push: got %d", got.status)
		}
		if f := w.get(); f.Definition.CheckedAt != before.Definition.CheckedAt ||
			f.Definition.Status != penstock.DefinitionApplied {
			t.Errorf("something else than a push to the branch had the repository looked at: %+v", f.Definition)
		}
		push("refs/heads/main", "push")
		w.applied(next)
		next = w.repository.Commit(
			"One more", with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nOne more.\n"),
		)
		body = strings.Replace(body, "{", `{"head_commit": {"message": "cut within a character \ud83d"}, `, 1)
		newSender(t).accepted(w.url(hook), signed(body, "X-GitHub-Event", "push"), body)
		w.applied(next)
	})
}

// A factory at the top of a source repository: the server ignores the other files, notes each
// folder, and neither counts nor stores them.
func TestRepositoryWithMoreThanAFactory(t *testing.T) {
	t.Parallel()
	w := serveTracked(t, testkit.ServeOptions{Args: asked})
	files := acmeFiles()
	for n := range definition.MaxFiles + 10 {
		files[fmt.Sprintf("src/file%d.go", n)] = "package src\n"
	}
	files["docs/film.txt"] = strings.Repeat("x", definition.MaxBytes+1)
	files["agents/lead/agent.md~"] = "old"
	files["webhook/misspelled.yaml"] = "secretName: CI_TOKEN\n"
	w.repository.Commit("Begin", files)
	w.link("src/file1.go", "linked.go")
	f := w.track(map[string]string{"url": w.repository.URL()})
	var got []string
	for _, d := range f.Definition.Diagnostics {
		got = append(got, d.Severity+" "+d.Path+" "+d.Nearest)
	}
	want := []string{
		"note agents/lead/agent.md~ ", "note docs/film.txt ", "note linked.go ", "note src/file0.go ",
		"warning webhook/misspelled.yaml webhooks/misspelled.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" || f.Definition.Status != penstock.DefinitionApplied {
		t.Fatalf("%+v (-want +got):\n%s", f.Definition, diff)
	}
	var kept factory.FactoryFiles
	w.ask(http.MethodGet, w.path()+"/definition", nil, http.StatusOK, &kept)
	if len(kept.Files) != 4 {
		t.Errorf("kept %d files: %q", len(kept.Files), slices.Sorted(maps.Keys(kept.Files)))
	}
	w.startsARun()
}

// One setting allows repositories on this machine. The older name, which was for environments alone,
// still works wherever a setting can be.
func TestTheSettingForRepositoriesOnThisMachine(t *testing.T) {
	t.Parallel()
	file := func(line string) []string { return []string{"--config", writeFile(t, "c.yaml", line)} }
	for name, o := range map[string]testkit.ServeOptions{
		"flag":                  {Args: []string{"--git-allow-file"}},
		"older flag":            {Args: []string{"--allow-local-repositories"}},
		"variable":              {Env: []string{"PENSTOCK_GIT_ALLOW_FILE=true"}},
		"older variable":        {Env: []string{"PENSTOCK_ALLOW_LOCAL_REPOSITORIES=true"}},
		"key of the file":       {Args: file("git-allow-file: true\n")},
		"older key of the file": {Args: file("allow-local-repositories: true\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Args = append(slices.Clip(noWorker), o.Args...)
			env := client(testkit.Serve(t, o))
			repository := testkit.NewRepository(t, t.TempDir(), "factory")
			repository.Commit("Begin", map[string]string{
				"factory.yaml":         "schemaVersion: v1alpha1\nname: shop\nagentDefaults: {model: demo/offline}\n",
				"agents/main/agent.md": "---\nagentType: FOREMAN\n---\n",
			})
			call(t, env, "factory", "create", "shop", "--repository", repository.URL()).want(t, 0)
		})
	}
}
