package harness

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/acp"
)

// The categories of actions.
const (
	categoryCommand     = "command"
	categoryFiles       = "files"
	categorySearch      = "search"
	categoryIntegration = "integration"
	categoryDocuments   = "documents"
	categoryReview      = "review"
	categorySkill       = "skill"
)

// The names of actions.
const (
	actionCommand  = "run_command"
	actionRead     = "read_files"
	actionEdit     = "edit_files"
	actionSearch   = "search_files"
	actionSkill    = "read_skill"
	actionArtifact = "create_artifact"
	actionAsk      = "ask_user"
	actionPlan     = "update_plan"
	actionMCP      = "call_mcp_tool"
	actionFetch    = "fetch_url"
	actionMode     = "switch_mode"
	actionThink    = "think"
	actionTool     = "call_tool"
)

var categories = map[string]string{
	actionCommand: categoryCommand, actionRead: categoryFiles, actionEdit: categoryFiles, actionSearch: categorySearch,
	actionSkill: categorySkill, actionArtifact: categoryDocuments, actionAsk: categoryReview,
	actionPlan: categoryDocuments,
	actionMCP:  categoryIntegration, actionFetch: categoryIntegration, actionMode: categoryReview,
	actionThink: categoryReview,
	actionTool:  categoryIntegration,
}

// names of actions by the protocol's kind of tool, for agents that do not say
// which tool of the contract theirs is.
var kinds = map[acp.ToolKind]string{
	acp.ToolRead: actionRead, acp.ToolEdit: actionEdit, acp.ToolDelete: actionEdit, acp.ToolMove: actionEdit,
	acp.ToolSearch: actionSearch, acp.ToolExecute: actionCommand, acp.ToolFetch: actionFetch,
	acp.ToolSwitchMode: actionMode, acp.ToolThink: actionThink,
}

// classify names an action by what the built-in agent says it is, else by the
// protocol's kind of tool.
func classify(call acp.ToolCall) (category, name string) {
	var said string
	if call.Meta.Read(acp.MetaTool, &said) && categories[said] != "" {
		return categories[said], said
	}
	if _, _, ok := mcpTool(call); ok {
		return categoryIntegration, actionMCP
	}
	name = kinds[call.Kind]
	if name == "" {
		name = actionTool
	}
	return categories[name], name
}

// mcpTool reads the name under which agents know a tool of an MCP server:
// mcp__server__tool.
func mcpTool(call acp.ToolCall) (server, tool string, ok bool) {
	for _, name := range []string{call.Name, call.Title} {
		if rest, found := strings.CutPrefix(name, "mcp__"); found {
			if server, tool, ok = strings.Cut(rest, "__"); ok {
				return server, tool, true
			}
		}
	}
	return "", "", false
}

var pathFields = []string{"path", "file_path", "filePath", "abs_path", "absolute_path", "filename", "file"}

// input is the public form of what an action was given: fields that are known
// and mean the same for every harness, never a harness's own parameters.
func (s *actions) input(a *action) map[string]any {
	given := readRaw(a.call.RawInput)
	in := fields{}
	switch a.name {
	case actionCommand:
		in.text("command", given.text("command", "cmd"), a.call.Title)
		in.text("cwd", s.relative(given.text("cwd", "workdir", "directory")))
	case actionRead, actionEdit:
		in.list("paths", s.paths(a.call, given))
	case actionSearch:
		in.text("query", given.text("query", "pattern", "regex"))
		in.text("glob", given.text("glob"))
		in.list("paths", s.paths(a.call, given))
	case actionSkill:
		at := s.relative(given.text("skill_path", "path"))
		if read := s.paths(a.call, given); at == "" && len(read) == 1 {
			at = read[0]
		}
		skill, _ := s.session.skillAt(at)
		in.text("name", given.text("name", "skill"), skill.Name)
		in.text("skill_path", at)
		in.text("bundled_skill_id", s.session.bundledID(at))
	case actionArtifact:
		in.text("artifact_type", given.text("artifact_type", "type"))
		in.text("path", s.relative(given.text(pathFields...)))
		in.text("title", given.text("title"))
		in.text("url", given.text("url"))
	case actionAsk:
		in.text("question", given.text("question"), a.call.Title)
	case actionMCP:
		server, tool, _ := mcpTool(a.call)
		in.text("server", given.text("server"), server)
		in.text("tool", given.text("tool"), tool, a.call.Title)
		if arguments := readRaw(given["arguments"]); arguments != nil {
			in["arguments"] = arguments
		}
	case actionFetch:
		in.text("url", given.text("url", "uri"), a.call.Title)
	}
	in.text("description", given.text("description"))
	if len(in) == 0 {
		in.text("title", a.call.Title, a.call.Name)
	}
	return in
}

