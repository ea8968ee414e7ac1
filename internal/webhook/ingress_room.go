package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// room bounds what is held at once. While there is enough of it, a body has all
// of its time to arrive; while others wait, those that are on their way for
// longer than a second are cut off. So slow senders, however many they are,
// delay others and do not shut them out.
type room struct {
	free *semaphore.Weighted

	mu          sync.Mutex
	first, last *place // of bodies that are on their way, the oldest first
}

// place is what one body holds of a room. The zero place holds nothing.
type place struct {
	n             int64
	d             *intake // while it is on its way
	since         time.Time
	cut           bool
	before, after *place
}

const (
	arriveTime = time.Second // that a body has while others wait
	lookAgain  = 50 * time.Millisecond
)

var errNoRoom = errors.New("too many bodies are held")

func newRoom(n int64) *room { return &room{free: semaphore.NewWeighted(n)} }

// take waits for room, half of the time that a body has. The body is on its way
// from then on.
func (r *room) take(d *intake, p *place, n int64) error {
	if !r.free.TryAcquire(n) && !r.wait(d, n) {
		return errNoRoom
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	*p = place{n: n, d: d, since: time.Now(), before: r.last}
	if r.last != nil {
		r.last.after = p
	} else {
		r.first = p
	}
	r.last = p
	return nil
}

func (r *room) wait(d *intake, n int64) bool {
	ctx, cancel := context.WithTimeout(d.r.Context(), d.in.BodyTime/2)
	defer cancel()
	taken := make(chan error, 1)
	go func() { taken <- r.free.Acquire(ctx, n) }()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case err := <-taken:
			return err == nil
		case now := <-look.C:
			r.cutOff(now)
		}
	}
}

// cutOff ends the arrival of all that had their time.
func (r *room) cutOff(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := r.first; p != nil && now.Sub(p.since) > arriveTime; p = r.first {
		p.cut = true
		p.d.bodyUntil(now)
		r.remove(p)
	}
}

// settle says that the body is no longer on its way, and reports whether it was
// cut off before.
func (r *room) settle(p *place) (cut bool) {
	if p.n == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.d != nil {
		r.remove(p)
	}
	return p.cut
}

func (r *room) remove(p *place) {
	if p.before != nil {
		p.before.after = p.after
	} else {
		r.first = p.after
	}
	if p.after != nil {
		p.after.before = p.before
	} else {
		r.last = p.before
	}
	p.d, p.before, p.after = nil, nil, nil
}

// release gives back what a settled body holds.
func (r *room) release(p *place) {
	if p.n > 0 {
		r.free.Release(p.n)
	}
}
