// Package service assembles the rules: rights, states, transactions, and the notifications after
// them. The HTTP layer, the command line and the worker act only through its parts.
//
// The parts are packages: access, catalog, run, execute, spend, automation, delivery, factory. Each
// imports only those before it. An earlier part notifies a later one through a function that [New]
// passes to it.
//
// A method of a part takes the caller as a penstock.Principal. Resources of another team, and the
// personal runs of others, are reported as not found. Errors that are a *penstock.Error may be
// shown to the caller; all others are internal.
package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/automation"
	"github.com/penstock-dev/penstock/internal/blob"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/delivery"
	"github.com/penstock-dev/penstock/internal/execute"
	"github.com/penstock-dev/penstock/internal/factory"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/price"
	"github.com/penstock-dev/penstock/internal/run"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/spend"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options configures a service.
type Options struct {
	Store     *store.Store
	Blobs     *blob.Store
	Keyset    *secret.Keyset
	Log       *slog.Logger
	PublicURL string // origin of links in responses, without a trailing slash

	Harnesses        []string                    // of the configuration; in addition to penstock.Harnesses
	KeyHolders       map[string][]string         // the variables that the configuration gives to harnesses, by harness
	Programs         map[string]catalog.Program  // facts about harnesses, by name
	Providers        map[string]string           // the APIs of providers, by the prefix of their models, such as "ollama/"
	Models           []penstock.ModelInfo        // the models that this server's provider keys allow
	Network          catalog.ServerNetwork       // the layer of every run's network
	ModelAliases     map[string]string           // aliases of models; all other auto-* names mean the default
	Prices           *price.Table                // prices of models; nil: the built-in list
	Unpriced         func(modelID string) string // why a model has no price, "" if it may have one; nil: each may
	Defaults         penstock.Config             // the weakest layer of every run's configuration
	QueueTimeout     time.Duration               // default 24 h
	KeepRunsFor      time.Duration               // after their end and last change; 0: forever
	PresignDownloads bool                        // signed links redirect to the object store
	Repositories     *git.Cache                  // reads skills of repositories; nil: no skills
	Definitions      *git.Cache                  // reads repositories of factories; nil: not supported
	GitPoll          time.Duration               // how often repositories are polled; 0: only on request
	Metrics          prometheus.Registerer       // nil: no metrics
	Webhooks         penstock.WebhookLimits
	MaxSecrets       int // of a team; 0: no limit
	// MaxRunArtifactBytes limits the total size of a run's artifacts; 0: no limit.
	MaxRunArtifactBytes int64
	// MaxListBytes limits the total size of a team's schedules, and likewise of its agents and its
	// environments, because their lists have no pages. 0: 16 MiB.
	MaxListBytes int64
	Sessions     access.SessionLimits
	LocalWorker  bool // a worker will start, and the service is not ready before
}

// Service is the control plane's rules over one store. It is safe for
// concurrent use.
type Service struct {
	Responses    *access.Responses
	Keys         *access.Keys
	Sessions     *access.Sessions
	Secrets      *access.Secrets
	Catalog      *catalog.Catalog
	Skills       *catalog.Skills
	Runs         *run.Runs
	Streams      *run.Streams
	Files        *run.Files
	Upkeep       *run.Upkeep
	Executions   *execute.Executions
	Budgets      *spend.Budgets
	Usage        *spend.Usage
	Automations  *automation.Automations
	Schedules    *automation.Schedules
	Webhooks     *delivery.Webhooks
	Ingress      *delivery.Ingress
	Deliveries   *delivery.Deliveries
	Factories    *factory.Factories
	Repositories *factory.Repositories
	Resources    *factory.Resources

	store   *store.Store
	log     *slog.Logger
	options Options
}

