package harness

import (
	"io"
	"path"

	"github.com/penstock-dev/penstock/internal/acp"
)

// Skill is a skill that lies in the workspace.
type Skill struct {
	Name, Description string
	Path              string // of its SKILL.md, relative to the workspace
	Text              string // of its SKILL.md, without the frontmatter

	// BundledID is the id of a skill that the server came with, and File its whole
	// SKILL.md.
	BundledID, File string
}

func acpSkills(skills []Skill) []acp.Skill {
	list := make([]acp.Skill, len(skills))
	for i, s := range skills {
		list[i] = acp.Skill{Name: s.Name, Description: s.Description, Path: s.Path, BundledID: s.BundledID}
	}
	return list
}

// skillAt is the skill whose SKILL.md a path of the workspace leads to.
func (s *Session) skillAt(name string) (skill Skill, ok bool) {
	for _, k := range s.Skills {
		if path.Clean(name) == k.Path {
			return k, true
		}
	}
	return skill, false
}

// bundledID is the id of the bundled skill that a path leads to, "" where it is
// none. What an agent says of it counts for nothing: the skill must have been put
// there by us, and the file must still be what came with the server: now, since the
// agent does not wait for us to look.
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
