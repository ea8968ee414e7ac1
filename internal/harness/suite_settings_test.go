package harness_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/trial"
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
// come with the run are there. Its MCP servers are in the transcript of point 2.
func testSettings(t *testing.T, s *suite) {
	attachment := func(name, mime, content string) map[string]any {
		return map[string]any{
			"file_name": name, "mime_type": mime, "data": base64.StdEncoding.EncodeToString([]byte(content)),
		}
	}
	const shows = "find . -name given.txt -exec cat {} +; find . -name SKILL.md -exec grep -h '^name:' {} +"
	model := &trial.Model{Turns: []trial.Turn{s.command(shows), {Text: "This is the plan."}, {Text: "It is done."}}}
	j := s.start(t, model, map[string]any{
		"prompt": "Count the ships.", "mode": penstock.ModePlan,
		"attachments": []any{attachment("given.txt", "text/plain", "three ships"), attachment("dot.png", "image/png", dot)},
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
	if !slices.ContainsFunc(model.Calls(), func(call trial.ModelCall) bool {
		asked := string(call.Body)
		return strings.Contains(asked, "Do it.") && strings.Contains(asked, "You work in the harbour.")
	}) {
		t.Error("the follow-up lost the base prompt")
	}
}

// dot is a PNG of one pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82"

// modelText is all that the model was sent, without escapes of slashes.
func modelText(model *trial.Model) string {
	var text strings.Builder
	for _, call := range model.Calls() {
		text.Write(call.Body)
		text.WriteString("\n")
	}
	return strings.ReplaceAll(text.String(), `\/`, "/")
}
