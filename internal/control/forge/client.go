package forge

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

const (
	callLimit   = 15 * time.Second
	maxResponse = 8 << 20
	pageSize    = 50 // Gitea allows no more by default
	maxListed   = 500
	maxPages    = 60
)

// api is the API of a forge with one token.
type api struct {
	http  *http.Client
	forge penstock.Forge
	token string
}

// failure says why a call of a forge gave no result. Its text never repeats what the forge has sent.
type failure struct {
	kind   failureKind
	text   string
	status int // 0: no response
	// wait is for how long the forge wants no requests, at most an hour. 0: it does not say, or wants them.
	wait     time.Duration
	problems []problem // that GitHub names with a 422
	taken    bool      // what should be created exists: see exists
	long     bool      // the response has more than maxResponse bytes
}

type failureKind int

const (
	noAnswer failureKind = iota // it may answer later
	refused                     // it refuses the token
	lacking                     // the token lacks a permission, or something does not exist
	foreign                     // it is not the API of the provider
)

// apiBase returns the URL of the API of a forge, without a slash at its end.
func apiBase(f penstock.Forge) string {
	base := strings.TrimSuffix(f.URL, "/")
	switch {
	case f.Provider == penstock.HostGitea:
		return base + "/api/v1"
	case base == "https://github.com":
		return "https://api.github.com"
	}
	return base + "/api/v3"
}

// call sends one request and decodes the response into out, which may be nil. A redirect is not followed:
// the token would go to where it leads.
func (a api) call(ctx context.Context, method, path string, body, out any) (http.Header, *failure) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, &failure{kind: foreign, text: "the request cannot be written"}
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, apiBase(a.forge)+path, content)
	if err != nil {
		return nil, &failure{kind: foreign, text: "the URL cannot be used"}
	}
	req.Header.Set("User-Agent", "Penstock")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.token)
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, &failure{kind: noAnswer, text: unreachable(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if failed := answered(resp, text, err); failed != nil {
		a.explain(failed, resp.Header, text)
		return resp.Header, failed
	}
	if out != nil && json.Unmarshal(text, out) != nil {
		return resp.Header, &failure{kind: foreign, text: a.notTheAPI(resp)}
	}
	return resp.Header, nil
}

// answered returns what a response says is wrong.
func answered(resp *http.Response, text []byte, broken error) *failure {
	status := resp.StatusCode
	fail := func(kind failureKind, format string, args ...any) *failure {
		return &failure{kind: kind, text: fmt.Sprintf(format, args...), status: status}
	}
	switch {
	case status == http.StatusUnauthorized:
		return fail(refused, "it refuses the token (401)")
	case status == http.StatusTooManyRequests || status >= 500 || limited(resp, text):
		return fail(noAnswer, "it answers %d", status)
	case status >= 300 && status < 400:
		return fail(foreign, "it redirects (%d): give the URL to which it leads", status)
	case status == http.StatusForbidden:
		return fail(lacking, "%s", lackingScope(text))
	case status >= 400:
		return fail(lacking, "it answers %d", status)
	case broken != nil:
		return fail(noAnswer, "its answer broke off")
	case len(text) > maxResponse:
		return &failure{kind: foreign, text: "its answer is too long", status: status, long: true}
	}
	return nil
}

// limited reports whether a 403 means that too many requests were sent, as on GitHub. For a secondary limit only
// the body may say so (hub4j/github-api#1805 and #2267).
func limited(resp *http.Response, text []byte) bool {
	if resp.StatusCode != http.StatusForbidden {
		return false
	}
	var body struct {
		Documentation string `json:"documentation_url"`
		Message       string `json:"message"`
	}
	_ = json.Unmarshal(text, &body)
	return resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-Ratelimit-Remaining") == "0" ||
		strings.Contains(body.Documentation, "secondary-rate-limits") ||
		strings.HasPrefix(body.Message, "You have exceeded a secondary rate limit")
}

var scopeNames = penstock.LazyRegexp(`required[^=\[]*=?\s*\[([a-z:, ]{1,200})\]`)

// lackingScope describes a 403. Gitea names the scopes that it wants.
func lackingScope(text []byte) string {
	if found := scopeNames().FindSubmatch(text); found != nil {
		return "the token lacks the permission " + string(found[1])
	}
	return "it refuses the request (403)"
}

func (a api) notTheAPI(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind == "text/html" {
		return fmt.Sprintf("it answers with a web page, not as the API of %s", a.forge.Provider)
	}
	return fmt.Sprintf("it does not answer as the API of %s", a.forge.Provider)
}

// unreachable explains a request without a response.
func unreachable(err error) string {
	var blocked *egress.BlockedError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &blocked):
		return "the name does not exist, or its address is not public; only the operator can open private networks " +
			"(--private-network)"
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority; the operator can add it (--ca-file)"
	case errors.As(err, &name):
		return "its certificate is for another host"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it did not answer within %s", callLimit)
	}
	return "it cannot be reached"
}

// user is the account of a token.
func (a api) user(ctx context.Context) (penstock.ForgeBot, http.Header, *failure) {
	var found struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
		Email string `json:"email"`
	}
	header, failed := a.call(ctx, http.MethodGet, "/user", nil, &found)
	absent := failed != nil && failed.kind == lacking && failed.status != http.StatusForbidden
	if absent || failed == nil && (found.ID <= 0 || penstock.CheckForgePath(found.Login+"/x") != "") {
		failed = &failure{kind: foreign, text: fmt.Sprintf("it does not answer as the API of %s", a.forge.Provider)}
	}
	if !plain(found.Email) {
		found.Email = ""
	}
	return penstock.ForgeBot{ID: found.ID, Login: found.Login, Email: found.Email}, header, failed
}

// plain reports whether a text of a forge can be stored and shown.
func plain(text string) bool {
	return len(text) <= 255 && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// repositories lists what the token can read, at most maxListed. more says that there are others.
func (a api) repositories(ctx context.Context) (list []penstock.ForgeRepository, more bool, failed *failure) {
	for page := 1; ; page++ {
		q := url.Values{"page": {strconv.Itoa(page)}, "limit": {strconv.Itoa(pageSize)}, "per_page": {strconv.Itoa(pageSize)}}
		var found []struct {
			ID            int64  `json:"id"`
			FullName      string `json:"full_name"`
			DefaultBranch string `json:"default_branch"`
			Private       bool   `json:"private"`
			Archived      bool   `json:"archived"`
			Permissions   struct {
				Push bool `json:"push"`
			} `json:"permissions"`
		}
		if _, failed := a.call(ctx, http.MethodGet, "/user/repos?"+q.Encode(), nil, &found); failed != nil {
			return nil, false, failed
		}
		before := len(list)
		for _, r := range found {
			same := func(known penstock.ForgeRepository) bool { return known.ID == r.ID }
			if penstock.CheckForgePath(r.FullName) != "" || !plain(r.DefaultBranch) || slices.ContainsFunc(list, same) {
				continue // moved to this page meanwhile
			}
			list = append(list, penstock.ForgeRepository{
				ID: r.ID, Path: r.FullName, URL: a.forge.CloneURL(r.FullName), DefaultBranch: r.DefaultBranch, Private: r.Private,
				Archived: r.Archived, Writable: r.Permissions.Push && !r.Archived,
			})
		}
		switch {
		case len(list) > maxListed:
			return list[:maxListed], true, nil
		case page == maxPages:
			return list, true, nil
		// A forge may give fewer than was asked for, so only an empty page is the last one. One that repeats
		// itself ends, too.
		case len(found) == 0 || len(list) == before:
			return list, false, nil
		}
	}
}
