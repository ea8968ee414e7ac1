package main_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// What docs/run-on-a-repository.md says about private repositories and pushes: the sandbox has no key,
// git works with it all the same, and only on the paths of the rule.
func TestRunOnAPrivateRepository(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	source := testkit.NewRepository(t, t.TempDir(), "source")
	source.Commit("first", map[string]string{"README.md": "# Shop\n"})
	for _, name := range []string{"acme/shop.git", "other/shop.git"} {
		dir := filepath.Join(root, name)
		source.Git("clone", "-q", "--bare", source.Dir, dir)
		source.Git("-C", dir, "config", "http.receivepack", "true")
	}
	host := testkit.NewGitServer(t, root, "key-of-acme")
	s := testkit.Serve(t, testkit.ServeOptions{
		Args: []string{"--upstream-proxy", proxyTo(t, host.Listener.Addr().String()), "--ca-file", host.CAFile},
		Env:  []string{"GIT_SSL_CAINFO=" + host.CAFile},
	})
	env := client(s)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("key-of-acme"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, env, "secret", "create", "GIT_KEY", "--host", "example.com", "--value-file", key).want(t, 0)
	environment := filepath.Join(t.TempDir(), "environment.json")
	body := `{"name": "acme", "network": {"allow": [{"host": "example.com", "paths": ["/acme/*"],
		"credential": {"secret": "GIT_KEY", "as": "basic"}}]}}`
	if err := os.WriteFile(environment, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, env, "environment", "create", "--file", environment).want(t, 0)
	id := startRun(t, env, "demo: run cd shop && git checkout -qb penstock/fix && echo two >> README.md && "+
		"git commit -qam 'Fix it' && git push -q origin HEAD && env",
		"--environment", "acme", "--repo", "https://example.com/acme/shop.git#main", "--wait")
	logs := call(t, env, "run", "logs", id)
	if source.Git("-C", filepath.Join(root, "acme/shop.git"), "log", "-1", "--format=%s", "penstock/fix") != "Fix it" ||
		strings.Contains(logs.out, "key-of-acme") {
		t.Errorf("the run says %s", logs.out)
	}
	call(t, env, "run", "diff", id, "--stat").want(t, 0, "shop/README.md", "modified", "+1")
	other := []string{"--environment", "acme", "--repo", "https://example.com/other/shop.git", "--wait"}
	call(t, env, append([]string{"run", "create", "x"}, other...)...).want(
		t, 1, "FAILED", "cannot clone the repository shop",
	)
}

// proxyTo starts a proxy that connects every host to one address, like the name server of a test, and
// returns its URL.
func proxyTo(t *testing.T, address string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", address)
		if r.Method != http.MethodConnect || err != nil {
			http.Error(w, "no connection", http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(there, here) }() // it ends with the connection
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
