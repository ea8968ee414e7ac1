package forge_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// once lets the first request about pull requests with a method fail.
func (p *publisher) once(method string, fault testkit.PullFault) {
	var seen atomic.Bool
	p.pulls.Break(func(m, path string) testkit.PullFault {
		if m == method && strings.HasPrefix(path, "/pulls") && seen.CompareAndSwap(false, true) {
			return fault
		}
		return ""
	})
}

// opened is a run whose first turn has opened a pull request of penstock/fix.
func (p *publisher) opened() (runID string) {
	p.T.Helper()
	a := p.pushed(shop, "penstock/fix")
	p.declared(a, aPull)
	p.succeeds(a.Lease)
	p.do()
	if pulls, _ := p.pulls.All(); len(pulls) != 1 {
		p.T.Fatalf("got %v", pulls)
	}
	return a.Lease.RunID
}

func (p *publisher) turn(runID, branch string, list ...run.OutputRequest) {
	p.T.Helper()
	p.FollowUp(runID, "more")
	a := p.Work()
	if branch != "" {
		p.push(a.Lease, branch)
	}
	for _, req := range list {
		p.declared(a, req)
	}
	p.succeeds(a.Lease)
}

func titled(title string) run.OutputRequest {
	return run.OutputRequest{Kind: penstock.OutputPullRequest, Title: title, Body: "Now."}
}

// A change whose answer was lost is not taken for the edit of a person, and later turns change the text again.
func TestAttackOutputChangeIsLost(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.opened()
		for name, breaks := range map[string]func(){
			"lost":     func() { p.once(http.MethodPatch, testkit.Loses) },
			"nonsense": func() { p.once(http.MethodPatch, testkit.Nonsense) },
			"killed": func() {
				p.pulls.Break(func(method, _ string) testkit.PullFault {
					if method == http.MethodPatch {
						p.Killer.BeforeStatement(1)
					}
					return ""
				})
			},
		} {
			p.turn(id, "", titled("Better "+name))
			breaks()
			p.do()
			p.Restart()
			p.pulls.Break(nil)
			p.do()
			list := p.of(id)
			if o := list[len(list)-1]; o.State != penstock.OutputDone || o.Problem != "" {
				t.Errorf("%s: nobody has edited it: %s %q", name, o.State, o.Problem)
			}
			p.turn(id, "", titled("Best "+name))
			p.do()
			if pulls, _ := p.pulls.All(); pulls[0]["title"] != "WIP: Best "+name {
				t.Errorf("%s: the title stays %v", name, pulls[0]["title"])
			}
		}
	})
}

// What a person has written between a lost answer and the next try stays.
func TestAttackOutputEditIsLost(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.once(http.MethodPost, testkit.Loses)
		p.do()
		pulls, _ := p.pulls.All()
		p.pulls.Edit(1, map[string]any{"body": "A person's words.\n\n" + fmt.Sprint(pulls[0]["body"])})
		p.do()
		if pulls, _ = p.pulls.All(); !strings.Contains(fmt.Sprint(pulls[0]["body"]), "A person's words.") {
			t.Errorf("the edit is lost: %v", pulls[0]["body"])
		}
	})
}

// A new pull request gets its label, also if the answer was lost.
func TestAttackOutputLabelIsLost(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		uid := p.NewFactory("mine")
		var labelled atomic.Int32
		p.forge.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			path, _ := strings.CutPrefix(r.URL.Path, "/api/v1/repos/acme/shop")
			switch {
			case path == "/labels":
				_, _ = w.Write([]byte(`[{"id":1,"name":"factory:mine"}]`))
			case strings.HasSuffix(path, "/labels"):
				labelled.Add(1)
				_, _ = w.Write([]byte(`[{"id":1,"name":"factory:mine"}]`))
			default:
				return p.pulls.Answer(w, r)
			}
			return true
		})
		for i, fault := range []testkit.PullFault{"", testkit.Loses} {
			a := p.pushed(shop, fmt.Sprintf("penstock/fix-%d", i))
			testkit.Exec(t, p.URL, "UPDATE runs SET factory_uid = '"+uid+"' WHERE id = '"+a.Lease.RunID+"'")
			p.declared(a, aPull)
			p.succeeds(a.Lease)
			p.once(http.MethodPost, fault)
			p.do()
			p.do()
			if o := p.of(a.Lease.RunID)[0]; o.State != penstock.OutputDone || int(labelled.Load()) != i+1 {
				t.Errorf("%q: %s %q, %d labels", fault, o.State, o.Problem, labelled.Load())
			}
		}
	})
}

