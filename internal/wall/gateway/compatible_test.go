package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// The lists of compatible servers have many forms.
func TestModelListsOfCompatibleServers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"OpenAI":          {`{"object":"list","data":[{"id":"a"},{"id":"b"}]}`, []string{"a", "b"}},
		"Gemini":          {`{"models":[{"name":"models/a"}]}`, []string{"a"}},
		"Ollama":          {`{"models":[{"name":"a:8b","model":"a:8b"}]}`, []string{"a:8b"}},
		"both":            {`{"models":[{"model":"a"}],"data":[{"id":"a"}]}`, []string{"a"}},
		"a bare array":    {`[{"id":"a"},{"id":"b","object":"model"}]`, []string{"a", "b"}},
		"names":           {`["a","b","a"]`, []string{"a", "b"}},
		"names in data":   {`{"data":["a"]}`, []string{"a"}},
		"an object by id": {`{"data":{"b":{},"a":{}}}`, []string{"a", "b"}},
		"nested":          {`{"result":{"models":[{"slug":"a"}]}}`, []string{"a"}},
		"something else":  {`{"data":[1,null,{"id":7},{"name":"a"}]}`, []string{"a"}},
		"no models":       {`{"data":[]}`, nil},
		"null":            {`{"data":null}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, replies(test.body))
			g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
				{Name: "x", API: gateway.OpenAI, BaseURL: p.URL + "/v1"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Models(t.Context(), "x")
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// Keys and addresses from files and shells have line ends. Some servers want a query and more headers.
func TestProvidersWithAQueryAndHeaders(t *testing.T) {
	t.Parallel()
	const secret = "the-second-secret-of-it"
	p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			replies(`{"data":[{"id":"m"}]}`)(w, r)
			return
		}
		http.Error(w, "no entry for "+r.Header.Get("Api-Key"), http.StatusForbidden)
	})
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{{
		Name: "azure", API: gateway.OpenAI, BaseURL: " " + p.URL + "/openai/?api-version=2026-01-01\n",
		Key:   realKey + "\r\n",
		Query: map[string]string{"tier": "a b"}, Headers: map[string]string{"api-key": secret},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if models, err := g.Models(t.Context(), "azure"); err != nil || len(models) != 1 {
		t.Errorf("got %v, %v", models, err)
	}
	var problem string
	server := httptest.NewServer(g.Session(gateway.SessionOptions{
		Responded: func(c gateway.Call) { problem = c.Problem },
	}))
	t.Cleanup(server.Close)
	res, err := http.Post( //nolint:noctx // of a test
		server.URL+"/model/azure/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"m","messages":[]}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body) + problem; strings.Contains(text, secret) || !strings.Contains(problem, "no entry for ***") {
		t.Errorf("the error is %q, %q", body, problem)
	}
	for _, got := range p.got() {
		if !strings.Contains(got.Query, "api-version=2026-01-01") || !strings.Contains(got.Query, "tier=a+b") {
			t.Errorf("%s: the query is %q", got.Path, got.Query)
		}
		if got.Header.Get("Api-Key") != secret || got.Header.Get("Authorization") != "Bearer "+realKey {
			t.Errorf("%s: the headers are %v", got.Path, got.Header)
		}
	}
	if n := len(p.got()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestWhenAProviderAcceptsRequestsAgain(t *testing.T) {
	t.Parallel()
	var got []gateway.Call
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		http.Error(w, "later", http.StatusTooManyRequests)
	}, gateway.SessionOptions{Responded: func(c gateway.Call) { got = append(got, c) }})
	r.send(t, http.MethodPost, "/model/openai/v1/chat/completions", `{"model":"m","messages":[]}`)
	if len(got) != 1 || time.Until(got[0].RetryAfter) < 59*time.Minute || time.Until(got[0].RetryAfter) > 61*time.Minute {
		t.Errorf("got %+v", got)
	}
}
