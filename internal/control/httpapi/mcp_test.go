package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The versions of the protocol that the tests speak.
const (
	mcpNew = "2026-07-28"
	mcpOld = "2025-11-25"
)

// mcpKey sends a key with each request.
type mcpKey struct {
	key  string
	next http.RoundTripper
}

func (k mcpKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.next.RoundTrip(r)
}

// mcpClient is a client of the SDK with a session.
type mcpClient struct {
	t *testing.T
	*mcp.ClientSession
}

// connect connects a client with a key to a path of the server.
func (w *world) connect(key, path, version string, options *mcp.ClientOptions) mcpClient {
	w.t.Helper()
	transport := &mcp.StreamableClientTransport{
		Endpoint: w.url + path, HTTPClient: &http.Client{Transport: mcpKey{key, w.client.Transport}},
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(w.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return mcpClient{w.t, session}
}

func (w *world) mcp() mcpClient { return w.connect(w.admin, "/mcp", "", nil) }

// toolResult is the result of a call.
type toolResult struct {
	text   string         // all of it
	blocks []string       // each of it
	data   map[string]any // structuredContent
	failed bool
}

// call calls a tool.
func (c mcpClient) call(name string, args map[string]any) toolResult {
	c.t.Helper()
	got, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	r := toolResult{failed: got.IsError}
	for _, block := range got.Content {
		text, ok := block.(*mcp.TextContent)
		if !ok {
			c.t.Fatalf("%s: a block of type %T", name, block)
		}
		r.blocks = append(r.blocks, text.Text)
	}
	r.text = strings.Join(r.blocks, "\n")
	r.data, _ = got.StructuredContent.(map[string]any)
	return r
}

// must is call, and requires success.
func (c mcpClient) must(name string, args map[string]any) toolResult {
	c.t.Helper()
	r := c.call(name, args)
	if r.failed {
		c.t.Fatalf("%s %v: %s", name, args, r.text)
	}
	return r
}

func (r toolResult) field(name string) string {
	text, _ := r.data[name].(string)
	return text
}

// untrusted returns what structuredContent holds below untrusted, as JSON.
func (r toolResult) untrusted(name string) string {
	values, _ := r.data["untrusted"].(map[string]any)
	raw, _ := json.Marshal(values[name])
	return string(raw)
}

// newFactory creates a factory and returns its uid.
func (w *world) newFactory(name string) string {
	w.t.Helper()
	return w.must(http.StatusCreated, "POST", "/api/v1/factory", map[string]any{"files": map[string]string{
		"factory.yaml":             "schemaVersion: v1alpha1\nname: " + name + "\nagentDefaults: {model: demo/offline}\n",
		"agents/foreman/agent.md":  "---\nagentType: FOREMAN\n---\nx\n",
		"agents/reviewer/agent.md": "---\nagentType: CUSTOM\n---\nx\n",
	}}).field("uid")
}

func TestAnAgentSendsATaskAndFollowsIt(t *testing.T) {
	t.Parallel()
	for _, version := range []string{mcpNew, mcpOld} {
		for _, path := range []string{"/mcp", "/api/v1/mcp/factory"} {
			t.Run(version+path, func(t *testing.T) {
				t.Parallel()
				w := start(t)
				factory := w.newFactory("Payments")
				_, key := w.newKey(penstock.ScopeFactoriesRead, penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
				c := w.connect(key, path, version, nil)
				if got := c.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("version %s, want %s", got, version)
				}
				listed := c.must("list_factories", nil)
				if text := listed.untrusted("factories"); !strings.Contains(text, factory) ||
					!strings.Contains(text, `"Payments"`) || strings.Contains(listed.blocks[0], "Payments") {
					t.Errorf("factories: %s", listed.text)
				}
				sent := c.must("send_task", map[string]any{
					"factory_uid": factory, "note": "Fix the rounding.", "title": "Rounding", "ticket_ref": "linear:ENG-42",
				})
				id := sent.field("factory_task_uid")
				if sent.field("run_url") != w.url+"/runs/"+id || sent.field("state") != "QUEUED" {
					t.Errorf("sent: %s", sent.text)
				}
				for _, args := range []map[string]any{
					{"factory_task_uid": id}, {"url": w.url + "/runs/" + id}, {"ticket_ref": "linear:ENG-42"},
				} {
					if got := c.must("get_task", args); got.field("factory_task_uid") != id {
						t.Errorf("%v: %s", args, got.text)
					}
				}
				if got := c.must("list_tasks", map[string]any{"factory_uid": factory}); !strings.Contains(got.text, id) {
					t.Errorf("tasks: %s", got.text)
				}
				waited := make(chan toolResult, 1)
				go func() {
					waited <- c.call("wait_task", map[string]any{"factory_task_uid": id, "state": "QUEUED"})
				}()
				g := w.work(w.svc.Executions.Control())
				if got := <-waited; got.data["changed"] != true || got.field("state") == "QUEUED" {
					t.Errorf("waited: %s", got.text)
				}
				g.append(g.say("The total was rounded twice."))
				if got := c.must("get_conversation", map[string]any{"factory_task_uid": id}); !strings.Contains(
					got.untrusted("messages"), "rounded twice",
				) || strings.Contains(got.blocks[0], "rounded twice") {
					t.Errorf("conversation: %s", got.text)
				}
				handed := c.must("send_task", map[string]any{
					"factory_task_uid": id, "note": "Please review.", "branch": "fix/x", "pr_url": "https://example.com/pull/1",
				})
				if handed.field("followup_id") == "" {
					t.Errorf("handed back: %s", handed.text)
				}
				if got := c.must("cancel_task", map[string]any{"factory_task_uid": id}); got.field("state") != "CANCELLED" {
					t.Errorf("cancelled: %s", got.text)
				}
				if got := c.must("wait_task", map[string]any{"factory_task_uid": id}); got.data["done"] != true {
					t.Errorf("waited for the end: %s", got.text)
				}
			})
		}
	}
}

// One schema that a client does not understand makes it drop all tools (anthropics/claude-code#88049,
// opentokenz/mcpx#28), and some read only the simplest schemas (shaun0927/openchrome#156,
// xpzouying/xiaohongshu-mcp#677).
func TestSchemasOfToolsArePlain(t *testing.T) {
	t.Parallel()
	w := start(t)
	list, err := w.mcp().ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 14_000 {
		t.Errorf("the list has %d bytes", len(raw))
	}
	t.Logf("%d tools in %d bytes", len(list.Tools), len(raw))
	for _, word := range []string{"$ref", "anyOf", "oneOf", "allOf", "$schema", "outputSchema"} {
		if strings.Contains(string(raw), `"`+word+`"`) {
			t.Errorf("the list has %s", word)
		}
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		schema, _ := tool.InputSchema.(map[string]any)
		properties, ok := schema["properties"].(map[string]any)
		if schema["type"] != "object" || schema["additionalProperties"] != false || !ok {
			t.Errorf("%s: schema %v", tool.Name, schema)
		}
		for name, property := range properties {
			if p, _ := property.(map[string]any); p["type"] == nil || p["description"] == "" {
				t.Errorf("%s: %s has %v", tool.Name, name, property)
			}
		}
		a := tool.Annotations
		if a == nil || a.DestructiveHint == nil || a.OpenWorldHint == nil || tool.Title == "" {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
	}
	want := []string{
		"cancel_task", "explain_event", "get_artifact", "get_changes", "get_conversation", "get_factory_file_schema",
		"get_task", "list_factories", "list_tasks", "message_foreman", "send_task", "validate_factory_files", "wait_task",
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("tools %v", names)
	}
	if text := w.mcp().InitializeResult().Instructions; len(text) > 512 || !strings.HasSuffix(text, ".") {
		t.Errorf("instructions of %d bytes: %s", len(text), text)
	}
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// mcpHeaders are the headers of a client that does not use the SDK.
var mcpHeaders = []string{
	"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", mcpOld,
}

// Without a key, a client must not look for an authorization server, and its user must learn what to do
// (zernio-dev/zernio-python#22).
func TestMCPNeedsAKey(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{"/mcp", "/api/v1/mcp/factory"} {
		a := w.do("POST", path, listTools, append(mcpHeaders, "Authorization", "")...)
		if a.status != http.StatusUnauthorized || !strings.Contains(a.body, "penstock key create") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		if got := a.header.Get("WWW-Authenticate"); got != `Bearer realm="penstock"` {
			t.Errorf("challenge %q", got)
		}
		if a := w.do("POST", path, listTools, append(mcpHeaders, "Authorization", "Bearer psk_no")...); a.status != 401 {
			t.Errorf("with a wrong key: %d", a.status)
		}
		if a := w.do("POST", path, listTools, mcpHeaders...); a.status != 200 || !strings.Contains(a.body, "send_task") {
			t.Errorf("with a key: %d %s", a.status, a.body)
		}
		for _, method := range []string{"GET", "DELETE"} {
			if a := w.do(method, path, nil, "Accept", "text/event-stream"); a.status != 405 || a.header.Get("Allow") != "POST" {
				t.Errorf("%s: %d %s", method, a.status, a.header.Get("Allow"))
			}
		}
	}
}

// A page in a browser that has a session of the dashboard cannot use the endpoint with it.
func TestMCPIgnoresSessions(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.must(http.StatusCreated, "POST", "/api/v1/session", map[string]string{"api_key": w.admin}, "Authorization", "")
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	session := []string{"Authorization", "", "Cookie", cookie, "X-Penstock-Session-Secret", a.field("secret")}
	if got := w.do("GET", "/api/v1/me", nil, session...); got.status != http.StatusOK {
		t.Fatalf("the session does not work: %d %s", got.status, got.body)
	}
	if got := w.do("POST", "/mcp", listTools, append(mcpHeaders, session...)...); got.status != http.StatusUnauthorized {
		t.Errorf("with a session: %d %s", got.status, got.body)
	}
}

// The SDK takes the public host for an attack if a proxy on this machine passes it on
// (containers/kubernetes-mcp-server#1454), and has no check of origins (pgEdge/pgedge-postgres-mcp#231).
func TestMCPChecksTheOriginButNotTheHost(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.CORSOrigins = []string{"https://tools.example.com"} })
	for origin, want := range map[string]int{
		w.url: 200, "https://tools.example.com": 200, "https://evil.example.com": 403, "null": 403,
		strings.Replace(w.url, "127.0.0.1", "localhost", 1): 403,
	} {
		if a := w.do("POST", "/mcp", listTools, append(mcpHeaders, "Origin", origin)...); a.status != want {
			t.Errorf("%s: %d %s, want %d", origin, a.status, a.body, want)
		}
	}
	r := w.request("POST", "/mcp", listTools, mcpHeaders...)
	r.Host = "penstock.example.com"
	if a := w.send(r); a.status != http.StatusOK {
		t.Errorf("behind a proxy: %d %s", a.status, a.body)
	}
}

func TestMCPCanBeOff(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.NoMCP = true })
	for _, path := range []string{"/mcp", "/api/v1/mcp/factory"} {
		if a := w.do("POST", path, listTools, mcpHeaders...); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// A client keeps the id of a session that no longer exists after a restart (PrefectHQ/fastmcp#3073).
func TestMCPHasNoSessions(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.do("POST", "/mcp", listTools, append(mcpHeaders, "Mcp-Session-Id", "of-an-earlier-server")...)
	if a.status != http.StatusOK || a.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %s %s", a.status, a.header.Get("Mcp-Session-Id"), a.body)
	}
}

func TestMCPBodiesAndRatesAreLimited(t *testing.T) {
	t.Parallel()
	w := start(t)
	big := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":%q}}`, strings.Repeat("x", 1<<20))
	if a := w.do("POST", "/mcp", big, mcpHeaders...); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d", a.status)
	}
	call := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_task"}}`, id)
	}
	batch := make([]string, 119)
	for i := range batch {
		batch[i] = call(i)
	}
	first := w.do("POST", "/mcp", "["+strings.Join(batch, ",")+"]", "Accept", mcpHeaders[1])
	if first.status != http.StatusOK {
		t.Errorf("a batch: %d %.300s", first.status, first.body)
	}
	if a := w.do("POST", "/mcp", call(1), mcpHeaders...); a.status != http.StatusOK {
		t.Errorf("the last call of the minute: %d", a.status)
	}
	a := w.do("POST", "/mcp", call(1), mcpHeaders...)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("after it: %d %s", a.status, a.body)
	}
	if a := w.do("POST", "/mcp", listTools, mcpHeaders...); a.status != http.StatusOK {
		t.Errorf("a list: %d", a.status)
	}
}

