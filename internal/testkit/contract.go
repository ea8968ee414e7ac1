package testkit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Contract checks a running server against api/openapi.yaml. [Contract.Transport] compares requests
// and responses with the document: status, headers, body, and no undeclared fields. It records the
// responses, so that [Contract.RequireAll] can list those that no test has caused. Tests that run
// at once may share it.
type Contract struct {
	requests  *openapi3.T // as written: unknown fields are allowed
	responses *openapi3.T // closed: unknown fields are not
	base      string      // path before the path of each operation, "/api/v1"
	routes    []Route

	mu   sync.Mutex
	seen map[declared]int
}

type declared struct {
	operation string
	status    int
}

// Route is one operation of the contract.
type Route struct {
	Operation string // operationId
	Method    string
	Path      string   // "/api/v1/agent/runs/{runId}"
	Scope     string   // that a key needs; "any" for any key, "" for no key
	Query     []string // names of its query parameters
	Statuses  []int    // the declared ones, in order
}

func (r Route) String() string { return r.Method + " " + r.Path }

// NewContract loads the module's api/openapi.yaml.
func NewContract(tb testing.TB) *Contract {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "api", "openapi.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	c, err := parseContract(data)
	if err != nil {
		tb.Fatalf("api/openapi.yaml: %v", err)
	}
	return c
}

func parseContract(data []byte) (*Contract, error) {
	c := &Contract{seen: map[declared]int{}}
	var err error
	if c.requests, err = openapi3.NewLoader().LoadFromData(data); err != nil {
		return nil, err
	}
	if c.responses, err = openapi3.NewLoader().LoadFromData(data); err != nil {
		return nil, err
	}
	for _, schema := range c.responses.Components.Schemas {
		closeSchema(schema, map[*openapi3.Schema]bool{})
	}
	if c.base, err = c.responses.Servers.BasePath(); err != nil {
		return nil, err
	}
	for path, item := range c.responses.Paths.Map() {
		for method, op := range item.Operations() {
			scope, _ := op.Extensions["x-scope"].(string)
			route := Route{Operation: op.OperationID, Method: method, Path: c.base + path, Scope: scope}
			for text := range op.Responses.Map() {
				status, err := strconv.Atoi(text)
				if err != nil {
					return nil, fmt.Errorf("%s: status %q is no number", route, text)
				}
				route.Statuses = append(route.Statuses, status)
			}
			slices.Sort(route.Statuses)
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				if p.Value.In == openapi3.ParameterInQuery {
					route.Query = append(route.Query, p.Value.Name)
				}
			}
			c.routes = append(c.routes, route)
		}
	}
	slices.SortFunc(c.routes, func(a, b Route) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return c, nil
}

// appendFields appends the names of the fields of ref's objects.
func appendFields(names []string, ref *openapi3.SchemaRef, done map[*openapi3.Schema]bool) []string {
	if ref == nil || ref.Value == nil || done[ref.Value] {
		return names
	}
	s := ref.Value
	done[s] = true
	for name := range s.Properties {
		names = append(names, name)
	}
	for _, child := range childrenOf(s) {
		names = appendFields(names, child, done)
	}
	return names
}

// childrenOf lists the schemas inside of one.
func childrenOf(s *openapi3.Schema) []*openapi3.SchemaRef {
	children := slices.Concat(s.OneOf, s.AnyOf, s.AllOf, openapi3.SchemaRefs{s.Items, s.AdditionalProperties.Schema})
	return slices.AppendSeq(children, maps.Values(s.Properties))
}

// closeSchema forbids undeclared fields in ref's objects, unless the document mentions them itself.
func closeSchema(ref *openapi3.SchemaRef, done map[*openapi3.Schema]bool) {
	if ref == nil || ref.Value == nil || done[ref.Value] {
		return
	}
	s := ref.Value
	done[s] = true
	if s.Properties != nil && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		s.AdditionalProperties.Has = new(bool)
	}
	for _, child := range childrenOf(s) {
		closeSchema(child, done)
	}
}

// Routes lists the operations, by path and method.
func (c *Contract) Routes() []Route { return slices.Clone(c.routes) }

// Fields lists the names of the fields of an operation's request body, also of those inside others.
func (c *Contract) Fields(r Route) (names []string) {
	op := c.requests.Paths.Value(strings.TrimPrefix(r.Path, c.base)).GetOperation(r.Method)
	if op.RequestBody == nil {
		return nil
	}
	for _, media := range op.RequestBody.Value.Content {
		names = appendFields(names, media.Schema, map[*openapi3.Schema]bool{})
	}
	return names
}

