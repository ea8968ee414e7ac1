package run

import (
	"context"

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
	return share.ClearInBatches(ctx, func() (int, error) {
		old, err := s.store.Runs.Old(ctx, before, share.BatchSize)
		for _, id := range old {
			if err := s.removeRun(ctx, id, before); err != nil {
				return 0, err
			}
			removed++
		}
		return len(old), err
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
