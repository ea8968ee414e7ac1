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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// numbered is the number of the webhook whose UID is $1.
const numbered = "(SELECT number FROM webhooks WHERE uid = $1)"

// deliveryColumns read entries of the log of the webhook $1.
const deliveryColumns = `SELECT d.n, d.outcome, d.id, d.received_at, d.reason, d.size, d.http_status, d.identity_source, d.duplicate_of, d.replay_of,
	COALESCE(v.matches, d.matches), d.headers, d.sha256, d.client_ip
	FROM deliveries d LEFT JOIN delivery_verdicts v ON v.webhook_uid = $1 AND v.hash = d.matches `

// scanDelivery reads an entry and its place in the log.
func scanDelivery(webhookUID string, scan func(...any) error) (d penstock.Delivery, n int64, err error) {
	var matches, headers string
	var o int
	err = scan(&n, &o, &d.ID, &d.ReceivedAt, &d.Reason, &d.Size, &d.HTTPStatus, &d.IdentitySource, &d.DuplicateOf, &d.ReplayOf,
		&matches, &headers, &d.PayloadSHA256, &d.ClientIP)
	if err != nil {
		return d, 0, err
	}
	d.WebhookUID, d.Outcome = webhookUID, penstock.Outcomes()[o]
	d.Label, d.Runs, d.Matches, d.Headers = d.Outcome.Label(), []string{}, []penstock.DeliveryMatch{}, map[string]string{}
	if err := errors.Join(unmarshal(matches, &d.Matches), unmarshal(headers, &d.Headers)); err != nil {
		return d, 0, fmt.Errorf("read delivery %s: %w", d.ID, err)
	}
	d.IdentitySource = cmp.Or(d.IdentitySource, penstock.IdentityNone)
	for _, m := range d.Matches {
		if m.RunID != "" {
			d.Runs = append(d.Runs, m.RunID)
		}
	}
	return d, n, nil
}

