package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

type serveCmd struct {
	listening
	storage
	logging
	working
	deliveryLimits
	Worker                 bool           `default:"true" negatable:"" help:"Also run a worker in this process."`
	QueueTimeout           time.Duration  `default:"24h" help:"Maximum time that a run waits for a worker that can execute it."`
	StallAfter             time.Duration  `default:"10m" help:"Time without an event after which a run that works has stalled, at least 1m; 0 disables it. The environment of a run can set another."`
	OnStall                string         `enum:"alert,cancel" default:"alert" help:"What happens to a run that has stalled: alert marks it, cancel also cancels it. Its environment can choose otherwise."`
	RetainRuns             time.Duration  `help:"How long to keep an ended run after its last change, with its events and files, such as 2160h; 0 keeps it forever."`
	LimitRequestsPerMinute int            `default:"600" help:"Maximum requests per minute of one API key, across all replicas; 0 disables the limit."`
	LimitValidations       int            `name:"limit-validations-per-minute" default:"30" help:"Maximum validations of factory files per minute from one address without a key; 0 disables the limit."`
	LimitSecretsPerTeam    int            `default:"1000" help:"Maximum number of managed secrets of a team; 0 disables the limit."`
	BlobDownloads          string         `enum:"server,presigned" default:"server" help:"How clients download files. With server, the server sends them. With presigned, it redirects to a link of the object store in --blobs, which works for 5 minutes; clients must be able to reach the store."`
	LimitArtifacts         int64          `default:"2048" help:"Maximum total size of a run's artifacts in MiB; 0 disables the limit."`
	EventPrivateNetwork    []netip.Prefix `placeholder:"CIDR" help:"Private network (CIDR) in which event endpoints may be, also with plain HTTP; repeatable. None by default."`
	SessionLife            time.Duration  `default:"168h" help:"Maximum duration of a dashboard session."`
	OIDCSessionLife        time.Duration  `name:"oidc-session-life" default:"12h" help:"Maximum duration of a dashboard session that began at an identity provider (auth.providers in --config). Its user's groups are read again with the next sign-in."`
	SessionIdle            time.Duration  `default:"24h" help:"Time without requests after which a dashboard session ends."`
	GitPoll                time.Duration  `default:"30s" help:"How often to poll the repositories of factories; 0 disables polling. A push webhook, or penstock factory sync, polls at once."`
	ShutdownDelay          time.Duration  `help:"How long to serve requests after SIGTERM while /readyz returns 503, so that load balancers use other servers. Set it to the time that they need to notice, such as 10s."`
	AcceptLostSecrets      bool           `help:"Start although no key decrypts the stored secrets, because their keyset is lost. Set all secrets again, those of webhooks too, then omit the flag."`
	MetricsOpen            bool           `help:"Serve /metrics without a key. By default it needs a key with the scope metrics:read."`
	MCP                    string         `name:"mcp" enum:"on,off" default:"on" help:"Factory MCP endpoint at /mcp: on or off."`
	CORSOrigin             []string       `placeholder:"ORIGIN" help:"Origin whose pages may call the API from a browser; repeatable. None by default."`
}

// presigned is the value of --blob-downloads by which clients get files from the object store.
const presigned = "presigned"

func (cmd *serveCmd) Help() string {
	return "In an empty data folder, serve creates an admin API key and writes it to admin.key. If it runs in a " +
		"terminal, it also prints the key there, once. A log never contains the key. PENSTOCK_BOOTSTRAP_KEY sets " +
		"the key instead.\n\nThe server uses the model providers whose keys are in the environment: " +
		"ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY. ANTHROPIC_BASE_URL, OPENAI_BASE_URL and " +
		"GOOGLE_GEMINI_BASE_URL override the addresses of their APIs. The standard OTEL_ variables configure " +
		"tracing.\n\nOn SIGTERM, serve claims no more runs and returns its runs to the queue. It exits when this " +
		"is done and --shutdown-delay has passed. From the signal on, /readyz returns 503. A second signal ends " +
		"serve at once."
}

// Validate is called by kong.
func (cmd *serveCmd) Validate() error {
	if cmd.SessionLife <= 0 || cmd.SessionIdle <= 0 || cmd.OIDCSessionLife <= 0 {
		return errors.New("--session-life, --session-idle and --oidc-session-life must be greater than 0")
	}
	if cmd.LimitRequestsPerMinute < 0 || cmd.LimitValidations < 0 || cmd.LimitSecretsPerTeam < 0 || cmd.QueueTimeout <= 0 {
		return errors.New(
			"--limit-requests-per-minute, --limit-validations-per-minute and --limit-secrets-per-team must not be negative, " +
				"and --queue-timeout must be greater than 0",
		)
	}
	if wrong := stallRule(cmd).Check(); wrong != "" {
		return errors.New("--stall-after " + wrong)
	}
	if cmd.LimitArtifacts < 0 || cmd.LimitArtifacts > maxMiB {
		return errors.New("--limit-artifacts must be a number of MiB; 0 disables the limit")
	}
	if cmd.BlobDownloads == presigned && !cmd.Blobs.isBucket() {
		return errors.New("--blob-downloads presigned needs an object store in --blobs")
	}
	if cmd.RetainRuns < 0 || cmd.ShutdownDelay < 0 {
		return errors.New("--retain-runs and --shutdown-delay must not be negative")
	}
	if cmd.GitPoll != 0 && cmd.GitPoll < time.Second {
		return errors.New("--git-poll must be 0 or at least 1s")
	}
	return errors.Join(cmd.deliveryLimits.Validate(), cmd.working.Validate())
}

