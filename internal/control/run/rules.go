// Package run owns the rules of runs: what a run is given, how it goes, and what it costs.
//
// The [Catalog] holds what runs are made of: environments, runners, models and skills. [Runs],
// [Streams], [Files] and [Upkeep] create, list, steer, cancel, follow and remove runs. [Executions]
// decide which worker gets a run, and record its reports and its end; workers use only
// [Executions.Control]. [Budgets] and [Usage] are what people see and set of spending. The ledger
// itself is written where calls are reserved and settled.
package run

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/openid"
	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// Deps are the dependencies and settings of all rules.
type Deps struct {
	Store     *store.Store
	Blobs     *blob.Store
	Keyset    *secret.Keyset
	Log       *slog.Logger
	PublicURL string // origin of links in responses, without a trailing slash

	Harnesses        []string                    // of the configuration; in addition to penstock.Harnesses
	KeyHolders       map[string][]string         // the variables that the configuration gives to harnesses, by harness
	Programs         map[string]Program          // facts about harnesses, by name
	Providers        map[string]string           // the APIs of providers, by the prefix of their models, such as "ollama/"
	Models           []penstock.ModelInfo        // the models that this server's provider keys allow
	Network          ServerNetwork               // the layer of every run's network
	ModelAliases     map[string]string           // aliases of models; all other auto-* names mean the default
	Prices           *price.Table                // prices of models; nil: the built-in list
	Unpriced         func(modelID string) string // why a model has no price, "" if it may have one; nil: each may
	Defaults         penstock.Config             // the weakest layer of every run's configuration
	QueueTimeout     time.Duration               // default 24 h
	Stall            *penstock.StallRule         // when a run stalls; nil: after DefaultStallAfter
	KeepRunsFor      time.Duration               // after their end and last change; 0: forever
	PresignDownloads bool                        // signed links redirect to the object store
	Repositories     *git.Cache                  // reads skills of repositories; nil: no skills
	Definitions      *git.Cache                  // reads repositories of factories; nil: not supported
	GitPoll          time.Duration               // how often repositories are polled; 0: only on request
	Metrics          prometheus.Registerer       // nil: no metrics
	Forges           *egress.Outbound            // connects to forges; nil: public ones, directly
	Webhooks         penstock.WebhookLimits
	EventNetworks    []netip.Prefix // private networks with receivers of events
	// EventResolve looks up the host of an event endpoint; nil: the resolver of the system.
	EventResolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// EventDial connects to event endpoints, and EventNow is the clock of their sender; nil: the network, and the
	// clock of the system. They are for tests: EventDial checks no addresses.
	EventDial  func(ctx context.Context, network, address string) (net.Conn, error)
	EventNow   func() time.Time
	MaxSecrets int // of a team; 0: no limit
	// MaxRunArtifactBytes limits the total size of a run's artifacts; 0: no limit.
	MaxRunArtifactBytes int64
	// MaxListBytes limits the total size of a team's schedules, and likewise of its agents and its
	// environments, because their lists have no pages. 0: 16 MiB.
	MaxListBytes int64
	Sessions     access.SessionLimits
	// SignIn are the identity providers where persons sign in.
	SignIn      []*openid.Provider
	LocalWorker bool // a worker will start, and the server is not ready before
	TimesByHand bool // background work fires no schedules, announces no stalls, rests between no outputs: for tests
}

