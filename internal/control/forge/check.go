package forge

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
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
func (c *Connections) probe(ctx context.Context, f penstock.Forge, t tokens, now penstock.Time) found {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	a := c.api(f, t.Token)
	result := found{status: penstock.ForgeConnected}
	bot, header, failed := a.user(ctx)
	if failed != nil && failed.kind != lacking {
		result.failed = failed
		result.status, result.problem = afterFailure(f, failed)
		return result
	}
	user := penstock.ForgeCheck{Name: "read:user", Passed: failed == nil}
	if failed != nil {
		user.Detail = failed.text
	} else {
		result.bot, result.expires = &bot, expiry(header)
	}
	result.checks = append(result.checks, user)
	c.tryReadToken(ctx, f, t, &result)
	if f.Provider == penstock.HostGitHub {
		result.checks = append(result.checks, classicScopes(header)...)
	} else {
		result.checks = append(result.checks, c.giteaScopes(ctx, f, t, bot.Login)...)
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
	return result
}

// tryReadToken asks the forge for the account of the token of runs, if there is one.
func (c *Connections) tryReadToken(ctx context.Context, f penstock.Forge, t tokens, result *found) {
	if t.ReadToken == "" {
		return
	}
	_, header, failed := c.api(f, t.ReadToken).user(ctx)
	check := penstock.ForgeCheck{Name: "read_token", Passed: failed == nil || failed.status == http.StatusForbidden}
	if !check.Passed {
		check.Detail, result.readRefused = failed.text, failed.kind == refused
	}
	result.checks = append(result.checks, check)
	if at := expiry(header); at != 0 && (result.expires == 0 || at < result.expires) {
		result.expires = at
	}
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
) (list []penstock.ForgeCheck) {
	nowhere := "/repos/" + url.PathEscape(cmp.Or(login, "penstock")) + "/" + penstock.NewUID()
	try := func(name, token, method, path string, want bool) {
		_, failed := c.api(f, token).call(ctx, method, path, struct{}{}, nil)
		check := penstock.ForgeCheck{Name: name, Passed: true}
		has := failed == nil || failed.status != http.StatusForbidden
		switch {
		case failed != nil && (failed.kind != lacking || want && !has):
			check.Passed, check.Detail = false, failed.text
		case !want && has:
			check.Passed, check.Detail = false, "the token of runs can write: give one that has only read permissions"
		}
		list = append(list, check)
	}
	try("write:repository", t.Token, http.MethodPost, nowhere+"/branches", true)
	try("write:issue", t.Token, http.MethodPost, nowhere+"/issues/1/comments", true)
	if t.ReadToken != "" {
		try("read_token read:repository", t.ReadToken, http.MethodGet, "/repos/search?limit=1", true)
		try("read_token reads only", t.ReadToken, http.MethodPost, nowhere+"/branches", false)
	}
	return list
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

// Checked is the result of a check.
type Checked struct {
	Forge  penstock.Forge        `json:"forge"`
	Checks []penstock.ForgeCheck `json:"checks"`
}

// Check asks the forge whether the connection can do what it needs, and stores the result.
func (c *Connections) Check(ctx context.Context, p penstock.Principal, uid string) (Checked, error) {
	row, err := c.find(ctx, p, uid)
	if err != nil {
		return Checked{}, err
	}
	result, now, err := c.tried(ctx, row)
	if err != nil {
		return Checked{}, err
	}
	names, err := c.contested(ctx, row)
	if err != nil {
		return Checked{}, err
	}
	if result.failed != nil {
		result.checks = []penstock.ForgeCheck{{Name: "api", Detail: result.failed.text}}
	}
	return access.Act(ctx, c.responses, p, func(tx *store.Tx) (Checked, error) {
		current, err := settle(ctx, tx, row, result, now)
		if err != nil {
			return Checked{}, err
		}
		checks, err := settleNames(ctx, tx, current, names)
		if err != nil {
			return Checked{}, err
		}
		if _, err := tx.Webhooks().Find(ctx, p.Team, "", row.UID); penstock.CodeOf(err) == penstock.CodeNotFound {
			checks = append(checks, penstock.ForgeCheck{
				Name: "secret", Detail: "It has no secret for events of the forge, and takes none: rotate its secret.",
			})
		} else if err != nil {
			return Checked{}, err
		}
		return Checked{c.present(current.Forge), append(slices.Clip(result.checks), checks...)}, nil
	})
}

// maxContested is how many names a check settles.
const maxContested = 20

// contested asks the forge which repositories have the names with which more than one has come.
func (c *Connections) contested(ctx context.Context, row store.ForgeRow) ([]store.RepositoryName, error) {
	names, err := c.store.Forges.Contested(ctx, row.UID, maxContested)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	t, err := c.open(row)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var settled []store.RepositoryName
	for _, name := range names {
		var found identity
		_, failed := c.api(row.Forge, t.Token).call(ctx, http.MethodGet, "/repos/"+name.Path, nil, &found)
		if failed == nil && found.ID > 0 {
			name.ID = found.ID
			settled = append(settled, name)
		}
	}
	return settled, nil
}

// settleNames gives names to the repositories that the forge has named.
func settleNames(
	ctx context.Context, tx *store.Tx, row store.ForgeRow, names []store.RepositoryName,
) (checks []penstock.ForgeCheck, err error) {
	for _, name := range names {
		changed, err := tx.Forges().Settle(ctx, row.Team, name, strings.ToLower(row.CloneURL(name.Path)))
		if err != nil {
			return nil, err
		}
		if changed {
			checks = append(checks, penstock.ForgeCheck{Name: name.Path, Detail: "Another repository than before has " +
				"this name, and nothing used its events. From now on, they count."})
		}
	}
	return checks, nil
}

// tried probes a connection with its own tokens.
func (c *Connections) tried(ctx context.Context, row store.ForgeRow) (found, penstock.Time, error) {
	now := penstock.Now()
	t, err := c.open(row)
	if err != nil {
		return found{}, now, err
	}
	return c.probe(ctx, row.Forge, t, now), now, nil
}

// settle stores the result of a check, unless the tokens have changed or were checked meanwhile.
func settle(
	ctx context.Context, tx *store.Tx, checked store.ForgeRow, result found, now penstock.Time,
) (store.ForgeRow, error) {
	row, err := tx.Forges().Lock(ctx, checked.Team, checked.UID)
	later := row.CheckedAt != checked.CheckedAt // a check that began after this one was faster
	if err != nil || later || !bytes.Equal(row.Sealed, checked.Sealed) {
		return row, err
	}
	apply(&row, result, now)
	return row, tx.Forges().Set(ctx, row)
}

// How often connections are checked.
const (
	checkEvery = time.Hour
	retryEvery = 5 * time.Minute // while something is wrong
	probeLimit = time.Minute     // for all requests of a check
	claimTime  = 2 * time.Minute // for the server that checks
	checkBatch = 20
)

// apply sets the result of a check.
func apply(row *store.ForgeRow, result found, now penstock.Time) {
	row.Status, row.Problem = result.status, result.problem
	row.DueAt = now.Add(retryEvery)
	if result.status == penstock.ForgeConnected {
		row.DueAt = now.Add(checkEvery)
	}
	if result.failed == nil {
		row.Bot, row.ExpiresAt = result.bot, result.expires
	}
	if result.failed == nil || result.failed.kind == refused {
		row.CheckedAt = now
	}
}

// ClearBranches forgets branches that no run has pushed for a year, and comments that were followed a month ago.
func (c *Connections) ClearBranches(ctx context.Context) error {
	now := penstock.Now()
	if err := c.store.Forges.ClearCommands(ctx, now.Add(-30*24*time.Hour), 10_000); err != nil {
		return err
	}
	return c.store.Forges.ClearBranches(ctx, now)
}

// CheckDue checks the connections whose time has come.
func (c *Connections) CheckDue(ctx context.Context) error {
	now := penstock.Now()
	due, err := c.store.Forges.Due(ctx, now, now.Add(claimTime), checkBatch)
	if err != nil {
		return err
	}
	var checking sync.WaitGroup
	for _, row := range due { // side by side: one that hangs delays no other
		checking.Go(func() { c.checkOne(ctx, row) })
	}
	checking.Wait()
	return ctx.Err()
}

func (c *Connections) checkOne(ctx context.Context, row store.ForgeRow) {
	result, now, err := c.tried(ctx, row)
	if err == nil {
		err = c.store.Write(ctx, func(tx *store.Tx) error {
			_, err := settle(ctx, tx, row, result, now)
			return err
		})
	}
	switch {
	case penstock.CodeOf(err) == penstock.CodeNotFound || ctx.Err() != nil: // deleted meanwhile, or the server stops
	case err != nil:
		c.log.Error("cannot check a connection", "forge_uid", row.UID, "error", err)
	case result.status != row.Status:
		c.log.Warn("a connection has changed", "forge_uid", row.UID, "name", row.Name, "status", result.status,
			"problem", result.problem)
	}
}
