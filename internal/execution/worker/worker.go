// Package worker executes runs, one assignment per slot at a time, from the claim to the result. It
// prepares the workspace, drives the agent in its sandbox, and records its output with all known
// secrets masked. It leaves no process behind, and all state is in the control plane.
//
// It reaches the control plane only through penstock.Control, in process or over a network. An
// execution always ends in one of four ways: with a result, requeued, cancelled, or abandoned
// because its lease is lost. While the lease cannot be renewed, its sandbox is frozen.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/queue"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/layer"
	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// Platform converts Go's names of a platform to the names that workers and runners use: linux/amd64
// is linux/x86_64.
func Platform(os, arch string) string {
	rename := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "darwin": "macos"}
	for _, part := range []*string{&os, &arch} {
		if name, ok := rename[*part]; ok {
			*part = name
		}
	}
	return os + "/" + arch
}

// Options configures a Worker.
type Options struct {
	Control penstock.Control
	Log     *slog.Logger

	// ID identifies this process; default: a new id. Host is the name that runs can require as
	// worker_host.
	ID, Host, Version string
	// Local means that the worker is embedded in the server.
	Local bool
	// Concurrency is the number of slots, 1 by default.
	Concurrency int
	// Models lists the provider prefixes that the keys allow, such as "anthropic/"; nil: any.
	Models []string
	// Prices holds the prices of models; nil: the built-in ones.
	Prices *price.Table
	// IdleTime is how long an interactive run waits for follow-ups, unless its configuration has a
	// value. Default: 10 min.
	IdleTime time.Duration
	// SaveEvery is the interval for saving the agent's session during a turn. A lost worker loses
	// at most this much work. Default: 30 s.
	SaveEvery time.Duration
	// StrictImage leaves runs that name an image to other workers if this one cannot use images.
	StrictImage bool

	// Dir holds the workspaces, and KeepWorkspaces is how long one stays after
	// an execution: 24 h by default, not at all when it is negative.
	Dir            string
	KeepWorkspaces time.Duration
	// Repositories is the cache for environments' repositories. nil means that git is missing, and
	// runs that need a repository fail.
	Repositories *git.Cache
	// Layers keeps prepared workspaces for later runs. nil: none is kept.
	Layers *layer.Store
	// CheckpointBytes limits what is saved of a workspace after each turn; 0: nothing is saved.
	CheckpointBytes int64
	// Images manages the container images of runs in a sandbox that isolates. nil: such runs use
	// the programs of the host, and their timeline says so. DefaultImage is the image of runs that
	// name none; "": the programs of the host.
	Images       Images
	DefaultImage string
	// OwnImage means that this machine is a container of the run's image.
	OwnImage bool

	// Sandbox is the sandbox of runs. If it is nil, only runs of the model demo/offline are
	// executed, in Demo. NoSandbox is the reason.
	Sandbox   sandbox.Sandbox
	Demo      sandbox.Sandbox
	NoSandbox string
	Limits    sandbox.Limits
	Tmp, Shm  int64 // see sandbox.Spec

	// Harnesses are the agent programs by name; builtin is required. In Argv and in the values of
	// Env, {exe}, {home} and {workspace} stand for the paths of this program, of HOME and of the
	// workspace in the sandbox.
	Harnesses map[string]harness.Program
	// Agents returns the installed agents: those that runs can use now, and the state of
	// all. A program in Harnesses wins. nil: none is installed.
	Agents func() (usable map[string]harness.Program, all []penstock.AgentState)
	// BaseURL is the address of the API for agents. OwnRoutes are the routes that an agent may call
	// about its own run, such as "GET /api/v1/agent/runs/{runId}".
	BaseURL   string
	OwnRoutes []string
	// PublicURL is the address of the whole API for clients, which a run may be allowed to
	// reach.
	PublicURL string

	// Gateway holds the model providers; nil: no providers.
	Gateway *gateway.Gateway
	Network Network
	// OpenNetwork gives runs the network of this machine. By default, a run is sealed
	// if its sandbox isolates: it reaches only what its network policy allows.
	OpenNetwork bool
}

// Images are where the container images of runs come from: a store of this worker, or a Docker
// daemon.
type Images interface {
	// Acquire pulls what is missing of an image. The caller releases the image. An error that users
	// may see is an [*image.PullError].
	Acquire(ctx context.Context, reference string, login image.Login) (*image.Image, error)
}

