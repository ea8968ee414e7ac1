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
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/install"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// agents are the installed agents of a worker. A version becomes usable once a check of it
// has passed.
type agents struct {
	store *install.Store
	check func(ctx context.Context, p harness.Preset, program harness.Program) error
	log   *slog.Logger
	// install are NAME or NAME@VERSION, to be installed first.
	install []string
	// passed tracks the checks that agents passed, also before a restart; "" disables it.
	passed passedChecks
	// fingerprint identifies what a check of a program tries; nil disables passed.
	fingerprint func(program harness.Program) (string, error)

	mu    sync.Mutex
	known map[string]knownAgent
}

// knownAgent is the version in use of an installed agent, and what its check found.
type knownAgent struct {
	program   harness.Program
	installed time.Time // the newest change of the program's folders
	files     string    // fingerprint of what was checked; "" if it is unknown
	checked   bool
	err       error     // of the last check
	failures  int       // checks that failed one after the other
	next      time.Time // when the next check is due, or after a passed one the next look at the files
}

const (
	// lookEvery is how often the folder is read: installing needs no restart.
	lookEvery = 3 * time.Second
	// checkEvery is how long after a failed check comes another one. Each failure doubles it, up
	// to checkSeldom.
	checkEvery  = 10 * time.Second
	checkSeldom = 5 * time.Minute
)

// pause is the time until the next check after so many failed ones.
func pause(failures int) time.Duration {
	wait := checkEvery
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

// look reads which versions are in use. It checks those that are new or installed again, those whose
// files have changed, and those whose next check is due.
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
		case same && time.Now().Before(before.next):
			continue
		case same && before.err != nil:
			now.checked, now.err, now.failures, now.next = true, before.err, before.failures, before.next
		}
		now.files = a.identify(now.program)
		if same && before.err == nil && before.files == now.files {
			before.next = time.Now().Add(checkSeldom)
			a.set(preset.Name, before)
			continue
		}
		a.set(preset.Name, now)
		a.tryOut(ctx, preset, now)
	}
}

// identify returns the fingerprint of a program, or "" if it cannot be read. The check then finds out why.
func (a *agents) identify(p harness.Program) string {
	if a.fingerprint == nil {
		return ""
	}
	files, err := a.fingerprint(p)
	if err != nil {
		a.log.Warn("cannot read the files of an installed agent", "error", err)
	}
	return files
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
	if !k.checked && a.passed != "" && a.passed.has(preset.Name, k.files) {
		k.checked, k.next = true, time.Now().Add(checkSeldom)
		a.log.Info("agent ready; it passed its check before, with the same files", "harness", preset.Name,
			"version", k.program.Version)
		a.set(preset.Name, k)
		return
	}
	start := time.Now()
	k.err = a.check(ctx, preset, k.program)
	if ctx.Err() != nil {
		return
	}
	k.checked = true
	took := time.Since(start).Round(time.Millisecond)
	files := k.files
	if k.err == nil {
		k.failures, k.next = 0, time.Now().Add(checkSeldom)
		a.log.Info("agent ready", "harness", preset.Name, "version", k.program.Version, "checked", took)
	} else {
		files = ""
		k.failures++
		wait := pause(k.failures)
		k.next = time.Now().Add(wait)
		a.log.Error(
			"an installed agent cannot be used", "harness", preset.Name, "version", k.program.Version, "error", k.err,
			"next_check_in", wait,
		)
	}
	if a.passed != "" {
		if err := a.passed.set(preset.Name, files); err != nil {
			a.log.Warn("cannot store the check of an agent; a restart repeats it", "harness", preset.Name, "error", err)
		}
	}
	a.set(preset.Name, k)
}

func (a *agents) set(name string, k knownAgent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[name] = k
}

// beingChecked is the reason until the first check of a version ends.
const beingChecked = "It is being checked."

// reason says why the agent cannot be used, "" if it can.
func (k knownAgent) reason() string {
	switch {
	case !k.checked:
		return beingChecked
	case k.err == nil:
		return ""
	}
	return fmt.Sprintf("Its check failed: %s. The next check is at %s.", strings.TrimRight(k.err.Error(), ". \n"),
		k.next.UTC().Format("15:04:05 UTC"))
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

// fingerprint identifies what a check of a program tries: this release, the sandbox and the files.
func (c agentChecker) fingerprint(program harness.Program) (string, error) {
	exe, err := os.Executable()
	if err != nil || c.sandbox == nil {
		return "", err
	}
	roots := []string{exe, program.Installed}
	if program.Node != "" {
		roots = append(roots, program.Node)
	}
	return fingerprint(fmt.Sprint(buildVersion(), revision(), c.sandbox.Kind(), c.open), roots...)
}

func (c agentChecker) check(ctx context.Context, preset harness.Preset, program harness.Program) error {
	return install.Try(ctx, install.TrialOptions{
		Preset: preset, Program: program, Sandbox: c.sandbox, OpenNetwork: c.open, Dir: c.dir, Log: c.log, Record: c.record,
	})
}
