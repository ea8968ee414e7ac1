package penstock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxTriggerNames is how many values one key of a filter can have.
const MaxTriggerNames = 100

// provider is a source of events that a trigger can name.
type provider struct {
	events []string
	keys   []string // of a filter; each has values to match
	ids    bool     // each key also has a form with ids: teams and team_ids
}

// filterKeys lists the keys of a filter that have values to match.
func (p provider) filterKeys() []string {
	keys := slices.Clone(p.keys)
	if p.ids {
		for _, key := range p.keys {
			keys = append(keys, strings.TrimSuffix(key, "s")+"_ids")
		}
	}
	return keys
}

// providers is the table of all triggers.
var providers = map[string]provider{
	ProviderWebhook:  {events: []string{EventReceived}},
	ProviderSchedule: {events: []string{EventCronFired}},
	ProviderGitHub: {
		events: []string{
			"push", "issue_created", "issue_labeled", "issue_assigned", "issue_mentioned", "pull_request_opened",
			"pull_request_closed",
			"pull_request_merged", "pull_request_labeled", "pull_request_assigned", "pull_request_mentioned",
			"pull_request_ready",
			"pull_request_reopened", "pull_request_synchronized", "pull_request_review_requested",
			"pull_request_review_submitted",
			"check_suite_completed", "check_run_rerequested", "check_suite_rerequested", "workflow_run_completed",
		},
		keys: []string{
			"repos", "branches", "base_branches", "paths", "labels", "authors", "assignees", "mentioned", "reviewers",
			"reviewer_teams",
			"review_states", "workflows", "conclusions", "pr_numbers",
		},
	},
	"gitlab": {
		events: []string{"merge_request", "bot_mentioned"}, keys: []string{"repos", "actions", "base_branches", "mentioned"},
	},
	ProviderLinear: {
		events: []string{
			"issue_created", "issue_labeled", "issue_assigned", "issue_state_changed", "comment_created",
			"agent_session_created",
		},
		keys: []string{
			"teams", "projects", "labels", "states", "assignees", "mentioned_users", "creators", "issues", "keywords",
		},
		ids: true,
	},
	"jira": {
		events: []string{"issue_created", "issue_labeled", "status_changed", "agent_session_created"},
		keys:   []string{"project_keys", "labels", "status_ids", "keywords"},
	},
	"slack": {
		events: []string{
			"app_mention", "message_posted", "message_dm", "message_im", "message_mpim", "member_joined_channel",
			"reaction_added",
		},
		keys: []string{"channels", "users", "keywords", "emojis", "item_users"},
		ids:  true,
	},
	"factory": {events: []string{"work_item_stage_changed"}, keys: []string{"stages"}},
}

// Providers lists the providers of triggers, sorted.
func Providers() []string { return slices.Sorted(maps.Keys(providers)) }

// TriggerEvents lists the events of a provider. It returns nothing for an unknown provider.
func TriggerEvents(provider string) []string { return slices.Clone(providers[provider].events) }

// TriggerKeys lists the filter keys of a provider. It returns nothing for an unknown provider.
// All except payload have a list of values, or an object with in and not_in.
func TriggerKeys(provider string) []string {
	switch provider {
	case ProviderWebhook:
		return []string{"webhook_ids", "payload"}
	case ProviderSchedule:
		return []string{"schedule_ids"}
	}
	return providers[provider].filterKeys()
}

// Scheme returns the signature scheme of the webhooks that report t's events, or "".
func (t Trigger) Scheme() SignatureScheme {
	if t.Provider == ProviderGitHub || t.Provider == ProviderLinear {
		return SignatureScheme(t.Provider)
	}
	return ""
}

// Check returns the errors that t alone shows, with JSON pointers below at. Cron expressions
// and payload filters have their own checks.
func (t Trigger) Check(at string) []FieldError {
	p, known := providers[t.Provider]
	if !known {
		return []FieldError{{at + "/provider", unknown("a provider of triggers", t.Provider, Providers())}}
	}
	var errs []FieldError
	if !slices.Contains(p.events, t.Event) {
		errs = append(errs, FieldError{at + "/event", unknown("an event of "+t.Provider, t.Event, p.events)})
	}
	if t.Schedule != nil && t.Provider != ProviderSchedule {
		errs = append(errs, FieldError{at + "/schedule", "is allowed only with the provider schedule"})
	}
	var filter map[string]json.RawMessage
	if !absent(t.Filter) && json.Unmarshal(t.Filter, &filter) != nil {
		return append(errs, FieldError{at + "/filter", "must be an object"})
	}
	switch t.Provider {
	case ProviderWebhook:
		return append(errs, checkWebhookFilter(at, filter)...)
	case ProviderSchedule:
		return append(errs, checkScheduleFilter(at, filter, t.Schedule != nil)...)
	}
	for _, key := range slices.Sorted(maps.Keys(filter)) {
		errs = append(errs, p.checkKey(at+"/filter", key, filter[key])...)
	}
	return errs
}

// absent reports whether raw is absent or null.
func absent(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text == "" || text == "null"
}

