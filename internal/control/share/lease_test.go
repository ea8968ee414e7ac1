package share_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/share"
)

// Servers that use their leases at any time before the end never use more than the quota in a
// minute, also if they give back what they did not use.
func TestLeasesNeverExceedTheQuota(t *testing.T) {
	t.Parallel()
	const quota, servers, lasts = 50, 5, 2 * time.Second
	random := rand.New(rand.NewPCG(1, 2))
	type held struct {
		left, size int
		slot       int64
		until      time.Time
	}
	var shared share.Window
	var used []time.Time
	holders := make([]held, servers)
	now := time.Unix(1_700_000_000, 0)
	for range 100_000 {
		now = now.Add(time.Duration(random.IntN(300)) * time.Millisecond)
		h := &holders[random.IntN(servers)]
		if h.left > 0 && now.Before(h.until) {
			h.left--
			used = append(used, now)
			continue
		}
		got := share.Lease{
			Quota: quota, Want: 1 + random.IntN(20), Lasts: lasts, Unused: h.left, UnusedAt: h.slot,
		}.Take(&shared, now)
		if got.N > 0 {
			used = append(used, now)
		}
		*h = held{left: max(0, got.N-1), size: got.N, slot: got.At, until: now.Add(lasts)}
	}
	slices.SortFunc(used, time.Time.Compare)
	if len(used) < 10_000 {
		t.Fatalf("only %d events were used", len(used))
	}
	for i := quota; i < len(used); i++ {
		if gap := used[i].Sub(used[i-quota]); gap < share.WindowLength {
			t.Fatalf("%d events within %s", quota+1, gap)
		}
	}
}

// A lease gets a quarter of what remains, so that other servers get some, and at least one event.
func TestLeaseLeavesRoom(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var w share.Window
	l := share.Lease{Quota: 8, Want: 100, Lasts: time.Second}
	for i, want := range []int{2, 1, 1, 1, 1, 1, 1, 0} {
		if got := l.Take(&w, now); got.N != want {
			t.Errorf("lease %d: got %d events, want %d", i, got.N, want)
		}
	}
	l.Unused, l.UnusedAt = 1, now.Add(time.Second).UnixMilli()
	if got := l.Take(&w, now); got.N != 1 {
		t.Errorf("got %d events after one was given back, want 1", got.N)
	}
	if got := (share.Lease{Quota: 8, Want: 1}).Take(&w, now); got.N != 0 || got.Reset != share.WindowLength {
		t.Errorf("got %+v from a full window, want none for a minute", got)
	}
}
