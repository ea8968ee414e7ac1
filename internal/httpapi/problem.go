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
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
)

// Problem is the body of every error (RFC 9457).
type Problem struct {
	Type      string                `json:"type"`   // {origin}/docs/errors/{code}
	Title     string                `json:"title"`  // the code in words
	Status    int                   `json:"status"` // the HTTP status
	Error     string                `json:"error"`  // title and detail in one line
	Detail    string                `json:"detail,omitempty"`
	Instance  string                `json:"instance,omitempty"` // the route
	Retryable bool                  `json:"retryable"`
	TraceID   string                `json:"trace_id,omitempty"`
	Errors    []penstock.FieldError `json:"errors,omitempty"`
	// Diagnostics are what is wrong with a factory's files.
	Diagnostics []penstock.Diagnostic `json:"diagnostics,omitempty"`
}

// statusClosed is logged for a request whose caller went away before the
// answer; nothing is sent.
const statusClosed = 499

// defaultRetryAfter is said when the server cannot serve for now and the error
// does not know how long.
const defaultRetryAfter = 5 * time.Second

// fail answers with err. Whatever is no *penstock.Error is logged in full and
// shown as an internal error. After the first byte of an answer it can only
// log, and breaks the connection off so that the answer is not taken for whole.
func (c *call) fail(err error) {
	if gone := c.caller.Err() != nil; gone && (c.rec.status != 0 || errors.Is(err, context.Canceled)) {
		c.rec.status = cmp.Or(c.rec.status, statusClosed)
		return
	}
	e := c.shown(err)
	if c.rec.status != 0 {
		c.api.log.WarnContext(c.r.Context(), "an answer broke off", "request_id", c.requestID, "error", err)
		panic(http.ErrAbortHandler)
	}
	h := c.w.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "Content-Range", "Accept-Ranges", "Last-Modified", "Etag"} {
		h.Del(name)
	}
	retryable := e.Retryable || e.Code.Retryable()
	h.Set("X-Should-Retry", strconv.FormatBool(retryable))
	if after := e.RetryAfter; after > 0 {
		h.Set("Retry-After", seconds(after))
	} else if e.Code == penstock.CodeUnavailable {
		h.Set("Retry-After", seconds(defaultRetryAfter))
	}
	p := Problem{
		Type: c.api.origin + "/docs/errors/" + string(e.Code), Title: e.Code.Title(), Status: e.Code.Status(),
		Detail: e.Explain(), Instance: c.instance(), Retryable: retryable, TraceID: c.traceID(), Errors: e.Fields, Diagnostics: e.Diagnostics,
	}
	p.Error = p.Title
	if p.Detail != "" {
		p.Error += ": " + strings.Join(strings.Fields(p.Detail), " ")
	}
	body, merr := json.Marshal(p)
	if merr != nil { // a detail that is not UTF-8
		body, _ = json.Marshal(Problem{Type: p.Type, Title: p.Title, Status: p.Status, Error: p.Title, Retryable: retryable})
	}
	c.code = e.Code
	c.write(p.Status, "application/problem+json", body)
	if e.Code == penstock.CodePayloadTooLarge {
		c.readOn()
	}
}

// How much of a body that is too large is read, and for how long.
const (
	maxReadOn  = 128 << 20
	readOnTime = 10 * time.Second
)

// readOn takes what more the caller sends: most send all of a body before they look
// at the answer, and would find the connection reset in its place.
func (c *call) readOn() {
	if c.r.ProtoMajor != 1 { // HTTP/2 tells the caller to stop
		return
	}
	connection := http.NewResponseController(c.w)
	_ = connection.Flush()
	_ = connection.SetReadDeadline(time.Now().Add(readOnTime))
	_, _ = io.CopyN(io.Discard, c.r.Body, maxReadOn)
}

// shown is the error that the caller may see. The log gets the rest.
func (c *call) shown(err error) *penstock.Error {
	e, ok := errors.AsType[*penstock.Error](err)
	if ok && e.Code.Status() < http.StatusInternalServerError {
		return e
	}
	ctx := c.r.Context()
	if !ok && errors.Is(err, context.Canceled) && c.api.isStopping() {
		return &penstock.Error{Code: penstock.CodeUnavailable, Detail: "the server is stopping", RetryAfter: time.Second, Cause: err}
	}
	if errors.Is(context.Cause(ctx), errPatience) {
		e, ok = &penstock.Error{
			Code: penstock.CodeUnavailable, RetryAfter: defaultRetryAfter, Cause: err,
			Detail: "the database does not answer; what was asked for may still be done: ask again with the same Idempotency-Key",
		}, true
	}
	level := slog.LevelError
	if ok && e.Code == penstock.CodeUnavailable {
		level = slog.LevelWarn
	}
	c.api.log.Log(ctx, level, "a request failed", "request_id", c.requestID, "route", c.route.Pattern, "trace_id", c.traceID(), "error", err)
	if ok {
		return e
	}
	return penstock.Errorf(penstock.CodeInternal, "the server could not do this; its log has the cause under request id %s", c.requestID)
}

// instance is the route of the request rather than its path, which may hold a
// token; "" where no route takes the path.
func (c *call) instance() string {
	if c.route.Pattern == dashboard {
		return ""
	}
	return c.route.Pattern
}

// seconds is a duration in whole seconds, rounded up, at least 1.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
