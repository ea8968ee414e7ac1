package run_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
	"github.com/penstock-dev/penstock/skills"
)

// upstream is a local repository acme/NAME with skills.
type upstream struct {
	t   *testing.T
	dir string
}

func newUpstream(t *testing.T, name string, files map[string]string) upstream {
	t.Helper()
	u := upstream{t, filepath.Join(t.TempDir(), "acme", name)}
	if err := os.MkdirAll(u.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	u.git("init", "-q", "-b", "main")
	u.commit(files)
	return u
}

func (u upstream) url() string { return "file://" + u.dir }

func (u upstream) git(args ...string) {
	u.t.Helper()
	cmd := exec.Command(
		"git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com", "-C", u.dir}, args...)...,
	)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		u.t.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
}

func (u upstream) commit(files map[string]string) {
	u.t.Helper()
	for name, content := range files {
		file := filepath.Join(u.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			u.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			u.t.Fatal(err)
		}
	}
	u.git("add", "-A")
	u.git("commit", "-q", "--allow-empty", "-m", "change")
}

func skillText(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + body + "\n"
}

// skillWorlds are worlds whose server reads local repositories.
func skillWorlds(t *testing.T, test func(w *world)) {
	worlds(t, func(o *run.Deps) {
		cache, err := git.Open(context.Background(), git.Options{Dir: t.TempDir(), AllowLocal: true})
		if err != nil {
			t.Fatal(err)
		}
		o.Repositories = cache
	}, test)
}

func (w *world) skills(q run.SkillQuery) []run.AgentSkillItem {
	w.T.Helper()
	items, err := w.Skills.Skills(w.T.Context(), w.Admin, q)
	if err != nil {
		w.T.Fatal(err)
	}
	return items
}

func idsOf(items []run.AgentSkillItem) []string {
	var ids []string
	for _, item := range items {
		for _, v := range item.Variants {
			ids = append(ids, item.Name+" = "+v.ID)
		}
	}
	return ids
}

func TestSkillsAreFoundInTheEnvironmentsRepositories(t *testing.T) {
	skillWorlds(t, func(w *world) {
		app := newUpstream(w.T, "app", map[string]string{
			".agents/skills/triage/SKILL.md":     skillText("triage", "Sorts issues.", "Look at each."),
			".claude/skills/Review/SKILL.md":     skillText("Review", "Reviews.", "Read."),
			".agents/skills/triage/ref/SKILL.md": skillText("deeper", "d", "b"),
			"docs/other/SKILL.md":                skillText("elsewhere", "d", "b"),
			"skills/office/sheet/SKILL.md":       skillText("sheet", "Counts.", "Count."),
			"skills/office/sheet/a/SKILL.md":     skillText("deep", "d", "b"),
			"README.md":                          "x",
		})
		lib := newUpstream(
			w.T, "lib", map[string]string{".cursor/skills/triage/SKILL.md": skillText("triage", "Sorts others.", "Look.")},
		)
		one := w.CreateEnvironment(
			penstock.EnvironmentConfig{Name: "one", Repos: []penstock.GitRepo{{URL: app.url()}, {URL: lib.url()}}},
		)
		two := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "two", Repos: []penstock.GitRepo{{URL: app.url()}}})

		inOne, inTwo := run.SkillEnvironment{
			UID: one.UID, Name: "one",
		}, run.SkillEnvironment{UID: two.UID, Name: "two"}
		want := []run.AgentSkillItem{
			{Name: "Review", Variants: []run.SkillVariant{{
				ID: "acme/app:.claude/skills/Review/SKILL.md", Description: "Reviews.", BasePrompt: "Read.",
				Source:       run.SkillSource{Owner: "acme", Name: "app", SkillPath: ".claude/skills/Review/SKILL.md"},
				Environments: []run.SkillEnvironment{inOne, inTwo},
			}}},
			{Name: "sheet", Variants: []run.SkillVariant{{
				ID: "acme/app:skills/office/sheet/SKILL.md", Description: "Counts.", BasePrompt: "Count.",
				Source:       run.SkillSource{Owner: "acme", Name: "app", SkillPath: "skills/office/sheet/SKILL.md"},
				Environments: []run.SkillEnvironment{inOne, inTwo},
			}}},
			{Name: "triage", Variants: []run.SkillVariant{
				{
					ID: "acme/app:.agents/skills/triage/SKILL.md", Description: "Sorts issues.", BasePrompt: "Look at each.",
					Source:       run.SkillSource{Owner: "acme", Name: "app", SkillPath: ".agents/skills/triage/SKILL.md"},
					Environments: []run.SkillEnvironment{inOne, inTwo},
				},
				{
					ID: "acme/lib:.cursor/skills/triage/SKILL.md", Description: "Sorts others.", BasePrompt: "Look.",
					Source:       run.SkillSource{Owner: "acme", Name: "lib", SkillPath: ".cursor/skills/triage/SKILL.md"},
					Environments: []run.SkillEnvironment{inOne},
				},
			}},
		}
		if diff := cmp.Diff(want, w.skills(run.SkillQuery{})); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(
			[]string{"triage = acme/lib:.cursor/skills/triage/SKILL.md"}, idsOf(w.skills(run.SkillQuery{Repo: "Acme/lib"})),
		); diff != "" {
			w.T.Errorf("of one repository, -want +got:\n%s", diff)
		}
		for _, repo := range []string{"acme", "acme/", "/lib", "a/b/c"} {
			_, err := w.Skills.Skills(w.T.Context(), w.Admin, run.SkillQuery{Repo: repo})
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "repo")
		}
		other := w.Admin
		other.Team = "another"
		if got, err := w.Skills.Skills(w.T.Context(), other, run.SkillQuery{}); err != nil || len(got) != 0 {
			w.T.Errorf("another team is told %v, %v", idsOf(got), err)
		}
	})
}

