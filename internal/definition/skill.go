package definition

import (
	"path"
	"strings"

	"github.com/penstock-dev/penstock/internal/skillfile"
)

// Skill is skills/NAME/SKILL.md, or agents/AGENT/skills/NAME/SKILL.md, with the
// files beside it.
type Skill struct {
	Agent       string            `json:"-"` // its agent; "": every agent
	Name        string            `json:"-"`
	Description string            `json:"description"`
	Files       map[string]string `json:"files"` // by path in the skill's folder, including SKILL.md
}

// skillDocument is the front matter of a SKILL.md, which may have other keys.
type skillDocument struct {
	Name        string `json:"name" rule:"skillName" about:"The name of the skill's folder."`
	Description string `json:"description" rule:"skillText" about:"What the skill is for and when to use it."`
	Body        string `json:"-" body:"body"`
}

// skills reads all skills.
func (p *parser) skills() []Skill {
	return each(p, KindSkill, func(at place, d *document) Skill {
		agent, name := path.Split(at.name)
		s := Skill{Agent: strings.TrimSuffix(agent, "/"), Name: name, Files: map[string]string{}}
		for _, part := range p.paths[KindSkill][strings.ToLower(at.name)][1:] {
			if text, ok := p.open(part.path).fileText(p.files[part.path]); ok {
				s.Files[part.part] = text
			}
		}
		s.Files["SKILL.md"] = string(p.files[at.path])
		if _, ok := p.paths[KindAgent][strings.ToLower(s.Agent)]; s.Agent != "" && !ok {
			d.nearf(
				nil, InvalidReference, nearest(s.Agent, p.names(KindAgent)),
				"this skill belongs to the agent %s, which the factory does not have", quote(s.Agent),
			)
		}
		before := p.count
		if d.readMarkdown(p.files[at.path], true); p.count > before {
			return s
		}
		var file skillDocument
		d.skill(&file)
		s.Description = file.Description
		switch _, err := skillfile.Parse(p.files[at.path]); {
		case p.count > before:
		case file.Name != s.Name:
			d.badf(
				d.find("name"), InvalidValue, "the name must be that of the folder, %s, not %s", quote(s.Name), quote(file.Name),
			)
		case err != nil: // the sandbox uses another parser, which would fail there
			d.badLinef(1, 1, InvalidDocument, "%s", err)
		}
		return s
	})
}

// skill reads the known keys and ignores others.
func (d *document) skill(into *skillDocument) {
	if d.root != nil {
		own := *d.root
		own.Content = nil
		for _, entry := range entries(d.root) {
			if key := entry[0].Value; key == "name" || key == "description" {
				own.Content = append(own.Content, entry[0], entry[1])
			}
		}
		d.root = &own
	}
	d.decode(into)
}
