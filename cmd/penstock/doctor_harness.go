package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/install"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// harnessesTime bounds the check of all installed harnesses. The check starts each of them.
const harnessesTime = 3 * time.Minute

const anotherVersion = "install another version: penstock harness install NAME@VERSION"

// harnesses reports each installed harness: what the worker of the running server has found or,
// without one, what a run with it finds now.
func (cmd *doctorCmd) harnesses(ctx context.Context, report func(finding)) {
	installed := install.Open(cmd.path(harnessDir))
	var current []harness.Preset
	for _, preset := range harness.Presets() {
		if _, ok := installedProgram(installed, preset); ok {
			current = append(current, preset)
		}
	}
	if len(current) == 0 {
		report(ok("no harness is installed, so runs use the built-in one; penstock harness install NAME installs another"))
		return
	}
	if worker, runs := cmd.runningWorker(ctx); runs {
		for _, preset := range current {
			program, _ := installedProgram(installed, preset)
			report(foundByWorker(worker, preset.Name, program.Version))
		}
		return
	}
	cmd.tryHarnesses(ctx, installed, current, report)
}

// runningWorker returns the worker of the server that uses the data folder. It reads it from the
// database, which needs neither a key nor the server's address.
func (cmd *doctorCmd) runningWorker(ctx context.Context) (store.Worker, bool) {
	if _, held := lockHolder(cmd.Data); !held {
		return store.Worker{}, false
	}
	db, err := store.Open(ctx, store.Options{URL: cmd.databaseURL(), AsIs: true})
	if err != nil {
		return store.Worker{}, false
	}
	defer func() { _ = db.Close() }()
	workers, err := db.Queue.Workers(ctx)
	if err != nil {
		return store.Worker{}, false
	}
	workers = slices.DeleteFunc(workers, func(w store.Worker) bool { return !w.Local })
	if host, err := os.Hostname(); err == nil && len(workers) > 1 { // servers share a database
		workers = slices.DeleteFunc(workers, func(w store.Worker) bool { return w.Host != host })
	}
	if len(workers) != 1 {
		return store.Worker{}, false
	}
	return workers[0], true
}

// foundByWorker is what a worker reports of the version of a harness that runs use.
func foundByWorker(w store.Worker, name, version string) finding {
	const advice = "run doctor again in some seconds"
	i := slices.IndexFunc(w.Agents, func(a penstock.AgentState) bool { return a.Name == name })
	switch {
	case i < 0 || w.Agents[i].Version != version:
		return warn(advice, "%s %s: the running server has not found it yet", name, version)
	case w.Agents[i].Reason == "":
		return ok("%s %s works: the running server has checked it", name, version)
	case w.Agents[i].Reason == beingChecked:
		return warn(advice, "%s %s: the running server is checking it", name, version)
	}
	return failing(anotherVersion, "%s %s in the running server: %s", name, version, w.Agents[i].Reason)
}

// tryHarnesses runs each harness as a worker does.
func (cmd *doctorCmd) tryHarnesses(
	ctx context.Context, installed *install.Store, presets []harness.Preset, report func(finding),
) {
	o := sandbox.Options{
		Kind: cmd.Sandbox, AllowOpenNetwork: cmd.AllowOpenNetwork, AllowUserNamespaces: cmd.AllowUserNamespaces,
	}
	release, err := cmd.chooseAside(&o, cmd.Data)
	if err != nil {
		report(failing("", "%v", err))
		return
	}
	defer release()
	box, err := openSandbox(ctx, o)
	if err != nil {
		report(failing("see the check of the sandbox", "%v", err))
		return
	}
	checker := agentChecker{
		sandbox: box, open: cmd.AllowOpenNetwork, dir: existing(cmd.Data), log: slog.New(slog.DiscardHandler),
	}
	for _, preset := range presets {
		program, _ := installedProgram(installed, preset)
		if err := checker.check(ctx, preset, program); err != nil {
			report(failing(anotherVersion, "%s %s: %v", preset.Name, program.Version, err))
			continue
		}
		report(ok("%s %s works", preset.Name, program.Version))
	}
}
