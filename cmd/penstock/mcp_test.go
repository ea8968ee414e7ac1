package main_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// A client that starts a program works with the server through it, in every version of the protocol.
func TestMCPServeConnectsAClientWithTheServer(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		cmd := command(t, client(s), "mcp", "serve")
		reports := make(chan string, 100)
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				reports <- r.Params.Message
			},
		})
		session, err := c.Connect(
			t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version},
		)
		if err != nil {
			t.Fatal(err)
		}
		if got := session.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("version %s, want %s", got, version)
		}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 13 {
			t.Errorf("%s: tools %+v, %v", version, tools, err)
		}
		id := startRun(t, client(s), "demo: say hello")
		params := &mcp.CallToolParams{Name: "wait_task", Arguments: map[string]any{"factory_task_uid": id}}
		params.SetProgressToken("p")
		for done := false; !done; {
			got, err := session.CallTool(t.Context(), params)
			if err != nil || got.IsError {
				t.Fatalf("%s: %+v, %v", version, got, err)
			}
			data, _ := got.StructuredContent.(map[string]any)
			done = data["done"] == true
		}
		if got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "get_task", Arguments: map[string]any{"factory_task_uid": "no"},
		}); err != nil || !got.IsError {
			t.Errorf("%s: no task: %+v, %v", version, got, err)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: close: %v", version, err)
		}
	}
	input := `{"jsonrpc":"2.0","id":7,"method":"tools/list"}` + "\nnot JSON\n"
	got := callWith(t, input, client(s), "mcp", "serve")
	got.want(t, 0)
	if !strings.Contains(got.out, `"send_task"`) || !strings.Contains(got.out, "-32700") {
		t.Errorf("without a handshake: %.300s", got.out)
	}
	wrong := []string{"PENSTOCK_BASE_URL=" + s.URL, "PENSTOCK_API_KEY=psk_no"}
	got = callWith(t, input, wrong, "mcp", "serve")
	if !strings.Contains(got.out, `"id":7`) || !strings.Contains(got.out, `"error"`) ||
		strings.Contains(got.out, "psk_no") {
		t.Errorf("with a wrong key: %s", got.out)
	}
}

func TestMCPConfigNeverShowsTheKey(t *testing.T) {
	t.Parallel()
	env := []string{"PENSTOCK_BASE_URL=https://127.0.0.1:1/api/v1", "PENSTOCK_API_KEY=psk_secret"}
	for _, name := range []string{"claude-code", "codex", "cursor", "vscode", "opencode", "gemini"} {
		got := call(t, env, "mcp", "config", "--client", name)
		got.want(t, 0)
		if !strings.Contains(got.out, `"https://127.0.0.1:1/mcp"`) || !strings.Contains(got.out, "PENSTOCK_API_KEY") ||
			strings.Contains(got.out+got.err, "psk_secret") {
			t.Errorf("%s: %s %s", name, got.out, got.err)
		}
	}
}
