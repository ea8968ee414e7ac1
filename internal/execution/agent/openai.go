package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/penstock-dev/penstock"
)

// openaiURL is OpenAI's own address.
const openaiURL = "https://api.openai.com/v1/"

// openaiModel is a client of OpenAI's Chat Completions API, or of a compatible one.
type openaiModel struct {
	client openai.Client
	name   string // of the provider
}

// newOpenAI does not use the library's constructor, because that reads settings from the environment.
func newOpenAI(p Provider, client *http.Client) openaiModel {
	return openaiModel{name: p.Name, client: openai.Client{Options: []option.RequestOption{
		option.WithBaseURL(cmp.Or(p.BaseURL, openaiURL)),
		option.WithHTTPClient(client),
		option.WithAPIKey(p.Key),
		option.WithMaxRetries(0), // the turn retries itself
	}}}
}

func (m openaiModel) stream(ctx context.Context, r request, emit func(partKind, string)) (reply, error) {
	params := openai.ChatCompletionNewParams{
		Model:         r.model,
		Messages:      openaiMessages(r.system, r.history),
		Tools:         openaiTools(r.tools),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	var raw *http.Response
	err := m.client.Post(ctx, "chat/completions", params, &raw, option.WithJSONSet("stream", true))
	if err != nil {
		return reply{}, m.failure(err)
	}
	defer raw.Body.Close()
	response := chatResponse{provider: m.name, header: raw.Header, emit: emit, assembly: newChatCalls(r.tools)}
	err = response.read(raw)
	if err == nil {
		err = response.incomplete()
	}
	if err != nil {
		return reply{usage: openaiUsage(response.usage)}, err
	}
	return response.reply(), nil
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

func (m openaiModel) failure(err error) error {
	e, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return failure(m.name, err)
	}
	header := http.Header{}
	var body []byte
	if e.Response != nil {
		header = e.Response.Header
		body, _ = io.ReadAll(e.Response.Body) // the library keeps it in memory
	}
	message := cmp.Or(penstock.ErrorText(header.Get("Content-Type"), body), e.Message, http.StatusText(e.StatusCode))
	failed := httpFailure(m.name, e.StatusCode, message, header)
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
