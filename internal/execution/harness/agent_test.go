package harness_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// playAgent is the other end: an ACP agent that plays a role, or a program that is not an agent.
func playAgent(part string) int {
	switch part {
	case "exits":
		fmt.Fprintln(os.Stderr, "no config file, and the password is hunter22")
		return 3
	case "speaks prose":
		fmt.Println("usage: tool [--acp]")
		return 2
	case "is deaf":
		select {}
	case "says another version":
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal([]byte(line), &m)
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":9,"agentCapabilities":{}}}`+"\n", m.ID)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	p := &player{part: part}
	p.agent = acp.NewAgent(acp.Join(os.Stdin, os.Stdout), acp.AgentHandler{
		Initialize: func(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
			return acp.InitializeResponse{
				ProtocolVersion: acp.ProtocolVersion, AuthMethods: []acp.AuthMethod{},
				Capabilities: acp.AgentCapabilities{
					LoadSession: part != "cannot load", MCP: acp.MCPCapabilities{HTTP: part == "has http"},
				},
			}, nil
		},
		NewSession: func(ctx context.Context, r acp.NewSessionRequest) (acp.Session, error) {
			if part == "wants a login" {
				return acp.Session{}, &acp.Error{Code: acp.CodeAuthRequired, Message: "run login first"}
			}
			p.mcp = r.MCPServers
			if part == "uses MCP" || part == "needs MCP" {
				if err := p.connect(ctx); err != nil && part == "needs MCP" {
					return acp.Session{}, &acp.Error{Code: acp.CodeInternal, Message: "MCP startup failed"}
				}
			}
			r.Meta.Read(acp.MetaSkills, &p.skills)
			return acp.Session{
				ID: "new", Modes: &acp.Modes{Current: "ask"},
				ConfigOptions: []acp.ConfigOption{{ID: "m", Category: "model", Type: "select"}},
			}, nil
		},
		LoadSession: p.load,
		SetMode:     func(_ context.Context, r acp.SetModeRequest) error { p.mode = r.ModeID; return nil },
		SetConfigOption: func(_ context.Context, r acp.SetConfigOptionRequest) (acp.ConfigOptions, error) {
			p.model, _ = r.Value.(string)
			return acp.ConfigOptions{}, nil
		},
		Prompt: p.prompt,
	})
	_ = p.agent.Run(context.Background())
	return 0
}

type player struct {
	part  string
	agent *acp.Agent
	mcp   []acp.MCPServer
	mode  string
	model string

	skills []acp.Skill
	server *mcp.ClientSession
}

// connect starts the only MCP server as its client: a line that is no message ends the connection.
func (p *player) connect(ctx context.Context) error {
	cmd := exec.Command(p.mcp[0].Command, p.mcp[0].Args...)
	cmd.Env = os.Environ()
	for _, v := range p.mcp[0].Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "player", Version: "1"}, nil)
	var err error
	p.server, err = client.Connect(context.WithoutCancel(ctx), &mcp.CommandTransport{Command: cmd}, nil)
	return err
}

// use calls a tool of the server and says what came of it.
func (p *player) use(ctx context.Context, session, tool string) {
	if p.server == nil {
		return
	}
	result, err := p.server.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	text := fmt.Sprint(err)
	if err == nil && len(result.Content) > 0 {
		content, _ := json.Marshal(result.Content[0])
		text = string(content)
	}
	p.say(ctx, session, "", text)
}

func (p *player) load(ctx context.Context, r acp.LoadSessionRequest) (acp.Session, error) {
	if p.part == "forgets" {
		return acp.Session{}, &acp.Error{Code: acp.CodeResourceNotFound, Message: "no such session"}
	}
	p.say(ctx, r.SessionID, "", "what was said before")
	return acp.Session{}, nil
}

func (p *player) tell(ctx context.Context, session string, u acp.Update) {
	_ = p.agent.Update(ctx, session, u)
}

func (p *player) say(ctx context.Context, session, id, text string) {
	p.tell(
		ctx, session, acp.Update{Kind: acp.UpdateAgentMessage, Chunk: &acp.Chunk{Content: acp.Text(text), MessageID: id}},
	)
}

func (p *player) call(ctx context.Context, session string, kind acp.UpdateKind, c acp.ToolCall) {
	p.tell(ctx, session, acp.Update{Kind: kind, ToolCall: &c})
}

