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
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/httpapi"
	"github.com/penstock-dev/penstock/internal/sandbox"
	"github.com/penstock-dev/penstock/internal/worker"
)

// working says how runs are executed on this machine.
type working struct {
	Host                   string        `default:"${host}" placeholder:"NAME" help:"Name of this worker, which runs can ask for. Default: ${host}"`
	Concurrency            int           `default:"4" help:"How many runs are executed at once."`
	Sandbox                string        `enum:"bubblewrap,process" default:"bubblewrap" help:"Where agents run: bubblewrap, or process, which isolates nothing."`
	LimitMemory            int64         `default:"${memory}" placeholder:"MIB" help:"MiB of memory that one run may use; 0 is no limit. Default: a quarter of this machine's, ${memory}"`
	LimitDisk              int64         `default:"10240" help:"MiB that the workspace and HOME of one run may hold together; 0 is no limit."`
	LimitTmp               int64         `default:"2048" help:"MiB of memory that /tmp of one run may hold; 0 is the kernel's limit. Not with --sandbox process."`
	LimitShm               int64         `default:"512" help:"MiB of memory that /dev/shm of one run may hold; 0 is the kernel's limit. Not with --sandbox process."`
	LimitProcesses         int           `default:"4096" help:"Processes and threads that one run may have, where this process may use cgroups."`
	LimitCPUs              float64       `name:"limit-cpus" placeholder:"N" help:"Processors that one run may use, such as 1.5, where this process may use cgroups."`
	StrictEnvironment      bool          `help:"Leave runs whose environment names a container image to workers that use containers."`
	KeepWorkspaces         time.Duration `default:"24h" help:"How long the files of an execution stay for a follow-up; 0 is not at all."`
	DemoDirectives         bool          `help:"Let demo: lines of prompts tell the model demo/offline what to run where no sandbox confines it, too; for demonstrations."`
	AllowLocalRepositories bool          `help:"Clone repositories of this machine (file: URLs), too: whoever may edit environments can read them all."`
}

// Validate is called by kong.
func (w *working) Validate() error {
	if w.Concurrency < 1 || w.LimitProcesses < 0 || w.LimitCPUs < 0 || w.KeepWorkspaces < 0 {
		return errors.New("--concurrency is at least 1, limits and times are not negative")
	}
	for _, mib := range []int64{w.LimitMemory, w.LimitDisk, w.LimitTmp, w.LimitShm} {
		if mib < 0 || mib > maxMiB {
			return errors.New("--limit-memory, --limit-disk, --limit-tmp and --limit-shm are numbers of MiB, 0 for no limit")
		}
	}
	return nil
}

// worker makes a worker that works in dir for control.
func (w *working) worker(
	ctx context.Context, log *slog.Logger, dir string, o worker.Options, settings *fileSettings,
) (*worker.Worker, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	o.Log, o.Host, o.Version, o.Concurrency, o.StrictImage = log, w.Host, buildVersion(), w.Concurrency, w.StrictEnvironment
	o.Dir, o.KeepWorkspaces = filepath.Join(dir, workDir), w.KeepWorkspaces
	if w.KeepWorkspaces == 0 {
		o.KeepWorkspaces = -1
	}
	o.Limits = sandbox.Limits{
		Memory: w.LimitMemory << 20, Disk: w.LimitDisk << 20, Processes: w.LimitProcesses, CPUs: w.LimitCPUs,
	}
	o.Tmp, o.Shm = w.LimitTmp<<20, w.LimitShm<<20
	p := providersFromEnvironment()
	if err := w.enclose(ctx, log, exe, &o); err != nil {
		return nil, err
	}
	if o.NoSandbox == "" { // without one it takes every run, and says why it runs none
		o.Models = p.served()
	}
	o.Harnesses = w.programs(p, o.Sandbox, settings)
	return worker.New(o)
}

// defaultMemory is a quarter of this machine's memory, in MiB; 0 where that is not known.
func defaultMemory() string { return strconv.FormatInt(sandbox.MachineMemory()/4>>20, 10) }

// repositories opens the mirrors below dir, nil where there is no git.
func (w *working) repositories(ctx context.Context, log *slog.Logger, dir string) *git.Cache {
	cache, err := git.Open(
		ctx, git.Options{Dir: filepath.Join(dir, mirrorDir), AllowLocal: w.AllowLocalRepositories, Env: gitEnvironment()},
	)
	if err != nil {
		log.Warn("environments with repositories cannot be prepared here", "error", err)
		return nil
	}
	return cache
}

