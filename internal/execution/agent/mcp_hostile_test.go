package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// noisy returns a standard output that prints something before and after each message.
func noisy(out *os.File) *os.File {
	in, noise, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go func() {
		fmt.Fprint(out, "\xef\xbb\xbf\x1b[32mServer listening\x1b[0m\r\n\n")
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			fmt.Fprintf(out, "{\"level\":\"info\"}\nnpm warn caf\xe9\nProcessing… %s\r\n[1]\nnull\n{\n\"\n%s\n",
				lines.Text(), strings.Repeat("=", 100_000))
		}
	}()
	return noise
}

// reason returns why an MCP server was reported as broken, at last.
func (h *harness) reason(name string) string {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, failed := range slices.Backward(h.failed) {
		if failed.Name == name {
			return failed.Reason
		}
	}
	h.t.Errorf("the server %q was not reported: %+v", name, h.failed)
	return ""
}

func TestWhatAServerPrintsBesidesItsMessages(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open(testServer("noisy"))
	h.say(id, "demo: call mcp__my_server__greet {\"name\":\"Ada\"}", acp.StopEndTurn)
	if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello Ada") {
		t.Errorf("got %+v", c)
	}
	if len(h.failed) > 0 {
		t.Errorf("it was reported: %+v", h.failed)
	}
}

func TestMessageLines(t *testing.T) {
	t.Parallel()
	const one, two = `{"jsonrpc":"2.0","id":1,"result":{"text":"ü"}}`, `{"jsonrpc":"2.0","method":"notifications/x"}`
	long := `{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("a", 1<<20) + `"}}`
	tests := []struct{ name, in, want, noise string }{
		{"messages", one + "\n" + two + "\n", one + "\n" + two + "\n", ""},
		{"without the last line end", one, one + "\n", ""},
		{"Windows", one + "\r\n", one + "\n", ""},
		{"a batch", "[" + one + "," + two + "]\n", one + "\n" + two + "\n", ""},
		{"an empty batch", "[]\n" + one + "\n", one + "\n", "[]|"},
		{"after a text", "Loading… " + one + "\n", one + "\n", "Loading… |"},
		{"a log in JSON", `{"level":"info"}` + "\n" + one + "\n", one + "\n", `{"level":"info"}|`},
		{"another version", `{"jsonrpc":"1.0","id":1}` + "\n" + one, one + "\n", `{"jsonrpc":"1.0","id":1}|`},
		{"a cut message", one[:20] + "\n" + one, one + "\n", one[:20] + "|"},
		{"empty lines", "\n\r\n \n" + one, one + "\n", ""},
		{"a long message", long + "\n", long + "\n", ""},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		for name, in := range map[string]io.Reader{
			"at once": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
		} {
			var noise strings.Builder
			lines := NewMessageLines(io.NopCloser(in), func(line []byte) { noise.Write(append(line, '|')) })
			got, err := io.ReadAll(lines)
			if err != nil || string(got) != tt.want || noise.String() != tt.noise {
				t.Errorf("%s, %s: got %.200q, noise %q, %v", tt.name, name, got, noise.String(), err)
			}
		}
	}
	huge := io.MultiReader(
		strings.NewReader(strings.Repeat("=", maxMessage+10)+"\n"+one+"\n"),
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("a", maxMessage)),
	)
	got, err := io.ReadAll(NewMessageLines(io.NopCloser(huge), func([]byte) {}))
	if string(got) != one+"\n" || !errors.Is(err, errLongMessage) {
		t.Errorf("long lines: got %.100q, %v", got, err)
	}
}

// One server that hangs delays the session only as long as it may take, and not the other servers.
func TestAServerThatHangsAtItsStart(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*acp.MCPServer){
		"a local one": func(*acp.MCPServer) {},
		"a remote one": func(s *acp.MCPServer) {
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}))
			t.Cleanup(server.CloseClientConnections)
			*s = acp.MCPServer{Name: s.Name, Type: "http", URL: server.URL}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, func(c *Config) { c.ServerStart = 15 * time.Second }) // time for the other one
			mute, works := testServer("mute"), testServer("plain")
			mute.Name, works.Name = "mute", "works"
			change(&mute)
			id := h.open(mute, works)
			if got := h.reason("mute"); !strings.Contains(got, "not ready within 15s") {
				t.Errorf("the reason is %q", got)
			}
			h.say(id, "demo: call mcp__works__greet {\"name\":\"Ada\"}", acp.StopEndTurn)
			if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello Ada") {
				t.Errorf("got %+v", c)
			}
		})
	}
}

