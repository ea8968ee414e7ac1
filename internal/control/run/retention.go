package run

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// RemoveOldRuns removes runs that ended long ago. Each has its own transaction, because a run
// may have tens of thousands of events.
func (s *Upkeep) RemoveOldRuns(ctx context.Context) error {
	if s.keepRunsFor <= 0 {
		return nil
	}
	before, removed := penstock.Now().Add(-s.keepRunsFor), 0
	defer func() {
		if removed > 0 {
			s.log.Info("old runs removed", "runs", removed, "unchanged_since", before)
		}
	}()
	var began time.Time
	return share.Sweep(share.BatchSize, func(after store.OldRun) ([]store.OldRun, error) {
		if after.ID != "" { // it works at most a quarter of the time
			if err := share.Pause(ctx, 3*time.Since(began)); err != nil {
				return nil, err
			}
		}
		began = time.Now()
		return s.store.Runs.Old(ctx, before, after, share.BatchSize)
	}, func(old store.OldRun) error {
		if err := s.removeRun(ctx, old.ID, before); err != nil {
			return fmt.Errorf("remove run %s: %w", old.ID, err)
		}
		removed++
		return nil
	})
}

// removeRun removes the files after the rows, so that a crash in between leaves only unused
// files.
func (s *Upkeep) removeRun(ctx context.Context, id string, before penstock.Time) error {
	var blobs []string
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		blobs, err = tx.Runs().Remove(ctx, id, before)
		return err
	})
	for _, key := range blobs {
		if err == nil {
			s.files.DropBlob(ctx, key)
		}
	}
	return err
}
