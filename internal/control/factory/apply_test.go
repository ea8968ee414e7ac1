package factory_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// team is a factory with something of every kind. Comments are part of it.
func team() map[string]string {
	return map[string]string{
		"factory.yaml": "# ours\nschemaVersion: v1alpha1\nname: acme\nsecrets: [EVERYWHERE]\nagentDefaults:\n  " +
			"model: demo/offline # cheap\n  secrets: [SHARED]\n",
		"agents/lead/agent.md":  "---\n# leads\nagentType: FOREMAN\n---\n\nLead.\n",
		"agents/fixer/agent.md": "---\ndescription: mends\nsecrets: []\n---\n\nMend.\n",
		"automations/red/automation.md": "---\nagent: fixer # not the lead\ntriggers:\n  - provider: webhook\n    event: " +
			"received\n    filter:\n      webhook_ids: [ci]\n" +
			"      payload: {status: [failed]}\n---\n\nMend the build.\n",
		"webhooks/ci.yaml":     "# from the builds\nsecretName: CI_TOKEN\n",
		"skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n",
		"runners/small.yaml":   "platform: {linux: {dockerImage: debian}}\n",
	}
}

func withTeam(t *testing.T, test func(h *hooks)) {
	t.Helper()
	withFactory(t, nil, func(h *hooks) {
		for _, name := range []string{"EVERYWHERE", "SHARED", "CI_TOKEN"} {
			h.secret(name, new("the-value-of-"+name))
		}
		h.apply(team())
		test(h)
	})
}

func (h *hooks) apply(files map[string]string) factory.Applied {
	h.T.Helper()
	applied, err := h.Factories.Apply(h.T.Context(), h.Admin, h.factory, factory.ApplyRequest{Files: files})
	if err != nil {
		h.T.Fatalf("%v\n%+v", err, testworld.Findings(err))
	}
	return applied
}

func (h *hooks) files() factory.FactoryFiles {
	h.T.Helper()
	files, err := h.Factories.Definition(h.T.Context(), h.Admin, h.factory, 0)
	if err != nil {
		h.T.Fatal(err)
	}
	return files
}

// rows returns all rows of a factory, without counts and dates.
func (h *hooks) rows() any {
	h.T.Helper()
	ctx := h.T.Context()
	f, err := h.Factories.Read(ctx, h.Admin, h.factory)
	if err != nil {
		h.T.Fatal(err)
	}
	automations, err := h.Automations.List(ctx, h.Admin, h.factory)
	if err != nil {
		h.T.Fatal(err)
	}
	webhooks, err := h.Webhooks.List(ctx, h.Admin, h.factory)
	if err != nil {
		h.T.Fatal(err)
	}
	agents := []penstock.Identity{}
	for _, a := range f.Agents {
		agent, err := h.Resources.Identity(ctx, h.Admin, a.UID)
		if err != nil {
			h.T.Fatal(err)
		}
		agents = append(agents, agent)
	}
	f.Definition, f.UpdatedAt = penstock.FactoryDefinition{}, 0
	return []any{f, automations, webhooks, agents}
}

func with(files map[string]string, path, content string) map[string]string {
	files = maps.Clone(files)
	if files[path] = content; content == "" {
		delete(files, path)
	}
	return files
}

func TestFilesBecomeAFactory(t *testing.T) {
	withTeam(t, func(h *hooks) {
		got := h.files()
		if diff := cmp.Diff(team(), got.Files); diff != "" || got.Revision != 2 {
			h.T.Errorf("revision %d, files -want +got:\n%s", got.Revision, diff)
		}
		f, err := h.Factories.Read(h.T.Context(), h.Admin, h.factory)
		if err != nil || f.Definition.Revision != 2 || f.WebhookCount != 1 || f.AutomationCount != 1 || len(f.Agents) != 2 {
			h.T.Errorf("got %+v, %v", f, err)
		}
		run := h.dispatch()
		if diff := cmp.Diff(penstock.SecretNames{"SHARED", "EVERYWHERE"}, run.Config.Secrets); diff != "" ||
			run.Config.ModelID != penstock.ModelOffline || run.Config.BasePrompt != "Lead." {
			h.T.Errorf("a run of the foreman: got %+v", run.Config)
		}
		fixer := h.Get(h.Create(penstock.RunRequest{Prompt: "x", AgentIdentityUID: f.Agents[0].UID}).ID)
		if diff := cmp.Diff(penstock.SecretNames{"EVERYWHERE"}, fixer.Config.Secrets); diff != "" {
			h.T.Errorf("an agent with an empty list has none of the defaults, -want +got:\n%s", diff)
		}
		hook := h.read(h.webhooks()[0].UID)
		h.values(hook.UID, "the-value-of-CI_TOKEN")
	})
}

