package run

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/skills"
)

// The origins of a skill in the files of a factory.
const (
	skillOfAgent   penstock.SkillOrigin = "agent"   // the files of the agent's factory, for this agent alone
	skillOfFactory penstock.SkillOrigin = "factory" // the same files, for every agent
)

// The folders of skills among a factory's files: its own, and an agent's.
const factorySkills = "skills/"

func agentSkills(agent string) string { return "agents/" + agent + "/skills/" }

// SetSkill finds the skill of a run, as far as it is known before the run has a workspace, and sets
// the run's name from it. The skill is the one that skill_spec names, or otherwise the only skill
// in the request's configuration.
func (s *Skills) SetSkill(ctx context.Context, _ penstock.Principal, run *store.NewRun) error {
	reference := run.Config.SkillSpec
	if reference == "" {
		if err := s.checkSkills(ctx, run); err != nil || !fromOnlySkill(run) {
			return err
		}
		reference = run.Config.Skills[0]
	}
	spec, err := penstock.ParseSkillSpec(reference)
	if err != nil {
		return penstock.Invalid("/config/skill_spec", "%s", err)
	}
	run.SkillSpec = reference
	run.Skill = &penstock.Skill{Name: spec.Name, FullPath: spec.Path}
	if err := s.describeSkill(ctx, run, spec); err != nil {
		return err
	}
	if run.Config.Name == "" {
		run.Config.Name, run.ConfigSources["name"] = run.Skill.Name, "skill"
	}
	return nil
}

// fromOnlySkill reports whether a run uses the only skill in its configuration: the request names
// it, or the run has no other task.
func fromOnlySkill(run *store.NewRun) bool {
	return len(run.Config.Skills) == 1 && (run.ConfigSources["skills"] == LayerRequest ||
		strings.TrimSpace(run.Prompt) == "")
}

// describeSkill completes the description of a run's skill. A bare name refers to a skill of its
// agent, then of its factory, then a bundled skill with that id, then a skill in the repositories
// of its environment.
func (s *Skills) describeSkill(ctx context.Context, run *store.NewRun, spec penstock.SkillSpec) error {
	if spec.Bare() {
		at, content, err := s.skillOfFactory(ctx, run, spec.Name)
		if err != nil {
			return err
		}
		if at != "" {
			file, err := skills.Parse(content)
			if err != nil {
				return penstock.Invalid(
					"/config/skill_spec", "names the skill %s, whose file %s is not valid: %s", spec.Name, at, err,
				)
			}
			run.Skill.Description, run.Skill.FullPath = file.Description, at
			return nil
		}
		if bundled, known := skills.Find(spec.Name); known && bundled.Shipped {
			*run.Skill = penstock.Skill{Name: spec.Name, Description: bundled.Description, BundledID: bundled.ID}
			return nil
		}
	}
	found, ok, err := s.skillOfEnvironment(ctx, run, spec)
	if err != nil {
		return err
	}
	if ok {
		run.SkillID = found.variant.ID
		*run.Skill = penstock.Skill{
			Name: found.name, Description: found.variant.Description, FullPath: found.variant.Source.SkillPath,
		}
		return nil
	}
	if !spec.Bare() {
		return nil
	}
	return checkBundled(run, spec.Name, "/skill_spec")
}

// skillLookup is how long the creation of a run waits for repositories whose skills are not known
// yet. After that, the run keeps only the reference.
const skillLookup = 2 * time.Second

// skillOfEnvironment finds a skill in the last read of the repositories of the run's environment.
// ok is false if the skill is not found, malformed, or not known in time.
func (s *Skills) skillOfEnvironment(
	ctx context.Context, run *store.NewRun, spec penstock.SkillSpec,
) (found place, ok bool, err error) {
	if run.Config.EnvironmentID == "" || s.reader.cache == nil {
		return place{}, false, nil
	}
	environment, err := s.store.Environments.Spec(ctx, run.Team, run.Config.EnvironmentID)
	if err != nil {
		return place{}, false, err
	}
	sources := slices.DeleteFunc(skillSources(
		[]penstock.Environment{{UID: environment.UID, Config: environment.Config}},
	), func(r *skillSource) bool {
		return spec.Repo != "" && !strings.EqualFold(spec.Repo, r.name) ||
			spec.Owner != "" && !strings.EqualFold(spec.Owner, r.owner)
	})
	waiting, cancel := context.WithTimeout(ctx, skillLookup)
	defer cancel()
	for _, r := range sources {
		s.reader.begin(r.git, time.Now().Add(-skillCacheFresh))
	}
	for _, r := range sources {
		if found, ok := findSkill(places(r, s.reader.wait(waiting, r.git, time.Now().Add(-skillCacheMaxAge))), spec); ok {
			return found, true, nil
		}
	}
	return place{}, false, nil
}

