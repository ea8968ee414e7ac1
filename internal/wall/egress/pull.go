package egress

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

const (
	maxPullResponse = 1 << 20
	maxPullRequest  = 256 << 10
	maxPullText     = 500 // characters of a title, a branch or a repository
)

// PullRequest is a pull request that an inspected host confirmed as created, so it exists,
// whichever agent asked for it. The texts come from the host and are bounded, but not cleaned.
type PullRequest struct {
	URL        string // https, at the host that was asked
	Host       string
	Repository string // such as owner/name
	Number     int
	Title      string
	Branch     string // with the changes
	Draft      bool
}

// pullPaths are the endpoints that create a pull request: GitHub and Gitea or Forgejo, GitLab,
// Bitbucket Cloud, Bitbucket Data Center, and the GraphQL endpoint that gh uses.
var pullPaths = penstock.LazyRegexp(`^(?:` +
	`(?:/api/v[13])?/repos/[^/]+/[^/]+/pulls` +
	`|/api/v4/projects/[^/]+/merge_requests` +
	`|/2\.0/repositories/[^/]+/[^/]+/pullrequests` +
	`|/rest/api/(?:1\.0|latest)/projects/[^/]+/repos/[^/]+/pull-requests` +
	`|(?:/api)?/graphql)/?$`)

// pullURL finds the repository and the number in the URL of a pull request.
var pullURL = penstock.LazyRegexp(
	`^/(.+?)/(?:-/merge_requests|merge_requests|pulls?|pull-requests)/([0-9]{1,9})(?:/overview)?/?$`)

// pullWatch reads a copy of a request and of its response while they stream.
type pullWatch struct {
	target target
	sent   bounded
	got    bounded
}

func watchPull(r *http.Request, t target, path string) *pullWatch {
	if r.Method != http.MethodPost || !pullPaths().MatchString(path) {
		return nil
	}
	return &pullWatch{target: t, sent: bounded{max: maxPullRequest}, got: bounded{max: maxPullResponse}}
}

// bounded keeps the first max bytes that are written to it, and nothing of a longer text.
type bounded struct {
	bytes.Buffer
	max  int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over || b.Len()+len(p) > b.max {
		b.over = true
		b.Reset()
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

type tee struct {
	io.Reader
	io.Closer
}

func (w *pullWatch) request(body io.ReadCloser) io.ReadCloser {
	return tee{io.TeeReader(body, &w.sent), body}
}

// response returns the body of a response that calls found at its end.
func (w *pullWatch) response(r *http.Response, found func(PullRequest)) io.ReadCloser {
	graph := strings.HasSuffix(strings.TrimSuffix(r.Request.URL.Path, "/"), "/graphql")
	if found == nil || !graph && r.StatusCode != http.StatusCreated || graph && r.StatusCode != http.StatusOK {
		return r.Body
	}
	return &pullBody{ReadCloser: r.Body, watch: w, graph: graph, found: found}
}

type pullBody struct {
	io.ReadCloser
	watch *pullWatch
	graph bool
	found func(PullRequest)
}

func (b *pullBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.watch.got.Write(p[:n]) // it never fails
	if err == io.EOF && b.found != nil && !b.watch.got.over {
		if pull, ok := b.watch.parse(b.graph); ok {
			b.found(pull)
		}
		b.found = nil
	}
	return n, err
}

// pullBody JSON: the union of what the hosts respond.
type pullJSON struct {
	HTMLURL string `json:"html_url"`
	WebURL  string `json:"web_url"`
	Links   struct {
		HTML struct {
			Href string `json:"href"`
		} `json:"html"`
		Self json.RawMessage `json:"self"`
	} `json:"links"`
	Title string `json:"title"`
	Draft bool   `json:"draft"`
	Head  struct {
		Ref string `json:"ref"`
	} `json:"head"`
	SourceBranch string `json:"source_branch"`
	Source       struct {
		Branch struct {
			Name string `json:"name"`
		} `json:"branch"`
	} `json:"source"`
	FromRef struct {
		DisplayID string `json:"displayId"`
	} `json:"fromRef"`
}

func (w *pullWatch) parse(graph bool) (PullRequest, bool) {
	var pull PullRequest
	var link string
	if graph {
		pull, link = w.parseGraph()
	} else {
		var response pullJSON
		if json.Unmarshal(w.got.Bytes(), &response) != nil {
			return PullRequest{}, false
		}
		var self []struct {
			Href string `json:"href"`
		}
		if json.Unmarshal(response.Links.Self, &self) == nil && len(self) > 0 {
			link = self[0].Href
		}
		link = cmp.Or(response.HTMLURL, response.WebURL, response.Links.HTML.Href, link)
		pull = PullRequest{Title: response.Title, Draft: response.Draft, Branch: cmp.Or(response.Head.Ref,
			response.SourceBranch, response.Source.Branch.Name, response.FromRef.DisplayID)}
	}
	return pull, w.locate(&pull, link)
}

// parseGraph reads the mutation that gh sends and the response of GitHub to it.
func (w *pullWatch) parseGraph() (PullRequest, string) {
	var response struct {
		Data struct {
			CreatePullRequest struct {
				PullRequest struct {
					URL string `json:"url"`
				} `json:"pullRequest"`
			} `json:"createPullRequest"`
		} `json:"data"`
	}
	var request struct {
		Variables struct {
			Input struct {
				Title       string `json:"title"`
				HeadRefName string `json:"headRefName"`
				Draft       bool   `json:"draft"`
			} `json:"input"`
		} `json:"variables"`
	}
	if json.Unmarshal(w.got.Bytes(), &response) != nil {
		return PullRequest{}, ""
	}
	// Without the request, which may be too long to keep, the URL is still worth a report.
	if json.Unmarshal(w.sent.Bytes(), &request) != nil {
		return PullRequest{}, response.Data.CreatePullRequest.PullRequest.URL
	}
	input := request.Variables.Input
	_, branch, forked := strings.Cut(input.HeadRefName, ":")
	if !forked {
		branch = input.HeadRefName
	}
	return PullRequest{Title: input.Title, Branch: branch, Draft: input.Draft},
		response.Data.CreatePullRequest.PullRequest.URL
}

// locate completes pull from its URL, which must be at the host that was asked: a host must not
// report a pull request of another one.
func (w *pullWatch) locate(pull *PullRequest, link string) bool {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" || u.User != nil || len(link) > 2000 {
		return false
	}
	host, port, err := splitAuthority(u.Host, 443)
	if err != nil || host != w.target.host && "api."+host != w.target.host || port != w.target.port {
		return false
	}
	match := pullURL().FindStringSubmatch(u.Path)
	if match == nil {
		return false
	}
	number, err := strconv.Atoi(match[2])
	if err != nil {
		return false
	}
	repository := match[1]
	if parts := strings.Split(repository, "/"); len(parts) == 4 && parts[0] == "projects" && parts[2] == "repos" {
		repository = parts[1] + "/" + parts[3] // Bitbucket Data Center
	}
	u.RawQuery, u.Fragment = "", ""
	pull.URL, pull.Host, pull.Repository, pull.Number = u.String(), host, shorten(repository), number
	pull.Title, pull.Branch = shorten(pull.Title), shorten(pull.Branch)
	return true
}

func shorten(s string) string {
	runes := []rune(s)
	return string(runes[:min(len(runes), maxPullText)])
}
