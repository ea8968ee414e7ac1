package forge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// publisher is a world with a connection whose outputs are done by hand.
type publisher struct {
	*world

	pulls *testkit.Pulls
}

func publishers(t *testing.T, test func(*testing.T, *publisher)) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		f := testkit.NewForge(t, t.TempDir())
		w := &world{testworld.New(t, url, func(d *run.Deps) {
			d.Forges, d.TimesByHand = testworld.To(t, f), true
		}), f}
		p := &publisher{w, testkit.NewPulls(f)}
		f.Answer(p.pulls.Answer)
		w.connected(nil)
		test(t, p)
	})
}

var shop = penstock.RunRequest{Prompt: "a", Config: &penstock.Config{
	Repositories: []penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}},
}}

// pushed is a turn in progress whose run has pushed a branch.
func (p *publisher) pushed(req penstock.RunRequest, branch string) penstock.Assignment {
	p.T.Helper()
	p.Create(req)
	a := p.Work()
	p.push(a.Lease, branch)
	return a
}

func (p *publisher) push(l penstock.Lease, branch string) {
	p.pushCommit(l, branch, strings.Repeat("a", 40))
}

func (p *publisher) pushCommit(l penstock.Lease, branch, commit string) {
	p.T.Helper()
	refusals, err := p.Executions.Control().ClaimBranches(p.T.Context(), l, penstock.PushClaim{
		URL:      p.forge.URL + "/acme/shop.git",
		Branches: []penstock.PushedBranch{{Name: branch, New: commit}},
	})
	if err != nil || refusals[0] != "" {
		p.T.Fatal(err, refusals)
	}
}

func (p *publisher) declare(a penstock.Assignment, req run.OutputRequest) (penstock.Output, error) {
	p.T.Helper()
	agent, err := p.Keys.Authenticate(p.T.Context(), a.APIKey)
	if err != nil {
		p.T.Fatal(err)
	}
	return p.Outputs.Declare(p.T.Context(), agent, a.Lease.RunID, req)
}

func (p *publisher) declared(a penstock.Assignment, req run.OutputRequest) penstock.Output {
	p.T.Helper()
	o, err := p.declare(a, req)
	if err != nil {
		p.T.Fatal(err)
	}
	return o
}

// do does what is due, and everything that waits, too.
func (p *publisher) do() {
	p.T.Helper()
	testkit.Exec(p.T, p.URL, "UPDATE outputs SET due_at = 0 WHERE state = 'queued'")
	testkit.Exec(p.T, p.URL, "UPDATE forge_threads SET due_at = 1 WHERE due_at > 0")
	testkit.Exec(p.T, p.URL, "UPDATE forge_commands SET due_at = 1 WHERE done_at > 0 AND due_at > 0")
	if err := p.Outputs.DoDue(p.T.Context()); err != nil {
		p.T.Fatal(err)
	}
	p.Outputs.Wait()
}

func (p *publisher) of(runID string) []penstock.Output {
	p.T.Helper()
	list, err := p.Outputs.OfRun(p.T.Context(), p.Admin, runID)
	if err != nil {
		p.T.Fatal(err)
	}
	return list.Outputs
}

func (p *publisher) succeeds(l penstock.Lease) {
	p.T.Helper()
	p.Finish(l, penstock.Result{State: penstock.StateSucceeded})
}

var (
	aPull    = run.OutputRequest{Kind: penstock.OutputPullRequest, Title: "Fix @alice", Body: "Fixes #3 <!-- x -->"}
	aComment = run.OutputRequest{Kind: penstock.OutputComment, Body: "Look, @alice"}
)

