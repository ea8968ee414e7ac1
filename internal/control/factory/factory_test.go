package factory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func (w *world) createFactory(name, alias string) penstock.Factory {
	w.T.Helper()
	f, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Name: &name, Alias: &alias})
	if err != nil {
		w.T.Fatal(err)
	}
	return f
}

func TestFactoriesAreKnownByNameAndAlias(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory(" Payments ", "pay")
		if f.Name != "Payments" || f.Source != store.FactoryService || len(f.Agents) != 1 ||
			f.Agents[0].UID != f.ForemanUID || f.Agents[0].Type != factory.AgentForeman {
			w.T.Errorf("got %+v, want one with a foreman", f)
		}
		w.createFactory("100%_b", "")
		w.createFactory("1000b", "")
		for what, req := range map[string]factory.FactoryRequest{
			"a name that is taken":              {Name: new("PAYMENTS")},
			"a name that is an alias":           {Name: new("Pay")},
			"an alias that is a name":           {Name: new("x"), Alias: new("payments")},
			"an alias that is taken":            {Name: new("x"), Alias: new("PAY")},
			"a name of another, in its own way": {Name: new("y"), Alias: new("1000B")},
		} {
			if _, err := w.Factories.Create(ctx, w.Admin, req); penstock.CodeOf(err) != penstock.CodeConflict {
				w.T.Errorf("%s: got %v, want a conflict", what, err)
			}
		}
		for search, want := range map[string][]string{
			"PAY": {"Payments"}, "0%_": {"100%_b"}, "": {"100%_b", "1000b", "Payments"}, "nobody": {},
		} {
			page, err := w.Factories.List(ctx, w.Admin, penstock.FactoryQuery{Search: search})
			if err != nil {
				w.T.Fatal(err)
			}
			got := []string{}
			for _, f := range page.Factories {
				got = append(got, f.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				w.T.Errorf("search %q (-want +got):\n%s", search, diff)
			}
		}
		first, err := w.Factories.List(ctx, w.Admin, penstock.FactoryQuery{Limit: 2})
		if err != nil || !first.PageInfo.HasNext {
			w.T.Fatalf("got %+v (%v), want another page", first.PageInfo, err)
		}
		second, err := w.Factories.List(ctx, w.Admin, penstock.FactoryQuery{Limit: 2, Cursor: first.PageInfo.NextCursor})
		if err != nil || len(second.Factories) != 1 || second.Factories[0].Name != "Payments" || second.PageInfo.HasNext {
			w.T.Errorf("the second page: got %+v (%v)", second, err)
		}
		if _, err := w.Factories.List(
			ctx, w.Admin, penstock.FactoryQuery{Search: "x", Cursor: first.PageInfo.NextCursor},
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("a cursor of another search: got %v", err)
		}
		changed, err := w.Factories.Update(
			ctx, w.Admin, f.UID, factory.FactoryRequest{Description: new("d"), Cleared: []string{"alias"}},
		)
		if err != nil || changed.Alias != "" || changed.Description != "d" || changed.Name != "Payments" ||
			changed.Definition.Revision != 2 {
			w.T.Errorf("changed: got %+v (%v)", changed, err)
		}
		if got, err := w.Factories.Read(ctx, w.Admin, f.UID); err != nil || cmp.Diff(changed, got) != "" {
			w.T.Errorf("read after the change (%v): %s", err, cmp.Diff(changed, got))
		}
		_, err = w.Factories.Create(ctx, w.Admin, factory.FactoryRequest{Name: new(" "), Alias: new("a/b")})
		if got := pointersOf(err); cmp.Diff([]string{"/name", "/alias"}, got) != "" {
			w.T.Errorf("a bad factory: got %v", err)
		}
	})
}

// pointersOf lists the fields that an error names.
func pointersOf(err error) []string {
	var known *penstock.Error
	var out []string
	if asError(err, &known) {
		for _, f := range known.Fields {
			out = append(out, f.Pointer)
		}
	}
	return out
}

