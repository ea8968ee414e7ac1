package factory_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// agent finds an agent of the factory by its name.
func (h *hooks) agent(name string) penstock.Identity {
	h.T.Helper()
	agents, err := h.Resources.ListIdentities(h.T.Context(), h.Admin, h.factory)
	i := slices.IndexFunc(agents, func(a penstock.Identity) bool { return a.Name == name })
	if err != nil || i < 0 {
		h.T.Fatalf("the agent %s: %v among %+v", name, err, agents)
	}
	return agents[i]
}

// applyAgain applies the files unchanged, and as another tree with the same meaning. Both change
// nothing.
func (h *hooks) applyAgain(after string) {
	h.T.Helper()
	before, files := h.rows(), h.files()
	if applied := h.apply(files.Files); !applied.Empty() || applied.Revision != files.Revision {
		h.T.Errorf("after %s the same files change something: %+v", after, applied)
	}
	if applied := h.apply(with(files.Files, "README.md", after)); !applied.Empty() {
		h.T.Errorf("after %s the files say something else: %+v", after, applied.Plan)
	}
	if diff := cmp.Diff(before, h.rows()); diff != "" {
		h.T.Errorf("after %s the files say something else, -rows +files:\n%s", after, diff)
	}
}

// spoil replaces the content of a file, as if a server with other rules had accepted it: it is
// active, and this server finds an error in it.
func (h *hooks) spoil(path, content string) {
	h.T.Helper()
	ctx := h.T.Context()
	err := h.Deps.Store.Write(ctx, func(tx *store.Tx) error {
		files, err := tx.Definitions().Files(ctx, h.factory)
		if err != nil {
			return err
		}
		n, err := tx.Factories().Revise(ctx, h.factory)
		if err != nil {
			return err
		}
		next := map[string][]byte{}
		maps.Copy(next, files)
		next[path] = []byte(content)
		revision := store.Revision{Number: n, Summary: "{}", CreatedAt: penstock.Now()}
		return tx.Definitions().AddRevision(ctx, h.factory, revision, files, next)
	})
	if err != nil {
		h.T.Fatal(err)
	}
}

func TestAnEditOfAnAgentGoesThroughItsFile(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx, fixer := h.T.Context(), h.agent("fixer")
		h.apply(with(with(team(), "automations/red/automation.md", strings.Replace(
			team()["automations/red/automation.md"], "agent: fixer # not the lead\n", "", 1,
		)), "agents/fixer/skills/mend/SKILL.md", "---\nname: mend\ndescription: Mends.\n---\nMend.\n"))
		changed, err := h.Resources.UpdateIdentity(ctx, h.Admin, fixer.UID, factory.IdentityRequest{
			Name: new("mender"), Prompt: new("\nMend it. \n\n"), Skills: &[]string{"an/owner:skill"},
			Harness: &penstock.Harness{Type: "builtin"}, BaseModel: new("demo/offline"),
			HarnessAuthSecrets: []byte(`{"claude_auth_secret_name": "SHARED"}`),
		})
		if err != nil {
			h.T.Fatal(err)
		}
		if changed.UID != fixer.UID || changed.Prompt != "Mend it." ||
			!slices.Equal(changed.Skills, []string{"an/owner:skill"}) || changed.Harness == nil ||
			changed.BaseModel != "demo/offline" || changed.HarnessAuthSecrets == nil {
			h.T.Errorf("got %+v, want the same agent, what its file says, and what no file can hold", changed)
		}
		files := h.files().Files
		if files["agents/mender/skills/mend/SKILL.md"] == "" || files["agents/fixer/agent.md"] != "" ||
			files["agents/mender/agent.md"] != "---\ndescription: mends\nsecrets: []\nmodel: demo/offline\n---\n\nMend it.\n" {
			h.T.Errorf("got the files %q", files)
		}
		h.applyAgain("a rename of an agent")
		// Another document stays, and so does a value that no file can hold.
		h.apply(with(h.files().Files, "agents/mender/agent.md", "---\ndescription: other\n---\nOther.\n"))
		if got := h.agent("mender"); got.UID != fixer.UID || len(got.Skills) != 1 || got.Description != "other" {
			h.T.Errorf("got %+v", got)
		}
		revision := h.files().Revision
		if got, err := h.Resources.UpdateIdentity(
			ctx, h.Admin, fixer.UID, factory.IdentityRequest{Skills: &[]string{}},
		); err != nil || len(got.Skills) != 0 || h.files().Revision != revision {
			h.T.Errorf("what no file can hold makes a revision of the files: %+v, %v", got, err)
		}
		if err := h.Resources.DeleteIdentity(ctx, h.Admin, fixer.UID); err != nil {
			h.T.Fatal(err)
		}
		h.applyAgain("the deletion of an agent")
	})
}

