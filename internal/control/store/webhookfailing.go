package store

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
)

// When a webhook fails: of the deliveries that came in the last hour, at least so many were rejected, in at least
// so many quarters of an hour, and none was accepted.
const (
	failingDeliveries = 5
	failingQuarters   = 2
)

// announceEvery is how long after a message a webhook can get the next one. Strangers can make a webhook fail by
// requests with a wrong signature, and so cause at most one message in this time.
const announceEvery = 24 * time.Hour

// isFailing selects the webhooks that fail and were not announced, from the first quarter of the hour as $1. It
// reads counts, so that a delivery costs nothing more.
var isFailing = fmt.Sprintf(`SELECT w.uid, w.team, w.factory_uid
	FROM webhooks w
	JOIN webhook_counts c ON c.webhook_uid = w.uid AND c.quarter >= $1
	WHERE w.enabled = 1 AND w.suspended = 0 AND w.deleted_at = 0
		AND NOT EXISTS (SELECT 1 FROM failing_webhooks f WHERE f.webhook_uid = w.uid)
	GROUP BY w.uid, w.team, w.factory_uid
	HAVING sum(CASE WHEN c.kind = '%[1]s' THEN c.n ELSE 0 END) >= %[2]d
		AND count(DISTINCT CASE WHEN c.kind = '%[1]s' THEN c.quarter END) >= %[3]d
		AND sum(CASE WHEN c.kind IN ('%[4]s', '%[5]s') THEN c.n ELSE 0 END) = 0
	ORDER BY w.uid`, CountRejected, failingDeliveries, failingQuarters, CountAccepted, CountDuplicate)

// hasRecovered is the condition that a webhook was announced before $1 and has accepted a delivery since.
var hasRecovered = fmt.Sprintf(`since < $1 AND EXISTS (
		SELECT 1
		FROM webhook_counts c
		WHERE c.webhook_uid = failing_webhooks.webhook_uid AND c.quarter >= failing_webhooks.since / %d
			AND c.kind IN ('%s', '%s') AND c.n > 0
	)`, (15 * time.Minute).Milliseconds(), CountAccepted, CountDuplicate)

// AnnounceFailing announces the webhooks that fail, each once until it works again, and at most once a day. Without
// an enabled endpoint it does nothing.
func (ws Webhooks) AnnounceFailing(ctx context.Context, now penstock.Time) error {
	var wanted bool
	if err := ws.s.row(ctx, "SELECT "+hasEndpoints).Scan(&wanted); err != nil || !wanted {
		return err
	}
	if err := ws.forgetRecovered(ctx, now); err != nil {
		return err
	}
	type failing struct{ uid, team, factoryUID string }
	rows, err := ws.s.query(ctx, isFailing, Quarter(now)-quartersOfHour+1)
	list, err := collect(ws.s, rows, err, "webhooks that fail", func(f *failing) []any {
		return []any{&f.uid, &f.team, &f.factoryUID}
	})
	if err != nil {
		return err
	}
	for _, f := range list {
		path := "/api/v1/factory/" + f.factoryUID + "/webhooks/" + f.uid
		if f.factoryUID == "" { // of a connection
			path = "/api/v1/forges/" + f.uid
		}
		err := ws.s.Write(ctx, func(tx *Tx) error {
			n, err := tx.exec(ctx, `INSERT INTO failing_webhooks (webhook_uid, since)
				VALUES ($1, $2)
				ON CONFLICT DO NOTHING`, f.uid, int64(now))
			if err != nil || n == 0 { // another server was first
				return err
			}
			return tx.Endpoints().Announce(ctx, f.team, Announcement{
				Type: EventWebhookFailing, At: now, Path: path,
				Data: penstock.EndpointData{FactoryUID: f.factoryUID, WebhookUID: f.uid},
			})
		})
		if err != nil {
			return fmt.Errorf("announce that webhook %s fails: %w", f.uid, err)
		}
	}
	return nil
}

// forgetRecovered lets webhooks that work again be announced again.
func (ws Webhooks) forgetRecovered(ctx context.Context, now penstock.Time) error {
	before := int64(now.Add(-announceEvery))
	recovered, err := ws.s.strings(ctx, "SELECT webhook_uid FROM failing_webhooks WHERE "+hasRecovered, before)
	if err != nil || len(recovered) == 0 {
		return err
	}
	return ws.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, "DELETE FROM failing_webhooks WHERE "+hasRecovered, before)
		return err
	})
}
