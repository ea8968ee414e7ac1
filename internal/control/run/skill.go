package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/skills"
)

// SkillQuery selects skills in the repositories of environments.
type SkillQuery struct {
	Repo             string // owner/repo; empty: all
	Refresh          bool   // read the repositories again first
	SortBy           string // name (default) or last_run
	IncludeMalformed bool
}

// AgentSkillItem is a skill with the places where it was found.
type AgentSkillItem struct {
	Name     string         `json:"name"`
	Variants []SkillVariant `json:"variants"`
}

// SkillVariant is one place of a skill.
type SkillVariant struct {
	ID           string             `json:"id"` // owner/repo:path/SKILL.md
	Description  string             `json:"description"`
	BasePrompt   string             `json:"base_prompt"`
	Source       SkillSource        `json:"source"`
	Environments []SkillEnvironment `json:"environments"`
	LastRunAt    *penstock.Time     `json:"last_run_timestamp"`
	Error        string             `json:"error,omitempty"` // why it is malformed
	Notes        []string           `json:"notes,omitempty"` // what is odd about its file
}

// SkillSource says where the file is.
type SkillSource struct {
	Owner      string `json:"owner"`
	Name       string `json:"name"`
	SkillPath  string `json:"skill_path"`
	WorkerHost string `json:"worker_host,omitempty"`
}

// SkillEnvironment is an environment with the repository of a skill.
type SkillEnvironment struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// How long a request waits for a first read of repositories, or for a refresh. A longer read
// continues for the next request.
const (
	skillWait    = 10 * time.Second
	skillRefresh = 60 * time.Second
)

// skillSource is a repository of the team's environments, as it is at one ref.
type skillSource struct {
	owner, name  string
	git          git.Source
	environments []SkillEnvironment
}

// label returns the repository's name in references. It has no owner if references cannot express
// the owner in the URL.
func (r skillSource) label() string {
	full := r.owner + "/" + r.name
	if _, err := penstock.ParseSkillSpec(full + ":x"); err != nil {
		return r.name
	}
	return full
}

// Skills lists the skills that the repositories of the team's environments have. Unreadable
// repositories and malformed skills appear only on request, and never make the list fail.
func (s *Skills) Skills(
	ctx context.Context, p penstock.Principal, q SkillQuery,
) ([]AgentSkillItem, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	if owner, name, ok := strings.Cut(q.Repo, "/"); q.Repo != "" && (!ok || owner == "" || name == "" ||
		strings.Contains(name, "/")) {
		return nil, penstock.Errorf(penstock.CodeInvalidRequest, "query parameter repo: must be owner/name")
	}
	environments, err := s.store.Environments.List(ctx, ViewerOf(p), true)
	if err != nil {
		return nil, err
	}
	sources := skillSources(environments)
	if q.Repo != "" {
		sources = slices.DeleteFunc(
			sources, func(r *skillSource) bool { return !strings.EqualFold(r.owner+"/"+r.name, q.Repo) },
		)
	}
	var found []place
	for i, skills := range s.readSkills(ctx, sources, q.Refresh) {
		found = append(found, places(sources[i], skills)...)
	}
	if !q.IncludeMalformed {
		found = slices.DeleteFunc(found, func(f place) bool { return f.variant.Error != "" })
	}
	if err := s.setLastRuns(ctx, p, found); err != nil {
		return nil, err
	}
	return skillItems(found, q.SortBy == "last_run"), nil
}

// skillSources lists the repositories of environments, each with its environments.
func skillSources(environments []penstock.Environment) []*skillSource {
	var list []*skillSource
	known := map[git.Source]*skillSource{}
	add := func(e penstock.Environment, source git.Source, owner, name string) {
		r := known[source]
		if r == nil {
			r = &skillSource{owner: owner, name: name, git: source}
			known[source] = r
			list = append(list, r)
		}
		r.environments = append(r.environments, SkillEnvironment{UID: e.UID, Name: e.Config.Name})
	}
	for _, e := range environments {
		for _, r := range e.Config.GitHubRepos {
			add(e, git.Source{URL: r.CloneURL()}, r.Owner, r.Repo)
		}
		for _, r := range e.Config.Repos {
			owner, name := git.Names(r.URL)
			add(e, git.Source{URL: r.URL, Ref: r.Ref}, owner, name)
		}
	}
	return list
}

