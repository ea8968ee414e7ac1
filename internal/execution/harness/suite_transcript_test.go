package harness_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
)

// deed is something that the model makes an agent do, and the lines of the transcript about it.
type deed struct {
	turn harness.ScriptedTurn
	want []string
}

const (
	makes = "printf 'alpha\\nbeta\\n' > notes.txt; printf 'made\\n'; cat notes.txt"
	fails = "printf 'no\\n' >&2; exit 3"
	// greps is for agents without a tool that searches.
	greps = "grep -n beta notes.txt"
	// patches is how Codex changes files.
	patches = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: notes.txt\n@@\n alpha\n-beta\n+gamma\n" +
		"*** Add File: new.txt\n+one\n*** End Patch\nEOF\n"
)

// The lines that are the same for every agent.
var (
	reads   = `read_files {"paths":["notes.txt"]}`
	content = `completed {"output":"alpha\nbeta"}`
	seeks   = `search_files {"query":"beta"}`
	edits   = `edit_files {"paths":["notes.txt"]}`
	edited  = `completed {"files":[{"new_text":"alpha\ngamma","old_text":"alpha\nbeta","path":"notes.txt"}]}`
	writes  = `edit_files {"paths":["new.txt"]}`
	written = `completed {"files":[{"new_file":true,"new_text":"one","path":"new.txt"}]}`
	planned = `plan Look: completed, Do: in_progress`
	calls   = []string{
		`call_mcp_tool {"arguments":{"title":"x"},"server":"tracker","tool":"create"}`, `completed {"output":"created x"}`,
	}
)

// runs is the line of a command.
func runs(line string) string { return "run_command " + encoded(map[string]any{"command": line}) }

// printed is the line of the result of a command. The exit code -1 is one that the agent does not
// report.
func printed(state, output string, code int) string {
	out := map[string]any{"output": output}
	if code >= 0 {
		out["exit_code"] = code
	}
	return state + " " + encoded(out)
}

func encoded(v any) string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a map of texts and numbers
	return strings.TrimSpace(text.String())
}

// tool is a turn of the model that calls a tool.
func tool(name string, input map[string]any) harness.ScriptedTurn {
	return harness.ScriptedTurn{Tool: name, Input: input}
}

type given = map[string]any

// todos are the entries of a plan for the tools of several agents.
var todos = []given{
	{"id": "1", "content": "Look", "status": "completed", "priority": "high", "activeForm": "Look"},
	{"id": "2", "content": "Do", "status": "in_progress", "priority": "high", "activeForm": "Do"},
}

const made = "made\nalpha\nbeta"

