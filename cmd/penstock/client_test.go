package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests use scripted servers for behavior that a correct server never shows.

// scripted is a server that returns its responses in order, one for each request.
type scripted struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
}

type request struct {
	*http.Request
	body string
}

// seen is what was asked so far.
func (s *scripted) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func script(t *testing.T, responses ...http.HandlerFunc) *scripted {
	t.Helper()
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, request{r, string(body)})
		s.mu.Unlock()
		if n >= len(responses) {
			t.Errorf("request %d was not expected: %s %s", n+1, r.Method, r.URL)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		responses[n](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *scripted) env() []string {
	return []string{"PENSTOCK_BASE_URL=" + s.URL, "PENSTOCK_API_KEY=" + someKey}
}

func responds(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// breaks cuts the connection before a response.
func breaks(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

const created = `{"run_id":"01900000-0000-7000-8000-000000000001","task_id":"01900000-0000-7000-8000-000000000001",` +
	`"state":"QUEUED"}`

func TestCreateIsRetriedWithOneIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := script(t, breaks, responds(503, "", "Retry-After: 0"), responds(200, created))
	call(t, s.env(), "run", "create", "do it").want(t, 0, "01900000-0000-7000-8000-000000000001\n")
	keys := map[string]bool{}
	requests := s.seen()
	for i, r := range requests {
		keys[r.Header.Get("Idempotency-Key")] = true
		if r.body != requests[0].body {
			t.Errorf("attempt %d sent %s, the first %s", i+1, r.body, requests[0].body)
		}
	}
	if len(requests) != 3 || len(keys) != 1 || keys[""] {
		t.Fatalf("got %d requests with the keys %v, want 3 with one", len(requests), keys)
	}
	r := requests[0]
	got := []string{
		r.Method, r.URL.Path, r.Header.Get("X-Penstock-Source"), r.Header.Get("Content-Type"), r.Header.Get("Authorization"),
	}
	want := []string{"POST", "/api/v1/agent/runs", "CLI", "application/json", "Bearer " + someKey}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	problem := `{"type":"https://x.example/docs/errors/%s","title":"%s","status":%d,"error":"e","detail":"%s"%s}`
	for name, test := range map[string]struct {
		response http.HandlerFunc
		times    int
		code     int
		says     string
	}{
		"a refusal is shown with code and request": {
			responds(
				400, fmt.Sprintf(problem, "invalid_request", "Invalid request", 400, "/prompt: is missing", ""),
				"X-Request-Id: req-1",
			),
			1,
			65, "penstock: Invalid request: /prompt: is missing (invalid_request, request req-1)\n",
		},
		"every bad field is named": {
			responds(
				400,
				fmt.Sprintf(
					problem, "invalid_request", "Invalid request", 400, "two", `,"errors":[{"pointer":"/title","detail":"too long"}]`,
				),
			),
			1,
			65, "\n  --title: too long",
		},
		"a bad key": {
			responds(401, fmt.Sprintf(problem, "authentication_required", "Authentication required", 401, "", "")), 1, 77,
			"authentication_required",
		},
		"a key that may not": {
			responds(403, fmt.Sprintf(problem, "not_authorized", "Not authorized", 403, "", "")), 1, 77, "not_authorized",
		},
		"what may pass is tried": {
			responds(
				503, fmt.Sprintf(problem, "resource_unavailable", "Resource unavailable", 503, "", ""), "X-Should-Retry: true",
			),
			4, 69, "resource_unavailable",
		},
		"the server's word on retries counts": {
			responds(503, "", "X-Should-Retry: false"), 1, 69, "Service Unavailable (HTTP status 503)",
		},
		"in flight under the same key": {
			responds(409, fmt.Sprintf(problem, "conflict", "Conflict", 409, "", ""), "X-Should-Retry: true"), 4, 65, "conflict",
		},
		"too long a wait is not waited for": {
			responds(429, fmt.Sprintf(problem, "rate_limited", "Rate limited", 429, "", ""), "Retry-After: 3600"), 1, 69,
			"rate_limited",
		},
		"a write is not turned into a read": {
			responds(301, "", "Location: https://x.example/api/v1/agent/runs"), 1, 65, "set --server to that URL",
		},
		"another server": {responds(200, "<html>"), 1, 69, "does not respond like a Penstock server"},
		"hostile text in an error does no harm": {
			responds(400, fmt.Sprintf(problem, "invalid_request", "Invalid request", 400, `\u001b[2Jgone`, "")), 1, 65,
			"Invalid request: gone (",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := make([]http.HandlerFunc, test.times)
			for i := range list {
				list[i] = test.response
			}
			s := script(t, list...)
			got := call(t, s.env(), "run", "create", "x")
			got.want(t, test.code, test.says)
			if n := len(s.seen()); n != test.times {
				t.Errorf("got %d requests, want %d", n, test.times)
			}
		})
	}
}

func TestDeleteSucceedsWhenItsResponseIsLost(t *testing.T) {
	t.Parallel()
	list := responds(200, `{"environments":[{"uid":"7Qm2ZrX0bN4kLw9TcYvE1a","config":{"name":"linux"}}]}`)
	gone := responds(404, `{"title":"Resource not found"}`)
	s := script(t, list, breaks, gone)
	call(t, s.env(), "environment", "delete", "linux").want(t, 0)
	s = script(t, list, gone)
	call(t, s.env(), "environment", "delete", "linux").want(t, 65)
}

func TestIgnoredFieldsAreNamed(t *testing.T) {
	t.Parallel()
	s := script(t, responds(200, created, "X-Penstock-Ignored-Fields: /promt"))
	file := writeFile(t, "run.yaml", "prompt: x\npromt: y\n")
	call(t, s.env(), "run", "create", "-f", file).want(t, 0, "ignored an unknown field: /promt")
}

func TestUnknownFieldsOfAResponseAreKeptInJSON(t *testing.T) {
	t.Parallel()
	body := `{"runs":[{"run_id":"a","state":"NEWSTATE","novel":{"a":[1]}}],"page_info":{"has_next_page":false}}`
	s := script(t, responds(200, body))
	call(t, s.env(), "run", "list", "-o", "json").want(t, 0, `"NEWSTATE"`, `"novel"`)
}

func TestFileAndFlagsMakeOneRequest(t *testing.T) {
	t.Parallel()
	s := script(t, responds(200, created))
	file := writeFile(
		t, "run.yaml",
		"prompt: from the file\ntitle: from the file\nconfig:\n  model_id: a/b\n  budget: {max_total_tokens: 5}\n",
	)
	call(t, append(
		s.env(), "FROM_OUTSIDE=value",
	), "run", "create", "-f", file, "--title", "from the flag", "--name", "nightly",
		"--env", "A=b=c", "--env", "FROM_OUTSIDE", "--metadata", "team=x;y", "--max-duration", "90s", "--interactive").want(
		t, 0,
	)
	want := `{"config":{"budget":{"max_total_tokens":5},"env":{"A":"b=c","FROM_OUTSIDE":"value"},` +
		`"max_duration_minutes":2,"model_id":"a/b","name":"nightly"},` +
		`"interactive":true,"metadata":{"team":"x;y"},"prompt":"from the file","title":"from the flag"}`
	if diff := cmp.Diff(want, sortedJSON(t, s.seen()[0].body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestAllPagesOfFactoriesAreRead(t *testing.T) {
	t.Parallel()
	page := `{"factories":[{"uid":"%s","name":"Pay %[1]s"}],"page_info":{"has_next_page":%t,"next_cursor":"c1"}}`
	first, second := responds(200, fmt.Sprintf(page, "f1", true)), responds(200, fmt.Sprintf(page, "f2", false))
	s := script(t, first, second)
	call(t, s.env(), "factory", "list", "--search", "pay").want(t, 0, "f1", "f2")
	got := []string{
		s.seen()[0].URL.Query().Get("search"), s.seen()[1].URL.Query().Get("search"), s.seen()[1].URL.Query().Get("cursor"),
	}
	if diff := cmp.Diff([]string{"pay", "pay", "c1"}, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	s = script(t, first, second, responds(200, `{"uid":"f2","name":"Pay f2","foreman_agent_uid":"lead"}`))
	call(t, s.env(), "factory", "get", "pay F2").want(t, 0, "Pay f2")
}

// The API key is sent only to the configured server. A redirect to another server does not get it.
func TestTheKeyGoesToNoOtherServer(t *testing.T) {
	t.Parallel()
	const none = `{"factories":[],"page_info":{"has_next_page":false}}`
	other := script(t, responds(200, none))
	s := script(t, responds(302, "", "Location: "+other.URL+"/elsewhere"))
	call(t, s.env(), "factory", "list").want(t, 0)
	if r := other.seen()[0]; r.Header.Get("Authorization") != "" {
		t.Errorf("the other server got %q", r.Header.Get("Authorization"))
	}
	s = script(t, responds(302, "", "Location: /elsewhere"), responds(200, none))
	call(t, s.env(), "factory", "list").want(t, 0)
	if r := s.seen()[1]; r.Header.Get("Authorization") != "Bearer "+someKey {
		t.Errorf("the same server got %q", r.Header.Get("Authorization"))
	}
}

func TestAllPagesAreRead(t *testing.T) {
	t.Parallel()
	page := `{"runs":[{"run_id":"%s","state":"QUEUED","title":"t"}],"page_info":{"has_next_page":%t,"next_cursor":"c1"}}`
	s := script(t, responds(200, fmt.Sprintf(page, "r1", true)), responds(200, fmt.Sprintf(page, "r2", false)))
	call(t, s.env(), "run", "list", "--limit", "0", "--state", "queued", "--metadata", "a=b").want(t, 0, "r1", "r2")
	first, second := s.seen()[0].URL.Query(), s.seen()[1].URL.Query()
	got := []string{
		first.Get("limit"), first.Get("state"), first.Get("metadata[a]"), first.Get("cursor"), second.Get("cursor"),
	}
	if diff := cmp.Diff([]string{"500", "QUEUED", "b", "", "c1"}, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}
