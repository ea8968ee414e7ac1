// Package service holds the rules: who may do what in which state, what
// belongs into one transaction, and who is told after it. The HTTP layer, the
// command line and the worker act through it alone.
//
// A method takes the caller as a penstock.Principal; what belongs to another
// team, and somebody else's personal run, does not exist for it. Errors that
// are a *penstock.Error may be shown to the caller, all others are ours.
package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/blob"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options is what a service is made of.
type Options struct {
	Store     *store.Store
	Blobs     *blob.Store
	Keyset    *secret.Keyset
	Log       *slog.Logger
	PublicURL string // origin of links in answers, without a slash at its end

	Harnesses    []string              // of the configuration; penstock.Harnesses are known beside them
	KeyHolders   map[string][]string   // those of them to which the configuration gives variables, with their names
	Models       []penstock.ModelInfo  // what the providers' keys of this server allow
	ModelAliases map[string]string     // models by further names; of the family auto-* the rest stands for the default
	Defaults     penstock.Config       // the weakest layer of every run's configuration
	QueueTimeout time.Duration         // default 24 h
	KeepRunsFor  time.Duration         // after they are over and have last changed; 0: for ever
	Repositories *git.Cache            // where skills are looked for; nil: nowhere
	Definitions  *git.Cache            // where repositories of factories are read; nil: nowhere
	GitPoll      time.Duration         // how often those are looked at; 0: only when told to
	Metrics      prometheus.Registerer // nil: nothing is measured
	Webhooks     penstock.WebhookLimits
	MaxSecrets   int // of a team; 0: no limit
	// MaxRunArtifactBytes is how much the artifacts of a run may hold together; 0: no limit.
	MaxRunArtifactBytes int64
	// MaxListBytes is how much the schedules of a team may hold together, and so its
	// agents and its environments, since their lists have no pages; 0: 16 MiB.
	MaxListBytes int64
	Sessions     SessionLimits
	LocalWorker  bool // one is to come, and the service is not ready before
}

// Service is the control plane's rules over one store. It is safe for
// concurrent use.
type Service struct {
	store     *store.Store
	blobs     *blob.Store
	keyset    *secret.Keyset
	log       *slog.Logger
	publicURL string
	options   Options

	sessionLimits    SessionLimits
	maxSecrets       int
	maxListBytes     int64
	harnesses        []string
	keyHolders       map[string][]string
	models           []penstock.ModelInfo
	aliases          map[string]string
	defaults         penstock.Config
	skillCache       *git.Cache // nil: skills are looked for nowhere
	maxArtifactBytes int64
	keepRunsFor      time.Duration
	queueTimeout     time.Duration
	limits           penstock.WebhookLimits
	cache            *git.Cache // nil: no factory can come from a repository
	gitPoll          time.Duration

	// changed is told of the next value of a managed secret, in its transaction.
	changed func(ctx context.Context, tx *store.Tx, p penstock.Principal, name, value string) error
	// pushed is told of a delivery that reports a push; nil: no factory can come from a repository.
	pushed func(ctx context.Context, team string, body []byte)

	executable   []string // harnesses that the configuration says how to run
	hub          hub
	keys         shared[store.KeyRow] // by their hashes
	usedKeys     used[string]
	sessions     shared[store.SessionRow] // by their hashes
	usedSessions used[string]
	granted      used[store.SecretKey]
	signed       used[store.WebhookSecretKey]

	plans      deliveryPlans
	planned    plannedAutomations
	arriving   shared[store.WebhookRow] // by UID
	planning   shared[*deliveryPlan]    // by UID
	versions   shared[int64]            // by team
	recognized shared[bool]             // by UID and address
	refused    refusals
	patience   patience
	parsing    chan struct{}

	seen     metrics
	order    queueOrder
	reader   *skillReader
	indexing indexing
	syncs    chan struct{} // repositories of factories that are looked at
	reads    chan struct{} // those of them that are read
	syncing  sync.WaitGroup
	schemas  func() (map[string]json.RawMessage, error) // of a factory's files
	parsed   parsedDefinitions

	localWorker atomic.Bool // has said that it is there
}