func TestAnEditOfAnAgentIsRefusedInTheWordsOfTheAPI(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx, fixer := h.T.Context(), h.agent("fixer")
		before, files := h.rows(), h.files()
		for _, tt := range []struct {
			request factory.IdentityRequest
			code    penstock.Code
			want    []string
		}{
			{factory.IdentityRequest{Name: new("Fix it")}, penstock.CodeInvalidRequest, []string{"/name"}},
			{factory.IdentityRequest{Name: new("a/b")}, penstock.CodeInvalidRequest, []string{"/name"}},
			{factory.IdentityRequest{Name: new("LEAD")}, penstock.CodeConflict, nil},
			{factory.IdentityRequest{Name: new("mender")}, penstock.CodeConflict, nil}, // an automation names it
			{
				factory.IdentityRequest{DefaultRunnerUID: new("none")},
				penstock.CodeInvalidRequest,
				[]string{"/default_runner_uid"},
			},
			{
				factory.IdentityRequest{Secrets: &[]penstock.NamedSecret{{Name: "SHARED"}, {Name: "SHARED"}}},
				penstock.CodeInvalidRequest,
				[]string{"/secrets"},
			},
		} {
			_, err := h.Resources.UpdateIdentity(ctx, h.Admin, fixer.UID, tt.request)
			if penstock.CodeOf(err) != tt.code || !slices.Equal(testworld.Pointers(err), tt.want) ||
				strings.Contains(err.Error(), "FF_") {
				h.T.Errorf("got %v, want %s at %s", err, tt.code, tt.want)
			}
			if diff := cmp.Diff(before, h.rows()) + cmp.Diff(files, h.files()); diff != "" {
				h.T.Fatalf("-before +after:\n%s", diff)
			}
		}
		err := h.Resources.DeleteIdentity(ctx, h.Admin, fixer.UID)
		testworld.WantCode(h.T, err, penstock.CodeConflict, "automations/red/automation.md:2")
	})
}

func TestAnEditOfAnAgentPassesFindingsElsewhere(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		h.spoil("automations/red/automation.md", "---\ntriggers: [{provider: webhook, event: received}]\nmood: bad\n---\nx\n")
		rows, files := h.rows(), h.files().Files
		if _, err := h.Resources.UpdateIdentity(
			ctx, h.Admin, h.agent("fixer").UID, factory.IdentityRequest{Description: new("heals")},
		); err != nil {
			h.T.Fatal(err)
		}
		if _, err := h.Factories.Update(
			ctx, h.Admin, h.factory, factory.FactoryRequest{Description: new("Works.")},
		); err != nil {
			h.T.Fatal(err)
		}
		files["agents/fixer/agent.md"] = strings.Replace(files["agents/fixer/agent.md"], "mends", "heals", 1)
		files["factory.yaml"] += "description: Works.\n"
		if diff := cmp.Diff(files, h.files().Files); diff != "" || cmp.Equal(rows, h.rows()) {
			h.T.Errorf("the same rows: %v, files -want +got:\n%s", cmp.Equal(rows, h.rows()), diff)
		}
		if list, err := h.Automations.List(ctx, h.Admin, h.factory); err != nil || list[0].Agent != "fixer" {
			h.T.Errorf("what the finding is about has changed: %+v, %v", list, err)
		}
	})
}

func TestAnEditOfAnAutomationGoesThroughItsFile(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		triggers := []penstock.Trigger{{
			Provider: "schedule", Event: "cron_fired",
			Schedule: &penstock.CronTrigger{Cron: "0 7 * * *", Timezone: "Europe/Berlin"},
		}}
		made, err := h.Resources.CreateAutomation(ctx, h.Admin, h.factory, factory.AutomationRequest{
			Name: new("daily"), Prompt: new("Look.\n\n"), Agent: new("FIXER"), Triggers: &triggers,
		})
		if err != nil || made.Agent != "fixer" || made.Prompt != "Look." || made.Triggers[0].Schedule.NextRun == 0 {
			h.T.Fatalf("got %+v, %v, want what its file says, and when it fires", made, err)
		}
		h.applyAgain("a new automation")
		h.spoil("agents/lead/agent.md", "---\nagentType: FOREMAN\nmood: bad\n---\n\nLead.\n") // no concern of these
		changed, err := h.Resources.UpdateAutomation(ctx, h.Admin, h.factory, made.UID, factory.AutomationRequest{
			Name: new("nightly"), Enabled: new(false), Model: new("demo/offline"),
		})
		if err != nil || changed.UID != made.UID || changed.Name != "nightly" || changed.Enabled ||
			changed.Model != "demo/offline" {
			h.T.Fatalf("got %+v, %v", changed, err)
		}
		h.spoil("agents/lead/agent.md", team()["agents/lead/agent.md"])
		files := h.files().Files
		if text := files["automations/nightly/automation.md"]; !strings.Contains(text, "enabled: false\n") ||
			files["automations/daily/automation.md"] != "" {
			h.T.Errorf("got the files %q", files)
		}
		h.applyAgain("a rename of an automation")
		for _, tt := range []struct {
			request factory.AutomationRequest
			code    penstock.Code
			want    []string
		}{
			{factory.AutomationRequest{Name: new("red")}, penstock.CodeConflict, nil},
			{factory.AutomationRequest{RunnerID: new("none")}, penstock.CodeInvalidRequest, []string{"/runner"}},
			{factory.AutomationRequest{Agent: new("none")}, penstock.CodeInvalidRequest, []string{"/agent"}},
		} {
			_, err := h.Resources.UpdateAutomation(ctx, h.Admin, h.factory, made.UID, tt.request)
			if penstock.CodeOf(err) != tt.code || !slices.Equal(testworld.Pointers(err), tt.want) {
				h.T.Errorf("got %v, want %s at %s", err, tt.code, tt.want)
			}
		}
		if err := h.Resources.DeleteAutomation(ctx, h.Admin, h.factory, made.UID); err != nil {
			h.T.Fatal(err)
		}
		if _, there := h.files().Files["automations/nightly/automation.md"]; there {
			h.T.Error("the file of a deleted automation is there still")
		}
		h.applyAgain("the deletion of an automation")
	})
}

