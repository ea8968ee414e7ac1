package run_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func pushes(s penstock.PushSettings) *penstock.Config {
	return &penstock.Config{LayerKeys: penstock.LayerKeys{Forge: &penstock.ForgeSettings{Push: &s}}}
}

func toBranches(patterns ...string) penstock.PushSettings {
	return penstock.PushSettings{Branches: patterns}
}

// pushFiles is a factory whose layers each set other values.
func pushFiles() map[string]string {
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: acme\n" +
			"forge: {push: {branches: ['top/**'], secrets: off, limits: {files: 10, bytes: 100, binary: 5}, " +
			"protectedPaths: {add: [top/**]}}}\n" +
			"agentDefaults: {model: demo/offline, forge: {push: {branches: ['defaults/**'], limits: {files: 20}}}}\n",
		"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		"agents/wide/agent.md": "---\nforge: {push: {branches: ['**'], limits: {bytes: 200}, protectedPaths: " +
			"{policy: allow}}}\n---\nWork.\n",
		"automations/nightly.md": "---\nagent: wide\nforge: {push: {branches: ['night/**'], secrets: refuse, " +
			"protectedPaths: {policy: refuse, except: ['**/AGENTS.md']}}}\n" +
			"triggers: [{provider: schedule, event: cron_fired, schedule: {cron: '@every 1h'}}]\n---\nGo.\n",
	}
}

func agentOf(t *testing.T, f penstock.Factory, name string) string {
	t.Helper()
	for _, a := range f.Agents {
		if a.Name == name {
			return a.UID
		}
	}
	t.Fatalf("there is no agent %s", name)
	return ""
}

func (w *world) policyOf(id string) penstock.PushPolicy {
	w.T.Helper()
	row, err := w.Database().Runs.Find(w.T.Context(), w.Admin.Team, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return forge.Push(row.Config)
}

// only returns the one run that a query finds.
func (w *world) only(q penstock.RunQuery) string {
	w.T.Helper()
	q.Limit = 10
	page, err := w.Runs.List(w.T.Context(), w.Admin, q)
	if err != nil || len(page.Runs) != 1 {
		w.T.Fatalf("%d runs, %v", len(page.Runs), err)
	}
	return page.Runs[0].ID
}

func (w *world) wantPolicy(about, id string, want penstock.PushPolicy) {
	w.T.Helper()
	if diff := cmp.Diff(want, w.policyOf(id)); diff != "" {
		w.T.Errorf("%s (-want +got):\n%s", about, diff)
	}
}

func TestARunInheritsEachValueOfItsPushes(t *testing.T) {
	worlds(t, nil, func(w *world) {
		f := w.DefineFactory(pushFiles())
		lead := penstock.PushPolicy{
			Branches: [][]string{{"defaults/**"}}, Protected: append(penstock.ProtectedPaths(), "top/**"),
			Limits: penstock.PushLimits{Files: 20, Bytes: 100, Binary: 5}, AllowSecrets: true,
		}
		wide := penstock.PushPolicy{
			Branches: [][]string{{"**"}}, Limits: penstock.PushLimits{Files: 20, Bytes: 200, Binary: 5}, AllowSecrets: true,
		}
		night := wide
		night.Branches, night.AllowSecrets = [][]string{{"night/**"}}, false
		night.Protected, night.Except = lead.Protected, []string{"**/AGENTS.md"}
		plain := w.Create(penstock.RunRequest{Prompt: "go"}).ID
		w.wantPolicy("without an agent", plain, penstock.DefaultPushPolicy())
		if got := w.Get(plain); got.Config.Forge != nil || got.ConfigSources["forge"] != "" {
			w.T.Errorf("without settings, a run shows %+v", got.Config.Forge)
		}
		of := func(name string, config *penstock.Config) string {
			return w.Create(
				penstock.RunRequest{Prompt: "go", AgentIdentityUID: agentOf(w.T, f, name), Config: config},
			).ID
		}
		id := of("lead", nil)
		w.wantPolicy("the lead", id, lead)
		w.wantPolicy("the wide one", of("wide", nil), wide)
		got := w.Get(id)
		want := map[string]string{"forge": "factory"}
		if diff := cmp.Diff(want, sourcesOfForge(got)); diff != "" {
			w.T.Errorf("sources (-want +got):\n%s", diff)
		}

		if err := w.Schedules.FireClocks(w.T.Context(), penstock.Now().Add(2*time.Hour)); err != nil {
			w.T.Fatal(err)
		}
		automations, err := w.Automations.List(w.T.Context(), w.Admin, f.UID)
		if err != nil {
			w.T.Fatal(err)
		}
		w.wantPolicy("the automation", w.only(penstock.RunQuery{AutomationID: automations[0].UID}), night)

		id = of("wide", pushes(penstock.PushSettings{
			Branches: []string{"fix/*"}, Limits: &penstock.PushBounds{Files: new(1)}, ProtectedPaths: &penstock.PathProtection{
				Add: []string{"db/**"},
			},
		}))
		wide.Branches = append(wide.Branches, []string{"fix/*"})
		wide.Always, wide.Limits.Files = []string{"db/**"}, 1
		w.wantPolicy("narrowed", id, wide)
		got = w.Get(id)
		want = map[string]string{
			"forge": "request", "forge/push/limits/bytes": "agent", "forge/push/limits/binary": "factory",
			"forge/push/protected_paths/policy": "agent", "forge/push/secrets": "factory",
		}
		if diff := cmp.Diff(want, sourcesOfForge(got)); diff != "" {
			w.T.Errorf("sources (-want +got):\n%s", diff)
		}
		if s := got.Config.Forge.Push; !slices.Equal(s.Branches, []string{"fix/*"}) || *s.Limits.Bytes != 200 ||
			s.Secrets != "off" || cmp.Diff(&wide, got.Config.Forge.Policy) != "" {
			w.T.Errorf("the run shows %+v", got.Config.Forge)
		}

		files := pushFiles()
		files["agents/wide/agent.md"] = "---\nforge: {push: {branches: []}}\n---\nWork.\n"
		if _, err := w.Factories.Apply(w.T.Context(), w.Admin, f.UID, factory.ApplyRequest{Files: files}); err != nil {
			w.T.Fatal(err)
		}
		w.wantPolicy("after a change of the files", id, wide)
		if w.policyOf(of("wide", nil)).AllowsBranch("a") {
			w.T.Error("an empty list allows a branch")
		}
	})
}

func sourcesOfForge(r penstock.Run) map[string]string {
	got := map[string]string{}
	for key, layer := range r.ConfigSources {
		if strings.HasPrefix(key, "forge") && key != "forge/push/protected_paths/add" {
			got[key] = layer
		}
	}
	return got
}

// TestNothingWidensWhatARunMayPush tries each way to create a run.
func TestNothingWidensWhatARunMayPush(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.DefineFactory(pushFiles())
		lead, wide := agentOf(w.T, f, "lead"), agentOf(w.T, f, "wide")
		more := pushes(penstock.PushSettings{
			Secrets: "off", Limits: &penstock.PushBounds{Files: new(1000)},
			ProtectedPaths: &penstock.PathProtection{Policy: "allow", Except: []string{"AGENTS.md"}},
		})
		all := []string{
			"/config/forge/push/limits/files", "/config/forge/push/protected_paths/except/0",
			"/config/forge/push/protected_paths/policy", "/config/forge/push/secrets",
		}
		refused := func(about string, err error, want ...string) {
			w.T.Helper()
			got := testworld.Pointers(err)
			if slices.Sort(got); cmp.Diff(want, got) != "" {
				w.T.Errorf("%s: %v, want %v", about, err, want)
			}
		}
		_, err := w.Runs.Create(ctx, w.Admin, penstock.RunRequest{Prompt: "a", Config: more}, run.SourceAPI)
		refused("a request", err, all...)
		_, err = w.Runs.Create(ctx, w.Admin, penstock.RunRequest{
			Prompt: "a", Config: pushes(toBranches("x/**")), Configs: []penstock.Config{{}, *more},
		}, run.SourceAPI)
		if err == nil || !strings.Contains(strings.Join(testworld.Pointers(err), " "), "/configs/1/forge/push/secrets") {
			w.T.Errorf("an attempt: %v", testworld.Pointers(err))
		}
		policy := pushes(toBranches("penstock/x"))
		policy.Forge.Policy = &penstock.PushPolicy{Branches: [][]string{{"**"}}, AllowSecrets: true}
		stated := w.Create(penstock.RunRequest{Prompt: "a", Config: policy}).ID
		w.wantPolicy("a policy in a request", stated, penstock.PushPolicy{
			Branches: [][]string{{"penstock/**"}, {"penstock/x"}}, Protected: penstock.ProtectedPaths(),
			Limits: penstock.DefaultPushPolicy().Limits,
		})

		// A child of a run keeps to what that may push.
		parent := w.Create(penstock.RunRequest{
			Prompt: "a", AgentIdentityUID: lead, Config: pushes(toBranches("*/small")),
		}).ID
		child := w.Create(penstock.RunRequest{Prompt: "b", AgentIdentityUID: wide, ParentID: parent}).ID
		within := w.policyOf(wide0(w, wide)).Within(w.policyOf(parent))
		w.wantPolicy("a child", child, within)
		if within.AllowsBranch("x/small") || !within.AllowsBranch("defaults/small") || within.Protects("AGENTS.md") == "" {
			w.T.Errorf("a child may push %+v", within)
		}
		if r := w.Get(w.Create(penstock.RunRequest{Prompt: "b", ParentID: parent}).ID); r.ConfigSources["forge"] !=
			run.LayerParent || r.Config.Forge.Policy == nil || r.Config.Forge.Push != nil {
			w.T.Errorf("a child without settings shows %+v from %v", r.Config.Forge, r.ConfigSources)
		}

		// The key of an agent, for another agent, with an automation's schedule, and for a schedule of its own.
		key := w.CreateKey(w.Admin, access.KeyRequest{
			Name: "k", Scopes: []penstock.Scope{penstock.ScopeRunsWrite, penstock.ScopeRunsRead}, AgentUID: lead,
		})
		agent, err := w.Keys.Authenticate(ctx, key.Key)
		if err != nil {
			w.T.Fatal(err)
		}
		created, err := w.Runs.Create(
			ctx, agent, penstock.RunRequest{Prompt: "b", AgentIdentityUID: wide}, run.SourceAPI,
		)
		if err != nil {
			w.T.Fatal(err)
		}
		ofLead := w.policyOf(w.Create(penstock.RunRequest{Prompt: "b", AgentIdentityUID: lead}).ID)
		bound := w.policyOf(wide0(w, wide)).Within(ofLead)
		w.wantPolicy("the key of an agent", created.ID, bound)
		schedule, err := w.Schedules.Create(ctx, agent, factory.ScheduleRequest{
			Name: "s", Cron: "0 * * * *", Prompt: "c", AgentUID: wide,
		})
		if err != nil {
			w.T.Fatal(err)
		}
		own := w.CreateSchedule(factory.ScheduleRequest{
			Name: "o", Cron: "0 * * * *", Prompt: "c", AgentUID: wide, Config: pushes(toBranches("s/**")),
		})
		if err := w.Schedules.FireDue(ctx, penstock.Now().Add(90*time.Minute)); err != nil {
			w.T.Fatal(err)
		}
		w.wantPolicy("the schedule of an agent", w.only(penstock.RunQuery{ScheduleID: schedule.ID}), bound)
		if p := w.policyOf(w.only(penstock.RunQuery{ScheduleID: own.ID})); !p.AllowsBranch("s/x") || p.AllowsBranch("x") {
			w.T.Errorf("the schedule of a person may push %+v", p)
		}
	})
}

