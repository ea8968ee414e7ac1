package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/penstock-dev/penstock"
)

// ReferredAtOnce limits the lists that [Files.Referred] accepts.
const ReferredAtOnce = 100

// Referred lists the blobs to which a row refers. owners are the runs and conversations that the
// blobs belong to; no other rows can refer to them. Both lists have at most [ReferredAtOnce] items.
func (f Files) Referred(ctx context.Context, owners, blobs []string) ([]string, error) {
	if len(owners) == 0 || len(blobs) == 0 {
		return nil, nil
	}
	if max(len(owners), len(blobs)) > ReferredAtOnce {
		return nil, fmt.Errorf("ask for %d blobs of %d owners: at most %d at once", len(blobs), len(owners), ReferredAtOnce)
	}
	of, in := "IN ("+placeholders(1, ReferredAtOnce)+")", "IN ("+placeholders(1+ReferredAtOnce, ReferredAtOnce)+")"
	return f.s.strings(ctx, `SELECT blob
		FROM attachments
		WHERE run_id `+of+" AND blob "+in+`
		UNION
		SELECT blob
		FROM artifacts
		WHERE run_id `+of+" AND blob "+in+`
		UNION
		SELECT blob
		FROM changes
		WHERE run_id `+of+" AND blob "+in+`
		UNION
		SELECT blob
		FROM conversations
		WHERE id `+of+" AND blob "+in+`
		UNION
		SELECT blob
		FROM packs
		WHERE blob `+in, anys(slices.Concat(filled(owners), filled(blobs)))...)
}

// filled repeats the last item of a list, so that one prepared statement works for lists of any
// length.
func filled(list []string) []string {
	return slices.Concat(list, slices.Repeat(list[len(list)-1:], ReferredAtOnce-len(list)))
}

// Since returns the time since which files belong to this database. The first call sets it to
// now. Older files belong to another database.
func (f Files) Since(ctx context.Context, now penstock.Time) (penstock.Time, error) {
	const name = "files_since"
	value, err := f.s.Settings.first(ctx, name, strconv.FormatInt(int64(now), 10))
	if err != nil {
		return 0, err
	}
	since, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the setting %s: %w", name, err)
	}
	return penstock.Time(since), nil
}
