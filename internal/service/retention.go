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
	limits := s.options.Webhooks
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

// clearTallies removes what was counted and noted beside the logs and nobody asks
// for any more.
func (s *Service) clearTallies(ctx context.Context) error {
	err := clearAll(ctx, func() (int, error) { return s.store.ClearIdentities(ctx, clearAtOnce) })
	if err != nil {
		return err
	}
	return s.eachLog(ctx, 0, func(l store.Log) error { return s.store.ClearTallies(ctx, l.WebhookUID) })
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(3 * time.Since(start)):
		}
	}
}