func TestSkillsSayWhenTheyLastRan(t *testing.T) {
	skillWorlds(t, func(w *world) {
		app := newUpstream(w.T, "app", map[string]string{
			".agents/skills/a/SKILL.md": skillText("a", "d", "b"), ".agents/skills/b/SKILL.md": skillText("b", "d", "b"),
			".agents/skills/c/SKILL.md":          skillText("c", "d", "b"),
			".agents/skills/vendor-api/SKILL.md": skillText("vendor-api", "d", "b"),
			".agents/skills/tidy/SKILL.md":       skillText("tidy", "d", "b"),
		})
		lib := newUpstream(w.T, "lib", map[string]string{".agents/skills/a/SKILL.md": skillText("a", "d", "b")})
		w.CreateEnvironment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: app.url()}, {URL: lib.url()}}})
		ran := func(skill string) penstock.Time {
			created := w.Create(penstock.RunRequest{Skill: skill})
			at := w.Get(created.ID).CreatedAt
			waitForAnotherMillisecond(at)
			return at
		}
		want := map[string]penstock.Time{"acme/lib:.agents/skills/a/SKILL.md": ran("acme/lib:a")}
		ran("a") // one of two: nobody can tell which
		ran("b")
		want["acme/app:.agents/skills/b/SKILL.md"] = ran("acme/app:.agents/skills/b/SKILL.md")
		ran("vendor-api") // the bundled one
		f := w.DefineFactory(testworld.Skilled())
		w.Create(penstock.RunRequest{Skill: "tidy", AgentIdentityUID: f.ForemanUID}) // the factory's
		personal := penstock.RunRequest{Skill: "c", Team: new(false)}
		if _, err := w.Runs.Create(
			w.T.Context(), w.CreateKeyFor("ada", penstock.ScopeRunsWrite), personal, run.SourceAPI,
		); err != nil {
			w.T.Fatal(err)
		}

		bob := w.As("bob", penstock.ScopeRunsRead)
		items, err := w.Skills.Skills(w.T.Context(), bob, run.SkillQuery{SortBy: "last_run"})
		if err != nil {
			w.T.Fatal(err)
		}
		got := map[string]penstock.Time{}
		for _, item := range items {
			for _, v := range item.Variants {
				if v.LastRunAt != nil {
					got[v.ID] = *v.LastRunAt
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		if names := items[0].Name + items[1].Name + items[2].Name; names != "bac" {
			w.T.Errorf("the order is %s, want the latest first: bac", names)
		}
	})
}

