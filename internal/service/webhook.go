package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/signature"
	"github.com/penstock-dev/penstock/internal/store"
)

// ListWebhooks lists a factory's webhooks by name.
func (s *Service) ListWebhooks(ctx context.Context, p penstock.Principal, factoryUID string) ([]penstock.Webhook, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return nil, err
	}
	if _, err := s.store.Factory(ctx, p.Team, factoryUID); err != nil {
		return nil, err
	}
	rows, err := s.store.Webhooks(ctx, p.Team, factoryUID)
	if err != nil {
		return nil, err
	}
	webhooks := make([]penstock.Webhook, len(rows))
	for i, w := range rows {
		webhooks[i] = s.presentWebhook(w)
	}
	return webhooks, s.markWebhooks(ctx, s.store.SecretCopies, p.Team, factoryUID, webhooks)
}

// Webhook answers one webhook of a factory.
func (s *Service) Webhook(ctx context.Context, p penstock.Principal, factoryUID, uid string) (penstock.Webhook, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	w, err := s.store.Webhook(ctx, p.Team, factoryUID, uid)
	if err != nil {
		return penstock.Webhook{}, err
	}
	one := []penstock.Webhook{s.presentWebhook(w)}
	err = s.markWebhooks(ctx, s.store.SecretCopies, p.Team, factoryUID, one)
	return one[0], err
}

// presentWebhook adds what is not stored.
func (s *Service) presentWebhook(w store.WebhookRow) penstock.Webhook {
	out := w.Webhook
	out.IngressURL = s.ingressURL(w, "{token}")
	return out
}

// ingressURL is where deliveries of a webhook are sent; token stands at its end
// where the mode is url_token.
func (s *Service) ingressURL(w store.WebhookRow, token string) string {
	url := s.publicURL + "/webhooks/w/" + w.UID
	if w.AuthMode == penstock.AuthURLToken {
		url += "/" + token
	}
	return url
}

// reveal is the one answer that shows a new secret; with "" there is none to
// show.
func (s *Service) reveal(w store.WebhookRow, value string) penstock.Webhook {
	out := s.presentWebhook(w)
	if value != "" {
		out.Secret, out.IngressURL = value, s.ingressURL(w, value)
	}
	return out
}

// CreateWebhook makes a webhook of a factory with the managed secret that it
// takes its value from. The answer alone shows a secret that was made with it.
// Where only the sender can make the secret, the webhook is disabled until it is
// given.
func (s *Service) CreateWebhook(ctx context.Context, p penstock.Principal, factoryUID string, req penstock.WebhookRequest) (penstock.Webhook, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	w, err := newWebhook(req)
	if err != nil {
		return penstock.Webhook{}, err
	}
	w.Team, w.FactoryUID = p.Team, factoryUID
	return edit(ctx, s, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w := w // the transaction may be run again
		if err := s.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.roomForWebhook(ctx, tx, p, factoryUID); err != nil {
			return penstock.Webhook{}, err
		}
		value, fresh, err := s.firstSecret(ctx, tx, p, &w, req)
		if err != nil {
			return penstock.Webhook{}, err
		}
		if err := tx.AddWebhook(ctx, w); err != nil {
			return penstock.Webhook{}, err
		}
		if value != "" {
			if err := s.giveWebhook(ctx, tx, w, value, 0); err != nil {
				return penstock.Webhook{}, err
			}
		}
		if err := s.rewrite(ctx, tx, p, factoryUID); err != nil {
			return penstock.Webhook{}, err
		}
		if !fresh {
			value = ""
		}
		return s.readWebhook(ctx, tx, w, value)
	})
}

// roomForWebhook refuses a webhook beyond the limit. The team's new version
// keeps others from adding one meanwhile.
func (s *Service) roomForWebhook(ctx context.Context, tx *store.Tx, p penstock.Principal, factoryUID string) error {
	if _, err := tx.Factory(ctx, p.Team, factoryUID); err != nil {
		return err
	}
	most := s.limits.WebhooksPerFactory
	if most == 0 {
		return nil
	}
	n, err := tx.CountWebhooks(ctx, factoryUID)
	if err == nil && n >= most {
		err = penstock.Errorf(penstock.CodeConflict, "the factory has %d webhooks, which is as many as this server allows (webhooks_per_factory is %d)", n, most)
	}
	return err
}

// readWebhook answers a webhook as it is in the transaction, with a value that
// is shown this once.
func (s *Service) readWebhook(ctx context.Context, tx *store.Tx, w store.WebhookRow, value string) (penstock.Webhook, error) {
	now, err := tx.Webhook(ctx, w.Team, w.FactoryUID, w.UID)
	if err != nil {
		return penstock.Webhook{}, err
	}
	one := []penstock.Webhook{s.reveal(now, value)}
	err = s.markWebhooks(ctx, tx.SecretCopies, w.Team, w.FactoryUID, one)
	return one[0], err
}

