package worker_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// What another agent's MCP server prints does not reach the agent. One that does not start is on the
// timeline, and ends the run only if the run needs it.
func TestTheStdioServersOfOtherAgents(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		w.start(in(box))
		start := func(required bool) string {
			return w.create(penstock.RunRequest{
				Prompt: "begins sessions with its MCP servers",
				Config: &penstock.Config{
					Harness: &penstock.Harness{Type: "misbehaving"},
					MCPServers: map[string]penstock.MCPServer{
						"chatty": {Command: "sh", Args: []string{
							"-c", `echo Listening; read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"x":"well"}}'; cat`,
						}},
						"dead": {Command: "sh", Args: []string{"-c", "echo no database >&2; exit 3"}, Required: required},
					},
				},
			})
		}
		id := start(false)
		w.becomes(id, penstock.StateSucceeded)
		said := strings.Join(w.texts(id, "assistant"), "\n")
		if !strings.Contains(said, `chatty says: {"jsonrpc":"2.0","id":1,"result":{"x":"well"}}`) {
			t.Errorf("the agent got a line that is no message: %q", said)
		}
		if !strings.Contains(said, `the MCP server \"dead\" does not work: it ended (exit status 3)`) {
			t.Errorf("the agent was not told: %q", said)
		}
		failed := w.payloads(id, penstock.TimelineMCPFailed)
		if len(failed) != 1 || failed[0]["name"] != "dead" ||
			failed[0]["reason"] != "it ended (exit status 3); it printed: no database" {
			t.Errorf("the timeline has %v", failed)
		}
		run := w.becomes(start(true), penstock.StateFailed)
		if text := run.StatusMessage.Message; !strings.Contains(text, "dead") || !strings.Contains(text, "no database") {
			t.Errorf("the run ended with %q", text)
		}
	})
}
