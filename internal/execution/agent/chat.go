package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/penstock-dev/penstock"
)

// chatChunk is an event of a Chat Completions stream as compatible servers send it: each field that
// differs between servers is read leniently.
type chatChunk struct {
	Object  string                  `json:"object"`
	Error   json.RawMessage         `json:"error"`
	Detail  json.RawMessage         `json:"detail"`
	Choices []chatChoice            `json:"choices"`
	Usage   *openai.CompletionUsage `json:"usage"`
}

type chatChoice struct {
	Delta        chatDelta       `json:"delta"`
	Message      *chatDelta      `json:"message"` // of a server that does not stream
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
}

type chatDelta struct {
	Content          json.RawMessage `json:"content"` // a text, or a list of blocks
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"` // DeepSeek, Qwen, older vLLM
	Reasoning        json.RawMessage `json:"reasoning"`         // vLLM, Ollama, OpenRouter
	ReasoningDetails json.RawMessage `json:"reasoning_details"` // OpenRouter
	ToolCalls        []chatCallPiece `json:"tool_calls"`
}

// chatResponse assembles a response from its chunks.
type chatResponse struct {
	provider string
	header   http.Header
	emit     func(partKind, string)

	text, thought, refusal strings.Builder
	assembly               *chatCalls
	finish                 string
	done                   bool // the server said so
	usage                  openai.CompletionUsage
}

// read reads a stream of events, or the one document of a server that does not stream.
func (a *chatResponse) read(response *http.Response) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "text/html" {
		page, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // what arrived is enough
		return &modelError{provider: a.provider, message: fmt.Sprintf(
			"its address returned a web page and no response of a model: %s; check the base URL of the provider, which often "+
				"ends in /v1", penstock.ErrorText(kind, page),
		)}
	}
	if kind != "text/event-stream" {
		begin, err := io.ReadAll(io.LimitReader(response.Body, maxMessage))
		if err != nil {
			return failure(a.provider, err)
		}
		if text := bytes.TrimSpace(begin); !eventStream().Match(text) { // some send a stream under another type
			a.done = true
			return a.event("", text)
		}
		response.Body = io.NopCloser(bytes.NewReader(begin))
	}
	// An event at the end may lack its empty line.
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(response.Body, strings.NewReader("\n\n")), response.Body}
	response.Header.Set("Content-Type", "text/event-stream")
	events := ssestream.NewDecoder(response)
	for events.Next() {
		event := events.Event()
		data := bytes.TrimSpace(event.Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			a.done = true
			return nil
		}
		if err := a.event(event.Type, data); err != nil {
			return err
		}
	}
	if err := events.Err(); err != nil {
		return failure(a.provider, err)
	}
	return nil
}

var eventStream = penstock.LazyRegexp(`^(data|event|id|retry)?:`)

// event reads one event. An error in it ends the response.
func (a *chatResponse) event(kind string, data []byte) error {
	var chunk chatChunk
	if len(data) == 0 {
		return nil
	}
	if json.Unmarshal(data, &chunk) != nil && (kind == "error" || !json.Valid(data)) {
		return a.failure(0, penstock.ErrorText(a.header.Get("Content-Type"), data))
	}
	problem := chunk.Error
	if len(chunk.Choices) > 0 && !isSet(problem) {
		problem = chunk.Choices[0].Error
	}
	if !isSet(problem) && len(chunk.Choices) == 0 && (kind == "error" || chunk.Object == "error" || isSet(chunk.Detail)) {
		problem = data
	}
	if isSet(problem) {
		return a.streamError(problem)
	}
	if chunk.Usage != nil {
		a.usage = *chunk.Usage
	}
	if len(chunk.Choices) == 0 {
		return nil
	}
	choice := chunk.Choices[0]
	delta := choice.Delta
	if choice.Message != nil {
		delta = *choice.Message
	}
	a.add(delta)
	a.finish = cmp.Or(choice.FinishReason, a.finish)
	if a.finish == "error" { // OpenRouter, without saying more
		return a.failure(0, "the response of the model ended with an error")
	}
	return nil
}

