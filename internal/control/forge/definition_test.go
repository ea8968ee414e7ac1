package forge_test

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
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// reviewing is a factory with a repository in agentDefaults, an agent with another one, and automations with one more,
// with none, and with what they inherit.
func reviewing() map[string]string {
	automation := func(more string) string {
		return "---\nagent: reviewer\n" + more +
			"triggers: [{provider: schedule, event: cron_fired, schedule: {cron: '@every 1h'}}]\n---\nReview.\n"
	}
	return map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: Shop\nagentDefaults:\n  model: demo/offline\n" +
			"  repositories: [{connection: acme, path: acme/defaults}]\n",
		"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		"agents/plain/agent.md":   "---\nrepositories: []\n---\nPlain.\n",
		"agents/reviewer/agent.md": "---\nrepositories: [{connection: acme, path: acme/shop, ref: next}]\n---\n" +
			"Review.\n",
		"automations/inherits.md": automation(""),
		"automations/none.md":     automation("repositories: []\n"),
		"automations/other.md":    automation("repositories: [{connection: acme, path: acme/other}]\n"),
	}
}

func (w *world) agent(f penstock.Factory, name string) string {
	w.T.Helper()
	i := slices.IndexFunc(f.Agents, func(a penstock.FactoryAgent) bool { return a.Name == name })
	if i < 0 {
		w.T.Fatalf("no agent %s", name)
	}
	return f.Agents[i].UID
}

