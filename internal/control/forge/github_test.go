package forge

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

// gitHub is a GitHub Enterprise Server that gives one response after the other. The last one is repeated.
type gitHub struct {
	api

	mu        sync.Mutex
	responses []http.HandlerFunc
	requests  []string // METHOD PATH BODY
}

func newGitHub(t *testing.T, responses ...http.HandlerFunc) *gitHub {
	t.Helper()
	g := &gitHub{responses: responses}
	server := httptest.NewTLSServer(g)
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = New(Options{}).Connections.http.CheckRedirect
	g.api = api{client, penstock.Forge{
		Provider: penstock.HostGitHub, URL: server.URL, Bot: &penstock.ForgeBot{ID: 9, Login: "bot"},
	}, "token"}
	return g
}

func (g *gitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	path := strings.TrimPrefix(r.URL.String(), "/api/v3/repos/o/r")
	g.requests = append(g.requests, strings.TrimSpace(r.Method+" "+path+" "+string(body)))
	answer := g.responses[0]
	if len(g.responses) > 1 {
		g.responses = g.responses[1:]
	}
	g.mu.Unlock()
	answer(w, r)
}

func (g *gitHub) sent(t *testing.T, want ...string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if diff := cmp.Diff(want, g.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// says answers with a body, and headers as NAME: VALUE.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	onePull = `{"number": 3, "html_url": "HTML", "state": "open", "draft": true, "title": "T", "body": null,
		"head": {"ref": "b", "sha": "1111111111111111111111111111111111111111", "repo": {"id": 1}},
		"base": {"ref": "main", "repo": {"id": 1}}}`
	taken = `{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom",
		"message": "A pull request already exists for o:b."}], "status": "422"}`
	nothing = `{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom",
		"message": "No commits between main and b"}]}`
	noDrafts = `{"message": "Draft pull requests are not supported in this repository."}`
)

// SWE-agent/SWE-agent#179, getsentry/seer#1492 and mislav/hub#2099: some repositories refuse drafts, also as false.
func TestDraftsThatGitHubRefuses(t *testing.T) {
	t.Parallel()
	g := newGitHub(t, says(422, noDrafts), says(201, strings.Replace(onePull, "true", "false", 1)))
	p, failed := g.createPull(t.Context(), "o/r", newPull{"T", "B", "b", "main", true})
	if failed != nil || p.Draft || p.Number != 3 {
		t.Errorf("got %+v, %+v", p, failed)
	}
	g.sent(t, `POST /pulls {"base":"main","body":"B","draft":true,"head":"b","title":"T"}`,
		`POST /pulls {"base":"main","body":"B","head":"b","title":"T"}`)
	for name, body := range map[string]string{"taken": taken, "nothing": nothing} { // getsentry/seer#2175
		g := newGitHub(t, says(422, body))
		_, failed := g.createPull(t.Context(), "o/r", newPull{"T", "B", "b", "main", true})
		if failed == nil || failed.exists() != (name == "taken") || len(g.requests) != 1 {
			t.Errorf("%s: got %+v after %d requests", name, failed, len(g.requests))
		}
	}
	g = newGitHub(t, says(422, noDrafts))
	if _, failed := g.createPull(t.Context(), "o/r", newPull{"T", "B", "b", "main", true}); failed == nil ||
		len(g.requests) != 2 {
		t.Errorf("got %+v after %d requests", failed, len(g.requests))
	}
	g = newGitHub(t, says(201, onePull))
	if _, failed := g.createPull(t.Context(), "o/r", newPull{"T", "B", "b", "main", false}); failed != nil {
		t.Errorf("got %+v", failed)
	}
	g.sent(t, `POST /pulls {"base":"main","body":"B","head":"b","title":"T"}`)
}

// jenkins-x/jx#4662 and github/github-mcp-server#2931: a pull request that exists is a success to come.
func TestWhatExists(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		taken: true, `{"errors": [{"resource": "Label", "code": "already_exists"}]}`: true,
		nothing: false, `{"errors": ["A pull request already exists"]}`: false,
		`{"message": "A pull request already exists"}`: false, `{"errors": {}}`: false, `<html>`: false, ``: false,
	} {
		g := newGitHub(t, says(422, body))
		if _, failed := g.addComment(t.Context(), "o/r", 1, "x"); failed == nil || failed.exists() != want {
			t.Errorf("%s: got %+v", body, failed)
		}
	}
	g := newGitHub(t, says(409, `{}`))
	if _, failed := g.addComment(t.Context(), "o/r", 1, "x"); failed == nil || failed.exists() {
		t.Errorf("409 of GitHub: got %+v", failed)
	}
}

// scala-steward-org/scala-steward#2355, hub4j/github-api#1805 and #2267: a secondary limit may have no header at all,
// or the headers of another limit. devops-thiago/ThrillhouseBot#723: the reset of the other is no time to wait.
func TestHowLongAForgeWantsNoRequests(t *testing.T) {
	t.Parallel()
	const secondary = `{"message": "You have exceeded a secondary rate limit and have been temporarily blocked."}`
	in := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	for name, tt := range map[string]struct {
		answer   http.HandlerFunc
		min, max time.Duration
		kind     failureKind
	}{
		"seconds": {says(403, secondary, "Retry-After: 30"), 30 * time.Second, 30 * time.Second, noAnswer},
		"a date": {
			says(429, "", "Retry-After: "+time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)), 30 * time.Second,
			time.Minute, noAnswer,
		},
		"a year":      {says(503, "", "Retry-After: 31536000"), time.Hour, time.Hour, noAnswer},
		"the past":    {says(503, "", "Retry-After: -5"), 0, 0, noAnswer},
		"overflowing": {says(503, "", "Retry-After: 9223372036854775807"), time.Hour, time.Hour, noAnswer},
		"nonsense":    {says(503, "", "Retry-After: soon"), 0, 0, noAnswer},
		"primary": {
			says(403, "{}", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+in(10*time.Minute)), 9 * time.Minute,
			10 * time.Minute, noAnswer,
		},
		"primary, passed": {
			says(403, "{}", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: "+in(-time.Minute)), 0, 0, noAnswer,
		},
		"no header": {says(403, secondary), 0, 0, noAnswer},
		"by its address": {
			says(403, `{"message": "x", "documentation_url": "https://docs.github.com/x#about-secondary-rate-limits"}`), 0, 0,
			noAnswer,
		},
		"of another limit": {
			says(403, secondary, "X-RateLimit-Remaining: 4771", "X-RateLimit-Reset: "+in(time.Minute)), 0, 0, noAnswer,
		},
		"a permission": {says(403, `{"message": "Resource not accessible by integration"}`), 0, 0, lacking},
	} {
		_, failed := newGitHub(t, tt.answer).addComment(t.Context(), "o/r", 1, "x")
		if failed == nil || failed.kind != tt.kind || failed.wait < tt.min || failed.wait > tt.max {
			t.Errorf("%s: got %+v, want %s to %s", name, failed, tt.min, tt.max)
		}
	}
}

func TestAGitHubThatLies(t *testing.T) {
	t.Parallel()
	read := func(body string) (pull, *failure) {
		return newGitHub(t, says(200, body)).readPull(t.Context(), "o/r", 3)
	}
	for name, change := range map[string][2]string{
		"number 0": {`"number": 3`, `"number": 0`}, "another number": {`"number": 3`, `"number": 4`},
		"negative": {`"number": 3`, `"number": -3`}, "a text": {`"number": 3`, `"number": "3"`},
		"no head": {`"head"`, `"tail"`}, "a list": {onePull, `[]`}, "null": {onePull, `null`},
		"a long body": {`"body": null`, `"body": "` + strings.Repeat("x", maxBody+1) + `"`},
	} {
		if p, failed := read(strings.Replace(onePull, change[0], change[1], 1)); failed == nil || failed.kind != foreign {
			t.Errorf("%s: got %+v, %+v", name, p, failed)
		}
	}
	odd := strings.NewReplacer(`"T"`, `"a\u202eb\n@c`+strings.Repeat("ü", 1000)+`"`, `"ref": "b"`, `"ref": "a b\u0000"`,
		"1111111111", "--upload-x", `"open"`, `"strange"`).Replace(onePull)
	p, failed := read(odd)
	if failed != nil || p.Open || p.Head != "" || p.HeadCommit != "" || strings.ContainsAny(p.Title, "\u202e\n") ||
		len([]rune(p.Title)) > maxTitle+1 {
		t.Errorf("got %+v, %+v", p, failed)
	}
	for _, named := range []string{
		"https://evil.example/o/r/pull/3", "javascript:alert(1)", "/o/r/pull/3", "", "https://evil@HOST/o/r/pull/3",
		"http://HOST/o/r/pull/3", "https://HOST.evil.example/o/r/pull/3", "https://HOST/o/r/../../x",
		"https://HOST/o/r/pull/3?x=1",
		"https://HOST/o/r/pull/3)[x",
		"https://HOST/o/r/" + strings.Repeat("x", maxURL), "https://HOST/o/other/pull/3", "https://HOST/o/r/a b",
		"https://HOST/o/r/\u202e",
	} {
		g := newGitHub(t, nil)
		host := strings.TrimPrefix(g.forge.URL, "https://")
		g.responses[0] = says(200, strings.Replace(onePull, "HTML", strings.ReplaceAll(named, "HOST", host), 1))
		if p, failed := g.readPull(t.Context(), "o/r", 3); failed != nil || p.URL != g.forge.URL+"/o/r/pull/3" {
			t.Errorf("%q: got %q, %+v", named, p.URL, failed)
		}
		g.responses[0] = says(201, `{"id": 7, "html_url": "https://evil.example/"}`)
		want := g.forge.URL + "/o/r/issues/3#issuecomment-7"
		if c, failed := g.addComment(t.Context(), "o/r", 3, "x"); failed != nil || c.URL != want {
			t.Errorf("got %+v, %+v", c, failed)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no id": says(201, `{}`), "a page": says(201, `<html>`, "Content-Type: text/html"),
		"endless": says(201, strings.Repeat("x", maxResponse+1)),
	} {
		g := newGitHub(t, answer)
		_, comment := g.addComment(t.Context(), "o/r", 3, "x")
		_, pull := g.createPull(t.Context(), "o/r", newPull{})
		for _, failed := range []*failure{comment, pull} {
			if failed == nil || failed.kind != foreign {
				t.Errorf("%s: got %+v", name, failed)
			}
		}
	}
	g := newGitHub(t, says(200, `{"default_branch": "a b"}`))
	if name, failed := g.defaultBranch(t.Context(), "o/r"); failed == nil {
		t.Errorf("got %q", name)
	}
	for _, path := range []string{"o", "o/r/x", "../x", "o/..", "o/r?x", ""} {
		if _, failed := g.defaultBranch(t.Context(), path); failed == nil || failed.status != 0 {
			t.Errorf("%q: got %+v", path, failed)
		}
	}
}

func TestARepositoryThatWasRenamed(t *testing.T) {
	t.Parallel()
	other := newGitHub(t, says(201, `{"id": 1}`))
	for _, status := range []int{301, 302, 307, 308} {
		g := newGitHub(t, says(status, `{}`, "Location: "+other.forge.URL+"/api/v3/repositories/1/issues/3/comments"))
		if _, failed := g.addComment(t.Context(), "o/r", 3, "x"); failed == nil || failed.kind != lacking ||
			!strings.Contains(failed.text, "renamed") {
			t.Errorf("%d: got %+v", status, failed)
		}
	}
	if len(other.requests) > 0 {
		t.Errorf("the token went where GitHub redirects: %v", other.requests)
	}
}

func TestPullRequestsOfGitHubAreFound(t *testing.T) {
	t.Parallel()
	fork := strings.Replace(onePull, `"repo": {"id": 1}`, `"repo": {"id": 2}`, 1)
	deleted := strings.Replace(onePull, `"repo": {"id": 1}`, `"repo": null`, 1)
	closed := strings.Replace(onePull, `"open"`, `"closed"`, 1)
	others := `[{"number": "x"}, ` + strings.Join([]string{fork, deleted, closed}, ",") + `]`
	g := newGitHub(t, says(200, others), says(200, "["+onePull+"]"))
	p, has, failed := g.findPull(t.Context(), "o/r", "b", "main")
	if !has || failed != nil || p.Number != 3 || !p.Draft || !p.Open || p.Head != "b" {
		t.Errorf("got %+v, %v, %+v", p, has, failed)
	}
	if !strings.HasPrefix(g.requests[1], "GET /pulls?base=main&head=o%3Ab&limit=50&page=2&") {
		t.Errorf("got %s", g.requests[1])
	}
	n := 0
	g = newGitHub(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		_, _ = fmt.Fprintf(w, `[{"number": %d}]`, n)
	})
	if _, has, failed := g.findPull(t.Context(), "o/r", "b", "main"); has || failed != nil || n != maxPages {
		t.Errorf("a list without end: %v, %+v after %d pages", has, failed, n)
	}
	g = newGitHub(t, says(200, `[]`))
	if _, has, failed := g.findPull(t.Context(), "o/r", "b", "main"); has || failed != nil {
		t.Errorf("got %v, %+v", has, failed)
	}
	g = newGitHub(t, says(200, `[]`), says(502, ``))
	if _, has, failed := g.findPull(t.Context(), "o/r", "b", "main"); has || failed != nil {
		t.Errorf("got %v, %+v", has, failed)
	}
	if _, _, failed := g.findPull(t.Context(), "o/r", "b", "main"); failed == nil || failed.kind != noAnswer {
		t.Errorf("got %+v: what was not searched is not absent", failed)
	}
}

// JoshuaKGoldberg/all-contributors-auto-action#1410 and JSONbored/loopover#7232: a comment behind the first pages is
// not found, and written again.
func TestCommentsOfGitHubAreFound(t *testing.T) {
	t.Parallel()
	const marker = "<!-- m -->"
	for at, want := range map[int]bool{1: true, 50: true, 150: true, 3000: true, 1500: true, 500: false} {
		var g *gitHub
		g = newGitHub(t, func(w http.ResponseWriter, r *http.Request) { // of 3,000, from old to new
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			w.Header().Set("Link", fmt.Sprintf(`<%s/x?per_page=100&page=2>; rel="next", <%s/x?per_page=100&page=30>; rel="last"`,
				g.forge.URL, g.forge.URL))
			var list []map[string]any
			for i := (page-1)*100 + 1; i <= page*100; i++ {
				user, body := 9, "x"
				if i == at {
					body = "x " + marker
				}
				if i == at+1 { // somebody else copies it
					user, body = 8, "> "+marker
				}
				list = append(list, map[string]any{"id": i, "body": body, "user": map[string]int{"id": user}})
			}
			_ = json.NewEncoder(w).Encode(list)
		})
		if at == 150 { // fewer pages
			g.responses = []http.HandlerFunc{g.responses[0]}
		}
		c, has, failed := g.findComment(t.Context(), "o/r", 1, marker, 9)
		inReach := want && (at <= 100 || at > 1000)
		if failed != nil || has != inReach || has && c.ID != int64(at) || len(g.requests) > searchPages+2 {
			t.Errorf("%d: got %+v, %v, %+v after %d requests", at, c, has, failed, len(g.requests))
		}
	}
	g := newGitHub(t, says(200, `[{"id": 1, "body": "`+marker+`", "user": null}, {"id": 2, "body": null}]`))
	if _, has, failed := g.findComment(t.Context(), "o/r", 1, marker, 0); has || failed != nil {
		t.Errorf("got %v, %+v", has, failed)
	}
	g = newGitHub(t, says(200, `[]`, `Link: <https://x/?page=99>; rel="last"`), says(502, ``))
	if _, has, failed := g.findComment(t.Context(), "o/r", 1, marker, 9); has || failed == nil {
		t.Errorf("got %v, %+v: what was not searched is not absent", has, failed)
	}
}

