package forge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// factory defines a factory with settings of outputs, and returns its lead.
func (p *publisher) factory(name, outputs string) (f penstock.Factory, lead string) {
	p.T.Helper()
	f = p.DefineFactory(map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: " + name + "\nagentDefaults: {model: demo/offline}\n" +
			"forge: {outputs: " + outputs + "}\n",
		"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
	})
	return f, f.Agents[0].UID
}

// by returns a request for a run of an agent, in acme/shop at a ref.
func by(agent, ref string) penstock.RunRequest {
	return penstock.RunRequest{Prompt: "a", AgentIdentityUID: agent, Config: &penstock.Config{
		Repositories: []penstock.RunRepository{{Connection: "acme", Path: "acme/shop", Ref: ref}},
	}}
}

// A new pull request gets its labels, which are made if they do not exist (github/gh-aw#56050), and its reviewers,
// who are asked once. The bot is not among them.
func TestANewPullRequestHasItsLabelsAndReviewers(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		_, lead := p.factory("Shop", "{pullRequest: {draft: false, labels: [robot, 'Factory:shop'], "+
			"reviewers: [ada, acme/core, PENSTOCK-BOT, grace]}}")
		a := p.pushed(by(lead, ""), "penstock/fix")
		o := p.declared(a, aPull)
		if o.Payload.Draft == nil || *o.Payload.Draft {
			t.Errorf("it is declared as %+v", o.Payload)
		}
		p.succeeds(a.Lease)
		p.do()
		pulls, _ := p.pulls.All()
		if diff := cmp.Diff([]string{"factory:Shop", "robot"}, pulls[0]["labels"]); diff != "" || len(pulls) != 1 {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"factory:Shop", "robot"}, p.pulls.Labels()); diff != "" {
			t.Errorf("labels of the repository (-want +got):\n%s", diff)
		}
		if got := p.of(a.Lease.RunID)[0]; got.Problem != "" || fmt.Sprint(pulls[0]["draft"]) != "false" {
			t.Errorf("got %+v, %v", got, pulls[0])
		}
		p.FollowUp(a.Lease.RunID, "more")
		b := p.Work()
		p.declared(b, run.OutputRequest{Kind: penstock.OutputPullRequest, Title: "Better", Body: "Now."})
		p.succeeds(b.Lease)
		p.do()
		if got := p.pulls.Reviewers(1); got != "ada grace acme/core" {
			t.Errorf("asked are %q", got)
		}
	})
}

// What the forge refuses of labels and reviewers is said, keeps out no others, and does not fail the pull request
// (peter-evans/create-pull-request#4138, Madrapps/add-reviewers#5, gadievron/raptor#666).
func TestLabelsAndReviewersThatAreRefused(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		_, lead := p.factory("Shop", "{pullRequest: {labels: [robot], reviewers: [nobody, ada, stranger, "+
			"other/core, acme/none, acme/core]}}")
		p.pulls.Break(func(method, path string) testkit.PullFault {
			if method == http.MethodPost && strings.HasSuffix(path, "/labels") {
				return testkit.Refuses
			}
			return ""
		})
		a := p.pushed(by(lead, ""), "penstock/fix")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		o := p.of(a.Lease.RunID)[0]
		const want = "These labels were not set: factory:Shop, robot (it answers 422). acme refuses these reviewers: " +
			"nobody, stranger, other/core, acme/none (it answers 404)."
		if o.State != penstock.OutputDone || o.Problem != want {
			t.Errorf("got %+v", o)
		}
		if got := p.pulls.Reviewers(1); got != "ada acme/core" {
			t.Errorf("asked are %q", got)
		}
	})
}

