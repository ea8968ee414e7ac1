package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/install"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/layer"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// working holds the flags for executing runs on this machine.
type working struct {
	Host                string         `default:"${host}" placeholder:"NAME" help:"Name of this worker. Runs can select it by this name. Default: ${host}"`
	Concurrency         int            `default:"4" help:"Maximum number of runs executed at once."`
	Sandbox             string         `enum:"bubblewrap,docker,process" default:"bubblewrap" help:"Sandbox for agents: bubblewrap, docker, or process, which isolates nothing."`
	AllowOpenNetwork    bool           `help:"Do not seal runs: let them reach every network of this machine. --sandbox process cannot isolate runs, so it needs this flag."`
	PrivateNetwork      []netip.Prefix `placeholder:"CIDR" help:"Private network (CIDR) that a run may reach if its network policy also allows the host, and from which its images and repositories may come; repeatable. None by default."`
	UpstreamProxy       string         `env:"PENSTOCK_UPSTREAM_PROXY,HTTPS_PROXY" placeholder:"URL" help:"Proxy for all traffic of runs. With it, Penstock checks the names of hosts, but not their IP addresses."`
	CAFile              string         `type:"path" placeholder:"FILE" help:"CA certificates (PEM) to trust in addition to those of this system, in runs and in the proxy that forwards their requests."`
	AllowUserNamespaces bool           `help:"Allow runs in bubblewrap to create user namespaces. This exposes more of the kernel to hostile programs."`
	LimitMemory         int64          `default:"${memory}" placeholder:"MIB" help:"Maximum memory of a run in MiB; 0 disables the limit. Default: a quarter of this machine's memory, ${memory}"`
	LimitDisk           int64          `default:"10240" help:"Maximum total size of a run's workspace and HOME in MiB; 0 disables the limit."`
	LimitTmp            int64          `default:"2048" help:"Maximum size in MiB of a run's /tmp, which is in memory; 0 uses the kernel's limit. Has no effect with --sandbox process."`
	LimitShm            int64          `default:"512" help:"Maximum size in MiB of a run's /dev/shm, which is in memory; 0 uses the kernel's limit. Has no effect with --sandbox process."`
	LimitProcesses      int            `default:"4096" help:"Maximum number of processes and threads of a run; needs cgroups."`
	LimitCPUs           float64        `name:"limit-cpus" placeholder:"N" help:"Maximum number of CPUs of a run, such as 1.5; needs cgroups."`
	StrictEnvironment   bool           `help:"With --sandbox process, do not claim runs that name a container image, because this sandbox cannot use one."`
	Prices              priceFile      `type:"path" placeholder:"FILE" help:"Price list that replaces the built-in one. Run 'penstock prices' to see the built-in list. Changes need a restart."`
	KeepWorkspaces      time.Duration  `default:"24h" help:"How long to keep the files of a run after it ends, for follow-ups; 0 keeps none."`
	LayerCache          byteSize       `default:"50GB" placeholder:"SIZE" help:"Maximum total size of the prepared workspaces that are kept for later runs of an environment; 0 disables the limit. One in use is never removed."`
	LimitCheckpoint     byteSize       `default:"2GB" placeholder:"SIZE" help:"Maximum size of the files that change in a run's workspace, HOME and image, up to which they are saved after each turn; 0 saves none."`
	InstallHarnesses    []string       `placeholder:"NAME" help:"Harnesses to install when the worker starts, such as claude,codex. It installs them as 'penstock harness install' does. The worker does not wait for them."`
	DemoDirectives      bool           `help:"Let the model demo/offline execute the commands in prompt lines that begin with 'demo:', even without a sandbox. For demonstrations."`
	GitAllowFile        bool           `aliases:"allow-local-repositories" env:"PENSTOCK_GIT_ALLOW_FILE,PENSTOCK_ALLOW_LOCAL_REPOSITORIES" help:"Allow factories and environments with repositories on this machine (file: URLs). Anyone who can manage them can then read every repository that this user can read."`
	imaging
	docking

	programRoot string // where an image with bubblewrap is mounted; "": the machine's own bubblewrap is used
}

