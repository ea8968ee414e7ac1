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

// What a comment begins with decides whom it is for. Quotes and code are for nobody (OCA/oca-github-bot#82,
// conda-forge/conda-forge-webservices#411), and neither is what the page does not show (gke-labs/kube-agents#716).
func TestWhomACommentIsFor(t *testing.T) {
	t.Parallel()
	const nobody = "nobody"
	for comment, want := range map[string]string{
		"@penstock-bot stop":                            "stop ",
		"\r\n @Penstock-Bot: STOP!\r\n":                 "stop ",
		"@penstock-bot, retry.":                         "retry ",
		"@penstock-bot":                                 "help ",
		"@penstock-bot?":                                "help ",
		"@penstock-bot rebase":                          "rebase ",
		"@penstock-bot status":                          "status ",
		"@penstock-bot hold":                            "hold ",
		"@penstock-bot\n\nUse the second one.":          " Use the second one.",
		"@penstock-bot stop using tabs":                 " stop using tabs",
		"@penstock-bot stop\n> quoted":                  " stop\n> quoted",
		"@penstock-bot a <!-- b --> c\u202e":            " a  c",
		"@penstock-bot stop\n\n-- \nSent from my phone": "stop ",
		"@penstock-bot `stop`?":                         "stop ",
		"@penstock-bot\u00a0stop":                       "stop ",
		" \n\r@penstock-bot stop":                       "stop ",
		"@penstock-bot st\u200bop":                      "stop ",
		"@penstock-bot `<!-- a -->`":                    " `<!-- a -->`",
		"@penstock-bottom stop":                         nobody,
		"@penstock-bot-2 stop":                          nobody,
		"@penstock-bot/x stop":                          nobody,
		"@penstock-bot.x stop":                          nobody,
		"> @penstock-bot stop":                          nobody,
		"    @penstock-bot stop":                        nobody,
		"\t@penstock-bot stop":                          nobody,
		"`@penstock-bot stop`":                          nobody,
		"```\n@penstock-bot stop\n```":                  nobody,
		"<!--\n@penstock-bot stop\n-->":                 nobody,
		"\u200b@penstock-bot stop":                      nobody,
		"Thanks, @penstock-bot stop":                    nobody,
		"penstock-bot stop":                             nobody,
		"":                                              nobody,
		"@penstock-bot" + strings.Repeat("é", 9):        nobody,
	} {
		command, message, ok := forge.Addressed("penstock-bot", comment)
		got := command + " " + message
		if !ok {
			got = nobody
		}
		if got != want {
			t.Errorf("%q: %q, want %q", comment, got, want)
		}
	}
	if _, _, ok := forge.Addressed("", "@ stop"); ok {
		t.Error("a bot without a name is told something")
	}
	_, long, _ := forge.Addressed("bot", "@bot "+strings.Repeat("é", 40<<10))
	if len(long) > 64<<10 || strings.Contains(long, "\ufffd") {
		t.Errorf("a message has %d bytes", len(long))
	}
}

// writes sends a new comment of ada on issue 7.
func (r *reported) writes(id int, text string, change ...func(map[string]any)) store.Delivery {
	r.T.Helper()
	d := r.hook.event("issue_comment", issue(append([]func(map[string]any){in("repository", map[string]any{
		"id": 7, "default_branch": "main",
	}), func(body map[string]any) {
		body["action"] = "created"
		body["comment"] = map[string]any{"id": id, "body": text, "user": map[string]any{"id": 3, "login": "ada"}}
	}}, change...)...))
	if err := r.Outputs.ObeyCommands(r.T.Context()); err != nil {
		r.T.Fatal(err)
	}
	return d
}

func (r *reported) wantReactions(want ...string) {
	r.T.Helper()
	r.do()
	got := r.pulls.Reactions()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.T.Errorf("reactions: %v, want %v", got, want)
	}
}

var asking = penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "And?"}}

