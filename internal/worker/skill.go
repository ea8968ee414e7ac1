package worker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/skillfile"
)

// skillDirs are the folders of skills in repositories. The first one with a skill wins.
var skillDirs = []string{
	".agents/skills", ".claude/skills", ".codex/skills", ".cursor/skills", ".gemini/skills", ".github/skills",
	".opencode/skills",
}

// Limits of a skill with all its files.
const (
	maxSkillFiles = 500
	maxSkillBytes = 32 << 20
)

// skillHome is the folder of skills in the workspace. Each skill has a folder with its name.
const skillHome = ".penstock/skills"

// placeSkills writes the skills of the configuration, of the run's agent and of its factory to the
// folder where agents look for them.
func (e *execution) placeSkills() error {
	e.skillFolders = map[string]string{}
	place := func(reference string) (harness.Skill, error) {
		skill, err := e.placeSkill(reference)
		var told *penstock.Error
		if err != nil && !errors.As(err, &told) {
			err = setupFailed("The worker cannot write the skill %q to the workspace: %s", reference, err)
		}
		return skill, err
	}
	if e.config.SkillSpec != "" {
		skill, err := place(e.config.SkillSpec)
		if err != nil {
			return err
		}
		e.use = append(e.use, skill)
	}
	for _, reference := range e.config.Skills {
		skill, err := place(reference)
		if err != nil {
			return err
		}
		e.skills = append(e.skills, skill)
	}
	if e.Run.Prompt == "" && len(e.use) == 0 { // the skills are the only task
		e.use, e.skills = e.skills, nil
	}
	for _, folder := range e.Skills {
		if e.skillFolders[folder.Name] != "" { // already placed by name
			continue
		}
		skill, err := place(folder.Name)
		if err != nil {
			return err
		}
		e.skills = append(e.skills, skill)
	}
	return nil
}

func (e *execution) placeSkill(reference string) (harness.Skill, error) {
	spec, err := penstock.ParseSkillSpec(reference)
	if err != nil {
		return harness.Skill{}, setupFailed("%s", err)
	}
	if i := e.given(spec.Name); i >= 0 && spec.Bare() {
		return e.unfold(e.Skills[i])
	}
	dir, name := e.findSkill(spec)
	if dir == "" {
		return harness.Skill{}, setupFailed("The repositories of the environment do not contain the skill %q.", reference)
	}
	if before := e.skillFolders[name]; e.given(name) >= 0 || before != "" && before != dir { // another skill has this name
		repository, _, _ := strings.Cut(dir, "/")
		name = repository + "-" + name
	}
	to, err := e.skillFolder(name, dir)
	if err != nil {
		return harness.Skill{}, err
	}
	if err := copyTree(e.space.root, dir, e.space.root, to); err != nil {
		return harness.Skill{}, err
	}
	skill, _, err := e.readSkill(reference, name, to)
	return skill, err
}

// given finds a skill from outside of repositories. It returns -1 if none has the name.
func (e *execution) given(name string) int {
	return slices.IndexFunc(e.Skills, func(f penstock.SkillFolder) bool { return f.Name == name })
}

// unfold writes a skill of the assignment.
func (e *execution) unfold(f penstock.SkillFolder) (harness.Skill, error) {
	to, err := e.skillFolder(f.Name, string(f.Origin))
	if err != nil {
		return harness.Skill{}, err
	}
	for name, content := range f.Files {
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(content, "#!") { // files of a factory have no mode
			mode = 0o755
		}
		if err := put(e.space.root, path.Join(to, name), mode, strings.NewReader(content)); err != nil {
			return harness.Skill{}, err
		}
	}
	skill, content, err := e.readSkill(f.Name, f.Name, to)
	if f.Origin == penstock.SkillBundled {
		skill.BundledID, skill.File = f.Name, content
	}
	return skill, err
}

// skillFolder creates the folder for a skill from a source. Of two skills with one name, the first
// gets it.
func (e *execution) skillFolder(name, source string) (string, error) {
	if before := e.skillFolders[name]; before != "" && before != source {
		return "", setupFailed("Two skills have the name %s: one from %s and one from %s.", name, before, source)
	}
	e.skillFolders[name] = source
	to := path.Join(skillHome, name)
	return to, removeTree(e.space.root, to)
}