func (h *hooks) dispatch() penstock.Run {
	h.T.Helper()
	d, err := h.Factories.Dispatch(
		h.T.Context(), h.Admin, h.factory, factory.DispatchRequest{Prompt: "x"}, run.SourceAPI,
	)
	if err != nil {
		h.T.Fatal(err)
	}
	return h.Get(d.RunID)
}

func (h *hooks) webhooks() []penstock.Webhook {
	h.T.Helper()
	list, err := h.Webhooks.List(h.T.Context(), h.Admin, h.factory)
	if err != nil {
		h.T.Fatal(err)
	}
	return list
}

func TestDryRunReturnsThePlanAndChangesNothing(t *testing.T) {
	withTeam(t, func(h *hooks) {
		before, files := h.rows(), h.files()
		next := with(with(team(), "webhooks/ci.yaml", ""), "webhooks/new.yaml", "secretName: CI_TOKEN\n")
		next["agents/fixer/agent.md"] = "---\ndescription: repairs\n---\n\nMend.\n"
		dry, err := h.Factories.Apply(h.T.Context(), h.Admin, h.factory, factory.ApplyRequest{Files: next, DryRun: true})
		if err != nil {
			h.T.Fatal(err)
		}
		if diff := cmp.Diff(before, h.rows()) + cmp.Diff(files, h.files()); diff != "" || dry.Revision != 2 {
			h.T.Errorf("a dry run, of revision %d, changed -before +after:\n%s", dry.Revision, diff)
		}
		want := definition.Plan{
			Created: []definition.Change{{Kind: "webhook", Name: "new"}},
			Removed: []definition.Change{{Kind: "webhook", Name: "ci"}},
			Changed: []definition.Change{{Kind: "agent", Name: "fixer", Fields: []string{"description", "secrets"}}},
		}
		wet := h.apply(next)
		if diff := cmp.Diff(want, dry.Plan) + cmp.Diff(
			dry, wet, cmpopts.IgnoreFields(factory.Applied{}, "Revision"),
		); diff != "" || wet.Revision != 3 {
			h.T.Errorf("revision %d, -want +dry, -dry +wet:\n%s", wet.Revision, diff)
		}
	})
}

func TestTheSameFilesChangeNothing(t *testing.T) {
	withTeam(t, func(h *hooks) {
		before := h.rows()
		h.setSecret("CI_TOKEN", "another-ci-token-1")
		applied := h.apply(team())
		if !applied.Empty() || applied.Revision != 2 {
			h.T.Errorf("got %+v", applied)
		}
		if diff := cmp.Diff(before, h.rows(), cmpopts.IgnoreFields(penstock.Webhook{}, "OutdatedSecret"),
			cmpopts.IgnoreFields(penstock.FactoryDefinition{}, "OutdatedWebhooks")); diff != "" {
			h.T.Errorf("-before +after:\n%s", diff)
		}
		if !h.webhooks()[0].OutdatedSecret {
			h.T.Error("the webhook does not show that its secret has a new value")
		}
		hook := h.webhooks()[0].UID
		h.values(hook, "the-value-of-CI_TOKEN")
		h.apply(with(team(), "README.md", "# More\n")) // any new tree reads every secret again
		h.values(hook, "another-ci-token-1")
		if h.webhooks()[0].OutdatedSecret {
			h.T.Error("the webhook has the new value, and shows that it waits")
		}
	})
}

