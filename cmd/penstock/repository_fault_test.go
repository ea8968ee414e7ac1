package main_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// If a commit is invalid, the previous one stays active, and the server reports the reason.
func TestRepositoryCommitsThatCannotBeApplied(t *testing.T) {
	t.Parallel()
	w := serveTracked(t, testkit.ServeOptions{Args: asked})
	good := acmeFiles()
	f := w.trackFiles(good)
	first := f.Definition.Commit
	w.ask(http.MethodPost, "/factory", map[string]string{"name": "taken"}, http.StatusCreated, nil)
	many := map[string]string{}
	for n := range 1000 {
		many[fmt.Sprintf("skills/s%d/SKILL.md", n)] = "---\nname: s\ndescription: d\n---\nx\n"
	}
	many["factory.yaml"] = good["factory.yaml"]
	for name, tt := range map[string]struct {
		make func()
		want string
	}{
		"a symbolic link": {func() {
			w.repository.Commit("Link", good)
			w.link("/etc/passwd", "webhooks/all.yaml")
		}, "webhooks/all.yaml FF_UNSUPPORTED_PATH must be a plain file"},
		"a folder that is a link": {func() {
			w.repository.Commit("Link", good)
			w.link("../../..", "skills")
		}, "skills FF_UNSUPPORTED_PATH must be a plain file"},
		"a submodule": {func() {
			w.repository.Commit("Module", good)
			w.repository.Git("update-index", "--add", "--cacheinfo", "160000,"+first+",runners")
			w.repository.Git("commit", "-q", "-m", "Module")
		}, "runners FF_UNSUPPORTED_PATH must be a plain file"},
		"no factory.yaml": {func() {
			w.repository.Commit("Lose it", map[string]string{"agents/lead/agent.md": good["agents/lead/agent.md"]})
		}, "FF_MISSING_FACTORY"},
		"an empty tree": {func() { w.repository.Commit("Lose all", nil) }, "FF_MISSING_FACTORY"},
		"1,001 files":   {func() { w.repository.Commit("Too many", many) }, "at most 1000 are allowed"},
		"more than 4 MB": {
			func() { w.repository.Commit("Too large", with(good, "skills/s/data", strings.Repeat("x", 4<<20+1))) },
			"skills/s/data FF_INVALID_DOCUMENT the factory has",
		},
		"a name that is no text": {
			func() { w.repository.Commit("Name", with(good, "skills/s/\xff", "x")) },
			"FF_UNSUPPORTED_PATH a path must be printable UTF-8 text",
		},
		"a secret that is not there": {
			func() { w.repository.Commit("Secret", with(good, "webhooks/ci.yaml", "secretName: NONE\n")) },
			"webhooks/ci.yaml FF_INVALID_REFERENCE",
		},
		"a billion laughs": {
			func() { w.repository.Commit("Laugh", with(good, "runners/a.yaml", "a: &a [x, x]\nb: &b [*a, *a]\n")) },
			"runners/a.yaml FF_ANCHOR",
		},
		"the name of another factory": {func() {
			w.repository.Commit("Name", with(good, "factory.yaml", strings.Replace(good["factory.yaml"], "tracked", "Taken", 1)))
		}, "another factory of the team has the name"},
	} {
		tt.make()
		f := w.sync()
		d := f.Definition
		text := d.Detail
		for _, found := range d.Diagnostics {
			text += fmt.Sprintf("\n%s %s %s", found.Path, found.Code, found.Message)
		}
		if d.Status != penstock.DefinitionInvalid || d.Commit != first || d.Revision != 1 ||
			d.Rejected != w.repository.Git("rev-parse", "HEAD") || !strings.Contains(text, tt.want) || d.Detail == "" {
			t.Errorf("%s: got %+v, want it rejected for %q", name, d, tt.want)
		}
	}
	w.startsARun()
	w.repository.Commit("Repent", good)
	if d := w.sync().Definition; d.Status != penstock.DefinitionApplied || d.Revision != 1 || d.Detail != "" ||
		d.Rejected != "" {
		t.Errorf("after all of that: %+v", d)
	}
}

// link commits a symbolic link.
func (w *tracked) link(to, name string) {
	w.t.Helper()
	path := filepath.Join(w.repository.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		w.t.Fatal(err)
	}
	w.repository.Git("add", "-A")
	w.repository.Git("commit", "-q", "-m", "Link")
}

