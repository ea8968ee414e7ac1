package trigger

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// githubEvents maps GitHub's names and actions to events, and also the names of Gitea and Forgejo
// that differ: they send them in X-GitHub-Event, too.
var githubEvents = map[[2]string]string{
	{"issues", "opened"}:                 "issue_created",
	{"issues", "labeled"}:                "issue_labeled",
	{"issues", "assigned"}:               "issue_assigned",
	{"pull_request", "opened"}:           "pull_request_opened",
	{"pull_request", "closed"}:           "pull_request_closed", // or pull_request_merged
	{"pull_request", "labeled"}:          "pull_request_labeled",
	{"pull_request", "assigned"}:         "pull_request_assigned",
	{"pull_request", "ready_for_review"}: "pull_request_ready",
	{"pull_request", "reopened"}:         "pull_request_reopened",
	{"pull_request", "synchronize"}:      "pull_request_synchronized",
	{"pull_request", "review_requested"}: "pull_request_review_requested",
	{"pull_request_review", "submitted"}: "pull_request_review_submitted",
	{"check_suite", "completed"}:         "check_suite_completed",
	{"check_suite", "rerequested"}:       "check_suite_rerequested",
	{"check_run", "rerequested"}:         "check_run_rerequested",
	{"workflow_run", "completed"}:        "workflow_run_completed",

	{"issues", "label_updated"}:           "issue_labeled",
	{"pull_request", "label_updated"}:     "pull_request_labeled",
	{"pull_request", "synchronized"}:      "pull_request_synchronized",
	{"pull_request_approved", "reviewed"}: "pull_request_review_submitted",
	{"pull_request_rejected", "reviewed"}: "pull_request_review_submitted",
	{"pull_request_comment", "reviewed"}:  "pull_request_review_submitted",
}

// giteaActions are the actions that only Gitea sends.
var giteaActions = map[string]string{"label_updated": "labeled", "synchronized": "synchronize", "reviewed": "submitted"}

// giteaReviews maps the names of Gitea's reviews to the states of GitHub's.
var giteaReviews = map[string]string{
	"pull_request_approved": "approved",
	"pull_request_rejected": "changes_requested",
	"pull_request_comment":  "commented",
}

// github reads a delivery of GitHub. The author is always the user that GitHub names, never the
// author of a commit, which anybody can set.
func (r *reader) github(name string, body Value) []Event {
	action := r.text(body, "action")
	event := githubEvents[[2]string{name, action}]
	switch name {
	case "push":
		return r.githubPush(body)
	case "issues", "issue_comment":
		return r.githubSubject(name, event, body, r.at(body, "issue"))
	case "pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_approved",
		"pull_request_rejected", "pull_request_comment":
		return r.githubSubject(name, event, body, r.at(body, "pull_request"))
	case "check_suite", "check_run", "workflow_run":
		if subject := r.at(body, name); event != "" && subject.IsObject() {
			return []Event{r.githubCheck(name, event, body, subject)}
		}
	}
	return nil
}

// githubEvent returns an event with the values that every GitHub delivery has.
func (r *reader) githubEvent(event string, body Value) Event {
	e := newEvent(event)
	repository := r.at(body, "repository")
	e.set("repos", r.text(repository, "full_name"), r.text(repository, "name"))
	return e
}

// githubPush reads a push of commits. Deleting a branch or tag is not a push event, because
// there is nothing to work on. Its commit then has an id of zeros; only GitHub also says deleted.
func (r *reader) githubPush(body Value) []Event {
	ref, after := r.text(body, "ref"), r.text(body, "after")
	if gone := after != "" && strings.Trim(after, "0") == ""; gone || r.at(body, "deleted").IsTrue() {
		r.why = "the push deletes a branch or tag"
		return nil
	}
	if ref == "" {
		return nil
	}
	e := r.githubEvent("push", body)
	e.set("branches", ref)
	e.set("base_branches", r.text(body, "base_ref"))
	e.set("authors", r.text(body, "sender", "login"))
	var paths []string
	for commit := range r.at(body, "commits").Elements() {
		for _, kind := range []string{"added", "modified", "removed"} {
			paths = append(paths, texts(r.at(commit, kind))...)
		}
	}
	slices.Sort(paths)
	e.set("paths", slices.Compact(paths)...)
	return []Event{e}
}

// githubSubject reads an event of an issue or pull request, and the users whom its text
// mentions.
func (r *reader) githubSubject(name, event string, body, subject Value) []Event {
	if !subject.IsObject() {
		return nil
	}
	base := r.githubEvent("", body)
	r.githubState(base, body, subject)
	text := subject
	switch name {
	case "issue_comment", "pull_request_review_comment":
		text = r.at(body, "comment")
	case "pull_request_review":
		text = r.at(body, "review")
		base.set("review_states", r.text(text, "state"))
		base.set("reviewers", r.text(text, "user", "login"))
	}
	words, writer := r.prose(text, "body"), r.text(text, "user", "login")
	if state := giteaReviews[name]; state != "" {
		words, writer = r.prose(body, "review", "content"), r.text(body, "sender", "login")
		base.set("review_states", state)
		base.set("reviewers", writer)
	}
	mentioned := mentions(words, githubName)
	base.set("mentioned", mentioned...)
	var events []Event
	if event != "" {
		events = append(events, r.githubChange(base, event, body, subject))
	}
	if added := r.githubMentions(body, mentioned); len(added) > 0 {
		mention := base.named("issue_mentioned")
		if name != "issues" && (name != "issue_comment" || r.at(subject, "pull_request").IsObject()) {
			mention.Name = "pull_request_mentioned"
		}
		mention.set("mentioned", added...)
		mention.set("authors", writer)
		events = append(events, mention)
	}
	return events
}

