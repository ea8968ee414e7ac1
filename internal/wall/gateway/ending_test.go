package gateway_test

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// beginnings are streams that have said nothing yet of what the model generates.
var beginnings = map[string]struct{ path, body, sent string }{
	"messages": {
		messages, `{"model":"claude-x","max_tokens":20000,"stream":true,"thinking":{"type":"disabled"},"messages":[],` +
			`"tools":[{"name":"write","input_schema":{"type":"object"}}]}`,
		`data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":50,"output_tokens":1}}}` + "\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"write",` +
			`"input":{}}}` + "\n\n",
	},
	"chat": {
		chatPath, `{"model":"gpt-x","max_tokens":20000,"stream":true,"stream_options":{"include_usage":true},"messages":[]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}],` +
			`"usage":{"prompt_tokens":50,"completion_tokens":1}}` + "\n\n",
	},
	"responses": {
		responsesPath, `{"model":"gpt-x","max_output_tokens":20000,"stream":true,"input":"hi"}`,
		`data: {"type":"response.created","response":{"id":"r","usage":null}}` + "\n\n" +
			`data: {"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}` + "\n\n",
	},
	"gemini": {
		"/model/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
		`{"contents":[],"generationConfig":{"maxOutputTokens":20000,"thinkingConfig":{"thinkingBudget":0}}}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":50,` +
			`"candidatesTokenCount":1}}` + "\n\n",
	},
}

// begin starts a call, reads the beginning of its stream, and returns how to hang up.
func begin(t *testing.T, relay, path, body string) (hangUp func()) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, relay+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req) //nolint:bodyclose // hangUp closes it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	return func() { _ = res.Body.Close() }
}

// silentAfter sends the beginning of a stream and then waits. It returns a channel that is closed when its
// connection has ended.
func silentAfter(text string) (handler http.HandlerFunc, cut chan struct{}) {
	cut = make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(cut)
	}, cut
}

// An agent that hangs up pays for everything that the provider may have generated and not sent.
func TestACallThatTheAgentCutsCountsWithItsWholeOutput(t *testing.T) {
	t.Parallel()
	for name, c := range beginnings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, cut := silentAfter(c.sent)
			p := newPurse(1e12)
			r := newRig(t, handler, spending(t, p))
			begin(t, r.relay, c.path, c.body)()
			<-cut
			r.settled()
			if _, s := p.one(t); s.Unknown || !s.Estimated || s.Tokens.Output != 20_000 || s.Tokens.Input < 50 {
				t.Errorf("settled as %+v", s)
			}
		})
	}
}

// Without a cap, such a call counts as an estimate of what has arrived.
func TestACallThatTheAgentCutsIsEstimatedWithoutACap(t *testing.T) {
	t.Parallel()
	for name, c := range beginnings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, cut := silentAfter(c.sent)
			p := newPurse(0)
			r := newRig(t, handler, spending(t, p))
			begin(t, r.relay, c.path, c.body)()
			<-cut
			r.settled()
			if _, s := p.one(t); s.Unknown || !s.Estimated || s.Tokens.Output < 1 || s.Tokens.Output > 1000 {
				t.Errorf("settled as %+v", s)
			}
		})
	}
}

// The end of one of several completions is not the end of the call.
func TestTheFirstOfSeveralCompletionsDoesNotEndTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, body, sent string }{
		"chat": {
			chatPath, `{"model":"gpt-x","max_tokens":1000,"n":2,"stream":true,"messages":[]}`,
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,` +
				`"completion_tokens":3}}` + "\n\n",
		},
		"gemini": {
			"/model/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
			`{"contents":[],"generationConfig":{"maxOutputTokens":1000,"candidateCount":2}}`,
			`data: {"candidates":[{"index":0,"content":{"parts":[]},"finishReason":"STOP"}],"usageMetadata":` +
				`{"promptTokenCount":5,"candidatesTokenCount":3}}` + "\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, cut := silentAfter(c.sent)
			p := newPurse(1e12)
			r := newRig(t, handler, spending(t, p))
			begin(t, r.relay, c.path, c.body)()
			<-cut
			r.settled()
			if _, s := p.one(t); !s.Estimated || s.Tokens.Output != 2000 {
				t.Errorf("settled as %+v", s)
			}
		})
	}
}

// A count of zero before the end is a placeholder of servers that do not know yet.
func TestAPromptOfNoTokensIsNotBelieved(t *testing.T) {
	t.Parallel()
	handler, cut := silentAfter(`data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":0,` +
		`"output_tokens":0}}}` + "\n\n")
	p := newPurse(1e12)
	r := newRig(t, handler, spending(t, p))
	begin(t, r.relay, messages, `{"model":"claude-x","max_tokens":9,"stream":true,"messages":[]}`)()
	<-cut
	r.settled()
	if reservation, s := p.one(t); s.Tokens.Input != reservation.InputTokens {
		t.Errorf("settled as %+v", s)
	}
}

