package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// eventSecret signs the deliveries of these tests.
const eventSecret = "It's a Secret to Everybody"

// event is the body of a sample.
func (s *site) event(name string) []byte {
	s.t.Helper()
	body, err := os.ReadFile("../trigger/testdata/" + name + ".json")
	if err != nil {
		s.t.Fatal(err)
	}
	return body
}

// fromGitHub delivers an event like GitHub and returns its log entry.
func (s *site) fromGitHub(w penstock.Webhook, event string, body []byte) store.Delivery {
	s.t.Helper()
	header := github(eventSecret, body)
	header["X-GitHub-Event"], header["X-GitHub-Delivery"] = event, penstock.NewID()
	got := s.post(path(w), header, body)
	got.want(s.t, "deliver "+event, http.StatusAccepted)
	return s.logged(w, got.id())
}

// fromLinear delivers an event like Linear, with the current time.
func (s *site) fromLinear(w penstock.Webhook, body []byte) store.Delivery {
	s.t.Helper()
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		s.t.Fatal(err)
	}
	fields["webhookTimestamp"] = int64(penstock.Now())
	body, err := json.Marshal(fields)
	if err != nil {
		s.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(eventSecret))
	mac.Write(body)
	header := map[string]string{
		"Linear-Signature": hex.EncodeToString(mac.Sum(nil)), "Linear-Delivery": penstock.NewID(),
		"Linear-Event": fmt.Sprint(fields["type"]),
	}
	got := s.post(path(w), header, body)
	got.want(s.t, "deliver", http.StatusAccepted)
	return s.logged(w, got.id())
}

// waits creates an automation with triggers of GitHub or Linear, each a provider, an event and a
// filter.
func (s *site) waits(name string, triggers ...[3]string) penstock.Automation {
	s.t.Helper()
	list := []penstock.Trigger{}
	for _, t := range triggers {
		list = append(list, penstock.Trigger{Provider: t[0], Event: t[1], Filter: json.RawMessage(t[2])})
	}
	a, err := s.Resources.CreateAutomation(
		s.t.Context(), s.admin, s.factory,
		factory.AutomationRequest{Name: &name, Prompt: new("Look at the event."), Triggers: &list},
	)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// matchSummaries returns the result of a delivery for each automation: "run", or where and why the
// match failed.
func matchSummaries(d store.Delivery) map[string]string {
	out := map[string]string{}
	for _, m := range d.Matches {
		switch {
		case m.WouldTrigger && slices.Contains(d.Runs, m.RunID):
			out[m.Automation] = "run"
		case m.FailedAt != nil && m.Reason != "":
			out[m.Automation] = strings.TrimSpace(*m.FailedAt + " " + m.Reason)
		}
	}
	return out
}

func TestDeliveriesOfGitHubFireTriggers(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", eventSecret, nil)
		plain := s.hook(penstock.AuthToken, nil)
		s.waits("any-pull", [3]string{"github", "pull_request_opened", ""})
		s.waits(
			"our-pull",
			[3]string{
				"github", "pull_request_opened", `{"repos": ["codertocat/hello-world"], "base_branches": ["refs/heads/master"]}`,
			},
		)
		s.waits("labeled", [3]string{"github", "pull_request_opened", `{"repos": ["hello-world"], "labels": ["agent"]}`})
		s.waits("pushes", [3]string{"github", "push", `{"branches": ["master"], "paths": ["*.md"]}`})
		s.waits(
			"either", [3]string{"github", "push", `{"paths": ["src/**"]}`},
			[3]string{"github", "pull_request_opened", `{"authors": ["octocat"]}`},
		)
		s.waits(
			"both", [3]string{"github", "pull_request_opened", ""},
			[3]string{"webhook", "received", fmt.Sprintf(`{"webhook_ids": [%q, %q]}`, w.UID, plain.Name)},
		)
		s.waits("linear", [3]string{"linear", "issue_created", ""})

		d := s.fromGitHub(w, "pull_request", s.event("github/pull_request.opened"))
		want := map[string]string{
			"any-pull": "run", "our-pull": "run", "both": "run", "labeled": "/labels `labels` is absent; expects `agent`",
			"pushes": "the event `pull_request opened` starts nothing; this automation waits for push",
			"either": "/authors `authors` is `codertocat`; expects `octocat`",
		}
		if diff := cmp.Diff(want, matchSummaries(d)); diff != "" || len(d.Runs) != 3 {
			t.Errorf("a pull request: %d runs (-want +got):\n%s", len(d.Runs), diff)
		}
		run, err := s.Runs.Read(t.Context(), s.admin, d.Runs[0])
		if err != nil || run.Source != "WEBHOOK" || run.Metadata["delivery_id"] != d.ID ||
			run.Metadata["webhook_uid"] != w.UID {
			t.Errorf("the run (%v): got %+v", err, run)
		}

		d = s.fromGitHub(w, "push", s.event("github/push"))
		want = map[string]string{
			"any-pull": "the event `push` starts nothing; this automation waits for pull_request_opened",
			"our-pull": "the event `push` starts nothing; this automation waits for pull_request_opened",
			"labeled":  "the event `push` starts nothing; this automation waits for pull_request_opened",
			"pushes":   "run", "both": "run",
			"either": "/paths `paths` is `README.md`; expects `src/**`",
		}
		if diff := cmp.Diff(want, matchSummaries(d)); diff != "" || len(d.Runs) != 2 {
			t.Errorf("a push: %d runs (-want +got):\n%s", len(d.Runs), diff)
		}

		const waits = "; this automation waits for "
		for _, test := range []struct {
			d            store.Delivery
			none, others string
		}{
			{s.fromGitHub(w, "ping", []byte(`{"zen": "Design for failure."}`)), "a ping only tests the webhook", waits},
			{s.fromGitHub(w, "", s.event("github/push")), "the delivery has no header X-GitHub-Event", ""},
			{s.fromGitHub(w, "push", s.event("gitea/push.zeros")), "the push deletes a branch or tag", ""},
		} {
			one, two := test.none, test.none
			if test.others != "" {
				one, two = test.none+waits+"pull_request_opened", test.none+waits+"push or pull_request_opened"
			}
			got := matchSummaries(test.d)
			if got["any-pull"] != one || got["either"] != two || got["both"] != "run" || len(test.d.Runs) != 1 {
				t.Errorf("%s: got %v", test.none, got)
			}
		}

		// A webhook without GitHub's signature scheme reports no events.
		got := s.post(
			path(plain), map[string]string{"Authorization": "Bearer " + plain.Secret, "X-GitHub-Event": "push"},
			s.event("github/push"),
		)
		got.want(t, "deliver", http.StatusAccepted)
		if diff := cmp.Diff(map[string]string{"both": "run"}, matchSummaries(s.logged(plain, got.id()))); diff != "" {
			t.Errorf("another webhook (-want +got):\n%s", diff)
		}
	})
}

