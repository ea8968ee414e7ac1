package store

import "context"

// SecretCopy is the managed secret of a webhook beside the webhook's own copy.
type SecretCopy struct {
	FactoryUID, WebhookUID string
	Webhook                string // its name
	Secret                 SecretRow
	Copy                   SealedSecret // the current one; N is 0 if it does not exist yet
}

// SecretCopies lists the webhooks of factories whose managed secret may have another value than
// their copy, by name. It omits a webhook if its secret got its only value before the copy was
// made.
func (ws webhookReads) SecretCopies(ctx context.Context, team string, factories ...string) ([]SecretCopy, error) {
	if len(factories) == 0 {
		return nil, nil
	}
	args := []any{team}
	for _, uid := range factories {
		args = append(args, uid)
	}
	rows, err := ws.q.query(ctx, `SELECT w.factory_uid, w.uid, w.name, s.team, s.name, s.version, s.sealed,
			COALESCE(c.n, 0), c.sealed
		FROM webhooks w
		JOIN secrets s ON s.team = w.team AND s.name = w.secret_name
		LEFT JOIN webhook_secrets c ON c.webhook_uid = w.uid AND c.expires_at = 0
		WHERE w.team = $1 AND w.factory_uid IN (`+placeholders(2, len(factories))+`) AND w.deleted_at = 0
			AND (w.pending = 1 AND s.version > 0 OR w.pending = 0 AND s.version > 1)
		ORDER BY w.name, w.uid`, args...)
	return collect(ws.q.store(), rows, err, "copies of secrets", func(c *SecretCopy) []any {
		return []any{
			&c.FactoryUID, &c.WebhookUID, &c.Webhook, &c.Secret.Team, &c.Secret.Name, &c.Secret.Version, &c.Secret.Sealed,
			&c.Copy.N, &c.Copy.Sealed,
		}
	})
}