// late sends the rest of a stream when it is released.
type late struct {
	begun, release, ended chan struct{}
}

func newLate() late { return late{make(chan struct{}), make(chan struct{}), make(chan struct{})} }

func (l late) serve(first, rest string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer close(l.ended)
		if first != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, first)
			_ = http.NewResponseController(w).Flush()
		}
		close(l.begun)
		select {
		case <-l.release:
			_, _ = io.WriteString(w, rest)
		case <-r.Context().Done():
		}
	}
}

// When the worker ends the turn, the gateway reads on and learns what the call has used, also of a
// response that has not begun.
func TestTheUsageIsLearntAfterTheWorkerEndsTheTurn(t *testing.T) {
	t.Parallel()
	const end = `data: {"type":"message_delta","delta":{},"usage":{"input_tokens":50,"output_tokens":70,` +
		`"inference_geo":"global"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	for name, c := range map[string]struct {
		first, rest string
		closes      bool
	}{
		"a stream, an interrupt":             {beginnings["messages"].sent, end, false},
		"a stream, the end of the execution": {beginnings["messages"].sent, end, true},
		"a response that has not begun": {
			"", `{"usage":{"input_tokens":50,"output_tokens":70,"inference_geo":"global"}}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, p := newLate(), newPurse(1e12)
			r := newRig(t, l.serve(c.first, c.rest), spending(t, p))
			ctx, hangUp := context.WithCancel(t.Context())
			var agent sync.WaitGroup
			agent.Go(func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.relay+messages,
					strings.NewReader(beginnings["messages"].body))
				if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			})
			<-l.begun
			r.session.EndTurn()
			var closing sync.WaitGroup
			if c.closes {
				closing.Go(r.session.Close)
			}
			hangUp()
			agent.Wait()
			close(l.release)
			<-l.ended
			closing.Wait()
			r.settled()
			if _, s := p.one(t); s.Estimated || s.Unknown || s.Tokens.Output != 70 {
				t.Errorf("settled as %+v", s)
			}
		})
	}
}

// A later call of the session is the agent's again.
func TestTheGatewayReadsOnOnlyTheCallsOfTheTurnThatEnded(t *testing.T) {
	t.Parallel()
	c := beginnings["messages"]
	handler, cut := silentAfter(c.sent)
	r := newRig(t, handler, spending(t, newPurse(1e12)))
	r.session.EndTurn()
	begin(t, r.relay, c.path, c.body)()
	<-cut
}

// Once the model has finished, reading on buys nothing: some agents hang up before the usage.
func TestTheUsageIsLearntAfterTheModelHasFinished(t *testing.T) {
	t.Parallel()
	l, p := newLate(), newPurse(1e12)
	r := newRig(t, l.serve(`data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}`+"\n\n",
		`data: {"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":70}}`+"\n\ndata: [DONE]\n\n"), spending(t, p))
	begin(t, r.relay, chatPath, `{"model":"gpt-x","max_tokens":1000,"stream":true,"messages":[]}`)()
	close(l.release)
	<-l.ended
	r.settled()
	if _, s := p.one(t); s.Estimated || s.Tokens.Output != 70 {
		t.Errorf("settled as %+v", s)
	}
}

