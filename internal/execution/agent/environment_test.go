package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// The environment of a session applies to its commands and MCP servers. It may set the providers'
// variables, and never affects the agent itself.
func TestASessionsEnvironmentIsForItsTools(t *testing.T) {
	t.Parallel()
	tools := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(tools, "my-server")); err != nil {
		t.Fatal(err)
	}
	h := start(t, func(c *Config) {
		c.Env = append(c.Env, "OPENAI_API_KEY=operators", "OPENAI_BASE_URL=https://operator.test", "COLOR=of the agent")
	})
	sent := []string{
		"COLOR=blue", "HTTPS_PROXY=http://proxy.test", "OPENAI_API_KEY=own", "PAGER=less",
		"PATH=" + tools + ":" + os.Getenv("PATH"),
	}
	server := testServer("")
	server.Command, server.Env[0].Value, server.Env[1].Value = "my-server", "env", "found by PATH"
	request := acp.NewSessionRequest{
		Cwd: h.workspace, MCPServers: []acp.MCPServer{server}, Meta: acp.NewMeta(acp.MetaEnvironment, sent),
	}
	made, err := h.NewSession(h.ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	loaded := func() {
		_, err := h.LoadSession(h.ctx, acp.LoadSessionRequest{
			SessionID: made.ID, Cwd: h.workspace, MCPServers: request.MCPServers, Meta: request.Meta,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, again := range []func(){func() {}, loaded} {
		again()
		h.forget()
		h.say(made.ID, "demo: run env\ndemo: call mcp__my_server__greet {\"name\":\"Ada\"}", acp.StopEndTurn)
		lines := strings.Split(h.call(toolRunCommand).Output, "\n")
		for _, want := range []string{"COLOR=blue", "HTTPS_PROXY=http://proxy.test", "OPENAI_API_KEY=own", "PAGER=cat"} {
			if !slices.Contains(lines, want) {
				t.Errorf("%s is not in the environment of a command: %v", want, lines)
			}
		}
		if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "operator") }) {
			t.Errorf("the providers' variables are in the environment of a command: %v", lines)
		}
		if out := h.call(toolCallMCP).Output; !strings.Contains(out, "found by PATH") {
			t.Errorf("the MCP server says %s", out)
		}
	}
	if got, set := os.LookupEnv("COLOR"); set {
		t.Errorf("COLOR is %q in the agent's own environment", got)
	}
}
