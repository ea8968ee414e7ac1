package harness_test

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
)

// tracker is an MCP server over HTTP with the tool create. Runs reach it as trackerURL, through
// their egress proxy and then the proxy of the tracker.
type tracker struct {
	server, proxy *httptest.Server
	ca            string // file

	mu    sync.Mutex
	calls []http.Header
}

const (
	trackerURL   = "https://example.com/mcp" // a name in the certificate of httptest
	trackerToken = "Bearer the-key-of-the-tracker"
)

// newTracker starts the server and its proxy.
func newTracker(t *testing.T) *tracker {
	t.Helper()
	k := &tracker{ca: filepath.Join(t.TempDir(), "ca.pem")}
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	type ticket struct {
		Title string `json:"title"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "create", Description: "Creates a ticket"},
		func(_ context.Context, _ *mcp.CallToolRequest, in ticket) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "created " + in.Title}}}, nil, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.calls = append(k.calls, r.Header.Clone())
		return server
	}, &mcp.StreamableHTTPOptions{DisableLocalhostProtection: true}) // its own name is not the machine's
	routes := brokenServers()
	routes.Handle("/mcp", handler)
	k.server = httptest.NewTLSServer(routes)
	t.Cleanup(k.server.Close)
	k.proxy = httptest.NewServer(http.HandlerFunc(k.connect))
	t.Cleanup(k.proxy.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: k.server.Certificate().Raw})
	if err := os.WriteFile(k.ca, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// broken has the MCP servers over HTTP beside the tracker that do not work, with a part of the reason.
var broken = map[string]string{
	"page": "it returned 502 Bad Gateway", "missing": "it returned 404 Not Found",
	"closed": "it returned 401 Unauthorized", "garbage": "listening",
}

// brokenServers serves each of broken at the path of its name.
func brokenServers() *http.ServeMux {
	routes := http.NewServeMux()
	routes.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><title>502 Bad Gateway</title><body>nginx</body></html>")
	})
	routes.HandleFunc("/garbage", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: message\ndata: listening on port 80\n\n")
	})
	routes.Handle("/missing", http.NotFoundHandler())
	routes.HandleFunc("/closed", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	return routes
}

// connect serves CONNECT, which always leads to the server.
func (k *tracker) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	there, err := new(net.Dialer).DialContext(r.Context(), "tcp", k.server.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	var copying sync.WaitGroup
	copying.Go(func() {
		_, _ = io.Copy(there, buffered) // until one end closes
		_ = there.Close()
	})
	_, _ = io.Copy(here, there)
	_ = here.Close()
	copying.Wait()
}

// testRemoteMCP is an MCP server over HTTP, whose header only the egress proxy knows.
func testRemoteMCP(t *testing.T, s *suite) {
	list := deeds[s.name]
	last := list[len(list)-1].turn // it calls the tool create of the server tracker
	// The command is in the session, so it does not contain the key itself.
	search := s.command(`grep -rsl "the-key-of""-the-tracker" "$HOME" . /proc/self/environ || echo 'not inside'`)
	model := &harness.ScriptedModel{Turns: []harness.ScriptedTurn{last, search, {Text: "It is created."}}}
	j := s.start(t, model, map[string]any{"prompt": "Create a ticket.", "config": map[string]any{
		"mcp_servers": map[string]any{
			"tracker": map[string]any{"url": trackerURL, "headers": map[string]any{"Authorization": trackerToken}},
		},
	}})
	j.reaches(penstock.StateSucceeded)
	events := j.events()
	if at := slices.Index(events, calls[0]); at < 0 || at+1 == len(events) || events[at+1] != calls[1] {
		t.Errorf("the call of the tool is not among the events:\n%s", cmp.Diff(calls, events))
	}
	if said := strings.Join(j.lines(), "\n"); !strings.Contains(said, "not inside") {
		t.Errorf("the key of the MCP server is inside: %s", said)
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if len(s.tracker.calls) == 0 {
		t.Error("the MCP server was not called")
	}
	for _, header := range s.tracker.calls {
		if got := header.Get("Authorization"); got != trackerToken {
			t.Errorf("the MCP server got the key %q", got)
		}
	}
}

// testBrokenRemoteMCP is about MCP servers over HTTP that do not work: the run goes on, with the tools of the others.
func testBrokenRemoteMCP(t *testing.T, s *suite) {
	list := deeds[s.name]
	last := list[len(list)-1].turn // it calls the tool create of the server tracker
	servers := map[string]any{
		"tracker": map[string]any{"url": trackerURL, "headers": map[string]any{"Authorization": trackerToken}},
	}
	for name := range broken {
		servers[name] = map[string]any{"url": strings.TrimSuffix(trackerURL, "mcp") + name}
	}
	model := &harness.ScriptedModel{Turns: []harness.ScriptedTurn{last, {Text: "It is created."}}}
	j := s.start(t, model, map[string]any{
		"prompt": "Create a ticket.", "config": map[string]any{"mcp_servers": servers},
	})
	j.reaches(penstock.StateSucceeded)
	events := j.events()
	if at := slices.Index(events, calls[0]); at < 0 || at+1 == len(events) || events[at+1] != calls[1] {
		t.Errorf("the call of the tool is not among the events:\n%s", cmp.Diff(calls, events))
	}
	timeline := j.timeline()
	for name, reason := range broken {
		if !strings.Contains(timeline, `"name":"`+name+`"`) || !strings.Contains(timeline, reason) {
			t.Errorf("the timeline does not have %s with %q: %s", name, reason, timeline)
		}
	}
	if strings.Contains(timeline, "tracker") {
		t.Errorf("the server that works is on the timeline: %s", timeline)
	}

	servers["page"] = map[string]any{"url": strings.TrimSuffix(trackerURL, "mcp") + "page", "required": true}
	j = s.start(t, model, map[string]any{
		"prompt": "Create a ticket.", "config": map[string]any{"mcp_servers": servers},
	})
	j.reaches(penstock.StateFailed)
	if message := j.get().StatusMessage; message == nil || !strings.Contains(message.Message, broken["page"]) {
		t.Errorf("the run ended with %+v", message)
	}
}

// testStdioMCP is about two MCP servers over stdio: one prints more than messages, and the other one ends
// at once.
func testStdioMCP(t *testing.T, s *suite) {
	list := deeds[s.name]
	last := list[len(list)-1].turn // it calls the tool create of the server tracker
	const identified = "id=${BASH_REMATCH[1]}"
	noisy := "echo 'listening on stdio'; " + strings.Replace(mcpScript, identified, identified+"; echo \"[info] $id\"", 1)
	start := func(required bool) *job {
		model := &harness.ScriptedModel{Turns: []harness.ScriptedTurn{last, {Text: "It is created."}}}
		if s.name != penstock.HarnessBuiltin { // some agents start their servers beside the turn
			wait := s.command("for i in {1..300}; do grep -q dead ~/.penstock-mcp.jsonl && break; sleep 0.1; done; echo")
			model.Turns = slices.Insert(model.Turns, 0, wait)
		}
		return s.start(t, model, map[string]any{"prompt": "Create a ticket.", "config": map[string]any{
			"mcp_servers": map[string]any{
				"tracker": map[string]any{"command": "bash", "args": []string{"-c", noisy}, "required": true},
				"dead": map[string]any{
					"command": "bash", "args": []string{"-c", "echo 'no database' >&2; exit 3"}, "required": required,
				},
			},
		}})
	}
	j := start(false)
	j.reaches(penstock.StateSucceeded)
	events := j.events()
	if at := slices.Index(events, calls[0]); at < 0 || at+1 == len(events) || events[at+1] != calls[1] {
		t.Errorf("the call of the tool is not among the events:\n%s", cmp.Diff(calls, events))
	}
	const reason = "it ended (exit status 3); it printed: no database"
	timeline := j.timeline()
	if !strings.Contains(timeline, penstock.TimelineMCPFailed) || !strings.Contains(timeline, reason) ||
		strings.Contains(timeline, "tracker") {
		t.Errorf("the timeline is %s", timeline)
	}

	j = start(true)
	j.reaches(penstock.StateFailed)
	if message := j.get().StatusMessage; message == nil || !strings.Contains(message.Message, reason) {
		t.Errorf("the run ended with %+v", message)
	}
}
