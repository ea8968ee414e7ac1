package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// found is the result of a check.
type found struct {
	bot     *penstock.ForgeBot // nil: the forge did not name it
	status  penstock.ForgeStatus
	problem string
	expires penstock.Time
	checks  []penstock.ForgeCheck
	failed  *failure // of the first call

	readRefused bool // the forge does not know the token of runs
}

// warnBefore is how long before the end of its token a connection is degraded.
const warnBefore = 14 * 24 * time.Hour

// probe asks a forge whether the tokens can do what a connection needs. It writes nothing: the write
// permissions are tried with a repository that does not exist.
func (c *Connections) probe(ctx context.Context, f penstock.Forge, t tokens, now penstock.Time) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	a := c.api(f, t.Token)
	result := found{status: penstock.ForgeConnected}
	bot, header, err := a.user(ctx)
	var failed *failure
	if err != nil && !errors.As(err, &failed) {
		return result, err
	}
	if failed != nil && failed.kind != lacking {
		result.failed = failed
		result.status, result.problem = afterFailure(f, failed)
		return result, nil
	}
	user := penstock.ForgeCheck{Name: "read:user", Passed: failed == nil}
	if failed != nil {
		user.Detail = failed.text
	} else {
		result.bot, result.expires = &bot, expiry(header)
	}
	result.checks = append(result.checks, user)
	if err := c.tryReadToken(ctx, f, t, &result); err != nil {
		return result, err
	}
	if f.Provider == penstock.HostGitHub {
		result.checks = append(result.checks, classicScopes(header)...)
	} else {
		more, err := c.giteaScopes(ctx, f, t, bot.Login)
		if err != nil {
			return result, err
		}
		result.checks = append(result.checks, more...)
	}
	if i := slices.IndexFunc(result.checks, func(k penstock.ForgeCheck) bool { return !k.Passed }); i >= 0 {
		result.status = penstock.ForgeDegraded
		if result.readRefused { // runs have no other
			result.status = penstock.ForgeRevoked
		}
		result.problem = result.checks[i].Name + ": " + result.checks[i].Detail
	} else if result.expires != 0 && result.expires < now.Add(warnBefore) {
		result.status = penstock.ForgeDegraded
		result.problem = "The token expires on " + result.expires.Std().UTC().Format(time.DateOnly) + "."
	}
	return result, nil
}

// tryReadToken asks the forge for the account of the token of runs, if there is one.
func (c *Connections) tryReadToken(ctx context.Context, f penstock.Forge, t tokens, result *found) error {
	if t.ReadToken == "" {
		return nil
	}
	_, header, err := c.api(f, t.ReadToken).user(ctx)
	var failed *failure
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	check := penstock.ForgeCheck{Name: "read_token", Passed: failed == nil || failed.status == http.StatusForbidden}
	if !check.Passed {
		check.Detail, result.readRefused = failed.text, failed.kind == refused
	}
	result.checks = append(result.checks, check)
	if at := expiry(header); at != 0 && (result.expires == 0 || at < result.expires) {
		result.expires = at
	}
	return nil
}

// afterFailure returns the status of a connection whose forge gave no usable answer.
func afterFailure(f penstock.Forge, failed *failure) (penstock.ForgeStatus, string) {
	text := fmt.Sprintf("%s: %s.", f.URL, failed.text)
	switch {
	case failed.kind == refused:
		return penstock.ForgeRevoked, text + " Give the connection a new token."
	case f.CheckedAt == 0:
		return penstock.ForgePending, text
	case f.Status == penstock.ForgeRevoked:
		return f.Status, f.Problem // still, as far as is known
	}
	return penstock.ForgeDegraded, text
}

// giteaScopes tries the scopes of a token of Gitea. It answers 403 and the scope before it looks for a
// repository.
func (c *Connections) giteaScopes(
	ctx context.Context, f penstock.Forge, t tokens, login string,
) (list []penstock.ForgeCheck, err error) {
	nowhere := "/repos/" + url.PathEscape(cmp.Or(login, "penstock")) + "/" + penstock.NewUID()
	try := func(name, token, method, path string, want bool) error {
		_, err := c.api(f, token).call(ctx, method, path, struct{}{}, nil)
		var failed *failure
		if err != nil && !errors.As(err, &failed) {
			return err
		}
		check := penstock.ForgeCheck{Name: name, Passed: true}
		has := failed == nil || failed.status != http.StatusForbidden
		switch {
		case failed != nil && failed.kind != lacking:
			check.Passed, check.Detail = false, failed.text
		case want && !has:
			check.Passed, check.Detail = false, failed.text
		case !want && has:
			check.Passed, check.Detail = false, "the token of runs can write: give one that has only read permissions"
		}
		list = append(list, check)
		return nil
	}
	steps := []func() error{
		func() error {
			return try("write:repository", t.Token, http.MethodPost, nowhere+"/branches", true)
		},
		func() error {
			return try("write:issue", t.Token, http.MethodPost, nowhere+"/issues/1/comments", true)
		},
	}
	if t.ReadToken != "" {
		steps = append(steps, func() error {
			return try("read_token read:repository", t.ReadToken, http.MethodGet, "/repos/search?limit=1", true)
		}, func() error {
			return try("read_token reads only", t.ReadToken, http.MethodPost, nowhere+"/branches", false)
		})
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// classicScopes reads the scopes that GitHub reports for a classic token. A fine-grained one reports none:
// GitHub refuses what it may not do.
func classicScopes(header http.Header) []penstock.ForgeCheck {
	text := header.Get("X-Oauth-Scopes")
	if text == "" {
		return nil
	}
	check := penstock.ForgeCheck{Name: "repo", Passed: true}
	if !slices.ContainsFunc(strings.Split(text, ","), func(s string) bool { return strings.TrimSpace(s) == "repo" }) {
		check.Passed, check.Detail = false, "the token lacks the scope repo"
	}
	return []penstock.ForgeCheck{check}
}

// expiry reads when GitHub says that a token expires.
func expiry(header http.Header) penstock.Time {
	text := header.Get("Github-Authentication-Token-Expiration")
	for _, layout := range []string{"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if at, err := time.Parse(layout, text); err == nil {
			return penstock.TimeOf(at)
		}
	}
	return 0
}
