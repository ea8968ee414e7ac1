package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/sandbox"
)

// turns gives the agent prompts one after the other, and starts it if necessary. The result is that
// of the last turn, with the usage of all turns, even with an error.
func (e *execution) turns(ctx context.Context, prompts []penstock.Prompt) (result penstock.Result, err error) {
	e.turn++
	if ctx.Err() == nil {
		err = e.fetchFiles(prompts)
	}
	if ctx.Err() == nil && err == nil && e.agent == nil {
		err = e.startAgent(ctx)
	}
	for _, p := range prompts {
		if err == nil && e.overBudget() {
			err = errBudget
		}
		if err != nil || ctx.Err() != nil {
			return penstock.Result{Usage: result.Usage}, errors.Join(err, context.Cause(ctx))
		}
		before := result.Usage
		result, err = e.prompt(ctx, p)
		result.Usage = sum(before, result.Usage)
		if e.outlet.spend.stopped() || err == nil && e.overBudget() {
			err = errBudget // whatever the agent made of the refusal
		}
		if err != nil || result.State == penstock.StateFailed || result.State == penstock.StateError || e.cut {
			return result, err
		}
	}
	return result, nil
}

// fetchFiles writes the files of prompts into the workspace. If that fails before the agent starts,
// nothing was delivered.
func (e *execution) fetchFiles(prompts []penstock.Prompt) error {
	for _, p := range prompts {
		for _, f := range p.Files {
			if err := e.fetch(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// prompt does one turn.
func (e *execution) prompt(ctx context.Context, p penstock.Prompt) (penstock.Result, error) {
	brief := e.brief(p)
	e.begun = true
	stopSaving := e.keepSaving()
	interrupt, stopListening := e.interrupted()
	e.outlet.problem.forget()
	result, err := e.agent.Prompt(ctx, harness.Message{Text: brief.Text(), Images: brief.Images()}, interrupt)
	stopListening()
	stopSaving()
	ignored := errors.Is(err, harness.ErrInterruptIgnored)
	switch e.cut = errors.Is(err, harness.ErrInterrupted); {
	case ignored && result.State == penstock.StateBlocked: // by a question
		err = nil
	case e.cut || ignored:
		e.cut = true
		err, result.State, result.Message = nil, penstock.StateBlocked, &penstock.StatusMessage{Message: penstock.Interrupted}
	}
	if err == nil && result.State == penstock.StateSucceeded { // some agents only say it in a message
		result = e.outlet.problem.explain(result)
	}
	e.budget.endTurn(result.Usage)
	e.remember(p)
	e.outlet.keepReceived()
	e.saveSession(e.lease)
	e.saveChanges(ctx)
	if e.cut {
		e.timeline(penstock.TimelineInterrupted, nil)
	}
	if ignored { // the next turn starts the agent again
		e.stopSandbox()
	}
	return result, err
}

// interrupted returns a channel that is closed to end the active turn.
func (e *execution) interrupted() (interrupt <-chan struct{}, stop func()) {
	cut, over := make(chan struct{}), make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case turn := <-e.Interrupts:
				if turn == e.turn {
					close(cut)
					return
				}
			case <-over:
				return
			}
		}
	})
	return cut, func() {
		close(over)
		listening.Wait()
	}
}

// brief returns a prompt with the other information for the agent.
func (e *execution) brief(p penstock.Prompt) harness.Briefing {
	return harness.Briefing{
		Prompt: p, First: e.agent.Fresh(), Base: e.config.BasePrompt, Use: e.use, Skills: e.skills,
		Files: e.Files, Repos: e.repoDirs(), History: e.History,
	}
}

// startAgent starts the agent and its session.
func (e *execution) startAgent(ctx context.Context) error {
	driver, err := harness.New(e.program)
	if err != nil {
		return err
	}
	if err := e.writeAgentFiles(); err != nil {
		return err
	}
	if err := e.giveSkills(); err != nil {
		return err
	}
	layout := e.layout()
	agent, err := driver.Start(ctx, harness.Session{
		Start: e.launch, Env: e.environment(), Dir: layout.Dir, Root: e.space.root, Load: e.sessionID, Model: e.acpModel(),
		MCPServers: e.mcp, Skills: e.givenSkills(),
		Record: e.record, Save: e.saveArtifact, Consumed: e.consumed, Mask: e.mask.String, Log: e.log,
	})
	if err != nil {
		return e.inImage(err)
	}
	e.agent = agent
	session := "new"
	if !agent.Fresh() {
		session = "loaded"
	}
	payload := map[string]any{"harness": e.config.Harness.Kind(), "session": session}
	if e.program.Version != "" {
		payload["version"] = e.program.Version
	}
	e.timeline(penstock.TimelineAgentStarted, payload)
	e.saveSession(e.lease)
	return e.move(penstock.StateInProgress)
}

// model returns the model of the harness in the configuration. The server's default is only for the
// built-in agent.
func (e *execution) model() string {
	h := e.config.Harness
	named := h != nil && h.ModelID != ""
	if !named && h.Kind() != penstock.HarnessBuiltin && e.Run.ConfigSources["model_id"] == "server" {
		return ""
	}
	return e.config.Model()
}

// acpModel returns the model to set through the protocol, or "" if the setup of the program has set
// it.
func (e *execution) acpModel() string {
	if e.program.API != "" {
		return ""
	}
	return e.model()
}

