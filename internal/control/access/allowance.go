package access

import (
	"context"

	"github.com/penstock-dev/penstock/internal/control/share"
)

// SharesLimits reports whether other servers may use the same keys. Then all servers count their
// requests together, through [Keys.LeaseAllowance].
func (s *Keys) SharesLimits() bool { return s.store.Shared() }

// LeaseAllowance takes a part of a limit that all servers share.
func (s *Keys) LeaseAllowance(ctx context.Context, l share.Lease) (share.Leased, error) {
	return s.store.Keys.LeaseAllowance(ctx, l)
}

// DropAllowances removes the counts of keys that sent no request in the last minute.
func (s *Keys) DropAllowances(ctx context.Context) error {
	return share.Drain(1000, func(limit int) (int, error) { return s.store.Keys.DropAllowances(ctx, limit) })
}
