package httpapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
)

// statusClosed is the logged status of a request whose caller disconnected before the response.
// Nothing is sent.
const statusClosed = 499

// defaultRetryAfter is the Retry-After of a temporary error that has none.
const defaultRetryAfter = 5 * time.Second

// problems responds to requests that fail.
type problems struct {
	origin   string // for clients
	log      *slog.Logger
	shutdown *shutdown
	unready  atomic.Bool // a readiness check was rejected and logged
}

// respond sends err. An error that is not a *penstock.Error is logged in full and shown as an
// internal error. After the first byte of a response, it can only log. Then it closes the
// connection, so that the client sees an incomplete response.
func (p *problems) respond(c *call, err error) {
	if gone := c.caller.Err() != nil; gone && (c.rec.status != 0 || errors.Is(err, context.Canceled)) {
		c.rec.status = cmp.Or(c.rec.status, statusClosed)
		return
	}
	e := p.shown(c, err)
	if c.rec.status != 0 {
		p.log.WarnContext(c.r.Context(), "response interrupted", "request_id", c.requestID, "error", err)
		panic(http.ErrAbortHandler)
	}
	h := c.w.Header()
	for _, name := range []string{
		"Content-Length", "Content-Disposition", "Content-Range", "Accept-Ranges", "Last-Modified", "Etag",
	} {
		h.Del(name)
	}
	details := request.ProblemOf(p.origin, e)
	details.Instance, details.TraceID = c.instance(), c.traceID()
	h.Set("X-Should-Retry", strconv.FormatBool(details.Retryable))
	if after := e.RetryAfter; after > 0 {
		h.Set("Retry-After", seconds(after))
	} else if e.Code == penstock.CodeUnavailable {
		h.Set("Retry-After", seconds(defaultRetryAfter))
	}
	c.code = e.Code
	c.write(details.Status, request.ProblemType, details.JSON())
	if e.Code == penstock.CodePayloadTooLarge {
		c.readOn()
	}
}

// recover turns a panic of a handler into an internal error.
func (p *problems) recover(c *call) {
	if !request.LogPanic(c.ctx(), p.log, recover(), "request_id", c.requestID, "route", c.route.Pattern) {
		return
	}
	if c.rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	p.respond(
		c,
		penstock.Errorf(
			penstock.CodeInternal, "the server could not complete the request; its log has the cause under request ID %s",
			c.requestID,
		),
	)
}

// How much of a too large body is still read, and for how long.
const (
	maxReadOn  = 128 << 20
	readOnTime = 10 * time.Second
)

// readOn reads more of the body. Most callers send the whole body before they read the response,
// and would otherwise get a connection reset instead.
func (c *call) readOn() {
	if c.r.ProtoMajor != 1 { // HTTP/2 can stop the caller
		return
	}
	connection := http.NewResponseController(c.w)
	_ = connection.Flush()
	_ = connection.SetReadDeadline(time.Now().Add(readOnTime))
	_, _ = io.CopyN(io.Discard, c.r.Body, maxReadOn)
}

// shown returns the error that the caller may see, and logs the rest.
func (p *problems) shown(c *call, err error) *penstock.Error {
	e, ok := errors.AsType[*penstock.Error](err)
	if ok && e.Code.Status() < http.StatusInternalServerError {
		return e
	}
	ctx := c.r.Context()
	if !ok && errors.Is(err, context.Canceled) && p.shutdown.isStopping() {
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the server is stopping", RetryAfter: time.Second, Cause: err,
		}
	}
	if errors.Is(context.Cause(ctx), errRequestTimeout) {
		e, ok = &penstock.Error{
			Code: penstock.CodeUnavailable, RetryAfter: defaultRetryAfter, Cause: err,
			Detail: "the database does not respond, and the request may still be done: retry it with the same " +
				"Idempotency-Key",
		}, true
	}
	if errors.Is(err, errUnready) && p.unready.Swap(true) {
		return e // load balancers check often: the first one is logged
	}
	level := slog.LevelError
	if ok && e.Code == penstock.CodeUnavailable {
		level = slog.LevelWarn
	}
	p.log.Log(
		ctx, level, "request failed", "request_id", c.requestID, "route", c.route.Pattern, "trace_id", c.traceID(), "error",
		err,
	)
	if ok {
		return e
	}
	return penstock.Errorf(
		penstock.CodeInternal, "the server could not complete the request; its log has the cause under request ID %s",
		c.requestID,
	)
}

// instance returns the route of the request, because the path may contain a token. It is "" if no
// route matches.
func (c *call) instance() string {
	if c.route.Pattern == dashboard {
		return ""
	}
	return c.route.Pattern
}

func (c *call) traceID() string {
	if sc := trace.SpanContextFromContext(c.ctx()); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}

// seconds rounds a duration up to whole seconds, at least 1.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
