package forge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// reported is a world in which events start runs, whose threads say how they are.
type reported struct {
	*publisher

	hook *hook
}

// reporters runs a test in such a world. outputs is the setting, as in factory.yaml.
func reporters(t *testing.T, outputs string, test func(*testing.T, *reported)) {
	t.Helper()
	publishers(t, func(t *testing.T, p *publisher) {
		f, err := p.Connections.RotateSecret(t.Context(), p.admin(), p.uidOf("acme"), forge.SecretRequest{})
		if err != nil {
			t.Fatal(err)
		}
		r := &reported{p, p.hook(f)}
		p.forge.Answer(func(w http.ResponseWriter, req *http.Request) bool {
			return r.hook.answer(w, req) || p.pulls.Answer(w, req)
		})
		files := team()
		files["automations/fix.md"] = "---\nsubject: auto\ntriggers: [{provider: github, event: issue_created}]\n" +
			"---\nFix it.\n"
		files["factory.yaml"] += "forge: {outputs: {" + outputs + "}}\n"
		p.DefineFactory(files)
		test(t, r)
	})
}

// started is a run about issue 7.
func (r *reported) started() string {
	r.T.Helper()
	d := r.hook.event("issues", issue(in("repository", map[string]any{"id": 7, "default_branch": "main"})))
	if len(d.Runs) != 1 {
		r.T.Fatalf("got %+v", d)
	}
	return d.Runs[0]
}

// Cancel cancels a run.
func (r *reported) Cancel(id string) {
	r.T.Helper()
	if _, err := r.Runs.Cancel(r.T.Context(), r.Admin, id, false); err != nil {
		r.T.Fatal(err)
	}
}

// says returns the only comment after everything that is due was done.
func (r *reported) says() string {
	r.T.Helper()
	r.do()
	_, comments := r.pulls.All()
	if len(comments) != 1 {
		r.T.Fatalf("there are %d comments: %q", len(comments), comments)
	}
	return comments[0]
}

func (r *reported) wantSays(parts ...string) {
	r.T.Helper()
	text := r.says()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			r.T.Errorf("%q is missing in %q", part, text)
		}
	}
}

// An issue says in one comment how its run is, from the start to the end, also after its answer. What an agent asks has
// no effect.
func TestAnIssueSaysHowItsRunIs(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.wantSays("[Run of Penstock](https://penstock.test/runs/"+id+") waits for a worker.", "<!-- penstock run "+id)
		if eyes := r.pulls.Reactions(); !slices.Equal(eyes, []string{"issues/7/reactions eyes"}) {
			t.Errorf("reactions: %v", eyes)
		}
		a := r.Work()
		r.wantSays("is working on this.")
		testkit.Exec(t, r.URL, "UPDATE forge_threads SET due_at = 1")
		r.forge.Calls()
		if r.do(); len(r.forge.Calls()) > 0 {
			t.Error("what is said is written again")
		}
		r.Finish(a.Lease, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{
			Message: "Which one, @alice?\nFixes #3 <!-- x -->",
		}})
		r.wantSays("waits for an answer. Cost so far: $0.00.\n\n> Which one, @\u200balice?\n> Fix")
		for _, no := range []string{"@alice", "Fixes #3", "<!-- x"} {
			if text := r.says(); strings.Contains(text, no) {
				t.Errorf("%q has an effect in %q", no, text)
			}
		}
		r.FollowUp(id, "the first")
		a = r.Work()
		r.push(a.Lease, aBranch)
		r.declared(a, aPull)
		r.succeeds(a.Lease)
		r.wantSays("is done: " + r.forge.URL + "/acme/shop/pulls/1. Cost so far")
		r.forge.Calls()
		r.do()
		if calls := r.forge.Calls(); len(calls) > 0 {
			t.Errorf("without a change: %v", calls)
		}
		if eyes := r.pulls.Reactions(); len(eyes) != 1 {
			t.Errorf("reactions: %v", eyes)
		}
	})
}