func TestNamesKeepTheirUIDs(t *testing.T) {
	withTeam(t, func(h *hooks) {
		first := h.webhooks()[0]
		h.apply(with(team(), "webhooks/ci.yaml", "authMode: url_token\nsecretName: SHARED\nreplayGuard: true\n"))
		if got := h.read(first.UID); got.AuthMode != penstock.AuthURLToken || got.SecretName != "SHARED" || !got.ReplayGuard {
			h.T.Errorf("got %+v", got)
		}
		h.values(first.UID, "the-value-of-SHARED")
		h.apply(with(team(), "webhooks/ci.yaml", ""))
		if _, err := h.WebhookValues(h.T.Context(), first.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			h.T.Errorf("the ingress finds a webhook whose file is gone: %v", err)
		}
		automations, err := h.Automations.List(h.T.Context(), h.Admin, h.factory)
		if err != nil || len(automations) != 1 || len(automations[0].Problems) == 0 {
			h.T.Errorf("what selects it: got %+v, %v, want it marked", automations, err)
		}
		applied := h.apply(team())
		if diff := cmp.Diff([]definition.Change{{Kind: "webhook", Name: "ci", Again: true}}, applied.Created); diff != "" {
			h.T.Errorf("-want +got:\n%s", diff)
		}
		if again := h.webhooks()[0].UID; again == first.UID {
			h.T.Errorf("a webhook that came again has the UID of the one before")
		}
	})
}

func TestInvalidFilesChangeNothing(t *testing.T) {
	tests := []struct{ name, path, content, code, at string }{
		{
			"an unknown secret", "webhooks/ci.yaml", "enabled: true\nsecretName: CI_TOKN\n", "FF_INVALID_REFERENCE",
			"webhooks/ci.yaml:2",
		},
		{
			"a secret that cannot be in a URL", "webhooks/ci.yaml", "authMode: url_token\nsecretName: SPACED\n",
			"FF_INVALID_VALUE", "webhooks/ci.yaml:2",
		},
		{
			"a secret that is none of the mode", "webhooks/ci.yaml", "# c\nsecretName: SPACED\n", "FF_INVALID_VALUE",
			"webhooks/ci.yaml:2",
		},
		{
			"an agent that is not declared", "automations/red/automation.md",
			"---\nagent: fixxer\ntriggers: [{provider: github, event: push}]\n---\nx\n", "FF_INVALID_REFERENCE",
			"automations/red/automation.md:2",
		},
		{
			"two foremen", "agents/fixer/agent.md", "---\nagentType: FOREMAN\n---\nx\n", "FF_DUPLICATE_KEY",
			"agents/lead/agent.md:3",
		},
		{
			"a bad filter", "automations/red/automation.md",
			"---\ntriggers:\n  - provider: webhook\n    event: received\n    filter: {webhook_ids: [ci], payload: {a: []}}\n" +
				"---\nx\n",
			"FF_INVALID_FILTER", "automations/red/automation.md:5",
		},
		{
			"an environment that is not there", "agents/fixer/agent.md", "---\nenvironmentId: gone\n---\nx\n",
			"FF_INVALID_REFERENCE", "agents/fixer/agent.md:2",
		},
		{"no factory.yaml", "factory.yaml", "", "FF_MISSING_FACTORY", "factory.yaml:1"},
	}
	withTeam(t, func(h *hooks) {
		h.secret("SPACED", new("a b"))
		before, files := h.rows(), h.files()
		for _, tt := range tests {
			tree := with(team(), tt.path, tt.content)
			tree["agents/other/agent.md"] = "x\n"
			_, err := h.Factories.Apply(h.T.Context(), h.Admin, h.factory, factory.ApplyRequest{Files: tree})
			found := testworld.Findings(err)
			if penstock.CodeOf(err) != penstock.CodeInvalidDefinition || len(found) == 0 {
				h.T.Errorf("%s: got %v", tt.name, err)
				continue
			}
			if at := fmt.Sprintf("%s:%d", found[0].Path, found[0].Line); found[0].Code != tt.code || at != tt.at {
				h.T.Errorf("%s: got %s at %s (%s), want %s at %s", tt.name, found[0].Code, at, found[0].Message, tt.code, tt.at)
			}
			if diff := cmp.Diff(before, h.rows()) + cmp.Diff(files, h.files()); diff != "" {
				h.T.Errorf("%s: -before +after:\n%s", tt.name, diff)
			}
		}
		h.dispatch()
		h.values(h.webhooks()[0].UID, "the-value-of-CI_TOKEN")
	})
}