// A base that the settings do not allow is refused at once, and again when the pull request is opened
// (github/gh-aw#26908).
func TestBasesThatTheSettingsAllow(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		_, lead := p.factory("Shop", "{pullRequest: {base: ['release/*', main]}}")
		to := func(base string) run.OutputRequest {
			req := aPull
			req.Base = base
			return req
		}
		a := p.pushed(by(lead, "dev"), "penstock/a")
		for base, want := range map[string]string{
			"": "must match release/* or main", "dev": "must match release/* or main", "release": "must match",
		} {
			_, err := p.declare(a, to(base))
			testworld.WantField(t, err, "/base")
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%q: %v", base, err)
			}
		}
		p.declared(a, to("release/1"))
		p.succeeds(a.Lease)
		p.do()
		pulls, _ := p.pulls.All()
		if o := p.of(a.Lease.RunID)[0]; len(pulls) != 1 || o.State != penstock.OutputDone || o.Payload.Base != "release/1" {
			t.Fatalf("got %v, %+v", pulls, o)
		}

		b := p.pushed(shop, "penstock/b") // without settings
		_, err := p.declare(b, to("release/1"))
		testworld.WantField(t, err, "/base")
		if !strings.Contains(fmt.Sprint(err), "must be main") {
			t.Errorf("without settings: %v", err)
		}
		p.pulls.Break(func(string, string) testkit.PullFault { return testkit.Busy })
		o := p.declared(b, to("release/1")) // the forge does not say which one is its default branch
		p.pulls.Break(nil)
		p.succeeds(b.Lease)
		p.do()
		if o = p.of(o.RunID)[0]; o.State != penstock.OutputFailed || o.Problem != "The base must be main." {
			t.Errorf("later: got %+v", o)
		}
	})
}

// A turn declares no more outputs than its settings allow, also over all kinds.
func TestATurnKeepsToItsLimits(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		_, lead := p.factory("Shop", "{limits: {pullRequest: 0, comment: 20}}")
		a := p.pushed(by(lead, ""), "penstock/a")
		_, err := p.declare(a, aPull)
		testworld.WantCode(t, err, penstock.CodeConflict, "allow no outputs of the kind pr")
		for range penstock.MaxOutputs {
			p.declared(a, aComment)
		}
		_, err = p.declare(a, aComment)
		testworld.WantCode(t, err, penstock.CodeConflict, "20 outputs of the kind comment")
		p.succeeds(a.Lease)

		_, lead = p.factory("Other", "{limits: {pullRequest: 2, comment: 19}}")
		b := p.pushed(by(lead, ""), "penstock/b")
		for range 2 {
			p.declared(b, aPull)
		}
		_, err = p.declare(b, aPull)
		testworld.WantCode(t, err, penstock.CodeConflict, "2 outputs of the kind pr")
		for range penstock.MaxOutputs - 2 {
			p.declared(b, aComment)
		}
		_, err = p.declare(b, aComment)
		testworld.WantCode(t, err, penstock.CodeConflict, "20 outputs already")
	})
}

// With approval always, a person releases all outputs. The settings that a run was created with count.
func TestOutputsThatAPersonReleases(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		_, lead := p.factory("Shop", "{approval: never}")
		req := by(lead, "")
		a := p.pushed(req, "penstock/a")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		if o := p.of(a.Lease.RunID)[0]; o.State != penstock.OutputQueued {
			t.Errorf("with never: got %+v", o)
		}
		req.Config.Forge = &penstock.ForgeSettings{Outputs: &penstock.OutputSettings{Approval: penstock.ApprovalAlways}}
		b := p.pushed(req, "penstock/b")
		p.declared(b, aPull)
		p.declared(b, aComment)
		p.succeeds(b.Lease)
		p.do()
		held := p.of(b.Lease.RunID)
		if held[0].State != penstock.OutputHeld || held[1].State != penstock.OutputHeld {
			t.Fatalf("with always: got %+v", held)
		}
		for _, o := range held {
			if _, err := p.Outputs.Approve(t.Context(), p.Admin, o.UID); err != nil {
				t.Error(err)
			}
		}
		p.do()
		if pulls, comments := p.pulls.All(); len(pulls) != 2 || len(comments) != 1 {
			t.Errorf("got %v, %q", pulls, comments)
		}
	})
}

// look looks at all open pull requests, as after five minutes.
func (p *publisher) look() {
	p.T.Helper()
	testkit.Exec(p.T, p.URL, "UPDATE pull_requests SET seen_at = 0 WHERE is_open = 1")
	if err := p.Outputs.LookAtPulls(p.T.Context()); err != nil {
		p.T.Fatal(err)
	}
}