// KnownHarnesses returns all harnesses that a run may name.
func (d Deps) KnownHarnesses() []string {
	all := definition.Harnesses()
	for _, name := range d.Harnesses {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Catalog manages environments, runners, models and connected workers.
type Catalog struct {
	store        *store.Store
	responses    *access.Responses
	offer        atomic.Pointer[offer]
	defaults     penstock.Config // without a model
	aliases      map[string]string
	keyHolders   map[string][]string
	programs     map[string]Program
	providers    map[string]string
	network      ServerNetwork
	forges       *forge.Connections
	skillCache   *git.Cache
	maxListBytes int64
}

// Skills finds the skills in the repositories of environments.
type Skills struct {
	store   *store.Store
	catalog *Catalog
	reader  *skillReader
}

// Runs creates, lists, steers and cancels runs.
type Runs struct {
	store     *store.Store
	publicURL string
	responses *access.Responses
	catalog   *Catalog
	skills    *Skills
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

// Executions assigns runs to workers and records the results.
type Executions struct {
	store        *store.Store
	blobs        *blob.Store
	keyset       *secret.Keyset
	log          *slog.Logger
	queueTimeout time.Duration
	stall        penstock.StallRule
	prices       *price.Table
	secrets      *access.Secrets
	catalog      *Catalog
	skills       *Skills
	runs         *Runs
	files        *Files
	metrics      metrics

	localWorker atomic.Bool // it has made a claim
}

// Budgets manages the shared budgets of a team.
type Budgets struct {
	store     *store.Store
	responses *access.Responses
}

// Usage reads what runs have used.
type Usage struct {
	store *store.Store
	runs  *Runs
}

// Rules are the rules of this package.
type Rules struct {
	Catalog    *Catalog
	Skills     *Skills
	Runs       *Runs
	Questions  *Questions
	Turns      *Turns
	Streams    *Streams
	Files      *Files
	Upkeep     *Upkeep
	Executions *Executions
	Budgets    *Budgets
	Usage      *Usage
	Outputs    *Outputs
}

// New makes the rules of runs.
func New(d Deps, callers access.Rules, forges forge.Rules) Rules {
	catalog := newCatalog(d, callers, forges)
	skills := &Skills{store: d.Store, catalog: catalog, reader: newSkillReader(d.Repositories, d.Log)}
	runs := &Runs{
		store: d.Store, publicURL: d.PublicURL, responses: callers.Responses, catalog: catalog, skills: skills,
		harnesses: d.KnownHarnesses(), defaults: d.Defaults, unpriced: d.Unpriced,
	}
	streams := &Streams{store: d.Store, log: d.Log, runs: runs}
	streams.hub.s = streams
	runs.files = &Files{
		store: d.Store, blobs: d.Blobs, keyset: d.Keyset, log: d.Log, publicURL: d.PublicURL,
		responses: callers.Responses, secrets: callers.Secrets, runs: runs, streams: streams,
		maxArtifactBytes: d.MaxRunArtifactBytes, presign: d.PresignDownloads,
	}
	executions := &Executions{
		store: d.Store, blobs: d.Blobs, keyset: d.Keyset, log: d.Log,
		queueTimeout: d.QueueTimeout, prices: cmp.Or(d.Prices, price.Default()),
		secrets: callers.Secrets, catalog: catalog, skills: skills, runs: runs, files: runs.files,
	}
	pause := outputPause
	if d.TimesByHand {
		pause = 0
	}
	executions.stall = *cmp.Or(d.Stall, &penstock.StallRule{After: DefaultStallAfter, On: StallAlert})
	executions.metrics = newMetrics(executions, d.Metrics)
	return Rules{
		Catalog: catalog, Skills: skills, Runs: runs, Questions: &Questions{runs}, Turns: &Turns{runs}, Streams: streams,
		Files:      runs.files,
		Upkeep:     &Upkeep{store: d.Store, log: d.Log, files: runs.files, keepRunsFor: d.KeepRunsFor},
		Executions: executions,
		Budgets:    &Budgets{store: d.Store, responses: callers.Responses},
		Usage:      &Usage{store: d.Store, runs: runs},
		Outputs: &Outputs{
			runs: runs, forges: forges.Connections, responses: callers.Responses, log: d.Log, pause: pause,
		},
	}
}

func newCatalog(d Deps, callers access.Rules, forges forge.Rules) *Catalog {
	catalog := &Catalog{
		store: d.Store, responses: callers.Responses, defaults: d.Defaults, keyHolders: d.KeyHolders,
		programs: d.Programs, providers: d.Providers, aliases: d.ModelAliases, network: d.Network,
		forges: forges.Connections, skillCache: d.Repositories, maxListBytes: d.MaxListBytes,
	}
	catalog.SetModels(d.Models, d.Defaults.ModelID)
	catalog.defaults.ModelID = ""
	return catalog
}

// The sources that this server sets, or that a caller may name.
const (
	SourceAPI          penstock.Source = "API"
	SourceCLI          penstock.Source = "CLI"
	SourceWebApp       penstock.Source = "WEB_APP"
	SourceGitHubAction penstock.Source = "GITHUB_ACTION"
	SourceSchedule     penstock.Source = "SCHEDULED_AGENT"
	SourceWebhook      penstock.Source = "WEBHOOK"
)