// A text that is cut has no effect: what was code before the cut is none after it.
func TestAttackOutputCutText(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		body := strings.Repeat("x\n", 29_990) + "\n`@alice fixes #3 " + strings.Repeat("y", 100) + "`"
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, run.OutputRequest{Kind: penstock.OutputPullRequest, Title: "a", Body: body})
		p.declared(a, run.OutputRequest{Kind: penstock.OutputComment, Body: body})
		p.succeeds(a.Lease)
		p.do()
		p.do()
		pulls, comments := p.pulls.All()
		for _, text := range append(comments, fmt.Sprint(pulls[0]["body"])) {
			at := strings.Index(text, "`@alice fixes #3 ")
			if at >= 0 && !strings.Contains(text[at+1:], "`") {
				t.Errorf("it mentions and closes: %q", text[at:])
			}
		}
	})
}

// A secret is not put together again by what removes comments and hidden characters after the check.
func TestAttackOutputSecretIsJoined(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		const own = "p@ssword-of-the-team"
		_, err := p.Secrets.Create(t.Context(), p.Admin, access.SecretRequest{Name: "OWN", Value: new(own)})
		if err != nil {
			t.Fatal(err)
		}
		req := shop
		req.Config = new(*shop.Config)
		req.Config.Secrets = []string{"OWN"}
		a := p.pushed(req, "penstock/fix")
		token := "ghp_" + strings.Repeat("a", 36)
		for name, text := range map[string]string{
			"a comment":          strings.Replace(token, "_", "_<!-- -->", 1),
			"a hidden character": strings.Replace(token, "_", "_\u200b", 1),
			"an entity":          strings.Replace(token, "ghp", "g&#104;p", 1),
			"the run's own key":  a.APIKey,
			"the run's secret":   strings.Replace(own, "-", "-<!-- -->", 1),
		} {
			o, err := p.declare(a, run.OutputRequest{Kind: penstock.OutputComment, Body: text})
			if err == nil {
				t.Errorf("%s: accepted as %q", name, o.Payload.Body)
			}
			testkit.Exec(t, p.URL, "UPDATE outputs SET turn = turn + 100")
		}
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		testkit.Exec(t, p.URL, "UPDATE outputs SET queued_at = queued_at + 9 WHERE kind = 'comment'")
		p.do()
		p.do()
		_, comments := p.pulls.All()
		for _, text := range comments {
			if strings.Contains(text, token) || strings.Contains(text, a.APIKey) {
				t.Errorf("it is published: %q", text)
			}
		}
	})
}

// Two outputs of a thread are never done at once, also if the clock was set back between them.
func TestAttackOutputClockSetBack(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/one")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		reached, release := make(chan struct{}), make(chan struct{})
		var first sync.Once
		p.forge.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pulls") {
				first.Do(func() {
					close(reached)
					<-release
				})
			}
			return p.pulls.Answer(w, r)
		})
		if err := p.Outputs.DoDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-reached
		p.turn(a.Lease.RunID, "penstock/two", titled("two"))
		testkit.Exec(t, p.URL, "UPDATE outputs SET queued_at = queued_at - 3600000, due_at = 0 WHERE lease = ''")
		other := p.Beside()
		if err := other.Outputs.DoDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.Outputs.Wait()
		close(release)
		p.Outputs.Wait()
		p.do()
		if pulls, _ := p.pulls.All(); len(pulls) != 1 {
			t.Errorf("the thread has %d open pull requests", len(pulls))
		}
	})
}

