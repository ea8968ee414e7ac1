package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/anthropics/anthropic-sdk-go/shared"

	"github.com/penstock-dev/penstock"
)

// maxOutput is how many tokens an answer may have; Anthropic's API wants a number.
const maxOutput = 32_000

// anthropicModel talks to Anthropic's Messages API.
type anthropicModel struct{ client anthropic.Client }

func newAnthropic(p Provider, client *http.Client) anthropicModel {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithHTTPClient(client),
		option.WithAPIKey(p.Key),
		option.WithMaxRetries(0), // the turn does that
	}
	if p.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(p.BaseURL))
	}
	return anthropicModel{anthropic.NewClient(opts...)}
}

func (m anthropicModel) stream(ctx context.Context, r request, emit func(partKind, string)) (reply, error) {
	params := anthropic.MessageNewParams{
		Model:     r.model,
		MaxTokens: maxOutput,
		System:    []anthropic.TextBlockParam{{Text: r.system, CacheControl: anthropic.NewCacheControlEphemeralParam()}},
		Messages:  anthropicMessages(r.history),
		Tools:     anthropicTools(r.tools),
	}
	events := m.client.Messages.NewStreaming(ctx, params)
	defer events.Close()
	var answer anthropic.Message
	ended := false
	for events.Next() {
		event := events.Current()
		if err := answer.Accumulate(event); err != nil {
			return anthropicUsed(answer), failure(anthropicID, err)
		}
		switch event.Type {
		case "content_block_delta":
			switch event.Delta.Type {
			case "text_delta":
				emit(partText, event.Delta.Text)
			case "thinking_delta":
				emit(partThought, event.Delta.Thinking)
			}
		case "message_stop":
			ended = true
		}
	}
	if err := events.Err(); err != nil {
		return anthropicUsed(answer), anthropicFailure(err)
	}
	whole := anthropicUsed(answer)
	if !ended {
		return whole, failure(anthropicID, errors.New("the response of the model ended too early"))
	}
	whole.parts, whole.stop = anthropicParts(answer), anthropicStop(answer.StopReason)
	return whole, nil
}

// anthropicUsed is what an answer, whole or not, has consumed.
func anthropicUsed(answer anthropic.Message) reply {
	return reply{usage: penstock.TokenUsage{
		Input:      answer.Usage.InputTokens,
		Output:     answer.Usage.OutputTokens,
		CacheRead:  answer.Usage.CacheReadInputTokens,
		CacheWrite: answer.Usage.CacheCreationInputTokens,
	}}
}

func anthropicStop(reason anthropic.StopReason) stop {
	switch reason {
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return stopLength
	case anthropic.StopReasonRefusal:
		return stopRefused
	case anthropic.StopReasonPauseTurn:
		return stopMore
	}
	return stopDone
}

func anthropicFailure(err error) error {
	var e *anthropic.Error
	if !errors.As(err, &e) {
		return failure(anthropicID, err)
	}
	message := cmp.Or(e.RawJSON(), e.Error())
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(e.RawJSON()), &body) == nil {
		message = cmp.Or(body.Error.Message, message)
	}
	header := http.Header{}
	if e.Response != nil {
		header = e.Response.Header
	}
	failed := httpFailure(anthropicID, e.StatusCode, message, header)
	switch e.Type() { // an error within a stream has the status 200
	case shared.ErrorTypeOverloadedError, shared.ErrorTypeAPIError, shared.ErrorTypeRateLimitError,
		shared.ErrorTypeTimeoutError:
		failed.transient = true
	}
	return failed
}

func anthropicParts(answer anthropic.Message) []part {
	var parts []part
	for _, b := range answer.Content {
		switch b.Type {
		case "text":
			if b.Text != "" {
				parts = append(parts, text(b.Text))
			}
		case "thinking":
			parts = append(parts, part{Kind: partThought, Text: b.Thinking, Opaque: b.Signature, Provider: anthropicID})
		case "redacted_thinking":
			parts = append(parts, part{Kind: partThought, Opaque: b.Data, Provider: anthropicID})
		case "tool_use":
			parts = append(parts, part{Kind: partCall, CallID: b.ID, Tool: b.Name, Input: validInput(string(b.Input))})
		}
	}
	return parts
}

func anthropicTools(specs []toolSpec) []anthropic.ToolUnionParam {
	var tools []anthropic.ToolUnionParam
	for _, s := range specs {
		tools = append(tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name:        s.Name,
			Description: anthropic.String(s.Description),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](s.Schema),
		}})
	}
	return tools
}

// anthropicMessages writes the history in Anthropic's form, where results are
// the user's, and marks its end as worth caching.
func anthropicMessages(history []message) []anthropic.MessageParam {
	var messages []anthropic.MessageParam
	for _, m := range history {
		role := anthropic.MessageParamRoleUser
		if m.Role == roleAssistant {
			role = anthropic.MessageParamRoleAssistant
		}
		var blocks []anthropic.ContentBlockParamUnion
		for _, p := range m.Parts {
			if b, ok := anthropicBlock(p); ok {
				blocks = append(blocks, b)
			}
		}
		last := len(messages) - 1
		switch {
		case len(blocks) == 0:
		case last >= 0 && messages[last].Role == role:
			messages[last].Content = append(messages[last].Content, blocks...)
		default:
			messages = append(messages, anthropic.MessageParam{Role: role, Content: blocks})
		}
	}
	if last := len(messages) - 1; last >= 0 {
		blocks := messages[last].Content
		if cache := blocks[len(blocks)-1].GetCacheControl(); cache != nil {
			*cache = anthropic.NewCacheControlEphemeralParam()
		}
	}
	return messages
}

// anthropicBlock is a part as a content block; false for what the API would not
// take: empty texts, and thoughts of another provider.
func anthropicBlock(p part) (anthropic.ContentBlockParamUnion, bool) {
	switch p.Kind {
	case partText:
		return anthropic.NewTextBlock(p.Text), p.Text != ""
	case partImage:
		return anthropic.NewImageBlockBase64(p.MimeType, p.Data), true
	case partThought:
		if p.Text == "" {
			return anthropic.NewRedactedThinkingBlock(p.Opaque), p.Provider == anthropicID
		}
		return anthropic.NewThinkingBlock(p.Opaque, p.Text), p.Provider == anthropicID
	case partCall:
		return anthropic.NewToolUseBlock(p.CallID, p.Input, p.Tool), true
	case partResult:
		return anthropic.NewToolResultBlock(p.CallID, cmp.Or(p.Text, "(no output)"), p.Failed), true
	}
	return anthropic.ContentBlockParamUnion{}, false
}