// Report shows, for each operation, how often each declared status was seen.
func (c *Contract) Report() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	for _, r := range c.routes {
		fmt.Fprintf(&out, "%-28s", r.Operation)
		for _, status := range r.Statuses {
			fmt.Fprintf(&out, " %d×%d", status, c.seen[declared{r.Operation, status}])
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// RequireAll fails the test for every declared response that was not seen. An exception is a
// pattern for "operation status", such as "download 503" or "* 500".
func (c *Contract) RequireAll(tb testing.TB, exceptions ...string) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.routes {
		for _, status := range r.Statuses {
			name := fmt.Sprintf("%s %d", r.Operation, status)
			excepted := slices.ContainsFunc(exceptions, func(pattern string) bool {
				ok, _ := path.Match(pattern, name)
				return ok
			})
			if !excepted && c.seen[declared{r.Operation, status}] == 0 {
				tb.Errorf("contract: %s (%s) was never seen", name, r)
			}
		}
	}
}

// Transport checks all traffic of next (nil: [http.DefaultTransport]) and fails the test if a
// response breaks the contract. It changes nothing. The server must reject a request that breaks
// the contract. Paths outside of the contract's base path are not checked.
func (c *Contract) Transport(tb testing.TB, next http.RoundTripper) http.RoundTripper {
	tb.Helper()
	if next == nil {
		next = http.DefaultTransport
	}
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		tb.Helper()
		below, ours := strings.CutPrefix(req.URL.EscapedPath(), c.base+"/")
		if !ours || req.Method == http.MethodHead || req.Method == http.MethodOptions {
			return next.RoundTrip(req)
		}
		route, params := c.find(req.Method, "/"+below)
		broken, err := c.checkRequest(req, route, params)
		if err != nil {
			return nil, err
		}
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		fail := func(format string, args ...any) {
			tb.Helper()
			tb.Errorf("contract: %s %s: %d: %s", req.Method, req.URL.Path, resp.StatusCode, fmt.Sprintf(format, args...))
		}
		if broken != nil && resp.StatusCode < 400 {
			why, _, _ := strings.Cut(broken.Error(), "\nSchema:") // the whole schema follows
			fail("a request was accepted that breaks the contract: %s", why)
		}
		if route == nil {
			c.checkUnrouted(fail, resp)
			return resp, nil
		}
		c.mu.Lock()
		c.seen[declared{route.Operation.OperationID, resp.StatusCode}]++
		c.mu.Unlock()
		c.checkAnswer(fail, req, resp, route)
		return resp, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// find returns the operation of the closed document for a path below the base, or nil. A literal
// path wins over one with parameters.
func (c *Contract) find(method, escaped string) (*routers.Route, map[string]string) {
	var best *routers.Route
	var bestParams map[string]string
	for template, item := range c.responses.Paths.Map() {
		op := item.GetOperation(method)
		params, ok := matchPath(template, escaped)
		if op != nil && ok && (best == nil || len(params) < len(bestParams)) {
			best = &routers.Route{Spec: c.responses, Path: template, PathItem: item, Method: method, Operation: op}
			bestParams = params
		}
	}
	return best, bestParams
}

func matchPath(template, escaped string) (map[string]string, bool) {
	want, got := strings.Split(template, "/"), strings.Split(escaped, "/")
	if len(want) != len(got) {
		return nil, false
	}
	params := map[string]string{}
	for i, segment := range want {
		if name, isParam := strings.CutPrefix(segment, "{"); isParam {
			value, err := url.PathUnescape(got[i])
			if err != nil || value == "" {
				return nil, false
			}
			params[strings.TrimSuffix(name, "}")] = value
		} else if segment != got[i] {
			return nil, false
		}
	}
	return params, true
}

// checkRequest returns how req breaks the contract, or nil. The body stays readable. The second
// error comes from reading it.
func (c *Contract) checkRequest(req *http.Request, route *routers.Route, params map[string]string) (broken, err error) {
	if route == nil {
		return errors.New("there is no such operation"), nil
	}
	open := *route
	open.Spec = c.requests
	open.PathItem = c.requests.Paths.Value(route.Path)
	open.Operation = open.PathItem.GetOperation(route.Method)
	checked := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		req.Body, checked.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
		checked.GetBody = nil
	}
	return openapi3filter.ValidateRequest(req.Context(), &openapi3filter.RequestValidationInput{
		Request: checked, PathParams: params, QueryParams: req.URL.Query(), Route: &open,
		Options: &openapi3filter.Options{
			AuthenticationFunc:      hasKey,
			SkipSettingDefaults:     true,
			SchemaValidationOptions: formats("uuid", anyUUID),
		},
	}), nil
}

// hasKey reports whether the request has a key or a session, valid or not.
func hasKey(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	r := in.RequestValidationInput.Request
	if in.SecurityScheme.Scheme == "bearer" && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return errors.New("there is no key")
	}
	if in.SecurityScheme.In == "cookie" && !strings.Contains(r.Header.Get("Cookie"), "penstock_session") {
		return errors.New("there is no cookie of a session")
	}
	if in.SecurityScheme.In == "header" && r.Header.Get(in.SecurityScheme.Name) == "" {
		return fmt.Errorf("there is no header %s", in.SecurityScheme.Name)
	}
	return nil
}

