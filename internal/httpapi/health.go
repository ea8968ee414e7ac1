package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/penstock-dev/penstock"
)

func (a *API) health(c *call) error {
	return c.respond(http.StatusOK, map[string]string{"status": "ok"})
}

// errUnready is the cause of the responses to readiness checks while the server stops.
var errUnready = errors.New("a readiness check while the server stops")

// ready responds with 503 while the store does not respond, until the server's own worker is ready,
// and after the server begins to stop.
func (a *API) ready(c *call) error {
	if a.draining.Load() || a.isStopping() {
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the server is stopping", RetryAfter: time.Second, Cause: errUnready,
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx(), 2*time.Second)
	defer cancel()
	if err := a.svc.Ready(ctx); err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string]string{"status": "ready"})
}

func (a *API) scrape(c *call) error {
	if a.options.Metrics == nil {
		return penstock.Errorf(penstock.CodeNotFound, "metrics are not available at this address")
	}
	a.options.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

func (a *API) docs(c *call) error {
	a.pages.ServeHTTP(c.w, c.r)
	return nil
}