// A repository can be unavailable or empty. The active files stay, and the next poll finds the new
// state.
func TestRepositoryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, git := serveSecured(t, "", "--git-poll", "0")
	w.repository.Commit("Begin", acmeFiles())
	f := w.track(secured(git))
	first := f.Definition.Commit
	if f.Definition.Status != penstock.DefinitionApplied || first == "" {
		t.Fatalf("got %+v", f.Definition)
	}
	next := w.repository.Commit("Next", with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nNext.\n"))
	response := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.WriteHeader(status)
			return true
		}
	}
	problem := func(what string, want ...string) {
		t.Helper()
		d := w.sync().Definition
		if d.Commit != first || d.Status != penstock.DefinitionApplied || !has(d.Problem, want...) {
			t.Errorf("%s: got %+v, want a problem with %q", what, d, want)
		}
	}
	git.Break(response(http.StatusBadGateway))
	problem("an error of the host", "HTTP status 502")
	git.Break(response(http.StatusNotFound))
	problem("a repository that is gone", "the repository does not exist", "404")
	git.Break(func(rw http.ResponseWriter, _ *http.Request) bool {
		http.Redirect(rw, &http.Request{}, "https://127.0.0.1:1/elsewhere", http.StatusFound)
		return true
	})
	problem("a host that sends elsewhere", "git ls-remote")
	git.Break(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = fmt.Fprint(rw, "zzzz")
		return true
	})
	problem("a host that talks nonsense", "git ls-remote")
	git.Break(nil)
	git.SetPassword("another one")
	problem("a credential that does not hold", "does not accept the credential")
	w.startsARun()
	git.SetPassword(gitToken)
	w.repository.Git("checkout", "-q", "-b", "other")
	w.repository.Git("branch", "-q", "-D", "main")
	w.ask(
		http.MethodPatch, w.path(),
		map[string]any{
			"repository": map[string]string{"url": git.URL + "/factories/.git", "secret": "GIT_TOKEN", "branch": "main"},
		},
		http.StatusOK, nil,
	)
	if d := w.sync().Definition; d.Commit != first || !has(d.Problem, "the branch does not exist", "main") {
		t.Errorf("a branch that was deleted: got %+v", d)
	}
	w.repository.Git("checkout", "-q", "-b", "main")
	w.sync()
	w.applied(next)

	// After a rewrite of the history, the branch's current commit becomes active.
	w.repository.Git("reset", "-q", "--hard", first)
	forced := w.repository.Commit(
		"Another way", with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nAnother.\n"),
	)
	if d := w.sync().Definition; d.Commit != forced || d.Status != penstock.DefinitionApplied {
		t.Errorf("after a force push: %+v", d)
	}

	// The tree has duplicate names and links that leave it, in objects that git itself does not
	// create.
	blob := w.repository.GitWith("x", "hash-object", "-w", "--stdin")
	raw, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	tree := w.repository.GitWith("100644 ..\x00"+string(raw), "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	w.repository.Git("update-ref", "refs/heads/main", w.repository.Git("commit-tree", tree, "-m", "Out of here"))
	if d := w.sync().Definition; d.Commit != forced || !has(d.Problem, "hasDotdot") {
		t.Errorf("a tree with ..: got %+v", d)
	}
	w.repository.Git("update-ref", "refs/heads/main", forced)
	if d := w.sync().Definition; d.Commit != forced || d.Problem != "" {
		t.Errorf("when all is well again: %+v", d)
	}
	git.Close()
	problemAway := w.sync().Definition
	if problemAway.Commit != forced || !has(problemAway.Problem, "cannot be reached") {
		t.Errorf("a host that is away: got %+v", problemAway)
	}
	w.startsARun()
}

// Missing settings of a repository return 400 before the server creates anything.
func TestRepositoryThatNoFactoryCanComeFrom(t *testing.T) {
	t.Parallel()
	w := serveTracked(t, testkit.ServeOptions{Args: noWorker})
	for _, tt := range []struct {
		repository map[string]string
		want       string
	}{
		{map[string]string{}, "/repository/url"},
		{map[string]string{"url": w.repository.URL()}, "--git-allow-file"},
		{map[string]string{"url": "https://user:word@example.com/a/b"}, "must not hold a user name or password"},
		{map[string]string{"url": "--upload-pack=touch x"}, "begins with a dash"},
		{map[string]string{"url": "ext::sh -c x"}, "/repository/url"},
		{map[string]string{"url": "https://example.com/a/b", "branch": "-x"}, "/repository/branch"},
		{map[string]string{"url": "https://example.com/a/b", "path": "../x"}, "/repository/path"},
		{map[string]string{"url": "https://example.com/a/b", "path": "a/../../x"}, "/repository/path"},
		{map[string]string{"url": "https://example.com/a/b", "secret": "NONE"}, "there is no secret"},
		{map[string]string{"url": "git@example.com:a/b", "secret": "CI_TOKEN"}, "only with an https URL"},
	} {
		got := w.ask(
			http.MethodPost, "/factory", map[string]any{"name": "x", "repository": tt.repository}, http.StatusBadRequest, nil,
		)
		if !strings.Contains(string(got.body), tt.want) || strings.Contains(string(got.body), "user:word") {
			t.Errorf("%v: got %s, want %q", tt.repository, got.body, tt.want)
		}
	}
	got := w.ask(
		http.MethodPost, "/factory",
		map[string]any{"files": acmeFiles(), "alias": "x", "repository": map[string]string{"url": "https://example.com/a/b"}},
		http.StatusBadRequest, nil,
	)
	if !has(string(got.body), "/files", "/alias") {
		t.Errorf("with files and an alias: got %s", got.body)
	}
	// A key that may only manage factories cannot make the server send a secret anywhere.
	var key struct{ Key string }
	w.ask(
		http.MethodPost, "/keys", map[string]any{"name": "k", "scopes": []string{"factories:manage"}}, http.StatusCreated,
		&key,
	)
	admin := w.Key
	w.Key = key.Key
	w.ask(
		http.MethodPost, "/factory",
		map[string]any{"repository": map[string]string{"url": "https://example.com/a/b", "secret": "CI_TOKEN"}},
		http.StatusForbidden, nil,
	)
	w.Key = admin
}

