package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Count names a number of deliveries: of a webhook, in a quarter of an hour,
// of a kind such as CountAccepted.
type Count struct {
	WebhookUID string `json:"w"`
	Quarter    int64  `json:"q"`
	Kind       string `json:"k"`
}

// The kinds of deliveries that are counted.
const (
	CountAccepted    = "accepted"
	CountDuplicate   = "duplicate"
	CountRejected    = "rejected"
	CountRateLimited = "rate_limited"
)

func countKind(o penstock.Outcome) string {
	switch o {
	case penstock.OutcomeAccepted:
		return CountAccepted
	case penstock.OutcomeDuplicate:
		return CountDuplicate
	default:
		return CountRejected
	}
}

// counted is an element of the JSON in webhook_tallies.
type counted struct {
	Count
	N int64 `json:"n"`
}

var (
	talliesTable = table{name: "webhook_tallies", columns: columns("counts text")}
	countsTable  = table{
		name: "webhook_counts", columns: columns("webhook_uid text, quarter bigint, kind text, n bigint"),
		conflict: "ON CONFLICT (webhook_uid, quarter, kind) DO UPDATE SET n = webhook_counts.n + excluded.n",
	}
)

// counts is, as the table c, what was counted so far, folded or not, of the webhooks
// w and the quarters of c that where selects. A statement sees each delivery in it
// once, also while a fold commits.
func (d *dialect) counts(where string) string {
	part := func(from string) string {
		// CROSS JOIN: SQLite keeps the order. It would read the tallies again for each webhook.
		return "SELECT c.webhook_uid, c.quarter, c.kind, c.n FROM " + from + " WHERE w.uid = c.webhook_uid AND w.deleted_at = 0 AND " + where
	}
	return "(" + part("webhooks w CROSS JOIN webhook_counts c") + " UNION ALL " + part(`(
		SELECT e.value ->> 'w' AS webhook_uid, CAST(e.value ->> 'q' AS BIGINT) AS quarter, e.value ->> 'k' AS kind, CAST(e.value ->> 'n' AS BIGINT) AS n
		FROM webhook_tallies t CROSS JOIN `+d.elements("t.counts")+` e) c CROSS JOIN webhooks w`) + ") c"
}

// AddCounts counts deliveries that were not recorded.
func (s *Store) AddCounts(ctx context.Context, counts map[Count]int64) error {
	return s.Write(ctx, func(tx *Tx) error { return tx.count(ctx, counts) })
}

// count writes counts down as one row, which no other transaction waits for.
func (tx *Tx) count(ctx context.Context, counts map[Count]int64) error {
	if len(counts) == 0 {
		return nil
	}
	list := make([]counted, 0, len(counts))
	for c, n := range counts {
		list = append(list, counted{c, n})
	}
	return tx.s.d.insert(ctx, tx, talliesTable, [][]any{{marshal(list)}})
}

// FoldCounts adds to webhook_counts up to limit of the rows that count wrote, and
// answers how many they were. Each is added once, however many replicas do it
// at once; counts of webhooks that are gone are dropped. A row that cannot be read
// is removed, since nobody could read any count as long as it is there: the error
// tells of it, and the others are added all the same.
func (s *Store) FoldCounts(ctx context.Context, limit int) (n int, err error) {
	if err := s.row(ctx, "SELECT count(*) FROM (SELECT 1 FROM webhook_tallies LIMIT 1) AS t").Scan(&n); err != nil || n == 0 {
		return 0, s.d.mapError(err)
	}
	var unread error
	err = s.Write(ctx, func(tx *Tx) (err error) {
		var counts map[Count]int64
		if counts, n, unread, err = tx.takeTallies(ctx, limit); err != nil {
			return err
		}
		if err := tx.dropDeleted(ctx, counts); err != nil {
			return err
		}
		rows := make([][]any, 0, len(counts))
		for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b Count) int { // in one order: replicas do not wait for each other crosswise
			return cmp.Or(cmp.Compare(a.WebhookUID, b.WebhookUID), cmp.Compare(a.Quarter, b.Quarter), cmp.Compare(a.Kind, b.Kind))
		}) {
			rows = append(rows, []any{c.WebhookUID, c.Quarter, c.Kind, counts[c]})
		}
		return tx.s.d.insert(ctx, tx, countsTable, rows)
	})
	if err != nil {
		return 0, err
	}
	return n, unread
}

// takeTallies removes up to limit rows that nobody else is folding, and sums them up;
// unread tells of those that cannot be read.
func (tx *Tx) takeTallies(ctx context.Context, limit int) (counts map[Count]int64, n int, unread, err error) {
	type tally struct {
		n      int64
		counts string
	}
	rows, err := tx.query(ctx, "DELETE FROM webhook_tallies WHERE n IN (SELECT n FROM webhook_tallies ORDER BY n LIMIT $1"+tx.s.d.skipLocked+") RETURNING n, counts", limit)
	taken, err := collect(tx.s, rows, err, "tallies of deliveries", func(t *tally) []any { return []any{&t.n, &t.counts} })
	counts = map[Count]int64{}
	for _, t := range taken {
		var list []counted
		if err := json.Unmarshal([]byte(t.counts), &list); err != nil {
			unread = errors.Join(unread, fmt.Errorf("tally %d of deliveries cannot be read and is not counted, %.200q: %w", t.n, t.counts, err))
			continue
		}
		for _, c := range list {
			counts[c.Count] += c.N
		}
	}
	return counts, len(taken), unread, err
}

// dropDeleted takes the counts of webhooks that are gone from counts.
func (tx *Tx) dropDeleted(ctx context.Context, counts map[Count]int64) error {
	uids := map[string]bool{} // whether it is there
	for c := range counts {
		uids[c.WebhookUID] = false
	}
	for args := range chunks(slices.Collect(maps.Keys(uids)), func(uid string) []any { return []any{uid} }) {
		rows, err := tx.query(ctx, "SELECT uid FROM webhooks WHERE deleted_at = 0 AND uid IN ("+placeholders(1, len(args))+")", args...)
		there, err := collect(tx.s, rows, err, "webhooks", func(uid *string) []any { return []any{uid} })
		if err != nil {
			return err
		}
		for _, uid := range there {
			uids[uid] = true
		}
	}
	maps.DeleteFunc(counts, func(c Count, _ int64) bool { return !uids[c.WebhookUID] })
	return nil
}