// outcomeNumber is what the log has for an outcome: its place among all of them.
func outcomeNumber(o penstock.Outcome) int64 { return int64(slices.Index(penstock.Outcomes(), o)) }

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
	before := int64(math.MaxInt64)
	if q.Cursor != "" {
		c, err := decodeCursor(q.Cursor, filter)
		if err != nil {
			return nil, "", err
		}
		if before, err = strconv.ParseInt(c.ID, 10, 64); err != nil {
			return nil, "", badCursor()
		}
	}
	var parts []string
	args := []any{webhookUID, before}
	for i, o := range outcomes {
		parts = append(parts, "SELECT * FROM (SELECT webhook, outcome, n FROM deliveries WHERE webhook = "+numbered+" AND n < $2 AND outcome = "+placeholders(i+3, 1)+
			" ORDER BY n DESC LIMIT "+strconv.Itoa(limit+1)+") AS o"+strconv.Itoa(i))
		args = append(args, outcomeNumber(o))
	}
	rows, err := s.query(ctx, deliveryColumns+"JOIN (SELECT * FROM ("+strings.Join(parts, " UNION ALL ")+") AS merged ORDER BY n DESC LIMIT "+strconv.Itoa(limit+1)+
		") AS page ON d.webhook = page.webhook AND d.outcome = page.outcome AND d.n = page.n ORDER BY d.n DESC", args...)
	if err != nil {
		return nil, "", s.d.mapError(fmt.Errorf("list deliveries: %w", err))
	}
	defer rows.Close()
	list = []penstock.Delivery{}
	var last int64
	for rows.Next() {
		d, n, err := scanDelivery(webhookUID, rows.Scan)
		if err != nil {
			return nil, "", fmt.Errorf("list deliveries: %w", err)
		}
		if len(list) == limit { // one more, that is not asked for
			next = cursor{Filter: filter, ID: strconv.FormatInt(last, 10)}.encode()
			continue
		}
		list, last = append(list, d), n
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
	d, _, err := scanDelivery(webhookUID, q.row(ctx, deliveryColumns+"WHERE d.id = $2 AND d.webhook = "+numbered, webhookUID, id).Scan)
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
		first, err := s.firstSince(ctx, before)
		if err != nil {
			return nil, err
		}
		args = append(args, first)
		var old []string // each is one look into the index
		for i, o := range penstock.Outcomes() {
			old = append(old, "(SELECT min(n) FROM deliveries WHERE webhook = w.number AND outcome = "+placeholders(i+4, 1)+") < $3")
			args = append(args, outcomeNumber(o))
		}
		where += " AND (" + strings.Join(old, " OR ") + ")"
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
// not be kept, with the payloads that no run reads, and answers how many they
// were. Their identities go with them, or when they are [IdentitiesFor] old.
func (s *Store) ClearLog(ctx context.Context, webhookUID string, o penstock.Outcome, keep Keep, limit int) (int, error) {
	before, err := s.firstSince(ctx, keep.Since)
	if err != nil {
		return 0, err
	}
	if keep.Newest > 0 {
		var oldest int64
		err := s.row(ctx, "SELECT n FROM deliveries WHERE webhook = "+numbered+" AND outcome = $2 ORDER BY n DESC LIMIT 1 OFFSET $3", webhookUID, outcomeNumber(o), keep.Newest-1).Scan(&oldest)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		if err != nil {
			return 0, s.d.mapError(fmt.Errorf("read the log of webhook %s: %w", webhookUID, err))
		}
		before = min(before, oldest)
	}
	rows, err := s.query(ctx, "SELECT id, received_at, identity_source, identity, sha256 FROM deliveries WHERE webhook = "+numbered+" AND outcome = $2 AND n < $3 AND received_at < $4 ORDER BY n LIMIT $5",
		webhookUID, outcomeNumber(o), before, int64(keep.Since), limit)
	old, err := collect(s, rows, err, "old deliveries", func(d *oldDelivery) []any {
		return []any{&d.id, &d.received, &d.source, &d.identity, &d.sha256}
	})
	if err != nil || len(old) == 0 {
		return 0, err
	}
	return len(old), s.Write(ctx, func(tx *Tx) error { return tx.clearLog(ctx, webhookUID, o, old) })
}

// oldDelivery is what is to be known of a delivery that is removed.
type oldDelivery struct {
	id, source, identity, sha256 string
	received                     penstock.Time
}

func (tx *Tx) clearLog(ctx context.Context, webhookUID string, o penstock.Outcome, old []oldDelivery) error {
	if o == penstock.OutcomeAccepted {
		for _, d := range old {
			if err := tx.endIdentities(ctx, webhookUID, d); err != nil {
				return err
			}
		}
	}
	for args := range chunks(old, func(d oldDelivery) []any { return []any{d.id} }) {
		these := " FROM deliveries WHERE id IN (" + placeholders(1, len(args)) + ")"
		// Texts of others are quoted in the JSON, and so cannot look like a run's id.
		if _, err := tx.exec(ctx, "INSERT INTO payloads (delivery_id, body) SELECT id, body"+these+` AND matches LIKE '%"run_id":"%'`+tx.s.d.lock+" ON CONFLICT DO NOTHING", args...); err != nil {
			return fmt.Errorf("keep the payloads of runs: %w", err)
		}
		if _, err := tx.exec(ctx, "DELETE"+these, args...); err != nil {
			return fmt.Errorf("remove deliveries: %w", err)
		}
	}
	return nil
}

// endIdentities ends what was to be known as long as the log entry of d, at once if
// that is long enough.
func (tx *Tx) endIdentities(ctx context.Context, webhookUID string, d oldDelivery) error {
	const its = " WHERE webhook_uid = $1 AND source = $2 AND value = $3 AND delivery_id = $4 AND expires_at = 0"
	for _, k := range []identity{{webhookUID, d.source, d.identity}, {webhookUID, sourceSigned, d.signedIdentity()}} {
		if k.value == "" {
			continue
		}
		var err error
		if until := d.received.Add(IdentitiesFor); until > penstock.Now() {
			_, err = tx.exec(ctx, "UPDATE delivery_keys SET expires_at = $5"+its, k.webhook, k.source, k.value, d.id, int64(until))
		} else {
			_, err = tx.exec(ctx, "DELETE FROM delivery_keys"+its, k.webhook, k.source, k.value, d.id)
		}
		if err != nil {
			return fmt.Errorf("end an identity: %w", err)
		}
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
	if err := s.row(ctx, "SELECT COALESCE((SELECT received_at FROM deliveries WHERE webhook = "+numbered+" AND outcome = $2 ORDER BY n LIMIT 1), 0)", webhookUID, outcomeNumber(penstock.OutcomeAccepted)).Scan(&oldest); err != nil {
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

// firstSince is the place in the log of the first entry that came at t or later.
// What has a place before it may have come a moment later: those of one commit are
// in the order of their webhooks.
func (s *Store) firstSince(ctx context.Context, t penstock.Time) (n int64, err error) {
	err = s.row(ctx, "SELECT n FROM deliveries WHERE id >= $1 ORDER BY id LIMIT 1", idPrefix(t)).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MaxInt64, nil
	}
	return n, s.d.mapError(err)
}

// idPrefix comes before the ids of all that was made at t or later (RFC 9562
// §5.7: the first 48 bits are the milliseconds).
func idPrefix(t penstock.Time) string {
	digits := fmt.Sprintf("%012x", max(0, int64(t)))
	return digits[:8] + "-" + digits[8:]
}
