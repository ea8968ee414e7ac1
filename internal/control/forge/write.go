package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/penstock-dev/penstock"
)

const (
	maxWait     = time.Hour
	maxProblems = 20
	maxTitle    = 255       // characters; GitHub refuses 257, Gitea 256
	maxBody     = 256 << 10 // bytes of a text of a forge: GitHub stores 65,536 characters
	fewer       = 5         // items of a page, if a page of [pageSize] is too long
	searchPages = 20        // of a search for something that was written
)

// problem is one of the errors of a 422 of GitHub.
type problem struct {
	Resource string `json:"resource"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

// UnmarshalJSON accepts what is no object, too: GitHub sends some errors as a text.
func (p *problem) UnmarshalJSON(text []byte) error {
	type fields problem
	var f fields
	if json.Unmarshal(text, &f) == nil {
		*p = problem(f)
	}
	return nil
}

// exists reports whether a write was refused because the thing exists already.
func (f *failure) exists() bool { return f != nil && f.taken }

// explain adds to a failure what a response says about it.
func (a api) explain(f *failure, header http.Header, text []byte) {
	if f.kind == noAnswer {
		f.wait = waitOf(header, time.Now())
	}
	switch {
	case f.status == http.StatusConflict:
		f.taken = a.forge.Provider == penstock.HostGitea
	case f.status == http.StatusUnprocessableEntity && a.forge.Provider == penstock.HostGitHub:
		var body struct {
			Errors []problem `json:"errors"`
		}
		_ = json.Unmarshal(text, &body)
		f.problems = body.Errors[:min(len(body.Errors), maxProblems)]
		// A pull request that exists has the code "custom", as has one without commits.
		f.taken = slices.ContainsFunc(f.problems, func(p problem) bool {
			return p.Code == "already_exists" ||
				p.Code == "custom" && strings.HasPrefix(p.Message, "A pull request already exists")
		})
	}
}

// waitOf returns for how long a forge that limits requests wants none. The reset of a limit counts only if nothing
// remains of it: otherwise another limit was exceeded (devops-thiago/ThrillhouseBot#723).
func waitOf(header http.Header, now time.Time) time.Duration {
	var wait time.Duration
	if text := header.Get("Retry-After"); text != "" {
		if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
			wait = time.Duration(min(max(seconds, 0), int64(maxWait/time.Second))) * time.Second
		} else if at, err := http.ParseTime(text); err == nil {
			wait = at.Sub(now)
		}
	} else if header.Get("X-Ratelimit-Remaining") == "0" {
		if at, err := strconv.ParseInt(header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
			wait = time.Unix(at, 0).Sub(now)
		}
	}
	return min(max(wait, 0), maxWait)
}

// in calls the API of a repository, with the segments of a path below it.
func (a api) in(
	ctx context.Context, method, path string, segments []string, query url.Values, body, out any,
) (http.Header, *failure) {
	if problem := penstock.CheckForgePath(path); problem != "" {
		return nil, &failure{kind: foreign, text: "the path of the repository " + problem}
	}
	parts := []string{"/repos", path}
	for _, s := range segments {
		parts = append(parts, url.PathEscape(s))
	}
	at := strings.Join(parts, "/")
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	header, failed := a.call(ctx, method, at, body, out)
	if failed != nil && failed.status >= 300 && failed.status < 400 {
		failed.kind = lacking
		failed.text = fmt.Sprintf("the repository %s was renamed or moved (%d): use its new path", path, failed.status)
	}
	return header, failed
}

// pages calls read with the items of a list until it returns true, a page is empty, or limit pages were read.
func (a api) pages(
	ctx context.Context, path string, segments []string, query url.Values, limit int, read func(json.RawMessage) bool,
) *failure {
	var before string // the first item of the last page
	size := pageSize
	for page := 1; page <= limit; page++ {
		query.Set("page", strconv.Itoa(page))
		query.Set("limit", strconv.Itoa(size))
		query.Set("per_page", strconv.Itoa(size))
		var list []json.RawMessage
		_, failed := a.in(ctx, http.MethodGet, path, segments, query, nil, &list)
		if failed != nil && failed.long && size > fewer { // Gitea does not limit texts
			page, size = 0, fewer
			continue
		}
		if failed != nil {
			return failed
		}
		if len(list) == 0 || string(list[0]) == before { // some lists have no pages
			return nil
		}
		before = string(list[0])
		if slices.ContainsFunc(list, read) {
			return nil
		}
	}
	return nil
}

// odd is the failure of a response whose form or values the API does not have.
func (a api) odd() *failure {
	return &failure{kind: foreign, text: fmt.Sprintf("it does not answer as the API of %s", a.forge.Provider)}
}

// address returns the URL of a page of a repository: the one that the forge names if it is below the repository, or
// else the one that such a page has.
func (a api) address(named, path, usual string) string {
	base := strings.TrimSuffix(a.forge.URL, "/") + "/" + path + "/"
	printable := !strings.ContainsFunc(named, func(r rune) bool {
		return r <= ' ' || r > unicode.MaxASCII || strings.ContainsRune("\"'<>()[]`\\{}|^@?", r)
	})
	if len(named) <= maxURL && len(named) > len(base) && strings.EqualFold(named[:len(base)], base) && printable &&
		!strings.Contains(named[len(base):], "..") {
		return named
	}
	return base + usual
}

// line bounds a text of a forge that has one line.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(visible(text)), " ")
	return cut(text, limit)
}

// cut returns the first characters of a text.
func cut(text string, characters int) string {
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// branch returns the name of a branch, or "" if no branch can have it.
func branch(name string) string {
	if !plain(name) || strings.ContainsAny(name, " ~^:?*[\\") {
		return ""
	}
	return name
}

// defaultBranch returns the branch that a repository is cloned at.
func (a api) defaultBranch(ctx context.Context, path string) (string, *failure) {
	var found struct {
		DefaultBranch string `json:"default_branch"`
	}
	if _, failed := a.in(ctx, http.MethodGet, path, nil, nil, nil, &found); failed != nil {
		return "", failed
	}
	name := branch(found.DefaultBranch)
	if name == "" {
		return "", a.odd()
	}
	return name, nil
}

// number reads the path segment of an issue or a pull request.
func number(n int64) string { return strconv.FormatInt(n, 10) }
