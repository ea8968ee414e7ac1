package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// box is where the programs of a run live: a sandbox with its workspace, image and network.
type box struct {
	*task
	alive context.Context //nolint:containedctx // ends when the sandbox must stop immediately

	sandbox sandbox.Sandbox // nil until it is chosen
	space   *workspace      // nil until it is open
	image   *usedImage      // nil: the programs of the host
	outlet  *outlet         // nil until it is open

	running bool                  // a sandbox was started, and its end not recorded yet
	started bool                  // a sandbox was started
	full    atomic.Bool           // the workspace exceeds its disk limit and is not kept
	lost    atomic.Pointer[error] // why the sandbox ended, if neither the agent nor the worker ended it
}

// choose selects the worker's sandbox. Without one, only the built-in demonstration may run,
// because it executes no code of others. So it rejects repositories, commands and MCP servers then.
func (b *box) choose() error {
	if b.sandbox = b.w.Sandbox; b.sandbox != nil {
		return nil
	}
	demo := b.config.Harness.Kind() == penstock.HarnessBuiltin &&
		slices.Contains([]string{"", penstock.ModelOffline}, b.model())
	if !demo || b.w.Demo == nil {
		return setupFailed(
			"This worker has no sandbox (%s). Without a sandbox, it runs only the model %s.", b.w.NoSandbox,
			penstock.ModelOffline,
		)
	}
	if b.hasMCPServers() || len(b.setupCommands()) > 0 {
		return setupFailed(
			"This worker has no sandbox (%s). Without a sandbox, it runs no setup commands and no MCP servers.", b.w.NoSandbox,
		)
	}
	b.sandbox = b.w.Demo
	b.config.ModelID = penstock.ModelOffline
	return nil
}

// sealed reports whether the sandbox of the execution has no network but its outlet.
func (b *box) sealed() bool {
	return !b.w.OpenNetwork && sandbox.Isolates(b.sandbox.Kind())
}

// layout returns the paths for a program in the sandbox.
func (b *box) layout() sandbox.Layout {
	return b.sandbox.Layout(sandbox.Spec{Dir: b.space.work, Home: b.space.home})
}

// launch starts a program of the harness in the sandbox. It runs until it is killed; ctx only
// limits the start.
func (b *box) launch(ctx context.Context, c harness.Command) (harness.Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	running, err := b.start(b.alive, sandbox.Spec{Argv: c.Argv, Env: c.Env, Sockets: c.Protocol, Stderr: c.Stderr})
	if err != nil {
		return nil, err
	}
	return process{running, b}, nil
}

// start sets the common fields of all programs of the execution.
func (b *box) start(ctx context.Context, spec sandbox.Spec) (sandbox.Running, error) {
	spec.Dir, spec.Home, spec.Limits = b.space.work, b.space.home, b.w.Limits
	spec.Image = b.image.sandbox()
	if !b.outlet.preparing.Load() {
		spec.ReadOnly = append(spec.ReadOnly, b.agentMounts()...)
	}
	spec.Tmp, spec.Shm, spec.Exceeded, spec.Left = b.w.Tmp, b.w.Shm, b.exceed, b.Left
	if spec.Relay = b.outlet.socket; spec.Relay != "" {
		spec.ReadOnly = append(spec.ReadOnly, sandbox.Mount{Source: b.outlet.trust, Target: insideTrust})
	}
	running, err := b.sandbox.Start(ctx, spec)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, open := errors.AsType[*sandbox.OpenError](err); open {
			return nil, err
		}
		return nil, b.notStarted(err)
	}
	if !b.running {
		b.running, b.started = true, true
		b.recordSeal(running)
		b.timeline(penstock.TimelineSandboxReady, map[string]any{"sandbox": b.sandbox.Kind(), "limits": running.Limits()})
		b.timeline(
			timelineSessionStarted, map[string]any{"session_id": b.Run.SessionID, "session_link": b.Run.SessionLink},
		)
	}
	return running, nil
}

// recordSeal records whether the sandbox that has just started is sealed.
func (b *box) recordSeal(running sandbox.Running) {
	sealed := b.sealed()
	if sealed {
		proof := running.Proof()
		b.timeline(penstock.TimelineSandboxVerified, map[string]any{
			"sandbox": b.sandbox.Kind(), "checked": proof.Checked, "duration_ms": proof.Took.Milliseconds(),
		})
	}
	b.events.Record(penstock.NewDraft(penstock.EventNetwork, penstock.Now(), penstock.NetworkReport{Sealed: &sealed}))
}

// process adapts a program in a sandbox to a harness.
type process struct {
	sandbox.Running
	box *box
}

func (p process) Wait() (harness.Exit, error) {
	exit, err := p.Running.Wait()
	if err != nil {
		p.box.lost.Store(&err)
	}
	return harness.Exit{Code: exit.Code, Text: p.box.ending(exit)}, err
}

// environment returns the environment of every program of the run, as KEY=value. It excludes a
// secret that only an MCP server needs. Other programs of the run can still read such a secret,
// because all have the same user and see each other's /proc. The variables of the image come first,
// so the run replaces them. Our own variables come last, so nothing replaces them.
func (b *box) environment() []string {
	env := b.image.environment()
	add := func(name, value string) {
		if !strings.ContainsRune(value, 0) {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range b.config.Env {
		add(name, value)
	}
	for _, name := range b.config.SecretVariables() {
		if value, granted := b.Secrets[name]; granted && b.outlet.entersSandbox(name) {
			add(name, value)
		}
	}
	return slices.Concat(env, b.outlet.ownKeyEnvironment(), b.outlet.env, b.outlet.ownEnvironment())
}

// agentMounts are what the sandbox shows of the agent, read-only.
func (b *box) agentMounts() []sandbox.Mount {
	var list []sandbox.Mount
	if b.program.Installed != "" {
		list = append(list, sandbox.Mount{Source: b.program.Installed, Target: harness.InstalledDir})
	}
	if b.program.Node != "" {
		list = append(list, sandbox.Mount{Source: b.program.Node, Target: harness.NodeDir})
	}
	for _, dir := range b.program.ReadOnly {
		list = append(list, sandbox.Mount{Source: dir})
	}
	return list
}

// shownAt is where the sandbox shows a folder of this machine: a sandbox that isolates
// nothing shows it where it is.
func (b *box) shownAt(dir, inside string) string {
	if sandbox.Isolates(b.sandbox.Kind()) {
		return inside
	}
	return dir
}

// clear empties the workspace, HOME and the changes of the image.
func (b *box) clear() error {
	var err error
	for _, root := range []*os.Root{b.space.root, b.space.homeRoot} {
		err = errors.Join(err, clearOut(root, ".", func(name string, _ bool) error { return removeTree(root, name) }))
	}
	if b.image != nil && b.image.dir != "" {
		name := filepath.Base(b.image.dir)
		err = errors.Join(err, b.w.spaces.removeIn(b.Lease.RunID, name), os.Mkdir(b.image.dir, 0o700))
	}
	return err
}

// close releases the workspace.
func (b *box) close() {
	if b.space == nil {
		return
	}
	if b.full.Load() {
		b.space.setup = "" // it is not kept
	}
	if b.space.kept() {
		b.forgetSecrets()
	}
	b.space.close()
}

// stopped records that the sandbox is gone.
func (b *box) stopped() {
	if b.running {
		b.running = false
		b.events.Record(b.gone())
	}
}

// gone is the timeline event of the end of the sandbox.
func (b *box) gone() penstock.Draft {
	return penstock.Timeline(penstock.Now(), penstock.TimelineSandboxGone, map[string]any{"sandbox": b.sandbox.Kind()})
}
