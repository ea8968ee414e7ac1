package forge

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// How open pull requests are looked at. Each costs one to three requests in five minutes, unless it has more than 50
// checks, so a connection has 3,600 an hour at most. GitHub allows 5,000.
const (
	lookEvery = 5 * time.Minute
	lookMost  = 10 // of a connection, each time that [Connections.LookAtPulls] is called
)

// LookAtPulls asks forges whether pull requests are still open, so that one that a person has merged or closed gives
// its place to another, and whether the checks of the commit that a run has pushed have failed. It is called every
// 30 seconds.
func (c *Connections) LookAtPulls(ctx context.Context, checks ChecksFollower) error {
	now := penstock.Now()
	due, err := c.store.Forges.UnseenPulls(ctx, now.Add(-lookEvery), lookMost)
	if err != nil {
		return err
	}
	by := map[string][]store.SeenPull{}
	for _, pull := range due {
		by[pull.Connection] = append(by[pull.Connection], pull)
	}
	var looking sync.WaitGroup
	for connection, pulls := range by { // side by side: one that hangs delays no other
		looking.Go(func() {
			if err := c.look(ctx, pulls, checks, now); err != nil && ctx.Err() == nil {
				c.log.Error("cannot look at pull requests; trying again", "connection_uid", connection, "error", err)
			}
		})
	}
	looking.Wait()
	return ctx.Err()
}

// look asks one forge about pull requests until it does not answer.
func (c *Connections) look(
	ctx context.Context, pulls []store.SeenPull, checks ChecksFollower, now penstock.Time,
) error {
	row, err := c.store.Forges.Find(ctx, pulls[0].Team, pulls[0].Connection)
	gone := penstock.CodeOf(err) == penstock.CodeNotFound
	if err != nil && !gone {
		return err
	}
	var asking api
	if !gone {
		t, err := c.open(row)
		if err != nil {
			return err
		}
		asking = c.api(row.Forge, t.Token)
	}
	for _, pull := range pulls {
		claimed, err := c.store.Forges.ClaimPull(ctx, pull, now)
		if err != nil {
			return err
		}
		if !claimed {
			continue
		}
		pull.SeenAt = now
		found, open, failed := asking.isOpen(ctx, pull)
		if failed == nil && open {
			failed, err = c.lookAtChecks(ctx, asking, pull, found, checks)
		} else if !open {
			err = c.store.Forges.ClosePull(ctx, pull)
		}
		if err != nil {
			return err
		}
		if failed != nil && (failed.kind == noAnswer || failed.kind == refused) { // not what one pull request causes
			return c.store.Forges.PostponePulls(ctx, row.UID, now.Add(failed.wait))
		}
	}
	return nil
}

// lookAtChecks tells the run of a pull request if the checks of the commit that it has pushed last have failed. A
// commit of somebody else is their business.
func (c *Connections) lookAtChecks(
	ctx context.Context, asking api, row store.SeenPull, found pull, checks ChecksFollower,
) (*failure, error) {
	commit := found.HeadCommit
	if commit == "" || commit == row.Checked || found.Head != row.Branch {
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	if own, err := c.store.Forges.HasPushed(ctx, row.BranchOwner, row.Branch, commit); err != nil || !own {
		return nil, err
	}
	if waits, err := checks.Waits(ctx, row); err != nil || !waits {
		return nil, err
	}
	path, _ := asking.forge.PathOf(row.Repository)
	red, all, failed := asking.failedChecks(ctx, path, commit)
	if failed != nil || len(red) == 0 {
		return failed, nil
	}
	return nil, checks.Follow(ctx, FailedChecks{Pull: row, Path: path, Commit: commit, All: all, Failed: red})
}

// isOpen reports whether a pull request is open, as far as can be known: one of a connection that was deleted, or of
// a repository that the connection no longer has, counts no more. If the token may not read it, it is still open.
func (a api) isOpen(ctx context.Context, row store.SeenPull) (found pull, open bool, failed *failure) {
	path, has := a.forge.PathOf(row.Repository)
	if !has {
		return pull{}, false, nil
	}
	found, failed = a.readPull(ctx, path, row.Number)
	if failed != nil && failed.status == http.StatusNotFound {
		return pull{}, false, nil
	}
	return found, failed != nil || found.Open, failed
}
