package run

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// DefaultStallAfter is how long a run works without an event before it has stalled.
const DefaultStallAfter = 10 * time.Minute

// AnnounceStallsEvery is how often each server calls [Executions.AnnounceStalls]. A stall is announced within a
// minute of its deadline.
const AnnounceStallsEvery = 5 * time.Second

// AnnounceStalls marks the runs that work and have had no event for too long, each once, and cancels
// some, as their environments and the server say. Each server does it, every
// [AnnounceStallsEvery]. A heartbeat of a worker is not an event.
func (s *Executions) AnnounceStalls(ctx context.Context, now penstock.Time) error {
	return share.Sweep(leaseBatch, func(after store.QuietRun) ([]store.QuietRun, error) {
		return s.store.Executions.Quiet(ctx, now.Add(-penstock.MinStallAfter), after.ID, leaseBatch)
	}, func(q store.QuietRun) error {
		rule := q.Environment.StallRule(s.stall)
		if rule.After == 0 || !q.Unknown() && now.Sub(q.Since) < rule.After {
			return nil
		}
		if err := s.store.WriteReserved(ctx, func(tx *store.Tx) error {
			return s.announceStall(ctx, tx, q, rule, now)
		}); err != nil {
			return fmt.Errorf("announce that run %s has stalled: %w", q.ID, err)
		}
		return nil
	})
}

func (s *Executions) announceStall(
	ctx context.Context, tx *store.Tx, q store.QuietRun, rule penstock.StallRule, now penstock.Time,
) error {
	run, err := tx.Runs().Lock(ctx, q.ID)
	if err != nil {
		return err
	}
	if q.Unknown() {
		return tx.Runs().Noticed(ctx, q, now)
	}
	if run.Stalled, err = tx.Runs().Stall(ctx, q, q.Since.Add(rule.After)); err != nil || run.Stalled == nil {
		return err
	}
	if err := tx.Endpoints().AnnounceStall(ctx, run, q.LastSeq+1); err != nil {
		return err
	}
	s.log.Warn("a run has stalled", "run_id", run.ID, "since", run.Stalled.Since, "on_stall", rule.On)
	if rule.On != StallCancel {
		return nil
	}
	return cancelBecause(ctx, tx, run, map[string]any{"reason": "stalled"}, fmt.Sprintf(
		"Cancelled because the run had stalled: it worked for %s without an event. `stall_after` and `on_stall` of its "+
			"environment, or of the server, decide this.", rule.After,
	))
}

// What happens; the empty value is the one of the server.
const (
	StallAlert  penstock.OnStall = "alert"  // nothing
	StallCancel penstock.OnStall = "cancel" // the run is cancelled
)