// A pull request and a comment are there after the turn, each once, and a later turn changes the pull request.
func TestAPullRequestIsOpenedAfterItsTurn(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, aPull)
		p.declared(a, aComment)
		if p.do(); len(p.of(a.Lease.RunID)) != 2 {
			t.Fatal("two outputs are declared")
		}
		if pulls, _ := p.pulls.All(); pulls != nil {
			t.Fatalf("during the turn there is %v", pulls)
		}
		p.succeeds(a.Lease)
		p.do()
		pulls, comments := p.pulls.All()
		if len(pulls) != 1 || len(comments) != 1 || strings.Contains(comments[0], "@alice") {
			t.Fatalf("got %v, %q", pulls, comments)
		}
		title, text := fmt.Sprint(pulls[0]["title"]), fmt.Sprint(pulls[0]["body"])
		for _, no := range []string{"@alice", "Fixes #3", "<!-- x"} {
			if strings.Contains(title+text, no) {
				t.Errorf("%q has an effect: %s %s", no, title, text)
			}
		}
		for _, yes := range []string{"#3", "https://penstock.test/runs/" + a.Lease.RunID, "cost so far $0.00"} {
			if !strings.Contains(text, yes) {
				t.Errorf("%q is missing in %s", yes, text)
			}
		}
		if !strings.HasPrefix(title, "WIP: Fix") {
			t.Errorf("it is no draft: %s", title)
		}
		list := p.of(a.Lease.RunID)
		url := p.forge.URL + "/acme/shop/pulls/1"
		if list[0].State != penstock.OutputDone || list[0].URL != url || list[0].Target.PullRequest != 1 ||
			list[1].State != penstock.OutputDone || list[0].Problem != "" {
			t.Errorf("got %+v", list)
		}
		if got := p.Get(a.Lease.RunID); len(got.Artifacts) != 1 || !strings.Contains(string(got.Artifacts[0].Data), url) {
			t.Errorf("the artifacts are %s", got.Artifacts)
		}
		types := p.TimelineTypes(a.Lease.RunID)
		if n := len(slices.DeleteFunc(types, func(s string) bool { return !strings.HasPrefix(s, "output_") })); n != 4 {
			t.Errorf("the timeline has %v", types)
		}

		p.FollowUp(a.Lease.RunID, "more")
		b := p.Work()
		p.declared(b, run.OutputRequest{Kind: penstock.OutputPullRequest, Title: "Better", Body: "Now."})
		p.succeeds(b.Lease)
		p.do()
		if pulls, _ = p.pulls.All(); len(pulls) != 1 || pulls[0]["title"] != "WIP: Better" {
			t.Errorf("the second turn: %v", pulls)
		}
		p.pulls.Edit(1, map[string]any{"body": "mine"})
		p.FollowUp(a.Lease.RunID, "more")
		c := p.Work()
		last := p.declared(c, aPull)
		p.succeeds(c.Lease)
		p.do()
		pulls, _ = p.pulls.All()
		for _, o := range p.of(a.Lease.RunID) {
			if o.UID == last.UID && (o.State != penstock.OutputDone || !strings.Contains(o.Problem, "edited")) {
				t.Errorf("got %+v", o)
			}
		}
		if pulls[0]["body"] != "mine" || last.Turn != 3 {
			t.Errorf("a person's text is %v, turn %d", pulls[0]["body"], last.Turn)
		}
	})
}

// What a turn declared that did not end well is never done.
func TestOutputsOfATurnThatEndsBadly(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		for name, end := range map[string]func(penstock.Assignment){
			"failed": func(a penstock.Assignment) { p.Finish(a.Lease, penstock.Result{State: penstock.StateFailed}) },
			"cancelled": func(a penstock.Assignment) {
				if _, err := p.Runs.Cancel(t.Context(), p.Admin, a.Lease.RunID, false); err != nil {
					t.Error(err)
				}
			},
			"lost":        func(a penstock.Assignment) { p.LoseLease(a.Lease) },
			"handed back": func(a penstock.Assignment) { p.Finish(a.Lease, penstock.Result{State: penstock.StateQueued}) },
			"stopped": func(a penstock.Assignment) {
				if _, err := p.Runs.Interrupt(t.Context(), p.Admin, a.Lease.RunID); err != nil {
					t.Error(err)
				}
				p.Finish(a.Lease, penstock.Result{
					State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: penstock.Interrupted},
				})
			},
			"stopped, and a message waits": func(a penstock.Assignment) {
				if _, err := p.Runs.Interrupt(t.Context(), p.Admin, a.Lease.RunID); err != nil {
					t.Error(err)
				}
				p.FollowUp(a.Lease.RunID, "rather that")
				p.Finish(a.Lease, penstock.Result{
					State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: penstock.Interrupted},
				})
				p.succeeds(a.Lease)
			},
		} {
			a := p.pushed(shop, "penstock/"+penstock.NewID())
			p.declared(a, aPull)
			end(a)
			p.do()
			if list := p.of(a.Lease.RunID); list[0].State != penstock.OutputDiscarded || list[0].Problem == "" {
				t.Errorf("%s: got %+v", name, list[0])
			}
			if types := p.TimelineTypes(a.Lease.RunID); !slices.Contains(types, "output_discarded") {
				t.Errorf("%s: the timeline has %v", name, types)
			}
			if _, err := p.Outputs.Approve(t.Context(), p.Admin, p.of(a.Lease.RunID)[0].UID); err == nil {
				t.Errorf("%s: it can be released", name)
			}
			if p.Get(a.Lease.RunID).State == penstock.StateQueued {
				if _, err := p.Runs.Cancel(t.Context(), p.Admin, a.Lease.RunID, false); err != nil {
					t.Error(err)
				}
			}
		}
		if pulls, _ := p.pulls.All(); pulls != nil {
			t.Errorf("got %v", pulls)
		}
	})
}

