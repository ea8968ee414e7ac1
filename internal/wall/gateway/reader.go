package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// reader passes a response on and reads its usage on the way. It never waits for more than
// the provider has sent.
//
// One kind of response changes: where the gateway has asked for the usage chunk of a chat
// completion and the agent has not, that event is left out. Only for this, an event that
// has not ended is held back. No client can use a part of an event.
type reader struct {
	body   io.ReadCloser
	bytes  int64  // that came
	plain  int64  // the same, after decoding
	begun  int64  // of the latter, before the current event
	output int64  // of them that can be output, in events that have ended
	end    error  // io.EOF if the whole response came
	ours   bool   // …but it came after the agent had gone
	cut    func() // called if the provider ends a good response too early; nil: never
	call   *activeCall
	unpack *unpacker // nil unless the response is compressed
	scan   *scanner
	events *events // nil unless the response is a stream of events
	tally  tally
	read   *reading

	warned   bool // cut was called
	hiding   bool // the usage chunk is left out
	hide     bool // the event that has just ended is
	released bool // a part of the current event was passed on
	held     []byte
	out      []byte // to be returned before the next read
	fed      int64  // of plain, before the piece that is being read
	chunk    []byte // that is being read, if hiding
	done     int    // of chunk
}

// maxHeld bounds what is held back of an event. A usage chunk is smaller.
const maxHeld = 64 << 10

// newReader wraps the body of a response.
func newReader(c *activeCall, res *http.Response) *reader {
	r := &reader{body: res.Body, call: c, read: readings[c.Operation]}
	r.tally.received = c.s.ids.add
	encoding := res.Header.Get("Content-Encoding")
	packed := compressed(res)
	if r.read == nil || res.StatusCode/100 != 2 || encoding != "" && encoding != "identity" && !packed {
		return r
	}
	if packed {
		r.unpack = newUnpacker(r.readPlain)
	}
	r.scan = newScanner(r.read.paths, func(path int, raw []byte) { r.read.do[path](&r.tally, raw) })
	if strings.HasPrefix(strings.ToLower(res.Header.Get("Content-Type")), "text/event-stream") {
		r.hiding = c.checked.hideUsage && !packed
		r.events = &events{scan: r.scan, data: r.eventData, ended: r.eventEnded}
	}
	return r
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if !r.hiding {
		n, err := r.body.Read(p)
		r.feed(p[:n])
		r.ended(err)
		return n, err
	}
	for {
		if len(r.out) > 0 {
			n := copy(p, r.out)
			r.out = r.out[n:]
			return n, nil
		}
		if r.end != nil {
			return 0, r.end
		}
		n, err := r.body.Read(p)
		whole := r.sift(p[:n], err)
		r.ended(err)
		if whole {
			return n, err
		}
	}
}

// Close implements io.Closer. If the gateway reads on, it first reads the rest.
func (r *reader) Close() error {
	if r.end == nil && r.call.readsOn() {
		piece := make([]byte, 4<<10)
		for r.end == nil && !r.counted() {
			_, _ = r.Read(piece) // the error is r.end
		}
	}
	if r.end == nil && r.unpack != nil {
		r.unpack.stop()
	}
	return r.body.Close()
}

// counted reports whether the usage of the whole response is known.
func (r *reader) counted() bool { return r.complete() && r.tally.usage != nil && !r.tally.stale }

// cutByUs reports whether the response ended because the agent or the worker did.
func (r *reader) cutByUs() bool { return r.ours || r.end == nil && !(r.tally.failed && r.single()) }

// single reports whether the request asked for one completion. Others may go on after one has ended.
func (r *reader) single() bool {
	return r.call.checked.bound == nil || r.call.checked.bound.completions == 1
}

func (r *reader) feed(p []byte) {
	r.bytes += int64(len(p))
	if r.unpack != nil {
		r.unpack.write(p)
		return
	}
	r.readPlain(p)
}

func (r *reader) readPlain(p []byte) {
	r.fed = r.plain
	r.plain += int64(len(p))
	switch {
	case r.events != nil:
		r.events.write(p)
	case r.scan != nil:
		r.scan.write(p)
	}
}

func (r *reader) ended(err error) {
	if err == nil || r.end != nil {
		return
	}
	r.end = err
	r.ours = r.ours || !r.warned && r.call.gone()
	if r.unpack != nil {
		r.unpack.close()
	}
	if r.events != nil && r.scan.whole() { // a cut event says nothing
		r.events.finish()
	}
	// Without a scanner, the response is an error, and was reported. If the agent has hung up, the
	// context of its request has ended.
	if r.scan != nil && !r.complete() && !errors.Is(err, context.Canceled) {
		r.warn()
	}
}

// warn reports once that the provider did not complete the response.
func (r *reader) warn() {
	if r.cut != nil && !r.warned {
		r.cut()
	}
	r.warned = true
}

// sift feeds a chunk and puts what passes into r.out, unless the whole chunk passes as it is.
func (r *reader) sift(p []byte, err error) (whole bool) {
	before := len(r.held)
	r.out = r.out[:0]
	r.chunk, r.done = p, 0
	r.feed(p)
	r.chunk = nil
	r.held = append(r.held, p[r.done:]...)
	if err != nil || len(r.held) > maxHeld || r.released {
		r.out = append(r.out, r.held...)
		r.held, r.released = r.held[:0], true
	}
	if whole = before == 0 && len(r.held) == 0 && len(r.out) == len(p); whole {
		r.out = r.out[:0]
	}
	return whole
}

// eventData is called at the end of each event, before eventEnded.
func (r *reader) eventData(has bool) {
	if r.hide = false; !has {
		r.tally.part.known = true
		return
	}
	t := &r.tally
	done := r.events.isDone()
	t.last, t.whole = t.last || t.ends || done, t.whole || done
	t.stale = !t.hasUsage && (t.stale || t.output)
	r.hide = r.hiding && t.hasUsage && !t.choices
	t.hasUsage, t.choices, t.ends, t.output = false, false, false, false
	if t.last && r.single() {
		r.call.finished.Store(true)
	}
	if t.failed && !r.warned {
		r.ours = r.call.gone()
		r.warn()
	}
}

// eventEnded passes the event on, or leaves it out.
func (r *reader) eventEnded(offset int) {
	end := r.fed + int64(offset)
	r.output += r.tally.part.most(end - r.begun)
	r.begun, r.tally.part = end, part{}
	if !r.hiding || r.chunk == nil {
		return
	}
	if !r.hide || r.released {
		r.out = append(append(r.out, r.held...), r.chunk[r.done:offset]...)
	}
	r.held, r.done, r.released = r.held[:0], offset, false
}

// outputBytes are the bytes that can be output of the model.
func (r *reader) outputBytes() int64 {
	return r.output + r.plain - r.begun
}

// complete reports whether the whole response came.
func (r *reader) complete() bool {
	ended := errors.Is(r.end, io.EOF)
	switch {
	case r.tally.failed && !r.tally.counted:
		return false
	case r.tally.failed && r.events != nil:
		return ended || r.single()
	case r.events != nil: // one of several completions can end before the others
		return r.tally.whole || r.tally.last && ended
	}
	return ended && (r.scan == nil || r.scan.whole())
}
