// Package rate counts what somebody does within a minute.
package rate

import (
	"net/netip"
	"time"
)

const seconds = 60

// Span is how far back a [Window] looks.
const Span = seconds * time.Second

// Window counts the events of the last minute. It counts by the second, so that it takes a few
// hundred bytes however many there are, and may forget an event up to a second early. The zero value
// has no events. It is not safe for concurrent use.
type Window struct {
	slots [seconds]uint32 // by second modulo seconds
	last  int64           // the newest second that slots hold
	total int
}

// Add counts an event at now. One that comes before others, after the clock stepped back, counts as
// one of their second.
func (w *Window) Add(now time.Time) {
	w.advance(now)
	if slot := &w.slots[w.last%seconds]; *slot+1 != 0 {
		*slot++
		w.total++
	}
}

// Total is how many events there were in the minute before now.
func (w *Window) Total(now time.Time) int {
	w.advance(now)
	return w.total
}

// Until is how long after now there are fewer than limit events, which is at least 1; 0 when there
// are.
func (w *Window) Until(limit int, now time.Time) time.Duration {
	w.advance(now)
	left := w.total
	if left < limit {
		return 0
	}
	for s := w.last - seconds + 1; s <= w.last; s++ {
		if left -= int(w.slots[(s+seconds)%seconds]); left < limit {
			return time.Unix(s+seconds, 0).Sub(now)
		}
	}
	return Span
}

// Quiet reports whether the minute before now had no event.
func (w *Window) Quiet(now time.Time) bool { return now.Unix()-w.last >= seconds }

// advance forgets the slots that now has left behind.
func (w *Window) advance(now time.Time) {
	second := now.Unix()
	if second <= w.last { // also when the clock stepped back
		return
	}
	for s := max(w.last+1, second-seconds+1); s <= second; s++ {
		slot := &w.slots[s%seconds]
		w.total -= int(*slot)
		*slot = 0
	}
	w.last = second
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
