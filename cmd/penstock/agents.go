package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/install"
	"github.com/penstock-dev/penstock/internal/sandbox"
	"github.com/penstock-dev/penstock/internal/trial"
)

// agents are the installed agents of a worker. A version becomes usable once a check of it
// has passed.
type agents struct {
	store *install.Store
	check func(ctx context.Context, p harness.Preset, program harness.Program) error
	log   *slog.Logger
	// install are NAME or NAME@VERSION, to be installed first.
	install []string

	mu    sync.Mutex
	known map[string]knownAgent
}

// knownAgent is the version in use of an installed agent, and what its check found.
type knownAgent struct {
	program   harness.Program
	installed time.Time // the newest change of the program's folders
	checked   bool
	err       error     // of the last check
	failures  int       // checks that failed one after the other
	again     time.Time // when the next check is due, after a failed one
}

const (
	// lookEvery is how often the folder is read: installing needs no restart.
	lookEvery = 3 * time.Second
	// checkAgain is how long after a failed check comes another one. Each failure doubles it, up
	// to checkSeldom.
	checkAgain  = 10 * time.Second
	checkSeldom = 5 * time.Minute
)

// pause is the time until the next check after so many failed ones.
func pause(failures int) time.Duration {
	wait := checkAgain
	for range failures - 1 {
		wait = min(2*wait, checkSeldom)
	}
	return wait
}

// run keeps the agents up to date until ctx ends.
func (a *agents) run(ctx context.Context) {
	var installing sync.WaitGroup
	installing.Go(func() { a.installAll(ctx) })
	defer installing.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		a.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// installAll installs the agents that the operator wants.
func (a *agents) installAll(ctx context.Context) {
	for _, wanted := range a.install {
		name, version, _ := strings.Cut(wanted, "@")
		p, err := a.store.Install(ctx, install.Request{Name: name, Version: version, Say: func(text string) {
			a.log.Info("installing an agent", "step", text)
		}})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			a.log.Error("cannot install an agent", "harness", wanted, "error", err)
			continue
		}
		a.log.Info("agent installed", "harness", p.Name, "version", p.Version)
	}
}

// look reads which versions are in use. It checks those that are new or installed again, and
// those whose next check is due.
func (a *agents) look(ctx context.Context) {
	for _, preset := range harness.Presets() {
		program, ok := installedProgram(a.store, preset)
		a.mu.Lock()
		before, known := a.known[preset.Name]
		if !ok {
			delete(a.known, preset.Name)
		}
		a.mu.Unlock()
		if !ok {
			continue
		}
		now := knownAgent{program: program, installed: changed(program)}
		same := known && before.program.Installed == program.Installed && before.program.Node == program.Node &&
			before.installed.Equal(now.installed)
		switch {
		case !same:
			a.set(preset.Name, now)
		case before.err == nil || time.Now().Before(before.again):
			continue
		default:
			now = before // its runs still wait for the same reason
		}
		a.tryOut(ctx, preset, now)
	}
}

// changed is the time of the newest change of a program's folders.
func changed(p harness.Program) time.Time {
	var newest time.Time
	for _, dir := range []string{p.Installed, p.Node} {
		if info, err := os.Stat(dir); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest
}

func (a *agents) tryOut(ctx context.Context, preset harness.Preset, k knownAgent) {
	start := time.Now()
	k.err = a.check(ctx, preset, k.program)
	if ctx.Err() != nil {
		return
	}
	k.checked = true
	took := time.Since(start).Round(time.Millisecond)
	if k.err == nil {
		k.failures = 0
		a.log.Info("agent ready", "harness", preset.Name, "version", k.program.Version, "checked", took)
	} else {
		k.failures++
		wait := pause(k.failures)
		k.again = time.Now().Add(wait)
		a.log.Error(
			"an installed agent cannot be used", "harness", preset.Name, "version", k.program.Version, "error", k.err,
			"next_check_in", wait,
		)
	}
	a.set(preset.Name, k)
}

func (a *agents) set(name string, k knownAgent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[name] = k
}

// reason says why the agent cannot be used, "" if it can.
func (k knownAgent) reason() string {
	switch {
	case !k.checked:
		return "It is being checked."
	case k.err == nil:
		return ""
	}
	return fmt.Sprintf("Its check failed: %s. The next check is at %s.", strings.TrimRight(k.err.Error(), ". \n"),
		k.again.UTC().Format("15:04:05 UTC"))
}

// list is worker.Options.Agents.
func (a *agents) list() (usable map[string]harness.Program, all []penstock.AgentState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	usable = map[string]harness.Program{}
	for _, name := range slices.Sorted(maps.Keys(a.known)) {
		k := a.known[name]
		state := penstock.AgentState{Name: name, Version: k.program.Version, Reason: k.reason()}
		if state.Reason == "" {
			usable[name] = k.program
		}
		all = append(all, state)
	}
	return usable, all
}

// installedProgram is the version of a preset that runs use. ok is false without one.
func installedProgram(store *install.Store, preset harness.Preset) (p harness.Program, ok bool) {
	agent, ok := store.Current(preset.Name)
	if !ok {
		return p, false
	}
	node, _ := store.Current(install.Node) // if it is missing, the check says so
	return preset.Program(agent.Version, agent.Dir, node.Dir), true
}

// agentChecker checks agents as a worker would run them.
type agentChecker struct {
	sandbox sandbox.Sandbox // nil: none is available
	open    bool            // the network
	dir     string          // data folder
	log     *slog.Logger
	record  func(penstock.Draft)
}

func (c agentChecker) check(ctx context.Context, preset harness.Preset, program harness.Program) error {
	return trial.Check(ctx, trial.Options{
		Preset: preset, Program: program, Sandbox: c.sandbox, OpenNetwork: c.open, Dir: c.dir, Log: c.log, Record: c.record,
	})
}
