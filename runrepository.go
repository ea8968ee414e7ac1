package penstock

import (
	"errors"
	"net/url"
	"strings"
)

// RunRepository is a repository that a run works on, in addition to the repositories of its
// environment. An empty Ref stands for the default branch, or for what the environment says about the
// same repository.
type RunRepository struct {
	URL string `json:"url,omitempty"`
	Ref string `json:"ref,omitempty"`
	// Connection and Path name a repository of a forge, instead of its URL. The server sets all three.
	Connection string `json:"connection,omitempty"`
	Path       string `json:"path,omitempty"`
}

// ReadByWorker reports whether the worker reads the repository with rights of its own: its ssh key, or
// what its user may read. An https URL is read without them.
func (r RunRepository) ReadByWorker() bool {
	scheme, _, _ := strings.Cut(r.URL, "://")
	return r.URL != "" && !strings.EqualFold(scheme, "https")
}

var (
	githubName = LazyRegexp(`^(?:https://)?(?:github\.com/)?([A-Za-z0-9_][A-Za-z0-9_-]*)/([A-Za-z0-9._-]+)$`)
	// secretURL is a URL, or user:password@host without a scheme, that holds a password or a token.
	secretURL = LazyRegexp(`^(?:(?:https?|HTTPS?)://[^/]*@|[^/:@]+:[^/@]+@)`)
)

// ParseRunRepository reads what people write for a repository: owner/name of GitHub, or a URL that git
// clones, with #REF behind it. All that follows the first # is the ref, because refs may contain # and
// URLs may not. The error never repeats the text, which may hold a password.
func ParseRunRepository(text string) (RunRepository, error) {
	where, ref, given := strings.Cut(strings.TrimSpace(text), "#")
	bare := strings.TrimSuffix(strings.TrimRight(where, "/"), ".git")
	before, _, _ := strings.Cut(where, "/")
	scheme, _, isURL := strings.Cut(where, "://")
	wrong := func(why string) (RunRepository, error) { return RunRepository{}, errors.New(why) }
	github := githubName().FindStringSubmatch(bare)
	switch {
	case where == "":
		return wrong("it has no repository: use owner/name or a URL")
	case given && ref == "":
		return wrong("it has no ref after the #: leave out the # for the default branch")
	case github != nil && strings.Trim(github[2], ".") != "":
		return RunRepository{URL: GitHubRepo{Owner: github[1], Repo: github[2]}.CloneURL(), Ref: ref}, nil
	case secretURL().MatchString(where):
		return wrong("the URL must not hold a user name or password: the run's network can have a credential for the host")
	case isURL && scheme != "" && isPage(where):
		return wrong("it is a page of GitHub, not a repository: write owner/name, and #REF for a branch, tag or commit")
	case isURL && scheme != "" || strings.Contains(before, ":") && !strings.HasPrefix(before, ":"):
		return RunRepository{URL: where, Ref: ref}, nil
	case strings.HasPrefix(before, ".") || before == "" || before == "~":
		return wrong("it is a folder of this machine: workers clone only URLs")
	case strings.Contains(where, "@"):
		return wrong("it is neither owner/name nor a URL: write #REF for a branch, tag or commit")
	}
	return wrong("it is neither owner/name, such as acme/shop#main, nor a URL, such as " +
		"https://git.example.com/acme/shop.git#main")
}

// isPage reports whether a URL is the address of a page about a repository of GitHub, which git cannot
// clone.
func isPage(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && CanonicalHost(u.Hostname()) == "github.com" &&
		len(strings.Split(strings.Trim(u.Path, "/"), "/")) > 2
}