// A person stops a run, tells it something, and answers its question, each with a comment.
func TestAPersonSpeaksToARun(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		a := r.Work()
		if d := r.writes(21, "@penstock-bot Use the second one."); d.Detail != "It is a message to the run." {
			t.Errorf("got %+v", d)
		}
		r.wantReactions("issues/7/reactions eyes", "issues/comments/21/reactions +1")
		next := r.Finish(a.Lease, asking)
		const want = "ada in acme/shop#7 has written to you:\n\nUse the second one."
		if len(next) != 1 || !strings.HasSuffix(next[0].Text, want) {
			t.Fatalf("got %+v", next)
		}
		r.Finish(a.Lease, asking)
		r.MustBe(id, penstock.StateBlocked)
		r.writes(22, "@penstock-bot yes")
		r.MustBe(id, penstock.StateQueued)
		r.writes(23, "@penstock-bot stop")
		r.MustBe(id, penstock.StateCancelled)
		r.wantSays("was cancelled.")
		row, err := r.Deps.Store.Runs.Find(t.Context(), store.DefaultTeam, id)
		if err != nil || row.StatusMessage.Message != "Cancelled by ada in acme/shop#7." {
			t.Errorf("%v, %v", row.StatusMessage, err)
		}
		r.writes(24, "@penstock-bot retry")
		r.MustBe(id, penstock.StateQueued)
		r.wantReactions("issues/7/reactions eyes", "issues/comments/21/reactions +1", "issues/comments/22/reactions +1",
			"issues/comments/23/reactions +1", "issues/comments/24/reactions +1")
	})
}

// What cannot be done is answered, once, and so is a question.
func TestACommentIsAnswered(t *testing.T) {
	reporters(t, "status: none", func(t *testing.T, r *reported) {
		id := r.started()
		r.Work()
		answer := func(comment int, text, reaction, want string) {
			t.Helper()
			r.writes(comment, text)
			_, before := r.pulls.All()
			r.pulls.Break(func(method, path string) testkit.PullFault {
				if method == http.MethodPost && strings.HasSuffix(path, "/comments") {
					return testkit.Loses
				}
				return ""
			})
			r.do()
			r.pulls.Break(nil)
			r.do()
			r.do()
			_, comments := r.pulls.All()
			if len(comments) != len(before)+1 || !strings.Contains(comments[len(before)], want) {
				t.Errorf("%s: %q", text, comments[len(before):])
			}
			if all := r.pulls.Reactions(); !strings.HasSuffix(all[len(all)-1], reaction) {
				t.Errorf("%s: %v", text, all)
			}
		}
		answer(31, "@penstock-bot status", "+1", "("+"https://penstock.test/runs/"+id+") is working on this.")
		answer(32, "@penstock-bot help", "+1", "`stop`")
		answer(33, "@penstock-bot hold", "confused", "not supported yet")
		answer(34, "@penstock-bot retry", "confused", "has not ended")
		r.Cancel(id)
		answer(35, "@penstock-bot stop", "confused", "has ended already")
	})
}

