package gate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gate"
)

func TestAPushArrives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	w.pushed("HEAD")
	head := w.must(w.agent, "rev-parse", "HEAD")
	if got := w.on("penstock/fix"); got != head {
		t.Errorf("the forge has %q, not %q", got, head)
	}
	w.mu.Lock()
	want := []gate.Result{{Repository: "acme/shop", Branch: "penstock/fix", After: head, Commits: 1}}
	if diff := cmp.Diff(want, w.results); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]penstock.PushedBranch{{Name: "penstock/fix", New: head}}, w.claims); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	w.mu.Unlock()
	// More than git sends in one piece: chunked, after a first request without a push.
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte('a' + (i*i+i/7)%26)
		if i%80 == 79 {
			big[i] = '\n'
		}
	}
	w.add(map[string]string{"big.txt": string(big)})
	w.must(w.agent, "-c", "pack.compression=0", "-c", "core.compression=0", "push", "origin", "HEAD")
	w.add(map[string]string{"b.txt": "two\n"})
	w.pushed("HEAD:penstock/fix", "HEAD:penstock/other")
	if w.on("penstock/fix") != w.must(w.agent, "rev-parse", "HEAD") || w.on("penstock/other") != w.on("penstock/fix") {
		t.Errorf("the forge has %s", w.refs())
	}
	if out := w.pushed("HEAD"); !strings.Contains(out, "up-to-date") {
		t.Errorf("the same push says %s", out)
	}
	// After a rebase: git sends what it has seen.
	w.someone("main", map[string]string{"main.txt": "more\n"})
	w.must(w.agent, "fetch", "-q")
	w.must(w.agent, "rebase", "-q", "origin/main")
	w.refused([]string{"HEAD:penstock/fix"}, "non-fast-forward")
	w.pushed("--force-with-lease", "HEAD:penstock/fix")
	w.add(map[string]string{"c.txt": "three\n"})
	w.pushed("--atomic", "HEAD:penstock/fix", "HEAD:penstock/other2")
}

func TestNamesOfPushes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.someone("release", map[string]string{"r.txt": "r\n"})
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	w.must(w.agent, "tag", "v1")
	const may = "this run may push penstock/**"
	for _, args := range [][]string{
		{"HEAD:main"},
		{"HEAD:refs/heads/MAIN"},
		{"--force", "HEAD:release"},
		{"--force", "HEAD:main"},
		{"HEAD:fix"},
		{"HEAD:Penstock/fix"},
		{"HEAD:penstock"},
		{"HEAD:x/penstock/fix"},
	} {
		w.refused(args, "[remote rejected]", "Penstock: "+may)
	}
	for _, args := range [][]string{
		{"HEAD:refs/tags/penstock/v1"},
		{"v1"},
		{"HEAD:refs/replace/" + w.on("main")},
		{"HEAD:refs/pull/1/head"},
		{"HEAD:refs/for/main"},
		{"HEAD:refs/notes/commits"},
		{"--tags"},
	} {
		w.refused(args, "branches only")
	}
	w.refused([]string{":main"}, "may not delete")
	w.refused([]string{"v1^{tree}:refs/heads/penstock/tree"}, "")
	w.must(w.agent, "tag", "-a", "-m", "x", "v2")
	w.refused([]string{"v2:refs/heads/penstock/tag"}, "")
	// One is refused, the other arrives. With --atomic, none does.
	w.refused([]string{"--atomic", "HEAD:main", "HEAD:penstock/fix"}, may, "another branch of this atomic push is refused")
	out, err := w.git(w.agent, "push", "origin", "HEAD:main", "HEAD:penstock/fix")
	if err == nil || !strings.Contains(out, may) || w.on("penstock/fix") == "" {
		t.Errorf("a push of two says %s, and the forge has %s", out, w.refs())
	}
	w.refused([]string{":penstock/fix"}, "may not delete")
	w.refused([]string{"HEAD:penstock/Fix"}, "differs only in upper and lower case")
	for i := range 21 {
		w.must(w.agent, "branch", fmt.Sprintf("penstock/n%d", i))
	}
	w.refused([]string{"refs/heads/penstock/n*:refs/heads/penstock/n*"}, "at most 20")
	w.branch["penstock/theirs"] = "the branch belongs to another run. Push another one"
	w.reported()
	w.refused([]string{"HEAD:penstock/theirs"}, "Penstock: the branch belongs to another run")
	want := []string{"penstock/theirs the branch belongs to another run. Push another one"}
	if diff := cmp.Diff(want, w.reported()); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

