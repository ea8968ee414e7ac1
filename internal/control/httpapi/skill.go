package httpapi

import (
	"net/http"

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
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]run.AgentSkillItem{"agents": skills})
}

func (h skills) listBundled(c *call) error {
	skills, err := h.rules.BundledSkills(c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.BundledSkill{"skills": skills})
}
