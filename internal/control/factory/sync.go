package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// The pace of polling repositories. A replica that does not renew its lease in time loses it.
const (
	syncLease   = 15 * time.Second
	syncRenew   = 5 * time.Second
	syncWithin  = 15 * time.Minute // limit of one sync
	headTimeout = 30 * time.Second // limit of the request for its branch
	syncSlowest = 15 * time.Minute // longest interval for an unreadable repository
	syncsAtOnce = 16
	readsAtOnce = 4 // simultaneous reads of new commits
	syncNever   = 100 * 365 * 24 * time.Hour
)

// errSyncLost ends a sync if another replica has the factory now, or the factory was deleted.
var errSyncLost = errors.New("another replica is polling the repository, or the factory was deleted")

// HastenSyncs applies a shortened poll interval at the start.
func (s *Repositories) HastenSyncs(ctx context.Context) error {
	if s.gitPoll <= 0 || s.cache == nil {
		return nil
	}
	return s.store.Repositories.Hasten(ctx, 2*max(s.gitPoll, syncSlowest).Milliseconds())
}

// SyncRepositories starts to poll the repositories that are due, up to a limit. The polls
// continue after it returns.
func (s *Repositories) SyncRepositories(ctx context.Context) error {
	if s.cache == nil {
		return nil
	}
	room := 0
	for room < syncsAtOnce {
		select {
		case s.syncs <- struct{}{}:
			room++
			continue
		default:
		}
		break
	}
	var rows []store.RepositoryRow
	var err error
	if room > 0 {
		rows, err = s.store.Repositories.Claim(ctx, room, syncLease.Milliseconds())
	}
	for range room - len(rows) {
		<-s.syncs
	}
	for _, row := range rows {
		s.syncing.Go(func() {
			defer func() { <-s.syncs }()
			s.syncOne(ctx, row)
		})
	}
	return err
}

// syncOne polls one repository under the lease of row, and applies a new commit.
func (s *Repositories) syncOne(ctx context.Context, row store.RepositoryRow) {
	working, cancel := context.WithCancelCause(ctx)
	working, end := context.WithTimeoutCause(working, syncWithin, fmt.Errorf("it took more than %s", syncWithin))
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		s.renewSync(working, row, cancel)
	}()
	err := s.look(working, row)
	end()
	cancel(nil)
	<-renewed
	switch {
	case err == nil || errors.Is(err, errSyncLost):
	case ctx.Err() != nil: // the server is stopping; the next one starts again
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = s.store.Repositories.Release(last, row) // its lease ends anyway
	default:
		s.log.Error("cannot store the sync result of a repository", "factory", row.FactoryUID, "error", err)
	}
}

// renewSync keeps the lease until ctx ends, and ends the work that has lost it.
func (s *Repositories) renewSync(ctx context.Context, row store.RepositoryRow, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(syncRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if held, err := s.store.Repositories.Renew(ctx, row, syncLease.Milliseconds()); err == nil && !held {
			cancel(errSyncLost)
			return
		}
	}
}

