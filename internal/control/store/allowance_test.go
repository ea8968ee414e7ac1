package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Many callers at once get exactly the quota, also for a name that has no row yet.
func TestAllowanceIsLeasedOnce(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		const quota = 20
		var got atomic.Int64
		var callers sync.WaitGroup
		for range 2 * quota {
			callers.Go(func() {
				leased, err := s.Keys.LeaseAllowance(
					t.Context(), share.Lease{Name: "key", Quota: quota, Want: 3, Lasts: time.Minute},
				)
				if err != nil {
					t.Error(err)
				}
				got.Add(int64(leased.N))
			})
		}
		callers.Wait()
		if got.Load() != quota {
			t.Errorf("got %d events, want %d", got.Load(), quota)
		}
		if n, err := s.Keys.DropAllowances(t.Context(), 10); err != nil || n != 0 {
			t.Errorf("dropped %d (%v), want none that counts", n, err)
		}
	})
}
