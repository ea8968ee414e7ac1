// Package factory owns the rules of what starts runs and where that is written: factories with
// their files and repositories, the API's edits of resources that files define, automations,
// schedules, webhooks, and the deliveries that webhooks receive.
package factory

import (
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Automations reads automations and creates their runs.
type Automations struct {
	store     *store.Store
	responses *access.Responses
	catalog   *run.Catalog
	runs      *run.Runs
	harnesses []string
	open      share.SharedRead[int64] // pull requests, by factory
}

// Schedules starts runs on a schedule.
type Schedules struct {
	store       *store.Store
	log         *slog.Logger
	responses   *access.Responses
	catalog     *run.Catalog
	automations *Automations
	runs        *run.Runs
	keepFor     time.Duration // occurrences; 0: for ever
}

// Webhooks manages webhooks and their secrets.
type Webhooks struct {
	store     *store.Store
	keyset    *secret.Keyset
	log       *slog.Logger
	publicURL string
	limits    penstock.WebhookLimits
	secrets   *access.Secrets
	signed    share.Used[store.WebhookSecretKey]
}

// Receiver receives deliveries.
type Receiver struct {
	store        *store.Store
	publicURL    string
	limits       penstock.WebhookLimits
	responses    *access.Responses
	webhooks     *Webhooks
	automations  *Automations
	connections  *forge.Connections
	repositories *Repositories // nil: no factory comes from a repository

	plans        *share.Recent[string, *Plan] // by UID
	planned      *share.Recent[plannedKey, *planned]
	webhookReads share.SharedRead[store.WebhookRow] // by UID
	planning     share.SharedRead[*Plan]            // by UID
	versions     share.SharedRead[int64]            // by team
	recognized   share.SharedRead[bool]             // by UID and address
	rejections   rejectionCounts
	parsing      chan struct{}
}

// Deliveries shows, replays and clears the log of deliveries.
type Deliveries struct {
	store     *store.Store
	limits    penstock.WebhookLimits
	responses *access.Responses
	webhooks  *Webhooks
	receiver  *Receiver
}

// Subjects brings events to the run that works on what they are about.
type Subjects struct {
	store       *store.Store
	runs        *run.Runs
	executions  *run.Executions
	automations *Automations
	receiver    *Receiver
	keepFor     time.Duration // 0: for ever
}

// Factories manages factories and applies their files.
type Factories struct {
	store        *store.Store
	publicURL    string
	limits       penstock.WebhookLimits
	harnesses    []string
	responses    *access.Responses
	secrets      *access.Secrets
	catalog      *run.Catalog
	runs         *run.Runs
	automations  *Automations
	webhooks     *Webhooks
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
	catalog      *run.Catalog
	automations  *Automations
	webhooks     *Webhooks
	factories    *Factories
	repositories *Repositories
}

// Rules are the rules of this package.
type Rules struct {
	Automations  *Automations
	Schedules    *Schedules
	Webhooks     *Webhooks
	Receiver     *Receiver
	Deliveries   *Deliveries
	Subjects     *Subjects
	Factories    *Factories
	Repositories *Repositories
	Resources    *Resources
}

// New makes the rules of factories.
func New(d run.Deps, callers access.Rules, forges forge.Rules, runs run.Rules) Rules {
	automations := &Automations{
		store: d.Store, responses: callers.Responses, catalog: runs.Catalog, runs: runs.Runs,
		harnesses: d.KnownHarnesses(),
	}
	webhooks := &Webhooks{
		store: d.Store, keyset: d.Keyset, log: d.Log, publicURL: d.PublicURL, limits: d.Webhooks,
		secrets: callers.Secrets,
	}
	factories := newFactories(d, callers, runs, automations, webhooks)
	receiver := newReceiver(d, callers, automations, webhooks)
	receiver.connections = forges.Connections
	if d.Definitions != nil {
		receiver.repositories = factories.repositories
	}
	return Rules{
		Automations: automations,
		Schedules: &Schedules{
			store: d.Store, log: d.Log, responses: callers.Responses, catalog: runs.Catalog, automations: automations,
			runs: runs.Runs, keepFor: d.Webhooks.KeepDeliveriesFor,
		},
		Webhooks: webhooks,
		Receiver: receiver,
		Deliveries: &Deliveries{
			store: d.Store, limits: d.Webhooks, responses: callers.Responses, webhooks: webhooks, receiver: receiver,
		},
		Subjects: &Subjects{
			store: d.Store, runs: runs.Runs, executions: runs.Executions, automations: automations, receiver: receiver,
			keepFor: d.Webhooks.KeepDeliveriesFor,
		},
		Factories: factories, Repositories: factories.repositories, Resources: factories.resources,
	}
}

func newReceiver(d run.Deps, callers access.Rules, automations *Automations, webhooks *Webhooks) *Receiver {
	return &Receiver{
		store: d.Store, publicURL: d.PublicURL, limits: d.Webhooks, responses: callers.Responses,
		webhooks: webhooks, automations: automations, parsing: newParsing(),
		plans:   share.NewRecent[string, *Plan](maxPlans, maxPlanBytes),
		planned: share.NewRecent[plannedKey, *planned](maxPlanned, maxPlannedBytes),
	}
}

// newFactories makes the factories, with their repositories and resources.
func newFactories(
	d run.Deps, callers access.Rules, runs run.Rules, automations *Automations, webhooks *Webhooks,
) *Factories {
	parsed := &parsedDefinitions{}
	factories := &Factories{
		store: d.Store, publicURL: d.PublicURL, limits: d.Webhooks, harnesses: d.KnownHarnesses(),
		responses: callers.Responses, secrets: callers.Secrets, catalog: runs.Catalog, runs: runs.Runs,
		automations: automations, webhooks: webhooks,
		schemas: sync.OnceValues(definition.SchemaJSON), parsed: parsed,
	}
	factories.repositories = &Repositories{
		store: d.Store, log: d.Log, responses: callers.Responses, secrets: callers.Secrets, factories: factories,
		cache: d.Definitions, gitPoll: d.GitPoll, parsed: parsed,
		syncs: make(chan struct{}, syncsAtOnce), reads: make(chan struct{}, readsAtOnce),
	}
	factories.resources = &Resources{
		store: d.Store, harnesses: d.KnownHarnesses(),
		executable: append([]string{penstock.HarnessBuiltin, penstock.HarnessCommand}, d.Harnesses...),
		responses:  callers.Responses, catalog: runs.Catalog, automations: automations, webhooks: webhooks,
		factories: factories, repositories: factories.repositories,
	}
	return factories
}
