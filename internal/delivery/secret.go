package delivery

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
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/signature"
	"github.com/penstock-dev/penstock/internal/store"
)

// Limits of a webhook's secrets.
const (
	maxToken          = 1024 // characters of a token: it is part of a header or of a URL
	maxWebhookSecrets = 5    // valid at once: each is tried on every delivery
)

// checkWebhookSecret reports, without repeating it, why value cannot be the
// secret of w.
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

// unfitNext says, without repeating it, why value cannot become the secret of w;
// "" where it can.
func unfitNext(w store.WebhookRow, value string) string {
	if problem := Unfit(w, value); problem != "" {
		return problem
	}
	if IsShort(value) {
		return fmt.Sprintf("must have at least %d characters", penstock.MinWebhookSecret)
	}
	return ""
}

// IsShort reports whether a secret has fewer characters than a new one must have.
func IsShort(value string) bool { return utf8.RuneCountInString(value) < penstock.MinWebhookSecret }

// Has reports whether value is the present secret of w.
func (s *Webhooks) Has(w store.WebhookRow, value string) (bool, error) {
	if len(w.Sealed) == 0 {
		return false, nil
	}
	present, err := s.openWebhookSecret(w.UID, w.Sealed[0])
	return err == nil && present == value, err
}

// Unfit says, without repeating it, why value is no secret for the mode of w,
// however short; "" where it is one.
func Unfit(w store.WebhookRow, value string) string {
	isToken := func(allowed func(rune) bool) bool {
		return value != "" && len(value) <= maxToken && !strings.ContainsFunc(value, func(r rune) bool { return !allowed(r) })
	}
	switch w.AuthMode {
	case penstock.AuthURLToken:
		if !isToken(urlSafe) || strings.Trim(value, ".") == "" { // "." and ".." would not stay in a path
			return fmt.Sprintf(
				"must be %d to %d characters of A-Z, a-z, 0-9 and -._~, which stand in a URL as they are",
				penstock.MinWebhookSecret, maxToken,
			)
		}
	case penstock.AuthToken:
		if !isToken(func(r rune) bool { return r > ' ' && r <= '~' }) {
			return fmt.Sprintf("must be %d to %d visible ASCII characters, without spaces", penstock.MinWebhookSecret, maxToken)
		}
	case penstock.AuthSignature:
		if strings.TrimSpace(value) != value {
			return "must not begin or end with white space"
		}
		if err := signature.CheckSecret(w.SignatureScheme, w.Signature, value); err != nil {
			return "is no secret of " + string(w.SignatureScheme) + ": " + err.Error()
		}
	}
	return ""
}

// urlSafe reports whether r is unreserved in a URL (RFC 3986 §2.3).
func urlSafe(r rune) bool {
	return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)
}

// generated is a new secret for w; "" where only the sender can make one.
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

// NextSecret is the value that a rotation brings.
func NextSecret(w store.WebhookRow, req penstock.RotateRequest) (string, error) {
	if req.Secret == nil {
		value := generated(w)
		if value == "" {
			return "", penstock.Invalid(
				"/secret", "is required: with %s it is the sender that makes the secret", w.SignatureScheme,
			)
		}
		return value, nil
	}
	if errs := checkWebhookSecret("/secret", w, *req.Secret); errs != nil {
		return "", penstock.InvalidFields(errs...)
	}
	return *req.Secret, nil
}