// stallRule returns when runs stall, as the flags say.
func stallRule(cmd *serveCmd) *penstock.StallRule {
	return &penstock.StallRule{After: cmd.StallAfter, On: penstock.OnStall(cmd.OnStall)}
}

// Run serves until a signal arrives, or until one part fails.
func (cmd *serveCmd) Run(ctx context.Context, std *stdio, settings *fileSettings) error {
	if err := cmd.checkAddress(); err != nil {
		return err
	}
	spare := new(spareHeap)
	defer runtime.KeepAlive(spare)
	release, err := cmd.prepare()
	if err != nil {
		return err
	}
	defer release()
	log := cmd.logger(std)
	tracer, flush, err := tracing(ctx, log)
	if err != nil {
		return err
	}
	defer flush()
	on, cert, origin, err := cmd.open(ctx, log)
	if err != nil {
		return err
	}
	cert.reloadOnHangup(ctx)
	server := httpapi.NewServer(httpapi.ServerOptions{Log: log, PublicURL: origin, TLS: cert.tlsConfig()})

	// The front listens before the database is open, so that the server is unready during a
	// migration. It closes its port only after the last agent has ended. Otherwise an agent could
	// listen on the port and receive the keys of clients that reconnect.
	asked := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving, closePort := context.WithCancel(context.WithoutCancel(ctx))
	defer closePort()
	front, ctx := errgroup.WithContext(ctx)
	front.Go(func() error { return server.Serve(serving, on...) })
	defer context.AfterFunc(ctx, server.Drain)()
	back, err := cmd.openBack(ctx, log, origin, settings)
	if err == nil {
		defer back.close()
		back.listens, back.local = on.String(), cmd.localOrigin(origin, on[0].Addr())
		err = cmd.welcome(ctx, std, back, func() {
			ingress := back.ingress(cmd, tracer)
			server.UseBefore(ingress, webhook.IsWebhookPath)
			server.Use(back.api(cmd, ingress, tracer))
		})
	}
	if err == nil {
		front.Go(func() error {
			defer closePort()
			return cmd.workUntilDrained(asked, ctx, back, settings)
		})
	} else {
		stop()
		closePort()
	}
	return errors.Join(orderly(err), orderly(front.Wait()))
}

// workUntilDrained works until ctx ends. If asked has ended, because the server was asked to stop, it
// returns after the shutdown delay, and otherwise at once.
func (cmd *serveCmd) workUntilDrained(asked, ctx context.Context, b *back, settings *fileSettings) error {
	delay := make(chan struct{})
	stop := context.AfterFunc(asked, func() { time.AfterFunc(cmd.ShutdownDelay, func() { close(delay) }) })
	err := cmd.work(ctx, b, settings)
	if !stop() && err == nil {
		<-delay
	}
	return err
}

// spareHeap is memory that is never touched, so it uses no memory of the machine. It counts as part
// of the heap. The garbage collector starts when the heap has doubled, and would otherwise run
// twenty times a second under many small requests. Without it, a create on SQLite falls from 0.33
// of the bare server's rate to 0.29, and a delivery that starts a run from 0.27 to 0.19
// (bench/NOTES.md).
type spareHeap [40 << 20]byte