func TestLabelsOfGitHub(t *testing.T) {
	t.Parallel()
	g := newGitHub(t, says(200, `[]`))
	if failed := g.addLabels(t.Context(), "o/r", 3, []string{"a", "factory:x"}); failed != nil {
		t.Errorf("got %+v", failed)
	}
	if failed := g.addLabels(t.Context(), "o/r", 3, nil); failed != nil {
		t.Errorf("got %+v", failed)
	}
	g.sent(t, `POST /issues/3/labels {"labels":["a","factory:x"]}`)
}

func TestReviewersOfGitHub(t *testing.T) {
	t.Parallel()
	g := newGitHub(t, says(201, `{}`), says(422, `{"message": "Review cannot be requested from pull request author."}`))
	if failed := g.askReviewers(t.Context(), "acme/r", 3, []string{"ada", "Acme/core", "grace"}); failed != nil {
		t.Errorf("got %+v", failed)
	}
	failed := g.askReviewers(t.Context(), "acme/r", 3, []string{"bot"})
	if failed == nil || failed.kind != lacking || strings.Contains(failed.text, "author") {
		t.Errorf("got %+v: a text never repeats what the forge has sent", failed)
	}
	if failed := g.askReviewers(t.Context(), "acme/r", 3, []string{"other/core"}); failed == nil {
		t.Error("a team of another organization is asked")
	}
	const path = "POST /api/v3/repos/acme/r/pulls/3/requested_reviewers "
	g.sent(t, path+`{"reviewers":["ada","grace"],"team_reviewers":["core"]}`, path+`{"reviewers":["bot"]}`)
}

