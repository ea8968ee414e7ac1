package forge_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

const aBranch = "penstock/fix"

// awaited is a run that has succeeded and whose pull request is open. checks is the setting, as in factory.yaml.
func (p *publisher) awaited(checks string) (runID string) {
	p.T.Helper()
	f := p.DefineFactory(map[string]string{
		"factory.yaml": "schemaVersion: v1alpha1\nname: Shop\nagentDefaults: {model: demo/offline}\n" +
			"forge: {followups: {" + checks + "}}\n",
		"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
	})
	a := p.pushed(by(f.Agents[0].UID, ""), aBranch)
	p.declared(a, aPull)
	p.succeeds(a.Lease)
	p.do()
	return a.Lease.RunID
}

func commit(of string) string { return strings.Repeat(of, 40) }

// repair is a turn that has been told of failed checks. It pushes a commit and succeeds.
func (p *publisher) repair(next string) {
	p.T.Helper()
	a := p.Work()
	p.pushCommit(a.Lease, aBranch, next)
	p.succeeds(a.Lease)
	p.pulls.NewCommit(1, next)
}

// A run is told once of each commit whose checks have failed, when all are done: not by the first that fails
// (lewagon/wait-on-check-action#153), not again when the result comes again (xdlc-labs/xdlc-agent#64), and by a list of
// what failed.
func TestARunHearsOfFailedChecks(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.awaited("")
		p.pulls.Status("lint", "failure")
		p.pulls.Status("test", "pending")
		p.look()
		p.MustBe(id, penstock.StateSucceeded)
		p.pulls.Status("test", "error")
		p.pulls.Status("docs", "success")
		p.look()
		p.MustBe(id, penstock.StateQueued)
		p.look()

		a := p.Work()
		if len(a.Prompts) != 1 || len(a.Prompts[0].Files) != 1 {
			t.Fatalf("got %+v", a.Prompts)
		}
		want := "2 of 3 checks of commit " + commit("a") + " have failed, which you have pushed to penstock/fix for " +
			"pull request 1 of acme/shop."
		if text := a.Prompts[0].Text; !strings.HasPrefix(text, want) || strings.Contains(text, "lint") {
			t.Errorf("the message is %q", text)
		}
		file, err := p.Executions.Control().Open(t.Context(), a.Lease, a.Prompts[0].Files[0])
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(file)
		var failed []forge.FailedCheck
		if err != nil || json.Unmarshal(content, &failed) != nil {
			t.Fatal(err, string(content))
		}
		if diff := cmp.Diff([]forge.FailedCheck{
			{Name: "lint", Result: "failure", Summary: "lint says failure", URL: "https://ci.example.com/lint"},
			{Name: "test", Result: "error", Summary: "test says error", URL: "https://ci.example.com/test"},
		}, failed); diff != "" {
			t.Errorf("the file (-want +got):\n%s", diff)
		}
		if types := p.TimelineTypes(id); !slices.Contains(types, penstock.TimelineChecksFailed) {
			t.Errorf("the timeline has %v", types)
		}
		p.succeeds(a.Lease) // without a push
		p.forge.Calls()
		p.look()
		p.MustBe(id, penstock.StateSucceeded)
		if calls := p.forge.Calls(); len(calls) != 1 {
			t.Errorf("what the run knows is asked for: %v", calls)
		}
	})
}

// While a run works it is told nothing, and afterwards only of what still counts.
func TestARunThatWorksHearsLater(t *testing.T) {
	publishers(t, func(_ *testing.T, p *publisher) {
		id := p.awaited("")
		p.FollowUp(id, "more")
		a := p.Work()
		p.pulls.Status("test", "failure")
		p.look()
		p.succeeds(a.Lease)
		p.MustBe(id, penstock.StateSucceeded)
		p.look()
		p.MustBe(id, penstock.StateQueued)
		p.repair(commit("b"))
		p.look() // nobody has reported the checks of the new commit
		p.MustBe(id, penstock.StateSucceeded)
		p.pulls.Status("test", "failure")
		p.look()
		p.MustBe(id, penstock.StateQueued)
	})
}

// After as many commits as are allowed, a person is asked, once. An answer lets the run continue, with the checks that
// have failed (dotnet/maui#36317, Blazity/ai-workflow#321: nothing bounded it).
func TestFailedChecksAskAPersonInTheEnd(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.awaited("checks: 1")
		p.pulls.Status("test", "failure")
		p.look()
		p.repair(commit("b"))
		p.pulls.Status("test", "failure")
		p.look()
		asks := p.MustBe(id, penstock.StateBlocked)
		const question = "The checks of pull request 1 of acme/shop have failed again"
		if text := asks.StatusMessage.Message; !strings.HasPrefix(text, question) {
			t.Errorf("it asks %q", text)
		}
		p.look()
		p.MustBe(id, penstock.StateBlocked)
		p.FollowUp(id, "Yes")
		a := p.Work()
		if text := a.Prompts[0].Text; !strings.Contains(text, "Yes") || len(a.Prompts) != 1 {
			t.Errorf("got %+v", a.Prompts)
		}
		p.succeeds(a.Lease)
		p.look()
		p.MustBe(id, penstock.StateQueued)
	})
}

