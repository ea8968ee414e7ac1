package git

import (
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
)

// hosting are hosts at which a path names the same repository by https and by ssh, in any case.
var hosting = map[string]bool{"github.com": true, "gitlab.com": true, "bitbucket.org": true, "codeberg.org": true}

// Identity returns one text for all URLs of a repository that are known to mean the same: with or
// without .git, a slash at the end or the default port, and with the host in any case. URLs that may
// mean two repositories have two identities, because a repository that is left out by mistake is worse
// than one that is cloned twice.
func Identity(raw string) string {
	u, err := parse(raw, true)
	if err != nil {
		return raw
	}
	if u.Scheme == "file" {
		return "file://" + strings.TrimRight(u.Path, "/") // x and x.git may both exist
	}
	host := penstock.CanonicalHost(u.Hostname())
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), ".git")
	if hosting[host] {
		return host + "/" + strings.ToLower(strings.TrimLeft(path, "/"))
	}
	port := u.Port()
	if map[string]string{"https": "443", "http": "80", "ssh": "22"}[u.Scheme] == port {
		port = ""
	}
	address := url.URL{Scheme: u.Scheme, Host: host + ":" + port, Path: "/" + path} // "//" for an absolute path
	if u.Scheme == "ssh" {
		address.User = url.User(u.User.Username())
	}
	return address.String()
}