// The repository has 100 MB. The factory is a small part of it.
func TestRepositoryThatIsLarge(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	w := serveTracked(t, testkit.ServeOptions{Args: asked})
	files := map[string]string{}
	for path, content := range acmeFiles() {
		files["ops/"+path] = content
	}
	w.repository.Git("config", "core.compression", "0")
	w.repository.Git("config", "core.bigFileThreshold", "1m")
	var noise bytes.Buffer
	for n := range uint64(100 << 20 / 64) {
		fmt.Fprintf(&noise, "%064x", n*0x9e3779b97f4a7c15)
	}
	w.repository.Commit("Begin", with(files, "media/film", noise.String()))
	f := w.track(map[string]string{"url": w.repository.URL(), "path": "ops"})
	if f.Definition.Status == penstock.DefinitionSyncing {
		f = w.eventually(
			"the first commit", func(f penstock.Factory) bool { return f.Definition.Status != penstock.DefinitionSyncing },
		)
	}
	if f.Definition.Status != penstock.DefinitionApplied {
		t.Fatalf("got %+v", f.Definition)
	}
	w.startsARun()
	if peak := w.PeakMemory(); peak > 400<<20 {
		t.Errorf("the server has used %d MB for it", peak>>20)
	}
}

// The server is killed during a sync, a factory is deleted during a sync, and the credential shows
// up nowhere.
func TestRepositoryIsReadWhileTheServerEnds(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		w, git := serveSecured(t, database, "--git-poll", "1s")
		w.repository.Commit("Begin", acmeFiles())
		w.track(secured(git))
		held, release := holdFetches(git)
		second := w.repository.Commit(
			"Next", with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nNext.\n"),
		)
		<-held
		for _, process := range commandLines(t) {
			if strings.Contains(process, gitToken) || strings.Contains(process, "Basic ") {
				t.Errorf("a command line shows the credential: %s", process)
			}
		}
		w.Kill9()
		release()
		w.Restart()
		w.applied(second)
		w.startsARun()

		// The factory is deleted while the server reads its repository.
		held, release = holdFetches(git)
		w.repository.Commit(
			"Too late", with(acmeFiles(), "agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nToo late.\n"),
		)
		<-held
		w.ask(http.MethodDelete, w.path(), nil, http.StatusNoContent, nil)
		release()
		w.ask(http.MethodGet, w.path(), nil, http.StatusNotFound, nil)
		w.ask(http.MethodPost, "/factory", map[string]string{"name": "tracked"}, http.StatusCreated, nil)
		w.ask(http.MethodDelete, "/secrets/GIT_TOKEN", nil, http.StatusNoContent, nil)
		w.Stop()
		for line := range strings.Lines(w.Logs()) {
			if strings.Contains(line, gitToken) || strings.Contains(line, "level=ERROR") {
				t.Errorf("the log says %s", line)
			}
		}
		for _, mirror := range w.mirrors() {
			if config, err := os.ReadFile(filepath.Join(mirror, "config")); err == nil &&
				strings.Contains(string(config), gitToken) {
				t.Errorf("a mirror keeps the credential: %s", config)
			}
		}
	})
}

// holdFetches blocks the host from sending objects until it is released, and reports waiting
// fetches.
func holdFetches(git *testkit.GitServer) (held <-chan struct{}, release func()) {
	waiting, hold := make(chan struct{}, 100), make(chan struct{})
	git.Break(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasPrefix(r.UserAgent(), "git/2") { // not those who ask for a branch alone
			waiting <- struct{}{}
			<-hold
		}
		return false
	})
	return waiting, func() {
		git.Break(nil)
		close(hold)
	}
}

// commandLines returns the command lines of all processes of this machine.
func commandLines(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil && len(text) > 0 {
			lines = append(lines, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return lines
}
