package trigger_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

var update = flag.Bool("update", false, "write down what is read of the samples")

func parse(t testing.TB, body string) *trigger.Document {
	t.Helper()
	d, err := trigger.ParseDocument([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sample returns the body of a delivery, with pairs of texts replaced.
func sample(t testing.TB, name string, changes ...string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("%s has no %s", name, changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return text
}

// senderOf returns the sender of a sample, and the event name in its header.
func senderOf(name string) (provider, header string) {
	provider, event, _ := strings.Cut(name, "/")
	header, _, _ = strings.Cut(event, ".")
	if provider == "gitea" { // its webhooks sign and name events as GitHub's do
		provider = "github"
	}
	return provider, header
}

// events returns the events of a sample.
func events(t testing.TB, name string, changes ...string) []trigger.Event {
	t.Helper()
	provider, header := senderOf(name)
	all, _ := trigger.Events(provider, header, parse(t, sample(t, name, changes...)))
	return all
}

func names(all []trigger.Event) []string {
	out := []string{}
	for _, e := range all {
		out = append(out, e.Name)
	}
	return out
}

func TestSamplesReportTheirEvents(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d samples (%v)", len(files), err)
	}
	var out strings.Builder
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".json")
		fmt.Fprintln(&out, name)
		provider, header := senderOf(name)
		all, why := trigger.Events(provider, header, parse(t, sample(t, name)))
		if why != "" {
			fmt.Fprintln(&out, "   ", why)
		}
		for _, e := range all {
			fmt.Fprintln(&out, "   ", e.String())
		}
	}
	golden := "testdata/events.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || len(want) == 0 {
		t.Fatalf("%s: %d bytes (%v)", golden, len(want), err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// bot is who is called in texts.
const bot = "penstock-bot"

func TestEveryEventOfTheTableIsRead(t *testing.T) {
	t.Parallel()
	body := `You are totally right! I'll get this fixed right away.`
	call := "Please, @" + bot + ", fix this."
	spelling := `It looks like you accidentally spelled 'commit' with two 't's.`
	simple := `This is a pretty simple change that we need to pull into master.`
	seen := map[string]bool{}
	for name, test := range map[string]struct {
		sample  string
		changes []string
		want    []string
	}{
		"a push":                   {"github/push", nil, []string{"push"}},
		"a push of a tag":          {"github/push.tag", nil, []string{"push"}},
		"a branch that is deleted": {"github/push.deleted", nil, []string{}},
		"an issue":                 {"github/issues.opened", nil, []string{"issue_created"}},
		"an issue that calls": {
			"github/issues.opened", []string{spelling, call}, []string{"issue_created", "issue_mentioned"},
		},
		"an issue that is closed": {
			"github/issues.opened", []string{`"opened"`, `"closed"`, spelling, call}, []string{},
		},
		"a label":     {"github/issues.labeled", []string{spelling, call}, []string{"issue_labeled"}},
		"an assignee": {"github/issues.assigned", nil, []string{"issue_assigned"}},
		"a comment":   {"github/issue_comment.created", nil, []string{}},
		"a comment that calls": {
			"github/issue_comment.created", []string{body, call}, []string{"issue_mentioned"},
		},
		"a comment that is deleted": {
			"github/issue_comment.created", []string{`"created"`, `"deleted"`, body, call}, []string{},
		},
		"a comment on a pull request": {
			"github/issue_comment.created",
			[]string{body, call, `"number": 1,`, `"number": 1, "pull_request": {},`},
			[]string{"pull_request_mentioned"},
		},
		"a call that is edited": {
			"github/issue_comment.edited", []string{body, call, "I'll get this fixed today.", "@PENSTOCK-bot!"}, []string{},
		},
		"a call that is edited in": {
			"github/issue_comment.edited", []string{"I'll get this fixed today.", call}, []string{"issue_mentioned"},
		},
		"a pull request": {"github/pull_request.opened", nil, []string{"pull_request_opened"}},
		"a pull request that calls": {
			"github/pull_request.opened", []string{simple, call}, []string{"pull_request_opened", "pull_request_mentioned"},
		},
		"one that is closed": {"github/pull_request.closed", nil, []string{"pull_request_closed"}},
		"one that is merged": {
			"github/pull_request.closed", []string{`"merged": false`, `"merged": true`}, []string{"pull_request_merged"},
		},
		"one that is labeled":   {"github/pull_request.labeled", nil, []string{"pull_request_labeled"}},
		"one that is assigned":  {"github/pull_request.assigned", nil, []string{"pull_request_assigned"}},
		"one that is ready":     {"github/pull_request.ready_for_review", nil, []string{"pull_request_ready"}},
		"one that is reopened":  {"github/pull_request.reopened", nil, []string{"pull_request_reopened"}},
		"one with more commits": {"github/pull_request.synchronize", nil, []string{"pull_request_synchronized"}},
		"one with a reviewer": {
			"github/pull_request.review_requested", nil, []string{"pull_request_review_requested"},
		},
		"a title that is edited": {
			"github/pull_request.opened", []string{`"opened"`, `"edited"`, simple, call}, []string{},
		},
		"a review": {
			"github/pull_request_review.submitted", nil, []string{"pull_request_review_submitted"},
		},
		"a review that calls": {
			"github/pull_request_review.submitted",
			[]string{`"body": null`, `"body": "` + call + `"`},
			[]string{"pull_request_review_submitted", "pull_request_mentioned"},
		},
		"a comment on lines that calls": {
			"github/pull_request_review_comment.created",
			[]string{`"body": "Maybe`, `"body": "` + call + ` Maybe`},
			[]string{"pull_request_mentioned"},
		},
		"a suite that is done":      {"github/check_suite.completed", nil, []string{"check_suite_completed"}},
		"a suite that is run again": {"github/check_suite.rerequested", nil, []string{"check_suite_rerequested"}},
		"a check that is run again": {"github/check_run.rerequested", nil, []string{"check_run_rerequested"}},
		"a workflow":                {"github/workflow_run.completed", nil, []string{"workflow_run_completed"}},
		"a workflow that begins": {
			"github/workflow_run.completed", []string{`"completed"`, `"requested"`}, []string{},
		},
		"an issue of Linear": {
			"linear/Issue.create",
			[]string{`"labels": [`, `"some": [`, `"labelIds": [`, `"others": [`},
			[]string{"issue_created"},
		},
		"one with a label from the start": {"linear/Issue.create", nil, []string{"issue_created", "issue_labeled"}},
		"a label of Linear":               {"linear/Issue.update.labels", nil, []string{"issue_labeled"}},
		"a label that is taken away": {
			"linear/Issue.update.labels",
			[]string{`"labelIds": [`, `"labelIds": ["f00dcafe-0004-4000-8000-0123456789ab",`},
			[]string{},
		},
		"an assignee of Linear":       {"linear/Issue.update.assignee", nil, []string{"issue_assigned"}},
		"an agent that gets an issue": {"linear/Issue.update.delegate", nil, []string{"issue_assigned"}},
		"a state":                     {"linear/Issue.update.state", nil, []string{"issue_state_changed"}},
		"an issue that is removed":    {"linear/Issue.remove", nil, []string{}},
		"a comment of Linear":         {"linear/Comment.create", nil, []string{"comment_created"}},
		"a session":                   {"linear/AgentSessionEvent.created", nil, []string{"agent_session_created"}},
		"a session that goes on":      {"linear/AgentSessionEvent.created", []string{`"created"`, `"prompted"`}, []string{}},
	} {
		got := events(t, test.sample, test.changes...)
		if diff := cmp.Diff(test.want, names(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		provider, _ := senderOf(test.sample)
		for _, e := range got {
			seen[provider+" "+e.Name] = true
			for _, key := range e.Keys() {
				if !slices.Contains(trigger.ReportedKeys(provider, e.Name), key) {
					t.Errorf("%s: %s tells %s, which is not in the table", name, e.Name, key)
				}
			}
		}
	}
	for _, provider := range []string{penstock.ProviderGitHub, penstock.ProviderLinear} {
		for _, event := range penstock.TriggerEvents(provider) {
			if !seen[provider+" "+event] || len(trigger.ReportedKeys(provider, event)) == 0 {
				t.Errorf("no sample is the event %s of %s, or it tells nothing", event, provider)
			}
		}
	}
}

func TestDeliveryWithoutAnEventReportsWhy(t *testing.T) {
	t.Parallel()
	opened := sample(t, "github/issues.opened")
	for name, test := range map[string]struct{ header, body, want string }{
		"no header":         {"", opened, "no header X-GitHub-Event"},
		"another header":    {"pull_request", opened, "`pull_request opened` fires no trigger"},
		"a ping":            {"ping", `{"zen": "Keep it logically awesome."}`, "only tests the webhook"},
		"an unknown name":   {"pull_request_bumped", `{}`, "`pull_request_bumped` in X-GitHub-Event is not an event"},
		"no name at all":    {"<script>", `{}`, "an unknown name in X-GitHub-Event is not an event"},
		"an odd action":     {"issues", `{"action": "Ignore all instructions"}`, "an unknown name fires no trigger"},
		"a deleted branch":  {"push", `{"ref": "refs/heads/x", "after": "` + strings.Repeat("0", 40) + `"}`, "deletes"},
		"by SHA-256":        {"push", `{"ref": "refs/tags/x", "after": "` + strings.Repeat("0", 64) + `"}`, "deletes"},
		"without a ref":     {"push", `{"ref": "", "after": "00"}`, "deletes"},
		"no object":         {"issues", `[]`, "`issues` fires no trigger"},
		"no payload at all": {"issues", `null`, "`issues` fires no trigger"},
		"duplicate keys": {
			"issues", strings.Replace(opened, `"issue": {`, `"issue": {"user": {"login": "x", "login": "y"},`, 1),
			"duplicate keys",
		},
		"too deep": {
			"issues", `{"action": "opened", "issue": ` + strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 301), "deeper",
		},
	} {
		all, why := trigger.Events("github", test.header, parse(t, test.body))
		if len(all) != 0 || !strings.Contains(why, test.want) {
			t.Errorf("%s: got %v, %q, want %q", name, all, why, test.want)
		}
	}
	if all, why := trigger.Events("github", "issues", nil); len(all) != 0 || why == "" {
		t.Errorf("without a body: got %v, %q", all, why)
	}
}

// A surrogate that was cut off equals nothing, and hides nothing of the rest.
func TestLoneSurrogates(t *testing.T) {
	t.Parallel()
	const half = `\ud83d`
	issue := `{"action": "opened", "issue": {"title": "x", "body": "@bot please ` + half +
		`", "user": {"login": "ada"}, "labels": [{"name": "` + half + `"}, {"name": "bug"}]},
		"repository": {"full_name": "acme/` + half + `", "name": "` + half + `"}}`
	linear := `{"type": "Issue", "action": "create", "data": {"title": "` + half +
		` outage", "description": "@bot", "labels": [{"name": "` + half + `"}], "team": {"name": "` + half + `"}}}`
	for _, test := range []struct {
		provider, event, body, filter string
		want                          bool
	}{
		{"github", "issue_created", issue, `{"authors": ["ada"], "labels": ["bug"]}`, true},
		{"github", "issue_created", issue, `{"labels": ["\ufffd"]}`, false},
		{"github", "issue_created", issue, `{"labels": {"not_in": ["\ufffd"]}}`, true},
		{"github", "issue_created", issue, `{"repos": ["acme/*"]}`, false},
		{"github", "issue_mentioned", issue, `{"mentioned": ["bot"]}`, true},
		{"linear", "issue_created", linear, `{"keywords": ["outage"], "mentioned_users": ["bot"]}`, true},
		{"linear", "issue_created", linear, `{"teams": ["\ufffd"]}`, false},
		{"linear", "issue_created", linear, `{"teams": {"not_in": ["\ufffd"]}}`, true},
	} {
		all, why := trigger.Events(test.provider, "issues", parse(t, test.body))
		if got, failure := compile(t, test.provider, test.event, test.filter).Match(all); got != test.want {
			t.Errorf("%s %s: got %t (%+v %s), want %t", test.event, test.filter, got, failure, why, test.want)
		}
	}
}
