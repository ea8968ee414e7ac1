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

// maxOutput limits the tokens of a response. Anthropic's API requires a number.
const maxOutput = 32_000

// anthropicModel talks to Anthropic's Messages API.
type anthropicModel struct{ client anthropic.Client }

func newAnthropic(p Provider, client *http.Client) anthropicModel {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithHTTPClient(client),
		option.WithAPIKey(p.Key),
		option.WithMaxRetries(0), // the turn retries itself
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
	var response anthropic.Message
	ended := false
	for events.Next() {
		event := events.Current()
		if err := response.Accumulate(event); err != nil {
			return anthropicUsed(response), failure(anthropicID, err)
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
		return anthropicUsed(response), anthropicFailure(err)
	}
	whole := anthropicUsed(response)
	if !ended {
		return whole, failure(anthropicID, errors.New("the response of the model ended too early"))
	}
	whole.parts, whole.stop = anthropicParts(response), anthropicStop(response.StopReason)
	return whole, nil
}

// anthropicUsed returns what a response has consumed, even an incomplete one.
func anthropicUsed(response anthropic.Message) reply {
	return reply{usage: penstock.TokenUsage{
		Input:      response.Usage.InputTokens,
		Output:     response.Usage.OutputTokens,
		CacheRead:  response.Usage.CacheReadInputTokens,
		CacheWrite: response.Usage.CacheCreationInputTokens,
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

func anthropicParts(response anthropic.Message) []part {
	var parts []part
	for _, b := range response.Content {
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

// anthropicMessages converts the history to Anthropic's form, where results belong to user
// messages. It marks the end for caching.
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

// anthropicBlock converts a part to a content block. It returns false for parts that the API would
// reject: empty texts, and thoughts of another provider.
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
