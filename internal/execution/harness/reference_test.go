package harness_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// playReference is a small agent that does all that the suite asks of an agent. It knows nothing of
// Penstock but the protocol, so it shows what any ACP agent of the configuration file can do.
func playReference() int {
	r := &referenceAgent{sessions: map[string]*referenceSession{}}
	r.agent = acp.NewAgent(acp.Join(os.Stdin, os.Stdout), acp.AgentHandler{
		Initialize: func(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
			return acp.InitializeResponse{
				ProtocolVersion: acp.ProtocolVersion, AuthMethods: []acp.AuthMethod{},
				Capabilities: acp.AgentCapabilities{
					LoadSession: true, MCP: acp.MCPCapabilities{HTTP: true}, Prompt: acp.PromptCapabilities{Image: true},
				},
			}, nil
		},
		NewSession: func(ctx context.Context, q acp.NewSessionRequest) (acp.Session, error) {
			s := &referenceSession{id: penstock.NewID(), Messages: []given{}}
			return r.open(ctx, s, q.MCPServers)
		},
		LoadSession: func(ctx context.Context, q acp.LoadSessionRequest) (acp.Session, error) {
			s := &referenceSession{id: q.SessionID}
			text, err := os.ReadFile(s.file())
			if err == nil {
				err = json.Unmarshal(text, s)
			}
			if err != nil {
				return acp.Session{}, &acp.Error{Code: acp.CodeResourceNotFound, Message: err.Error()}
			}
			return r.open(ctx, s, q.MCPServers)
		},
		SetConfigOption: func(_ context.Context, q acp.SetConfigOptionRequest) (acp.ConfigOptions, error) {
			name, _ := q.Value.(string)
			_, r.model, _ = strings.Cut(name, "/") // the address of the provider stands for its name
			return acp.ConfigOptions{Options: []acp.ConfigOption{}}, nil
		},
		Prompt: r.prompt,
	})
	_ = r.agent.Run(context.Background())
	return 0
}

type referenceAgent struct {
	agent *acp.Agent
	model string

	mu       sync.Mutex
	sessions map[string]*referenceSession
}

type referenceSession struct {
	id       string
	Messages []given `json:"messages"` // in the form of OpenAI's Chat Completions
	servers  map[string]*mcp.ClientSession
}

// file is where a session is saved, in HOME.
func (s *referenceSession) file() string {
	return filepath.Join(os.Getenv("HOME"), ".reference", s.id+".json")
}

// open connects the MCP servers of a session.
func (r *referenceAgent) open(ctx context.Context, s *referenceSession, servers []acp.MCPServer) (acp.Session, error) {
	s.servers = map[string]*mcp.ClientSession{}
	for _, described := range servers {
		var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: described.URL, DisableStandaloneSSE: true}
		if described.Type != "http" {
			transport = &mcp.CommandTransport{Command: exec.Command(described.Command, described.Args...)}
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "reference", Version: "1"}, nil)
		session, err := client.Connect(context.WithoutCancel(ctx), transport, nil)
		if err == nil { // otherwise the session goes on without it, as with most agents
			s.servers[described.Name] = session
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[s.id] = s
	return acp.Session{ID: s.id, ConfigOptions: []acp.ConfigOption{{ID: "model", Category: "model", Type: "select"}}}, nil
}

// prompt does a turn, and then saves the session.
func (r *referenceAgent) prompt(ctx context.Context, q acp.PromptRequest) (acp.PromptResponse, error) {
	r.mu.Lock()
	s := r.sessions[q.SessionID]
	r.mu.Unlock()
	if s == nil {
		return acp.PromptResponse{}, &acp.Error{Code: acp.CodeInvalidParams, Message: "no such session"}
	}
	var parts []given
	for _, b := range q.Prompt {
		if b.Type == "image" {
			url := "data:" + b.MimeType + ";base64," + b.Data
			parts = append(parts, given{"type": "image_url", "image_url": given{"url": url}})
			continue
		}
		parts = append(parts, given{"type": "text", "text": b.Text})
	}
	s.Messages = append(s.Messages, given{"role": "user", "content": parts})
	defer s.save()
	for {
		message, err := r.ask(ctx, s)
		if err != nil {
			return acp.PromptResponse{}, &acp.Error{Code: acp.CodeInternal, Message: err.Error()}
		}
		s.Messages = append(s.Messages, message.plain())
		if message.Content != "" {
			r.tell(ctx, s, acp.Update{Kind: acp.UpdateAgentMessage, Chunk: &acp.Chunk{Content: acp.Text(message.Content)}})
		}
		for _, call := range message.Calls {
			output := r.use(ctx, s, call)
			s.Messages = append(s.Messages, given{"role": "tool", "tool_call_id": call.ID, "content": output})
		}
		if len(message.Calls) == 0 {
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
		}
	}
}

func (s *referenceSession) save() {
	text, err := json.Marshal(s)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(s.file()), 0o700), os.WriteFile(s.file(), text, 0o600))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (r *referenceAgent) tell(ctx context.Context, s *referenceSession, u acp.Update) {
	_ = r.agent.Update(ctx, s.id, u) // fails only when the connection is over
}

// referenceMessage is a message of the model.
type referenceMessage struct {
	Content string          `json:"content"`
	Calls   []referenceCall `json:"tool_calls"`
}

type referenceCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (m referenceMessage) plain() given {
	plain := given{"role": "assistant", "content": m.Content}
	if len(m.Calls) > 0 {
		plain["tool_calls"] = m.Calls
	}
	return plain
}