// The model and the client are told of a server that ends, and the next call starts it again.
func TestAServerThatEndsLater(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "orphan"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := start(t, nil)
			id := h.open(testServer(mode))
			h.say(id, "demo: call mcp__my_server__die {}", acp.StopEndTurn)
			c := h.call(toolCallMCP)
			for _, want := range []string{"exit status 7", "out of memory"} {
				if c.Status != acp.ToolFailed || !strings.Contains(c.Output, want) ||
					!strings.Contains(h.reason("my server"), want) {
					t.Errorf("got %+v and the report %q, want %q", c, h.reason("my server"), want)
				}
			}
			h.forget()
			h.say(id, "demo: call mcp__my_server__greet {\"name\":\"again\"}", acp.StopEndTurn)
			if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello again") {
				t.Errorf("it was not started again: %+v", c)
			}
		})
	}
}

// A server is started again as often as it ends, if a call succeeded before.
func TestAServerThatEndsOften(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open(testServer("plain"))
	for i := range maxConnects + 1 {
		h.say(id, "demo: call mcp__my_server__die {}", acp.StopEndTurn)
		h.forget()
		h.say(id, "demo: call mcp__my_server__greet {\"name\":\"again\"}", acp.StopEndTurn)
		if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello again") {
			t.Fatalf("it was not started again after %d ends: %+v", i+1, c)
		}
		h.forget()
	}
}

func TestAServerThatIsNotCalledAndEnds(t *testing.T) {
	t.Parallel()
	p := providers[1]
	const turns = 100 // until the agent has noticed
	h, fake := withModel(t, p, slices.Repeat([]http.HandlerFunc{p.stream(said{text: "One."})}, turns)...)
	file := filepath.Join(t.TempDir(), "pid")
	id := h.open(testServer("child:" + file))
	h.say(id, "hi", acp.StopEndTurn)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	server, err := syscall.Getpgid(child)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server's end", func() bool { return !alive(server) })
	eventually(t, "the report of the server's end", func() bool {
		h.say(id, "and now?", acp.StopEndTurn)
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.failed) > 0
	})
	if got := h.reason("my server"); !strings.Contains(got, "killed") {
		t.Errorf("the reason is %q", got)
	}
	calls := fake.seen()
	if last := calls[len(calls)-1].body; !strings.Contains(last, "The MCP server my server does not work now") {
		t.Errorf("the model was not told: %.2000s", last)
	}
}

func TestARequiredServerThatEndsEndsTheTurn(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	opened, err := h.NewSession(h.ctx, acp.NewSessionRequest{
		Cwd: h.workspace, MCPServers: []acp.MCPServer{testServer("plain")},
		Meta: acp.NewMeta(acp.MetaRequiredServers, []string{"my server"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Prompt(h.ctx, opened.ID, acp.Text("demo: call mcp__my_server__die {}"))
	if err == nil || !strings.Contains(err.Error(), `"my server"`) || !strings.Contains(err.Error(), "required: true") {
		t.Errorf("the turn ended with %v", err)
	}
}

// remoteMCP serves both transports. refuse may reject a request first.
func remoteMCP(t *testing.T, refuse func(w http.ResponseWriter, r *http.Request) bool) (url string) {
	t.Helper()
	one := func(*http.Request) *mcp.Server { return newTestMCP() }
	sse, streamable := mcp.NewSSEHandler(one, nil), mcp.NewStreamableHTTPHandler(one, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case refuse(w, r):
		case strings.HasPrefix(r.URL.Path, "/mcp"):
			streamable.ServeHTTP(w, r)
		default:
			sse.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// A server with the transport of protocol version 2024-11-05 is found, whatever it makes of a POST.
func TestAServerWithTheOldTransport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path  string
		reply func(w http.ResponseWriter, r *http.Request)
	}{
		"405": {"/sse", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}},
		"404 with a text": {"/events", http.NotFound},
		"400 with JSON": {"/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"sessionId"}`, http.StatusBadRequest)
		}},
		"502 at /sse": {"/sse/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>", http.StatusBadGateway)
		}},
		"the event itself": {"/x", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /x?sessionid=1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := remoteMCP(t, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || r.URL.Query().Has("sessionid") {
					return false
				}
				test.reply(w, r)
				return true
			})
			h := start(t, nil)
			id := h.open(acp.MCPServer{Name: "old", Type: "http", URL: url + test.path})
			h.say(id, "demo: call mcp__old__greet {\"name\":\"Bob\"}", acp.StopEndTurn)
			if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello Bob") {
				t.Errorf("got %+v; reported %+v", c, h.failed)
			}
		})
	}
}