// New creates a service. Nothing runs in the background before [Service.Run].
func New(o Options) *Service {
	o.QueueTimeout = cmp.Or(o.QueueTimeout, 24*time.Hour)
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	executable := append([]string{penstock.HarnessBuiltin, penstock.HarnessCommand}, o.Harnesses...)
	o.Harnesses = known(o.Harnesses)
	s := &Service{store: o.Store, log: o.Log, options: o}
	accessParts := access.New(access.Options{
		Store: o.Store, Keyset: o.Keyset, Sessions: o.Sessions, MaxSecrets: o.MaxSecrets, SecretChanged: s.secretChanged,
	})
	s.Responses, s.Keys = accessParts.Responses, accessParts.Keys
	s.Sessions, s.Secrets = accessParts.Sessions, accessParts.Secrets
	catalogParts := catalog.New(catalog.Options{
		Store: o.Store, Log: o.Log, Responses: s.Responses, Models: o.Models, Defaults: o.Defaults, KeyHolders: o.KeyHolders,
		Programs: o.Programs, Providers: o.Providers,
		Aliases: o.ModelAliases, Network: o.Network, MaxListBytes: o.MaxListBytes, SkillCache: o.Repositories,
	})
	s.Catalog, s.Skills = catalogParts.Catalog, catalogParts.Skills
	runParts := run.New(run.Options{
		Store: o.Store, Blobs: o.Blobs, Keyset: o.Keyset, Log: o.Log, PublicURL: o.PublicURL,
		Access: accessParts, Catalog: catalogParts, Harnesses: o.Harnesses, Defaults: o.Defaults,
		MaxArtifactBytes: o.MaxRunArtifactBytes, KeepRunsFor: o.KeepRunsFor, PresignDownloads: o.PresignDownloads,
		Unpriced: o.Unpriced,
	})
	s.Runs, s.Streams, s.Files, s.Upkeep = runParts.Runs, runParts.Streams, runParts.Files, runParts.Upkeep
	s.Executions = execute.New(execute.Options{
		Store: o.Store, Blobs: o.Blobs, Keyset: o.Keyset, Log: o.Log, Metrics: o.Metrics, QueueTimeout: o.QueueTimeout,
		Prices:  o.Prices,
		Secrets: s.Secrets, Catalog: s.Catalog, Skills: s.Skills, Runs: runParts,
	})
	spendParts := spend.New(spend.Options{Store: o.Store, Responses: s.Responses, Runs: s.Runs})
	s.Budgets, s.Usage = spendParts.Budgets, spendParts.Usage
	s.addTriggers(o, accessParts, executable)
	return s
}

// addTriggers creates the parts that start runs automatically. executable lists the harnesses that
// this server can run.
func (s *Service) addTriggers(o Options, accessParts access.Parts, executable []string) {
	automationParts := automation.New(automation.Options{
		Store: o.Store, Log: o.Log, Responses: s.Responses, Catalog: s.Catalog, Runs: s.Runs, Harnesses: o.Harnesses,
	})
	s.Automations, s.Schedules = automationParts.Automations, automationParts.Schedules
	deliveryParts := delivery.New(delivery.Options{
		Store: o.Store, Keyset: o.Keyset, Log: o.Log, PublicURL: o.PublicURL, Limits: o.Webhooks, Access: accessParts,
		Automations: s.Automations, Pushed: s.pushed(),
	})
	s.Webhooks, s.Ingress, s.Deliveries = deliveryParts.Webhooks, deliveryParts.Ingress, deliveryParts.Deliveries
	factoryParts := factory.New(factory.Options{
		Store: o.Store, Log: o.Log, PublicURL: o.PublicURL, Limits: o.Webhooks,
		Harnesses: o.Harnesses, Executable: executable,
		Access: accessParts, Catalog: s.Catalog, Runs: s.Runs, Automations: s.Automations, Webhooks: s.Webhooks,
		Cache: o.Definitions, GitPoll: o.GitPoll,
	})
	s.Factories, s.Repositories, s.Resources = factoryParts.Factories, factoryParts.Repositories, factoryParts.Resources
}

// secretChanged gives the new value of a managed secret to the webhooks that use each new value
// immediately.
func (s *Service) secretChanged(ctx context.Context, tx *store.Tx, p penstock.Principal, name, value string) error {
	return s.Webhooks.FollowSecret(ctx, tx, p, name, value)
}

// pushed polls the factories whose repository got a push. It is nil if the server does not support
// repositories.
func (s *Service) pushed() func(ctx context.Context, team string, body []byte) {
	if s.options.Definitions == nil {
		return nil
	}
	return func(ctx context.Context, team string, body []byte) { s.Repositories.NoticePush(ctx, team, body) }
}

