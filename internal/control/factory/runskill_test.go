package factory_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
	"github.com/penstock-dev/penstock/skills"
)

// assigned returns the skills of the next execution, as origin and first line.
func (w *world) assigned(a penstock.Assignment) map[string]string {
	w.T.Helper()
	got := map[string]string{}
	for _, f := range a.Skills {
		file, err := skills.Parse([]byte(f.Files["SKILL.md"]))
		if err != nil {
			w.T.Errorf("%s: %v", f.Name, err)
		}
		line, _, _ := strings.Cut(file.Body, "\n")
		got[f.Name] = string(f.Origin) + " " + line
	}
	return got
}

func TestSkillsAreFoundByName(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.DefineFactory(testworld.Skilled())
		lead, leader := agentUID(w.T, f, "lead"), agentUID(w.T, f, "leader")
		for name, tt := range map[string]struct {
			agent, reference string
			want             *penstock.Skill
		}{
			"an agent's own comes first": {
				lead, "release",
				&penstock.Skill{Name: "release", Description: "About the lead's.", FullPath: "agents/lead/skills/release/SKILL.md"},
			},
			"then its factory's": {
				leader, "release",
				&penstock.Skill{Name: "release", Description: "About the factory's.", FullPath: "skills/release/SKILL.md"},
			},
			"which comes before a bundled": {
				leader, "create-skill",
				&penstock.Skill{
					Name: "create-skill", Description: "About the factory's own.", FullPath: "skills/create-skill/SKILL.md",
				},
			},
			"as an agent's own does": {
				lead, "pr-comments",
				&penstock.Skill{
					Name: "pr-comments", Description: "About the lead's own.", FullPath: "agents/lead/skills/pr-comments/SKILL.md",
				},
			},
			"another agent's is not its own": {lead, "secretive", &penstock.Skill{Name: "secretive"}},
			"nor anybody's without an agent": {"", "tidy", &penstock.Skill{Name: "tidy"}},
			"one in a repository": {
				lead, "acme/app:skills/release/SKILL.md", &penstock.Skill{Name: "release", FullPath: "skills/release/SKILL.md"},
			},
			"by its name in a repository": {lead, "app:create-skill", &penstock.Skill{Name: "create-skill"}},
		} {
			run := w.Get(w.Create(penstock.RunRequest{Skill: tt.reference, AgentIdentityUID: tt.agent}).ID)
			if diff := cmp.Diff(tt.want, run.Skill); diff != "" || run.Config.Name != tt.want.Name {
				w.T.Errorf("%s: the run %q (-want +got):\n%s", name, run.Config.Name, diff)
			}
		}
		run := w.Get(
			w.Create(
				penstock.RunRequest{Prompt: "go", Config: &penstock.Config{SkillSpec: "pr-comments"}, AgentIdentityUID: leader},
			).ID,
		)
		if run.Skill.BundledID != "pr-comments" || run.Skill.FullPath != "" || run.Skill.Description == "" ||
			run.Config.Name != "pr-comments" {
			w.T.Errorf("a bundled one: got %+v in the run %q", run.Skill, run.Config.Name)
		}
		run = w.Get(
			w.Create(
				penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Skills: []string{"release"}}, AgentIdentityUID: lead},
			).ID,
		)
		if run.Config.Name != "release" || run.ConfigSources["name"] != "skill" ||
			run.Skill.Description != "About the lead's." {
			w.T.Errorf("the only skill at hand: got %+v in the run %q", run.Skill, run.Config.Name)
		}
		if run.Config.SkillSpec != "release" || run.ConfigSources["skill_spec"] != "request" {
			w.T.Errorf("skill_spec: got %q from %q", run.Config.SkillSpec, run.ConfigSources["skill_spec"])
		}
		run = w.Get(
			w.Create(
				penstock.RunRequest{
					Prompt: "go", Config: &penstock.Config{Skills: []string{"release", "tidy"}}, AgentIdentityUID: lead,
				},
			).ID,
		)
		if run.Config.Name != "" || run.Config.SkillSpec != "" || run.Skill != nil {
			w.T.Errorf(
				"two skills at hand: got %+v in the run %q, skill_spec %q", run.Skill, run.Config.Name, run.Config.SkillSpec,
			)
		}
		_, err := w.Runs.Create(w.T.Context(), w.Admin, penstock.RunRequest{Skill: "tab-configs"}, "API")
		testworld.WantField(w.T, err, "/config/skill_spec")
		if err == nil || !strings.Contains(err.Error(), "terminal app") {
			w.T.Errorf("one that is not shipped: got %v, want the reason", err)
		}
		_, err = w.Runs.Create(
			w.T.Context(), w.Admin,
			penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Skills: []string{"vendor-api", "svcctrl"}}},
			"API",
		)
		testworld.WantField(w.T, err, "/config/skills/1")
		environment := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "e"}).UID
		w.Create(
			penstock.RunRequest{Skill: "tab-configs", Config: &penstock.Config{EnvironmentID: environment}},
		) // it may be in a repository
	})
}