// What the agent cannot cause counts as what is possible: at most the input, and output for the time
// that the call took. An error in the form of the API, and a status with which no server begins the
// work, cost nothing.
func TestAFailureOfTheProviderCountsAsWhatIsPossible(t *testing.T) {
	t.Parallel()
	const page = "<html><h1>Bad Gateway</h1></html>"
	for name, c := range map[string]struct {
		status int
		body   string
		free   bool
	}{
		"a proxy's page":                {502, page, false},
		"a proxy's text":                {503, "upstream connect error or disconnect/reset before headers", false},
		"a proxy's JSON":                {504, `{"message":"Endpoint request timed out"}`, false},
		"a proxy's error as text":       {502, `{"error":"Bad gateway"}`, false},
		"an empty page":                 {500, "", false},
		"a block page":                  {403, page, false},
		"a page for a good response":    {200, page, false},
		"a response without usage":      {200, `{"choices":[{"message":{"content":"hi"}}]}`, false},
		"an error in a good response":   {200, `{"error":{"message":"overloaded"}}`, false},
		"a redirect after the work":     {303, "", false},
		"an error of the API":           {500, `{"error":{"message":"broken","type":"server_error"}}`, true},
		"an overload of the API":        {529, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, true},
		"an error in a list":            {503, `[{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}]`, true},
		"an invalid request, elsewhere": {422, `{"detail":[{"msg":"max_tokens too big"}]}`, true},
		"a missing page":                {404, page, true},
		"a limit of a proxy":            {429, page, true},
		"a login page":                  {307, "", true},
	} {
		for _, limit := range []int64{0, 1e12} {
			t.Run(fmt.Sprintf("%s/%d", name, limit), func(t *testing.T) {
				t.Parallel()
				p := newPurse(limit)
				r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", "https://login.example/")
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				}, spending(t, p))
				r.send(t, http.MethodPost, chatPath, `{"model":"gpt-x","max_tokens":128000,"messages":[]}`)
				calls := r.settled()
				reservation, s := p.one(t)
				possible := int64(calls[0].Ended.Sub(calls[0].Started).Seconds()*10_000) + 2
				switch {
				case s.Unknown, s.Estimated == c.free, c.free && s.Tokens.Total() > 0:
					t.Errorf("settled as %+v", s)
				case !c.free && (s.Tokens.Input != reservation.InputTokens || s.Tokens.Output < 1 ||
					s.Tokens.Output > max(possible, 100)):
					t.Errorf("settled as %+v; %d tokens of output are possible", s, possible)
				}
			})
		}
	}
}

// The rate of a provider bounds what a failure can have used.
func TestTheRateOfAProviderBoundsAFailure(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "bad gateway", http.StatusBadGateway)
	}))
	defer provider.Close()
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
		{Name: "openai", API: gateway.OpenAI, BaseURL: provider.URL + "/v1", TokensPerSecond: 1e9},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := newPurse(1e12)
	session := g.Session(gateway.SessionOptions{Spend: p, Prices: table(t)})
	w := httptest.NewRecorder()
	session.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, chatPath,
		strings.NewReader(`{"model":"gpt-x","max_tokens":700,"messages":[]}`)))
	session.Close()
	if _, s := p.one(t); s.Tokens.Output != 700 {
		t.Errorf("settled as %+v", s)
	}
}

// A stream that carries an error counts at least what it has delivered and what is possible, unless the
// provider says what it has used. The failure is reported.
func TestAnErrorWithinAStreamIsAFailure(t *testing.T) {
	t.Parallel()
	const failure = `data: {"type":"error","error":{"message":"overloaded now","type":"overloaded_error"}}` + "\n\n"
	for name, c := range beginnings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, c.sent+failure+"data: [DONE]\n\n")
			}, spending(t, p))
			r.send(t, http.MethodPost, c.path, c.body)
			calls := r.settled()
			if _, s := p.one(t); !s.Estimated || s.Tokens.Output < 1 || s.Tokens.Output >= 20_000 {
				t.Errorf("settled as %+v", s)
			}
			if !calls[0].Failed || !strings.Contains(calls[0].Problem, "overloaded now") && name != "responses" {
				t.Errorf("reported as %+v", calls[0])
			}
		})
	}
	t.Run("with its usage", func(t *testing.T) {
		t.Parallel()
		p := newPurse(1e12)
		r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, beginnings["responses"].sent+`data: {"type":"response.failed","response":{"error":`+
				`{"message":"x"},"usage":{"input_tokens":50,"output_tokens":70}}}`+"\n\n")
		}, spending(t, p))
		r.send(t, http.MethodPost, responsesPath, beginnings["responses"].body)
		r.settled()
		if _, s := p.one(t); s.Estimated || s.Tokens.Output != 70 {
			t.Errorf("settled as %+v", s)
		}
	})
}