// readSkills reads the sources, within a time limit.
func (s *Skills) readSkills(ctx context.Context, sources []*skillSource, refresh bool) []repoSkills {
	since, wait := time.Now().Add(-skillCacheFresh), skillWait
	if refresh {
		since, wait = time.Now(), skillRefresh
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, r := range sources { // start all reads before waiting for the first
		s.reader.begin(r.git, since)
	}
	out := make([]repoSkills, len(sources))
	for i, r := range sources {
		out[i] = s.reader.wait(ctx, r.git, since)
	}
	return out
}

// place is a skill in one place.
type place struct {
	name    string
	variant SkillVariant
}

// places returns the skills of a repository, and its error.
func places(r *skillSource, skills repoSkills) []place {
	var out []place
	for _, f := range skills.files {
		dir := path.Base(path.Dir(f.path))
		v := SkillVariant{
			ID: r.label() + ":" + f.path, Description: f.Description, BasePrompt: f.Body, Notes: f.Notes,
			Environments: r.environments,
			Source:       SkillSource{Owner: r.owner, Name: r.name, SkillPath: f.path},
		}
		err, name := f.err, cmp.Or(f.Name, dir)
		if _, bad := penstock.ParseSkillSpec(v.ID); bad != nil { // the name may do
			if v.ID = r.label() + ":" + name; err == nil {
				_, err = penstock.ParseSkillSpec(v.ID)
			}
		}
		if err != nil {
			v.Error, v.Description, v.BasePrompt = err.Error(), "", ""
		}
		out = append(out, place{name: name, variant: v})
	}
	if skills.err != nil {
		out = append(out, place{name: r.label(), variant: SkillVariant{
			ID: r.label(), Environments: r.environments, Source: SkillSource{Owner: r.owner, Name: r.name},
			Error: fmt.Sprintf("the repository cannot be read: %s", skills.err),
		}})
	}
	return out
}

// setLastRuns sets when a run last used each skill.
func (s *Skills) setLastRuns(ctx context.Context, p penstock.Principal, found []place) error {
	dirs := map[string]int{} // number of places for each bare name
	for _, f := range found {
		dirs[skillDir(f)]++
	}
	var all []string
	references := make([][]string, len(found))
	for i, f := range found {
		repo, _, _ := strings.Cut(f.variant.ID, ":")
		dir := skillDir(f)
		references[i] = []string{f.variant.ID, repo + ":" + dir}
		if f.name != dir {
			references[i] = append(references[i], repo+":"+f.name)
		}
		if dirs[dir] == 1 {
			references[i] = append(references[i], f.variant.Source.Name+":"+dir, dir)
		}
		all = append(all, references[i]...)
	}
	slices.Sort(all)
	runs, err := s.store.Runs.SkillUses(ctx, ViewerOf(p), slices.Compact(all))
	if err != nil {
		return err
	}
	for i := range found {
		var last penstock.Time
		for _, reference := range references[i] {
			last = max(last, runs[reference])
		}
		if last != 0 {
			found[i].variant.LastRunAt = &last
		}
	}
	return nil
}

func skillDir(f place) string { return path.Base(path.Dir(f.variant.Source.SkillPath)) }

// skillItems groups the places by skill, sorted by name or by last run.
func skillItems(found []place, byRun bool) []AgentSkillItem {
	slices.SortStableFunc(found, func(a, b place) int {
		return cmp.Or(
			strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name)), strings.Compare(a.name, b.name),
			strings.Compare(a.variant.ID, b.variant.ID),
		)
	})
	items := []AgentSkillItem{}
	for _, f := range found {
		if n := len(items); n == 0 || items[n-1].Name != f.name {
			items = append(items, AgentSkillItem{Name: f.name})
		}
		item := &items[len(items)-1]
		item.Variants = append(item.Variants, f.variant)
	}
	if byRun {
		last := func(i AgentSkillItem) (at penstock.Time) {
			for _, v := range i.Variants {
				if v.LastRunAt != nil {
					at = max(at, *v.LastRunAt)
				}
			}
			return at
		}
		slices.SortStableFunc(items, func(a, b AgentSkillItem) int { return cmp.Compare(last(b), last(a)) })
	}
	return items
}

var errNoGit = errors.New("git is not installed on this server")

// fetchSkills reads the skills of a repository at its remote.
func fetchSkills(ctx context.Context, cache *git.Cache, source git.Source) ([]skillFile, error) {
	if cache == nil {
		return nil, errNoGit
	}
	files, err := cache.Files(ctx, source, git.Selection{
		Dirs: skills.Folders, Match: isSkill, MaxSize: skills.MaxFileBytes, MaxAll: maxSkillBytes, Max: maxSkills,
	})
	if err != nil {
		return nil, err
	}
	own := map[string]bool{} // folders of skills
	for _, f := range files {
		own[path.Dir(f.Path)] = true
	}
	var found []skillFile
	for _, f := range files {
		folder := path.Dir(f.Path)
		if nested, _ := skills.Category(folder); nested && own[path.Dir(folder)] {
			continue // a file of that skill
		}
		skill := skillFile{path: f.Path}
		if f.Size > skills.MaxFileBytes {
			skill.err = fmt.Errorf("the file has %d bytes; at most %d are read", f.Size, skills.MaxFileBytes)
		} else {
			skill.File, skill.err = skills.Parse([]byte(f.Content))
		}
		found = append(found, skill)
	}
	return found, nil
}

// isSkill reports whether a path is a SKILL.md where skills are searched.
func isSkill(file string) bool {
	_, ok := skills.Category(path.Dir(file))
	return ok && path.Base(file) == "SKILL.md"
}

// The limits for reading one repository.
const (
	maxSkills     = 1000
	maxSkillBytes = 32 << 20
)
