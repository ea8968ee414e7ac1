package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
)

// pull is a pull request. On Gitea, its title is without the prefix of a draft.
type pull struct {
	Number              int64
	Repository          int64 // the id; 0: the forge does not name it
	URL                 string
	Open, Merged, Draft bool
	Title, Body         string
	Head                string // the branch, also of a fork
	HeadCommit          string // "": the forge does not name one
	Base                string
}

// newPull is a pull request to create, of a branch of the repository itself.
type newPull struct {
	Title, Body, Head, Base string
	Draft                   bool
}

// pullJSON is a pull request as the forges send it.
type pullJSON struct {
	Number  int64  `json:"number"`
	HTMLURL string `json:"html_url"`
	State   string `json:"state"`
	Draft   bool   `json:"draft"`
	Merged  bool   `json:"merged"`
	// MergedAt is set in lists of GitHub, which do not have Merged.
	MergedAt *string   `json:"merged_at"`
	Title    string    `json:"title"`
	Body     string    `json:"body"`
	Head     *headJSON `json:"head"`
	Base     *headJSON `json:"base"`
}

type headJSON struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		ID int64 `json:"id"`
	} `json:"repo"` // nil: a fork that was deleted
}

// own reports whether the branch is one of the repository itself.
func (p pullJSON) own() bool {
	return p.Head != nil && p.Base != nil && p.Head.Repo != nil && p.Base.Repo != nil && p.Head.Repo.ID > 0 &&
		p.Head.Repo.ID == p.Base.Repo.ID
}

var commitID = penstock.LazyRegexp(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// pull checks what a forge says about a pull request.
func (a api) pull(path string, p pullJSON) (pull, *failure) {
	switch {
	case p.Number <= 0 || p.Head == nil || p.Base == nil:
		return pull{}, a.odd()
	case len(p.Body) > maxBody:
		return pull{}, &failure{kind: foreign, text: fmt.Sprintf("the text of pull request %d is too long", p.Number)}
	}
	usual := "pull/"
	if a.forge.Provider == penstock.HostGitea {
		usual = "pulls/"
		if prefix := draftPrefix(p.Title); p.Draft && prefix != "" {
			p.Title = p.Title[len(prefix):]
		}
	}
	out := pull{
		Number: p.Number, URL: a.address(p.HTMLURL, path, usual+number(p.Number)), Open: p.State == "open",
		Merged: p.Merged || p.MergedAt != nil, Draft: p.Draft, Title: line(p.Title, maxTitle+1), Body: p.Body,
		Head: branch(p.Head.Ref), Base: branch(p.Base.Ref),
	}
	if p.Base.Repo != nil {
		out.Repository = max(0, p.Base.Repo.ID)
	}
	if commitID().MatchString(p.Head.SHA) {
		out.HeadCommit = p.Head.SHA
	}
	return out, nil
}

// findPull finds the open pull request of a branch of the repository itself to base. The same branch of a fork is
// another one.
func (a api) findPull(ctx context.Context, path, head, base string) (found pull, has bool, failed *failure) {
	owner, _, _ := strings.Cut(path, "/")
	query := url.Values{"state": {"open"}}
	if a.forge.Provider == penstock.HostGitHub {
		query.Set("head", owner+":"+head)
		query.Set("base", base)
	} else {
		query.Set("base_branch", base) // older ones list all
	}
	var bad *failure
	failed = a.pages(ctx, path, []string{"pulls"}, query, maxPages, func(text json.RawMessage) bool {
		var p pullJSON
		if json.Unmarshal(text, &p) != nil || !p.own() || p.State != "open" || p.Head.Ref != head || p.Base.Ref != base {
			return false
		}
		found, bad = a.pull(path, p)
		has = bad == nil
		return true
	})
	if failed == nil {
		failed = bad
	}
	return found, has, failed
}

// createPull creates a pull request. If the branch has one, the failure exists. A repository of GitHub that has no
// drafts gets one that is none: see Draft of the result.
func (a api) createPull(ctx context.Context, path string, p newPull) (pull, *failure) {
	title := p.Title
	if a.forge.Provider == penstock.HostGitea {
		title = giteaTitle(p.Title, p.Draft, "")
	}
	body := map[string]any{"title": cut(title, maxTitle), "body": p.Body, "head": p.Head, "base": p.Base}
	if p.Draft && a.forge.Provider == penstock.HostGitHub {
		body["draft"] = true // without it, not even as false: some repositories refuse the key (mislav/hub#2099)
	}
	var created pullJSON
	_, failed := a.in(ctx, http.MethodPost, path, []string{"pulls"}, nil, body, &created)
	// "Draft pull requests are not supported" is the only 422 without errors of its own (SWE-agent/SWE-agent#179).
	if failed != nil && failed.status == http.StatusUnprocessableEntity && body["draft"] != nil &&
		len(failed.problems) == 0 {
		delete(body, "draft")
		_, failed = a.in(ctx, http.MethodPost, path, []string{"pulls"}, nil, body, &created)
	}
	if failed != nil {
		return pull{}, failed
	}
	return a.pull(path, created)
}

// readPull reads a pull request.
func (a api) readPull(ctx context.Context, path string, n int64) (pull, *failure) {
	found, failed := a.rawPull(ctx, path, n)
	if failed != nil {
		return pull{}, failed
	}
	return a.pull(path, found)
}

func (a api) rawPull(ctx context.Context, path string, n int64) (found pullJSON, failed *failure) {
	_, failed = a.in(ctx, http.MethodGet, path, []string{"pulls", number(n)}, nil, nil, &found)
	if failed == nil && found.Number != n {
		failed = a.odd()
	}
	return found, failed
}

// updatePull sets title and body of a pull request. It remains a draft if it is one, and does not become one.
func (a api) updatePull(ctx context.Context, path string, n int64, title, body string) (pull, *failure) {
	if a.forge.Provider == penstock.HostGitea {
		current, failed := a.rawPull(ctx, path, n)
		if failed != nil {
			return pull{}, failed
		}
		title = giteaTitle(title, current.Draft, draftPrefix(current.Title))
	}
	change := map[string]any{"title": cut(title, maxTitle), "body": body}
	var changed pullJSON
	_, failed := a.in(ctx, http.MethodPatch, path, []string{"pulls", number(n)}, nil, change, &changed)
	switch {
	case failed != nil:
		return pull{}, failed
	case changed.Number != n:
		return pull{}, a.odd()
	}
	return a.pull(path, changed)
}

var (
	// knownPrefix begins titles that make a draft on Gitea, unless its operator has chosen others.
	knownPrefix = penstock.LazyRegexp(`^(?i:(?:wip:|\[wip\]|draft:|\[draft\])\s*)+`)
	anyPrefix   = penstock.LazyRegexp(`^(?:\[[^\]]{1,30}\]:?|[^\s:]{1,30}:)\s*`)
)

// draftPrefix returns the beginning of the title of a draft that makes it one.
func draftPrefix(title string) string {
	if known := knownPrefix().FindString(title); known != "" {
		return known
	}
	return anyPrefix().FindString(title)
}

// giteaTitle gives a title the prefix of a draft ("": the one of most servers), or none.
func giteaTitle(title string, draft bool, prefix string) string {
	for { // also behind spaces: "WIP: WIP: x" would be a draft after its first prefix is removed
		without := strings.TrimSpace(title)
		without = without[len(knownPrefix().FindString(without)):]
		if without == title {
			break
		}
		title = without
	}
	switch {
	case !draft:
		return title
	case strings.TrimSpace(prefix) == "":
		prefix = "WIP: "
	}
	return prefix + strings.TrimPrefix(title, prefix)
}
