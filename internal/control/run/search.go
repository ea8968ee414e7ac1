package run

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// The pace of indexing. Indexing a run costs more than creating it, so it takes at most a
// twentieth of the time. If runs are created faster, search lags behind, and creation does not.
const (
	indexBatch = 50
	indexShare = 20
	indexPause = 200 * time.Millisecond // between looks for new runs
)

// How far before the newest run it starts again, because runs may commit in another order than
// they are created: a little after each nudge, and further from time to time.
const (
	indexOverlap    = 2 * time.Second
	indexFarOverlap = time.Minute
	indexFarEvery   = 30 * time.Second
)

const indexedSetting = "search_indexed_until"

// indexing is the state of the indexing job. Only the job uses it.
type indexing struct {
	far time.Time // of the last look far back
}

// IndexRuns adds new runs to the search index.
func (s *Upkeep) IndexRuns(ctx context.Context) error {
	until, err := s.indexedUntil(ctx)
	if err != nil {
		return err
	}
	now, overlap := time.Now(), indexOverlap
	far := now.Sub(s.indexing.far) >= indexFarEvery
	if far {
		overlap = indexFarOverlap
	}
	from := store.FirstID(until.Add(-overlap))
	for {
		start := time.Now()
		texts, err := s.store.Runs.Unindexed(ctx, from, indexBatch)
		if err != nil {
			return err
		}
		if len(texts) == 0 {
			break
		}
		last := texts[len(texts)-1]
		from, until = last.RunID, max(until, last.CreatedAt)
		if err := s.index(ctx, texts, until); err != nil {
			return err
		}
		if err := share.Pause(ctx, (indexShare-1)*time.Since(start)); err != nil {
			return err
		}
	}
	if far {
		s.indexing.far = now
	}
	return share.Pause(ctx, indexPause)
}

func (s *Upkeep) index(ctx context.Context, texts []store.SearchText, until penstock.Time) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Runs().Index(ctx, texts); err != nil {
			return err
		}
		return tx.Settings().Set(ctx, indexedSetting, fmt.Sprint(int64(until)))
	})
}

func (s *Upkeep) indexedUntil(ctx context.Context) (penstock.Time, error) {
	text, err := s.store.Settings.Value(ctx, indexedSetting)
	if err != nil || text == "" {
		return 0, err
	}
	var until int64
	if _, err := fmt.Sscan(text, &until); err != nil {
		return 0, fmt.Errorf("read the setting %s: %w", indexedSetting, err)
	}
	return penstock.Time(until), nil
}
