package trigger_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// compile compiles a condition of a trigger, which must be valid.
func compile(t testing.TB, provider, event, filter string) *trigger.Condition {
	t.Helper()
	made := penstock.Trigger{Provider: provider, Event: event, Filter: json.RawMessage(filter)}
	if errs := made.Check(""); errs != nil {
		t.Fatalf("%s: %v", filter, errs)
	}
	c, err := trigger.Compile(made)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryKeyOfAFilterIsMatched(t *testing.T) {
	t.Parallel()
	files := `"added": [
        "README.md"
      ]`
	for name, test := range map[string]struct {
		sample  string
		changes []string
		event   string
		filter  string
		want    string // the key that fails; "": it matches
	}{
		"nothing asked for": {"github/push", nil, "push", ``, ""},
		"null":              {"github/push", nil, "push", `null`, ""},
		"empty keys": {
			"github/push", nil, "push", `{"repos": [], "labels": {}, "paths": null, "branches": {"in": [], "not_in": []}}`, "",
		},
		"another event":                  {"github/push", nil, "issue_created", ``, "event"},
		"a repository":                   {"github/push", nil, "push", `{"repos": ["CODERTOCAT/hello-world"]}`, ""},
		"a repository without its owner": {"github/push", nil, "push", `{"repos": ["Hello-World"]}`, ""},
		"all of an owner":                {"github/push", nil, "push", `{"repos": ["codertocat/*"]}`, ""},
		"another repository":             {"github/push", nil, "push", `{"repos": ["a/hello-world", "hello"]}`, "/repos"},
		"not a repository": {
			"github/push", nil, "push", `{"repos": {"not_in": ["codertocat/hello-world"]}}`, "/repos",
		},
		"a branch":         {"github/push", nil, "push", `{"branches": ["main", "master"]}`, ""},
		"a branch in full": {"github/push", nil, "push", `{"branches": ["refs/heads/master"]}`, ""},
		"a branch by a pattern": {
			"github/push", []string{"refs/heads/master", "refs/heads/release/1.2"}, "push", `{"branches": ["release/*"]}`, "",
		},
		"a branch in other letters": {"github/push", nil, "push", `{"branches": ["MASTER"]}`, "/branches"},
		"not a branch": {
			"github/push", nil, "push", `{"branches": {"not_in": ["refs/heads/master"]}}`, "/branches",
		},
		"a branch of a tag": {"github/push.tag", nil, "push", `{"branches": ["simple-tag"]}`, "/branches"},
		"a tag":             {"github/push.tag", nil, "push", `{"branches": ["refs/tags/*"]}`, ""},
		"keys together": {
			"github/push", nil, "push", `{"branches": ["master"], "repos": ["x/y"], "paths": ["z"]}`, "/repos",
		},
		"a file":                  {"github/push", nil, "push", `{"paths": ["README.md"]}`, ""},
		"a file in other letters": {"github/push", nil, "push", `{"paths": ["readme.md"]}`, "/paths"},
		"a file somewhere": {
			"github/push", []string{files, `"added": ["a/b/c.go"]`}, "push", `{"paths": ["a/**/*.go"]}`, "",
		},
		"a file that is removed": {
			"github/push", []string{`"removed": []`, `"removed": ["a/c.go"]`}, "push", `{"paths": ["a/**/?.go"]}`, "",
		},
		"one file of several": {
			"github/push",
			[]string{files, `"added": ["docs/a.md", "src/b.go"]`},
			"push", `{"paths": {"not_in": ["docs/**"]}}`,
			"",
		},
		"no file but those not asked for": {
			"github/push",
			[]string{files, `"added": ["docs/a.md", "docs/b.md"]`},
			"push", `{"paths": {"not_in": ["docs/"]}}`,
			"/paths",
		},
		"a file in one set and not in the other": {
			"github/push",
			[]string{files, `"added": ["src/gen/a.go", "docs/b.md"]`},
			"push",
			`{"paths": {"in": ["src/**"], "not_in": ["src/gen/**"]}}`, "/paths",
		},
		"no files":        {"github/push.tag", nil, "push", `{"paths": ["**"]}`, "/paths"},
		"not in no files": {"github/push.tag", nil, "push", `{"paths": {"not_in": ["**"]}}`, ""},
		"who pushed":      {"github/push", nil, "push", `{"authors": ["codertoCAT"]}`, ""},
		"whom a commit names": {
			"github/push",
			[]string{`"name": "Codertocat"`, `"name": "x", "username": "mallory", "login": "mallory"`},
			"push",
			`{"authors": ["mallory"]}`, "/authors",
		},
		"a label": {
			"github/pull_request.labeled", nil, "pull_request_labeled", `{"labels": ["BUG"]}`, "",
		},
		"a label that was there": {
			"github/issues.labeled",
			[]string{"\n  \"label\": {\n    \"id\": 1362934389,\n    \"name\": \"bug\"", "\n  \"label\": {\"name\": \"new\""},
			"issue_labeled", `{"labels": ["bug"]}`, "/labels",
		},
		"a label that is new": {
			"github/issues.labeled",
			[]string{"\n  \"label\": {\n    \"id\": 1362934389,\n    \"name\": \"bug\"", "\n  \"label\": {\"name\": \"new\""},
			"issue_labeled", `{"labels": {"in": ["new"], "not_in": ["bug"]}}`, "",
		},
		"a label of an issue": {"github/issues.opened", nil, "issue_created", `{"labels": ["bug", "feature"]}`, ""},
		"not a label": {
			"github/issues.opened", nil, "issue_created", `{"labels": {"in": ["bug"], "not_in": ["Bug "]}}`, "/labels",
		},
		"no labels": {
			"github/pull_request.opened", nil, "pull_request_opened", `{"labels": ["bug"]}`, "/labels",
		},
		"an author": {"github/issues.opened", nil, "issue_created", `{"authors": ["@Codertocat"]}`, ""},
		"another author": {
			"github/issues.opened", nil, "issue_created", `{"authors": {"not_in": ["codertocat"]}}`, "/authors",
		},
		"an assignee": {
			"github/issues.assigned", nil, "issue_assigned", `{"assignees": ["codertocat"]}`, "",
		},
		"an assignee that was there": {
			"github/issues.assigned",
			[]string{"\n  \"assignee\": {\n    \"login\": \"Codertocat\"", "\n  \"assignee\": {\n    \"login\": \"octocat\""},
			"issue_assigned", `{"assignees": ["codertocat"]}`, "/assignees",
		},
		"somebody who is mentioned": {
			"github/issue_comment.created",
			[]string{"You are", "@Penstock-Bot you are"},
			"issue_mentioned",
			`{"mentioned": ["penstock-bot"], "repos": ["hello-world"]}`, "",
		},
		"somebody else": {
			"github/issue_comment.created",
			[]string{"You are", "@penstock-bot2 you are"},
			"issue_mentioned",
			`{"mentioned": ["penstock-bot"]}`, "/mentioned",
		},
		"a mention by one who may": {
			"github/issue_comment.created",
			[]string{"You are", "@bot you are"},
			"issue_mentioned", `{"authors": ["octocat"]}`,
			"/authors",
		},
		"a reviewer": {
			"github/pull_request.review_requested", nil, "pull_request_review_requested", `{"reviewers": ["octocat"]}`, "",
		},
		"a team of reviewers": {
			"github/pull_request.review_requested",
			[]string{`"requested_reviewer": {`, `"requested_team": {"name": "The Team", "slug": "the-team"}, "other": {`},
			"pull_request_review_requested", `{"reviewer_teams": ["Codertocat/the-team"]}`, "",
		},
		"a team instead of a reviewer": {
			"github/pull_request.review_requested",
			[]string{`"requested_reviewer": {`, `"requested_team": {"name": "The Team", "slug": "the-team"}, "other": {`},
			"pull_request_review_requested", `{"reviewers": ["octocat"]}`, "/reviewers",
		},
		"a team by its name": {
			"github/pull_request.opened",
			[]string{`"requested_teams": []`, `"requested_teams": [{"name": "The Team", "slug": "the-team"}]`},
			"pull_request_opened", `{"reviewer_teams": ["the team"]}`, "",
		},
		"who reviewed": {
			"github/pull_request_review.submitted", nil, "pull_request_review_submitted",
			`{"reviewers": ["codertocat"], "review_states": ["COMMENTED"]}`, "",
		},
		"what the review says": {
			"github/pull_request_review.submitted", nil, "pull_request_review_submitted",
			`{"review_states": ["approved", "changes_requested"]}`, "/review_states",
		},
		"where it is to go": {
			"github/pull_request.opened", nil, "pull_request_opened",
			`{"base_branches": ["refs/heads/master"], "branches": ["changes"]}`, "",
		},
		"where it is not to go": {
			"github/pull_request.opened", nil, "pull_request_opened", `{"base_branches": {"not_in": ["master"]}}`,
			"/base_branches",
		},
		"files of a pull request": {
			"github/pull_request.opened", nil, "pull_request_opened", `{"paths": ["**"]}`, "/paths",
		},
		"a number": {
			"github/pull_request.opened", nil, "pull_request_opened", `{"pr_numbers": [1, 2]}`, "",
		},
		"another number": {
			"github/pull_request.opened", nil, "pull_request_opened", `{"pr_numbers": {"not_in": [2]}}`, "/pr_numbers",
		},
		"a number of an issue": {
			"github/issue_comment.created",
			[]string{"You are", "@bot you are"},
			"issue_mentioned", `{"pr_numbers": [1]}`,
			"/pr_numbers",
		},
		"a workflow": {
			"github/workflow_run.completed", nil, "workflow_run_completed",
			`{"workflows": ["Test"], "conclusions": ["SUCCESS"], "pr_numbers": [2]}`, "",
		},
		"a workflow by its file": {
			"github/workflow_run.completed", nil, "workflow_run_completed",
			`{"workflows": {"in": ["test.yml"], "not_in": [".github/workflows/test.yml"]}}`, "/workflows",
		},
		"a conclusion": {
			"github/check_suite.completed", nil, "check_suite_completed",
			`{"branches": ["changes"], "conclusions": ["failure"]}`, "/conclusions",
		},
		"a check": {
			"github/check_run.rerequested", nil, "check_run_rerequested",
			`{"workflows": ["randscape"], "base_branches": {"not_in": ["main"]}}`, "",
		},
		"a team by its key": {
			"linear/Issue.create", nil, "issue_created",
			`{"teams": ["eng"], "team_ids": ["72B2A2DC-6f4f-4423-9d34-24b5bd10634a"]}`, "",
		},
		"a project": {
			"linear/Issue.create", nil, "issue_created", `{"projects": ["web app"], "project_ids": {"not_in": ["x"]}}`, "",
		},
		"another project": {
			"linear/Issue.create", nil, "issue_created", `{"project_ids": ["x"]}`, "/project_ids",
		},
		"a label of Linear": {
			"linear/Issue.update.labels", nil, "issue_labeled",
			`{"labels": {"in": ["agent"], "not_in": ["bug"]}, "label_ids": ["f00dcafe-0004-4000-8000-0123456789ab"]}`, "",
		},
		"a label that Linear had": {
			"linear/Issue.update.labels", nil, "issue_labeled", `{"labels": ["bug"]}`, "/labels",
		},
		"a state": {
			"linear/Issue.update.state", nil, "issue_state_changed",
			`{"states": ["in progress"], "state_ids": ["d1c5d2a3-0007-4000-8000-0123456789ab"]}`, "",
		},
		"another state": {
			"linear/Issue.update.state", nil, "issue_state_changed", `{"states": ["Done"]}`, "/states",
		},
		"an assignee of Linear": {
			"linear/Issue.update.assignee", nil, "issue_assigned",
			`{"assignees": ["Bob Example"], "assignee_ids": ["b5ea5f1f-8adc-4f52-b4bd-ab4e84cf51ba"]}`, "",
		},
		"an agent as the assignee": {
			"linear/Issue.update.delegate", nil, "issue_assigned", `{"assignees": {"in": ["penstock"], "not_in": ["bob.e"]}}`,
			"",
		},
		"a user who is mentioned": {
			"linear/Issue.create", nil, "issue_created",
			`{"mentioned_users": ["@bob.e"], "mentioned_user_ids": ["b5ea5f1f-8adc-4f52-b4bd-ab4e84cf51ba"]}`, "",
		},
		"a user in a comment": {
			"linear/Comment.create", nil, "comment_created", `{"mentioned_users": {"in": ["penstock"], "not_in": ["bob.e"]}}`,
			"",
		},
		"a creator": {
			"linear/Comment.create", nil, "comment_created",
			`{"creators": ["bob.e@acme.test"], "creator_ids": ["b5ea5f1f-8adc-4f52-b4bd-ab4e84cf51ba"]}`, "",
		},
		"another creator": {
			"linear/Comment.create", nil, "comment_created", `{"creators": ["ada"]}`, "/creators",
		},
		"an issue": {
			"linear/Comment.create", nil, "comment_created",
			`{"issues": ["eng-42"], "issue_ids": ["539068e2-ae88-4d09-bd75-22eb4a59612f"]}`, "",
		},
		"another issue": {"linear/Comment.create", nil, "comment_created", `{"issues": ["ENG-4"]}`, "/issues"},
		"a word": {
			"linear/Comment.create", nil, "comment_created", `{"keywords": ["rollback", "DEPLOY a fix"]}`, "",
		},
		"a part of a word": {
			"linear/Comment.create", nil, "comment_created", `{"keywords": ["deplo"]}`, "/keywords",
		},
		"not a word": {
			"linear/Comment.create", nil, "comment_created", `{"keywords": {"not_in": ["fix"]}}`, "/keywords",
		},
		"a session of an agent": {
			"linear/AgentSessionEvent.created", nil, "agent_session_created",
			`{"assignee_ids": ["c1a2b3c4-0000-4000-8000-0123456789ab"], "teams": ["Engineering"], ` +
				`"keywords": ["look into this"]}`,
			"",
		},
		"what a session does not tell": {
			"linear/AgentSessionEvent.created", nil, "agent_session_created", `{"labels": ["bug"]}`, "/labels",
		},
	} {
		provider, _ := senderOf(test.sample)
		matched, why := compile(t, provider, test.event, test.filter).Match(events(t, test.sample, test.changes...))
		got := why.Path
		if !matched && got == "" {
			got = "event"
		}
		if matched != (test.want == "") || got != test.want || matched != (why.Reason == "") {
			t.Errorf("%s: got %t, %q (%s), want %q", name, matched, got, why.Reason, test.want)
		}
	}
}

func TestPatternsOfPaths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ pattern, yes, no string }{
		{"*.md", "a.md .md", "a/b.md a.mdx"},
		{"**.md", "a.md a/b/c.md", "a.mdx"},
		{"**/*.md", "a.md a/b/c.md", "a/b.txt"},
		{"**", "a a/b/c", ""},
		{"src/**", "src/a src/a/b", "src a/src/b"},
		{"src/", "src/a src/a/b", "src"},
		{"/src/*", "src/a", "src/a/b"},
		{"./a", "a", "b"},
		{"a/**/z", "a/z a/b/z a/b/c/z", "az a/bz"},
		{"**/a/**", "a/b x/a/b x/y/a/b/c", "a b/ab/c"},
		{"?.go", "a.go ü.go", "ab.go /.go"},
		{"[ab]?.go", "ax.go bü.go", "cx.go"},
		{"[!a].go", "b.go", "a.go ].go/x"},
		{"[^a-c].go", "d.go", "b.go"},
		{`[\]].go`, "].go", `\.go`},
		{"[z-a].go", "", "z.go m.go"},
		{`\*.go`, "*.go", "a.go"},
		{"a+(b).go", "a+(b).go", "aab.go"},
		{"a{b,c}", "a{b,c}", "ab"},
	} {
		c := compile(t, "github", "push", fmt.Sprintf(`{"paths": [%q]}`, test.pattern))
		match := func(path string) bool {
			body, err := json.Marshal(
				map[string]any{"ref": "refs/heads/main", "commits": []any{map[string]any{"added": []string{path}}}},
			)
			if err != nil {
				t.Fatal(err)
			}
			all, _ := trigger.Events("github", "push", parse(t, string(body)))
			matched, _ := c.Match(all)
			return matched
		}
		for path := range strings.FieldsSeq(test.yes) {
			if !match(path) {
				t.Errorf("%s does not match %s", test.pattern, path)
			}
		}
		for path := range strings.FieldsSeq(test.no) {
			if match(path) {
				t.Errorf("%s matches %s", test.pattern, path)
			}
		}
	}
}

