// Package run owns the rules of runs outside of their execution: it creates, lists, steers,
// cancels, follows and removes runs, and owns their files.
package run

import (
	"log/slog"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/blob"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies and settings of the run rules.
type Options struct {
	Store     *store.Store
	Blobs     *blob.Store
	Keyset    *secret.Keyset
	Log       *slog.Logger
	PublicURL string // origin of links in responses, without a trailing slash
	Access    access.Parts
	Catalog   catalog.Parts

	Harnesses        []string        // all known harnesses
	Defaults         penstock.Config // the weakest layer of every run's configuration
	MaxArtifactBytes int64           // of a run's artifacts together; 0: no limit
	KeepRunsFor      time.Duration   // after their end and last change; 0: forever
	PresignDownloads bool            // signed links lead to the object store
	// Unpriced explains why a model has no price, "" if it may have one. Nil: each may.
	Unpriced func(modelID string) string
}

// Runs creates, lists, steers and cancels runs.
type Runs struct {
	store     *store.Store
	publicURL string
	responses *access.Responses
	catalog   *catalog.Catalog
	skills    *catalog.Skills
	files     *Files
	harnesses []string
	defaults  penstock.Config
	unpriced  func(modelID string) string
	order     queueOrder
}

// Streams lets callers follow runs.
type Streams struct {
	store *store.Store
	log   *slog.Logger
	runs  *Runs
	hub   hub
}

// Files holds the attachments and artifacts of runs.
type Files struct {
	store            *store.Store
	blobs            *blob.Store
	keyset           *secret.Keyset
	log              *slog.Logger
	publicURL        string
	responses        *access.Responses
	secrets          *access.Secrets
	runs             *Runs
	streams          *Streams
	maxArtifactBytes int64
	presign          bool
}

// Upkeep indexes runs for search and removes old runs.
type Upkeep struct {
	store       *store.Store
	log         *slog.Logger
	files       *Files
	keepRunsFor time.Duration
	indexing    indexing
}

// Parts are the rules of this package.
type Parts struct {
	Runs    *Runs
	Streams *Streams
	Files   *Files
	Upkeep  *Upkeep
}

// New makes the rules of runs.
func New(o Options) Parts {
	runs := &Runs{
		store: o.Store, publicURL: o.PublicURL, responses: o.Access.Responses, catalog: o.Catalog.Catalog,
		skills:    o.Catalog.Skills,
		harnesses: o.Harnesses, defaults: o.Defaults, unpriced: o.Unpriced,
	}
	streams := &Streams{store: o.Store, log: o.Log, runs: runs}
	streams.hub.s = streams
	runs.files = &Files{
		store: o.Store, blobs: o.Blobs, keyset: o.Keyset, log: o.Log, publicURL: o.PublicURL,
		responses: o.Access.Responses, secrets: o.Access.Secrets, runs: runs, streams: streams,
		maxArtifactBytes: o.MaxArtifactBytes, presign: o.PresignDownloads,
	}
	return Parts{
		Runs:    runs,
		Streams: streams,
		Files:   runs.files,
		Upkeep:  &Upkeep{store: o.Store, log: o.Log, files: runs.files, keepRunsFor: o.KeepRunsFor},
	}
}
