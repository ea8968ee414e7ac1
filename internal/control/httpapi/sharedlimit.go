package httpapi

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/control/share"
)

// How a server shares a limit with others.
const (
	leaseTime = 2 * time.Second // how long a server may use the requests of a lease
	maxLease  = 256             // requests
	askEvery  = time.Second     // how long a server rejects requests before it asks again
)

// sharedLimiter admits at most quota events per name in any minute, over all servers. The shared
// window is in the database. A server leases events from it, more each time while it uses them up,
// so a busy name rarely waits for the database, and a quiet one takes only what it uses.
type sharedLimiter struct {
	quota int
	lease func(context.Context, share.Lease) (share.Leased, error)

	mu    sync.Mutex
	names map[string]*leasedLimit
	swept time.Time // when unused names were last removed
}

// leasedLimit is what this server may admit of a name.
type leasedLimit struct {
	turn chan struct{} // held by the call that asks the database

	// Guarded by the limiter's mu.
	size      int       // of the lease
	left      int       // of it
	slot      int64     // of it in the shared window
	until     time.Time // when it ends
	refused   time.Time // until when events are rejected without asking
	remaining int       // in the shared window
	reset     time.Time // when its oldest event is forgotten
}

func newSharedLimiter(quota int, lease func(context.Context, share.Lease) (share.Leased, error)) *sharedLimiter {
	return &sharedLimiter{quota: quota, lease: lease, names: make(map[string]*leasedLimit)}
}

// take counts an event of name now if the quota allows it. It asks the database once for many
// events.
func (l *sharedLimiter) take(ctx context.Context, name string) (decision, error) {
	s := l.named(name)
	if v, known := l.fromLease(s); known {
		return v, nil
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return decision{}, ctx.Err()
	}
	defer func() { <-s.turn }()
	if v, known := l.fromLease(s); known { // another call has asked meanwhile
		return v, nil
	}
	asked := time.Now()
	got, err := l.lease(ctx, l.nextLease(s, name))
	if err != nil {
		return decision{}, err
	}
	return l.begin(s, got, asked), nil
}

func (l *sharedLimiter) named(name string) *leasedLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.swept) >= share.WindowLength {
		l.swept = now
		maps.DeleteFunc(l.names, func(_ string, s *leasedLimit) bool {
			return now.Sub(s.until) >= share.WindowLength && len(s.turn) == 0
		})
	}
	s, known := l.names[name]
	if !known {
		s = &leasedLimit{turn: make(chan struct{}, 1), until: time.Now()}
		l.names[name] = s
	}
	return s
}

// fromLease decides without the database. known is false if only the database can decide.
func (l *sharedLimiter) fromLease(s *leasedLimit) (v decision, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case s.left > 0 && now.Before(s.until):
		s.left--
		return s.decision(true, now), true
	case now.Before(s.refused):
		return s.decision(false, now), true
	}
	return decision{}, false
}

func (s *leasedLimit) decision(admitted bool, now time.Time) decision {
	return decision{admitted, s.remaining + s.left, max(0, s.reset.Sub(now))}
}

// nextLease returns the lease to ask for, which also gives back what was not used of the last one:
// twice as much as that one if it was used up, or as much as was used.
func (l *sharedLimiter) nextLease(s *leasedLimit, name string) share.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	want := 1
	if s.left > 0 {
		want = s.size - s.left
	} else if time.Since(s.until) < 0 {
		want = min(2*s.size, maxLease)
	}
	next := share.Lease{
		Name: name, Quota: l.quota, Want: max(1, want), Lasts: leaseTime, Unused: s.left, UnusedAt: s.slot,
	}
	s.left = 0
	return next
}

// begin starts a lease, and uses its first event. The lease ends for this server before it ends in
// the shared window, because it was asked for before.
func (l *sharedLimiter) begin(s *leasedLimit, got share.Leased, asked time.Time) decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	s.size, s.left, s.slot, s.until = got.N, max(0, got.N-1), got.At, asked.Add(leaseTime)
	s.remaining, s.reset = got.Remaining, now.Add(got.Reset)
	if got.N == 0 {
		s.refused = now.Add(min(got.Reset, askEvery))
	}
	return s.decision(got.N > 0, now)
}
