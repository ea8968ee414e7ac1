package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/queue"
)

// conversation is what the agent is asked and does, turn by turn. It stores the session of the agent
// and the changes of the run.
type conversation struct {
	*task
	box      *box
	prepared *preparation
	budget   *budget
	history  []penstock.Step // for an agent without a session

	agent     harness.Agent // nil: not started
	sessionID string        // of the last saved session
	saved     bool          // the stored session is current, or was at the start of the turn
	stored    string        // id and hash of the last stored session
	changes   string        // hash of the last saved changes
	tooLarge  bool          // HOME is too large to save
	begun     bool          // the agent has received a prompt
	cut       bool          // the latest turn was interrupted
	turn      int

	messagesMu sync.Mutex
	messages   []penstock.Message // of the agent in the active turn
}

// turns gives the agent prompts one after the other, and starts it if necessary. The result is the
// last turn's, with the usage of all turns, even with an error.
func (c *conversation) turns(ctx context.Context, prompts []penstock.Prompt) (result penstock.Result, err error) {
	c.turn++
	if ctx.Err() == nil {
		err = c.fetchFiles(prompts)
	}
	if ctx.Err() == nil && err == nil && c.agent == nil {
		err = c.startAgent(ctx)
	}
	for _, p := range prompts {
		if err == nil && c.overBudget() {
			err = errBudget
		}
		if err != nil || ctx.Err() != nil {
			return penstock.Result{Usage: result.Usage}, errors.Join(err, context.Cause(ctx))
		}
		before := result.Usage
		result, err = c.prompt(ctx, p)
		result.Usage = sum(before, result.Usage)
		if c.box.outlet.spend.stopped() || err == nil && c.overBudget() {
			err = errBudget // whatever the agent made of the refusal
		}
		if err != nil || result.State == penstock.StateFailed || result.State == penstock.StateError || c.cut {
			return result, err
		}
	}
	return result, nil
}

