// Package trigger decides what a delivery starts. A [Filter] compares the payload, which
// [ParseDocument] parses once for all filters. [Events] finds the events that a delivery of GitHub or
// Linear reports, and a [Condition] is a trigger on them that is compiled once. It is pure.
//
// Payloads are hostile, and people without any rights write parts of them. So this package reads
// only values that the provider vouches for, an [Explanation] shows values cut and cleaned, and no
// operation takes longer than the payload's size times the filter's. docs/triggers.md says
// which values each key reads.
package trigger

import (
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Event is one event that a delivery reports.
type Event struct {
	// Name is one of penstock.TriggerEvents.
	Name string
	// values are the values of the event by filter key, in canonical form and in every spelling
	// that users may write. For keywords, it is the text to search.
	values map[string][]string
}

// Events returns the events that a delivery reports. There may be several, for example if a new
// issue mentions somebody. name is the event's name from the sender's header (X-GitHub-Event),
// if it has one. If there are no events, why is the reason. It contains nothing of the payload but
// the name of the event.
func Events(provider, name string, d *Document) (events []Event, why string) {
	root, why := d.Root()
	if why != "" {
		return nil, why
	}
	var r reader
	switch provider {
	case penstock.ProviderGitHub:
		events = r.github(name, root)
	case penstock.ProviderLinear:
		events = r.linear(root)
	}
	switch {
	case r.ambiguous:
		return nil, "an object of the event has duplicate keys"
	case len(events) == 0 && r.why != "":
		return nil, r.why
	case len(events) == 0:
		return nil, r.noEvent(provider, name, root)
	}
	return events, ""
}

// newEvent returns an event without values.
func newEvent(name string) Event { return Event{Name: name, values: map[string][]string{}} }

// named returns a copy of the event with another name.
func (e Event) named(name string) Event {
	return Event{name, maps.Clone(e.values)}
}

// set replaces the values of a key. It skips empty texts.
func (e Event) set(key string, texts ...string) {
	var values []string
	for _, text := range texts {
		if text = canonical(key, text); text != "" && !slices.Contains(values[:min(len(values), few)], text) {
			values = append(values, text)
		}
	}
	if delete(e.values, key); values != nil {
		e.values[key] = values
	}
}

// few is how many values are compared with a new one. This removes duplicate spellings, and a
// thousand labels do not take quadratic time.
const few = 4

// canonical returns the common form of values that count as equal.
func canonical(key, text string) string {
	switch key {
	case "paths":
		return text
	case "branches", "base_branches":
		return strings.TrimPrefix(text, "refs/heads/")
	case "authors", "assignees", "mentioned", "reviewers", "reviewer_teams", "mentioned_users", "creators":
		text = strings.TrimPrefix(strings.TrimSpace(text), "@")
	}
	return strings.ToLower(strings.TrimSpace(text))
}

// reader reads a payload.
type reader struct {
	ambiguous bool
	why       string // there is no event; "": its name says why
}

// noEvent returns why a delivery reports no event, by its name.
func (r *reader) noEvent(provider, name string, body Value) string {
	action := r.text(body, "action")
	switch {
	case provider == penstock.ProviderLinear:
		return quoted(r.text(body, "type"), action) + " of Linear is not an event that triggers support"
	case name == "":
		return "the delivery has no header X-GitHub-Event"
	case name == "ping":
		return "a ping only tests the webhook"
	case name == "issue_comment" || name == "pull_request_review_comment":
		return "the comment mentions nobody whom it did not mention before"
	case slices.ContainsFunc(slices.Collect(maps.Keys(githubEvents)), func(k [2]string) bool { return k[0] == name }):
		return quoted(name, action) + " fires no trigger"
	}
	return quoted(name) + " in X-GitHub-Event is not an event that triggers support"
}

const unknownName = "an unknown name"

// quoted returns names between backticks if they are plain words, as the names of providers are.
func quoted(names ...string) string {
	for _, name := range names {
		if len(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c != '-' && c != '.' && !githubName(c) }) {
			return unknownName
		}
	}
	return quote(strings.TrimSpace(strings.Join(names, " ")))
}

// at returns the value at a path of keys.
func (r *reader) at(v Value, keys ...string) Value {
	for _, key := range keys {
		r.ambiguous = r.ambiguous || v.Ambiguous()
		v = v.Member(key)
	}
	return v
}

func (r *reader) text(v Value, keys ...string) string { return r.at(v, keys...).Text() }

// prose returns a text without code, to search for words and mentions.
func (r *reader) prose(v Value, keys ...string) string { return r.at(v, keys...).Prose() }

// each returns the texts at a key of the elements of a list.
func (r *reader) each(list Value, key string) []string {
	var out []string
	for v := range list.Elements() {
		out = append(out, r.text(v, key))
	}
	return out
}

// texts returns the elements of a list that are texts.
func texts(list Value) []string {
	var out []string
	for v := range list.Elements() {
		out = append(out, v.Text())
	}
	return out
}
