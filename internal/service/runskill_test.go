package service_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/factory"
	"github.com/penstock-dev/penstock/internal/skillfile"
)

func skillAbout(name, body string) string {
	return "---\nname: " + name + "\ndescription: About " + body + ".\n---\n" + body + "\n"
}

// skilled is a factory whose agents have skills of their own and in common.
func skilled() map[string]string {
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: " +
			"demo/offline}\n",
		"agents/lead/agent.md":                     "---\nagentType: FOREMAN\n---\nLead.\n",
		"agents/lead/skills/release/SKILL.md":      skillAbout("release", "the lead's"),
		"agents/lead/skills/release/run.sh":        "#!/bin/sh\necho released\n",
		"agents/leader/agent.md":                   "Be led.\n",
		"agents/leader/skills/secretive/SKILL.md":  skillAbout("secretive", "another agent's"),
		"skills/release/SKILL.md":                  skillAbout("release", "the factory's"),
		"skills/release/notes/template.md":         "# Notes\n",
		"skills/tidy/SKILL.md":                     skillAbout("tidy", "tidiness"),
		"skills/create-skill/SKILL.md":             skillAbout("create-skill", "the factory's own"),
		"agents/lead/skills/pr-comments/SKILL.md":  skillAbout("pr-comments", "the lead's own"),
		"agents/lead/skills/pr-comments/README.md": "Read me.\n",
	}
}

// assigned returns the skills of the next execution, as origin and first line.
func (w *world) assigned(a penstock.Assignment) map[string]string {
	w.t.Helper()
	got := map[string]string{}
	for _, f := range a.Skills {
		file, err := skillfile.Parse([]byte(f.Files["SKILL.md"]))
		if err != nil {
			w.t.Errorf("%s: %v", f.Name, err)
		}
		line, _, _ := strings.Cut(file.Body, "\n")
		got[f.Name] = string(f.Origin) + " " + line
	}
	return got
}

func TestSkillsAreFoundByName(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.defineFactory(skilled())
		lead, leader := agentUID(w.t, f, "lead"), agentUID(w.t, f, "leader")
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
			run := w.get(w.create(penstock.RunRequest{Skill: tt.reference, AgentIdentityUID: tt.agent}).ID)
			if diff := cmp.Diff(tt.want, run.Skill); diff != "" || run.Config.Name != tt.want.Name {
				w.t.Errorf("%s: the run %q (-want +got):\n%s", name, run.Config.Name, diff)
			}
		}
		run := w.get(
			w.create(
				penstock.RunRequest{Prompt: "go", Config: &penstock.Config{SkillSpec: "pr-comments"}, AgentIdentityUID: leader},
			).ID,
		)
		if run.Skill.BundledID != "pr-comments" || run.Skill.FullPath != "" || run.Skill.Description == "" ||
			run.Config.Name != "pr-comments" {
			w.t.Errorf("a bundled one: got %+v in the run %q", run.Skill, run.Config.Name)
		}
		run = w.get(
			w.create(
				penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Skills: []string{"release"}}, AgentIdentityUID: lead},
			).ID,
		)
		if run.Config.Name != "release" || run.ConfigSources["name"] != "skill" ||
			run.Skill.Description != "About the lead's." {
			w.t.Errorf("the only skill at hand: got %+v in the run %q", run.Skill, run.Config.Name)
		}
		if run.Config.SkillSpec != "release" || run.ConfigSources["skill_spec"] != "request" {
			w.t.Errorf("skill_spec: got %q from %q", run.Config.SkillSpec, run.ConfigSources["skill_spec"])
		}
		run = w.get(
			w.create(
				penstock.RunRequest{
					Prompt: "go", Config: &penstock.Config{Skills: []string{"release", "tidy"}}, AgentIdentityUID: lead,
				},
			).ID,
		)
		if run.Config.Name != "" || run.Config.SkillSpec != "" || run.Skill != nil {
			w.t.Errorf(
				"two skills at hand: got %+v in the run %q, skill_spec %q", run.Skill, run.Config.Name, run.Config.SkillSpec,
			)
		}
		_, err := w.Runs.Create(w.t.Context(), w.admin, penstock.RunRequest{Skill: "tab-configs"}, penstock.SourceAPI)
		wantField(w.t, err, "/config/skill_spec")
		if err == nil || !strings.Contains(err.Error(), "terminal app") {
			w.t.Errorf("one that is not shipped: got %v, want the reason", err)
		}
		_, err = w.Runs.Create(
			w.t.Context(), w.admin,
			penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Skills: []string{"vendor-api", "svcctrl"}}},
			penstock.SourceAPI,
		)
		wantField(w.t, err, "/config/skills/1")
		environment := w.createEnvironment(penstock.EnvironmentConfig{Name: "e"}).UID
		w.create(
			penstock.RunRequest{Skill: "tab-configs", Config: &penstock.Config{EnvironmentID: environment}},
		) // it may be in a repository
	})
}

