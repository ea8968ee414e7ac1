package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// smallBody is how many bytes of a body are read before memory for all of it is reserved.
const smallBody = 16 << 10

// The limits for bodies in memory.
const (
	smallBodies = 2048
	heldBytes   = 32 << 20 // of larger bodies
)

// bodies limits the memory of all bodies, from the first byte to the commit. Every body starts
// in a small buffer. A larger body waits until memory of its declared size is free. A slow
// sender must send 16 KB before it gets that memory, and loses it when others wait for it.
type bodies struct {
	limit        int64 // of one
	held         int64
	small, large *room
}

func newBodies(limit, held int64) *bodies {
	if held <= 0 {
		held = heldBytes
	}
	if limit <= 0 { // the only limit is the memory
		limit = held - 1
	}
	held = max(held, 2*(limit+1))
	return &bodies{limit: limit, held: held, small: newRoom(smallBodies), large: newRoom(held)}
}

// body is the part of one body that was read. The zero body holds nothing.
type body struct {
	bytes        []byte
	of           *bodies
	small, large place
}

// free releases the memory of the body.
func (b *body) free() {
	if b.of == nil {
		return
	}
	b.of.large.release(&b.large)
	b.of.small.release(&b.small)
	*b = body{}
}

// settled marks the body as complete, so that it is not evicted any more. It reports whether this
// server took time from it.
func (b *body) settled() (delayed bool) {
	large := b.of.large.settle(&b.large)
	return b.of.small.settle(&b.small) || large
}

// readBody reads the body up to the limit. It returns an error if the body is late, or if there
// is no memory for it.
func (d *intake) readBody() error {
	if d.read {
		return nil
	}
	if d.r.ContentLength > d.in.bodies.limit {
		d.read, d.tooLarge = true, true
		return nil
	}
	d.bodyUntil(d.received.Add(d.in.BodyTime))
	d.body.of = d.in.bodies
	err := d.readAll()
	delayed := d.body.settled()
	switch {
	case err == nil:
		d.bodyUntil(time.Time{}) // otherwise the sender would seem to disconnect while the delivery is stored
		d.read = true
		return nil
	case errors.Is(err, errNoRoom), delayed && errors.Is(err, os.ErrDeadlineExceeded):
		return &rejectedError{http.StatusServiceUnavailable, "no_room", unavailableFor}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &rejectedError{status: http.StatusRequestTimeout, label: "slow"}
	default:
		d.label, d.status = "gone", statusGone
		panic(http.ErrAbortHandler) // the sender disconnected, or does not speak HTTP
	}
}

// bodyUntil sets the read deadline of the connection.
func (d *intake) bodyUntil(at time.Time) {
	_ = http.NewResponseController(d.w).SetReadDeadline(at) // a recorder in a test has none
}

// statusGone counts a delivery whose sender disconnected. No response is sent.
const statusGone = 499

// readAll reads to the end of the body, or one byte beyond the limit.
func (d *intake) readAll() error {
	b := d.in.bodies
	if err := b.small.take(d, &d.body.small, 1); err != nil {
		return err
	}
	size := min(smallBody, b.limit+1)
	if length := d.r.ContentLength; length >= 0 && length < size {
		size = length + 1 // so that the end is seen
	}
	buffer := make([]byte, size)
	n, ended, err := fill(d.r.Body, buffer)
	d.body.bytes = buffer[:n]
	if err == nil && !ended && int64(n) <= b.limit {
		err = d.readLarge()
	}
	d.tooLarge = int64(len(d.body.bytes)) > b.limit
	return err
}

// readLarge reads the rest of a body that does not fit into the small buffer.
func (d *intake) readLarge() error {
	b := d.in.bodies
	size := b.limit + 1
	if d.r.ContentLength >= 0 {
		size = d.r.ContentLength + 1 // so that the end is seen
	}
	if err := b.large.take(d, &d.body.large, size); err != nil {
		return err
	}
	all := make([]byte, size)
	n := copy(all, d.body.bytes)
	more, _, err := fill(d.r.Body, all[n:])
	d.body.bytes = all[:n+more]
	return err
}

// fill reads until the buffer is full or the body ends.
func fill(r io.Reader, buffer []byte) (n int, ended bool, err error) {
	for n < len(buffer) {
		more, err := r.Read(buffer[n:])
		n += more
		if errors.Is(err, io.EOF) {
			return n, true, nil
		}
		if err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}

// maxReadOn is how much is read of a body that is too large.
const maxReadOn = 8 << 20

// readOn reads more of a body that is too large, until its time is over. Many senders send all
// of it before they read the response, and would otherwise see a reset connection.
func (d *intake) readOn() {
	if d.r.ProtoMajor != 1 { // HTTP/2 can stop the sender
		return
	}
	d.body.free()
	_ = http.NewResponseController(d.w).Flush()
	_, _ = io.CopyN(io.Discard, d.r.Body, maxReadOn)
}

// complete reports whether nothing of the body is left on the connection.
func (d *intake) complete() bool {
	return d.r.ContentLength == 0 || d.r.Body == http.NoBody || d.read && !d.tooLarge
}

// room limits what is in memory at once. While there is enough, a body has its full time to
// arrive. While others wait, bodies that take longer than a second are evicted. So slow senders
// delay others, but cannot block them.
type room struct {
	free *semaphore.Weighted

	mu          sync.Mutex
	first, last *place // of arriving bodies, the oldest first
}

// place is the share of one body. The zero place holds nothing.
type place struct {
	n             int64
	d             *intake // while it is arriving
	since         time.Time
	delayed       bool // it waited for room or was evicted: the sender is not to blame if it is late
	before, after *place
}

const (
	bodyReadTime = time.Second // the time of a body while others wait
	recheckEvery = 50 * time.Millisecond
)

var errNoRoom = errors.New("too many bodies are in memory")

func newRoom(n int64) *room { return &room{free: semaphore.NewWeighted(n)} }

// take waits for room, at most half of the body's time. From then on the body counts as
// arriving.
func (r *room) take(d *intake, p *place, n int64) error {
	delayed := !r.free.TryAcquire(n)
	if delayed && !r.wait(d, n) {
		return errNoRoom
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	*p = place{n: n, d: d, since: time.Now(), delayed: delayed, before: r.last}
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
	look := time.NewTicker(recheckEvery)
	defer look.Stop()
	for {
		select {
		case err := <-taken:
			return err == nil
		case now := <-look.C:
			r.evictSlow(now)
		}
	}
}

// evictSlow evicts all bodies that used up their time.
func (r *room) evictSlow(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := r.first; p != nil && now.Sub(p.since) > bodyReadTime; p = r.first {
		p.delayed = true
		p.d.bodyUntil(now)
		r.remove(p)
	}
}

// settle marks the body as complete, and reports whether it was delayed.
func (r *room) settle(p *place) (delayed bool) {
	if p.n == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.d != nil {
		r.remove(p)
	}
	return p.delayed
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

// release releases the share of a settled body.
func (r *room) release(p *place) {
	if p.n > 0 {
		r.free.Release(p.n)
	}
}
