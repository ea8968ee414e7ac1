package factory

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock/internal/control/store"
)

// push holds the relevant fields of such a delivery from any host.
type push struct {
	Ref        string `json:"ref"`
	Repository struct {
		CloneURL string `json:"clone_url"`
		SSHURL   string `json:"ssh_url"`
		HTMLURL  string `json:"html_url"`
		HTTPURL  string `json:"git_http_url"`
		Links    struct {
			HTML struct {
				Href string `json:"href"`
			} `json:"html"`
		} `json:"links"`
	} `json:"repository"`
	Project struct {
		HTTPURL string `json:"git_http_url"`
		SSHURL  string `json:"git_ssh_url"`
	} `json:"project"`
}

// places returns the possible addresses of the repository.
func (n push) places() []string {
	var places []string
	for _, url := range []string{
		n.Repository.CloneURL, n.Repository.SSHURL, n.Repository.HTMLURL, n.Repository.HTTPURL, n.Repository.Links.HTML.Href,
		n.Project.HTTPURL, n.Project.SSHURL,
	} {
		if place := placeOf(url); place != "" {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// NoticePush polls at once the factories whose repository was pushed to, according to the body
// of a team's delivery. It is a hint: if it fails, the next poll finds the commit.
func (s *Repositories) NoticePush(ctx context.Context, team string, body []byte) {
	var n push
	if json.Unmarshal(body, &n, jsontext.AllowInvalidUTF8(true)) != nil { // a commit message may be cut within a character
		return
	}
	var uids []string
	for _, place := range n.places() {
		branches, err := s.store.Repositories.At(ctx, team, place)
		if err != nil {
			s.log.Warn("cannot record a push; the next poll finds it", "error", err)
			return
		}
		for uid, branch := range branches {
			if branch == "" || n.Ref == "" || strings.TrimPrefix(n.Ref, "refs/heads/") == branch {
				uids = append(uids, uid)
			}
		}
	}
	if len(uids) == 0 {
		return
	}
	slices.Sort(uids)
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		return tx.Repositories().RequestPolls(ctx, slices.Compact(uids)...)
	})
	if err != nil {
		s.log.Warn("cannot record a push; the next poll finds it", "error", err)
	}
}
