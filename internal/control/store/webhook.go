package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
)

// WebhookRow is a webhook with its internal fields.
type WebhookRow struct {
	penstock.Webhook // without IngressURL and Secret
	Team, FactoryUID string
	Number           int64 // its number in the rows of deliveries
	// TeamVersion was read together with the rest. If the team has another version now,
	// something that evaluates deliveries may have changed.
	TeamVersion int64
	Sealed      []SealedSecret // its Secrets, in the same order
}

// SealedSecret is the webhook's own encrypted copy of a secret.
type SealedSecret struct {
	N         int64 // counts up within the webhook; the newest has the highest
	Sealed    []byte
	ExpiresAt penstock.Time // 0: it is the current one
	LastUsed  penstock.Time
}

// Valid reports whether a delivery may still be signed with the secret.
func (s SealedSecret) Valid(now penstock.Time) bool { return s.ExpiresAt == 0 || s.ExpiresAt > now }

// WebhookSecretKey identifies a secret among the secrets of all webhooks.
type WebhookSecretKey struct {
	WebhookUID string
	N          int64
}

// webhookFields are the columns of a webhook.
var webhookFields = newResource("webhooks", "w",
	numberColumn("number", func(w *WebhookRow) *int64 { return &w.Number }).unset(),
	textColumn("uid", func(w *WebhookRow) *string { return &w.UID }),
	textColumn("team", func(w *WebhookRow) *string { return &w.Team }),
	textColumn("factory_uid", func(w *WebhookRow) *string { return &w.FactoryUID }),
	textColumn("name", func(w *WebhookRow) *string { return &w.Name }),
	textColumn("label", func(w *WebhookRow) *string { return &w.Label }),
	textColumn("auth_mode", func(w *WebhookRow) *penstock.AuthMode { return &w.AuthMode }).editable(),
	textColumn("scheme", func(w *WebhookRow) *penstock.SignatureScheme { return &w.SignatureScheme }).editable(),
	jsonColumn("signature", func(w *WebhookRow) **penstock.Signature { return &w.Signature }).editable(),
	textColumn("secret_name", func(w *WebhookRow) *string { return &w.SecretName }).editable(),
	textColumn("delivery_id_header", func(w *WebhookRow) *string { return &w.DeliveryIDHeader }).editable(),
	flagColumn("replay_guard", func(w *WebhookRow) *bool { return &w.ReplayGuard }).editable(),
	textColumn("dedup_body_window", func(w *WebhookRow) *penstock.DedupWindow { return &w.DedupBodyWindow }).editable(),
	flagColumn("retry_unmatched", func(w *WebhookRow) *bool { return &w.RetryUnmatched }).editable(),
	flagColumn("setup_pings", func(w *WebhookRow) *bool { return &w.SetupPings }).editable(),
	textColumn("secret_refresh", func(w *WebhookRow) *penstock.SecretRefresh { return &w.SecretRefresh }).editable(),
	flagColumn("enabled", func(w *WebhookRow) *bool { return &w.Enabled }).editable(),
	flagColumn("suspended", func(w *WebhookRow) *bool { return &w.Suspended }).editable(),
	flagColumn("pending", func(w *WebhookRow) *bool { return &w.PendingSecret }).editable(),
	numberColumn("created_at", func(w *WebhookRow) *penstock.Time { return &w.CreatedAt }),
	numberColumn("updated_at", func(w *WebhookRow) *penstock.Time { return &w.UpdatedAt }).editable(),
)

// One row for each secret of a webhook, and one for a webhook without secrets.
var (
	webhookColumns = "SELECT " + webhookFields.selected +
		`, ` + teamVersion + `, s.n, s.sealed, s.expires_at, s.last_used_at
	FROM webhooks w
	JOIN teams t ON t.uid = w.team
	LEFT JOIN webhook_secrets s ON s.webhook_uid = w.uid
	WHERE w.deleted_at = 0 AND `
	setWebhook = webhookFields.update("", "uid = ? AND deleted_at = 0")
)

