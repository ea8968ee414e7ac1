package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock/internal/gateway"
)

// providerRig is a rig with one provider. Its base URL may name another host: the requests arrive at the
// rig's.
func providerRig(t *testing.T, p gateway.Provider, response http.HandlerFunc, opts gateway.SessionOptions) *rig {
	t.Helper()
	r := &rig{provider: newProvider(t, response)}
	if p.BaseURL == "" || strings.HasPrefix(p.BaseURL, "?") {
		p.BaseURL = r.URL + p.BaseURL
	}
	to, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.gateway, err = gateway.New(gateway.Options{Providers: []gateway.Provider{p}, Transport: redirected{to.Host}})
	if err != nil {
		t.Fatal(err)
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

// redirected is a transport that sends each request to one host.
type redirected struct{ host string }

// RoundTrip implements http.RoundTripper.
func (d redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", d.host
	return http.DefaultTransport.RoundTrip(r)
}

// A beta header of the provider adds to the agent's, and counts for the bound.
func TestBetaHeadersAreMerged(t *testing.T) {
	t.Parallel()
	p := newPurse(1e15)
	r := providerRig(t, gateway.Provider{
		Name: "anthropic", API: gateway.Anthropic, Key: realKey,
		Headers: map[string]string{"anthropic-beta": "context-1m-2025-08-07"},
	}, replies(`{}`), spending(t, p))
	body := `{"model":"claude-x","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image",` +
		`"source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}`
	r.send(t, http.MethodPost, messages, body, "Anthropic-Beta", "a,b")
	if got := r.got()[0].Header.Values("Anthropic-Beta"); strings.Join(got, ";") != "a,b,context-1m-2025-08-07" {
		t.Errorf("the provider gets %q", got)
	}
	if got := p.asked[0].InputTokens; got != 1_000_000 {
		t.Errorf("reserved %d tokens of input, want 1,000,000", got)
	}
}

// Reasoning models of OpenAI and Azure accept only one name of the limit.
func TestLimitAtOpenAIAndAzure(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com/v1":            `{"max_completion_tokens":128000,"model":"gpt-x"}`,
		"https://x.openai.azure.com/openai/v1": `{"max_completion_tokens":128000,"model":"gpt-x"}`,
		"https://models.example.com/v1":        `{"max_tokens":128000,"model":"gpt-x"}`,
	} {
		r := providerRig(t, gateway.Provider{Name: "openai", API: gateway.OpenAI, BaseURL: base, Key: realKey},
			replies(`{}`), spending(t, newPurse(1e15)))
		res, body := r.send(t, http.MethodPost, chatPath, `{"model":"gpt-x"}`)
		if res.StatusCode != http.StatusOK || r.got()[0].Body != want {
			t.Errorf("%s: %d %s; the provider got %s, want %s", base, res.StatusCode, body, r.got()[0].Body, want)
		}
	}
}

// A provider that quotes its credentials does not reveal them, wherever they are configured.
func TestQuotedCredentialsAreRemoved(t *testing.T) {
	t.Parallel()
	const inHeader, inQuery = "token-of-the-header", "token-of-the-query"
	const quotes = `{"error":{"message":"not ` + inHeader + `, ` + inQuery + `, ` + realKey + `"}}`
	const want = "not ***, ***, ***"
	for name, response := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, quotes)
		},
		"a cut stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+quotes+"\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var problem string
			r := providerRig(t, gateway.Provider{
				Name: "openai", API: gateway.OpenAI, Key: realKey, BaseURL: "?token=" + inQuery,
				Headers: map[string]string{"X-Gate": "Bearer " + inHeader},
			}, response, gateway.SessionOptions{Responded: func(c gateway.Call) {
				mu.Lock()
				defer mu.Unlock()
				problem = c.Problem
			}})
			r.send(t, http.MethodPost, chatPath, `{"model":"m","stream":true,"messages":[]}`)
			r.session.Close()
			mu.Lock()
			defer mu.Unlock()
			if problem != want {
				t.Errorf("the problem is %q, want %q", problem, want)
			}
		})
	}
}

// A run's own key replaces the operator's credentials, and no other header.
func TestTheKeyOfARunReplacesCredentials(t *testing.T) {
	t.Parallel()
	for api, c := range map[gateway.API]struct{ header, path, body string }{
		gateway.Anthropic: {"X-Api-Key", messages, `{"model":"m"}`},
		gateway.OpenAI:    {"Authorization", chatPath, `{"model":"m"}`},
		gateway.Gemini:    {"X-Goog-Api-Key", geminiPath, `{}`},
	} {
		for own, want := range map[string]string{"": "operators", "key-of-the-run": "key-of-the-run"} {
			opts := gateway.SessionOptions{}
			if own != "" {
				opts.Keys = map[string]string{string(api): own}
			}
			r := providerRig(t, gateway.Provider{Name: string(api), API: api, Key: realKey, Headers: map[string]string{
				"authorization": "operators", "x-api-key": "operators", "api-key": "operators", "x-goog-api-key": "operators",
				"X-Team": "operators",
			}}, replies(`{}`), opts)
			r.send(t, http.MethodPost, c.path, c.body)
			got := r.got()[0].Header
			if key := strings.TrimPrefix(got.Get(c.header), "Bearer "); key != want || got.Get("X-Team") != "operators" {
				t.Errorf("%s, key %q: the provider gets %v", api, own, got)
			}
			for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
				if own != "" && name != c.header && got.Get(name) != "" {
					t.Errorf("%s: the provider also gets %s", api, name)
				}
			}
		}
	}
}