// FirstSecret finds or makes the managed secret of a new webhook, and its
// value; "": there is none yet, and the webhook is pending. fresh says that the
// value was made or given with the webhook, and so may be shown.
func (s *Webhooks) FirstSecret(
	ctx context.Context, tx *store.Tx, p penstock.Principal, w *store.WebhookRow, req penstock.WebhookRequest,
) (value string, fresh bool, err error) {
	if w.SecretName != "" {
		found, err := tx.UseSecrets(ctx, p.Team, []string{w.SecretName})
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

// existingSecret is the value of a secret that there is already; "" where it
// has none.
func (s *Webhooks) existingSecret(
	p penstock.Principal, w *store.WebhookRow, row store.SecretRow, req penstock.WebhookRequest,
) (string, error) {
	if err := access.Require(p, penstock.ScopeSecretsManage); err != nil {
		return "", err
	}
	if req.Secret != nil {
		return "", penstock.Invalid("/secret", "cannot be given together with the name of a secret that exists")
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

// freeSecretName is the name that a webhook's secret has where none is said.
func (s *Webhooks) freeSecretName(
	ctx context.Context, tx *store.Tx, p penstock.Principal, webhook string,
) (string, error) {
	taken, err := tx.SecretNames(ctx, p.Team)
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

// ReplaceSecret makes value the next one of a webhook and of its managed
// secret, which must be the webhook's alone. A secret that the server did not
// make for the webhook is replaced only by those who manage secrets. The value
// has been checked.
func (s *Webhooks) ReplaceSecret(
	ctx context.Context, tx *store.Tx, p penstock.Principal, w store.WebhookRow, value string, overlapSeconds int64,
) error {
	row, err := tx.Secret(ctx, p.Team, w.SecretName)
	if err != nil {
		return err
	}
	if row.WebhookUID != w.UID && !p.May(penstock.ScopeSecretsManage) {
		return penstock.Errorf(penstock.CodeNotAuthorized,
			"the server did not make the secret %s for this webhook: replacing it needs the scope %s, which the key does not "+
				"have",
			w.SecretName, penstock.ScopeSecretsManage)
	}
	users, err := tx.SecretUsers(ctx, p.Team, w.SecretName)
	if err != nil {
		return err
	}
	users = slices.DeleteFunc(
		users, func(u store.SecretUser) bool { return u.Type == penstock.SecretOfWebhook && u.UID == w.UID },
	)
	if len(users) > 0 {
		return penstock.Errorf(
			penstock.CodeConflict, "the secret %s is used by %s as well, which would be left with another value", w.SecretName,
			access.NameSecretUsers(p, users),
		)
	}
	if err := s.secrets.GiveValue(ctx, tx, p, &row, value); err != nil {
		return err
	}
	return s.GiveWebhook(ctx, tx, w, value, overlapSeconds)
}

// GiveWebhook makes value the present one of the webhook's own copies. The one
// before stops, at once or after the overlap.
func (s *Webhooks) GiveWebhook(
	ctx context.Context, tx *store.Tx, w store.WebhookRow, value string, overlapSeconds int64,
) error {
	var until penstock.Time
	if overlapSeconds > 0 {
		if len(w.Sealed) >= maxWebhookSecrets {
			return penstock.Errorf(
				penstock.CodeConflict,
				"%d secrets of the webhook are valid already: rotate without an overlap, or wait until one has expired",
				len(w.Sealed),
			)
		}
		until = penstock.Now().Add(time.Duration(overlapSeconds) * time.Second)
	}
	n, err := tx.NextWebhookSecret(ctx, w.UID)
	if err != nil {
		return err
	}
	sealed, err := s.keyset.Seal([]byte(value), access.WebhookSecretContext(w.UID, n))
	if err != nil {
		return fmt.Errorf("seal a secret of webhook %s: %w", w.UID, err)
	}
	return tx.SetWebhookSecret(ctx, w.UID, store.SealedSecret{N: n, Sealed: sealed}, until)
}

// openWebhookSecret is the value of one of a webhook's secrets.
func (s *Webhooks) openWebhookSecret(uid string, secret store.SealedSecret) (string, error) {
	value, err := s.keyset.Open(secret.Sealed, access.WebhookSecretContext(uid, secret.N))
	if err != nil {
		return "", fmt.Errorf("open a secret of webhook %s: %w", uid, err)
	}
	return string(value), nil
}

// ReadAgain gives a webhook the value that its managed secret has now. One that
// was pending is finished by it, and enabled if on says so.
func (s *Webhooks) ReadAgain(
	ctx context.Context, tx *store.Tx, w store.WebhookRow, on bool,
) (store.WebhookRow, error) {
	row, err := tx.Secret(ctx, w.Team, w.SecretName)
	if err != nil {
		return w, err
	}
	if row.Pending {
		if w.Enabled {
			return w, penstock.Errorf(penstock.CodeConflict, "the webhook waits for its secret: give it one first")
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
			penstock.CodeConflict, "the value of its secret %s is none for this webhook: it %s", w.SecretName, problem,
		)
	}
	if w.PendingSecret {
		w.PendingSecret, w.Enabled = false, on
	} else if kept {
		return w, nil
	}
	return w, s.GiveWebhook(ctx, tx, w, value, 0)
}

// FollowSecret gives the next value of a managed secret to the webhooks that
// take it at once; the others take it with the next change of their factory, or
// when they are switched on. The caller's transaction has given the team its next
// version.
func (s *Webhooks) FollowSecret(ctx context.Context, tx *store.Tx, p penstock.Principal, name, value string) error {
	webhooks, err := tx.WebhooksOfSecret(ctx, p.Team, name)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		if w.SecretRefresh != penstock.RefreshImmediate {
			continue
		}
		if problem := unfitNext(w, value); problem != "" {
			return penstock.Invalid("/value", "is none for the webhook %q, which follows this secret: it %s", w.Name, problem)
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
		if err := tx.SetWebhook(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// MarkSigned notes that a delivery was signed with a secret.
func (s *Webhooks) MarkSigned(key store.WebhookSecretKey) { s.signed.Mark(key) }

// TouchWebhookSecrets records which secrets have signed deliveries.
func (s *Webhooks) TouchWebhookSecrets(ctx context.Context) error {
	return s.signed.Flush(
		func(at map[store.WebhookSecretKey]penstock.Time) error { return s.store.TouchWebhookSecrets(ctx, at) },
	)
}
