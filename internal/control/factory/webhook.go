package factory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// EnabledIn reports whether the files enable a webhook. This takes effect when a pending
// webhook gets its secret. A webhook without a file is enabled.
func EnabledIn(d *definition.Definition, webhook string) bool {
	i := slices.IndexFunc(d.Webhooks, func(w definition.Webhook) bool { return w.Name == webhook })
	return i < 0 || d.Webhooks[i].Webhook().Enabled
}

// enabledByFiles is EnabledIn for the files of the webhook's factory.
func enabledByFiles(ctx context.Context, tx *store.Tx, w store.WebhookRow) (bool, error) {
	files, err := tx.Definitions().Files(ctx, w.FactoryUID)
	if err != nil {
		return false, err
	}
	present, _ := definition.Parse(files, definition.Known{})
	return present == nil || EnabledIn(present, w.Name), nil
}

// List lists a factory's webhooks by name.
func (s *Webhooks) List(ctx context.Context, p penstock.Principal, factoryUID string) ([]penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return nil, err
	}
	if _, err := s.store.Factories.Find(ctx, p.Team, factoryUID); err != nil {
		return nil, err
	}
	rows, err := s.store.Webhooks.List(ctx, p.Team, factoryUID)
	if err != nil {
		return nil, err
	}
	webhooks := make([]penstock.Webhook, len(rows))
	for i, w := range rows {
		webhooks[i] = s.presentWebhook(w)
	}
	return webhooks, s.markWebhooks(ctx, s.store.Webhooks.SecretCopies, p.Team, factoryUID, webhooks)
}

// Read returns one webhook of a factory.
func (s *Webhooks) Read(ctx context.Context, p penstock.Principal, factoryUID, uid string) (penstock.Webhook, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Webhook{}, err
	}
	w, err := s.store.Webhooks.Find(ctx, p.Team, factoryUID, uid)
	if err != nil {
		return penstock.Webhook{}, err
	}
	one := []penstock.Webhook{s.presentWebhook(w)}
	err = s.markWebhooks(ctx, s.store.Webhooks.SecretCopies, p.Team, factoryUID, one)
	return one[0], err
}

// presentWebhook adds the values that are not stored.
func (s *Webhooks) presentWebhook(w store.WebhookRow) penstock.Webhook {
	out := w.Webhook
	out.IngressURL = s.ingressURL(w, "{token}")
	return out
}

// ingressURL returns the URL for the deliveries of a webhook. With the mode url_token it ends
// in token.
func (s *Webhooks) ingressURL(w store.WebhookRow, token string) string {
	url := s.publicURL + "/webhooks/w/" + w.UID
	if w.AuthMode == penstock.AuthURLToken {
		url += "/" + token
	}
	return url
}

// reveal builds the only response that shows a new secret. "" shows none.
func (s *Webhooks) reveal(w store.WebhookRow, value string) penstock.Webhook {
	out := s.presentWebhook(w)
	if value != "" {
		out.Secret, out.IngressURL = value, s.ingressURL(w, value)
	}
	return out
}

// RoomForWebhook returns an error at the limit of webhooks. The new version of the team keeps
// other transactions from adding one at the same time.
func (s *Webhooks) RoomForWebhook(ctx context.Context, tx *store.Tx, p penstock.Principal, factoryUID string) error {
	if _, err := tx.Factories().Find(ctx, p.Team, factoryUID); err != nil {
		return err
	}
	most := s.limits.WebhooksPerFactory
	if most == 0 {
		return nil
	}
	n, err := tx.Webhooks().Count(ctx, factoryUID)
	if err == nil && n >= most {
		err = penstock.Errorf(
			penstock.CodeConflict,
			"the factory has %d webhooks; this server allows %d (webhooks_per_factory)", n, most,
		)
	}
	return err
}

// ReadWebhook returns a webhook as the transaction sees it. value is a new secret that only
// this response shows.
func (s *Webhooks) ReadWebhook(
	ctx context.Context, tx *store.Tx, w store.WebhookRow, value string,
) (penstock.Webhook, error) {
	now, err := tx.Webhooks().Find(ctx, w.Team, w.FactoryUID, w.UID)
	if err != nil {
		return penstock.Webhook{}, err
	}
	one := []penstock.Webhook{s.reveal(now, value)}
	err = s.markWebhooks(ctx, tx.Webhooks().SecretCopies, w.Team, w.FactoryUID, one)
	return one[0], err
}

// NewWebhook creates a webhook from a request, and returns all its errors.
func NewWebhook(req WebhookRequest) (store.WebhookRow, error) {
	now := penstock.Now()
	w := store.WebhookRow{Webhook: penstock.Webhook{
		UID: penstock.NewUID(), AuthMode: penstock.AuthToken, SecretRefresh: penstock.RefreshApply, Enabled: true,
		CreatedAt: now, UpdatedAt: now,
	}}
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	request.Set(&w.Label, req.Name)
	if w.Label = strings.TrimSpace(w.Label); w.Label == "" {
		bad("/name", "is required")
	} else {
		request.Name(bad, w.Label, true)
		name, ok := ResourceName(w.Label)
		if w.Name = name; !ok && errs == nil {
			bad("/name", "%s", resourceNameRule)
		}
	}
	request.Set(&w.AuthMode, req.AuthMode)
	request.Set(&w.SignatureScheme, req.SignatureScheme)
	errs = append(errs, checkMode(w)...)
	if req.Suspended != nil {
		bad("/suspended", "is allowed only for an existing webhook")
	}
	if req.SecretName != nil && !penstock.ValidSecretName(*req.SecretName) {
		bad("/secret_name", "must be at most 128 letters, digits and _, and not begin with a digit")
	}
	request.Set(&w.SecretName, req.SecretName)
	request.Set(&w.Enabled, req.Enabled)
	errs = append(errs, changeWebhook(&w, req)...)
	if req.Secret != nil && errs == nil {
		errs = checkWebhookSecret("/secret", w, *req.Secret)
	}
	if errs != nil {
		return w, penstock.InvalidFields(errs...)
	}
	return w, nil
}

