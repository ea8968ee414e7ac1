package delivery

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/batch"
	"github.com/penstock-dev/penstock/internal/store"
)

// ClearLogs removes from all logs what need not be kept: of each outcome the
// newest entries stay, and all that are young enough.
func (s *Deliveries) ClearLogs(ctx context.Context) error {
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
			if err := batch.Clear(
				ctx, func() (int, error) { return s.store.ClearLog(ctx, l.WebhookUID, outcome, keep, batch.Size) },
			); err != nil {
				return err
			}
		}
		return nil
	})
}

// ClearCounts removes what was counted and noted beside the logs and nobody asks
// for any more.
func (s *Deliveries) ClearCounts(ctx context.Context) error {
	err := batch.Clear(ctx, func() (int, error) { return s.store.ClearIdentities(ctx, batch.Size) })
	if err != nil {
		return err
	}
	return s.eachLog(ctx, 0, func(l store.Log) error { return s.store.ClearCounts(ctx, l) })
}

// eachLog goes through the logs, or those that have entries from before a moment.
func (s *Deliveries) eachLog(ctx context.Context, before penstock.Time, do func(store.Log) error) error {
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