func TestFilesOfPushes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gate.Options) {
		o.Policy.Except = []string{".github/workflows/docs.yml"}
		o.Policy.Limits = penstock.PushLimits{Files: 20, Bytes: 100_000, Binary: 1000}
	})
	w.someone("main", map[string]string{
		".github/workflows/ci.yml": "on: push\n", "old.txt": "old\n", ".husky/pre-push": "true\n", "data.bin": "a\x00b",
	})
	w.must(w.agent, "fetch", "-q")
	protected := func(name string, change func()) {
		t.Helper()
		w.must(w.agent, "checkout", "-q", "-f", "-B", "penstock/fix", "origin/main")
		change()
		w.refused([]string{"HEAD"}, "protected files", name)
	}
	write := func(name string) func() {
		return func() { w.add(map[string]string{name: "x\n"}) }
	}
	for _, name := range []string{
		".github/workflows/ci.yml", ".github/workflows/new/deep.yml", ".GitHub/Workflows/x.yml", "docs/CODEOWNERS",
		"sub/AGENTS.md", "sub/agents.MD", ".claude/settings.json", ".mcp.json", ".gitmodules", ".gitea/workflows/a.yml",
	} {
		protected(name, write(name))
	}
	protected(".github/workflows/ci.yml", func() { // both names of a rename
		w.must(w.agent, "mv", ".github/workflows/ci.yml", "ci.yml")
		w.must(w.agent, "commit", "-qm", "Move")
	})
	protected(".husky/x", func() {
		w.must(w.agent, "mv", "old.txt", ".husky/x")
		w.must(w.agent, "commit", "-qm", "Move")
	})
	protected(".husky/pre-push", func() { // the mode alone
		w.must(w.agent, "update-index", "--chmod=+x", ".husky/pre-push")
		w.must(w.agent, "commit", "-qm", "Mode")
	})
	link := func(name, to string) func() {
		return func() {
			_ = os.RemoveAll(filepath.Join(w.agent, name))
			if err := os.Symlink(to, filepath.Join(w.agent, name)); err != nil {
				t.Fatal(err)
			}
			w.add(map[string]string{"x.txt": "x\n"})
		}
	}
	protected(".claude", link(".claude", "tools"))
	protected(".github", link(".github", "tools"))
	protected(".Gitea", link(".Gitea", "tools"))
	// A merge that takes back what the base branch has.
	protected(".github/workflows/ci.yml", func() {
		w.must(w.agent, "checkout", "-q", "-B", "penstock/fix", "origin/main~1")
		w.add(map[string]string{"y.txt": "y\n"})
		w.must(w.agent, "merge", "-q", "-s", "ours", "-m", "Merge", "origin/main")
	})
	// A history of its own.
	protected(".github/workflows/ci.yml", func() {
		w.must(w.agent, "checkout", "-q", "--orphan", "orphan")
		w.must(w.agent, "commit", "-qm", "Root")
		w.must(w.agent, "branch", "-f", "penstock/fix", "HEAD")
		w.must(w.agent, "checkout", "-q", "-f", "penstock/fix")
	})
	w.commit("penstock/docs", map[string]string{".github/workflows/docs.yml": "on: push\n", ".github/uvs.csv": "1\n"})
	w.pushed("HEAD")

	w.commit("penstock/submodule", map[string]string{"n.txt": "n\n"})
	w.must(w.agent, "update-index", "--add", "--cacheinfo", "160000,"+w.on("main")+",sub")
	w.must(w.agent, "commit", "-qm", "Submodule")
	w.refused([]string{"HEAD"}, "submodule sub")
	many := map[string]string{}
	for i := range 21 {
		many[fmt.Sprintf("node_modules/%d.js", i)] = "x\n"
	}
	w.commit("penstock/many", many)
	w.refused([]string{"HEAD"}, "changes 21 files, and at most 20")
	w.commit("penstock/large", map[string]string{"large.txt": strings.Repeat("x\n", 60_000), "small.txt": "x"})
	w.refused([]string{"HEAD"}, "120001 bytes", "at most 100000", "large.txt")
	w.commit("penstock/binary", map[string]string{"tool": "\x7fELF\x00" + strings.Repeat("x", 1000)})
	w.refused([]string{"HEAD"}, "the binary file tool has 1005 bytes")
	w.commit("penstock/removes", map[string]string{"z.txt": "z\n"})
	w.must(w.agent, "rm", "-q", "data.bin", "old.txt")
	w.must(w.agent, "commit", "-qm", "Remove")
	w.pushed("HEAD")
}

