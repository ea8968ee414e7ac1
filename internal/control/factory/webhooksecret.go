package factory

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// RotateRequest replaces a webhook's secret.
type RotateRequest struct {
	Secret         *string `json:"secret,omitempty"`         // generated when absent
	OverlapSeconds int64   `json:"overlap_seconds,omitzero"` // how long the old secret stays valid
}

// MaxOverlapSeconds is the longest time that an old secret may stay valid.
const MaxOverlapSeconds = access.MaxOverlapSeconds

// maxToken bounds the characters of a token, which is part of a header or URL.
const maxToken = 1024

// checkWebhookSecret returns why value cannot be the secret of w. The message does not contain
// it.
func checkWebhookSecret(pointer string, w store.WebhookRow, value string) []penstock.FieldError {
	errs := access.CheckSecretValue(pointer, value)
	if errs != nil {
		return errs
	}
	if problem := unfitNext(w, value); problem != "" {
		return []penstock.FieldError{{Pointer: pointer, Detail: problem}}
	}
	return nil
}

// unfitNext returns why value cannot become the secret of w, or "". The message does not
// contain it.
func unfitNext(w store.WebhookRow, value string) string {
	if problem := Unfit(w, value); problem != "" {
		return problem
	}
	if IsShort(value) {
		return fmt.Sprintf("must have at least %d characters", definition.MinWebhookSecret)
	}
	return ""
}

// IsShort reports whether a secret is shorter than a new one may be.
func IsShort(value string) bool { return utf8.RuneCountInString(value) < definition.MinWebhookSecret }

// Has reports whether value is the current secret of w.
func (s *Webhooks) Has(w store.WebhookRow, value string) (bool, error) {
	if len(w.Sealed) == 0 {
		return false, nil
	}
	present, err := s.openWebhookSecret(w.UID, w.Sealed[0])
	return err == nil && present == value, err
}

// Unfit returns why value is not a valid secret for the mode of w, or "". It ignores the
// length. The message does not contain the value.
func Unfit(w store.WebhookRow, value string) string {
	isToken := func(allowed func(rune) bool) bool {
		return value != "" && len(value) <= maxToken && !strings.ContainsFunc(value, func(r rune) bool { return !allowed(r) })
	}
	switch w.AuthMode {
	case penstock.AuthURLToken:
		if !isToken(urlSafe) || strings.Trim(value, ".") == "" { // "." and ".." would not stay in a path
			return fmt.Sprintf(
				"must be %d to %d of the characters A-Z a-z 0-9 - . _ ~, because it is part of a URL",
				definition.MinWebhookSecret, maxToken,
			)
		}
	case penstock.AuthToken:
		if !isToken(func(r rune) bool { return r > ' ' && r <= '~' }) {
			return fmt.Sprintf(
				"must be %d to %d visible ASCII characters, without spaces", definition.MinWebhookSecret, maxToken,
			)
		}
	case penstock.AuthSignature:
		if strings.TrimSpace(value) != value {
			return "must not begin or end with white space"
		}
		if err := signature.CheckSecret(w.SignatureScheme, w.Signature, value); err != nil {
			return "is not a valid secret for " + string(w.SignatureScheme) + ": " + err.Error()
		}
	}
	return ""
}

// urlSafe reports whether r is unreserved in a URL (RFC 3986 §2.3).
func urlSafe(r rune) bool {
	return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
}

// generated returns a new secret for w, or "" if only the sender can create one.
func generated(w store.WebhookRow) string {
	if w.AuthMode != penstock.AuthSignature {
		var b [24]byte
		_, _ = rand.Read(b[:]) // never fails
		return base64.RawURLEncoding.EncodeToString(b[:])
	}
	if preset, known := signature.PresetOf(w.SignatureScheme); known && preset.SecretGenerated {
		return signature.NewSecret()
	}
	return ""
}

// NextSecret returns the new value of a rotation.
func NextSecret(w store.WebhookRow, req RotateRequest) (string, error) {
	if req.Secret == nil {
		value := generated(w)
		if value == "" {
			return "", penstock.Invalid(
				"/secret", "is required: with %s, the sender creates the secret", w.SignatureScheme,
			)
		}
		return value, nil
	}
	if errs := checkWebhookSecret("/secret", w, *req.Secret); errs != nil {
		return "", penstock.InvalidFields(errs...)
	}
	return *req.Secret, nil
}