func (a *chatResponse) add(delta chatDelta) {
	words, thought := contentBlocks(delta.Content)
	for _, field := range []json.RawMessage{delta.ReasoningContent, delta.Reasoning, delta.ReasoningDetails} {
		if thought == "" { // servers send the same thought in several fields
			more, own := contentBlocks(field)
			thought = more + own
		}
	}
	if thought != "" {
		a.thought.WriteString(thought)
		a.emit(partThought, thought)
	}
	if words != "" {
		a.text.WriteString(words)
		a.emit(partText, words)
	}
	if delta.Refusal != "" {
		a.refusal.WriteString(delta.Refusal)
		a.emit(partText, delta.Refusal)
	}
	for _, piece := range delta.ToolCalls {
		a.assembly.add(piece)
	}
}

// contentBlocks returns the texts and the thoughts in a content: a text, or a list of blocks. A block
// of Mistral's models has its thoughts as a list of blocks.
func contentBlocks(content json.RawMessage) (words, thoughts string) {
	var text string
	if !isSet(content) || json.Unmarshal(content, &text) == nil {
		return text, ""
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		blocks = []json.RawMessage{content}
	}
	for _, raw := range blocks {
		if text = ""; json.Unmarshal(raw, &text) == nil {
			words += text
			continue
		}
		var block struct {
			Type     string          `json:"type"`
			Text     string          `json:"text"`
			Summary  json.RawMessage `json:"summary"`
			Thinking json.RawMessage `json:"thinking"`
		}
		if json.Unmarshal(raw, &block) != nil {
			continue // a block of a type that is not text
		}
		inner, deeper := contentBlocks(block.Thinking)
		summary, _ := contentBlocks(block.Summary)
		thoughts += inner + deeper + summary
		if strings.Contains(block.Type, "reason") || strings.Contains(block.Type, "think") {
			thoughts += block.Text
		} else {
			words += block.Text
		}
	}
	return words, thoughts
}

// isSet reports whether a field is there, and says something.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && !slices.Contains([]string{"null", "{}", "[]", `""`, "false"}, string(raw))
}

// lastingError matches the codes and types of errors that another attempt does not change.
var lastingError = penstock.LazyRegexp(
	`invalid_request|authentication|permission|insufficient_quota|context_length|not_found|BadRequest`,
)

// streamError is an error in a response with the status 200.
func (a *chatResponse) streamError(problem json.RawMessage) error {
	var known struct {
		Code   json.RawMessage `json:"code"`
		Status json.RawMessage `json:"status"`
		Type   string          `json:"type"`
	}
	_ = json.Unmarshal(problem, &known) // a text has none of them
	status := 0
	for _, raw := range []json.RawMessage{known.Code, known.Status} {
		n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
		if status == 0 && err == nil && n >= 400 && n < 600 {
			status = n
		}
	}
	failed := a.failure(status, cmp.Or(penstock.ErrorText("application/json", problem), "it returned an error"))
	words := string(known.Code) + known.Type
	if lastingError().MatchString(words) {
		failed.transient = false
	}
	return failed
}

func (a *chatResponse) failure(status int, message string) *modelError {
	if status != 0 {
		return httpFailure(a.provider, status, message, a.header)
	}
	return &modelError{provider: a.provider, message: message, transient: true}
}

// incomplete returns an error unless the whole response came. A server that says that it is done need
// not give a reason, if it has said something.
func (a *chatResponse) incomplete() error {
	if a.finish != "" {
		return nil
	}
	said := a.text.Len()+a.refusal.Len() > 0 || len(a.assembly.calls) > 0
	if a.done && said && a.assembly.whole() {
		return nil
	}
	if a.done {
		return failure(a.provider, errors.New("the response of the model is empty or incomplete"))
	}
	return failure(a.provider, errors.New("the response of the model ended too early"))
}

func (a *chatResponse) reply() reply {
	var parts []part
	if a.thought.Len() > 0 {
		parts = append(parts, part{Kind: partThought, Text: a.thought.String(), Provider: openaiID})
	}
	if said := a.text.String() + a.refusal.String(); said != "" {
		parts = append(parts, text(said))
	}
	r := reply{usage: openaiUsage(a.usage)}
	switch {
	case a.refusal.Len() > 0 || a.finish == "content_filter":
		r.stop = stopRefused
	case a.finish == "length":
		r.stop = stopLength
	}
	r.parts = slices.Concat(parts, a.assembly.parts())
	return r
}
