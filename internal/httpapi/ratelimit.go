package httpapi

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/rate"
)

// limiter admits at most quota events per name in any minute. It forgets names without an event in
// the last minute.
type limiter struct {
	quota int // 0: no limit

	mu    sync.Mutex
	names map[string]*rate.Window
	swept time.Time // when unused names were last removed
}

// decision is the result of counting an event.
type decision struct {
	admitted  bool
	remaining int
	reset     time.Duration // until the oldest event is forgotten
}

func newLimiter(quota int) *limiter {
	return &limiter{quota: quota, names: make(map[string]*rate.Window)}
}

// take counts an event of name at now if the quota allows it.
func (l *limiter) take(name string, now time.Time) decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept) >= rate.Span {
		l.swept = now
		maps.DeleteFunc(l.names, func(_ string, w *rate.Window) bool { return w.Quiet(now) })
	}
	w, known := l.names[name]
	if !known {
		w = new(rate.Window)
		l.names[name] = w
	}
	total := w.Total(now)
	admitted := total < l.quota
	if admitted {
		w.Add(now, rate.Tick(l.quota))
		total++
	}
	return decision{admitted, l.quota - total, w.Until(max(total, 1), now)}
}

// keyLimit counts a request of a key.
type keyLimit func(ctx context.Context, name string) (decision, error)

// newKeyLimit returns the limit of this server alone, or of all servers that share the database.
func newKeyLimit(quota int, keys *access.Keys) keyLimit {
	own, shared := newLimiter(quota), newSharedLimiter(quota, keys.LeaseAllowance)
	return func(ctx context.Context, name string) (decision, error) {
		if keys.SharesLimits() {
			return shared.take(ctx, name)
		}
		return own.take(name, time.Now()), nil
	}
}

// limitRate counts the request against its key. Headers show the remaining quota
// (draft-ietf-httpapi-ratelimit-headers).
func (c *call) limitRate() error {
	quota := c.api.options.RequestsPerMinute
	if c.route.unlimited || quota == 0 {
		return nil
	}
	name := c.principal.KeyUID
	if c.principal.RunID != "" {
		name = "run/" + c.principal.RunID
	}
	v, err := c.api.perKey(c.ctx(), name)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h["Ratelimit-Policy"] = c.api.ratePolicy
	h["Ratelimit"] = []string{`"default";r=` + strconv.Itoa(v.remaining) + ";t=" + seconds(v.reset)}
	if !v.admitted {
		return limited(v.reset, "this key sent more than %d requests in the last minute", quota)
	}
	return nil
}

func limited(after time.Duration, format string, args ...any) error {
	e := penstock.Errorf(penstock.CodeRateLimited, format, args...)
	e.RetryAfter = max(time.Second, after)
	return e
}

// countFailure counts a request with an invalid key or session. After too many of them in a minute,
// callers at its address that guess get 429 instead of err. A valid key never comes here, so
// failures of others at the same address do not slow it down.
func (c *call) countFailure(err error) error {
	l := c.api.failures
	if l.quota == 0 {
		return err
	}
	if v := l.take(rate.Network(c.peer.addr).String(), time.Now()); !v.admitted {
		return limited(v.reset, "this address sent too many requests without a valid key")
	}
	return err
}
