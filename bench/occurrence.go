package main

import (
	"context"
	"fmt"
	"time"
)

// fillOccurrences inserts times of a schedule from $1 to $2, a second apart, each of which started a run that is gone.
const fillOccurrences = `INSERT INTO occurrences (
		uid, team, kind, source, schedule_id, automation_uid, clock, moment,
		due_at, decided_at, fate, reason, missed, run_ids, owner
	)
	WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2)
	SELECT '01900000-0000-7000-8000-' || CAST(100000000000 + i AS TEXT), 'default', 'tick', 'bench', 'bench', '', '', '',
		$3 + i * 1000, $3 + i * 1000, CASE WHEN i % 7 = 0 THEN 'skipped' ELSE 'started' END, '', '', '[]', ''
	FROM n`

// occurrences measures a page of many occurrences, runs that callers started among them, compared with a page of few.
func (b *bench) occurrences(ctx context.Context) error {
	pages := [][]byte{
		request("GET", "/occurrences?limit=20", ""),
		request("GET", "/occurrences?limit=20&fate=skipped", ""),
		request("GET", "/occurrences?limit=20&kind=tick", ""),
	}
	return b.onEach(func(e engine) error {
		return b.comparePages(ctx, e, "occurrences", pages, func(database string, n int) error {
			if err := b.fill(ctx, e.name, database, n); err != nil {
				return err
			}
			db, err := openFor(e.name, database)
			if err != nil {
				return err
			}
			defer db.Close()
			start := time.Now().Add(-time.Duration(n)*time.Second - time.Hour).UnixMilli()
			for from := 0; from < n; from += fillBatch {
				if _, err := db.ExecContext(ctx, fillOccurrences, from, min(n, from+fillBatch), start); err != nil {
					return fmt.Errorf("fill occurrences: %w", err)
				}
			}
			after := map[string]string{"sqlite": "PRAGMA wal_checkpoint(TRUNCATE)", "postgres": "VACUUM (ANALYZE) occurrences"}
			_, err = db.ExecContext(ctx, after[e.name])
			return err
		})
	})
}
