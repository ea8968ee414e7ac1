package harness

import (
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Briefing is the content of one prompt to the agent.
type Briefing struct {
	Prompt  penstock.Prompt
	Notices []string // about the run, such as what is not available
	// The fields below are only for the first prompt of a session.
	First   bool
	Base    string          // the configuration's base_prompt
	Use     []Skill         // the skills of the run itself
	Skills  []Skill         // the other available skills
	Files   []penstock.File // in the workspace
	Repos   []string        // directories of the workspace
	History []penstock.Step // if the session does not have it
}

// maxHistory limits the repeated part of a conversation, which is its end.
const maxHistory = 100 << 10

var modes = map[penstock.Mode]string{
	penstock.ModePlan: "Plan first. Look at the workspace, write down the steps that you intend, and ask for " +
		"approval. Change nothing until the plan is approved.",
	penstock.ModeOrchestrate: "You coordinate the work. Split it into independent parts, write down a plan " +
		"that assigns each part, and ask for approval before the work starts.",
}

// Text returns the briefing as one text.
func (b Briefing) Text() string {
	var parts []string
	add := func(format string, args ...any) {
		if text := strings.TrimSpace(fmt.Sprintf(format, args...)); text != "" {
			parts = append(parts, text)
		}
	}
	if b.First {
		add("%s", b.Base)
		add("%s", b.workplace())
		for _, s := range b.Use {
			add("Use the skill %s (%s):\n\n%s", s.Name, s.Path, s.Text)
		}
		add("%s", historyText(b.History))
	}
	add("%s", strings.Join(b.Notices, "\n"))
	add("%s", modes[b.Prompt.Mode])
	if b.Prompt.Redelivered {
		add(
			"The work was interrupted, and you may have received the following message before. Check what " +
				"is already done, and continue from there.",
		)
	}
	if len(b.Prompt.Files) > 0 {
		add("Files attached to this message: %s", paths(b.Prompt.Files))
	}
	text := b.Prompt.Text
	if strings.TrimSpace(text) == "" && (len(b.Use) == 0 || !b.First) {
		text = "Go on."
	}
	add("%s", text)
	return strings.Join(parts, "\n\n")
}

// workplace describes the content of the workspace.
func (b Briefing) workplace() string {
	var lines []string
	if len(b.Repos) > 0 {
		lines = append(lines, "Repositories in the workspace: "+strings.Join(b.Repos, ", "))
	}
	if len(b.Files) > 0 {
		lines = append(lines, "Files attached to the task: "+paths(b.Files))
	}
	for _, s := range b.Skills {
		line := fmt.Sprintf("Skill %s (%s)", s.Name, s.Path)
		if s.Description != "" {
			line += ": " + s.Description
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// paths returns the paths of files in one line.
func paths(files []penstock.File) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Path
	}
	return strings.Join(names, ", ")
}

// historyText returns a conversation as text, for an agent that does not have it.
func historyText(steps []penstock.Step) string {
	var b strings.Builder
	for _, step := range steps {
		for _, m := range step.Messages {
			for _, block := range m.Content {
				switch block.Type {
				case penstock.BlockText:
					fmt.Fprintf(&b, "%s: %s\n\n", m.Role, strings.TrimSpace(block.Text))
				case penstock.BlockAction:
					fmt.Fprintf(&b, "%s did: %s %s\n\n", m.Role, block.Name, block.Input)
				}
			}
		}
	}
	text := strings.TrimSpace(b.String())
	if text == "" {
		return ""
	}
	note := ""
	if over := len(text) - maxHistory; over > 0 {
		text = strings.ToValidUTF8(text[over:], "")
		note = fmt.Sprintf(" (without its first %d bytes)", over)
	}
	return "The conversation so far" + note + ":\n\n<conversation>\n" + text + "\n</conversation>"
}