// findSkill finds the skill of a reference in a repository: by its path, then by the name in the
// front matter, then by the name of the folder.
func findSkill(all []place, spec penstock.SkillSpec) (place, bool) {
	is := func(f place) bool { return f.variant.Source.SkillPath == spec.Path }
	if spec.Path == "" {
		is = func(f place) bool { return f.name == spec.Name }
	}
	all = slices.DeleteFunc(slices.Clone(all), func(f place) bool { return f.variant.Error != "" })
	i := slices.IndexFunc(all, is)
	if i < 0 && spec.Path == "" {
		i = slices.IndexFunc(all, func(f place) bool { return skillDir(f) == spec.Name })
	}
	if i < 0 {
		return place{}, false
	}
	return all[i], true
}

// checkSkills returns an error for each skill that does not exist in this release.
func (s *Skills) checkSkills(ctx context.Context, run *store.NewRun) error {
	for i, reference := range run.Config.Skills {
		err := checkBundled(run, reference, fmt.Sprintf("/skills/%d", i))
		if err == nil {
			continue
		}
		if at, _, read := s.skillOfFactory(ctx, run, reference); at == "" {
			return cmp.Or(read, err)
		}
	}
	return nil
}

// checkBundled returns an error if name is the id of a bundled skill that this release does not
// include. It returns nil if the skill exists, if the name is not such an id, or if a
// repository may have it.
func checkBundled(run *store.NewRun, name, pointer string) error {
	bundled, known := skills.Find(name)
	if !known || bundled.Shipped || run.Config.EnvironmentID != "" || len(run.Config.Repositories) > 0 {
		return nil
	}
	return penstock.InvalidFields(Misplaced(run, penstock.FieldError{
		Pointer: pointer, Detail: "this release does not include the skill " + bundled.ID + ". " + bundled.Reason,
	}))
}

// skillOfFactory reads the SKILL.md of a skill of the run's agent, or otherwise of its factory. at
// is "" if it does not exist.
func (s *Skills) skillOfFactory(
	ctx context.Context, run *store.NewRun, name string,
) (at string, content []byte, err error) {
	places := []string{agentSkills(run.AgentName) + name + "/" + skillDocument, factorySkills + name + "/" + skillDocument}
	files, err := s.catalog.filesOf(ctx, run.RunRow, places...)
	for _, at := range places {
		if content, there := files[at]; there && err == nil {
			return at, content, nil
		}
	}
	return "", nil, err
}

const skillDocument = "SKILL.md"

// SkillFolders returns the skills of a run outside of its repositories: the skills of its agent and
// its factory (the agent's take precedence), and the bundled skills that it names. They are of the
// revision at which the run was created.
func (s *Skills) SkillFolders(ctx context.Context, run store.RunRow) ([]penstock.SkillFolder, error) {
	files, err := s.catalog.filesOf(ctx, run, agentSkills(run.AgentName), factorySkills)
	if err != nil {
		return nil, err
	}
	var list []penstock.SkillFolder
	for _, from := range []struct {
		folder string
		origin penstock.SkillOrigin
	}{{agentSkills(run.AgentName), skillOfAgent}, {factorySkills, skillOfFactory}} {
		for name, content := range foldersBelow(files, from.folder) {
			if !hasFolder(list, name) {
				list = append(list, penstock.SkillFolder{Name: name, Origin: from.origin, Files: content})
			}
		}
	}
	for _, reference := range append([]string{run.Config.SkillSpec}, run.Config.Skills...) {
		spec, err := penstock.ParseSkillSpec(reference)
		if err != nil || !spec.Bare() || hasFolder(list, spec.Name) {
			continue
		}
		if content := skills.Files(spec.Name); content != nil {
			list = append(list, penstock.SkillFolder{Name: spec.Name, Origin: penstock.SkillBundled, Files: content})
		}
	}
	slices.SortFunc(list, func(a, b penstock.SkillFolder) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func hasFolder(list []penstock.SkillFolder, name string) bool {
	return slices.ContainsFunc(list, func(f penstock.SkillFolder) bool { return f.Name == name })
}

// foldersBelow groups the files below a folder by its subfolders with a SKILL.md.
func foldersBelow(files map[string][]byte, folder string) map[string]map[string]string {
	found := map[string]map[string]string{}
	for file, content := range files {
		rest, below := strings.CutPrefix(file, folder)
		name, inside, ok := strings.Cut(rest, "/")
		document, there := files[path.Join(folder, name, skillDocument)]
		if _, odd := penstock.ParseSkillSpec(name); !below || !ok || !there || !utf8.Valid(document) || odd != nil {
			continue // the validation of the files says so
		}
		if found[name] == nil {
			found[name] = map[string]string{}
		}
		if utf8.Valid(content) { // an assignment is JSON
			found[name][inside] = string(content)
		}
	}
	return found
}
