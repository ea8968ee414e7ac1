package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
)

// shutdown shows whether the server begins to stop.
type shutdown struct {
	draining atomic.Bool     // set by Server.Drain
	stopping context.Context //nolint:containedctx // no request's: done when stop was called
	stop     context.CancelFunc
}

func newShutdown() *shutdown {
	s := &shutdown{}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s
}

func (s *shutdown) isStopping() bool { return s.stopping.Err() != nil }

// health holds the handlers of the checks by supervisors and load balancers.
type health struct {
	check    func(context.Context) error // of the store and the server's own worker
	shutdown *shutdown
}

func (h health) live(c *call) error {
	return c.respond(http.StatusOK, map[string]string{"status": "ok"})
}

// errUnready is the cause of the responses to readiness checks while the server stops.
var errUnready = errors.New("a readiness check while the server stops")

// ready responds with 503 while the store does not respond, until the server's own worker is ready,
// and after the server begins to stop.
func (h health) ready(c *call) error {
	if h.shutdown.draining.Load() || h.shutdown.isStopping() {
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the server is stopping", RetryAfter: time.Second, Cause: errUnready,
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx(), 2*time.Second)
	defer cancel()
	if err := h.check(ctx); err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string]string{"status": "ready"})
}

// page serves the metrics, or the documentation.
type page struct {
	http.Handler // nil: 404
}

func (h page) serve(c *call) error {
	if h.Handler == nil {
		return penstock.Errorf(penstock.CodeNotFound, "metrics are not available at this address")
	}
	h.ServeHTTP(c.w, c.r)
	return nil
}