// A run declares no pull request beyond the limit of its factory, which also counts what waits. One that a person has
// merged gives its place (renovatebot/renovate#3833, dependabot/dependabot-core#5342, renovatebot/config-help#907).
func TestNoMorePullRequestsThanTheLimitAreOpen(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		f, lead := p.factory("Shop", "{pullRequest: {openLimit: 1}}")
		a, b := p.pushed(by(lead, ""), "penstock/a"), p.pushed(by(lead, ""), "penstock/b")
		full := func(about string) {
			t.Helper()
			_, err := p.declare(b, aPull)
			if err == nil {
				t.Fatal(about, "it can be declared")
			}
			testworld.WantCode(t, err, penstock.CodeConflict, "limit of open pull requests: 1 of 1 are open")
		}
		p.declared(a, aPull)
		full("one waits:")
		p.succeeds(a.Lease)
		p.do()
		full("one is open:")
		other := p.pushed(shop, "penstock/c") // of no factory
		p.declared(other, aPull)
		p.succeeds(other.Lease)
		p.do()

		p.FollowUp(a.Lease.RunID, "more")
		again := p.Work()
		p.declared(again, run.OutputRequest{Kind: penstock.OutputPullRequest, Title: "Better", Base: "main"})
		p.succeeds(again.Lease)
		p.do()

		p.pulls.Edit(1, map[string]any{"state": "closed", "merged": true})
		p.forge.Calls()
		if err := p.Outputs.LookAtPulls(t.Context()); err != nil || len(p.forge.Calls()) != 0 {
			t.Errorf("the forge was asked before it was time, %v", err)
		}
		p.pulls.Break(func(string, string) testkit.PullFault { return testkit.Limits })
		p.look()
		full("the forge does not answer:")
		if calls := p.forge.Calls(); len(calls) != 1 {
			t.Errorf("a forge that limits requests got %v", calls)
		}
		p.pulls.Break(nil)
		p.look()
		if calls := p.forge.Calls(); !slices.Contains(calls, "GET /api/v1/repos/acme/shop/pulls/1") {
			t.Errorf("got %v", calls)
		}
		p.declared(b, aPull)
		p.succeeds(b.Lease)
		p.do()
		if pulls, _ := p.pulls.All(); len(pulls) != 3 {
			t.Errorf("got %v", pulls)
		}

		c := p.pushed(by(lead, ""), "penstock/d")
		if _, err := p.declare(c, aPull); err == nil {
			t.Error("a second one can be declared")
		}
		for _, one := range must(p.Connections.List(t.Context(), p.admin())) {
			if err := p.Connections.Delete(t.Context(), p.admin(), one.UID); err != nil {
				t.Error(err)
			}
		}
		p.look()
		if n := p.open(f); n != 0 {
			t.Errorf("%d pull requests of a connection that was deleted are open", n)
		}
	})
}

// open counts the pull requests of a factory that are open or wait.
func (p *publisher) open(f penstock.Factory) int64 {
	p.T.Helper()
	n, err := p.Database().Forges.CountOpen(p.T.Context(), p.Admin.Team, f.UID)
	if err != nil {
		p.T.Fatal(err)
	}
	return n
}

// Servers that look at the same time ask the forge once, and a look that an output overtakes closes nothing.
func TestLooksAtPullRequestsOnSeveralServers(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		f, lead := p.factory("Shop", "{}")
		a := p.pushed(by(lead, ""), "penstock/a")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		db := p.Database().Forges
		now := penstock.Now().Add(time.Hour)
		seen, err := db.UnseenPulls(t.Context(), now, 10)
		if err != nil || len(seen) != 1 {
			t.Fatal(seen, err)
		}
		for want := range 2 {
			claimed, err := db.ClaimPull(t.Context(), seen[0], now)
			if err != nil || claimed != (want == 0) {
				t.Errorf("claimed %t, %v", claimed, err)
			}
		}
		if err := db.ClosePull(t.Context(), seen[0]); err != nil || p.open(f) != 1 {
			t.Errorf("it is closed, %v", err)
		}
		seen[0].SeenAt = now
		if err := db.ClosePull(t.Context(), seen[0]); err != nil || p.open(f) != 0 {
			t.Errorf("it is open, %v", err)
		}
	})
}