// A skill has the name in its front matter, or else its folder's. A reference may use either, and a
// run is found by the skill's id.
func TestRunsOfSkillsInRepositories(t *testing.T) {
	skillWorlds(t, func(w *world) {
		app := newUpstream(w.T, "app", map[string]string{
			".agents/skills/sort/SKILL.md":   skillText("triage", "Sorts issues.", "Look at each."),
			".claude/skills/triage/SKILL.md": skillText("other", "Another.", "Look."),
			".agents/skills/plain/SKILL.md":  "---\ndescription: Has no name.\n---\nLook.\n",
			".agents/skills/broken/SKILL.md": "---\nname: broken\n",
		})
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: app.url()}}})
		listed := idsOf(w.skills(run.SkillQuery{}))
		want := []string{
			"other = acme/app:.claude/skills/triage/SKILL.md", "plain = acme/app:.agents/skills/plain/SKILL.md",
			"triage = acme/app:.agents/skills/sort/SKILL.md",
		}
		if diff := cmp.Diff(want, listed); diff != "" {
			w.T.Errorf("skills (-want +got):\n%s", diff)
		}
		const triage, other, plain = "triage = acme/app:.agents/skills/sort/SKILL.md", "other = " +
			"acme/app:.claude/skills/triage/SKILL.md", "plain = acme/app:.agents/skills/plain/SKILL.md"
		runs := map[string][]string{}
		for reference, want := range map[string]string{
			"acme/app:triage": triage, "app:triage": triage, "triage": triage, "acme/app:sort": triage,
			"acme/app:.agents/skills/sort/SKILL.md": triage,
			"acme/app:other":                        other, "acme/app:.claude/skills/triage/SKILL.md": other,
			"acme/app:plain": plain,
		} {
			for _, config := range []penstock.Config{{SkillSpec: reference}, {Skills: []string{reference}}} {
				config.EnvironmentID = e.UID
				run := w.Get(w.Create(penstock.RunRequest{Prompt: "go", Config: &config}).ID)
				name, id, _ := strings.Cut(want, " = ")
				if run.Config.Name != name || run.Skill.Name != name || run.Skill.Description == "" ||
					"acme/app:"+run.Skill.FullPath != id {
					w.T.Errorf("%s: got %+v in the run %q, want %s", reference, run.Skill, run.Config.Name, want)
				}
				runs[id], runs["as "+reference] = append(runs[id], run.ID), append(runs["as "+reference], run.ID)
			}
		}
		for skill, want := range runs {
			skill = strings.TrimPrefix(skill, "as ")
			page, err := w.Runs.List(w.T.Context(), w.Admin, penstock.RunQuery{Skill: skill, Limit: 100})
			if err != nil {
				w.T.Fatal(err)
			}
			if _, isID := runs[skill]; isID {
				want = runs[skill]
			}
			var got []string
			for _, r := range page.Runs {
				got = append(got, r.ID)
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				w.T.Errorf("runs of %s (-want +got):\n%s", skill, diff)
			}
		}
		for _, item := range w.skills(run.SkillQuery{}) {
			if item.Variants[0].LastRunAt == nil {
				w.T.Errorf("%s has not run", item.Name)
			}
		}
		run := w.Get(
			w.Create(penstock.RunRequest{Skill: "acme/app:broken", Config: &penstock.Config{EnvironmentID: e.UID}}).ID,
		)
		if diff := cmp.Diff(&penstock.Skill{Name: "broken"}, run.Skill); diff != "" {
			w.T.Errorf("a malformed one (-want +got):\n%s", diff)
		}
	})
}

