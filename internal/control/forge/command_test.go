package forge_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

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
		"@penstock-bot stop":                     "stop ",
		"\r\n @Penstock-Bot: STOP!\r\n":          "stop ",
		"@penstock-bot, retry.":                  "retry ",
		"@penstock-bot":                          "help ",
		"@penstock-bot?":                         "help ",
		"@penstock-bot rebase":                   "rebase ",
		"@penstock-bot status":                   "status ",
		"@penstock-bot hold":                     "hold ",
		"@penstock-bot\n\nUse the second one.":   " Use the second one.",
		"@penstock-bot stop using tabs":          " stop using tabs",
		"@penstock-bot stop\n> quoted":           " stop\n> quoted",
		"@penstock-bot a <!-- b --> c\u202e":     " a  c",
		"@penstock-bot st\u200bop":               "stop ",
		"@penstock-bot `<!-- a -->`":             " `<!-- a -->`",
		"@penstock-bottom stop":                  nobody,
		"@penstock-bot-2 stop":                   nobody,
		"@penstock-bot/x stop":                   nobody,
		"@penstock-bot.x stop":                   nobody,
		"> @penstock-bot stop":                   nobody,
		"    @penstock-bot stop":                 nobody,
		"\t@penstock-bot stop":                   nobody,
		"`@penstock-bot stop`":                   nobody,
		"```\n@penstock-bot stop\n```":           nobody,
		"<!--\n@penstock-bot stop\n-->":          nobody,
		"\u200b@penstock-bot stop":               nobody,
		"Thanks, @penstock-bot stop":             nobody,
		"penstock-bot stop":                      nobody,
		"":                                       nobody,
		"@penstock-bot" + strings.Repeat("é", 9): nobody,
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
	d := r.hook.event("issue_comment", issue(append([]func(map[string]any){func(body map[string]any) {
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

// A person stops a run, tells it something, and answers its question, each with a comment.
func TestAPersonSpeaksToARun(t *testing.T) {
	reporters(t, "", func(t *testing.T, r *reported) {
		id := r.started()
		a := r.Work()
		if d := r.writes(21, "@penstock-bot Use the second one."); d.Detail != "It is a message to the run." {
			t.Errorf("got %+v", d)
		}
		r.wantReactions("issues/7/reactions eyes", "issues/comments/21/reactions +1")
		next := r.Finish(a.Lease, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "And?"}})
		if len(next) != 1 || !strings.HasSuffix(next[0].Text, "ada in acme/shop#7 has written to you:\n\nUse the second one.") {
			t.Fatalf("got %+v", next)
		}
		r.Finish(a.Lease, penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "And?"}})
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
		r.writes(21, "@penstock-bot Two.", func(body map[string]any) { body["action"] = "edited" })
		if _, err := r.Deliveries.Replay(t.Context(), r.admin(), "", r.hook.uid, d.ID); err != nil {
			t.Fatal(err)
		}
		r.hook.event("issue_comment", issue(func(body map[string]any) {
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
		public := in("repository", map[string]any{"private": false})
		id := r.hook.event("issues", issue(public)).Runs[0]
		r.Work()
		by := func(user int, sender int) func(map[string]any) {
			return func(body map[string]any) {
				body["comment"] = map[string]any{"id": 41, "body": "@penstock-bot stop", "user": map[string]any{"id": user}}
				body["sender"] = map[string]any{"id": sender, "login": "eve"}
			}
		}
		for why, change := range map[string][]func(map[string]any){
			"a stranger":         {by(9, 9), public},
			"the bot":            {by(42, 42), public},
			"somebody else":      {by(9, 3)},
			"another issue":      {in("issue", map[string]any{"number": 8})},
			"a line of a patch":  {func(body map[string]any) { body["pull_request"], body["issue"] = body["issue"], nil }},
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