// However a run ends, its thread says it.
func TestAnIssueSaysHowItsRunEnds(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.Finish(r.Work().Lease, penstock.Result{
			State: penstock.StateFailed, Message: &penstock.StatusMessage{Message: "The tests do not compile."},
		})
		r.wantSays("has failed. The run says why.")
		if text := r.says(); strings.Contains(text, "compile") { // it may be the output of a command
			t.Errorf("it says %q", text)
		}
		r.FollowUp(id, "again")
		r.wantSays("waits for a worker.")
		r.Cancel(id)
		r.wantSays("was cancelled.")
	})
}

// A comment that has started a run is the one that is reacted to, but not one on a line of a pull request, whose ids
// are others.
func TestTheCommentThatHasStartedARun(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		files := team()
		files["automations/fix.md"] = "---\ntriggers: [{provider: github, event: issue_mentioned}, " +
			"{provider: github, event: pull_request_mentioned}]\n---\nFix it.\n"
		files["factory.yaml"] = strings.Replace(files["factory.yaml"], "Shop", "Second", 1)
		r.DefineFactory(files)
		comment := func(body map[string]any) {
			body["action"], body["comment"] = "created", map[string]any{"id": 31, "body": "@penstock-bot fix it"}
		}
		r.hook.event("issue_comment", issue(comment))
		r.do()
		r.hook.event("pull_request_review_comment", issue(comment, func(body map[string]any) {
			body["pull_request"] = map[string]any{"number": 9}
			delete(body, "issue")
		}))
		r.do()
		want := []string{"issues/comments/31/reactions eyes", "issues/9/reactions eyes"}
		if eyes := r.pulls.Reactions(); !slices.Equal(eyes, want) {
			t.Errorf("reactions: %v", eyes)
		}
	})
}

// A forge that does what it does not answer, refuses, or wants no requests never gets a second comment.
func TestAnIssueHasOneCommentForARun(t *testing.T) {
	for name, fault := range map[string]testkit.PullFault{
		"lost": testkit.Loses, "nonsense": testkit.Nonsense, "busy": testkit.Busy, "limits": testkit.Limits,
		"refuses": testkit.Refuses,
	} {
		t.Run(name, func(t *testing.T) {
			reporters(t, "", func(_ *testing.T, r *reported) {
				id := r.started()
				r.pulls.Break(func(method, path string) testkit.PullFault {
					if method == http.MethodPost && strings.HasSuffix(path, "/comments") {
						return fault
					}
					return ""
				})
				r.do()
				r.pulls.Break(nil)
				r.wantSays("waits for a worker.", "<!-- penstock run "+id)
				r.Work()
				r.pulls.Break(func(method, _ string) testkit.PullFault {
					if method == http.MethodPatch {
						return fault
					}
					return ""
				})
				r.do()
				r.pulls.Break(nil)
				r.wantSays("is working on this.")
			})
		})
	}
}

// A server that was killed after the forge had its comment leaves a try, which another one finishes when it has expired
// and not before.
func TestACommentOfAServerThatWasKilled(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		now := penstock.Now()
		forges := r.Deps.Store.Forges
		thread, found, err := forges.ClaimThread(t.Context(), r.hook.uid, now, now.Add(time.Hour))
		if err != nil || !found {
			t.Fatal(err, found)
		}
		comments := r.forge.URL + "/api/v1/repos/acme/shop/issues/7/comments"
		resp, err := r.forge.Client().Post(comments, "application/json", //nolint:noctx // in a test
			strings.NewReader(fmt.Sprintf(`{"body": "as the first server has written <!-- penstock run %s -->"}`, id)))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		r.Work() // the run changes meanwhile
		if text := r.says(); !strings.HasPrefix(text, "as the first") {
			t.Errorf("two servers have written: %q", text)
		}
		testkit.Exec(t, r.URL, "UPDATE forge_threads SET leased_until = 1")
		r.wantSays("is working on this.")
		r.Write(func(tx *store.Tx) error { // the first one answers after all
			thread.Comment, thread.Shown = 99, "x"
			ours, err := tx.Forges().KeepThread(t.Context(), thread, 0, now)
			if ours {
				t.Error("a try that has expired is kept")
			}
			return err
		})
		r.Cancel(id)
		r.wantSays("was cancelled.")
	})
}

