package factory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// Settings of forges that the API sets are in the files, and applying these changes nothing.
func TestSettingsOfForgesGoThroughTheFiles(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx, fixer := h.T.Context(), h.agent("fixer")
		settings := func(branch string) *penstock.ForgeSettings {
			return &penstock.ForgeSettings{Push: &penstock.PushSettings{
				Branches: []string{branch}, Secrets: "off", Limits: &penstock.PushBounds{Binary: new(0)},
				ProtectedPaths: &penstock.PathProtection{Policy: "refuse", Add: []string{"a/**"}, Except: []string{}},
			}}
		}
		of := func(branch string) factory.LayerKeysRequest {
			return factory.LayerKeysRequest{Forge: settings(branch)}
		}
		given := settings("factory/**")
		given.Policy = &penstock.PushPolicy{AllowSecrets: true}
		f, err := h.Factories.Update(ctx, h.Admin, h.factory, factory.FactoryRequest{Forge: given})
		if err != nil || cmp.Diff(settings("factory/**"), f.Forge) != "" {
			h.T.Fatalf("the factory has %+v, %v", f.Forge, err)
		}
		agent, err := h.Resources.UpdateIdentity(
			ctx, h.Admin, fixer.UID, factory.IdentityRequest{LayerKeysRequest: of("agent/**")},
		)
		if err != nil || cmp.Diff(settings("agent/**"), agent.Forge) != "" {
			h.T.Fatalf("the agent has %+v, %v", agent.Forge, err)
		}
		automations, err := h.Automations.List(ctx, h.Admin, h.factory)
		if err != nil {
			h.T.Fatal(err)
		}
		uid := automations[0].UID
		changed, err := h.Resources.UpdateAutomation(
			ctx, h.Admin, h.factory, uid, factory.AutomationRequest{LayerKeysRequest: of("automation/**")},
		)
		if err != nil || cmp.Diff(settings("automation/**"), changed.Forge) != "" {
			h.T.Fatalf("the automation has %+v, %v", changed.Forge, err)
		}
		all := ""
		for path, content := range h.files().Files {
			all += path + "\n" + content
		}
		for _, layer := range []string{"factory/**", "agent/**", "automation/**"} {
			if !strings.Contains(all, layer) {
				h.T.Errorf("no file has %s:\n%s", layer, all)
			}
		}
		h.applyAgain("settings of forges")
		plan, err := h.Factories.Apply(ctx, h.Admin, h.factory, factory.ApplyRequest{
			Files: with(h.files().Files, "factory.yaml", strings.Replace(
				h.files().Files["factory.yaml"], "factory/**", "other/**", 1,
			)), DryRun: true,
		})
		if err != nil || len(plan.Changed) != 1 ||
			!strings.HasPrefix(strings.Join(plan.Changed[0].Fields, " "), "forge") {
			h.T.Errorf("the plan is %+v, %v", plan.Plan, err)
		}

		wrong := settings("/main")
		wrong.Push.Limits.Files = new(0)
		_, err = h.Factories.Update(ctx, h.Admin, h.factory, factory.FactoryRequest{Forge: wrong})
		pointers := []string{"/forge/push/branches/0", "/forge/push/limits/files"}
		if diff := cmp.Diff(pointers, testworld.Pointers(err)); diff != "" {
			h.T.Errorf("the factory (-want +got):\n%s", diff)
		}
		request := factory.LayerKeysRequest{Forge: wrong}
		_, err = h.Resources.UpdateIdentity(ctx, h.Admin, fixer.UID, factory.IdentityRequest{LayerKeysRequest: request})
		if diff := cmp.Diff(pointers, testworld.Pointers(err)); diff != "" {
			h.T.Errorf("the agent (-want +got):\n%s", diff)
		}
		_, err = h.Resources.UpdateAutomation(
			ctx, h.Admin, h.factory, uid, factory.AutomationRequest{LayerKeysRequest: request},
		)
		if diff := cmp.Diff(pointers, testworld.Pointers(err)); diff != "" {
			h.T.Errorf("the automation (-want +got):\n%s", diff)
		}

		none := factory.LayerKeysRequest{Forge: &penstock.ForgeSettings{}}
		agent, err = h.Resources.UpdateIdentity(
			ctx, h.Admin, fixer.UID, factory.IdentityRequest{LayerKeysRequest: none},
		)
		if err != nil || agent.Forge != nil {
			h.T.Errorf("the agent keeps %+v, %v", agent.Forge, err)
		}
		changed, err = h.Resources.UpdateAutomation(
			ctx, h.Admin, h.factory, uid, factory.AutomationRequest{Cleared: []string{"forge"}},
		)
		if err != nil || changed.Forge != nil {
			h.T.Errorf("the automation keeps %+v, %v", changed.Forge, err)
		}
		f, err = h.Factories.Update(ctx, h.Admin, h.factory, factory.FactoryRequest{Cleared: []string{"forge"}})
		if err != nil || f.Forge != nil {
			h.T.Errorf("the factory keeps %+v, %v", f.Forge, err)
		}
		h.applyAgain("removing settings of forges")
	})
}

// The runs that deliveries and dispatches start have the settings of their layers.
func TestRunsOfEventsHaveTheSettingsOfForges(t *testing.T) {
	withShared(t, factory.SubjectRequest{}, func(w *sharing) {
		one := &penstock.ForgeSettings{Push: &penstock.PushSettings{Branches: []string{"one/**"}}}
		if _, err := w.Factories.Update(
			w.T.Context(), w.Admin, w.factory, factory.FactoryRequest{Forge: one},
		); err != nil {
			w.T.Fatal(err)
		}
		w.act("opened", 1)
		a := w.Work()
		if p := a.Run.Config.Forge; p == nil || !p.Policy.AllowsBranch("one/x") || p.Policy.AllowsBranch("penstock/x") {
			w.T.Errorf("the run of a delivery may push %+v", p)
		}
		two := &penstock.ForgeSettings{Push: &penstock.PushSettings{Branches: []string{"two/**"}}}
		if _, err := w.Factories.Update(
			w.T.Context(), w.Admin, w.factory, factory.FactoryRequest{Forge: two},
		); err != nil {
			w.T.Fatal(err)
		}
		// The run may not push what a run of the other automation may by now.
		w.act("failed", 2)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		dispatched, err := w.Factories.Dispatch(
			w.T.Context(), w.Admin, w.factory, factory.DispatchRequest{Prompt: "x"}, run.SourceAPI,
		)
		if err != nil {
			w.T.Fatal(err)
		}
		if p := w.Get(dispatched.RunID).Config.Forge; p == nil || !p.Policy.AllowsBranch("two/x") {
			w.T.Errorf("the dispatched run may push %+v", p)
		}
	})
}