// Headers may be secrets. The endpoint that an old server names gets them only at the same host.
func TestHeadersDoNotFollowTheEndpointOfAnOldServer(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("X-Secret")
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", elsewhere.URL)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	h := start(t, nil)
	h.open(acp.MCPServer{
		Name: "r", Type: "http", URL: server.URL + "/sse", Headers: []acp.Variable{{Name: "X-Secret", Value: "s"}},
	})
	if got := h.reason("r"); !strings.Contains(got, "another host") {
		t.Errorf("the reason is %q", got)
	}
	select {
	case got := <-asked:
		t.Errorf("the other host was asked, with %q", got)
	default:
	}
}

// A server that has lost the session, as after its restart, gets a new one. The call is repeated once.
func TestALostSession(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	lost := map[string]bool{}
	forget, always, calls := false, false, 0
	url := remoteMCP(t, func(w http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("Mcp-Session-Id")
		call := bytes.Contains(body, []byte(`"tools/call"`))
		if forget && id != "" {
			lost[id], forget = true, false
		}
		if id != "" && lost[id] || always && call {
			http.Error(w, "Session not found", http.StatusNotFound)
			return true
		}
		if call {
			calls++
		}
		return false
	})
	h := start(t, nil)
	id := h.open(acp.MCPServer{Name: "far", Type: "http", URL: url + "/mcp"})
	for n := range 3 {
		mu.Lock()
		forget = n != 1
		mu.Unlock()
		h.forget()
		h.say(id, "demo: call mcp__far__greet {\"name\":\"Bob\"}", acp.StopEndTurn)
		if c := h.call(toolCallMCP); !strings.Contains(c.Output, "hello Bob") {
			t.Errorf("call %d: got %+v", n, c)
		}
	}
	mu.Lock()
	if calls != 3 {
		t.Errorf("the tool was called %d times, want 3", calls)
	}
	always = true
	mu.Unlock()
	h.forget()
	h.say(id, "demo: call mcp__far__greet {\"name\":\"Bob\"}", acp.StopEndTurn)
	if c := h.call(toolCallMCP); c.Status != acp.ToolFailed || !strings.Contains(c.Output, "404") {
		t.Errorf("a server that always loses the session: %+v", c)
	}
}

// An error that passes by does not end the session with a server.
func TestARemoteServerThatIsBusy(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	busy := false
	url := remoteMCP(t, func(w http.ResponseWriter, _ *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if busy {
			http.Error(w, `{"detail":"come back later"}`, http.StatusServiceUnavailable)
		}
		return busy
	})
	h := start(t, nil)
	id := h.open(acp.MCPServer{Name: "far", Type: "http", URL: url + "/mcp"})
	for _, now := range []bool{true, false} {
		mu.Lock()
		busy = now
		mu.Unlock()
		h.forget()
		h.say(id, "demo: call mcp__far__greet {\"name\":\"Bob\"}", acp.StopEndTurn)
		c := h.call(toolCallMCP)
		if now && !strings.Contains(c.Output, "503 Service Unavailable: come back later") ||
			!now && !strings.Contains(c.Output, "hello Bob") {
			t.Errorf("busy %t: got %+v", now, c)
		}
	}
	if len(h.failed) > 0 {
		t.Errorf("it was reported: %+v", h.failed)
	}
}