// What is no failure of this run's commit tells it nothing. Gitea's warnings are none (go-gitea/gitea#38943,
// Mic92/gitea-mq#2), and neither is a commit without checks (grafana/wait-for-github#144).
func TestWhatIsNoFailureOfARun(t *testing.T) {
	for name, change := range map[string]func(p *publisher, id string){
		"no checks": func(*publisher, string) {},
		"no failure": func(p *publisher, _ string) {
			for _, state := range []string{"success", "warning", "skipped", "odd"} {
				p.pulls.Status(state, state)
			}
		},
		"repaired by another try": func(p *publisher, _ string) {
			p.pulls.Status("test", "failure")
			p.pulls.Status("test", "success")
		},
		"somebody else's commit": func(p *publisher, _ string) {
			p.pulls.NewCommit(1, commit("c"))
			p.pulls.Status("test", "failure")
		},
		"closed": func(p *publisher, _ string) {
			p.pulls.Status("test", "failure")
			p.pulls.Edit(1, map[string]any{"state": "closed"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			publishers(t, func(_ *testing.T, p *publisher) {
				id := p.awaited("")
				change(p, id)
				p.look()
				p.MustBe(id, penstock.StateSucceeded)
			})
		})
	}
	for name, change := range map[string]func(p *publisher, id string) penstock.State{
		"it was cancelled": func(p *publisher, id string) penstock.State {
			p.FollowUp(id, "more")
			if _, err := p.Runs.Cancel(p.T.Context(), p.Admin, id, false); err != nil {
				p.T.Fatal(err)
			}
			return penstock.StateCancelled
		},
		"it asks something else": func(p *publisher, id string) penstock.State {
			p.FollowUp(id, "more")
			a := p.Work()
			p.Finish(a.Lease, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "Which?"}})
			return penstock.StateBlocked
		},
	} {
		t.Run(name, func(t *testing.T) {
			publishers(t, func(t *testing.T, p *publisher) {
				id := p.awaited("")
				want := change(p, id)
				p.pulls.Status("test", "failure")
				p.forge.Calls()
				p.look()
				p.MustBe(id, want)
				if calls := p.forge.Calls(); len(calls) != 1 {
					t.Errorf("the forge got %v", calls)
				}
			})
		})
	}
	t.Run("the settings want none", func(t *testing.T) {
		publishers(t, func(t *testing.T, p *publisher) {
			id := p.awaited("checks: 0")
			p.pulls.Status("test", "failure")
			p.forge.Calls()
			p.look()
			p.MustBe(id, penstock.StateSucceeded)
			if calls := p.forge.Calls(); len(calls) != 1 {
				t.Errorf("the forge got %v", calls)
			}
		})
	})
}

// A run that has no room for another file is told without one.
func TestFailedChecksWithoutRoomForFiles(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.awaited("")
		for range 20 {
			var files []run.FollowupAttachment
			for i := range 5 {
				files = append(files, run.FollowupAttachment{FileName: strconv.Itoa(i), MimeType: "text/plain", Data: []byte("x")})
			}
			_, err := p.Runs.FollowUp(t.Context(), p.Admin, id, run.FollowupRequest{Message: "x", Attachments: files})
			if err != nil {
				t.Fatal(err)
			}
			p.succeeds(p.Work().Lease)
		}
		p.pulls.Status("test", "failure")
		p.look()
		a := p.Work()
		if text := a.Prompts[0].Text; len(a.Prompts[0].Files) != 0 || !strings.HasPrefix(text, "1 of 1 checks") ||
			strings.Contains(text, "attached") {
			t.Errorf("got %+v", a.Prompts)
		}
	})
}

// Two servers that have read the same failure, because an event has come meanwhile, tell the run once, also if its turn
// has ended when the second one is ready. The second leaves no file behind.
func TestServersTellARunOnce(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.awaited("")
		p.pulls.Status("test", "failure")
		twin := &publisher{&world{p.Twin(), p.forge}, p.pulls}
		var looked atomic.Bool
		p.forge.Answer(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/commits/") && looked.CompareAndSwap(false, true) {
				twin.look()
				a := p.Work()
				if len(a.Prompts) != 1 {
					t.Errorf("got %+v", a.Prompts)
				}
				p.succeeds(a.Lease)
			}
			return p.pulls.Answer(w, r)
		})
		p.look()
		p.MustBe(id, penstock.StateSucceeded)
		list, err := p.Files.HandoffAttachments(t.Context(), p.Admin, id)
		if err != nil || len(list) != 1 {
			t.Errorf("got %+v, %v", list, err)
		}
	})
}

