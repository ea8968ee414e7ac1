package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/trace"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/problem"
)

// call is one request on its way through the server.
type call struct {
	api       *API
	route     *Route
	w         http.ResponseWriter // rec, as handlers see it
	rec       recorder
	r         *http.Request
	peer      peer
	requestID string
	principal penstock.Principal
	key       string              // that principal was found by
	session   *penstock.Session   // that principal was found by instead; nil: by key
	proof     access.SessionProof // of that session
	body      []byte              // once it was read
	code      penstock.Code       // of the error that was answered

	caller    context.Context //nolint:containedctx // this request's: ends when the caller goes away
	waitTimer *time.Timer     // ends ctx; nil: nothing does but the caller
}

func (c *call) ctx() context.Context { return c.r.Context() }

// param is a segment of the path.
func (c *call) param(name string) string { return c.r.PathValue(name) }

// recorder notes what was answered.
type recorder struct {
	http.ResponseWriter
	status int // 0: nothing yet
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// serve answers one request: every check that is not a rule of the service, in
// order, then the route's handler.
func (a *API) serve(route *Route, w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &call{api: a, route: route, r: r, rec: recorder{ResponseWriter: w}}
	c.w = &c.rec
	defer c.span()()
	c.caller = c.r.Context()
	defer c.limitWait()()
	defer func() { a.observe(c, time.Since(start)) }()
	defer c.recover()
	c.begin()
	if c.preflight() {
		return
	}
	if err := c.admit(); err != nil {
		c.respondError(err)
		return
	}
	if err := c.handle(); err != nil {
		c.respondError(err)
	}
}

// errRequestTimeout ends what a request waits for too long: a database that takes
// requests and answers none. What has been sent to it may still be done.
var errRequestTimeout = errors.New("the database did not respond in time")

// limitWait bounds what the request waits for, but for the sending of its body. The
// function that it returns gives the time back.
func (c *call) limitWait() (done func()) {
	if c.route.unhurried || c.route.streamBody {
		return func() {}
	}
	ctx, end := context.WithCancelCause(c.caller)
	c.r = c.r.WithContext(ctx)
	c.waitTimer = time.AfterFunc(c.api.options.RequestTimeout, func() { end(errRequestTimeout) })
	return func() {
		c.waitTimer.Stop()
		end(nil)
	}
}

// begin names the request and sets the headers that every answer has.
func (c *call) begin() {
	c.peer = peerOf(c.r, c.api.options.TrustedProxies)
	c.requestID = c.r.Header.Get("X-Request-ID")
	if !saneRequestID(c.requestID) {
		c.requestID = penstock.NewID()
	}
	h := c.w.Header()
	h["X-Request-Id"] = []string{c.requestID}
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["Content-Security-Policy"] = noContent
	h["Cross-Origin-Resource-Policy"] = sameOrigin
	h["X-Frame-Options"] = denyFrames
	h["Cache-Control"] = noStore
	if c.peer.https {
		h["Strict-Transport-Security"] = httpsOnly
	}
	c.allowOrigin(h)
}

// Values of headers that never change; shared, so they are never written to.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	noContent  = []string{"default-src 'none'; frame-ancestors 'none'"}
	sameOrigin = []string{"same-origin"}
	denyFrames = []string{"DENY"}
	noStore    = []string{"no-store"}
	jsonType   = []string{"application/json"}
	httpsOnly  = []string{"max-age=31536000"} // a year; of this host alone (RFC 6797 §6.1)
)

// saneRequestID reports whether a caller's id can go into the log as it is.
func saneRequestID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// admit decides whether the request may reach its handler.
func (c *call) admit() error {
	if err := c.checkSecure(); err != nil {
		return err
	}
	if p := c.r.URL.Path; strings.ContainsRune(p, 0) || !utf8.ValidString(p) {
		return penstock.Errorf(penstock.CodeNotFound, "this path does not exist")
	}
	if c.route.KeyRead {
		return c.authenticateOptional()
	}
	if c.route.Public {
		return nil
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if err := c.limitRate(); err != nil {
		return err
	}
	return c.authorize()
}

// recover turns a panic of a handler into an internal error.
func (c *call) recover() {
	if !problem.Panicked(c.ctx(), c.api.log, recover(), "request_id", c.requestID, "route", c.route.Pattern) {
		return
	}
	if c.rec.status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.respondError(
		penstock.Errorf(
			penstock.CodeInternal, "the server could not complete the request; its log has the cause under request ID %s",
			c.requestID,
		),
	)
}

func (c *call) traceID() string {
	if sc := trace.SpanContextFromContext(c.ctx()); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}

// respond answers with v as JSON.
func (c *call) respond(status int, v any) error {
	body, err := json.Marshal(v, answers)
	if err != nil {
		return fmt.Errorf("write the response as JSON: %w", err)
	}
	c.write(status, "", body)
	return nil
}

// noContent answers 204.
func (c *call) noContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// redirect answers 302 to a signed link. It has no body: one would repeat the
// link where a log of bodies could find it.
func (c *call) redirect(url string) error {
	c.w.Header().Set("Location", url)
	c.w.Header()["Content-Length"] = []string{"0"}
	c.w.WriteHeader(http.StatusFound)
	return nil
}

// write sends a whole answer; contentType "" is JSON. Errors of the connection
// are the caller's loss: there is nobody left to tell.
func (c *call) write(status int, contentType string, body []byte) {
	h := c.w.Header()
	if contentType == "" {
		h["Content-Type"] = jsonType
	} else {
		h["Content-Type"] = []string{contentType}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body)
	}
}

// extend gives the answer d from now on, whatever the server's own deadline is.
func (c *call) extend(d time.Duration) error {
	err := http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(d))
	if errors.Is(err, http.ErrNotSupported) {
		return nil // a recorder in a test
	}
	return err
}
