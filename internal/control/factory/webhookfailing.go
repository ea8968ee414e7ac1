package factory

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock"
)

// AnnounceFailingEvery is how often each server calls [Webhooks.AnnounceFailing].
const AnnounceFailingEvery = 5 * time.Minute

// AnnounceFailing announces webhooks that reject all their deliveries, for a wrong secret, another signature or
// a body that cannot be read.
func (s *Webhooks) AnnounceFailing(ctx context.Context, now penstock.Time) error {
	return s.store.Webhooks.AnnounceFailing(ctx, now)
}