// newWebhook makes a webhook of a request, and reports all that is wrong with
// it.
func newWebhook(req penstock.WebhookRequest) (store.WebhookRow, error) {
	now := penstock.Now()
	w := store.WebhookRow{Webhook: penstock.Webhook{
		UID: penstock.NewUID(), AuthMode: penstock.AuthToken, SecretRefresh: penstock.RefreshApply, Enabled: true, CreatedAt: now, UpdatedAt: now,
	}}
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	set(&w.Label, req.Name)
	if w.Label = strings.TrimSpace(w.Label); w.Label == "" {
		bad("/name", "is required")
	} else {
		checkName(bad, w.Label, true)
		name, ok := penstock.ResourceName(w.Label)
		if w.Name = name; !ok && errs == nil {
			bad("/name", "%s", penstock.ResourceNameRule)
		}
	}
	set(&w.AuthMode, req.AuthMode)
	set(&w.SignatureScheme, req.SignatureScheme)
	errs = append(errs, checkMode(w)...)
	if req.Suspended != nil {
		bad("/suspended", "is for a webhook that there is")
	}
	if req.SecretName != nil && !penstock.ValidSecretName(*req.SecretName) {
		bad("/secret_name", "must be at most 128 letters, digits and _, and not begin with a digit")
	}
	set(&w.SecretName, req.SecretName)
	set(&w.Enabled, req.Enabled)
	errs = append(errs, changeWebhook(&w, req)...)
	if req.Secret != nil && errs == nil {
		errs = checkWebhookSecret("/secret", w, *req.Secret)
	}
	if errs != nil {
		return w, penstock.InvalidFields(errs...)
	}
	return w, nil
}

// checkMode reports what is wrong with the mode of a webhook and its scheme.
func checkMode(w store.WebhookRow) []penstock.FieldError {
	modes := []penstock.AuthMode{penstock.AuthToken, penstock.AuthURLToken, penstock.AuthSignature}
	_, known := signature.PresetOf(w.SignatureScheme)
	switch {
	case !slices.Contains(modes, w.AuthMode):
		return []penstock.FieldError{{Pointer: "/auth_mode", Detail: "must be one of token, url_token, signature"}}
	case w.AuthMode != penstock.AuthSignature && w.SignatureScheme != "":
		return []penstock.FieldError{{Pointer: "/signature_scheme", Detail: "is for auth_mode signature only"}}
	case w.AuthMode != penstock.AuthSignature || known:
		return nil
	case w.SignatureScheme == "":
		return []penstock.FieldError{{Pointer: "/signature_scheme", Detail: "is required for auth_mode signature"}}
	}
	var names []string
	for _, preset := range signature.Presets() {
		names = append(names, string(preset.Scheme))
	}
	detail := "is none of " + strings.Join(names, ", ")
	if near := penstock.Nearest(string(w.SignatureScheme), names); near != "" {
		detail = fmt.Sprintf("is no scheme; did you mean %s?", near)
	}
	return []penstock.FieldError{{Pointer: "/signature_scheme", Detail: detail}}
}

// changeWebhook applies what a create and an update have in common, and reports
// what is wrong with it.
func changeWebhook(w *store.WebhookRow, req penstock.WebhookRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	if req.Signature != nil {
		w.Signature = req.Signature
		if *w.Signature == (penstock.Signature{}) && w.SignatureScheme != penstock.SchemeCustomHMAC {
			w.Signature = nil
		}
	}
	if _, known := signature.PresetOf(w.SignatureScheme); known || w.AuthMode != penstock.AuthSignature {
		errs = append(errs, signature.Check(w.SignatureScheme, w.Signature)...)
	}
	if set(&w.DeliveryIDHeader, req.DeliveryIDHeader); w.DeliveryIDHeader != "" {
		if problem := signature.CheckIDHeader(w.DeliveryIDHeader, w.Signature); problem != "" {
			errs = append(errs, penstock.FieldError{Pointer: "/delivery_id_header", Detail: problem})
		}
	}
	set(&w.ReplayGuard, req.ReplayGuard)
	set(&w.SecretRefresh, req.SecretRefresh)
	if w.SecretRefresh != penstock.RefreshApply && w.SecretRefresh != penstock.RefreshImmediate {
		errs = append(errs, penstock.FieldError{Pointer: "/secret_refresh", Detail: "must be one of apply, immediate"})
	}
	return errs
}

// UpdateWebhook changes what the request has: an absent field stays. A secret
// finishes a webhook that waits for it. A change of a webhook that is enabled,
// and the switch to it, makes it read its managed secret again.
func (s *Service) UpdateWebhook(ctx context.Context, p penstock.Principal, factoryUID, uid string, req penstock.WebhookRequest) (penstock.Webhook, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	if errs := unchangeable(req); errs != nil {
		return penstock.Webhook{}, penstock.InvalidFields(errs...)
	}
	return edit(ctx, s, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w, err := tx.Webhook(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return penstock.Webhook{}, err
		}
		if req.Defines() {
			if err := s.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
				return penstock.Webhook{}, err
			}
		}
		changed, err := s.change(ctx, tx, p, w, req)
		if err != nil {
			return penstock.Webhook{}, err
		}
		changed.UpdatedAt = penstock.Now()
		if err := tx.SetWebhook(ctx, changed); err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.rewrite(ctx, tx, p, factoryUID); err != nil {
			return penstock.Webhook{}, err
		}
		return s.readWebhook(ctx, tx, w, "")
	})
}

