package agent

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	// maxContext limits the prompt in tokens, even for models with a larger context: responses to
	// longer prompts are slow, expensive and worse.
	maxContext = 200_000

	// usualContext is the assumed context of models outside the catalog.
	usualContext = 128_000

	// maxStepBytes limits the results of one response's calls in the prompt.
	maxStepBytes = 192 << 10

	maxAttempts = 5
	maxPause    = time.Minute // without the header Retry-After

	// maxRetryAfter is the longest wait that a provider may ask for.
	maxRetryAfter = 10 * time.Minute

	// brokenResponse marks the text of a response that did not come to its end. The model does not see
	// that text.
	brokenResponse = "This response of the model was interrupted and does not count."
)

// prompt does one turn. It saves the history after every step, so that the session can be loaded
// with all finished steps after a crash.
func (s *session) prompt(ctx context.Context, blocks []acp.ContentBlock) (acp.PromptResponse, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.agent.usable(s.model()); err != nil {
		return acp.PromptResponse{}, err
	}
	if err := s.change(func(saved *savedSession) {
		saved.History = append(closeCalls(saved.History), userMessage(blocks))
	}); err != nil {
		return acp.PromptResponse{}, err
	}
	t := turn{session: s}
	stop, err := t.run(ctx)
	response := acp.PromptResponse{StopReason: stop, Meta: acp.NewMeta(acp.MetaUsage, t.usage())}
	if t.question != "" {
		response.Meta.With(acp.MetaBlocked, acp.Blocked{Question: t.question})
	}
	return response, err
}

// turn is the work on one prompt.
type turn struct {
	session  *session
	modelID  string // of the latest response
	tokens   penstock.TokenUsage
	context  int64 // tokens of the latest prompt and its response
	added    int   // bytes of tool results since then
	question string
}

func (t *turn) run(ctx context.Context) (acp.StopReason, error) {
	s := t.session
	for range s.agent.cfg.MaxSteps {
		if full, err := t.makeRoom(); err != nil || full {
			return acp.StopMaxTokens, err
		}
		if err := s.checkServers(ctx); err != nil {
			return "", err
		}
		response, err := t.ask(ctx)
		if err != nil {
			return "", err
		}
		if err := s.change(func(saved *savedSession) {
			if len(response.parts) > 0 {
				saved.History = append(saved.History, message{Role: roleAssistant, Parts: response.parts})
			}
		}); err != nil {
			return "", err
		}
		t.reportUsage(ctx, response)
		switch response.stop {
		case stopRefused:
			return acp.StopRefusal, nil
		case stopLength:
			return acp.StopMaxTokens, nil
		case stopMore:
			continue
		}
		calls := message{Parts: response.parts}.calls()
		if len(calls) == 0 {
			return acp.StopEndTurn, nil
		}
		if err := t.callAll(ctx, calls); err != nil {
			return "", err
		}
		if t.question != "" {
			return acp.StopEndTurn, nil
		}
	}
	return acp.StopMaxTurnRequests, nil
}

// callAll runs the calls of a response, one after the other. A question to the user has no result
// until the next prompt.
func (t *turn) callAll(ctx context.Context, calls []part) error {
	room := maxStepBytes
	for _, c := range calls {
		r, err := t.session.invoke(ctx, c)
		if err != nil {
			return err
		}
		if r.ask != "" {
			t.question = r.ask
			continue
		}
		r.text = cut(r.text, max(room, 4<<10))
		room -= len(r.text)
		t.added += len(r.text)
		if err := t.session.change(func(saved *savedSession) {
			saved.History = addResults(saved.History, part{
				Kind: partResult, CallID: c.CallID, Tool: c.Tool, Text: r.text, Failed: r.failed,
			})
		}); err != nil {
			return err
		}
	}
	return nil
}

// ask requests the model's next response. It retries a few times if the model is not available. The
// client keeps the text of a broken response, so it gets a mark, and the next attempt begins a new message.
func (t *turn) ask(ctx context.Context) (reply, error) {
	s := t.session
	t.modelID = s.model()
	m, name, err := s.agent.model(ctx, t.modelID)
	if err != nil {
		return reply{}, err
	}
	pause := s.agent.cfg.Backoff
	for attempt := 1; ; attempt++ {
		messageID, spoke := uuid.NewString(), false
		response, err := m.stream(ctx, request{
			model: name, system: s.systemPrompt(), tools: s.specs, history: s.saved.History,
		}, func(kind partKind, text string) {
			spoke = spoke || kind == partText
			s.say(ctx, kind, text, messageID)
		})
		if err == nil {
			ownIDs(response.parts, s.saved.History)
			return response, nil
		}
		t.spend(ctx, response.usage) // the provider also charges for a broken response
		if ctx.Err() != nil {
			return reply{}, context.Cause(ctx)
		}
		failed, ok := errors.AsType[*modelError](err)
		if !ok {
			return reply{}, err
		}
		if spoke {
			s.say(ctx, partText, "\n\n["+brokenResponse+"]", messageID)
		}
		if failed.transient && failed.retryAfter > maxRetryAfter {
			failed.transient, failed.message = false, failed.closedUntil()
		}
		if !failed.transient || attempt == maxAttempts {
			return reply{}, failed.forClient(t.modelID, attempt)
		}
		wait := max(min(pause, maxPause), failed.retryAfter)
		s.agent.cfg.Log.Warn("the model is not available; retrying",
			"model", t.modelID, "attempt", attempt, "pause", wait, "error", failed)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
		pause *= 2
	}
}

// contextLimit returns the maximum number of tokens of a prompt to a model.
func contextLimit(modelID string) int64 {
	limit := int64(usualContext)
	if m, ok := penstock.LookupModel(modelID); ok && m.PromptLimit > 0 {
		limit = m.PromptLimit
	}
	return min(limit, maxContext)
}

// makeRoom removes old tool output before the prompt becomes too long. full reports whether the
// prompt is still too long.
func (t *turn) makeRoom() (full bool, err error) {
	limit := contextLimit(t.session.model())
	if t.context == 0 {
		t.context = estimate(t.session.saved.History)
	}
	expected := t.context + int64(t.added)/charToken
	if expected <= limit*3/4 {
		return false, nil
	}
	excess := expected - limit/2
	saved := int64(0)
	err = t.session.change(func(s *savedSession) {
		for _, keep := range []int{8, 2} {
			if saved < excess {
				saved += shrink(s.History, keep, excess-saved)
			}
		}
	})
	t.context -= saved
	return expected-saved > limit, err
}

func (t *turn) reportUsage(ctx context.Context, response reply) {
	t.context, t.added = response.usage.Total(), 0
	t.spend(ctx, response.usage)
}

// spend counts what a response has consumed, and reports it to the client, even in a cancelled
// turn.
func (t *turn) spend(ctx context.Context, usage penstock.TokenUsage) {
	t.tokens = t.tokens.Add(usage)
	if usage.Total() == 0 {
		return
	}
	t.session.update(context.WithoutCancel(ctx), acp.Update{Kind: acp.UpdateUsage, Usage: &acp.UsageUpdate{
		Used: t.context, Size: contextLimit(t.modelID), Meta: acp.NewMeta(acp.MetaUsage, t.usage()),
	}})
}

func (t *turn) usage() acp.TurnUsage {
	provider, _ := splitModel(t.modelID)
	return acp.TurnUsage{TokenUsage: t.tokens, ModelID: t.modelID, Provider: provider}
}