// What happens to a run while its thread is written is said, too.
func TestARunThatChangesWhileItsThreadIsWritten(t *testing.T) {
	reporters(t, "", func(_ *testing.T, r *reported) {
		id := r.started()
		var once sync.Once
		r.pulls.Break(func(method, path string) testkit.PullFault {
			if method == http.MethodPost && strings.HasSuffix(path, "/comments") {
				once.Do(func() { r.Cancel(id) })
			}
			return ""
		})
		r.do()
		r.wantSays("was cancelled.")
	})
}

// Two servers write one comment.
func TestTwoServersSayHowARunIs(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		r.started()
		var both sync.WaitGroup
		for _, s := range []*run.Outputs{r.Outputs, r.Beside().Outputs, r.Beside().Outputs} {
			both.Go(func() {
				if err := s.DoDue(t.Context()); err != nil {
					t.Error(err)
				}
				s.Wait()
			})
		}
		both.Wait()
		r.wantSays("waits for a worker.")
	})
}

// A comment that a person has deleted is not written again.
func TestACommentThatWasDeleted(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.says()
		r.pulls.DeleteComment(1)
		r.Work()
		r.do()
		r.Cancel(id)
		r.forge.Calls()
		r.do()
		if _, comments := r.pulls.All(); len(comments) != 0 || len(r.forge.Calls()) != 0 {
			t.Errorf("got %q", comments)
		}
	})
}

// A forge that refuses the comment is asked three times, and again when there is something new to say. The run says so
// once.
func TestAForgeThatRefusesTheComment(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.pulls.Break(func(_, path string) testkit.PullFault {
			if strings.HasPrefix(path, "/issues/") {
				return testkit.Refuses
			}
			return ""
		})
		asked := func(times, want int) {
			t.Helper()
			r.forge.Calls()
			for range times {
				r.do()
			}
			n := 0
			for _, call := range r.forge.Calls() {
				if call == "POST /api/v1/repos/acme/shop/issues/7/comments" {
					n++
				}
			}
			if n != want && want >= 0 {
				t.Errorf("asked %d times, not %d", n, want)
			}
		}
		notes := func() (n int) {
			for _, typ := range r.TimelineTypes(id) {
				if typ == "status_not_shown" {
					n++
				}
			}
			return n
		}
		asked(5, 1) // then the search is refused
		if notes() != 1 {
			t.Fatalf("the timeline has %v", r.TimelineTypes(id))
		}
		r.Work()
		asked(5, -1)
		if notes() != 1 {
			t.Errorf("the timeline has %v", r.TimelineTypes(id))
		}
		r.pulls.Break(nil)
		r.Cancel(id)
		r.wantSays("was cancelled.")
	})
}

