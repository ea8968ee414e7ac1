package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// fakeModel is a provider's server on loopback that returns scripted responses in the provider's
// wire format.
type fakeModel struct {
	*httptest.Server

	mu        sync.Mutex
	responses []http.HandlerFunc
	requests  []recorded
}

type recorded struct {
	path   string
	header http.Header
	body   string
}

// newFakeModel returns the responses in order, one for each request.
func newFakeModel(t *testing.T, responses ...http.HandlerFunc) *fakeModel {
	t.Helper()
	f := &fakeModel{responses: responses}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		n := len(f.requests)
		f.requests = append(f.requests, recorded{r.URL.Path, r.Header.Clone(), string(body)})
		f.mu.Unlock()
		if n >= len(f.responses) {
			t.Errorf("request %d was not expected: %s", n+1, cut(string(body), 300))
			http.Error(w, "no more responses", http.StatusTeapot)
			return
		}
		f.responses[n](w, r)
	}))
	t.Cleanup(f.CloseClientConnections)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeModel) seen() []recorded {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]recorded(nil), f.requests...)
}

// stream sends lines as an event stream, flushing after each event.
func stream(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range lines {
			fmt.Fprint(w, line, "\n\n")
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
		}
	}
}

// fails responds with a status and a JSON body.
func fails(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// thenHangs sends the start of a stream and then nothing until the client disconnects.
func thenHangs(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(lines...)(w, r)
		<-r.Context().Done()
	}
}

// thenBreaks sends the start of a stream and cuts the connection.
func thenBreaks(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(lines...)(w, r)
		panic(http.ErrAbortHandler)
	}
}

// said is a response of a fake model, for every provider in its format.
type said struct {
	thought string
	text    string
	calls   []saidCall
	stop    string // end, length or refusal; calls imply their own
	lines   int    // only so many events of it; 0 is all
}

type saidCall struct{ id, name, input string }

// provider describes one provider for the tests.
type provider struct {
	name, model string
	config      func(c *Config, url string)
	events      func(said) []string
	key         string // header that carries the key
	path        string
}

func (p provider) stream(s said) http.HandlerFunc { return stream(p.cut(s)...) }

func (p provider) cut(s said) []string {
	events := p.events(s)
	if s.lines > 0 {
		events = events[:s.lines]
	}
	return events
}

var providers = []provider{
	{
		name: "anthropic", model: "anthropic/claude-opus-5-5", key: "X-Api-Key", path: "/v1/messages",
		config: func(c *Config, url string) {
			c.Providers = append(c.Providers, Provider{Name: anthropicID, Key: "the-key", BaseURL: url})
		},
		events: anthropicEvents,
	},
	{
		name: "openai", model: "openai/gpt-6.1-sol", key: "Authorization", path: "/v1/chat/completions",
		config: func(c *Config, url string) {
			c.Providers = append(c.Providers, Provider{Name: openaiID, Key: "the-key", BaseURL: url + "/v1"})
		},
		events: openaiEvents,
	},
	{
		name: "google", model: "google/gemini-4-argon", key: "X-Goog-Api-Key",
		path: "/v1beta/models/gemini-4-argon:streamGenerateContent",
		config: func(c *Config, url string) {
			c.Providers = append(c.Providers, Provider{Name: googleID, Key: "the-key", BaseURL: url})
		},
		events: googleEvents,
	},
}

// Each response reports 100 new input tokens, 20 output tokens, 7 cache reads and, if the provider
// has them, 5 cache writes.

