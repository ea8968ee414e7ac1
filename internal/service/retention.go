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
// newest entries stay, and all that are young enough. It takes at most a quarter
// of the time for itself.
func (s *Service) clearLogs(ctx context.Context) error {
	limits := s.options.Webhooks
	if limits.KeepDeliveriesFor <= 0 {
		return nil
	}
	const logs = 200
	after := ""
	for {
		list, err := s.store.Logs(ctx, after, logs)
		if err != nil {
			return err
		}
		for _, l := range list {
			keep := store.Keep{Newest: limits.KeepDeliveries, Since: penstock.Now().Add(-limits.KeepDeliveriesFor)}
			if l.Deleted {
				keep.Newest = 0 // nobody can look at them
			}
			if err := s.clearLog(ctx, l, keep); err != nil {
				return err
			}
			after = l.WebhookUID
		}
		if len(list) < logs {
			return nil
		}
	}
}

func (s *Service) clearLog(ctx context.Context, l store.Log, keep store.Keep) error {
	for _, outcome := range penstock.Outcomes() {
		for {
			start := time.Now()
			n, err := s.store.ClearLog(ctx, l.WebhookUID, outcome, keep, clearAtOnce)
			if err != nil {
				return err
			}
			if n < clearAtOnce {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(3 * time.Since(start)):
			}
		}
	}
	return s.store.ClearTallies(ctx, l.WebhookUID)
}