// FirstSecret finds or creates the managed secret of a new webhook and returns its value. ""
// means that the secret has no value yet, and the webhook is pending. fresh says that the value
// was generated or set with the webhook, so the response may show it.
func (s *Webhooks) FirstSecret(
	ctx context.Context, tx *store.Tx, p penstock.Principal, w *store.WebhookRow, req WebhookRequest,
) (value string, fresh bool, err error) {
	if w.SecretName != "" {
		found, err := tx.Secrets().Use(ctx, p.Team, []string{w.SecretName})
		if err != nil {
			return "", false, err
		}
		if len(found) > 0 {
			value, err := s.existingSecret(p, w, found[0], req)
			return value, false, err
		}
	} else if w.SecretName, err = s.freeSecretName(ctx, tx, p, w.Name); err != nil {
		return "", false, err
	}
	made, given := penstock.ManagedSecret{Name: w.SecretName, WebhookUID: w.UID}, req.Secret
	if value = generated(*w); given == nil && value != "" {
		given = &value
	}
	if given == nil {
		w.PendingSecret, w.Enabled = true, false
		_, err = s.secrets.Add(ctx, tx, p, made, nil)
		return "", false, err
	}
	_, err = s.secrets.Add(ctx, tx, p, made, given)
	return *given, true, err
}

// existingSecret returns the value of an existing secret, or "" if it has none.
func (s *Webhooks) existingSecret(
	p penstock.Principal, w *store.WebhookRow, row store.SecretRow, req WebhookRequest,
) (string, error) {
	if err := access.Require(p, penstock.ScopeSecretsManage); err != nil {
		return "", err
	}
	if req.Secret != nil {
		return "", penstock.Invalid("/secret", "cannot be given together with the name of an existing secret")
	}
	if row.Pending {
		w.PendingSecret, w.Enabled = true, false
		return "", nil
	}
	value, err := s.secrets.Open(row)
	if err != nil {
		return "", err
	}
	if problem := unfitNext(*w, value); problem != "" {
		return "", penstock.Invalid("/secret_name", "the value of this secret %s", problem)
	}
	return value, nil
}