// An output whose result is unknown is done once: the answer is lost or makes no sense, or the server is killed
// before it has stored the result.
func TestAnOutputIsDoneOnce(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		for name, fault := range map[string]func() testkit.PullFault{
			"lost":     func() testkit.PullFault { return testkit.Loses },
			"nonsense": func() testkit.PullFault { return testkit.Nonsense },
			"killed":   func() testkit.PullFault { p.Killer.BeforeStatement(1); return "" },
		} {
			before, said := p.pulls.All()
			a := p.pushed(shop, "penstock/"+name)
			p.declared(a, aPull)
			p.declared(a, aComment)
			p.succeeds(a.Lease)
			var left sync.Map
			p.pulls.Break(func(method, path string) testkit.PullFault {
				if _, seen := left.LoadOrStore(strings.HasPrefix(path, "/issues"), true); method == http.MethodPost && !seen {
					return fault()
				}
				if method != http.MethodPost {
					left.Delete(strings.HasPrefix(path, "/issues"))
				}
				return ""
			})
			for range 3 {
				p.do()
				p.Restart()
			}
			p.pulls.Break(nil)
			p.do()
			pulls, comments := p.pulls.All()
			if len(pulls) != len(before)+1 || len(comments) != len(said)+1 {
				t.Errorf("%s: got %v and %q", name, pulls[len(before):], comments[len(said):])
			}
			for _, o := range p.of(a.Lease.RunID) {
				if o.State != penstock.OutputDone || o.URL == "" {
					t.Errorf("%s: got %+v", name, o)
				}
			}
		}
	})
}

// Servers that look at the same time open one pull request, also for two runs of one thread.
func TestOutputsOnSeveralServers(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		servers := []*testworld.World{p.World, p.Beside(), p.Beside()}
		about := shop
		about.Subject = "ticket-7"
		for range 2 {
			p.Create(about)
		}
		a := p.Work()
		p.push(a.Lease, "penstock/one")
		for _, req := range []run.OutputRequest{aPull, aComment, aComment, aComment} {
			p.declared(a, req)
		}
		p.succeeds(a.Lease)
		var all sync.WaitGroup
		for range 3 {
			for _, s := range servers {
				all.Go(func() {
					if err := s.Outputs.DoDue(t.Context()); err != nil {
						t.Error(err)
					}
					s.Outputs.Wait()
				})
			}
			all.Wait()
		}
		p.do()
		if pulls, comments := p.pulls.All(); len(pulls) != 1 || len(comments) != 3 {
			t.Errorf("got %d pull requests, %d comments", len(pulls), len(comments))
		}
	})
}

// While a forge does not work, an output waits and says why. What it refuses fails.
func TestAForgeThatRefusesOutputs(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		for fault, want := range map[testkit.PullFault]string{
			testkit.Busy: "503", testkit.Limits: "429", testkit.Refuses: "Does the branch",
		} {
			a := p.pushed(shop, "penstock/x"+string(fault))
			p.declared(a, aPull)
			p.succeeds(a.Lease)
			p.pulls.Break(func(method, _ string) testkit.PullFault {
				if method == http.MethodPost {
					return fault
				}
				return ""
			})
			p.do()
			o := p.of(a.Lease.RunID)[0]
			if o.State != penstock.OutputQueued || !strings.Contains(o.Problem, want) {
				t.Errorf("%s: got %+v", fault, o)
			}
			if err := p.Outputs.DoDue(t.Context()); err != nil { // not before it is due
				t.Error(err)
			}
			p.Outputs.Wait()
			for range 3 {
				p.do()
			}
			if types := p.TimelineTypes(a.Lease.RunID); !slices.Contains(types, "output_waiting") {
				t.Errorf("%s: the timeline has %v", fault, types)
			}
			if o = p.of(a.Lease.RunID)[0]; (o.State == penstock.OutputFailed) != (fault == testkit.Refuses) {
				t.Errorf("%s: got %+v", fault, o)
			}
			p.pulls.Break(nil)
			p.do()
			if o = p.of(a.Lease.RunID)[0]; fault != testkit.Refuses && (o.State != penstock.OutputDone || o.Problem != "") {
				t.Errorf("%s, afterwards: got %+v", fault, o)
			}
		}
	})
}

// The pull request that somebody else has opened for the branch stays as it is.
func TestAPullRequestOfSomebodyElse(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		p.pulls.Open("Mine", "text", "penstock/fix", "main")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		pulls, _ := p.pulls.All()
		o := p.of(a.Lease.RunID)[0]
		if len(pulls) != 1 || pulls[0]["body"] != "text" || o.State != penstock.OutputDone || o.Problem == "" ||
			o.Target.PullRequest != 1 {
			t.Errorf("got %v, %+v", pulls, o)
		}
		p.FollowUp(a.Lease.RunID, "more")
		b := p.Work()
		p.push(b.Lease, "penstock/other")
		p.declared(b, aPull)
		p.succeeds(b.Lease)
		p.do()
		if o = p.of(a.Lease.RunID)[1]; o.State != penstock.OutputFailed || !strings.Contains(o.Problem, "pulls/1 is open") {
			t.Errorf("another branch: got %+v", o)
		}
	})
}

