package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

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

// tally is how many deliveries there were, and when the last one was that counts as
// the last of its webhook; 0: none does.
type tally struct {
	N    int64 `json:"n"`
	Last int64 `json:"t,omitempty"` // in epoch milliseconds
}

func (t tally) and(other tally) tally { return tally{t.N + other.N, max(t.Last, other.Last)} }

// counted is an element of the JSON in webhook_tallies.
type counted struct {
	Count
	tally
}

var (
	talliesTable = table{name: "webhook_tallies", columns: columns("counts text")}
	// touchTable leaves the windows as they are.
	touchTable = table{
		name: "webhook_rates", columns: columns("webhook_uid text, windows text, last_delivery_at bigint"),
		conflict: "ON CONFLICT (webhook_uid) DO UPDATE SET last_delivery_at = excluded.last_delivery_at WHERE webhook_rates.last_delivery_at < excluded.last_delivery_at",
	}
	countsTable = table{
		name: "webhook_counts", columns: columns("webhook_uid text, quarter bigint, kind text, n bigint"),
		conflict: "ON CONFLICT (webhook_uid, quarter, kind) DO UPDATE SET n = webhook_counts.n + excluded.n",
	}
)

// counts is, as the table c, what was counted so far, folded or not, of the webhooks
// w and the quarters of c that where selects; last_at is 0 of what was folded. A
// statement sees each delivery in it once, also while a fold commits.
func (d *dialect) counts(where string) string {
	part := func(last, from string) string {
		// CROSS JOIN: SQLite keeps the order. It would read the tallies again for each webhook.
		return "SELECT c.webhook_uid, c.quarter, c.kind, c.n, " + last + " AS last_at FROM " + from +
			" WHERE w.uid = c.webhook_uid AND w.deleted_at = 0 AND " + where
	}
	return "(" + part("0", "webhooks w CROSS JOIN webhook_counts c") + " UNION ALL " + part("c.last_at", `(
		SELECT e.value ->> 'w' AS webhook_uid, CAST(e.value ->> 'q' AS BIGINT) AS quarter,
			e.value ->> 'k' AS kind, CAST(e.value ->> 'n' AS BIGINT) AS n,
			COALESCE(CAST(e.value ->> 't' AS BIGINT), 0) AS last_at
		FROM webhook_tallies t CROSS JOIN `+d.elements("t.counts")+` e) c CROSS JOIN webhooks w`) + ") c"
}

// AddCounts counts deliveries that were not recorded.
func (s *Store) AddCounts(ctx context.Context, counts map[Count]int64) error {
	tallies := make(map[Count]tally, len(counts))
	for c, n := range counts {
		tallies[c] = tally{N: n}
	}
	return s.Write(ctx, func(tx *Tx) error { return tx.count(ctx, tallies) })
}

// count writes counts down as one row, which no other transaction waits for.
func (tx *Tx) count(ctx context.Context, counts map[Count]tally) error {
	if len(counts) == 0 {
		return nil
	}
	list := make([]counted, 0, len(counts))
	for c, t := range counts {
		list = append(list, counted{c, t})
	}
	return tx.s.d.insert(ctx, tx, talliesTable, [][]any{{marshal(list)}})
}

// FoldCounts adds to webhook_counts up to limit of the rows that count wrote, and
// answers how many they were. Each is added once, however many replicas do it
// at once; counts of webhooks that are gone are dropped. A row that cannot be read
// is removed, since nobody could read any count as long as it is there: the error
// tells of it, and the others are added all the same.
func (s *Store) FoldCounts(ctx context.Context, limit int) (n int, err error) {
	known, err := s.tallies(ctx, limit)
	if err != nil || len(known) == 0 {
		return 0, err
	}
	var unread error
	err = s.Write(ctx, func(tx *Tx) (err error) {
		var counts map[Count]tally
		if counts, n, unread, err = tx.takeTallies(ctx, limit, known); err != nil {
			return err
		}
		if err := tx.dropDeleted(ctx, counts); err != nil {
			return err
		}
		return tx.addFolded(ctx, counts)
	})
	if err != nil {
		return 0, err
	}
	return n, unread
}

