package harness_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
)

// thinking is how each agent passes the reasoning level "high" on to its model. The others have no
// such setting.
var thinking = map[string]string{
	"claude":   `"effort":"high"`,
	"codex":    `"effort":"high"`,
	"qwen":     `"reasoning_effort":"high"`,
	"opencode": `"reasoning_effort":"high"`,
}

// testSettings is point 3: what the settings of a run ask for reaches the model, and the files that
// come with the run are there.
func testSettings(t *testing.T, s *suite) {
	t.Run("all at once", func(t *testing.T) { testAllSettings(t, s) })
	t.Run("a skill", func(t *testing.T) { testSkill(t, s) })
	t.Run("MCP servers over stdio", func(t *testing.T) { testStdioMCP(t, s) })
	t.Run("an MCP server over HTTP", func(t *testing.T) { testRemoteMCP(t, s) })
	t.Run("broken MCP servers over HTTP", func(t *testing.T) { testBrokenRemoteMCP(t, s) })
	t.Run("a question", func(t *testing.T) { testQuestion(t, s) })
}

func testAllSettings(t *testing.T, s *suite) {
	attachment := func(name, mime, content string) map[string]any {
		return map[string]any{
			"file_name": name, "mime_type": mime, "data": base64.StdEncoding.EncodeToString([]byte(content)),
		}
	}
	const shows = "find . -name given.txt -exec cat {} +; find . -name SKILL.md -exec grep -h '^name:' {} +"
	model := &harness.ScriptedModel{Turns: []harness.ScriptedTurn{
		s.command(shows), {Text: "This is the plan."}, {Text: "It is done."},
	}}
	j := s.start(t, model, map[string]any{
		"prompt": "Count the ships.", "mode": penstock.ModePlan,
		"attachments": []any{
			attachment("given.txt", "text/plain", "three ships"), attachment("dot.png", "image/png", picture(t)),
		},
		"config": map[string]any{
			"base_prompt": "You work in the harbour.", "skills": []string{"factory-files"},
			"harness": map[string]any{"reasoning_level": "high"},
		},
	})
	j.reaches(penstock.StateSucceeded)
	lines := strings.Join(j.lines(), "\n")
	for _, want := range []string{"three ships", "name: factory-files"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is not in the workspace of the agent:\n%s", want, lines)
		}
	}
	run := j.get()
	asked := modelText(model)
	wanted := []string{
		"Count the ships.", "You work in the harbour.", "Change nothing until the plan is approved.", "given.txt", "dot.png",
		"factory-files", `/SKILL.md`,
	}
	if level := thinking[s.name]; level != "" {
		wanted = append(wanted, level)
	} else {
		s.cannot(t, "settings", "it has no setting for `reasoning_level`")
	}
	if s.name != penstock.HarnessBuiltin {
		wanted = append(wanted, pngBegin)
	} else {
		s.cannot(t, "settings", "it has pictures as files, and does not show them to the model")
	}
	for _, want := range wanted {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
	for _, call := range model.Calls() {
		if "scripted/"+call.Model != run.Config.Harness.ModelID {
			t.Errorf("the model %s was asked, and the run names %s", call.Model, run.Config.Harness.ModelID)
		}
	}

	// The session of the follow-up has the base prompt.
	j.followUp("Do it.")
	j.reaches(penstock.StateSucceeded)
	if !slices.ContainsFunc(model.Calls(), func(call harness.ModelCall) bool {
		asked := string(call.Body)
		return strings.Contains(asked, "Do it.") && strings.Contains(asked, "You work in the harbour.")
	}) {
		t.Error("the follow-up lost the base prompt")
	}
}

// picture returns a PNG.
func picture(t *testing.T) string {
	t.Helper()
	canvas := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range canvas.Pix {
		canvas.Pix[i] = byte(i*7) | 3
	}
	var content bytes.Buffer
	if err := png.Encode(&content, canvas); err != nil {
		t.Fatal(err)
	}
	return content.String()
}

// pngBegin is how each PNG begins in base64. Some agents encode a picture anew.
const pngBegin = "iVBORw0KGgo"

// modelText is all that the model was sent, without escapes of slashes.
func modelText(model *harness.ScriptedModel) string {
	var text strings.Builder
	for _, call := range model.Calls() {
		text.Write(call.Body)
		text.WriteString("\n")
	}
	return strings.ReplaceAll(text.String(), `\/`, "/")
}

