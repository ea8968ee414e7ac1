package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/execution/acp"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// timeout bounds every wait of a test. Nothing should take that long, even on a busy machine.
const timeout = 5 * testkit.Patience * time.Minute

// TestMain is also the MCP server and the agent process that the tests start.
func TestMain(m *testing.M) {
	if state := os.Getenv("PENSTOCK_TEST_AGENT"); state != "" {
		runTestAgent(state)
		return
	}
	if os.Getenv("PENSTOCK_TEST_FRONT") != "" {
		os.Exit(Front(os.Args[1:], os.Environ()))
	}
	if mode := os.Getenv("PENSTOCK_TEST_MCP"); mode != "" {
		serveTestMCP(mode)
		return
	}
	os.Exit(m.Run())
}

// runTestAgent runs the test binary as an agent.
func runTestAgent(state string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	_ = Run(ctx, Config{In: os.Stdin, Out: os.Stdout, StateDir: state, Env: os.Environ(), Directives: true})
}

// harness is a client with a running agent, and the updates that the client received.
type harness struct {
	*acp.Client
	t         *testing.T
	ctx       context.Context //nolint:containedctx // as long as the test
	workspace string
	cfg       Config
	stop      func() error // ends the agent and returns the result of Run
	refuse    error        // response to create_artifact

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced with every update
	updates   []acp.Update
	artifacts []acp.ArtifactRequest
	failed    []acp.ServerFailure
}

