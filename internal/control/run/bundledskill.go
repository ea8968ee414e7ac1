package run

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/skills"
)

// BundledSkills lists the catalog of bundled skills.
func (s *Skills) BundledSkills(p penstock.Principal) ([]penstock.BundledSkill, error) {
	return skills.Catalog(), access.Require(p, penstock.ScopeRunsRead)
}
