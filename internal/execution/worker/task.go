package worker

import (
	"context"
	"log/slog"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/queue"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// task is what a worker executes: an assignment with its lease, and the way to report about it. All
// parts of an execution have it.
type task struct {
	queue.Job
	w       *Worker
	config  penstock.Config
	program harness.Program
	log     *slog.Logger

	lease  context.Context         //nolint:containedctx // ends when nothing can be written any more
	stop   context.CancelCauseFunc // ends the work, with one of the causes in execution.go
	mask   *secret.Masker
	events *recorder
}

// timeline records something on the timeline.
func (t *task) timeline(name string, payload map[string]any) {
	t.events.Record(penstock.Timeline(penstock.Now(), name, payload))
}

// move moves the run to its next state. Repeating it has no effect on the control plane.
func (t *task) move(to penstock.State) error {
	t.events.Record(
		penstock.NewDraft(
			penstock.EventState, penstock.Now(), penstock.StateData{State: to, ExecutionID: t.Lease.ExecutionID},
		),
	)
	return t.events.Flush()
}

// model returns the model of the harness in the configuration. The server's default is only for the
// built-in agent.
func (t *task) model() string {
	h := t.config.Harness
	named := h != nil && h.ModelID != ""
	if !named && h.Kind() != penstock.HarnessBuiltin && t.Run.ConfigSources["model_id"] == "server" {
		return ""
	}
	return t.config.Model()
}

// acpModel returns the model to set through the protocol, or "" if the setup of the program has set
// it.
func (t *task) acpModel() string {
	if t.program.API != "" {
		return ""
	}
	return t.model()
}

// checkVariables repeats the server's check of a new run, because the configuration of the server
// may differ from this worker's, or may have changed.
func (t *task) checkVariables() error {
	own, holds := t.program.Own()
	if !holds {
		return nil
	}
	if found := t.config.CheckVariables(own); len(found) > 0 {
		return setupFailed("config%s.", found[0])
	}
	return nil
}

// setupCommands returns the commands of the runner, which prepare the machine, and then the
// commands of the environment, which may depend on them.
func (t *task) setupCommands() []string {
	var commands []string
	if t.Runner != nil {
		commands = slices.Clone(t.Runner.SetupCommands)
	}
	if t.Environment != nil {
		commands = append(commands, t.Environment.Config.SetupCommands...)
	}
	return commands
}

// hasMCPServers reports whether the agent gets an MCP server.
func (t *task) hasMCPServers() bool {
	for _, server := range t.config.MCPServers {
		if server.ID == "" {
			return true
		}
	}
	return false
}