// wide0 is a new run of an agent, without a request.
func wide0(w *world, agent string) string {
	return w.Create(penstock.RunRequest{Prompt: "a", AgentIdentityUID: agent}).ID
}

func TestAForkKeepsWhatItsRunMayPush(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.DefineFactory(pushFiles())
		source := w.Create(penstock.RunRequest{
			Prompt: "a", AgentIdentityUID: agentOf(w.T, f, "lead"), Config: pushes(toBranches("*/x", "*/y")),
		}).ID
		a := w.Work()
		w.mustKeepTurn(a.Lease, source, "the files")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		want := w.policyOf(source)
		files := pushFiles()
		files["agents/lead/agent.md"] = "---\nagentType: FOREMAN\nforge: {push: {branches: ['**'], secrets: off}}\n" +
			"---\nLead.\n"
		if _, err := w.Factories.Apply(ctx, w.Admin, f.UID, factory.ApplyRequest{Files: files}); err != nil {
			w.T.Fatal(err)
		}
		fork := func(config *penstock.Config) string {
			w.T.Helper()
			forked, err := w.Turns.Fork(ctx, w.Admin, source, run.ForkRequest{Prompt: "b", Config: config})
			if err != nil {
				w.T.Fatal(err)
			}
			return forked.Runs[0].ID
		}
		id := fork(nil)
		w.wantPolicy("a fork", id, want)
		if diff := cmp.Diff(sourcesOfForge(w.Get(source)), sourcesOfForge(w.Get(id))); diff != "" {
			w.T.Errorf("sources of the fork (-want +got):\n%s", diff)
		}
		want.Branches = append(want.Branches, []string{"defaults/x"})
		id = fork(pushes(penstock.PushSettings{Branches: []string{"defaults/x"}, Secrets: "refuse"}))
		want.AllowSecrets = false
		w.wantPolicy("a narrower fork", id, want)
		if got := sourcesOfForge(w.Get(id)); got["forge"] != "request" || got["forge/push/secrets"] != "" ||
			got["forge/push/limits/files"] != "factory" {
			w.T.Errorf("sources of the narrower fork: %v", got)
		}
		_, err := w.Turns.Fork(ctx, w.Admin, source, run.ForkRequest{
			Prompt: "b", Config: pushes(penstock.PushSettings{Limits: &penstock.PushBounds{Files: new(21)}}),
		})
		testworld.WantField(w.T, err, "/config/forge/push/limits/files")
		if _, err := w.Turns.Rewind(ctx, w.Admin, source, run.RewindRequest{Turn: new(int64(1)), Prompt: "c"}); err != nil {
			w.T.Fatal(err)
		}
		want.Branches, want.AllowSecrets = want.Branches[:2], true
		w.wantPolicy("after going back", source, want)
	})
}