// output is the public form of what came of an action so far.
func (s *actions) output(a *action, state string) map[string]any {
	out := fields{}
	var text []string
	var files []map[string]any
	for _, c := range a.call.Content {
		switch {
		case c.Content != nil:
			text = append(text, contentText(*c.Content))
		case c.Type == "diff":
			files = append(files, s.diff(c))
		}
	}
	result := readRaw(a.call.RawOutput)
	shown := strings.Join(text, "\n")
	if printed := result.text("output", "stdout"); a.name == actionCommand && printed != "" {
		shown = printed // and no more than that
	}
	if shown == "" && len(files) == 0 {
		shown = result.text("output", "stdout", "text", "content", "result")
		var whole string
		if shown == "" && json.Unmarshal(a.call.RawOutput, &whole) == nil {
			shown = whole
		}
	}
	if over := len(shown) - runningBytes; state == penstock.ActionRunning && over > 0 {
		shown = strings.ToValidUTF8(shown[over:], "")
		out["cut"] = true
	}
	out.text("output", shown)
	if len(files) > 0 {
		out["files"] = files
	}
	for _, name := range facts[a.name] {
		if value, ok := result.scalar(name); ok {
			out[name] = value
		}
	}
	return out
}

// facts are what is said about the outcome of actions beside their output.
var facts = map[string][]string{
	actionCommand:  {"exit_code", "timed_out", "duration_ms"},
	actionSearch:   {"matches", "more"},
	actionArtifact: {"artifact_uid"},
}

func (s *actions) diff(c acp.ToolCallContent) map[string]any {
	file := fields{}
	file.text("path", s.relative(c.Path))
	if c.OldText != nil {
		file["old_text"] = *c.OldText
	} else {
		file["new_file"] = true
	}
	if c.NewText != nil {
		file["new_text"] = *c.NewText
	}
	return file
}

// paths are the files that an action is about.
func (s *actions) paths(call acp.ToolCall, given raw) []string {
	var list []string
	for _, l := range call.Locations {
		list = append(list, l.Path)
	}
	if len(list) == 0 {
		list = given.list("paths", "files", "edits")
	}
	if one := given.text(pathFields...); len(list) == 0 && one != "" {
		list = []string{one}
	}
	for i := range list {
		list[i] = s.relative(list[i])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// readsSkill reports whether a file that is read is the SKILL.md of a skill that
// the agent was given: so do agents that have no tool of their own for it.
func (s *actions) readsSkill(call acp.ToolCall) bool {
	read := s.paths(call, readRaw(call.RawInput))
	if len(read) != 1 {
		return false
	}
	_, ok := s.session.skillAt(read[0])
	return ok
}

// relative is a path within the workspace as seen from there.
func (s *actions) relative(name string) string {
	name = strings.TrimPrefix(name, "file://")
	if rest, within := strings.CutPrefix(name, s.session.Dir+"/"); within && s.session.Dir != "" {
		return path.Clean(rest)
	}
	return name
}

// fields is a public form that is being filled.
type fields map[string]any

// text sets a field to the first value that is not empty.
func (f fields) text(name string, values ...string) {
	for _, v := range values {
		if v != "" {
			f[name] = v
			return
		}
	}
}

func (f fields) list(name string, values []string) {
	if len(values) > 0 {
		f[name] = values
	}
}

// contentText is a content block in words.
func contentText(c acp.ContentBlock) string {
	switch {
	case c.Type == "text":
		return c.Text
	case c.Type == "resource_link":
		return strings.TrimSpace(c.Name + " " + c.URI)
	case c.Resource != nil && c.Resource.Text != "":
		return c.Resource.Text
	}
	return "[" + strings.TrimSpace(c.Type+" "+c.MimeType) + "]"
}

// joinWords writes a command's words so that a person can read it.
func joinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " \t\n'\"\\$`") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
