package gateway_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// realKey is what no agent may see.
const realKey = "sk-real-key-of-the-operator"

// received is a request that a provider got.
type received struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
}

// provider is a real HTTP server that replaces a vendor. It keeps its requests and sends the
// response of the test.
type provider struct {
	*httptest.Server

	mu       sync.Mutex
	requests []received
	response http.HandlerFunc
}

func newProvider(t *testing.T, response http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{response: response}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.requests = append(p.requests, received{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), string(body)})
		p.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.response(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) got() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]received(nil), p.requests...)
}

// replies responds to each request with JSON.
func replies(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// rig is a gateway between an agent and a provider.
type rig struct {
	*provider

	gateway *gateway.Gateway
	session *gateway.Session
	relay   string // where the agent sends its requests

	mu      sync.Mutex
	calls   []gateway.Call
	refused []gateway.Refusal
}

// allowed are fields that the operator of a rig allows.
var allowed = []string{"operators", "messages.operators"}

// newRig starts a gateway that uses one server as the provider of all APIs.
func newRig(t *testing.T, response http.HandlerFunc, opts gateway.SessionOptions) *rig {
	t.Helper()
	r := &rig{provider: newProvider(t, response)}
	var err error
	r.gateway, err = gateway.New(gateway.Options{
		MaxRequestBytes: 1 << 20,
		Providers: []gateway.Provider{
			{Name: "anthropic", API: gateway.Anthropic, BaseURL: r.URL, Key: realKey, AllowFields: allowed},
			{Name: "openai", API: gateway.OpenAI, BaseURL: r.URL + "/v1", Key: realKey, AllowFields: allowed},
			{Name: "gemini", API: gateway.Gemini, BaseURL: r.URL + "/", Key: realKey, AllowFields: allowed},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	opts.Settled = func(c gateway.Call) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, c)
	}
	opts.Refused = func(refusal gateway.Refusal) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.refused = append(r.refused, refusal)
	}
	r.session = r.gateway.Session(opts)
	server := httptest.NewServer(r.session)
	t.Cleanup(func() {
		r.session.Close()
		server.Close()
	})
	r.relay = server.URL
	return r
}

func (r *rig) address(t *testing.T, name string) string {
	t.Helper()
	api := map[string]gateway.API{"anthropic": gateway.Anthropic, "openai": gateway.OpenAI, "gemini": gateway.Gemini}[name]
	return gateway.Provider{Name: name, API: api}.AgentURL(r.relay)
}

// settled ends the session and returns its calls.
func (r *rig) settled() []gateway.Call {
	r.session.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// reply is what an agent gets besides a body.
type reply struct {
	StatusCode int
	Header     http.Header
}

// send sends a request like an agent, with a placeholder in every header that an API knows.
func (r *rig) send(t *testing.T, method, path, body string, header ...string) (reply, string) {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = bytes.NewReader([]byte(body))
	}
	req, err := http.NewRequestWithContext(t.Context(), method, r.relay+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie", "Openai-Organization"} {
		req.Header.Set(name, "placeholder")
	}
	req.Header.Set("Authorization", "Bearer placeholder")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header}, string(data)
}

func TestNewExplainsWhatIsWrongWithAProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider gateway.Provider
		want     string
	}{
		"name":     {gateway.Provider{Name: "My Server", API: gateway.OpenAI}, "lower-case letters"},
		"api":      {gateway.Provider{Name: "x", API: "soap"}, "api must be anthropic, openai or gemini"},
		"url":      {gateway.Provider{Name: "x", API: gateway.OpenAI, BaseURL: "localhost:11434"}, "must be a URL"},
		"file":     {gateway.Provider{Name: "x", API: gateway.OpenAI, BaseURL: "file:///", Setting: "X_URL"}, "X_URL must"},
		"password": {gateway.Provider{Name: "x", API: gateway.OpenAI, BaseURL: "https://u:geheim@h/v1"}, "no user"},
		"query":    {gateway.Provider{Name: "x", API: gateway.OpenAI, BaseURL: "https://h/v1?a=geheim;b"}, "query"},
		"fragment": {gateway.Provider{Name: "x", API: gateway.OpenAI, BaseURL: "https://h/v1#geheim"}, "fragment"},
		"header": {
			gateway.Provider{Name: "x", API: gateway.OpenAI, Headers: map[string]string{"Host": "geheim"}}, `"Host" is not`,
		},
		"header name": {
			gateway.Provider{Name: "x", API: gateway.OpenAI, Headers: map[string]string{"a b": "geheim"}}, `"a b" is not`,
		},
		"header value": {
			gateway.Provider{Name: "x", API: gateway.OpenAI, Headers: map[string]string{"X-A": "geheim\nX-B: c"}},
			"control character",
		},
		"key": {gateway.Provider{Name: "x", API: gateway.OpenAI, Key: "geheim\nx"}, "its key has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := gateway.New(gateway.Options{Providers: []gateway.Provider{c.provider}})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	twice := gateway.Provider{Name: "x", API: gateway.OpenAI}
	if _, err := gateway.New(gateway.Options{Providers: []gateway.Provider{twice, twice}}); err == nil {
		t.Error("a name that is there twice is accepted")
	}
}

// A local server needs only its address.
func TestALocalServerNeedsOnlyItsAddress(t *testing.T) {
	t.Parallel()
	p := newProvider(t, replies(`{"data":[{"id":"qwen3:8b"},{"id":"llama4"}]}`))
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
		{Name: "openai", API: gateway.OpenAI, BaseURL: p.URL + "/v1", Setting: "OPENAI_BASE_URL"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	models, err := g.Models(t.Context(), "openai")
	if err != nil || strings.Join(models, " ") != "qwen3:8b llama4" {
		t.Errorf("got %v, %v", models, err)
	}
	if got := p.got()[0]; got.Path != "/v1/models" || got.Header.Get("Authorization") != "" {
		t.Errorf("got %s with Authorization %q", got.Path, got.Header.Get("Authorization"))
	}
	p.Close()
	if _, err := g.Models(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
		t.Errorf("of a server that is not there: %v", err)
	}
}

// The key goes to the provider and nowhere else. A placeholder does not go to the provider.
func TestTheKeyReplacesThePlaceholder(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) { // repeats its headers, as some servers do
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"wrong key `+req.Header.Get("Authorization")+
			req.Header.Get("X-Api-Key")+
			req.Header.Get("X-Goog-Api-Key")+`"}}`)
	}, gateway.SessionOptions{})
	for path, header := range map[string]string{
		"/model/anthropic/v1/messages":                                          "X-Api-Key",
		"/model/openai/v1/chat/completions":                                     "Authorization",
		"/model/gemini/v1beta/models/m:generateContent?key=placeholder&alt=sse": "X-Goog-Api-Key",
	} {
		res, body := r.send(t, http.MethodPost, path, `{"model":"m"}`, "X-Forwarded-For", "1.2.3.4", "Via", "x",
			"Anthropic-Beta", "a,b", "X-Http-Method-Override", "DELETE")
		if res.StatusCode != http.StatusUnauthorized || strings.Contains(body, realKey) {
			t.Errorf("%s: the agent gets %d %s", path, res.StatusCode, body)
		}
		all := r.got()
		got := all[len(all)-1]
		if strings.TrimPrefix(got.Header.Get(header), "Bearer ") != realKey {
			t.Errorf("%s: the provider gets %v", path, got.Header)
		}
		for name, values := range got.Header {
			if name != header && strings.Contains(strings.Join(values, ""), realKey) ||
				strings.Contains(strings.Join(values, ""), "placeholder") ||
				strings.HasPrefix(name, "X-Forwarded") || name == "Via" || strings.HasPrefix(name, "X-Http-Method") {
				t.Errorf("%s: the provider gets %s: %v", path, name, values)
			}
		}
		if got.Header.Get("Accept-Encoding") != "identity" || got.Header.Get("Anthropic-Beta") != "a,b" ||
			strings.Contains(got.Query, "key") {
			t.Errorf("%s: the provider gets %v, query %q", path, got.Header, got.Query)
		}
	}
}

func TestARunsOwnKeyReplacesTheServers(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{Keys: map[string]string{"openai": "of-the-run"}})
	r.send(t, http.MethodGet, "/model/openai/v1/models", "")
	if got := r.got()[0].Header.Get("Authorization"); got != "Bearer of-the-run" {
		t.Errorf("got %q", got)
	}
}

// An unreachable provider is a temporary failure, and the message names the setting.
func TestAnUnreachableProviderNamesItsSetting(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
		{Name: "local", API: gateway.OpenAI, BaseURL: gone.URL + "/v1", Setting: "providers.local.base_url"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var call gateway.Call
	session := g.Session(gateway.SessionOptions{Settled: func(c gateway.Call) { call = c }})
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/model/local/v1/chat/completions",
		strings.NewReader(`{"model":"m"}`))
	session.ServeHTTP(w, r)
	session.Close()
	if w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "provider local") ||
		!strings.Contains(w.Body.String(), "providers.local.base_url") || w.Header().Get("X-Should-Retry") != "" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if call.Sent || call.Status != 0 || call.Usage == nil || call.Usage.Total() != 0 {
		t.Errorf("settled as %+v", call)
	}
}