// The agent of an execution whose lease was lost declares nothing for the next execution: its request may have been
// authenticated long before its body ends.
func TestAttackOutputOfALostExecution(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		agent, err := p.Keys.Authenticate(t.Context(), a.APIKey)
		if err != nil {
			t.Fatal(err)
		}
		p.Finish(a.Lease, penstock.Result{State: penstock.StateQueued})
		b := p.Work()
		if _, err := p.Keys.Authenticate(t.Context(), a.APIKey); err == nil {
			t.Error("the old key still works")
		}
		if _, err := p.Outputs.Declare(t.Context(), agent, a.Lease.RunID, aPull); err == nil {
			t.Error("the lost execution has declared an output")
		}
		p.succeeds(b.Lease)
		p.do()
		if pulls, _ := p.pulls.All(); pulls != nil {
			t.Errorf("got %v", pulls)
		}
	})
}

// A comment about a pull request that was not opened does not go to one that is closed.
func TestAttackOutputCommentElsewhere(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.opened()
		p.pulls.Edit(1, map[string]any{"state": "closed", "merged": true})
		p.pulls.Break(func(method, path string) testkit.PullFault {
			if method == http.MethodPost && path == "/pulls" {
				return testkit.Refuses
			}
			return ""
		})
		p.turn(id, "penstock/two", titled("two"), aComment)
		for range 4 {
			p.do()
		}
		if _, comments := p.pulls.All(); len(comments) != 0 {
			t.Errorf("the merged pull request has the comment %q", comments)
		}
	})
}

// A repository that was deleted and made again has other pull requests under the known numbers.
func TestAttackOutputCommentOnAnother(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.opened()
		p.pulls.Edit(1, map[string]any{
			"title": "another", "body": "another", "head": map[string]any{"ref": "feature", "repo": map[string]any{"id": 9}},
		})
		p.turn(id, "", aComment)
		p.do()
		if _, comments := p.pulls.All(); len(comments) != 0 {
			t.Errorf("a pull request of somebody else has the comment %q", comments)
		}
	})
}

// An output is done although the artifacts of its run are at their limit, and they stay within it.
func TestAttackOutputArtifactsAreFull(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		p.Deps.MaxRunArtifactBytes = 1000
		p.Restart()
		a := p.pushed(shop, "penstock/full")
		testkit.Exec(t, p.URL, "INSERT INTO artifacts (uid, run_id, team, type, created_at, data, size) "+
			"SELECT 'big', id, team, 'file', 1, '{}', 2000 FROM runs")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		p.do()
		if o := p.of(a.Lease.RunID)[0]; o.State != penstock.OutputDone {
			t.Errorf("it is tried again for ever: %s %q", o.State, o.Problem)
		}
	})
}

func TestAttackOutputTooManyArtifacts(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/many")
		for i := range 500 {
			testkit.Exec(t, p.URL, fmt.Sprintf("INSERT INTO artifacts (uid, run_id, team, type, created_at, data, size) "+
				"SELECT 'a%d', id, team, 'file', 1, '{}', 0 FROM runs", i))
		}
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		if n := len(p.Get(a.Lease.RunID).Artifacts); n > 500 {
			t.Errorf("the run has %d artifacts, more than the maximum", n)
		}
	})
}

// Texts of which nothing remains are refused at once.
func TestAttackOutputEmptyTexts(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		for _, text := range []string{"\u200b", "<!-- x -->", "\u3164"} {
			if _, err := p.declare(a, titled(text)); err == nil {
				t.Errorf("the title %q is accepted", text)
				testkit.Exec(t, p.URL, "DELETE FROM outputs")
			}
			if _, err := p.declare(a, run.OutputRequest{Kind: penstock.OutputComment, Body: text}); err == nil {
				t.Errorf("the comment %q is accepted", text)
			}
		}
	})
}

// Others cannot stop outputs with texts that are long: Gitea has no limit for them.
func TestAttackOutputLongList(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		for i := range 50 {
			p.pulls.Open("x", strings.Repeat("x", 200<<10), fmt.Sprintf("other-%d", i), "main")
		}
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		if o := p.of(a.Lease.RunID)[0]; o.State != penstock.OutputDone {
			t.Errorf("got %s %q", o.State, o.Problem)
		}
	})
}

