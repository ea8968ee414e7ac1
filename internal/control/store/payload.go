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
	SELECT body, raw
	FROM deliveries
	WHERE id = $1 AND body IS NOT NULL
	UNION ALL
	SELECT body, raw
	FROM payloads
	WHERE delivery_id = $1
) AS payload`

// Payload reads the JSON of an accepted delivery; absence is
// penstock.CodeNotFound.
func (ds Deliveries) Payload(ctx context.Context, deliveryID string) (body []byte, err error) {
	err = ds.s.row(ctx, "SELECT body FROM "+payload, deliveryID).Scan(&body)
	return body, ds.payloadError(err, deliveryID)
}

// RawPayload reads the body of an accepted delivery as it was sent. nil means that it is the same as
// [Deliveries.Payload]. Absence is penstock.CodeNotFound.
func (ds Deliveries) RawPayload(ctx context.Context, deliveryID string) (raw []byte, err error) {
	err = ds.s.row(ctx, "SELECT raw FROM "+payload, deliveryID).Scan(&raw)
	return raw, ds.payloadError(err, deliveryID)
}

// PayloadSizes are the numbers of bytes that [Deliveries.Payload] and [Deliveries.RawPayload] return.
func (ds Deliveries) PayloadSizes(ctx context.Context, deliveryID string) (size, raw int64, err error) {
	err = ds.s.row(ctx, "SELECT length(body), COALESCE(length(raw), 0) FROM "+payload, deliveryID).Scan(&size, &raw)
	return size, raw, ds.payloadError(err, deliveryID)
}

func (ds Deliveries) payloadError(err error, deliveryID string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return penstock.NotFound("payload of delivery", deliveryID)
	}
	if err != nil {
		return ds.s.d.mapError(fmt.Errorf("read the payload of delivery %s: %w", deliveryID, err))
	}
	return nil
}

// LastPayloads calls look with the id, time and headers of a webhook's last accepted deliveries, and
// with their bodies, newest first, until it returns false.
func (ds Deliveries) LastPayloads(
	ctx context.Context, webhookUID string, limit int, look func(d Delivery, body []byte) bool,
) error {
	page, args := newest([]penstock.Outcome{penstock.OutcomeAccepted}, limit, condition{})
	list, _, err := ds.read(ctx, webhookUID, page, "", append([]any{int64(math.MaxInt64)}, args...), limit)
	if err != nil {
		return err
	}
	for _, d := range list {
		body, err := ds.Payload(ctx, d.ID)
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			continue // cleared since
		}
		if err != nil {
			return err
		}
		if !look(d, body) {
			return nil
		}
	}
	return nil
}
