package definition

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock/skills"
)

// Skill is skills/NAME/SKILL.md, or agents/AGENT/skills/NAME/SKILL.md, with the
// files beside it.
type Skill struct {
	Agent       string            `json:"-"` // its agent; "": every agent
	Name        string            `json:"-"`
	Description string            `json:"description"`
	Files       map[string]string `json:"files"` // by path in the skill's folder, including SKILL.md
}

// skillDocument is the front matter of a SKILL.md, which may have other keys. Nothing in it is an
// error.
type skillDocument struct {
	Name        Tree `json:"name,omitzero" about:"The name of the skill's folder, which counts if they differ."`
	Description Tree `json:"description,omitzero" about:"What the skill is for and when to use it. Agents see the first 1,024 characters."`
}

// skills reads all skills. People copy them from everywhere, so a file that cannot be used is left
// out with a warning, and does not keep the rest of the factory from being applied.
func (p *parser) skills() []Skill {
	list := each(p, KindSkill, func(at place, d *document) Skill {
		agent, name := path.Split(at.name)
		s := Skill{Agent: strings.TrimSuffix(agent, "/"), Name: name, Files: map[string]string{}}
		if _, ok := p.paths[KindAgent][strings.ToLower(s.Agent)]; s.Agent != "" && !ok {
			d.nearf(
				nil, InvalidReference, nearest(s.Agent, p.names(KindAgent)),
				"this skill belongs to the agent %s, which the factory does not have", quote(s.Agent),
			)
		}
		for _, part := range p.paths[KindSkill][strings.ToLower(at.name)][1:] {
			if content := p.files[part.path]; utf8.Valid(content) {
				s.Files[part.part] = string(content)
			} else {
				p.open(part.path).warnf(nil, InvalidDocument, "", "the file is not text in UTF-8, so agents do not get it")
			}
		}
		file, err := skills.Parse(p.files[at.path])
		if err != nil {
			d.warnf(nil, InvalidDocument, "", "agents do not get this skill: %s", err)
			return Skill{}
		}
		for _, note := range file.Notes {
			d.notef(nil, InvalidDocument, "%s", note)
		}
		if file.Name != "" && file.Name != s.Name {
			d.notef(nil, InvalidValue, "the skill has the name of its folder, %s, not %s", quote(s.Name), quote(file.Name))
		}
		s.Files["SKILL.md"], s.Description = string(p.files[at.path]), file.Description
		return s
	})
	return slices.DeleteFunc(list, func(s Skill) bool { return s.Name == "" })
}

// ofSkill reports whether a path is in a folder of skills.
func ofSkill(name string) bool {
	parts := strings.Split(name, "/")
	return parts[0] == "skills" || parts[0] == "agents" && len(parts) > 3 && parts[2] == "skills"
}
