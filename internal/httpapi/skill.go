package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

func (a *API) skills(c *call) error {
	q := c.query()
	query := penstock.SkillQuery{
		Repo: q.text("repo"), Refresh: q.boolean("refresh"),
		SortBy: oneOf(q, "sort_by", "name", "last_run"), IncludeMalformed: q.boolean("include_malformed_skills"),
	}
	if q.err != nil {
		return q.err
	}
	skills, err := a.svc.Skills.Skills(c.ctx(), c.principal, query)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.AgentSkillItem{"agents": skills})
}

func (a *API) bundledSkills(c *call) error {
	skills, err := a.svc.Skills.BundledSkills(c.principal)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, map[string][]penstock.BundledSkill{"skills": skills})
}