func TestExecutionGetsTheSkillsOfItsAgent(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.DefineFactory(testworld.Skilled())
		w.Create(
			penstock.RunRequest{
				Prompt: "1", AgentIdentityUID: f.ForemanUID,
				Config: &penstock.Config{Skills: []string{"vendor-api", "tidy", "app:other", "pr-comments"}},
			},
		)
		w.Create(
			penstock.RunRequest{
				Prompt: "2", AgentIdentityUID: agentUID(w.T, f, "leader"), Config: &penstock.Config{SkillSpec: "svc-platform"},
			},
		)
		w.Create(penstock.RunRequest{Prompt: "3", Config: &penstock.Config{SkillSpec: "create-skill"}})
		w.Create(penstock.RunRequest{Prompt: "4"})
		first := w.Work()
		want := map[string]string{
			"release": "agent the lead's", "tidy": "factory tidiness", "create-skill": "factory the factory's own",
			"pr-comments": "agent the lead's own",
			"vendor-api":  "bundled # Working with the API of a model vendor",
		}
		if diff := cmp.Diff(want, w.assigned(first)); diff != "" {
			w.T.Errorf("the lead's (-want +got):\n%s", diff)
		}
		i := slices.IndexFunc(first.Skills, func(f penstock.SkillFolder) bool { return f.Name == "release" })
		if got := slices.Sorted(maps.Keys(first.Skills[i].Files)); !slices.Equal(got, []string{"SKILL.md", "run.sh"}) {
			w.T.Errorf("files of the lead's skill: got %v: those of the factory's are not its own", got)
		}
		want = map[string]string{
			"release": "factory the factory's", "tidy": "factory tidiness", "create-skill": "factory the factory's own",
			"secretive":    "agent another agent's",
			"svc-platform": "bundled # Using Penstock from inside a run",
		}
		if diff := cmp.Diff(want, w.assigned(w.Work())); diff != "" {
			w.T.Errorf("the other agent's (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(
			map[string]string{"create-skill": "bundled # Writing a skill"}, w.assigned(w.Work()),
		); diff != "" {
			w.T.Errorf("without a factory (-want +got):\n%s", diff)
		}
		if got := w.Work().Skills; len(got) != 0 {
			w.T.Errorf("without any: got %v", got)
		}
	})
}

// A run consists of what existed when it was created, whatever changes in the factory before its
// execution, and in later executions.
func TestSkillsStayAsTheyWereWhenTheRunWasCreated(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.DefineFactory(testworld.Skilled())
		id := w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID}).ID
		later := testworld.Skilled()
		later["skills/tidy/SKILL.md"] = testworld.SkillAbout("tidy", "chaos")
		later["skills/new/SKILL.md"] = testworld.SkillAbout("new", "news")
		delete(later, "agents/lead/skills/release/SKILL.md")
		delete(later, "agents/lead/skills/release/run.sh")
		if _, err := w.Factories.Apply(ctx, w.Admin, f.UID, factory.ApplyRequest{Files: later}); err != nil {
			w.T.Fatal(err)
		}
		renamed := "boss"
		if _, err := w.Resources.UpdateIdentity(
			ctx, w.Admin, f.ForemanUID, factory.IdentityRequest{Name: &renamed},
		); err != nil {
			w.T.Fatal(err)
		}
		w.Create(penstock.RunRequest{Prompt: "later", AgentIdentityUID: f.ForemanUID})
		before := map[string]string{
			"release": "agent the lead's", "tidy": "factory tidiness", "create-skill": "factory the factory's own",
			"pr-comments": "agent the lead's own",
		}
		first := w.Work()
		if diff := cmp.Diff(before, w.assigned(first)); diff != "" {
			w.T.Errorf("of the run from before (-want +got):\n%s", diff)
		}
		after := map[string]string{
			"release": "factory the factory's", "tidy": "factory chaos", "new": "factory news",
			"create-skill": "factory the factory's own", "pr-comments": "agent the lead's own",
		}
		if diff := cmp.Diff(after, w.assigned(w.Work())); diff != "" {
			w.T.Errorf("of the run from after (-want +got):\n%s", diff)
		}
		w.Finish(first.Lease, penstock.Result{State: penstock.StateSucceeded})
		if err := w.Factories.Delete(ctx, w.Admin, f.UID); err != nil {
			w.T.Fatal(err)
		}
		w.FollowUp(id, "once more")
		if diff := cmp.Diff(before, w.assigned(w.Work())); diff != "" {
			w.T.Errorf("of its next execution, when the factory is gone (-want +got):\n%s", diff)
		}
	})
}
