package share

import "time"

// Lease asks for events of a window that several servers share. The server that gets them counts
// them itself until Lasts has passed.
type Lease struct {
	Name  string        // of the window
	Quota int           // maximum of events in any minute, over all servers
	Want  int           // how many events, at least 1
	Lasts time.Duration // how long the server may use them

	// What the server did not use of an earlier lease, which has ended.
	Unused   int
	UnusedAt int64 // At of that lease
}

// Leased is the result of a [Lease].
type Leased struct {
	N         int           // how many events the server may count; 0: the window is full
	At        int64         // the slot of all of them but the first
	Remaining int           // how many events other leases may still get
	Reset     time.Duration // until the oldest event is forgotten
}

// maxShare is the part of what remains that one lease may have, as a divisor. The rest is for other
// servers.
const maxShare = 4

// Take counts the events of a lease at now. The first is used at once. The others are counted as if
// they were used at the end of the lease, so that in no minute more than the quota are used.
func (l Lease) Take(w *Window, now time.Time) (got Leased) {
	if l.Unused > 0 {
		w.remove(l.Unused, l.UnusedAt)
	}
	tick := WindowTick(l.Quota)
	if left := l.Quota - w.Total(now); left > 0 {
		got.N = max(1, min(l.Want, left/maxShare))
		w.Add(now, tick)
		if got.N > 1 {
			got.At = w.add(got.N-1, now.Add(l.Lasts), tick)
		}
	}
	total := w.Total(now)
	got.Remaining, got.Reset = max(0, l.Quota-total), w.Until(max(total, 1), now)
	return got
}