// orderly returns nil for a requested end, and other errors unchanged.
func orderly(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// back holds the parts that requests and workers use. It ends after both.
type back struct {
	log      *slog.Logger
	origin   string // the server's address for clients
	local    string // its address for agents on this machine
	listens  string // where it listens
	registry *prometheus.Registry
	limits   penstock.WebhookLimits

	store        *store.Store
	repositories *git.Cache // nil without git
	rules        *control.Rules

	stop context.CancelFunc
	done chan struct{} // closed when the background work has ended
}

// openBack opens the database, which may migrate it, and the other data, and starts the background
// work.
func (cmd *serveCmd) openBack(
	ctx context.Context, log *slog.Logger, origin string, settings *fileSettings,
) (*back, error) {
	prices, err := settings.prices(cmd.Prices)
	if err != nil {
		return nil, err
	}
	signIn, err := settings.signIn(origin)
	if err != nil {
		return nil, err
	}
	b := &back{log: log, origin: origin, registry: newRegistry(), limits: cmd.limits(), done: make(chan struct{})}
	blobs, err := cmd.openBlobs(ctx)
	if err != nil {
		return nil, err
	}
	batches := newBatchMetrics(b.registry)
	b.store, err = cmd.openStore(ctx, store.Options{Log: log, Metrics: batches.observe, Reserve: true})
	if err != nil {
		return nil, err
	}
	if err := cmd.ownBlobs(ctx, b.store, blobs); err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	keyset, err := cmd.openKeyset(ctx, b.store, cmd.AcceptLostSecrets)
	if err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	if b.repositories, err = cmd.repositories(ctx, log, cmd.Data); err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	list, err := newModelList(log, settings)
	if err != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	outbound, err := openOutbound(&cmd.working)
	if err != nil {
		return nil, errors.Join(exitf(exitConfig, "%w", err), b.store.Close())
	}
	models, defaultModel := list.read(ctx)
	b.rules = control.New(run.Deps{
		Store: b.store, Blobs: blobs, Keyset: keyset, Log: log, PublicURL: origin,
		Harnesses: slices.Sorted(maps.Keys(settings.Harnesses)), KeyHolders: settings.keyHolders(), Models: models,
		Programs: settings.programs(), Providers: allProviders(settings).withVendors(settings).apis(),
		ModelAliases: settings.ModelAliases, Network: settings.serverNetwork(), Prices: prices,
		Unpriced:     settings.unpriced(prices),
		Defaults:     penstock.Config{ModelID: defaultModel},
		QueueTimeout: cmd.QueueTimeout, KeepRunsFor: cmd.RetainRuns, PresignDownloads: cmd.BlobDownloads == presigned,
		Stall:        stallRule(cmd),
		Repositories: b.repositories, Definitions: cmd.definitions(ctx, log), GitPoll: cmd.GitPoll, Metrics: b.registry,
		MaxSecrets: cmd.LimitSecretsPerTeam, MaxRunArtifactBytes: cmd.LimitArtifacts << 20, Webhooks: b.limits,
		Sessions: access.SessionLimits{Life: cmd.SessionLife, Idle: cmd.SessionIdle, SignIn: cmd.OIDCSessionLife},
		SignIn:   signIn, LocalWorker: cmd.Worker,
		EventNetworks: cmd.EventPrivateNetwork, Forges: outbound,
	})
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = cancel
	var work sync.WaitGroup
	work.Go(func() {
		if err := b.rules.Run(background); err != nil {
			log.Error("background work ended with an error", "error", err)
		}
	})
	work.Go(func() { list.keep(background, relistEvery, b.rules.Catalog.SetModels) })
	go func() {
		defer close(b.done)
		work.Wait()
	}()
	return b, nil
}

// maxDefinition limits the fetched part of a factory's repository: one commit with all its files,
// in bytes.
const maxDefinition = 1 << 30

// definitions opens the mirrors for the repositories of factories. It returns nil without git,
// which is already in the log.
func (cmd *serveCmd) definitions(ctx context.Context, log *slog.Logger) *git.Cache {
	cache, err := git.Open(ctx, git.Options{
		Dir: filepath.Join(cmd.Data, mirrorDir), AllowLocal: cmd.GitAllowFile, MaxBytes: maxDefinition, Env: gitEnvironment(),
	})
	if err != nil {
		log.Warn("git is not available: factories from repositories are disabled", "error", err)
		return nil
	}
	return cache
}

// api creates the API.
func (b *back) api(cmd *serveCmd, ingress *webhook.Ingress, tracer trace.TracerProvider) *httpapi.API {
	return httpapi.New(httpapi.Options{
		Rules: b.rules, Webhooks: ingress, Log: b.log, PublicURL: b.origin, Version: buildVersion(), TempDir: cmd.Data,
		RequestsPerMinute: cmd.LimitRequestsPerMinute, FailuresPerMinute: failuresPerMinute,
		ValidatesPerMinute: cmd.LimitValidations,
		TrustedProxies:     cmd.TrustedProxies, PlainNetworks: cmd.PlainHTTPFrom, CORSOrigins: cmd.CORSOrigin,
		NoMCP:   cmd.MCP == "off",
		Metrics: promhttp.HandlerFor(b.registry, promhttp.HandlerOpts{}), MetricsOpen: cmd.MetricsOpen,
		Registerer: b.registry, Tracer: tracer,
	})
}

// ingress creates the ingress for deliveries to webhooks.
func (b *back) ingress(cmd *serveCmd, tracer trace.TracerProvider) *webhook.Ingress {
	return webhook.NewIngress(webhook.IngressOptions{
		Receiver: b.rules.Receiver, Clicks: b.rules.Endpoints, Log: b.log, PublicURL: b.origin, Limits: b.limits,
		Registerer: b.registry, Tracer: tracer,
		Client: func(r *http.Request) netip.Addr { return httpapi.ClientAddr(r, cmd.TrustedProxies) },
	})
}

// failuresPerMinute limits the failed keys of one address.
const failuresPerMinute = 60

// close ends the background work and closes the database.
func (b *back) close() {
	b.stop()
	<-b.done
	if err := b.store.Close(); err != nil {
		b.log.Error("cannot close the database cleanly", "error", err)
	}
}

// reloadOnHangup reads the certificate again on SIGHUP. Without TLS, the signal does nothing
// instead of ending the server.
func (c *certificate) reloadOnHangup(ctx context.Context) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangup)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				if c != nil {
					c.reload()
				}
			}
		}
	}()
}