// skillTurns are how the model of each agent uses a skill. The others have no tool for that. Codex
// names the file of each skill to its model.
var skillTurns = map[string]harness.ScriptedTurn{
	"builtin": tool("read_skill", given{"skill": "factory-files"}),
	"claude":  tool("Skill", given{"skill": "factory-files"}),
	"gemini":  tool("activate_skill", given{"name": "factory-files"}),
	"qwen":    tool("skill", given{"skill": "factory-files"}),
}

// testSkill uses a skill with the agent's own tool for skills.
func testSkill(t *testing.T, s *suite) {
	turn, ok := skillTurns[s.name]
	if !ok {
		turn = s.command(`cat "$HOME/.codex/skills/factory-files/SKILL.md" .penstock/skills/factory-files/SKILL.md`)
	}
	model := &harness.ScriptedModel{Turns: []harness.ScriptedTurn{turn, {Text: "It is read."}}}
	j := s.start(t, model, map[string]any{
		"prompt": "Read the skill.", "config": map[string]any{"skills": []string{"factory-files"}},
	})
	j.reaches(penstock.StateSucceeded)
	asked := modelText(model)
	if !strings.Contains(asked, "A factory is a standing team of agents, ") {
		t.Errorf("the model did not get the skill:\n%s", strings.Join(j.events(), "\n"))
	}
	switch {
	case ok:
		want := `read_skill {"bundled_skill_id":"factory-files","name":"factory-files",` +
			`"skill_path":".penstock/skills/factory-files/SKILL.md"}`
		if events := j.events(); !slices.Contains(events, want) {
			t.Errorf("the events do not have %s:\n%s", want, strings.Join(events, "\n"))
		}
	case s.name == "opencode":
		s.cannot(t, "settings", "its tool for skills needs ripgrep, so the model reads the files of skills")
	case s.name == "codex" && !strings.Contains(asked, ".codex/skills/factory-files/SKILL.md"):
		t.Error("the agent does not offer the skill")
	}
}

// askTurns are how the model of each agent asks the user.
var askTurns = map[string]harness.ScriptedTurn{
	"builtin":   tool("ask_user", given{"question": "Which branch?"}),
	"reference": tool("ask", given{"question": "Which branch?"}),
	"claude":    tool("AskUserQuestion", given{"questions": branches}),
	"codex":     tool("request_user_input", given{"questions": branches}),
	"qwen":      tool("ask_user_question", given{"questions": branches}),
}

var branches = []given{{
	"id": "branch", "header": "Branch", "question": "Which branch?", "multiSelect": false, "options": []given{
		{"label": "main", "description": "The stable one"}, {"label": "next", "description": "The new one"},
	},
}}

// mute is why the other agents cannot ask.
var mute = map[string]string{
	"gemini":   "it has no tool for questions while it speaks ACP",
	"opencode": "its tool for questions is not part of ACP",
}

// testQuestion lets the agent ask the user. The run waits for the answer, which continues it.
func testQuestion(t *testing.T, s *suite) {
	turn, ok := askTurns[s.name]
	if !ok {
		s.cannot(t, "settings", mute[s.name])
		return
	}
	then := harness.ScriptedTurn{Text: "Then it is main."}
	model := &harness.ScriptedModel{Turns: []harness.ScriptedTurn{turn, then, then}} // some agents add a turn of their own
	j := s.start(t, model, map[string]any{"prompt": "Ask me."})
	j.reaches(penstock.StateBlocked)
	if m := j.get().StatusMessage; m == nil || !strings.Contains(m.Message, "Which branch?") || m.ErrorCode != "" {
		t.Errorf("the run is blocked by %+v", m)
	}
	j.followUp("Use main.")
	j.reaches(penstock.StateSucceeded)
	lines := j.lines()
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "ask_user: ") && strings.Contains(line, "Which branch?")
	}) || lines[len(lines)-1] != "assistant: Then it is main." {
		t.Errorf("the conversation is\n%s", strings.Join(lines, "\n"))
	}
	if !slices.ContainsFunc(model.Calls(), func(call harness.ModelCall) bool { // some agents make calls of their own
		asked := string(call.Body)
		return strings.Contains(asked, "Ask me.") && strings.Contains(asked, "Which branch?") &&
			strings.Contains(asked, "Use main.")
	}) {
		t.Error("the model did not get the answer in its session")
	}
}
