package trigger

// FilterFailure says where and why a payload does not match.
type FilterFailure struct {
	// Path is the JSON pointer (RFC 6901) of the first failing condition, in the order of the
	// filter. It has keys of the filter from its root, such as /data/object/status. Arrays of the
	// payload add nothing to it. "" is the root: the whole body.
	Path string
	// Reason explains the failure to people. It contains nothing of the payload.
	Reason string
}

// Match reports whether the payload matches f. If not, why is the first failure. A filter without
// conditions matches everything, even if d is nil. A filter with conditions never matches a
// document that cannot be evaluated. The order of keys and elements in the payload does not matter.
// The time grows at most with the size of the payload times the size of the filter.
func (f *Filter) Match(d *Document) (matched bool, why FilterFailure) {
	switch {
	case f.MatchesAll():
		return true, FilterFailure{}
	case d == nil:
		return false, FilterFailure{Reason: "the delivery has no payload"}
	case d.unevaluable != "":
		return false, FilterFailure{Reason: d.unevaluable}
	}
	e := evaluator{Document: d}
	return e.pattern(f.fields, 0, "")
}

// evaluator evaluates one filter on one document.
type evaluator struct {
	*Document

	scratch []byte // for Document.text
}

const (
	duplicateKeys = "the object has duplicate keys"
	noObject      = "no object in the array meets all conditions"
	noneOfOthers  = noObject + "; objects with duplicate keys were skipped"
)

// pattern reports whether the value matches the fields. For an array, a single element must match
// all of them. An element with duplicate keys does not prevent another one from matching. Fields
// lead to different values, so no value is compared with a field twice.
func (e *evaluator) pattern(fields []field, value uint32, path string) (bool, FilterFailure) {
	switch e.kind(value) {
	case '{':
		return e.object(fields, value, path)
	case '[':
		reason := noObject
		for i, end := value+1, e.after(value); i < end; i = e.after(i) {
			if e.kind(i) != '{' {
				continue
			}
			ok, why := e.object(fields, i, path)
			if ok {
				return true, FilterFailure{}
			}
			if why.Reason == duplicateKeys || why.Reason == noneOfOthers {
				reason = noneOfOthers
			}
		}
		return false, FilterFailure{path, reason}
	default:
		return false, FilterFailure{path, notObject[e.kind(value)]}
	}
}

func (e *evaluator) object(fields []field, object uint32, path string) (bool, FilterFailure) {
	if e.duplicates(object) {
		return false, FilterFailure{path, duplicateKeys}
	}
	for i := range fields {
		if ok, why := e.field(&fields[i], object); !ok {
			return false, why
		}
	}
	return true, FilterFailure{}
}

// field reports whether the object's value at the field's key matches.
func (e *evaluator) field(f *field, object uint32) (bool, FilterFailure) {
	value, found := e.find(object, f.key)
	switch {
	case len(f.below) == 0:
		if reason := e.leaf(&f.leaf, value, found); reason != "" {
			return false, FilterFailure{f.pointer, reason}
		}
		return true, FilterFailure{}
	case !found:
		return false, FilterFailure{f.pointer, "the key is missing"}
	default:
		return e.pattern(f.below, value, f.pointer)
	}
}

// find looks a key up among an object's members.
func (e *evaluator) find(object uint32, key string) (value uint32, found bool) {
	for name, end := object+1, e.after(object); name < end; name = e.after(name + 1) {
		if e.isText(name, key, &e.scratch) {
			return name + 1, true
		}
	}
	return 0, false
}

// Reasons by the kind of the value.
var (
	notObject = map[byte]string{
		'"': "the value is a string, not an object",
		'0': "the value is a number, not an object",
		't': "the value is a boolean, not an object",
		'f': "the value is a boolean, not an object",
		'n': "the value is null, not an object",
	}
	notInList = map[byte]string{
		'"': "the value, a string, is not in the list",
		'0': "the value, a number, is not in the list",
		't': "the value, a boolean, is not in the list",
		'f': "the value, a boolean, is not in the list",
		'n': "the value, null, is not in the list",
		'{': "the value, an object, is not in the list",
		'[': "no element of the array is in the list",
	}
)