func TestAFactoryOfAnotherTeamDoesNotExist(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.createFactory("acme", "")
		a := w.createAutomation(f.UID, testworld.ClockAutomation("nightly", "@daily"))
		other := penstock.Principal{
			Team: "another", Actor: penstock.Actor{Type: "user", UID: "eve"}, Scopes: []penstock.Scope{penstock.ScopeAdmin},
		}
		ctx := w.T.Context()
		for what, call := range map[string]func() error{
			"read":   func() error { _, err := w.Factories.Read(ctx, other, f.UID); return err },
			"change": func() error { _, err := w.Factories.Update(ctx, other, f.UID, factory.FactoryRequest{}); return err },
			"delete": func() error { return w.Factories.Delete(ctx, other, f.UID) },
			"dispatch": func() error {
				_, err := w.Factories.Dispatch(ctx, other, f.UID, factory.DispatchRequest{Prompt: "x"}, "")
				return err
			},
			"list":       func() error { _, err := w.Automations.List(ctx, other, f.UID); return err },
			"automation": func() error { _, err := w.Automations.Read(ctx, other, f.UID, a.UID); return err },
			"create": func() error {
				_, err := w.Resources.CreateAutomation(ctx, other, f.UID, testworld.ClockAutomation("x", "@daily"))
				return err
			},
			"update": func() error {
				_, err := w.Resources.UpdateAutomation(ctx, other, f.UID, a.UID, factory.AutomationRequest{Enabled: new(false)})
				return err
			},
			"remove": func() error { return w.Resources.DeleteAutomation(ctx, other, f.UID, a.UID) },
			"test": func() error {
				_, err := w.Deliveries.TestFilter(
					ctx, other, f.UID, factory.FilterTest{Filter: []byte(`{}`), Payload: []byte(`1`)},
				)
				return err
			},
		} {
			if err := call(); penstock.CodeOf(err) != penstock.CodeNotFound {
				w.T.Errorf("%s: got %v, want 404", what, err)
			}
		}
		if page, err := w.Factories.List(ctx, other, penstock.FactoryQuery{}); err != nil || len(page.Factories) != 0 {
			w.T.Errorf("the other team lists %+v (%v)", page, err)
		}
		another := w.createFactory("other", "")
		if _, err := w.Automations.Read(ctx, w.Admin, another.UID, a.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			w.T.Errorf("an automation of another factory: got %v", err)
		}
	})
}

func TestWorkIsDispatchedToTheForeman(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.createFactory("acme", "")
		ctx := w.T.Context()
		d, err := w.Factories.Dispatch(ctx, w.Admin, f.UID, factory.DispatchRequest{
			Prompt: "Mend it.", Title: "Cents", TicketRef: "linear:PAY:42", TicketURL: "https://linear.app/PAY-42",
		}, "CLI")
		if err != nil {
			w.T.Fatal(err)
		}
		run := w.Get(d.RunID)
		if d.RunURL != "https://penstock.test/runs/"+d.RunID || d.State != penstock.StateQueued ||
			d.FactoryUID != f.UID || d.ForemanAgent != "foreman" || d.TicketRef != "linear:PAY:42" {
			w.T.Errorf("got %+v", d)
		}
		if diff := cmp.Diff(map[string]string{"ticket_source": "linear", "ticket_id": "PAY:42"}, run.Metadata); diff != "" {
			w.T.Errorf("metadata (-want +got):\n%s", diff)
		}
		if run.FactoryUID != f.UID || run.Executor.UID != f.ForemanUID || run.Creator.UID != w.Admin.Actor.UID ||
			run.TriggerURL != "https://linear.app/PAY-42" || run.Title != "Cents" || run.Source != "CLI" {
			w.T.Errorf("got the run %+v", run)
		}
		if !strings.Contains(run.Config.BasePrompt, "foreman") || run.ConfigSources["base_prompt"] != "agent" {
			w.T.Errorf("the foreman's prompt: got %q from %q", run.Config.BasePrompt, run.ConfigSources["base_prompt"])
		}
		d, err = w.Factories.Dispatch(ctx, w.Admin, f.UID, factory.DispatchRequest{Prompt: "x"}, "API")
		if err != nil {
			w.T.Fatal(err)
		}
		if diff := cmp.Diff(
			map[string]string{"ticket_source": "adhoc", "ticket_id": d.RunID}, w.Get(d.RunID).Metadata,
		); diff != "" {
			w.T.Errorf("without a ticket (-want +got):\n%s", diff)
		}
		if d.TicketRef != "adhoc:"+d.RunID {
			w.T.Errorf("without a ticket: got the reference %q", d.TicketRef)
		}
		_, err = w.Factories.Dispatch(
			ctx, w.Admin, f.UID, factory.DispatchRequest{TicketRef: "PAY-42", TicketURL: "javascript:alert(1)"},
			"API",
		)
		if diff := cmp.Diff([]string{"/prompt", "/ticket_ref", "/ticket_url"}, pointersOf(err)); diff != "" {
			w.T.Errorf("all that is wrong (-want +got):\n%s", diff)
		}
		if _, err := w.Factories.Dispatch(
			ctx, w.As("reader", penstock.ScopeFactoriesManage), f.UID, factory.DispatchRequest{Prompt: "x"}, "",
		); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("without runs:write: got %v", err)
		}
	})
}