func TestSecretsOfPushes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	aws := "AKIA" + "Q3EGRTZ5MXW2KLPA"
	w.commit("penstock/secret", map[string]string{"config/app.env": "KEY=" + aws + "\n"})
	out := w.refused([]string{"HEAD"}, "config/app.env has an AWS access key")
	if strings.Contains(out, aws) {
		t.Errorf("the refusal shows it: %s", out)
	}
	// A later commit does not remove it.
	w.must(w.agent, "rm", "-q", "config/app.env")
	w.must(w.agent, "commit", "-qm", "Remove")
	w.refused([]string{"HEAD"}, "config/app.env has an AWS access key", "a later commit does not")
	for what, change := range map[string]func(){
		"a secret of this run": func() { w.add(map[string]string{"a.txt": "the value is " + granted}) },
		"in its message":       func() { w.must(w.agent, "commit", "-q", "--allow-empty", "-m", "Use "+granted) },
		"a GitHub token": func() {
			w.add(map[string]string{"b.txt": "ghp_" + strings.Repeat("aB3d", 9) + "\n"})
		},
		"a private key": func() {
			w.add(map[string]string{"id": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + strings.Repeat("b3BlbnNzaC1r", 6) + "\n"})
		},
		"or in a name": func() { w.add(map[string]string{granted + ".txt": "x"}) },
	} {
		w.must(w.agent, "checkout", "-q", "-B", "penstock/secret", "origin/main")
		change()
		w.refused([]string{"HEAD"}, what)
	}
	w.must(w.agent, "checkout", "-q", "-B", "clean", "origin/main")
	w.add(map[string]string{"clean.txt": "x\n"})
	w.refused([]string{"HEAD:penstock/" + granted}, "the name of the branch has a secret of this run")
	// The content is known, and the name is new.
	w.must(w.agent, "mv", "README.md", granted)
	w.must(w.agent, "commit", "-qm", "Move")
	w.refused([]string{"HEAD:penstock/moved"}, "a secret of this run")
	// As documents write them.
	w.commit("penstock/docs", map[string]string{"docs.md": "Use AKIAIOSFODNN7EXAMPLE, sk-ant-... or ghp_xxxx.\n"})
	w.pushed("HEAD")
	// What the forge has already is no leak of this run.
	w.someone("leaky", map[string]string{"leak.env": "KEY=" + aws + "\n"})
	w.must(w.agent, "fetch", "-q")
	w.must(w.agent, "checkout", "-q", "-B", "penstock/merge", "origin/leaky")
	w.add(map[string]string{"ours.txt": "x\n"})
	w.pushed("HEAD")
	// But a branch that a run may have pushed proves nothing.
	w.someone("penstock/planted", map[string]string{"planted.env": "KEY=" + aws[:18] + "ZZ\n"})
	w.must(w.agent, "fetch", "-q")
	w.must(w.agent, "checkout", "-q", "-B", "penstock/onplanted", "origin/penstock/planted")
	w.refused([]string{"HEAD"}, "Penstock:")
	off := newWorld(t, func(o *gate.Options) { o.Policy.AllowSecrets = true })
	off.commit("penstock/secret", map[string]string{"config/app.env": "KEY=" + aws + "\n"})
	off.pushed("HEAD")
}