// A page of a proxy, once, is no reason to give up.
func TestAttackOutputOnePage(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		for _, status := range []int{http.StatusOK, http.StatusFound} {
			a := p.pushed(shop, fmt.Sprintf("penstock/page-%d", status))
			p.declared(a, aPull)
			p.succeeds(a.Lease)
			var once atomic.Bool
			p.forge.Answer(func(w http.ResponseWriter, r *http.Request) bool {
				if once.Swap(true) {
					return p.pulls.Answer(w, r)
				}
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Location", "/maintenance")
				w.WriteHeader(status)
				_, _ = w.Write([]byte("<html>We will be back soon."))
				return true
			})
			p.do()
			p.do()
			if o := p.of(a.Lease.RunID)[0]; o.State != penstock.OutputDone {
				t.Errorf("%d: got %s %q", status, o.State, o.Problem)
			}
		}
	})
}

// An output that this server cannot do says so, and ends after its time.
func TestAttackOutputSealedTokens(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		testkit.Exec(t, p.URL, "UPDATE forges SET sealed = '\\x00'")
		testkit.Exec(t, p.URL, "UPDATE outputs SET queued_at = 1")
		for range 3 {
			p.do()
		}
		if o := p.of(a.Lease.RunID)[0]; o.State != penstock.OutputFailed {
			t.Errorf("after three days: %s %q", o.State, o.Problem)
		}
	})
}

// A server that is killed anywhere leaves outputs that the next one does, once.
func TestAttackOutputKilled(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		for n := 1; n <= 34; n += 3 {
			before, said := p.pulls.All()
			a := p.pushed(shop, fmt.Sprintf("penstock/kill-%d", n))
			p.declared(a, aPull)
			p.declared(a, aComment)
			p.succeeds(a.Lease)
			testkit.Exec(t, p.URL, "UPDATE outputs SET due_at = 0 WHERE state = 'queued'")
			if n <= 28 {
				p.Killer.BeforeStatement(n)
			} else {
				p.Killer.AfterCommit(n - 28)
			}
			_ = p.Outputs.DoDue(t.Context())
			p.Outputs.Wait()
			p.Killer.Spare()
			p.Restart()
			done := func() bool {
				for _, o := range p.of(a.Lease.RunID) {
					if o.State != penstock.OutputDone || o.Problem != "" {
						return false
					}
				}
				return true
			}
			for range 4 {
				if !done() {
					p.do()
				}
			}
			pulls, comments := p.pulls.All()
			if !done() || len(pulls) != len(before)+1 || len(comments) != len(said)+1 {
				t.Errorf("%d: %d pull requests, %d comments, %+v", n, len(pulls)-len(before), len(comments)-len(said),
					p.of(a.Lease.RunID))
			}
			if got := p.Get(a.Lease.RunID); len(got.Artifacts) != 1 {
				t.Errorf("%d: %d artifacts", n, len(got.Artifacts))
			}
		}
	})
}

// Of many claims at once, one gets an output of a thread.
func TestAttackOutputClaims(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		f := must(p.Connections.List(t.Context(), p.admin()))[0]
		a := p.pushed(shop, "penstock/fix")
		for _, req := range []run.OutputRequest{aPull, aComment, aComment, aComment} {
			p.declared(a, req)
		}
		p.succeeds(a.Lease)
		var servers []*store.Store
		for range 3 {
			servers = append(servers, p.Database())
		}
		for range 25 {
			testkit.Exec(t, p.URL, "UPDATE outputs SET due_at = 0, lease = ''")
			var found atomic.Int32
			var all sync.WaitGroup
			for i := range 9 {
				all.Go(func() {
					now := penstock.Now()
					_, ok, err := servers[i%3].Forges.ClaimOutput(t.Context(), f.UID, now, now.Add(time.Minute))
					if err != nil {
						t.Error(err)
					}
					if ok {
						found.Add(1)
					}
				})
			}
			all.Wait()
			if found.Load() != 1 {
				t.Fatalf("%d claims", found.Load())
			}
		}
	})
}

