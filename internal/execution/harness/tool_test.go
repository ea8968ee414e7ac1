package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// The forms were seen with the versions of docs/harnesses.md.
func TestToolsOfMCPServers(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]acp.ToolCall{
		"Claude Code": {Name: "mcp__tracker__create", Title: "mcp__tracker__create", RawInput: rawJSON(`{"title":"x"}`)},
		"Qwen Code": {
			Title: `create (tracker MCP Server): {"title":"x"}`, RawInput: rawJSON(`{"title":"x"}`),
			Meta: acp.NewMeta("toolName", "mcp__tracker__create"),
		},
		"Gemini CLI": {
			Title: "create (tracker MCP Server)", Content: []acp.ToolCallContent{acp.TextOutput(`{"title":"x"}`)},
		},
		"OpenCode": {Title: "tracker_create", RawInput: rawJSON(`{"title":"x"}`)},
		"Codex": {
			Title: "mcp.tracker.create", RawInput: rawJSON(`{"server":"tracker","tool":"create","arguments":{"title":"x"}}`),
			Meta: acp.NewMeta("is_mcp_tool_call", true),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, drafts := follow()
			s.session.MCPServers = map[string]penstock.MCPServer{"tracker": {Command: "tracker"}}
			call.ID, call.Kind, call.Status = "1", acp.ToolOther, acp.ToolInProgress
			s.see(call, true)
			end := acp.ToolCall{
				ID: "1", Status: acp.ToolCompleted, Content: []acp.ToolCallContent{acp.TextOutput("created x")},
			}
			if name == "Codex" {
				end.Content = nil
				end.RawOutput = rawJSON(`{"result":{"content":[{"type":"text","text":"created x"}]},"error":null}`)
			}
			s.see(end, false)
			want := []string{
				`integration call_mcp_tool {"arguments":{"title":"x"},"server":"tracker","tool":"create"}`,
				`completed {"output":"created x"}`,
			}
			if diff := cmp.Diff(want, recorded(t, *drafts)); diff != "" {
				t.Errorf("the blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAListOfThingsToDoIsAPlan(t *testing.T) {
	t.Parallel()
	s, drafts := follow()
	todos := rawJSON(
		`{"todos":[{"content":"look","status":"completed","priority":"high"},{"content":"do","status":"pending"}]}`,
	)
	s.see(acp.ToolCall{ID: "1", Title: "todowrite", Kind: acp.ToolOther, Status: acp.ToolPending}, true)
	for _, status := range []acp.ToolStatus{acp.ToolInProgress, acp.ToolInProgress, acp.ToolCompleted} {
		s.see(acp.ToolCall{ID: "1", Kind: acp.ToolOther, Status: status, RawInput: todos}, false)
	}
	s.end(false)
	if len(*drafts) != 1 || (*drafts)[0].Type != penstock.EventPlan {
		t.Fatalf("the drafts are %+v", *drafts)
	}
	want := `{"entries":[{"content":"look","status":"completed","priority":"high"},` +
		`{"content":"do","status":"pending","priority":"medium"}]}`
	if got := string((*drafts)[0].Data); got != want {
		t.Errorf("the plan is %s, want %s", got, want)
	}
}

func TestResultsWithoutTheWordsOfAnAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call acp.ToolCall
		want []string
	}{
		"Claude Code reports the exit code in the output": {
			acp.ToolCall{
				Kind: acp.ToolExecute, Status: acp.ToolFailed, RawInput: rawJSON(`{"command":"false"}`),
				RawOutput: rawJSON(`"Exit code 3\nout"`),
			},
			[]string{`command run_command {"command":"false"}`, `failed {"exit_code":3,"output":"out"}`},
		},
		"OpenCode says that a file is written": {
			acp.ToolCall{
				Kind: acp.ToolEdit, Status: acp.ToolCompleted, RawInput: rawJSON(`{"filePath":"/ws/a.txt","content":"one\n"}`),
				Content:   []acp.ToolCallContent{acp.TextOutput("Wrote file successfully.")},
				RawOutput: rawJSON(`{"output":"Wrote file successfully.","metadata":{"exists":false}}`),
			},
			[]string{
				`files edit_files {"paths":["a.txt"]}`,
				`completed {"files":[{"new_file":true,"new_text":"one\n","path":"a.txt"}]}`,
			},
		},
		"Gemini CLI shows the query in the title": {
			acp.ToolCall{Kind: acp.ToolSearch, Status: acp.ToolCompleted, Title: "'three' in *.txt"},
			[]string{`search search_files {"query":"three"}`, `completed {}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, drafts := follow()
			test.call.ID = "1"
			s.see(test.call, true)
			if diff := cmp.Diff(test.want, recorded(t, *drafts)); diff != "" {
				t.Errorf("the blocks (-want +got):\n%s", diff)
			}
		})
	}
}

// A file of another agent may really begin its lines with numbers.
func TestLineNumbersAreRemovedOnlyForAnAgentThatAddsThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		numbers      bool
		output, want string
	}{
		"an agent that adds them":      {true, "1\talpha\n2\t\n3\tgam\tma\n", `{"output":"alpha\n\ngam\tma\n"}`},
		"a line without a number":      {true, "1\talpha\n(cut)\n", `{"output":"1\talpha\n(cut)\n"}`},
		"an agent that adds no number": {false, "1\talpha\n", `{"output":"1\talpha\n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, drafts := follow()
			s.numbers = test.numbers
			s.see(acp.ToolCall{
				ID: "1", Kind: acp.ToolRead, Status: acp.ToolCompleted, RawInput: rawJSON(`{"path":"/ws/a"}`),
				Content: []acp.ToolCallContent{acp.TextOutput(test.output)},
			}, true)
			want := []string{`files read_files {"paths":["a"]}`, "completed " + test.want}
			if diff := cmp.Diff(want, recorded(t, *drafts)); diff != "" {
				t.Errorf("the blocks (-want +got):\n%s", diff)
			}
		})
	}
}
