// Package factory owns the rules of factories: their files and resources, the repositories of
// the files, and the API's edits of resources that files define.
package factory

import (
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/automation"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/delivery"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/run"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies and settings of the factory rules.
type Options struct {
	Store       *store.Store
	Log         *slog.Logger
	PublicURL   string // origin of links in responses, without a trailing slash
	Limits      penstock.WebhookLimits
	Harnesses   []string // all known harnesses
	Executable  []string // the harnesses that the configuration can run
	Access      access.Parts
	Catalog     *catalog.Catalog
	Runs        *run.Runs
	Automations *automation.Automations
	Webhooks    *delivery.Webhooks
	Cache       *git.Cache    // reads repositories of factories; nil: disabled
	GitPoll     time.Duration // poll interval of repositories; 0: only on request
}

// Factories manages factories and applies their files.
type Factories struct {
	store        *store.Store
	publicURL    string
	limits       penstock.WebhookLimits
	harnesses    []string
	responses    *access.Responses
	secrets      *access.Secrets
	catalog      *catalog.Catalog
	runs         *run.Runs
	automations  *automation.Automations
	webhooks     *delivery.Webhooks
	repositories *Repositories
	resources    *Resources
	schemas      func() (map[string]json.RawMessage, error) // of a factory's files
	parsed       *parsedDefinitions
}

// Repositories syncs factories with their repositories.
type Repositories struct {
	store     *store.Store
	log       *slog.Logger
	responses *access.Responses
	secrets   *access.Secrets
	factories *Factories
	cache     *git.Cache
	gitPoll   time.Duration
	parsed    *parsedDefinitions

	syncs   chan struct{} // limits simultaneous polls
	reads   chan struct{} // limits simultaneous reads
	syncing sync.WaitGroup
}

// Resources changes single agents, automations and webhooks, through their files if they have
// any.
type Resources struct {
	store        *store.Store
	harnesses    []string
	executable   []string
	responses    *access.Responses
	catalog      *catalog.Catalog
	automations  *automation.Automations
	webhooks     *delivery.Webhooks
	factories    *Factories
	repositories *Repositories
}

// Parts are the rules of this package.
type Parts struct {
	Factories    *Factories
	Repositories *Repositories
	Resources    *Resources
}

// New makes the rules of factories.
func New(o Options) Parts {
	parsed := &parsedDefinitions{}
	factories := &Factories{
		store: o.Store, publicURL: o.PublicURL, limits: o.Limits, harnesses: o.Harnesses,
		responses: o.Access.Responses, secrets: o.Access.Secrets, catalog: o.Catalog, runs: o.Runs,
		automations: o.Automations,
		webhooks:    o.Webhooks,
		schemas:     sync.OnceValues(definition.SchemaJSON), parsed: parsed,
	}
	factories.repositories = &Repositories{
		store: o.Store, log: o.Log, responses: o.Access.Responses, secrets: o.Access.Secrets, factories: factories,
		cache: o.Cache, gitPoll: o.GitPoll, parsed: parsed,
		syncs: make(chan struct{}, syncsAtOnce), reads: make(chan struct{}, readsAtOnce),
	}
	factories.resources = &Resources{
		store: o.Store, harnesses: o.Harnesses, executable: o.Executable, responses: o.Access.Responses,
		catalog: o.Catalog, automations: o.Automations, webhooks: o.Webhooks,
		factories: factories, repositories: factories.repositories,
	}
	return Parts{Factories: factories, Repositories: factories.repositories, Resources: factories.resources}
}
