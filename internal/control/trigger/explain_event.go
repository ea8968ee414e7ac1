package trigger

import (
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// ExplainEvents returns why none of the triggers fires for the events of a delivery, or nil if one
// does. why is the reason of [Events] if the delivery reports no event. Of the triggers for an event
// that the delivery reports, the nearest explains it; otherwise, all triggers do.
func ExplainEvents(triggers []*Condition, events []Event, why, name string, d *Document) *Explanation {
	var failed []*Explanation
	for _, c := range triggers {
		if matched, _ := c.Match(events); matched {
			return nil
		}
		if x := c.explainKeys(events); x != nil {
			failed = append(failed, x)
		}
	}
	if failed != nil {
		return nearest(failed)
	}
	return otherEvent(triggers, why, name, d)
}

// explainKeys explains the key that fails for the last event with the trigger's name, as
// [Condition.Match] does. It returns nil if the delivery reports no such event.
func (c *Condition) explainKeys(events []Event) *Explanation {
	var failed *Explanation
	for _, e := range events {
		if e.Name != c.event {
			continue
		}
		failed = nil
		for i := range c.keys {
			k := &c.keys[i]
			values := e.values[k.name]
			if k.failure(values) == "" {
				continue
			}
			if failed != nil {
				failed.Others++
				continue
			}
			failed = k.explain(values)
		}
	}
	return failed
}

func (k *key) explain(values []string) *Explanation {
	e := &Explanation{Path: "/" + penstock.EscapePointer(k.name), Check: CheckEvent, Operator: OperatorIn}
	expected, expects := k.allowed, "expects one of "
	if k.in.empty() || !k.inFile && slices.ContainsFunc(values, k.in.has) {
		e.Operator, expected, expects = OperatorNotIn, k.denied, "expects none of "
	}
	if len(expected) == 1 {
		expects = map[string]string{OperatorIn: "expects ", OperatorNotIn: "expects not "}[e.Operator]
	}
	for _, v := range values[:min(len(values), mostShown)] {
		e.Actual = append(e.Actual, cut(v, shownRunes))
	}
	for _, v := range expected[:min(len(expected), mostShown)] {
		e.Expected = append(e.Expected, cut(v, shownRunes))
	}
	e.Actual, e.Expected = firstOf(e.Actual), firstOf(e.Expected)
	is := "is absent"
	if len(values) > 0 {
		is = map[bool]string{false: "is ", true: "has "}[len(values) > 1] +
			listed(quoteAll(e.Actual), len(values), "and")
	}
	e.Words = penstock.MismatchWords{
		Name: quote(k.name), Is: is, Expects: expects + listed(quoteAll(e.Expected), len(expected), "or"),
	}
	return e
}

// otherEvent explains a delivery of an event for which the triggers do not wait.
func otherEvent(triggers []*Condition, why, name string, d *Document) *Explanation {
	root, unevaluable := d.Root()
	if unevaluable != "" {
		return &Explanation{unevaluable: unevaluable}
	}
	var r reader
	action := r.text(root, "action")
	kind, provider := name, penstock.ProviderGitHub
	if kind == "" {
		kind, provider = r.text(root, "type"), penstock.ProviderLinear // it names its events in the payload
	}
	if why != "" && why != r.noEvent(provider, name, root) {
		return &Explanation{unevaluable: why} // whatever the automation waits for
	}
	e := &Explanation{Check: CheckEvent, Operator: OperatorEvent}
	var waits []string
	for _, c := range triggers {
		if !slices.Contains(waits, c.event) {
			waits = append(waits, c.event)
		}
	}
	e.Expected = firstOf(waits)
	known := quoted(kind, action) != unknownName
	if known && kind != "" {
		e.Actual = []string{cut(strings.TrimSuffix(kind+"."+action, "."), shownRunes)}
	}
	family := strings.ToLower(strings.TrimSuffix(kind, "s")) + "_"
	others := slices.ContainsFunc(waits, func(s string) bool { return !strings.HasPrefix(s, family) })
	words, is := slices.Clone(e.Expected), " starts nothing"
	switch {
	case known && action != "" && !others:
		for i := range words {
			words[i] = strings.TrimPrefix(words[i], family)
		}
		e.Words.Name, is = "action", quote(action)+is
	case why != "":
		e.Words.Name, is, _ = strings.Cut(why, " ")
	default:
		e.Words.Name, is = "the event", quoted(kind, action)+is
	}
	e.Words.Is, e.Words.Expects = is, "this automation waits for "+listed(words, len(waits), "or")
	return e
}