// checkUnrouted checks the response for an unknown path or method.
func (c *Contract) checkUnrouted(fail failer, resp *http.Response) {
	if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed {
		fail("no operation is declared for this")
		return
	}
	if resp.StatusCode == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
		fail("there is no header Allow")
	}
	if problem := c.responses.Components.Schemas["Error"]; problem != nil {
		c.checkBody(fail, resp, openapi3.Content{"application/problem+json": {Schema: problem}})
	}
}

type failer func(format string, args ...any)

func (c *Contract) checkAnswer(fail failer, req *http.Request, resp *http.Response, route *routers.Route) {
	declared := route.Operation.Responses.Status(resp.StatusCode)
	if declared == nil {
		fail("the status is not declared for %s", route.Operation.OperationID)
		return
	}
	err := openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route},
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Options: &openapi3filter.Options{
			ExcludeResponseBody:     true,
			MultiError:              true,
			SchemaValidationOptions: answerOptions(),
		},
	})
	if err != nil {
		fail("%v", err)
	}
	c.checkBody(fail, resp, declared.Value.Content)
}

// checkBody compares the body with its schema and leaves it readable. A stream
// is checked event by event, while the test reads it.
func (c *Contract) checkBody(fail failer, resp *http.Response, content openapi3.Content) {
	kind := resp.Header.Get("Content-Type")
	media := content.Get(kind)
	switch kind, _, _ := mime.ParseMediaType(kind); {
	case len(content) == 0:
		if redirect := resp.StatusCode/100 == 3; !redirect && len(c.readBody(fail, resp)) > 0 {
			fail("there is a body, and none is declared")
		}
	case media == nil:
		fail("the content type %q is not declared", kind)
	case kind == "text/event-stream":
		resp.Body = &eventChecker{ReadCloser: resp.Body, schema: media.Schema.Value.Items.Value, fail: fail}
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		value, err := decodeJSON(c.readBody(fail, resp))
		if err == nil {
			err = visit(media.Schema.Value, value)
		}
		if err != nil {
			fail("%v", err)
		}
	}
}

// readBody reads the whole body and puts it back.
func (c *Contract) readBody(fail failer, resp *http.Response) []byte {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		fail("read the body: %v", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

func decodeJSON(body []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("the body is no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value in the body")
	}
	return value, nil
}

const (
	anyUUID = `^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	uuid7   = `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`
)

// visit returns all errors of value, without repeating schema.
func visit(schema *openapi3.Schema, value any) error {
	return schema.VisitJSON(
		value, append(answerOptions(), openapi3.MultiErrors(), openapi3.DisableSchemaErrorDetails())...,
	)
}

func formats(name, pattern string) []openapi3.SchemaValidationOption {
	return []openapi3.SchemaValidationOption{
		openapi3.WithStringFormatValidator(name, openapi3.NewRegexpFormatValidator(pattern)),
	}
}

func answerOptions() []openapi3.SchemaValidationOption {
	absolute := openapi3.NewCallbackValidator(func(s string) error {
		if u, err := url.Parse(s); err != nil || !u.IsAbs() {
			return fmt.Errorf("%q is not an absolute URI", s)
		}
		return nil
	})
	return append(formats("uuid", uuid7),
		openapi3.WithStringFormatValidator("uri", absolute),
		openapi3.VisitAsResponse())
}
