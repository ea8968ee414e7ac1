package factory

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// WebhookRequest creates or changes a webhook. In a change, an absent field stays unchanged,
// and name, auth_mode and signature_scheme are not allowed.
type WebhookRequest struct {
	Name             *string                   `json:"name,omitempty"`
	AuthMode         *penstock.AuthMode        `json:"auth_mode,omitempty"`
	SignatureScheme  *penstock.SignatureScheme `json:"signature_scheme,omitempty"`
	Signature        *penstock.Signature       `json:"signature,omitempty"`
	Secret           *string                   `json:"secret,omitempty"`
	SecretName       *string                   `json:"secret_name,omitempty"`
	DeliveryIDHeader *string                   `json:"delivery_id_header,omitempty"`
	ReplayGuard      *bool                     `json:"replay_guard,omitempty"`
	DedupBodyWindow  *penstock.DedupWindow     `json:"dedup_body_window,omitempty"`
	RetryUnmatched   *bool                     `json:"retry_unmatched,omitempty"`
	SetupPings       *bool                     `json:"setup_pings,omitempty"`
	SecretRefresh    *penstock.SecretRefresh   `json:"secret_refresh,omitempty"`
	Enabled          *bool                     `json:"enabled,omitempty"`
	Suspended        *bool                     `json:"suspended,omitempty"` // of a change only
}

// Defines reports whether the request sets any field that a factory's files define.
func (r WebhookRequest) Defines() bool {
	r.Secret, r.Suspended = nil, nil
	return r != WebhookRequest{}
}

// CreateWebhook creates a webhook and its managed secret. Only this response shows a generated
// secret. If only the sender can create the secret, the webhook is disabled until the secret is
// set.
func (s *Resources) CreateWebhook(
	ctx context.Context, p penstock.Principal, factoryUID string, req WebhookRequest,
) (penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	w, err := NewWebhook(req)
	if err != nil {
		return penstock.Webhook{}, err
	}
	w.Team, w.FactoryUID = p.Team, factoryUID
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w := w // the transaction may be run again
		if err := s.repositories.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.webhooks.RoomForWebhook(ctx, tx, p, factoryUID); err != nil {
			return penstock.Webhook{}, err
		}
		value, fresh, err := s.webhooks.FirstSecret(ctx, tx, p, &w, req) // the webhook reads it when its file is applied
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

// UpdateWebhook changes the given fields: an absent field stays unchanged. A secret completes a
// pending webhook. Changing an enabled webhook, or enabling it, makes it read its managed
// secret again.
func (s *Resources) UpdateWebhook(
	ctx context.Context, p penstock.Principal, factoryUID, uid string, req WebhookRequest,
) (penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	if errs := Unchangeable(req); errs != nil {
		return penstock.Webhook{}, penstock.InvalidFields(errs...)
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w, err := tx.Webhooks().Find(ctx, p.Team, factoryUID, uid)
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

// webhookEdit writes the new values of a webhook into its document. before is its current name in
// the files, or "". A webhook that waits for its secret is disabled, but its document has the later
// state.
func webhookEdit(before string, row store.WebhookRow) edit {
	return edit{
		kind: definition.KindWebhook, from: before, to: row.Name, webhook: row,
		write: func(document []byte, present *definition.Definition) ([]byte, error) {
			w := row.Webhook
			if w.PendingSecret {
				w.Enabled = w.Enabled || EnabledIn(present, w.Name)
			}
			return definition.WriteWebhook(document, definition.WebhookOf(w))
		},
	}
}

// RotateWebhookSecret gives a webhook and its managed secret a new value, which it generates
// unless the request has one. Only this response shows it. The old value expires at once or
// after the overlap.
func (s *Resources) RotateWebhookSecret(
	ctx context.Context, p penstock.Principal, factoryUID, uid string, req RotateRequest,
) (penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	if req.OverlapSeconds < 0 || req.OverlapSeconds > MaxOverlapSeconds {
		return penstock.Webhook{}, penstock.Invalid("/overlap_seconds", "must be from 0 to %d", MaxOverlapSeconds)
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w, err := tx.Webhooks().Find(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return penstock.Webhook{}, err
		}
		value, err := NextSecret(w, req)
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
		if err := s.factories.edit(ctx, tx, p, factoryUID, webhookEdit(w.Name, w)); err != nil { // this may enable it
			return penstock.Webhook{}, err
		}
		return s.webhooks.ReadWebhook(ctx, tx, w, value)
	})
}

// DeleteWebhook deletes a webhook. It stops with the next request, on every replica. The
// automations that select it and its managed secret stay.
func (s *Resources) DeleteWebhook(ctx context.Context, p penstock.Principal, factoryUID, uid string) error {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		w, err := tx.Webhooks().Find(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return err
		}
		if err := s.repositories.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
			return err
		}
		return s.factories.edit(ctx, tx, p, factoryUID, edit{kind: definition.KindWebhook, from: w.Name})
	})
}

