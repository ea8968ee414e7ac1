package factory

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Offer sets the secret of a pending webhook to the value that its sender posted, and enables
// the webhook. It returns ErrStale if the webhook is no longer pending, and
// CodeNotFound if its file disables it or its managed secret already has a value: an
// unauthenticated sender cannot replace it.
func (s *Receiver) Offer(ctx context.Context, plan *Plan, secret string) error {
	p := penstock.Principal{
		Team: plan.row.Team, Scopes: []penstock.Scope{penstock.ScopeFactoriesManage, penstock.ScopeSecretsManage},
		Actor: penstock.Actor{Type: "service_account", UID: plan.row.UID, DisplayName: "Webhook " + plan.row.Name},
	}
	return s.responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		w, err := tx.Webhooks().Find(ctx, p.Team, plan.row.FactoryUID, plan.row.UID)
		if err != nil {
			return err
		}
		if !w.PendingSecret {
			return ErrStale
		}
		on, err := enabledByFiles(ctx, tx, w)
		if err != nil {
			return err
		}
		if !on {
			return penstock.NotFound("webhook", plan.row.UID)
		}
		managed, err := tx.Secrets().Lock(ctx, p.Team, w.SecretName)
		if err != nil {
			return err
		}
		if !managed.Pending {
			return penstock.NotFound("webhook", plan.row.UID)
		}
		if errs := checkWebhookSecret("/verification_token", w, secret); errs != nil {
			return penstock.InvalidFields(errs...)
		}
		if err := s.webhooks.ReplaceSecret(ctx, tx, p, w, secret, 0); err != nil {
			return err
		}
		w.PendingSecret, w.Enabled, w.UpdatedAt = false, true, penstock.Now()
		return tx.Webhooks().Set(ctx, w)
	})
}
