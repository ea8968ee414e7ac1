package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// timeout bounds every wait of a test. Nothing should take that long.
const timeout = 2 * time.Minute

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

// pipes are two ends that are joined by real pipes.
func pipes(t *testing.T) (a, b io.ReadWriteCloser) {
	t.Helper()
	ar, bw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	br, aw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a, b = Join(ar, aw), Join(br, bw)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// runs runs f until the test ends, and waits for it.
func runs(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// pair is a client and an agent that are connected.
func pair(t *testing.T, ch ClientHandler, ah AgentHandler) (*Client, *Agent) {
	t.Helper()
	cside, aside := pipes(t)
	client, agent := NewClient(cside, ch), NewAgent(aside, ah)
	runs(t, client.Run)
	runs(t, agent.Run)
	return client, agent
}

// raw is a client whose agent is the test itself: the client reads what the test writes to the
// agent's end.
func raw(t *testing.T, h ClientHandler) (client *Client, agent *rawPeer) {
	t.Helper()
	cside, aside := pipes(t)
	client = NewClient(cside, h)
	runs(t, client.Run)
	return client, newRawPeer(t, aside)
}

type rawPeer struct {
	t     *testing.T
	rw    io.ReadWriteCloser
	lines *bufio.Scanner
}

func newRawPeer(t *testing.T, rw io.ReadWriteCloser) *rawPeer {
	lines := bufio.NewScanner(rw)
	lines.Buffer(nil, maxLine)
	return &rawPeer{t, rw, lines}
}

func (p *rawPeer) write(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.rw, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *rawPeer) read() message {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the other end sent nothing more: %v", p.lines.Err())
	}
	m, err := parseLine(p.lines.Bytes())
	if err != nil {
		p.t.Fatalf("the other end sent %q: %v", p.lines.Text(), err)
	}
	return m
}

// expect reads a request and returns its id.
func (p *rawPeer) expect(method string) (id string) {
	p.t.Helper()
	m := p.read()
	if m.Method != method {
		p.t.Fatalf("got method %q, want %q", m.Method, method)
	}
	return string(m.ID)
}

func (p *rawPeer) respond(id, result string) {
	p.t.Helper()
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

// recorder keeps the updates that a client received.
type recorder struct {
	mu      sync.Mutex
	updates []SessionNotification
}

func (r *recorder) update(_ context.Context, n SessionNotification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = append(r.updates, n)
}

func (r *recorder) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, n := range r.updates {
		if n.Update.Chunk != nil {
			texts = append(texts, n.Update.Chunk.Content.Text)
		}
	}
	return texts
}

func say(text string) Update {
	return Update{Kind: UpdateAgentMessage, Chunk: &Chunk{Content: Text(text)}}
}

func TestAWholeConversation(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var agent *Agent
	var got struct {
		started NewSessionRequest
		mode    string
		model   any
		prompt  string
		closed  string
	}
	ready := make(chan struct{})
	handler := AgentHandler{
		Initialize: func(_ context.Context, r InitializeRequest) (InitializeResponse, error) {
			<-ready
			if !r.Capabilities.FS.ReadTextFile || r.Capabilities.FS.WriteTextFile || r.Capabilities.Terminal {
				t.Errorf("capabilities = %+v, want what the handler has", r.Capabilities)
			}
			return InitializeResponse{ProtocolVersion: ProtocolVersion, Capabilities: AgentCapabilities{LoadSession: true}}, nil
		},
		Authenticate: func(_ context.Context, r AuthenticateRequest) error {
			if r.MethodID != "key" {
				return &Error{Code: CodeAuthRequired, Message: "no"}
			}
			return nil
		},
		NewSession: func(_ context.Context, r NewSessionRequest) (Session, error) {
			got.started = r
			return Session{
				ID:            "s1",
				Modes:         &Modes{Current: "ask", Available: []Mode{{ID: "yolo", Name: "Yolo"}}},
				ConfigOptions: []ConfigOption{{ID: "m", Category: "model", Type: "select", CurrentValue: json.RawMessage(`"a"`)}},
			}, nil
		},
		SetMode: func(_ context.Context, r SetModeRequest) error {
			got.mode = r.ModeID
			return nil
		},
		SetConfigOption: func(_ context.Context, r SetConfigOptionRequest) (ConfigOptions, error) {
			got.model = r.Value
			return ConfigOptions{}, nil
		},
		LoadSession: func(ctx context.Context, r LoadSessionRequest) (Session, error) {
			for i := range 100 {
				if err := agent.Update(ctx, r.SessionID, say(fmt.Sprint("replay ", i))); err != nil {
					return Session{}, err
				}
			}
			return Session{}, nil
		},
		Prompt: func(ctx context.Context, r PromptRequest) (PromptResponse, error) {
			got.prompt = r.Prompt[0].Text
			var file ReadTextFileResponse
			if err := agent.Call(ctx, "fs/read_text_file", ReadTextFileRequest{SessionID: "s1", Path: "/x"}, &file); err != nil {
				return PromptResponse{}, err
			}
			for i := range 2000 {
				if err := agent.Update(ctx, r.SessionID, say(fmt.Sprint(file.Content, " ", i))); err != nil {
					return PromptResponse{}, err
				}
			}
			return PromptResponse{StopReason: StopEndTurn, Meta: NewMeta(MetaBlocked, Blocked{Question: "why?"})}, nil
		},
		CloseSession: func(_ context.Context, r CloseSessionRequest) error {
			got.closed = r.SessionID
			return nil
		},
	}
	var rec recorder
	client, a := pair(t, ClientHandler{
		Update: rec.update,
		ReadTextFile: func(_ context.Context, r ReadTextFileRequest) (ReadTextFileResponse, error) {
			return ReadTextFileResponse{Content: "file " + r.Path}, nil
		},
	}, handler)
	agent = a
	close(ready)

	info, err := client.Initialize(ctx, Implementation{Name: "test", Version: "1"})
	if err != nil || !info.Capabilities.LoadSession {
		t.Fatalf("Initialize = %+v, %v", info, err)
	}
	if err := client.Authenticate(ctx, "key"); err != nil {
		t.Fatal(err)
	}
	servers := []MCPServer{
		{Name: "local", Command: "srv", Args: []string{"-x"}, Env: []Variable{{"A", "b"}}},
		{Name: "far", Type: "http", URL: "https://example.com/mcp", Headers: []Variable{{"Authorization", "t"}}},
	}
	s, err := client.NewSession(ctx, NewSessionRequest{Cwd: "/w", MCPServers: servers})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(servers, got.started.MCPServers); diff != "" {
		t.Errorf("MCP servers (-want +got):\n%s", diff)
	}
	if err := client.SetMode(ctx, s.ID, "yolo"); err != nil || got.mode != "yolo" {
		t.Errorf("SetMode: %v, agent got %q", err, got.mode)
	}
	if err := client.SetModel(ctx, s.ID, "b"); err != nil || got.model != "b" {
		t.Errorf("SetModel: %v, agent got %v", err, got.model)
	}
	end, err := client.Prompt(ctx, s.ID, Text("go"))
	if err != nil || end.StopReason != StopEndTurn || got.prompt != "go" {
		t.Fatalf("Prompt = %+v, %v", end, err)
	}
	var blocked Blocked
	if !end.Meta.Read(MetaBlocked, &blocked) || blocked.Question != "why?" {
		t.Errorf("meta = %v, want the question", end.Meta)
	}
	texts := rec.texts()
	if len(texts) != 2000 || texts[0] != "file /x 0" || texts[1999] != "file /x 1999" {
		t.Errorf("%d updates were there before the result, want 2000 in order", len(texts))
	}
	if _, err := client.LoadSession(ctx, LoadSessionRequest{SessionID: "s0", Cwd: "/w"}); err != nil {
		t.Fatal(err)
	}
	if n := len(rec.texts()); n != 2100 {
		t.Errorf("%d updates after loading, want 2100", n)
	}
	if err := client.CloseSession(ctx, s.ID); err != nil || got.closed != "s1" {
		t.Errorf("CloseSession: %v, agent got %q", err, got.closed)
	}
}

func TestCancelInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	working := make(chan struct{}, 1)
	client, _ := pair(t, ClientHandler{}, AgentHandler{
		Prompt: func(ctx context.Context, _ PromptRequest) (PromptResponse, error) {
			working <- struct{}{}
			<-ctx.Done()
			return PromptResponse{Meta: NewMeta("k", 1)}, ctx.Err()
		},
	})
	result := make(chan PromptResponse, 1)
	go func() {
		r, err := client.Prompt(ctx, "s", Text("go"))
		if err != nil {
			t.Error(err)
		}
		result <- r
	}()
	<-working
	if err := client.Cancel(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	r := <-result
	if r.StopReason != StopCancelled || len(r.Meta) != 1 {
		t.Errorf("got %+v, want cancelled with the agent's meta", r)
	}
	// The next turn is a new one.
	go func() {
		<-working
		_ = client.Cancel(ctx, "s")
	}()
	if r, err := client.Prompt(ctx, "s", Text("again")); err != nil || r.StopReason != StopCancelled {
		t.Errorf("second turn: %+v, %v", r, err)
	}
}

func TestCancelThatFollowsThePromptAtOnceIsNotLost(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	cside, aside := pipes(t)
	agent := NewAgent(aside, AgentHandler{
		Prompt: func(ctx context.Context, _ PromptRequest) (PromptResponse, error) {
			<-ctx.Done()
			return PromptResponse{}, ctx.Err()
		},
	})
	runs(t, agent.Run)
	peer := newRawPeer(t, cside)
	for i := range 200 {
		peer.write(
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`, i),
			`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
		)
		if m := peer.read(); string(m.ID) != fmt.Sprint(i) || !strings.Contains(string(m.Result), "cancelled") {
			t.Fatalf("turn %d: got %s %v", i, m.Result, m.Error)
		}
	}
	_ = ctx
}

func TestASecondPromptWhileATurnIsUnderWayIsRefused(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	working, finish := make(chan struct{}), make(chan struct{})
	client, _ := pair(t, ClientHandler{}, AgentHandler{
		Prompt: func(context.Context, PromptRequest) (PromptResponse, error) {
			close(working)
			<-finish
			return PromptResponse{StopReason: StopEndTurn}, nil
		},
	})
	first := make(chan error, 1)
	go func() {
		_, err := client.Prompt(ctx, "s")
		first <- err
	}()
	<-working
	var refused *Error
	if _, err := client.Prompt(ctx, "s"); !errors.As(err, &refused) || refused.Code != CodeInvalidRequest {
		t.Errorf("second prompt: %v, want an invalid request", err)
	}
	close(finish)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestRequestsInBothDirectionsAtOnce(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	echo := func(_ context.Context, _ string, params json.RawMessage) (any, error) { return params, nil }
	client, agent := pair(t, ClientHandler{Extension: echo}, AgentHandler{Extension: echo})
	calls := map[string]func(context.Context, string, any, any) error{"client": client.Call, "agent": agent.Call}
	var wg sync.WaitGroup
	for from, call := range calls {
		for i := range 50 {
			wg.Go(func() {
				want := map[string]string{"from": fmt.Sprint(from, i), "pad": strings.Repeat("<x>", 1000)}
				var got map[string]string
				if err := call(ctx, "_test/echo", want, &got); err != nil {
					t.Error(err)
				} else if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
	wg.Wait()
}

func TestLinesOfMegabytes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var rec recorder
	var agent *Agent
	ready := make(chan struct{})
	client, a := pair(t, ClientHandler{Update: rec.update}, AgentHandler{
		Prompt: func(ctx context.Context, r PromptRequest) (PromptResponse, error) {
			<-ready
			err := agent.Update(ctx, "s", say(r.Prompt[0].Text))
			return PromptResponse{StopReason: StopEndTurn}, err
		},
	})
	agent = a
	close(ready)
	big := strings.Repeat("ünï\n", 400_000) // 2.4 MB of text, more as JSON
	if _, err := client.Prompt(ctx, "s", Text(big)); err != nil {
		t.Fatal(err)
	}
	if got := rec.texts(); len(got) != 1 || got[0] != big {
		t.Errorf("the text did not come back whole")
	}
}

func TestCancelingACallNotifiesThePeer(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	told := make(chan error, 1)
	client, _ := pair(t, ClientHandler{}, AgentHandler{
		Extension: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
			close(began)
			<-ctx.Done()
			told <- ctx.Err()
			return nil, ctx.Err()
		},
	})
	ctx, cancel := context.WithCancelCause(testContext(t))
	reason := errors.New("enough")
	go func() {
		<-began
		cancel(reason)
	}()
	if err := client.Call(ctx, "_slow", struct{}{}, nil); !errors.Is(err, reason) {
		t.Errorf("got %v, want the cause", err)
	}
	select {
	case err := <-told:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context ended with %v", err)
		}
	case <-time.After(timeout):
		t.Error("the peer was not told")
	}
}
