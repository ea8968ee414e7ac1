package trigger

import (
	"slices"

	"github.com/penstock-dev/penstock"
)

// reportedKeys are the filter keys that deliveries of an event may report, by provider. GitHub
// does not report which files a pull request changes, or the branches of a pull request with a
// new comment.
var reportedKeys = map[string]map[string][]string{
	penstock.ProviderGitHub: {
		"push":                          {"repos", "branches", "base_branches", "paths", "authors"},
		"issue_created":                 githubIssue,
		"issue_labeled":                 githubIssue,
		"issue_assigned":                githubIssue,
		"issue_mentioned":               githubIssue,
		"pull_request_opened":           githubPull,
		"pull_request_closed":           githubPull,
		"pull_request_merged":           githubPull,
		"pull_request_labeled":          githubPull,
		"pull_request_assigned":         githubPull,
		"pull_request_mentioned":        githubReview,
		"pull_request_ready":            githubPull,
		"pull_request_reopened":         githubPull,
		"pull_request_synchronized":     githubPull,
		"pull_request_review_requested": githubPull,
		"pull_request_review_submitted": githubReview,
		"check_suite_completed":         githubCheck,
		"check_run_rerequested":         githubCheck,
		"check_suite_rerequested":       githubCheck,
		"workflow_run_completed":        githubCheck,
	},
	penstock.ProviderLinear: {
		"issue_created":       linearIssue,
		"issue_labeled":       linearIssue,
		"issue_assigned":      linearIssue,
		"issue_state_changed": linearIssue,
		"comment_created": {
			"teams", "team_ids", "project_ids", "issues", "issue_ids", "creators", "creator_ids", "mentioned_users",
			"mentioned_user_ids", "keywords",
		},
		"agent_session_created": {
			"teams", "team_ids", "issues", "issue_ids", "assignee_ids", "creators", "creator_ids", "mentioned_users", "keywords",
		},
	},
}

var (
	githubIssue = []string{"repos", "labels", "authors", "assignees", "mentioned"}
	githubPull  = slices.Concat(
		githubIssue, []string{"branches", "base_branches", "reviewers", "reviewer_teams", "pr_numbers"},
	)
	githubReview = slices.Concat(githubPull, []string{"review_states"})
	githubCheck  = []string{"repos", "branches", "base_branches", "authors", "workflows", "conclusions", "pr_numbers"}
	linearIssue  = penstock.TriggerKeys(penstock.ProviderLinear)
)
