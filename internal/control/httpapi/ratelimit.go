package httpapi

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/share"
)

// limiter admits at most quota events per name in any minute. It forgets names without an event in
// the last minute.
type limiter struct {
	quota int // 0: no limit

	mu    sync.Mutex
	names map[string]*share.Window
	swept time.Time // when unused names were last removed
}

// decision is the result of counting an event.
type decision struct {
	admitted  bool
	remaining int
	reset     time.Duration // until the oldest event is forgotten
}

func newLimiter(quota int) *limiter {
	return &limiter{quota: quota, names: make(map[string]*share.Window)}
}

// take counts an event of name at now if the quota allows it.
func (l *limiter) take(name string, now time.Time) decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept) >= share.WindowLength {
		l.swept = now
		maps.DeleteFunc(l.names, func(_ string, w *share.Window) bool { return w.Quiet(now) })
	}
	w, known := l.names[name]
	if !known {
		w = new(share.Window)
		l.names[name] = w
	}
	total := w.Total(now)
	admitted := total < l.quota
	if admitted {
		w.Add(now, share.WindowTick(l.quota))
		total++
	}
	return decision{admitted, l.quota - total, w.Until(max(total, 1), now)}
}

// keyRate limits the requests of each key.
type keyRate struct {
	quota  int      // in any minute; 0: no limit
	policy []string // of the header RateLimit-Policy
	own    *limiter // of this server alone
	shared *sharedLimiter
	keys   *access.Keys
}

func newKeyRate(quota int, keys *access.Keys) *keyRate {
	return &keyRate{
		quota: quota, policy: []string{fmt.Sprintf(`"default";q=%d;w=%d`, quota, int(share.WindowLength.Seconds()))},
		own: newLimiter(quota), shared: newSharedLimiter(quota, keys.LeaseAllowance), keys: keys,
	}
}

// take counts a request of a key, on this server alone or on all servers that share the database.
func (k *keyRate) take(ctx context.Context, name string) (decision, error) {
	if k.keys.SharesLimits() {
		return k.shared.take(ctx, name)
	}
	return k.own.take(name, time.Now()), nil
}

// limit counts the request against its key. Headers show the remaining quota
// (draft-ietf-httpapi-ratelimit-headers).
func (k *keyRate) limit(c *call) error {
	if c.route.unlimited || k.quota == 0 {
		return nil
	}
	name := c.principal.KeyUID
	if c.principal.RunID != "" {
		name = "run/" + c.principal.RunID
	}
	v, err := k.take(c.ctx(), name)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h["Ratelimit-Policy"] = k.policy
	h["Ratelimit"] = []string{`"default";r=` + strconv.Itoa(v.remaining) + ";t=" + seconds(v.reset)}
	if !v.admitted {
		return limited(v.reset, "this key sent more than %d requests in the last minute", k.quota)
	}
	return nil
}

func limited(after time.Duration, format string, args ...any) error {
	e := penstock.Errorf(penstock.CodeRateLimited, format, args...)
	e.RetryAfter = max(time.Second, after)
	return e
}
