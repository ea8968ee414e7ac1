package worker

import (
	"cmp"
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
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/skills"
)

// Limits of a skill with all its files.
const (
	maxSkillFiles = 500
	maxSkillBytes = 32 << 20
)

// skillHome is the folder of skills in the workspace. Each skill has a folder with its name.
const skillHome = ".penstock/skills"

// placedSkills are the skills of a run in its workspace.
type placedSkills struct {
	*task
	space *workspace
	home  string // HOME, as the sandbox shows it
	repos []repository

	blocked bool              // something in the workspace is in the way
	use     []harness.Skill   // of the run itself
	offered []harness.Skill   // the others, which the agent can use
	folders map[string]string // the source of each, by name
	plain   map[string]string // the SKILL.md that agents get instead of one that they may not read, by name
}

// placeAll writes the skills of the configuration, of the run's agent and of its factory to the
// folder where agents look for them.
func (s *placedSkills) placeAll() error {
	s.folders, s.plain = map[string]string{}, map[string]string{}
	place := func(reference string) (harness.Skill, error) {
		skill, err := s.place(reference)
		var told *penstock.Error
		if err != nil && !errors.As(err, &told) {
			s.blocked = true
			err = setupFailed("The worker cannot write the skill %q to the workspace: %s", reference, err)
		}
		return skill, err
	}
	if s.config.SkillSpec != "" {
		skill, err := place(s.config.SkillSpec)
		if err != nil {
			return err
		}
		s.use = append(s.use, skill)
	}
	for _, reference := range s.config.Skills {
		skill, err := place(reference)
		if err != nil {
			return err
		}
		s.offered = append(s.offered, skill)
	}
	if s.Run.Prompt == "" && len(s.use) == 0 { // the skills are the only task
		s.use, s.offered = s.offered, nil
	}
	for _, folder := range s.Skills {
		if s.folders[folder.Name] != "" { // already placed by name
			continue
		}
		skill, err := place(folder.Name)
		if _, unreadable := errors.AsType[*unreadableSkillError](err); unreadable { // nobody has asked for it
			delete(s.folders, folder.Name)
			s.note(folder.Name, err.Error())
			continue
		}
		if err != nil {
			return err
		}
		s.offered = append(s.offered, skill)
	}
	return nil
}

// note reports on the timeline what is odd about a skill.
func (s *placedSkills) note(name string, notes ...string) {
	s.timeline(timelineSkillNote, map[string]any{"skill": name, "notes": notes})
}

// unreadableSkillError is the error of a skill whose SKILL.md is not valid.
type unreadableSkillError struct{ error }

func (e *unreadableSkillError) Unwrap() error { return e.error }

func (s *placedSkills) place(reference string) (harness.Skill, error) {
	spec, err := penstock.ParseSkillSpec(reference)
	if err != nil {
		return harness.Skill{}, setupFailed("%s", err)
	}
	if i := s.given(spec.Name); i >= 0 && spec.Bare() {
		return s.unfold(s.Skills[i])
	}
	dir, name := s.find(spec)
	if dir == "" {
		return harness.Skill{}, s.missing(reference, spec)
	}
	if before := s.folders[name]; s.given(name) >= 0 || before != "" && before != dir { // another skill has this name
		repository, _, _ := strings.Cut(dir, "/")
		name = cmp.Or(skills.Slug(repository), "repository") + "-" + name
	}
	to, err := s.folder(name, dir)
	if err != nil {
		return harness.Skill{}, err
	}
	if err := copyTree(s.space.root, dir, s.space.root, to); err != nil {
		return harness.Skill{}, err
	}
	skill, _, err := s.read(reference, name, to)
	return skill, err
}

// missing says where a skill was searched.
func (s *placedSkills) missing(reference string, spec penstock.SkillSpec) error {
	var searched, names []string
	for _, r := range s.repos {
		names = append(names, r.label())
		if r.is(spec) {
			searched = append(searched, r.label())
		}
	}
	switch {
	case len(names) == 0:
		return setupFailed("The skill %q was not found: the run has no repository with skills.", reference)
	case len(searched) == 0:
		return setupFailed("The skill %q was not found: the environment does not have its repository. It has %s.",
			reference, strings.Join(names, ", "))
	case spec.Path != "":
		return setupFailed("The skill %q was not found: %s does not have the file %s.", reference,
			strings.Join(searched, " and "), spec.Path)
	}
	return setupFailed("The skill %q was not found in %s. Skills are searched in the folders %s.", reference,
		strings.Join(searched, ", "), strings.Join(skills.Folders, ", "))
}

// is reports whether a reference names the repository, or none. Git hosts ignore the case of names.
func (r repository) is(spec penstock.SkillSpec) bool {
	return (spec.Repo == "" || strings.EqualFold(spec.Repo, r.name)) &&
		(spec.Owner == "" || strings.EqualFold(spec.Owner, r.owner))
}

// label is the name of the repository in references.
func (r repository) label() string { return strings.TrimPrefix(r.owner+"/"+r.name, "/") }

// given finds a skill from outside of repositories. It returns -1 if none has the name.
func (s *placedSkills) given(name string) int {
	return slices.IndexFunc(s.Skills, func(f penstock.SkillFolder) bool { return f.Name == name })
}

