package gateway_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/price"
)

// meter is a provider that bills.
type meter struct {
	prices *price.Table

	mu    sync.Mutex
	dice  *rand.Rand
	bill  int64
	calls int64
	log   []string
}

// charge bills tokens.
func (m *meter) charge(g *generation, output int64, what string) {
	at := map[string]price.Call{
		"messages": {Provider: "anthropic", Model: "claude-x"}, "chat": {Provider: "openai", Model: "gpt-x"},
		"responses": {Provider: "openai", Model: "gpt-x"}, "gemini": {Provider: "google", Model: "gemini-x"},
	}[g.api]
	at.At, at.Usage = time.Now(), price.Usage{Input: g.input, Output: output}
	nano, ok := m.prices.Cost(at)
	if !ok {
		panic("no price")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bill += nano
	m.log = append(m.log, fmt.Sprintf("%s: %s bills %d + %d tokens: %d", g.api, what, g.input, output, nano))
}

// generation is what the provider does with one request.
type generation struct {
	api           string
	stream        bool
	n             int64
	input, output int64
	fate          float64
	delay         time.Duration
	begun         time.Time
}

// draw reads a request.
func (m *meter) draw(r *http.Request, body []byte) *generation {
	var sent struct {
		Stream    bool   `json:"stream"`
		N         int64  `json:"n"`
		MaxTokens int64  `json:"max_tokens"`
		MaxOutput int64  `json:"max_output_tokens"`
		Budget    int64  `json:"thinking_budget"`
		Effort    string `json:"reasoning_effort"`
		Thinking  struct {
			Budget int64 `json:"budget_tokens"`
		} `json:"thinking"`
		Template struct {
			Budget int64 `json:"thinking_budget"`
		} `json:"chat_template_kwargs"`
		Generation struct {
			Max        int64 `json:"maxOutputTokens"`
			Candidates int64 `json:"candidateCount"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		panic(err)
	}
	g := &generation{stream: sent.Stream || strings.Contains(r.URL.Path, "stream"), begun: time.Now()}
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		g.api = "messages"
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		g.api = "chat"
	case strings.HasSuffix(r.URL.Path, "/responses"):
		g.api = "responses"
	default:
		g.api = "gemini"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	g.n = max(1, sent.N, sent.Generation.Candidates)
	// It counts thinking beside the answer, as some servers do.
	most := sent.MaxTokens + sent.MaxOutput + sent.Generation.Max + sent.Budget + sent.Thinking.Budget +
		sent.Template.Budget
	if sent.Effort != "" {
		most += 100_000
	}
	g.input, g.output = int64(len(body)/4), most*g.n
	if m.dice.IntN(2) == 0 {
		g.output = m.dice.Int64N(g.output + 1)
	}
	g.fate = m.dice.Float64()
	g.delay = time.Duration(m.dice.IntN(40)) * time.Millisecond
	return g
}

// ServeHTTP implements http.Handler.
func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if strings.Contains(r.URL.Path, "ount_tokens") || strings.Contains(r.URL.Path, "countTokens") ||
		strings.Contains(r.URL.Path, "input_tokens") {
		http.NotFound(w, r)
		return
	}
	g := m.draw(r, body)
	if g.fate < 0.35 {
		m.fail(w, r, g)
		return
	}
	m.charge(g, g.output, "a good response")
	pause(r.Context(), g.delay)
	if g.fate > 0.9 {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		g.respond(w, r, func(text string) {
			_, _ = io.WriteString(z, text)
			_ = z.Flush()
		})
		return
	}
	g.respond(w, r, func(text string) {
		_, _ = io.WriteString(w, text)
	})
}

// fail bills what can be generated until the failure.
func (m *meter) fail(w http.ResponseWriter, r *http.Request, g *generation) {
	if g.fate < 0.1 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader([]int{400, 429, 500, 503, 529}[int(g.fate*1000)%5])
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"not now","code":1}}`)
		return
	}
	head := g.events()
	pieces := int(g.fate*1000) % len(head)
	if g.fate > 0.2 && g.stream { // a stream that breaks off, or that carries an error
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range head[:pieces] {
			_, _ = io.WriteString(w, event)
		}
		_ = http.NewResponseController(w).Flush()
	}
	pause(r.Context(), g.delay)
	done := int64(time.Since(g.begun).Seconds() * 10_000)
	output := min(g.output, done*g.n)
	if r.Context().Err() != nil { // nobody stops it any more
		output = g.output
	}
	m.charge(g, output, "a failure")
	switch {
	case g.fate > 0.28 && g.stream:
		_, _ = io.WriteString(w, `data: {"type":"error","error":{"message":"overloaded","type":"overloaded_error"}}`+"\n\n")
		if g.api == "chat" {
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		}
	case g.fate > 0.2:
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader([]int{502, 503, 504, 500, 200}[int(g.fate*1000)%5])
		_, _ = io.WriteString(w, "<html><center><h1>Bad Gateway</h1></center></html>")
	}
}

// respond sends a good response, which may come in pieces.
func (g *generation) respond(w http.ResponseWriter, r *http.Request, write func(string)) {
	if !g.stream {
		w.Header().Set("Content-Type", "application/json")
		write(g.whole())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, event := range g.events() {
		write(event)
		if i%2 == 0 { // the others wait in a buffer
			_ = http.NewResponseController(w).Flush()
			pause(r.Context(), g.delay/4)
		}
	}
}

func (g *generation) whole() string {
	switch g.api {
	case "messages":
		return fmt.Sprintf(`{"type":"message","content":[],"usage":{"input_tokens":%d,"output_tokens":%d,`+
			`"service_tier":"standard","speed":"standard","inference_geo":"global"}}`, g.input, g.output)
	case "chat":
		return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, g.input, g.output)
	case "responses":
		return fmt.Sprintf(`{"status":"completed","error":null,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
			g.input, g.output)
	}
	return fmt.Sprintf(`{"candidates":[],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d}}`,
		g.input, g.output)
}

// events are a stream that says little of what was generated until its end.
func (g *generation) events() []string {
	var list []string
	add := func(form string, args ...any) { list = append(list, "data: "+fmt.Sprintf(form, args...)+"\n\n") }
	switch g.api {
	case "messages":
		start := g.input
		if g.fate > 0.6 {
			start = 0 // some servers do not know yet
		}
		add(`{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":%d,"output_tokens":1}}}`, start)
		add(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"write","input":{}}}`)
		add(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`)
		add(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":%d,"output_tokens":%d,`+
			`"service_tier":"standard","speed":"standard","inference_geo":"global"}}`, g.input, g.output)
		add(`{"type":"message_stop"}`)
	case "chat":
		add(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":%d,`+
			`"completion_tokens":1}}`, g.input)
		for i := range g.n {
			add(`{"choices":[{"index":%d,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]},`+
				`"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
				i, g.input, g.output*(i+1)/g.n)
		}
		add(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, g.input, g.output)
		list = append(list, "data: [DONE]\n\n")
	case "responses":
		add(`{"type":"response.created","response":{"id":"r","usage":null,"error":null}}`)
		add(`{"type":"response.output_text.delta","delta":"hi"}`)
		add(`{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":%d,"output_tokens":%d}}}`,
			g.input, g.output)
	default:
		for i := range g.n {
			add(`{"candidates":[{"index":%d,"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":`+
				`{"promptTokenCount":%d,"candidatesTokenCount":%d}}`, i, g.input, g.output*(i+1)/g.n)
		}
	}
	return list
}
