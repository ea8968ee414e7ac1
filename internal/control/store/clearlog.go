package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// Log names the log of a webhook.
type Log struct {
	WebhookUID string
	Deleted    bool // the webhook is deleted, too
}

// Logs lists the logs of all webhooks, deleted ones included, by UID. With before, it lists only
// logs with older entries.
func (ds Deliveries) Logs(ctx context.Context, after string, before penstock.Time, limit int) ([]Log, error) {
	where, args := "w.uid > $1", []any{after, limit}
	if before != 0 {
		first, err := ds.firstSince(ctx, before)
		if err != nil {
			return nil, err
		}
		args = append(args, first)
		var old []string // each costs one index lookup
		for i, o := range penstock.Outcomes() {
			old = append(old, `(SELECT min(n) FROM deliveries WHERE webhook = w.number AND outcome = `+
				placeholders(i+4, 1)+") < $3")
			args = append(args, outcomeNumber(o))
		}
		where += " AND (" + strings.Join(old, " OR ") + ")"
	}
	rows, err := ds.s.query(
		ctx,
		`SELECT w.uid, CASE WHEN w.deleted_at > 0 THEN 1 ELSE 0 END
			FROM webhooks w WHERE `+where+" ORDER BY w.uid LIMIT $2",
		args...,
	)
	return collect(ds.s, rows, err, "logs", func(l *Log) []any { return []any{&l.WebhookUID, &l.Deleted} })
}

// firstSince returns the position in the log of the first entry that was received at t or later.
// Entries before it may be slightly newer, because the entries of one commit are in the order of
// their webhooks.
func (ds Deliveries) firstSince(ctx context.Context, t penstock.Time) (n int64, err error) {
	err = ds.s.row(ctx, `SELECT n
		FROM deliveries
		WHERE id >= $1
		ORDER BY id
		LIMIT 1`, FirstID(t)).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MaxInt64, nil
	}
	return n, ds.s.d.mapError(err)
}

// Keep says which entries of a log stay: the newest of each outcome, and all newer ones.
type Keep struct {
	Newest int
	Since  penstock.Time
}

// IdentitiesFor is the minimum time for which an identity is known, even without its log entry.
const IdentitiesFor = 7 * 24 * time.Hour

// ClearLog removes up to limit of the oldest entries of one outcome that keep does not protect, with
// the payloads that no run reads, and returns their number. Their identities end with them, but not
// before they are [IdentitiesFor] old.
func (ds Deliveries) ClearLog(
	ctx context.Context, webhookUID string, o penstock.Outcome, keep Keep, limit int,
) (int, error) {
	before, err := ds.firstSince(ctx, keep.Since)
	if err != nil {
		return 0, err
	}
	if keep.Newest > 0 {
		var oldest int64
		err := ds.s.row(
			ctx, `SELECT n
				FROM deliveries
				WHERE webhook = `+numbered+` AND outcome = $2
				ORDER BY n DESC
				LIMIT 1 OFFSET $3`,
			webhookUID, outcomeNumber(o), keep.Newest-1,
		).Scan(&oldest)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		if err != nil {
			return 0, ds.s.d.mapError(fmt.Errorf("read the log of webhook %s: %w", webhookUID, err))
		}
		before = min(before, oldest)
	}
	rows, err := ds.s.query(ctx, `SELECT id, received_at, identity_source, identity, sha256
		FROM deliveries
		WHERE webhook = `+numbered+` AND outcome = $2 AND n < $3 AND received_at < $4
		ORDER BY n
		LIMIT $5`,
		webhookUID, outcomeNumber(o), before, int64(keep.Since), limit)
	old, err := collect(ds.s, rows, err, "old deliveries", func(d *oldDelivery) []any {
		return []any{&d.id, &d.received, &d.source, &d.identity, &d.sha256}
	})
	if err != nil || len(old) == 0 {
		return 0, err
	}
	return len(old), ds.s.Write(ctx, func(tx *Tx) error { return tx.Deliveries().clearLog(ctx, webhookUID, o, old) })
}

