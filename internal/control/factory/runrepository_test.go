package factory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// A list that the API sets is in the files, and applying these changes nothing. An empty one is, too.
func TestRepositoriesGoThroughTheFiles(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx, fixer := h.T.Context(), h.agent("fixer")
		list := []penstock.RunRepository{{URL: "https://git.example.com/a/b", Ref: "main"}}
		for _, want := range [][]penstock.RunRepository{list, {}} {
			agent, err := h.Resources.UpdateIdentity(
				ctx, h.Admin, fixer.UID, factory.IdentityRequest{Repositories: &want},
			)
			if err != nil || cmp.Diff(want, agent.Repositories) != "" {
				h.T.Fatalf("the agent has %#v, %v", agent.Repositories, err)
			}
			automations, err := h.Automations.List(ctx, h.Admin, h.factory)
			if err != nil {
				h.T.Fatal(err)
			}
			changed, err := h.Resources.UpdateAutomation(
				ctx, h.Admin, h.factory, automations[0].UID, factory.AutomationRequest{Repositories: &want},
			)
			if err != nil || cmp.Diff(want, changed.Repositories) != "" {
				h.T.Fatalf("the automation has %#v, %v", changed.Repositories, err)
			}
			for _, path := range []string{"agents/fixer/agent.md", "automations/red/automation.md"} {
				if text := h.files().Files[path]; !strings.Contains(text, "repositories:") {
					h.T.Errorf("%s has no repositories:\n%s", path, text)
				}
			}
			h.applyAgain("repositories")
			if changed, err = h.Resources.UpdateAutomation(
				ctx, h.Admin, h.factory, automations[0].UID, factory.AutomationRequest{Cleared: []string{"repositories"}},
			); err != nil || changed.Repositories != nil {
				h.T.Errorf("the automation keeps %#v, %v", changed.Repositories, err)
			}
		}
		_, err := h.Resources.UpdateIdentity(ctx, h.Admin, fixer.UID, factory.IdentityRequest{
			Repositories: &[]penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}},
		})
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, `the team has no connection "acme"`)
		testworld.WantField(h.T, err, "/repositories/0/connection")
		_, err = h.Resources.UpdateIdentity(ctx, h.Admin, fixer.UID, factory.IdentityRequest{
			Repositories: &[]penstock.RunRepository{{}, {URL: "https://git.example.com/a/b", Ref: "-x"}},
		})
		if diff := cmp.Diff([]string{"/repositories/0/url", "/repositories/1/ref"}, testworld.Pointers(err)); diff != "" {
			h.T.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestFilesThatAnAgentHasConnectedNameNoRepositories(t *testing.T) {
	worlds(t, func(d *run.Deps) {
		cache, err := git.Open(t.Context(), git.Options{Dir: t.TempDir(), AllowLocal: true})
		if err != nil {
			t.Fatal(err)
		}
		d.Definitions = cache
	}, func(w *world) {
		ctx := w.T.Context()
		p := w.As("lead", penstock.ScopeFactoriesManage)
		p.AgentUID = w.CreateAgent(factory.IdentityRequest{Name: new("lead")}).UID
		const defaults = "agentDefaults:\n  model: demo/offline\n"
		files := func(name, more string) map[string]string {
			return map[string]string{
				"factory.yaml":         "schemaVersion: v1alpha1\nname: " + name + "\n" + defaults + more,
				"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\n\nLead.\n",
			}
		}
		const more = "  repositories: [{url: 'https://git.example.com/a/b'}]\n"
		create := func(p penstock.Principal, r *testkit.Repository) string {
			w.T.Helper()
			f, err := w.Factories.Create(ctx, p, factory.FactoryRequest{Repository: &penstock.Repository{URL: r.URL()}})
			if err != nil {
				w.T.Fatal(err)
			}
			return f.UID
		}
		want := func(about, uid string, status string, repositories int) {
			w.T.Helper()
			if _, err := w.Repositories.Sync(ctx, w.Admin, uid); err != nil {
				w.T.Fatal(err)
			}
			f, err := w.Factories.Read(ctx, w.Admin, uid)
			if err != nil || string(f.Definition.Status) != status || len(f.AgentDefaults.Repositories) != repositories {
				w.T.Errorf("%s: %+v, repositories %v, %v", about, f.Definition, f.AgentDefaults.Repositories, err)
			}
			if status == "invalid" && (len(f.Definition.Diagnostics) != 1 || f.Definition.Diagnostics[0].Line != 3 ||
				!strings.Contains(f.Definition.Diagnostics[0].Message, "a person has to add them")) {
				w.T.Errorf("%s: the findings are %+v", about, f.Definition.Diagnostics)
			}
		}
		ofAgent := testkit.NewRepository(w.T, w.T.TempDir(), "one")
		ofAgent.Commit("Begin", files("one", ""))
		uid := create(p, ofAgent)
		want("without repositories", uid, "applied", 0)
		ofAgent.Commit("Add", files("one", more))
		want("with some", uid, "invalid", 0)
		again := factory.FactoryRequest{Repository: &penstock.Repository{URL: ofAgent.URL()}}
		if _, err := w.Factories.Update(ctx, p, uid, again); err != nil {
			w.T.Fatal(err)
		}
		want("after the agent has named it again", uid, "invalid", 0)
		if _, err := w.Factories.Update(ctx, w.Admin, uid, again); err != nil {
			w.T.Fatal(err)
		}
		want("after a person has named it", uid, "applied", 1)

		ofPerson := testkit.NewRepository(w.T, w.T.TempDir(), "two")
		ofPerson.Commit("Begin", files("two", ""))
		uid = create(w.Admin, ofPerson)
		want("of a person", uid, "applied", 0)
		other := testkit.NewRepository(w.T, w.T.TempDir(), "three")
		other.Commit("Begin", files("two", more))
		if _, err := w.Factories.Update(
			ctx, p, uid, factory.FactoryRequest{Repository: &penstock.Repository{URL: other.URL()}},
		); err != nil {
			w.T.Fatal(err)
		}
		want("after the agent has moved it", uid, "invalid", 0)
	})
}

func TestAnAgentDoesNotLearnWhichConnectionsExist(t *testing.T) {
	withTeam(t, func(h *hooks) {
		p := h.As("lead", penstock.ScopeFactoriesManage)
		files := with(h.files().Files, "agents/fixer/agent.md",
			"---\nrepositories: [{connection: acme, path: acme/shop}]\n---\n\nMend.\n")
		shown := func(p penstock.Principal) string {
			h.T.Helper()
			validated, err := h.Factories.Validate(h.T.Context(), p, files)
			if err != nil {
				h.T.Fatal(err)
			}
			var text strings.Builder
			for _, d := range validated.Diagnostics {
				text.WriteString(d.Message + "\n")
			}
			return text.String()
		}
		const gone = "the team has no connection"
		if text := shown(p); !strings.Contains(text, gone) {
			h.T.Errorf("a person is shown %q", text)
		}
		p.AgentUID = h.agent("fixer").UID
		if text := shown(p); strings.Contains(text, gone) {
			h.T.Errorf("an agent is shown %q", text)
		}
	})
}
