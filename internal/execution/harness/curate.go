package harness

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
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

// kinds maps the protocol's kinds of tools to names of actions, for agents that do not name a tool
// of the contract.
var kinds = map[acp.ToolKind]string{
	acp.ToolRead: actionRead, acp.ToolEdit: actionEdit, acp.ToolDelete: actionEdit, acp.ToolMove: actionEdit,
	acp.ToolSearch: actionSearch, acp.ToolExecute: actionCommand, acp.ToolFetch: actionFetch,
	acp.ToolSwitchMode: actionMode, acp.ToolThink: actionThink,
}

// classify returns the name of an action: from the built-in agent, or otherwise from the protocol's
// kind of tool.
func (s *Session) classify(call acp.ToolCall) (category, name string) {
	var said string
	if call.Meta.Read(acp.MetaTool, &said) && categories[said] != "" {
		return categories[said], said
	}
	if questions(call.RawInput) != "" {
		return categories[actionAsk], actionAsk
	}
	if _, ok := s.skillOf(call); ok {
		return categorySkill, actionSkill
	}
	if _, _, ok := s.mcpTool(call); ok {
		return categoryIntegration, actionMCP
	}
	name = kinds[call.Kind]
	name = cmp.Or(name, actionTool)
	return categories[name], name
}

var commandFields = []string{"command", "cmd"}

var pathFields = []string{"path", "file_path", "filePath", "abs_path", "absolute_path", "filename", "file"}

