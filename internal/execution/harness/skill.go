package harness

import (
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// Skill is a skill in the workspace.
type Skill struct {
	Name, Description string
	Path              string // of its SKILL.md, relative to the workspace
	// Own is the absolute path of its copy in the agent's own folder of skills; "": none.
	Own  string
	Text string // of its SKILL.md, without the front matter

	// BundledID is the id of a bundled skill, and File its whole SKILL.md.
	BundledID, File string
}

func acpSkills(skills []Skill) []acp.Skill {
	list := make([]acp.Skill, len(skills))
	for i, s := range skills {
		list[i] = acp.Skill{Name: s.Name, Description: s.Description, Path: s.Path, BundledID: s.BundledID}
	}
	return list
}

// skillAt returns the skill whose SKILL.md is at a path of the workspace.
func (s *Session) skillAt(name string) (skill Skill, ok bool) {
	for _, k := range s.Skills {
		if path.Clean(name) == k.Path || k.Own != "" && path.Clean(name) == k.Own {
			return k, true
		}
	}
	return skill, false
}

// skillTools are the names of agents' own tools for skills.
var skillTools = []string{"Skill", "skill", "activate_skill"}

// skillOf returns the skill that a call of an agent's own tool uses. Gemini CLI gives only a title,
// with the name and the description of the skill.
func (s *Session) skillOf(call acp.ToolCall) (skill Skill, ok bool) {
	var named string
	call.Meta.Read("toolName", &named)
	own := slices.ContainsFunc(skillTools, func(name string) bool {
		return name == named || name == call.Name || name == call.Title
	})
	wanted := readRaw(call.RawInput).text("skill", "name")
	for _, k := range s.Skills {
		if own && k.Name == wanted || strings.HasPrefix(call.Title, strconv.Quote(k.Name)+": "+k.Description) {
			return k, true
		}
	}
	return skill, false
}

// bundledID returns the id of the bundled skill at a path, or "". It does not trust the agent: we
// must have written the skill there, and the file must still be unchanged when we check it.
func (s *Session) bundledID(name string) string {
	k, ok := s.skillAt(name)
	if !ok || k.BundledID == "" {
		return ""
	}
	file, err := s.openFile(k.Path)
	if err != nil {
		return ""
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, int64(len(k.File))+1))
	if err != nil || string(content) != k.File {
		return ""
	}
	return k.BundledID
}
