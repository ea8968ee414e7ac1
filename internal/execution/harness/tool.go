package harness

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// mcpTitle is how Gemini CLI and Qwen Code show a tool of an MCP server.
var mcpTitle = penstock.LazyRegexp(`^(\S+) \((\S+) MCP Server\)`)

// mcpTool reads the name that agents give to a tool of an MCP server: mcp__server__tool, or
// server_tool if the session has this server.
func (s *Session) mcpTool(call acp.ToolCall) (server, tool string, ok bool) {
	var named string
	call.Meta.Read("toolName", &named)
	var codex bool
	if call.Meta.Read("is_mcp_tool_call", &codex); codex {
		given := readRaw(call.RawInput)
		return given.text("server"), given.text("tool"), true
	}
	for _, name := range []string{call.Name, named, call.Title} {
		if rest, found := strings.CutPrefix(name, "mcp__"); found {
			if server, tool, ok = strings.Cut(rest, "__"); ok {
				return server, tool, true
			}
		}
		if found := mcpTitle().FindStringSubmatch(name); found != nil {
			return found[2], found[1], true
		}
		for _, server := range slices.Sorted(maps.Keys(s.MCPServers)) {
			if tool, ok := strings.CutPrefix(name, server+"_"); ok {
				return server, tool, true
			}
		}
	}
	return "", "", false
}

// mcpArguments returns the arguments of an MCP tool: those in the field arguments, all parameters,
// or the text that Gemini CLI shows while the tool runs.
func mcpArguments(call acp.ToolCall, given raw) raw {
	if arguments := readRaw(given["arguments"]); arguments != nil {
		return arguments
	}
	if len(given) > 0 && given.text("server") == "" && given.text("tool") == "" {
		return given
	}
	if len(given) == 0 && len(call.Content) == 1 && call.Content[0].Content != nil {
		return readRaw(json.RawMessage(call.Content[0].Content.Text))
	}
	return nil
}

// mcpText returns the text of the result that an MCP server returned, for an agent that passes it on
// unchanged.
func mcpText(result raw) string {
	var returned struct {
		Content []acp.ContentBlock `json:"content"`
	}
	if json.Unmarshal(result["result"], &returned) != nil {
		return ""
	}
	var texts []string
	for _, c := range returned.Content {
		texts = append(texts, contentText(c))
	}
	return strings.Join(texts, "\n")
}

// planOf returns the plan of a call that writes a list of things to do, for agents that do not
// report it as a plan.
func planOf(call acp.ToolCall) (plan acp.Plan, ok bool) {
	if call.Kind != acp.ToolOther && call.Kind != acp.ToolThink {
		return plan, false
	}
	var list struct {
		Entries []acp.PlanEntry `json:"todos"`
	}
	if json.Unmarshal(call.RawInput, &list) != nil || len(list.Entries) == 0 {
		return plan, false
	}
	for _, e := range list.Entries {
		if e.Content == "" || e.Status == "" {
			return plan, false
		}
	}
	plan.Entries = list.Entries
	return plan, true
}

// written returns the new text of a file, for a call that has it as a parameter and reports no
// difference.
func (s *actions) written(call acp.ToolCall) []map[string]any {
	given := readRaw(call.RawInput)
	var text *string
	name := given.text(pathFields...)
	if json.Unmarshal(given["content"], &text) != nil || text == nil || name == "" {
		return nil
	}
	var existed bool
	_ = json.Unmarshal(readRaw(readRaw(call.RawOutput)["metadata"])["exists"], &existed)
	file := s.diff(acp.ToolCallContent{Path: name, NewText: text})
	if existed {
		delete(file, "new_file")
	}
	return []map[string]any{file}
}

// cutExitCode removes the line "Exit code N" from the beginning of an output.
func cutExitCode(text string) (code int, rest string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	number, found := strings.CutPrefix(first, "Exit code ")
	code, err := strconv.Atoi(number)
	return code, rest, found && err == nil
}

// unnumber removes the line numbers of a text in which every line has one, followed by a
// tab.
func unnumber(text string) string {
	var plain strings.Builder
	for line := range strings.Lines(text) {
		number, rest, found := strings.Cut(line, "\t")
		if _, err := strconv.Atoi(strings.TrimSpace(number)); !found || err != nil {
			return text
		}
		plain.WriteString(rest)
	}
	return plain.String()
}

// quoted returns the first text in quotes of a title, for agents that show the query of a search
// only there.
func quoted(title string) string {
	_, rest, _ := strings.Cut(title, "'")
	text, _, found := strings.Cut(rest, "'")
	if !found {
		return ""
	}
	return text
}
