package service

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
)

// clearAtOnce is how many entries of a log are removed in one transaction:
// deliveries that come meanwhile wait for it.
const clearAtOnce = 100

// clearLogs removes from all logs what need not be kept: of each outcome the
// newest entries stay, and all that are young enough.
func (s *Service) clearLogs(ctx context.Context) error {
	limits := s.limits
	if limits.KeepDeliveriesFor <= 0 {
		return nil
	}
	since := penstock.Now().Add(-limits.KeepDeliveriesFor)
	return s.eachLog(ctx, since, func(l store.Log) error {
		keep := store.Keep{Newest: limits.KeepDeliveries, Since: since}
		if l.Deleted {
			keep.Newest = 0 // nobody can look at them
		}
		for _, outcome := range penstock.Outcomes() {
			if err := clearAll(ctx, func() (int, error) { return s.store.ClearLog(ctx, l.WebhookUID, outcome, keep, clearAtOnce) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeOldRuns removes the runs that have been over for long, each in a transaction
// of its own: one may have tens of thousands of events.
func (s *Service) removeOldRuns(ctx context.Context) error {
	if s.keepRunsFor <= 0 {
		return nil
	}
	before, removed := penstock.Now().Add(-s.keepRunsFor), 0
	defer func() {
		if removed > 0 {
			s.log.Info("old runs were removed", "runs", removed, "unchanged_since", before)
		}
	}()
	return clearAll(ctx, func() (int, error) {
		old, err := s.store.OldRuns(ctx, before, clearAtOnce)
		for _, id := range old {
			if err := s.removeRun(ctx, id, before); err != nil {
				return 0, err
			}
			removed++
		}
		return len(old), err
	})
}

// removeRun removes the files after the rows: what a crash in between leaves is only
// space.
func (s *Service) removeRun(ctx context.Context, id string, before penstock.Time) error {
	var blobs []string
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		blobs, err = tx.RemoveRun(ctx, id, before)
		return err
	})
	for _, key := range blobs {
		if err == nil {
			s.dropBlob(ctx, key)
		}
	}
	return err
}

// clearTallies removes what was counted and noted beside the logs and nobody asks
// for any more.
func (s *Service) clearTallies(ctx context.Context) error {
	err := clearAll(ctx, func() (int, error) { return s.store.ClearIdentities(ctx, clearAtOnce) })
	if err != nil {
		return err
	}
	return s.eachLog(ctx, 0, func(l store.Log) error { return s.store.ClearTallies(ctx, l) })
}

// eachLog goes through the logs, or those that have entries from before a moment.
func (s *Service) eachLog(ctx context.Context, before penstock.Time, do func(store.Log) error) error {
	const logs = 200
	after := ""
	for {
		list, err := s.store.Logs(ctx, after, before, logs)
		if err != nil {
			return err
		}
		for _, l := range list {
			if err := do(l); err != nil {
				return err
			}
			after = l.WebhookUID
		}
		if len(list) < logs {
			return nil
		}
	}
}

// clearAll clears until there is no more, and takes at most a quarter of the time
// for it.
func clearAll(ctx context.Context, some func() (int, error)) error {
	for {
		start := time.Now()
		n, err := some()
		if err != nil || n < clearAtOnce {
			return err
		}
		if err := pause(ctx, 3*time.Since(start)); err != nil {
			return err
		}
	}
}
