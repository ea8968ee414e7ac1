package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Reserve implements penstock.Control.
func (c control) Reserve(
	ctx context.Context, l penstock.Lease, r penstock.Reservation,
) (penstock.Reserved, error) {
	if err := r.Check(); err != nil {
		return penstock.Reserved{}, err
	}
	reserved, err := c.s.store.Calls.Reserve(ctx, l, r)
	if err == nil {
		c.s.metrics.reservedCall(reserved)
	}
	return reserved, err
}

// Settle implements penstock.Control.
func (c control) Settle(ctx context.Context, l penstock.Lease, s penstock.Settlement) error {
	if err := s.Check(); err != nil {
		return err
	}
	var before, after store.Call
	err := c.s.store.Write(ctx, func(tx *store.Tx) (err error) {
		before, after, err = tx.Calls().Settle(ctx, l, s)
		if err != nil || before.State == after.State || after.State == store.CallUnsent {
			return err
		}
		return consume(ctx, tx, after)
	})
	if err != nil || before.State == after.State {
		return err
	}
	c.s.metrics.settledCall(before, after)
	if after.Exceeds(before) {
		c.s.log.Error("a call cost more than its upper bound", "run_id", l.RunID, "call", after.ID,
			"provider", after.Provider, "model", after.Model,
			"reserved_usd", penstock.USDOf(before.Cost), "cost_usd", penstock.USDOf(after.Cost),
			"reserved_tokens", before.Total(), "tokens", after.Total())
	}
	return nil
}

// abandonedAfter is how long after its reservation the settlement of a call may arrive, if its execution has
// ended.
const abandonedAfter = 24 * time.Hour

// SettleAbandoned counts calls as spent that nobody settles, because their worker died.
func (s *Executions) SettleAbandoned(ctx context.Context) error {
	before := penstock.Now().Add(-abandonedAfter)
	return share.Sweep(share.BatchSize, func(after store.Call) ([]store.Call, error) {
		return s.store.Calls.Abandoned(ctx, before, after, share.BatchSize)
	}, func(c store.Call) error {
		if err := s.settleAbandonedCall(ctx, c); err != nil {
			return fmt.Errorf("settle call %s, which is abandoned: %w", c.ID, err)
		}
		return nil
	})
}

func (s *Executions) settleAbandonedCall(ctx context.Context, c store.Call) error {
	var before, after store.Call
	var ok bool
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if before, after, ok, err = tx.Calls().Abandon(ctx, c); err != nil || !ok {
			return err
		}
		return consume(ctx, tx, after)
	})
	if err == nil && ok {
		s.metrics.settledCall(before, after)
	}
	return err
}

// consume adds a settled call to what its run has consumed, and appends a usage event.
func consume(ctx context.Context, tx *store.Tx, c store.Call) error {
	sum, ok, err := tx.Calls().Consumed(ctx, c)
	if err != nil || !ok {
		return err
	}
	usage := UsageOf(sum)
	if usage == nil {
		return nil
	}
	return tx.Events().Append(ctx, c.RunID, penstock.NewDraft(penstock.EventUsage, penstock.Now(), usage))
}

// blockUnfunded blocks a run until a budget has room. The prompt of its turn is delivered again then.
func (s *Executions) blockUnfunded(
	ctx context.Context, tx *store.Tx, run store.RunRow, r penstock.Result,
) error {
	if err := tx.Followups().Set(ctx, run.ID, store.PromptDelivering, store.PromptWaiting); err != nil {
		return err
	}
	tx.Nudge(store.TopicBudgets) // it may have got room since the refusal
	return s.end(ctx, tx, run, &r)
}

// ResumeFunded queues the runs that a budget blocked and whose budgets have room now.
func (s *Executions) ResumeFunded(ctx context.Context) error {
	funded, err := s.store.Budgets.FundedRuns(ctx, leaseBatch)
	if err != nil {
		return err
	}
	var failed error
	for _, r := range funded {
		if err := s.store.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Budgets().Resume(ctx, r.ID)
			return err
		}); err != nil {
			failed = errors.Join(failed, fmt.Errorf("continue run %s: %w", r.ID, err))
		}
	}
	return failed
}
