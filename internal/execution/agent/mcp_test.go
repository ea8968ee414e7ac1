package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

type greeting struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

// newTestMCP is an MCP server with a few tools.
func newTestMCP() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets"},
		func(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{
				&mcp.TextContent{Text: "hello " + in.Name + ", I am " + os.Getenv("MCP_ROLE")},
				&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"},
			}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail.now!", Description: "Fails"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("as asked")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "die", Description: "Ends the server"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			_, _ = os.Stderr.WriteString("out of memory\n")
			os.Exit(7)
			return nil, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "hang", Description: "Never returns"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	return server
}

// serveTestMCP is the test binary as an MCP server over stdio.
func serveTestMCP(mode string) {
	if mode == "broken" {
		_, _ = os.Stderr.WriteString("cannot reach the database\n")
		os.Exit(3)
	}
	switch mode {
	case "mute": // it never responds
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "noisy":
		os.Stdout = noisy(os.Stdout)
	case "orphan": // its child keeps its output open when it ends
		child := exec.Command("sleep", "600")
		child.Stdout = os.Stdout
		_ = child.Start()
	}
	if file, ok := strings.CutPrefix(mode, "child:"); ok {
		child := exec.Command("sleep", "600")
		if child.Start() == nil {
			_ = os.WriteFile(file, []byte(strconv.Itoa(child.Process.Pid)), 0o644)
		}
	}
	_ = newTestMCP().Run(context.Background(), &mcp.StdioTransport{})
}

func testServer(mode string) acp.MCPServer {
	return acp.MCPServer{Name: "my server", Command: os.Args[0], Env: []acp.Variable{
		{Name: "PENSTOCK_TEST_MCP", Value: mode}, {Name: "MCP_ROLE", Value: "stdio"},
	}}
}

func TestToolsOfAStdioServer(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	pidFile := filepath.Join(t.TempDir(), "pid")
	id := h.open(testServer("child:" + pidFile))
	h.say(id, "demo: call mcp__my_server__greet {\"name\":\"Ada\"}", acp.StopEndTurn)
	c := h.call(toolCallMCP)
	if want := "hello Ada, I am stdio\n[*mcp.ImageContent was left out]"; c.Output != want {
		t.Errorf("output %q, want %q", c.Output, want)
	}
	if want := `{"server":"my server","tool":"greet","arguments":{"name":"Ada"}}`; string(c.Input) != want {
		t.Errorf("input %s, want %s", c.Input, want)
	}
	if c.Title != "my server: greet" || c.Status != acp.ToolCompleted {
		t.Errorf("title %q, status %q", c.Title, c.Status)
	}

	// Processes that the server started end with the session.
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.CloseSession(h.ctx, id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server's child is gone", func() bool { return !alive(child) })
	if _, err := h.Prompt(h.ctx, id, acp.Text("hi")); err == nil || !strings.Contains(err.Error(), "no session") {
		t.Errorf("a prompt to a closed session: %v", err)
	}
}

// alive reports whether a process runs. Zombies do not count.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestTheModelGetsTheErrorOfAFailedTool(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open(testServer("plain"))
	h.say(id, "demo: call mcp__my_server__fail_now_ {}", acp.StopEndTurn)
	if c := h.call(toolCallMCP); c.Status != acp.ToolFailed || !strings.Contains(c.Output, "as asked") {
		t.Errorf("got %+v", c)
	}
}

func TestACallThatHangsCanBeCancelled(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open(testServer("plain"))
	done := make(chan acp.PromptResponse, 1)
	go func() {
		r, err := h.Prompt(h.ctx, id, acp.Text("demo: call mcp__my_server__hang {}"))
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	h.await(func(u acp.Update) bool { return u.Kind == acp.UpdateToolCall })
	if err := h.Cancel(h.ctx, id); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.StopReason != acp.StopCancelled {
		t.Errorf("stop reason %q", r.StopReason)
	}
	h.forget()
	h.say(id, "demo: call mcp__my_server__greet {\"name\":\"again\"}", acp.StopEndTurn)
	if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello again") {
		t.Errorf("the server is of no use after a cancel: %+v", c)
	}
}

func TestToolsOfARemoteServer(t *testing.T) {
	t.Parallel()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newTestMCP() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h := start(t, nil)
	remote := acp.MCPServer{Name: "far", Type: "http", URL: server.URL}
	h.open(remote)
	if got := h.reason("far"); !strings.Contains(got, "401") || !strings.Contains(got, "who are you?") ||
		!strings.Contains(got, "header") {
		t.Errorf("the reason is %q", got)
	}
	remote.Headers = []acp.Variable{{Name: "Authorization", Value: "Bearer sesame"}}
	id := h.open(remote)
	h.say(id, "demo: call mcp__far__greet {\"name\":\"Bob\"}", acp.StopEndTurn)
	if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello Bob") {
		t.Errorf("got %+v", c)
	}
}

func TestHeadersDoNotFollowARedirect(t *testing.T) {
	t.Parallel()
	leaked := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked <- r.Header.Get("X-Secret")
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	h := start(t, nil)
	remote := acp.MCPServer{
		Name: "r", Type: "http", URL: server.URL, Headers: []acp.Variable{{Name: "X-Secret", Value: "s"}},
	}
	h.open(remote)
	if got := h.reason("r"); !strings.Contains(got, "307") || !strings.Contains(got, "final address") {
		t.Errorf("the reason is %q", got)
	}
	select {
	case got := <-leaked:
		t.Errorf("the other host was asked, with %q", got)
	default:
	}
}

func TestAServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		server acp.MCPServer
		want   []string
	}{
		{"it ends at once", testServer("broken"), []string{`"my server"`, "cannot reach the database"}},
		{"no such program", acp.MCPServer{Name: "x", Command: "/no/such/program"}, []string{`"x"`, "no such file"}},
		{
			"a type that is not supported",
			acp.MCPServer{Name: "s", Type: "sse", URL: "http://127.0.0.1:1"},
			[]string{`"s"`, "sse"},
		},
		{"nobody listens", acp.MCPServer{Name: "h", Type: "http", URL: "http://127.0.0.1:1/"}, []string{`"h"`, "refused"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, nil)
			id := h.open(tt.server, acp.MCPServer{Name: "ok", Command: os.Args[0], Env: testServer("plain").Env})
			reason := h.reason(tt.server.Name)
			for _, want := range tt.want[1:] {
				if !strings.Contains(reason, want) {
					t.Errorf("reason %q does not say %q", reason, want)
				}
			}
			h.say(id, "demo: call mcp__ok__greet {\"name\":\"Ada\"}", acp.StopEndTurn)
			if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello Ada") {
				t.Errorf("beside it, the other server is of no use: %+v", c)
			}
			_, err := h.NewSession(h.ctx, acp.NewSessionRequest{
				Cwd: h.workspace, MCPServers: []acp.MCPServer{tt.server},
				Meta: acp.NewMeta(acp.MetaRequiredServers, []string{tt.server.Name}),
			})
			if err == nil {
				t.Fatal("the session has started without a server that it requires")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestToolNamesFitEveryProvider(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 30)
	tests := []struct{ name, server, tool, want string }{
		{"plain", "git", "log", "mcp__git__log"},
		{"odd characters", "my server", "a.b/c", "mcp__my_server__a_b_c"},
		{"other letters", "日本", "ü", "mcp_______"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := mcpToolName(tt.server, tt.tool); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	a, b := mcpToolName(long, "a"), mcpToolName(long, "b")
	if len(a) != 64 || len(b) != 64 || a == b {
		t.Errorf("long names: %q and %q", a, b)
	}
}
