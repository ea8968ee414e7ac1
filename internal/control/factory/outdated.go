package factory

import (
	"context"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// SecretCopies reads the webhooks' copies of secrets, inside or outside of a transaction.
type SecretCopies func(ctx context.Context, team string, factories ...string) ([]store.SecretCopy, error)

// Outdated lists the webhooks of factories that do not use the current value of their managed
// secret. It logs a value that cannot be decrypted, and the factory can still be read.
func (s *Webhooks) Outdated(
	ctx context.Context, read SecretCopies, team string, factories ...string,
) ([]store.SecretCopy, error) {
	copies, err := read(ctx, team, factories...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(copies, func(c store.SecretCopy) bool {
		if c.Copy.N == 0 { // it waits for its first value
			return false
		}
		current, err := s.isCurrent(c)
		if err != nil {
			s.log.Error("cannot compare a secret with the copy of a webhook", "webhook", c.WebhookUID, "error", err)
		}
		return current || err != nil
	}), nil
}

// isCurrent reports whether a webhook's copy equals the current value of its secret.
func (s *Webhooks) isCurrent(c store.SecretCopy) (bool, error) {
	value, err := s.secrets.Open(c.Secret)
	if err != nil {
		return false, err
	}
	own, err := s.openWebhookSecret(c.WebhookUID, c.Copy)
	return err == nil && own == value, err
}

// markWebhooks marks the outdated ones among the webhooks of a factory.
func (s *Webhooks) markWebhooks(
	ctx context.Context, read SecretCopies, team, factory string, webhooks []penstock.Webhook,
) error {
	outdated, err := s.Outdated(ctx, read, team, factory)
	for i, w := range webhooks {
		webhooks[i].OutdatedSecret = slices.ContainsFunc(
			outdated, func(c store.SecretCopy) bool { return c.WebhookUID == w.UID },
		)
	}
	return err
}
