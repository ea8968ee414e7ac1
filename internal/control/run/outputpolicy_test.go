package run_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func outputs(s penstock.OutputSettings) *penstock.Config {
	return &penstock.Config{LayerKeys: penstock.LayerKeys{Forge: &penstock.ForgeSettings{Outputs: &s}}}
}

// outputFiles is a factory whose layers each set other values.
func outputFiles() map[string]string {
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: acme\n" +
			"forge: {outputs: {approval: never, pullRequest: {openLimit: 9, base: [main], draft: false, labels: [top]}}}\n" +
			"agentDefaults: {model: demo/offline, forge: {outputs: {limits: {comment: 7}, pullRequest: {openLimit: 8}}}}\n",
		"agents/lead/agent.md": "---\nagentType: FOREMAN\nforge: {outputs: {pullRequest: {base: ['release/*'], " +
			"reviewers: [octocat]}, limits: {pullRequest: 2}}}\n---\nLead.\n",
		"agents/wide/agent.md": "---\nforge: {outputs: {pullRequest: {base: ['**'], openLimit: 50, labels: [wide]}, " +
			"limits: {pullRequest: 9, comment: 9}}}\n---\nWork.\n",
	}
}

func (w *world) outputPolicyOf(id string) penstock.OutputPolicy {
	w.T.Helper()
	row, err := w.Database().Runs.Find(w.T.Context(), w.Admin.Team, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return forge.Outputs(row.Config)
}

func (w *world) wantOutputs(about, id string, want penstock.OutputPolicy) {
	w.T.Helper()
	if diff := cmp.Diff(want, w.outputPolicyOf(id)); diff != "" {
		w.T.Errorf("%s (-want +got):\n%s", about, diff)
	}
}

// Each way to create a run keeps to the outputs of its layers, its parent and the agent whose key is used. What the
// run was created with counts until its end, and in its forks.
func TestNothingWidensTheOutputsOfARun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		f := w.DefineFactory(outputFiles())
		lead, wide := agentOf(w.T, f, "lead"), agentOf(w.T, f, "wide")
		ofLead := penstock.OutputPolicy{
			OpenLimit: 8, Base: [][]string{{"release/*"}}, Labels: []string{"top"}, Reviewers: []string{"octocat"},
			Limits: penstock.OutputLimits{PullRequest: 2, Comment: 7}, Approval: "never", Status: "comment",
			Followups: penstock.FollowupPolicy{Checks: 3},
		}
		ofWide := penstock.OutputPolicy{
			OpenLimit: 50, Base: [][]string{{"**"}}, Labels: []string{"wide"},
			Limits: penstock.OutputLimits{PullRequest: 9, Comment: 9}, Approval: "never", Status: "comment",
			Followups: penstock.FollowupPolicy{Checks: 3},
		}
		w.wantOutputs("without an agent", w.Create(penstock.RunRequest{Prompt: "a"}).ID, penstock.DefaultOutputPolicy())
		source := w.Create(penstock.RunRequest{
			Prompt: "a", AgentIdentityUID: lead, Config: outputs(penstock.OutputSettings{Approval: "always"}),
		}).ID
		narrowed := ofLead
		narrowed.Approval = "always"
		w.wantOutputs("a narrowed run", source, narrowed)
		shown := w.Get(source)
		want := map[string]string{
			"forge": "request", "forge/outputs/pull_request/open_limit": "factory", "forge/outputs/pull_request/base": "agent",
			"forge/outputs/pull_request/draft": "factory", "forge/outputs/pull_request/labels": "factory",
			"forge/outputs/pull_request/reviewers": "agent", "forge/outputs/limits/pull_request": "agent",
			"forge/outputs/limits/comment": "factory",
		}
		if diff := cmp.Diff(want, sourcesOfForge(shown)); diff != "" {
			w.T.Errorf("sources (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(&narrowed, shown.Config.Forge.OutputPolicy); diff != "" {
			w.T.Errorf("shown (-want +got):\n%s", diff)
		}

		more := outputs(penstock.OutputSettings{
			PullRequest: &penstock.PullRequestSettings{OpenLimit: new(9), Labels: []string{"deploy"}},
			Limits:      &penstock.OutputBounds{PullRequest: new(3)},
		})
		more.Forge.OutputPolicy = &penstock.OutputPolicy{OpenLimit: 100}
		_, err := w.Runs.Create(ctx, w.Admin, penstock.RunRequest{
			Prompt: "a", AgentIdentityUID: lead, Config: more,
		}, run.SourceAPI)
		got := testworld.Pointers(err)
		slices.Sort(got)
		if diff := cmp.Diff([]string{
			"/config/forge/outputs/limits/pull_request", "/config/forge/outputs/pull_request/labels/0",
			"/config/forge/outputs/pull_request/open_limit",
		}, got); diff != "" {
			w.T.Errorf("more than its layers (-want +got):\n%s", diff)
		}

		bound := ofWide.Within(narrowed)
		child := w.Create(penstock.RunRequest{Prompt: "b", AgentIdentityUID: wide, ParentID: source}).ID
		w.wantOutputs("a child", child, bound)
		if bound.MatchesBase("main") || bound.Limits.PullRequest != 2 || bound.Approval != "always" {
			w.T.Errorf("a child may %+v", bound)
		}
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
		w.wantOutputs("the key of an agent", created.ID, ofWide.Within(ofLead))

		w.forkKeepsOutputs(f, source, narrowed)
	})
}