// look reads the head of the branch. It applies the commit if it has no result yet, or if the
// reasons of its rejection may have changed.
func (s *Repositories) look(ctx context.Context, row store.RepositoryRow) error {
	before := row
	row.CheckedAt = penstock.Now()
	source, err := s.source(ctx, row)
	var head git.Head
	if err == nil {
		asking, cancel := context.WithTimeoutCause(ctx, headTimeout, fmt.Errorf("it did not respond within %s", headTimeout))
		head, err = s.cache.Head(asking, source)
		cancel()
	}
	if err != nil {
		return s.failedSync(ctx, row, err)
	}
	row.Head = head.Branch
	retry := row.Result == store.CommitRejected &&
		(row.PollsRequested > row.PollsDone || row.Version != row.TeamVersion)
	if head.Commit == row.Commit && !retry {
		row.Problem, row.Failures = "", 0
		return s.finishSync(ctx, row, nil)
	}
	select {
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	snapshot, err := s.cache.Snapshot(ctx, source, head, windowOf(row))
	if detail, rejected := unreadable(row, err); rejected {
		snapshot.Commit.ID = cmp.Or(snapshot.Commit.ID, head.Commit)
		return s.rejectCommit(ctx, before, row, snapshot.Commit, detail, nil)
	}
	if err != nil {
		return s.failedSync(ctx, row, err)
	}
	return s.applySnapshot(ctx, before, row, snapshot)
}

// source returns the remote with its credential.
func (s *Repositories) source(ctx context.Context, row store.RepositoryRow) (git.Source, error) {
	source := git.Source{URL: row.URL, Ref: row.Branch}
	if row.Secret == "" {
		return source, nil
	}
	secret, err := s.store.Secrets.Find(ctx, row.Team, row.Secret)
	if err != nil {
		return source, err
	}
	value, err := s.secrets.Open(secret)
	if errors.Is(err, access.ErrPending) {
		return source, fmt.Errorf("the secret %s has no value", row.Secret)
	}
	if err != nil {
		return source, err
	}
	s.secrets.MarkGranted(store.SecretKey{Team: row.Team, Name: row.Secret})
	source.Password = strings.TrimSpace(value)
	if user, password, both := strings.Cut(source.Password, ":"); both {
		source.Username, source.Password = user, password
	}
	return source, nil
}

// windowOf returns which files of a repository are read: only those that a factory may have,
// and no more than needed to reject too many.
func windowOf(row store.RepositoryRow) git.Window {
	var strays definition.Strays
	return git.Window{
		Space: row.Team, Path: row.Path, Max: definition.MaxFiles + 1, Bytes: definition.MaxBytes,
		List: func(path string) bool {
			known, _ := definition.Concerns(path)
			note, _ := strays.Note(path, true)
			return known || note != nil
		},
		Read: func(path string) bool { _, read := definition.Concerns(path); return read },
	}
}

// unreadable returns why no replica can apply a commit.
func unreadable(row store.RepositoryRow, err error) (detail string, rejected bool) {
	switch {
	case errors.Is(err, git.ErrNoFolder):
		return fmt.Sprintf("it has no folder %q", row.Path), true
	case errors.Is(err, git.ErrManyFiles):
		return fmt.Sprintf(
			"it has far more than %d files, the maximum of a factory: set path to the folder of the factory",
			definition.MaxFiles,
		), true
	case errors.Is(err, git.ErrTooLarge):
		return "it is too large for this server: put the factory into a smaller repository", true
	}
	return "", false
}

// failedSync stores why a repository cannot be read. The active files stay, and the repository
// is polled again at growing intervals.
func (s *Repositories) failedSync(ctx context.Context, row store.RepositoryRow, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSyncLost) || errors.Is(cause, context.Canceled) {
		return cause
	} else if cause != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), syncRenew)
		defer cancel()
	}
	problem := err.Error()
	if known, ok := errors.AsType[*penstock.Error](err); ok {
		problem = known.Explain()
	}
	if problem != row.Problem {
		s.log.Warn(
			"cannot read the repository of a factory; the factory keeps its active "+
				"files", "factory", row.FactoryUID, "repository",
			row.URL, "problem", problem,
		)
	}
	row.Problem = problem
	row.Failures++
	return s.finishSync(ctx, row, nil)
}

// finishSync stores the result, and releases the repository.
func (s *Repositories) finishSync(ctx context.Context, row store.RepositoryRow, commit *store.CommitRow) error {
	return s.store.Write(ctx, func(tx *store.Tx) error { return s.endSync(ctx, tx, row, commit) })
}

func (s *Repositories) endSync(
	ctx context.Context, tx *store.Tx, row store.RepositoryRow, commit *store.CommitRow,
) error {
	held, err := tx.Repositories().Finish(ctx, row, s.nextLook(row).Milliseconds())
	if err == nil && !held {
		err = errSyncLost
	}
	if err != nil || commit == nil {
		return err
	}
	err = tx.Repositories().AddCommit(ctx, row.FactoryUID, *commit)
	if err != nil || commit.Result != store.CommitRejected {
		return err
	}
	return tx.Endpoints().Announce(ctx, row.Team, store.Announcement{
		Type: store.EventDefinitionRejected, At: commit.CreatedAt, Path: "/api/v1/factory/" + row.FactoryUID,
		Data: penstock.EndpointData{FactoryUID: row.FactoryUID, Commit: commit.ID, Revision: commit.Revision},
	})
}

// nextLook returns the time until the next poll. It is randomized, so that repositories are not
// all polled together.
func (s *Repositories) nextLook(row store.RepositoryRow) time.Duration {
	poll := s.gitPoll
	if poll <= 0 {
		return syncNever
	}
	if row.Failures > 0 {
		poll = max(poll, min(poll<<min(row.Failures, 10), syncSlowest))
	}
	return time.Duration(float64(poll) * (0.9 + 0.2*rand.Float64()))
}

// EvictMirrors removes unused mirrors, of factories and environments, which share one folder.
func (s *Repositories) EvictMirrors(ctx context.Context) error {
	if s.cache == nil {
		return nil
	}
	n, err := s.cache.Evict(ctx, git.Unused)
	if n > 0 {
		s.log.Info("unused repository mirrors removed", "mirrors", n)
	}
	return err
}

// Wait waits for active syncs.
func (s *Repositories) Wait() { s.syncing.Wait() }