// leaf returns why the value does not match l, or "".
func (e *evaluator) leaf(l *leaf, value uint32, found bool) string {
	switch {
	case !found && (l.exists == present || len(l.in) > 0):
		return "the key is missing"
	case !found:
		return ""
	case l.exists == absent:
		return "the key exists"
	case len(l.in) > 0 && !e.anyIn(l.in, value):
		if e.kind(value) == '[' && e.after(value) == value+1 {
			return "the array is empty"
		}
		return notInList[e.kind(value)]
	case len(l.notIn) > 0 && e.anyIn(l.notIn, value):
		if e.kind(value) == '[' {
			return "an element of the array is in not_in"
		}
		return "the value is in not_in"
	}
	return ""
}

// anyIn reports whether the value, or an element of it, is in the set.
func (e *evaluator) anyIn(set []scalar, value uint32) bool {
	if e.kind(value) != '[' {
		return e.isIn(set, value)
	}
	for i, end := value+1, e.after(value); i < end; i = e.after(i) {
		if e.isIn(set, i) {
			return true
		}
	}
	return false
}

// isIn reports whether the value is in the set. Arrays and objects never are.
func (e *evaluator) isIn(set []scalar, value uint32) bool {
	kind := e.kind(value)
	var text []byte
	var number [64]byte
	switch kind {
	case '[', '{':
		return false
	case '0':
		text = appendNumber(number[:0], e.raw(value))
	case '"':
		if e.halved(value) || len(e.raw(value)) > 2+6*maxString { // longer than any value, escaped or not
			return false
		}
		text = e.text(value, &e.scratch)
	}
	return has(set, kind, text)
}

// FilterSet holds filters that are tried on the same documents. Conditions on a key at the
// payload's root that several filters share are evaluated once per document. A Set is immutable and
// safe for concurrent use.
type FilterSet struct {
	filters    []*Filter
	conditions []*field // at the roots of all filters, without duplicates
	of         [][]int  // the conditions of each filter, in order
}

// NewFilterSet makes a set of filters, each of which may be nil.
func NewFilterSet(filters []*Filter) *FilterSet {
	s := &FilterSet{filters: filters, of: make([][]int, len(filters))}
	known := map[string]int{}
	for n, f := range filters {
		if f == nil {
			continue
		}
		for i := range f.fields {
			text := string(f.fields[i].appendText(nil))
			at, shared := known[text]
			if !shared {
				at = len(s.conditions)
				known[text] = at
				s.conditions = append(s.conditions, &f.fields[i])
			}
			s.of[n] = append(s.of[n], at)
		}
	}
	return s
}

// Try returns a trial of the filters on a document, which may be nil. The trial is not safe for
// concurrent use.
func (s *FilterSet) Try(d *Document) *FilterTrial {
	t := &FilterTrial{set: s, evaluator: evaluator{Document: d}}
	if d != nil && d.unevaluable == "" && d.kind(0) == '{' && !d.duplicates(0) {
		t.tried = make([]outcome, len(s.conditions))
	}
	return t
}

// FilterTrial matches the filters of a set with one document.
type FilterTrial struct {
	evaluator

	set   *FilterSet
	tried []outcome // of each condition; nil: conditions cannot be tried separately
}

type outcome struct {
	known, ok bool
	why       FilterFailure
}

// Match returns the result of [Filter.Match] for the set's i-th filter.
func (t *FilterTrial) Match(i int) (matched bool, why FilterFailure) {
	if t.tried == nil {
		return t.set.filters[i].Match(t.Document)
	}
	for _, at := range t.set.of[i] {
		one := &t.tried[at]
		if !one.known {
			one.known = true
			one.ok, one.why = t.field(t.set.conditions[at], 0)
		}
		if !one.ok {
			return false, one.why
		}
	}
	return true, FilterFailure{}
}

// Explain returns why none of the filters of the set from first to end matches, as [Filter.Explain]
// does for one. The nearest filter explains it, which is the one with the fewest failed conditions.
func (t *FilterTrial) Explain(first, end int) *Explanation {
	var all []*Explanation
	for _, f := range t.set.filters[first:end] {
		if t.unevaluable != "" {
			return f.Explain(t.Document)
		}
		all = append(all, f.explain(t.Document))
	}
	return nearest(all)
}