// pathsOf lists the repositories of the runs of each automation, and what they may push to, after all have run.
func (w *world) pathsOf(f penstock.Factory) (repositories, pushes map[string]string) {
	w.T.Helper()
	list, err := w.Automations.List(w.T.Context(), w.Admin, f.UID)
	if err != nil {
		w.T.Fatal(err)
	}
	names := map[string]string{}
	for _, a := range list {
		names[a.UID] = a.Name
	}
	repositories, pushes = map[string]string{}, map[string]string{}
	for range list {
		a := w.Work()
		name := names[a.Run.Metadata["automation_id"]]
		repositories[name] = a.Run.ConfigSources["repositories"]
		for _, r := range a.Run.Config.Repositories {
			repositories[name] += " " + r.Connection + ":" + r.Path + "#" + r.Ref
			if r.URL != w.forge.URL+"/"+r.Path+".git" {
				w.T.Errorf("%s: the URL of %s is %q", name, r.Path, r.URL)
			}
		}
		for _, p := range a.Pushes {
			pushes[name] += p.Path + "#" + p.Ref
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
	}
	return repositories, pushes
}

// The runs that clocks start have the list of the strongest layer, as one, and a gate to push there. Peers have
// ignored the list of a definition (tektoncd/pipelines-as-code#1979, github/gh-aw#30472), appended lists where one
// replaces the other (freebsd/pkg#680), and taken the ref of what triggered the run (github/gh-aw#28158).
func TestRunsOfSchedulesHaveTheRepositoriesOfTheirDefinition(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.connected(nil)
		f := w.DefineFactory(reviewing())
		if diff := cmp.Diff(
			[]penstock.RunRepository{{Connection: "acme", Path: "acme/defaults"}}, f.AgentDefaults.Repositories,
		); diff != "" {
			t.Errorf("the defaults show (-want +got):\n%s", diff)
		}
		if err := w.Schedules.FireClocks(t.Context(), penstock.Now().Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		repositories, pushes := w.pathsOf(f)
		want := map[string]string{
			"inherits": "agent acme:acme/shop#next", "none": "automation", "other": "automation acme:acme/other#",
		}
		if diff := cmp.Diff(want, repositories); diff != "" {
			t.Errorf("repositories (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"inherits": "acme/shop#next", "other": "acme/other#"}, pushes); diff != "" {
			t.Errorf("pushes (-want +got):\n%s", diff)
		}
		mine := []penstock.RunRepository{{Connection: "acme", Path: "acme/mine"}}
		// Also with a run request, whose list wins, and for a dispatch to the foreman.
		for name, test := range map[string]struct {
			agent  string
			config *penstock.Config
			want   string
		}{
			"an agent":              {"reviewer", nil, "agent acme/shop"},
			"an agent with none":    {"plain", nil, "agent"},
			"the foreman":           {"foreman", nil, "factory acme/defaults"},
			"a request":             {"reviewer", &penstock.Config{Repositories: mine}, "request acme/mine"},
			"a request for nothing": {"reviewer", &penstock.Config{Repositories: []penstock.RunRepository{}}, "request"},
		} {
			w.Create(penstock.RunRequest{Prompt: "a", AgentIdentityUID: w.agent(f, test.agent), Config: test.config})
			a := w.Work()
			got := a.Run.ConfigSources["repositories"]
			for _, p := range a.Pushes {
				got += " " + p.Path
			}
			if got != test.want {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		}
	})
}

// A delivery starts a run with the repositories of the automation. Without its connection it starts none, and the
// automation says why, at its field.
func TestRunsOfWebhooksHaveTheRepositoriesOfTheirDefinition(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		files := reviewing()
		for name := range files {
			if strings.HasPrefix(name, "automations/") {
				delete(files, name)
			}
		}
		f := w.DefineFactory(files)
		hook, err := w.Resources.CreateWebhook(t.Context(), w.Admin, f.UID, factory.WebhookRequest{
			Name: new("events"), AuthMode: new(penstock.AuthToken),
		})
		if err != nil {
			t.Fatal(err)
		}
		files = with(w, f, "automations/review.md", "---\nagent: reviewer\n"+
			"repositories: [{connection: acme, path: acme/shop}]\n"+
			"triggers: [{provider: webhook, event: received, filter: {webhook_ids: [events]}}]\n---\nReview.\n")
		applied, err := w.Factories.Apply(t.Context(), w.Admin, f.UID, factory.ApplyRequest{Files: files})
		if err != nil {
			t.Fatalf("%v %+v", err, testworld.Findings(err))
		}
		const gone = `the team has no connection "acme"`
		var warned []string
		for _, d := range applied.Diagnostics {
			if strings.Contains(d.Message, gone) && d.Severity == "warning" {
				warned = append(warned, d.Path)
			}
		}
		if want := []string{
			"agents/reviewer/agent.md", "automations/review.md", "factory.yaml",
		}; cmp.Diff(want, warned) != "" {
			t.Errorf("warned of %v, want %v", warned, want)
		}
		deliver := func(body string) factory.DeliveryResult {
			t.Helper()
			result, err := w.Deliver(hook.UID, &factory.InboundDelivery{
				Outcome: penstock.OutcomeAccepted, ReceivedAt: penstock.Now(), Body: []byte(body), Size: int64(len(body)),
				ClientIP: "192.0.2.1", Secret: -1, IdentitySource: penstock.IdentityBody,
			})
			if err != nil {
				t.Fatal(err)
			}
			return result
		}
		problem := func() string {
			t.Helper()
			list, err := w.Automations.List(t.Context(), w.Admin, f.UID)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			var text []string
			for _, p := range list[0].Problems {
				text = append(text, p.Pointer+" "+p.Detail)
			}
			return strings.Join(text, "\n")
		}
		result := deliver(`{"n": 1}`)
		read, err := w.Deliveries.Read(t.Context(), w.Admin, f.UID, hook.UID, result.DeliveryID)
		if err != nil || len(read.Matches) != 1 || !strings.Contains(read.Matches[0].Reason, gone) || len(read.Runs) != 0 {
			t.Errorf("without a connection, the delivery is %+v, %v", read, err)
		}
		if got := problem(); !strings.HasPrefix(got, "/repositories ") || !strings.Contains(got, "0/connection: "+gone) {
			t.Errorf("the automation has the problem %q", got)
		}
		w.connected(nil)
		if got := problem(); got != "" {
			t.Errorf("with a connection, the automation has the problem %q", got)
		}
		deliver(`{"n": 2}`)
		a := w.Work()
		if len(a.Pushes) != 1 || a.Pushes[0].Path != "acme/shop" || a.Run.ConfigSources["repositories"] != "automation" {
			t.Errorf("the run may push to %+v, and has %+v", a.Pushes, a.Run.ConfigSources)
		}
	})
}