// The outputs of a fork wait for a person.
func TestOutputsOfAForkAreHeld(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		source := p.Create(shop)
		a := p.Work()
		p.keep(a.Lease, source.ID)
		p.succeeds(a.Lease)
		var outputs []penstock.Output
		for range 2 {
			if _, err := p.Turns.Fork(t.Context(), p.Admin, source.ID, run.ForkRequest{Prompt: "b"}); err != nil {
				t.Fatal(err)
			}
			fork := p.Work()
			p.push(fork.Lease, "penstock/fork-"+fork.Lease.RunID+"/x")
			p.declared(fork, aPull)
			p.succeeds(fork.Lease)
			p.do()
			outputs = append(outputs, p.of(fork.Lease.RunID)...)
		}
		held, err := p.Outputs.In(t.Context(), p.Admin, penstock.OutputHeld)
		if err != nil || len(held.Outputs) != 2 {
			t.Fatalf("held are %+v, %v", held, err)
		}
		agent := p.Admin
		agent.AgentUID = "x"
		for name, who := range map[string]penstock.Principal{
			"an agent": agent, "a reader": p.As("r", penstock.ScopeRunsRead),
			"a run": {Team: p.Admin.Team, RunID: outputs[0].RunID, Scopes: []penstock.Scope{penstock.ScopeOwnRun}},
		} {
			if _, err := p.Outputs.Approve(t.Context(), who, outputs[0].UID); err == nil {
				t.Errorf("%s can release it", name)
			}
		}
		if _, err = p.Outputs.Approve(t.Context(), p.Admin, outputs[0].UID); err != nil {
			t.Error(err)
		}
		_, err = p.Outputs.Reject(t.Context(), p.Admin, outputs[1].UID)
		if err != nil {
			t.Error(err)
		}
		for _, uid := range []string{outputs[0].UID, outputs[1].UID} {
			_, err := p.Outputs.Approve(t.Context(), p.Admin, uid)
			testworld.WantCode(t, err, penstock.CodeConflict, "already")
		}
		p.do()
		if pulls, _ := p.pulls.All(); len(pulls) != 1 {
			t.Errorf("got %v", pulls)
		}
	})
}

// What is declared wrongly is refused at once, and nothing is stored.
func TestOutputsThatAreRefused(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		other := func(change func(*run.OutputRequest)) run.OutputRequest {
			req := aPull
			change(&req)
			return req
		}
		for pointer, req := range map[string]run.OutputRequest{
			"/kind":       {Kind: "review", Body: "x"},
			"/title":      other(func(r *run.OutputRequest) { r.Title = "a\nb" }),
			"/body":       other(func(r *run.OutputRequest) { r.Body = "ghp_" + strings.Repeat("a", 36) }),
			"/branch":     other(func(r *run.OutputRequest) { r.Branch = "penstock/other" }),
			"/base":       other(func(r *run.OutputRequest) { r.Base = "penstock/fix" }),
			"/repository": other(func(r *run.OutputRequest) { r.Repository = "acme/secret" }),
			"/draft":      {Kind: penstock.OutputComment, Body: "x", Draft: new(true)},
		} {
			_, err := p.declare(a, req)
			testworld.WantField(t, err, pointer)
		}
		_, err := p.Outputs.Declare(t.Context(), p.Admin, a.Lease.RunID, aPull)
		testworld.WantCode(t, err, penstock.CodeNotAuthorized, "from its sandbox")
		p.declared(a, aPull)
		_, err = p.declare(a, aPull)
		testworld.WantCode(t, err, penstock.CodeConflict, "1 outputs")
		if n := len(p.of(a.Lease.RunID)); n != 1 {
			t.Errorf("%d are stored", n)
		}
		p.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, KeepOpen: true})
		_, err = p.declare(a, aComment)
		testworld.WantCode(t, err, penstock.CodeConflict, "while a turn")
		p.pulls.Break(nil)
		for _, f := range must(p.Connections.List(t.Context(), p.admin())) {
			if err := p.Connections.Delete(t.Context(), p.admin(), f.UID); err != nil {
				t.Error(err)
			}
		}
		p.do()
		if o := p.of(a.Lease.RunID)[0]; o.State != penstock.OutputFailed || !strings.Contains(o.Problem, "was deleted") {
			t.Errorf("got %+v", o)
		}
	})
}

func must(list []penstock.Forge, _ error) []penstock.Forge { return list }