// read reads rows that belong together in one statement, so that they are consistent on both
// engines.
func (ws webhookReads) read(ctx context.Context, where string, args ...any) ([]WebhookRow, error) {
	rows, err := ws.q.query(ctx, webhookColumns+where+" ORDER BY w.name, w.uid, s.n DESC", args...)
	if err != nil {
		return nil, ws.q.store().d.mapError(fmt.Errorf("read webhooks: %w", err))
	}
	defer rows.Close()
	now, out := penstock.Now(), []WebhookRow{}
	for rows.Next() {
		w, secret, err := scanWebhook(rows)
		if err != nil {
			return nil, fmt.Errorf("read webhooks: %w", err)
		}
		if n := len(out); n == 0 || out[n-1].UID != w.UID {
			out = append(out, w)
		}
		if last := &out[len(out)-1]; secret.N > 0 && secret.Valid(now) {
			last.Secrets = append(
				last.Secrets,
				penstock.WebhookSecret{Index: len(last.Secrets), LastUsedAt: secret.LastUsed, ExpiresAt: secret.ExpiresAt},
			)
			last.Sealed = append(last.Sealed, secret)
		}
	}
	return out, ws.q.store().d.mapError(rows.Err())
}

func scanWebhook(row scanner) (w WebhookRow, secret SealedSecret, err error) {
	var n, expires, used sql.NullInt64
	if err := row.Scan(
		webhookFields.into(&w, &w.TeamVersion, &n, &secret.Sealed, &expires, &used)...,
	); err != nil {
		return w, secret, err
	}
	w.Secrets = []penstock.WebhookSecret{}
	secret.N, secret.ExpiresAt, secret.LastUsed = n.Int64, penstock.Time(expires.Int64), penstock.Time(used.Int64)
	return w, secret, nil
}

// ByUID reads a webhook of any team for a delivery, without its counts, in one round trip.
// The webhook may be disabled or pending. Absence and deletion are penstock.CodeNotFound.
func (ws Webhooks) ByUID(ctx context.Context, uid string) (WebhookRow, error) {
	return ws.one(ctx, uid, "w.uid = $1", uid)
}

// OfDelivery returns the UID of the webhook of a delivery, also of one that was deleted, and whether it is the ingress
// of a connection. Absence is penstock.CodeNotFound.
func (ws Webhooks) OfDelivery(ctx context.Context, id string) (uid string, connection bool, err error) {
	var factory string
	err = ws.s.row(ctx, `SELECT w.uid, w.factory_uid
		FROM deliveries d
		JOIN webhooks w ON w.number = d.webhook
		WHERE d.id = $1`, id).Scan(&uid, &factory)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, penstock.NotFound("delivery", id)
	}
	return uid, factory == "", ws.s.d.mapError(wrapf(err, "read the webhook of delivery %s", id))
}

const webhookOfFactory = "w.team = $1 AND w.factory_uid = $2"

// Find reads a webhook of a factory. In a transaction that has called [Tx.Changed], no other one changes
// it until the end. Absence is penstock.CodeNotFound.
func (ws webhookReads) Find(ctx context.Context, team, factoryUID, uid string) (WebhookRow, error) {
	w, err := ws.one(ctx, uid, webhookOfFactory+" AND w.uid = $3", team, factoryUID, uid)
	if err != nil {
		return w, err
	}
	list := []WebhookRow{w}
	err = ws.fillCounts(ctx, list, webhookOfFactory+" AND w.uid = $3", team, factoryUID, uid)
	return list[0], err
}

func (ws webhookReads) one(ctx context.Context, uid, where string, args ...any) (WebhookRow, error) {
	list, err := ws.read(ctx, where, args...)
	return only(list, err, "webhook", uid)
}

