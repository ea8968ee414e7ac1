package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The worker uses the proxy that git and other programs find, if it speaks http.
func TestProxyVariable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"none":                 {nil, ""},
		"lower case":           {map[string]string{"https_proxy": "http://a:1", "ALL_PROXY": "http://b:1"}, "http://a:1"},
		"all in upper case":    {map[string]string{"ALL_PROXY": "https://b:1", "all_proxy": "http://c:1"}, "https://b:1"},
		"all in lower case":    {map[string]string{"all_proxy": "HTTP://c:1"}, "HTTP://c:1"},
		"without a scheme":     {map[string]string{"https_proxy": "a:1"}, "http://a:1"},
		"only socks":           {map[string]string{"ALL_PROXY": "socks5h://b:1"}, ""},
		"socks before another": {map[string]string{"ALL_PROXY": "socks5://b:1", "all_proxy": "http://c:1"}, "http://c:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := proxyVariable(func(name string) string { return test.env[name] }); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Not parallel: it changes the environment.
func TestTheUpstreamOfTheWorker(t *testing.T) {
	t.Setenv("https_proxy", "http://lower.test:1")
	for flag, want := range map[string]string{"": "http://lower.test:1", "http://flag.test:1": "http://flag.test:1"} {
		n, err := (&working{UpstreamProxy: flag}).network()
		if err != nil || n.Upstream == nil || n.Upstream.String() != want {
			t.Errorf("with the flag %q: got %v, %v", flag, n.Upstream, err)
		}
	}
}

// The registry of --docker-image is trusted at the address that a pull asks for.
func TestTheRegistryOfTheDockerImageIsTrusted(t *testing.T) {
	t.Parallel()
	for _, image := range []string{"debian", "docker.io/library/debian", "registry.test/team/app"} {
		ref, err := name.ParseReference(image)
		if err != nil {
			t.Fatal(err)
		}
		w := &working{}
		w.DockerImage = image
		want := net.JoinHostPort(ref.Context().RegistryStr(), "443")
		if got := ownRegistries(w); !slices.Contains(got, want) {
			t.Errorf("%s: got %v, want %s", image, got, want)
		}
	}
}

// With an open network, the host of an ssh remote may exist only in the configuration of ssh. Not
// parallel: it changes the environment.
func TestSSHConnectsAsConfigured(t *testing.T) {
	repo := testkit.NewRepository(t, t.TempDir(), "app.git")
	commit := repo.Commit("first", map[string]string{"a": "a"})
	ssh := filepath.Join(t.TempDir(), "ssh")
	script := "#!/bin/sh\ncase \"$*\" in *HostName*) exit 1;; esac\nfor last; do :; done\nexec sh -c \"$last\"\n"
	if err := os.WriteFile(ssh, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSH_COMMAND", ssh)
	source := git.Source{URL: "ssh://git@only-in-ssh-config.invalid" + repo.Dir}
	for _, open := range []bool{false, true} {
		w := &working{AllowOpenNetwork: open}
		cache, err := w.repositories(t.Context(), slog.New(slog.DiscardHandler), t.TempDir())
		if err != nil || cache == nil {
			t.Fatalf("got %v, %v", cache, err)
		}
		got, err := cache.Checkout(t.Context(), source, filepath.Join(t.TempDir(), "repo"))
		if open && (err != nil || got != commit) || !open && err == nil {
			t.Errorf("open network %v: got %s, %v", open, got, err)
		}
	}
}
