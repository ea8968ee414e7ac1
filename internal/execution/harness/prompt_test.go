package harness_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
)

func TestBriefing(t *testing.T) {
	t.Parallel()
	skill := harness.Skill{
		Name: "release", Description: "Makes a release.", Path: ".penstock/skills/release/SKILL.md", Text: "Tag, then push.",
	}
	history := []penstock.Step{{Messages: []penstock.Message{
		{Role: penstock.RoleUser, Content: []penstock.Block{penstock.Text("Fix it")}},
		{
			Role:    penstock.RoleAssistant,
			Content: []penstock.Block{{Type: penstock.BlockAction, Name: "run_command", Input: []byte(`{"command":"make"}`)}},
		},
		{
			Role:    penstock.RoleTool,
			Content: []penstock.Block{{Type: penstock.BlockActionResult, Output: []byte(`{"output":"x"}`)}},
		},
		{Role: penstock.RoleAssistant, Content: []penstock.Block{penstock.Text("Fixed.")}},
	}}}
	for name, test := range map[string]struct {
		briefing harness.Briefing
		want     string
	}{
		"a prompt alone": {harness.Briefing{Prompt: penstock.Prompt{Text: "Go"}, First: true}, "Go"},
		"what goes with the first prompt": {
			harness.Briefing{
				Prompt: penstock.Prompt{Text: "Go"}, First: true, Base: "Be brief.", Skills: []harness.Skill{skill},
				Files: []penstock.File{{Path: "event-payload.json"}, {Path: ".penstock/attachments/a.png"}},
				Repos: []string{"app", "lib"}, History: history,
			},
			"Be brief.\n\nRepositories in the workspace: app, lib\nFiles attached to the task: event-payload.json, " +
				".penstock/attachments/a.png\n" +
				"Skill release (.penstock/skills/release/SKILL.md): Makes a release.\n\nThe conversation so far:\n\n" +
				"<conversation>\nuser: Fix it\n\n" +
				"assistant did: run_command {\"command\":\"make\"}\n\nassistant: Fixed.\n</conversation>\n\nGo",
		},
		"nothing of it goes with a later one": {
			harness.Briefing{
				Prompt: penstock.Prompt{Text: "Go"}, Base: "Be brief.", Skills: []harness.Skill{skill}, Use: []harness.Skill{skill},
				History: history,
			},
			"Go",
		},
		"a run from a skill alone": {
			harness.Briefing{First: true, Use: []harness.Skill{skill}},
			"Use the skill release (.penstock/skills/release/SKILL.md):\n\nTag, then push.",
		},
		"something is not available": {
			harness.Briefing{Prompt: penstock.Prompt{Text: "Go"}, Notices: []string{"The MCP server a is not available."}},
			"The MCP server a is not available.\n\nGo",
		},
		"nothing is said": {harness.Briefing{}, "Go on."},
		"a prompt given before": {
			harness.Briefing{Prompt: penstock.Prompt{Text: "Go", Redelivered: true}},
			"The work was interrupted, and you may have received the following message before. Check what is already " +
				"done, and continue from there.\n\nGo",
		},
		"plan first": {
			harness.Briefing{Prompt: penstock.Prompt{Text: "Go", Mode: penstock.ModePlan}},
			"Plan first. Look at the workspace, write down the steps that you intend, and ask for approval. Change " +
				"nothing until the plan is approved.\n\nGo",
		},
		"orchestrate": {
			harness.Briefing{Prompt: penstock.Prompt{Text: "Go", Mode: penstock.ModeOrchestrate}},
			"You coordinate the work. Split it into independent parts, write down a plan that assigns each part, " +
				"and ask for approval before the work starts.\n\nGo",
		},
		"the normal mode": {harness.Briefing{Prompt: penstock.Prompt{Text: "Go", Mode: penstock.ModeNormal}}, "Go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.briefing.Text()); diff != "" {
				t.Errorf("prompt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongConversationKeepsItsEnd(t *testing.T) {
	t.Parallel()
	step := penstock.Step{
		Messages: []penstock.Message{
			{Role: penstock.RoleUser, Content: []penstock.Block{penstock.Text(strings.Repeat("é", 100_000) + " the end")}},
		},
	}
	text := harness.Briefing{First: true, History: []penstock.Step{step}}.Text()
	if len(text) > 110<<10 || !strings.Contains(text, "bytes)") || !strings.Contains(text, " the end\n</conversation>") {
		t.Errorf("got %d bytes: %.80q", len(text), text)
	}
}
