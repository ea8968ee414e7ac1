// Package automation owns what starts runs without a request: schedules, and automations, which
// fire on deliveries or on a schedule.
package automation

import (
	"log/slog"

	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/run"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies and settings of the rules of automations and schedules.
type Options struct {
	Store     *store.Store
	Log       *slog.Logger
	Responses *access.Responses
	Catalog   *catalog.Catalog
	Runs      *run.Runs
	Harnesses []string // all known harnesses
}

// Automations reads automations and creates their runs.
type Automations struct {
	store     *store.Store
	responses *access.Responses
	catalog   *catalog.Catalog
	runs      *run.Runs
	harnesses []string
}

// Schedules starts runs on a schedule.
type Schedules struct {
	store       *store.Store
	log         *slog.Logger
	responses   *access.Responses
	catalog     *catalog.Catalog
	automations *Automations
	runs        *run.Runs
}

// Parts are the rules of this package.
type Parts struct {
	Automations *Automations
	Schedules   *Schedules
}

// New makes the rules of automations and schedules.
func New(o Options) Parts {
	automations := &Automations{
		store: o.Store, responses: o.Responses, catalog: o.Catalog, runs: o.Runs, harnesses: o.Harnesses,
	}
	return Parts{
		Automations: automations,
		Schedules: &Schedules{
			store: o.Store, log: o.Log, responses: o.Responses, catalog: o.Catalog, automations: automations, runs: o.Runs,
		},
	}
}
