package worker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// revealing is an MCP server with a tool that prints its environment.
func revealing() int {
	server := mcp.NewServer(&mcp.Implementation{Name: "revealing", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "reveal", Description: "Tells all"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), " ")}}}, nil, nil
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// callModel sends bodies to a provider, and does not care about the responses.
func callModel(ctx context.Context, bodies []string) {
	for _, body := range bodies {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+sandbox.RelayAddress+
			"/model/local/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	}
}

// misbehave is an agent that does what the last line of its prompt says, which no agent should do.
func misbehave(what string) int {
	if what == "reveal" {
		return revealing()
	}
	var a *acp.Agent
	var servers []acp.MCPServer
	say := func(ctx context.Context, session, text string) {
		_ = a.Update(ctx, session, acp.Update{Kind: acp.UpdateAgentMessage, Chunk: &acp.Chunk{Content: acp.Text(text)}})
	}
	a = acp.NewAgent(acp.Join(os.Stdin, os.Stdout), acp.AgentHandler{
		Initialize: func(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
			return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersion, AuthMethods: []acp.AuthMethod{}}, nil
		},
		NewSession: func(_ context.Context, r acp.NewSessionRequest) (acp.Session, error) {
			servers = r.MCPServers
			return acp.Session{ID: "s", Models: &acp.Models{}}, nil
		},
		Prompt: func(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
			lines := strings.Split(strings.TrimSpace(r.Prompt[0].Text), "\n")
			end := acp.PromptResponse{StopReason: acp.StopEndTurn}
			what := lines[len(lines)-1]
			if bodies, found := strings.CutPrefix(what, "calls "); found {
				callModel(ctx, strings.Split(bodies, " "))
				return end, nil
			}
			switch what {
			case "never ends":
				say(ctx, r.SessionID, "I begin.")
				select {}
			case "spends":
				for n := int64(100); ctx.Err() == nil; n += 100 {
					_ = a.Update(ctx, r.SessionID, acp.Update{Kind: acp.UpdateUsage, Usage: &acp.UsageUpdate{
						Meta: acp.NewMeta(acp.MetaUsage, acp.TurnUsage{TokenUsage: penstock.TokenUsage{Input: n}, ModelID: "x/y"}),
					}})
				}
			case "floods":
				flood(ctx, a, r.SessionID)
			case "claims riches":
				_ = a.Update(ctx, r.SessionID, acp.Update{Kind: acp.UpdateUsage, Usage: &acp.UsageUpdate{
					Cost: &acp.Price{Amount: 1.5e308, Currency: "USD"},
					Meta: acp.NewMeta(
						acp.MetaUsage,
						acp.TurnUsage{TokenUsage: penstock.TokenUsage{Input: 1 << 62, Output: 1 << 62, CacheRead: -5}, ModelID: "x/y"},
					),
				}})
				_ = a.Call(ctx, "_nothing", nil, nil)
			case "nests":
				nest(ctx, a, r.SessionID)
			case "reads its skills":
				readSkills(ctx, a, r.SessionID)
			case "begins sessions with its MCP servers":
				for _, server := range servers {
					say(ctx, r.SessionID, server.Name+" says: "+firstLine(ctx, server))
				}
			case "starts an intruder":
				var report strings.Builder
				exe, _ := os.Executable()
				cmd := exec.CommandContext(ctx, exe, "intrude", "by opening")
				cmd.Stdout = &report
				_ = cmd.Run()
				say(ctx, r.SessionID, "I have started it. "+report.String())
			case "dies":
				say(ctx, r.SessionID, "about to die")
				_ = a.Call(ctx, "_nothing", nil, nil) // what was said is on its way
				os.Exit(9)
			default:
				say(ctx, r.SessionID, "You said: "+r.Prompt[0].Text)
			}
			return end, nil
		},
	})
	_ = a.Run(context.Background())
	return 0
}

// firstLine begins a session with an MCP server, and returns the first line that it says.
func firstLine(ctx context.Context, server acp.MCPServer) string {
	cmd := exec.CommandContext(ctx, server.Command, server.Args...)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n")
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = in.Close()
	_ = cmd.Wait()
	return line
}

