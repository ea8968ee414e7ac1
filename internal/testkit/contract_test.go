package testkit

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// failures collects the failures that a test would report.
type failures struct {
	testing.TB
	mu   sync.Mutex
	list []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

const tinyContract = `
openapi: 3.1.0
info: {title: Tiny, version: v1}
servers: [{url: /api/v1}]
security: [{bearer: []}]
paths:
  /things:
    post:
      operationId: createThing
      x-scope: things:write
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}
      responses:
        '201':
          description: The thing.
          headers: {X-Request-Id: {required: true, schema: {type: string, pattern: '^[a-z]+$'}}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}
        '400': {$ref: '#/components/responses/Problem'}
  /things/newest:
    get:
      security: []
      operationId: newestThing
      responses:
        '200': {description: It., content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string, format: uuid}}]
    get:
      operationId: readThing
      parameters: [{name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 500}}]
      responses:
        '200': {description: It., content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
        '404': {$ref: '#/components/responses/Problem'}
    delete:
      operationId: deleteThing
      responses:
        '204': {description: Gone.}
        '401': {$ref: '#/components/responses/Problem'}
  /silence:
    get:
      operationId: silence
      responses:
        '204': {description: Nothing.}
  /events:
    get:
      operationId: streamEvents
      responses:
        '200':
          description: Events.
          content: {text/event-stream: {schema: {type: array, items: {$ref: '#/components/schemas/Event'}}}}
components:
  securitySchemes: {bearer: {type: http, scheme: bearer}}
  responses:
    Problem:
      description: A problem.
      content: {application/problem+json: {schema: {$ref: '#/components/schemas/Error'}}}
  schemas:
    Thing:
      type: object
      required: [id, name]
      properties:
        id: {type: string, format: uuid}
        name: {type: string}
        labels: {type: object, additionalProperties: {type: string}}
        parts: {type: array, items: {$ref: '#/components/schemas/Part'}}
    Part:
      type: object
      properties: {size: {type: integer}}
    Error:
      type: object
      required: [title]
      properties: {title: {type: string}}
    Event:
      type: object
      required: [event, data]
      properties:
        id: {type: integer}
        event: {type: string, enum: [state, done]}
        data: {type: object, properties: {state: {type: string}}}
`

const (
	thingID = "019c1f7e-5b1a-7c44-9a60-3f1b0f6f2d11"
	thing   = `{"id":"` + thingID + `","name":"a"}`
)

// tinyResponse is the response of a test case's server.
type tinyResponse struct {
	status int
	header map[string]string
	body   string
}

func (a tinyResponse) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func jsonResponse(status int, body string) tinyResponse {
	return tinyResponse{status, map[string]string{"Content-Type": "application/json", "X-Request-Id": "abc"}, body}
}

func problemAnswer(status int, body string) tinyResponse {
	return tinyResponse{status, map[string]string{"Content-Type": "application/problem+json"}, body}
}

func streamAnswer(body string) tinyResponse {
	return tinyResponse{200, map[string]string{"Content-Type": "text/event-stream"}, body}
}

func TestContractReportsViolations(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request  string // method, path and body
		response tinyResponse
		want     string // part of the only failure; "" for none
	}{
		"a good response": {"POST /things " + thing, jsonResponse(201, thing), ""},
		"a map may have any key": {
			"GET /things/newest", jsonResponse(200, `{"id":"`+thingID+`","name":"a","labels":{"x":"y"}}`), "",
		},
		"unknown fields may be sent": {
			"POST /things " + `{"id":"` + thingID + `","name":"a","x":1}`, jsonResponse(201, thing), "",
		},
		"an undeclared field": {
			"GET /things/newest", jsonResponse(200, `{"id":"`+thingID+`","name":"a","secret":1}`), `"secret" is unsupported`,
		},
		"an undeclared field further in": {
			"GET /things/newest", jsonResponse(200, `{"id":"`+thingID+`","name":"a","parts":[{"size":1,"x":2}]}`), "/parts/0",
		},
		"a field is missing": {
			"GET /things/newest", jsonResponse(200, `{"id":"`+thingID+`"}`), `"name" is missing`,
		},
		"null where a field should be left": {
			"GET /things/newest", jsonResponse(200, `{"id":"`+thingID+`","name":"a","labels":null}`), "/labels",
		},
		"a value of a map has a wrong type": {
			"GET /things/newest", jsonResponse(200, `{"id":"`+thingID+`","name":"a","labels":{"x":1}}`), "/labels/x",
		},
		"an id of another version": {
			"GET /things/newest", jsonResponse(200, `{"id":"d9428888-122b-41e1-8001-2c0e0f0a0b0c","name":"a"}`), "/id",
		},
		"two values": {
			"GET /things/newest", jsonResponse(200, thing+thing), "more than one JSON value",
		},
		"no JSON": {"GET /things/newest", jsonResponse(200, "thing"), "is no JSON"},
		"another content type": {
			"GET /things/newest",
			tinyResponse{200, map[string]string{"Content-Type": "text/plain"}, thing},
			`"text/plain" is not declared`,
		},
		"an undeclared status": {"GET /things/newest", jsonResponse(202, thing), "not declared for newestThing"},
		"a header is missing": {
			"POST /things " + thing,
			tinyResponse{201, map[string]string{"Content-Type": "application/json"}, thing},
			`header "X-Request-Id" missing`,
		},
		"a header is malformed": {
			"POST /things " + thing,
			tinyResponse{201, map[string]string{"Content-Type": "application/json", "X-Request-Id": "?"}, thing},
			"X-Request-Id",
		},
		"a empty response":                {"GET /silence", tinyResponse{204, nil, ""}, ""},
		"a request without a key":         {"DELETE /things/" + thingID, tinyResponse{204, nil, ""}, "there is no key"},
		"a refused request without a key": {"DELETE /things/" + thingID, problemAnswer(401, `{"title":"no"}`), ""},
		"a refused request":               {"POST /things " + `{"name":7}`, problemAnswer(400, `{"title":"no"}`), ""},
		"an accepted request without a name": {
			"POST /things " + `{"id":"` + thingID + `"}`, jsonResponse(201, thing), "breaks the contract",
		},
		"an accepted query out of bounds": {
			"GET /things/" + thingID + "?limit=501", jsonResponse(200, thing), "breaks the contract",
		},
		"an accepted path that is no uuid": {"GET /things/x", jsonResponse(200, thing), "breaks the contract"},
		"a path that there is not":         {"GET /nothing", problemAnswer(404, `{"title":"no"}`), ""},
		"a path that there is not, plain": {
			"GET /nothing",
			tinyResponse{404, map[string]string{"Content-Type": "text/plain"}, "404"},
			`"text/plain" is not declared`,
		},
		"a method that there is not": {"PUT /things/newest", problemAnswer(405, `{"title":"no"}`), "no header Allow"},
		"a problem with an undeclared field": {
			"GET /things/" + thingID, problemAnswer(404, `{"title":"no","x":1}`), `"x" is unsupported`,
		},
		"events": {
			"GET /events",
			streamAnswer(": hi\n\nid: 1\nevent: state\ndata: {\"state\":\ndata: \"A\"}\n\nevent: done\ndata: {}\n\n"), "",
		},
		"events with other ends of lines": {"GET /events", streamAnswer("id:1\r\nevent:state\r\ndata:{}\r\n\r\n"), ""},
		"an event that is cut off":        {"GET /events", streamAnswer("id: 1\nevent: nonsense\ndata: {"), ""},
		"an unknown event":                {"GET /events", streamAnswer("id: 1\nevent: other\ndata: {}\n\n"), "/event"},
		"an event with an undeclared field": {
			"GET /events", streamAnswer("id: 1\nevent: state\ndata: {\"x\":1}\n\n"), `"x" is unsupported`,
		},
		"an event without JSON": {"GET /events", streamAnswer("id: 1\nevent: state\ndata: hello\n\n"), "is no JSON"},
		"an event twice": {
			"GET /events", streamAnswer(strings.Repeat("id: 1\nevent: state\ndata: {}\n\n", 2)), "event 1 comes after event 1",
		},
		"an event after done": {
			"GET /events", streamAnswer("event: done\ndata: {}\n\nid: 2\nevent: state\ndata: {}\n\n"), "after done",
		},
		"an id that is no number": {"GET /events", streamAnswer("id: x\nevent: state\ndata: {}\n\n"), "is no number"},
		"a field that no stream has": {
			"GET /events", streamAnswer("evnt: state\nevent: state\ndata: {}\n\n"), `the field "evnt"`,
		},
	}
	shared := mustParse(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := exchange(t, shared, test.request, test.response)
			switch {
			case test.want == "" && len(got) > 0:
				t.Errorf("got %q, want no failure", got)
			case test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)):
				t.Errorf("got %q, want one failure with %q", got, test.want)
			}
		})
	}
}

