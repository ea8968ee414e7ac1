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
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// numbered is the number of the webhook whose UID is $1.
const numbered = "(SELECT number FROM webhooks WHERE uid = $1)"

// deliveryRow is an entry of the log of deliveries.
type deliveryRow struct {
	penstock.Delivery
	n        int64 // its place in the log
	webhook  int64 // the number of its webhook
	identity string
	body     []byte // nil: none is stored
	runs     int    // how many of the runs that it started still exist
}

// deliveryFields are the columns of an entry.
var deliveryFields = newResource("deliveries", "d",
	numberColumn("n", func(d *deliveryRow) *int64 { return &d.n }).unset(),
	storedNumber("webhook", func(d *deliveryRow) int64 { return d.webhook }),
	columnOf[deliveryRow]{
		column: column{"outcome", "bigint"},
		value:  func(d *deliveryRow) any { return outcomeNumber(d.Outcome) },
		dest:   func(d *deliveryRow) any { return (*numberedOutcome)(&d.Outcome) },
	},
	textColumn("id", func(d *deliveryRow) *string { return &d.ID }),
	numberColumn("received_at", func(d *deliveryRow) *penstock.Time { return &d.ReceivedAt }),
	textColumn("reason", func(d *deliveryRow) *string { return &d.Reason }),
	numberColumn("size", func(d *deliveryRow) *int64 { return &d.Size }),
	numberColumn("http_status", func(d *deliveryRow) *int { return &d.HTTPStatus }),
	textColumn("identity_source", func(d *deliveryRow) *penstock.IdentitySource { return &d.IdentitySource }),
	storedText("identity", func(d *deliveryRow) string { return d.identity }),
	textColumn("duplicate_of", func(d *deliveryRow) *string { return &d.DuplicateOf }),
	textColumn("replay_of", func(d *deliveryRow) *string { return &d.ReplayOf }),
	jsonColumn("matches", func(d *deliveryRow) *[]penstock.DeliveryMatch { return &d.Matches }),
	jsonColumn("headers", func(d *deliveryRow) *map[string]string { return &d.Headers }),
	textColumn("sha256", func(d *deliveryRow) *string { return &d.PayloadSHA256 }),
	textColumn("client_ip", func(d *deliveryRow) *string { return &d.ClientIP }),
	columnOf[deliveryRow]{column: column{"body", "bytea"}, value: func(d *deliveryRow) any {
		if d.body == nil {
			return nil
		}
		return d.body
	}},
	storedNumber("runs", func(d *deliveryRow) int { return d.runs }),
)

// outcomeNumber is the number of an outcome in the log: its place among all of them.
func outcomeNumber(o penstock.Outcome) int64 { return int64(slices.Index(penstock.Outcomes(), o)) }

// numberedOutcome reads an outcome from its number.
type numberedOutcome penstock.Outcome

// Scan is called by database/sql.
func (o *numberedOutcome) Scan(value any) error {
	var n sql.NullInt64
	if err := n.Scan(value); err != nil {
		return err
	}
	*o = numberedOutcome(penstock.Outcomes()[n.Int64])
	return nil
}

// selectDeliveries selects entries of the log of the webhook $1.
var selectDeliveries = "SELECT " + deliveryFields.selected + " FROM deliveries d "

// scanDelivery reads an entry and its place in the log.
func scanDelivery(webhookUID string, scan func(...any) error) (penstock.Delivery, int64, error) {
	var row deliveryRow
	if err := scan(deliveryFields.into(&row)...); err != nil {
		return penstock.Delivery{}, 0, err
	}
	d := row.Delivery
	d.WebhookUID, d.Label, d.Runs = webhookUID, d.Outcome.Label(), []string{}
	d.IdentitySource = cmp.Or(d.IdentitySource, penstock.IdentityNone)
	if d.Matches == nil {
		d.Matches = []penstock.DeliveryMatch{}
	}
	if d.Headers == nil {
		d.Headers = map[string]string{}
	}
	for _, m := range d.Matches {
		if m.RunID != "" {
			d.Runs = append(d.Runs, m.RunID)
		}
	}
	return d, row.n, nil
}

// onPage joins entries, d, with their places.
const onPage = "d.webhook = page.webhook AND d.outcome = page.outcome AND d.n = page.n"

// newest is a subquery for the webhook, outcome and n of the newest entries, at most limit, in the
// log of the webhook $1. They come before $2 and have one of the outcomes, whose numbers follow as
// arguments. Each outcome is one range of the index, so that a rare one is found at once.
func newest(outcomes []penstock.Outcome, limit int) (table string, args []any) {
	atMost := strconv.Itoa(limit)
	var parts []string
	for i, o := range outcomes {
		parts = append(parts, `SELECT *
			FROM (
				SELECT webhook, outcome, n
				FROM deliveries
				WHERE webhook = `+numbered+" AND n < $2 AND outcome = "+placeholders(i+3, 1)+`
				ORDER BY n DESC
				LIMIT `+atMost+") AS o"+strconv.Itoa(i))
		args = append(args, outcomeNumber(o))
	}
	return "(SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS merged ORDER BY n " +
		"DESC LIMIT " + atMost + ")", args
}

// Deliveries returns one page of a webhook's log, newest first.
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
	page, args := newest(outcomes, limit+1)
	rows, err := s.query(
		ctx, selectDeliveries+"JOIN "+page+" AS page ON "+onPage+" ORDER BY page.n DESC",
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
		if len(list) == limit { // one more than requested
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
		webhookUID, q.row(ctx, selectDeliveries+"WHERE d.webhook = "+numbered+" AND d.id = $2", webhookUID, id).Scan,
	)
	if errors.Is(err, sql.ErrNoRows) {
		return d, penstock.NotFound("delivery", id)
	}
	if err != nil {
		return d, s.d.mapError(fmt.Errorf("read delivery %s: %w", id, err))
	}
	return d, nil
}

// KnownFor is how long an address counts as a known sender after one of its deliveries was
// accepted.
const KnownFor = 24 * time.Hour

// KnownSender reports whether the webhook accepted a delivery from the address within [KnownFor].
// The time is not recorded for each delivery, so it may be true for somewhat longer.
func (s *Store) KnownSender(ctx context.Context, webhookUID, clientIP string) (bool, error) {
	var n int
	err := s.row(ctx, `SELECT count(*)
		FROM webhook_senders
		WHERE webhook_uid = $1 AND client_ip = $2 AND last_at > $3`,
		webhookUID, clientIP, int64(penstock.Now().Add(-KnownFor))).Scan(&n)
	return n > 0, s.d.mapError(err)
}