// referenceTries is how often the agent calls the model for one message.
const referenceTries = 4

var errTemporary = errors.New("the model is not available")

// ask calls the model. It tries again if that may help.
func (r *referenceAgent) ask(ctx context.Context, s *referenceSession) (m referenceMessage, err error) {
	var tools []given
	for _, name := range []string{"run", "read", "write", "plan", "call_mcp", "ask"} {
		function := given{"name": name, "parameters": given{"type": "object"}}
		tools = append(tools, given{"type": "function", "function": function})
	}
	body, err := json.Marshal(given{"model": r.model, "stream": true, "messages": s.Messages, "tools": tools})
	if err != nil {
		return m, err
	}
	for try := 1; ; try++ {
		m, err = referenceStream(ctx, body)
		if !errors.Is(err, errTemporary) || try == referenceTries {
			return m, err
		}
		select {
		case <-time.After(time.Duration(try) * time.Second):
		case <-ctx.Done():
			return m, ctx.Err()
		}
	}
}

// referenceStream reads one streamed response of the model.
func referenceStream(ctx context.Context, body []byte) (m referenceMessage, err error) {
	q, err := http.NewRequestWithContext(
		ctx, http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", bytes.NewReader(body),
	)
	if err != nil {
		return m, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return m, errors.Join(errTemporary, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		err = fmt.Errorf("status %d: %s", res.StatusCode, text)
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusInternalServerError {
			err = errors.Join(errTemporary, err)
		}
		return m, err
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if data == "[DONE]" {
			return m, nil
		}
		var chunk struct {
			Choices []struct {
				Delta referenceMessage `json:"delta"`
			} `json:"choices"`
		}
		if !found || json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
			continue
		}
		m.Content += chunk.Choices[0].Delta.Content
		m.Calls = append(m.Calls, chunk.Choices[0].Delta.Calls...)
	}
	return m, errors.Join(errTemporary, cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
}

// use runs a tool and reports it.
func (r *referenceAgent) use(ctx context.Context, s *referenceSession, call referenceCall) (output string) {
	var in struct {
		Command   string          `json:"command"`
		Path      string          `json:"path"`
		Content   string          `json:"content"`
		Todos     []acp.PlanEntry `json:"todos"`
		Question  string          `json:"question"`
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments map[string]any  `json:"arguments"`
	}
	raw := json.RawMessage(call.Function.Arguments)
	if err := json.Unmarshal(raw, &in); err != nil {
		return err.Error()
	}
	done := acp.ToolCall{ID: call.ID, Status: acp.ToolCompleted}
	begun := acp.ToolCall{ID: call.ID, Title: call.Function.Name, Status: acp.ToolInProgress, RawInput: raw}
	begin := func(kind acp.ToolKind, title string) {
		begun.Kind, begun.Title = kind, title
		r.tell(ctx, s, acp.Update{Kind: acp.UpdateToolCall, ToolCall: &begun})
	}
	var err error
	switch call.Function.Name {
	case "run":
		begin(acp.ToolExecute, in.Command)
		output, done.RawOutput, err = referenceRun(ctx, in.Command)
	case "read":
		begin(acp.ToolRead, "Read "+in.Path)
		var text []byte
		text, err = os.ReadFile(in.Path)
		output = string(text)
	case "write":
		begin(acp.ToolEdit, "Write "+in.Path)
		var old *string
		if text, missing := os.ReadFile(in.Path); missing == nil {
			before := string(text)
			old = &before
		}
		err = os.WriteFile(in.Path, []byte(in.Content), 0o600)
		done.Content = []acp.ToolCallContent{acp.Diff(in.Path, old, in.Content)}
		output = "written"
	case "plan":
		r.tell(ctx, s, acp.Update{Kind: acp.UpdatePlan, Plan: &acp.Plan{Entries: in.Todos}})
		return "shown"
	case "call_mcp":
		begun.RawInput, err = json.Marshal(in.Arguments)
		begin(acp.ToolOther, "mcp__"+in.Server+"__"+in.Tool)
		if err == nil {
			output, err = s.call(ctx, in.Server, in.Tool, in.Arguments)
		}
	case "ask":
		var answer acp.ElicitationResponse
		err = r.agent.Call(ctx, "elicitation/create", acp.ElicitationRequest{
			SessionID: s.id, ToolCallID: call.ID, Mode: "form", Message: in.Question,
		}, &answer)
		output = "the user has not answered yet: " + answer.Action
	default:
		err = fmt.Errorf("the tool %q does not exist", call.Function.Name)
	}
	if err != nil {
		done.Status = acp.ToolFailed
		output += err.Error()
	}
	if done.Content == nil {
		done.Content = []acp.ToolCallContent{acp.TextOutput(output)}
	}
	r.tell(ctx, s, acp.Update{Kind: acp.UpdateToolCallUpdate, ToolCall: &done})
	return output
}

// referenceRun runs a command in a process group, which a cancel ends.
func referenceRun(ctx context.Context, line string) (output string, result json.RawMessage, err error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	text, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		err = nil
	}
	return string(text), json.RawMessage(fmt.Sprintf(`{"exit_code":%d}`, cmd.ProcessState.ExitCode())), err
}

// call calls a tool of an MCP server.
func (s *referenceSession) call(ctx context.Context, server, name string, in map[string]any) (string, error) {
	session := s.servers[server]
	if session == nil {
		return "", fmt.Errorf("the MCP server %q does not exist", server)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String(), nil
}