// prompt does a turn of the part.
func (p *player) prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	text, session := r.Prompt[0].Text, r.SessionID
	end := acp.PromptResponse{StopReason: acp.StopEndTurn}
	switch p.part {
	case "uses MCP":
		p.say(ctx, session, "", text+"|")
		p.use(ctx, session, path.Base(text))
		if strings.HasSuffix(text, "and hang/die") {
			<-ctx.Done()
		}
	case "stops":
		end.StopReason = acp.StopReason(text)
	case "responds with an error":
		fmt.Fprintln(os.Stderr, "stack trace with hunter22")
		return end, &acp.Error{Code: acp.CodeInternal, Message: "the provider is away"}
	case "dies":
		p.say(ctx, session, "", "I begin")
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 5000)+" out of memory, password hunter22")
		_ = p.agent.Call(ctx, "_nothing", nil, nil) // what was said is on its way
		os.Exit(7)
	case "rambles":
		_, _ = io.CopyN(os.Stdout, endless{}, 64<<20+1)
	case "asks":
		end.Meta = acp.NewMeta(acp.MetaBlocked, acp.Blocked{Question: "Which branch?"})
	case "obeys":
		p.say(ctx, session, "", "working")
		<-ctx.Done()
		p.tell(context.WithoutCancel(
			ctx,
		), session, acp.Update{Kind: acp.UpdateUsage, Usage: &acp.UsageUpdate{Meta: acp.NewMeta(acp.MetaUsage, acp.TurnUsage{
			TokenUsage: penstock.TokenUsage{Input: 11}, ModelID: "demo/offline",
		})}})
	case "does not obey":
		p.say(ctx, session, "", "working")
		select {}
	case "consumes":
		for _, n := range []int64{10, 25} {
			p.tell(ctx, session, acp.Update{Kind: acp.UpdateUsage, Usage: &acp.UsageUpdate{
				Cost: &acp.Price{Amount: float64(n) / 100, Currency: "USD"},
				Meta: acp.NewMeta(acp.MetaUsage, acp.TurnUsage{TokenUsage: penstock.TokenUsage{Input: n}, ModelID: "x/y"}),
			}})
		}
		end.Meta = acp.NewMeta(
			acp.MetaUsage, acp.TurnUsage{TokenUsage: penstock.TokenUsage{Input: 30, Output: 5}, ModelID: "x/y"},
		)
	case "tells all":
		p.tellAll(ctx, session)
	case "counts":
		end.Usage = &acp.PromptUsage{Total: 12, Input: 7, Output: 5}
	case "asks for permission":
		p.askPermission(ctx, session)
	case "reports":
		report, _ := json.Marshal(
			map[string]any{"mcp": p.mcp, "mode": p.mode, "model": p.model, "prompt": text, "skills": p.skills},
		)
		p.say(ctx, session, "", string(report))
	case "keeps":
		p.keep(ctx, session, text)
	case "floods":
		for i := range 2000 {
			p.say(ctx, session, "m", fmt.Sprintf("piece %d, ", i))
		}
	case "prints between":
		fmt.Println("a line that is no message")
		fmt.Println(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":17}}`)
		p.say(ctx, session, "", "still here")
	case "speaks of another session":
		p.say(ctx, "other", "", "not mine")
	default:
		p.say(ctx, session, "", "You said: "+text)
	}
	return end, nil
}