// Validate is called by kong.
func (w *working) Validate() error {
	if w.Concurrency < 1 || w.LimitProcesses < 0 || w.LimitCPUs < 0 || w.KeepWorkspaces < 0 {
		return errors.New("--concurrency must be at least 1; limits and durations must not be negative")
	}
	if w.Sandbox == sandbox.Process && !w.AllowOpenNetwork {
		return errors.New("--sandbox process isolates nothing: accept that with --allow-open-network")
	}
	for _, mib := range []int64{w.LimitMemory, w.LimitDisk, w.LimitTmp, w.LimitShm} {
		if mib < 0 || mib > maxMiB {
			return errors.New("--limit-memory, --limit-disk, --limit-tmp and --limit-shm must be numbers of MiB; 0 disables " +
				"the limit")
		}
	}
	return nil
}

// worker creates a worker for control, with its data in dir.
func (w *working) worker(
	ctx context.Context, log *slog.Logger, dir string, o worker.Options, settings *fileSettings,
) (*localWorker, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	o.Log, o.Host, o.Version = log, w.Host, buildVersion()
	o.Concurrency, o.StrictImage = w.Concurrency, w.StrictEnvironment
	o.Dir, o.KeepWorkspaces = filepath.Join(dir, workDir), w.KeepWorkspaces
	if w.KeepWorkspaces == 0 {
		o.KeepWorkspaces = -1
	}
	o.Limits = sandbox.Limits{
		Memory: w.LimitMemory << 20, Disk: w.LimitDisk << 20, Processes: w.LimitProcesses, CPUs: w.LimitCPUs,
	}
	o.CheckpointBytes = int64(w.LimitCheckpoint)
	o.Tmp, o.Shm = w.LimitTmp<<20, w.LimitShm<<20
	if !o.OwnImage { // a Pod, whose disk ends with the run
		o.Layers = layer.Open(filepath.Join(dir, layersDir), int64(w.LayerCache))
	}
	if err := setImages(w, &o, dir); err != nil {
		return nil, err
	}
	if o.Prices, err = settings.prices(w.Prices); err != nil {
		return nil, err
	}
	p := allProviders(settings)
	if o.Gateway, err = gateway.New(gateway.Options{
		Providers: slices.Concat(p.withVendors(settings), settings.harnessProviders(log)), Log: log,
	}); err != nil {
		return nil, exitf(exitConfig, "%w", err)
	}
	if o.Network, err = w.network(); err != nil {
		return nil, exitf(exitConfig, "%w", err)
	}
	o.OwnRoutes = ownRoutes()
	if err := w.enclose(ctx, log, exe, dir, &o); err != nil {
		return nil, err
	}
	if o.NoSandbox == "" { // without a sandbox, it claims every run and reports why it executes none
		o.Models = p.served()
	}
	o.Harnesses = w.programs(p, o.Sandbox, settings)
	checker := agentChecker{sandbox: o.Sandbox, open: o.OpenNetwork, dir: dir, log: log}
	installed := &agents{
		store: install.Open(filepath.Join(dir, harnessDir)), check: checker.check, log: log,
		known: map[string]knownAgent{}, install: w.InstallHarnesses,
		passed:      passedChecks(filepath.Join(dir, harnessDir, passedFile)),
		fingerprint: checker.fingerprint,
	}
	o.Agents = installed.list
	wk, err := worker.New(o)
	if err != nil {
		return nil, err
	}
	return &localWorker{Worker: wk, agents: installed}, nil
}

// localWorker is a worker with the agents that are installed on its machine.
type localWorker struct {
	*worker.Worker

	agents *agents
}

// Run runs the worker, and keeps its agents up to date.
func (w *localWorker) Run(ctx context.Context) error {
	return w.withAgents(ctx, w.Worker.Run)
}

// Once executes one run.
func (w *localWorker) Once(ctx context.Context, held *penstock.Assignment) error {
	return w.withAgents(ctx, func(ctx context.Context) error { return w.Worker.Once(ctx, held) })
}

// withAgents keeps the agents up to date until work returns.
func (w *localWorker) withAgents(ctx context.Context, work func(context.Context) error) error {
	looking, stop := context.WithCancel(ctx)
	var looks sync.WaitGroup
	looks.Go(func() { w.agents.run(looking) })
	defer looks.Wait()
	defer stop()
	return work(ctx)
}

// ownRoutes returns the routes of the API that a run may call about itself.
func ownRoutes() []string {
	var list []string
	for _, r := range httpapi.Routes() {
		if r.OwnRun {
			list = append(list, r.Method+" "+r.Pattern)
		}
	}
	return list
}