// with returns the files of a factory with one more.
func with(w *world, f penstock.Factory, path, content string) map[string]string {
	w.T.Helper()
	d, err := w.Factories.Definition(w.T.Context(), w.Admin, f.UID, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	d.Files[path] = content
	return d.Files
}

// A connection that is limited to a factory gives nothing to the definitions of others, and what it gives ends with
// its limits.
func TestTheLimitsOfAConnectionHoldForDefinitions(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other := w.DefineFactory(map[string]string{
			"factory.yaml":            "schemaVersion: v1alpha1\nname: Other\nagentDefaults:\n  model: demo/offline\n",
			"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		})
		c := w.connected(func(r *forge.ConnectRequest) { r.Factories = []string{other.UID} })
		f := w.DefineFactory(reviewing())
		const refused = "only for some factories"
		_, err := w.Runs.Create(ctx, w.Admin, penstock.RunRequest{
			Prompt: "a", AgentIdentityUID: w.agent(f, "reviewer"),
		}, run.SourceAPI)
		testworld.WantCode(t, err, penstock.CodeInvalidRequest, refused)
		testworld.WantField(t, err, "/agent_identity_uid")
		if err := w.Schedules.FireClocks(ctx, penstock.Now().Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		automations, err := w.Automations.List(ctx, w.Admin, f.UID)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range automations {
			why := a.Triggers[0].Schedule.LastError
			if ok := a.Name == "none"; ok != (why == "") || !ok && !strings.Contains(why, refused) {
				t.Errorf("the clock of %s says %q", a.Name, why)
			}
		}
		w.Finish(w.Work().Lease, penstock.Result{State: penstock.StateSucceeded}) // of none
		_, err = w.Resources.UpdateIdentity(ctx, w.Admin, w.agent(f, "plain"), factory.IdentityRequest{
			Repositories: &[]penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}},
		})
		testworld.WantCode(t, err, penstock.CodeInvalidRequest, refused)
		testworld.WantField(t, err, "/repositories/0/path")
		foreman := w.agent(other, "foreman")
		agent, err := w.Resources.UpdateIdentity(ctx, w.Admin, foreman, factory.IdentityRequest{
			Repositories: &[]penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}},
		})
		if err != nil || len(agent.Repositories) != 1 || agent.Repositories[0].URL != "" {
			t.Fatalf("the agent of the factory has %+v, %v", agent.Repositories, err)
		}
		id := w.Create(penstock.RunRequest{Prompt: "a", AgentIdentityUID: foreman}).ID
		if _, err := w.Connections.Update(ctx, w.admin(), c.UID, forge.ChangeRequest{
			Repositories: &[]string{"acme/lib"},
		}); err != nil {
			t.Fatal(err)
		}
		worker := testworld.AnyWorker
		worker.Wait = time.Millisecond
		_, err = w.Executions.Control().Claim(ctx, worker)
		if r := w.Get(id); r.State != penstock.StateFailed || !strings.Contains(r.StatusMessage.Message, "acme/shop") {
			t.Errorf("after the connection has other repositories, the run is %s: %+v, %v", r.State, r.StatusMessage, err)
		}
		_, err = w.Resources.UpdateIdentity(ctx, w.Admin, foreman, factory.IdentityRequest{
			Repositories: &[]penstock.RunRepository{{Connection: "acme"}, {URL: "https://ada:s3cret@git.example.com/a/b"}},
		})
		if diff := cmp.Diff([]string{"/repositories/0/path", "/repositories/1/url"}, testworld.Pointers(err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// ofAgent returns a caller with the key of an agent that can do all that one can.
func (w *world) ofAgent(uid string) penstock.Principal {
	w.T.Helper()
	key := w.CreateKey(w.Admin, access.KeyRequest{
		Name: "k", AgentUID: uid, Scopes: []penstock.Scope{
			penstock.ScopeRunsWrite, penstock.ScopeRunsRead, penstock.ScopeFactoriesManage,
		},
	})
	p, err := w.Keys.Authenticate(w.T.Context(), key.Key)
	if err != nil || !p.IsAgent() {
		w.T.Fatal(p, err)
	}
	return p
}

// What a person has given to an agent, each run of this agent has. Nothing else gives an agent a
// connection: peers have given children more than their parents had (onecli/onecli#312, anomalyco/opencode#30610).
func TestTheKeyOfAnAgentAddsNoRepositories(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.connected(nil)
		f := w.DefineFactory(reviewing())
		reviewer := w.agent(f, "reviewer")
		p := w.ofAgent(w.agent(f, "plain"))
		shop := []penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}}
		public := []penstock.RunRepository{{URL: "https://git.example.com/a/b"}}

		// Runs: the definition gives, the request does not. The push policy is the agent's.
		created, err := w.Runs.Create(ctx, p, penstock.RunRequest{Prompt: "a", AgentIdentityUID: reviewer}, run.SourceAPI)
		if err != nil {
			t.Fatal(err)
		}
		a := w.Work()
		if len(a.Pushes) != 1 || a.Pushes[0].Path != "acme/shop" || a.Lease.RunID != created.ID {
			t.Errorf("a run that the key of an agent creates may push to %+v", a.Pushes)
		}
		w.keep(a.Lease, created.ID)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		for _, req := range []penstock.RunRequest{
			{Prompt: "a", Config: &penstock.Config{Repositories: shop}},
			{Prompt: "a", AgentIdentityUID: reviewer, Config: &penstock.Config{Repositories: shop}},
			{Prompt: "a", ParentID: created.ID, Config: &penstock.Config{Repositories: shop}},
		} {
			_, err := w.Runs.Create(ctx, p, req, run.SourceAPI)
			testworld.WantCode(t, err, penstock.CodeInvalidRequest, "the key of an agent cannot use connections")
			testworld.WantField(t, err, "/config/repositories/0/connection")
		}
		child, err := w.Runs.Create(ctx, p, penstock.RunRequest{Prompt: "a", ParentID: created.ID}, run.SourceAPI)
		if err != nil {
			t.Fatal(err)
		}
		if c := w.Work(); c.Pushes != nil || len(c.Run.Config.Repositories) != 0 || c.Lease.RunID != child.ID {
			t.Errorf("a child has %+v of its parent", c.Pushes)
		} else {
			w.Finish(c.Lease, penstock.Result{State: penstock.StateSucceeded})
		}
		_, err = w.Turns.Fork(ctx, p, created.ID, run.ForkRequest{Prompt: "b"})
		testworld.WantCode(t, err, penstock.CodeInvalidRequest, "the key of an agent cannot use connections")

		// Definitions, by the API.
		refused := func(err error) {
			t.Helper()
			testworld.WantCode(t, err, penstock.CodeInvalidRequest, "the key of an agent can only remove")
			testworld.WantField(t, err, "/repositories")
		}
		for _, list := range [][]penstock.RunRepository{shop, public} {
			_, err = w.Resources.CreateIdentity(ctx, p, factory.IdentityRequest{Name: new("new"), Repositories: &list})
			refused(err)
			_, err = w.Resources.UpdateIdentity(ctx, p, p.AgentUID, factory.IdentityRequest{Repositories: &list})
			refused(err)
			clock := testworld.ClockAutomation("more", "@daily")
			clock.Repositories = &list
			_, err = w.Resources.CreateAutomation(ctx, p, f.UID, clock)
			refused(err)
		}
		automations, err := w.Automations.List(ctx, w.Admin, f.UID)
		if err != nil {
			t.Fatal(err)
		}
		none := automations[slices.IndexFunc(automations, func(a penstock.Automation) bool { return a.Name == "none" })]
		_, err = w.Resources.UpdateAutomation(ctx, p, f.UID, none.UID, factory.AutomationRequest{Repositories: &shop})
		refused(err)
		_, err = w.Resources.UpdateAutomation(ctx, p, f.UID, none.UID, factory.AutomationRequest{
			Cleared: []string{"repositories"},
		})
		refused(err)
		if agent, err := w.Resources.UpdateIdentity(ctx, p, reviewer, factory.IdentityRequest{
			Description: new("Reviews."),
		}); err != nil || len(agent.Repositories) != 1 {
			t.Errorf("the agent that keeps its list has %+v, %v", agent.Repositories, err)
		}
		if agent, err := w.Resources.UpdateIdentity(ctx, p, reviewer, factory.IdentityRequest{
			Repositories: &[]penstock.RunRepository{},
		}); err != nil || agent.Repositories == nil || len(agent.Repositories) != 0 {
			t.Errorf("the agent that loses its list has %+v, %v", agent.Repositories, err)
		}

		// Definitions, by files.
		for path, more := range map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: Shop\nagentDefaults:\n  model: demo/offline\n" +
				"  repositories: [{connection: acme, path: acme/defaults}, {connection: acme, path: acme/shop}]\n",
			"agents/plain/agent.md": "---\nrepositories: [{connection: acme, path: acme/shop}]\n---\nPlain.\n",
			"agents/fresh/agent.md": "---\nrepositories: [{url: 'https://git.example.com/a/b'}]\n---\nFresh.\n",
			"automations/none.md": "---\nagent: reviewer\ntriggers: [{provider: schedule, event: cron_fired, schedule: " +
				"{cron: '@every 1h'}}]\n---\nReview.\n",
		} {
			files := with(w, f, path, more)
			_, err := w.Factories.Apply(ctx, p, f.UID, factory.ApplyRequest{Files: files, DryRun: true})
			found := testworld.Findings(err)
			if len(found) != 1 || found[0].Path != path || !strings.Contains(found[0].Message, "can only remove") {
				t.Errorf("%s: %v, %+v", path, err, found)
			}
			if _, err := w.Factories.Apply(ctx, w.Admin, f.UID, factory.ApplyRequest{Files: files, DryRun: true}); err != nil {
				t.Errorf("%s, a person: %v", path, err)
			}
		}
		files := with(w, f, "agents/plain/agent.md", "---\nrepositories: []\n---\nStill plain.\n")
		if _, err := w.Factories.Apply(ctx, p, f.UID, factory.ApplyRequest{Files: files}); err != nil {
			t.Errorf("files that add nothing: %v %+v", err, testworld.Findings(err))
		}
		_, err = w.Factories.Create(ctx, p, factory.FactoryRequest{Name: new("Copy"), Files: map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: Copy\nagentDefaults:\n  model: demo/offline\n" +
				"  repositories: [{connection: acme, path: acme/shop}]\n",
			"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		}})
		if found := testworld.Findings(err); len(found) != 1 || !strings.Contains(found[0].Message, "can only remove") {
			t.Errorf("a new factory: %v", err)
		}
	})
}