// readSkills reads the files of all skills, and then claims of each file that it is a bundled
// skill.
func readSkills(ctx context.Context, a *acp.Agent, session string) {
	dir, _ := os.Getwd()
	files, _ := filepath.Glob(filepath.Join(dir, ".penstock/skills/*/SKILL.md"))
	for i, file := range files {
		text, _ := os.ReadFile(file)
		_ = a.Update(ctx, session, acp.Update{Kind: acp.UpdateToolCall, ToolCall: &acp.ToolCall{
			ID: fmt.Sprint("file", i), Title: "Read", Kind: acp.ToolRead, Status: acp.ToolCompleted,
			Locations: []acp.Location{{Path: file}},
			Content:   []acp.ToolCallContent{acp.TextOutput(string(text))},
		}})
		input, _ := json.Marshal(map[string]string{"skill_path": file, "bundled_skill_id": "create-skill"})
		_ = a.Update(ctx, session, acp.Update{Kind: acp.UpdateToolCall, ToolCall: &acp.ToolCall{
			ID: fmt.Sprint("claim", i), Title: "Read", Status: acp.ToolCompleted, RawInput: input,
			Meta: acp.NewMeta(acp.MetaTool, "read_skill"),
		}})
	}
}

// flood prints megabytes in every form: text, one line, garbage, invalid text, unknown updates, and
// endless calls.
func flood(ctx context.Context, a *acp.Agent, session string) {
	chunk := strings.Repeat("lorem ipsum ", 1000)
	for range 300 {
		_ = a.Update(ctx, session, acp.Update{Kind: acp.UpdateAgentMessage, Chunk: &acp.Chunk{Content: acp.Text(chunk)}})
	}
	for i := range 300 {
		_ = a.Update(ctx, session, acp.Update{Kind: acp.UpdateToolCall, ToolCall: &acp.ToolCall{
			ID: fmt.Sprint(i), Title: "\x1b[31mx\x00y", Kind: acp.ToolExecute, Status: acp.ToolCompleted,
			Content: []acp.ToolCallContent{acp.TextOutput("out")},
		}})
	}
	_ = a.Update(ctx, session, acp.Update{Kind: acp.UpdateToolCall, ToolCall: &acp.ToolCall{
		ID: "big", Title: "cat big", Kind: acp.ToolExecute, Status: acp.ToolCompleted,
		Content: []acp.ToolCallContent{acp.TextOutput(strings.Repeat("é", 4<<20))},
	}})
	big, _ := json.Marshal(map[string]any{"sessionUpdate": "blob_update", "blob": strings.Repeat("x", 2<<20)})
	_ = a.Update(ctx, session, acp.Update{Kind: "blob_update", Raw: big})
	_ = a.Call(ctx, "_nothing", nil, nil) // everything is sent: what follows bypasses the connection
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "\xff\xfe\x00 no text\n%s\n", strings.Repeat("g", 3<<20))
	fmt.Fprintf(
		out,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,`+
			`"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text",`+
			`"text":"bad `+"\xff\xfe"+` bytes"}}}}`+"\n",
		session,
	)
	_ = out.Flush()
}

// nest sends JSON that is hard to encode again, in every place that allows JSON: duplicate keys,
// and as many levels as a parser accepts.
func nest(ctx context.Context, a *acp.Agent, session string) {
	for _, levels := range []int{120, 1000, 9980, 9990, 9995} {
		deep := json.RawMessage(strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels))
		input, _ := json.Marshal(map[string]any{"server": "x", "tool": "y", "arguments": deep})
		_ = a.Update(ctx, session, acp.Update{Kind: acp.UpdateToolCall, ToolCall: &acp.ToolCall{
			ID: fmt.Sprint("deep", levels), Name: "mcp__x__y", Status: acp.ToolCompleted, RawInput: input, RawOutput: deep,
		}})
		raw, _ := json.Marshal(map[string]any{"sessionUpdate": "deep_update", "deep": deep})
		_ = a.Update(ctx, session, acp.Update{Kind: "deep_update", Raw: raw})
		for _, metadata := range []json.RawMessage{deep, json.RawMessage(`{"a":1,"a":2}`), json.RawMessage("[1]")} {
			_ = a.Call(ctx, acp.MethodArtifact, acp.ArtifactRequest{
				SessionID: session, Type: penstock.ArtifactReference, ReferenceType: "ticket", URL: "https://tickets.test/7",
				Metadata: metadata,
			}, nil)
		}
	}
}
