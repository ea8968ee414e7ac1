package httpapi

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
)

// Limits of simultaneous validations without a key in this process.
const (
	maxAnonymous        = 8 // requests whose bodies are in memory
	maxAnonymousAddress = 2 // of these, from one client address
	maxAnonymousWork    = 2 // of these, parsed and checked at the same time
)

// crowd limits the cost of callers without a key.
type crowd struct {
	rate *limiter      // of a client address
	work chan struct{} // one place for each check

	mu     sync.Mutex
	inside map[string]int // requests by client address
	all    int
}

func newCrowd(perMinute int) *crowd {
	return &crowd{rate: newLimiter(perMinute), work: make(chan struct{}, maxAnonymousWork), inside: map[string]int{}}
}

// enter admits a request before its body is read. Call exit at its end.
func (w *crowd) enter(addr netip.Addr) (exit func(), err error) {
	name := share.Network(addr).String()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.inside[name] >= maxAnonymousAddress:
		return nil, limited(time.Second, "%d requests without a key from this address are in progress", w.inside[name])
	case w.all >= maxAnonymous:
		busy := penstock.Errorf(penstock.CodeUnavailable, "the server has too many requests without a key")
		busy.RetryAfter = time.Second
		return nil, busy
	}
	if w.rate.quota > 0 {
		if v := w.rate.take(name, time.Now()); !v.admitted {
			return nil, limited(
				v.reset, "this address sent more than %d requests without a key in the last minute", w.rate.quota,
			)
		}
	}
	w.inside[name]++
	w.all++
	return func() { w.exit(name) }, nil
}

func (w *crowd) exit(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	if w.inside[name]--; w.inside[name] == 0 {
		delete(w.inside, name)
	}
}

// check waits for its turn and calls fn.
func (w *crowd) check(ctx context.Context, fn func() error) error {
	select {
	case w.work <- struct{}{}:
		defer func() { <-w.work }()
		return fn()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