// fetchFiles writes the files of prompts into the workspace. If that fails before the agent starts,
// nothing was delivered.
func (c *conversation) fetchFiles(prompts []penstock.Prompt) error {
	for _, p := range prompts {
		for _, f := range p.Files {
			if err := c.box.fetch(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// prompt does one turn.
func (c *conversation) prompt(ctx context.Context, p penstock.Prompt) (penstock.Result, error) {
	brief := c.brief(p)
	c.begun = true
	stopSaving := c.keepSaving()
	interrupt, stopListening := c.interrupted()
	// The gateway knows that the turn ends before the agent does, which then hangs up.
	turn, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() {
		c.learnUsage(ctx)
		end(context.Cause(ctx))
	})()
	c.box.outlet.problem.forget()
	result, err := c.agent.Prompt(turn, harness.Message{Text: brief.Text(), Images: brief.Images()}, interrupt)
	if err == nil && result.State == penstock.StateFailed && ctx.Err() != nil { // the same cause may have ended the agent
		result, err = penstock.Result{Usage: result.Usage}, context.Cause(ctx)
	}
	c.learnUsage(ctx)
	stopListening()
	stopSaving()
	ignored := errors.Is(err, harness.ErrInterruptIgnored)
	switch c.cut = errors.Is(err, harness.ErrInterrupted); {
	case ignored && result.State == penstock.StateBlocked: // by a question
		err = nil
	case c.cut || ignored:
		c.cut = true
		err, result.State, result.Message = nil, penstock.StateBlocked, &penstock.StatusMessage{Message: penstock.Interrupted}
	}
	if err == nil && result.State == penstock.StateSucceeded { // some agents only say it in a message
		result = c.box.outlet.problem.explain(result)
	}
	c.budget.endTurn(result.Usage)
	c.remember(p)
	c.box.outlet.keepReceived()
	c.saveSession(c.lease)
	c.saveCheckpoint(p)
	c.saveChanges(ctx)
	if c.cut {
		c.timeline(penstock.TimelineInterrupted, nil)
	}
	if ignored { // the next turn starts the agent again
		c.stopSandbox()
	}
	return result, err
}

// learnUsage lets the gateway read the calls of a turn to their end that was stopped from outside, unless
// the worker or its lease ends, too.
func (c *conversation) learnUsage(ctx context.Context) {
	cause := context.Cause(ctx)
	if cause != nil && !errors.Is(cause, errHandBack) && !errors.Is(cause, queue.ErrNotRenewed) {
		c.box.outlet.models.EndTurn()
	}
}

// interrupted returns a channel that is closed to end the active turn.
func (c *conversation) interrupted() (interrupt <-chan struct{}, stop func()) {
	cut, over := make(chan struct{}), make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case turn := <-c.Interrupts:
				if turn == c.turn {
					c.box.outlet.models.EndTurn()
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
func (c *conversation) brief(p penstock.Prompt) harness.Briefing {
	notices := c.prepared.notices
	c.prepared.notices = nil
	return harness.Briefing{
		Prompt: p, Notices: notices, First: c.agent.Fresh(), Base: c.config.BasePrompt,
		Use: c.prepared.skills.use, Skills: c.prepared.skills.offered,
		Files: c.Files, Repos: c.prepared.repoDirs(), History: c.history,
	}
}

// startAgent starts the agent and its session.
func (c *conversation) startAgent(ctx context.Context) (err error) {
	defer func() {
		if ctx.Err() == nil {
			c.prepared.trust(err == nil)
		}
	}()
	driver, err := harness.New(c.program)
	if err != nil {
		return err
	}
	if err := c.prepared.writeAgentFiles(); err != nil {
		return err
	}
	if err := c.prepared.skills.give(); err != nil {
		return err
	}
	layout := c.box.layout()
	agent, err := driver.Start(ctx, harness.Session{
		Start: c.box.launch, Env: c.box.environment(), Dir: layout.Dir, Root: c.box.space.root,
		Home: c.box.space.homeRoot, HomeDir: layout.Home, Exe: layout.Exe,
		Load: cmp.Or(c.sessionID, c.prepared.sessionID), Model: c.acpModel(),
		MCPServers: c.prepared.mcp, Skills: c.prepared.skills.list(),
		Record: c.record, Save: c.saveArtifact, Consumed: c.consumed, Mask: c.mask.String, Log: c.log,
	})
	if err != nil {
		return c.box.inImage(err)
	}
	c.agent = agent
	session := "new"
	if !agent.Fresh() {
		session = "loaded"
	}
	payload := map[string]any{"harness": c.config.Harness.Kind(), "session": session}
	if c.program.Version != "" {
		payload["version"] = c.program.Version
	}
	c.timeline(timelineAgentStarted, payload)
	c.saveSession(c.lease)
	return c.move(penstock.StateInProgress)
}

// record records an event of the agent. It also keeps the messages, for an agent that needs the
// conversation as text.
func (c *conversation) record(d penstock.Draft) {
	var m penstock.Message
	if d.Type == penstock.EventMessage && json.Unmarshal(d.Data, &m) == nil && m.Role == penstock.RoleAssistant {
		for i := range m.Content {
			m.Content[i].Text = shorten(m.Content[i].Text, maxHistoryText)
		}
		c.messagesMu.Lock()
		if c.messages = append(c.messages, m); len(c.messages) > maxHistoryTurns {
			c.messages = c.messages[1:]
		}
		c.messagesMu.Unlock()
	}
	c.events.Record(d)
}

// Limits of the kept conversation.
const (
	maxHistoryText  = 16 << 10
	maxHistoryTurns = 100
)

// remember adds a finished turn to the kept conversation.
func (c *conversation) remember(p penstock.Prompt) {
	c.messagesMu.Lock()
	defer c.messagesMu.Unlock()
	said := penstock.Message{
		Role: penstock.RoleUser, Content: []penstock.Block{penstock.Text(shorten(p.Text, maxHistoryText))},
	}
	c.history = append(c.history, penstock.Step{ID: p.ID, Messages: append([]penstock.Message{said}, c.messages...)})
	if over := len(c.history) - maxHistoryTurns; over > 0 {
		c.history = c.history[over:]
	}
	c.messages = nil
}

// consumed is called with the usage of the active turn so far.
func (c *conversation) consumed(turn penstock.TurnUsage) {
	usage := c.budget.consumed(turn)
	if c.metered() {
		return
	}
	if usage != nil {
		c.events.Record(penstock.NewDraft(penstock.EventUsage, penstock.Now(), usage))
	}
	if c.overBudget() {
		c.stop(errBudget)
	}
}

// metered reports whether the gateway counts the calls of the agent. The usage that the agent
// reports then does not count.
func (c *conversation) metered() bool {
	return c.box.outlet != nil && c.box.outlet.spend.counted.Load()
}

// overBudget reports whether a budget stops the run: one that had no room for a call, or the run's
// own if the agent calls its model without the gateway.
func (c *conversation) overBudget() bool {
	return c.box.outlet != nil && c.box.outlet.spend.stopped() || !c.metered() && c.budget.exceeded() != ""
}

// stopSandbox ends the agent and everything that it has started.
func (c *conversation) stopSandbox() {
	if c.agent != nil {
		c.agent.Close()
		c.agent = nil
	}
	c.box.stopped()
}