// List returns a factory's webhooks by name.
func (ws Webhooks) List(ctx context.Context, team, factoryUID string) ([]WebhookRow, error) {
	list, err := ws.read(ctx, webhookOfFactory, team, factoryUID)
	if err != nil {
		return nil, err
	}
	return list, ws.fillCounts(ctx, list, webhookOfFactory, team, factoryUID)
}

// List returns a factory's webhooks by name, without their counts, within the
// transaction.
func (ws WebhooksTx) List(ctx context.Context, team, factoryUID string) ([]WebhookRow, error) {
	return ws.read(ctx, webhookOfFactory, team, factoryUID)
}

// OfSecret lists the webhooks of a team whose managed secret has the
// name, without their counts.
func (ws WebhooksTx) OfSecret(ctx context.Context, team, name string) ([]WebhookRow, error) {
	return ws.read(ctx, "w.team = $1 AND w.secret_name = $2", team, name)
}

// Count returns the number of a factory's webhooks.
func (ws WebhooksTx) Count(ctx context.Context, factoryUID string) (n int, err error) {
	if err := ws.tx.row(ctx, `SELECT count(*)
		FROM webhooks
		WHERE factory_uid = $1 AND deleted_at = 0`, factoryUID).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the webhooks of factory %s: %w", factoryUID, err)
	}
	return n, nil
}

// Add stores a new webhook without secrets. A name that the factory uses
// already is a conflict.
func (ws WebhooksTx) Add(ctx context.Context, w WebhookRow) error {
	return ws.tx.nameTaken(webhookFields.add(ctx, ws.tx, &w), "a webhook", w.Name)
}

// Set stores the editable fields of a webhook that was read in the transaction. It does not
// change the secrets.
func (ws WebhooksTx) Set(ctx context.Context, w WebhookRow) error {
	_, err := ws.tx.exec(ctx, setWebhook, webhookFields.changes(&w, w.UID)...)
	return wrapf(err, "store webhook %s", w.UID)
}

// SetSecret sets the current secret of a webhook. Earlier ones expire at until, if not
// sooner. With 0, they expire at once.
func (ws WebhooksTx) SetSecret(ctx context.Context, uid string, secret SealedSecret, until penstock.Time) error {
	over := int64(math.MaxInt64)
	if until != 0 {
		over = int64(penstock.Now())
		if _, err := ws.tx.exec(ctx, `UPDATE webhook_secrets
			SET expires_at = $1
			WHERE webhook_uid = $2 AND (expires_at = 0 OR expires_at > $1)`, int64(until), uid); err != nil {
			return fmt.Errorf("end the secrets of webhook %s: %w", uid, err)
		}
	}
	if _, err := ws.tx.exec(ctx, `DELETE FROM webhook_secrets
		WHERE webhook_uid = $1 AND expires_at <= $2`, uid, over); err != nil {
		return fmt.Errorf("end the secrets of webhook %s: %w", uid, err)
	}
	_, err := ws.tx.exec(ctx, `INSERT INTO webhook_secrets (webhook_uid, n, sealed)
		VALUES ($1, $2, $3)`, uid, secret.N, secret.Sealed)
	return wrapf(err, "store a secret of webhook %s", uid)
}

// EndSecrets ends every secret of a webhook at once. The webhook then waits for a secret
// with another name.
func (ws WebhooksTx) EndSecrets(ctx context.Context, uid string) error {
	_, err := ws.tx.exec(ctx, "DELETE FROM webhook_secrets WHERE webhook_uid = $1", uid)
	return wrapf(err, "end the secrets of webhook %s", uid)
}

// NextSecret returns the number of the next secret of a webhook. A webhook never reuses a
// number.
func (ws WebhooksTx) NextSecret(ctx context.Context, uid string) (n int64, err error) {
	if err := ws.tx.row(ctx, `SELECT COALESCE(max(n), 0) + 1
		FROM webhook_secrets
		WHERE webhook_uid = $1`, uid).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the secrets of webhook %s: %w", uid, err)
	}
	return n, nil
}

