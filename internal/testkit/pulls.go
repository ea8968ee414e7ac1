package testkit

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Pulls are the pull requests and comments of acme/shop on a [Forge], as Gitea 1.26 has them. Pass its Answer to
// [Forge.Answer].
type Pulls struct {
	mu       sync.Mutex
	url      string // of the forge
	pulls    []map[string]any
	comments []map[string]any
	labels   []string // of the repository, from the id 1
	statuses []map[string]any
	eyes     []string       // reactions: path and content
	asked    map[int]string // the reviewers of a pull request, each once, with spaces between
	fault    func(method, path string) PullFault
}

// PullFault is what goes wrong with a request.
type PullFault string

// The faults. Without one, a request is served.
const (
	Refuses  PullFault = "422"  // it does nothing
	Busy     PullFault = "503"  // it does nothing
	Limits   PullFault = "429"  // it does nothing, and names a time
	Loses    PullFault = "lost" // it does it, and answers 502
	Nonsense PullFault = "0"    // it does it, and answers with the number 0
)

// NewPulls returns no pull requests.
func NewPulls(f *Forge) *Pulls { return &Pulls{url: f.URL} }

// Break sets which requests fail. nil: none.
func (p *Pulls) Break(fault func(method, path string) PullFault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// All returns the pull requests, and the texts of all comments.
func (p *Pulls) All() (pulls []map[string]any, comments []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.pulls {
		pulls = append(pulls, maps.Clone(one))
	}
	for _, one := range p.comments {
		if one == nil {
			continue
		}
		comments = append(comments, fmt.Sprint(one["body"]))
	}
	return pulls, comments
}

// Collaborators are who can review pull requests, besides the team core of acme.
func Collaborators() []string { return []string{"ada", "grace"} }

// Reactions returns where somebody has reacted, and how.
func (p *Pulls) Reactions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.eyes)
}

// DeleteComment deletes a comment by its number from 1, as a person does.
func (p *Pulls) DeleteComment(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.comments[n-1] = nil
}

// comment serves the comments of all issues and pull requests, and one comment.
func (p *Pulls) comment(r *http.Request, segments []string, req map[string]any) (status int, body any) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/reactions"):
		p.eyes = append(p.eyes, strings.Join(segments, "/")+fmt.Sprint(" ", req["content"]))
		return http.StatusCreated, map[string]any{}
	case segments[1] == "comments":
		n, _ := strconv.Atoi(segments[2])
		if n < 1 || n > len(p.comments) || p.comments[n-1] == nil {
			return http.StatusNotFound, map[string]any{}
		}
		maps.Copy(p.comments[n-1], req)
		return http.StatusOK, p.comments[n-1]
	case r.Method == http.MethodGet:
		list := []map[string]any{}
		for _, c := range p.comments {
			if c != nil && c["issue"] == segments[1] {
				list = append(list, c)
			}
		}
		return http.StatusOK, list
	}
	made := map[string]any{
		"id": len(p.comments) + 1, "body": req["body"], "user": map[string]any{"id": 42}, "issue": segments[1],
	}
	p.comments = append(p.comments, made)
	return http.StatusCreated, made
}

// Labels returns the labels of the repository.
func (p *Pulls) Labels() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.labels)
}

// Reviewers returns who was asked to review a pull request, one after the other, as often as it was asked.
func (p *Pulls) Reviewers(number int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.TrimSpace(p.asked[number])
}

// label serves the labels of the repository, and of issue n.
func (p *Pulls) label(r *http.Request, n int, req map[string]any) (status int, body any) {
	list := []map[string]any{}
	if n == 0 && r.Method == http.MethodPost {
		p.labels = append(p.labels, fmt.Sprint(req["name"]))
		return http.StatusCreated, map[string]any{"id": len(p.labels), "name": req["name"]}
	}
	if n == 0 {
		for i, name := range p.labels {
			list = append(list, map[string]any{"id": i + 1, "name": name})
		}
		return http.StatusOK, list
	}
	ids, _ := req["labels"].([]any)
	var names []string
	for _, id := range ids {
		number, ok := id.(float64)
		if !ok {
			return http.StatusOK, list // a name that no label has
		}
		names = append(names, p.labels[int(number)-1])
	}
	p.pulls[n-1]["labels"] = names
	return http.StatusOK, list
}

// review asks reviewers, until one is refused.
func (p *Pulls) review(n int, req map[string]any) (status int, body any) {
	if p.asked == nil {
		p.asked = map[int]string{}
	}
	people, _ := req["reviewers"].([]any)
	teams, _ := req["team_reviewers"].([]any)
	for _, name := range people {
		switch {
		case name == "nobody":
			return http.StatusNotFound, map[string]any{"message": "user does not exist"}
		case !slices.Contains(Collaborators(), fmt.Sprint(name)):
			return http.StatusUnprocessableEntity, map[string]any{"message": "can't request review from it"}
		}
		p.asked[n] += fmt.Sprint(" ", name)
	}
	for _, team := range teams {
		if team != "core" {
			return http.StatusNotFound, map[string]any{"message": "team does not exist"}
		}
		p.asked[n] += " acme/core"
	}
	return http.StatusCreated, []any{}
}

