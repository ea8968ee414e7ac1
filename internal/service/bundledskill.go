package service

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/skills"
)

// BundledSkills lists the catalogue of skills that a server may come with.
func (s *Service) BundledSkills(p penstock.Principal) ([]penstock.BundledSkill, error) {
	return skills.Catalogue(), require(p, penstock.ScopeRunsRead)
}
