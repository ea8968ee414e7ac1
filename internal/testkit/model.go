package testkit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Model is a model server that follows a script. It speaks OpenAI's chat completions (base URL: URL
// + "/v1") and Anthropic's messages (base URL: URL), with streaming on request.
//
// The request alone determines which turn of the script it gets: the number of assistant messages
// in the conversation is the number of finished turns. Any number of conversations may be active at
// once, and a repeated request gets the same turn.
type Model struct {
	URL string

	tb       testing.TB
	mu       sync.Mutex
	scripts  []*script // the last match counts; the first matches all
	requests []ModelRequest
}

// Turn is one response of a scripted model: text, tool calls, or both.
type Turn struct {
	Text  string
	Calls []Call
	// Refuse ends the turn like a refusal of the provider, and MaxTokens like a response that was
	// cut off.
	Refuse, MaxTokens bool
	// Hold delays the response, after its first piece if it streams, until the channel is closed or
	// the client disconnects.
	Hold <-chan struct{}
	// Errors are the HTTP statuses of the first responses, before the turn itself.
	Errors []int
	// InputTokens and OutputTokens are the reported usage; 0 means 100 and 20.
	InputTokens, OutputTokens int
}

// Call is a tool call of the model.
type Call struct {
	Name  string
	Input any
}

// ModelRequest is what a client has sent.
type ModelRequest struct {
	Path   string
	Header http.Header
	Body   []byte
	Model  string
	Prompt string // text of the first user message
	Turn   int    // assistant messages before it
}

type script struct {
	prompt string
	turns  []Turn
	failed []int // per turn: how many of its Errors were sent
}

// NewModel starts a model server whose conversations all follow turns. A conversation that
// continues after the last turn fails the test.
func NewModel(tb testing.TB, turns ...Turn) *Model {
	tb.Helper()
	m := &Model{tb: tb}
	m.When("", turns...)
	server := httptest.NewServer(http.HandlerFunc(m.serve))
	tb.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// When sets the turns of conversations whose first user message contains prompt.
func (m *Model) When(prompt string, turns ...Turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scripts = append(m.scripts, &script{prompt, turns, make([]int, len(turns))})
}

// Requests returns all requests so far, in order.
func (m *Model) Requests() []ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	var response func(*modelResponse)
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		response = (*modelResponse).openAI
	case strings.HasSuffix(r.URL.Path, "/messages"):
		response = (*modelResponse).anthropic
	default:
		m.tb.Errorf("the model server does not know %s %s", r.Method, r.URL.Path)
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	var sent struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		m.tb.Errorf("the model server was sent bad JSON: %v\n%s", err, body)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := ModelRequest{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Model: sent.Model}
	for _, message := range sent.Messages {
		switch {
		case message.Role == "assistant":
			request.Turn++
		case message.Role == "user" && request.Prompt == "":
			request.Prompt = plainText(message.Content)
		}
	}
	turn, status := m.next(request)
	if status != http.StatusOK {
		refuse(w, status)
		return
	}
	response(&modelResponse{w: w, ctx: r.Context(), turn: turn, n: request.Turn, model: sent.Model, stream: sent.Stream})
}

// next records the request and finds its turn.
func (m *Model) next(request ModelRequest) (turn Turn, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, request)
	var s *script
	for _, candidate := range m.scripts {
		if strings.Contains(request.Prompt, candidate.prompt) {
			s = candidate
		}
	}
	if request.Turn >= len(s.turns) {
		m.tb.Errorf("the model's script has %d turns, the conversation %q wants one more", len(s.turns), request.Prompt)
		return Turn{}, http.StatusNotFound // a status that clients do not retry
	}
	turn = s.turns[request.Turn]
	if failed := s.failed[request.Turn]; failed < len(turn.Errors) {
		s.failed[request.Turn]++
		return Turn{}, turn.Errors[failed]
	}
	turn.InputTokens = cmp.Or(turn.InputTokens, 100)
	turn.OutputTokens = cmp.Or(turn.OutputTokens, 20)
	return turn, http.StatusOK
}

// refuse responds with an error that the clients of both providers can read.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"scripted status %d"}}`, status)
}

// plainText returns the text of a message's content, which is a string or a list of blocks.
func plainText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // other content has no text
	for _, block := range blocks {
		text += block.Text
	}
	return text
}

// modelResponse writes one turn in one provider's format.
type modelResponse struct {
	w      http.ResponseWriter
	ctx    context.Context //nolint:containedctx // lives as long as the request
	turn   Turn
	n      int // the turn's number
	model  string
	stream bool
	begun  bool
}

// event sends one server-sent event; name may be empty. The turn's Hold applies after the first
// one.
func (a *modelResponse) event(name string, data any) {
	if !a.begun {
		a.w.Header().Set("Content-Type", "text/event-stream")
	}
	if name != "" {
		_, _ = fmt.Fprintf(a.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", mustJSON(data))
	_ = http.NewResponseController(a.w).Flush()
	if !a.begun {
		a.begun = true
		a.hold()
	}
}

// whole sends the response in one piece.
func (a *modelResponse) whole(data any) {
	a.hold()
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = a.w.Write(mustJSON(data))
}

func (a *modelResponse) hold() {
	if a.turn.Hold == nil {
		return
	}
	select {
	case <-a.turn.Hold:
	case <-a.ctx.Done():
	}
}

// words cuts text after each space, as models send it.
func words(text string) []string { return strings.SplitAfter(text, " ") }

func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a script with an input that is not JSON
	}
	return data
}
