package main

import (
	"errors"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
)

var (
	githubName = penstock.LazyRegexp(`^(?:https://)?(?:github\.com/)?([A-Za-z0-9_][A-Za-z0-9_-]*)/([A-Za-z0-9._-]+)$`)
	// secretURL is a URL, or user:password@host without a scheme, that holds a password or a token.
	secretURL = penstock.LazyRegexp(`^(?:(?:https?|HTTPS?)://[^/]*@|[^/:@]+:[^/@]+@)`)
)

// parseRepository reads what people write for a repository: owner/name of GitHub, or a URL that git
// clones, with #REF behind it. All that follows the first # is the ref, because refs may contain # and
// URLs may not. The error never repeats the text, which may hold a password.
func parseRepository(text string) (penstock.RunRepository, error) {
	where, ref, given := strings.Cut(strings.TrimSpace(text), "#")
	bare := strings.TrimSuffix(strings.TrimRight(where, "/"), ".git")
	before, _, _ := strings.Cut(where, "/")
	scheme, _, isURL := strings.Cut(where, "://")
	wrong := func(why string) (penstock.RunRepository, error) { return penstock.RunRepository{}, errors.New(why) }
	github := githubName().FindStringSubmatch(bare)
	switch {
	case where == "":
		return wrong("it has no repository: use owner/name or a URL")
	case given && ref == "":
		return wrong("it has no ref after the #: leave out the # for the default branch")
	case github != nil && strings.Trim(github[2], ".") != "":
		return penstock.RunRepository{URL: penstock.GitHubRepo{Owner: github[1], Repo: github[2]}.CloneURL(), Ref: ref}, nil
	case secretURL().MatchString(where):
		return wrong("the URL must not hold a user name or password: the run's network can have a credential for the host")
	case isURL && scheme != "" && isPage(where):
		return wrong("it is a page of GitHub, not a repository: write owner/name, and #REF for a branch, tag or commit")
	case isURL && scheme != "" || strings.Contains(before, ":") && !strings.HasPrefix(before, ":"):
		return penstock.RunRepository{URL: where, Ref: ref}, nil
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
	return err == nil && penstock.CanonicalHost(u.Hostname()) == "github.com" &&
		len(strings.Split(strings.Trim(u.Path, "/"), "/")) > 2
}