// Declarations at once keep the limits of the turn, and one that meets the end of the turn is refused or done.
func TestAttackOutputDeclaresAtOnce(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		agent, err := p.Keys.Authenticate(t.Context(), a.APIKey)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				req := aComment
				if i%2 == 0 {
					req = aPull
				}
				_, _ = p.Outputs.Declare(t.Context(), agent, a.Lease.RunID, req)
				if i == 9 {
					p.succeeds(a.Lease)
				}
			})
		}
		all.Wait()
		count := map[penstock.OutputKind]int{}
		for _, o := range p.of(a.Lease.RunID) {
			count[o.Kind]++
			if o.State != penstock.OutputQueued {
				t.Errorf("got %+v", o)
			}
		}
		if count[penstock.OutputPullRequest] > 1 || count[penstock.OutputComment] > 3 {
			t.Errorf("got %v", count)
		}
	})
}

// The agent aims at nothing but its run's repositories and branches.
func TestAttackOutputTargets(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		other := p.pushed(shop, "penstock/theirs")
		mine := p.pushed(shop, "penstock/mine")
		agent, err := p.Keys.Authenticate(t.Context(), mine.APIKey)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Outputs.Declare(t.Context(), agent, other.Lease.RunID, aPull); err == nil {
			t.Error("an output of another run")
		}
		for _, change := range []func(*run.OutputRequest){
			func(r *run.OutputRequest) { r.Branch = "penstock/theirs" },
			func(r *run.OutputRequest) { r.Branch = "main" },
			func(r *run.OutputRequest) { r.Branch = "PENSTOCK/mine" },
			func(r *run.OutputRequest) { r.Branch = "other:penstock/mine" },
			func(r *run.OutputRequest) { r.Branch = "refs/heads/penstock/mine" },
			func(r *run.OutputRequest) { r.Repository = "acme/shop/../secret" },
			func(r *run.OutputRequest) { r.Repository = "acme/shop.git" },
			func(r *run.OutputRequest) { r.Repository = "evil/shop" },
			func(r *run.OutputRequest) { r.Base = "../main" },
			func(r *run.OutputRequest) { r.Base = "release" },
		} {
			req := aPull
			change(&req)
			if o, err := p.declare(mine, req); err == nil {
				t.Errorf("accepted: %+v", o)
				testkit.Exec(t, p.URL, "DELETE FROM outputs")
			}
		}
		req := aPull
		req.Base = "release" // is refused after the turn, if the forge does not name its default branch before
		p.pulls.Break(func(string, string) testkit.PullFault { return testkit.Busy })
		p.declared(mine, req)
		p.pulls.Break(nil)
		p.declared(other, aComment)
		p.succeeds(mine.Lease)
		p.succeeds(other.Lease)
		p.do()
		p.do()
		pulls, comments := p.pulls.All()
		if pulls != nil || comments != nil {
			t.Errorf("got %v %q", pulls, comments)
		}
	})
}

// A run that a person cancels opens no pull request afterwards: its outputs that wait are discarded.
func TestAttackOutputAfterCancel(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, aPull)
		p.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, KeepOpen: true})
		p.once(http.MethodPost, testkit.Busy)
		p.do()
		if _, err := p.Runs.Cancel(t.Context(), p.Admin, a.Lease.RunID, false); err != nil {
			t.Fatal(err)
		}
		p.do()
		if pulls, _ := p.pulls.All(); pulls != nil {
			t.Errorf("the cancelled run has opened %v", pulls[0]["title"])
		}
		b := p.pushed(shop, "penstock/other")
		p.declared(b, aPull)
		p.succeeds(b.Lease)
		p.once(http.MethodPost, testkit.Busy)
		p.do()
		if _, err := p.Outputs.Reject(t.Context(), p.Admin, p.of(b.Lease.RunID)[0].UID); err != nil {
			t.Errorf("a person cannot discard what waits: %v", err)
		}
		p.do()
		if pulls, _ := p.pulls.All(); pulls != nil {
			t.Errorf("what was discarded has opened %v", pulls[0]["title"])
		}
	})
}