func anthropicEvents(s said) []string {
	var events []string
	add := func(kind string, v map[string]any) {
		v["type"] = kind
		raw, _ := json.Marshal(v)
		events = append(events, fmt.Sprintf("event: %s\ndata: %s", kind, raw))
	}
	block := 0
	content := func(start map[string]any, deltas ...map[string]any) {
		add("content_block_start", map[string]any{"index": block, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", map[string]any{"index": block, "delta": d})
		}
		add("content_block_stop", map[string]any{"index": block})
		block++
	}
	add("message_start", map[string]any{"message": map[string]any{
		"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "stop_reason": nil,
		"stop_sequence": nil,
		"usage": map[string]any{
			"input_tokens": 100, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5, "output_tokens": 1,
		},
	}})
	events = append(events, "event: ping\ndata: {\"type\": \"ping\"}")
	if s.thought != "" {
		content(map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			map[string]any{"type": "thinking_delta", "thinking": s.thought},
			map[string]any{"type": "signature_delta", "signature": "c2ln"})
	}
	if s.text != "" {
		half := len(s.text) / 2
		content(map[string]any{"type": "text", "text": ""},
			map[string]any{"type": "text_delta", "text": s.text[:half]},
			map[string]any{"type": "text_delta", "text": s.text[half:]})
	}
	stop := map[string]string{"": "end_turn", "end": "end_turn", "length": "max_tokens", "refusal": "refusal"}[s.stop]
	for _, c := range s.calls {
		half := len(c.input) / 2
		content(map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": c.input[:half]},
			map[string]any{"type": "input_json_delta", "partial_json": c.input[half:]})
		stop = "tool_use"
	}
	add(
		"message_delta",
		map[string]any{
			"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 20},
		},
	)
	add("message_stop", map[string]any{})
	return events
}

func openaiEvents(s said) []string {
	var events []string
	add := func(delta map[string]any, finish any) {
		raw, _ := json.Marshal(map[string]any{
			"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": nil,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		events = append(events, "data: "+string(raw))
	}
	add(map[string]any{"role": "assistant", "content": ""}, nil)
	if s.thought != "" {
		add(map[string]any{"reasoning_content": s.thought}, nil)
	}
	if s.text != "" {
		half := len(s.text) / 2
		add(map[string]any{"content": s.text[:half]}, nil)
		add(map[string]any{"content": s.text[half:]}, nil)
	}
	finish := map[string]string{"": "stop", "end": "stop", "length": "length", "refusal": "content_filter"}[s.stop]
	for i, c := range s.calls {
		half := len(c.input) / 2
		call := func(m map[string]any) map[string]any { return map[string]any{"tool_calls": []any{m}} }
		add(
			call(
				map[string]any{
					"index": i, "id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": ""},
				},
			),
			nil,
		)
		add(call(map[string]any{"index": i, "function": map[string]any{"arguments": c.input[:half]}}), nil)
		add(call(map[string]any{"index": i, "function": map[string]any{"arguments": c.input[half:]}}), nil)
		finish = "tool_calls"
	}
	add(map[string]any{}, finish)
	return append(events,
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":112,`+
			`"completion_tokens":20,"total_tokens":132,"prompt_tokens_details":{"cached_tokens":7,"cache_write_tokens":5}}}`,
		"data: [DONE]")
}

func googleEvents(s said) []string {
	var events []string
	add := func(part map[string]any, finish string) {
		candidate := map[string]any{"index": 0}
		if part != nil {
			candidate["content"] = map[string]any{"role": "model", "parts": []any{part}}
		}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		raw, _ := json.Marshal(map[string]any{"candidates": []any{candidate}, "usageMetadata": map[string]any{
			"promptTokenCount": 107, "cachedContentTokenCount": 7, "candidatesTokenCount": 15, "thoughtsTokenCount": 5,
		}})
		events = append(events, "data: "+string(raw))
	}
	if s.thought != "" {
		add(map[string]any{"text": s.thought, "thought": true}, "")
	}
	if s.text != "" {
		half := len(s.text) / 2
		add(map[string]any{"text": s.text[:half]}, "")
		add(map[string]any{"text": s.text[half:]}, "")
	}
	for _, c := range s.calls {
		add(map[string]any{
			"functionCall":     map[string]any{"name": c.name, "args": json.RawMessage(c.input)},
			"thoughtSignature": "c2ln",
		}, "")
	}
	add(nil, map[string]string{"": "STOP", "end": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[s.stop])
	return events
}