// Delete removes a webhook that was read in the transaction from every list, with its
// secrets, counts and senders. [Deliveries.ClearLog] removes its log later.
func (ws WebhooksTx) Delete(ctx context.Context, uid string) error {
	if _, err := ws.tx.exec(ctx, `UPDATE webhooks
		SET deleted_at = $1
		WHERE uid = $2 AND deleted_at = 0`, int64(penstock.Now()), uid); err != nil {
		return fmt.Errorf("delete webhook %s: %w", uid, err)
	}
	for _, table := range []string{
		"webhook_secrets", "webhook_rates", "webhook_senders", "webhook_counts", "failing_webhooks",
	} {
		if _, err := ws.tx.exec(ctx, "DELETE FROM "+table+" WHERE webhook_uid = $1", uid); err != nil {
			return fmt.Errorf("delete webhook %s: %w", uid, err)
		}
	}
	return nil
}

// TouchSecrets records when secrets were last used, also for their managed secrets.
func (ws Webhooks) TouchSecrets(ctx context.Context, used map[WebhookSecretKey]penstock.Time) error {
	keys := slices.SortedFunc(maps.Keys(used), func(
		a, b WebhookSecretKey,
	) int { // in one order, so that replicas cannot deadlock
		return cmp.Or(cmp.Compare(a.WebhookUID, b.WebhookUID), cmp.Compare(a.N, b.N))
	})
	return ws.s.Write(ctx, func(tx *Tx) error {
		for _, k := range keys {
			if _, err := tx.exec(ctx, `UPDATE webhook_secrets
				SET last_used_at = $1
				WHERE webhook_uid = $2 AND n = $3 AND last_used_at < $1`, int64(used[k]), k.WebhookUID, k.N); err != nil {
				return fmt.Errorf("record when a secret of webhook %s was used: %w", k.WebhookUID, err)
			}
			if _, err := tx.exec(ctx, `UPDATE secrets
				SET last_used_at = $1
				WHERE last_used_at < $1 AND (team, name) = (
					SELECT team, secret_name
					FROM webhooks
					WHERE uid = $2
				)`, int64(used[k]), k.WebhookUID); err != nil {
				return fmt.Errorf("record when the managed secret of webhook %s was used: %w", k.WebhookUID, err)
			}
		}
		return nil
	})
}

// Quarter returns the number of the quarter of an hour that contains at. Deliveries are counted by
// it.
func Quarter(at penstock.Time) int64 { return int64(at) / (15 * time.Minute).Milliseconds() }

const (
	quartersOfHour = 4
	quartersOfDay  = 24 * quartersOfHour
)

// fillCounts sets the counts of the last 24 hours, to a quarter of an hour, and the time of the last
// delivery.
func (ws webhookReads) fillCounts(ctx context.Context, list []WebhookRow, where string, args ...any) error {
	args = append(args, Quarter(penstock.Now())-quartersOfDay)
	type count struct {
		uid, kind string
		n         int64
		last      penstock.Time
	}
	rows, err := ws.q.query(ctx, `SELECT c.webhook_uid, c.kind,
			CAST(sum(CASE WHEN c.quarter >= `+placeholders(len(args), 1)+` THEN c.n ELSE 0 END) AS BIGINT), max(c.last_at)
		FROM webhooks w
		JOIN webhook_counts c ON c.webhook_uid = w.uid
		WHERE w.deleted_at = 0 AND `+where+`
		GROUP BY c.webhook_uid, c.kind`, args...)
	counts, err := collect(
		ws.q.store(), rows, err, "counts of deliveries",
		func(c *count) []any { return []any{&c.uid, &c.kind, &c.n, &c.last} },
	)
	for _, c := range counts {
		i := slices.IndexFunc(list, func(w WebhookRow) bool { return w.UID == c.uid })
		if i < 0 { // created since the list was read
			continue
		}
		list[i].LastDeliveryAt = max(list[i].LastDeliveryAt, c.last)
		SetCount(&list[i].Counts, c.kind, c.n)
	}
	return err
}
