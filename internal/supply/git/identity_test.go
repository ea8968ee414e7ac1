package git_test

import (
	"testing"

	"github.com/penstock-dev/penstock/internal/supply/git"
)

// Reported of others: rust-lang/cargo#104, lindegroup/autopkgr#355, axodotdev/cargo-dist#1307 (.git and
// slashes), github/docs#32838, zimbatm/h#2 (case).
func TestURLsOfOneRepositoryHaveOneIdentity(t *testing.T) {
	t.Parallel()
	for name, urls := range map[string][]string{
		"GitHub in all its forms": {
			"https://github.com/acme/shop.git", "https://github.com/acme/shop", "https://github.com/Acme/Shop/",
			"https://github.com/acme/shop.git/", "https://GitHub.com:443/acme/shop", "git@github.com:acme/shop.git",
			"ssh://git@github.com/ACME/shop",
		},
		"a server of one's own": {
			"https://git.example.com/acme/shop", "https://git.example.com/acme/shop.git",
			"https://Git.Example.com:443/acme/shop/",
		},
		"ssh":   {"ssh://git@git.example.com/acme/shop.git", "ssh://git@git.example.com:22/acme/shop"},
		"files": {"file:///srv/shop", "file:///srv/shop/"},
	} {
		for _, url := range urls[1:] {
			if got, want := git.Identity(url), git.Identity(urls[0]); got != want {
				t.Errorf("%s: %s is %s, and %s is %s", name, urls[0], want, url, got)
			}
		}
	}
	seen := map[string]string{}
	for _, url := range []string{
		"https://github.com/acme/shop", "https://git.example.com/acme/shop", "https://git.example.com/Acme/shop",
		"https://git.example.com:8443/acme/shop", "ssh://git@git.example.com/acme/shop",
		"ssh://ada@git.example.com/acme/shop", "git@git.example.com:acme/shop", "file:///srv/shop", "file:///srv/shop.git",
		"https://github.com/acme/shop.git.io", "not a URL", "https://user:pass@git.example.com:x/",
	} {
		if other := seen[git.Identity(url)]; other != "" {
			t.Errorf("%s and %s have one identity", url, other)
		}
		seen[git.Identity(url)] = url
	}
}