// Status reports the state of a check of each commit.
func (p *Pulls) Status(check, state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses = append(p.statuses, map[string]any{
		"id": len(p.statuses) + 1, "context": check, "status": state, "description": check + " says " + state,
		"target_url": "https://ci.example.com/" + check,
	})
}

// NewCommit gives the pull request another commit, whose checks nobody has reported.
func (p *Pulls) NewCommit(number int, commit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses = nil
	head, _ := p.pulls[number-1]["head"].(map[string]any)
	head = maps.Clone(head)
	head["sha"] = commit
	p.pulls[number-1]["head"] = head
}

// Close closes a pull request, as a person does.
func (p *Pulls) Close(number int) { p.Edit(number, map[string]any{"state": "closed"}) }

// Open opens a pull request, as a person does.
func (p *Pulls) Open(title, body, head, base string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open(map[string]any{"title": title, "body": body, "head": head, "base": base})
}

// Edit changes a pull request, as a person does.
func (p *Pulls) Edit(number int, change map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.pulls[number-1], change)
}

// pushedCommit is the last one of the branch of a new pull request.
var pushedCommit = strings.Repeat("a", 40)

func (p *Pulls) open(req map[string]any) map[string]any {
	repo := map[string]any{"id": 7}
	n := len(p.pulls) + 1
	title := fmt.Sprint(req["title"])
	one := map[string]any{
		"number": n, "html_url": fmt.Sprintf("%s/acme/shop/pulls/%d", p.url, n), "state": "open", "title": title,
		"draft": strings.HasPrefix(title, "WIP: "), "body": req["body"],
		"head": map[string]any{"ref": req["head"], "sha": pushedCommit, "repo": repo},
		"base": map[string]any{"ref": req["base"], "repo": repo},
	}
	p.pulls = append(p.pulls, one)
	return one
}

// Answer answers the requests about acme/shop. It returns false for all others.
func (p *Pulls) Answer(w http.ResponseWriter, r *http.Request) bool {
	path, ours := strings.CutPrefix(r.URL.Path, "/api/v1/repos/acme/shop")
	if !ours || slices.Contains([]string{"branches", "assignees", "collaborators"}, strings.Split(path+"/", "/")[1]) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var fault PullFault
	if p.fault != nil {
		fault = p.fault(r.Method, path)
	}
	switch fault {
	case Refuses, Busy, Limits:
		w.Header().Set("Retry-After", "600")
		status, _ := strconv.Atoi(string(fault))
		respond(w, status, map[string]any{})
		return true
	}
	status, body := p.do(r, path)
	switch fault {
	case Loses:
		status, body = http.StatusBadGateway, map[string]any{}
	case Nonsense:
		body = map[string]any{"number": 0, "id": 0}
	}
	respond(w, status, body)
	return true
}

func (p *Pulls) do(r *http.Request, path string) (status int, body any) {
	var req map[string]any
	_ = json.NewDecoder(r.Body).Decode(&req)
	segments := strings.Split(strings.Trim(path, "/"), "/")
	var one map[string]any
	if len(segments) > 1 {
		if n, _ := strconv.Atoi(segments[1]); n > 0 && n <= len(p.pulls) {
			one = p.pulls[n-1]
		}
	}
	switch {
	case path == "":
		return http.StatusOK, map[string]any{"id": 7, "full_name": "acme/shop", "default_branch": "main"}
	case strings.HasPrefix(path, "/commits/"):
		return http.StatusOK, map[string]any{"state": "pending", "statuses": append([]map[string]any{}, p.statuses...)}
	case path == "/labels":
		return p.label(r, 0, req)
	case path == "/pulls" && r.Method == http.MethodGet:
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from := min(max(page-1, 0)*size, len(p.pulls))
		return http.StatusOK, append([]map[string]any{}, p.pulls[from:min(from+size, len(p.pulls))]...)
	case path == "/pulls":
		for _, other := range p.pulls {
			if other["state"] == "open" && reference(other, "head") == req["head"] && reference(other, "base") == req["base"] {
				return http.StatusConflict, map[string]any{"message": "pull request already exists for these targets"}
			}
		}
		return http.StatusCreated, p.open(req)
	case r.Method == http.MethodGet && path == "/issues/7":
		return http.StatusOK, map[string]any{"number": 7}
	case segments[0] == "issues" && (strings.Contains(path, "/comments") || segments[len(segments)-1] == "reactions"):
		return p.comment(r, segments, req)
	case one == nil:
		return http.StatusNotFound, map[string]any{}
	case strings.HasSuffix(path, "/labels"):
		return p.label(r, number(one), req)
	case strings.HasSuffix(path, "/requested_reviewers"):
		return p.review(number(one), req)
	case segments[0] == "pulls":
		if r.Method == http.MethodPatch {
			maps.Copy(one, req)
		}
		return http.StatusOK, one
	}
	return http.StatusNotFound, map[string]any{}
}

func number(pull map[string]any) int {
	n, _ := pull["number"].(int)
	return n
}

func reference(pull map[string]any, side string) any {
	if of, ok := pull[side].(map[string]any); ok {
		return of["ref"]
	}
	return nil
}
