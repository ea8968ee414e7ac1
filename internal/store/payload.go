package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/penstock-dev/penstock"
)

// payload is a row with the body of the delivery whose id is $1, or none.
const payload = `(
	SELECT body
	FROM deliveries
	WHERE id = $1 AND body IS NOT NULL
	UNION ALL
	SELECT body
	FROM payloads
	WHERE delivery_id = $1
) AS payload`

// Payload reads the body of an accepted delivery; absence is
// penstock.CodeNotFound.
func (s *Store) Payload(ctx context.Context, deliveryID string) (body []byte, err error) {
	err = s.row(ctx, "SELECT body FROM "+payload, deliveryID).Scan(&body)
	return body, s.payloadError(err, deliveryID)
}

// PayloadSize is the number of bytes that [Store.Payload] returns.
func (s *Store) PayloadSize(ctx context.Context, deliveryID string) (size int64, err error) {
	err = s.row(ctx, "SELECT length(body) FROM "+payload, deliveryID).Scan(&size)
	return size, s.payloadError(err, deliveryID)
}

func (s *Store) payloadError(err error, deliveryID string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return penstock.NotFound("payload of delivery", deliveryID)
	}
	if err != nil {
		return s.d.mapError(fmt.Errorf("read the payload of delivery %s: %w", deliveryID, err))
	}
	return nil
}

// LastPayloads calls look with the headers and the bodies of a webhook's last accepted deliveries,
// newest first, until it returns false.
func (s *Store) LastPayloads(
	ctx context.Context, webhookUID string, limit int, look func(headers map[string]string, body []byte) bool,
) error {
	type entry struct{ id, headers string }
	var entries []entry
	page, args := newest([]penstock.Outcome{penstock.OutcomeAccepted}, limit)
	rows, err := s.query(ctx, `SELECT d.id, d.headers
		FROM deliveries d
		JOIN `+page+" AS page ON "+onPage+`
		ORDER BY page.n DESC`, append([]any{webhookUID, int64(math.MaxInt64)}, args...)...)
	if err != nil {
		return s.d.mapError(fmt.Errorf("list the last deliveries to webhook %s: %w", webhookUID, err))
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.id, &e.headers); err != nil {
			return fmt.Errorf("list the last deliveries to webhook %s: %w", webhookUID, err)
		}
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return s.d.mapError(fmt.Errorf("list the last deliveries to webhook %s: %w", webhookUID, err))
	}
	for _, e := range entries {
		body, err := s.Payload(ctx, e.id)
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			continue // cleared since
		}
		if err != nil {
			return err
		}
		var headers map[string]string
		if err := unmarshal(e.headers, &headers); err != nil {
			return fmt.Errorf("read the headers of delivery %s: %w", e.id, err)
		}
		if !look(headers, body) {
			return nil
		}
	}
	return nil
}
