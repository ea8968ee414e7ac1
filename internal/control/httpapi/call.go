package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// call is one request with its state.
type call struct {
	route     *Route
	w         http.ResponseWriter // rec, for handlers
	rec       recorder
	r         *http.Request
	peer      peer
	requestID string
	principal penstock.Principal
	key       string              // the key of principal
	session   *access.Session     // the session of principal; nil: it has a key
	proof     access.SessionProof // of that session
	body      []byte              // after it was read
	code      penstock.Code       // of the error in the response

	caller    context.Context //nolint:containedctx // this request's: ends when the caller goes away
	waitTimer *time.Timer     // ends ctx; nil: only the caller ends it
	waitTime  time.Duration   // of waitTimer
}

func (c *call) ctx() context.Context { return c.r.Context() }

// param returns a parameter of the path.
func (c *call) param(name string) string { return c.r.PathValue(name) }

// recorder records status and size of the response.
type recorder struct {
	http.ResponseWriter
	status int // 0: not sent yet
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// errRequestTimeout ends a request that waits too long for a database that does not respond. The
// database may still execute the statement.
var errRequestTimeout = errors.New("the database did not respond in time")

// limitWait limits the time of the request to d, without the time to send its body. Call done at its
// end.
func (c *call) limitWait(d time.Duration) (done func()) {
	if c.route.unhurried || c.route.streamBody {
		return func() {}
	}
	ctx, end := context.WithCancelCause(c.caller)
	c.r = c.r.WithContext(ctx)
	c.waitTime = d
	c.waitTimer = time.AfterFunc(d, func() { end(errRequestTimeout) })
	return func() {
		c.waitTimer.Stop()
		end(nil)
	}
}

// begin sets the request id and the headers of every response.
func (c *call) begin() {
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
}

// Constant header values. All responses share them, so never modify them.
var (
	nosniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	noContent  = []string{"default-src 'none'; frame-ancestors 'none'"}
	sameOrigin = []string{"same-origin"}
	denyFrames = []string{"DENY"}
	noStore    = []string{"no-store"}
	jsonType   = []string{"application/json"}
	httpsOnly  = []string{"max-age=31536000"} // a year; for this host alone (RFC 6797 §6.1)
)

// saneRequestID reports whether a caller's id is safe in the log.
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

// respond sends v as JSON.
func (c *call) respond(status int, v any) error {
	body, err := json.Marshal(v, responseJSON)
	if err != nil {
		return fmt.Errorf("write the response as JSON: %w", err)
	}
	c.write(status, "", body)
	return nil
}

// ok responds with the result of a rule and 200, or returns its error.
func (c *call) ok(v any, err error) error { return c.result(http.StatusOK, v, err) }

func (c *call) created(v any, err error) error { return c.result(http.StatusCreated, v, err) }

func (c *call) accepted(v any, err error) error { return c.result(http.StatusAccepted, v, err) }

func (c *call) result(status int, v any, err error) error {
	if err != nil {
		return err
	}
	return c.respond(status, v)
}

// done responds with 204 if a rule returned no error.
func (c *call) done(err error) error {
	if err != nil {
		return err
	}
	return c.noContent()
}

// noContent responds with 204.
func (c *call) noContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// redirect sends a 302 to a signed link. It has no body, because logs of bodies would then contain
// the link.
func (c *call) redirect(url string) error {
	c.w.Header().Set("Location", url)
	c.w.Header()["Content-Length"] = []string{"0"}
	c.w.WriteHeader(http.StatusFound)
	return nil
}

// write sends a complete response. An empty contentType means JSON. It ignores errors of the
// connection, because the caller is gone.
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
		_, _ = c.w.Write(body) //nolint:gosec // JSON, or a download that no browser shows: nosniff, and a policy
	}
}

// extend sets the deadline of the response to d from now, instead of the server's deadline.
func (c *call) extend(d time.Duration) error {
	err := http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(d))
	if errors.Is(err, http.ErrNotSupported) {
		return nil // a recorder in a test
	}
	return err
}
