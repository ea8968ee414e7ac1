package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

const deliveryColumns = `SELECT d.webhook_uid, d.outcome, d.id, d.received_at, d.reason, d.size, d.http_status, d.identity_source, d.duplicate_of, d.replay_of,
	COALESCE(v.matches, d.matches), d.headers, d.sha256, d.client_ip
	FROM deliveries d LEFT JOIN delivery_verdicts v ON v.webhook_uid = d.webhook_uid AND v.hash = d.matches `

func scanDelivery(scan func(...any) error) (penstock.Delivery, error) {
	var d penstock.Delivery
	var matches, headers string
	err := scan(&d.WebhookUID, &d.Outcome, &d.ID, &d.ReceivedAt, &d.Reason, &d.Size, &d.HTTPStatus, &d.IdentitySource, &d.DuplicateOf, &d.ReplayOf,
		&matches, &headers, &d.PayloadSHA256, &d.ClientIP)
	if err != nil {
		return d, err
	}
	d.Label, d.Runs, d.Matches, d.Headers = d.Outcome.Label(), []string{}, []penstock.DeliveryMatch{}, map[string]string{}
	if err := errors.Join(unmarshal(matches, &d.Matches), unmarshal(headers, &d.Headers)); err != nil {
		return d, fmt.Errorf("read delivery %s: %w", d.ID, err)
	}
	d.IdentitySource = cmp.Or(d.IdentitySource, penstock.IdentityNone)
	for _, m := range d.Matches {
		if m.RunID != "" {
			d.Runs = append(d.Runs, m.RunID)
		}
	}
	return d, nil
}

// Deliveries answers one page of a webhook's log, newest first. Each outcome is
// a range of its own in the index; they are merged.
func (s *Store) Deliveries(ctx context.Context, webhookUID string, q penstock.DeliveryQuery) (list []penstock.Delivery, next string, err error) {
	limit := q.Limit
	if limit == 0 {
		limit = penstock.DefaultDeliveries
	}
	outcomes := q.Outcomes
	if len(outcomes) == 0 {
		outcomes = penstock.Outcomes()
	}
	filter := "deliveries:" + webhookUID + fmt.Sprint(outcomes)
	before := "~" // after every id
	if q.Cursor != "" {
		c, err := decodeCursor(q.Cursor, filter)
		if err != nil {
			return nil, "", err
		}
		before = c.ID
	}
	var parts []string
	args := []any{webhookUID, before}
	for i, o := range outcomes {
		parts = append(parts, "SELECT * FROM (SELECT id, outcome FROM deliveries WHERE webhook_uid = $1 AND id < $2 AND outcome = "+placeholders(i+3, 1)+
			" ORDER BY id DESC LIMIT "+strconv.Itoa(limit+1)+") AS o"+strconv.Itoa(i))
		args = append(args, string(o))
	}
	rows, err := s.query(ctx, deliveryColumns+"JOIN (SELECT id, outcome FROM ("+strings.Join(parts, " UNION ALL ")+") AS merged ORDER BY id DESC LIMIT "+strconv.Itoa(limit+1)+
		") AS page ON d.webhook_uid = $1 AND d.outcome = page.outcome AND d.id = page.id ORDER BY d.id DESC", args...)
	if err != nil {
		return nil, "", s.d.mapError(fmt.Errorf("list deliveries: %w", err))
	}
	defer rows.Close()
	list = []penstock.Delivery{}
	for rows.Next() {
		d, err := scanDelivery(rows.Scan)
		if err != nil {
			return nil, "", fmt.Errorf("list deliveries: %w", err)
		}
		list = append(list, d)
	}
	if len(list) > limit {
		list = list[:limit]
		next = cursor{Filter: filter, ID: list[limit-1].ID}.encode()
	}
	return list, next, s.d.mapError(rows.Err())
}

// Delivery reads one entry of a webhook's log; absence is penstock.CodeNotFound.
func (s *Store) Delivery(ctx context.Context, webhookUID, id string) (penstock.Delivery, error) {
	return s.delivery(ctx, s, webhookUID, id)
}