// tellAll sends one update of each kind.
func (p *player) tellAll(ctx context.Context, session string) {
	p.tell(ctx, session, acp.Update{Kind: acp.UpdateAgentThought, Chunk: &acp.Chunk{Content: acp.Text("hm, ")}})
	p.tell(ctx, session, acp.Update{Kind: acp.UpdateAgentThought, Chunk: &acp.Chunk{Content: acp.Text("well")}})
	p.say(ctx, session, "1", "First ")
	p.say(ctx, session, "1", "message.")
	p.say(ctx, session, "2", "Second message.")
	p.tell(ctx, session, acp.Update{Kind: acp.UpdatePlan, Plan: &acp.Plan{Entries: []acp.PlanEntry{
		{Content: "look", Status: "completed", Priority: "high"}, {Content: "do", Status: "soon", Priority: "urgent"},
	}}})
	p.tell(ctx, session, acp.Update{Kind: acp.UpdateCommands, Commands: &acp.Commands{}})
	p.tell(
		ctx, session,
		acp.Update{
			Kind: "weather_update", Raw: json.RawMessage(`{"sessionUpdate":"weather_update","sky":"gray","_meta":{"x":1}}`),
		},
	)
	p.tell(ctx, session, acp.Update{Kind: "plan", Raw: json.RawMessage(`{"sessionUpdate":"plan","entries":"none"}`)})

	p.call(
		ctx, session, acp.UpdateToolCall,
		acp.ToolCall{ID: "c", Title: "ls", Kind: acp.ToolExecute, Status: acp.ToolPending, RawInput: json.RawMessage(`{}`)},
	)
	p.call(
		ctx, session, acp.UpdateToolCallUpdate,
		acp.ToolCall{
			ID: "c", Status: acp.ToolInProgress,
			RawInput: json.RawMessage(`{"command":["ls","-l","my dir"],"token":"internal"}`),
		},
	)
	p.call(ctx, session, acp.UpdateToolCallUpdate, acp.ToolCall{
		ID: "c", Status: acp.ToolCompleted, Content: []acp.ToolCallContent{acp.TextOutput("total 0")},
		RawOutput: json.RawMessage(`{"exit_code":0,"pid":17}`),
	})
	p.call(ctx, session, acp.UpdateToolCall, acp.ToolCall{ // the same id again: another call
		ID: "c", Title: "Edit", Kind: acp.ToolEdit, Status: acp.ToolCompleted,
		Locations: []acp.Location{{Path: cwd() + "/a.txt"}},
		Content:   []acp.ToolCallContent{acp.Diff(cwd()+"/a.txt", nil, "new\n")},
	})
	p.call(ctx, session, acp.UpdateToolCallUpdate, acp.ToolCall{ // known by its update alone
		ID: "m", Title: "mcp__tracker__create", Kind: acp.ToolOther, Status: acp.ToolFailed,
		RawInput: json.RawMessage(`{"arguments":{"title":"x"}}`), Content: []acp.ToolCallContent{acp.TextOutput("refused")},
	})
	p.call(ctx, session, acp.UpdateToolCall, acp.ToolCall{
		ID: "s", Title: "read_skill", Status: acp.ToolInProgress, Meta: acp.NewMeta(acp.MetaTool, "read_skill"),
		RawInput: json.RawMessage(`{"name":"release","skill_path":".penstock/skills/release/SKILL.md"}`),
	})
}

func cwd() string { return os.Getenv("STAGE_DIR") }

// askPermission asks about a call that was not announced, with options in any order and meaningless
// ids. It also asks about a call that can only be rejected.
func (p *player) askPermission(ctx context.Context, session string) {
	for _, ask := range []struct {
		id      string
		options []acp.PermissionOption
	}{
		{
			"first",
			[]acp.PermissionOption{
				{ID: "yes", Name: "No", Kind: acp.RejectOnce},
				{ID: "no", Name: "Always", Kind: acp.AllowAlways},
				{ID: "x", Name: "Once", Kind: acp.AllowOnce},
			},
		},
		{"second", []acp.PermissionOption{{ID: "allow", Name: "Allow?", Kind: acp.RejectAlways}}},
	} {
		var response struct {
			Outcome struct{ Outcome, OptionID string }
		}
		err := p.agent.Call(ctx, "session/request_permission", acp.PermissionRequest{
			SessionID: session, Options: ask.options,
			ToolCall: acp.ToolCall{ID: ask.id, Title: "rm -r build", Kind: acp.ToolExecute},
		}, &response)
		got := response.Outcome
		p.say(ctx, session, "", fmt.Sprintf("%s: %s %s %v.", ask.id, got.Outcome, got.OptionID, err))
		p.call(ctx, session, acp.UpdateToolCallUpdate, acp.ToolCall{ID: ask.id, Status: acp.ToolFailed})
	}
}

// keep asks to keep artifacts, one for each line, and prints the responses.
func (p *player) keep(ctx context.Context, session, lines string) {
	for line := range strings.Lines(lines) {
		var r acp.ArtifactRequest
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			p.say(ctx, session, "", err.Error())
			continue
		}
		var kept acp.ArtifactResponse
		if err := p.agent.Call(ctx, acp.MethodArtifact, r, &kept); err != nil {
			p.say(ctx, session, "", "refused: "+err.Error()+"\n")
			continue
		}
		p.say(ctx, session, "", "kept\n")
	}
}

// endless is an endless text without a line feed.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