// deeds are what each agent does, with its own tools, and how the transcript describes that. If a new
// version of an agent has other tools, change its deeds, too.
var deeds = map[string][]deed{
	"builtin": {
		{tool("run_command", given{"command": makes}), []string{runs(makes), printed("completed", made, 0)}},
		{tool("run_command", given{"command": fails}), []string{runs(fails), printed("completed", "no", 3)}},
		{
			tool("read_files", given{"files": []given{{"path": "notes.txt"}}}),
			[]string{reads, `completed {"output":"== notes.txt\n     1\talpha\n     2\tbeta"}`},
		},
		{
			tool("search_files", given{"pattern": "beta"}),
			[]string{seeks, `completed {"matches":1,"more":false,"output":"notes.txt:2: beta"}`},
		},
		{
			tool("edit_files", given{"edits": []given{{"path": "notes.txt", "old_text": "beta", "new_text": "gamma"}}}),
			[]string{edits, edited},
		},
		{tool("edit_files", given{"edits": []given{{"path": "new.txt", "content": "one\n"}}}), []string{writes, written}},
		{
			tool("update_plan", given{"entries": todos}),
			[]string{`update_plan {"title":"Update the plan"}`, planned, `completed {"output":"The plan is shown."}`},
		},
		{tool("mcp__tracker__create", given{"title": "x"}), calls},
	},
	"reference": {
		{tool("run", given{"command": makes}), []string{runs(makes), printed("completed", made, 0)}},
		{tool("run", given{"command": fails}), []string{runs(fails), printed("completed", "no", 3)}},
		{tool("read", given{"path": "/workspace/notes.txt"}), []string{reads, content}},
		{
			tool("write", given{"path": "/workspace/notes.txt", "content": "alpha\ngamma\n"}), []string{edits, edited},
		},
		{tool("write", given{"path": "/workspace/new.txt", "content": "one\n"}), []string{writes, written}},
		{tool("plan", given{"todos": todos}), []string{planned}},
		{tool("call_mcp", given{"server": "tracker", "tool": "create", "arguments": given{"title": "x"}}), calls},
	},
	"claude": {
		{tool("Bash", given{"command": makes}), []string{runs(makes), printed("completed", made, -1)}},
		{tool("Bash", given{"command": fails}), []string{runs(fails), printed("failed", "no", 3)}},
		{tool("Read", given{"file_path": "/workspace/notes.txt"}), []string{reads, content}},
		{tool("Bash", given{"command": greps}), []string{runs(greps), printed("completed", "2:beta", -1)}},
		{
			tool("Edit", given{"file_path": "/workspace/notes.txt", "old_string": "beta", "new_string": "gamma"}),
			[]string{edits, edited},
		},
		{tool("Write", given{"file_path": "/workspace/new.txt", "content": "one\n"}), []string{writes, written}},
		{tool("TodoWrite", given{"todos": todos}), []string{planned}},
		{tool("mcp__tracker__create", given{"title": "x"}), calls},
	},
	"codex": {
		{tool("exec_command", given{"cmd": makes}), []string{runs(makes), printed("completed", made, 0)}},
		{tool("exec_command", given{"cmd": fails}), []string{runs(fails), printed("failed", "no", 3)}},
		{tool("exec_command", given{"cmd": "cat notes.txt"}), []string{reads, content}},
		{tool("exec_command", given{"cmd": greps}), []string{seeks, `completed {"output":"2:beta"}`}},
		{tool("exec_command", given{"cmd": patches}), []string{
			`edit_files {"paths":["new.txt","notes.txt"]}`,
			`completed {"files":[{"new_file":true,"new_text":"one","path":"new.txt"},` +
				`{"new_text":"alpha\ngamma","old_text":"alpha\nbeta","path":"notes.txt"}]}`,
		}},
		{harness.ScriptedTurn{Tool: "create", Namespace: "mcp__tracker", Input: given{"title": "x"}}, calls},
	},
	"gemini": {
		{tool("run_shell_command", given{"command": makes}), []string{runs(makes), printed("completed", made, -1)}},
		{tool("run_shell_command", given{"command": fails}), []string{runs(fails), printed("completed", "no", -1)}},
		{tool("read_file", given{"file_path": "notes.txt"}), []string{reads, `completed {}`}},
		{tool("grep_search", given{"pattern": "beta"}), []string{seeks, `completed {}`}},
		{
			tool("replace", given{
				"file_path": "notes.txt", "instruction": "Change it", "old_string": "beta", "new_string": "gamma",
			}),
			[]string{edits, edited},
		},
		{tool("write_file", given{"file_path": "new.txt", "content": "one\n"}), []string{writes, written}},
		{tool("mcp_tracker_create", given{"title": "x"}), calls},
	},
	"opencode": {
		{tool("bash", given{"command": makes}), []string{runs(makes), printed("completed", made, 0)}},
		{tool("bash", given{"command": fails}), []string{runs(fails), printed("completed", "no", 3)}},
		{tool("read", given{"filePath": "/workspace/notes.txt"}), []string{reads, content}},
		{tool("bash", given{"command": greps}), []string{runs(greps), printed("completed", "2:beta", 0)}},
		{
			tool("edit", given{"filePath": "/workspace/notes.txt", "oldString": "beta", "newString": "gamma"}),
			[]string{edits, `completed {"files":[{"new_text":"gamma","old_text":"beta","path":"notes.txt"}]}`},
		},
		{tool("write", given{"filePath": "/workspace/new.txt", "content": "one\n"}), []string{writes, written}},
		{tool("todowrite", given{"todos": todos}), []string{planned}},
		{tool("tracker_create", given{"title": "x"}), calls},
	},
	"qwen": {
		{tool("run_shell_command", given{"command": makes, "is_background": false}), []string{
			runs(makes), printed("completed", made, 0),
		}},
		{tool("run_shell_command", given{"command": fails, "is_background": false}), []string{
			runs(fails), printed("failed", "no", 3),
		}},
		{tool("read_file", given{"file_path": "/workspace/notes.txt"}), []string{reads, content}},
		{tool("grep_search", given{"pattern": "beta"}), []string{
			seeks,
			`completed {"output":"Found 1 match for pattern \"beta\" in the workspace directory:\n` +
				`---\nFile: notes.txt\nL2: beta\n---"}`,
		}},
		{
			tool("edit", given{"file_path": "/workspace/notes.txt", "old_string": "beta", "new_string": "gamma"}),
			[]string{edits, edited},
		},
		{tool("write_file", given{"file_path": "/workspace/new.txt", "content": "one\n"}), []string{writes, written}},
		{tool("todo_write", given{"todos": todos}), []string{planned}},
		{tool("mcp__tracker__create", given{"title": "x"}), calls},
	},
}

// silent is what the transcript of an agent does not have, and why.
var silent = map[string][]string{
	"claude": {"it reports the exit code of a command only if that is an error"},
	"codex":  {"it offers no tool for plans to the scripted model"},
	"gemini": {
		"it does not report exit codes", "it does not report what it read or found",
		"it offers its tool for plans only to models named gemini-2",
	},
}

