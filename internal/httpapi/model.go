package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/run"
)

func (a *API) models(c *call) error {
	models, err := a.svc.Catalog.Models(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, models)
}

func (a *API) workers(c *call) error {
	workers, err := a.svc.Catalog.Workers(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.ConnectedWorker{"workers": workers})
}

func (a *API) harnesses(c *call) error {
	harnesses, err := a.svc.Catalog.Harnesses(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.HarnessInfo{"harnesses": harnesses})
}

func (a *API) stats(c *call) error {
	q := c.query()
	hours := q.count("hours", penstock.MaxStatsHours, penstock.StatsHours)
	if q.err != nil {
		return q.err
	}
	stats, err := a.svc.Runs.Stats(c.ctx(), c.principal, hours)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, stats)
}

// limits adds the limits of this layer, and the version, to those of the service.
func (a *API) limits(c *call) error {
	limits := a.svc.Limits(c.ctx(), c.principal)
	limits["requests_per_minute"] = a.options.RequestsPerMinute
	limits["validations_per_minute"] = a.options.ValidatesPerMinute
	limits["artifact_bytes"] = run.MaxArtifactBytes
	limits["server_version"] = a.options.Version
	return c.respond(http.StatusOK, limits)
}
