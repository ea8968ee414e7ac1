package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// errStopping ends the streams of a server that stops.
var errStopping = errors.New("the server is stopping")

// streams holds the handler of live events.
type streams struct {
	rules     *run.Streams
	auth      *authenticator
	metrics   *metrics
	log       *slog.Logger
	shutdown  *shutdown
	keepAlive time.Duration // between comments of an idle stream
	writeTime time.Duration // time limit for writing a batch of events
}

// serve streams a run's log as server-sent events (HTML standard §9.2): all events after the last
// one that the caller saw, then live events until the run ends.
func (h streams) serve(c *call) error {
	after, err := c.lastEventID()
	if err != nil {
		return err
	}
	stream, err := h.rules.Watch(c.ctx(), c.principal, c.param("runId"), after)
	if err != nil {
		return err
	}
	defer stream.Close()
	if stream.AtEnd() {
		return c.noContent()
	}
	h.metrics.streams.Inc()
	defer h.metrics.streams.Dec()
	return h.stream(c, stream)
}

// lastEventID returns the id of the last event that the caller saw: from the header that an
// EventSource sends when it reconnects, or from the parameter `after`.
func (c *call) lastEventID() (int64, error) {
	q := c.query()
	after := q.sequence("after")
	if id := c.r.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || n < 0 {
			return 0, penstock.Errorf(
				penstock.CodeInvalidRequest, "header Last-Event-ID must be the ID of an event, a number from 0",
			)
		}
		return n, nil
	}
	return after, q.err
}

func (c *call) isStream() bool {
	return c.rec.status == http.StatusOK && c.w.Header().Get("Content-Type") == eventStream
}

const eventStream = "text/event-stream"

// listener is one open stream.
type listener struct {
	streams
	call    *call
	rc      *http.ResponseController
	buf     bytes.Buffer
	checked time.Time // when the key was last checked
}

// enough is how many bytes are buffered before they are sent.
const enough = 64 << 10

// stream writes batches of events until the log ends, the server stops or the listener disconnects.
// Each write has a deadline, so a listener that does not read is disconnected.
func (h streams) stream(c *call, s *run.Stream) error {
	header := c.w.Header()
	header.Set("Content-Type", eventStream)
	header.Set("X-Accel-Buffering", "no") // otherwise nginx buffers events
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithCancelCause(c.ctx())
	defer cancel(nil)
	defer context.AfterFunc(h.shutdown.stopping, func() { cancel(errStopping) })()

	l := &listener{call: c, streams: h, rc: http.NewResponseController(c.w), checked: time.Now()}
	l.buf.WriteString(": the log of the run, then live\n\n") // so that the response begins at once
	err := l.flush()
	for done := false; !done && err == nil; {
		if done, err = l.next(ctx, s); err == nil {
			err = l.flush()
		}
	}
	l.report(err)
	return nil
}

// report logs why a stream ended early. It is too late for an error response. The listener
// reconnects with its last id.
func (l *listener) report(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		l.metrics.dropped.Inc()
	case err != nil && l.call.ctx().Err() == nil:
		l.log.WarnContext(
			l.call.ctx(), "event stream interrupted",
			"request_id", l.call.requestID, "run_id", l.call.param("runId"), "error", err,
		)
	}
}

// next waits for a batch and writes it. done is true after the last batch.
func (l *listener) next(ctx context.Context, s *run.Stream) (done bool, err error) {
	wait, cancel := context.WithTimeout(ctx, l.keepAlive)
	batch, err := s.Next(wait)
	cancel()
	for i := range batch {
		l.write(&batch[i])
		if l.buf.Len() < enough {
			continue
		}
		if err := l.flush(); err != nil {
			return true, err
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		return true, l.finish(s)
	case errors.Is(context.Cause(ctx), errStopping):
		// All listeners of this server reconnect at once, so spread them.
		fmt.Fprintf(&l.buf, "retry: %d\n\n", 500+rand.IntN(2500))
		return true, nil
	case ctx.Err() != nil:
		return true, nil //nolint:nilerr // the listener has gone
	case errors.Is(err, context.DeadlineExceeded):
		l.buf.WriteString(": keep-alive\n\n")
	default:
		return true, err
	}
	return !l.stillAllowed(ctx), nil
}

// stillAllowed checks the key from time to time, so that a key that was revoked, or whose owner lost the role, cannot
// listen for hours.
func (l *listener) stillAllowed(ctx context.Context) bool {
	if time.Since(l.checked) < l.keepAlive {
		return true
	}
	l.checked = time.Now()
	switch penstock.CodeOf(l.auth.recheck(ctx, l.call)) {
	case penstock.CodeAuthenticationRequired, penstock.CodeNotAuthorized:
		return false
	}
	return true
}

func (l *listener) write(e *penstock.Event) {
	l.buf.WriteString("id: ")
	l.buf.Write(strconv.AppendInt(l.buf.AvailableBuffer(), e.Seq, 10))
	l.buf.WriteString("\nevent: ")
	l.buf.WriteString(string(e.Type))
	l.buf.WriteString("\ndata: ")
	l.data(e.Data)
}

// data writes JSON as one line. Line ends between its tokens would break the frame.
func (l *listener) data(raw []byte) {
	start := l.buf.Len()
	l.buf.Write(raw)
	for i, b := range l.buf.Bytes()[start:] {
		if b == '\n' || b == '\r' {
			l.buf.Bytes()[start+i] = ' '
		}
	}
	l.buf.WriteString("\n\n")
}

// finish writes `done`. It is not in the log and has no id. So a reconnect still sends the id of
// the last event, and gets 204.
func (l *listener) finish(s *run.Stream) error {
	data, err := json.Marshal(s.Done())
	if err != nil {
		return err
	}
	l.buf.WriteString("event: " + string(penstock.EventDone) + "\ndata: ")
	l.data(data)
	return nil
}

// flush sends the buffered bytes, within the time limit of a write.
func (l *listener) flush() error {
	if l.buf.Len() == 0 {
		return nil
	}
	if err := l.call.extend(l.writeTime); err != nil {
		return err
	}
	_, err := l.call.w.Write(l.buf.Bytes())
	if err == nil {
		err = l.rc.Flush()
	}
	l.buf.Reset()
	const kept = 64 << 10
	if l.buf.Cap() > kept {
		l.buf = bytes.Buffer{} // a long replay must not keep its memory until the stream ends
	}
	return err
}
