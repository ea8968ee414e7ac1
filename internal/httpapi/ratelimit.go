package httpapi

import (
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// limiter admits at most quota events per name in any window of a minute. It
// counts in slots of a second, so that a name costs a few hundred bytes however
// busy it is; an event is remembered for a second longer than the window at most.
// Names that have been quiet for a window are forgotten.
type limiter struct {
	quota int // 0: no limit

	mu    sync.Mutex
	names map[string]*usage
	sweep int64 // second of the last look for quiet names
}

const window = 60 // seconds

type usage struct {
	slots [window]uint32 // by second modulo window
	last  int64          // the newest second that slots hold
	total int
}

// verdict is the standing of a name after an event.
type verdict struct {
	admitted  bool
	remaining int
	reset     time.Duration // until the oldest event is forgotten
}

func newLimiter(quota int) *limiter {
	return &limiter{quota: quota, names: make(map[string]*usage)}
}

// take counts an event of name at now when the quota allows it.
func (l *limiter) take(name string, now time.Time) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.usage(name, now)
	if u.total >= l.quota {
		return verdict{reset: u.reset(now)}
	}
	u.slots[u.last%window]++
	u.total++
	return verdict{admitted: true, remaining: l.quota - u.total, reset: u.reset(now)}
}

func (l *limiter) usage(name string, now time.Time) *usage {
	second := now.Unix()
	if second >= l.sweep+window {
		l.sweep = second
		for n, u := range l.names {
			if second-u.last >= window {
				delete(l.names, n)
			}
		}
	}
	u, known := l.names[name]
	if !known {
		u = &usage{last: second}
		l.names[name] = u
	}
	u.advance(second)
	return u
}

// advance forgets the slots that second has left behind.
func (u *usage) advance(second int64) {
	if second <= u.last { // also when the clock stepped back
		return
	}
	for s := u.last + 1; s <= min(second, u.last+window); s++ {
		u.total -= int(u.slots[s%window])
		u.slots[s%window] = 0
	}
	u.last = second
}

func (u *usage) reset(now time.Time) time.Duration {
	for s := u.last - window + 1; s <= u.last; s++ {
		if u.slots[(s+window)%window] > 0 {
			return time.Unix(s+window, 0).Sub(now)
		}
	}
	return 0
}

// limitRate counts the request against its key and says in the headers how much
// is left (draft-ietf-httpapi-ratelimit-headers).
func (c *call) limitRate() error {
	l := c.api.perKey
	if c.route.unlimited || l.quota == 0 {
		return nil
	}
	name := c.principal.KeyUID
	if c.principal.RunID != "" {
		name = "run/" + c.principal.RunID
	}
	v := l.take(name, time.Now())
	h := c.w.Header()
	h["Ratelimit-Policy"] = c.api.ratePolicy
	h["Ratelimit"] = []string{`"default";r=` + strconv.Itoa(v.remaining) + ";t=" + seconds(v.reset)}
	if !v.admitted {
		return limited(v.reset, "this key has made its %d requests of the last minute", l.quota)
	}
	return nil
}

func limited(after time.Duration, format string, args ...any) error {
	e := penstock.Errorf(penstock.CodeRateLimited, format, args...)
	e.RetryAfter = max(time.Second, after)
	return e
}

// failed counts a request whose key or session was looked up and is not good. Once
// its address had too many of them in a minute, callers that guess get a 429 in
// place of err. A good key is never slowed down by what others behind the same
// address send: it never comes here.
func (c *call) failed(err error) error {
	l := c.api.failures
	if l.quota == 0 {
		return err
	}
	if v := l.take(network(c.peer.addr), time.Now()); !v.admitted {
		return limited(v.reset, "too many requests from this address had no valid key")
	}
	return err
}

// network is what one party usually controls: an IPv4 address, or an IPv6
// network of 64 bits.
func network(addr netip.Addr) string {
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}