func TestPeopleOfPushes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	w.must(w.agent, "commit", "-q", "--amend", "--author", "Ada Brandt <ada@example.com>", "--no-edit")
	w.refused([]string{"HEAD"}, `by "Ada Brandt" <ada@example.com>`, "penstock-bot <bot@example.com>", "--reset-author")
	for _, author := range []string{"penstock-bot <ada@example.com>", "Ada Brandt <bot@example.com>"} {
		w.must(w.agent, "commit", "-q", "--amend", "--author", author, "--no-edit")
		w.refused([]string{"HEAD"}, strings.Fields(author)[0])
	}
	w.must(w.agent, "commit", "-q", "--amend", "--reset-author", "--no-edit")
	w.pushed("HEAD")
	// A merge of the base branch has commits of others, which are known.
	w.someone("main", map[string]string{"main.txt": "more\n"})
	w.must(w.agent, "fetch", "-q")
	w.must(w.agent, "merge", "-q", "-m", "Merge", "origin/main")
	w.pushed("HEAD")
	// Somebody else's commit on the branch stays.
	w.someone("penstock/fix", map[string]string{"theirs.txt": "x\n"})
	w.must(w.agent, "commit", "-q", "--amend", "-m", "Other")
	w.refused([]string{"--force", "HEAD"}, "commits of somebody else")
	w.must(w.agent, "fetch", "-q")
	w.must(w.agent, "reset", "-q", "--hard", "origin/penstock/fix")
	w.add(map[string]string{"b.txt": "two\n"})
	w.pushed("HEAD")
	// What a person may change, and the run may not, does not stop the run.
	w.someone("penstock/fix", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	w.must(w.agent, "fetch", "-q")
	w.must(w.agent, "reset", "-q", "--hard", "origin/penstock/fix")
	w.add(map[string]string{"c.txt": "three\n"})
	w.pushed("HEAD")
	w.add(map[string]string{".github/workflows/ci.yml": "on: [push, fork]\n"})
	w.refused([]string{"HEAD"}, "protected files: .github/workflows/ci.yml")
}

// Other forges and clients than git: what a gate gets that no git sends.
func TestOddRequestsToAGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.refs()
	send := func(method, path, kind, encoding string, body []byte) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	const kind = "application/x-git-receive-pack-request"
	for _, tt := range []struct {
		method, path, kind, encoding, body string
		want                               int
	}{
		{"GET", "/git-receive-pack", "", "", "", 405},
		{"POST", "/info/refs", kind, "", "", 405},
		{"PUT", "/git-receive-pack", kind, "", "", 405},
		{"POST", "/git-receive-pack", "text/plain", "", "0000", 415},
		{"POST", "/git-receive-pack", kind, "br", "0000", 415},
		{"POST", "/git-receive-pack", kind, "gzip", "0000", 415},
		{"POST", "/git-receive-pack", kind, "", "0000", 200},
		{"POST", "/git-receive-pack", kind, "", "", 200},
		{"POST", "/git-receive-pack", kind, "", "zzzz", 200},
		{"POST", "/git-receive-pack", kind, "", "0008abc", 200},
		{"POST", "/git-receive-pack", kind, "", pktLine(strings.Repeat("0", 40)+" "+w.on("main")+
			" refs/heads/penstock/x\x00report-status") + "0000" + "PACK", 200},
		{"POST", "/git-receive-pack", kind, "", pktLine("push-cert\x00report-status") + "0000", 200},
		{"POST", "/git-receive-pack", kind, "", pktLine("shallow "+w.on("main")) + "0000", 200},
	} {
		if got := send(tt.method, tt.path, tt.kind, tt.encoding, []byte(tt.body)); got != tt.want {
			t.Errorf("%s %s (%s %s) %q: %d, not %d", tt.method, tt.path, tt.kind, tt.encoding, tt.body, got, tt.want)
		}
	}
	if after := w.refs(); after != before {
		t.Errorf("the forge has %s", after)
	}
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	w.pushed("HEAD")
	// A clone of one commit.
	shallow := filepath.Join(t.TempDir(), "shallow")
	w.someone("main", map[string]string{"main.txt": "more\n"})
	w.must(w.home, "clone", "-q", "--depth", "1", "file://"+w.shop.Dir, shallow)
	w.must(shallow, "config", "remote.origin.pushurl", w.url)
	w.agent = shallow
	w.must(w.agent, "checkout", "-q", "-b", "penstock/shallow")
	w.add(map[string]string{"s.txt": "s\n"})
	w.pushed("HEAD")
}

func pktLine(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }

func TestAForgeThatRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	// Another run is faster.
	other := w.clone("other")
	w.must(other, "checkout", "-q", "-b", "penstock/fix")
	hook := filepath.Join(w.shop.Dir, "hooks", "pre-receive")
	script := "#!/bin/sh\necho 'The release is frozen until Monday.'\nexit 1\n"
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(hook), 0o755), os.WriteFile(hook, []byte(script), 0o755),
	); err != nil {
		t.Fatal(err)
	}
	w.refused([]string{"HEAD"}, "acme refuses the branch", "hook declined", "The release is frozen until Monday.")
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	w.forge.SetPassword("another")
	denied := w.refused([]string{"HEAD"}, "acme/shop cannot be read through the connection acme")
	if strings.Contains(denied, w.shop.Dir) {
		t.Errorf("it shows a path: %s", denied)
	}
	w.forge.SetPassword(token)
	w.pushed("HEAD")
	// The branch moves between the two requests of a push.
	w.add(map[string]string{"b.txt": "two\n"})
	moved := false
	w.forge.Break(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.RawQuery, "git-receive-pack") && !moved {
			moved = true
			w.must(w.shop.Dir, "update-ref", "refs/heads/penstock/fix", "refs/heads/main")
		}
		return false
	})
	out, err := w.git(w.agent, "push", "origin", "HEAD")
	if err == nil || !strings.Contains(out, "has changed on the remote") {
		t.Errorf("a push over a branch that moved says %v %s", err, out)
	}
	w.forge.Break(nil)
	if w.on("penstock/fix") != w.on("main") {
		t.Error("the push has moved the branch")
	}
	// The token may read only.
	w.forge.Break(func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.String(), "git-receive-pack") {
			return false
		}
		http.Error(rw, "no", http.StatusForbidden)
		return true
	})
	w.must(w.agent, "branch", "penstock/new")
	w.refused([]string{"penstock/new"}, "acme refuses the branch", "403")
	w.forge.Break(nil)
	w.pushed("penstock/new")
}

func TestAPushThatCannotBeClaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gate.Options) {
		o.Claim = func(context.Context, []penstock.PushedBranch) ([]string, error) {
			return nil, &gate.Error{Sentence: "the worker cannot reach the Penstock server now. Push again"}
		}
	})
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	w.refused([]string{"HEAD"}, "cannot reach the Penstock server")
}

// Also with patterns that would match it, a base branch stays, and so does the default branch.
func TestABaseBranchIsNeverPushed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *gate.Options) {
		o.Policy.Branches, o.Base = [][]string{{"**"}}, "refs/heads/next"
	})
	w.someone("next", map[string]string{"n.txt": "n\n"})
	w.must(w.agent, "fetch", "-q")
	w.must(w.agent, "checkout", "-q", "-b", "work", "origin/next")
	w.add(map[string]string{"a.txt": "one\n"})
	for _, name := range []string{"next", "NEXT", "main", "Main"} {
		w.refused([]string{"--force", "HEAD:refs/heads/" + name}, "this run may push **")
	}
	w.pushed("HEAD:fix")
}

// A repository without workflows has no folder that a link could replace.
func TestALinkInThePlaceOfAFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{".github", ".GitHub"} {
		w.must(w.agent, "checkout", "-q", "-f", "-B", "penstock/fix", "origin/main")
		if err := os.Symlink("tools", filepath.Join(w.agent, name)); err != nil {
			t.Fatal(err)
		}
		w.add(map[string]string{"tools/workflows/ci.yml": "on: push\n"})
		w.refused([]string{"HEAD"}, "protected files: "+name)
	}
}

// A run that is cancelled while the forge does not answer ends, and its push with it.
func TestAPushEndsWithItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.commit("penstock/fix", map[string]string{"a.txt": "one\n"})
	asked, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over) })
	var once sync.Once
	w.forge.Break(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			once.Do(func() { close(asked) })
			<-over
		}
		return false
	})
	said := make(chan string, 1)
	go func() {
		out, _ := w.git(w.agent, "push", "origin", "HEAD")
		said <- out
	}()
	<-asked
	w.stop()
	w.gate.Wait()
	if out := <-said; strings.Contains(out, "new branch") || w.on("penstock/fix") != "" {
		t.Errorf("after the end, git says %s", out)
	}
	if out, err := w.git(w.agent, "push", "origin", "HEAD"); err == nil {
		t.Errorf("after the end, a push succeeds: %s", out)
	}
}
