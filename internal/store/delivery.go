package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/penstock-dev/penstock"
)

// numbered is the number of the webhook whose UID is $1.
const numbered = "(SELECT number FROM webhooks WHERE uid = $1)"

// deliveryColumns read entries of the log of the webhook $1.
const deliveryColumns = `SELECT d.n, d.outcome, d.id, d.received_at, d.reason, d.size, d.http_status, d.identity_source,
		d.duplicate_of, d.replay_of, d.matches, d.headers, d.sha256, d.client_ip
	FROM deliveries d `

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

// Deliveries answers one page of a webhook's log, newest first.
func (s *Store) Deliveries(
	ctx context.Context, webhookUID string, q penstock.DeliveryQuery,
) (list []penstock.Delivery, next string, err error) {
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
	page, args := s.d.newest(outcomes, limit+1)
	rows, err := s.query(
		ctx, deliveryColumns+"JOIN "+page+" AS page ON "+onPage+" ORDER BY page.n DESC",
		append([]any{webhookUID, before}, args...)...,
	)
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
	d, _, err := scanDelivery(
		webhookUID, q.row(ctx, deliveryColumns+"WHERE d.webhook = "+numbered+" AND d.id = $2", webhookUID, id).Scan,
	)
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
	err := s.row(ctx, `SELECT count(*)
		FROM webhook_senders
		WHERE webhook_uid = $1 AND client_ip = $2 AND last_at > $3`,
		webhookUID, clientIP, int64(penstock.Now().Add(-KnownFor))).Scan(&n)
	return n > 0, s.d.mapError(err)
}