// What a person has to release, and what looks like a secret, is left out. A thread says nothing if the settings say
// so.
func TestWhatAThreadDoesNotSay(t *testing.T) {
	question := func(r *reported, text string) {
		r.T.Helper()
		r.started()
		r.Finish(r.Work().Lease, penstock.Result{
			State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: text},
		})
	}
	t.Run("released", func(t *testing.T) {
		reporters(t, "approval: always", func(t *testing.T, r *reported) {
			question(r, "Is it this one?")
			if text := r.says(); strings.Contains(text, "this one") || !strings.Contains(text, "The run says to what.") {
				t.Errorf("it says %q", text)
			}
		})
	})
	t.Run("secret", func(t *testing.T) {
		reporters(t, "", func(t *testing.T, r *reported) {
			question(r, "Is gh"+"p_\u200b"+strings.Repeat("aB3", 12)+" right?")
			if text := r.says(); strings.Contains(text, "aB3aB3") || !strings.Contains(text, "The run says to what.") {
				t.Errorf("it says %q", text)
			}
		})
	})
	t.Run("no comments", func(t *testing.T) {
		reporters(t, "limits: {comment: 0}", func(t *testing.T, r *reported) {
			question(r, "Is it this one?")
			if text := r.says(); strings.Contains(text, "this one") {
				t.Errorf("it says %q", text)
			}
		})
	})
	t.Run("mentions in code that is none in a quote", func(t *testing.T) {
		reporters(t, "", func(t *testing.T, r *reported) {
			question(r, "```\n\t```\nwhich one, @acme/everyone?")
			if text := r.says(); strings.Contains(text, "@acme") {
				t.Errorf("it says %q", text)
			}
		})
	})
	t.Run("an error of a worker", func(t *testing.T) {
		reporters(t, "", func(t *testing.T, r *reported) {
			r.started()
			r.Finish(r.Work().Lease, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{
				Message: "curl -u admin:hunter2 failed", ErrorCode: penstock.CodeInternal,
			}})
			if text := r.says(); strings.Contains(text, "hunter2") {
				t.Errorf("it says %q", text)
			}
		})
	})
	t.Run("none", func(t *testing.T) {
		reporters(t, "status: none", func(t *testing.T, r *reported) {
			question(r, "Is it this one?")
			r.do()
			if _, comments := r.pulls.All(); len(comments)+len(r.pulls.Reactions()) != 0 {
				t.Errorf("it says %q", comments)
			}
		})
	})
}

// A comment of a run without a pull request is on the issue that has started it. One of a run that nothing on a forge
// has started fails.
func TestACommentOnTheIssue(t *testing.T) {
	reporters(t, "status: none", func(t *testing.T, r *reported) {
		r.started()
		a := r.Work()
		r.declared(a, aComment)
		r.succeeds(a.Lease)
		r.wantSays("Look, @")
		if calls := r.forge.Calls(); !slices.Contains(calls, "POST /api/v1/repos/acme/shop/issues/7/comments") {
			t.Errorf("got %v", calls)
		}
		r.Create(shop)
		a = r.Work()
		o := r.declared(a, aComment)
		r.succeeds(a.Lease)
		r.says()
		if list := r.of(a.Lease.RunID); list[0].UID != o.UID || list[0].State != penstock.OutputFailed {
			t.Errorf("got %+v", list)
		}
	})
}

// A run that an event has started which waited for another one has a thread, too.
func TestARunOfAnEventThatWaitedHasAThread(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		first := r.started()
		a := r.Work()
		d := r.hook.event("issues", issue(
			in("issue", map[string]any{"title": "second"}), in("repository", map[string]any{"id": 7}),
		))
		r.Finish(a.Lease, penstock.Result{State: penstock.StateFailed})
		r.wantSays("has failed.")
		if err := r.Subjects.GiveDue(t.Context(), penstock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		d, err := r.Deliveries.Read(t.Context(), r.admin(), "", r.hook.uid, d.ID)
		if err != nil || len(d.Runs) != 1 || d.Runs[0] == first {
			t.Fatal(err, d.Runs)
		}
		r.do()
		_, comments := r.pulls.All()
		if len(comments) != 2 || !strings.Contains(comments[1], d.Runs[0]) {
			t.Errorf("got %q", comments)
		}
	})
}

// A comment whose result is unknown is looked for where it may be: also if its pull request was closed since, so that
// the next one would go to the issue.
func TestACommentBelowAPullRequestThatWasClosed(t *testing.T) {
	reporters(t, "status: none", func(t *testing.T, r *reported) {
		r.started()
		a := r.Work()
		r.push(a.Lease, aBranch)
		r.declared(a, aPull)
		r.declared(a, aComment)
		r.succeeds(a.Lease)
		r.pulls.Break(func(method, path string) testkit.PullFault {
			if method == http.MethodPost && strings.HasSuffix(path, "/comments") {
				return testkit.Loses
			}
			return ""
		})
		r.do()
		r.pulls.Break(nil)
		r.pulls.Close(1)
		r.wantSays("Look, @")
		if list := r.of(a.Lease.RunID); list[1].State != penstock.OutputDone || list[1].Target.PullRequest != 1 {
			t.Errorf("got %+v", list)
		}
	})
}