// TestAForkOfARunWithoutSettingsHasTheDefaults has an agent that may push more by now.
func TestAForkOfARunWithoutSettingsHasTheDefaults(t *testing.T) {
	worlds(t, nil, func(w *world) {
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("solo")})
		source := w.Create(penstock.RunRequest{Prompt: "a", AgentIdentityUID: agent.UID}).ID
		a := w.Work()
		w.mustKeepTurn(a.Lease, source, "the files")
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		settings := pushes(toBranches("**")).Forge
		agent, err := w.Resources.UpdateIdentity(w.T.Context(), w.Admin, agent.UID, factory.IdentityRequest{
			LayerKeysRequest: factory.LayerKeysRequest{Forge: settings},
		})
		if err != nil || cmp.Diff(settings, agent.Forge) != "" {
			w.T.Fatalf("%+v, %v", agent, err)
		}
		forked, err := w.Turns.Fork(w.T.Context(), w.Admin, source, run.ForkRequest{Prompt: "b"})
		if err != nil {
			w.T.Fatal(err)
		}
		w.wantPolicy("the fork", forked.Runs[0].ID, penstock.DefaultPushPolicy())
		if got := w.Get(forked.Runs[0].ID); got.Config.Forge != nil || got.ConfigSources["forge"] != "" {
			w.T.Errorf("the fork shows %+v from %v", got.Config.Forge, got.ConfigSources)
		}
		if p := w.policyOf(wide0(w, agent.UID)); !p.AllowsBranch("x") {
			w.T.Errorf("a new run may push %+v", p)
		}
		agent, err = w.Resources.UpdateIdentity(w.T.Context(), w.Admin, agent.UID, factory.IdentityRequest{
			LayerKeysRequest: factory.LayerKeysRequest{Forge: &penstock.ForgeSettings{}},
		})
		if err != nil || agent.Forge != nil {
			w.T.Errorf("after removing its settings, the agent has %+v, %v", agent.Forge, err)
		}
	})
}

// A run may receive the events of another automation only if that one's run may push the same.
func TestRunsThatPushOtherThingsShareNoSubject(t *testing.T) {
	t.Parallel()
	row := func(policy *penstock.PushPolicy) store.RunRow {
		var r store.RunRow
		if r.Config = (&penstock.Config{}); policy != nil {
			r.Config.Forge = &penstock.ForgeSettings{Policy: policy}
		}
		return r
	}
	other := penstock.DefaultPushPolicy()
	other.Branches = [][]string{{"**"}}
	for _, test := range []struct {
		a, b *penstock.PushPolicy
		want bool
	}{{nil, nil, true}, {nil, new(penstock.DefaultPushPolicy()), true}, {nil, &other, false}, {&other, &other, true}} {
		if got, err := run.MayShare(row(test.a), row(test.b)); got != test.want || err != nil {
			t.Errorf("%+v and %+v: %t, %v", test.a, test.b, got, err)
		}
	}
}