// Clients send a call again under a new id if they lost its answer (hostinger/api-mcp-server#68).
func TestATaskIsSentOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		factory := w.newFactory("once")
		send := func(args map[string]any) toolResult {
			args["factory_uid"] = factory
			return w.mcp().call("send_task", args)
		}
		keyed := send(map[string]any{"note": "a", "request_key": "k 1 ü"})
		if again := send(map[string]any{"note": "a", "request_key": "k 1 ü"}); again.failed ||
			again.field("factory_task_uid") != keyed.field("factory_task_uid") || again.data["repeated"] != true {
			t.Errorf("with the same key: %s, then %s", keyed.text, again.text)
		}
		if other := send(map[string]any{"note": "a", "request_key": "k2"}); other.field("factory_task_uid") ==
			keyed.field("factory_task_uid") || other.data["repeated"] != false {
			t.Errorf("with another key: %s", other.text)
		}
		if conflict := send(map[string]any{"note": "b", "request_key": "k2"}); !conflict.failed {
			t.Errorf("a key with another note: %s", conflict.text)
		}
		results := make(chan toolResult)
		for range 8 {
			go func() { results <- send(map[string]any{"note": "equal"}) }()
		}
		ids := map[string]bool{}
		for range 8 {
			r := <-results
			ids[r.field("factory_task_uid")] = true
			if r.failed {
				t.Error(r.text)
			}
		}
		if len(ids) != 1 {
			t.Errorf("equal calls sent %d tasks", len(ids))
		}
		if other := send(map[string]any{"note": "equal", "title": "x"}); ids[other.field("factory_task_uid")] {
			t.Error("another title is another task")
		}
		if agent := send(map[string]any{"note": "equal", "agent": "reviewer"}); agent.failed ||
			ids[agent.field("factory_task_uid")] {
			t.Errorf("for another agent: %s", agent.text)
		}
	})
}