func TestAFactoryShowsItsDefaultsAndRepositories(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.Harnesses = append(o.Harnesses, "claude") }, func(w *world) {
		w.CreateSecret("TOKEN", "value-of-token")
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "app"})
		foreman := "---\nagentType: FOREMAN\n---\nLead.\n"
		f := w.DefineFactory(map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: acme\ncredentialStrategy: CREATOR\n" +
				"repositories: [{owner: acme, name: shop}, {owner: acme, name: docs}]\n" +
				"agentDefaults:\n  harness: {type: claude, model: opus}\n  secrets: [TOKEN]\n  workerHost: box\n  runner: small\n" +
				"  environmentId: " + e.UID + "\n  mcpServers: {docs: {url: 'https://docs.example.com/mcp'}}\n",
			"agents/lead/agent.md": foreman,
			"runners/small.yaml":   "platform: {linux: {dockerImage: debian}}\n",
		})
		want := penstock.FactorySettings{
			Repositories: []penstock.WorkRepository{
				{Owner: "acme", Repo: "shop", CodeForge: "GITHUB"}, {Owner: "acme", Repo: "docs", CodeForge: "GITHUB"},
			},
			CodeForge: "GITHUB", CodeForges: []penstock.CodeForge{"GITHUB"}, CredentialStrategy: "CREATOR",
			DefaultEnvironment: e.UID,
			AgentDefaults: penstock.AgentDefaults{
				DefaultRunnerUID: "small", WorkerHost: "box", Secrets: secretRefs("TOKEN"),
				Harness:    &penstock.Harness{Type: "claude", ModelID: "opus"},
				MCPServers: map[string]penstock.MCPServer{"docs": {URL: "https://docs.example.com/mcp"}},
			},
		}
		read, err := w.Factories.Read(w.T.Context(), w.Admin, f.UID)
		if diff := cmp.Diff(want, read.FactorySettings); diff != "" || err != nil || read.TeamUID != "default" {
			w.T.Errorf("read from team %q, %v, -want +got:\n%s", read.TeamUID, err, diff)
		}
		if diff := cmp.Diff(f, read); diff != "" {
			w.T.Errorf("-created +read:\n%s", diff)
		}

		plain := w.createFactory("plain", "")
		want = penstock.FactorySettings{
			Repositories: []penstock.WorkRepository{}, CodeForge: "NONE", CodeForges: []penstock.CodeForge{"NONE"},
			CredentialStrategy: "EXECUTOR", DefaultModel: "auto",
			AgentDefaults: penstock.AgentDefaults{Secrets: secretRefs(), MCPServers: map[string]penstock.MCPServer{}},
		}
		if diff := cmp.Diff(want, plain.FactorySettings); diff != "" {
			w.T.Errorf("without repositories, -want +got:\n%s", diff)
		}
	})
}

