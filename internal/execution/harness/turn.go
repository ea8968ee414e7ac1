package harness

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// promptResult is the response of an agent to a prompt, or its error.
type promptResult struct {
	response acp.PromptResponse
	err      error
}

// Prompt implements Agent.
func (a *acpAgent) Prompt(ctx context.Context, m Message, interrupt <-chan struct{}) (penstock.Result, error) {
	a.mu.Lock()
	a.usage = turnUsage{costBefore: a.usage.cost, cost: a.usage.cost}
	a.mu.Unlock()
	select {
	case <-a.question: // of an earlier turn
	default:
	}
	text := strings.Join(append(a.notices, m.Text), "\n\n")
	a.notices = nil
	blocks := append([]acp.ContentBlock{acp.Text(text)}, a.images(m.Images)...)

	a.knows = true
	call, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	responded := make(chan promptResult, 1)
	go func() {
		response, err := a.client.Prompt(call, a.id, blocks...)
		responded <- promptResult{response, err}
	}()
	end, asked, needed := a.await(ctx, responded, interrupt)
	var result penstock.Result // BLOCKED by a question, or FAILED without an MCP server
	if end != nil {
		result = a.ended(end.response, end.err)
	} else if asked != nil {
		result.State, result.Message = penstock.StateBlocked, &penstock.StatusMessage{Message: asked.text}
	}
	if needed != "" {
		result = failed(penstock.CodeAgentProcessFailed, "%s", needed)
	}
	if end != nil {
		result.Usage = a.consumed()
		if end.err != nil && ctx.Err() != nil { // the same cause may have ended the agent
			return penstock.Result{Usage: result.Usage}, context.Cause(ctx)
		}
		return result, nil
	}
	if asked != nil && asked.refused && a.endsItself(ctx, responded) {
		result.Usage = a.consumed()
		return result, nil
	}
	stopped := a.cancel(ctx, call, responded)
	result.Usage = a.consumed()
	switch {
	case ctx.Err() != nil:
		return penstock.Result{Usage: result.Usage}, context.Cause(ctx)
	case result.State == penstock.StateFailed:
		return result, nil
	case !stopped:
		return result, ErrInterruptIgnored
	case result.State == penstock.StateBlocked:
		return result, nil
	}
	return result, ErrInterrupted
}

// await waits for the agent's response to the prompt. Without it, the turn must be cancelled: because of
// ctx or interrupt, of a question, or of an MCP server that the run needs and that does not work.
func (a *acpAgent) await(
	ctx context.Context, responded <-chan promptResult, interrupt <-chan struct{},
) (end *promptResult, asked *question, needed string) {
	look := time.NewTicker(reportEvery)
	defer look.Stop()
	for {
		select {
		case r := <-responded:
			return &r, nil, a.checkServers()
		case <-ctx.Done():
			return nil, nil, ""
		case <-interrupt:
			return nil, nil, ""
		case q := <-a.question:
			return nil, &q, ""
		case <-look.C:
			if needed = a.checkServers(); needed != "" {
				return nil, nil, needed
			}
		}
	}
}

// endsItself waits for an agent that ends its turn without a cancel.
func (a *acpAgent) endsItself(ctx context.Context, responded <-chan promptResult) bool {
	late := time.NewTimer(cancelTime)
	defer late.Stop()
	select {
	case end := <-responded:
		a.over(false)
		a.addTokens(end.response)
		return end.err == nil
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// cancel asks the agent to end its turn, and waits for a short time. It returns false if the agent
// does not react or has ended. An agent that responds with an error is still usable.
func (a *acpAgent) cancel(ctx, call context.Context, responded <-chan promptResult) (stopped bool) {
	defer a.over(true)
	limit := cancelTime
	if errors.Is(context.Cause(ctx), penstock.ErrLeaseLost) {
		limit = cancelledTime
	}
	timeout, stop := context.WithTimeout(call, limit)
	defer stop()
	ticker := time.NewTicker(cancelEvery)
	defer ticker.Stop()
	for {
		_ = a.client.Cancel(timeout, a.id) // fails only if the agent has ended or does not react
		select {
		case end := <-responded:
			if end.err == nil {
				a.addTokens(end.response)
			}
			var refused *acp.Error
			return end.err == nil || errors.As(end.err, &refused) && ctx.Err() == nil
		case <-timeout.Done():
			return false
		case <-ticker.C: // the first may have arrived before the prompt, which another goroutine sends
		}
	}
}

// over closes the open messages and actions of the turn.
func (a *acpAgent) over(cut bool) {
	a.did.end(cut)
	a.said.end()
}

// ended returns the result of a turn from the agent's response.
func (a *acpAgent) ended(r acp.PromptResponse, err error) penstock.Result {
	a.over(err != nil || r.StopReason == acp.StopCancelled)
	if err != nil {
		return a.failure(err)
	}
	a.addTokens(r)
	switch r.StopReason {
	case acp.StopEndTurn:
		var blocked acp.Blocked
		if r.Meta.Read(acp.MetaBlocked, &blocked) {
			return penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: blocked.Question}}
		}
		return penstock.Result{State: penstock.StateSucceeded}
	case acp.StopRefusal:
		return failed("", "The agent refused to continue (%s).", r.StopReason)
	case acp.StopMaxTokens:
		return failed("", "The agent reached the token limit of its model (%s).", r.StopReason)
	case acp.StopMaxTurnRequests:
		return failed("", "The agent reached the limit of requests in one turn (%s).", r.StopReason)
	case acp.StopCancelled:
		return failed(
			penstock.CodeAgentProcessFailed, "The agent reported that its turn was cancelled, but nobody cancelled it.",
		)
	}
	return failed(
		penstock.CodeAgentProcessFailed, "The agent stopped for an unknown reason: %q.", r.StopReason,
	)
}