// go-gitea/gitea#32242: a draft has its prefix once.
func TestPrefixesOfDrafts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		title  string
		draft  bool
		prefix string
		want   string
	}{
		{"x", true, "", "WIP: x"},
		{"WIP: x", true, "", "WIP: x"},
		{"x", true, "[WIP] ", "[WIP] x"},
		{"wip:WIP: [Draft] x", false, "", "x"},
		{" WIP: x", false, "", "x"},
		{"x", true, "Entwurf: ", "Entwurf: x"},
		{"Entwurf: x", true, "Entwurf: ", "Entwurf: x"},
		{"WIPE: x", false, "", "WIPE: x"},
	} {
		if got := giteaTitle(tt.title, tt.draft, tt.prefix); got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

func TestDraftsOfGiteaStayDrafts(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"draft": true, "title": "WIP: a"`: "WIP: x", `"draft": true, "title": "[Draft] a"`: "[Draft] x",
		`"draft": true, "title": "Entwurf: a"`: "Entwurf: x", `"draft": false, "title": "a"`: "x",
		`"draft": false, "title": "fix: a"`: "x",
	} {
		g := newGitHub(t, nil)
		g.forge.Provider = penstock.HostGitea
		answer := says(200, strings.Replace(onePull, `"draft": true, "title": "T"`, raw, 1))
		g.responses[0] = answer
		p, failed := g.updatePull(t.Context(), "o/r", 3, "Draft: x", "B")
		if sent := g.requests[1]; failed != nil || !strings.HasSuffix(sent, fmt.Sprintf(`{"body":"B","title":%q}`, want)) ||
			p.Title != "a" && p.Title != "fix: a" {
			t.Errorf("%s: sent %s, got %+v, %+v", raw, sent, p, failed)
		}
	}
}

// The role of a collaborator, as GitHub reports it: maintain as write, and triage as read.
func TestWhoMayWriteOnGitHub(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		write  bool
		fails  bool
	}{
		{"an administrator", 200, `{"permission": "admin", "user": {"id": 3}}`, true, false},
		{"a maintainer", 200, `{"permission": "write", "role_name": "maintain", "user": {"id": 3}}`, true, false},
		{"a reader", 200, `{"permission": "read", "role_name": "triage", "user": {"id": 3}}`, false, false},
		{"nobody", 200, `{"permission": "none", "user": {"id": 3}}`, false, false},
		{"another account that has the login now", 200, `{"permission": "admin", "user": {"id": 4}}`, false, false},
		{"an answer without an account", 200, `{"permission": "admin", "user": null}`, false, false},
		{"an account that is gone", 404, `{"message": "Not Found"}`, false, true},
		{"a token that may not ask", 403, `{"message": "Resource not accessible"}`, false, true},
		{"a list", 200, `[]`, false, true},
	} {
		g := newGitHub(t, says(tt.status, tt.body))
		write, failed := g.mayWrite(t.Context(), Event{Repository: "o/r", Sender: "a?b", SenderID: 3})
		if write != tt.write || (failed != nil) != tt.fails {
			t.Errorf("%s: %t, %+v", tt.name, write, failed)
		}
		g.sent(t, "GET /collaborators/a%3Fb/permission")
	}
}

// GitHub has statuses and check runs, and lists earlier runs of a check in other suites, too
// (lewagon/wait-on-check-action#156). What was cancelled or waits for a person is no failure (Mergifyio/mergify#2503).
func TestChecksOfGitHub(t *testing.T) {
	run := func(name, status, conclusion, at string, more ...string) string {
		return fmt.Sprintf(`{"name":%q,"status":%q,"conclusion":%q,"started_at":%q,"app":{"id":1},"output":{"title":"T",`+
			`"summary":"S <!-- hidden -->","text":"a\u202eb"},"html_url":"javascript:x"%s}`,
			name, status, conclusion, at, strings.Join(more, ""))
	}
	const early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"
	for name, c := range map[string]struct {
		statuses, runs string
		want           []string
		all            int
	}{
		"nothing": {"", "", nil, 0},
		"a status": {
			`{"context":"ci","state":"failure"}`, run("a", "completed", "success", early), []string{"ci"}, 2,
		},
		"a status that waits":  {`{"context":"ci","state":"pending"}`, run("a", "completed", "failure", early), nil, 0},
		"a run that is queued": {"", run("a", "completed", "failure", early) + "," + run("b", "queued", "", ""), nil, 0},
		"runs": {"", run("a", "completed", "timed_out", early) + "," + run("b", "completed", "startup_failure", early) + "," +
			run("c", "completed", "cancelled", early) + "," + run("d", "completed", "action_required", early) + "," +
			run("e", "waiting", "", early) + "," + run("f", "completed", "neutral", early), []string{"a", "b"}, 6},
		"a later run of the same": {
			"", run("a", "completed", "success", late) + "," + run("a", "completed", "failure", early), nil, 1,
		},
		"an earlier run of the same": {
			"", run("a", "completed", "success", early) + "," + run("a", "completed", "failure", late), []string{"a"}, 1,
		},
		"a later run that waits for its machine": {
			"", run("a", "queued", "", "") + "," + run("a", "completed", "failure", early), nil, 0,
		},
		"the same name of another app": {
			"", run("a", "completed", "success", late) + "," + run("a", "completed", "failure", early, `,"app":{"id":2}`),
			[]string{"a"},
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitHub(t, says(http.StatusOK, `{"state":"failure","statuses":[`+c.statuses+`]}`),
				says(http.StatusOK, `{"check_runs":[`+c.runs+`]}`))
			failed, all, problem := g.failedChecks(t.Context(), "o/r", strings.Repeat("a", 40))
			var names []string
			for _, one := range failed {
				names = append(names, one.Name)
				if one.Name != "ci" && (one.Text != "S \n\nab" || one.URL != "" || one.Summary != "T") {
					t.Errorf("got %+v", one)
				}
			}
			if diff := cmp.Diff(c.want, names); diff != "" || problem != nil || all != c.all {
				t.Errorf("all %d, %v (-want +got):\n%s", all, problem, diff)
			}
		})
	}
	t.Run("a token that may read no check runs", func(t *testing.T) {
		g := newGitHub(t, says(http.StatusOK, `{"statuses":[{"context":"ci","state":"error"}]}`),
			says(http.StatusForbidden, `{"message":"Resource not accessible by personal access token"}`))
		failed, all, problem := g.failedChecks(t.Context(), "o/r", strings.Repeat("a", 40))
		if problem != nil || len(failed) != 1 || all != 1 {
			t.Errorf("got %+v, %d, %v", failed, all, problem)
		}
	})
	t.Run("a token that may read no statuses", func(t *testing.T) {
		g := newGitHub(t, says(http.StatusForbidden, `{"message":"Resource not accessible by personal access token"}`),
			says(http.StatusOK, `{"check_runs":[`+run("a", "completed", "failure", early)+`]}`))
		failed, all, problem := g.failedChecks(t.Context(), "o/r", strings.Repeat("a", 40))
		if problem != nil || len(failed) != 1 || all != 1 {
			t.Errorf("got %+v, %d, %v", failed, all, problem)
		}
	})
	t.Run("a forge that does not answer", func(t *testing.T) {
		g := newGitHub(t, says(http.StatusOK, `{"statuses":[{"context":"ci","state":"error"}]}`),
			says(http.StatusBadGateway, ``))
		if failed, _, problem := g.failedChecks(t.Context(), "o/r", strings.Repeat("a", 40)); problem == nil {
			t.Errorf("got %+v", failed)
		}
	})
}

// A Gitea may allow fewer on a page than were asked for, and says how many there are.
func TestPagesOfChecks(t *testing.T) {
	page := func(name, state string) http.HandlerFunc {
		return says(http.StatusOK, `{"statuses":[{"context":"`+name+`","state":"`+state+`"}]}`, "X-Total-Count: 2")
	}
	g := newGitHub(t, page("a", "success"), page("b", "failure"), says(http.StatusOK, `{"check_runs":[]}`))
	failed, all, problem := g.failedChecks(t.Context(), "o/r", strings.Repeat("a", 40))
	if problem != nil || all != 2 || len(failed) != 1 {
		t.Errorf("got %+v, %d, %v", failed, all, problem)
	}
}