// A comment counts once, whatever brings it: the same webhook twice, two webhooks, a replay, or two servers that look
// at the same time. An edited one does not count.
func TestACommentCountsOnce(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		r.started()
		a := r.Work()
		d := r.writes(21, "@penstock-bot One.")
		other := func(body map[string]any) { body["hook"] = "another" }
		r.writes(21, "@penstock-bot One.", other)
		r.writes(23, "@penstock-bot Two.", func(body map[string]any) { body["action"] = "edited" })
		if _, err := r.Deliveries.Replay(t.Context(), r.admin(), "", r.hook.uid, d.ID); err != nil {
			t.Fatal(err)
		}
		r.hook.event("issue_comment", issue(in("repository", map[string]any{"id": 7}), func(body map[string]any) {
			body["action"] = "created"
			body["comment"] = map[string]any{"id": 22, "body": "@penstock-bot Three.", "user": map[string]any{"id": 3}}
		}))
		var all sync.WaitGroup
		for _, s := range []*run.Outputs{r.Outputs, r.Beside().Outputs, r.Beside().Outputs} {
			all.Go(func() {
				if err := s.ObeyCommands(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var texts []string
		for {
			next := r.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			if len(next) == 0 {
				break
			}
			texts = append(texts, next[0].Text)
		}
		if text := strings.Join(texts, "|"); strings.Count(text, "One.") != 1 || strings.Count(text, "Three.") != 1 ||
			strings.Contains(text, "Two.") {
			t.Errorf("got %q", texts)
		}
	})
}

// Nobody else tells a run something: who may not write to a public repository, the bot itself, a comment that is said
// to be of somebody else, and a comment on an issue without a run.
func TestWhoMaySpeakToARun(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		public := in("repository", map[string]any{"id": 7, "private": false})
		id := r.hook.event("issues", issue(public)).Runs[0]
		r.Work()
		by := func(user int, sender int) func(map[string]any) {
			return func(body map[string]any) {
				body["comment"] = map[string]any{"id": 41, "body": "@penstock-bot stop", "user": map[string]any{"id": user}}
				body["sender"] = map[string]any{"id": sender, "login": "eve"}
			}
		}
		for why, change := range map[string][]func(map[string]any){
			"a stranger":                      {by(9, 9), public},
			"the bot":                         {by(42, 42), public},
			"somebody else":                   {by(9, 3)},
			"another issue":                   {in("issue", map[string]any{"number": 8})},
			"a line of a patch":               {func(b map[string]any) { b["pull_request"], b["issue"] = b["issue"], nil }},
			"another repository of this name": {in("repository", map[string]any{"id": 99})},
			"another owner":                   {in("repository", map[string]any{"full_name": "eve/shop"})},
			"an old comment": {func(body map[string]any) {
				comment, _ := body["comment"].(map[string]any)
				comment["created_at"] = "2020-01-01T00:00:00Z"
			}},
			"another repository": {in("repository", map[string]any{"id": 6, "full_name": "acme/other"})},
		} {
			d := r.writes(41, "@penstock-bot stop", change...)
			if r.MustBe(id, penstock.StateInProgress); strings.Contains(d.Detail, "command") {
				t.Errorf("%s: %+v", why, d)
			}
		}
		if d := r.writes(41, "@penstock-bot stop", by(9, 9), public); !strings.Contains(d.Detail, "may not write") {
			t.Errorf("got %+v", d)
		}
		r.wantReactions("issues/7/reactions eyes")

		reach := func(repository string) {
			t.Helper()
			if _, err := r.Connections.Update(t.Context(), r.admin(), r.hook.uid, forge.ChangeRequest{
				Repositories: &[]string{repository},
			}); err != nil {
				t.Fatal(err)
			}
		}
		reach("acme/other")
		r.writes(42, "@penstock-bot stop")
		r.MustBe(id, penstock.StateInProgress)
		reach("acme/shop")
		testkit.Exec(t, r.URL, "UPDATE runs SET personal = 1")
		r.writes(43, "@penstock-bot stop")
		r.MustBe(id, penstock.StateInProgress)
		testkit.Exec(t, r.URL, "UPDATE runs SET personal = 0")
		r.writes(44, "@penstock-bot stop")
		r.MustBe(id, penstock.StateCancelled)
	})
}

// A connection that may no longer reach the repository when a command is followed does nothing.
func TestACommandThatComesTooLate(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.Work()
		r.hook.event("issue_comment", issue(in("repository", map[string]any{"id": 7}), func(body map[string]any) {
			body["action"] = "created"
			body["comment"] = map[string]any{"id": 71, "body": "@penstock-bot stop", "user": map[string]any{"id": 3}}
		}))
		if _, err := r.Connections.Update(t.Context(), r.admin(), r.hook.uid, forge.ChangeRequest{
			Repositories: &[]string{"acme/other"},
		}); err != nil {
			t.Fatal(err)
		}
		if err := r.Outputs.ObeyCommands(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.MustBe(id, penstock.StateInProgress)
	})
}

