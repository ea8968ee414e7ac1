package forge

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// IngressPath is the start of the path to which forges send deliveries. The uid of the connection follows.
const IngressPath = "/webhooks/f/"

// SecretRequest replaces the secret with which a forge signs deliveries.
type SecretRequest struct {
	OverlapSeconds int64 `json:"overlap_seconds,omitzero"` // how long the old one stays valid
}

// present adds what is not stored.
func (c *Connections) present(f penstock.Forge) penstock.Forge {
	f.IngressURL = c.publicURL + IngressPath + f.UID
	return f
}

// reveal is present for the only response that shows a new secret.
func (c *Connections) reveal(f penstock.Forge, secret string) penstock.Forge {
	f = c.present(f)
	f.Secret = secret
	return f
}

// addIngress lets a connection take deliveries. Its ingress is a webhook of the team without a factory.
func (c *Connections) addIngress(ctx context.Context, tx *store.Tx, row store.ForgeRow) (secret string, err error) {
	now := penstock.Now()
	err = tx.Webhooks().Add(ctx, store.WebhookRow{Team: row.Team, Webhook: penstock.Webhook{
		UID: row.UID, Name: row.UID, Label: row.Name, AuthMode: penstock.AuthSignature,
		SignatureScheme: penstock.ProviderGitHub, // Gitea and Forgejo sign in this way, too
		ReplayGuard:     true, Enabled: true,
		RetryUnmatched: true, // the forge may send it again after somebody has changed an automation
		CreatedAt:      now, UpdatedAt: now,
	}})
	if err != nil {
		return "", err
	}
	return c.giveSecret(ctx, tx, row.UID, 0)
}

func (c *Connections) giveSecret(
	ctx context.Context, tx *store.Tx, uid string, until penstock.Time,
) (secret string, err error) {
	secret = rand.Text()
	return secret, access.GiveWebhookSecret(ctx, tx, c.keyset, uid, secret, until)
}

// RotateSecret gives a connection a new secret for its deliveries, which only this response shows.
func (c *Connections) RotateSecret(
	ctx context.Context, p penstock.Principal, uid string, req SecretRequest,
) (penstock.Forge, error) {
	if _, err := c.find(ctx, p, uid); err != nil {
		return penstock.Forge{}, err
	}
	if req.OverlapSeconds < 0 || req.OverlapSeconds > access.MaxOverlapSeconds {
		return penstock.Forge{}, penstock.Invalid("/overlap_seconds", "must be from 0 to %d", access.MaxOverlapSeconds)
	}
	return access.Edit(ctx, c.responses, p, func(tx *store.Tx) (penstock.Forge, error) {
		row, err := tx.Forges().Lock(ctx, p.Team, uid)
		if err != nil {
			return penstock.Forge{}, err
		}
		ingress, err := tx.Webhooks().Find(ctx, p.Team, "", uid)
		var secret string
		switch {
		case penstock.CodeOf(err) == penstock.CodeNotFound: // an earlier version has made the connection
			secret, err = c.addIngress(ctx, tx, row)
		case err != nil:
		case req.OverlapSeconds > 0 && len(ingress.Sealed) >= access.MaxWebhookSecrets:
			err = penstock.Errorf(penstock.CodeConflict,
				"the connection already has %d valid secrets: rotate without an overlap, or wait until one expires",
				len(ingress.Sealed))
		default:
			var until penstock.Time
			if req.OverlapSeconds > 0 {
				until = penstock.Now().Add(time.Duration(req.OverlapSeconds) * time.Second)
			}
			secret, err = c.giveSecret(ctx, tx, uid, until)
		}
		return c.reveal(row.Forge, secret), err
	})
}