// A run without a factory hears of its checks, too, and so does the run that works on the subject of the pull request.
// One whose request has named secrets hears nothing: its agent may know them, and others write what checks say.
func TestWhichRunHearsOfChecks(t *testing.T) {
	about := func(subject string, secrets penstock.SecretNames) penstock.RunRequest {
		return penstock.RunRequest{Prompt: "a", Subject: subject, Config: &penstock.Config{
			Repositories: shop.Config.Repositories, Secrets: secrets,
		}}
	}
	for name, c := range map[string]struct {
		req  penstock.RunRequest
		want penstock.State
	}{
		"without a factory": {about("", nil), penstock.StateQueued},
		"about a subject":   {about("acme/shop#7", nil), penstock.StateQueued},
		"with a secret":     {about("", penstock.SecretNames{"DEPLOY"}), penstock.StateSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			publishers(t, func(_ *testing.T, p *publisher) {
				p.CreateSecret("DEPLOY", "a-value-that-nobody-knows")
				a := p.pushed(c.req, aBranch)
				p.declared(a, aPull)
				p.succeeds(a.Lease)
				p.do()
				p.pulls.Status("test", "failure")
				p.look()
				p.MustBe(a.Lease.RunID, c.want)
			})
		})
	}
}

// Answers of an agent are none of a person: nothing else would end the work of two agents.
func TestAgentsDoNotCountAsPeople(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.awaited("checks: 1")
		agent := p.Admin
		agent.AgentUID = "x"
		p.pulls.Status("test", "failure")
		p.look()
		p.repair(commit("b"))
		if _, err := p.Runs.FollowUp(t.Context(), agent, id, run.FollowupRequest{Message: "Go on"}); err != nil {
			t.Fatal(err)
		}
		p.succeeds(p.Work().Lease)
		p.pulls.Status("test", "failure")
		p.look()
		p.MustBe(id, penstock.StateBlocked)
	})
}

// A pull request about which the forge says something odd keeps no other from being looked at.
func TestAnOddPullRequestKeepsNoOtherWaiting(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		id := p.awaited("")
		p.pulls.Open("other", "", "penstock/other", "main")
		testkit.Exec(t, p.URL, "INSERT INTO pull_requests (team, repository, owner, base, branch, number, url, written, "+
			"run_id, created_at, updated_at, connection) SELECT team, repository, owner, 'x', branch, 0, url, written, run_id, "+
			"0, 0, connection FROM pull_requests")
		p.pulls.Edit(2, map[string]any{"number": -1})
		testkit.Exec(t, p.URL, "UPDATE pull_requests SET number = 2 WHERE base = 'x'")
		testkit.Exec(t, p.URL, "UPDATE pull_requests SET seen_at = 2 WHERE base <> 'x'")
		testkit.Exec(t, p.URL, "UPDATE pull_requests SET seen_at = 1 WHERE base = 'x'")
		p.pulls.Status("test", "failure")
		if err := p.Outputs.LookAtPulls(t.Context()); err != nil {
			t.Error(err)
		}
		p.MustBe(id, penstock.StateQueued)
	})
}

// Many pull requests of one connection do not keep other connections waiting.
func TestEachConnectionIsLookedAt(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		p.awaited("")
		for i := range 30 {
			testkit.Exec(t, p.URL, fmt.Sprintf("INSERT INTO pull_requests (team, repository, owner, base, branch, number, url, "+
				"written, run_id, created_at, updated_at, connection, seen_at) SELECT team, repository, owner, 'x%d', branch, %d, "+
				"url, written, run_id, 0, 0, 'other', 1 FROM pull_requests WHERE connection <> 'other'", i, i+2))
		}
		testkit.Exec(t, p.URL, "UPDATE pull_requests SET seen_at = 2 WHERE connection <> 'other'")
		list, err := p.Database().Forges.UnseenPulls(t.Context(), 3, 10)
		if err != nil || len(list) != 11 || list[10].Number != 1 {
			t.Errorf("got %d, %v", len(list), err)
		}
	})
}

// A thread that an event has closed hears nothing more, and nobody asks for its checks.
func TestAClosedThreadHearsNoChecks(t *testing.T) {
	publishers(t, func(t *testing.T, p *publisher) {
		a := p.pushed(penstock.RunRequest{
			Prompt: "a", Subject: "acme/shop#7", Config: &penstock.Config{Repositories: shop.Config.Repositories},
		}, aBranch)
		p.declared(a, aPull)
		p.succeeds(a.Lease)
		p.do()
		testkit.Exec(t, p.URL, "UPDATE subjects SET closed_at = 1")
		p.pulls.Status("test", "failure")
		p.forge.Calls()
		p.look()
		p.MustBe(a.Lease.RunID, penstock.StateSucceeded)
		if calls := p.forge.Calls(); len(calls) != 1 {
			t.Errorf("the forge got %v", calls)
		}
	})
}