// input returns the public form of an action's input. It has only fields with the same meaning for
// every harness, never a harness's own parameters.
func (s *actions) input(a *action) map[string]any {
	given := readRaw(a.call.RawInput)
	in := fields{}
	switch a.name {
	case actionCommand:
		in.text("command", given.text(commandFields...), a.call.Title)
		if cwd := s.relative(given.text("cwd", "workdir", "directory")); cwd != "." {
			in.text("cwd", cwd)
		}
	case actionRead, actionEdit:
		in.list("paths", s.paths(a.call, given))
	case actionSearch:
		in.text("query", given.text("query", "pattern", "regex"), quoted(a.call.Title))
		in.text("glob", given.text("glob"))
		in.list("paths", s.paths(a.call, given))
	case actionSkill:
		at := s.relative(given.text("skill_path", "path"))
		if read := s.paths(a.call, given); at == "" && len(read) == 1 {
			at = read[0]
		}
		skill, ok := s.session.skillAt(at)
		if !ok {
			skill, ok = s.session.skillOf(a.call)
		}
		if ok {
			at = skill.Path
		}
		in.text("name", given.text("name", "skill"), skill.Name)
		in.text("skill_path", at)
		in.text("bundled_skill_id", s.session.bundledID(at))
	case actionArtifact:
		in.text("artifact_type", given.text("artifact_type", "type"))
		in.text("path", s.relative(given.text(pathFields...)))
		in.text("title", given.text("title"))
		in.text("url", given.text("url"))
	case actionAsk:
		in.text("question", questions(a.call.RawInput), given.text("question"), a.call.Title)
	case actionMCP:
		server, tool, _ := s.session.mcpTool(a.call)
		in.text("server", given.text("server"), server)
		in.text("tool", given.text("tool"), tool, a.call.Title)
		if arguments := mcpArguments(a.call, given); arguments != nil {
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

// text returns the text of a result: what a program printed, if that is known, else the text for
// people. Without either, alone says that the raw result is all there is.
func (a *action) text(text string, result raw, alone bool) string {
	switch printed := a.printedText(result); {
	case printed != "":
		return printed
	case text != "" && questions(a.call.RawInput) == "": // else it repeats them
		return text
	}
	if a.name == actionMCP {
		if text := mcpText(result); text != "" {
			return text
		}
	}
	if !alone {
		return ""
	}
	if text := result.text("output", "stdout", "text", "content", "result"); text != "" {
		return text
	}
	return plainOutput(a.call)
}

// printedText returns what a program printed, without the decoration for people.
func (a *action) printedText(result raw) string {
	if a.printed.Len() > 0 {
		return a.printed.String()
	}
	if a.name != actionCommand {
		return ""
	}
	return cmp.Or(result.text("output", "stdout"), plainOutput(a.call))
}

// plainOutput returns a raw result that is only a text.
func plainOutput(call acp.ToolCall) string {
	var whole string
	if json.Unmarshal(call.RawOutput, &whole) != nil {
		return ""
	}
	return whole
}

// output returns the public form of an action's result so far.
func (s *actions) output(a *action, state string) map[string]any {
	out := fields{}
	var text []string
	about := readRaw(a.call.RawInput).text("description")
	var files []map[string]any
	for _, c := range a.call.Content {
		switch {
		case c.Content != nil && a.name == actionCommand && echoes(contentText(*c.Content), about):
		case c.Content != nil:
			text = append(text, unfence(contentText(*c.Content)))
		case c.Type == "diff":
			files = append(files, s.diff(c))
		}
	}
	result := readRaw(a.call.RawOutput)
	shown := a.text(strings.Join(text, "\n"), result, len(files) == 0)
	if a.name == actionEdit && state == penstock.ActionCompleted {
		if len(files) == 0 {
			files = s.written(a.call)
		}
		if len(files) > 0 {
			shown = "" // it only says that this is done
		}
	}
	if code, rest, ok := cutExitCode(shown); ok && a.name == actionCommand && state == penstock.ActionFailed {
		shown, out["exit_code"] = rest, code
	}
	if over := len(shown) - runningBytes; state == penstock.ActionRunning && over > 0 {
		shown = strings.ToValidUTF8(shown[over:], "")
		out["cut"] = true
	}
	if a.name == actionRead && s.numbers {
		shown = unnumber(shown)
	}
	out.text("output", shown)
	if len(files) > 0 {
		out["files"] = files
	}
	if a.name == actionCommand {
		if code, ok := exitCode(a.call, result); ok {
			out["exit_code"] = code
		}
	}
	for _, name := range facts[a.name] {
		if value, ok := result.scalar(name); ok {
			out[name] = value
		}
	}
	return out
}

// echoes reports whether a text is not the output of a command, but what an agent shows in
// its place while the command runs.
func echoes(text, description string) bool {
	return description != "" && text == description || strings.HasPrefix(text, "[current working directory ")
}

// unfence removes a Markdown fence around a whole output.
func unfence(text string) string {
	trimmed := strings.TrimSpace(text)
	ticks := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
	first, rest, _ := strings.Cut(trimmed, "\n")
	if ticks < 3 || strings.ContainsAny(first[ticks:], " `") {
		return text
	}
	inner, found := strings.CutSuffix(rest, first[:ticks])
	if !found || inner != "" && !strings.HasSuffix(inner, "\n") || strings.Contains(inner, "\n"+first[:ticks]) {
		return text
	}
	return strings.TrimSuffix(inner, "\n")
}

// exitCode returns the exit code of a command if an agent reports it in its own form.
func exitCode(call acp.ToolCall, result raw) (code any, ok bool) {
	var exit struct {
		Code *int `json:"exit_code"`
	}
	if call.Meta.Read(metaTerminalExit, &exit) && exit.Code != nil {
		return *exit.Code, true
	}
	return readRaw(result["metadata"]).scalar("exit")
}

// facts lists result fields of actions besides their output.
var facts = map[string][]string{
	actionCommand:  {"exit_code", "timed_out", "duration_ms"},
	actionSearch:   {"matches", "more"},
	actionArtifact: {"artifact_uid"},
}

func (s *actions) diff(c acp.ToolCallContent) map[string]any {
	file := fields{}
	file.text("path", s.relative(c.Path))
	if c.OldText != nil && *c.OldText != "" { // some agents give an empty text for a new file
		file["old_text"] = *c.OldText
	} else {
		file["new_file"] = true
	}
	if c.NewText != nil {
		file["new_text"] = *c.NewText
	}
	return file
}

// paths returns the files of an action.
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
	if len(list) == 0 {
		for _, c := range call.Content {
			if c.Type == "diff" {
				list = append(list, c.Path)
			}
		}
	}
	for i := range list {
		list[i] = s.relative(list[i])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// readsSkill reports whether a call reads the SKILL.md of one of the agent's skills. Agents without
// a tool for skills do this.
func (s *actions) readsSkill(call acp.ToolCall) bool {
	read := s.paths(call, readRaw(call.RawInput))
	if len(read) != 1 {
		return false
	}
	_, ok := s.session.skillAt(read[0])
	return ok
}

// relative returns a path in the workspace, relative to it.
func (s *actions) relative(name string) string {
	name = strings.TrimPrefix(name, "file://")
	if name != "" && path.Clean(name) == s.session.Dir {
		return "."
	}
	if rest, within := strings.CutPrefix(name, s.session.Dir+"/"); within && s.session.Dir != "" {
		return path.Clean(rest)
	}
	return name
}

// fields builds a public form.
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

// contentText returns a content block as text.
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