// oldDelivery is a delivery to remove.
type oldDelivery struct {
	id, source, identity, sha256 string
	received                     penstock.Time
}

func (ds DeliveriesTx) clearLog(ctx context.Context, webhookUID string, o penstock.Outcome, old []oldDelivery) error {
	if o == penstock.OutcomeAccepted {
		if err := ds.endIdentities(ctx, webhookUID, old); err != nil {
			return err
		}
	}
	for args := range chunks(old, func(d oldDelivery) []any { return []any{d.id} }) {
		these := " FROM deliveries WHERE id IN (" + placeholders(1, len(args)) + ")"
		if _, err := ds.tx.exec(
			ctx,
			"INSERT INTO payloads (delivery_id, body, raw) SELECT id, body, raw"+these+" AND runs > 0"+ds.tx.s.d.lock+
				" ON CONFLICT DO NOTHING",
			args...,
		); err != nil {
			return fmt.Errorf("keep the payloads of runs: %w", err)
		}
		if _, err := ds.tx.exec(ctx, "DELETE"+these, args...); err != nil {
			return fmt.Errorf("remove deliveries: %w", err)
		}
	}
	return nil
}

// endIdentities ends the identities that last as long as the log entries of old: now, or when they
// are [IdentitiesFor] old.
func (ds DeliveriesTx) endIdentities(ctx context.Context, webhookUID string, old []oldDelivery) error {
	var now, later []heldIdentity
	for _, d := range old {
		end := &now
		if d.received.Add(IdentitiesFor) > penstock.Now() {
			end = &later
		}
		for _, k := range []identity{{webhookUID, d.source, d.identity}, {webhookUID, sourceSigned, d.signedIdentity()}} {
			if k.value != "" {
				*end = append(*end, heldIdentity{k, d.id})
			}
		}
	}
	const last = " WHERE expires_at = 0 AND "
	if err := ds.eachIdentity(ctx, "DELETE FROM delivery_keys"+last, now); err != nil {
		return err
	}
	return ds.eachIdentity(
		ctx, "UPDATE delivery_keys SET expires_at = received_at + $1"+last, later, IdentitiesFor.Milliseconds(),
	)
}

// heldIdentity is an identity as long as this delivery has it.
type heldIdentity struct {
	identity
	delivery string
}

// eachIdentity executes statement, which ends where a condition can follow, for all of held. Its own
// arguments are first. A statement for each of held would take a round trip each.
func (ds DeliveriesTx) eachIdentity(ctx context.Context, statement string, held []heldIdentity, first ...any) error {
	const fields = 4
	for keys := range chunks(held, func(k heldIdentity) []any {
		return []any{k.source, k.value, k.webhook, k.delivery}
	}) {
		args := slices.Concat(first, keys)
		var either []string
		for n := len(first) + 1; n < len(args); n += fields {
			either = append(either, fmt.Sprintf(
				"source = $%d AND value = $%d AND webhook_uid = $%d AND delivery_id = $%d", n, n+1, n+2, n+3))
		}
		if _, err := ds.tx.exec(ctx, statement+"("+strings.Join(either, " OR ")+")", args...); err != nil {
			return fmt.Errorf("end identities: %w", err)
		}
	}
	return nil
}

// signedIdentity is the key of the signed bytes of a delivery, "" without a sum.
func (d oldDelivery) signedIdentity() string {
	var sum [sha256.Size]byte
	if n, err := hex.Decode(sum[:], []byte(d.sha256)); n != len(sum) || err != nil {
		return ""
	}
	return IdentityOf(sum)
}

// ClearIdentities removes up to limit expired identities, and returns their number.
func (ds Deliveries) ClearIdentities(ctx context.Context, limit int) (int, error) {
	now := int64(penstock.Now())
	rows, err := ds.s.query(ctx, `SELECT webhook_uid, source, value, delivery_id
		FROM delivery_keys
		WHERE expires_at > 0 AND expires_at <= $1
		ORDER BY expires_at
		LIMIT $2`, now, limit)
	over, err := collect(ds.s, rows, err, "identities", func(k *heldIdentity) []any {
		return []any{&k.webhook, &k.source, &k.value, &k.delivery}
	})
	if err != nil || len(over) == 0 {
		return 0, err
	}
	return len(over), ds.s.Write(ctx, func(tx *Tx) error {
		// An identity that was claimed again in between stays.
		const expired = "DELETE FROM delivery_keys WHERE expires_at > 0 AND expires_at <= $1 AND "
		return tx.Deliveries().eachIdentity(ctx, expired, over, now)
	})
}