// turnUsage is the usage of the active turn.
type turnUsage struct {
	model            string
	tokens           penstock.TokenUsage
	cost, costBefore float64 // costs of the session in US dollars: now, and before this turn
	known, priced    bool
}

// consumed returns the usage of the turn, or nil if the agent does not report it.
func (a *acpAgent) consumed() *penstock.TurnUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.usage
	if !u.known && !u.priced {
		return nil
	}
	turn := penstock.TurnUsage{ModelID: u.model, Tokens: u.tokens}
	if u.priced {
		cost := max(0, u.cost-u.costBefore)
		turn.CostUSD = &cost
	}
	turn = turn.Bounded()
	return &turn
}

// addTokens sets the tokens from the response to the prompt.
func (a *acpAgent) addTokens(r acp.PromptResponse) {
	if !a.tokens(r.Meta) && r.Usage != nil {
		a.mu.Lock()
		a.usage.known = true
		a.usage.model = a.session.Model
		a.usage.tokens = penstock.TokenUsage{
			Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite,
		}
		a.mu.Unlock()
	}
}

// tokens reads the tokens of the turn so far from the built-in agent's metadata.
func (a *acpAgent) tokens(meta acp.Meta) bool {
	var u acp.TurnUsage
	if !meta.Read(acp.MetaUsage, &u) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.usage.known, a.usage.model, a.usage.tokens = true, u.ModelID, u.TokenUsage
	return true
}

// update handles one update of the session.
func (a *acpAgent) update(ctx context.Context, n acp.SessionNotification) {
	defer a.contain(ctx, "update", nil)
	a.mu.Lock()
	listens := a.listens
	a.mu.Unlock()
	if !listens || n.SessionID != a.id {
		return
	}
	switch u := n.Update; {
	case u.Chunk != nil && u.Kind == acp.UpdateAgentMessage:
		if text := contentText(u.Chunk.Content); !a.program.noise(text) {
			a.said.say(u.Chunk.MessageID, false, text)
		}
	case u.Chunk != nil && u.Kind == acp.UpdateAgentThought:
		a.said.say(u.Chunk.MessageID, true, contentText(u.Chunk.Content))
	case u.ToolCall != nil:
		a.did.see(*u.ToolCall, u.Kind == acp.UpdateToolCall)
	case u.Plan != nil:
		a.said.add(penstock.NewDraft(penstock.EventPlan, penstock.Now(), planData(*u.Plan)))
	case u.Usage != nil:
		a.spend(*u.Usage)
	case u.Chunk != nil, u.Commands != nil, u.Mode != nil, u.ConfigOptions != nil, u.Info != nil:
		// Ignored: an echo of the prompt, and options for a user interface.
	default:
		a.said.event(eventName(string(u.Kind)), unknownData(u.Raw))
	}
}

// spend records the usage of the session so far, and reports it.
func (a *acpAgent) spend(u acp.UsageUpdate) {
	known := a.tokens(u.Meta)
	if u.Cost != nil && strings.EqualFold(u.Cost.Currency, "USD") && u.Cost.Amount >= 0 {
		a.mu.Lock()
		a.usage.cost, a.usage.priced = u.Cost.Amount, true
		a.mu.Unlock()
		known = true
	}
	if turn := a.consumed(); known && turn != nil {
		a.session.Consumed(*turn)
	}
}

func planData(p acp.Plan) penstock.PlanData {
	data := penstock.PlanData{Entries: []penstock.PlanEntry{}}
	for _, e := range p.Entries {
		data.Entries = append(data.Entries, penstock.PlanEntry{
			Content:  e.Content,
			Status:   oneOf(e.Status, "pending", "in_progress", "completed"),
			Priority: oneOf(e.Priority, "medium", "high", "low"),
		})
	}
	return data
}

// oneOf returns value if it is in values, and otherwise the first of them.
func oneOf(value string, values ...string) string {
	if slices.Contains(values, value) {
		return value
	}
	return values[0]
}

// eventName returns a kind of update as the name of an event.
func eventName(kind string) string {
	const most = 100
	if kind == "" {
		return "unknown"
	}
	return kind[:runeCut([]byte(kind), most)]
}

// unknownData returns the fields of an update of an unknown kind, except the kind.
func unknownData(update json.RawMessage) map[string]any {
	data := map[string]any{}
	for name, value := range readRaw(update) {
		if name != "sessionUpdate" && name != "_meta" {
			data[name] = value
		}
	}
	return data
}