// forkKeepsOutputs forks a run after its agent has got other settings.
func (w *world) forkKeepsOutputs(f penstock.Factory, source string, want penstock.OutputPolicy) {
	w.T.Helper()
	a := w.Work()
	for a.Lease.RunID != source {
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		a = w.Work()
	}
	w.mustKeepTurn(a.Lease, source, "the files")
	w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
	files := outputFiles()
	files["agents/lead/agent.md"] = "---\nagentType: FOREMAN\nforge: {outputs: {limits: {comment: 20}}}\n---\nLead.\n"
	if _, err := w.Factories.Apply(w.T.Context(), w.Admin, f.UID, factory.ApplyRequest{Files: files}); err != nil {
		w.T.Fatal(err)
	}
	forked, err := w.Turns.Fork(w.T.Context(), w.Admin, source, run.ForkRequest{Prompt: "b"})
	if err != nil {
		w.T.Fatal(err)
	}
	w.wantOutputs("after a change of the files", source, want)
	w.wantOutputs("a fork", forked.Runs[0].ID, want)
	_, err = w.Turns.Fork(w.T.Context(), w.Admin, source, run.ForkRequest{
		Prompt: "b", Config: outputs(penstock.OutputSettings{Limits: &penstock.OutputBounds{Comment: new(8)}}),
	})
	testworld.WantField(w.T, err, "/config/forge/outputs/limits/comment")
}

// A run may receive the events of another automation only if that one's run may declare the same outputs.
func TestRunsWithOtherOutputsShareNoSubject(t *testing.T) {
	t.Parallel()
	row := func(policy *penstock.OutputPolicy) store.RunRow {
		var r store.RunRow
		if r.Config = (&penstock.Config{}); policy != nil {
			r.Config.Forge = &penstock.ForgeSettings{OutputPolicy: policy}
		}
		return r
	}
	other := penstock.DefaultOutputPolicy()
	other.Approval = "always"
	for _, test := range []struct {
		a, b *penstock.OutputPolicy
		want bool
	}{{nil, new(penstock.DefaultOutputPolicy()), true}, {nil, &other, false}, {&other, &other, true}} {
		if got, err := run.MayShare(row(test.a), row(test.b)); got != test.want || err != nil {
			t.Errorf("%+v and %+v: %t, %v", test.a, test.b, got, err)
		}
	}
}