// testTranscript is point 2: the events of a run say what its agent does in the words of the
// contract, and nothing else.
func testTranscript(t *testing.T, s *suite) {
	want := []string{"user Work."}
	model := &harness.ScriptedModel{}
	for _, d := range deeds[s.name] {
		model.Turns = append(model.Turns, d.turn)
		want = append(want, d.want...)
	}
	model.Turns = append(model.Turns, harness.ScriptedTurn{Text: "It is done."})
	want = append(want, "assistant It is done.")
	j := s.start(t, model, map[string]any{"prompt": "Work.", "config": map[string]any{
		"mcp_servers": map[string]any{"tracker": map[string]any{"command": "bash", "args": []string{"-c", mcpScript}}},
	}})
	j.reaches(penstock.StateSucceeded)
	if diff := cmp.Diff(want, j.events()); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	for _, text := range silent[s.name] {
		s.cannot(t, "transcript", text)
	}
}

// events are the run's events that describe its work, each in a line. Results of running actions,
// which later ones replace, are left out, and so are times and the agent's own descriptions.
func (j *job) events() []string {
	j.t.Helper()
	r, err := http.NewRequestWithContext(
		j.t.Context(), http.MethodGet, j.suite.server.URL+"/api/v1/agent/runs/"+j.id+"/events", nil,
	)
	if err != nil {
		j.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+j.suite.server.Key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		j.t.Fatal(err)
	}
	defer res.Body.Close()
	var lines []string
	kind, body := penstock.EventType(""), bufio.NewReader(res.Body)
	for {
		line, err := body.ReadString('\n')
		if err == io.EOF {
			return lines
		}
		if err != nil {
			j.t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			kind = penstock.EventType(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			lines = append(lines, eventLines(j.t, kind, []byte(data))...)
		}
	}
}

// eventLines are the lines of an event.
func eventLines(t *testing.T, kind penstock.EventType, data []byte) (lines []string) {
	t.Helper()
	read := func(into any) {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("the event %s: %v", kind, err)
		}
	}
	switch kind {
	case penstock.EventState, penstock.EventTimeline, penstock.EventUsage, penstock.EventMessageDelta, "done":
		return nil
	case penstock.EventMessage:
		var m penstock.Message
		read(&m)
		for _, b := range m.Content {
			lines = append(lines, strings.TrimSpace(m.Role+" "+b.Name+b.Text+string(b.Data)))
		}
		return lines
	case penstock.EventAction, penstock.EventActionResult:
		var b penstock.Block
		read(&b)
		switch {
		case kind == penstock.EventAction:
			return []string{b.Name + " " + plain(t, b.Input)}
		case b.State != penstock.ActionRunning:
			return []string{b.State + " " + plain(t, b.Output)}
		}
		return nil
	case penstock.EventPlan:
		var plan penstock.PlanData
		read(&plan)
		var entries []string
		for _, e := range plan.Entries {
			entries = append(entries, fmt.Sprintf("%s: %s", e.Content, e.Status))
		}
		return []string{"plan " + strings.Join(entries, ", ")}
	}
	return []string{string(kind) + " " + string(data)}
}

// plain is an input or output without times and descriptions, and without line feeds at the end of
// texts, which some agents cut.
func plain(t *testing.T, data json.RawMessage) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"description", "duration_ms"} {
		delete(fields, name)
	}
	trim(fields)
	if files, ok := fields["files"].([]any); ok {
		slices.SortFunc(files, func(a, b any) int { return strings.Compare(encoded(a), encoded(b)) })
		for _, f := range files {
			if file, ok := f.(map[string]any); ok {
				trim(file)
			}
		}
	}
	return encoded(fields)
}

func trim(fields map[string]any) {
	for name, value := range fields {
		if text, ok := value.(string); ok && name != "command" {
			fields[name] = strings.TrimRight(text, "\n")
		}
	}
}

// mcpScript is an MCP server with the tool create, in Bash, since that is in every sandbox.
const mcpScript = `while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+|\"[^\"]*\") ]] || continue
  id=${BASH_REMATCH[1]}
  [[ $line =~ \"protocolVersion\":(\"[^\"]*\") ]] && version=${BASH_REMATCH[1]}
  case $line in
  *'"method":"initialize"'*)
    result='{"protocolVersion":'$version',"capabilities":{"tools":{}},"serverInfo":{"name":"tracker","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    schema='{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}'
    result='{"tools":[{"name":"create","description":"Creates a ticket","inputSchema":'$schema'}]}' ;;
  *'"method":"tools/call"'*)
    [[ $line =~ \"title\":\"([^\"]*)\" ]]
    result='{"content":[{"type":"text","text":"created '${BASH_REMATCH[1]}'"}]}' ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done`
