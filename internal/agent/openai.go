package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/penstock-dev/penstock"
)

// openaiURL is OpenAI's own address.
const openaiURL = "https://api.openai.com/v1/"

// openaiModel is a client of OpenAI's Chat Completions API, or of a compatible one.
type openaiModel struct{ chat openai.ChatCompletionService }

// newOpenAI creates only the service, because the library's full client would read its settings
// from the environment.
func newOpenAI(p Provider, client *http.Client) openaiModel {
	return openaiModel{openai.NewChatCompletionService(
		option.WithBaseURL(cmp.Or(p.BaseURL, openaiURL)),
		option.WithHTTPClient(client),
		option.WithAPIKey(p.Key),
		option.WithMaxRetries(0), // the turn retries itself
	)}
}

func (m openaiModel) stream(ctx context.Context, r request, emit func(partKind, string)) (reply, error) {
	params := openai.ChatCompletionNewParams{
		Model:         r.model,
		Messages:      openaiMessages(r.system, r.history),
		Tools:         openaiTools(r.tools),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	chunks := m.chat.NewStreaming(ctx, params)
	defer chunks.Close()
	var response openaiResponse
	for chunks.Next() {
		response.add(chunks.Current(), emit)
	}
	if err := chunks.Err(); err != nil {
		return reply{usage: openaiUsage(response.usage)}, openaiFailure(err)
	}
	if response.finish == "" {
		err := errors.New("the response of the model ended too early")
		return reply{usage: openaiUsage(response.usage)}, failure(openaiID, err)
	}
	return response.reply(), nil
}

// openaiResponse assembles a response from its chunks. Compatible servers differ in details, so it
// requires little.
type openaiResponse struct {
	text, thought, refusal string
	calls                  []openaiCall
	finish                 string
	usage                  openai.CompletionUsage
}

type openaiCall struct {
	index           int64
	id, name, input string
}

func (a *openaiResponse) add(chunk openai.ChatCompletionChunk, emit func(partKind, string)) {
	if chunk.JSON.Usage.Valid() {
		a.usage = chunk.Usage
	}
	if len(chunk.Choices) == 0 {
		return
	}
	choice := chunk.Choices[0]
	a.finish = cmp.Or(choice.FinishReason, a.finish)
	delta := choice.Delta
	if delta.Content != "" {
		a.text += delta.Content
		emit(partText, delta.Content)
	}
	if delta.Refusal != "" {
		a.refusal += delta.Refusal
		emit(partText, delta.Refusal)
	}
	// An extension that many servers have.
	var thought string
	if f, ok := delta.JSON.ExtraFields["reasoning_content"]; ok && json.Unmarshal([]byte(f.Raw()), &thought) == nil &&
		thought != "" {
		a.thought += thought
		emit(partThought, thought)
	}
	for _, c := range delta.ToolCalls {
		call := a.call(c.Index)
		call.id = cmp.Or(call.id, c.ID)
		call.name += c.Function.Name
		call.input += c.Function.Arguments
	}
}

func (a *openaiResponse) call(index int64) *openaiCall {
	for i := range a.calls {
		if a.calls[i].index == index {
			return &a.calls[i]
		}
	}
	a.calls = append(a.calls, openaiCall{index: index})
	return &a.calls[len(a.calls)-1]
}

func (a *openaiResponse) reply() reply {
	var parts []part
	if a.thought != "" {
		parts = append(parts, part{Kind: partThought, Text: a.thought, Provider: openaiID})
	}
	if said := a.text + a.refusal; said != "" {
		parts = append(parts, text(said))
	}
	r := reply{usage: openaiUsage(a.usage)}
	switch {
	case a.refusal != "" || a.finish == "content_filter":
		r.stop = stopRefused
	case a.finish == "length":
		r.stop = stopLength
	}
	for _, c := range a.calls {
		parts = append(parts, part{
			Kind: partCall, CallID: cmp.Or(c.id, "call_"+uuid.NewString()), Tool: c.name, Input: validInput(c.input),
		})
	}
	r.parts = parts
	return r
}

// openaiUsage makes the counts disjoint, because the count of the prompt includes cached tokens.
func openaiUsage(u openai.CompletionUsage) penstock.TokenUsage {
	read, written := u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens
	return penstock.TokenUsage{
		Input:      max(0, u.PromptTokens-read-written),
		Output:     u.CompletionTokens,
		CacheRead:  read,
		CacheWrite: written,
	}
}

func openaiFailure(err error) error {
	var e *openai.Error
	if !errors.As(err, &e) {
		return failure(openaiID, err)
	}
	header := http.Header{}
	if e.Response != nil {
		header = e.Response.Header
	}
	failed := httpFailure(openaiID, e.StatusCode, cmp.Or(e.Message, e.RawJSON(), e.Error()), header)
	if e.Code == "insufficient_quota" { // has the status 429, but waiting does not help
		failed.transient = false
	}
	return failed
}

func openaiTools(specs []toolSpec) []openai.ChatCompletionToolUnionParam {
	var tools []openai.ChatCompletionToolUnionParam
	for _, s := range specs {
		var parameters shared.FunctionParameters
		if json.Unmarshal(s.Schema, &parameters) != nil {
			continue // cannot happen: all our schemas are objects
		}
		tools = append(tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: s.Name, Description: openai.String(s.Description), Parameters: parameters,
		}))
	}
	return tools
}

func openaiMessages(system string, history []message) []openai.ChatCompletionMessageParamUnion {
	messages := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)}
	for _, m := range history {
		switch m.Role {
		case roleUser:
			messages = append(messages, openai.UserMessage(openaiContent(m)))
		case roleTool:
			for _, p := range m.Parts {
				messages = append(messages, openai.ToolMessage(cmp.Or(p.Text, "(no output)"), p.CallID))
			}
		case roleAssistant:
			if said, ok := openaiSaid(m); ok {
				messages = append(messages, openai.ChatCompletionMessageParamUnion{OfAssistant: said})
			}
		}
	}
	return messages
}

func openaiContent(m message) []openai.ChatCompletionContentPartUnionParam {
	var content []openai.ChatCompletionContentPartUnionParam
	for _, p := range m.Parts {
		switch p.Kind {
		case partText:
			content = append(content, openai.TextContentPart(p.Text))
		case partImage:
			content = append(content, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
				URL: "data:" + p.MimeType + ";base64," + p.Data,
			}))
		}
	}
	if content == nil {
		content = append(content, openai.TextContentPart("(empty)"))
	}
	return content
}

// openaiSaid converts an earlier response. It returns false if nothing is left, because thoughts
// are not sent back.
func openaiSaid(m message) (*openai.ChatCompletionAssistantMessageParam, bool) {
	var said openai.ChatCompletionAssistantMessageParam
	if words := m.text(); words != "" {
		said.Content.OfString = openai.String(words)
	}
	for _, c := range m.calls() {
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID:       c.CallID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Tool, Arguments: string(c.Input)},
			},
		})
	}
	return &said, said.Content.OfString.Valid() || len(said.ToolCalls) > 0
}
