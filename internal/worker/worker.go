// Package worker executes runs: one assignment at a time and slot, from its claim
// to its result. It prepares the workspace, drives the agent in its sandbox,
// records what it says with every known secret masked, and leaves nothing
// behind: no process, and no state but what the control plane was told.
//
// It knows the control plane as a penstock.Control only, which may be in the
// same process or behind a network. Whatever happens, an execution ends in one
// of four ways: with a result, handed back, taken away, or given up before its
// lease is over because the lease cannot be renewed.
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
	"github.com/penstock-dev/penstock/internal/gateway"
	"github.com/penstock-dev/penstock/internal/git"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/price"
	"github.com/penstock-dev/penstock/internal/queue"
	"github.com/penstock-dev/penstock/internal/sandbox"
)

// Options say where a worker works and what it can do.
type Options struct {
	Control penstock.Control
	Log     *slog.Logger

	// ID is of this process; one is made when it is empty. Host is what runs can
	// ask for as worker_host.
	ID, Host, Version string
	// Local tells that the worker is embedded in the server.
	Local bool
	// Concurrency is the number of slots, 1 by default.
	Concurrency int
	// Models is what the providers' keys allow, as prefixes such as "anthropic/"; nil:
	// any.
	Models []string
	// Prices are what models cost; the built-in ones if nil.
	Prices *price.Table
	// IdleTime is how long an interactive run waits for follow-ups when its
	// configuration does not say, 10 min by default.
	IdleTime time.Duration
	// SaveEvery is how often the agent's session is saved while a turn is under
	// way, 30 s by default: what a worker that is lost costs.
	SaveEvery time.Duration
	// StrictImage leaves runs to others whose environment names an image.
	StrictImage bool

	// Dir holds the workspaces, and KeepWorkspaces is how long one stays after
	// an execution: 24 h by default, not at all when it is negative.
	Dir            string
	KeepWorkspaces time.Duration
	// Repositories is where environments' repositories come from; nil: there is
	// no git, and runs that need one fail.
	Repositories *git.Cache

	// Sandbox is where runs work. Where it is nil no run is executed but those
	// of the model demo/offline, in Demo; NoSandbox says why there is none.
	Sandbox   sandbox.Sandbox
	Demo      sandbox.Sandbox
	NoSandbox string
	Limits    sandbox.Limits
	Tmp, Shm  int64 // see sandbox.Spec

	// Harnesses are the agent programs by name; builtin has to be among them.
	// In Argv and in the values of Env, {exe}, {home} and {workspace} stand for
	// the paths of this program, of HOME and of the workspace in the sandbox.
	Harnesses map[string]harness.Program
	// BaseURL is where this worker reaches the API for an agent, and OwnRoutes are the routes
	// that an agent may call about its own run, such as "GET /api/v1/agent/runs/{runId}".
	BaseURL   string
	OwnRoutes []string
	// PublicURL is the address of the whole API for clients, which a run may be allowed to
	// reach.
	PublicURL string

	// Gateway holds the model providers; nil: none.
	Gateway *gateway.Gateway
	Network Network
	// OpenNetwork gives runs the network of this machine. By default, a run in bubblewrap is
	// sealed: it reaches only what its network policy allows.
	OpenNetwork bool
}

// Worker executes runs.
type Worker struct {
	Options
	spaces *workspaces
	queue  *queue.Runner
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
	if err := os.MkdirAll(filepath.Join(o.Dir, "runs"), 0o700); err != nil {
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
		Options: o,
		spaces:  &workspaces{dir: o.Dir, keep: o.KeepWorkspaces, log: o.Log, inUse: map[string]chan struct{}{}},
	}
	w.queue = queue.New(queue.Options{
		Leases: o.Control,
		Log:    o.Log,
		Work:   w.execute,
		Claim: penstock.ClaimRequest{
			WorkerID: o.ID, Host: o.Host, Local: o.Local, Version: o.Version, Models: o.Models,
			Harnesses: slices.Sorted(maps.Keys(o.Harnesses)), Sandbox: w.kind(), StrictImage: o.StrictImage,
			Platform: penstock.Platform(runtime.GOOS, runtime.GOARCH),
			Capacity: o.Concurrency,
		},
	})
	return w, nil
}

// kind names the sandbox that runs get.
func (w *Worker) kind() string {
	if w.Sandbox == nil {
		return "none"
	}
	return w.Sandbox.Kind()
}

// Run executes runs until Drain is called or ctx ends, and returns when nothing
// of them is left. The end of ctx hands back what is in hand.
func (w *Worker) Run(ctx context.Context) error {
	sweeping, stop := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() { w.spaces.sweep(sweeping) })
	sweeper.Go(func() { w.evictMirrors(sweeping) })
	defer sweeper.Wait()
	defer stop()
	return w.queue.Run(ctx)
}

// Drain takes no more work; Run returns when what is in hand is done.
func (w *Worker) Drain() { w.queue.Drain() }

// Busy is how many runs are being executed.
func (w *Worker) Busy() int { return w.queue.Busy() }
