package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/acp"
	"github.com/penstock-dev/penstock/skills"
)

// skillDir is the folder to which the worker writes skills.
const skillDir = ".penstock/skills"

type skillInput struct {
	Skill string `json:"skill"`
}

// shownSkill is the report of a call to the client: the path of the skill, and its origin if the
// worker has named it.
type shownSkill struct {
	SkillPath string `json:"skill_path"`
	BundledID string `json:"bundled_skill_id,omitempty"`
}

func (in skillInput) view(s *session) json.RawMessage {
	k := s.findSkill(in.Skill)
	return mustJSON(shownSkill{SkillPath: k.Path, BundledID: k.BundledID})
}

var readSkillTool = define(toolReadSkill, acp.ToolRead,
	"Read the instructions of a skill. Read them before you do the work that the skill describes.",
	`{"type":"object","properties":{
		"skill":{"type":"string","description":"The skill's name, or the path of its SKILL.md or of its directory."}},
		"required":["skill"]}`,
	func(in skillInput) string { return "Read the skill " + firstLine(in.Skill, 80) },
	func(_ context.Context, c *call, in skillInput) (result, error) {
		if in.Skill == "" {
			return result{}, errors.New("skill is empty")
		}
		k := c.session.findSkill(in.Skill)
		data, err := c.session.files.read(k.Path)
		if err != nil {
			return result{}, fmt.Errorf("%s: %w", k.Path, err)
		}
		if isBinary(data) {
			return result{}, fmt.Errorf("%s: the file is not text", k.Path)
		}
		text := fmt.Sprintf(
			"== %s (paths in it are relative to %s)\n%s", k.Path, path.Dir(k.Path), cut(string(data), maxReadBytes),
		)
		return result{text: text, raw: map[string]int{"size_bytes": len(data)}}, nil
	})

// findSkill resolves a name or a path. It treats an unknown name as a path, and reading the path
// shows whether a skill exists there.
func (s *session) findSkill(wanted string) acp.Skill {
	for _, k := range s.skills {
		if wanted == k.Name || wanted == k.Path || wanted == path.Dir(k.Path) {
			return k
		}
	}
	if path.Base(filepath.ToSlash(wanted)) != "SKILL.md" && !strings.HasSuffix(wanted, ".md") {
		wanted = path.Join(filepath.ToSlash(wanted), "SKILL.md")
	}
	return acp.Skill{Path: wanted}
}

// findSkills lists the skills that the client named, or otherwise those in the workspace.
func (s *session) findSkills(meta acp.Meta) []acp.Skill {
	var found []acp.Skill
	if meta.Read(acp.MetaSkills, &found) {
		return found
	}
	root := s.files.dirs[0].root
	entries, err := fs.ReadDir(root.FS(), skillDir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		at := path.Join(skillDir, e.Name(), "SKILL.md")
		if data, err := readRegular(root, filepath.FromSlash(at)); err == nil {
			file, _ := skills.Parse(data) // a file that cannot be read has no description
			found = append(found, acp.Skill{Name: e.Name(), Description: firstLine(file.Description, 300), Path: at})
		}
	}
	return slices.Clip(found)
}