// oldCounts are the counts of the webhook $1 before the quarter $2, except the one with the last
// delivery of an existing webhook.
const oldCounts = `webhook_uid = $1 AND quarter < $2 AND NOT (
	last_at > 0
	AND last_at = (SELECT max(c.last_at) FROM webhook_counts c WHERE c.webhook_uid = $1)
	AND EXISTS (SELECT 1 FROM webhooks w WHERE w.uid = $1 AND w.deleted_at = 0))`

// hourlyCommitter stands in webhook_counts for counts of a whole hour, of all committers.
const hourlyCommitter = "-1"

// splitCounts are the counts of the webhook $1 before the quarter $2 that are not of a whole hour.
const splitCounts = "webhook_uid = $1 AND quarter < $2 AND committer <> " + hourlyCommitter

// ClearCounts removes old counts and senders of a webhook, but not the count with its last delivery.
// It adds up the counts before the last day by the hour.
func (ds Deliveries) ClearCounts(ctx context.Context, l Log) error {
	now, webhookUID := penstock.Now(), l.WebhookUID
	day := Quarter(now) - quartersOfDay - 1
	day -= day % quartersOfHour
	quarter, since := Quarter(now)-quartersOfDay*penstock.MaxStatsHours/24-1, int64(now.Add(-2*KnownFor))
	if l.Deleted { // deliveries in progress may have added counts after the deletion
		quarter, since = math.MaxInt64, math.MaxInt64
	}
	var n int
	if err := ds.s.row(ctx, `SELECT (SELECT count(*) FROM webhook_counts WHERE `+oldCounts+`) +
		(SELECT count(*) FROM webhook_senders WHERE webhook_uid = $1 AND last_at < $3) +
		(SELECT count(*) FROM webhook_counts WHERE webhook_uid = $1 AND quarter < $4 AND committer <> `+hourlyCommitter+`)`,
		webhookUID, quarter, since, day).Scan(&n); err != nil || n == 0 {
		return ds.s.d.mapError(err)
	}
	return ds.s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.exec(ctx, `DELETE FROM webhook_senders
			WHERE webhook_uid = $1 AND last_at < $2`, webhookUID, since); err != nil {
			return fmt.Errorf("remove old senders: %w", err)
		}
		if _, err := tx.exec(ctx, "DELETE FROM webhook_counts WHERE "+oldCounts, webhookUID, quarter); err != nil {
			return fmt.Errorf("remove old counts: %w", err)
		}
		return tx.Deliveries().addUpHours(ctx, webhookUID, day)
	})
}

// addUpHours replaces the counts of a webhook before a quarter with counts of whole hours.
func (ds DeliveriesTx) addUpHours(ctx context.Context, webhookUID string, quarter int64) error {
	if _, err := ds.tx.exec(ctx, fmt.Sprintf(`INSERT INTO webhook_counts
			(webhook_uid, quarter, kind, committer, n, last_at)
		SELECT webhook_uid, quarter - quarter %% %d, kind, %s, CAST(sum(n) AS BIGINT), max(last_at)
		FROM webhook_counts
		WHERE %s
		GROUP BY webhook_uid, quarter - quarter %% %d, kind
		%s`, quartersOfHour, hourlyCommitter, splitCounts, quartersOfHour, countsTable.conflict),
		webhookUID, quarter); err != nil {
		return fmt.Errorf("add up counts: %w", err)
	}
	_, err := ds.tx.exec(ctx, "DELETE FROM webhook_counts WHERE "+splitCounts, webhookUID, quarter)
	return wrapf(err, "remove counts that were added up")
}
