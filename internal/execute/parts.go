// Package execute owns the rules of a run's execution: which worker gets it, its assignment,
// its reports, and the end of the run. Workers use only [Executions.Control].
package execute

import (
	"cmp"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/blob"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/price"
	"github.com/penstock-dev/penstock/internal/run"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies and settings of the execution rules.
type Options struct {
	Store        *store.Store
	Blobs        *blob.Store
	Keyset       *secret.Keyset
	Log          *slog.Logger
	Metrics      prometheus.Registerer // nil: no metrics
	QueueTimeout time.Duration
	Prices       *price.Table // of models; nil: the built-in prices
	Secrets      *access.Secrets
	Catalog      *catalog.Catalog
	Skills       *catalog.Skills
	Runs         run.Parts
}

// Executions assigns runs to workers and records the results.
type Executions struct {
	store        *store.Store
	blobs        *blob.Store
	keyset       *secret.Keyset
	log          *slog.Logger
	queueTimeout time.Duration
	prices       *price.Table
	secrets      *access.Secrets
	catalog      *catalog.Catalog
	skills       *catalog.Skills
	runs         *run.Runs
	files        *run.Files
	metrics      metrics

	localWorker atomic.Bool // it has made a claim
}

// New makes the rules of execution.
func New(o Options) *Executions {
	s := &Executions{
		store: o.Store, blobs: o.Blobs, keyset: o.Keyset, log: o.Log, queueTimeout: o.QueueTimeout,
		prices:  cmp.Or(o.Prices, price.Default()),
		secrets: o.Secrets, catalog: o.Catalog, skills: o.Skills, runs: o.Runs.Runs, files: o.Runs.Files,
	}
	s.metrics = newMetrics(s, o.Metrics)
	return s
}