func TestAForemanGoesWithItsFactory(t *testing.T) {
	worlds(t, testworld.DefaultWebhooks, func(w *world) {
		ctx := w.T.Context()
		f := w.createFactory("acme", "a")
		if err := w.Resources.DeleteIdentity(ctx, w.Admin, f.ForemanUID); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("delete the foreman: got %v, want a conflict", err)
		}
		if _, err := w.Resources.UpdateIdentity(
			ctx, w.Admin, f.ForemanUID, factory.IdentityRequest{Type: new(penstock.AgentType("CUSTOM"))},
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("make the foreman something else: got %v", err)
		}
		if _, err := w.Resources.UpdateIdentity(
			ctx, w.Admin, f.ForemanUID, factory.IdentityRequest{Prompt: new("own")},
		); err != nil {
			w.T.Errorf("another prompt: %v", err)
		}
		hook, err := w.Resources.CreateWebhook(ctx, w.Admin, f.UID, factory.WebhookRequest{Name: new("ci")})
		if err != nil {
			w.T.Fatal(err)
		}
		a := w.createAutomation(f.UID, testworld.ClockAutomation("nightly", "@daily"))
		d, err := w.Factories.Dispatch(ctx, w.Admin, f.UID, factory.DispatchRequest{Prompt: "x"}, "API")
		if err != nil {
			w.T.Fatal(err)
		}
		before, err := w.TeamVersion(ctx)
		if err != nil {
			w.T.Fatal(err)
		}
		if err := w.Factories.Delete(ctx, w.Admin, f.UID); err != nil {
			w.T.Fatal(err)
		}
		if after, err := w.TeamVersion(ctx); err != nil || after <= before {
			w.T.Errorf("got version %d after %d (%v)", after, before, err)
		}
		for what, err := range map[string]error{
			"the factory": func() error { _, err := w.Factories.Read(ctx, w.Admin, f.UID); return err }(),
			"its foreman": func() error { _, err := w.Resources.Identity(ctx, w.Admin, f.ForemanUID); return err }(),
			"its webhook": func() error { _, err := w.Webhooks.Read(ctx, w.Admin, f.UID, hook.UID); return err }(),
			"its ingress": func() error { _, err := w.Receiver.Plan(ctx, hook.UID, false, false); return err }(),
		} {
			if penstock.CodeOf(err) != penstock.CodeNotFound {
				w.T.Errorf("%s: got %v, want 404", what, err)
			}
		}
		if err := w.Schedules.FireClocks(ctx, a.Triggers[0].Schedule.NextRun); err != nil {
			w.T.Fatal(err)
		}
		if runs := w.runsOfAutomation(a.UID); len(runs) != 0 {
			w.T.Errorf("an automation that is gone fired: %+v", runs)
		}
		w.MustBe(d.RunID, penstock.StateQueued)
		w.createFactory("acme", "a") // the names are free again
	})
}

// A tree of the newest public schema is applied. Its keys that have no effect yet are kept, also by an
// edit, and a note names each.
func TestKeysThatAreNotUsedYetAreKept(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		const later = "scoring: {enabled: true}\nscorerDefaults:\n  model: auto\n  labels: [1e400, 0x10]\n" +
			"selfImprovement:\n  schedule: \"0 9 * * 1\"\n"
		f := w.DefineFactory(map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nrepositories: [{owner: acme, name: shop}]\n" +
				"codeForges: [GITLAB, SOMETHING_NEWER]\n" + later + "agentDefaults: {model: auto}\n",
			"agents/lead/agent.md": "---\nname: The Lead\nagentType: FOREMAN\nselfImprovement: true\n---\nLead.\n",
		})
		if f.CodeForge != penstock.ForgeGitLab || f.Repositories[0].CodeForge != penstock.ForgeGitLab ||
			!slices.Equal(f.CodeForges, []penstock.CodeForge{penstock.ForgeGitLab}) {
			w.T.Errorf("the hosts are %v, %v", f.CodeForge, f.CodeForges)
		}
		description := "New."
		if _, err := w.Resources.UpdateIdentity(
			ctx, w.Admin, f.ForemanUID, factory.IdentityRequest{Description: &description},
		); err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.Factories.Update(ctx, w.Admin, f.UID, factory.FactoryRequest{Description: &description}); err != nil {
			w.T.Fatal(err)
		}
		d, err := w.Factories.Definition(ctx, w.Admin, f.UID, 0)
		if err != nil {
			w.T.Fatal(err)
		}
		if text := d.Files["factory.yaml"]; !strings.Contains(text, later) ||
			!strings.Contains(text, "GITLAB, SOMETHING_NEWER") || !strings.Contains(text, "description: New.") {
			w.T.Errorf("factory.yaml is\n%s", text)
		}
		if text := d.Files["agents/lead/agent.md"]; !strings.Contains(text, "name: The Lead\n") ||
			!strings.Contains(text, "selfImprovement: true\n") || !strings.Contains(text, "description: New.") {
			w.T.Errorf("agent.md is\n%s", text)
		}
		checked, err := w.Factories.Validate(ctx, w.Admin, d.Files)
		if err != nil || len(checked.Diagnostics) != 6 {
			w.T.Errorf("got %v, %+v, want six notes", err, checked.Diagnostics)
		}
		for _, found := range checked.Diagnostics {
			if found.Severity != "note" || !strings.Contains(found.Message, " is kept, and ") {
				w.T.Errorf("got %+v", found)
			}
		}
	})
}