// A stream that ended well but went on after its last count has no final count.
func TestACountBeforeTheEndIsNotFinal(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"chat": `data: {"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":0}}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"content":"` + sevens + `"},"finish_reason":"stop"}]}` + "\n\n" +
			"data: [DONE]\n\n",
		"messages": `data: {"type":"message_start","message":{"usage":{"input_tokens":50,"output_tokens":1}}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + sevens + `"}}` + "\n\n" +
			`data: {"type":"message_stop"}` + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, stream)
			}, spending(t, p))
			r.send(t, http.MethodPost, beginnings[name].path, beginnings[name].body)
			r.settled()
			if _, s := p.one(t); !s.Estimated || s.Tokens.Output < 60 {
				t.Errorf("settled as %+v", s)
			}
		})
	}
}

// A tier that the provider does not confirm costs what it may cost.
func TestATierThatIsNotConfirmedHasItsPrice(t *testing.T) {
	t.Parallel()
	p := newPurse(1e12)
	r := newRig(t, replies(`{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":1000}}`), spending(t, p))
	r.send(t, http.MethodPost, chatPath, `{"model":"gpt-x","max_tokens":1000,"service_tier":"priority","messages":[]}`)
	r.settled()
	if _, s := p.one(t); s.Cost == nil || s.Cost.Output != 20_000_000 {
		t.Errorf("settled as %+v, %+v", s, s.Cost)
	}
}

// The usage of a stream is read through every compression that servers use, whatever they call it.
func TestTheUsageOfACompressedStreamIsRead(t *testing.T) {
	t.Parallel()
	const stream = `data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":70}}` + "\n\ndata: [DONE]\n\n"
	for name, c := range map[string]struct {
		encoding string
		pack     func(io.Writer) io.WriteCloser
		exact    bool
	}{
		"gzip":                 {"gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, true},
		"zlib":                 {"deflate", zlibWriter, true},
		"raw deflate":          {"deflate", flateWriter, true},
		"another name of gzip": {"X-GZIP", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, true},
		"a wrong header":       {"gzip", plainWriter, true},
		"gzip of gzip":         {"gzip, gzip", plainWriter, false},
		"an unknown encoding":  {"br", plainWriter, false},
		"what is not gzip":     {"gzip", garbageWriter, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", c.encoding)
				z := c.pack(w)
				for _, event := range strings.SplitAfter(stream, "\n\n") {
					_, _ = io.WriteString(z, event)
					if f, ok := z.(interface{ Flush() error }); ok {
						_ = f.Flush()
					}
				}
				_ = z.Close()
			}, spending(t, p))
			r.send(t, http.MethodPost, chatPath, `{"model":"gpt-x","max_tokens":1000,"stream":true,"messages":[]}`,
				"Accept-Encoding", "gzip")
			r.settled()
			_, s := p.one(t)
			if s.Unknown || s.Estimated == c.exact || c.exact && s.Tokens != (penstock.TokenUsage{Input: 50, Output: 70}) {
				t.Errorf("settled as %+v", s)
			}
		})
	}
}

func zlibWriter(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }

func flateWriter(w io.Writer) io.WriteCloser {
	z, err := flate.NewWriter(w, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	return z
}

type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

func plainWriter(w io.Writer) io.WriteCloser { return writeCloser{w} }

func garbageWriter(w io.Writer) io.WriteCloser {
	_, _ = w.Write([]byte("\x1f\x8bgarbage"))
	return writeCloser{w}
}
