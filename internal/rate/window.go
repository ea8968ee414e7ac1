// Package rate counts what somebody does within a minute.
package rate

import (
	"net/netip"
	"slices"
	"time"
)

const seconds = 60

// Span is how far back a [Window] looks.
const Span = seconds * time.Second

// Window counts the events of the last minute, by the second. It forgets an event when it is between
// 60 and 61 seconds old, so that a limit holds in any 60 seconds. The zero value has no events. It is
// not safe for concurrent use.
type Window []Second

// Second is how many events came in a second.
type Second struct {
	At int64 `json:"at"` // Unix time
	N  int   `json:"n"`
}

// Add counts an event at now. After the clock stepped back it counts in the newest second.
func (w *Window) Add(now time.Time) {
	w.forget(now)
	if last := len(*w) - 1; last >= 0 && (*w)[last].At >= now.Unix() {
		(*w)[last].N++
		return
	}
	*w = append(*w, Second{At: now.Unix(), N: 1})
}

// Total is how many events there were in the minute before now.
func (w *Window) Total(now time.Time) (total int) {
	w.forget(now)
	for _, s := range *w {
		total += s.N
	}
	return total
}

// Until is how long after now there are fewer than limit events, which is at least 1; 0 when there
// are.
func (w *Window) Until(limit int, now time.Time) time.Duration {
	left := w.Total(now)
	if left < limit {
		return 0
	}
	for _, s := range *w {
		if left -= s.N; left < limit {
			return min(time.Unix(s.At+seconds+1, 0).Sub(now), Span+time.Second)
		}
	}
	return Span
}

// Quiet reports whether the minute before now had no event.
func (w *Window) Quiet(now time.Time) bool { return w.Total(now) == 0 }

// forget removes the seconds that are over for more than a minute.
func (w *Window) forget(now time.Time) {
	*w = slices.DeleteFunc(*w, func(s Second) bool { return s.At < now.Unix()-seconds })
}

// Network is what one party usually controls: an IPv4 address, or an IPv6 network of 64 bits.
func Network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
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