func TestOneOfTwoEditsOfTheSameRevisionIsRefused(t *testing.T) {
	withTeam(t, func(h *hooks) {
		const n = 5
		errs := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				tree := with(team(), "agents/fixer/agent.md", fmt.Sprintf("number %d\n", i))
				_, errs[i] = h.Factories.Apply(
					h.T.Context(), h.Admin, h.factory, factory.ApplyRequest{Files: tree, BaseRevision: new(int64(2))},
				)
			})
		}
		all.Wait()
		won := 0
		for i, err := range errs {
			switch {
			case err == nil:
				won++
				if got := h.files(); got.Files["agents/fixer/agent.md"] != fmt.Sprintf("number %d\n", i) || got.Revision != 3 {
					h.T.Errorf("got %+v, want number %d", got, i)
				}
			case penstock.CodeOf(err) != penstock.CodeConflict:
				h.T.Error(err)
			}
		}
		if won != 1 {
			h.T.Errorf("%d were applied", won)
		}
	})
}

func TestAFactoryIsCreatedFromFiles(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		ctx := h.T.Context()
		files := map[string]string{
			"factory.yaml":         "schemaVersion: v1alpha1\nname: Pay\nalias: p\nagentDefaults: {model: auto}\n",
			"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nx\n",
		}
		f, err := h.Factories.Create(ctx, h.Admin, factory.FactoryRequest{Files: files})
		if err != nil || f.Name != "Pay" || f.Alias != "p" || len(f.Agents) != 1 || f.ForemanUID != f.Agents[0].UID ||
			f.Definition.Revision != 1 {
			h.T.Errorf("got %+v, %v", f, err)
		}
		h.factory = f.UID
		if diff := cmp.Diff(files, h.files().Files); diff != "" {
			h.T.Errorf("-want +got:\n%s", diff)
		}
		_, err = h.Factories.Create(ctx, h.Admin, factory.FactoryRequest{Files: files})
		testworld.WantCode(h.T, err, penstock.CodeConflict, "Pay")
		files["factory.yaml"] = "schemaVersion: v1alpha1\nname: Billing\nagentDefaults: {model: auto}\n"
		_, err = h.Factories.Create(ctx, h.Admin, factory.FactoryRequest{Name: new("Other"), Files: files})
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "/name")
	})
}

// Any sequence of edits leaves files that describe the factory: applying a tree that differs only
// in a comment, and is therefore applied completely, changes nothing.
func TestFilesAndRowsAgree(t *testing.T) {
	withTeam(t, func(h *hooks) {
		seed := rand.Uint64()
		h.T.Logf("seed %d", seed)
		e := editor{h, rand.New(rand.NewPCG(seed, 0)), 0}
		for range 15 {
			what, err := e.edit()
			if code := penstock.CodeOf(err); err != nil && code != penstock.CodeConflict && code != penstock.CodeInvalidRequest {
				h.T.Fatalf("%s: %v", what, err)
			}
			before, files := h.rows(), h.files()
			applied := h.apply(with(files.Files, "README.md", fmt.Sprint(e.n)))
			if diff := cmp.Diff(before, h.rows()); diff != "" || !applied.Empty() {
				h.T.Fatalf(
					"after %s (%v) the files say something else: %+v, -rows +files:\n%s\n%s", what, err, applied.Plan, diff,
					files.Files,
				)
			}
		}
		all := ""
		for _, content := range h.files().Files {
			all += content
		}
		for _, comment := range []string{"# ours", "# cheap", "# leads"} { // of what cannot be deleted
			if !strings.Contains(all, comment) {
				h.T.Errorf("the comment %q is lost:\n%s", comment, all)
			}
		}
	})
}

// editor edits a factory at random.
type editor struct {
	*hooks
	*rand.Rand
	n int
}

