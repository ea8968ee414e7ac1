package definition

import (
	"maps"
	"slices"
	"strings"
)

// Paths lists the files of a resource, sorted: its document and the files that belong to it, such
// as the skills of an agent. An agent's skill is named AGENT/SKILL. The files may be invalid.
func Paths(files map[string][]byte, kind Kind, name string) []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		at, _, ok := match(strings.Split(path, "/"))
		owner, _, _ := strings.Cut(at.name, "/")
		switch {
		case !ok:
		case at.kind == kind && at.name == name, kind == KindFactory && at.kind == kind:
			paths = append(paths, path)
		case kind == KindAgent && at.kind == KindSkill && strings.Contains(at.name, "/") && owner == name:
			paths = append(paths, path)
		}
	}
	return paths
}

// DocumentPath returns the path of a resource's document, even if it does not exist yet.
func DocumentPath(files map[string][]byte, kind Kind, name string) string {
	for _, path := range Paths(files, kind, name) {
		if at, _, _ := match(strings.Split(path, "/")); at.kind == kind && at.part == "" {
			return path
		}
	}
	switch kind {
	case KindFactory:
		return "factory.yaml"
	case KindAgent:
		return "agents/" + name + "/agent.md"
	case KindAutomation:
		return "automations/" + name + "/automation.md"
	case KindScorer:
		return "scorers/" + name + "/scorer.md"
	case KindBenchmark:
		return "benchmarks/" + name + "/suite.yaml"
	case KindSkill:
		agent, skill, owned := strings.Cut(name, "/")
		if owned {
			return "agents/" + agent + "/skills/" + skill + "/SKILL.md"
		}
		return "skills/" + name + "/SKILL.md"
	}
	return string(kind) + "s/" + name + ".yaml"
}