// unfold writes a skill of the assignment.
func (s *placedSkills) unfold(f penstock.SkillFolder) (harness.Skill, error) {
	to, err := s.folder(f.Name, string(f.Origin))
	if err != nil {
		return harness.Skill{}, err
	}
	for name, content := range f.Files {
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(content, "#!") { // files of a factory have no mode
			mode = 0o755
		}
		if err := put(s.space.root, path.Join(to, name), mode, strings.NewReader(content)); err != nil {
			return harness.Skill{}, err
		}
	}
	skill, content, err := s.read(f.Name, f.Name, to)
	if f.Origin == penstock.SkillBundled {
		skill.BundledID, skill.File = f.Name, content
	}
	return skill, err
}

// folder creates the folder for a skill from a source. Of two skills with one name, the first
// gets it.
func (s *placedSkills) folder(name, source string) (string, error) {
	if before := s.folders[name]; before != "" && before != source {
		return "", setupFailed("Two skills have the name %s: one from %s and one from %s.", name, before, source)
	}
	s.folders[name] = source
	to := path.Join(skillHome, name)
	return to, removeTree(s.space.root, to)
}

// read reads a skill in its folder.
func (s *placedSkills) read(reference, name, folder string) (skill harness.Skill, content string, err error) {
	at := path.Join(folder, "SKILL.md")
	text, err := s.space.root.ReadFile(at) // our own copy
	if err != nil {
		return skill, "", err
	}
	file, err := skills.Parse(text)
	if err != nil {
		return skill, "", &unreadableSkillError{setupFailed("The skill %q is not valid: %s", reference, err)}
	}
	if file.Name != "" && file.Name != name {
		file.Notes = append(file.Notes, fmt.Sprintf("its front matter calls it %s", file.Name))
	}
	if file.Notes != nil {
		s.note(name, file.Notes...)
		s.plain[name] = skills.Document(name, file.Description, file.Body)
	}
	return harness.Skill{Name: name, Description: file.Description, Path: at, Text: file.Body}, string(text), nil
}

// find finds the directory and the name of a skill. dir is "" if no repository has the skill.
// A name refers to the skill with this name in its front matter, or otherwise to the one in a folder
// with this name.
func (s *placedSkills) find(spec penstock.SkillSpec) (dir, name string) {
	for _, r := range s.repos {
		if !r.is(spec) {
			continue
		}
		if spec.Path != "" {
			dir := path.Join(r.dir, path.Dir(spec.Path))
			if name, ok := s.nameIn(dir); ok {
				return dir, name
			}
			continue
		}
		byFolder := ""
		for _, dir := range s.foldersIn(r.dir) {
			name, ok := s.nameIn(dir)
			switch {
			case ok && name == spec.Name:
				return dir, name
			case ok && byFolder == "" && path.Base(dir) == spec.Name:
				byFolder = dir
			}
		}
		if byFolder != "" {
			name, _ := s.nameIn(byFolder)
			return byFolder, name
		}
	}
	return "", ""
}

// foldersIn lists the folders of a repository that may be skills. A folder without a SKILL.md may have skills.
func (s *placedSkills) foldersIn(repository string) []string {
	var dirs, nested []string
	for _, home := range skills.Folders {
		for _, dir := range s.within(path.Join(repository, home)) {
			if _, ok := s.nameIn(dir); ok {
				dirs = append(dirs, dir)
			} else {
				nested = append(nested, s.within(dir)...)
			}
		}
	}
	return append(dirs, nested...)
}

// within lists what is in a directory, which is usually missing.
func (s *placedSkills) within(dir string) []string {
	entries, _ := fs.ReadDir(s.space.root.FS(), dir)
	paths := make([]string, len(entries))
	for i, entry := range entries {
		paths[i] = path.Join(dir, entry.Name())
	}
	return paths
}

// nameIn returns the name of the skill in a directory: from its front matter, or otherwise from
// the directory. ok is false without a SKILL.md.
func (s *placedSkills) nameIn(dir string) (name string, ok bool) {
	document := path.Join(dir, "SKILL.md")
	if info, err := s.space.root.Stat(document); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	file, _, err := openRegular(s.space.root, document)
	if err != nil {
		return "", false
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, skills.MaxFileBytes+1))
	if err != nil {
		return "", false
	}
	skill, err := skills.Parse(text)
	name = path.Base(dir)
	if _, bad := penstock.ParseSkillSpec(name); bad != nil {
		name = cmp.Or(skills.Slug(name), "skill")
	}
	if err != nil || skill.Name == "" { // a malformed one is reported when it is chosen
		return name, true
	}
	return skill.Name, true
}

// list lists all skills of the agent. An agent with a folder of its own has a copy there.
func (s *placedSkills) list() []harness.Skill {
	list := slices.Concat(s.use, s.offered)
	if s.program.Skills == "" {
		return list
	}
	for i, skill := range list {
		list[i].Own = path.Join(s.home, s.program.Skills, skill.Name, "SKILL.md")
	}
	return list
}

// give copies the skills to the agent's own folder in HOME, where they replace the skills of
// earlier turns.
func (s *placedSkills) give() error {
	if s.program.Skills == "" {
		return nil
	}
	for _, skill := range slices.Concat(s.use, s.offered) {
		to := path.Join(s.program.Skills, skill.Name)
		err := removeTree(s.space.homeRoot, to)
		if err == nil {
			err = copyTree(s.space.root, path.Dir(skill.Path), s.space.homeRoot, to)
		}
		if text := s.plain[skill.Name]; err == nil && text != "" { // agents skip a SKILL.md that they cannot read
			err = put(s.space.homeRoot, path.Join(to, "SKILL.md"), 0o644, strings.NewReader(text))
		}
		if _, told := errors.AsType[*penstock.Error](err); err != nil && !told {
			err = setupFailed("The worker cannot copy the skill %q to HOME: %s", skill.Name, err)
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