// A fork has the repositories of its run, whatever its agent has by now.
func TestAForkKeepsTheRepositoriesOfItsRun(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.connected(nil)
		f := w.DefineFactory(reviewing())
		forked := func(agent string, now []penstock.RunRepository) (source, fork penstock.Run, pushes []penstock.PushGrant) {
			t.Helper()
			created := w.Create(penstock.RunRequest{Prompt: "a", AgentIdentityUID: agent})
			a := w.Work()
			w.keep(a.Lease, created.ID)
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			if _, err := w.Resources.UpdateIdentity(
				ctx, w.Admin, agent, factory.IdentityRequest{Repositories: &now},
			); err != nil {
				t.Fatal(err)
			}
			made, err := w.Turns.Fork(ctx, w.Admin, created.ID, run.ForkRequest{Prompt: "b"})
			if err != nil {
				t.Fatal(err)
			}
			a = w.Work()
			w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			return w.Get(created.ID), w.Get(made.Runs[0].ID), a.Pushes
		}
		source, fork, pushes := forked(w.agent(f, "reviewer"), []penstock.RunRepository{})
		if diff := cmp.Diff(source.Config.Repositories, fork.Config.Repositories); diff != "" || len(pushes) != 1 ||
			fork.ConfigSources["repositories"] != "agent" {
			t.Errorf("%+v, from %v (-want +got):\n%s", pushes, fork.ConfigSources, diff)
		}
		alone := w.CreateAgent(factory.IdentityRequest{Name: new("alone")})
		_, fork, pushes = forked(alone.UID, []penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}})
		if _, has := fork.ConfigSources["repositories"]; fork.Config.Repositories != nil || pushes != nil || has {
			t.Errorf("the fork of a run without repositories has %+v", fork.Config.Repositories)
		}
	})
}

// A definition may name what workers read with their own rights, for every caller of its runs. It is the agent's, and
// nobody who speaks to the run needs the right to use secrets.
func TestADefinitionNamesWhatWorkersRead(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ssh := []penstock.RunRepository{{URL: "git@git.example.com:acme/shop.git"}}
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("alone"), Repositories: &ssh})
		p := w.As("ann", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		created, err := w.Runs.Create(
			t.Context(), p, penstock.RunRequest{Prompt: "a", AgentIdentityUID: agent.UID}, run.SourceAPI,
		)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Runs.FollowUp(t.Context(), p, created.ID, run.FollowupRequest{Message: "b"}); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(ssh, w.Get(created.ID).Config.Repositories); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