// defaultMemory returns a quarter of this machine's memory in MiB, or 0 if it is unknown.
func defaultMemory() string { return strconv.FormatInt(sandbox.MachineMemory()/4>>20, 10) }

// enclose chooses the sandbox. If this machine cannot have the chosen kind, only demo/offline
// runs, which executes nothing that others wrote.
func (w *working) enclose(ctx context.Context, log *slog.Logger, exe, dir string, o *worker.Options) error {
	chosen := sandbox.Options{
		Kind: w.Sandbox, Exe: exe, AllowOpenNetwork: w.AllowOpenNetwork, AllowUserNamespaces: w.AllowUserNamespaces,
		Trees: w.Concurrency,
	}
	if beside := filepath.Join(filepath.Dir(exe), "bwrap"); isFile(beside) { // see copyProgram
		chosen.Bwrap = beside
	}
	w.choose(&chosen, filepath.Join(dir, dockerDir))
	place(&chosen, dir)
	err := w.pullDefault(ctx, w.Sandbox, log)
	if err == nil && w.programRoot != "" {
		chosen.Bwrap, err = mountedBubblewrap(w.programRoot, dir)
	}
	if err == nil {
		err = sandbox.Probe(ctx, chosen)
	}
	if err == nil {
		if w.Sandbox == sandbox.Process {
			log.Warn("agents run without isolation: they can read and change every file that this user "+
				"can", "sandbox", w.Sandbox)
		} else if w.Sandbox == sandbox.Bubblewrap && !sandbox.SeparatesSockets() {
			log.Warn(
				"runs that are not sealed can reach abstract Unix sockets of this machine and of each other: to prevent this, " +
					"use Linux 6.12 or later with Landlock",
			)
		}
		o.OpenNetwork = w.AllowOpenNetwork
		if o.Sandbox, err = sandbox.New(chosen); err != nil {
			return err
		}
		reportStarts(log, o.Sandbox)
		if why := sandbox.SharesUser(o.Sandbox); why != nil {
			log.Info("runs share the limits that the kernel has for each user; see docs/limits.md", "reason", why)
		}
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	log.Error(
		"no sandbox is available, so only the model demo/offline runs here; see penstock "+
			"doctor", "sandbox", w.Sandbox, "error",
		err,
	)
	o.NoSandbox = err.Error()
	demo := sandbox.Options{Kind: sandbox.Process, Exe: exe, AllowOpenNetwork: true}
	placeInside(&demo, dir)
	o.Demo, err = sandbox.New(demo)
	return err
}

// place sets where runs, images and the small program are in a data folder.
func place(o *sandbox.Options, data string) {
	o.Runs, o.Layers = existing(filepath.Join(data, worker.RunsDir)), existing(filepath.Join(data, imageDir))
	placeInside(o, data)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// programs returns the agent programs: the built-in one and the configured ones.
func (w *working) programs(p providers, confined sandbox.Sandbox, settings *fileSettings) map[string]harness.Program {
	builtin := harness.Program{
		Argv:  []string{"{exe}", "agent", "acp", "--state", "{home}/" + agentState},
		Env:   p.environment(),
		State: []string{agentState},
		// Variables of a run must not change how this process reaches the providers.
		EnvForTools: true,
	}
	if w.DemoDirectives || confined != nil && sandbox.Isolates(confined.Kind()) {
		builtin.Argv = append(builtin.Argv, "--directives")
	}
	programs := map[string]harness.Program{penstock.HarnessBuiltin: builtin}
	for name, h := range settings.Harnesses {
		programs[name] = h.program()
	}
	return programs
}

// agentState is the folder of the built-in agent's sessions, below HOME.
const agentState = ".penstock/sessions"

// gitEnvironment returns the variables that configure connections to other machines.
func gitEnvironment() []string {
	var env []string
	for _, name := range []string{
		"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "no_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSH_COMMAND", "SSH_AUTH_SOCK",
	} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

type workerCmd struct {
	Server         string         `required:"" env:"PENSTOCK_BASE_URL" placeholder:"URL" help:"URL of the server; https unless the server is on this machine."`
	KeyFile        string         `type:"path" placeholder:"FILE" help:"File with an API key that has the scope worker; by default PENSTOCK_API_KEY."`
	TrustedProxies []netip.Prefix `placeholder:"CIDR" help:"Networks in which the worker may reach the server over plain HTTP. On this machine, plain HTTP is always allowed."`
	Data           string         `type:"path" default:"${data}-worker" placeholder:"DIR" help:"Folder for workspaces and repository mirrors. Default: ${data}-worker"`
	Once           bool           `help:"Execute one run, then exit: with 0 if its result was reported, whatever that is, or if it was returned to the queue."`
	ProgramRoot    string         `hidden:"" help:"Folder where the image is mounted that has this program, bubblewrap and its libraries."`
	OwnImage       bool           `hidden:"" help:"This machine is a container of the run's image, so no image is pulled."`
	LeaseFile      string         `type:"path" placeholder:"FILE" help:"With --once, take over the execution whose lease is in this file, as a launcher writes it."`
	launching
	working
	logging
}

func (cmd *workerCmd) Help() string {
	return "Needs only an outgoing connection to the server. The worker uses the model providers whose keys are in the " +
		"environment, like serve. On SIGTERM, it claims no more runs, returns its runs to the queue and exits. A second " +
		"signal ends it at once."
}

func (cmd *workerCmd) Run(ctx context.Context, std *stdio, settings *fileSettings) error {
	in := connection{Server: cmd.Server, KeyFile: cmd.KeyFile, TrustedProxies: cmd.TrustedProxies}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	log := cmd.logger(std)
	if err := c.checkWorkerKey(ctx, log); err != nil {
		return err
	}
	if cmd.Launch != "" {
		control, err := httpapi.NewClient(httpapi.ClientOptions{Server: c.base.String(), Plain: true, Key: c.key})
		if err != nil {
			return err
		}
		return cmd.launch(ctx, log, c, control, settings)
	}
	place := storage{Data: cmd.Data}
	release, err := place.prepare()
	if err != nil {
		return err
	}
	defer release()
	control, err := httpapi.NewClient(
		httpapi.ClientOptions{Server: c.base.String(), Plain: true, Key: c.key},
	) // dial has checked it
	if err != nil {
		return err
	}
	cmd.programRoot = cmd.ProgramRoot
	repositories, err := cmd.repositories(ctx, log, cmd.Data)
	if err != nil {
		return orderly(err)
	}
	w, err := cmd.worker(ctx, log, cmd.Data, worker.Options{
		Control: control, BaseURL: c.base.String(), PublicURL: c.base.String(),
		Repositories: repositories, OwnImage: cmd.OwnImage,
	}, settings)
	if err != nil {
		return orderly(err)
	}
	log.Info(
		"worker started", "server", c.base.String(), "host", cmd.Host, "concurrency", cmd.Concurrency, "data", cmd.Data,
	)
	if cmd.Once {
		return orderly(cmd.executeOnce(ctx, control, w))
	}
	return orderly(w.Run(ctx))
}

// checkWorkerKey rejects a key that can never claim work. It accepts a server that does not respond
// yet.
func (c *client) checkWorkerKey(ctx context.Context, log *slog.Logger) error {
	var me access.Me
	_, err := c.call(ctx, http.MethodGet, "me", nil, &me)
	var lost *transportError
	switch p := (penstock.Principal{Scopes: me.Scopes}); {
	case errors.As(err, &lost) && ctx.Err() == nil, isStatus(err, http.StatusServiceUnavailable):
		log.Warn("the server is not available yet", "error", err)
		return nil
	case err != nil:
		return err
	case !p.May(penstock.ScopeWorker):
		return exitf(
			exitNotAllowed,
			"the API key lacks the scope worker; it has %s (create one with penstock key create NAME --scope worker)",
			strings.Join(namesOf(me.Scopes), ", "),
		)
	}
	return nil
}

// work runs the worker of serve until ctx ends.
func (cmd *serveCmd) work(ctx context.Context, b *back, settings *fileSettings) error {
	if !cmd.Worker {
		<-ctx.Done()
		return nil
	}
	w, err := cmd.worker(ctx, b.log, cmd.Data, worker.Options{
		Control: b.rules.Executions.Control(), Local: true, BaseURL: b.local, PublicURL: b.origin,
		Repositories: b.repositories,
	}, settings)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}
