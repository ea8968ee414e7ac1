package run

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// AnnounceSilenceEvery is how often each server calls [Executions.AnnounceSilence].
const AnnounceSilenceEvery = 3 * time.Second

// SweepSilence returns a function that announces silences, unless this server has just started or woken: first it
// catches up on times that have passed.
func (s *Executions) SweepSilence() func(context.Context, penstock.Time) error {
	var w wakefulness
	return func(ctx context.Context, now penstock.Time) error {
		if !w.awake(time.Now().Round(0)) {
			return nil
		}
		return s.AnnounceSilence(ctx, now)
	}
}

// AnnounceSilence marks the automations and schedules that have started nothing for the time in which a start is
// expected, each once, and those that have started something again.
func (s *Executions) AnnounceSilence(ctx context.Context, now penstock.Time) error {
	return share.Sweep(leaseBatch, func(after store.Expectation) ([]store.Expectation, error) {
		return s.store.Automations.Expectations(ctx, now, after.Source, leaseBatch)
	}, func(e store.Expectation) error {
		if e.StillSilent() {
			return nil
		}
		if err := s.store.Write(ctx, func(tx *store.Tx) error { return tx.Automations().Looked(ctx, e, now) }); err != nil {
			return fmt.Errorf("look whether %s is silent: %w", e.Source, err)
		}
		return nil
	})
}
