package trigger

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// object is a JSON object of a sample.
type object map[string]any

// Sample returns a small delivery that reports an event of a provider, with invented values, and the
// event's name in the sender's header, if it has one. It returns nil for an unknown event. id makes
// the delivery differ from others.
func Sample(provider, event, id string, at time.Time) (name string, body []byte) {
	if !slices.Contains(penstock.TriggerEvents(provider), event) {
		return "", nil
	}
	var payload object
	switch provider {
	case penstock.ProviderGitHub:
		name, payload = sampleOfGitHub(event, id, at)
	case penstock.ProviderLinear:
		payload = sampleOfLinear(event, id, at)
	default:
		return "", nil
	}
	body, _ = json.Marshal(payload) // texts, numbers and lists never fail
	return name, body
}

func sampleOfGitHub(event, id string, at time.Time) (name string, payload object) {
	user, label := object{"login": "octocat", "id": 1}, object{"name": "bug"}
	payload = object{
		"test": id, "sender": user,
		"repository": object{"id": 1, "name": "shop", "full_name": "acme/shop", "owner": object{"login": "acme"}},
	}
	payload["action"] = githubAction(event)
	text := "A test of Penstock."
	if strings.HasSuffix(event, "_mentioned") {
		text = "@penstock-bot, this is a test of Penstock."
	}
	subject := object{
		"id": 4711, "number": 7, "title": "A test", "body": text, "state": "open", "user": user,
		"labels": []object{label}, "assignees": []object{user}, "updated_at": at.UTC().Format(time.RFC3339),
	}
	pull := func() object {
		subject["head"] = object{"ref": "fix-checkout", "sha": strings.Repeat("1", 40)}
		subject["base"] = object{"ref": "main", "sha": strings.Repeat("2", 40)}
		subject["requested_reviewers"], subject["merged"] = []object{user}, event == "pull_request_merged"
		return subject
	}
	switch {
	case event == "push":
		delete(payload, "action")
		payload["ref"], payload["before"] = "refs/heads/main", strings.Repeat("1", 40)
		payload["after"] = strings.Repeat("2", 40)
		payload["commits"] = []object{{"id": strings.Repeat("2", 40), "message": text, "modified": []string{"README.md"}}}
		return "push", payload
	case strings.HasPrefix(event, "check_suite_"), strings.HasPrefix(event, "check_run_"),
		strings.HasPrefix(event, "workflow_run_"):
		name = event[:strings.LastIndexByte(event, '_')]
		check := object{"name": "build", "head_branch": "main", "conclusion": "failure", "pull_requests": []object{}}
		check["check_suite"] = object{"head_branch": "main"}
		payload[name], payload["workflow"] = check, object{"name": "build", "path": ".github/workflows/build.yml"}
		return name, payload
	case event == "pull_request_review_submitted":
		payload["pull_request"], payload["review"] = pull(), object{"state": "approved", "body": text, "user": user}
		return "pull_request_review", payload
	case strings.HasPrefix(event, "pull_request_"):
		payload["pull_request"], name = pull(), "pull_request"
		payload["requested_reviewer"] = user
	default:
		payload["issue"], name = subject, "issues"
	}
	payload["label"], payload["assignee"] = label, user
	return name, payload
}

// githubAction returns GitHub's action for an event, the first in order.
func githubAction(event string) string {
	switch {
	case strings.HasSuffix(event, "_mentioned"):
		return "opened"
	case event == "pull_request_merged":
		return "closed"
	}
	var actions []string
	for key, known := range githubEvents {
		if known == event && giteaActions[key[1]] == "" {
			actions = append(actions, key[1])
		}
	}
	slices.Sort(actions)
	if len(actions) == 0 {
		return ""
	}
	return actions[0]
}

func sampleOfLinear(event, id string, at time.Time) object {
	user := object{"id": "2f7e1d3c-5a4b-4c6d-8e9f-0a1b2c3d4e5f", "name": "Ada"}
	team := object{"id": "72b2a2dc-6f4f-4423-9d34-24b5bd10634a", "key": "ENG", "name": "Engineering"}
	issue := object{
		"id": "9d8c7b6a-1234-4321-8765-abcdefabcdef", "identifier": "ENG-42", "title": "A test",
		"description": "A test of Penstock.", "team": team, "creator": user, "assignee": user, "assigneeId": user["id"],
		"labels": []object{{"id": "l-1", "name": "bug"}}, "labelIds": []string{"l-1"},
		"state": object{"id": "s-2", "name": "Todo"}, "stateId": "s-2",
	}
	payload := object{
		"test": id, "type": "Issue", "action": "update", "createdAt": at.UTC().Format(time.RFC3339),
		"actor": user, "data": issue,
	}
	switch event {
	case "issue_created":
		payload["action"] = "create"
	case "issue_labeled":
		payload["updatedFrom"] = object{"labelIds": []string{}}
	case "issue_assigned":
		payload["updatedFrom"] = object{"assigneeId": nil}
	case "issue_state_changed":
		payload["updatedFrom"] = object{"stateId": "s-1"}
	case "comment_created":
		payload["type"], payload["action"] = "Comment", "create"
		payload["data"] = object{"id": "c-1", "body": "A test of Penstock.", "user": user, "issue": issue}
	case "agent_session_created":
		payload["type"], payload["action"] = "AgentSessionEvent", "created"
		payload["agentSession"] = object{"id": "a-1", "creator": user, "issue": issue}
	}
	return payload
}