// Of several runs of a thread, the one that has asked hears the answer, also if an automation waits for mentions.
func TestTheRunThatHasAskedHearsTheAnswer(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		files := team()
		files["factory.yaml"] = strings.Replace(files["factory.yaml"], "Shop", "Second", 1)
		r.DefineFactory(files) // it continues on mentions
		d := r.hook.event("issues", issue(in("repository", map[string]any{"id": 7})))
		if len(d.Runs) != 2 {
			t.Fatalf("got %+v", d)
		}
		first, second := r.Work(), r.Work()
		age := func(a penstock.Assignment) string {
			return fmt.Sprintf("%d %s", r.Get(a.Lease.RunID).CreatedAt, a.Lease.RunID)
		}
		if age(second) < age(first) { // the newer one works on, and would hear what is for nobody else
			first, second = second, first
		}
		r.Finish(first.Lease, asking)
		if d := r.writes(81, "@penstock-bot yes"); len(d.Runs) != 0 {
			t.Errorf("got %+v", d)
		}
		r.MustBe(first.Lease.RunID, penstock.StateQueued)
		r.succeeds(second.Lease)
		r.MustBe(second.Lease.RunID, penstock.StateSucceeded)
		r.writes(82, "@penstock-bot stop")
		r.MustBe(first.Lease.RunID, penstock.StateCancelled)
	})
}

// Commands that cannot be followed keep no others waiting, and are given up.
func TestACommandThatFails(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		r.Work()
		for n := range 120 {
			testkit.Exec(t, r.URL, fmt.Sprintf(`INSERT INTO forge_commands (team, place, comment, connection, repository, number,
				author, command, message, created_at, done_at, reaction, answer, due_at, lease, leased_until, tries)
				VALUES ('%s', 'broken', %d, '%s', 'acme/shop', %d, 'ada', '', 'x', 1, 0, '', '', 0, '', 0, 18)`,
				store.DefaultTeam, n+1, r.hook.uid, n+1))
		}
		r.writes(91, "@penstock-bot stop")
		r.MustBe(id, penstock.StateCancelled)
		r.writes(92, "@penstock-bot retry")
		for range 3 {
			testkit.Exec(t, r.URL, "UPDATE forge_commands SET due_at = 0 WHERE done_at = 0")
			if err := r.Outputs.ObeyCommands(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r.MustBe(id, penstock.StateQueued)
		list, err := r.Deps.Store.Forges.Commands(t.Context(), penstock.Now().Add(time.Hour), 1000)
		if err != nil || len(list) != 0 {
			t.Errorf("%d commands wait, %v", len(list), err)
		}
	})
}

// Many questions get few comments.
func TestManyQuestions(t *testing.T) {
	reporters(t, "status: none", func(t *testing.T, r *reported) {
		r.started()
		for n := range 12 {
			r.writes(100+n, "@penstock-bot help")
		}
		r.do()
		if _, comments := r.pulls.All(); len(comments) != 10 || len(r.pulls.Reactions()) != 12 {
			t.Errorf("%d comments, %d reactions", len(comments), len(r.pulls.Reactions()))
		}
	})
}

// A comment below the pull request of a run is for this run.
func TestACommentBelowThePullRequest(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		a := r.Work()
		r.push(a.Lease, aBranch)
		r.declared(a, aPull)
		r.succeeds(a.Lease)
		r.says()
		r.writes(51, "@penstock-bot Add a test.", in("issue", map[string]any{"number": 1}))
		r.MustBe(id, penstock.StateQueued)
		a = r.Work()
		if text := a.Prompts[0].Text; !strings.HasSuffix(text, "ada in acme/shop#1 has written to you:\n\nAdd a test.") {
			t.Errorf("got %q", text)
		}
		r.succeeds(a.Lease)
		r.writes(52, "@penstock-bot rebase", in("issue", map[string]any{"number": 1}))
		if a = r.Work(); !strings.Contains(a.Prompts[0].Text, "by a rebase") {
			t.Errorf("got %+v", a.Prompts)
		}
	})
}

// An automation that waits for mentions gets them, and the run no message besides.
func TestAnAutomationHearsMentions(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		files := team()
		files["factory.yaml"] = strings.Replace(files["factory.yaml"], "Shop", "Second", 1)
		files["automations/fix.md"] = "---\ntriggers: [{provider: github, event: issue_mentioned}]\n---\nFix it.\n"
		r.DefineFactory(files)
		r.started()
		if d := r.writes(61, "@penstock-bot look"); len(d.Runs) != 1 || d.Detail != "" {
			t.Errorf("got %+v", d)
		}
		if d := r.writes(62, "@penstock-bot stop"); len(d.Runs) != 0 {
			t.Errorf("got %+v", d)
		}
	})
}