// githubState sets the values of an issue or pull request.
func (r *reader) githubState(e Event, body, subject Value) {
	e.set("authors", r.text(subject, "user", "login"))
	e.set("labels", r.each(r.at(subject, "labels"), "name")...)
	e.set("assignees", r.each(r.at(subject, "assignees"), "login")...)
	head := r.at(subject, "head")
	if !head.Exists() && !r.at(subject, "pull_request").IsObject() {
		return // an issue, not a comment on a pull request
	}
	e.set("pr_numbers", number(r.at(subject, "number")))
	e.set("branches", r.text(head, "ref"))
	e.set("base_branches", r.text(subject, "base", "ref"))
	e.set("reviewers", r.each(r.at(subject, "requested_reviewers"), "login")...)
	var teams []string
	for team := range r.at(subject, "requested_teams").Elements() {
		teams = append(teams, r.githubTeam(body, team)...)
	}
	e.set("reviewer_teams", teams...)
}

// githubTeam returns the names of a team of the repository's owner: its slug with and without
// the owner, and its name.
func (r *reader) githubTeam(body, team Value) []string {
	slug := r.text(team, "slug")
	if slug == "" {
		return nil
	}
	return []string{slug, r.text(body, "repository", "owner", "login") + "/" + slug, r.text(team, "name")}
}

// githubChange sets the values of the event itself. A value that was just added replaces all
// others of its kind: a trigger on a label fires when the label is added. Gitea does not say which
// label or assignee was added.
func (r *reader) githubChange(base Event, event string, body, subject Value) Event {
	e := base.named(event)
	switch event {
	case "issue_labeled", "pull_request_labeled":
		if label := r.at(body, "label"); label.IsObject() {
			e.set("labels", r.text(label, "name"))
		}
	case "issue_assigned", "pull_request_assigned":
		if assignee := r.at(body, "assignee"); assignee.IsObject() {
			e.set("assignees", r.text(assignee, "login"))
		}
	case "pull_request_review_requested":
		e.set("reviewers", r.text(body, "requested_reviewer", "login"))
		e.set("reviewer_teams", r.githubTeam(body, r.at(body, "requested_team"))...)
	case "pull_request_closed":
		if r.at(subject, "merged").IsTrue() {
			e.Name = "pull_request_merged"
		}
	}
	return e
}

// githubMentions returns the users whom the delivery newly mentions: in a new text, or in a
// changed text that did not mention them before.
func (r *reader) githubMentions(body Value, mentioned []string) []string {
	switch r.text(body, "action") {
	case "opened", "created", "submitted", "reviewed":
		return mentioned
	case "edited":
		before := r.at(body, "changes", "body", "from")
		if !before.Exists() {
			return nil
		}
		known := map[string]bool{}
		for _, name := range mentions(before.Prose(), githubName) {
			known[strings.ToLower(name)] = true
		}
		return slices.DeleteFunc(slices.Clone(mentioned), func(name string) bool { return known[strings.ToLower(name)] })
	}
	return nil
}

// githubCheck reads the result of a check or workflow.
func (r *reader) githubCheck(name, event string, body, subject Value) Event {
	e := r.githubEvent(event, body)
	suite := subject
	e.set("authors", r.text(body, "sender", "login"))
	switch name {
	case "check_run":
		suite = r.at(subject, "check_suite")
		e.set("workflows", r.text(subject, "name"))
	case "check_suite":
		e.set("workflows", r.text(subject, "app", "slug"), r.text(subject, "app", "name"))
	case "workflow_run":
		file := r.text(body, "workflow", "path")
		e.set("workflows", r.text(body, "workflow", "name"), file, path.Base(file))
		if actor := r.text(subject, "actor", "login"); actor != "" {
			e.set("authors", actor)
		}
	}
	e.set("branches", r.text(suite, "head_branch"))
	e.set("conclusions", r.text(subject, "conclusion"))
	var numbers, bases []string
	for pull := range r.at(subject, "pull_requests").Elements() {
		numbers = append(numbers, number(r.at(pull, "number")))
		bases = append(bases, r.text(pull, "base", "ref"))
	}
	e.set("pr_numbers", numbers...)
	e.set("base_branches", bases...)
	return e
}

// number returns a whole number above 0 as text.
func number(v Value) string {
	if n := v.Int(); n > 0 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}