// Worker executes runs.
type Worker struct {
	Options
	spaces *workspaces
	queue  *queue.Runner
	layers chan struct{} // gets a value when the layers have changed; holds at most one
	making making
}

// New checks the options and makes a worker. It does nothing until Run.
func New(o Options) (*Worker, error) {
	if _, ok := o.Harnesses[penstock.HarnessBuiltin]; !ok {
		return nil, errors.New("worker: the built-in agent is not configured")
	}
	for name, program := range o.Harnesses {
		if _, err := harness.New(program); err != nil {
			return nil, fmt.Errorf("harness %s: %w", name, err)
		}
	}
	if o.Sandbox == nil && o.Demo == nil {
		return nil, fmt.Errorf("worker: no sandbox is available: %s", o.NoSandbox)
	}
	o.Dir = filepath.Clean(o.Dir)
	if err := os.MkdirAll(filepath.Join(o.Dir, RunsDir), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the workspaces: %w", err)
	}
	if o.Gateway == nil {
		var err error
		if o.Gateway, err = gateway.New(gateway.Options{Log: o.Log}); err != nil {
			return nil, err
		}
	}
	o.ID = cmp.Or(o.ID, penstock.NewID())
	o.KeepWorkspaces = cmp.Or(o.KeepWorkspaces, 24*time.Hour)
	o.IdleTime = cmp.Or(o.IdleTime, 10*time.Minute)
	o.Prices = cmp.Or(o.Prices, price.Default())
	o.SaveEvery = cmp.Or(o.SaveEvery, 30*time.Second)
	w := &Worker{
		Options: o, layers: make(chan struct{}, 1),
		spaces: &workspaces{dir: o.Dir, keep: o.KeepWorkspaces, log: o.Log, inUse: map[string]chan struct{}{}},
	}
	w.queue = queue.New(queue.Options{
		Leases: o.Control,
		Log:    o.Log,
		Work:   w.execute,
		Claim: penstock.ClaimRequest{
			WorkerID: o.ID, Host: o.Host, Local: o.Local, Version: o.Version, Models: o.Models,
			Sandbox: w.kind(), StrictImage: o.StrictImage && !w.usesImages(), Capacity: o.Concurrency,
			Platform: Platform(runtime.GOOS, runtime.GOARCH),
		},
		Update: func(c *penstock.ClaimRequest) {
			programs, agents := w.programs()
			c.Harnesses, c.Agents = slices.Sorted(maps.Keys(programs)), agents
		},
	})
	return w, nil
}

// programs are the agent programs that runs can use now, and the state of the installed ones.
func (w *Worker) programs() (map[string]harness.Program, []penstock.AgentState) {
	if w.Agents == nil {
		return w.Harnesses, nil
	}
	programs, agents := w.Agents()
	all := maps.Clone(programs)
	maps.Copy(all, w.Harnesses)
	return all, agents
}

// kind returns the kind of the sandbox.
func (w *Worker) kind() string {
	if w.Sandbox == nil {
		return "none"
	}
	return w.Sandbox.Kind()
}

// Run executes runs until Drain is called or ctx ends, and returns when all have ended. When ctx
// ends, it requeues the active runs.
func (w *Worker) Run(ctx context.Context) error {
	sweeping, stop := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() { w.spaces.sweep(sweeping) })
	sweeper.Go(func() { w.evictMirrors(sweeping) })
	sweeper.Go(func() { w.reportLayers(sweeping) })
	defer sweeper.Wait()
	defer stop()
	return w.queue.Run(ctx)
}

// Once executes one run, and returns when it has ended: held or, if that is nil, the next one that
// waits for this worker. queue.ErrNotRenewed: the execution was abandoned.
func (w *Worker) Once(ctx context.Context, held *penstock.Assignment) error {
	err := w.queue.Once(ctx, held)
	if errors.Is(err, penstock.ErrLeaseLost) { // the run has ended, or was cancelled
		return nil
	}
	return err
}

// Drain stops claiming runs. Run returns when the active runs have ended.
func (w *Worker) Drain() { w.queue.Drain() }

// Busy returns the number of active runs.
func (w *Worker) Busy() int { return w.queue.Busy() }