func TestDeliveriesOfLinearFireTriggers(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("linear", eventSecret, nil)
		s.waits("created", [3]string{"linear", "issue_created", `{"teams": ["ENG"]}`})
		s.waits("labeled", [3]string{"linear", "issue_labeled", `{"labels": ["agent"]}`})
		s.waits("asked", [3]string{"linear", "comment_created", `{"mentioned_users": ["penstock"], "keywords": ["deploy"]}`})
		s.waits("delegated", [3]string{"linear", "agent_session_created", ""})
		s.waits("moved", [3]string{"linear", "issue_state_changed", `{"states": {"not_in": ["Done"]}}`})
		const waits = "starts nothing; this automation waits for "
		for _, test := range []struct {
			name, event, action string // the family of its events, and how it is named
			want                map[string]string
		}{
			{
				"Issue.create", "Issue create", "action `create`",
				map[string]string{"created": "run", "labeled": "/labels `labels` is `bug`; expects `agent`"},
			},
			{"Issue.update.labels", "Issue update", "action `update`", map[string]string{"labeled": "run"}},
			{"Comment.create", "Comment create", "action `create`", map[string]string{"asked": "run"}},
			{
				"AgentSessionEvent.created", "AgentSessionEvent created", "the event `AgentSessionEvent created`",
				map[string]string{"delegated": "run"},
			},
			{"Issue.update.state", "Issue update", "action `update`", map[string]string{"moved": "run"}},
		} {
			family, _, _ := strings.Cut(strings.ToLower(test.event), " ")
			for name, event := range map[string]string{
				"created": "issue_created", "labeled": "issue_labeled", "asked": "comment_created",
				"delegated": "agent_session_created", "moved": "issue_state_changed",
			} {
				if test.want[name] != "" {
					continue
				}
				test.want[name] = "the event `" + test.event + "` " + waits + event
				if rest, ok := strings.CutPrefix(event, family+"_"); ok {
					test.want[name] = test.action + " " + waits + rest
				}
			}
			if diff := cmp.Diff(test.want, matchSummaries(s.fromLinear(w, s.event("linear/"+test.name)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

func TestOnlyWebhooksOfTheFactoryReportItsEvents(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", eventSecret, nil)
		second := s.signed("github", eventSecret, nil)
		a := s.waits("pushes", [3]string{"github", "push", ""})
		home := s.factory
		other, err := s.Factories.Create(t.Context(), s.admin, factory.FactoryRequest{Name: new("other")})
		if err != nil {
			t.Fatal(err)
		}
		s.factory = other.UID
		foreign := s.signed("github", eventSecret, nil)
		if d := s.fromGitHub(foreign, "push", s.event("github/push")); len(d.Matches) != 0 || len(d.Runs) != 0 {
			t.Errorf("a webhook of another factory: got %+v", d.Matches)
		}
		s.factory = home
		for _, hook := range []penstock.Webhook{w, second} {
			if d := s.fromGitHub(hook, "push", s.event("github/push")); len(d.Runs) != 1 {
				t.Errorf("each webhook of the factory: got %+v", d.Matches)
			}
		}

		// Changes of a trigger and of the switch take effect with the next delivery.
		change := func(req factory.AutomationRequest) {
			t.Helper()
			if _, err := s.Resources.UpdateAutomation(t.Context(), s.admin, s.factory, a.UID, req); err != nil {
				t.Fatal(err)
			}
		}
		change(
			factory.AutomationRequest{
				Triggers: &[]penstock.Trigger{{Provider: "github", Event: "push", Filter: []byte(`{"branches": ["main"]}`)}},
			},
		)
		if got := matchSummaries(
			s.fromGitHub(w, "push", s.event("github/push")),
		); got["pushes"] != "/branches `branches` is `master`; expects `main`" {
			t.Errorf("another filter: got %v", got)
		}
		change(factory.AutomationRequest{Enabled: new(false)})
		if d := s.fromGitHub(w, "push", s.event("github/push")); len(d.Matches) != 0 {
			t.Errorf("an automation that is off: got %+v", d.Matches)
		}
	})
}

func TestReplayReportsItsEventsAgain(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", eventSecret, nil)
		a := s.waits("labeled", [3]string{"github", "issue_labeled", `{"labels": ["feature"]}`})
		d := s.fromGitHub(w, "issues", s.event("github/issues.labeled"))
		if got := matchSummaries(d)["labeled"]; !strings.HasPrefix(got, "/labels ") {
			t.Fatalf("got %s", got)
		}
		if _, err := s.Resources.UpdateAutomation(t.Context(), s.admin, s.factory, a.UID, factory.AutomationRequest{
			Triggers: &[]penstock.Trigger{{Provider: "github", Event: "issue_labeled", Filter: []byte(`{"labels": ["bug"]}`)}},
		}); err != nil {
			t.Fatal(err)
		}
		again, err := s.Deliveries.Replay(t.Context(), s.admin, s.factory, w.UID, d.ID)
		if err != nil || matchSummaries(again)["labeled"] != "run" || again.Headers["x-github-event"] != "issues" {
			t.Errorf("the replay (%v): got %+v", err, again)
		}
	})
}

func TestTriggersInFilesFire(t *testing.T) {
	sites(t, func(s *site) {
		if _, err := s.Secrets.Create(
			t.Context(), s.admin, access.SecretRequest{Name: "GITHUB_SECRET", Value: new(eventSecret)},
		); err != nil {
			t.Fatal(err)
		}
		f, err := s.Factories.Create(t.Context(), s.admin, factory.FactoryRequest{Name: new(
			"shop",
		), Files: map[string]string{
			"factory.yaml":                     "schemaVersion: v1alpha1\nname: shop\nagentDefaults:\n  model: demo/offline\n",
			"agents/lead/agent.md":             "---\nagentType: FOREMAN\n---\nLead.\n",
			"webhooks/code.yaml":               "authMode: signature\nsignatureScheme: github\nsecretName: GITHUB_SECRET\n",
			"automations/review/automation.md": documented(t),
			"automations/several/automation.md": "---\ntriggers:\n  - provider: github\n    event: pull_request_opened\n  - " +
				"provider: github\n    event: pull_request_ready\n" +
				"  - provider: webhook\n    event: received\n    filter: {webhook_ids: [code], payload: {action: [opened]}}\n  - " +
				"provider: slack\n    event: app_mention\n---\nLook.\n",
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.factory = f.UID
		hooks, err := s.Webhooks.List(t.Context(), s.admin, f.UID)
		if err != nil || len(hooks) != 1 {
			t.Fatalf("%d webhooks (%v)", len(hooks), err)
		}
		for _, test := range []struct{ sample, base, review, several string }{
			{"pull_request.opened", "main", "run", "run"},
			{"pull_request.opened", "release/1.2", "run", "run"},
			{
				"pull_request.opened", "dev", "/base_branches `base_branches` is `dev`; expects one of `main` or `release/*`",
				"run",
			},
			{
				"pull_request.ready_for_review", "main",
				"action `ready_for_review` starts nothing; this automation waits for opened", "run",
			},
			{
				"pull_request.closed", "main", "action `closed` starts nothing; this automation waits for opened",
				"/action `action` is `closed`; expects `opened`",
			},
		} {
			body := bytes.ReplaceAll(s.event("github/"+test.sample), []byte(`"ref": "master"`), []byte(`"ref": "`+test.base+`"`))
			want := map[string]string{"review": test.review, "several": test.several}
			if diff := cmp.Diff(want, matchSummaries(s.fromGitHub(hooks[0], "pull_request", body))); diff != "" {
				t.Errorf("%s to %s (-want +got):\n%s", test.sample, test.base, diff)
			}
		}
		if n := len(s.runs()); n != 6 {
			t.Errorf("got %d runs, want one of an automation for each delivery that fires it", n)
		}
		list, err := s.Automations.List(t.Context(), s.admin, f.UID)
		if err != nil || len(list) != 2 || len(list[0].Problems) != 0 || len(list[1].Triggers) != 4 ||
			len(list[1].Problems) != 1 {
			t.Errorf("the automations (%v): got %+v, want the one trigger that is not connected", err, list)
		}
	})
}

// documented is the automation in docs/triggers.md.
func documented(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/triggers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(page), "```markdown\n")
	text, _, ends := strings.Cut(rest, "```\n")
	if !begins || !ends {
		t.Fatal("docs/triggers.md shows no automation")
	}
	return text
}

func TestHostilePayloadsReportNoEvent(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", eventSecret, nil)
		s.waits("labeled", [3]string{"github", "issue_labeled", `{"labels": ["bug"]}`})
		s.waits("opened", [3]string{"github", "issue_created", `{"labels": {"not_in": ["bug"]}}`})
		none := "`issues` fires no trigger; this automation waits for "
		for name, test := range map[string]struct{ body, labeled, opened string }{
			"wrong types": {
				`{"action": ["labeled"], "issue": 1, "label": {}}`, none + "issue_labeled", none + "issue_created",
			},
			"a text for all": {`"labeled"`, none + "issue_labeled", none + "issue_created"},
			"nothing but it": {
				`{"action": "labeled", "issue": {}}`, "/labels `labels` is absent; expects `bug`",
				"action `labeled` starts nothing; this automation waits for created",
			},
			"a label of lists": {
				`{"action": "labeled", "issue": {}, "label": [{"name": "bug"}]}`, "/labels `labels` is absent; expects `bug`",
				"action `labeled` starts nothing; this automation waits for created",
			},
			"many labels": {
				`{"action": "opened", "issue": {"labels": [` + strings.Repeat(`{"name":"x"},`, 15_000) + `{}]}}`,
				"action `opened` starts nothing; this automation waits for labeled", "run",
			},
			"more values": {
				`{"action": "opened", "issue": {"labels": [` + strings.Repeat("1,", 60_000) + `1]}}`,
				"the body has more than 50000 values", "the body has more than 50000 values",
			},
			"deep nesting": {
				`{"action": "opened", "issue": ` + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}`,
				"the body is nested deeper than 256 levels", "the body is nested deeper than 256 levels",
			},
			"duplicate keys": {
				`{"action": "opened", "action": "labeled", "issue": {}, "label": {"name": "bug"}}`,
				"an object of the event has duplicate keys", "an object of the event has duplicate keys",
			},
		} {
			want := map[string]string{"labeled": test.labeled, "opened": test.opened}
			if diff := cmp.Diff(want, matchSummaries(s.fromGitHub(w, "issues", []byte(test.body)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}
