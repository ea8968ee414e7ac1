package forge

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// How open pull requests are looked at. Each costs one request in five minutes, and a connection at most 1,200 an
// hour. GitHub allows 5,000.
const (
	lookEvery = 5 * time.Minute
	lookBatch = 200
	lookMost  = 10 // of a connection, each time that [Connections.LookAtPulls] is called
)

// LookAtPulls asks forges whether the pull requests of factories are still open, so that one that a person has merged
// or closed gives its place to another. It is called every 30 seconds.
func (c *Connections) LookAtPulls(ctx context.Context) error {
	now := penstock.Now()
	due, err := c.store.Forges.UnseenPulls(ctx, now.Add(-lookEvery), lookBatch)
	if err != nil {
		return err
	}
	by := map[string][]store.SeenPull{}
	for _, pull := range due {
		if len(by[pull.Connection]) < lookMost {
			by[pull.Connection] = append(by[pull.Connection], pull)
		}
	}
	var looking sync.WaitGroup
	for connection, pulls := range by { // side by side: one that hangs delays no other
		looking.Go(func() {
			if err := c.look(ctx, pulls, now); err != nil && ctx.Err() == nil {
				c.log.Error("cannot look at pull requests; trying again", "connection_uid", connection, "error", err)
			}
		})
	}
	looking.Wait()
	return ctx.Err()
}

// look asks one forge about pull requests until it does not answer.
func (c *Connections) look(ctx context.Context, pulls []store.SeenPull, now penstock.Time) error {
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
		open, failed := asking.isOpen(ctx, pull)
		if failed != nil && failed.kind != lacking {
			return c.store.Forges.PostponePulls(ctx, row.UID, now.Add(max(0, failed.wait-lookEvery)))
		}
		if open {
			continue
		}
		if err := c.store.Forges.ClosePull(ctx, pull); err != nil {
			return err
		}
	}
	return nil
}

// isOpen reports whether a pull request is open, as far as can be known: one of a connection that was deleted, or of
// a repository that the connection no longer has, counts no more. If the token may not read it, it is still open.
func (a api) isOpen(ctx context.Context, pull store.SeenPull) (bool, *failure) {
	path, has := a.forge.PathOf(pull.Repository)
	if !has {
		return false, nil
	}
	found, failed := a.readPull(ctx, path, pull.Number)
	if failed != nil && failed.status == http.StatusNotFound {
		return false, nil
	}
	return failed != nil || found.Open, failed
}
