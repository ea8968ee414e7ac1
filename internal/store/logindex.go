package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// The places in SQLite's log up to which deliveries_log has it, and of its last entry.
const (
	logged = "(SELECT n FROM deliveries_logged)"
	last   = "(SELECT COALESCE(max(n), 0) FROM deliveries)"
)

// onPage joins entries, d, with their places.
const onPage = "d.webhook = page.webhook AND d.outcome = page.outcome AND d.n = page.n"

// indexAtOnce is how many deliveries are indexed in one transaction, for which those
// that come meanwhile wait: about 4 ms.
const indexAtOnce = 1000

// IndexLog puts the deliveries that came since into the index by webhook and outcome:
// on SQLite, where that is not done as they come. The log is read and cleared as if it was.
func (s *Store) IndexLog(ctx context.Context) error {
	if s.d.unlogged == "" {
		return nil
	}
	for {
		// Most looks find nothing, and nobody waits for them.
		var waiting int
		if err := s.row(ctx, "SELECT "+last+" - "+logged).Scan(&waiting); err != nil || waiting == 0 {
			return s.d.mapError(err)
		}
		if err := s.Write(ctx, func(tx *Tx) error { return tx.indexLog(ctx) }); err != nil || waiting <= indexAtOnce {
			return err
		}
	}
}

func (tx *Tx) indexLog(ctx context.Context) error {
	var from, to int64
	if err := tx.row(ctx, "SELECT "+logged+", "+last).Scan(&from, &to); err != nil {
		return fmt.Errorf("read how far the log is indexed: %w", err)
	}
	to = min(to, from+indexAtOnce)
	const add = `INSERT INTO deliveries_log
		SELECT webhook, outcome, n
		FROM deliveries
		WHERE n > $1 AND n <= $2
		ORDER BY webhook, outcome, n`
	if _, err := tx.exec(ctx, add, from, to); err != nil {
		return fmt.Errorf("index the log: %w", err)
	}
	if _, err := tx.exec(ctx, "UPDATE deliveries_logged SET n = $1", to); err != nil {
		return fmt.Errorf("note how far the log is indexed: %w", err)
	}
	return nil
}

// newest is a table of webhook, outcome and n: those of the newest entries, up to limit,
// in the log of the webhook $1 that come before $2 and have one of the outcomes, whose
// numbers follow as arguments. Each outcome is a range of its own in the index; they are merged.
func (d *dialect) newest(outcomes []penstock.Outcome, limit int) (table string, args []any) {
	var parts []string
	part := func(from, where string) {
		parts = append(parts, `SELECT *
			FROM (SELECT webhook, outcome, n FROM `+from+`
			WHERE webhook = `+numbered+" AND n < $2 AND "+where+
			" ORDER BY n DESC LIMIT "+strconv.Itoa(limit)+") AS o"+strconv.Itoa(len(parts)))
	}
	for i, o := range outcomes {
		part(d.log, "outcome = "+placeholders(i+3, 1))
		args = append(args, outcomeNumber(o))
	}
	if d.unlogged != "" {
		part("deliveries", d.unlogged+" AND outcome IN ("+placeholders(3, len(outcomes))+")")
	}
	return "(SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS merged ORDER BY n DESC LIMIT " +
		strconv.Itoa(limit) + ")", args
}
