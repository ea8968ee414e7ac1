package share

import (
	"net/netip"
	"slices"
	"time"
)

// WindowLength is the length of a [Window].
const WindowLength = time.Minute

// WindowTick is the resolution of a [Window] of events below a limit: by the millisecond, or
// for a limit above 300 by the second.
func WindowTick(limit int) time.Duration {
	if limit > 300 {
		return time.Second
	}
	return time.Millisecond
}

// Window counts the events of the last minute. The zero value has no events. A Window is not safe
// for concurrent use.
type Window []Slot

// Slot holds the number of events at a time.
type Slot struct {
	At int64 `json:"at"` // Unix time in milliseconds
	N  int   `json:"n"`
}

// Add counts an event at now, rounded up to the tick, so that it is never forgotten too early. If
// the clock steps back, the event gets the latest recorded time.
func (w *Window) Add(now time.Time, tick time.Duration) {
	w.forget(now)
	w.add(1, now, tick)
}

// add counts n events at a time, which may be in the future, and returns the time of their slot.
func (w *Window) add(n int, when time.Time, tick time.Duration) (at int64) {
	at = when.Add(tick - 1).Truncate(tick).UnixMilli()
	if last := len(*w) - 1; last >= 0 && (*w)[last].At >= at {
		(*w)[last].N += n
		return (*w)[last].At
	}
	*w = append(*w, Slot{At: at, N: n})
	return at
}

// remove takes n events out of the slot at a time, if the window still has it.
func (w *Window) remove(n int, at int64) {
	for i, s := range *w {
		if s.At == at {
			(*w)[i].N = max(0, s.N-n)
		}
	}
}

// Total returns how many events there were in the minute before now.
func (w *Window) Total(now time.Time) (total int) {
	w.forget(now)
	for _, s := range *w {
		total += s.N
	}
	return total
}

// Until returns the time until there are fewer than limit events, at most a minute. It returns 0 if
// there are fewer already. limit must be at least 1.
func (w *Window) Until(limit int, now time.Time) time.Duration {
	left := w.Total(now)
	if left < limit {
		return 0
	}
	for _, s := range *w {
		if left -= s.N; left < limit {
			return min(time.UnixMilli(s.At).Add(WindowLength).Sub(now), WindowLength)
		}
	}
	return WindowLength
}

// Quiet reports whether the minute before now had no event.
func (w *Window) Quiet(now time.Time) bool { return w.Total(now) == 0 }

// forget removes the events that are a minute old.
func (w *Window) forget(now time.Time) {
	oldest := now.Add(-WindowLength).UnixMilli()
	*w = slices.DeleteFunc(*w, func(s Slot) bool { return s.At <= oldest })
}

// Network returns the network that one party usually controls: an IPv4 address, or an IPv6 network
// of 64 bits.
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