func TestAnEditOfAWebhookGoesThroughItsFile(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		made := h.hook(factory.WebhookRequest{Name: new("Deploy Events"), Enabled: new(false)})
		h.values(made.UID, made.Secret)
		if made.Label != "Deploy Events" || made.Enabled ||
			!strings.Contains(h.files().Files["webhooks/deploy-events.yaml"], "enabled: false\n") {
			h.T.Errorf("got %+v and the files %q", made, h.files().Files)
		}
		h.applyAgain("a new webhook")
		h.spoil("agents/lead/agent.md", "---\nagentType: FOREMAN\nmood: bad\n---\n\nLead.\n") // no concern of these
		got := h.update(made.UID, factory.WebhookRequest{Enabled: new(true), ReplayGuard: new(true)})
		if !got.Enabled || !got.ReplayGuard {
			h.T.Errorf("got %+v", got)
		}
		revision := h.files().Revision
		got = h.update(made.UID, factory.WebhookRequest{Suspended: new(true)})
		if !got.Suspended || h.files().Revision != revision {
			h.T.Errorf("what no file can hold makes a revision of the files: %+v", got)
		}
		h.rotate(made.UID, factory.RotateRequest{Secret: new("another-value-of-it"), OverlapSeconds: 60})
		h.values(made.UID, "another-value-of-it", made.Secret)
		h.spoil("agents/lead/agent.md", team()["agents/lead/agent.md"])
		h.applyAgain("edits of a webhook")
		if got := h.read(made.UID); got.Label != "Deploy Events" || !got.Suspended || !got.Enabled || !got.ReplayGuard {
			h.T.Errorf("got %+v", got)
		}
		h.secret("LATER", nil)
		h.apply(with(h.files().Files, "webhooks/later.yaml", "secretName: LATER\nenabled: false\n"))
		list := h.webhooks()
		later := list[slices.IndexFunc(list, func(w penstock.Webhook) bool { return w.Name == "later" })].UID
		_, err := h.Resources.UpdateWebhook(ctx, h.Admin, h.factory, later, factory.WebhookRequest{Enabled: new(true)})
		testworld.WantCode(h.T, err, penstock.CodeConflict, "waits for its secret")
		got = h.update(later, factory.WebhookRequest{Secret: new("value-there-now-1")})
		if !got.Enabled || got.PendingSecret {
			h.T.Errorf("got %+v, want that it has its secret and is on", got)
		}
		h.values(later, "value-there-now-1")
		h.applyAgain("the secret of a webhook")
		_, err = h.Resources.CreateWebhook(ctx, h.Admin, h.factory, factory.WebhookRequest{Name: new("ci")})
		testworld.WantCode(h.T, err, penstock.CodeConflict, `a webhook named "ci" already exists`)
		if err := h.Resources.DeleteWebhook(ctx, h.Admin, h.factory, made.UID); err != nil {
			h.T.Fatal(err)
		}
		h.applyAgain("the deletion of a webhook")
	})
}

// Concurrent edits are all kept, in the files and in the rows.
func TestConcurrentEditsAreAllKept(t *testing.T) {
	withFactory(t, nil, func(h *hooks) {
		triggers := []penstock.Trigger{{
			Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired,
			Schedule: &penstock.CronTrigger{Cron: "0 5 * * *"},
		}}
		var want []string
		var together sync.WaitGroup
		for i := range 8 {
			name := fmt.Sprintf("at-once-%d", i)
			want = append(want, name)
			together.Go(func() {
				_, err := h.Resources.CreateAutomation(
					h.T.Context(), h.Admin, h.factory, factory.AutomationRequest{
						Name: &name, Prompt: new("look"), Triggers: &triggers,
					},
				)
				if err != nil {
					h.T.Errorf("create %s: %v", name, err)
				}
			})
		}
		together.Wait()
		list, err := h.Automations.List(h.T.Context(), h.Admin, h.factory)
		if err != nil {
			h.T.Fatal(err)
		}
		var got []string
		for _, a := range list {
			got = append(got, a.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			h.T.Errorf("automations (-want +got):\n%s", diff)
		}
		h.applyAgain("edits at once")
	})
}