func TestATaskThatOnlyWaitsIsReported(t *testing.T) {
	t.Parallel()
	w := start(t)
	factory := w.newFactory("waits")
	reports := make(chan string, 100)
	c := w.connect(w.admin, "/mcp", mcpOld, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			reports <- r.Params.Message
		},
	})
	id := c.must("send_task", map[string]any{"factory_uid": factory, "note": "x"}).field("factory_task_uid")
	params := &mcp.CallToolParams{Name: "wait_task", Arguments: map[string]any{"factory_task_uid": id, "timeout_seconds": 1}}
	params.SetProgressToken("p")
	got, err := c.CallTool(t.Context(), params)
	if err != nil || got.IsError {
		t.Fatalf("%+v, %v", got, err)
	}
	data, _ := got.StructuredContent.(map[string]any)
	if data["changed"] != false || data["state"] != "QUEUED" || data["cursor"] == nil {
		t.Errorf("%v", data)
	}
	// With one JSON object as the response, progress would never arrive (getnao/nao#913).
	if message := <-reports; !strings.HasPrefix(message, "QUEUED, ") {
		t.Errorf("progress %q", message)
	}
}

// Aborting the request is how clients stop waiting (modelcontextprotocol/go-sdk#1093).
func TestAWaitEndsWithItsClient(t *testing.T) {
	t.Parallel()
	for _, version := range []string{mcpNew, mcpOld} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			factory := w.newFactory("leaves")
			c := w.connect(w.admin, "/mcp", version, nil)
			id := c.must("send_task", map[string]any{"factory_uid": factory, "note": "x"}).field("factory_task_uid")
			ctx, cancel := context.WithCancel(t.Context())
			var waits []chan error
			for range 20 {
				done := make(chan error, 1)
				waits = append(waits, done)
				go func() {
					_, err := c.CallTool(ctx, &mcp.CallToolParams{
						Name: "wait_task", Arguments: map[string]any{"factory_task_uid": id},
					})
					done <- err
				}()
			}
			wait := func(seconds int) toolResult {
				return c.call("wait_task", map[string]any{"factory_task_uid": id, "timeout_seconds": seconds})
			}
			eventually(t, "the limit of waits", func() bool { return wait(1).failed })
			cancel()
			for _, done := range waits {
				if err := <-done; err == nil {
					t.Error("a cancelled wait has a result")
				}
			}
			testkit.Eventually(t, 5*time.Second, func() error {
				if r := wait(1); r.failed {
					return fmt.Errorf("after the clients left: %s", r.text)
				}
				return nil
			})
		})
	}
}
