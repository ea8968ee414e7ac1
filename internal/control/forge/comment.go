package forge

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// comment is a comment in the thread of an issue or a pull request.
type comment struct {
	ID  int64
	URL string
}

// writtenJSON is a comment or an issue as the forges send it.
type writtenJSON struct {
	ID      int64  `json:"id"`
	Number  int64  `json:"number"`
	HTMLURL string `json:"html_url"`
	Body    string `json:"body"`
	User    *struct {
		ID int64 `json:"id"`
	} `json:"user"` // nil: the account was deleted
}

// by reports whether an account has written a text that ends with a marker. An agent may write one elsewhere, as code.
func (w writtenJSON) by(bot int64, marker string) bool {
	return bot > 0 && w.User != nil && w.User.ID == bot && marker != "" &&
		strings.HasSuffix(strings.TrimSpace(w.Body), marker)
}

func (a api) comment(path string, n int64, w writtenJSON) (comment, *failure) {
	if w.ID <= 0 {
		return comment{}, a.odd()
	}
	usual := "issues/" + number(n) + "#issuecomment-" + number(w.ID)
	return comment{w.ID, a.address(w.HTMLURL, path, usual)}, nil
}

// addComment comments on an issue or a pull request.
func (a api) addComment(ctx context.Context, path string, n int64, body string) (comment, *failure) {
	var created writtenJSON
	_, failed := a.in(ctx, http.MethodPost, path, []string{"issues", number(n), "comments"}, nil,
		map[string]string{"body": body}, &created)
	if failed != nil {
		return comment{}, failed
	}
	return a.comment(path, n, created)
}

// ownComment finds the comment with a marker that an earlier try may have written.
func (a api) ownComment(ctx context.Context, path string, n int64, marker string) (comment, bool, *failure) {
	if a.forge.Bot == nil {
		return comment{}, false, &failure{kind: noAnswer, text: "its account is not known yet"}
	}
	return a.findComment(ctx, path, n, marker, a.forge.Bot.ID)
}

// findComment finds the comment of the account bot that contains a marker. It reads at most the newest 2,000 and the
// oldest 100.
func (a api) findComment(
	ctx context.Context, path string, n int64, marker string, bot int64,
) (found comment, has bool, failed *failure) {
	segments := []string{"issues", number(n), "comments"}
	first, last, failed := a.comments(ctx, path, segments, 1, "")
	if failed != nil && failed.long && a.forge.Provider == penstock.HostGitea { // which has no pages of them
		since := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
		first, _, failed = a.comments(ctx, path, segments, 1, since)
		last = 1
	}
	for page := last; failed == nil && page >= 1; page-- { // the oldest are on the first page
		list := first
		if last-page >= searchPages {
			page = 1
		}
		if page > 1 {
			list, _, failed = a.comments(ctx, path, segments, page, "")
		}
		for i := len(list) - 1; failed == nil && i >= 0; i-- {
			if list[i].by(bot, marker) {
				found, failed = a.comment(path, n, list[i])
				return found, failed == nil, failed
			}
		}
	}
	return comment{}, false, failed
}

var lastLink = penstock.LazyRegexp(`<[^>]*[?&]page=([0-9]{1,6})(?:&[^>]*)?>; rel="last"`)

// comments reads a page of comments, from old to new, and the number of the last page.
func (a api) comments(
	ctx context.Context, path string, segments []string, page int, since string,
) (list []writtenJSON, last int, failed *failure) {
	query := url.Values{"per_page": {"100"}, "page": {strconv.Itoa(page)}}
	if since != "" {
		query.Set("since", since)
	}
	header, failed := a.in(ctx, http.MethodGet, path, segments, query, nil, &list)
	last = page
	if header != nil {
		if found := lastLink().FindStringSubmatch(header.Get("Link")); found != nil {
			n, _ := strconv.Atoi(found[1])
			last = max(n, page)
		}
	}
	return list, last, failed
}