// The limits of a connection count when an output is done, and another connection with its name is not it.
func TestAttackOutputConnectionChanges(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		f := must(p.Connections.List(t.Context(), p.admin()))[0]
		a, b := p.pushed(shop, "penstock/a"), p.pushed(shop, "penstock/b")
		p.declared(a, aPull)
		p.declared(b, aPull)
		p.succeeds(a.Lease)
		p.succeeds(b.Lease)
		change := forge.ChangeRequest{Repositories: &[]string{"acme/other"}}
		if _, err := p.Connections.Update(t.Context(), p.admin(), f.UID, change); err != nil {
			t.Fatal(err)
		}
		testkit.Exec(t, p.URL, "UPDATE outputs SET due_at = 9999999999999 WHERE run_id = '"+b.Lease.RunID+"'")
		if err := p.Outputs.DoDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Outputs.Wait()
		if err := p.Connections.Delete(t.Context(), p.admin(), f.UID); err != nil {
			t.Fatal(err)
		}
		p.connected(nil)
		p.do()
		for _, l := range []penstock.Lease{a.Lease, b.Lease} {
			if o := p.of(l.RunID)[0]; o.State != penstock.OutputFailed {
				t.Errorf("got %+v", o)
			}
		}
		if pulls, _ := p.pulls.All(); pulls != nil {
			t.Errorf("got %v", pulls)
		}
	})
}

// Odd characters are stored and published.
func TestAttackOutputOddTexts(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		const most = 2 << 10
		for i, part := range []string{
			"a\x00b\xff", "/\u200b", "fix", "fix #", "@a ", "a@", "&#38;", "<!--", "`", "`a ", "```\n", "[", "](", "<a ",
			"&amp;",
			"https://x/@", "> ", "- ```\n", "$", "\\(", "\n", "😀", "a", "*@", "@<b>",
		} {
			a := p.pushed(shop, fmt.Sprintf("penstock/odd-%d", i))
			body := "x" + strings.Repeat(part, (most-1)/len(part))
			if _, err := p.declare(a, run.OutputRequest{Kind: penstock.OutputPullRequest, Title: "a", Body: body}); err != nil {
				t.Logf("%q: %v", part, err)
			}
			p.succeeds(a.Lease)
			p.do()
			for _, o := range p.of(a.Lease.RunID) {
				if o.State != penstock.OutputDone {
					t.Errorf("%q: %s %q", part, o.State, o.Problem)
				}
			}
		}
	})
}

// A person sees the held outputs that they may release, also behind many of other people's personal runs.
func TestAttackOutputListOfOthers(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		mine := p.pushed(shop, "penstock/fix")
		theirs := p.pushed(shop, "penstock/theirs")
		p.declared(mine, aPull)
		for i := range 201 {
			testkit.Exec(t, p.URL, fmt.Sprintf(`INSERT INTO outputs (uid, team, run_id, owner, turn, kind, state, connection,
				target, payload, url, problem, queued_at, due_at, lease, tries, refused, created_at, updated_at)
				SELECT 'x%d', team, '%s', 'run:x', 1, 'comment', 'held', connection, target, payload, '', '', 0, 0, '', 0, 0, 1, 1
				FROM outputs WHERE run_id = '%s'`, i, theirs.Lease.RunID, mine.Lease.RunID))
		}
		testkit.Exec(t, p.URL, "UPDATE outputs SET state = 'held'")
		testkit.Exec(t, p.URL, "UPDATE runs SET personal = 1 WHERE id = '"+theirs.Lease.RunID+"'")
		who := p.As("reader", penstock.ScopeRunsRead)
		list, err := p.Outputs.In(t.Context(), who, penstock.OutputHeld)
		if err != nil || len(list.Outputs) != 1 {
			t.Errorf("got %d outputs, %v", len(list.Outputs), err)
		}
	})
}