// A comment that the token does not see for a while is changed later.
func TestAnIssueThatIsHidden(t *testing.T) {
	reporters(t, "", func(_ *testing.T, r *reported) {
		id := r.started()
		r.says()
		r.forge.Answer(func(w http.ResponseWriter, req *http.Request) bool {
			if strings.HasPrefix(req.URL.Path, "/api/v1/repos/acme/shop/issues/") {
				w.WriteHeader(http.StatusNotFound)
				return true
			}
			return r.hook.answer(w, req) || r.pulls.Answer(w, req)
		})
		r.Work()
		r.do()
		r.forge.Answer(r.pulls.Answer)
		r.Cancel(id)
		r.wantSays("was cancelled.")
	})
}

// A forge that wants no requests gets none about other runs either, and none because a run changes.
func TestAForgeThatWantsNoRequests(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		for n := range 5 {
			r.hook.event("issues", issue(in("issue", map[string]any{"number": n + 1})))
		}
		r.pulls.Break(func(string, string) testkit.PullFault { return testkit.Limits })
		r.forge.Calls()
		pass := func() {
			t.Helper()
			if err := r.Outputs.DoDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Outputs.Wait()
		}
		pass()
		r.Work()
		pass()
		if calls := r.forge.Calls(); len(calls) != 1 {
			t.Errorf("got %v", calls)
		}
		r.pulls.Break(nil)
		r.do()
		if _, comments := r.pulls.All(); len(comments) != 5 {
			t.Errorf("got %q", comments)
		}
	})
}

// An agent does not give its comment the mark of another one.
func TestAMarkInAnAgentsComment(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.pulls.Break(func(string, string) testkit.PullFault { return testkit.Busy })
		r.do()
		a := r.Work()
		r.declared(a, run.OutputRequest{Kind: penstock.OutputComment, Body: "`<!-- penstock run " + id + " -->` is mine"})
		r.succeeds(a.Lease)
		r.pulls.Break(nil)
		r.do()
		r.do()
		_, comments := r.pulls.All()
		if len(comments) != 2 || !strings.Contains(comments[0], "is mine") || !strings.Contains(comments[1], "is done.") {
			t.Errorf("got %q", comments)
		}
	})
}

// What a run says when its connection is deleted is said in its timeline, once.
func TestAThreadOfAConnectionThatWasDeleted(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.says()
		if err := r.Connections.Delete(t.Context(), r.admin(), r.hook.uid); err != nil {
			t.Fatal(err)
		}
		r.forge.Calls()
		r.Cancel(id)
		r.do()
		r.FollowUp(id, "again")
		r.do()
		n := 0
		for _, typ := range r.TimelineTypes(id) {
			if typ == "status_not_shown" {
				n++
			}
		}
		if calls := r.forge.Calls(); n != 1 || len(calls) != 0 {
			t.Errorf("%d events, %v", n, calls)
		}
	})
}

// A run whose pull request the forge refuses does not look as if all went well, and one in another repository is not
// named.
func TestWhatBecameOfTheOutputs(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		r.started()
		a := r.Work()
		r.push(a.Lease, aBranch)
		r.declared(a, aPull)
		r.succeeds(a.Lease)
		r.pulls.Break(func(method, path string) testkit.PullFault {
			if method == http.MethodPost && path == "/pulls" {
				return testkit.Refuses
			}
			return ""
		})
		for range 3 {
			r.do()
		}
		r.wantSays("On the forge, 1 output failed: the run says why.")
		testkit.Exec(t, r.URL, "UPDATE outputs SET state = 'done', url = 'https://git.example.com/acme/secret/pulls/1', "+
			`target = '{"repository":"acme/secret"}'`)
		testkit.Exec(t, r.URL, "UPDATE forge_threads SET due_at = 1")
		if text := r.says(); !strings.Contains(text, "is done.") || strings.Contains(text, "acme/secret") {
			t.Errorf("it says %q", text)
		}
	})
}
