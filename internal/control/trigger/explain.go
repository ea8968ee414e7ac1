package trigger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// What a condition is about.
const (
	CheckPayload = "payload" // a payload filter
	CheckEvent   = "event"   // a trigger on events of GitHub or Linear
)

// The operators of a failed condition.
const (
	OperatorIn     = "in"
	OperatorNotIn  = "not_in"
	OperatorExists = "exists" // Expected is "true" or "false"
	OperatorObject = "object" // the filter names keys below the value, which are Expected
	OperatorEvent  = penstock.OperatorEvent
)

// Explanation says why a delivery does not fire an automation, as data and as the parts of one
// sentence. The values of the payload in it are short, in one line, and have no invisible characters.
type Explanation struct {
	// Check is what failed: [CheckPayload] or [CheckEvent]; "" if the delivery cannot be evaluated.
	Check string
	// Path is the JSON pointer of the first condition that failed, as in [FilterFailure].
	Path string
	// Operator is the kind of this condition; "" if the delivery cannot be evaluated.
	Operator string
	// Actual has the first values of the delivery: strings as they are, an object as {…}. It is empty
	// if the value is absent. Only then, the words have no value of the payload.
	Actual []string
	// Expected has the first values of the condition.
	Expected []string
	// Others is how many more conditions failed.
	Others int
	// Words are the parts of the sentence, unless the delivery cannot be evaluated.
	Words penstock.MismatchWords

	unevaluable string
}

// Sentence is the explanation for people. Names and values are between backticks.
func (x *Explanation) Sentence() string {
	if x.Operator == "" {
		return x.unevaluable
	}
	return x.Words.Sentence()
}

// finish adds to the words how many more conditions failed, and which of several filters it is.
func (x *Explanation) finish(at, of int) *Explanation {
	var notes []string
	if x.Others > 0 {
		notes = append(notes, counted(x.Others, "other condition")+" failed, too")
	}
	if of > 1 {
		notes = append(notes, fmt.Sprintf("filter %d of %d is the nearest", at+1, of))
	}
	if notes != nil && x.Operator != "" {
		x.Words.Expects += " (" + strings.Join(notes, "; ") + ")"
	}
	return x
}

// nearest returns the explanation of the filter with the fewest failed conditions, which is most
// likely the one that was meant for the delivery. If there are several filters, it says which one.
func nearest(all []*Explanation) *Explanation {
	var best *Explanation
	at := 0
	for i, x := range all {
		if best == nil || x.Others < best.Others {
			best, at = x, i
		}
	}
	return best.finish(at, len(all))
}

// Explain returns why the payload does not match f, or nil if it matches.
func (f *Filter) Explain(d *Document) *Explanation {
	if matched, why := f.Match(d); matched {
		return nil
	} else if d == nil || d.unevaluable != "" {
		return &Explanation{unevaluable: why.Reason}
	}
	return f.explain(d).finish(0, 1)
}

// explain explains an evaluable payload that does not match. The words are not finished.
func (f *Filter) explain(d *Document) *Explanation {
	x := explainer{evaluator: evaluator{Document: d}}
	x.pattern(f.fields, 0, "")
	x.first.Others = x.failed - 1
	return &x.first
}

// explainer finds each condition that fails, and explains the first. An array that a nested pattern
// does not match is one condition.
type explainer struct {
	evaluator

	failed int
	first  Explanation
}

func (x *explainer) fail(path string, explain func() Explanation) {
	if x.failed++; x.failed == 1 {
		x.first = explain()
		x.first.Path, x.first.Check = path, CheckPayload
	}
}

func (x *explainer) pattern(fields []field, value uint32, path string) {
	if x.kind(value) == '{' && !x.duplicates(value) {
		for i := range fields {
			x.field(&fields[i], value)
		}
		return
	}
	if ok, why := x.evaluator.pattern(fields, value, path); !ok {
		x.fail(path, func() Explanation { return x.noObject(fields, value, path, why.Reason) })
	}
}