// unknown returns the message for an unknown word.
func unknown(what, word string, known []string) string {
	if word == "" {
		return "is required; use one of " + strings.Join(known, ", ")
	}
	text := fmt.Sprintf("%q is not %s; use one of %s", word, what, strings.Join(known, ", "))
	if near := Nearest(word, known); near != "" {
		text = fmt.Sprintf("%q is not %s; did you mean %q?", word, what, near)
	}
	return text
}

func checkWebhookFilter(at string, filter map[string]json.RawMessage) []FieldError {
	errs := checkSelection(at, "webhook_ids", filter, "is required: the UIDs or names of webhooks of this factory")
	return append(errs, onlyKeys(at, filter, "webhook_ids", "payload")...)
}

func checkScheduleFilter(at string, filter map[string]json.RawMessage, inline bool) []FieldError {
	if inline {
		if !absent(filter["schedule_ids"]) {
			return []FieldError{{at + "/filter/schedule_ids", "cannot be given together with schedule"}}
		}
		return onlyKeys(at, filter, "schedule_ids")
	}
	if absent(filter["schedule_ids"]) {
		return append(
			onlyKeys(at, filter, "schedule_ids"),
			FieldError{at + "/schedule", "is required unless filter.schedule_ids is given"},
		)
	}
	return append(checkSelection(at, "schedule_ids", filter, "names no schedule"), onlyKeys(at, filter, "schedule_ids")...)
}

// maxTriggerValue is the longest value of a filter's key in bytes.
const maxTriggerValue = 256

func onlyKeys(at string, filter map[string]json.RawMessage, known ...string) []FieldError {
	var errs []FieldError
	for _, key := range slices.Sorted(maps.Keys(filter)) {
		if !slices.Contains(known, key) {
			errs = append(errs, FieldError{at + "/filter/" + EscapePointer(key), unknown("a key of this filter", key, known)})
		}
	}
	return errs
}

// Matcher is the value of a filter key. It matches if In is empty or has one of the values, and
// NotIn has none of them.
type Matcher struct {
	In    []json.RawMessage `json:"in"`
	NotIn []json.RawMessage `json:"not_in"`
}

// ReadMatcher reads the value of a filter key. A list is the short form of in, and null matches
// everything.
func ReadMatcher(raw json.RawMessage) (m Matcher, err error) {
	if json.Unmarshal(raw, &m.In) == nil {
		return m, nil
	}
	m.In = nil
	if err := json.Unmarshal(raw, &m); err != nil {
		return Matcher{}, fmt.Errorf("read a matcher: %w", err)
	}
	return m, nil
}

// checkKey checks one key of a filter: a list, or {in, not_in}.
func (p provider) checkKey(at, key string, raw json.RawMessage) []FieldError {
	at += "/" + EscapePointer(key)
	if known := p.filterKeys(); !slices.Contains(known, key) {
		return []FieldError{{at, unknown("a key of this filter", key, known)}}
	}
	if absent(raw) {
		return nil
	}
	m, err := ReadMatcher(raw)
	in, notIn := at, at+"/not_in"
	if fields := map[string]json.RawMessage{}; err != nil {
		return []FieldError{{at, "must be an array of values, or an object with in and not_in"}}
	} else if json.Unmarshal(raw, &fields) == nil {
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if field != "in" && field != "not_in" {
				return []FieldError{
					{at + "/" + EscapePointer(field), unknown("a key of a matcher", field, []string{"in", "not_in"})},
				}
			}
		}
		in += "/in"
	}
	errs := slices.Concat(checkValues(in, key, m.In), checkValues(notIn, key, m.NotIn))
	for i, v := range m.NotIn {
		if slices.ContainsFunc(m.In, func(w json.RawMessage) bool { return string(w) == string(v) }) {
			errs = append(errs, FieldError{fmt.Sprintf("%s/%d", notIn, i), "is in both in and not_in, so nothing can match"})
		}
	}
	return errs
}

func checkValues(at, key string, values []json.RawMessage) []FieldError {
	if len(values) > MaxTriggerNames {
		return []FieldError{{at, fmt.Sprintf("has %d values; at most %d are allowed", len(values), MaxTriggerNames)}}
	}
	var errs []FieldError
	for i, raw := range values {
		pointer := fmt.Sprintf("%s/%d", at, i)
		if key == "pr_numbers" {
			var n int64
			if json.Unmarshal(raw, &n) != nil || n < 1 {
				errs = append(errs, FieldError{pointer, "must be the number of a pull request"})
			}
			continue
		}
		var text string
		switch {
		case json.Unmarshal(raw, &text) != nil || strings.TrimSpace(text) == "" || len(text) > maxTriggerValue:
			errs = append(errs, FieldError{pointer, fmt.Sprintf("must be a string of 1 to %d bytes", maxTriggerValue)})
		case key == "paths" && !ValidPaths(text):
			errs = append(
				errs,
				FieldError{
					pointer, "is not a path pattern: close each [ with ], put a character after each \\, " +
						"and exclude paths with not_in instead of !",
				},
			)
		}
	}
	return errs
}
