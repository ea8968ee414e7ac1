package service

import (
	"context"
	"errors"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/store"
)

// ClearLogs does at once what is done every few minutes.
func (s *Service) ClearLogs(ctx context.Context) error {
	return errors.Join(s.Deliveries.ClearLogs(ctx), s.Deliveries.ClearCounts(ctx))
}

// EndOverdue does at once what is done every half minute.
func (s *Service) EndOverdue(ctx context.Context) { _ = s.Executions.EndOverdue(ctx) }

// WebhookValues are the values that deliveries of a webhook are checked with,
// the present one first.
func (s *Service) WebhookValues(ctx context.Context, uid string) ([]string, error) {
	w, err := s.store.WebhookByUID(ctx, uid)
	if err != nil {
		return nil, err
	}
	values := []string{}
	for _, sealed := range w.Sealed {
		value, err := s.options.Keyset.Open(sealed.Sealed, access.WebhookSecretContext(uid, sealed.N))
		if err != nil {
			return nil, err
		}
		values = append(values, string(value))
	}
	return values, nil
}

// SecretValue is the value of a managed secret.
func (s *Service) SecretValue(ctx context.Context, name string) (string, error) {
	row, err := s.store.Secret(ctx, store.DefaultTeam, name)
	if err != nil {
		return "", err
	}
	return s.Secrets.Open(row)
}

// TeamVersion counts the changes of what deliveries are evaluated with.
func (s *Service) TeamVersion(ctx context.Context) (int64, error) {
	return s.store.TeamVersion(ctx, store.DefaultTeam)
}

// SignedWith records that a delivery was signed with the present secret of a
// webhook, and does at once what is done every minute.
func (s *Service) SignedWith(ctx context.Context, uid string) error {
	w, err := s.store.WebhookByUID(ctx, uid)
	if err != nil {
		return err
	}
	s.Webhooks.MarkSigned(store.WebhookSecretKey{WebhookUID: uid, N: w.Sealed[0].N})
	return s.Webhooks.TouchWebhookSecrets(ctx)
}

// DefaultWebhooks sets the limits of the contract.
func DefaultWebhooks(o *Options) { o.Webhooks = penstock.DefaultWebhookLimits() }

// KeepSecret gives a webhook and its managed secret a value as it is, as servers
// did before values had a least length.
func (s *Service) KeepSecret(ctx context.Context, p penstock.Principal, w penstock.Webhook, value string) error {
	return s.Answers.Alter(ctx, p.Team, func(tx *store.Tx) error {
		row, err := tx.Secret(ctx, p.Team, w.SecretName)
		if err != nil {
			return err
		}
		if err := s.Secrets.GiveValue(ctx, tx, p, &row, value); err != nil {
			return err
		}
		return s.Webhooks.GiveWebhook(ctx, tx, store.WebhookRow{Webhook: w}, value, 0)
	})
}