// Delivery reads one entry within the transaction.
func (tx *Tx) Delivery(ctx context.Context, webhookUID, id string) (penstock.Delivery, error) {
	return tx.s.delivery(ctx, tx, webhookUID, id)
}

func (s *Store) delivery(ctx context.Context, q querier, webhookUID, id string) (penstock.Delivery, error) {
	args := []any{webhookUID, id}
	for _, o := range penstock.Outcomes() {
		args = append(args, string(o))
	}
	d, err := scanDelivery(q.row(ctx, deliveryColumns+"WHERE d.webhook_uid = $1 AND d.id = $2 AND d.outcome IN ("+placeholders(3, len(args)-2)+")", args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return d, penstock.NotFound("delivery", id)
	}
	if err != nil {
		return d, s.d.mapError(fmt.Errorf("read delivery %s: %w", id, err))
	}
	return d, nil
}

// KnownFor is how long an address counts as a sender's after a delivery of it
// was accepted.
const KnownFor = 24 * time.Hour

// KnownSender reports whether a delivery of the webhook was accepted from the
// address lately. It is true for some while longer than [KnownFor], since the
// moment is not written down each time.
func (s *Store) KnownSender(ctx context.Context, webhookUID, clientIP string) (bool, error) {
	var n int
	err := s.row(ctx, "SELECT count(*) FROM webhook_senders WHERE webhook_uid = $1 AND client_ip = $2 AND last_at > $3",
		webhookUID, clientIP, int64(penstock.Now().Add(-KnownFor))).Scan(&n)
	return n > 0, s.d.mapError(err)
}

// Log names the log of a webhook.
type Log struct {
	WebhookUID string
	Deleted    bool // with its webhook
}

// Logs lists those of all webhooks that there are or were, by UID; before a
// moment, if one is given, only those that have entries from before it.
func (s *Store) Logs(ctx context.Context, after string, before penstock.Time, limit int) ([]Log, error) {
	where, args := "w.uid > $1", []any{after, limit}
	if before != 0 {
		// A subquery that is no join: it is one look into the index for each webhook.
		where += " AND (SELECT 1 FROM deliveries d WHERE d.webhook_uid = w.uid AND d.id < $3 AND d.outcome IN (" + placeholders(4, len(penstock.Outcomes())) + ") LIMIT 1) IS NOT NULL"
		args = append(args, idPrefix(before))
		for _, o := range penstock.Outcomes() {
			args = append(args, string(o))
		}
	}
	rows, err := s.query(ctx, "SELECT w.uid, CASE WHEN w.deleted_at > 0 THEN 1 ELSE 0 END FROM webhooks w WHERE "+where+" ORDER BY w.uid LIMIT $2", args...)
	return collect(s, rows, err, "logs", func(l *Log) []any { return []any{&l.WebhookUID, &l.Deleted} })
}

// Keep says which entries of a log stay: the newest of each outcome, and all
// that are not older.
type Keep struct {
	Newest int
	Since  penstock.Time
}

// IdentitiesFor is how long an identity is known at least, whether or not its
// log entry is still there.
const IdentitiesFor = 7 * 24 * time.Hour

// ClearLog removes up to limit of the oldest entries of one outcome that need
// not be kept, with the payloads that no run was given, and answers how many they
// were. Their identities go with them, or when they are [IdentitiesFor] old.
func (s *Store) ClearLog(ctx context.Context, webhookUID string, o penstock.Outcome, keep Keep, limit int) (int, error) {
	before := idPrefix(keep.Since)
	if keep.Newest > 0 {
		oldest, err := s.strings(ctx, "SELECT id FROM deliveries WHERE webhook_uid = $1 AND outcome = $2 ORDER BY id DESC LIMIT 1 OFFSET $3", webhookUID, string(o), keep.Newest-1)
		if err != nil || len(oldest) == 0 {
			return 0, err
		}
		before = min(before, oldest[0])
	}
	rows, err := s.query(ctx, "SELECT id, received_at, matches, identity_source, identity, sha256 FROM deliveries WHERE webhook_uid = $1 AND outcome = $2 AND id < $3 ORDER BY id LIMIT $4",
		webhookUID, string(o), before, limit)
	old, err := collect(s, rows, err, "old deliveries", func(d *oldDelivery) []any {
		return []any{&d.id, &d.received, &d.matches, &d.source, &d.identity, &d.sha256}
	})
	if err != nil || len(old) == 0 {
		return 0, err
	}
	return len(old), s.Write(ctx, func(tx *Tx) error { return tx.clearLog(ctx, webhookUID, o, old) })
}

// oldDelivery is what is to be known of a delivery that is removed.
type oldDelivery struct {
	id, matches, source, identity, sha256 string
	received                              penstock.Time
}

// startedRuns reports whether a run reads the payload: texts of others are
// quoted in the JSON, and so cannot look like this.
func (d oldDelivery) startedRuns() bool { return strings.Contains(d.matches, `"run_id":"`) }

func (tx *Tx) clearLog(ctx context.Context, webhookUID string, o penstock.Outcome, old []oldDelivery) error {
	var unread []string
	var ids []string
	for _, d := range old {
		ids = append(ids, d.id)
		if o != penstock.OutcomeAccepted {
			continue
		}
		if !d.startedRuns() {
			unread = append(unread, d.id)
		}
		for _, k := range []identity{{webhookUID, d.source, d.identity}, {webhookUID, sourceSigned, d.signedIdentity()}} {
			if k.value == "" {
				continue
			}
			if err := tx.endIdentity(ctx, k, d); err != nil {
				return err
			}
		}
	}
	for args := range chunks(unread, func(id string) []any { return []any{id} }) {
		if _, err := tx.exec(ctx, "DELETE FROM payloads WHERE delivery_id IN ("+placeholders(1, len(args))+")", args...); err != nil {
			return fmt.Errorf("remove payloads: %w", err)
		}
	}
	for args := range chunks(ids, func(id string) []any { return []any{id} }) {
		args = append(args, webhookUID, string(o))
		n := len(args)
		if _, err := tx.exec(ctx, "DELETE FROM deliveries WHERE id IN ("+placeholders(1, n-2)+") AND webhook_uid = "+placeholders(n-1, 1)+" AND outcome = "+placeholders(n, 1), args...); err != nil {
			return fmt.Errorf("remove deliveries: %w", err)
		}
	}
	return nil
}

// endIdentity ends what was to be known as long as the log entry of d, at once if
// that is long enough.
func (tx *Tx) endIdentity(ctx context.Context, k identity, d oldDelivery) error {
	const its = " WHERE webhook_uid = $1 AND source = $2 AND value = $3 AND delivery_id = $4 AND expires_at = 0"
	var err error
	if until := d.received.Add(IdentitiesFor); until > penstock.Now() {
		_, err = tx.exec(ctx, "UPDATE delivery_keys SET expires_at = $5"+its, k.webhook, k.source, k.value, d.id, int64(until))
	} else {
		_, err = tx.exec(ctx, "DELETE FROM delivery_keys"+its, k.webhook, k.source, k.value, d.id)
	}
	if err != nil {
		return fmt.Errorf("end an identity: %w", err)
	}
	return nil
}

// ClearIdentities removes up to limit of those whose time is over, and answers
// how many they were.
func (s *Store) ClearIdentities(ctx context.Context, limit int) (int, error) {
	now := int64(penstock.Now())
	rows, err := s.query(ctx, "SELECT webhook_uid, source, value FROM delivery_keys WHERE expires_at > 0 AND expires_at <= $1 ORDER BY expires_at LIMIT $2", now, limit)
	over, err := collect(s, rows, err, "identities", func(k *identity) []any { return []any{&k.webhook, &k.source, &k.value} })
	if err != nil || len(over) == 0 {
		return 0, err
	}
	return len(over), s.Write(ctx, func(tx *Tx) error {
		for _, k := range over {
			// One that was taken over meanwhile stays.
			if _, err := tx.exec(ctx, "DELETE FROM delivery_keys WHERE webhook_uid = $1 AND source = $2 AND value = $3 AND expires_at > 0 AND expires_at <= $4", k.webhook, k.source, k.value, now); err != nil {
				return fmt.Errorf("remove an identity: %w", err)
			}
		}
		return nil
	})
}

// VerdictFor is how long a verdict that was written down is not written again.
const VerdictFor = 24 * time.Hour

// ClearTallies removes a webhook's counts and senders that nobody asks for any
// more, and the verdicts that no entry of its log names. Counts that are not
// folded yet are removed some time after they are.
func (s *Store) ClearTallies(ctx context.Context, l Log) error {
	quarter, since, webhookUID := Quarter(penstock.Now())-quartersOfDay-1, int64(penstock.Now().Add(-2*KnownFor)), l.WebhookUID
	if l.Deleted { // what was under way when it was deleted may have left some
		quarter, since = math.MaxInt64, math.MaxInt64
	}
	var oldest int64 // of the log; 0: there is none
	if err := s.row(ctx, "SELECT COALESCE((SELECT received_at FROM deliveries WHERE webhook_uid = $1 AND outcome = 'accepted' ORDER BY id LIMIT 1), 0)", webhookUID).Scan(&oldest); err != nil {
		return s.d.mapError(err)
	}
	if oldest == 0 {
		oldest = int64(penstock.Now())
	}
	oldest -= 2 * VerdictFor.Milliseconds()
	var n int
	if err := s.row(ctx, `SELECT (SELECT count(*) FROM webhook_counts WHERE webhook_uid = $1 AND quarter < $2) +
		(SELECT count(*) FROM webhook_senders WHERE webhook_uid = $1 AND last_at < $3) + (SELECT count(*) FROM delivery_verdicts WHERE webhook_uid = $1 AND last_at < $4)`,
		webhookUID, quarter, since, oldest).Scan(&n); err != nil || n == 0 {
		return s.d.mapError(err)
	}
	return s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.exec(ctx, "DELETE FROM webhook_counts WHERE webhook_uid = $1 AND quarter < $2", webhookUID, quarter); err != nil {
			return fmt.Errorf("remove old counts: %w", err)
		}
		if _, err := tx.exec(ctx, "DELETE FROM webhook_senders WHERE webhook_uid = $1 AND last_at < $2", webhookUID, since); err != nil {
			return fmt.Errorf("remove old senders: %w", err)
		}
		if _, err := tx.exec(ctx, "DELETE FROM delivery_verdicts WHERE webhook_uid = $1 AND last_at < $2", webhookUID, oldest); err != nil {
			return fmt.Errorf("remove old verdicts: %w", err)
		}
		return nil
	})
}

// IdentityKey is an identity as it is kept: a short one as it is, since those
// that count up or begin with a time lie beside each other in the index, which
// then grows at its end; a longer one as its sum, which is longer than all of
// the others.
func IdentityKey(id string) string {
	if len(id) < base64.RawStdEncoding.EncodedLen(sha256.Size) {
		return id
	}
	return IdentityOf(sha256.Sum256([]byte(id)))
}

// IdentityOf is a SHA-256 sum as the key of an identity.
func IdentityOf(sum [sha256.Size]byte) string { return base64.RawStdEncoding.EncodeToString(sum[:]) }

// signedIdentity is the key of the signed bytes of a delivery, "" without a sum.
func (d oldDelivery) signedIdentity() string {
	var sum [sha256.Size]byte
	if n, err := hex.Decode(sum[:], []byte(d.sha256)); n != len(sum) || err != nil {
		return ""
	}
	return IdentityOf(sum)
}

// idPrefix comes before the ids of all that was made at t or later (RFC 9562
// §5.7: the first 48 bits are the milliseconds).
func idPrefix(t penstock.Time) string {
	digits := fmt.Sprintf("%012x", max(0, int64(t)))
	return digits[:8] + "-" + digits[8:]
}
