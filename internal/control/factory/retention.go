package factory

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// ClearLogs removes old entries from all logs. It keeps the newest entries of each outcome, and
// all entries below the age limit.
func (s *Deliveries) ClearLogs(ctx context.Context) error {
	limits := s.limits
	if limits.KeepDeliveriesFor <= 0 {
		return nil
	}
	since := penstock.Now().Add(-limits.KeepDeliveriesFor)
	return s.eachLog(ctx, since, func(l store.Log) error {
		keep := store.Keep{Newest: limits.KeepDeliveries, Since: since}
		if l.Deleted {
			keep.Newest = 0 // nobody can see them
		}
		for _, outcome := range penstock.Outcomes() {
			if err := share.ClearInBatches(
				ctx, func() (int, error) {
					return s.store.Deliveries.ClearLog(ctx, l.WebhookUID, outcome, keep, share.BatchSize)
				},
			); err != nil {
				return err
			}
		}
		return nil
	})
}

// ClearCounts removes old counts and senders.
func (s *Deliveries) ClearCounts(ctx context.Context) error {
	err := share.ClearInBatches(ctx, func() (int, error) {
		return s.store.Deliveries.ClearIdentities(ctx, share.BatchSize)
	})
	if err != nil {
		return err
	}
	return s.eachLog(ctx, 0, func(l store.Log) error { return s.store.Deliveries.ClearCounts(ctx, l) })
}

// eachLog visits all logs, or only those with entries older than a time.
func (s *Deliveries) eachLog(ctx context.Context, before penstock.Time, do func(store.Log) error) error {
	const logs = 200
	return share.Sweep(logs, func(after store.Log) ([]store.Log, error) {
		return s.store.Deliveries.Logs(ctx, after.WebhookUID, before, logs)
	}, func(l store.Log) error {
		if err := do(l); err != nil {
			return fmt.Errorf("the log of webhook %s: %w", l.WebhookUID, err)
		}
		return nil
	})
}