// record records an event of the agent. It also keeps the messages, for an agent that needs the
// conversation as text.
func (e *execution) record(d penstock.Draft) {
	var m penstock.Message
	if d.Type == penstock.EventMessage && json.Unmarshal(d.Data, &m) == nil && m.Role == penstock.RoleAssistant {
		for i := range m.Content {
			m.Content[i].Text = shorten(m.Content[i].Text, maxHistoryText)
		}
		e.messagesMu.Lock()
		if e.messages = append(e.messages, m); len(e.messages) > maxHistoryTurns {
			e.messages = e.messages[1:]
		}
		e.messagesMu.Unlock()
	}
	e.events.Record(d)
}

// Limits of the kept conversation.
const (
	maxHistoryText  = 16 << 10
	maxHistoryTurns = 100
)

// remember adds a finished turn to the kept conversation.
func (e *execution) remember(p penstock.Prompt) {
	e.messagesMu.Lock()
	defer e.messagesMu.Unlock()
	said := penstock.Message{
		Role: penstock.RoleUser, Content: []penstock.Block{penstock.Text(shorten(p.Text, maxHistoryText))},
	}
	e.History = append(e.History, penstock.Step{ID: p.ID, Messages: append([]penstock.Message{said}, e.messages...)})
	if over := len(e.History) - maxHistoryTurns; over > 0 {
		e.History = e.History[over:]
	}
	e.messages = nil
}

// consumed is called with the usage of the active turn so far.
func (e *execution) consumed(turn penstock.TurnUsage) {
	usage := e.budget.consumed(turn)
	if e.metered() {
		return
	}
	if usage != nil {
		e.events.Record(penstock.NewDraft(penstock.EventUsage, penstock.Now(), usage))
	}
	if e.overBudget() {
		e.stop(errBudget)
	}
}

// metered reports whether the gateway counts the calls of the agent. The usage that the agent
// reports then does not count.
func (e *execution) metered() bool { return e.outlet != nil && e.outlet.spend.counted.Load() }

// overBudget reports whether a budget stops the run: one that had no room for a call, or the run's
// own if the agent calls its model without the gateway.
func (e *execution) overBudget() bool {
	return e.outlet != nil && e.outlet.spend.stopped() || !e.metered() && e.budget.exceeded() != ""
}

// timeline records something on the timeline.
func (e *execution) timeline(name string, payload map[string]any) {
	e.events.Record(penstock.Timeline(penstock.Now(), name, payload))
}

// move moves the run to its next state. Repeating it has no effect on the control plane.
func (e *execution) move(to penstock.State) error {
	e.events.Record(
		penstock.NewDraft(
			penstock.EventState, penstock.Now(), penstock.StateData{State: to, ExecutionID: e.Lease.ExecutionID},
		),
	)
	return e.events.Flush()
}

// layout returns the paths for a program in the sandbox.
func (e *execution) layout() sandbox.Layout {
	return e.sandbox.Layout(sandbox.Spec{Dir: e.space.work, Home: e.space.home})
}

// launch starts a program of the harness in the sandbox. It runs until it is killed; ctx only
// limits the start.
func (e *execution) launch(ctx context.Context, c harness.Command) (harness.Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	running, err := e.startSandbox(e.alive, sandbox.Spec{Argv: c.Argv, Env: c.Env, Sockets: c.Protocol, Stderr: c.Stderr})
	if err != nil {
		return nil, err
	}
	return process{running, e}, nil
}

// startSandbox sets the common fields of all programs of the execution.
func (e *execution) startSandbox(ctx context.Context, spec sandbox.Spec) (sandbox.Running, error) {
	spec.Dir, spec.Home, spec.Limits = e.space.work, e.space.home, e.w.Limits
	spec.Image = e.image.sandbox()
	spec.ReadOnly = append(spec.ReadOnly, e.agentMounts()...)
	spec.Tmp, spec.Shm, spec.Exceeded = e.w.Tmp, e.w.Shm, e.exceed
	if spec.Relay = e.outlet.socket; spec.Relay != "" {
		spec.ReadOnly = append(spec.ReadOnly, sandbox.Mount{Source: e.outlet.trust, Target: insideTrust})
	}
	running, err := e.sandbox.Start(ctx, spec)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, open := errors.AsType[*sandbox.OpenError](err); open {
			return nil, err
		}
		return nil, e.notStarted(err)
	}
	if !e.running {
		e.running, e.started = true, true
		e.recordSeal(running)
		e.timeline(penstock.TimelineSandboxReady, map[string]any{"sandbox": e.sandbox.Kind(), "limits": running.Limits()})
		e.timeline(
			penstock.TimelineSessionStarted, map[string]any{"session_id": e.Run.SessionID, "session_link": e.Run.SessionLink},
		)
	}
	return running, nil
}

// process adapts a program in a sandbox to a harness.
type process struct {
	sandbox.Running
	execution *execution
}

func (p process) Wait() (harness.Exit, error) {
	exit, err := p.Running.Wait()
	if err != nil {
		p.execution.sandboxLost.Store(&err)
	}
	return harness.Exit{Code: exit.Code, Text: p.execution.ending(exit)}, err
}

// environment returns the environment of every program of the run, as KEY=value. It excludes a
// secret that only an MCP server needs. Other programs of the run can still read such a secret,
// because all have the same user and see each other's /proc. The variables of the image come first,
// so the run replaces them. Our own variables come last, so nothing replaces them.
func (e *execution) environment() []string {
	env := e.image.environment()
	add := func(name, value string) {
		if !strings.ContainsRune(value, 0) {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range e.config.Env {
		add(name, value)
	}
	for _, name := range e.config.SecretVariables() {
		if value, granted := e.Secrets[name]; granted && e.outlet.entersSandbox(name) {
			add(name, value)
		}
	}
	return slices.Concat(env, e.outlet.ownKeyEnvironment(), e.outlet.env, e.outlet.ownEnvironment())
}
