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

// turns gives the agent prompts one after the other, starting it if need be. The
// result is that of the last turn, with the usage of all; the usage is there
// with an error as well.
func (e *execution) turns(ctx context.Context, prompts []penstock.Prompt) (result penstock.Result, err error) {
	e.turn++
	if ctx.Err() == nil {
		err = e.fetchFiles(prompts)
	}
	if ctx.Err() == nil && err == nil && e.agent == nil {
		err = e.startAgent(ctx)
	}
	for _, p := range prompts {
		if err == nil && e.budget.exceeded() != "" {
			err = errBudget
		}
		if err != nil || ctx.Err() != nil {
			return penstock.Result{Usage: result.Usage}, errors.Join(err, context.Cause(ctx))
		}
		before := result.Usage
		result, err = e.prompt(ctx, p)
		result.Usage = sum(before, result.Usage)
		if err == nil && e.budget.exceeded() != "" {
			err = errBudget
		}
		if err != nil || result.State == penstock.StateFailed || e.cut {
			return result, err
		}
	}
	return result, nil
}

// fetchFiles puts the files of prompts into the workspace. Where that fails before
// the agent starts, nothing was delivered.
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

// prompt is one turn.
func (e *execution) prompt(ctx context.Context, p penstock.Prompt) (penstock.Result, error) {
	text := e.brief(p).Text()
	e.begun = true
	stopSaving := e.keepSaving()
	interrupt, stopListening := e.interrupted()
	result, err := e.agent.Prompt(ctx, text, interrupt)
	stopListening()
	stopSaving()
	ignored := errors.Is(err, harness.ErrInterruptIgnored)
	if e.cut = ignored || errors.Is(err, harness.ErrInterrupted); e.cut {
		err, result.State, result.Message = nil, penstock.StateBlocked, &penstock.StatusMessage{Message: penstock.Interrupted}
	}
	e.budget.endTurn(result.Usage)
	e.remember(p)
	e.outlet.keepReceived()
	e.saveSession(e.lease)
	if e.cut {
		e.timeline(penstock.TimelineInterrupted, nil)
	}
	if ignored { // the next turn starts the agent again
		e.stopSandbox()
	}
	return result, err
}

// interrupted is closed when the turn under way is to be ended.
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

// brief is a prompt with what the agent has to know beside it.
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
	layout := e.layout()
	agent, err := driver.Start(ctx, harness.Session{
		Start: e.launch, Env: e.environment(), Dir: layout.Dir, Root: e.space.root, Load: e.sessionID, Model: e.model(),
		MCPServers: e.mcp, Skills: slices.Concat(e.use, e.skills),
		Record: e.record, Save: e.saveArtifact, Consumed: e.consumed, Mask: e.mask.String, Log: e.log,
	})
	if err != nil {
		return err
	}
	e.agent = agent
	session := "new"
	if !agent.Fresh() {
		session = "loaded"
	}
	e.timeline(penstock.TimelineAgentStarted, map[string]any{"harness": e.config.Harness.Kind(), "session": session})
	e.saveSession(e.lease)
	return e.move(penstock.StateInProgress)
}

// model is the model that the configuration names for the harness. The server's
// default is one of the built-in agent.
func (e *execution) model() string {
	h := e.config.Harness
	named := h != nil && h.ModelID != ""
	if !named && h.Kind() != penstock.HarnessBuiltin && e.Run.ConfigSources["model_id"] == "server" {
		return ""
	}
	return e.config.Model()
}

// record passes an event of the agent on, and keeps what it says for an agent
// that has to be told the conversation again.
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

// How much of the conversation of this execution is kept for that.
const (
	maxHistoryText  = 16 << 10
	maxHistoryTurns = 100
)

// remember ends a turn in the history.
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

// consumed is told what the turn under way has consumed so far.
func (e *execution) consumed(turn penstock.TurnUsage) {
	if interrupt := e.budget.consumed(turn); interrupt != nil {
		e.events.Record(penstock.NewDraft(penstock.EventUsage, penstock.Now(), interrupt))
	}
	if e.budget.exceeded() != "" {
		e.stop(errBudget)
	}
}

// timeline records something on the timeline.
func (e *execution) timeline(name string, payload map[string]any) {
	e.events.Record(penstock.Timeline(penstock.Now(), name, payload))
}

// move takes the run to the next state of its way. Saying it again is nothing
// new to the control plane.
func (e *execution) move(to penstock.State) error {
	e.events.Record(
		penstock.NewDraft(
			penstock.EventState, penstock.Now(), penstock.StateData{State: to, ExecutionID: e.Lease.ExecutionID},
		),
	)
	return e.events.Flush()
}

// layout is where a program in the sandbox finds things.
func (e *execution) layout() sandbox.Layout {
	return e.sandbox.Layout(sandbox.Spec{Dir: e.space.work, Home: e.space.home})
}

// launch starts a program of the harness in the sandbox. It lives until it is
// killed; ctx only bounds the start.
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

// startSandbox fills in what is the same for all programs of the execution.
func (e *execution) startSandbox(ctx context.Context, spec sandbox.Spec) (sandbox.Running, error) {
	spec.Dir, spec.Home, spec.Limits = e.space.work, e.space.home, e.w.Limits
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
		return nil, &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "This worker cannot start the sandbox.", Retryable: true, Cause: err,
		}
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

// process is a program in a sandbox as a harness sees it.
type process struct {
	sandbox.Running
	execution *execution
}

func (p process) Wait() (harness.Exit, error) {
	exit, err := p.Running.Wait()
	return harness.Exit{Code: exit.Code, Text: p.execution.ending(exit)}, err
}

// environment is what every program of the run finds, KEY=value. A secret that
// only an MCP server needs is not in it, but no other program of the run is kept
// from reading it: all have the same user, and so see each other's /proc. What is
// ours comes last: nothing replaces it.
func (e *execution) environment() []string {
	var env []string
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
