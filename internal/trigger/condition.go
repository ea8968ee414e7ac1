package trigger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/filter"
)

// Condition is a trigger of GitHub or Linear, compiled. It does not change and
// may be used by several goroutines at once.
type Condition struct {
	event string
	keys  []key
	other filter.Failure // of events by another name
}

// key is what an event must be like in one way.
type key struct {
	name      string
	in, notIn set // empty: not asked for
	inFile    bool
}

// Compile makes a condition of a trigger that was checked before.
func Compile(t penstock.Trigger) (*Condition, error) {
	c := &Condition{event: t.Event, other: filter.Failure{Reason: "the delivery is not the event " + t.Event}}
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
		if !k.in.empty() || !k.notIn.empty() {
			c.keys = append(c.keys, k)
		}
	}
	return c, nil
}

// members are the members of a JSON object, in their order.
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

// Size is about how many bytes of memory c takes.
func (c *Condition) Size() int64 {
	size := int64(256)
	for i := range c.keys {
		for _, s := range []*set{&c.keys[i].in, &c.keys[i].notIn} {
			size += int64(64*(len(s.texts)+len(s.words)) + 4<<10*len(s.patterns))
		}
	}
	return size
}

// Match reports whether one of the events that a delivery is fires the trigger,
// and else the first key that fails, of the trigger's own event where there is
// one.
func (c *Condition) Match(events []Event) (matched bool, why filter.Failure) {
	why = c.other
	for _, e := range events {
		if e.Name != c.event {
			continue
		}
		if matched, why = c.match(e); matched {
			return true, filter.Failure{}
		}
	}
	return false, why
}

func (c *Condition) match(e Event) (matched bool, why filter.Failure) {
	for i := range c.keys {
		k := &c.keys[i]
		if reason := k.failure(e.values[k.name]); reason != "" {
			return false, filter.Failure{Path: "/" + penstock.EscapePointer(k.name), Reason: reason}
		}
	}
	return true, filter.Failure{}
}

// IsOtherEvent reports whether a failure is that the event is another one.
func (c *Condition) IsOtherEvent(why filter.Failure) bool { return why == c.other }

// failure says why the values are not what k asks for, "" where they are. What the
// event does not tell is in no set.
func (k *key) failure(values []string) string {
	switch {
	case len(values) == 0 && !k.in.empty():
		return "the event has none"
	case len(values) == 0:
		return ""
	case k.inFile: // a file is enough that is in one set and not in the other
		if !slices.ContainsFunc(values, func(v string) bool { return (k.in.empty() || k.in.has(v)) && !k.notIn.has(v) }) {
			return "no file of the event is one of those asked for"
		}
		return ""
	case !k.in.empty() && !slices.ContainsFunc(values, k.in.has):
		return "the event has none of those asked for"
	case slices.ContainsFunc(values, k.notIn.has):
		return "the event has one of those in not_in"
	}
	return ""
}

// UnreportedKeys lists the keys of a checked trigger's filter which ask for something
// that no such event ever tells: with them it never fires.
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