func (e *editor) edit() (what string, err error) {
	ctx := e.T.Context()
	e.n++
	name, flag := fmt.Sprintf("thing-%d", e.n), e.IntN(2) == 0
	f, err := e.Factories.Read(ctx, e.Admin, e.factory)
	if err != nil {
		return "read", err
	}
	automations, err := e.Automations.List(ctx, e.Admin, e.factory)
	if err != nil {
		return "read", err
	}
	hooks := e.webhooks()
	triggers := []penstock.Trigger{
		{
			Provider: "webhook", Event: "received", Filter: []byte(`{"webhook_ids":["ci","<&>"],"payload":{"a":[1,2.50,true]}}`),
		},
		{
			Provider: "schedule", Event: "cron_fired",
			Schedule: &penstock.CronTrigger{Cron: "0 7 * * *", Name: name, Timezone: "Europe/Berlin"},
		},
	}
	pick := func(n int) int { return e.IntN(max(n, 1)) }
	switch e.IntN(10) {
	case 0:
		_, err = e.Factories.Update(
			ctx, e.Admin, e.factory,
			factory.FactoryRequest{Name: &name, Description: new("# of " + name), Alias: new("a" + name)},
		)
		return "change the factory", err
	case 1, 2:
		_, err = e.Resources.CreateAutomation(ctx, e.Admin, e.factory, factory.AutomationRequest{
			Name: &name, Prompt: new("  do: {" + name + "}\n---\n"), Triggers: &triggers, Model: new("demo/offline"),
			Secrets: &[]string{}, Enabled: &flag,
		})
		return "create an automation", err
	case 3:
		_, err = e.Resources.CreateWebhook(
			ctx, e.Admin, e.factory, signature(name, []string{"github", "stripe"}[e.IntN(2)], nil),
		)
		return "create a pending webhook", err
	case 4:
		_, err = e.Resources.CreateWebhook(
			ctx, e.Admin, e.factory,
			factory.WebhookRequest{Name: &name, Enabled: &flag, DeliveryIDHeader: new("X-Id"), ReplayGuard: &flag},
		)
		return "create a webhook", err
	}
	if len(automations) == 0 || len(hooks) == 0 {
		return "nothing", nil
	}
	a, w, agent := automations[pick(len(automations))], hooks[pick(len(hooks))], f.Agents[pick(len(f.Agents))]
	switch e.IntN(7) {
	case 0:
		_, err = e.Resources.UpdateAutomation(
			ctx, e.Admin, e.factory, a.UID,
			factory.AutomationRequest{Enabled: &flag, Prompt: new("now " + name), Cleared: []string{"model", "agent"}},
		)
		return "change an automation", err
	case 1:
		_, err = e.Resources.UpdateAutomation(ctx, e.Admin, e.factory, a.UID, factory.AutomationRequest{
			Name: &name,
			MCPServers: &map[string]penstock.MCPServer{
				"x": {URL: "https://example.com", Headers: map[string]string{"A": "${{ secrets.SHARED }}"}},
			},
		})
		return "rename an automation", err
	case 2:
		return "delete an automation", e.Resources.DeleteAutomation(ctx, e.Admin, e.factory, a.UID)
	case 3:
		_, err = e.Resources.UpdateWebhook(
			ctx, e.Admin, e.factory, w.UID,
			factory.WebhookRequest{Enabled: &flag, ReplayGuard: new(!flag), SecretRefresh: new(penstock.RefreshImmediate)},
		)
		return "change a webhook", err
	case 4:
		_, err = e.Resources.RotateWebhookSecret(
			ctx, e.Admin, e.factory, w.UID, factory.RotateRequest{Secret: new("given-by-a-person-" + name)},
		)
		return "rotate", err
	case 5:
		return "delete a webhook", e.Resources.DeleteWebhook(ctx, e.Admin, e.factory, w.UID)
	}
	_, err = e.Resources.UpdateIdentity(ctx, e.Admin, agent.UID, factory.IdentityRequest{
		Name: &name, Prompt: new("I am " + name), Secrets: &[]penstock.NamedSecret{{Name: "SHARED"}},
		Harness: &penstock.Harness{Type: "builtin"}, BaseModel: &name,
	})
	return "change an agent", err
}