// freeSecretName returns the default name of a webhook's secret.
func (s *Webhooks) freeSecretName(
	ctx context.Context, tx *store.Tx, p penstock.Principal, webhook string,
) (string, error) {
	taken, err := tx.Secrets().Names(ctx, p.Team)
	if err != nil {
		return "", err
	}
	base := strings.ToUpper(strings.ReplaceAll(webhook, "-", "_")) + "_WEBHOOK_SECRET"
	if !penstock.ValidSecretName(base) { // it begins with a digit
		base = "_" + base
	}
	name := base
	for n := 2; slices.Contains(access.SecretNames(taken), name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name, nil
}

// ReplaceSecret sets the next value of a webhook and of its managed secret, which nothing else
// may use. To replace a secret that the server did not create for the webhook, the caller needs
// the right to manage secrets. The caller has checked the value.
func (s *Webhooks) ReplaceSecret(
	ctx context.Context, tx *store.Tx, p penstock.Principal, w store.WebhookRow, value string, overlapSeconds int64,
) error {
	row, err := tx.Secrets().Lock(ctx, p.Team, w.SecretName)
	if err != nil {
		return err
	}
	if row.WebhookUID != w.UID && !p.May(penstock.ScopeSecretsManage) {
		return penstock.Errorf(penstock.CodeNotAuthorized,
			"the server did not make the secret %s for this webhook: replacing it needs the scope %s, which the key does not "+
				"have",
			w.SecretName, penstock.ScopeSecretsManage)
	}
	users, err := tx.Secrets().Users(ctx, p.Team, w.SecretName)
	if err != nil {
		return err
	}
	users = slices.DeleteFunc(
		users, func(u store.SecretUser) bool { return u.Type == store.SecretOfWebhook && u.UID == w.UID },
	)
	if len(users) > 0 {
		return penstock.Errorf(
			penstock.CodeConflict, "the secret %s is also used by %s, which would keep the old value", w.SecretName,
			access.NameSecretUsers(p, users),
		)
	}
	if err := s.secrets.GiveValue(ctx, tx, p, &row, value); err != nil {
		return err
	}
	return s.GiveWebhook(ctx, tx, w, value, overlapSeconds)
}

// GiveWebhook makes value the current secret of the webhook. The previous one expires at once
// or after the overlap.
func (s *Webhooks) GiveWebhook(
	ctx context.Context, tx *store.Tx, w store.WebhookRow, value string, overlapSeconds int64,
) error {
	var until penstock.Time
	if overlapSeconds > 0 {
		if len(w.Sealed) >= access.MaxWebhookSecrets {
			return penstock.Errorf(
				penstock.CodeConflict,
				"the webhook already has %d valid secrets: rotate without an overlap, or wait until one expires",
				len(w.Sealed),
			)
		}
		until = penstock.Now().Add(time.Duration(overlapSeconds) * time.Second)
	}
	return access.GiveWebhookSecret(ctx, tx, s.keyset, w.UID, value, until)
}

// openWebhookSecret decrypts one of a webhook's secrets.
func (s *Webhooks) openWebhookSecret(uid string, secret store.SealedSecret) (string, error) {
	value, err := s.keyset.Open(secret.Sealed, access.WebhookSecretContext(uid, secret.N))
	if err != nil {
		return "", fmt.Errorf("open a secret of webhook %s: %w", uid, err)
	}
	return string(value), nil
}

// Reread gives a webhook the current value of its managed secret. A pending webhook is then
// complete, and on says whether it is enabled.
func (s *Webhooks) Reread(
	ctx context.Context, tx *store.Tx, w store.WebhookRow, on bool,
) (store.WebhookRow, error) {
	row, err := tx.Secrets().Lock(ctx, w.Team, w.SecretName)
	if err != nil {
		return w, err
	}
	if row.Pending {
		if w.Enabled {
			return w, penstock.Errorf(penstock.CodeConflict, "the webhook waits for its secret: set one first")
		}
		return w, nil
	}
	value, err := s.secrets.Open(row)
	if err != nil {
		return w, err
	}
	kept, err := s.Has(w, value)
	if err != nil {
		return w, err
	}
	check := unfitNext
	if kept {
		check = Unfit
	}
	if problem := check(w, value); problem != "" {
		return w, penstock.Errorf(
			penstock.CodeConflict, "the value of the secret %s is not valid for this webhook: it %s", w.SecretName, problem,
		)
	}
	if w.PendingSecret {
		w.PendingSecret, w.Enabled = false, on
	} else if kept {
		return w, nil
	}
	return w, s.GiveWebhook(ctx, tx, w, value, 0)
}

// FollowSecret gives the next value of a managed secret to the webhooks with immediate refresh.
// The others get it with the next change of their factory, or when they are enabled. The
// caller's transaction has already raised the version of the team.
func (s *Webhooks) FollowSecret(ctx context.Context, tx *store.Tx, p penstock.Principal, name, value string) error {
	webhooks, err := tx.Webhooks().OfSecret(ctx, p.Team, name)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		if w.SecretRefresh != penstock.RefreshImmediate {
			continue
		}
		if problem := unfitNext(w, value); problem != "" {
			return penstock.Invalid("/value", "is not valid for the webhook %q, which uses this secret: it %s", w.Name, problem)
		}
		if err := s.GiveWebhook(ctx, tx, w, value, 0); err != nil {
			return err
		}
		if !w.PendingSecret {
			continue
		}
		if w.Enabled, err = enabledByFiles(ctx, tx, w); err != nil {
			return err
		}
		w.PendingSecret, w.UpdatedAt = false, penstock.Now()
		if err := tx.Webhooks().Set(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// MarkSigned records that a secret signed a delivery.
func (s *Webhooks) MarkSigned(key store.WebhookSecretKey) { s.signed.Mark(key) }

// TouchWebhookSecrets records which secrets have signed deliveries.
func (s *Webhooks) TouchWebhookSecrets(ctx context.Context) error {
	return s.signed.Flush(
		func(at map[store.WebhookSecretKey]penstock.Time) error { return s.store.Webhooks.TouchSecrets(ctx, at) },
	)
}
