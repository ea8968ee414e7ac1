package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// serveForge starts a forge with the repositories acme/shop and acme/secret, which are below root, and a server that
// reaches it at example.com. token is a file with its token "writer".
func serveForge(t *testing.T) (host *testkit.Forge, root string, env []string, token string) {
	t.Helper()
	root = t.TempDir()
	for _, name := range []string{"acme/shop.git", "acme/secret.git"} {
		testkit.Bare(t, root, name)
	}
	host = testkit.NewForge(t, root)
	s := testkit.Serve(t, testkit.ServeOptions{
		Args: []string{"--upstream-proxy", proxyTo(t, host.Listener.Addr().String()), "--ca-file", host.CAFile},
		Env:  []string{"GIT_SSL_CAINFO=" + host.CAFile},
	})
	token = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("writer\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return host, root, client(s), token
}

// gitIn runs git in a repository of a forge.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", dir}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A run reads the repositories that its connection lets it read. What it tries beyond that reaches no
// repository, although the connection's own token may write.
func TestARunReadsThroughAConnection(t *testing.T) {
	t.Parallel()
	host, root, env, token := serveForge(t)
	connect := []string{"--provider", "gitea", "--url", "https://example.com/", "--token-file", token}
	created := call(t, env, append([]string{"forge", "connect", "acme", "--repository", "acme/shop"}, connect...)...)
	created.want(t, 0, "penstock-bot", "connected", "acme/shop")
	var list struct {
		Forges []penstock.Forge `json:"forges"`
	}
	fromJSON(t, call(t, env, "forge", "list", "-o", "json").out, &list)
	if len(list.Forges) != 1 {
		t.Fatalf("got %+v", list.Forges)
	}
	uid := list.Forges[0].UID
	call(t, env, "forge", "list").want(t, 0, "acme", "https://example.com", "connected")
	call(t, env, "forge", "check", uid).want(t, 0, "write:repository", "ok")
	call(t, env, "forge", "repositories", uid).want(t, 0)

	host.Calls()
	id := startRun(t, env, "demo: run cd shop && git fetch -q origin && git log --format=%s -1 && "+
		"curl -sS https://example.com/api/v1/repos/acme/shop && echo && "+
		"for url in acme/secret.git/info/refs?service=git-upload-pack acme/shop.git/info/lfs/locks api/v1/repos/acme/secret "+
		"api/v1/user api/v1/repos/acme/shop/../secret acme/shop.git/../secret.git/info/refs ACME/SECRET.git/info/refs; do "+
		"curl -sS -o /dev/null -w \"$url %{http_code}\\n\" --path-as-is \"https://example.com/$url\"; done; "+
		"for method in POST PUT PATCH DELETE; do curl -sS -o /dev/null -w \"$method %{http_code}\\n\" -X $method "+
		"https://example.com/api/v1/repos/acme/shop/contents/x; done; "+
		"curl -sS -o /dev/null -w 'upload %{http_code}\\n' -X POST "+
		"https://example.com/acme/shop.git/info/lfs/objects/batch; "+
		"echo two >> README.md && git commit -qam Fix && git push origin HEAD; echo push $?; "+
		"git push https://example.com/acme/secret.git HEAD:penstock/fix; echo other $?; env; cat .git/config",
		"--connection", "acme", "--repo", "acme/shop#main", "--wait")
	logs := call(t, env, "run", "logs", id)
	for _, want := range []string{
		"first", `"full_name":"acme/shop"`, "acme/secret.git/info/refs?service=git-upload-pack 403", "info/lfs/locks 403",
		"api/v1/repos/acme/secret 403", "api/v1/user 403", "shop/../secret 403", "POST 403", "PUT 403", "PATCH 403",
		"DELETE 403", "upload 403", "push 1", "Penstock: this run may push penstock/**", "other 128",
		"GET /acme/secret.git/info/refs on example.com is refused",
	} {
		if !strings.Contains(logs.out, want) {
			t.Errorf("the run does not say %q:\n%s", want, logs.out)
		}
	}
	if strings.Contains(logs.out, "writer") {
		t.Errorf("the run has the token:\n%s", logs.out)
	}
	for _, c := range host.Calls() {
		writes := strings.HasPrefix(c, "POST ") && !strings.HasSuffix(c, "/git-upload-pack")
		if strings.Contains(strings.ToLower(c), "secret") || writes {
			t.Errorf("the forge got %s", c)
		}
	}
	if heads := call(t, env, "run", "get", id, "-o", "json"); !strings.Contains(heads.out, `"connection"`) {
		t.Errorf("the run does not show its connection: %s", heads.out)
	}
	if out := gitIn(t, filepath.Join(root, "acme/shop.git"), "log", "--format=%s", "main"); out != "first" {
		t.Errorf("the push has arrived: %s", out)
	}

	call(t, env, "run", "create", "x", "--connection", "acme", "--repo", "acme/secret").want(
		t, 65, "not for the repository",
	)
	call(t, env, "run", "create", "x", "--connection", "acne", "--repo", "acme/shop").want(t, 65, "did you mean")
	call(t, env, "run", "create", "x", "--connection", "acme").want(t, 64, "--repo")

	host.Grant("writer")
	call(t, env, "forge", "check", uid).want(t, 1, "revoked")
	call(t, env, "run", "create", "x", "--connection", "acme", "--repo", "acme/shop", "--wait").want(
		t, 1, "acme is not connected", "401",
	)
	host.Grant("fresh", "write:repository", "write:issue", "read:user")
	if err := os.WriteFile(token, []byte("fresh"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, env, "forge", "set", uid, "--token-file", token).want(t, 0, "connected")
	again := call(t, env, "run", "follow-up", id, "demo: run cd shop && git fetch origin && echo fetched", "--wait")
	again.want(t, 0)
	call(t, env, "run", "logs", id).want(t, 0, "fetched")
	call(t, env, "forge", "delete", uid).want(t, 0)
	call(t, env, "run", "follow-up", id, "demo: run echo again", "--wait").want(t, 1, "connection acme, which was deleted")
}

// A connection is for single repositories of its host: an environment that names another one gets no token for it,
// also if the run uses the connection.
func TestTheEnvironmentGetsNoTokenForAnotherRepository(t *testing.T) {
	t.Parallel()
	host, _, env, token := serveForge(t)
	call(t, env, "forge", "connect", "acme", "--provider", "gitea", "--url", "https://example.com",
		"--token-file", token).want(t, 0)
	for name, repo := range map[string]string{"other": "secret", "covered": "shop"} {
		call(t, env, "environment", "create", name, "--repo", "https://example.com/acme/"+repo+".git").want(t, 0)
	}
	for _, name := range []string{"covered", "other"} {
		call(t, env, "run", "create", "x", "--environment", name, "--wait").want(t, 0)
	}
	// From now on, the mirror and the layer that the worker has of acme/secret are nobody's.
	var list struct {
		Forges []penstock.Forge `json:"forges"`
	}
	fromJSON(t, call(t, env, "forge", "list", "-o", "json").out, &list)
	call(t, env, "forge", "set", list.Forges[0].UID, "--repository", "acme/shop").want(t, 0)
	host.Calls()
	call(t, env, "run", "create", "x", "--environment", "other", "--wait").want(
		t, 1, "FAILED", "cannot clone the repository secret",
	)
	both := []string{"--environment", "other", "--connection", "acme", "--repo", "acme/shop", "--wait"}
	call(t, env, append([]string{"run", "create", "x"}, both...)...).want(
		t, 1, "FAILED", "cannot clone the repository secret",
	)
	for _, c := range host.Calls() {
		if strings.HasSuffix(c, "secret.git/git-upload-pack") {
			t.Errorf("the forge got %s", c)
		}
	}
}

// A run pushes branches of its own with git, and nothing else, although the connection's token may write anywhere.
func TestARunPushesThroughTheGate(t *testing.T) {
	t.Parallel()
	host, root, env, token := serveForge(t)
	call(
		t, env, "forge", "connect", "acme", "--provider", "gitea", "--url", "https://example.com/", "--token-file", token,
	).want(t, 0, "connected")
	shop := filepath.Join(root, "acme/shop.git")
	run := []string{"--connection", "acme", "--repo", "acme/shop", "--wait"}
	id := startRun(t, env, append([]string{
		"demo: run cd shop && git checkout -qb penstock/fix && echo two >> README.md && git commit -qam Fix && " +
			"git push -u origin HEAD; echo push $?; git push origin HEAD:main; echo main $?; git fetch -q && git status -sb; " +
			"curl -sS -o /dev/null -w 'raw %{http_code}\\n' -X POST --data-binary 0000 " +
			"https://example.com/acme/secret/git-receive-pack; " +
			"curl -sS -o /dev/null -w 'odd %{http_code}\\n' -X POST --path-as-is --data-binary 0000 " +
			"https://example.com/acme//shop.git/%67it-receive-pack; cat .git/config; env",
	}, run...)...)
	logs := call(t, env, "run", "logs", id)
	for _, want := range []string{
		"push 0", "main 1", "this run may push penstock/**", "penstock/fix...origin/penstock/fix", "raw 403", "odd 403",
	} {
		if !strings.Contains(logs.out, want) {
			t.Errorf("the run does not say %q:\n%s", want, logs.out)
		}
	}
	if strings.Contains(logs.out, "writer") {
		t.Errorf("the run has the token:\n%s", logs.out)
	}
	call(t, env, "run", "watch", id).want(
		t, 0, "push accepted", "branch=penstock/fix", "push refused", "branch=main", "repository=acme/shop",
	)
	const format = "--format=%an %ae %cn %ce %s"
	if got := gitIn(t, shop, "log", "-1", format, "penstock/fix"); got !=
		"penstock-bot bot@example.com penstock-bot bot@example.com Fix" {
		t.Errorf("the forge has %s", got)
	}
	if got := gitIn(t, shop, "rev-list", "--count", "main"); got != "1" {
		t.Errorf("main has %s commits", got)
	}
	call(t, env, "run", "follow-up", id, "demo: run cd shop && git checkout -q penstock/fix && "+
		"echo three >> README.md && git commit -qam Again && git push origin HEAD; echo push $?", "--wait").want(t, 0)
	if got := gitIn(t, shop, "rev-list", "--count", "penstock/fix"); got != "3" {
		t.Errorf("after a follow-up, the branch has %s commits", got)
	}
	other := startRun(t, env, append([]string{
		"demo: run cd shop && git checkout -q penstock/fix && echo x >> README.md && git commit -qam Other && " +
			"git push origin HEAD; echo push $?",
	}, run...)...)
	call(t, env, "run", "logs", other).want(t, 0, "the branch belongs to another run", "push 1")
	if got := gitIn(t, shop, "rev-list", "--count", "penstock/fix"); got != "3" {
		t.Errorf("after another run, the branch has %s commits", got)
	}
	host.Grant("writer", "read:repository", "read:issue", "read:user")
	weak := startRun(t, env, append([]string{
		"demo: run cd shop && git checkout -qb penstock/weak && git commit -q --allow-empty -m Weak && " +
			"git push origin HEAD; echo push $?",
	}, run...)...)
	call(t, env, "run", "logs", weak).want(t, 0, "acme refuses the branch", "push 1")
}