// readSkill reads a skill in its folder.
func (e *execution) readSkill(reference, name, folder string) (skill harness.Skill, content string, err error) {
	at := path.Join(folder, "SKILL.md")
	text, err := e.space.root.ReadFile(at) // our own copy
	if err != nil {
		return skill, "", err
	}
	file, err := skillfile.Parse(text)
	if err != nil {
		return skill, "", setupFailed("The skill %q is not valid: %s", reference, err)
	}
	return harness.Skill{Name: name, Description: file.Description, Path: at, Text: file.Body}, string(text), nil
}

// findSkill finds the directory and the name of a skill. dir is "" if no repository has the skill.
// A name refers to the skill with this name in its front matter, or otherwise to the one in a folder
// with this name.
func (e *execution) findSkill(spec penstock.SkillSpec) (dir, name string) {
	for _, r := range e.repos {
		if spec.Repo != "" && spec.Repo != r.name || spec.Owner != "" && spec.Owner != r.owner {
			continue
		}
		if spec.Path != "" {
			dir := path.Join(r.dir, path.Dir(spec.Path))
			if name, ok := e.skillName(dir); ok {
				return dir, name
			}
			continue
		}
		byFolder := ""
		for _, dir := range e.skillsIn(r.dir) {
			name, ok := e.skillName(dir)
			switch {
			case ok && name == spec.Name:
				return dir, name
			case ok && byFolder == "" && path.Base(dir) == spec.Name:
				byFolder = dir
			}
		}
		if byFolder != "" {
			name, _ := e.skillName(byFolder)
			return byFolder, name
		}
	}
	return "", ""
}

// skillsIn lists the folders of a repository that may be skills.
func (e *execution) skillsIn(repository string) []string {
	var dirs []string
	for _, home := range skillDirs {
		home = path.Join(repository, home)
		entries, _ := fs.ReadDir(e.space.root.FS(), home) // usually missing
		for _, entry := range entries {
			dirs = append(dirs, path.Join(home, entry.Name()))
		}
	}
	return dirs
}

// skillName returns the name of the skill in a directory: from its front matter, or otherwise from
// the directory. ok is false without a SKILL.md.
func (e *execution) skillName(dir string) (name string, ok bool) {
	document := path.Join(dir, "SKILL.md")
	if info, err := e.space.root.Stat(document); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	file, _, err := openRegular(e.space.root, document)
	if err != nil {
		return "", false
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, skillfile.Max+1))
	if err != nil {
		return "", false
	}
	skill, err := skillfile.Parse(text)
	if err != nil || skill.Name == "" { // a malformed one is reported when it is chosen
		return path.Base(dir), true
	}
	return skill.Name, true
}

// givenSkills lists all skills of the agent. An agent with a folder of its own has a copy there.
func (e *execution) givenSkills() []harness.Skill {
	list := slices.Concat(e.use, e.skills)
	if e.program.Skills == "" {
		return list
	}
	for i, s := range list {
		list[i].Own = path.Join(e.layout().Home, e.program.Skills, s.Name, "SKILL.md")
	}
	return list
}

// giveSkills copies the skills to the agent's own folder in HOME, in the place of those of earlier
// turns.
func (e *execution) giveSkills() error {
	if e.program.Skills == "" {
		return nil
	}
	for _, s := range slices.Concat(e.use, e.skills) {
		to := path.Join(e.program.Skills, s.Name)
		err := removeTree(e.space.homeRoot, to)
		if err == nil {
			err = copyTree(e.space.root, path.Dir(s.Path), e.space.homeRoot, to)
		}
		if _, told := errors.AsType[*penstock.Error](err); err != nil && !told {
			err = setupFailed("The worker cannot copy the skill %q to HOME: %s", s.Name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies the regular files of a directory. It skips links, which may lead anywhere.
func copyTree(root *os.Root, from string, target *os.Root, to string) error {
	files, bytes := 0, int64(0)
	return fs.WalkDir(root.FS(), from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		source, info, err := openRegular(root, name)
		if err != nil {
			return err
		}
		defer source.Close()
		files, bytes = files+1, bytes+info.Size()
		if files > maxSkillFiles || bytes > maxSkillBytes {
			return setupFailed("The skill in %s has more than %d files or %d bytes.", from, maxSkillFiles, int64(maxSkillBytes))
		}
		return put(
			target, path.Join(to, strings.TrimPrefix(name, from)), info.Mode().Perm(), io.LimitReader(source, info.Size()),
		)
	})
}

// openRegular opens a file of the workspace, and makes sure that it is a regular file.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
