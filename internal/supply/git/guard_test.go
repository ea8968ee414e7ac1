package git_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// guarded returns a cache that trusts the server, and connects only to what o allows.
func guarded(t *testing.T, server *testkit.GitServer, o egress.OutboundOptions, env ...string) *git.Cache {
	t.Helper()
	out, err := egress.NewOutbound(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := git.Open(t.Context(), git.Options{Dir: t.TempDir(), Env: append([]string{
		"GIT_SSL_CAINFO=" + server.CAFile, "https_proxy=http://127.0.0.1:1", "ALL_PROXY=http://127.0.0.1:1",
	}, env...)})
	if err != nil {
		t.Fatal(err)
	}
	return c.Guarded(git.Guard{Dial: out.Dial, Direct: out.Direct})
}

func here(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// at returns the URL of the server under another name, at its port.
func at(server *testkit.GitServer, host, path string) string {
	address := server.Listener.Addr().String()
	return "https://" + host + address[strings.LastIndex(address, ":"):] + path
}

// TestAttackClone clones from private services. The error must not tell an open port from a closed one.
func TestAttackClone(t *testing.T) {
	t.Parallel()
	repo := testkit.NewRepository(t, t.TempDir(), "app.git")
	repo.Commit("first", map[string]string{"a": "a"})
	path := "/" + filepath.Base(repo.Dir)
	server := testkit.NewGitServer(t, filepath.Dir(repo.Dir), "")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	reached := false
	server.Break(func(http.ResponseWriter, *http.Request) bool { reached = true; return false })
	c := guarded(t, server, egress.OutboundOptions{Resolve: here})
	attacks := testkit.NewAttacks(t, "The egress proxy")
	const stopped = "the worker's own connections have the same address checks, and one error"
	for _, a := range []struct{ name, url, host string }{
		{"a repository on this machine", server.URL + path, "127.0.0.1"},
		{"a repository at a closed port of this machine", "https://" + closed + path, "127.0.0.1"},
		{"a repository on this machine by a name", at(server, "git.example.com", path), "git.example.com"},
		{"a repository of the metadata service", "https://169.254.169.254/latest", "169.254.169.254"},
		{"a repository over ssh on this machine", "ssh://git@" + server.Listener.Addr().String() + path, "127.0.0.1"},
		{"a repository over ssh at a closed port of this machine", "ssh://git@" + closed + path, "127.0.0.1"},
		{"a repository over ssh in the short form", "git@git.example.com:a/b", "git.example.com"},
	} {
		attacks.Run(a.name, stopped, func(t *testing.T) {
			_, err := c.Checkout(t.Context(), git.Source{URL: a.url}, filepath.Join(t.TempDir(), "repo"))
			blocked, ok := errors.AsType[*egress.BlockedError](err)
			if !ok || blocked.Host != a.host {
				t.Fatalf("got %v", err)
			}
			if want := "git ls-remote: " + blocked.Error(); !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %q, want the end %q", err, want)
			}
		})
	}
	if reached {
		t.Error("the server was asked")
	}
	const each = "each redirect is dialled by the same checks"
	attacks.Run("a repository that redirects to this machine", each, func(t *testing.T) {
		public := testkit.NewGitServer(t, filepath.Dir(repo.Dir), "")
		public.Break(func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, server.URL+r.URL.RequestURI(), http.StatusMovedPermanently)
			return true
		})
		c := guarded(t, public, egress.OutboundOptions{Trusted: []string{public.Listener.Addr().String()}})
		_, err := c.Checkout(t.Context(), git.Source{URL: public.URL + path}, filepath.Join(t.TempDir(), "repo"))
		if !errors.As(err, new(*egress.BlockedError)) || reached {
			t.Errorf("got %v", err)
		}
	})
}

// A private host works once the operator opens its network: over https, also after a redirect to
// another host, and over ssh.
func TestGuardedClone(t *testing.T) {
	t.Parallel()
	repo := testkit.NewRepository(t, t.TempDir(), "app.git")
	commit := repo.Commit("first", map[string]string{"a": "a"})
	path := "/" + filepath.Base(repo.Dir)
	server := testkit.NewGitServer(t, filepath.Dir(repo.Dir), "")
	moved := testkit.NewGitServer(t, filepath.Dir(repo.Dir), "")
	moved.Break(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, at(server, "new.example.com", r.URL.RequestURI()), http.StatusMovedPermanently)
		return true
	})
	log := filepath.Join(t.TempDir(), "log")
	ssh := filepath.Join(t.TempDir(), "ssh")
	script := "#!/bin/sh\necho \"$@\" >> " + log + "\nfor last; do :; done\nexec sh -c \"$last\"\n"
	if err := os.WriteFile(ssh, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	open := egress.OutboundOptions{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolve: here}
	c := guarded(t, server, open, "GIT_SSH_COMMAND="+ssh, "GIT_SSH_VARIANT=ssh")
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		server.URL + path, at(server, "git.example.com", path), at(moved, "old.example.com", path),
		"ssh://git@git.example.com:" + port + repo.Dir,
	} {
		if got, err := c.Checkout(t.Context(), git.Source{URL: url}, filepath.Join(t.TempDir(), "repo")); err != nil ||
			got != commit {
			t.Errorf("%s: got %s, %v", url, got, err)
		}
	}
	got, err := os.ReadFile(log)
	want := "-oHostName=127.0.0.1 -oHostKeyAlias=[git.example.com]:" + port
	if err != nil || !strings.Contains(string(got), want) {
		t.Errorf("ssh got %s, want %s", got, want)
	}
}
