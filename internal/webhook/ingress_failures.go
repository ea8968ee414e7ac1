package webhook

import (
	"net/netip"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/rate"
)

// failures counts the unauthenticated deliveries of the last minute, by webhook and by client
// address. Each replica counts for itself.
type failures struct {
	perAddress, perWebhook int // 0: no limit

	mu    sync.Mutex
	names map[sender]*rate.Window
}

// sender identifies a count: one network of a webhook or, without a network, all of them.
type sender struct {
	uid     string
	network netip.Prefix
}

const maxSenders = 50_000 // that are remembered at once

func newFailures(limits penstock.WebhookLimits) *failures {
	return &failures{
		perAddress: limits.AuthFailuresPerAddress, perWebhook: limits.AuthFailuresPerWebhook,
		names: map[sender]*rate.Window{},
	}
}

// address returns how long the address is blocked because of its failures, or 0.
func (f *failures) address(uid string, addr netip.Addr, now time.Time) time.Duration {
	if f.perAddress == 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.names[sender{uid, rate.Network(addr)}]; known != nil {
		return known.Until(f.perAddress, now)
	}
	return 0
}

// count counts a failure. wait is not 0 if the webhook had so many that further ones are
// rejected without a log entry.
func (f *failures) count(uid string, addr netip.Addr, now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.perAddress > 0 {
		f.add(sender{uid, rate.Network(addr)}, now)
	}
	if f.perWebhook == 0 {
		return 0
	}
	if all := f.add(sender{uid: uid}, now); all.Total(now) > f.perWebhook {
		return all.Until(f.perWebhook, now)
	}
	return 0
}

func (f *failures) add(name sender, now time.Time) *rate.Window {
	known := f.names[name]
	if known == nil {
		f.makeRoom(now)
		known = new(rate.Window)
		f.names[name] = known
	}
	known.Add(now, time.Second) // there may be any number
	return known
}

// makeRoom removes senders without recent failures, or any sender if there are none.
func (f *failures) makeRoom(now time.Time) {
	if len(f.names) < maxSenders {
		return
	}
	for name, known := range f.names {
		if known.Quiet(now) {
			delete(f.names, name)
		}
	}
	for name := range f.names {
		if len(f.names) < maxSenders {
			return
		}
		delete(f.names, name)
	}
}