func TestUnusableSkillsAreListedOnRequest(t *testing.T) {
	skillWorlds(t, func(w *world) {
		app := newUpstream(w.T, "app", map[string]string{
			".agents/skills/good/SKILL.md":  skillText("good", "d", "b"),
			".agents/skills/empty/SKILL.md": "",
			".agents/skills/a b/SKILL.md":   skillText("spaced", "d", "b"),
			".agents/skills/huge/SKILL.md":  skillText("huge", "d", strings.Repeat("x", skills.MaxFileBytes)),
		})
		gone := "file://" + filepath.Join(w.T.TempDir(), "acme", "gone")
		w.CreateEnvironment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: app.url()}, {URL: gone}}})
		w.CreateEnvironment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: app.url(), Ref: "no-such-branch"}}})

		if diff := cmp.Diff(
			[]string{"good = acme/app:.agents/skills/good/SKILL.md", "spaced = acme/app:spaced"},
			idsOf(w.skills(run.SkillQuery{})),
		); diff != "" {
			w.T.Errorf("-want +got:\n%s", diff)
		}
		got := map[string]string{}
		for _, item := range w.skills(run.SkillQuery{IncludeMalformed: true}) {
			for _, v := range item.Variants {
				got[item.Name+" = "+v.ID] = v.Error
				if v.Error != "" && (v.Description != "" || v.BasePrompt != "") {
					w.T.Errorf("%s has an error and a text", v.ID)
				}
			}
		}
		for name, mentions := range map[string]string{
			"good = acme/app:.agents/skills/good/SKILL.md":   "",
			"empty = acme/app:.agents/skills/empty/SKILL.md": "neither a description nor a text",
			"spaced = acme/app:spaced":                       "", // its path cannot be a reference, but its name
			"huge = acme/app:.agents/skills/huge/SKILL.md":   "at most",
			"acme/gone = acme/gone":                          "cannot be read",
			"acme/app = acme/app":                            "no-such-branch",
		} {
			if text, found := got[name]; !found || !strings.Contains(text, mentions) || (text == "") != (mentions == "") {
				w.T.Errorf("%s: got %q, want an error with %q", name, text, mentions)
			}
		}
		if len(got) != 6 {
			w.T.Errorf("got %v", got)
		}
	})
}

func TestSkillsAreReadAgainOnRequest(t *testing.T) {
	skillWorlds(t, func(w *world) {
		app := newUpstream(w.T, "app", map[string]string{".agents/skills/a/SKILL.md": skillText("a", "d", "b")})
		w.CreateEnvironment(penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: app.url()}}})
		count := func(q run.SkillQuery) int { return len(w.skills(q)) }
		if got := count(run.SkillQuery{}); got != 1 {
			w.T.Fatalf("%d skills, want 1", got)
		}
		app.commit(map[string]string{".agents/skills/b/SKILL.md": skillText("b", "d", "b")})
		if got := count(run.SkillQuery{}); got != 1 {
			w.T.Errorf("%d skills within a minute, want the 1 of before", got)
		}
		if got := count(run.SkillQuery{Refresh: true}); got != 2 {
			w.T.Errorf("%d skills after a refresh, want 2", got)
		}
		// An unavailable remote leaves the known skills.
		if err := os.Rename(app.dir, app.dir+".away"); err != nil {
			w.T.Fatal(err)
		}
		if got := count(run.SkillQuery{Refresh: true}); got != 2 {
			w.T.Errorf("%d skills while the remote is away, want the 2 of before", got)
		}
		if got := count(run.SkillQuery{IncludeMalformed: true}); got != 3 {
			w.T.Errorf("%d items, want the 2 and what is wrong", got)
		}
	})
}

func TestSkillsWithoutGit(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.CreateEnvironment(penstock.EnvironmentConfig{GitHubRepos: []penstock.GitHubRepo{{Owner: "acme", Repo: "app"}}})
		if got := w.skills(run.SkillQuery{}); len(got) != 0 {
			w.T.Errorf("got %v", idsOf(got))
		}
		got := w.skills(run.SkillQuery{IncludeMalformed: true})
		if len(got) != 1 || !strings.Contains(got[0].Variants[0].Error, "git is not installed") {
			w.T.Errorf("got %+v, want that there is no git", got)
		}
	})
}