// A README.md is not a document, even if an automation has that name.
func TestAnAutomationCanBeNamedReadme(t *testing.T) {
	withTeam(t, func(h *hooks) {
		document := "---\n# pushes\ntriggers:\n  - {provider: github, event: push} # of us\n---\nLook.\n"
		h.apply(with(team(), "automations/look.md", document))
		automations, err := h.Automations.List(h.T.Context(), h.Admin, h.factory)
		if err != nil {
			h.T.Fatal(err)
		}
		request := factory.AutomationRequest{Name: new("readme")}
		if _, err := h.Resources.UpdateAutomation(
			h.T.Context(), h.Admin, h.factory, automations[0].UID, request,
		); err != nil {
			h.T.Fatal(err)
		}
		want := with(team(), "automations/readme/automation.md", document)
		if diff := cmp.Diff(want, h.files().Files); diff != "" {
			h.T.Errorf("files -want +got:\n%s", diff)
		}
	})
}

// The built-in agent has two spellings. An edit keeps the existing one, with its comments.
func TestAnEditKeepsHowAHarnessIsWritten(t *testing.T) {
	withTeam(t, func(h *hooks) {
		const (
			path = "agents/fixer/agent.md"
			text = "---\nharness: # ours\n  type: builtin\n  # cheap\n  model: demo/offline\ndescription: mends\nsecrets: []\n" +
				"---\n\nMend.\n"
		)
		h.apply(with(team(), path, text))
		f, err := h.Factories.Read(h.T.Context(), h.Admin, h.factory)
		if err != nil {
			h.T.Fatal(err)
		}
		fixer := f.Agents[slices.IndexFunc(f.Agents, func(a penstock.FactoryAgent) bool { return a.Name == "fixer" })].UID
		for _, edit := range []struct {
			factory.IdentityRequest

			old, changed string
		}{
			{factory.IdentityRequest{Description: new("heals")}, "mends", "heals"},
			{factory.IdentityRequest{Secrets: &[]penstock.NamedSecret{{Name: "SHARED"}}}, "[]", "[SHARED]"},
			{factory.IdentityRequest{BaseModel: new("auto")}, "demo/offline", "auto"},
		} {
			want := strings.Replace(h.files().Files[path], edit.old, edit.changed, 1)
			if _, err := h.Resources.UpdateIdentity(h.T.Context(), h.Admin, fixer, edit.IdentityRequest); err != nil {
				h.T.Fatal(err)
			}
			if diff := cmp.Diff(want, h.files().Files[path]); diff != "" {
				h.T.Errorf("-want +got:\n%s", diff)
			}
		}
	})
}

func TestHistoryShowsAuthorsAndChanges(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		h.apply(with(team(), "webhooks/ci.yaml", "# from the builds\nsecretName: SHARED\n"))
		if err := h.Resources.DeleteWebhook(ctx, h.Admin, h.factory, h.webhooks()[0].UID); err != nil {
			h.T.Fatal(err)
		}
		page, err := h.Factories.History(ctx, h.Admin, h.factory, 2, "")
		if err != nil || len(page.Revisions) != 2 || !page.PageInfo.HasNext {
			h.T.Fatalf("got %+v, %v", page, err)
		}
		deleted, changed := page.Revisions[0], page.Revisions[1]
		want := "--- a/webhooks/ci.yaml\n+++ b/webhooks/ci.yaml\n@@ -2,1 +2,1 @@\n-secretName: CI_TOKEN\n+secretName: " +
			"SHARED\n"
		if diff := cmp.Diff(want, changed.Diff); diff != "" || changed.Revision != 3 || changed.Author == nil ||
			changed.Author.UID != h.Admin.Actor.UID {
			h.T.Errorf("got %+v, -want +got:\n%s", changed, diff)
		}
		want = "--- a/webhooks/ci.yaml\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-# from the builds\n-secretName: SHARED\n"
		if diff := cmp.Diff(want, deleted.Diff) + cmp.Diff(
			[]definition.Change{{Kind: "webhook", Name: "ci"}}, deleted.Removed,
		); diff != "" {
			h.T.Errorf("-want +got:\n%s", diff)
		}
		rest, err := h.Factories.History(ctx, h.Admin, h.factory, 2, page.PageInfo.NextCursor)
		if err != nil || len(rest.Revisions) != 2 || rest.Revisions[0].Revision != 2 || rest.Revisions[1].Revision != 1 ||
			rest.PageInfo.HasNext {
			h.T.Errorf("got %+v, %v", rest, err)
		}
	})
}