func TestExecutionGetsTheSkillsOfItsAgent(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.defineFactory(skilled())
		w.create(
			penstock.RunRequest{
				Prompt: "1", AgentIdentityUID: f.ForemanUID,
				Config: &penstock.Config{Skills: []string{"vendor-api", "tidy", "app:other", "pr-comments"}},
			},
		)
		w.create(
			penstock.RunRequest{
				Prompt: "2", AgentIdentityUID: agentUID(w.t, f, "leader"), Config: &penstock.Config{SkillSpec: "svc-platform"},
			},
		)
		w.create(penstock.RunRequest{Prompt: "3", Config: &penstock.Config{SkillSpec: "create-skill"}})
		w.create(penstock.RunRequest{Prompt: "4"})
		first := w.work()
		want := map[string]string{
			"release": "agent the lead's", "tidy": "factory tidiness", "create-skill": "factory the factory's own",
			"pr-comments": "agent the lead's own",
			"vendor-api":  "bundled # Working with the API of a model vendor",
		}
		if diff := cmp.Diff(want, w.assigned(first)); diff != "" {
			w.t.Errorf("the lead's (-want +got):\n%s", diff)
		}
		i := slices.IndexFunc(first.Skills, func(f penstock.SkillFolder) bool { return f.Name == "release" })
		if got := slices.Sorted(maps.Keys(first.Skills[i].Files)); !slices.Equal(got, []string{"SKILL.md", "run.sh"}) {
			w.t.Errorf("files of the lead's skill: got %v: those of the factory's are not its own", got)
		}
		want = map[string]string{
			"release": "factory the factory's", "tidy": "factory tidiness", "create-skill": "factory the factory's own",
			"secretive":    "agent another agent's",
			"svc-platform": "bundled # Using Penstock from inside a run",
		}
		if diff := cmp.Diff(want, w.assigned(w.work())); diff != "" {
			w.t.Errorf("the other agent's (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(
			map[string]string{"create-skill": "bundled # Writing a skill"}, w.assigned(w.work()),
		); diff != "" {
			w.t.Errorf("without a factory (-want +got):\n%s", diff)
		}
		if got := w.work().Skills; len(got) != 0 {
			w.t.Errorf("without any: got %v", got)
		}
	})
}

// A run consists of what existed when it was created, whatever changes in the factory before its
// execution, and in later executions.
func TestSkillsStayAsTheyWereWhenTheRunWasCreated(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.t.Context()
		f := w.defineFactory(skilled())
		id := w.create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID}).ID
		later := skilled()
		later["skills/tidy/SKILL.md"] = skillAbout("tidy", "chaos")
		later["skills/new/SKILL.md"] = skillAbout("new", "news")
		delete(later, "agents/lead/skills/release/SKILL.md")
		delete(later, "agents/lead/skills/release/run.sh")
		if _, err := w.Factories.Apply(ctx, w.admin, f.UID, factory.ApplyRequest{Files: later}); err != nil {
			w.t.Fatal(err)
		}
		renamed := "boss"
		if _, err := w.Resources.UpdateIdentity(
			ctx, w.admin, f.ForemanUID, penstock.IdentityRequest{Name: &renamed},
		); err != nil {
			w.t.Fatal(err)
		}
		w.create(penstock.RunRequest{Prompt: "later", AgentIdentityUID: f.ForemanUID})
		before := map[string]string{
			"release": "agent the lead's", "tidy": "factory tidiness", "create-skill": "factory the factory's own",
			"pr-comments": "agent the lead's own",
		}
		first := w.work()
		if diff := cmp.Diff(before, w.assigned(first)); diff != "" {
			w.t.Errorf("of the run from before (-want +got):\n%s", diff)
		}
		after := map[string]string{
			"release": "factory the factory's", "tidy": "factory chaos", "new": "factory news",
			"create-skill": "factory the factory's own", "pr-comments": "agent the lead's own",
		}
		if diff := cmp.Diff(after, w.assigned(w.work())); diff != "" {
			w.t.Errorf("of the run from after (-want +got):\n%s", diff)
		}
		w.finish(first.Lease, penstock.Result{State: penstock.StateSucceeded})
		if err := w.Factories.Delete(ctx, w.admin, f.UID); err != nil {
			w.t.Fatal(err)
		}
		w.followUp(id, "once more")
		if diff := cmp.Diff(before, w.assigned(w.work())); diff != "" {
			w.t.Errorf("of its next execution, when the factory is gone (-want +got):\n%s", diff)
		}
	})
}