// unchangeable reports the fields that a webhook keeps for its life. Who sends
// to it was told of them.
func unchangeable(req penstock.WebhookRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	for _, field := range []struct {
		pointer string
		given   bool
	}{
		{"/name", req.Name != nil},
		{"/auth_mode", req.AuthMode != nil},
		{"/signature_scheme", req.SignatureScheme != nil},
		{"/secret_name", req.SecretName != nil},
	} {
		if field.given {
			errs = append(errs, penstock.FieldError{Pointer: field.pointer, Detail: "cannot be changed: delete the webhook and create another one"})
		}
	}
	return errs
}

// change is w as the request makes it, with its secret.
func (s *Service) change(ctx context.Context, tx *store.Tx, p penstock.Principal, w store.WebhookRow, req penstock.WebhookRequest) (store.WebhookRow, error) {
	changed := w
	errs := changeWebhook(&changed, req)
	if req.Secret != nil && errs == nil {
		errs = checkWebhookSecret("/secret", changed, *req.Secret)
	}
	if errs != nil {
		return w, penstock.InvalidFields(errs...)
	}
	set(&changed.Enabled, req.Enabled)
	set(&changed.Suspended, req.Suspended)
	if req.Secret != nil {
		if !w.PendingSecret {
			return w, penstock.Errorf(penstock.CodeConflict, "the webhook has its secret; rotate-secret replaces it")
		}
		if err := s.replaceSecret(ctx, tx, p, changed, *req.Secret, 0); err != nil {
			return w, err
		}
		changed.PendingSecret, changed.Enabled = false, req.Enabled == nil || *req.Enabled
		return changed, nil
	}
	edited := changed.Enabled != w.Enabled || !sameDefinition(changed, w)
	follows := w.PendingSecret && changed.SecretRefresh == penstock.RefreshImmediate
	if !edited || !changed.Enabled && !follows {
		return changed, nil
	}
	return s.readAgain(ctx, tx, changed)
}

// sameDefinition reports whether two states of a webhook say the same.
func sameDefinition(a, b store.WebhookRow) bool {
	sameSignature := a.Signature == b.Signature || a.Signature != nil && b.Signature != nil && *a.Signature == *b.Signature
	return sameSignature && a.DeliveryIDHeader == b.DeliveryIDHeader && a.ReplayGuard == b.ReplayGuard && a.SecretRefresh == b.SecretRefresh
}

// RotateWebhookSecret gives a webhook and its managed secret a new value, made
// here unless it is given, which the answer alone shows. The one before stops
// at once, or is valid for the overlap still.
func (s *Service) RotateWebhookSecret(ctx context.Context, p penstock.Principal, factoryUID, uid string, req penstock.RotateRequest) (penstock.Webhook, error) {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	if req.OverlapSeconds < 0 || req.OverlapSeconds > penstock.MaxOverlapSeconds {
		return penstock.Webhook{}, penstock.Invalid("/overlap_seconds", "must be from 0 to %d", penstock.MaxOverlapSeconds)
	}
	return edit(ctx, s, p, func(tx *store.Tx) (penstock.Webhook, error) {
		w, err := tx.Webhook(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return penstock.Webhook{}, err
		}
		value, err := nextSecret(w, req)
		if err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.replaceSecret(ctx, tx, p, w, value, req.OverlapSeconds); err != nil {
			return penstock.Webhook{}, err
		}
		if w.PendingSecret {
			w.PendingSecret, w.Enabled = false, true
		}
		w.UpdatedAt = penstock.Now()
		if err := tx.SetWebhook(ctx, w); err != nil {
			return penstock.Webhook{}, err
		}
		if err := s.rewrite(ctx, tx, p, factoryUID); err != nil { // it may be enabled by this
			return penstock.Webhook{}, err
		}
		return s.readWebhook(ctx, tx, w, value)
	})
}

// DeleteWebhook ends a webhook from the next request on, on every replica. The
// automations that select it stay; so does its managed secret.
func (s *Service) DeleteWebhook(ctx context.Context, p penstock.Principal, factoryUID, uid string) error {
	if err := require(p, penstock.ScopeFactoriesManage); err != nil {
		return err
	}
	return s.alter(ctx, p.Team, func(tx *store.Tx) error {
		w, err := tx.Webhook(ctx, p.Team, factoryUID, uid)
		if err != nil {
			return err
		}
		if err := s.readOnlyFactory(ctx, tx, p.Team, factoryUID, definition.KindWebhook, w.Name); err != nil {
			return err
		}
		if err := tx.DeleteWebhook(ctx, uid); err != nil {
			return err
		}
		return s.rewrite(ctx, tx, p, factoryUID)
	})
}