// enclose chooses the sandbox. Where the chosen kind is not to be had, only
// demo/offline runs, which executes nothing that others wrote.
func (w *working) enclose(ctx context.Context, log *slog.Logger, exe string, o *worker.Options) error {
	chosen := sandbox.Options{Kind: w.Sandbox, Exe: exe}
	err := sandbox.Probe(ctx, chosen)
	if err == nil {
		if w.Sandbox == sandbox.Process {
			log.Warn("agents run without isolation: they can read and change whatever this user can", "sandbox", w.Sandbox)
		} else if !sandbox.SeparatesSockets() {
			log.Warn(
				"runs can reach abstract unix sockets of this machine and of each other: only Linux 6.12 and newer, with Landlock, prevents that",
			)
		}
		o.Sandbox, err = sandbox.New(chosen)
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	log.Error(
		"there is no sandbox, so only the model demo/offline runs here; see penstock doctor", "sandbox", w.Sandbox, "error",
		err,
	)
	o.NoSandbox = err.Error()
	o.Demo, err = sandbox.New(sandbox.Options{Kind: sandbox.Process, Exe: exe})
	return err
}

// programs are the agent programs: the built-in one with the providers' keys,
// and those of the configuration.
func (w *working) programs(p providers, confined sandbox.Sandbox, settings *fileSettings) map[string]harness.Program {
	builtin := harness.Program{
		Argv:  []string{"{exe}", "agent", "acp", "--state", "{home}/" + agentState},
		Env:   p.environment(),
		State: []string{agentState},
		// What a run sets must not decide how this process reaches the providers.
		EnvForTools: true,
	}
	if w.DemoDirectives || confined != nil && confined.Kind() == sandbox.Bubblewrap {
		builtin.Argv = append(builtin.Argv, "--directives")
	}
	programs := map[string]harness.Program{penstock.HarnessBuiltin: builtin}
	for name, h := range settings.Harnesses {
		programs[name] = h.program()
	}
	return programs
}

// agentState is where the built-in agent keeps its sessions, below HOME.
const agentState = ".penstock/sessions"

// gitEnvironment is how this machine reaches other machines.
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
	Server         string         `required:"" env:"PENSTOCK_BASE_URL" placeholder:"URL" help:"Address of the server; https unless it is this machine."`
	KeyFile        string         `type:"path" placeholder:"FILE" help:"File that holds an API key with the scope worker; without it PENSTOCK_API_KEY."`
	TrustedProxies []netip.Prefix `placeholder:"CIDR" help:"Networks in which the server may be talked to without TLS."`
	Data           string         `type:"path" default:"${data}-worker" placeholder:"DIR" help:"Folder for workspaces and copies of repositories. Default: ${data}-worker"`
	working
	logging
}

func (cmd *workerCmd) Help() string {
	return "Needs nothing but an outgoing connection to the server. Model providers are used when their keys are in the environment, as for serve. On SIGTERM it takes no new work, hands back what it executes and ends; a second signal ends it at once."
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
	w, err := cmd.worker(ctx, log, cmd.Data, worker.Options{
		Control: control, BaseURL: c.base.String(), Repositories: cmd.repositories(ctx, log, cmd.Data),
	}, settings)
	if err != nil {
		return orderly(err)
	}
	log.Info("working", "server", c.base.String(), "host", cmd.Host, "concurrency", cmd.Concurrency, "data", cmd.Data)
	return orderly(w.Run(ctx))
}

// checkWorkerKey refuses a key that can never claim work. A server that does
// not answer yet may do so later.
func (c *client) checkWorkerKey(ctx context.Context, log *slog.Logger) error {
	var me penstock.Me
	_, err := c.call(ctx, http.MethodGet, "me", nil, &me)
	var lost *transportError
	switch p := (penstock.Principal{Scopes: me.Scopes}); {
	case errors.As(err, &lost) && ctx.Err() == nil, isStatus(err, http.StatusServiceUnavailable):
		log.Warn("the server does not answer yet", "error", err)
		return nil
	case err != nil:
		return err
	case !p.May(penstock.ScopeWorker):
		return exitf(
			exitNotAllowed,
			"the key may not work: it has the scopes %s, needed is worker (penstock key create NAME --scope worker)",
			strings.Join(scopeNames(me.Scopes), ", "),
		)
	}
	return nil
}

// work is the worker of serve, until ctx ends.
func (cmd *serveCmd) work(ctx context.Context, b *back, settings *fileSettings) error {
	if !cmd.Worker {
		<-ctx.Done()
		return nil
	}
	w, err := cmd.worker(ctx, b.log, cmd.Data, worker.Options{
		Control: b.service.Executions.Control(), Local: true, BaseURL: b.local, Repositories: b.repositories,
	}, settings)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}
