package penstock

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Forge is a connection to a host of repositories, such as GitHub or Gitea: Forge of the API.
type Forge struct {
	UID      string        `json:"uid"`
	Name     string        `json:"name"`
	Provider ForgeProvider `json:"provider"`
	URL      string        `json:"url"`
	Auth     ForgeAuth     `json:"auth"`
	Bot      *ForgeBot     `json:"bot,omitempty"` // nil until the forge has answered
	// ReadToken says whether runs get a token of their own that can only read.
	ReadToken bool `json:"read_token"`
	// Factories lists the factories whose runs may use the connection. None: all runs of the team.
	Factories []string `json:"factories,omitempty"`
	// Repositories lists the repositories that runs may use, as owner/name or owner/*. None: all that
	// the bot can read.
	Repositories []string `json:"repositories,omitempty"`
	// IngressURL is where the forge sends its deliveries, signed with Secret, which only the responses show that
	// create it.
	IngressURL string      `json:"ingress_url,omitempty"`
	Secret     string      `json:"secret,omitempty"`
	Status     ForgeStatus `json:"status"`
	Problem    string      `json:"problem,omitempty"` // why it is not connected
	ExpiresAt  Time        `json:"expires_at,omitzero"`
	CheckedAt  Time        `json:"checked_at,omitzero"` // when the forge last answered
	CreatedAt  Time        `json:"created_at"`
	UpdatedAt  Time        `json:"updated_at"`
}

// ForgeBot is the account of a forge that a connection acts as.
type ForgeBot struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
	Email string `json:"email,omitempty"`
}

// ForgeProvider is the software of a forge.
type ForgeProvider string

// The providers. Forgejo has the API of Gitea.
const (
	HostGitHub ForgeProvider = "github"
	HostGitea  ForgeProvider = "gitea"
	HostGitLab ForgeProvider = "gitlab"
)

// ForgeProviders lists the providers that connections can have.
func ForgeProviders() []ForgeProvider { return []ForgeProvider{HostGitHub, HostGitea} }

// ForgeAuth is how a connection authenticates.
type ForgeAuth string

// ForgeToken is the token of a bot account.
const ForgeToken ForgeAuth = "token"

// ForgeStatus says whether a connection works.
type ForgeStatus string

// The states of a connection.
const (
	ForgePending   ForgeStatus = "pending"   // the forge has never answered
	ForgeConnected ForgeStatus = "connected" // the last check found nothing missing
	ForgeDegraded  ForgeStatus = "degraded"  // something is missing, the token expires soon, or the forge does not answer
	ForgeRevoked   ForgeStatus = "revoked"   // the forge refuses the token
)

// ForgeRepository is a repository that a connection can read.
type ForgeRepository struct {
	ID            int64  `json:"id"`
	Path          string `json:"path"` // owner/name
	URL           string `json:"url"`  // that git clones
	DefaultBranch string `json:"default_branch,omitempty"`
	Private       bool   `json:"private"`
	Archived      bool   `json:"archived"`
	Writable      bool   `json:"writable"` // for the bot
}

// ForgeCheck is one thing that a connection needs.
type ForgeCheck struct {
	Name   string `json:"name"` // such as write:repository
	Passed bool   `json:"passed"`
	Detail string `json:"detail,omitempty"` // what is missing, and what to do
}

var forgeSegment = LazyRegexp(`^[A-Za-z0-9_.-]{1,100}$`)

// CheckForgePath returns what is wrong with the path of a repository on a forge, owner/name, or "".
func CheckForgePath(path string) string {
	segments := strings.Split(path, "/")
	valid := len(segments) == 2 && !slices.ContainsFunc(segments, func(s string) bool {
		return !forgeSegment().MatchString(s) || strings.Trim(s, ".") == ""
	})
	switch {
	case !valid:
		return "must be owner/name of the repository, without the URL of the forge"
	case strings.HasSuffix(strings.ToLower(path), ".git"):
		return "must not end with .git"
	}
	return ""
}

// PathOf returns the path of the repository at a URL that git clones, if the forge has it. Forges do not
// distinguish between upper and lower case.
func (f Forge) PathOf(cloneURL string) (path string, found bool) {
	base, err := url.Parse(f.URL)
	if err != nil {
		return "", false
	}
	u, err := url.Parse(cloneURL)
	if err != nil || !strings.EqualFold(u.Scheme, base.Scheme) || HostPort(u) != HostPort(base) || u.RawQuery != "" ||
		u.User != nil {
		return "", false
	}
	path, found = strings.CutPrefix(u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/")+"/")
	path = strings.TrimRight(path, "/")
	if i := len(path) - len(".git"); i > 0 && strings.EqualFold(path[i:], ".git") {
		path = path[:i]
	}
	return path, found && CheckForgePath(path) == ""
}

// HostPort returns HOST:PORT of an https URL, with the host in its one form.
func HostPort(u *url.URL) string {
	return net.JoinHostPort(CanonicalHost(u.Hostname()), cmp.Or(u.Port(), "443"))
}

// CloneURL returns the URL at which git clones a repository of the forge.
func (f Forge) CloneURL(path string) string {
	return strings.TrimSuffix(f.URL, "/") + "/" + path + ".git"
}

// CommitEmail is the address of the commits of the bot, "" if the forge has not answered yet. Without a public
// one it is an address that forges give to each account.
func (f Forge) CommitEmail() string {
	u, err := url.Parse(f.URL)
	switch {
	case f.Bot == nil || err != nil:
		return ""
	case f.Bot.Email != "":
		return f.Bot.Email
	case f.Provider == HostGitHub:
		return fmt.Sprintf("%d+%s@users.noreply.%s", f.Bot.ID, f.Bot.Login, CanonicalHost(u.Hostname()))
	}
	return f.Bot.Login + "@noreply." + CanonicalHost(u.Hostname())
}

// MayUse returns why runs of a factory ("": of none) may not use the connection for a repository, or "".
func (f Forge) MayUse(factoryUID, path string) string {
	covers := func(pattern string) bool {
		owner, all := strings.CutSuffix(pattern, "/*")
		before, _, _ := strings.Cut(path, "/")
		return strings.EqualFold(pattern, path) || all && strings.EqualFold(owner, before)
	}
	switch {
	case len(f.Factories) > 0 && !slices.Contains(f.Factories, factoryUID):
		return fmt.Sprintf("the connection %s is only for some factories, and this run is of none of them", f.Name)
	case len(f.Repositories) > 0 && !slices.ContainsFunc(f.Repositories, covers):
		return fmt.Sprintf("the connection %s is not for the repository %s", f.Name, path)
	}
	return ""
}
