package factory

import (
	"context"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// markFactories names the outdated webhooks of each factory.
func (s *Factories) markFactories(
	ctx context.Context, read SecretCopies, team string, factories []penstock.Factory,
) error {
	uids := make([]string, len(factories))
	for i, f := range factories {
		uids[i] = f.UID
	}
	outdated, err := s.webhooks.Outdated(ctx, read, team, uids...)
	for _, c := range outdated {
		f := &factories[slices.Index(uids, c.FactoryUID)].Definition
		f.OutdatedWebhooks = append(f.OutdatedWebhooks, c.Webhook)
	}
	return err
}

// presentFactory sets the fields that are not stored with a factory.
func (s *Factories) presentFactory(
	ctx context.Context, read SecretCopies, r store.FactoryRow,
) (penstock.Factory, error) {
	one := []penstock.Factory{r.Factory}
	err := s.markFactories(ctx, read, r.Team, one)
	return one[0], err
}
