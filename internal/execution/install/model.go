package install

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

// The usage that the model reports for each turn.
const (
	InputTokens  = 100
	OutputTokens = 20
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

// request holds the relevant parts of a request of any API.
type request struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []message         `json:"messages"`
	Contents []message         `json:"contents"`
	Input    json.RawMessage   `json:"input"`
	Tools    []json.RawMessage `json:"tools"`
}

type message struct {
	Role  string            `json:"role"`
	Type  string            `json:"type"`
	Tools []json.RawMessage `json:"tools"` // of additional_tools
}

// items are the items of OpenAI's Responses.
func (r request) items() (items []message) {
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
	var req request
	if len(body) > 0 && json.Unmarshal(body, &req) != nil {
		http.Error(w, "the request is not JSON", http.StatusBadRequest)
		return
	}
	path := r.URL.Path
	a := &reply{w: w, model: ModelOf(path, body)}
	switch {
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		a.whole(object{"input_tokens": InputTokens, "totalTokens": InputTokens})
		return
	case strings.HasSuffix(path, "/models"):
		a.whole(object{"object": "list", "data": []object{}, "models": []object{}})
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
	a.write(m.next(path, body, req, a))
}

// ModelOf returns the name of the model in a request: Gemini's API has it in the path.
func ModelOf(path string, body []byte) string {
	if last := path[strings.LastIndex(path, "/")+1:]; strings.Contains(last, ":") {
		name, _, _ := strings.Cut(last, ":")
		return name
	}
	var req request
	_ = json.Unmarshal(body, &req) // then the request names no model
	return req.Model
}

// TurnOf returns the number of turns of the model in the conversation of a request.
func TurnOf(body []byte) int {
	var req request
	_ = json.Unmarshal(body, &req) // then the request has no turns
	return req.turns()
}

// next returns the turn for a request.
func (m *ScriptedModel) next(path string, body []byte, req request, a *reply) ScriptedTurn {
	a.n = req.turns()
	a.tools = req.toolNames()
	call := ModelCall{Path: path, Model: a.model, Tools: a.tools, Turn: a.n, Body: body}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
	switch {
	case len(call.Tools) == 0, m.Name != "" && m.Name != a.model:
		return ScriptedTurn{Text: "Scripted"}
	case a.n < len(m.Turns):
		return m.Turns[a.n]
	}
	return ScriptedTurn{Text: "The script is over."}
}

// turns counts the turns of the model.
func (r request) turns() int {
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
func (r request) toolNames() []string {
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

// reply writes a turn in the form of one API.
type reply struct {
	w      http.ResponseWriter
	model  string
	n      int // of the turn
	tools  []string
	stream bool
	send   func(ScriptedTurn)
}

type object = map[string]any

func (a *reply) write(t ScriptedTurn) {
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

func (a *reply) whole(v any) {
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = a.w.Write(text(v))
}

// event sends a server-sent event.
func (a *reply) event(name string, data any) {
	if name != "" {
		_, _ = fmt.Fprintf(a.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", text(data))
	_ = http.NewResponseController(a.w).Flush()
}

func text(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("trial: a scripted turn is not JSON: " + err.Error())
	}
	return data
}

func (a *reply) id(prefix string) string { return fmt.Sprintf("%s_%d", prefix, a.n) }
