package penstock

import (
	"fmt"
	"path"
	"strings"
)

// Skill is the skill of a run. full_path or bundled_skill_id says where it is.
type Skill struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	FullPath    string `json:"full_path,omitempty"`
	BundledID   string `json:"bundled_skill_id,omitempty"`
}

// SkillSpec is a parsed reference to a skill: "owner/repo:path/SKILL.md",
// "owner/repo:name", "repo:name", or a bare name.
type SkillSpec struct {
	Owner, Repo string
	Path        string // of the SKILL.md within the repository; "" if the reference has only a name
	Name        string
}

// Bare reports whether the reference is only a name. It may then mean a skill outside of
// repositories.
func (s SkillSpec) Bare() bool { return s.Repo == "" && s.Path == "" }

// SkillOrigin is the origin of a skill in an assignment.
type SkillOrigin string

// SkillBundled is the origin of a skill that is part of the server; its name is its id. The server
// names the other origins, and skills without one are found in the workspace's repositories.
const SkillBundled SkillOrigin = "bundled"

// SkillFolder is a skill with all its files, by path in its folder. They include SKILL.md.
type SkillFolder struct {
	Name   string            `json:"name"`
	Origin SkillOrigin       `json:"origin"`
	Files  map[string]string `json:"files"`
}

// MaxSkillSpec is the longest reference to a skill, in bytes.
const MaxSkillSpec = 1024

// ParseSkillSpec checks the form and length of a reference. The worker finds out whether the
// skill exists, while the run is PENDING.
func ParseSkillSpec(s string) (SkillSpec, error) {
	if len(s) > MaxSkillSpec {
		return SkillSpec{}, fmt.Errorf("a reference to a skill has at most %d bytes, not %d", MaxSkillSpec, len(s))
	}
	bad := fmt.Errorf(
		"%q is not a reference to a skill; use owner/repo:path/SKILL.md, owner/repo:name, repo:name or name", s,
	)
	var spec SkillSpec
	repo, skill, qualified := strings.Cut(s, ":")
	if !qualified {
		repo, skill = "", s
	}
	if qualified {
		owner, name, owned := strings.Cut(repo, "/")
		if !owned {
			owner, name = "", repo
		}
		if !plainName(name) || owned && !plainName(owner) {
			return spec, bad
		}
		spec.Owner, spec.Repo = owner, name
	}
	if strings.HasSuffix(skill, "/SKILL.md") {
		if path.Clean(skill) != skill || path.IsAbs(skill) || strings.HasPrefix(skill, "..") {
			return spec, bad
		}
		spec.Path = skill
		skill = path.Base(path.Dir(skill))
	}
	if !plainName(skill) {
		return spec, bad
	}
	spec.Name = skill
	return spec, nil
}

func plainName(s string) bool {
	if s == "" || s == "." || s == ".." || len(s) > 128 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}
