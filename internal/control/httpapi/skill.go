package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// skills holds the handlers of skills.
type skills struct {
	rules *run.Skills
}

func (h skills) list(c *call) error {
	q := c.query()
	query := run.SkillQuery{
		Repo: q.text("repo"), Refresh: q.boolean("refresh"),
		SortBy: oneOf(q, "sort_by", "name", "last_run"), IncludeMalformed: q.boolean("include_malformed_skills"),
	}
	if q.err != nil {
		return q.err
	}
	skills, err := h.rules.Skills(c.ctx(), c.principal, query)
	return c.ok(map[string][]run.AgentSkillItem{"agents": skills}, err)
}

func (h skills) listBundled(c *call) error {
	skills, err := h.rules.BundledSkills(c.principal)
	return c.ok(map[string][]penstock.BundledSkill{"skills": skills}, err)
}
