package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// fillDeliveries and fillKeys insert the deliveries from $1 to $2 of a webhook, $3, as the server
// records them, but without bodies. All have the same millisecond. Their ids cover the same range
// as the ids in deliveries.request, so a new id falls somewhere between them.
//
//nolint:gosec // put together from texts of this file
var fillDeliveries = `INSERT INTO deliveries (
			webhook, outcome, id, received_at, size, http_status,
			identity_source, identity, matches, headers, sha256, client_ip
		)
		WITH RECURSIVE n(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $2)
		SELECT (SELECT number FROM webhooks WHERE uid = $3), 0, CAST($4 AS TEXT) || CAST(100000000000 + i AS TEXT),
			CAST($5 AS BIGINT), 2048, 202, 'provider', ` + filledIdentity + `,
			'[{"automation":"fix-0","automation_uid":"0123456789abcdefghijkl","would_trigger":false,' ||
			'"failed_at":"/repository/private","reason":"the value is in not_in"}]',
			'{"content-type":"application/json","user-agent":"GitHub-Hookshot/bench",' ||
			'"x-github-delivery":"00000000-0000-11f0-8000-4c9367dc0958","x-github-event":"push"}',
			'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '127.0.0.1'
		FROM n, (SELECT '0123456789abcdef' AS digits) AS d`

const fillKeys = `INSERT INTO delivery_keys (webhook_uid, source, value, delivery_id, received_at, expires_at)
		SELECT CAST($1 AS TEXT), 'provider', identity, id, received_at, 0
		FROM deliveries
		WHERE id >= $2 AND id < $3
		ORDER BY identity`

// filledIdentity is an expression for a UUID whose first 32 bits are i * $6.
var filledIdentity = hexOf(8, "i * $6") + ` || '-0000-11f0-8000-ffffffffffff'`

// hexOf returns an expression for the given number of hexadecimal digits.
func hexOf(digits int, number string) string {
	parts := make([]string, digits)
	for i := range parts {
		parts[i] = fmt.Sprintf("substr(digits, 1 + CAST(%s / %d %% 16 AS INTEGER), 1)", number, 1<<(4*(digits-1-i)))
	}
	return strings.Join(parts, " || ")
}

// fillLog gives a webhook a log with this many deliveries, all of the last hour.
func fillLog(ctx context.Context, engine, database, webhook string, deliveries int) error {
	db, err := openFor(engine, database)
	if err != nil {
		return err
	}
	defer db.Close()
	at := time.Now().Add(-time.Hour).UnixMilli()
	milliseconds := fmt.Sprintf("%012x", at) // RFC 9562 §5.7
	prefix := milliseconds[:8] + "-" + milliseconds[8:] + "-7000-8000-"
	id := func(i int) string { return prefix + fmt.Sprint(100_000_000_000+i) }
	for from := 0; from < deliveries; from += fillBatch {
		to := min(deliveries, from+fillBatch)
		if _, err := db.ExecContext(ctx, fillDeliveries, from, to, webhook, prefix, at, 1<<32/deliveries); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, fillKeys, webhook, id(from), id(to)); err != nil {
			return err
		}
	}
	for _, statement := range map[string][]string{
		"sqlite": {
			"PRAGMA wal_checkpoint(TRUNCATE)",
		},
		"postgres": {"VACUUM (ANALYZE) deliveries", "VACUUM (ANALYZE) delivery_keys", "CHECKPOINT"},
	}[engine] {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
