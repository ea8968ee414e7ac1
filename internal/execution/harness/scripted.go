package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// ScriptedModel is a model provider that follows a script. It speaks all the APIs of the gateway.
//
// The request alone determines which turn of the script it gets: the number of turns of the model
// in the conversation. Requests without tools, and those for another model, are for the agent itself,
// such as for a title, and get one word.
type ScriptedModel struct {
	Turns []ScriptedTurn
	// Name is the model of the conversation; "" is any.
	Name string

	mu    sync.Mutex
	calls []ModelCall
}

// ScriptedTurn is one turn of the model: a text or a tool call.
type ScriptedTurn struct {
	Text string
	// Tool is what the model calls. If the request has it only inside of a tool that takes code, the model
	// calls it from there.
	Tool  string
	Input map[string]any
	// Namespace is the tool's namespace, for OpenAI's Responses.
	Namespace string
	// Status is an HTTP status instead of a response; 0 sends a response.
	Status int
}

// The tokens that the model reports for each turn.
const (
	ScriptedInput  = 100
	ScriptedOutput = 20
)

// ModelCall is a request to the model.
type ModelCall struct {
	Path  string
	Model string
	Tools []string // by name
	Turn  int
	Body  []byte
}

// Calls lists the requests for a turn so far.
func (m *ScriptedModel) Calls() []ModelCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// scriptRequest holds the relevant parts of a request of any API.
type scriptRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []scriptItem      `json:"messages"`
	Contents []scriptItem      `json:"contents"`
	Input    json.RawMessage   `json:"input"`
	Tools    []json.RawMessage `json:"tools"`
}

type scriptItem struct {
	Role  string            `json:"role"`
	Type  string            `json:"type"`
	Tools []json.RawMessage `json:"tools"` // of additional_tools
}

// items are the items of OpenAI's Responses.
func (r scriptRequest) items() (items []scriptItem) {
	_ = json.Unmarshal(r.Input, &items) // a text has none
	return items
}

// ServeHTTP implements http.Handler.
func (m *ScriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const most = 64 << 20
	body, err := io.ReadAll(io.LimitReader(r.Body, most))
	if err != nil {
		return
	}
	var req scriptRequest
	if len(body) > 0 && json.Unmarshal(body, &req) != nil {
		http.Error(w, "the request is not JSON", http.StatusBadRequest)
		return
	}
	path := r.URL.Path
	call := req.call(path, body)
	a := &scriptReply{w: w, ModelCall: call}
	switch {
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		a.whole(jsonObject{"input_tokens": ScriptedInput, "totalTokens": ScriptedInput})
		return
	case strings.HasSuffix(path, "/models"):
		a.whole(jsonObject{"object": "list", "data": []jsonObject{}, "models": []jsonObject{}})
		return
	case strings.HasSuffix(path, "/chat/completions"):
		a.send = a.chat
	case strings.HasSuffix(path, "/responses"):
		a.send = a.responses
	case strings.HasSuffix(path, "/messages"):
		a.send = a.messages
	case strings.HasSuffix(path, "enerateContent"):
		req.Stream = strings.HasSuffix(path, ":streamGenerateContent")
		a.send = a.gemini
	default:
		http.NotFound(w, r)
		return
	}
	a.stream = req.Stream
	a.write(m.next(call))
}

// ReadModelCall reads a request to a model, of any API of the gateway.
func ReadModelCall(path string, body []byte) ModelCall {
	var req scriptRequest
	_ = json.Unmarshal(body, &req) // then the request names no model, and has no turns
	return req.call(path, body)
}

func (r scriptRequest) call(path string, body []byte) ModelCall {
	call := ModelCall{Path: path, Model: r.Model, Tools: r.toolNames(), Turn: r.turns(), Body: body}
	if last := path[strings.LastIndex(path, "/")+1:]; strings.Contains(last, ":") { // Gemini's API
		call.Model, _, _ = strings.Cut(last, ":")
	}
	return call
}

// next returns the turn for a request.
func (m *ScriptedModel) next(call ModelCall) ScriptedTurn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
	switch {
	case len(call.Tools) == 0, m.Name != "" && m.Name != call.Model:
		return ScriptedTurn{Text: "Scripted"}
	case call.Turn < len(m.Turns):
		return m.Turns[call.Turn]
	}
	return ScriptedTurn{Text: "The script is over."}
}

// turns counts the turns of the model.
func (r scriptRequest) turns() int {
	n := 0
	for _, item := range slices.Concat(r.Messages, r.Contents, r.items()) {
		if item.Role == "assistant" || item.Role == "model" || item.Type == "function_call" ||
			item.Type == "custom_tool_call" {
			n++
		}
	}
	return n
}

// toolNames returns the names of the tools in the request.
func (r scriptRequest) toolNames() []string {
	names := toolNames(r.Tools)
	for _, item := range r.items() {
		names = append(names, toolNames(item.Tools)...)
	}
	return names
}

func toolNames(tools []json.RawMessage) []string {
	var names []string
	for _, raw := range tools {
		var tool struct {
			Name     string            `json:"name"`
			Tools    []json.RawMessage `json:"tools"` // of a namespace
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
			Declarations []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		}
		_ = json.Unmarshal(raw, &tool) // a tool of another form has no name
		for _, name := range []string{tool.Name, tool.Function.Name} {
			if name != "" && tool.Tools == nil {
				names = append(names, name)
			}
		}
		for _, d := range tool.Declarations {
			names = append(names, d.Name)
		}
		names = append(names, toolNames(tool.Tools)...)
	}
	return names
}

// scriptReply writes a turn in the form of one API.
type scriptReply struct {
	ModelCall

	w      http.ResponseWriter
	stream bool
	send   func(ScriptedTurn)
}

type jsonObject = map[string]any

func (a *scriptReply) write(t ScriptedTurn) {
	if t.Status != 0 {
		a.w.Header().Set("Content-Type", "application/json")
		a.w.WriteHeader(t.Status)
		_, _ = fmt.Fprintf(a.w, `{"type":"error","error":{"type":"api_error","message":"scripted status %d","code":%d}}`,
			t.Status, t.Status)
		return
	}
	if a.stream {
		a.w.Header().Set("Content-Type", "text/event-stream")
	}
	a.send(t)
}

func (a *scriptReply) whole(v any) {
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = a.w.Write(jsonText(v))
}

// event sends a server-sent event.
func (a *scriptReply) event(name string, data any) {
	if name != "" {
		_, _ = fmt.Fprintf(a.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", jsonText(data))
	_ = http.NewResponseController(a.w).Flush()
}

func jsonText(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("harness: a scripted turn is not JSON: " + err.Error())
	}
	return data
}

func (a *scriptReply) id(prefix string) string { return fmt.Sprintf("%s_%d", prefix, a.Turn) }
