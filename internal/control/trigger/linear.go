package trigger

import (
	"strings"
)

// linear reads a delivery of Linear. A new issue with a label or an assignee also counts as
// labeled or assigned, because Linear sends no further event.
func (r *reader) linear(body Value) []Event {
	switch r.text(body, "type") + " " + r.text(body, "action") {
	case "Issue create":
		return r.linearCreated(body)
	case "Issue update":
		return r.linearUpdated(body)
	case "Comment create":
		if r.at(body, "data").IsObject() {
			return []Event{r.linearComment(body)}
		}
	case "AgentSessionEvent created":
		if r.at(body, "agentSession").IsObject() {
			return []Event{r.linearSession(body)}
		}
	}
	return nil
}

func (r *reader) linearCreated(body Value) []Event {
	issue := r.at(body, "data")
	if !issue.IsObject() {
		return nil
	}
	e := r.linearIssue("issue_created", issue)
	if e.values["creators"] == nil && e.values["creator_ids"] == nil {
		r.linearUsers(e, "creators", r.at(body, "actor"))
	}
	events := []Event{e}
	if e.values["labels"] != nil || e.values["label_ids"] != nil {
		events = append(events, e.named("issue_labeled"))
	}
	if e.values["assignees"] != nil || e.values["assignee_ids"] != nil {
		events = append(events, e.named("issue_assigned"))
	}
	return events
}

// linearUpdated reads a change: updatedFrom has the old values of the changed fields.
func (r *reader) linearUpdated(body Value) []Event {
	issue, before := r.at(body, "data"), r.at(body, "updatedFrom")
	if !issue.IsObject() || !before.IsObject() {
		return nil
	}
	var events []Event
	base := r.linearIssue("issue_state_changed", issue)
	if was := r.at(before, "stateId"); was.Exists() && was.Text() != r.text(issue, "stateId") {
		events = append(events, base)
	}
	if was := r.at(before, "labelIds"); was.Exists() {
		labeled := base.named("issue_labeled")
		r.linearLabels(labeled, issue, texts(was))
		if labeled.values["label_ids"] != nil {
			events = append(events, labeled)
		}
	}
	var users []Value
	assigned := base.named("issue_assigned")
	assigned.set("assignee_ids")
	for _, role := range []string{"assignee", "delegate"} {
		was, id := r.at(before, role+"Id"), r.text(issue, role+"Id")
		if was.Exists() && id != "" && id != was.Text() {
			assigned.set("assignee_ids", append(assigned.values["assignee_ids"], id)...)
			users = append(users, r.at(issue, role))
		}
	}
	if assigned.values["assignee_ids"] != nil {
		r.linearUsers(assigned, "assignees", users...)
		events = append(events, assigned)
	}
	return events
}

// linearIssue returns an event with the values of an issue.
func (r *reader) linearIssue(name string, issue Value) Event {
	e := newEvent(name)
	r.linearSubject(e, issue)
	e.set("projects", r.text(issue, "project", "name"))
	e.set("project_ids", r.text(issue, "project", "id"), r.text(issue, "projectId"))
	e.set("states", r.text(issue, "state", "name"))
	e.set("state_ids", r.text(issue, "state", "id"), r.text(issue, "stateId"))
	r.linearLabels(e, issue, nil)
	e.set("assignee_ids", r.text(issue, "assigneeId"), r.text(issue, "delegateId"))
	r.linearUsers(e, "assignees", r.at(issue, "assignee"), r.at(issue, "delegate"))
	e.set("creator_ids", r.text(issue, "creatorId"))
	r.linearUsers(e, "creators", r.at(issue, "creator"))
	r.linearText(e, r.prose(issue, "title"), r.prose(issue, "description"))
	r.linearMentions(e, r.at(issue, "descriptionData"))
	return e
}

// linearSubject sets which issue an event is about, and of which team.
func (r *reader) linearSubject(e Event, issue Value) {
	e.set("teams", r.text(issue, "team", "key"), r.text(issue, "team", "name"))
	e.set("team_ids", r.text(issue, "team", "id"), r.text(issue, "teamId"))
	e.set("issues", r.text(issue, "identifier"))
	e.set("issue_ids", r.text(issue, "id"))
}

