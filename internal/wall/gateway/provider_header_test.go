package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
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
	const escaped = `"of <the> header+"`
	quotes, err := json.Marshal(map[string]any{"error": map[string]string{"message": fmt.Sprintf(
		"not %s, %s, %s, %s, %s, %q", inHeader, inQuery, realKey, url.QueryEscape(escaped), url.PathEscape(escaped), escaped,
	)}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `not ***, ***, ***, ***, ***, "***"`
	for name, response := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write(quotes)
		},
		"a cut stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+string(quotes)+"\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var problem string
			r := providerRig(t, gateway.Provider{
				Name: "openai", API: gateway.OpenAI, Key: realKey, BaseURL: "?token=" + inQuery,
				Headers: map[string]string{"X-Gate": "Bearer " + inHeader, "X-Odd": escaped},
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

// A key that is not the operator's replaces the operator's credentials in the query, too. The other parameters stay.
func TestTheKeyOfARunReplacesCredentialsInTheQuery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, ofRun bool
		want       string
	}{
		"the operator's key": {false, false, "api-version=1&key=operators&subscription-key=operators"},
		"a run's key":        {false, true, "api-version=1"},
		"a harness's key":    {true, false, "api-version=1"},
	} {
		opts := gateway.SessionOptions{}
		if c.ofRun {
			opts.Keys = map[string]string{"openai": "key-of-the-run"}
		}
		r := providerRig(t, gateway.Provider{
			Name: "openai", API: gateway.OpenAI, Key: realKey, OwnKey: c.own, BaseURL: "?key=operators",
			Query:   map[string]string{"api-version": "1", "subscription-key": "operators"},
			Headers: map[string]string{"Authorization": "Bearer operators"},
		}, replies(`{}`), opts)
		r.send(t, http.MethodPost, chatPath, `{"model":"m"}`)
		got := r.got()[0]
		if got.Query != c.want {
			t.Errorf("%s: the provider gets the query %q, want %q", name, got.Query, c.want)
		}
		if other := c.own || c.ofRun; (got.Header.Get("Authorization") == "Bearer operators") == other {
			t.Errorf("%s: the provider gets %v", name, got.Header)
		}
	}
}

// Azure takes a key in a header of its own, and a token of Entra as Bearer.
func TestTheKeyOfARunAtAzure(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][2]string{
		"key-of-the-run": {"key-of-the-run", ""}, "eyJ0eXAi.b.c": {"", "Bearer eyJ0eXAi.b.c"},
	} {
		r := providerRig(t, gateway.Provider{
			Name: "openai", API: gateway.OpenAI, BaseURL: "https://x.openai.azure.com/openai/deployments/d",
			Headers: map[string]string{"api-key": "operators"},
		}, replies(`{}`), gateway.SessionOptions{Keys: map[string]string{"openai": key}})
		r.send(t, http.MethodPost, chatPath, `{"model":"m"}`)
		if h := r.got()[0].Header; h.Get("Api-Key") != want[0] || h.Get("Authorization") != want[1] {
			t.Errorf("%s: the provider gets %v", key, h)
		}
	}
}