// webhooks stores the webhooks, each with the current value of its secret. A webhook without a
// file is deleted: it returns 404 from the next request on.
func (a *application) webhooks(ctx context.Context, d *definition.Definition) error {
	rows, err := a.tx.Webhooks().List(ctx, a.factory.Team, a.factory.UID)
	if err != nil {
		return err
	}
	if most := a.s.limits.WebhooksPerFactory; most > 0 && len(d.Webhooks) > max(most, len(rows)) {
		return penstock.Errorf(
			penstock.CodeConflict, "the files have %d webhooks; this server allows %d (webhooks_per_factory)",
			len(d.Webhooks), most,
		)
	}
	present := map[string]store.WebhookRow{}
	for _, row := range rows {
		name := a.nameAfter(definition.KindWebhook, row.Name)
		present[name] = row
		if a.deleted(d, definition.KindWebhook, name) {
			if err := a.tx.Webhooks().Delete(ctx, row.UID); err != nil {
				return err
			}
		}
	}
	put := a.webhook
	if a.edit != nil {
		put = a.editedWebhook
	}
	for _, doc := range d.Webhooks {
		before, there := present[doc.Name]
		if err := put(ctx, doc, before, there); err != nil {
			return err
		}
	}
	return nil
}

// define applies a document to its row. Whether the webhook is enabled also depends on its
// secret.
func define(row *store.WebhookRow, w penstock.Webhook) {
	row.Name, row.AuthMode, row.SignatureScheme, row.Signature = w.Name, w.AuthMode, w.SignatureScheme, w.Signature
	row.SecretName, row.SecretRefresh = w.SecretName, w.SecretRefresh
	row.DeliveryIDHeader, row.ReplayGuard = w.DeliveryIDHeader, w.ReplayGuard
	row.DedupBodyWindow, row.RetryUnmatched, row.SetupPings = w.DedupBodyWindow, w.RetryUnmatched, w.SetupPings
}

func (a *application) webhook(ctx context.Context, doc definition.Webhook, before store.WebhookRow, there bool) error {
	row, now := before, penstock.Now()
	if !there {
		row = store.WebhookRow{
			Webhook: penstock.Webhook{UID: penstock.NewUID(), Label: doc.Name, CreatedAt: now}, Team: a.factory.Team,
			FactoryUID: a.factory.UID,
		}
	}
	w := doc.Webhook()
	define(&row, w)
	value, pending, err := a.secretValue(w.SecretName)
	if err != nil {
		return err
	}
	row.PendingSecret, row.Enabled = pending, w.Enabled && !pending
	if problem := Unfit(row, value); !pending && problem != "" {
		a.badf(
			definition.KindWebhook, doc.Name, "secretName", "the value of the secret %s is not valid for this webhook: it %s",
			w.SecretName, problem,
		)
		return nil
	}
	switch {
	case !there:
		row.UpdatedAt = now
		err = a.tx.Webhooks().Add(ctx, row)
	case !same(before.Webhook, row.Webhook):
		row.UpdatedAt = now
		err = a.tx.Webhooks().Set(ctx, row)
	}
	if err != nil {
		return err
	}
	if pending {
		return a.tx.Webhooks().EndSecrets(ctx, row.UID)
	}
	if kept, err := a.s.webhooks.Has(before, value); err != nil || kept && before.SecretName == row.SecretName {
		return err
	}
	return a.s.webhooks.GiveWebhook(ctx, a.tx, row, value, 0)
}

// editedWebhook stores the webhook of an edit. If the edit changes the files, every enabled webhook
// reads its managed secret again; a disabled one does so when it is enabled. An invalid value is an
// error only for the webhook of the edit.
func (a *application) editedWebhook(
	ctx context.Context, doc definition.Webhook, before store.WebhookRow, there bool,
) error {
	row, w, edited := before, doc.Webhook(), a.editsResource(definition.KindWebhook, doc.Name)
	if !edited && (a.same || !there) {
		return nil
	}
	if edited {
		row = a.edit.webhook
		row.Sealed = before.Sealed
		if define(&row, w); !row.PendingSecret {
			row.Enabled = w.Enabled
		}
	}
	if !there {
		if err := a.tx.Webhooks().Add(ctx, row); err != nil {
			return err
		}
	}
	switchedOn := row.PendingSecret && row.Enabled
	if switchedOn || !a.same && (!there || row.Enabled || row.PendingSecret) {
		var err error
		row, err = a.s.webhooks.Reread(ctx, a.tx, row, w.Enabled)
		code := penstock.CodeOf(err)
		if !edited && (code == penstock.CodeConflict || code == penstock.CodeNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if !edited {
		if row.PendingSecret == before.PendingSecret {
			return nil
		}
		row.UpdatedAt = penstock.Now()
	}
	return a.tx.Webhooks().Set(ctx, row)
}

// secretValue returns the value of a secret that the files name.
func (a *application) secretValue(name string) (value string, pending bool, err error) {
	row := a.secrets[name]
	if row.Pending {
		return "", true, nil
	}
	value, err = a.s.secrets.Open(row)
	return value, false, err
}