// start runs an agent over real pipes. The harness keeps its state and workspace across restarts.
func start(t *testing.T, change func(*Config)) *harness {
	t.Helper()
	h := &harness{t: t, workspace: t.TempDir(), changed: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	h.ctx = ctx
	h.cfg = Config{
		StateDir:   t.TempDir(),
		Env:        []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Directives: true,
		Backoff:    time.Millisecond,
		Log:        slog.New(slog.NewTextHandler(testLog{t}, nil)),
	}
	if change != nil {
		change(&h.cfg)
	}
	h.restart()
	return h
}

// restart replaces the agent by a new one.
func (h *harness) restart() {
	h.t.Helper()
	if h.stop != nil {
		if err := h.stop(); err != nil {
			h.t.Errorf("the agent ended with %v", err)
		}
	}
	agentIn, clientOut, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	clientIn, agentOut, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	cfg := h.cfg
	cfg.In, cfg.Out = agentIn, agentOut
	h.Client = acp.NewClient(acp.Join(clientIn, clientOut), acp.ClientHandler{
		Update:    h.update,
		Extension: h.extension,
		Garbage:   func(line []byte, reason error) { h.t.Errorf("the agent wrote %q: %v", line, reason) },
	})
	ended := make(chan error, 1)
	go func() { ended <- Run(context.WithoutCancel(h.ctx), cfg) }()
	client := make(chan struct{})
	go func() {
		defer close(client)
		_ = h.Run(context.WithoutCancel(h.ctx))
	}()
	h.stop = sync.OnceValue(func() error {
		clientOut.Close()
		select {
		case err := <-ended:
			<-client
			return err
		case <-time.After(timeout):
			return fmt.Errorf("the agent did not end with its client")
		}
	})
	h.t.Cleanup(func() { _ = h.stop() })
	if _, err := h.Initialize(h.ctx, acp.Implementation{Name: "test", Version: "1"}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) update(_ context.Context, n acp.SessionNotification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.updates = append(h.updates, n.Update)
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *harness) extension(_ context.Context, method string, params json.RawMessage) (any, error) {
	if method == acp.MethodServerFailed {
		var failed acp.ServerFailure
		if err := json.Unmarshal(params, &failed); err != nil {
			return nil, err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.failed = append(h.failed, failed)
		return struct{}{}, nil
	}
	var r acp.ArtifactRequest
	if err := json.Unmarshal(params, &r); err != nil || method != acp.MethodArtifact {
		return nil, &acp.Error{Code: acp.CodeInvalidParams, Message: method}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return nil, h.refuse
	}
	h.artifacts = append(h.artifacts, r)
	return acp.ArtifactResponse{ArtifactUID: fmt.Sprint("a", len(h.artifacts))}, nil
}

// open starts a session.
func (h *harness) open(servers ...acp.MCPServer) string {
	h.t.Helper()
	s, err := h.NewSession(h.ctx, acp.NewSessionRequest{Cwd: h.workspace, MCPServers: servers})
	if err != nil {
		h.t.Fatal(err)
	}
	return s.ID
}

// say prompts the agent and requires how the turn ends.
func (h *harness) say(session, prompt string, want acp.StopReason) acp.PromptResponse {
	h.t.Helper()
	r, err := h.Prompt(h.ctx, session, acp.Text(prompt))
	if err != nil {
		h.t.Fatalf("prompt: %v", err)
	}
	if r.StopReason != want {
		h.t.Errorf("stop reason %q, want %q; the agent said: %s", r.StopReason, want, h.text())
	}
	return r
}

// told returns the matching updates so far.
func (h *harness) told(match func(acp.Update) bool) []acp.Update {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []acp.Update
	for _, u := range h.updates {
		if match(u) {
			found = append(found, u)
		}
	}
	return found
}

// await waits for a matching update.
func (h *harness) await(match func(acp.Update) bool) {
	h.t.Helper()
	for {
		h.mu.Lock()
		changed := h.changed
		found := slices.ContainsFunc(h.updates, match)
		h.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-h.ctx.Done():
			h.t.Fatal("the update did not come")
		}
	}
}

// forget drops the updates so far.
func (h *harness) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.updates = nil
}

// text returns the agent's messages without thoughts.
func (h *harness) text() string { return h.chunks(acp.UpdateAgentMessage) }

func (h *harness) chunks(kind acp.UpdateKind) string {
	var b strings.Builder
	for _, u := range h.told(func(u acp.Update) bool { return u.Kind == kind && u.Chunk != nil }) {
		b.WriteString(u.Chunk.Content.Text)
	}
	return b.String()
}

// toolCall merges the updates about a call.
type toolCall struct {
	Tool, Title, Output string
	Kind                acp.ToolKind
	Status              acp.ToolStatus
	Input, Raw          json.RawMessage
	Content             []acp.ToolCallContent
	Locations           []acp.Location
}

func (h *harness) calls() []toolCall {
	var calls []toolCall
	at := map[string]int{}
	for _, u := range h.told(func(u acp.Update) bool { return u.ToolCall != nil }) {
		tc := u.ToolCall
		if _, known := at[tc.ID]; !known {
			if u.Kind != acp.UpdateToolCall {
				h.t.Errorf("an update of a call that was never told of: %s", u.Raw)
			}
			at[tc.ID] = len(calls)
			calls = append(calls, toolCall{Title: tc.Title, Kind: tc.Kind, Input: tc.RawInput, Locations: tc.Locations})
		}
		c := &calls[at[tc.ID]]
		if !tc.Meta.Read(acp.MetaTool, &c.Tool) {
			h.t.Errorf("a tool call without its tool's name: %s", u.Raw)
		}
		c.Status, c.Raw, c.Content = tc.Status, tc.RawOutput, tc.Content
		c.Output = ""
		for _, content := range tc.Content {
			if content.Content != nil {
				c.Output += content.Content.Text
			}
		}
	}
	return calls
}

// call is the only call of a tool.
func (h *harness) call(tool string) toolCall {
	h.t.Helper()
	calls := slices.DeleteFunc(h.calls(), func(c toolCall) bool { return c.Tool != tool })
	if len(calls) != 1 {
		h.t.Fatalf("%d calls of %s, want 1; the agent said: %s", len(calls), tool, h.text())
	}
	return calls[0]
}

func (h *harness) write(path, content string) {
	h.t.Helper()
	path = filepath.Join(h.workspace, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) read(path string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.workspace, path))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// eventually polls until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, timeout)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// testLog writes to the test's log.
type testLog struct{ t *testing.T }

var _ io.Writer = testLog{}

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
