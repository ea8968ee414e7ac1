// Package trigger tells which events a delivery of GitHub or Linear is, and which triggers of automations
// these fire. Both sides are pure: Events reads the payload where it was parsed, and a Condition is a
// trigger that was compiled once, for any number of deliveries.
//
// Payloads are hostile, and written in part by people who may not start anything: what is looked at is only
// what its provider vouches for, reasons repeat nothing of it, and the time that anything takes grows with
// the payload times the filter at most. docs/triggers.md says for users what is read for which key.
package trigger

import (
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/filter"
)

// Event is something that has happened, as one delivery tells it.
type Event struct {
	// Name is one of penstock.TriggerEvents.
	Name string
	// values are what the delivery says about the event, by key of a filter, each
	// in the form in which values are compared, and in each way in which users may
	// name it. Of keywords it is the text in which they are looked for.
	values map[string][]string
}

// noEvent is why a delivery fires nothing of its provider's.
const noEvent = "the delivery is none of the events that triggers wait for"

// Events reads which events a delivery of a provider is: several, where a new
// issue mentions somebody, say. name is what the sender's header calls it, of
// those that have one (X-GitHub-Event). Without any, why says so in words that
// hold nothing of the payload.
func Events(provider, name string, d *filter.Document) (events []Event, why string) {
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
		return nil, "an object that tells of the event has duplicate keys"
	case len(events) == 0:
		return nil, noEvent
	}
	return events, ""
}

// newEvent is an event about which nothing is known.
func newEvent(name string) Event { return Event{Name: name, values: map[string][]string{}} }

// named is the same event by another name, which may be given values of its own.
func (e Event) named(name string) Event {
	return Event{name, maps.Clone(e.values)}
}

// set makes texts the values of a key, in place of others; empty ones are none.
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

// few is how many values are compared with a new one, so that the few ways to
// name a thing are kept once, and a thousand labels take no quadratic time.
const few = 4

// canonical is the one form of values that count as equal.
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
type reader struct{ ambiguous bool }

// at is the value that a path of keys leads to.
func (r *reader) at(v filter.Value, keys ...string) filter.Value {
	for _, key := range keys {
		r.ambiguous = r.ambiguous || v.Ambiguous()
		v = v.Member(key)
	}
	return v
}

func (r *reader) text(v filter.Value, keys ...string) string { return r.at(v, keys...).Text() }

// prose is a text in which words and mentions are looked for.
func (r *reader) prose(v filter.Value, keys ...string) string { return r.at(v, keys...).Prose() }

// each are the texts that the elements of a list have at a key.
func (r *reader) each(list filter.Value, key string) []string {
	var out []string
	for v := range list.Elements() {
		out = append(out, r.text(v, key))
	}
	return out
}

// texts are the elements of a list that are texts.
func texts(list filter.Value) []string {
	var out []string
	for v := range list.Elements() {
		out = append(out, v.Text())
	}
	return out
}