// parsed is the JSON of a row of webhook_tallies.
type parsed struct {
	counts []counted
	err    error
}

func parseTallies(text string) (p parsed) {
	p.err = json.Unmarshal([]byte(text), &p.counts)
	return p
}

// tallies reads the rows that are to be folded, by their JSON: reading that takes
// most of the time, and is done while others write.
func (s *Store) tallies(ctx context.Context, limit int) (map[string]parsed, error) {
	rows, err := s.query(ctx, "SELECT counts FROM webhook_tallies ORDER BY n LIMIT $1", limit)
	texts, err := collect(s, rows, err, "tallies of deliveries", func(text *string) []any { return []any{text} })
	known := make(map[string]parsed, len(texts))
	for _, text := range texts {
		known[text] = parseTallies(text)
	}
	return known, err
}

// addFolded writes in one order, so that replicas do not wait for each other
// crosswise; webhook_rates come first, as in [Tx.DeleteWebhook].
func (tx *Tx) addFolded(ctx context.Context, counts map[Count]tally) error {
	last := map[string]int64{}
	var rows [][]any
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.WebhookUID, b.WebhookUID), cmp.Compare(a.Quarter, b.Quarter), cmp.Compare(a.Kind, b.Kind))
	}) {
		rows = append(rows, []any{c.WebhookUID, c.Quarter, c.Kind, counts[c].N})
		if at := counts[c].Last; at > 0 {
			last[c.WebhookUID] = max(last[c.WebhookUID], at)
		}
	}
	var touched [][]any
	for _, uid := range slices.Sorted(maps.Keys(last)) {
		touched = append(touched, []any{uid, "", last[uid]})
	}
	if err := tx.s.d.insert(ctx, tx, touchTable, touched); err != nil {
		return err
	}
	return tx.s.d.insert(ctx, tx, countsTable, rows)
}

// takeTallies removes up to limit rows that nobody else is folding, most of which are
// known, and sums them up; unread tells of those that cannot be read.
func (tx *Tx) takeTallies(
	ctx context.Context, limit int, known map[string]parsed,
) (counts map[Count]tally, n int, unread, err error) {
	type row struct {
		n      int64
		counts string
	}
	rows, err := tx.query(
		ctx,
		`DELETE FROM webhook_tallies
			WHERE n IN (SELECT n FROM webhook_tallies ORDER BY n LIMIT $1`+tx.s.d.skipLocked+
			") RETURNING n, counts",
		limit,
	)
	taken, err := collect(tx.s, rows, err, "tallies of deliveries", func(r *row) []any { return []any{&r.n, &r.counts} })
	counts = map[Count]tally{}
	for _, t := range taken {
		p, ok := known[t.counts]
		if !ok {
			p = parseTallies(t.counts)
		}
		if p.err != nil {
			unread = errors.Join(
				unread, fmt.Errorf("tally %d of deliveries cannot be read and is not counted, %.200q: %w", t.n, t.counts, p.err),
			)
			continue
		}
		for _, c := range p.counts {
			counts[c.Count] = counts[c.Count].and(c.tally)
		}
	}
	return counts, len(taken), unread, err
}

// dropDeleted takes the counts of webhooks that are gone from counts.
func (tx *Tx) dropDeleted(ctx context.Context, counts map[Count]tally) error {
	uids := map[string]bool{} // whether it is there
	for c := range counts {
		uids[c.WebhookUID] = false
	}
	for args := range chunks(slices.Collect(maps.Keys(uids)), func(uid string) []any { return []any{uid} }) {
		rows, err := tx.query(
			ctx, `SELECT uid
				FROM webhooks
				WHERE deleted_at = 0 AND uid IN (`+placeholders(1, len(args))+")", args...,
		)
		there, err := collect(tx.s, rows, err, "webhooks", func(uid *string) []any { return []any{uid} })
		if err != nil {
			return err
		}
		for _, uid := range there {
			uids[uid] = true
		}
	}
	maps.DeleteFunc(counts, func(c Count, _ tally) bool { return !uids[c.WebhookUID] })
	return nil
}
