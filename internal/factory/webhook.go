package factory

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/delivery"
	"github.com/penstock-dev/penstock/internal/store"
)

// CreateWebhook makes a webhook of a factory with the managed secret that it
// takes its value from. The answer alone shows a secret that was made with it.
// Where only the sender can make the secret, the webhook is disabled until it is
// given.
func (s *Resources) CreateWebhook(
	ctx context.Context, p penstock.Principal, factoryUID string, req penstock.WebhookRequest,
) (penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	w, err := delivery.NewWebhook(req)
	if err != nil {
		return penstock.Webhook{}, err
	}
	w.Team, w.FactoryUID = p.Team, factoryUID
	return access.Edit(ctx, s.answers, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w := w // the transaction may be run again
		if err := s.repositories.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.webhooks.RoomForWebhook(ctx, tx, p, factoryUID); err != nil {
			return penstock.Webhook{}, err
		}
		value, fresh, err := s.webhooks.FirstSecret(ctx, tx, p, &w, req) // the webhook reads it with its file
		if err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.factories.edit(ctx, tx, p, factoryUID, webhookEdit("", w)); err != nil {
			return penstock.Webhook{}, err
		}
		if !fresh {
			value = ""
		}
		return s.webhooks.ReadWebhook(ctx, tx, w, value)
	})
}

// UpdateWebhook changes what the request has: an absent field stays. A secret
// finishes a webhook that waits for it. A change of a webhook that is enabled,
// and the switch to it, makes it read its managed secret again.
func (s *Resources) UpdateWebhook(
	ctx context.Context, p penstock.Principal, factoryUID, uid string, req penstock.WebhookRequest,
) (penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	if errs := delivery.Unchangeable(req); errs != nil {
		return penstock.Webhook{}, penstock.InvalidFields(errs...)
	}
	return access.Edit(ctx, s.answers, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w, err := tx.Webhook(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return penstock.Webhook{}, err
		}
		if req.Defines() {
			if err := s.repositories.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
				return penstock.Webhook{}, err
			}
		}
		changed, err := s.webhooks.Change(ctx, tx, p, w, req)
		if err != nil {
			return penstock.Webhook{}, err
		}
		changed.UpdatedAt = penstock.Now()
		if err := s.factories.edit(ctx, tx, p, factoryUID, webhookEdit(w.Name, changed)); err != nil {
			return penstock.Webhook{}, err
		}
		return s.webhooks.ReadWebhook(ctx, tx, w, "")
	})
}

// webhookEdit makes the document of a webhook say what the row is to be; before is its name
// there, "" while it has none. One that waits for its secret is off, and its document says
// what holds after that.
func webhookEdit(before string, row store.WebhookRow) edit {
	return edit{
		kind: definition.KindWebhook, from: before, to: row.Name, webhook: row,
		write: func(document []byte, present *definition.Definition) ([]byte, error) {
			w := row.Webhook
			if w.PendingSecret {
				w.Enabled = w.Enabled || delivery.EnabledIn(present, w.Name)
			}
			return definition.WriteWebhook(document, definition.WebhookOf(w))
		},
	}
}

// RotateWebhookSecret gives a webhook and its managed secret a new value, made
// here unless it is given, which the answer alone shows. The one before stops
// at once, or is valid for the overlap still.
func (s *Resources) RotateWebhookSecret(
	ctx context.Context, p penstock.Principal, factoryUID, uid string, req penstock.RotateRequest,
) (penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	if req.OverlapSeconds < 0 || req.OverlapSeconds > penstock.MaxOverlapSeconds {
		return penstock.Webhook{}, penstock.Invalid("/overlap_seconds", "must be from 0 to %d", penstock.MaxOverlapSeconds)
	}
	return access.Edit(ctx, s.answers, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w, err := tx.Webhook(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return penstock.Webhook{}, err
		}
		value, err := delivery.NextSecret(w, req)
		if err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.webhooks.ReplaceSecret(ctx, tx, p, w, value, req.OverlapSeconds); err != nil {
			return penstock.Webhook{}, err
		}
		if w.PendingSecret {
			w.PendingSecret, w.Enabled = false, true
		}
		w.UpdatedAt = penstock.Now()
		if err := s.factories.edit(ctx, tx, p, factoryUID, webhookEdit(w.Name, w)); err != nil { // it may be enabled by this
			return penstock.Webhook{}, err
		}
		return s.webhooks.ReadWebhook(ctx, tx, w, value)
	})
}

// DeleteWebhook ends a webhook from the next request on, on every replica. The
// automations that select it stay; so does its managed secret.
func (s *Resources) DeleteWebhook(ctx context.Context, p penstock.Principal, factoryUID, uid string) error {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.answers.Alter(ctx, p.Team, func(tx *store.Tx) error {
		w, err := tx.Webhook(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return err
		}
		if err := s.repositories.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
			return err
		}
		return s.factories.edit(ctx, tx, p, factoryUID, edit{kind: definition.KindWebhook, from: w.Name})
	})
}