func TestKeysThatAnEventNeverReportsAreKnown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider, event, filter string
		want                    []string
	}{
		{
			"github", "pull_request_opened", `{"paths": ["src/**"], "labels": ["x"], "conclusions": ["failure"]}`,
			[]string{"paths", "conclusions"},
		},
		{"github", "pull_request_opened", `{"paths": {"not_in": ["docs/**"]}, "workflows": []}`, nil},
		{"github", "push", `{"paths": ["src/**"]}`, nil},
		{"linear", "comment_created", `{"labels": ["x"], "projects": ["y"]}`, []string{"labels", "projects"}},
		{"slack", "app_mention", `{"users": ["x"]}`, nil},
	} {
		got := trigger.UnreportedKeys(
			penstock.Trigger{Provider: test.provider, Event: test.event, Filter: json.RawMessage(test.filter)},
		)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.event, test.filter, diff)
		}
	}
}

func TestABrokenFilterDoesNotCompile(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{
		`[]`, `{"repos": 1}`, `{"repos": [1]}`, `{"pr_numbers": ["x"]}`, `{"repos"`, `{"repos": {"not_in": [{}]}}`,
	} {
		if _, err := trigger.Compile(
			penstock.Trigger{Provider: "github", Event: "push", Filter: json.RawMessage(filter)},
		); err == nil {
			t.Errorf("%s compiles", filter)
		}
	}
}

func TestTheDocumentationNamesEveryEventAndKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/triggers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, github, _ := strings.Cut(string(page), "## Events of GitHub")
	github, linear, found := strings.Cut(github, "## Events of Linear")
	if !found {
		t.Fatal("docs/triggers.md has other sections")
	}
	for provider, section := range map[string]string{penstock.ProviderGitHub: github, penstock.ProviderLinear: linear} {
		for _, event := range penstock.TriggerEvents(provider) {
			if short := strings.TrimPrefix(event, "pull_request"); !strings.Contains(section, "`"+event+"`") &&
				!strings.Contains(section, "`"+short+"`") {
				t.Errorf("the event %s of %s is not there", event, provider)
			}
		}
		for _, key := range penstock.TriggerKeys(provider) {
			if !strings.Contains(section, "`"+key+"`") && !strings.HasSuffix(key, "_ids") {
				t.Errorf("the key %s of %s is not there", key, provider)
			}
		}
	}
}