// New makes a service; nothing runs in the background before [Service.Run].
func New(o Options) *Service {
	o.QueueTimeout = cmp.Or(o.QueueTimeout, 24*time.Hour)
	o.Sessions = o.Sessions.orDefault()
	executable := append([]string{penstock.HarnessBuiltin, penstock.HarnessCommand}, o.Harnesses...)
	known := penstock.Harnesses()
	for _, name := range o.Harnesses {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	o.Harnesses = known
	s := &Service{
		store: o.Store, blobs: o.Blobs, keyset: o.Keyset, log: o.Log,
		publicURL: strings.TrimSuffix(o.PublicURL, "/"), options: o, executable: executable,
		sessionLimits: o.Sessions, maxSecrets: o.MaxSecrets, maxListBytes: o.MaxListBytes, harnesses: o.Harnesses, keyHolders: o.KeyHolders,
		models: o.Models, aliases: o.ModelAliases, defaults: o.Defaults, skillCache: o.Repositories,
		maxArtifactBytes: o.MaxRunArtifactBytes, keepRunsFor: o.KeepRunsFor, queueTimeout: o.QueueTimeout,
		limits: o.Webhooks, cache: o.Definitions, gitPoll: o.GitPoll,
	}
	s.hub.s = s
	s.schemas = sync.OnceValues(definition.SchemaJSON)
	s.seen = newMetrics(s, o.Metrics)
	s.reader = newSkillReader(o.Repositories, o.Log)
	s.parsing = newParsing()
	s.changed = s.followSecret
	if o.Definitions != nil {
		s.pushed = s.noticePush
	}
	s.syncs, s.reads = make(chan struct{}, syncsAtOnce), make(chan struct{}, readsAtOnce)
	return s
}

// job is work that goes on beside the requests. Each replica does all of it:
// what it changes, it changes conditionally.
type job struct {
	name  string
	topic string // nudges that start it at once; "": none
	every time.Duration
	do    func(context.Context) error
}

func (s *Service) jobs() []job {
	return []job{
		{"end lost leases", "", time.Second, s.endLostLeases},
		{"end runs that waited too long", "", 30 * time.Second, s.endOverdue},
		{"index runs for the search", store.TopicSearch, 30 * time.Second, s.indexRuns},
		{"start scheduled runs", store.TopicSchedules, time.Second, atNow(s.fireDue)},
		{"start automations by the clock", store.TopicSchedules, time.Second, atNow(s.fireClocks)},
		{"look at the repositories of factories", store.TopicRepositories, time.Second, s.syncRepositories},
		{"look at repositories sooner", "", time.Hour, s.hastenSyncs},
		{"remove mirrors of repositories", "", time.Hour, s.evictMirrors},
		{"record when keys were used", "", 10 * time.Second, s.touchKeys},
		{"record when sessions were used", "", 10 * time.Second, s.touchSessions},
		{"drop sessions that have ended", "", 10 * time.Minute, s.dropSessions},
		{"record when secrets were used", "", 10 * time.Second, s.touchSecrets},
		{"record which secrets sign deliveries", "", time.Minute, s.touchWebhookSecrets},
		{"count refused deliveries", "", 3 * time.Second, s.writeRefusals},
		{"add up the counts of deliveries", "", time.Second, s.foldCounts},
		{"index the log of deliveries", "", 75 * time.Millisecond, s.store.IndexLog},
		{"clear the logs of deliveries", "", time.Minute, s.clearLogs},
		{"remove old runs", "", time.Minute, s.removeOldRuns},
		{"remove attachments that no follow-up has named", "", 10 * time.Minute, s.expireAttachments},
		{"remove files that nothing refers to", "", 24 * time.Hour, s.removeLostFiles},
		{"clear what is noted beside the logs", "", 10 * time.Minute, s.clearTallies},
		{"drop kept answers", "", 10 * time.Minute, s.dropKept},
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
	s.waitForSyncs()
	s.closeReader()
	// What was used in the last seconds is still worth a line.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return errors.Join(s.touchKeys(last), s.touchSessions(last), s.touchSecrets(last), s.touchWebhookSecrets(last), s.writeRefusals(last))
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
			s.log.Error("background work failed, it is tried again", "job", j.name, "error", err)
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

// Ready is nil if the store answers and can be written, and the worker of this process
// is known: before, a run would be told that nobody can take it. Else it is
// resource_unavailable.
func (s *Service) Ready(ctx context.Context) error {
	if s.options.LocalWorker && !s.hasLocalWorker() {
		return &penstock.Error{Code: penstock.CodeUnavailable, Detail: "the worker of this server is starting", RetryAfter: time.Second}
	}
	if err := s.store.Ping(ctx); err != nil {
		return &penstock.Error{Code: penstock.CodeUnavailable, Detail: "the database does not answer", Cause: err}
	}
	return nil
}

// dropKept removes the answers whose time is over.
func (s *Service) dropKept(ctx context.Context) error {
	return inBatches(1000, func(limit int) (int, error) { return s.store.DropKept(ctx, limit) })
}

// foldCounts adds up the counts of deliveries.
func (s *Service) foldCounts(ctx context.Context) error {
	const atOnce = 500 // deliveries wait for it on SQLite
	return inBatches(atOnce, func(limit int) (int, error) { return s.store.FoldCounts(ctx, limit) })
}

// inBatches does some until there are fewer than the limit.
func inBatches(limit int, some func(limit int) (int, error)) error {
	for {
		if n, err := some(limit); err != nil || n < limit {
			return err
		}
	}
}

// require refuses a caller without the scope.
func require(p penstock.Principal, scope penstock.Scope) error {
	if p.May(scope) {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "this needs the scope %s, which the key does not have", scope)
}
