package harness

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/acp"
)

// answer is how an agent answered a prompt.
type answer struct {
	response acp.PromptResponse
	err      error
}

// Prompt implements Agent.
func (a *acpAgent) Prompt(ctx context.Context, text string, interrupt <-chan struct{}) (penstock.Result, error) {
	a.mu.Lock()
	a.usage = turnUsage{costBefore: a.usage.cost, cost: a.usage.cost}
	a.mu.Unlock()

	a.knows = true
	call, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	answered := make(chan answer, 1)
	go func() {
		response, err := a.client.Prompt(call, a.id, acp.Text(text))
		answered <- answer{response, err}
	}()
	select {
	case end := <-answered:
		result := a.ended(end.response, end.err)
		result.Usage = a.consumed()
		if end.err != nil && ctx.Err() != nil { // what ends us may have ended the agent as well
			return penstock.Result{Usage: result.Usage}, context.Cause(ctx)
		}
		return result, nil
	case <-ctx.Done():
	case <-interrupt:
	}
	stopped := a.cancel(ctx, call, answered)
	result := penstock.Result{Usage: a.consumed()}
	switch {
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	case !stopped:
		return result, ErrInterruptIgnored
	}
	return result, ErrInterrupted
}

// cancel asks the agent to end its turn and waits for that, not for long; false: it
// is deaf, or gone. An agent that refuses with an error of its own is there still.
func (a *acpAgent) cancel(ctx, call context.Context, answered <-chan answer) (stopped bool) {
	defer a.over(true)
	timeout, stop := context.WithTimeout(call, cancelTime)
	defer stop()
	again := time.NewTicker(cancelEvery)
	defer again.Stop()
	for {
		_ = a.client.Cancel(timeout, a.id) // fails only where the agent is gone or deaf
		select {
		case end := <-answered:
			if end.err == nil {
				a.addTokens(end.response)
			}
			var refused *acp.Error
			return end.err == nil || errors.As(end.err, &refused) && ctx.Err() == nil
		case <-timeout.Done():
			return false
		case <-again.C: // the first may have come before the prompt, which another goroutine sends
		}
	}
}

// over closes what the turn has left open.
func (a *acpAgent) over(cut bool) {
	a.did.end(cut)
	a.said.end()
}

// ended is the result of a turn by what the agent answered.
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

// turnUsage is what the turn under way has consumed.
type turnUsage struct {
	model            string
	tokens           penstock.TokenUsage
	cost, costBefore float64 // in US dollars, of the session: now, and before this turn
	known, priced    bool
}

// consumed is what the turn has consumed, nil where the agent does not say.
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

// addTokens takes the tokens that came with the answer to the prompt.
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

// tokens takes the tokens of the turn so far as the built-in agent says them.
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

// update takes one piece of news about the session.
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
		a.said.say(u.Chunk.MessageID, false, contentText(u.Chunk.Content))
	case u.Chunk != nil && u.Kind == acp.UpdateAgentThought:
		a.said.say(u.Chunk.MessageID, true, contentText(u.Chunk.Content))
	case u.ToolCall != nil:
		a.did.see(*u.ToolCall, u.Kind == acp.UpdateToolCall)
	case u.Plan != nil:
		a.said.add(penstock.NewDraft(penstock.EventPlan, penstock.Now(), planData(*u.Plan)))
	case u.Usage != nil:
		a.spend(*u.Usage)
	case u.Chunk != nil, u.Commands != nil, u.Mode != nil, u.ConfigOptions != nil, u.Info != nil:
		// The agent's own affairs: an echo of the prompt, what its user
		// interface could offer.
	default:
		a.said.event(eventName(string(u.Kind)), unknownData(u.Raw))
	}
}

// spend takes what the session has consumed so far, and passes it on.
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

// oneOf is value where it is one of the given ones, else the first of them.
func oneOf(value string, values ...string) string {
	if slices.Contains(values, value) {
		return value
	}
	return values[0]
}

// eventName is a kind of update as the name of an event.
func eventName(kind string) string {
	const most = 100
	if kind == "" {
		return "unknown"
	}
	return kind[:runeCut([]byte(kind), most)]
}

// unknownData is what an update of an unknown kind holds, beside its kind.
func unknownData(update json.RawMessage) map[string]any {
	data := map[string]any{}
	for name, value := range readRaw(update) {
		if name != "sessionUpdate" && name != "_meta" {
			data[name] = value
		}
	}
	return data
}