// linearLabels sets the labels of an issue, except those that it had before.
func (r *reader) linearLabels(e Event, issue Value, before []string) {
	had := map[string]bool{}
	for _, id := range before {
		had[id] = true
	}
	var names, ids []string
	for label := range r.at(issue, "labels").Elements() {
		if !had[r.text(label, "id")] {
			names = append(names, r.text(label, "name"))
		}
	}
	for _, id := range texts(r.at(issue, "labelIds")) {
		if !had[id] {
			ids = append(ids, id)
		}
	}
	e.set("labels", names...)
	e.set("label_ids", ids...)
}

// linearUsers sets users by all their names, and adds their ids.
func (r *reader) linearUsers(e Event, key string, users ...Value) {
	var names []string
	idKey := strings.TrimSuffix(key, "s") + "_ids"
	ids := e.values[idKey]
	for _, user := range users {
		_, handle, _ := strings.Cut(r.text(user, "url"), "/profiles/")
		names = append(names, r.text(user, "name"), r.text(user, "displayName"), r.text(user, "email"), handle)
		ids = append(ids, r.text(user, "id"))
	}
	e.set(key, names...)
	e.set(idKey, ids...)
}

// linearText sets the texts of an event.
func (r *reader) linearText(e Event, parts ...string) {
	all := strings.Join(parts, "\n")
	e.set("keywords", all)
	names := mentions(all, linearName)
	for _, line := range strings.Split(
		prose(all), "/profiles/",
	)[1:] { // a mention in Markdown is a link to a person's page
		names = append(names, line[:nameLength(line, linearName)])
	}
	e.set("mentioned_users", names...)
}

// linearMentions adds the users whom a text in Linear's editor format mentions: a ProseMirror
// document, as JSON or as a string of JSON.
func (r *reader) linearMentions(e Event, document Value) {
	if text := document.Prose(); text != "" {
		parsed, err := ParseDocument([]byte(text))
		if err != nil {
			return
		}
		document, _ = parsed.Root() // a text that is too large mentions nobody
	}
	var names, ids []string
	var look func(node Value)
	look = func(node Value) { // the nesting limit of documents also limits this recursion
		if r.text(node, "type") == "suggestion_userMentions" {
			names = append(names, r.text(node, "attrs", "label"))
			ids = append(ids, r.text(node, "attrs", "id"))
		}
		for child := range r.at(node, "content").Elements() {
			look(child)
		}
	}
	look(document)
	e.set("mentioned_users", append(names, e.values["mentioned_users"]...)...)
	e.set("mentioned_user_ids", ids...)
}

func (r *reader) linearComment(body Value) Event {
	comment := r.at(body, "data")
	e := newEvent("comment_created")
	r.linearSubject(e, r.at(comment, "issue"))
	e.set("issue_ids", r.text(comment, "issueId"), r.text(comment, "issue", "id"))
	e.set("project_ids", r.text(comment, "projectId"))
	e.set("creator_ids", r.text(comment, "userId"))
	r.linearUsers(e, "creators", r.at(comment, "user"))
	r.linearText(e, r.prose(comment, "body"))
	r.linearMentions(e, r.at(comment, "bodyData"))
	return e
}

// linearSession reads the start of an agent session: the assignee is the agent.
func (r *reader) linearSession(body Value) Event {
	session := r.at(body, "agentSession")
	e := newEvent("agent_session_created")
	issue := r.at(session, "issue")
	r.linearSubject(e, issue)
	e.set("issue_ids", r.text(session, "issueId"), r.text(issue, "id"))
	e.set("assignee_ids", r.text(session, "appUserId"), r.text(body, "appUserId"))
	e.set("creator_ids", r.text(session, "creatorId"))
	r.linearUsers(e, "creators", r.at(session, "creator"))
	r.linearText(e, r.prose(issue, "title"), r.prose(issue, "description"), r.prose(session, "comment", "body"))
	return e
}
