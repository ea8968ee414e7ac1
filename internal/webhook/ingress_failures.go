package webhook

import (
	"net/netip"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// failures counts the deliveries whose senders did not show the secret, of the
// last minute, for each webhook and for each of its client addresses. It is this
// process's own: of several replicas each allows as many.
type failures struct {
	perAddress, perWebhook int // 0: no limit

	mu    sync.Mutex
	names map[sender]*failed
}

// sender is who fails: a network of one webhook's, or, without one, all of them.
type sender struct {
	uid     string
	network netip.Prefix
}

// failed are the failures of the last minute by the second.
type failed struct {
	seconds [window]uint16
	last    int64 // the newest second that seconds hold
	total   int
}

const (
	window     = 60
	maxSenders = 50_000 // that are remembered at once
)

func newFailures(limits penstock.WebhookLimits) *failures {
	return &failures{perAddress: limits.AuthFailuresPerAddress, perWebhook: limits.AuthFailuresPerWebhook, names: map[sender]*failed{}}
}

// address is how long the address is refused for its failures, 0 while it is
// not.
func (f *failures) address(uid string, addr netip.Addr, now time.Time) time.Duration {
	if f.perAddress == 0 {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.names[sender{uid, network(addr)}]
	if known == nil {
		return 0
	}
	known.advance(now.Unix())
	if known.total < f.perAddress {
		return 0
	}
	return known.wait(now, f.perAddress)
}

// count counts a failure; wait is not 0 where the webhook has had so many that
// they are refused without being logged.
func (f *failures) count(uid string, addr netip.Addr, now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.perAddress > 0 {
		f.add(sender{uid, network(addr)}, now)
	}
	if f.perWebhook == 0 {
		return 0
	}
	if all := f.add(sender{uid: uid}, now); all.total > f.perWebhook {
		return all.wait(now, f.perWebhook)
	}
	return 0
}

func (f *failures) add(name sender, now time.Time) *failed {
	known := f.names[name]
	if known == nil {
		f.makeRoom(now.Unix())
		known = &failed{last: now.Unix()}
		f.names[name] = known
	}
	known.advance(now.Unix())
	if slot := &known.seconds[known.last%window]; *slot < 1<<16-1 {
		*slot++
		known.total++
	}
	return known
}

// makeRoom forgets who has been quiet, and if that is nobody, anybody.
func (f *failures) makeRoom(second int64) {
	if len(f.names) < maxSenders {
		return
	}
	for name, known := range f.names {
		if second-known.last >= window {
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

// advance forgets the seconds that are a minute ago.
func (f *failed) advance(second int64) {
	if second <= f.last { // also when the clock stepped back
		return
	}
	for s := f.last + 1; s <= min(second, f.last+window); s++ {
		f.total -= int(f.seconds[s%window])
		f.seconds[s%window] = 0
	}
	f.last = second
}

// wait is how long until there are fewer than limit.
func (f *failed) wait(now time.Time, limit int) time.Duration {
	left := f.total
	for s := f.last - window + 1; s <= f.last; s++ {
		if left -= int(f.seconds[(s+window)%window]); left < limit {
			return max(time.Second, time.Unix(s+window, 0).Sub(now))
		}
	}
	return window * time.Second
}

// network is what one party usually controls: an IPv4 address, or an IPv6
// network of 64 bits.
func network(addr netip.Addr) netip.Prefix {
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