func mustParse(t *testing.T) *Contract {
	t.Helper()
	c, err := parseContract([]byte(tinyContract))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange sends request ("METHOD /path body") to a server that sends response, and returns the
// failures. The response must arrive unchanged.
func exchange(t *testing.T, c *Contract, request string, response tinyResponse) []string {
	t.Helper()
	var received string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received = string(body)
		response.ServeHTTP(w, r)
	}))
	defer server.Close()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if method != http.MethodDelete { // an operation that needs a key
		req.Header.Set("Authorization", "Bearer psk_test")
	}
	f := &failures{TB: t}
	resp, err := c.Transport(f, nil).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(response.body, string(got)); diff != "" {
		t.Errorf("response changed on its way (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(body, received); diff != "" {
		t.Errorf("request changed on its way (-want +got):\n%s", diff)
	}
	return f.list
}

func TestContractReportsUnseenResponses(t *testing.T) {
	t.Parallel()
	c := mustParse(t)
	exchange(t, c, "POST /things "+thing, jsonResponse(201, thing))
	exchange(t, c, "GET /things/"+thingID, problemAnswer(404, `{"title":"no"}`))
	exchange(t, c, "GET /things/newest", jsonResponse(200, thing))
	exchange(t, c, "GET /elsewhere", problemAnswer(404, `{"title":"no"}`))

	f := &failures{TB: t}
	c.RequireAll(f, "deleteThing *", "silence 204", "* 400")
	want := []string{
		"contract: streamEvents 200 (GET /api/v1/events) was never seen",
		"contract: readThing 200 (GET /api/v1/things/{id}) was never seen",
	}
	if diff := cmp.Diff(want, f.list); diff != "" {
		t.Errorf("never seen (-want +got):\n%s", diff)
	}
	if report := c.Report(); !strings.Contains(report, "createThing                  201×1 400×0\n") {
		t.Errorf("got report\n%s", report)
	}
}

func TestContractListsItsRoutes(t *testing.T) {
	t.Parallel()
	want := []Route{
		{"streamEvents", "GET", "/api/v1/events", "", nil, []int{200}},
		{"silence", "GET", "/api/v1/silence", "", nil, []int{204}},
		{"createThing", "POST", "/api/v1/things", "things:write", nil, []int{201, 400}},
		{"newestThing", "GET", "/api/v1/things/newest", "", nil, []int{200}},
		{"deleteThing", "DELETE", "/api/v1/things/{id}", "", nil, []int{204, 401}},
		{"readThing", "GET", "/api/v1/things/{id}", "", []string{"limit"}, []int{200, 404}},
	}
	if diff := cmp.Diff(want, mustParse(t).Routes()); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

func TestContractChecksOnlyTheAPI(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(tinyResponse{418, nil, "tea"})
	defer server.Close()
	f := &failures{TB: t}
	client := http.Client{Transport: mustParse(t).Transport(f, nil)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if len(f.list) > 0 {
		t.Errorf("got %q, want no failure", f.list)
	}
}