// The pull request is an artifact that Penstock has observed, whatever the agent has said before.
func TestAttackOutputArtifactSaidBefore(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		url := p.forge.URL + "/acme/shop/pulls/1"
		testkit.Exec(t, p.URL, "INSERT INTO artifacts (uid, run_id, team, type, created_at, data, url, size) "+
			`SELECT 'said', id, team, 'pull_request', 1, '{"url":"`+url+`","status":"merged"}', '`+url+"', 0 FROM runs")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		for _, one := range p.Get(a.Lease.RunID).Artifacts {
			if strings.Contains(string(one.Data), "observed") {
				return
			}
		}
		t.Errorf("no artifact was observed: %s", p.Get(a.Lease.RunID).Artifacts)
	})
}

// The pull request of a thread stays the one if its base is renamed on the forge, and a person's text stays.
func TestAttackOutputRenamedBase(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.opened()
		pulls, _ := p.pulls.All()
		p.pulls.Edit(1, map[string]any{
			"base": map[string]any{"ref": "trunk", "repo": map[string]any{"id": 7}},
			"body": "A person's words.\n\n" + fmt.Sprint(pulls[0]["body"]),
		})
		p.forge.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/api/v1/repos/acme/shop" {
				return p.pulls.Answer(w, r)
			}
			_, _ = w.Write([]byte(`{"id":7,"full_name":"acme/shop","default_branch":"trunk"}`))
			return true
		})
		p.turn(id, "", titled("Better"))
		p.do()
		if pulls, _ = p.pulls.All(); !strings.Contains(fmt.Sprint(pulls[0]["body"]), "A person's words.") {
			t.Errorf("the edit is lost: %v", pulls[0]["body"])
		}
		p.turn(id, "penstock/two", titled("Two"))
		testkit.Exec(t, p.URL, "DELETE FROM pull_requests WHERE base = 'trunk'") // as if the turn before had not been
		p.do()
		if pulls, _ = p.pulls.All(); len(pulls) != 1 {
			t.Errorf("the thread has %d open pull requests", len(pulls))
		}
	})
}

// A forge that carries out a request long after its answer was given up does not open two pull requests.
func TestAttackOutputLate(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.once(http.MethodPost, testkit.Busy)
		var tries atomic.Int32
		p.forge.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pulls") && tries.Add(1) == 2 {
				p.pulls.Open("WIP: Fix", "the first request, late", "penstock/fix", "main")
			}
			return p.pulls.Answer(w, r)
		})
		for range 3 {
			p.do()
		}
		if pulls, _ := p.pulls.All(); len(pulls) != 1 || p.of(a.Lease.RunID)[0].State != penstock.OutputDone {
			t.Errorf("got %d, %+v", len(pulls), p.of(a.Lease.RunID)[0])
		}
	})
}

// A comment that is declared before the pull request of its turn is written below it.
func TestAttackOutputCommentFirst(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		p.declared(a, aComment)
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		p.do()
		if _, comments := p.pulls.All(); len(comments) != 1 {
			t.Errorf("got %d comments: %s", len(comments), p.of(a.Lease.RunID)[0].Problem)
		}
	})
}

// The name of a person is no Markdown.
func TestAttackOutputRequester(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(shop, "penstock/fix")
		testkit.Exec(t, p.URL, "UPDATE principals SET display_name = '[approved](https://evil.test)'")
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		pulls, _ := p.pulls.All()
		text := fmt.Sprint(pulls[0]["body"])
		if strings.Contains(text, "](https://evil.test") || !strings.Contains(text, "approved") {
			t.Errorf("the block has a link: %q", text)
		}
	})
}

// What is ready for review in a later turn is no draft any more, or the output says that it is one.
func TestAttackOutputReadyLater(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.opened()
		ready := titled("Ready")
		ready.Draft = new(false)
		p.turn(id, "", ready)
		p.do()
		pulls, _ := p.pulls.All()
		list := p.of(id)
		if last := list[len(list)-1]; pulls[0]["draft"] == true && last.Problem == "" {
			t.Errorf("it is still a draft, and the output says nothing: %v %+v", pulls[0]["title"], last)
		}
	})
}