// known returns all harnesses that a run may name.
func known(configured []string) []string {
	all := penstock.Harnesses()
	for _, name := range configured {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// job is background work. Each replica does all of it, and every change is conditional.
type job struct {
	name  string
	topic string // nudges that start it immediately; "": none
	every time.Duration
	do    func(context.Context) error
}

func (s *Service) jobs() []job {
	return []job{
		{"end lost leases", "", time.Second, s.Executions.SweepLeases()},
		{"continue runs whose budgets have room", store.TopicBudgets, time.Second, s.Executions.ResumeFunded},
		{"count abandoned calls as spent", "", 10 * time.Minute, s.Executions.SettleAbandoned},
		{"end runs that waited too long", "", 30 * time.Second, s.Executions.EndOverdue},
		{"index runs for the search", store.TopicSearch, 30 * time.Second, s.Upkeep.IndexRuns},
		{"start scheduled runs", store.TopicSchedules, time.Second, atNow(s.Schedules.FireDue)},
		{"start automations on a schedule", store.TopicSchedules, time.Second, atNow(s.Schedules.FireClocks)},
		{"poll the repositories of factories", store.TopicRepositories, time.Second, s.Repositories.SyncRepositories},
		{"poll repositories early", "", time.Hour, s.Repositories.HastenSyncs},
		{"remove mirrors of repositories", "", time.Hour, s.Repositories.EvictMirrors},
		{"record when keys were used", "", 10 * time.Second, s.Keys.Touch},
		{"drop counts of requests", "", 10 * time.Minute, s.Keys.DropAllowances},
		{"record when sessions were used", "", 10 * time.Second, s.Sessions.Touch},
		{"drop sessions that have ended", "", 10 * time.Minute, s.Sessions.DropEnded},
		{"record when secrets were used", "", 10 * time.Second, s.Secrets.Touch},
		{"record which secrets sign deliveries", "", 3 * time.Second, s.Webhooks.TouchWebhookSecrets},
		{"count rejected deliveries", "", 3 * time.Second, s.Ingress.FlushRejections},
		{"clear the logs of deliveries", "", time.Minute, s.Deliveries.ClearLogs},
		{"remove old runs", "", time.Minute, s.Upkeep.RemoveOldRuns},
		{"remove attachments that no follow-up has named", "", 10 * time.Minute, s.Files.ExpireAttachments},
		{"remove unreferenced files", "", 24 * time.Hour, s.Files.RemoveOrphans},
		{"clear counts and senders of deliveries", "", 10 * time.Minute, s.Deliveries.ClearCounts},
		{"drop stored responses", "", 10 * time.Minute, s.Responses.DropKept},
	}
}

func atNow(fire func(context.Context, penstock.Time) error) func(context.Context) error {
	return func(ctx context.Context) error { return fire(ctx, penstock.Now()) }
}

// Run does the background work until ctx ends, and waits for it.
func (s *Service) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, j := range s.jobs() {
		running.Go(func() { s.repeat(ctx, j) })
	}
	running.Wait()
	s.Repositories.Wait()
	s.Skills.Close()
	// Record the uses of the last seconds too.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return errors.Join(
		s.Keys.Touch(last), s.Sessions.Touch(last), s.Secrets.Touch(last), s.Webhooks.TouchWebhookSecrets(last),
		s.Ingress.FlushRejections(last),
	)
}

func (s *Service) repeat(ctx context.Context, j job) {
	var nudged <-chan struct{}
	if j.topic != "" {
		c, stop := s.store.Nudges.Subscribe(j.topic)
		defer stop()
		nudged = c
	}
	for {
		next := j.every
		if err := j.do(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			s.log.Error("background work failed; trying again", "job", j.name, "error", err)
			next = max(next, time.Second)
		}
		select {
		case <-ctx.Done():
			return
		case <-nudged:
		case <-time.After(next):
		}
	}
}

// Ready returns nil if the store is reachable and writable, and the worker of this process is
// known. Before that, a run would report that no worker can execute it. Otherwise it returns
// resource_unavailable.
func (s *Service) Ready(ctx context.Context) error {
	if s.options.LocalWorker && !s.Executions.HasLocalWorker() {
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the worker of this server is starting", RetryAfter: time.Second,
		}
	}
	if err := s.store.Ping(ctx); err != nil {
		return &penstock.Error{Code: penstock.CodeUnavailable, Detail: "the database does not respond", Cause: err}
	}
	return nil
}