func (x *explainer) field(f *field, object uint32) {
	value, found := x.find(object, f.key)
	switch {
	case len(f.below) > 0 && found:
		x.pattern(f.below, value, f.pointer)
	case len(f.below) > 0:
		x.fail(f.pointer, func() Explanation {
			return Explanation{
				Operator: OperatorObject, Expected: keysOf(f.below),
				Words: penstock.MismatchWords{Name: nameOf(f.pointer), Is: "is absent", Expects: "expects an object"},
			}
		})
	case x.leaf(&f.leaf, value, found) != "":
		x.fail(f.pointer, func() Explanation {
			var of []uint32
			if found {
				of = []uint32{value}
			}
			return x.explainLeaf(f, nameOf(f.pointer), of, found && x.kind(value) == '[')
		})
	}
}

// noObject explains a value that does not meet a nested pattern.
func (x *explainer) noObject(fields []field, value uint32, path, reason string) Explanation {
	if x.kind(value) == '[' && reason == noObject {
		if e, ok := x.onlyLeaf(fields, value, nameOf(path)); ok {
			return e
		}
	}
	e := Explanation{Operator: OperatorObject, Actual: x.texts([]uint32{value}), Expected: keysOf(fields)}
	e.Words.Name, e.Words.Is = nameOf(path), "is "+x.typed(value)
	switch x.kind(value) {
	case '{':
		e.Words.Is, e.Words.Expects = "has duplicate keys", "expects each key once"
	case '[':
		if e.Actual == nil {
			e.Words.Is = "is an empty array"
		}
		e.Words.Expects = "expects an object in it that meets the conditions on " +
			listed(quoteAll(e.Expected), len(fields), "and")
		if reason == noneOfOthers {
			e.Words.Expects += "; objects with duplicate keys were skipped"
		}
	default:
		e.Words.Expects = "expects an object"
	}
	if holdsSecret(path) {
		e.mask()
	}
	return e
}

// onlyLeaf explains an array by the values in its objects, if the pattern has one condition, on one
// of their keys, such as the names of labels.
func (x *explainer) onlyLeaf(fields []field, array uint32, name string) (Explanation, bool) {
	if len(fields) != 1 || len(fields[0].below) > 0 {
		return Explanation{}, false
	}
	f, of := &fields[0], []uint32(nil)
	for i, end := array+1, x.after(array); i < end; i = x.after(i) {
		if x.kind(i) == '{' {
			if value, found := x.find(i, f.key); found {
				of = append(of, value)
			}
		}
	}
	if len(of) == 0 || f.leaf.exists == absent {
		return Explanation{}, false
	}
	name = quote(cut(strings.Trim(name, "`")+"[]."+f.key, nameRunes))
	return x.explainLeaf(f, name, of, false), true
}

// explainLeaf explains the values that do not meet the condition of a leaf; without values, the key
// is missing.
func (x *explainer) explainLeaf(f *field, name string, of []uint32, array bool) Explanation {
	e, l, found := Explanation{Operator: OperatorIn}, &f.leaf, len(of) > 0
	set, expects := l.in, "one of "
	switch {
	case found && l.exists == absent:
		e.Operator, e.Expected, set = OperatorExists, []string{"false"}, nil
	case !found && len(l.in) == 0:
		e.Operator, e.Expected, set = OperatorExists, []string{"true"}, nil
	case found && (len(l.in) == 0 || slices.ContainsFunc(of, func(v uint32) bool { return x.anyIn(l.in, v) })):
		e.Operator, set, expects = OperatorNotIn, l.notIn, "none of "
	}
	if len(set) == 1 {
		expects = map[string]string{OperatorIn: "", OperatorNotIn: "not "}[e.Operator]
	}
	for _, s := range set {
		e.Expected = append(e.Expected, s.shown())
	}
	e.Expected = firstOf(e.Expected)
	is, plain := "absent", sameKind(set)
	if found {
		e.Actual = x.texts(of)
		plain = x.plain(set, of)
		is = x.words(of, array, plain) + x.difference(set, of)
	}
	switch {
	case e.Operator == OperatorExists && found:
		expects = "it to be absent"
	case e.Operator == OperatorExists:
		expects = "a value"
	default:
		var words []string
		for _, s := range set[:len(e.Expected)] {
			words = append(words, s.words(plain))
		}
		expects += listed(words, len(set), "or")
	}
	e.Words = penstock.MismatchWords{Name: name, Is: "is " + is, Expects: "expects " + expects}
	if holdsSecret(f.pointer) {
		e.mask()
	}
	return e
}