// checkMode returns the errors of a webhook's mode and scheme.
func checkMode(w store.WebhookRow) []penstock.FieldError {
	modes := []penstock.AuthMode{penstock.AuthToken, penstock.AuthURLToken, penstock.AuthSignature}
	_, known := signature.PresetOf(w.SignatureScheme)
	switch {
	case !slices.Contains(modes, w.AuthMode):
		return []penstock.FieldError{{Pointer: "/auth_mode", Detail: "must be one of token, url_token, signature"}}
	case w.AuthMode != penstock.AuthSignature && w.SignatureScheme != "":
		return []penstock.FieldError{{Pointer: "/signature_scheme", Detail: "is allowed only with auth_mode signature"}}
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
		detail = fmt.Sprintf("is not a signature scheme; did you mean %s?", near)
	}
	return []penstock.FieldError{{Pointer: "/signature_scheme", Detail: detail}}
}

// changeWebhook applies the common part of a create and an update, and returns its errors.
func changeWebhook(w *store.WebhookRow, req WebhookRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	if req.Signature != nil {
		w.Signature = req.Signature
		if *w.Signature == (penstock.Signature{}) && w.SignatureScheme != signature.CustomHMAC {
			w.Signature = nil
		}
	}
	if _, known := signature.PresetOf(w.SignatureScheme); known || w.AuthMode != penstock.AuthSignature {
		errs = append(errs, signature.Check(w.SignatureScheme, w.Signature)...)
	}
	if request.Set(&w.DeliveryIDHeader, req.DeliveryIDHeader); w.DeliveryIDHeader != "" {
		if problem := signature.CheckIDHeader(w.DeliveryIDHeader, w.Signature); problem != "" {
			errs = append(errs, penstock.FieldError{Pointer: "/delivery_id_header", Detail: problem})
		}
	}
	request.Set(&w.ReplayGuard, req.ReplayGuard)
	request.Set(&w.RetryUnmatched, req.RetryUnmatched)
	if request.Set(&w.DedupBodyWindow, req.DedupBodyWindow); !w.DedupBodyWindow.Valid() {
		errs = append(errs, penstock.FieldError{
			Pointer: "/dedup_body_window",
			Detail:  "must be a time such as 20h, up to 8784h; 0 turns the comparison of bodies off",
		})
	}
	request.Set(&w.SetupPings, req.SetupPings)
	if w.SetupPings && !signature.SendsSetupPings(w.SignatureScheme) {
		errs = append(errs, penstock.FieldError{
			Pointer: "/setup_pings",
			Detail:  "is only for the schemes woocommerce and bitbucket, which send unsigned setup requests",
		})
	}
	request.Set(&w.SecretRefresh, req.SecretRefresh)
	if w.SecretRefresh != penstock.RefreshApply && w.SecretRefresh != penstock.RefreshImmediate {
		errs = append(errs, penstock.FieldError{Pointer: "/secret_refresh", Detail: "must be one of apply, immediate"})
	}
	return errs
}

// Unchangeable returns an error for each field that cannot change, because the sender is
// configured with it.
func Unchangeable(req WebhookRequest) []penstock.FieldError {
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
			errs = append(
				errs,
				penstock.FieldError{Pointer: field.pointer, Detail: "cannot be changed: delete the webhook and create another one"},
			)
		}
	}
	return errs
}

// Change applies the request to w. It stores a secret of the request. The current value of the
// managed secret is read when the webhook's file is applied.
func (s *Webhooks) Change(
	ctx context.Context, tx *store.Tx, p penstock.Principal, w store.WebhookRow, req WebhookRequest,
) (store.WebhookRow, error) {
	changed := w
	errs := changeWebhook(&changed, req)
	if req.Secret != nil && errs == nil {
		errs = checkWebhookSecret("/secret", changed, *req.Secret)
	}
	if errs != nil {
		return w, penstock.InvalidFields(errs...)
	}
	request.Set(&changed.Enabled, req.Enabled)
	request.Set(&changed.Suspended, req.Suspended)
	if req.Secret != nil {
		if !w.PendingSecret {
			return w, penstock.Errorf(penstock.CodeConflict, "the webhook already has a secret; replace it with rotate-secret")
		}
		if err := s.ReplaceSecret(ctx, tx, p, changed, *req.Secret, 0); err != nil {
			return w, err
		}
		changed.PendingSecret, changed.Enabled = false, req.Enabled == nil || *req.Enabled
		return changed, nil
	}
	return changed, nil
}
