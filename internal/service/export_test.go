package service

import (
	"context"
	"errors"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/store"
)

// ClearLogs runs the periodic clearing of logs at once.
func (s *Service) ClearLogs(ctx context.Context) error {
	return errors.Join(s.Deliveries.ClearLogs(ctx), s.Deliveries.ClearCounts(ctx))
}

// EndOverdue runs the half-minute job at once.
func (s *Service) EndOverdue(ctx context.Context) { _ = s.Executions.EndOverdue(ctx) }

// WebhookValues returns the secret values that verify deliveries of a webhook, the current one
// first.
func (s *Service) WebhookValues(ctx context.Context, uid string) ([]string, error) {
	w, err := s.store.Webhooks.ByUID(ctx, uid)
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

// SecretValue returns the value of a managed secret.
func (s *Service) SecretValue(ctx context.Context, name string) (string, error) {
	row, err := s.store.Secrets.Find(ctx, store.DefaultTeam, name)
	if err != nil {
		return "", err
	}
	return s.Secrets.Open(row)
}

// TeamVersion counts the changes to the rules by which deliveries are evaluated.
func (s *Service) TeamVersion(ctx context.Context) (int64, error) {
	return s.store.TeamVersion(ctx, store.DefaultTeam)
}

// SignedWith records that a delivery was signed with the current secret of a webhook, and runs the
// job of every minute at once.
func (s *Service) SignedWith(ctx context.Context, uid string) error {
	w, err := s.store.Webhooks.ByUID(ctx, uid)
	if err != nil {
		return err
	}
	s.Webhooks.MarkSigned(store.WebhookSecretKey{WebhookUID: uid, N: w.Sealed[0].N})
	return s.Webhooks.TouchWebhookSecrets(ctx)
}

// DefaultWebhooks sets the limits of the contract.
func DefaultWebhooks(o *Options) { o.Webhooks = penstock.DefaultWebhookLimits() }

// KeepSecret sets the value of a webhook and its managed secret without checks, like servers from
// before values had a minimum length.
func (s *Service) KeepSecret(ctx context.Context, p penstock.Principal, w penstock.Webhook, value string) error {
	return s.Responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		row, err := tx.Secrets().Lock(ctx, p.Team, w.SecretName)
		if err != nil {
			return err
		}
		if err := s.Secrets.GiveValue(ctx, tx, p, &row, value); err != nil {
			return err
		}
		return s.Webhooks.GiveWebhook(ctx, tx, store.WebhookRow{Webhook: w}, value, 0)
	})
}
