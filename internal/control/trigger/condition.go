package trigger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

// Condition is a compiled GitHub or Linear trigger. It is immutable and safe for concurrent
// use.
type Condition struct {
	event string
	keys  []key
	other FilterFailure // for other events
}

// key is the condition on one key of an event.
type key struct {
	name      string
	in, notIn set // empty: no condition
	inFile    bool

	allowed, denied []string // the values of in and notIn as they were written
}

// Compile compiles a checked trigger.
func Compile(t penstock.Trigger) (*Condition, error) {
	c := &Condition{event: t.Event, other: FilterFailure{Reason: "the delivery is not the event " + t.Event}}
	names, values, err := members(t.Filter)
	if err != nil {
		return nil, fmt.Errorf("read the filter of a trigger: %w", err)
	}
	for i, name := range names {
		m, err := penstock.ReadMatcher(values[i])
		if err != nil {
			return nil, fmt.Errorf("read the key %s of a trigger's filter: %w", name, err)
		}
		k := key{name: name, inFile: name == "paths"}
		if k.in, err = newSet(name, m.In); err != nil {
			return nil, err
		}
		if k.notIn, err = newSet(name, m.NotIn); err != nil {
			return nil, err
		}
		k.allowed, k.denied = written(m.In), written(m.NotIn)
		if !k.in.empty() || !k.notIn.empty() {
			c.keys = append(c.keys, k)
		}
	}
	return c, nil
}

// written returns the values of a matcher, texts without quotes.
func written(values []json.RawMessage) []string {
	var list []string
	for _, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw) // a number
		}
		list = append(list, text)
	}
	return list
}

// members returns the members of a JSON object, in order.
func members(object json.RawMessage) (names []string, values []json.RawMessage, err error) {
	if len(bytes.TrimSpace(object)) == 0 || string(bytes.TrimSpace(object)) == "null" {
		return nil, nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return nil, nil, fmt.Errorf("it is no object: %w", err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		names = append(names, name.String())
		value, err := d.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		values = append(values, json.RawMessage(value.Clone()))
	}
	_, err = d.ReadToken()
	return names, values, err
}

// Size estimates the memory of c, in bytes.
func (c *Condition) Size() int64 {
	size := int64(256)
	for i := range c.keys {
		for _, s := range []*set{&c.keys[i].in, &c.keys[i].notIn} {
			size += int64(64*(2*len(s.texts)+len(s.words)) + 4<<10*len(s.patterns))
		}
	}
	return size
}

// Match reports whether one of the events fires the trigger. Otherwise it returns the first key
// that fails, for the trigger's own event if the delivery reports it.
func (c *Condition) Match(events []Event) (matched bool, why FilterFailure) {
	why = c.other
	for _, e := range events {
		if e.Name != c.event {
			continue
		}
		if matched, why = c.matchEvent(e); matched {
			return true, FilterFailure{}
		}
	}
	return false, why
}

func (c *Condition) matchEvent(e Event) (matched bool, why FilterFailure) {
	for i := range c.keys {
		k := &c.keys[i]
		if reason := k.failure(e.values[k.name]); reason != "" {
			return false, FilterFailure{Path: "/" + penstock.EscapePointer(k.name), Reason: reason}
		}
	}
	return true, FilterFailure{}
}

// IsOtherEvent reports whether a failure means that the delivery is another event.
func (c *Condition) IsOtherEvent(why FilterFailure) bool { return why == c.other }

// failure returns why the values do not match k, or "". A key that the event does not report is
// in no set.
func (k *key) failure(values []string) string {
	switch {
	case len(values) == 0 && !k.in.empty():
		return "the event has no value"
	case len(values) == 0:
		return ""
	case k.inFile: // one file that is in the first set and not in the second is enough
		if !slices.ContainsFunc(values, func(v string) bool { return (k.in.empty() || k.in.has(v)) && !k.notIn.has(v) }) {
			return "no file of the event matches"
		}
		return ""
	case !k.in.empty() && !slices.ContainsFunc(values, k.in.has):
		return "no value of the event is in the list"
	case slices.ContainsFunc(values, k.notIn.has):
		return "a value of the event is in not_in"
	}
	return ""
}

// UnreportedKeys lists the keys of a checked trigger's filter that its event never reports.
// With such a key, the trigger never fires.
func UnreportedKeys(t penstock.Trigger) []string {
	reported, known := reportedKeys[t.Provider][t.Event]
	c, err := Compile(t)
	if err != nil || !known {
		return nil
	}
	var keys []string
	for _, k := range c.keys {
		if !k.in.empty() && !slices.Contains(reported, k.name) {
			keys = append(keys, k.name)
		}
	}
	return keys
}
